/* SPDX-License-Identifier: MIT */
/*
 * Recurrences of several states: records and tuples in scan(), reduce() and iterate(), by loops in long double. Names
 * of tests are claims.
 */
#include "asserts.h"
#include "held.h"
#include "oracle.h"

#include <math.h>
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

/* ---- programs -------------------------------------------------------------------------------------- */

enum { STATES = 5 };

/* $1 is v, f64 of [0, 1); $2 is k, i32. step() makes the states after an element of those before. */
typedef struct program {
    const char *name, *init, *function, *components;
    real start[STATES];
    void (*step)(real s[STATES], real v, real k);
    imgpar_dtype dtypes[STATES];
    int n;
} program;

static void kalman(real s[STATES], real v, real k)
{
    (void)k;
    real p = s[1] + 0.01L, gain = p / (p + 0.1L);
    s[0] += gain * (v - s[0]);
    s[1] = (1 - gain) * p;
}

static void welford(real s[STATES], real v, real k)
{
    (void)k;
    real off = v - s[1];
    s[0] += 1;
    s[1] += off / s[0];
    s[2] += off * (v - s[1]);
}

static void least(real s[STATES], real v, real k)
{
    if (v >= s[0]) return;
    s[0] = v;
    s[1] = k;
}

static void runs(real s[STATES], real v, real k)
{
    (void)v;
    k = fmodl(k, 3);
    s[0] = k == s[1] ? s[0] + 1 : 1;
    s[1] = k;
}

/* States of 1, 4, 8 and 8 bytes, each of which takes others' values before the step. */
static void mixed(real s[STATES], real v, real k)
{
    const real a = s[0], b = s[1];
    s[0] = fmodl(a + k, 256);
    s[1] = b + a;
    s[2] = fmaxl(s[2], v);
    s[3] += a * b;
}

static void fifth(real s[STATES], real v, real k)
{
    (void)k;
    const real next = v + 0.5L * s[0] - 0.3L * s[2] + 0.1L * s[4];
    memmove(s + 1, s, (STATES - 1) * sizeof *s);
    s[0] = next;
}

#define GAIN "(s.p + 0.01) / (s.p + 0.01 + 0.1)"
#define MEAN "(s.mean + (q.v - s.mean) / (s.n + 1))"
static const program programs[] = {
    { "a Kalman filter",
      "zip(at=0, p=1)",
      "(s, q) -> zip(at=s.at + " GAIN " * (q.v - s.at), p=(1 - " GAIN ") * (s.p + 0.01))",
      "at p",
      { 0, 1 },
      kalman,
      { IMGPAR_F64, IMGPAR_F64 },
      2 },
    { "Welford's mean and variance",
      "zip(n=0, mean=0, of=0)",
      "(s, q) -> zip(n=s.n + 1, mean=" MEAN ", of=s.of + (q.v - s.mean) * (q.v - " MEAN "))",
      "n mean of",
      { 0, 0, 0 },
      welford,
      { IMGPAR_I64, IMGPAR_F64, IMGPAR_F64 },
      3 },
    { "the least with its place",
      "zip(v=inf, k=-1)",
      "(p, q) -> q.v < p.v ? q : p",
      "v k",
      { INFINITY, -1 },
      least,
      { IMGPAR_F64, IMGPAR_I32 },
      2 },
    { "lengths of runs",
      "zip(n=0, last=-1)",
      "(s, q) -> zip(last=q.k % 3, n=q.k % 3 == s.last ? s.n + 1 : 1)",
      "n last",
      { 0, -1 },
      runs,
      { IMGPAR_I64, IMGPAR_I32 },
      2 },
    { "states of four dtypes",
      "zip(a=0, b=0, c=-inf, d=0)",
      "(s, q) -> zip(a=cast((s.a + q.k) % 256, u8), b=cast(s.b + s.a, i32), c=max(s.c, q.v), d=s.d + cast(s.a, i64) * "
      "s.b)",
      "a b c d",
      { 0, 0, -INFINITY, 0 },
      mixed,
      { IMGPAR_U8, IMGPAR_I32, IMGPAR_F64, IMGPAR_I64 },
      4 },
    { "a filter of fifth order",
      "zip(a=0, b=0, c=0, d=0, e=0)",
      "(s, q) -> zip(a=q.v + 0.5 * s.a - 0.3 * s.c + 0.1 * s.e, b=s.a, c=s.b, d=s.c, e=s.d)",
      "a b c d e",
      { 0 },
      fifth,
      { IMGPAR_F64, IMGPAR_F64, IMGPAR_F64, IMGPAR_F64, IMGPAR_F64 },
      5 },
};
enum { N_PROGRAMS = sizeof programs / sizeof *programs };

