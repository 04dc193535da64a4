/* SPDX-License-Identifier: MIT */
#include "nd.h"
#include "asserts.h"
#include "held.h"
#include "tier.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- arrays ------------------------------------------------------------------------------------ */

static nd empty(imgpar_dtype dtype, int rank, const int64_t *shape)
{
    nd a = { .dtype = dtype, .rank = rank, .count = 1 };
    for (int k = 0; k < rank; k++) {
        a.shape[k] = shape[k];
        a.count *= shape[k];
    }
    a.v = calloc((size_t)a.count + 1, sizeof *a.v);
    ck_assert_ptr_nonnull(a.v);
    return a;
}

/* As a picture of one row, which knows how to fill itself and to become bytes. */
static picture row_of(const nd *a)
{
    return (picture){ .dtype = a->dtype, .h = 1, .w = a->count, .c = 1, .v = a->v, .is_data = true };
}

nd nd_new(imgpar_dtype dtype, int rank, const int64_t *shape, fill kind, unsigned seed)
{
    nd a = empty(dtype, rank, shape);
    picture row = row_of(&a);
    picture_fill(&row, kind, seed);
    return a;
}

void nd_free(nd *a)
{
    free(a->v);
    a->v = NULL;
}

imgpar_array *nd_array(imgpar_context *ctx, const nd *a)
{
    picture row = row_of(a);
    void *bytes = picture_bytes(&row);
    imgpar_array *array = imgpar_array_from_data(ctx, a->dtype, a->rank, a->shape, bytes);
    free(bytes);
    ck_assert_msg(imgpar_array_status(array) == IMGPAR_OK, "%s", imgpar_array_message(array));
    return array;
}

real nd_at(const nd *a, int64_t i, int64_t j, int64_t k, int64_t l)
{
    ck_assert_int_le(a->rank, 4);
    return nd_here(a, (const int64_t[]){ i, j, k, l });
}

real nd_here(const nd *a, const int64_t *index)
{
    int64_t at = 0;
    for (int axis = 0; axis < a->rank; axis++) {
        ck_assert_msg(index[axis] >= 0 && index[axis] < a->shape[axis], "the oracle reads index %d of axis %d",
                      (int)index[axis], axis);
        at = at * a->shape[axis] + index[axis];
    }
    return a->v[at];
}

/* ---- the bench ----------------------------------------------------------------------------------- */

void nd_open(nd_bench *b)
{
    hold_driver();
    ck_assert_int_eq(imgpar_context_new(NULL, &b->ctx), IMGPAR_OK);
    const char *kind = imgpar_context_device(b->ctx)->kind;
    b->has_device = strcmp(kind, "ref") != 0;
    b->is_cpu = strcmp(kind, "cpu") == 0;
    b->is_full = test_tier_is_full();
}

void nd_close(nd_bench *b) { imgpar_context_release(b->ctx); }

static imgpar_array *build(nd_bench *b, const nd_case *c, const nd *in)
{
    imgpar_array *arrays[ND_INPUTS];
    size_t n = 0;
    for (int k = 0; k < ND_INPUTS && c->rank[k]; k++)
        arrays[n++] = nd_array(b->ctx, &in[k]);
    imgpar_array *a = imgpar_apply(b->ctx, c->text, arrays, n);
    for (size_t k = 0; k < n; k++)
        imgpar_array_release(arrays[k]);
    ck_assert_msg(imgpar_array_status(a) == IMGPAR_OK, "%s: %s", c->text, imgpar_array_message(a));
    return a;
}

static void check_type(const nd_case *c, imgpar_array *a, imgpar_dtype dtype)
{
    imgpar_info info = { .struct_size = sizeof info };
    ck_assert_int_eq(imgpar_array_info(a, &info), IMGPAR_OK);
    ck_assert_msg(info.dtype == dtype, "%s: is %s, must be %s", c->text, imgpar_dtype_name(info.dtype),
                  imgpar_dtype_name(dtype));
    bool same = info.rank == c->out_rank;
    for (int k = 0; k < info.rank; k++)
        same = same && info.shape[k] == c->out[k];
    ck_assert_msg(same, "%s: has the shape [%d %d %d %d ...] of %d axes", c->text, (int)info.shape[0],
                  (int)info.shape[1], (int)info.shape[2], (int)info.shape[3], info.rank);
}

