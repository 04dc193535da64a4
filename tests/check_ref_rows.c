/* SPDX-License-Identifier: MIT */
/*
 * What makes the interpreter quick changes no byte: vector instructions of other processors, stages computed row by row
 * with those that read them, and threads.
 */
#include "run/ref.h"
#include "run/ref_loops.h"

#include "base/alloc.h"
#include "base/dtype.h"
#include "asserts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- loops -------------------------------------------------------------------------------------- */

enum { N = 1003, N_SUM_STAGES = 8 };
typedef union values {
    uint64_t bits[N];
    float f[2 * N];
    double d[N];
    unsigned char bytes[8 * N];
} values;

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    return *state ^= *state << 17;
}

/* All bits at random, but numbers of moderate size among floats, and truth values 0 and 1. */
static void fill(imgpar_dtype dtype, int seed, values *v)
{
    static const double edges[] = { 0,     -0.0,    1,   -1,    0.5,  2.5,      -2.5, 127.5,
                                    255.5, 65535.5, 1e9, -1e10, 3e30, INFINITY, NAN };
    uint64_t state = 88172645463325252u + (uint64_t)seed;
    for (int k = 0; k < N; k++)
        v->bits[k] = next_random(&state);
    for (int k = 0; k < N; k++) {
        const double number = k < 225 ? edges[seed % 2 ? k % 15 : k / 15] : (double)(int64_t)v->bits[k] * 0x1p-50;
        if (dtype == IMGPAR_F32) v->f[k] = (float)number;
        if (dtype == IMGPAR_F64) v->d[k] = number;
        if (dtype == IMGPAR_BOOL) v->bytes[k] &= 1;
    }
}

/* Any two NaN are the same. */
static bool same(imgpar_dtype dtype, const values *a, const values *b)
{
    for (int k = 0; k < N; k++) {
        const size_t size = ip_dtype(dtype)->size_bytes;
        const bool are_nan = (dtype == IMGPAR_F32 && isnan(a->f[k]) && isnan(b->f[k])) ||
                             (dtype == IMGPAR_F64 && isnan(a->d[k]) && isnan(b->d[k]));
        if (!are_nan && memcmp(a->bytes + size * (size_t)k, b->bytes + size * (size_t)k, size) != 0) return false;
    }
    return true;
}

static void compare(ip_ref_loop any, ip_ref_loop other, imgpar_dtype to, imgpar_dtype from, imgpar_dtype first)
{
    static values a, b, c, expected, result;
    ck_assert(!any == !other);
    if (!any) return;
    fill(first, 0, &a);
    fill(from, 1, &b);
    fill(from, 2, &c);
    for (int n = N; n > N - 70; n -= 23) {
        memset(&expected, 0, sizeof expected);
        memset(&result, 0, sizeof result);
        any(n, &expected, &a, &b, &c);
        other(n, &result, &a, &b, &c);
        ck_assert_msg(same(to, &expected, &result), "to %s from %s, %d values", ip_dtype(to)->name,
                      ip_dtype(from)->name, n);
    }
}

static imgpar_dtype result_of(int op, imgpar_dtype dtype)
{
    return (op >= IP_X_LT && op <= IP_X_NE) || op == IP_X_ISNAN ? IMGPAR_BOOL : dtype;
}

START_TEST(processors_give_the_same)
{
    const ip_ref_loops *list[IP_REF_LOOPS_MOST];
    const int n = ip_ref_loops_list(list);
    const imgpar_dtype dtype = (imgpar_dtype)_i;
    for (int k = 1; k < n; k++) {
        for (int op = 0; op < IP_X_N; op++)
            compare(list[0]->op[op][dtype], list[k]->op[op][dtype], result_of(op, dtype), dtype,
                    op == IP_X_SELECT ? IMGPAR_BOOL : dtype);
        for (int to = 0; to < IP_N_REAL_DTYPES; to++) {
            compare(list[0]->cast[to][dtype], list[k]->cast[to][dtype], (imgpar_dtype)to, dtype, dtype);
            compare(list[0]->add_cast[to][dtype], list[k]->add_cast[to][dtype], (imgpar_dtype)to, dtype,
                    (imgpar_dtype)to);
            compare(list[0]->add_casts[to][dtype], list[k]->add_casts[to][dtype], (imgpar_dtype)to, dtype, dtype);
            compare(list[0]->saturate[to][dtype], list[k]->saturate[to][dtype], (imgpar_dtype)to, dtype, dtype);
        }
    }
}
END_TEST