/* ---- their walk --------------------------------------------------------------------------------------- */

enum { MOST = 4096 };

typedef struct walk {
    int rank, axis;
    int64_t shape[4];
    bool reverse, exclusive, reduces;
} walk;

static double values[MOST];
static int32_t keys[MOST];
static real wanted[STATES][MOST];

static int64_t fill_elements(const walk *w)
{
    int64_t n = 1;
    for (int k = 0; k < w->rank; k++)
        n *= w->shape[k];
    ck_assert(n <= MOST);
    for (int64_t i = 0; i < n; i++) {
        values[i] = (double)((i * 7919 + 13) % 1009) / 1009;
        keys[i] = (int32_t)((i * i + 5 * i) % 197);
    }
    return n;
}

/* wanted[]; returns how many results there are. */
static int64_t compute(const program *p, const walk *w)
{
    int64_t outer = 1, inner = 1, n = w->shape[w->axis];
    for (int k = 0; k < w->rank; k++) {
        if (k < w->axis) outer *= w->shape[k];
        if (k > w->axis) inner *= w->shape[k];
    }
    for (int64_t line = 0; line < outer * inner; line++) {
        real s[STATES], before[STATES];
        memcpy(s, p->start, sizeof s);
        for (int64_t i = 0; i < n; i++) {
            const int64_t at = (line / inner * n + (w->reverse ? n - 1 - i : i)) * inner + line % inner;
            memcpy(before, s, sizeof s);
            p->step(s, values[at], keys[at]);
            for (int c = 0; c < p->n; c++)
                wanted[c][w->reduces ? line : at] = w->exclusive ? before[c] : s[c];
        }
    }
    return w->reduces ? outer * inner : outer * inner * n;
}

static void write_text(const program *p, const walk *w, const char *component, char *text, size_t size)
{
    if (w->reduces)
        snprintf(text, size, "reduce(zip(v=$1, k=$2), %s, %s, axis=%d).%s", p->init, p->function, w->axis, component);
    else
        snprintf(text, size, "scan(zip(v=$1, k=$2), %s, %s, axis=%d%s%s).%s", p->init, p->function, w->axis,
                 w->reverse ? ", reverse=true" : "", w->exclusive ? ", exclusive=true" : "", component);
}

static real number_at(imgpar_dtype dtype, const void *data, int64_t i)
{
    switch (dtype) {
    case IMGPAR_U8: return ((const uint8_t *)data)[i];
    case IMGPAR_I32: return ((const int32_t *)data)[i];
    case IMGPAR_I64: return (real)((const int64_t *)data)[i];
    default: return ((const double *)data)[i];
    }
}

static void check_component(const program *p, const walk *w, int c, const char *component, int64_t n)
{
    static double got[2][MOST];
    char text[800];
    imgpar_array *inputs[] = { imgpar_array_from_data(ctx, IMGPAR_F64, w->rank, w->shape, values),
                               imgpar_array_from_data(ctx, IMGPAR_I32, w->rank, w->shape, keys) };
    imgpar_info info = { .struct_size = sizeof info };
    write_text(p, w, component, text, sizeof text);
    imgpar_array *r = imgpar_apply(ctx, text, inputs, 2);
    ck_assert_msg(!imgpar_array_status(r), "%s: %s", text, imgpar_array_message(r));
    imgpar_array_info(r, &info);
    ck_assert_msg(info.dtype == p->dtypes[c], "%s is of %s", text, imgpar_dtype_name(info.dtype));
    for (int way = 0; way < (has_device() ? 2 : 1); way++) {
        schedule(way ? "auto" : "ref");
        ck_assert_msg(!imgpar_array_read(r, got[way], info.size_bytes), "%s: %s", text, imgpar_array_message(r));
        for (int64_t i = 0; i < n; i++) {
            const real is = number_at(info.dtype, got[way], i), want = wanted[c][i];
            ck_assert_msg(is == want || fabsl(is - want) <= 1e-12L * (1 + fabsl(want)),
                          "%s, %s: element %d is %Lg, not %Lg", text, way ? "device" : "ref", (int)i, is, want);
        }
    }
    if (has_device())
        ck_assert_msg(memcmp(got[0], got[1], info.size_bytes) == 0, "%s: ref and the device give different bytes",
                      text);
    imgpar_array_release(r);
    imgpar_array_release(inputs[0]);
    imgpar_array_release(inputs[1]);
}

