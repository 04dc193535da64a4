/* SPDX-License-Identifier: MIT */
/*
 * Reductions of the reference interpreter. All of them take the elements in the order of memory.
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
    double d;               /* accumulated: floats */
    int64_t i;              /* integers, wrapped to acc_dtype */
} reducer;

static const int64_t one_element[4] = { 1, 1, 1, 1 };
static const ip_ref_place only_place = { .n = 1 };

static double float_at(imgpar_dtype dtype, const ip_ref_values *v, int k)
{
    return dtype == IMGPAR_F32 ? (double)v->f[k] : v->d[k];
}

static void take_floats(reducer *r, const ip_ref_values *v, int n)
{
    const imgpar_dtype dtype = r->stage->acc_dtype;
    for (int k = 0; k < n; k++) {
        double value = float_at(dtype, v, k);
        if (r->stage->reduce == IP_REDUCE_SUM)
            r->d += value;
        else
            r->d = r->stage->reduce == IP_REDUCE_MIN ? fmin(r->d, value) : fmax(r->d, value);
    }
}

static void take_integers(reducer *r, const ip_ref_values *v, int n)
{
    static const ip_xop op_of[] = {
        [IP_REDUCE_SUM] = IP_X_ADD, [IP_REDUCE_MIN] = IP_X_MIN, [IP_REDUCE_MAX] = IP_X_MAX
    };
    for (int k = 0; k < n; k++)
        ip_ref_int_binary(op_of[r->stage->reduce], r->stage->acc_dtype, 1, &r->i, &r->i, &v->i[k]);
}

/* Gives the accumulated and the incoming value to a program over ACC. */
static void set_acc(ip_ref_program *p, const reducer *r)
{
    p->acc_d[0] = r->d;
    p->acc_i[0] = r->i;
}

static void set_result(reducer *r, const ip_ref_values *v)
{
    if (ip_dtype(r->stage->acc_dtype)->is_float)
        r->d = float_at(r->stage->acc_dtype, v, 0);
    else
        r->i = v->i[0];
}

static void take_custom(reducer *r, const ip_ref_values *v, int n)
{
    const bool is_float = ip_dtype(r->stage->acc_dtype)->is_float;
    for (int k = 0; k < n; k++) {
        set_acc(&r->combine, r);
        if (is_float)
            r->combine.acc_d[1] = float_at(r->stage->acc_dtype, v, k);
        else
            r->combine.acc_i[1] = v->i[k];
        set_result(r, ip_ref_program_run(&r->combine, &only_place));
    }
}

static void take(void *user, const ip_ref_values *values, const ip_ref_place *place)
{
    reducer *r = user;
    if (r->stage->reduce == IP_REDUCE_CUSTOM)
        take_custom(r, values, place->n);
    else if (ip_dtype(r->stage->acc_dtype)->is_float)
        take_floats(r, values, place->n);
    else
        take_integers(r, values, place->n);
}

/* The value of no elements; for CUSTOM the init expression's. */
static imgpar_status begin(ip_ir *ir, reducer *r, void *const *memory, ip_error *err)
{
    const ip_stage *stage = r->stage;
    const ip_dtype_facts *facts = ip_dtype(stage->acc_dtype);
    const bool is_min = stage->reduce == IP_REDUCE_MIN;
    if (stage->reduce == IP_REDUCE_CUSTOM) {
        ip_ref_program init;
        imgpar_status st = ip_ref_program_make(ir, stage->init, one_element, memory, &init, err);
        if (!st) set_result(r, ip_ref_program_run(&init, &only_place));
        ip_ref_program_clear(&init);
        return st ? st : ip_ref_program_make(ir, stage->combine, one_element, memory, &r->combine, err);
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
    ip_ref_program program;
    imgpar_status st = ip_ref_program_make(ir, r->stage->finish, one_element, memory, &program, err);
    if (!st) {
        set_acc(&program, r);
        ip_ref_store(r->stage->dtype, ip_ref_program_run(&program, &only_place), 1, out);
    }
    ip_ref_program_clear(&program);
    return st;
}

imgpar_status ip_ref_reduce(ip_ir *ir, const ip_stage *stage, void *const *memory, ip_ref_progress *progress, void *out,
                            ip_error *err)
{
    reducer r = { .stage = stage, .combine = { .bad_source = -1 } };
    ip_ref_program body = { .bad_source = -1 };
    imgpar_status st = begin(ir, &r, memory, err);
    if (!st) st = ip_ref_program_make(ir, stage->body, stage->over, memory, &body, err);
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
    ip_ref_values total;
    imgpar_status st = begin(ir, &r, NULL, err);
    for (size_t k = 0; !st && k < n; k++) {
        ip_ref_fetch(fold->acc_dtype, totals[k], 1, &total, 0);
        take(&r, &total, &only_place);
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

static void count(void *user, const ip_ref_values *values, const ip_ref_place *place)
{
    const counter *c = user;
    const int64_t channels = c->stage->over[3], bins = c->stage->dims[2];
    for (int k = 0; k < place->n; k++) {
        int64_t bin = values->i[k], channel = (place->first + k) % channels;
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
    counter c = { .stage = stage, .counts = out };
    ip_ref_program body;
    memset(out, 0, (size_t)(stage->dims[1] * stage->dims[2]) * sizeof(uint32_t));
    imgpar_status st = ip_ref_program_make(ir, stage->body, stage->over, memory, &body, err);
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
    add_counts((size_t)(fold->dims[1] * fold->dims[2]), totals, n, out);
    return IMGPAR_OK;
}
