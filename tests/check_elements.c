/* SPDX-License-Identifier: MIT */
/* iterate() whose until is of each element: steps of an element, against the same written as loops. */
#include "nd.h"

#include "base/alloc.h"
#include "graph/array.h"
#include "asserts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The element at i of an array whose axes are those of the case. */
static real element(const nd *a, const int64_t *i)
{
    int64_t at = 0;
    for (int k = 0; k < a->rank; k++)
        at = at * a->shape[k] + i[k];
    return a->v[at];
}

/* ---- what the texts below are -------------------------------------------------------------------------- */

/* Steps until z -> z^2 + c leaves a circle, each operation rounded to f32. */
static real escape(const nd *in, const int64_t *i)
{
    float u = 0, v = 0, a = (float)element(&in[0], i) * 0.01F, b = (float)i[0] * 0.05F;
    int n = 0;
    while (n < 100) {
        float uu = u * u, vv = v * v, uv = 2 * u * v;
        u = uu - vv + a;
        v = uv + b;
        n++;
        uu = u * u;
        vv = v * v;
        if (uu + vv >= 4) break;
    }
    return n;
}
#define ESCAPE                                                                                 \
    "(u, v, n) = iterate((0, 0, 0), 100, (u, v, n) -> (u * u - v * v + cast($1, f32) * 0.01, " \
    "2 * u * v + (cast($1, f32) * 0 + y) * 0.05, n + 1), until=(u, v, n) -> u * u + v * v >= 4)\nn"

static real collatz(const nd *in, const int64_t *i)
{
    int64_t v = (int64_t)fabsl(element(&in[0], i)) + 1, n = 0;
    while (n < 200) {
        v = v % 2 == 0 ? v / 2 : 3 * v + 1;
        n++;
        if (v == 1) break;
    }
    return n;
}

/* Two that change places, one a step behind. */
static real exchanged(const nd *in, const int64_t *i)
{
    real p = element(&in[0], i), q = p * 3;
    for (int k = 0; k < 5; k++) {
        real next = q + 1;
        q = p;
        p = next;
        if (p > 70) break;
    }
    return p * 1000 + q;
}

static real halved(const nd *in, const int64_t *i) /* f64, of three channels */
{
    real v = fabsl(element(&in[0], i)) + 1;
    for (int k = 0; k < 40; k++) {
        v /= 2;
        if (v < 0.001L) break;
    }
    return v;
}

/* Follows a path: where each element sends to. */
static real followed(const nd *in, const int64_t *i)
{
    int64_t n = in[0].shape[0] * in[0].shape[1], at = i[0] * in[0].shape[1] + i[1];
    for (int k = 0; k < 9; k++) {
        at = ((at + (int64_t)in[0].v[at]) % n + n) % n;
        if (at % 5 == 0) break;
    }
    return at;
}

static real nested(const nd *in, const int64_t *i)
{
    real v = element(&in[0], i);
    for (int k = 0; k < 6; k++) {
        for (int j = 0; j < 8; j++) {
            v -= 7;
            if (v < 10) break;
        }
        v += 30;
        if (v > 38) break;
    }
    return v;
}

/* Of another array the largest difference from a neighbour, weighed with what is carried. */
static real around_it(const nd *in, const int64_t *i)
{
    real v = 0, p = element(&in[0], i);
    for (int k = 0; k < 4; k++) {
        real most = 0;
        for (int dx = -1; dx <= 1; dx++) {
            int64_t x = i[1] + dx < 0 ? 0 : i[1] + dx < in[0].shape[1] ? i[1] + dx : in[0].shape[1] - 1;
            most = fmaxl(most, fabsl(p - element(&in[0], (int64_t[]){ i[0], x })) + k * v);
        }
        v += most;
        if (v > 50) break;
    }
    return v;
}

static real mask(const nd *in, const int64_t *i) /* a mask and a fraction that counts */
{
    bool b = element(&in[0], i) > 3;
    real t = 0.5L;
    for (int k = 0; k < 9; k++) {
        b = !b;
        t += 0.25L;
        if (b && t > 1) break;
    }
    return t + b * 100;
}

