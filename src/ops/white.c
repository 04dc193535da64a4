/* SPDX-License-Identifier: MIT */
/* The rules of white.h, and the rows that change white itself. */
#include "ops/white.h"

#include "base/dtype.h"
#include "ops/build.h"
#include "ops/check.h"
#include "ops/families.h"
#include "ops/row_functions.h"

#include <math.h>
#include <string.h>

typedef struct white {
    double full;
    bool is_mask;
} white;
static const white none = { 0, false }, mask = { 1, true };

static white white_of(const imgpar_array *a) { return (white){ a->type.white, a->type.is_mask }; }
static bool is_number(const imgpar_array *a) { return ip_array_is_number(a, NULL, NULL); }

ip_white_rule ip_white_rule_of(const ip_op *op)
{
    static const char *const words[] = {
        [IP_WHITE_KEPT] = "kept",   [IP_WHITE_NONE] = "none",     [IP_WHITE_ONE] = "1",      [IP_WHITE_MASK] = "mask",
        [IP_WHITE_FIRST] = "first", [IP_WHITE_LARGER] = "larger", [IP_WHITE_MEET] = "meet ",
    };
    const char *text = op->info.white;
    if (!text) return IP_WHITE_KEPT;
    for (int k = 0; k < IP_WHITE_MEET; k++)
        if (strcmp(text, words[k]) == 0) return (ip_white_rule)k;
    return strncmp(text, words[IP_WHITE_MEET], strlen(words[IP_WHITE_MEET])) == 0 ? IP_WHITE_MEET : IP_WHITE_OWN;
}

/* ---- one array and numbers ------------------------------------------------------------------ */

/* Times k: a mask's white is raised to it; of a picture from 0 to 1 it becomes that of a depth. */
static white times(white w, double k)
{
    if (w.is_mask) return k > 1 && isfinite(k) ? (white){ k, false } : mask;
    if (w.full == 1 && (k == 255 || k == 65535)) return (white){ k, false };
    return w.full > 0 && k == 1 / w.full ? (white){ 1, w.is_mask } : w;
}

/* A picture divided by its white goes from 0 to 1. */
static white divided(white w, double k)
{
    if (w.is_mask || w.full != k) return times(w, 1 / k);
    return (white){ 1, false };
}

/* The white of input k after the row's arithmetic with a literal; other rows keep it. */
static white with_number(const imgpar_array *node, int k)
{
    const white w = white_of(node->inputs[k]);
    const bool is_operator = node->op->flags & IP_OP_OPERATOR;
    const int variant = node->op->variant;
    double number;
    if (node->op->info.n_inputs != 2 || !ip_array_is_number(node->inputs[1 - k], &number, NULL)) return w;
    if (is_operator ? variant == IP_FN_MUL : variant == IP_NAMED_MUL) return times(w, number);
    return is_operator && variant == IP_FN_DIV && k == 0 ? divided(w, number) : w;
}

void ip_white_times(ip_type *type, double factor)
{
    const white w = times((white){ type->white, type->is_mask }, factor);
    if (type->dtype == IMGPAR_BOOL) return;
    type->white = w.full;
    type->is_mask = w.is_mask;
}

/* ---- several arrays --------------------------------------------------------------------------- */

/* The first input's that has a white and is no mask; else the first mask's. */
static white first_of(const imgpar_array *node)
{
    white found = none;
    for (int k = 0; k < node->op->info.n_inputs; k++) {
        if (is_number(node->inputs[k])) continue;
        white w = with_number(node, k);
        if (w.full > 0 && !w.is_mask) return w;
        if (!found.full) found = w;
    }
    return found;
}

/* Masks and values without white yield; among others the larger counts. */
static white larger_of(const imgpar_array *node)
{
    white found = none;
    bool any_array = false, all_masks = true;
    for (int k = 0; k < node->op->info.n_inputs; k++) {
        if (is_number(node->inputs[k])) continue;
        white w = with_number(node, k);
        any_array = true;
        all_masks = all_masks && w.is_mask;
        if (!w.is_mask && w.full > found.full) found = w;
    }
    return any_array && all_masks ? mask : found;
}

static bool names(const char *words, const char *name)
{
    size_t n = strlen(name);
    for (const char *at = strchr(words, ' '); at; at = strchr(at + 1, ' '))
        if (strncmp(at + 1, name, n) == 0 && (at[n + 1] == ' ' || at[n + 1] == '\0')) return true;
    return false;
}

/* Input k is one that meets others, and no literal. */
static bool meets(const imgpar_array *node, int k)
{
    return names(node->op->info.white, node->op->info.input_names[k]) && !is_number(node->inputs[k]);
}

static white meeting_place(const imgpar_array *node)
{
    for (int k = 0; k < node->op->info.n_inputs; k++)
        if (meets(node, k) && node->inputs[k]->type.white > 0) return white_of(node->inputs[k]);
    return none;
}

static white kept(const imgpar_array *node)
{
    for (int k = 0; k < node->op->info.n_inputs; k++)
        if (!is_number(node->inputs[k])) return white_of(node->inputs[k]);
    return none;
}

void ip_white_infer(const imgpar_array *node, ip_type *type)
{
    white w = none;
    switch (ip_white_rule_of(node->op)) {
    case IP_WHITE_OWN: return;
    case IP_WHITE_NONE: break;
    case IP_WHITE_ONE: w = (white){ 1, false }; break;
    case IP_WHITE_MASK: w = mask; break;
    case IP_WHITE_KEPT: w = kept(node); break;
    case IP_WHITE_FIRST: w = first_of(node); break;
    case IP_WHITE_LARGER: w = larger_of(node); break;
    case IP_WHITE_MEET: w = meeting_place(node); break;
    }
    if (w.full > 0 && type->dtype == IMGPAR_BOOL) w = mask;
    type->white = w.full;
    type->is_mask = w.is_mask;
}