START_TEST(records_are_walked_as_a_loop_would)
{
    static const walk walks[] = {
        { 2, 1, { 19, 37 }, false, false, false },    { 2, 0, { 37, 19 }, true, false, false },
        { 3, 1, { 5, 23, 3 }, false, true, false },   { 3, 2, { 3, 4, 31 }, true, true, false },
        { 3, 2, { 7, 9, 4 }, false, false, false },   { 1, 0, { 101 }, false, false, true },
        { 3, 0, { 11, 6, 13 }, false, false, false }, { 2, 0, { 29, 9 }, false, false, true },
    };
    const program *p = &programs[_i];
    open_context();
    for (size_t k = 0; k < sizeof walks / sizeof *walks; k++) {
        char names[32], *rest = NULL;
        fill_elements(&walks[k]);
        const int64_t n = compute(p, &walks[k]);
        snprintf(names, sizeof names, "%s", p->components);
        int c = 0;
        for (char *name = strtok_r(names, " ", &rest); name; name = strtok_r(NULL, " ", &rest), c++)
            if ((c + _i + (int)k) % 2 == 0 || p->n == 1) check_component(p, &walks[k], c, name, n);
    }
    close_context();
}
END_TEST

/* ---- equal texts ----------------------------------------------------------------------------------------- */

static void *bytes_of(const char *text, imgpar_array *const *inputs, const char *by, imgpar_info *info)
{
    imgpar_array *r = imgpar_apply(ctx, text, inputs, 2);
    ck_assert_msg(!imgpar_array_status(r), "%s: %s", text, imgpar_array_message(r));
    *info = (imgpar_info){ .struct_size = sizeof *info };
    imgpar_array_info(r, info);
    void *bytes = malloc(info->size_bytes + 1);
    schedule(by);
    ck_assert_msg(!imgpar_array_read(r, bytes, info->size_bytes), "%s: %s", text, imgpar_array_message(r));
    imgpar_array_release(r);
    return bytes;
}

static void same(const char *text, const char *other, imgpar_array *const *inputs)
{
    for (int way = 0; way < (has_device() ? 2 : 1); way++) {
        imgpar_info a, b;
        void *x = bytes_of(text, inputs, way ? "auto" : "ref", &a),
             *y = bytes_of(other, inputs, way ? "auto" : "ref", &b);
        ck_assert_msg(a.dtype == b.dtype && a.size_bytes == b.size_bytes, "%s and %s have different types", text,
                      other);
        ck_assert_msg(memcmp(x, y, a.size_bytes) == 0, "%s and %s differ by %s", text, other, way ? "auto" : "ref");
        free(x);
        free(y);
    }
}

static void open_inputs(imgpar_array *inputs[2])
{
    const walk w = { .rank = 2, .shape = { 13, 37 } };
    fill_elements(&w);
    inputs[0] = imgpar_array_from_data(ctx, IMGPAR_F64, 2, w.shape, values);
    inputs[1] = imgpar_array_from_data(ctx, IMGPAR_I32, 2, w.shape, keys);
}