static real blurred(const nd *in, const int64_t *i) /* the sum of a neighbour's steps and one's own */
{
    real sum = 0;
    for (int k = 0; k < 2; k++) {
        int64_t at[] = { i[0], i[1] + k < in[0].shape[1] ? i[1] + k : in[0].shape[1] - 1 };
        sum += collatz(in, at);
    }
    return sum;
}

static real of_constant(const nd *in, const int64_t *i) /* it starts from one number, and a step gives another */
{
    return element(&in[0], i) > 4 ? 1005 : 5000 + 5;
}

/* Steps within a scan's: of whole numbers, of two states, and without until. */
static real scanned(const nd *in, const int64_t *i)
{
    int64_t p = 0;
    for (int64_t x = 0; x <= i[1]; x++) {
        int64_t t = (int64_t)fabsl(element(&in[0], (int64_t[]){ i[0], x })) + 1 + p % 7;
        for (int k = 0; k < 200; k++) {
            t = t % 2 == 0 ? t / 2 : 3 * t + 1;
            if (t < 50) break;
        }
        p = t;
    }
    return p;
}

static real counted(const nd *in, const int64_t *i)
{
    float u = 0;
    int n = 0;
    for (int64_t y = in[0].shape[0] - 1; y >= i[0]; y--) {
        u += fabsf((float)element(&in[0], (int64_t[]){ y, i[1], i[2] }));
        for (int k = 0; k < 40; k++) {
            u /= 2;
            n++;
            if (u < 1) break;
        }
    }
    return n;
}

static real folded(const nd *in, const int64_t *i)
{
    int64_t p = 0;
    (void)i;
    for (int64_t at = 0; at < in[0].shape[0] * in[0].shape[1]; at++)
        for (int k = 0; k < 3000; k++)
            p = (p * 5 + (int64_t)fabsl(in[0].v[at])) % 1009;
    return p;
}

static imgpar_dtype i64(imgpar_dtype in) { return (void)in, IMGPAR_I64; }
static imgpar_dtype i32(imgpar_dtype in) { return (void)in, IMGPAR_I32; }
static imgpar_dtype f32(imgpar_dtype in) { return (void)in, IMGPAR_F32; }
static imgpar_dtype f64(imgpar_dtype in) { return (void)in, IMGPAR_F64; }

#define COLLATZ                                                                                              \
    "(v, n) = iterate((cast(abs($1), i64) + 1, 0), 200, (v, n) -> (select(v % 2 == 0, v div 2, 3 * v + 1), " \
    "n + 1), until=(v, n) -> v == 1)\n"