/* ---- sums ------------------------------------------------------------------------------------------- */

static ip_expr *own_place(ip_ir *ir, ip_stage *s)
{
    ip_expr *index[4];
    for (int k = 0; k < 4; k++)
        index[k] = ip_x_coord(ir, k, s->dims[k]);
    return ip_x_load(ir, s, index, IP_BORDER_NONE, NULL);
}

/* x, or where it is to be apart what a stage of its own holds of it. */
static ip_expr *part(ip_ir *ir, ip_expr *x, const int64_t dims[4], bool apart)
{
    if (!apart) return x;
    ip_stage *s = ip_stage_new(ir, IP_STAGE_MAP, x->dtype, dims, NULL);
    ck_assert_ptr_nonnull(s);
    s->body = x;
    return own_place(ir, s);
}

/* cast(a) + cast(b), cast(a) + c and c b + cast(a) of c = cast(b) squared, all in dtype `to`; *out is to be freed. */
static void run_sum(int which, imgpar_dtype to, imgpar_dtype from, bool apart, void **out)
{
    static values a, b;
    const int64_t dims[4] = { 1, 1, N, 1 };
    ip_ir *ir = ip_ir_new();
    void *memory[N_SUM_STAGES] = { &a, &b };
    fill(from, 0, &a);
    fill(from, 1, &b);
    ip_stage *sa = ip_stage_new(ir, IP_STAGE_SOURCE, from, dims, NULL),
             *sb = ip_stage_new(ir, IP_STAGE_SOURCE, from, dims, NULL);
    ip_expr *x = part(ir, ip_x_cast(ir, to, own_place(ir, sa)), dims, apart),
            *y = part(ir, ip_x_cast(ir, to, own_place(ir, sb)), dims, apart);
    ip_expr *square = part(ir, ip_x_binary(ir, IP_X_MUL, y, y), dims, apart),
            *product = part(ir, ip_x_binary(ir, IP_X_MUL, square, y), dims, apart);
    ip_expr *const terms[] = { y, square, product };
    ip_stage *r = ip_stage_new(ir, IP_STAGE_MAP, to, dims, NULL);
    ck_assert_ptr_nonnull(r);
    r->body = ip_x_binary(ir, IP_X_ADD, terms[which], x);
    r->is_output = true;
    ip_error err = { .status = IMGPAR_OK };
    ck_assert_msg(ip_ir_verify(ir, &err) == IMGPAR_OK, "%s", err.message);
    ck_assert_msg(ip_ref_run(ir, memory, UINT64_MAX, NULL, &err) == IMGPAR_OK, "%s", err.message);
    *out = memory[r->id];
    ip_ir_free(ir);
}

START_TEST(sums_are_those_of_their_parts)
{
    static const imgpar_dtype from[] = { IMGPAR_U8, IMGPAR_I8, IMGPAR_U16, IMGPAR_I16, IMGPAR_F32 };
    const imgpar_dtype to = (imgpar_dtype)_i;
    for (size_t k = 0; to != IMGPAR_F16 && k < sizeof from / sizeof *from; k++)
        for (int which = 0; which < 3 && (from[k] != IMGPAR_F32 || ip_dtype(to)->is_float); which++) {
            void *together, *apart;
            run_sum(which, to, from[k], false, &together);
            run_sum(which, to, from[k], true, &apart);
            ck_assert_msg(memcmp(together, apart, N * ip_dtype(to)->size_bytes) == 0, "sum %d, %s from %s", which,
                          ip_dtype(to)->name, ip_dtype(from[k])->name);
            ip_free(together);
            ip_free(apart);
        }
}
END_TEST

/* ---- rows -------------------------------------------------------------------------------------------- */

enum { D = 2, H = 431, W = 333, C = 3, N_STAGES = 6 };

typedef struct chain {
    ip_ir *ir;
    void *memory[N_STAGES];
    ip_stage *stages[N_STAGES];
    int n;
} chain;

