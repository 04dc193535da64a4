/* SPDX-License-Identifier: MIT */
/*
 * Sums and extremes by few keys become folds.
 *
 * Note [Folds by keys]
 * What scatter_add and the like add to few elements is a fold: of each key the values are joined. As a hand-written
 * kernel it reads its keys and values from memory. As a fold of the rows schedule it computes them, block by block, in
 * its own kernel: a step of k-means, the labels of the nearest centres, their counts and the sums of points, reads the
 * points once and writes no label. Folds over the same keys share a kernel and the row of keys that it keeps.
 *
 * Bytes are those of the hand-written kernel (ops/scatter.h, Note [Blocks of a scatter]). Where elements lie in one
 * row, there is a table of results for each block of IP_SCATTER_BLOCK elements, and strips begin with a block, so that
 * also floats are joined in the order that is promised. Of pictures a block would end within a row: there a work-item
 * has one table, for integers only, for which order does not matter.
 *
 * Tables of few elements stay in the first-level cache; of few values the hand-written kernel is there already, where
 * another one would have to be compiled. Where rows are not what suits the device, as llvmpipe, whose work-items leave
 * their loops after 65535 turns, it stays, too.
 */
#include "base/dtype.h"
#include "compile/passes.h"
#include "ir/opaque.h"
#include "ops/scatter.h"

#include <string.h>

enum { MOST_ELEMENTS = 1024, LEAST_VALUES = 65536 };

typedef struct joined {
    ip_ir *ir;
    ip_stage *keys, *values, *base; /* base NULL: none */
    int64_t n, width, rows;
    bool one_value;
    int64_t over[4];
    ip_expr *key_at[4], *value_at[4]; /* indices in the stages */
} joined;

static bool same_place(const int64_t a[4], const int64_t b[4]) { return memcmp(a, b, 3 * sizeof *a) == 0; }

static bool lies_in_line(const int64_t dims[4])
{
    return dims[0] == 1 && dims[3] == 1 && (dims[1] == 1 || dims[2] == 1);
}

/* One row of n pixels: over it element x of keys, and of values the x-th row of `width`. */
static bool find_line(joined *j)
{
    const int64_t *v = j->values->dims;
    ip_expr *zero = ip_x_int(j->ir, IMGPAR_I32, 0), *z = ip_x_coord(j->ir, 0, 1), *y = ip_x_coord(j->ir, 1, 1),
            *x = ip_x_coord(j->ir, 2, j->n), *c = j->width > 1 ? ip_x_coord(j->ir, 3, j->width) : zero;
    const bool has_rows = j->width > 1 && v[0] == 1 && v[1] == j->n && v[2] == j->width && v[3] == 1,
               is_alike = lies_in_line(v) || (v[0] == 1 && v[1] == 1 && v[2] == j->n && v[3] == j->width);
    if (!lies_in_line(j->keys->dims) || !(j->one_value || has_rows || (is_alike && v[3] == j->width))) return false;
    const bool is_column = j->keys->dims[1] > 1, has_columns = v[1] > 1;
    ip_expr *const key_at[4] = { z, is_column ? x : y, is_column ? zero : x, zero };
    ip_expr *const value_at[4] = { z, has_columns ? x : y,
                                   !has_columns ? x
                                   : has_rows   ? c
                                                : zero,
                                   has_rows ? zero : c };
    memcpy(j->over, (int64_t[]){ 1, 1, j->n, j->width }, sizeof j->over);
    memcpy(j->key_at, key_at, sizeof key_at);
    memcpy(j->value_at, value_at, sizeof value_at);
    return true;
}

/* The number of an element, which is its column in memory that has another shape. */
static ip_expr *number_of(const joined *j)
{
    ip_expr *number = ip_x_coord(j->ir, 0, j->over[0]);
    for (int d = 1; d < 3; d++) {
        number = ip_x_binary(j->ir, IP_X_MUL, number, ip_x_param(j->ir, IMGPAR_I32, (double)j->over[d], 1, INT32_MAX));
        number = ip_x_binary(j->ir, IP_X_ADD, number, ip_x_coord(j->ir, d, j->over[d]));
    }
    return number;
}

/* Where a picture's element is in a stage of its size, or with one channel for all, or of as many pixels in a row. */
static bool find_place(const joined *j, const ip_stage *s, ip_expr *at[4])
{
    const int64_t *dims = s->dims;
    const bool in_row = lies_in_line(dims) && dims[2] == j->n;
    ip_expr *zero = ip_x_int(j->ir, IMGPAR_I32, 0);
    for (int d = 0; d < 4; d++)
        at[d] = in_row || (d == 3 && dims[3] == 1) ? zero : ip_x_coord(j->ir, d, j->over[d]);
    if (in_row) at[2] = number_of(j);
    return in_row || (same_place(dims, j->over) && (dims[3] == j->over[3] || dims[3] == 1));
}