static const nd_case cases[] = {
    { "iterate", ESCAPE, { 2 }, { { 7, 75 } }, 2, { 7, 75 }, escape, 0, i32 },
    { "iterate", COLLATZ "n", { 2 }, { { 6, 70 } }, 2, { 6, 70 }, collatz, 0, i32 },
    { "iterate", COLLATZ "n + n[0, 1]", { 2 }, { { 6, 70 } }, 2, { 6, 70 }, blurred, 0, i32 },
    { "iterate",
      "a = cast($1, f32)\n(p, q) = iterate((a, a * 3), 5, (p, q) -> (q + 1, p), until=(p, q) -> p > 70)\np * 1000 + q",
      { 2 },
      { { 6, 9 } },
      2,
      { 6, 9 },
      exchanged,
      0,
      f32 },
    { "iterate",
      "iterate(cast(abs($1), f64) + 1, 40, _ / 2, until=_ < 0.001)",
      { 3 },
      { { 5, 31, 3 } },
      3,
      { 5, 31, 3 },
      halved,
      0,
      f64 },
    { "iterate",
      "a = reshape(cast($1, i32), [-1])\nn = width(a)\n"
      "iterate(cast(y * width($1) + x + $1 * 0, i32), 9, p -> (p + take(a, p)) % n, until=p -> p % 5 == 0)",
      { 2 },
      { { 6, 9 } },
      2,
      { 6, 9 },
      followed,
      0,
      i32 },
    { "iterate",
      "iterate(cast($1, f32), 6, p -> iterate(p, 8, t -> t - 7, until=t -> t < 10) + 30, until=p -> p > 38)",
      { 2 },
      { { 6, 41 } },
      2,
      { 6, 41 },
      nested,
      0,
      f32 },
    { "iterate",
      "a = cast($1, f32)\n(v, k) = iterate((0, 0), 4, (v, k) -> (v + around(a, [0 1], (p, q) -> abs(p - q) + k * v, "
      "\"max\"), k + 1), until=(v, k) -> v > 50)\nv",
      { 2 },
      { { 6, 41 } },
      2,
      { 6, 41 },
      around_it,
      0,
      f32 },
    { "iterate",
      "(b, t) = iterate(($1 > 3, 0.5), 9, (b, t) -> (!b, t + 0.25), until=(b, t) -> b && t > 1)\nt + b * 100",
      { 2 },
      { { 6, 9 } },
      2,
      { 6, 9 },
      mask,
      0,
      f32 },
    { "iterate",
      "(k, n) = iterate((1, 0), 5, (k, n) -> (5, n + 1), until=(k, n) -> $1 > 4)\nk + n * 1000",
      { 2 },
      { { 6, 9 } },
      2,
      { 6, 9 },
      of_constant,
      0,
      i32 },
    { "scan",
      "scan(cast(abs($1), i64) + 1, 0, (p, v) -> iterate(v + p % 7, 200, t -> select(t % 2 == 0, t div 2, 3 * t + 1), "
      "until=_ < 50), axis=1)",
      { 2 },
      { { 6, 41 } },
      2,
      { 6, 41 },
      scanned,
      0,
      i64 },
    { "scan",
      "(u, n) = scan(abs(cast($1, f32)), (0, 0), (u, n, v) -> iterate((u + v, n), 40, (a, b) -> (a * 0.5, b + 1), "
      "until=(a, b) -> a < 1), axis=0, reverse=true)\nn",
      { 3 },
      { { 5, 300, 3 } },
      3,
      { 5, 300, 3 },
      counted,
      0,
      i64 },
    { "reduce",
      "reduce(cast(abs($1), i64), 0, (p, v) -> iterate(p, 3000, t -> (t * 5 + v) % 1009))",
      { 2 },
      { { 2, 9 } },
      1,
      { 1 },
      folded,
      0,
      i64 },
};
enum { N_CASES = sizeof cases / sizeof *cases };

START_TEST(elements_stop_by_themselves_in_every_schedule)
{
    static const imgpar_dtype dtypes[] = { IMGPAR_U8, IMGPAR_I16, IMGPAR_I32, IMGPAR_F32, IMGPAR_F64 };
    nd_bench b;
    nd_open(&b);
    for (size_t k = 0; k < sizeof dtypes / sizeof *dtypes; k++)
        nd_check(&b, cases, N_CASES, dtypes[k], FILL_SMALL, "ref");
    if (b.has_device) {
        nd_check(&b, cases, N_CASES, IMGPAR_I16, FILL_SMALL, "auto");
        nd_check(&b, cases, N_CASES, IMGPAR_F32, FILL_SMALL, "pixels");
        nd_check(&b, cases, N_CASES, IMGPAR_I16, FILL_SMALL, "tiles");
    }
    nd_close(&b);
}
END_TEST

/* No step at all gives what it starts from. */
START_TEST(no_step_gives_the_start)
{
    nd_bench b;
    nd_open(&b);
    nd a = nd_new(IMGPAR_U8, 2, (int64_t[]){ 6, 8 }, FILL_SMALL, 1);
    uint8_t got[48];
    imgpar_array *array = nd_array(b.ctx, &a),
                 *out = imgpar_apply(b.ctx, "iterate($1, 0, p -> invert(p), until=p -> p > 3)", &array, 1);
    ck_assert_msg(!imgpar_array_read(out, got, sizeof got), "%s", imgpar_array_message(out));
    for (int k = 0; k < 48; k++)
        ck_assert_int_eq(got[k], (int)a.v[k]);
    imgpar_array_release(out);
    imgpar_array_release(array);
    nd_free(&a);
    nd_close(&b);
}
END_TEST