START_TEST(what_must_be_equal_is_equal)
{
    static const struct {
        const char *text, *other;
    } rows[] = {
        { "scan($2, zip(s=0, n=0), (s, q) -> zip(s=s.s + q, n=s.n + 1), axis=1).s",
          "scan($2, 0, (p, q) -> p + q, axis=1)" },
        { "(s, n) = scan($2, (0, 0), (s, n, q) -> (s + q, n + 1), axis=1)\ns - n", /* one walk */
          "scan($2, 0, (p, q) -> p + q, axis=1) - cast(cumsum($2 * 0 + 1, axis=1), i64)" },
        { "scan($1, zip(y=0, before=0), (s, q) -> zip(y=fma(-0.5, s.y, fma(0.25, s.before, q)), before=s.y), axis=0).y",
          "recursive($1, [1], [0.5 -0.25], axis=0, start=zero)" },
        { "reduce(zip(v=$2, at=$1), zip(v=-1, at=0), (p, q) -> q.v > p.v ? q : p, axis=1).v",
          "reduce($2, -1, (p, q) -> q > p ? q : p, axis=1)" },
        { "reduce(zip(v=$2, at=$1), zip(v=-1, at=0), (p, q) -> q.v > p.v ? q : p, axis=1, associative=true).at",
          "reduce(zip(v=$2, at=$1), zip(v=-1, at=0), (p, q) -> q.v > p.v ? q : p, axis=1).at" },
        { "reduce(zip(v=$2, at=$1), zip(v=-1, at=0), (p, q) -> q.v > p.v ? q : p, associative=true, keepdims=true, "
          "axis=[0 "
          "1]).at",
          "reduce(zip(v=$2, at=$1), zip(at=0, v=-1), (p, q) -> q.v > p.v ? q : p, keepdims=true, axis=[0 1]).at" },
        { "s = scan($1, zip(m=slice($1, 5, 6, axis=1)), (s, q) -> zip(m=max(s.m, q)), axis=1)\ns.m",
          "max(scan($1, -1, (p, q) -> max(p, q), axis=1), broadcast(slice($1, 5, 6, axis=1), [13, 37]))" },
        { "r = iterate(zip(a=$1, b=$2), 5, s -> zip(a=s.a * 0.5 + s.b, b=s.b + 1))\nr.a",
          "(a, b) = iterate(($1, $2), 5, (a, b) -> (a * 0.5 + b, b + 1))\na" },
        { "r = iterate(zip(a=$1, n=0), 60, s -> zip(a=s.a * 1.5, n=s.n + 1), until=s -> s.a > 2)\nr.n",
          "(a, n) = iterate(($1, 0), 60, (a, n) -> (a * 1.5, n + 1), until=(a, n) -> a > 2)\nn" },
        { "r = iterate(zip(a=$1, n=0), 200, s -> zip(a=blur(s.a, 1), n=s.n + 1))\nr.a + r.n",
          "iterate($1, 200, blur(_, 1)) + 200" },
        /* elements are not made what the function gives */
        { "scan($1, 0, (p, q) -> q > 0.6, axis=1)", "$1 > 0.6" },
        { "scan($1, 0, (p, q) -> cast(floor(q * 10), i32), axis=0)", "cast(floor($1 * 10), i32)" },
        { "scan($2, 0, (p, q) -> cast(q % 200, u8), axis=1, reverse=true)", "cast($2 % 200, u8)" },
        { "scan($1, 0, (p, q) -> cast(q, f32), axis=1) * 0 + cast(scan($1, 0, (p, q) -> cast(q * 3 - q * 2, f32)), "
          "f64)",
          "cast(cast($1, f32), f64)" },
        { "cast(reduce($1, 0, (p, q) -> p + cast(q > 0.6, i32), axis=1), f64)",
          "cast(sum(cast($1 > 0.6, i32), axis=1), f64)" },
        { "reduce($1, 0, (p, q) -> p || q > 0.99)", "maxval($1) > 0.99" },
        { "iterate(zip(p=1, q=1), 10, zip(p=_.q, q=_.p + _.q)).q", "144 * ones([1], dtype=i32)" },
        /* a filter reads the step before it several times; beyond the one element is what its border has */
        { "scan($1, 0, (p, q) -> iterate(p * 0.5 + q, 15, v -> median(v, 3) * 0.5), axis=1)",
          "scan($1, 0, (p, q) -> iterate(p * 0.5 + q, 15, v -> v * 0.5), axis=1)" },
        { "scan(zip(a=$1), zip(a=0), (p, q) -> zip(a=iterate(p.a * 0.5 + q.a, 15, v -> median(v, 3) * 0.5)), axis=1).a",
          "scan($1, 0, (p, q) -> iterate(p * 0.5 + q, 15, v -> v * 0.5), axis=1)" },
        { "scan($1, 0, (p, q) -> erode(p * 0.5 + q, 3, border=constant, cval=0.25), axis=1)",
          "scan($1, 0, (p, q) -> min(p * 0.5 + q, 0.25), axis=1)" },
        { "scan($1, 0, (p, q) -> erode(q, 3, border=constant, cval=0.25), axis=1)", "min($1, 0.25)" },
        { "scan(zip(a=$1), zip(a=0), (p, q) -> zip(a=erode(q.a, 3, border=constant, cval=0.25)), axis=1).a",
          "min($1, 0.25)" },
        { "p = zip(a=$1, b=$2)\nq = zip(b=$2 + 1, a=$1 * 2)\n($1 > 0.5 ? p : q).b", "$1 > 0.5 ? $2 : $2 + 1" },
        { "p = zip(a=$1, b=$2)\nsum(($1 > 0.5 ? p : p), axis=-1)", "sum(zip($1, $2), axis=-1)" },
    };
    imgpar_array *inputs[2];
    open_context();
    open_inputs(inputs);
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
        same(rows[k].text, rows[k].other, inputs);
    imgpar_array_release(inputs[0]);
    imgpar_array_release(inputs[1]);
    close_context();
}
END_TEST