/* A picture of keys or of values, with as many channels as a result has. A pixel has one key, however many channels its
 * values have. */
static bool find_picture(joined *j, imgpar_dtype dtype)
{
    const bool by_values = j->width > 1 || (!j->one_value && lies_in_line(j->keys->dims));
    memcpy(j->over, (by_values ? j->values : j->keys)->dims, sizeof j->over);
    if (ip_dtype(dtype)->is_float || j->over[3] != j->width || ip_dims_count(j->over) != (double)(j->n * j->width))
        return false;
    return find_place(j, j->keys, j->key_at) && (j->one_value || find_place(j, j->values, j->value_at));
}

static ip_expr *element_of(joined *j, ip_stage *stage, ip_expr *const at[4])
{
    return ip_x_load(j->ir, stage, at, IP_BORDER_NONE, NULL);
}

static void note_read(ip_expr *x, void *user) { *(bool *)user |= x->op == IP_X_LOAD || ip_x_is_repeated(x); }

/* What a result begins with, which has to be the same for all of them. */
static bool find_init(const joined *j, ip_stage *s)
{
    if (!j->base) return true;
    bool reads = j->base->kind != IP_STAGE_MAP || j->base->body->uses || j->base->body->dtype != s->acc_dtype;
    if (!reads) ip_x_walk(j->ir, j->base->body, note_read, &reads);
    if (!reads) s->init = j->base->body;
    return !reads;
}

static bool become_fold(ip_ir *ir, ip_stage *s)
{
    const ip_opaque *o = s->opaque;
    const int64_t *sizes = o->sizes;
    joined j = { .ir = ir,
                 .keys = o->inputs[IP_SCATTER_INDICES],
                 .values = o->inputs[IP_SCATTER_VALUES],
                 .base = sizes[IP_SCATTER_HAS_BASE] ? o->inputs[IP_SCATTER_BASE] : NULL,
                 .n = sizes[IP_SCATTER_N],
                 .rows = sizes[IP_SCATTER_ROWS],
                 .width = sizes[IP_SCATTER_WIDTH],
                 .one_value = sizes[IP_SCATTER_ONE_VALUE] };
    if (j.rows * j.width > MOST_ELEMENTS || j.n < LEAST_VALUES || j.width > 4 || j.n > IP_LONGEST_ROW / 4) return false;
    s->acc_dtype = o->dtype;
    const bool is_line = find_line(&j);
    if (!(is_line || find_picture(&j, o->dtype)) || !find_init(&j, s)) return false;
    ip_expr *zero = ip_x_int(ir, IMGPAR_I32, 0);
    for (int d = 0; d < 4 && j.one_value; d++)
        j.value_at[d] = zero;
    s->body = ip_x_pair(ir, element_of(&j, j.values, j.value_at), element_of(&j, j.keys, j.key_at));
    s->keys = ip_x_param(ir, IMGPAR_I32, (double)j.rows, 1, MOST_ELEMENTS);
    s->reduce = sizes[IP_SCATTER_FOLD] == IP_SCATTER_SUM   ? IP_REDUCE_SUM
                : sizes[IP_SCATTER_FOLD] == IP_SCATTER_MIN ? IP_REDUCE_MIN
                                                           : IP_REDUCE_MAX;
    memcpy(s->over, j.over, sizeof s->over);
    s->block = is_line ? IP_SCATTER_BLOCK : 0;
    s->kind = IP_STAGE_BY_KEY;
    s->opaque = NULL;
    return true;
}

imgpar_status ip_pass_by_key(ip_plan *plan, const ip_compile_options *options, ip_error *err)
{
    const bool in_whole =
        !options->in_parts && !options->goal.totals && !options->goal.spills && !options->goal.promises;
    if (!options->device.has_few_items || !options->fuse || options->checks || !in_whole ||
        options->schedule != IP_SCHEDULE_ROWS)
        return IMGPAR_OK;
    bool any = false;
    for (int k = 0; k < plan->ir->n_stages; k++) {
        ip_stage *s = plan->ir->stages[k];
        if (s->opaque && s->opaque->kind == &ip_scatter_kind) any |= become_fold(plan->ir, s);
    }
    if (plan->ir->failed) return ip_fail_memory(err, "compiling");
    return any ? ip_pass_inline(plan, options, err) : IMGPAR_OK; /* into them, too */
}