/* A picture of one pixel, and of none, is computed as others are. */
START_TEST(small_pictures_are_no_exception)
{
    nd_bench b;
    nd_open(&b);
    for (int64_t width = 0; width < 3; width++) {
        float got[2] = { 0, 0 };
        nd a = nd_new(IMGPAR_U8, 2, (int64_t[]){ 1, 2 }, FILL_SMALL, 1);
        char text[300];
        snprintf(text, sizeof text,
                 "a = slice(cast($1, f32) * 0 + 1, 0, %d, axis=1)\n(u, v, n) = iterate((a, 0, 0), 30, (u, v, n) -> "
                 "(u * 1.5, v * 2 + u, n + 1), until=(u, v, n) -> u > 3)\nu * 1000 + v * 10 + n",
                 (int)width);
        imgpar_array *array = nd_array(b.ctx, &a), *out = imgpar_apply(b.ctx, text, &array, 1);
        imgpar_info info = { .struct_size = sizeof info };
        ck_assert_msg(!imgpar_array_info(out, &info), "%s", imgpar_array_message(out));
        ck_assert_int_eq(info.dtype, IMGPAR_F32);
        ck_assert_int_eq(info.size_bytes, 4 * (size_t)width);
        ck_assert_msg(!imgpar_array_read(out, got, info.size_bytes), "%s", imgpar_array_message(out));
        for (int64_t k = 0; k < width; k++) /* 1.5 2.25 3.375 and 1, 2 + 1.5, 7 + 2.25 */
            ck_assert_msg(got[k] == 3375 + 92.5F + 3, "%g", (double)got[k]);
        imgpar_array_release(out);
        imgpar_array_release(array);
        nd_free(&a);
    }
    nd_close(&b);
}
END_TEST

START_TEST(they_are_one_kernel_whatever_reads_them)
{
    static const char *const texts[] = { ESCAPE, COLLATZ "n + n[0, 1]", COLLATZ "blur(cast(n, f32), 1)",
                                         COLLATZ "v * 1000 + n" };
    nd_bench b;
    nd_open(&b);
    nd a = nd_new(IMGPAR_I16, 2, (int64_t[]){ 40, 70 }, FILL_SMALL, 1);
    imgpar_array *array = nd_array(b.ctx, &a);
    for (size_t k = 0; b.has_device && b.is_cpu && k < sizeof texts / sizeof *texts; k++)
        ck_assert_int_eq(nd_kernels(&b, texts[k], &array, 1), 1);
    imgpar_array_release(array);
    nd_free(&a);
    nd_close(&b);
}
END_TEST

START_TEST(the_graph_as_text_is_the_graph)
{
    static const char *const texts[] = {
        ESCAPE,
        COLLATZ "n + v",
        "iterate(cast($1, f32), 6, p -> iterate(p, 8, t -> t - 7, until=t -> t < 10) + 30, until=p -> p > 38)",
        "(p, n) = iterate((cast($1, f32), 0), 6, (p, n) -> iterate((p, n), 8, (t, m) -> (t - 7, m + 1), "
        "until=(t, m) -> t < 10 + m), until=(p, n) -> p > 38)\np + n",
    };
    nd_bench b;
    nd_open(&b);
    nd a = nd_new(IMGPAR_I16, 2, (int64_t[]){ 6, 8 }, FILL_SMALL, 1);
    imgpar_array *array = nd_array(b.ctx, &a);
    for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) {
        imgpar_array *first = imgpar_apply(b.ctx, texts[k], &array, 1);
        ck_assert_msg(first->op, "%s: %s", texts[k], imgpar_array_message(first));
        char *text = ip_graph_unparse(&first, 1);
        imgpar_array *pair[] = { first, imgpar_apply(b.ctx, text, &array, 1) },
                     *differ = imgpar_apply(b.ctx, "cast(maxval(abs($1 - $2)), f64)", pair, 2);
        double most = NAN;
        ck_assert_msg(pair[1]->op, "%s: %s: %s", texts[k], text, imgpar_array_message(pair[1]));
        ck_assert_msg(!imgpar_array_read(differ, &most, sizeof most), "%s: %s", text, imgpar_array_message(differ));
        ck_assert_msg(most == 0, "%s: off by %g", text, most);
        imgpar_array_release(differ);
        imgpar_array_release(pair[1]);
        imgpar_array_release(first);
        ip_free(text);
    }
    imgpar_array_release(array);
    nd_free(&a);
    nd_close(&b);
}
END_TEST