/* ---- bringing pictures to one white ----------------------------------------------------------- */

imgpar_status ip_white_meet(imgpar_array *node, bool *changed, ip_error *err)
{
    *changed = false;
    if (ip_white_rule_of(node->op) != IP_WHITE_MEET) return IMGPAR_OK;
    const bool is_derived = node->op->expand != NULL; /* its dtype is that of its first input */
    const imgpar_dtype dtype = is_derived ? node->inputs[0]->type.dtype : node->type.dtype;
    const double full = dtype == IMGPAR_BOOL ? 1 : meeting_place(node).full;
    for (int k = 0; k < node->op->info.n_inputs; k++) {
        imgpar_array *in = node->inputs[k];
        if (!meets(node, k) || in->type.white == 0 || in->type.white == full || ip_type_is_complex(&in->type)) continue;
        ip_arg args[] = { ip_arg_array(in),
                          { .name = "white", .kind = IP_ARG_NUMBER, .number = full },
                          { .name = "dtype", .kind = IP_ARG_TEXT, .text = ip_dtype(dtype)->name } };
        imgpar_array *brought = ip_dtype_is_complex(dtype) ? NULL : ip_build(node->ctx, ip_op_find("rescale"), args, 3);
        if (!brought) continue;
        if (!brought->op) {
            ip_fail(err, imgpar_array_status(brought), "%s", imgpar_array_message(brought));
            imgpar_array_release(brought);
            return err->status;
        }
        node->inputs[k] = ip_array_hold(brought);
        imgpar_array_release(brought);
        ip_array_drop(in);
        *changed = true;
    }
    return IMGPAR_OK;
}

/* ---- rows that change white itself ---------------------------------------------------------------- */

/* A matrix is a gray picture; others end in their channels. */
static imgpar_status be_picture(ip_type *type, ip_error *err)
{
    char text[96];
    const int64_t channels = type->rank == 2 ? 1 : type->rank == 3 || type->rank == 4 ? type->shape[type->rank - 1] : 0;
    if (channels < 1 || channels > 4)
        return ip_fail(err, IMGPAR_E_SHAPE,
                       "set_white: picture=true: a is %s, and pictures are [height, width] or end in 1 to 4 channels",
                       ip_shape_text(type, text));
    type->space = channels <= 2 ? IMGPAR_SPACE_GRAY : IMGPAR_SPACE_SRGB;
    return IMGPAR_OK;
}

imgpar_status ip_infer_set_white(imgpar_array *node, ip_error *err)
{
    const double full = ip_param_number(node, "white");
    const bool is_mask = ip_param_number(node, "mask") != 0;
    if (is_mask && full != 1) return ip_fail(err, IMGPAR_E_ARGUMENT, "set_white: white=%g; that of a mask is 1", full);
    node->type = node->inputs[0]->type;
    node->range = node->inputs[0]->range;
    node->type.white = full;
    node->type.is_mask = is_mask;
    if (ip_param_number(node, "picture") != 0 && be_picture(&node->type, err)) return err->status;
    node->type.alpha_is_number |= ip_param_number(node, "alpha_is_number") != 0;
    return IMGPAR_OK;
}

/* Whole numbers: the scaled ends of the range, one further for rounding. */
static ip_range scaled_range(const imgpar_array *node, double from, double to)
{
    const ip_range in = node->inputs[0]->range, whole = ip_range_of(node->type.dtype);
    if (ip_dtype(node->type.dtype)->is_float || !isfinite(in.lo) || !isfinite(in.hi)) return whole;
    const double lo = floor(in.lo * to / from), hi = ceil(in.hi * to / from);
    return (ip_range){ fmin(fmax(lo, whole.lo), whole.hi), fmax(fmin(hi, whole.hi), whole.lo) };
}

imgpar_status ip_infer_rescale(imgpar_array *node, ip_error *err)
{
    (void)err;
    const ip_type *in = &node->inputs[0]->type;
    node->type = *in;
    node->type.dtype = (imgpar_dtype)ip_param_number(node, "dtype");
    node->type.white = ip_param_number(node, "white");
    node->type.is_mask = node->type.dtype == IMGPAR_BOOL;
    node->range = scaled_range(node, ip_type_full(in), node->type.white);
    return IMGPAR_OK;
}

imgpar_status ip_infer_depth(imgpar_array *node, ip_error *err)
{
    (void)err;
    static const struct {
        imgpar_dtype dtype;
        double white;
    } depths[] = {
        [IP_DEPTH_8] = { IMGPAR_U8, 255 },
        [IP_DEPTH_16] = { IMGPAR_U16, 65535 },
        [IP_DEPTH_FLOAT] = { IMGPAR_F32, 1 },
    };
    const ip_type *in = &node->inputs[0]->type;
    const int to = (int)ip_param_number(node, "to");
    node->type = *in;
    node->type.dtype = to == IP_DEPTH_FLOAT && in->dtype == IMGPAR_F64 ? IMGPAR_F64 : depths[to].dtype;
    node->type.white = depths[to].white;
    node->type.is_mask = false;
    node->range = scaled_range(node, ip_type_full(in), node->type.white);
    return IMGPAR_OK;
}
