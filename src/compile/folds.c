/* SPDX-License-Identifier: MIT */
/* How rows of folds are folded, which emit_fold.c and emit_by_key.c print. */
#include "base/dtype.h"
#include "compile/segments.h"

#include <math.h>

/* Whether x is what lies side by side in a row of its source. (Rows outside of a constant border are not there.) */
static bool stands_in_row(const ip_site *site, const ip_expr *x)
{
    if (x->op != IP_X_LOAD || x->source->dtype != x->dtype || x->source->dims[3] != site->channels ||
        x->border == IMGPAR_BORDER_CONSTANT || site->options->checks || ip_kernel_texture(site->kernel, x->source))
        return false;
    const ip_expr *column = ip_x_offset_from(site->ir, x->arg[2], 2);
    bool own_channel = site->channels == 1 || ip_x_is_coord(x->arg[3], 3);
    return own_channel && ip_x_reads_uniform_row(x) && column && column->op == IP_X_CONST && column->i == 0 &&
           x->source->dims[2] == site->domain[2];
}

static ip_folded folded(const ip_site *site, ip_expr *body, imgpar_dtype stored)
{
    return (ip_folded){ .body = body,
                        .stands = stands_in_row(site, body),
                        .is_flat = ip_is_flat(site, body),
                        .width = ip_width_of(site, body, stored) };
}

/* The body without a widening to 64 bits, if a row of it fits in 32; else NULL. */
static ip_expr *small_addend(const ip_site *site, const ip_stage *s)
{
    const ip_expr *x = s->body;
    if (site->kernel->whole_rows || s->reduce != IP_REDUCE_SUM || ip_dtype_is_float(s->acc_dtype) ||
        x->op != IP_X_CAST || ip_dtype_is_float(x->arg[0]->dtype))
        return NULL;
    double most = fmax(fabs(x->arg[0]->lo), fabs(x->arg[0]->hi));
    double elements = IP_FOLD_COLUMNS * (s->over[3] > 4 ? (double)s->over[3] : 4);
    return most * elements < 2147483648.0 ? x->arg[0] : NULL;
}

static bool is_least_of_few(const ip_stage *s)
{
    const ip_expr *x = s->body;
    const int64_t most = s->acc_dtype == IMGPAR_I32 ? INT32_MAX : INT64_MAX;
    return s->least_place && x->op == IP_X_SELECT && x->arg[0]->op == IP_X_EQ && x->arg[2]->op == IP_X_CONST &&
           x->arg[2]->i == most;
}

/* A place in a table, bin or key, in the narrowest dtype for it. */
static ip_expr *narrow_place(ip_ir *ir, ip_expr *x)
{
    return ip_x_cast(ir, x->hi < 256 ? IMGPAR_U8 : x->hi < 65536 ? IMGPAR_U16 : IMGPAR_I32, x);
}

/* A value before it is widened to what it is joined in. */
static ip_expr *narrow_value(ip_expr *x)
{
    while (x->op == IP_X_CAST && !ip_dtype(x->dtype)->is_float && !ip_dtype(x->arg[0]->dtype)->is_float &&
           ip_dtype(x->arg[0]->dtype)->size_bytes < ip_dtype(x->dtype)->size_bytes)
        x = x->arg[0];
    return x;
}

static ip_fold_rows by_bins(const ip_site *site, const ip_stage *s)
{
    const bool is_inside = s->body->lo >= 0 && s->body->hi < (double)s->dims[2];
    ip_expr *bin = is_inside ? narrow_place(site->ir, s->body) : ip_x_cast(site->ir, IMGPAR_I32, s->body);
    ip_fold_rows fold = { .loop = IP_FOLD_BINS, .values = folded(site, bin, bin->dtype), .is_inside = is_inside };
    fold.values.stands &= bin->dtype == IMGPAR_U8;
    return fold;
}

static ip_fold_rows by_keys(const ip_site *site, const ip_stage *s)
{
    ip_expr *parts[2];
    ip_site of_keys = *site;
    if (ip_x_list(s->body, parts, 2) < 2) return (ip_fold_rows){ 0 }; /* memory ran out */
    of_keys.channels = 1;
    ip_expr *value = narrow_value(parts[0]), *key = parts[1]->lo < 0 ? parts[1] : narrow_place(site->ir, parts[1]);
    return (ip_fold_rows){ .loop = IP_FOLD_KEYS,
                           .values = folded(site, value, value->dtype),
                           .beside = folded(&of_keys, key, key->dtype),
                           .is_inside = parts[1]->lo >= 0 && parts[1]->hi < (double)s->keys->i };
}

static ip_fold_rows reduced(const ip_site *site, const ip_stage *s)
{
    enum { SMALL_LANES = 16 };
    ip_expr *small = small_addend(site, s);
    ip_fold_rows fold = { .loop = IP_FOLD_ELEMENTS, .values = folded(site, s->body, s->acc_dtype) };
    if (ip_dtype_is_float(s->acc_dtype) && s->reduce != IP_REDUCE_CUSTOM) {
        fold.loop = IP_FOLD_LANES;
    } else if (is_least_of_few(s) && !fold.values.is_flat) {
        fold.loop = IP_FOLD_FIRST;
        fold.beside = folded(site, s->body->arg[0], s->body->arg[0]->arg[0]->dtype);
    } else if (small) {
        const bool is_line = fold.values.is_flat || site->channels == 1;
        fold = (ip_fold_rows){ .loop = IP_FOLD_SMALL, .values = folded(site, small, small->dtype) };
        fold.values.stands &= is_line && small->dtype == IMGPAR_U8;
        fold.values.width = SMALL_LANES;
    }
    return fold;
}

const ip_fold_rows *ip_choose_fold(const ip_site *site, const ip_stage *s)
{
    ip_fold_rows *fold = ip_ir_alloc(site->ir, 1, sizeof *fold);
    if (!fold) return NULL;
    *fold = s->kind == IP_STAGE_HISTOGRAM ? by_bins(site, s)
            : s->kind == IP_STAGE_BY_KEY  ? by_keys(site, s)
                                          : reduced(site, s);
    return fold;
}
