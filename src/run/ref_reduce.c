/* SPDX-License-Identifier: MIT */
/*
 * Reductions of the reference interpreter. Sums of floats and CUSTOM take the elements in the order of memory.
 *
 * SUM of integers wraps in 64 bits; SUM of floats is taken in double, for F32 too, and rounded to acc_dtype at the end.
 * MIN and MAX skip NaN; of nothing but NaN, and of no floats, they are NaN, and of no integers the other end of the
 * dtype. CUSTOM begins with init and combines one element after the other.
 */
#include "run/ref_impl.h"

#include "base/dtype.h"

#include <math.h>
#include <string.h>

typedef struct reducer {
    const ip_stage *stage;
    ip_ref_program combine; /* CUSTOM */
    const ip_ref_loops *loops;
    double d;  /* accumulated: floats */
    int64_t i; /* integers, wrapped to acc_dtype */
} reducer;

static const int64_t one_element[4] = { 1, 1, 1, 1 };
static const ip_ref_place only_place = { .n = 1 };

static const ip_xop op_of[] = { [IP_REDUCE_SUM] = IP_X_ADD, [IP_REDUCE_MIN] = IP_X_MIN, [IP_REDUCE_MAX] = IP_X_MAX };

/* Values as they are accumulated; integers as i64, or the bits of u64. */
typedef union wide {
    double d[IP_REF_BLOCK];
    int64_t i[IP_REF_BLOCK];
} wide;

/* Folds n values, which it changes, into the first one, many at once: the last ones go into the first ones. */
static void fold_halves(ip_ref_loop loop, wide *v, int n)
{
    for (; n > 1; n -= n / 2)
        loop(n / 2, v, v, v->i + (n - n / 2), NULL);
}

static void take_floats(reducer *r, wide *v, int n)
{
    const ip_reduce reduce = r->stage->reduce;
    for (int k = 0; reduce == IP_REDUCE_SUM && k < n; k++)
        r->d += v->d[k];
    if (reduce == IP_REDUCE_SUM) return;
    fold_halves(r->loops->op[op_of[reduce]][IMGPAR_F64], v, n);
    r->d = reduce == IP_REDUCE_MIN ? fmin(r->d, v->d[0]) : fmax(r->d, v->d[0]);
}

/* Sums wrap. */
static void take_integers(reducer *r, wide *v, int n)
{
    const imgpar_dtype dtype = r->stage->acc_dtype == IMGPAR_U64 ? IMGPAR_U64 : IMGPAR_I64;
    const ip_ref_loop loop = r->loops->op[op_of[r->stage->reduce]][dtype];
    fold_halves(loop, v, n);
    loop(1, &r->i, &r->i, v, NULL);
}

/* Gives the accumulated value to a program over ACC, as a value of acc_dtype at to. */
static void set_acc(ip_ref_program *p, const reducer *r, void *to)
{
    const bool is_float = ip_dtype(r->stage->acc_dtype)->is_float;
    const void *value = is_float ? (const void *)&r->d : &r->i;
    r->loops->cast[r->stage->acc_dtype][is_float ? IMGPAR_F64 : IMGPAR_I64](1, to, value, NULL, NULL);
    p->acc[0] = to;
}

static void set_result(reducer *r, const void *v)
{
    const imgpar_dtype dtype = r->stage->acc_dtype;
    if (ip_dtype(dtype)->is_float)
        r->loops->cast[IMGPAR_F64][dtype](1, &r->d, v, NULL, NULL);
    else
        r->loops->cast[IMGPAR_I64][dtype](1, &r->i, v, NULL, NULL);
}

static void take_custom(reducer *r, const unsigned char *v, int n)
{
    uint64_t acc[1];
    for (int k = 0; k < n; k++) {
        set_acc(&r->combine, r, acc);
        r->combine.acc[1] = v + ((size_t)k << ip_ref_size_log2(r->stage->acc_dtype));
        set_result(r, ip_ref_program_run(&r->combine, &only_place));
    }
}

static void take(void *user, const void *values, const ip_ref_place *place)
{
    reducer *r = user;
    const imgpar_dtype dtype = r->stage->acc_dtype;
    wide v;
    if (r->stage->reduce == IP_REDUCE_CUSTOM) {
        take_custom(r, values, place->n);
    } else if (ip_dtype(dtype)->is_float) {
        r->loops->cast[IMGPAR_F64][dtype](place->n, &v, values, NULL, NULL);
        take_floats(r, &v, place->n);
    } else {
        r->loops->cast[IMGPAR_I64][dtype](place->n, &v, values, NULL, NULL);
        take_integers(r, &v, place->n);
    }
}

