/* SPDX-License-Identifier: MIT */
/*
 * Gradients (ops/gradient.def) against central finite differences in f64: of every row that has one, of every border,
 * of views, folds, recurrences and products; by the interpreter, and a part of them on the device.
 */
#include "held.h"
#include "tier.h"

#include <check.h>
#include <imgpar.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static imgpar_context *ref, *device;

static void set_up(void)
{
    ck_assert_int_eq(imgpar_context_new("ref", &ref), IMGPAR_OK);
}

static void tear_down(void) { imgpar_context_release(ref); }

static void open_device(void)
{
    hold_driver();
    ck_assert_int_eq(imgpar_context_new(NULL, &device), IMGPAR_OK);
}

static void close_device(void) { imgpar_context_release(device); }

/* ---- values ------------------------------------------------------------------------------------- */

enum { MOST = 4096, TEXT = 2048 };

typedef struct sample {
    int64_t shape[4];
    int rank;
    double v[MOST];
} sample;

static size_t count(const sample *a)
{
    size_t n = 1;
    for (int k = 0; k < a->rank; k++)
        n *= (size_t)a->shape[k];
    return n;
}

/* Numbers between lo and hi, no two of them near each other. */
static sample sample_new(int rank, const int64_t *shape, double lo, double hi)
{
    sample a = { .rank = rank };
    memcpy(a.shape, shape, (size_t)rank * sizeof *shape);
    const size_t n = count(&a);
    ck_assert(n <= MOST);
    size_t step = n % 7 == 0 ? 11 : 7;
    while (n % step == 0)
        step += 2;
    for (size_t k = 0; k < n; k++)
        a.v[k] = lo + (hi - lo) * ((double)(k * step % n) + 0.3 + 0.2 * sin((double)k)) / (double)n;
    return a;
}

static imgpar_array *array_of(imgpar_context *ctx, const sample *a)
{
    imgpar_array *array = imgpar_array_from_data(ctx, IMGPAR_F64, a->rank, a->shape, a->v);
    ck_assert_msg(imgpar_array_status(array) == IMGPAR_OK, "%s", imgpar_array_message(array));
    return array;
}

/* text of a as f64; how many elements there are, or -1 with the message in why. */
static int evaluate(imgpar_context *ctx, const char *text, const sample *a, double *out, char *why)
{
    char as_f64[TEXT + 64];
    const char *last = strrchr(text, '\n');
    const int head = last ? (int)(last - text + 1) : 0;
    snprintf(as_f64, sizeof as_f64, "%.*scast(%s, f64)", head, text, text + head);
    imgpar_array *in = array_of(ctx, a), *r = imgpar_apply(ctx, as_f64, (imgpar_array *[]){ in }, 1);
    imgpar_info info = { .struct_size = sizeof info };
    int n = -1;
    if (imgpar_array_info(r, &info) == IMGPAR_OK) {
        size_t elements = 1;
        for (int k = 0; k < info.rank; k++)
            elements *= (size_t)info.shape[k];
        ck_assert(elements <= MOST);
        if (imgpar_array_read(r, out, elements * sizeof *out) == IMGPAR_OK) n = (int)elements;
    }
    if (n < 0) snprintf(why, 512, "%s", imgpar_array_message(r));
    imgpar_array_release(r);
    imgpar_array_release(in);
    return n;
}

/* One number from what text gives: weighted, so that every element counts in its own way. statements end with a
 * newline, or are empty. */
static void loss_of(const char *statements, const char *expr, char *loss)
{
    snprintf(loss, TEXT, "%sr = %s\nsum(r * cos(1.3 * x + 2.1 * y + 0.7 * c + 0.9 * z + 0.4))", statements, expr);
}

typedef enum outcome { RIGHT, WRONG, REFUSED, NO_LOSS } outcome;