static ip_expr *beside(chain *t, ip_stage *s, int dy, int dx, int border)
{
    ip_expr *index[4];
    for (int k = 0; k < 4; k++)
        index[k] = ip_x_coord(t->ir, k, s->dims[k]);
    index[1] = ip_x_binary(t->ir, IP_X_ADD, index[1], ip_x_int(t->ir, IMGPAR_I32, dy));
    index[2] = ip_x_binary(t->ir, IP_X_ADD, index[2], ip_x_int(t->ir, IMGPAR_I32, dx));
    return ip_x_load(t->ir, s, index, border, border == IMGPAR_BORDER_CONSTANT ? ip_x_int(t->ir, s->dtype, 7) : NULL);
}

/* Adds a stage of elements a[dy, dx] + 3 b[-dy, 0]. */
static void add_stage(chain *t, int a, int b, int dy, int border)
{
    ip_expr *near = beside(t, t->stages[a], dy, 2, border), *far = beside(t, t->stages[b], -dy, 0, border);
    ip_expr *sum = ip_x_binary(t->ir, IP_X_MUL, far, ip_x_int(t->ir, IMGPAR_I32, 3));
    ip_stage *s = ip_stage_new(t->ir, IP_STAGE_MAP, IMGPAR_I32, t->stages[0]->dims, NULL);
    ck_assert_ptr_nonnull(s);
    s->body = ip_x_binary(t->ir, IP_X_ADD, near, sum);
    t->stages[t->n++] = s;
}

/* Each stage reads rows above and below of two before it. Kept: all are asked for, so each is computed whole. */
static void run_chain(chain *t, int32_t *pixels, int rows, int border, bool kept)
{
    const int64_t dims[4] = { D, rows, W, C };
    *t = (chain){ .ir = ip_ir_new() };
    t->stages[t->n++] = ip_stage_new(t->ir, IP_STAGE_SOURCE, IMGPAR_I32, dims, NULL);
    t->memory[0] = pixels;
    add_stage(t, 0, 0, 1, border);
    add_stage(t, 1, 0, 5, border);
    add_stage(t, 2, 1, -2, border);
    add_stage(t, 3, 1, 0, border);
    add_stage(t, 4, 3, 3, border);
    for (int k = 1; k < N_STAGES; k++)
        t->stages[k]->is_output = kept || k == N_STAGES - 1;
    ip_error err = { .status = IMGPAR_OK };
    ck_assert_int_eq(ip_ir_verify(t->ir, &err), IMGPAR_OK);
    ck_assert_msg(ip_ref_run(t->ir, t->memory, UINT64_MAX, NULL, &err) == IMGPAR_OK, "%s", err.message);
}

static void free_chain(chain *t)
{
    for (int k = 1; k < N_STAGES; k++)
        ip_free(t->memory[k]);
    ip_ir_free(t->ir);
}

START_TEST(stages_computed_with_their_readers_give_the_same)
{
    static const int heights[] = { 1, 2, 3, 9, 64, H };
    static int32_t pixels[D * H * W * C];
    uint64_t state = 12345;
    for (int k = 0; k < D * H * W * C; k++)
        pixels[k] = (int32_t)(next_random(&state) % 1000);
    for (size_t k = 0; k < sizeof heights / sizeof *heights; k++) {
        chain whole, rows;
        run_chain(&whole, pixels, heights[k], _i, true);
        run_chain(&rows, pixels, heights[k], _i, false);
        ck_assert_ptr_null(rows.memory[1]);
        ck_assert_int_eq(memcmp(whole.memory[N_STAGES - 1], rows.memory[N_STAGES - 1],
                                sizeof *pixels * D * W * C * (size_t)heights[k]),
                         0);
        free_chain(&whole);
        free_chain(&rows);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("ref_rows");
    TCase *c = tcase_create("ref_rows");
    tcase_set_timeout(c, 120);
    tcase_add_loop_test(c, processors_give_the_same, 0, IP_N_REAL_DTYPES);
    tcase_add_loop_test(c, sums_are_those_of_their_parts, 0, IMGPAR_BOOL);
    tcase_add_loop_test(c, stages_computed_with_their_readers_give_the_same, IMGPAR_BORDER_REPLICATE,
                        IMGPAR_BORDER_CONSTANT + 1);
    suite_add_tcase(suite, c);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