/* The value of no elements; for CUSTOM the init expression's. */
static imgpar_status begin(ip_ir *ir, reducer *r, void *const *memory, ip_error *err)
{
    const ip_stage *stage = r->stage;
    const ip_dtype_facts *facts = ip_dtype(stage->acc_dtype);
    const bool is_min = stage->reduce == IP_REDUCE_MIN;
    const ip_ref_over over = { .domain = one_element, .memory = memory };
    r->loops = ip_ref_loops_here();
    if (stage->reduce == IP_REDUCE_CUSTOM) {
        ip_ref_program init;
        imgpar_status st = ip_ref_program_make(ir, stage->init, &over, &init, err);
        if (!st) set_result(r, ip_ref_program_run(&init, &only_place));
        ip_ref_program_clear(&init);
        return st ? st : ip_ref_program_make(ir, stage->combine, &over, &r->combine, err);
    }
    if (stage->reduce == IP_REDUCE_SUM) return IMGPAR_OK;
    if (facts->is_float) {
        r->d = NAN; /* fmin(NaN, x) is x */
    } else {
        ip_store_number(IMGPAR_I64, &r->i, is_min ? facts->maximum : facts->minimum);
        if (stage->acc_dtype == IMGPAR_U64) r->i = is_min ? -1 : 0;
    }
    return IMGPAR_OK;
}

/* What finish makes of the accumulated value, as an element. */
static imgpar_status finish(ip_ir *ir, const reducer *r, void *const *memory, void *out, ip_error *err)
{
    const ip_ref_over over = { .domain = one_element, .memory = memory };
    ip_ref_program program;
    uint64_t acc[1];
    imgpar_status st = ip_ref_program_make(ir, r->stage->finish, &over, &program, err);
    if (!st) {
        set_acc(&program, r, acc);
        ip_ref_store(r->stage->dtype, ip_ref_program_run(&program, &only_place), 1, out);
    }
    ip_ref_program_clear(&program);
    return st;
}

imgpar_status ip_ref_reduce(ip_ir *ir, const ip_stage *stage, void *const *memory, ip_ref_progress *progress, void *out,
                            ip_error *err)
{
    const ip_ref_over over = { .domain = stage->over, .memory = memory, .by_rows = true };
    reducer r = { .stage = stage, .combine = { .bad_source = -1 } };
    ip_ref_program body = { .bad_source = -1 };
    imgpar_status st = begin(ir, &r, memory, err);
    if (!st) st = ip_ref_program_make(ir, stage->body, &over, &body, err);
    if (!st) st = ip_ref_each_block(&body, progress, take, &r, err);
    if (!st) st = finish(ir, &r, memory, out, err);
    ip_ref_program_clear(&body);
    ip_ref_program_clear(&r.combine);
    return st;
}

static imgpar_status combine_totals(ip_ir *ir, const ip_stage *fold, const void *const *totals, size_t n, void *out,
                                    ip_error *err)
{
    reducer r = { .stage = fold, .combine = { .bad_source = -1 } };
    uint64_t total[1];
    imgpar_status st = begin(ir, &r, NULL, err);
    for (size_t k = 0; !st && k < n; k++) {
        ip_ref_fetch(fold->acc_dtype, totals[k], 1, total);
        take(&r, total, &only_place);
    }
    if (!st) st = finish(ir, &r, NULL, out, err);
    ip_ref_program_clear(&r.combine);
    return st;
}

/* ---- histogram ------------------------------------------------------------------------------- */

typedef struct counter {
    const ip_stage *stage;
    unsigned char *counts; /* u32, [channel][bin] */
} counter;

static void count(void *user, const void *values, const ip_ref_place *place)
{
    const counter *c = user;
    const int32_t *bin_of = values;
    const int64_t channels = c->stage->over[3], bins = c->stage->dims[2];
    for (int k = 0; k < place->n; k++) {
        int64_t bin = bin_of[k], channel = (place->first + k) % channels;
        if (bin < 0 || bin >= bins || channel >= c->stage->dims[1]) continue;
        unsigned char *at = c->counts + (size_t)(channel * bins + bin) * sizeof(uint32_t);
        uint32_t n;
        memcpy(&n, at, sizeof n);
        n++;
        memcpy(at, &n, sizeof n);
    }
}

imgpar_status ip_ref_histogram(ip_ir *ir, const ip_stage *stage, void *const *memory, ip_ref_progress *progress,
                               void *out, ip_error *err)
{
    const ip_ref_over over = { .domain = stage->over, .memory = memory, .by_rows = true };
    counter c = { .stage = stage, .counts = out };
    ip_ref_program body;
    memset(out, 0, (size_t)(stage->dims[1] * stage->dims[2]) * sizeof(uint32_t));
    imgpar_status st = ip_ref_program_make(ir, stage->body, &over, &body, err);
    if (!st) st = ip_ref_each_block(&body, progress, count, &c, err);
    ip_ref_program_clear(&body);
    return st;
}

static void add_counts(size_t bins, const void *const *counts, size_t n, void *out)
{
    for (size_t k = 0; k < bins; k++) {
        uint32_t sum = 0, count;
        for (size_t i = 0; i < n; i++) {
            memcpy(&count, (const char *)counts[i] + k * sizeof count, sizeof count);
            sum += count;
        }
        memcpy((char *)out + k * sizeof sum, &sum, sizeof sum);
    }
}

imgpar_status ip_ref_combine(ip_ir *ir, const ip_stage *fold, const void *const *totals, size_t n, void *out,
                             ip_error *err)
{
    if (fold->kind == IP_STAGE_REDUCE) return combine_totals(ir, fold, totals, n, out, err);
    if (fold->kind != IP_STAGE_HISTOGRAM) return ip_fail(err, IMGPAR_E_INTERNAL, "a fold by keys has no totals");
    add_counts((size_t)(fold->dims[1] * fold->dims[2]), totals, n, out);
    return IMGPAR_OK;
}