START_TEST(what_does_not_fit_is_refused)
{
    static const struct {
        const char *text, *message;
    } refusals[] = {
        { "iterate($1, 3, p -> p + 1, until=p -> p > 9)", "a step changes [6, 8] u8 to [6, 8] i32; with until, start" },
        { "iterate($1, 3, p -> blur(p, 1), until=p -> p > 9)",
          "until is of each element, but a step reads another element of what iterate() carries; write "
          "until=all(...)" },
        { "scan($1, 0, (p, q) -> p + sum(iterate(ones([5]), 100000, k -> k * 0.5)))",
          "so long a loop within a function of scan or reduce carries one number, not [5] f32" },
        { "scan($1, 0, (p, q) -> iterate(p + q, 40, v -> median(v, 3) * 0.5))",
          "a step changes [1] i32 to [1] f32; start from that type (cast)" },
        { "scan($1, 0, (p, q) -> iterate((p + q) * 0.5, 40, v -> median(v, 3) * 0.5))",
          "in a function of scan or reduce a loop of so many steps is of numbers, but a step reads another element of "
          "what iterate() carries" },
        { "iterate($1, 3, p -> p[0, 1], until=p -> p > 9)", "a step reads another element of what iterate() carries" },
        { "iterate(cast($1, f32), 3, p -> p - mean(p), until=p -> p > 9)",
          "a step folds or sorts what it makes of what it carries" },
        { "iterate($1, 3, p -> invert(p), until=p -> slice(p, 0, 2) > 9)",
          "until is one number, or has the shape of all that is carried, not [2, 8] bool for [6, 8] u8" },
        { "iterate($1, 3, p -> invert(p), until=p -> p > 9, check=2)", "check goes with an until that is one number" },
        { "(p, n) = iterate((0.5, 0), 3, (p, n) -> ($1 * 2, n + 1), until=(p, n) -> p > 9)\np",
          "a step makes i32 of what starts from 0.5" },
        { "iterate(cast($1, f16), 3, p -> cast(p + 1, f16), until=p -> p > 9)", "f16 cannot be carried" },
        { "iterate(complex(cast($1, f32), 1), 3, p -> p * 2, until=p -> real(p) > 9)", "complex64 cannot be carried" },
    };
    nd_bench b;
    nd_open(&b);
    nd a = nd_new(IMGPAR_U8, 2, (int64_t[]){ 6, 8 }, FILL_SMALL, 1);
    imgpar_array *array = nd_array(b.ctx, &a);
    for (size_t k = 0; k < sizeof refusals / sizeof *refusals; k++) {
        imgpar_array *bad = imgpar_apply(b.ctx, refusals[k].text, &array, 1);
        double got[48];
        imgpar_info info = { .struct_size = sizeof info };
        if (!imgpar_array_info(bad, &info)) imgpar_array_read(bad, got, info.size_bytes);
        ck_assert_msg(strstr(imgpar_array_message(bad), refusals[k].message), "%s: %s", refusals[k].text,
                      imgpar_array_message(bad));
        imgpar_array_release(bad);
    }
    imgpar_array_release(array);
    nd_free(&a);
    nd_close(&b);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("elements");
    TCase *c = tcase_create("elements");
    tcase_set_timeout(c, 300);
    tcase_add_test(c, elements_stop_by_themselves_in_every_schedule);
    tcase_add_test(c, no_step_gives_the_start);
    tcase_add_test(c, small_pictures_are_no_exception);
    tcase_add_test(c, they_are_one_kernel_whatever_reads_them);
    tcase_add_test(c, the_graph_as_text_is_the_graph);
    tcase_add_test(c, what_does_not_fit_is_refused);
    suite_add_tcase(suite, c);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