/* Lines of more than 32768 elements are walked in blocks, as all states join. */
START_TEST(long_lines_of_associative_states_are_walked_in_blocks)
{
    enum { N = 40001 };
    static int32_t v[N], at[N];
    static int64_t got[2][N];
    int64_t sizes[][2] = { { 1, N }, { N, 1 } };
    static const char *const ends[] = { ", associative=true).at", ").at" };
    open_context();
    for (int i = 0; i < N; i++) {
        v[i] = (int32_t)((int64_t)i * 7919 % 30011 + i / 3);
        at[i] = i;
    }
    for (int k = 0; k < 2; k++)
        for (int t = 0; t < 2; t++)
            for (int way = 0; way < (has_device() ? 2 : 1); way++) {
                char text[200];
                imgpar_array *inputs[] = { imgpar_array_from_data(ctx, IMGPAR_I32, 2, sizes[k], v),
                                           imgpar_array_from_data(ctx, IMGPAR_I32, 2, sizes[k], at) };
                snprintf(text, sizeof text,
                         "scan(zip(v=$1, at=$2), zip(v=-1, at=-1), (p, q) -> q.v > p.v ? q : p, axis=%d%s", 1 - k,
                         ends[t]);
                imgpar_array *r = imgpar_apply(ctx, text, inputs, 2);
                schedule(way ? "auto" : "ref");
                ck_assert_msg(!imgpar_array_read(r, got[way], N * sizeof(int32_t)), "%s: %s", text,
                              imgpar_array_message(r));
                int32_t best = 0;
                for (int i = 0; i < N; i++) {
                    if (v[i] > v[best]) best = i;
                    ck_assert_msg(((int32_t *)got[way])[i] == best, "%s: element %d is %d, not %d", text, i,
                                  ((int32_t *)got[way])[i], best);
                }
                imgpar_array_release(r);
                imgpar_array_release(inputs[0]);
                imgpar_array_release(inputs[1]);
            }
    close_context();
}
END_TEST

START_TEST(what_reads_several_states_is_one_walk)
{
    static const struct {
        const char *text, *words;
        int kernels;
    } rows[] = {
        { "s = scan($1, zip(n=0, m=0), (s, q) -> zip(n=s.n + 1, m=s.m + q), axis=1)\ns.m / s.n", "carrying i64 f64",
          1 },
        { "recursive($1, [1], [0.1 0.2 0.3 0.4 0.5], axis=0)", "carrying f64 f64 f64 f64 f64", 1 },
        { "recursive($1, [1], [0.1], axis=0)", "walks   rows, first to last\n", 1 },
        { "scan($1, zip(n=0, m=0, o=0), (s, q) -> zip(n=s.n + 1, m=s.m + q / (s.n + 1), o=s.m), axis=1).m",
          "carrying i64 f64\n", 1 },
        { "reduce(zip(v=$1, at=$2), zip(v=inf, at=-1), (p, q) -> q.v < p.v ? q : p, axis=1).v",
          "walks   columns, first to "
          "last\n",
          2 },
    };
    imgpar_array *inputs[2];
    open_context();
    open_inputs(inputs);
    for (size_t k = 0; has_device() && k < sizeof rows / sizeof *rows; k++) {
        char *text = NULL;
        int n = 0;
        imgpar_array *r = imgpar_apply(ctx, rows[k].text, inputs, 2);
        ck_assert_msg(!imgpar_array_explain(r, "text", &text), "%s: %s", rows[k].text, imgpar_array_message(r));
        for (const char *at = text; (at = strstr(at, "\nkernel ")) != NULL; at++)
            n++;
        n += strncmp(text, "kernel ", 7) == 0;
        ck_assert_msg(n == rows[k].kernels, "%s: %d kernels\n%s", rows[k].text, n, text);
        ck_assert_msg(strstr(text, rows[k].words) != NULL, "%s: no \"%s\" in\n%s", rows[k].text, rows[k].words, text);
        imgpar_free(text);
        imgpar_array_release(r);
    }
    imgpar_array_release(inputs[0]);
    imgpar_array_release(inputs[1]);
    close_context();
}
END_TEST