static nd answer(const nd_case *c, imgpar_dtype dtype, const nd *in)
{
    nd want = empty(dtype, c->out_rank, c->out);
    for (int64_t at = 0; at < want.count; at++) {
        int64_t index[IMGPAR_MAX_RANK] = { 0 }, rest = at;
        for (int axis = want.rank - 1; axis >= 0; axis--) {
            index[axis] = rest % want.shape[axis];
            rest /= want.shape[axis];
        }
        want.v[at] = c->at(in, index);
    }
    return want;
}

static void compare(const nd_case *c, const nd *want, imgpar_array *a, const char *schedule)
{
    picture row = row_of(want);
    size_t size = picture_size(&row);
    char why[256];
    void *bytes = malloc(size + 1);
    row.slack = calloc((size_t)want->count + 1, sizeof *row.slack);
    ck_assert(bytes && row.slack);
    real largest = 0;
    for (int64_t k = 0; k < want->count; k++)
        if (isfinite(want->v[k])) largest = fmaxl(largest, fabsl(want->v[k]));
    for (int64_t k = 0; k < want->count; k++)
        row.slack[k] = largest * c->slack;
    ck_assert_msg(imgpar_array_read(a, bytes, size) == IMGPAR_OK, "%s: %s", c->text, imgpar_array_message(a));
    ck_assert_msg(picture_compare(&row, bytes, why), "%s of %s, schedule %s: %s", c->text,
                  imgpar_dtype_name(want->dtype), schedule, why);
    free(row.slack);
    free(bytes);
}

/* By other schedules than a device's own the quick tier has every second case, since each is a program. */
static bool is_its_turn(const nd_bench *b, int k, const char *schedule)
{
    return k % 2 == 0 || b->is_full || strcmp(schedule, "ref") == 0 || strcmp(schedule, "auto") == 0;
}

void nd_check(nd_bench *b, const nd_case *cases, int n, imgpar_dtype dtype, fill kind, const char *schedule)
{
    imgpar_array *arrays[ND_CASES];
    const nd_case *used[ND_CASES];
    nd want[ND_CASES];
    int n_used = 0;
    ck_assert_int_le(n, ND_CASES);
    ck_assert_int_eq(imgpar_context_set(b->ctx, "schedule", schedule), IMGPAR_OK);
    for (int k = 0; k < n; k++) {
        const nd_case *c = &cases[k];
        nd in[ND_INPUTS] = { { .v = NULL } };
        if (!is_its_turn(b, k, schedule)) continue;
        for (int i = 0; i < ND_INPUTS && c->rank[i]; i++)
            in[i] = nd_new(dtype, c->rank[i], c->in[i], kind, (unsigned)(i + 7));
        imgpar_dtype out = c->dtype ? c->dtype(dtype) : dtype;
        arrays[n_used] = build(b, c, in);
        check_type(c, arrays[n_used], out);
        want[n_used] = answer(c, out, in);
        used[n_used++] = c;
        for (int i = 0; i < ND_INPUTS; i++)
            nd_free(&in[i]);
    }
    imgpar_status st = imgpar_eval(arrays, (size_t)n_used, NULL);
    for (int k = 0; k < n_used; k++) {
        ck_assert_msg(st == IMGPAR_OK, "%s", imgpar_array_message(arrays[k]));
        compare(used[k], &want[k], arrays[k], schedule);
        imgpar_array_release(arrays[k]);
        nd_free(&want[k]);
    }
}

int nd_kernels(nd_bench *b, const char *text, imgpar_array *const *arrays, size_t n)
{
    char *json;
    int count = 0;
    imgpar_array *a = imgpar_apply(b->ctx, text, arrays, n);
    ck_assert_msg(imgpar_explain(&a, 1, "json", &json) == IMGPAR_OK, "%s: %s", text, imgpar_array_message(a));
    for (const char *at = json; (at = strstr(at, "{\"name\": ")); at++)
        count++;
    imgpar_free(json);
    imgpar_array_release(a);
    return count;
}

void nd_check_complete(const char *category, const nd_case *cases, int n, const char *elsewhere)
{
    for (size_t k = 0; k < imgpar_op_count(); k++) {
        const imgpar_op_info *op = imgpar_op_get(k);
        char word[64];
        snprintf(word, sizeof word, " %s ", op->name);
        bool found = strcmp(op->category, category) != 0 || strstr(elsewhere, word);
        for (int i = 0; i < n && !found; i++)
            found = strcmp(cases[i].op, op->name) == 0;
        ck_assert_msg(found, "no case for %s", op->name);
    }
}