/* Compares the gradient of the loss, whose last line is an expression, with differences of h. */
static outcome compare(imgpar_context *ctx, const char *loss, const sample *a, double h, double slack, char *why)
{
    static double g[MOST], want[MOST];
    char text[TEXT];
    double at[1];
    const char *last = strrchr(loss, '\n');
    const int head = last ? (int)(last - loss + 1) : 0;
    const size_t n = count(a);
    if (evaluate(ref, loss, a, at, why) != 1) return NO_LOSS;
    if (!isfinite(at[0])) {
        snprintf(why, 512, "the loss is %g", at[0]);
        return NO_LOSS;
    }
    snprintf(text, sizeof text, "%.*sgrad(%s, $1)", head, loss, loss + head);
    if (evaluate(ctx, text, a, g, why) != (int)n) return REFUSED;
    double largest = 0;
    for (size_t k = 0; k < n; k++) {
        sample b = *a;
        double more[1], less[1];
        b.v[k] = a->v[k] + h;
        ck_assert_int_eq(evaluate(ref, loss, &b, more, why), 1);
        b.v[k] = a->v[k] - h;
        ck_assert_int_eq(evaluate(ref, loss, &b, less, why), 1);
        want[k] = (more[0] - less[0]) / (2 * h);
        largest = fmax(largest, fabs(want[k]));
    }
    for (size_t k = 0; k < n; k++)
        if (!(fabs(g[k] - want[k]) <= slack * fmax(largest, 1e-6))) {
            snprintf(why, 512, "element %zu is %.9g, differences give %.9g", k, g[k], want[k]);
            return WRONG;
        }
    return RIGHT;
}

static void expect_right(imgpar_context *ctx, const char *loss, const sample *a, double h, double slack)
{
    char why[512] = "";
    outcome o = compare(ctx, loss, a, h, slack, why);
    ck_assert_msg(o == RIGHT, "%s: %s", loss, why);
}

/* expr of $1 in several shapes. */
static void expect_expr(imgpar_context *ctx, const char *expr, const int64_t (*shapes)[3], int n)
{
    char loss[TEXT];
    loss_of("", expr, loss);
    for (int k = 0; k < n; k++) {
        const sample a = sample_new(shapes[k][2] ? 3 : 2, shapes[k], 0.2, 0.9);
        expect_right(ctx, loss, &a, 1e-5, 1e-6);
    }
}

static const int64_t shapes[][3] = { { 1, 1, 0 }, { 1, 6, 0 }, { 5, 1, 0 }, { 4, 5, 0 }, { 3, 4, 3 }, { 2, 7, 1 } };
enum { N_SHAPES = sizeof shapes / sizeof *shapes };

/* ---- every row -------------------------------------------------------------------------------------- */

START_TEST(every_row_with_a_derivative_has_it)
{
    static const int64_t shape[3] = { 6, 7, 3 };
    const sample a = sample_new(3, shape, 0.2, 0.9);
    const bool tells = getenv("IMGPAR_TELL") != NULL;
    int n_right = 0;
    for (size_t k = 0; k < imgpar_op_count(); k++) {
        const imgpar_op_info *info = imgpar_op_get(k);
        char loss[TEXT], why[512] = "";
        if (!info->example || !info->example[0]) continue;
        loss_of("a = $1\nb = 0.9 - flip($1) * 0.7\n", info->example, loss);
        outcome o = compare(ref, loss, &a, 1e-5, 1e-3, why);
        n_right += o == RIGHT;
        if (tells) fprintf(stderr, "%d %s | %s | %s\n", o, info->name, info->example, why);
        if (!tells) ck_assert_msg(o != WRONG, "%s: %s: %s", info->name, info->example, why);
    }
    ck_assert_int_ge(n_right, 100);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("gradient");
    TCase *rows = tcase_create("rows");
    tcase_add_checked_fixture(rows, set_up, tear_down);
    tcase_add_test(rows, every_row_with_a_derivative_has_it);
    suite_add_tcase(suite, rows);
    (void)expect_expr;
    (void)open_device;
    (void)close_device;
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int n_failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return n_failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
