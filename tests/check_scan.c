/* SPDX-License-Identifier: MIT */
/*
 * Recurrences: axes of every rank, lines long enough to be walked in blocks, none at all. Names of tests are
 * claims. The matrix has operators and dtypes, check_scan_graph.c what surrounds recurrences.
 */
#include "asserts.h"
#include "held.h"
#include "oracle.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static imgpar_context *ctx;

static void open_context(void)
{
    hold_driver();
    ck_assert_int_eq(imgpar_context_new(NULL, &ctx), IMGPAR_OK);
}

static void close_context(void)
{
    imgpar_context_release(ctx);
    ctx = NULL;
}

static bool has_device(void) { return strcmp(imgpar_context_device(ctx)->kind, "ref") != 0; }

static void schedule(const char *name) { ck_assert_int_eq(imgpar_context_set(ctx, "schedule", name), IMGPAR_OK); }

/* ---- arrays of any rank ---------------------------------------------------------------------- */

typedef struct shape {
    int rank;
    int64_t n[4];
} shape;

static int64_t count(const shape *s)
{
    int64_t n = 1;
    for (int k = 0; k < s->rank; k++)
        n *= s->n[k];
    return n;
}

/* The elements as a picture of one row, and as an array of that shape. */
static imgpar_array *filled(const shape *s, imgpar_dtype dtype, fill kind, picture *p)
{
    *p = picture_new(dtype, 1, count(s), 1);
    picture_fill(p, kind, 5);
    void *bytes = picture_bytes(p);
    imgpar_array *a = imgpar_array_from_data(ctx, dtype, s->rank, s->n, bytes);
    ck_assert_msg(!imgpar_array_status(a), "%s", imgpar_array_message(a));
    free(bytes);
    return a;
}

/* What op must give along axis. */
static picture wanted(const picture *p, const shape *s, int axis, const char *op, const char *options)
{
    int64_t outer = 1, inner = 1;
    for (int k = 0; k < s->rank; k++) {
        if (k < axis) outer *= s->n[k];
        if (k > axis) inner *= s->n[k];
    }
    call c = { .op = op, .options = options };
    picture want = picture_new(oracle_scan_dtype(&c, p->dtype), 1, count(s), 1);
    oracle_scan_lines(&c, p->dtype, p->v, outer, s->n[axis], inner, want.v, want.slack);
    return want;
}

static void *bytes_of(imgpar_array *a, const picture *want, const char *by, const char *what)
{
    void *bytes = malloc(picture_size(want) + 1);
    schedule(by);
    imgpar_status st = imgpar_array_read(a, bytes, picture_size(want));
    ck_assert_msg(!st, "%s, schedule %s: %s", what, by, imgpar_array_message(a));
    return bytes;
}

/* By the interpreter and on the device: right, and the same bytes. */
static void check(const shape *s, imgpar_dtype dtype, fill kind, int axis, const char *op, const char *options,
                  bool on_device)
{
    char text[256], what[320], why[256];
    picture p, want;
    imgpar_array *a = filled(s, dtype, kind, &p);
    snprintf(text, sizeof text, "axis=%d%s%s", axis, options[0] ? ", " : "", options);
    snprintf(what, sizeof what, "%s(%s) of %s [%d %d %d %d]", op, text, imgpar_dtype_name(dtype), (int)s->n[0],
             (int)s->n[1], (int)s->n[2], (int)s->n[3]);
    imgpar_array *r = imgpar_op(ctx, op, &a, 1, text);
    ck_assert_msg(!imgpar_array_status(r), "%s: %s", what, imgpar_array_message(r));
    want = wanted(&p, s, axis < 0 ? axis + s->rank : axis, op, text);
    void *ref = bytes_of(r, &want, "ref", what);
    ck_assert_msg(picture_compare(&want, ref, why), "%s by ref: %s", what, why);
    if (on_device && has_device()) {
        void *own = bytes_of(r, &want, "auto", what);
        ck_assert_msg(picture_compare(&want, own, why), "%s: %s", what, why);
        ck_assert_msg(picture_same(&want, ref, own), "%s: ref and the device give different bytes", what);
        free(own);
    }
    free(ref);
    imgpar_array_release(r);
    imgpar_array_release(a);
    picture_free(&p);
    picture_free(&want);
}