/* A recursive filter of an RGB picture, each line from a number of its own; and where all of it ends. */
START_TEST(an_array_is_an_init_of_a_number_for_each_line)
{
    enum { H = 23, W = 19, C = 3, N = H * W * C };
    static const int64_t shape[] = { H, W, C };
    static float pixels[N], starts[N], got[N];
    static real want[N];
    const int axis = _i & 1;
    const bool reverse = _i & 2, reduces = _i & 4;
    const int64_t inits[] = { axis ? H : 1, axis ? 1 : W, C };
    const int n = axis ? W : H, inner = axis ? C : W * C, lines = N / n;
    char text[160];
    for (int i = 0; i < N; i++)
        pixels[i] = (float)((i * 7919 + 13) % 1009) / 1009;
    for (int line = 0; line < lines; line++) {
        starts[line] = (float)(line % 7) - 2;
        real s = starts[line];
        for (int i = 0; i < n; i++) {
            const int at = (line / inner * n + (reverse ? n - 1 - i : i)) * inner + line % inner;
            s = 0.75L * s + 0.25L * pixels[at];
            want[reduces ? line : at] = s;
        }
    }
    snprintf(text, sizeof text, "%s($1, $2, (p, q) -> 0.75 * p + 0.25 * q, axis=%d%s)", reduces ? "reduce" : "scan",
             axis, reverse ? ", reverse=true" : "");
    open_context();
    imgpar_array *inputs[] = { imgpar_array_from_data(ctx, IMGPAR_F32, 3, shape, pixels),
                               imgpar_array_from_data(ctx, IMGPAR_F32, 3, inits, starts) };
    imgpar_array *r = imgpar_apply(ctx, text, inputs, 2);
    const int n_results = reduces ? lines : N;
    for (int way = 0; way < (has_device() ? 2 : 1); way++) {
        schedule(way ? "auto" : "ref");
        ck_assert_msg(!imgpar_array_read(r, got, (size_t)n_results * sizeof *got), "%s: %s", text,
                      imgpar_array_message(r));
        for (int i = 0; i < n_results; i++)
            ck_assert_msg(fabsl(got[i] - want[i]) <= 1e-6L, "%s: element %d is %g, not %Lg", text, i, (double)got[i],
                          want[i]);
    }
    imgpar_array_release(r);
    imgpar_array_release(inputs[0]);
    imgpar_array_release(inputs[1]);
    close_context();
}
END_TEST

START_TEST(a_graphs_text_can_be_read_again)
{
    static const char *const texts[] = {
        "scan(zip(v=$1, k=$2), zip(n=0, m=0.5), (s, q) -> zip(m=s.m + q.v * q.k, n=s.n + 1), axis=1, exclusive=true).m",
        "(n, m) = scan(($1, $2), (0, 0.5), (n, m, v, k) -> (n + 1, m + v * k), axis=1, reverse=true)\nn + m",
        "scan($1, zip(n=0), (s, q) -> zip(n=s.n + 1), axis=0).n",
        "scan($1, reduce($1, \"max\", axis=1, keepdims=true), (p, q) -> p * 0.5 + q, axis=1)",
    };
    imgpar_array *inputs[2];
    open_context();
    open_inputs(inputs);
    for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) {
        char *text = NULL;
        imgpar_array *r = imgpar_apply(ctx, texts[k], inputs, 2);
        ck_assert_msg(!imgpar_array_explain(r, "graph", &text), "%s: %s", texts[k], imgpar_array_message(r));
        same(texts[k], text, inputs);
        imgpar_free(text);
        imgpar_array_release(r);
    }
    imgpar_array_release(inputs[0]);
    imgpar_array_release(inputs[1]);
    close_context();
}
END_TEST