START_TEST(every_axis_of_every_rank_is_walked)
{
    static const shape shapes[] = {
        { 1, { 131 } },        { 1, { 1 } },           { 2, { 13, 29 } },     { 2, { 1, 7 } },
        { 2, { 7, 1 } },       { 3, { 9, 11, 3 } },    { 3, { 5, 4, 37 } },   { 3, { 9, 6, 1 } },
        { 4, { 3, 5, 7, 2 } }, { 4, { 5, 3, 4, 11 } }, { 4, { 1, 1, 1, 1 } },
    };
    static const char *const options[] = { "", "reverse=true", "exclusive=true", "exclusive=true, reverse=true" };
    const shape *s = &shapes[_i];
    open_context();
    for (int axis = 0; axis < s->rank; axis++)
        for (int k = 0; k < 4; k++) {
            bool on_device = (axis + k + _i) % 4 == 0;
            check(s, IMGPAR_F32, FILL_ANY, axis, "cumsum", options[k], on_device);
            check(s, IMGPAR_U8, FILL_ANY, axis - s->rank, "cumsum", options[k], false);
            check(s, IMGPAR_I64, FILL_ANY, axis, "cumprod", options[k], false);
            check(s, IMGPAR_F64, FILL_WILD, axis, "cummin", options[k], false);
        }
    check(s, IMGPAR_F32, FILL_LEVELS, s->rank - 1, "recursive", "feedforward=[0.5 0.25], feedback=[-0.5 0.1]", true);
    check(s, IMGPAR_U8, FILL_LEVELS, 0, "recursive", "feedforward=[0.5 0.25], feedback=[-0.5 0.1], reverse=true",
          _i == 8);
    close_context();
}
END_TEST

START_TEST(long_lines_are_walked_in_blocks_and_give_the_same_bytes_everywhere)
{
    static const struct {
        shape s;
        int axis;
        imgpar_dtype dtype;
        const char *op, *options;
    } rows[] = {
        { { 1, { 100003 } }, 0, IMGPAR_F32, "cumsum", "" },
        { { 1, { 100003 } }, 0, IMGPAR_F32, "cumsum", "reverse=true, exclusive=true" },
        { { 1, { 32769 } }, 0, IMGPAR_I32, "cumsum", "" },
        { { 1, { 32768 } }, 0, IMGPAR_F32, "cumsum", "" },
        { { 1, { 34000 } }, 0, IMGPAR_U8, "scan", "op=xor" },
        { { 2, { 3, 40001 } }, 1, IMGPAR_F32, "cummax", "reverse=true" },
        { { 2, { 40001, 5 } }, 0, IMGPAR_F32, "cumsum", "" },
        { { 2, { 40001, 5 } }, 0, IMGPAR_I16, "cumsum", "reverse=true" },
        { { 3, { 2, 33001, 3 } }, 1, IMGPAR_F32, "cumsum", "" },
        { { 3, { 40001, 2, 3 } }, 0, IMGPAR_F32, "cumsum", "exclusive=true" },
        { { 4, { 33001, 2, 3, 2 } }, 0, IMGPAR_F32, "cumsum", "reverse=true" },
        { { 4, { 1, 2, 33001, 7 } }, 2, IMGPAR_F32, "cumsum", "" },
        { { 4, { 1, 1, 2, 33001 } }, 3, IMGPAR_F32, "cumsum", "reverse=true" },
        { { 1, { 50000 } }, 0, IMGPAR_F32, "recursive", "feedforward=[0.1], feedback=[-0.9]" },
    };
    open_context();
    check(&rows[_i].s, rows[_i].dtype, FILL_ANY, rows[_i].axis, rows[_i].op, rows[_i].options, true);
    close_context();
}
END_TEST
enum { N_LONG = 14 };

static imgpar_array *apply(const char *text, imgpar_array *a)
{
    imgpar_array *r = imgpar_apply(ctx, text, &a, 1);
    ck_assert_msg(!imgpar_array_status(r), "%s: %s", text, imgpar_array_message(r));
    return r;
}

static int n_polls;
static int poll(void *user, double done)
{
    (void)user;
    ck_assert(done >= 0 && done <= 1);
    n_polls++;
    return 0;
}

START_TEST(polling_changes_nothing)
{
    static const char *const texts[] = { "cumsum($1, axis=0)", "cumsum($1, axis=1)", "cumsum($1, axis=2)",
                                         "recursive($1, [0.5], [-0.5], axis=0)" };
    picture p = picture_new(IMGPAR_F32, 34001, 5, 2);
    open_context();
    picture_fill(&p, FILL_ANY, 3);
    imgpar_array *a = picture_array(ctx, &p);
    for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) {
        imgpar_array *r = apply(texts[k], a), *s = apply(texts[k], a);
        void *x = malloc(picture_size(&p)), *y = malloc(picture_size(&p));
        n_polls = 0;
        ck_assert_int_eq(imgpar_array_eval(r, &(imgpar_options){ sizeof(imgpar_options), .poll = poll }), IMGPAR_OK);
        ck_assert_int_gt(n_polls, 0);
        ck_assert_int_eq(imgpar_array_read(r, x, picture_size(&p)), IMGPAR_OK);
        ck_assert_int_eq(imgpar_array_read(s, y, picture_size(&p)), IMGPAR_OK);
        ck_assert_msg(memcmp(x, y, picture_size(&p)) == 0, "%s", texts[k]);
        free(x);
        free(y);
        imgpar_array_release(r);
        imgpar_array_release(s);
    }
    imgpar_array_release(a);
    picture_free(&p);
    close_context();
}
END_TEST

/* More than half of a last cache of 32 MiB: a CPU walks parts of all lines. Element k is k % 7; lines of every
 * direction, several at once. */
START_TEST(lines_may_be_walked_part_by_part)
{
    static const struct {
        shape s;
        int axis;
    } rows[] = {
        { { 1, { 12000000 } }, 0 },   { { 2, { 8, 2000000 } }, 1 },       { { 3, { 2, 2000000, 3 } }, 1 },
        { { 2, { 3000000, 4 } }, 0 }, { { 4, { 4, 150000, 20, 1 } }, 1 }, { { 3, { 200000, 8, 9 } }, 0 },
    };
    const bool reverse = _i % 2;
    const int row = _i / 2;
    open_context();
    const shape *s = &rows[row].s;
    int64_t n = count(s), inner = 1, length = s->n[rows[row].axis];
    for (int k = rows[row].axis + 1; k < s->rank; k++)
        inner *= s->n[k];
    int32_t *data = malloc((size_t)n * sizeof *data);
    int64_t *got = malloc((size_t)n * sizeof *got), wrong = 0;
    ck_assert(data && got);
    for (int64_t k = 0; k < n; k++)
        data[k] = (int32_t)(k % 7);
    char text[64];
    snprintf(text, sizeof text, "cumsum($1, axis=%d, reverse=%s)", rows[row].axis, reverse ? "true" : "false");
    imgpar_array *a = imgpar_array_from_data(ctx, IMGPAR_I32, s->rank, s->n, data),
                 *out = imgpar_apply(ctx, text, &a, 1);
    ck_assert_msg(imgpar_array_read(out, got, (size_t)n * sizeof *got) == IMGPAR_OK, "%s", imgpar_array_message(out));
    for (int64_t k = 0; k < n; k++) {
        const int64_t at = k / inner % length, before = reverse ? k + inner : k - inner;
        wrong += got[k] != data[k] + (at != (reverse ? length - 1 : 0) ? got[before] : 0);
    }
    ck_assert_msg(wrong == 0, "%s: %lld sums are wrong", text, (long long)wrong);
    imgpar_array_release(a);
    imgpar_array_release(out);
    free(data);
    free(got);
    close_context();
}
END_TEST

START_TEST(no_elements_give_no_elements)
{
    static const shape shapes[] = { { 1, { 0 } }, { 2, { 0, 5 } }, { 2, { 5, 0 } } };
    static const char *const texts[] = { "cumsum($1, axis=0)", "cumsum($1, axis=-1, reverse=true)",
                                         "recursive($1, [1], [-0.5], axis=0)" };
    open_context();
    for (int s = 0; s < 3; s++)
        for (int k = 0; k < 3; k++) {
            float nothing = 0;
            imgpar_array *a = imgpar_array_from_data(ctx, IMGPAR_F32, shapes[s].rank, shapes[s].n, &nothing);
            if (imgpar_array_status(a)) { /* such arrays are not offered */
                imgpar_array_release(a);
                continue;
            }
            imgpar_array *r = apply(texts[k], a);
            ck_assert_msg(!imgpar_array_eval(r, NULL), "%s: %s", texts[k], imgpar_array_message(r));
            imgpar_array_release(r);
            imgpar_array_release(a);
        }
    close_context();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("scan");
    TCase *c = tcase_create("scan");
    tcase_set_timeout(c, 300);
    tcase_add_loop_test(c, every_axis_of_every_rank_is_walked, 0, 11);
    tcase_add_loop_test(c, long_lines_are_walked_in_blocks_and_give_the_same_bytes_everywhere, 0, N_LONG);
    tcase_add_test(c, polling_changes_nothing);
    tcase_add_loop_test(c, lines_may_be_walked_part_by_part, 0, 12);
    tcase_add_test(c, no_elements_give_no_elements);
    suite_add_tcase(suite, c);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