START_TEST(mistakes_are_told)
{
    static const struct {
        const char *text, *message;
    } rows[] = {
        { "scan($1, zip(a=0, b=0), (s, q) -> zip(a=q))",
          "scan: the function must give what init has, a record of a, b; it gives other components" },
        { "scan($1, zip(a=0, b=0), (s, q) -> s.a)", "scan: the function must give what init has, a record of a, b" },
        { "reduce($1, (0, 0), (s, t, q) -> s)", "reduce: the function must give as many values as init has, 2" },
        { "scan($1, (0, 0), (s, q) -> (s, q))", "the function '->' takes 2 arguments, here are 3" },
        { "scan($1, zip(a=cast(ones([1]), u8)), (s, q) -> zip(a=s.a * q))",
          "scan: the function gives f64 for a, which starts as u8; cast either" },
        { "scan($2, zip(a=0.5), (s, q) -> zip(a=q))",
          "scan: a starts from 0.5, but the function makes it i32; cast what it gives, or start from another number" },
        { "(a, b) = scan($1, (0, -1), (s, t, q) -> (s, cast(q, u8)))\na",
          "scan: state 2 starts from -1, but the function makes it "
          "u8; cast what it gives, or start from another number" },
        { "scan(zip(v=$1), zip(a=0), (s, q) -> zip(a=q.b)).a", "there is no component b; it has v" },
        { "scan($1, zip(a=0), (s, q) -> zip(a=q), axis=2).a", "scan: there is no axis 2; a has 2 axes: [13, 37]" },
        { "scan($1, zip(a=$1), (s, q) -> zip(a=q)).a",
          "scan: a state starts from neither one number nor one for each line, with 1 for the axis" },
        { "reduce($1, zip(a=0), (s, q) -> zip(a=max(s.a, q)), associative=true).a",
          "reduce: an associative function takes two of what it gives: elements are arrays for the same components as "
          "init, which are numbers" },
        { "scan(5, zip(a=0), (s, q) -> zip(a=q)).a", "scan takes an array, not a number" },
        { "reduce($1, zip(a=0), (s, q) -> zip(a=q + mean($1))).a",
          "scan: the function may use its arguments and numbers only" },
        { "iterate(zip(a=$1, b=$1), 2, s -> s.a)",
          "iterate carries a record: a step must give one with the same components" },
        { "(u, v) = reduce((numbers([1 2 3]), numbers([1 2; 3 4])), (0, 0), (u, v, q, r) -> (u + q, v + r), "
          "associative=true)\nv",
          "reduce: the arrays have different shapes" },
        { "(u, v) = reduce($1, (numbers([1 2 3], dtype=f64), 0), (u, v, q) -> (u + q, v + 1), axis=0)\nu",
          "reduce: state 1 starts from neither one number nor one for each result, with 1 for the folded axes" },
    };
    imgpar_array *inputs[2];
    open_context();
    open_inputs(inputs);
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        imgpar_array *r = imgpar_apply(ctx, rows[k].text, inputs, 2);
        char byte[13 * 37 * 8];
        imgpar_info info = { .struct_size = sizeof info };
        if (!imgpar_array_status(r) && !imgpar_array_info(r, &info)) imgpar_array_read(r, byte, info.size_bytes);
        ck_assert_msg(imgpar_array_status(r) != IMGPAR_OK || imgpar_array_message(r)[0], "%s is accepted",
                      rows[k].text);
        ck_assert_msg(strstr(imgpar_array_message(r), rows[k].message) != NULL, "%s: %s", rows[k].text,
                      imgpar_array_message(r));
        imgpar_array_release(r);
    }
    imgpar_array_release(inputs[0]);
    imgpar_array_release(inputs[1]);
    close_context();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("states");
    TCase *c = tcase_create("states");
    tcase_set_timeout(c, 300);
    tcase_add_loop_test(c, records_are_walked_as_a_loop_would, 0, N_PROGRAMS);
    tcase_add_loop_test(c, an_array_is_an_init_of_a_number_for_each_line, 0, 6); /* of reduce() forwards alone */
    tcase_add_test(c, what_must_be_equal_is_equal);
    tcase_add_test(c, long_lines_of_associative_states_are_walked_in_blocks);
    tcase_add_test(c, what_reads_several_states_is_one_walk);
    tcase_add_test(c, a_graphs_text_can_be_read_again);
    tcase_add_test(c, mistakes_are_told);
    suite_add_tcase(suite, c);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
