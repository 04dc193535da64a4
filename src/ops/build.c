/* SPDX-License-Identifier: MIT */
/*
 * Building nodes. ip_build() turns a checked call into a complete node: inputs
 * held, defaults filled in, type and range inferred. The other functions make the
 * nodes that no call can make: literals, leaves, loops, folds, coordinates.
 */
#include "ops/build.h"

#include "base/alloc.h"
#include "base/dtype.h"
#include "base/str.h"
#include "base/wait.h"
#include "graph/services.h"
#include "ops/along.h"
#include "ops/beyond.h"
#include "ops/check.h"
#include "ops/complex.h"
#include "ops/coverage.h"
#include "ops/infer.h"
#include "ops/usable.h"
#include "ops/white.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* The finished node, or the error array that stands for it. */
static imgpar_array *finish(imgpar_context *ctx, imgpar_array *takes, const ip_error *err)
{
    if (!err->status) {
        ip_array_complete(takes);
        return takes;
    }
    imgpar_array_release(takes);
    return ip_array_error(ctx, err->status, err->message);
}

static imgpar_array *no_memory(void) { return ip_array_error(NULL, IMGPAR_E_HOST_MEMORY, "out of host memory"); }

/* ---- arguments to inputs and parameters ------------------------------------------------ */

static imgpar_status set_default(const imgpar_op_param *p, ip_param *param, ip_error *err)
{
    switch (ip_param_kind_of(p)) {
    case IP_PARAM_TEXT:
        param->text = ip_strdup(p->default_text);
        return param->text ? IMGPAR_OK : ip_fail_memory(err, "building an operation");
    case IP_PARAM_CHOICE: param->number = ip_choice_find(p, p->default_text); break;
    case IP_PARAM_BOOL: param->number = strcmp(p->default_text, "true") == 0; break;
    case IP_PARAM_NUMBER:
    case IP_PARAM_INTEGER: param->number = ip_param_is_auto(p) ? NAN : ip_parse_number(p->default_text, NULL); break;
    case IP_PARAM_VECTOR:
    case IP_PARAM_MATRIX: param->number = NAN; break; /* auto: no numbers */
    }
    return IMGPAR_OK;
}

static imgpar_status set_param(const imgpar_op_param *p, const ip_arg *arg, ip_param *param, ip_error *err)
{
    if (arg->kind == IP_ARG_MATRIX) {
        param->rows = ip_param_kind_of(p) == IP_PARAM_MATRIX ? arg->rows : 1;
        param->cols = arg->rows * arg->cols / param->rows;
        param->numbers = ip_alloc_array((size_t)arg->rows * (size_t)arg->cols, sizeof(double));
        if (!param->numbers) return ip_fail_memory(err, "building an operation");
        memcpy(param->numbers, arg->numbers, (size_t)arg->rows * (size_t)arg->cols * sizeof(double));
        return IMGPAR_OK;
    }
    if (ip_param_kind_of(p) == IP_PARAM_CHOICE) {
        param->number = ip_choice_of(p, arg);
        return IMGPAR_OK;
    }
    if (ip_param_kind_of(p) == IP_PARAM_TEXT) {
        param->text = ip_strdup(arg->text);
        return param->text ? IMGPAR_OK : ip_fail_memory(err, "building an operation");
    }
    double value;
    bool is_number = ip_arg_is_number(arg, &value);
    param->number = is_number ? value : NAN; /* a text is "auto" */
    bool is_list = ip_param_kind_of(p) == IP_PARAM_VECTOR || ip_param_kind_of(p) == IP_PARAM_MATRIX;
    if (!is_list || !is_number) return IMGPAR_OK;
    ip_arg single = { .kind = IP_ARG_MATRIX, .rows = 1, .cols = 1, .numbers = &value };
    return set_param(p, &single, param, err);
}

/* Gray pictures take grays: another colour would be there without its hue, and nothing would tell. */
static imgpar_status check_hue(const imgpar_array *node, int k, int64_t n, const unsigned char rgb[3], ip_error *err)
{
    const char *label = ip_op_label(node->op), *name = node->op->info.params[k]->name;
    if (n > 2 || (rgb[0] == rgb[1] && rgb[1] == rgb[2])) return IMGPAR_OK;
    if (node->op->info.n_inputs == 0)
        return ip_fail(err, IMGPAR_E_ARGUMENT, "%s: %s is a colour, and there is gray alone; channels=3 makes RGB",
                       label, name);
    return ip_fail(err, IMGPAR_E_ARGUMENT,
                   "%s: %s is a colour, and %s is gray, which takes grays; duotone(%s, \"black\", \"white\") is the "
                   "same in RGB",
                   label, name, node->op->info.input_names[0], node->op->info.input_names[0]);
}

/* One number for all channels: a gray; beside alpha, which it is of, too, white alone. */
static imgpar_status check_one_level(const imgpar_array *node, int k, const unsigned char rgb[3], ip_error *err)
{
    const bool is_gray = rgb[0] == rgb[1] && rgb[1] == rgb[2], has_alpha = ip_type_has_alpha(&node->inputs[0]->type);
    const char *label = ip_op_label(node->op), *name = node->op->info.params[k]->name;
    if (has_alpha && !(is_gray && rgb[0] == 255))
        return ip_fail(err, IMGPAR_E_ARGUMENT,
                       "%s: %s is one number for all channels, alpha too: of colours only white, which is opaque",
                       label, name);
    if (is_gray) return IMGPAR_OK;
    return ip_fail(err, IMGPAR_E_ARGUMENT,
                   "%s: %s is one number for all channels: of colours only grays, as white, black or #808080", label,
                   name);
}

/* A colour by name, as levels: of the first input's white, one for each of its channels but alpha; of a
 * row without inputs in the dtype it makes, opaque. */
static imgpar_status set_colour(imgpar_array *node, int k, const unsigned char rgb[3], ip_error *err)
{
    const bool is_source = node->op->info.n_inputs == 0;
    const ip_type made = { .dtype = is_source ? (imgpar_dtype)ip_param_number(node, "dtype") : IMGPAR_U8 };
    const double full = ip_type_full(is_source ? &made : &node->inputs[0]->type);
    const int64_t n = is_source ? (int64_t)ip_param_number(node, "channels") : ip_colours_taken(node);
    const int colours = n <= 2 ? 1 : 3, count = is_source ? (int)n : colours;
    double levels[4];
    const bool is_list = strcmp(node->op->info.params[k]->name, "cval") != 0;
    imgpar_status st = is_list ? check_hue(node, k, n, rgb, err) : check_one_level(node, k, rgb, err);
    if (st) return st;
    for (int c = 0; c < count; c++) {
        const double level = c >= colours ? 255 : rgb[c];
        levels[c] = level * full / 255;
    }
    const ip_arg list = { .kind = IP_ARG_MATRIX, .rows = 1, .cols = count, .numbers = levels };
    const ip_arg number = { .kind = IP_ARG_NUMBER, .number = levels[0] };
    return set_param(node->op->info.params[k], is_list ? &list : &number, &node->params[k], err);
}

/* The node's inputs: the row's own, then the arrays given for numbers. Literal numbers become leaves. */
static imgpar_status fill_inputs(imgpar_array *node, const ip_arg *args, const ip_bound *bound, ip_error *err)
{
    int n_own = node->op->info.n_inputs;
    for (int k = 0; k < n_own; k++) {
        const ip_arg *arg = &args[bound->arg[k]];
        if (arg->kind == IP_ARG_ARRAY) {
            node->inputs[k] = ip_array_hold(arg->array);
            continue;
        }
        imgpar_array *number = ip_build_number(node->ctx, arg->number, arg->fractional);
        if (!number->op) return ip_fail_memory(err, "building an operation");
        node->inputs[k] = ip_array_hold(number);
        imgpar_array_release(number);
    }
    return IMGPAR_OK;
}

static bool is_lazy_array(const ip_arg *arg)
{
    return arg->kind == IP_ARG_ARRAY && !ip_array_is_number(arg->array, NULL, NULL);
}

static imgpar_status fill_params(imgpar_array *node, const ip_arg *args, const ip_bound *bound, ip_error *err)
{
    const imgpar_op_info *info = &node->op->info;
    int next_input = info->n_inputs;
    for (int k = 0; k < info->n_params; k++) {
        int at = bound->arg[info->n_inputs + k];
        if (at < 0) {
            imgpar_status st = set_default(info->params[k], &node->params[k], err);
            if (st) return st;
        } else if (is_lazy_array(&args[at])) {
            if (ip_type_count(&args[at].array->type) != 1) {
                char shape[96];
                return ip_fail(err, IMGPAR_E_SHAPE, "%s: %s is an array of shape %s; it must have one element",
                               ip_op_label(node->op), info->params[k]->name,
                               ip_shape_text(&args[at].array->type, shape));
            }
            node->params[k].input = next_input;
            node->inputs[next_input++] = ip_array_hold(args[at].array);
        } else if (!ip_param_is_beyond(info->params[k])) {
            imgpar_status st = set_param(info->params[k], &args[at], &node->params[k], err);
            if (st) return st;
        }
    }
    for (int k = 0; k < info->n_params; k++) { /* what they are made of is there now */
        unsigned char rgb[3];
        const int at = bound->arg[info->n_inputs + k];
        if (at < 0) continue;
        imgpar_status st = ip_param_is_beyond(info->params[k])                 ? ip_beyond_set(node, k, &args[at], err)
                           : ip_arg_is_colour(info->params[k], &args[at], rgb) ? set_colour(node, k, rgb, err)
                                                                               : IMGPAR_OK;
        if (st) return st;
    }
    return IMGPAR_OK;
}

/* The context of all arrays, when none was given; one that differs is an error. */
static imgpar_status agree_on_context(imgpar_context **ctx, const ip_op *op, const ip_arg *args, int n, ip_error *err)
{
    for (int k = 0; k < n; k++) {
        if (args[k].kind != IP_ARG_ARRAY) continue;
        if (!args[k].array) return ip_fail(err, IMGPAR_E_ARGUMENT, "%s: an array is NULL", ip_op_label(op));
        if (!*ctx) *ctx = args[k].array->ctx;
        if (args[k].array->ctx != *ctx)
            return ip_fail(err, IMGPAR_E_ARGUMENT, "%s: its arrays belong to different contexts", ip_op_label(op));
    }
    return *ctx ? ip_services_get()->check_context(*ctx, err)
                : ip_fail(err, IMGPAR_E_ARGUMENT, "%s: the context is NULL", ip_op_label(op));
}

/* Complex numbers where the row takes none. */
static imgpar_status refuse_complex(const imgpar_array *node, ip_error *err)
{
    for (int k = 0; k < node->n_inputs; k++)
        if (ip_type_is_complex(&node->inputs[k]->type) &&
            (!(node->op->flags & (IP_OP_COMPLEX | IP_OP_LINEAR)) || k >= node->op->info.n_inputs))
            return ip_complex_refuse(node, k, err);
    return IMGPAR_OK;
}

/* More axes than a stage has dims, where the row computes with places of pictures. */
static imgpar_status refuse_many_axes(const imgpar_array *node, ip_error *err)
{
    for (int k = 0; k < node->n_inputs && !node->op->info.takes_many_axes; k++) {
        const imgpar_array *a = node->inputs[k];
        if (!ip_type_is_folded(&a->type)) continue;
        const char *what = k < node->op->info.n_inputs ? node->op->info.input_names[k] : "a parameter";
        char text[96];
        return ip_fail(err, IMGPAR_E_SHAPE, "%s: %s has %d axes, %s; this operation takes up to %d",
                       ip_op_label(node->op), what, a->type.rank, ip_shape_text(&a->type, text), IP_OWN_DIMS);
    }
    return IMGPAR_OK;
}

/* What is left to be said of a type that infer() set, whatever the row. */
static imgpar_status check_folded(imgpar_array *node, ip_error *err)
{
    if (ip_type_is_folded(&node->type)) node->type.space = IMGPAR_SPACE_DATA;
    return ip_type_check_folded(&node->type, ip_op_label(node->op), err);
}

/* The node of a checked call with its type, or err says why there is none; NULL without memory. */
static imgpar_array *typed_node(imgpar_context *ctx, const ip_op *op, const ip_arg *args, int n, ip_error *err)
{
    ip_bound bound;
    int ignored, n_lazy = 0;
    ip_bind(op, args, n, &bound, &ignored, err);
    for (int k = 0; k < op->info.n_params; k++) {
        int at = bound.arg[op->info.n_inputs + k];
        n_lazy += at >= 0 && is_lazy_array(&args[at]);
    }
    imgpar_array *node = ip_array_new(ctx, op, op->info.n_inputs + n_lazy);
    if (node && !fill_inputs(node, args, &bound, err) && !fill_params(node, args, &bound, err) &&
        !refuse_complex(node, err) && !refuse_many_axes(node, err)) {
        bool changed = false;
        node->range = (ip_range){ -INFINITY, INFINITY };
        if (!op->infer(node, err) && !ip_white_meet(node, &changed, err) && changed) op->infer(node, err);
        ip_white_infer(node, &node->type);
        if (!err->status) ip_beyond_check(node, err);
        if (!err->status) check_folded(node, err);
        if (!err->status) ip_usable_guard(node, err);
        if (!err->status) ip_alpha_infer(node);
    }
    return node;
}

imgpar_status ip_check_type(const ip_op *op, const ip_arg *args, int n, ip_error *err)
{
    if (op->info.n_inputs > 0 || op->flags & IP_OP_FILE) return IMGPAR_OK;
    for (int k = 0; k < n; k++)
        if (args[k].unknown || args[k].kind == IP_ARG_ARRAY) return IMGPAR_OK;
    imgpar_array *node = typed_node(NULL, op, args, n, err);
    if (!node) return ip_fail_memory(err, "checking an operation");
    imgpar_array_release(node);
    return err->status;
}

/* Whether the result of a call is a picture as its first input is one: it has as many channels, and its row says what
 * becomes of alpha. (What it is made of may be views, which are data.) */
static bool is_picture_again(const imgpar_array *call, const ip_type *result)
{
    const char *alpha = call->op->info.alpha;
    if (!alpha || strcmp(alpha, "dropped") == 0 || call->n_inputs == 0) return false;
    const ip_type *first = &call->inputs[0]->type;
    return result->space == IMGPAR_SPACE_DATA && first->space != IMGPAR_SPACE_DATA && first->rank == 3 &&
           result->rank == 3 && first->shape[2] == result->shape[2];
}

/* What stands for a call, with the white that its row says, and a picture where its input is one. Takes result. */
static imgpar_array *as_told(const imgpar_array *call, imgpar_array *result)
{
    if (!result->op) return result;
    ip_type wanted = result->type;
    ip_white_infer(call, &wanted);
    const bool is_picture = is_picture_again(call, &result->type);
    if (wanted.white == result->type.white && wanted.is_mask == result->type.is_mask && !is_picture) return result;
    ip_arg args[] = { ip_arg_array(result),
                      { .name = "white", .kind = IP_ARG_NUMBER, .number = wanted.white },
                      { .name = "mask", .kind = IP_ARG_BOOL, .number = wanted.is_mask },
                      { .name = "picture", .kind = IP_ARG_BOOL, .number = is_picture } };
    imgpar_array *told = ip_build(call->ctx, ip_op_find("set_white"), args, 4);
    imgpar_array_release(result);
    return told;
}

imgpar_array *ip_build(imgpar_context *ctx, const ip_op *op, const ip_arg *args, int n)
{
    ip_error err = { .status = IMGPAR_OK };
    for (int k = 0; k < n; k++)
        if (args[k].kind == IP_ARG_ARRAY && args[k].array && !args[k].array->op)
            return imgpar_array_retain(args[k].array);
    const ip_op *written = op;
    op = ip_op_taking(op, args, n);
    if (agree_on_context(&ctx, op, args, n, &err) || ip_check_call(written, args, n, NULL, &err))
        return ip_array_error(ctx, err.status, err.message);
    imgpar_array *node = typed_node(ctx, op, args, n, &err);
    if (!node) return no_memory();
    ip_tell_written(written, op, &err);
    bool is_linear = !err.status && op->flags & IP_OP_LINEAR && ip_complex_has_input(node);
    bool is_folded = !err.status && op->flags & (IP_OP_ALONG | IP_OP_BATCH) && ip_has_folded(node);
    if (err.status || !(op->expand || is_linear || is_folded)) return finish(ctx, node, &err);
    imgpar_array *result = as_told(node, is_linear                              ? ip_complex_linear(node, args, n)
                                         : is_folded && op->flags & IP_OP_BATCH ? ip_expand_batch(node)
                                         : is_folded                            ? ip_expand_along(node, args, n)
                                                                                : op->expand(node));
    imgpar_array_release(node);
    return result;
}

/* ---- nodes that no call makes ---------------------------------------------------------- */

static imgpar_array *new_node(imgpar_context *ctx, const char *row, int n_inputs, const ip_type *type)
{
    const ip_op *op = ip_op_find(row);
    assert(op);
    imgpar_array *node = ip_array_new(ctx, op, n_inputs);
    if (!node) return NULL;
    node->type = *type;
    node->range = ip_range_of(type->dtype);
    return node;
}

static imgpar_array *complete(imgpar_array *node)
{
    if (!node) return no_memory();
    ip_array_complete(node);
    return node;
}

static imgpar_dtype literal_dtype(double value, bool fractional)
{
    if (fractional || value != floor(value) || isinf(value)) return IMGPAR_F32;
    if (fabs(value) < 0x1p31) return IMGPAR_I32;
    return fabs(value) < 0x1p63 ? IMGPAR_I64 : IMGPAR_F32;
}

imgpar_array *ip_build_number(imgpar_context *ctx, double value, bool fractional)
{
    ip_type type = { .dtype = literal_dtype(value, fractional), .space = IMGPAR_SPACE_DATA, .rank = 1, .shape = { 1 } };
    imgpar_array *node = new_node(ctx, "number", 0, &type);
    if (!node) return no_memory();
    node->params[0].number = value;
    node->params[1].number = ip_dtype(type.dtype)->is_float;
    if (!isnan(value)) node->range = (ip_range){ value, value };
    if (type.dtype == IMGPAR_F32 && !isnan(value)) {
        /* the f32 next to value may lie on either side of it */
        node->range.lo -= fabs(value) * 0x1p-20;
        node->range.hi += fabs(value) * 0x1p-20;
    }
    return complete(node);
}

imgpar_array *ip_build_source(imgpar_context *ctx, const ip_op *op, ip_source *takes_source, const ip_header *header,
                              ip_metadata *takes_metadata)
{
    ip_type type = { .dtype = header->dtype, .space = header->space, .rank = header->rank };
    memcpy(type.shape, header->shape, sizeof type.shape);
    type.white = header->tells_white ? header->white : ip_white_guess(&type);
    type.is_mask = header->is_mask;
    type.alpha_is_number = header->alpha_is_number;
    ip_error err = { .status = IMGPAR_OK };
    const bool is_bad =
        ip_type_check_folded(&type, takes_source->name, &err) || ip_services_get()->check_context(ctx, &err);
    imgpar_array *node = is_bad ? NULL : new_node(ctx, op->info.name, 0, &type);
    if (!node) {
        ip_source_release(takes_source);
        ip_metadata_release(takes_metadata);
        return err.status ? ip_array_error(ctx, err.status, err.message) : no_memory();
    }
    for (int k = 0; k < op->info.n_params; k++)
        if (op->info.params[k]->default_text) set_default(op->info.params[k], &node->params[k], &err);
    node->source = takes_source;
    node->metadata = takes_metadata;
    node->is_from_file = takes_source->kind == IP_SOURCE_FILE || takes_source->kind == IP_SOURCE_BLOB;
    return complete(node);
}

imgpar_array *ip_build_placeholder(imgpar_context *ctx, const ip_type *type)
{
    return complete(new_node(ctx, "placeholder", 0, type));
}

static ip_type loop_value_type(bool fractional)
{
    return (ip_type){
        .dtype = fractional ? IMGPAR_F64 : IMGPAR_I64, .space = IMGPAR_SPACE_DATA, .rank = 1, .shape = { 1 }
    };
}

imgpar_array *ip_build_loop_start(imgpar_context *ctx, double value, bool fractional)
{
    ip_type type = loop_value_type(fractional);
    imgpar_array *node = new_node(ctx, "number", 0, &type);
    if (!node) return no_memory();
    node->params[0].number = value;
    node->params[1].number = fractional;
    return complete(node);
}

imgpar_array *ip_build_loop_value(imgpar_context *ctx, bool fractional, const ip_range *range)
{
    ip_type type = loop_value_type(fractional);
    imgpar_array *node = new_node(ctx, "placeholder", 0, &type);
    if (!node) return no_memory();
    node->bends = true;
    if (range) node->range = *range;
    return complete(node);
}

imgpar_array *ip_build_coordinate(imgpar_context *ctx, int dim, const ip_type *shape)
{
    ip_type type = *shape;
    type.dtype = IMGPAR_I32;
    type.space = IMGPAR_SPACE_DATA;
    type.white = 0;
    type.is_mask = false;
    imgpar_array *node = new_node(ctx, "coordinate", 0, &type);
    if (!node) return no_memory();
    int64_t dims[4];
    ip_type_dims(&type, dims);
    node->params[0].number = dim;
    node->range = (ip_range){ 0, fmax((double)(dims[dim] - 1), 0) };
    return complete(node);
}

imgpar_array *ip_build_inside(imgpar_context *ctx, int dim, int64_t before, int64_t behind, const ip_type *shape)
{
    ip_type type = *shape;
    type.dtype = IMGPAR_BOOL;
    type.space = IMGPAR_SPACE_DATA;
    type.white = 1;
    type.is_mask = true;
    imgpar_array *node = new_node(ctx, "inside", 0, &type);
    if (!node) return no_memory();
    node->params[0].number = dim;
    node->params[1].number = (double)before;
    node->params[2].number = (double)behind;
    node->range = (ip_range){ 0, 1 };
    return complete(node);
}

/* A node of row, "fold" or "scanfold", without type; an error array where the function does not fit. */
static imgpar_array *fold_node(imgpar_context *ctx, const char *row, imgpar_array *const inputs[4], double init,
                               const ip_type *type)
{
    const imgpar_array *a = inputs[0], *body = inputs[3];
    const char *rule = NULL;
    for (int k = 0; k < 4; k++)
        if (!inputs[k]->op) return imgpar_array_retain(inputs[k]);
    if (ip_type_is_complex(&a->type))
        rule = "would fold complex numbers, which only sum and mean do";
    else if (body->type.dtype != a->type.dtype)
        rule = "gives another dtype than the elements have";
    if (ip_type_count(&body->type) != 1) rule = "gives more than one element";
    if (rule) {
        char message[128];
        snprintf(message, sizeof message, "%s: the function %s", strcmp(row, "fold") == 0 ? "reduce" : "scan", rule);
        return ip_array_error(ctx, IMGPAR_E_SHAPE, message);
    }
    imgpar_array *node = new_node(ctx, row, 4, type);
    if (!node) return no_memory();
    for (int k = 0; k < 4; k++)
        node->inputs[k] = ip_array_hold(inputs[k]);
    node->params[0].number = init;
    return node;
}

imgpar_array *ip_build_fold(imgpar_context *ctx, imgpar_array *a, double init, imgpar_array *p, imgpar_array *q,
                            imgpar_array *body, bool associative)
{
    imgpar_array *const inputs[] = { a, p, q, body };
    ip_type type = { .dtype = a->type.dtype,
                     .space = IMGPAR_SPACE_DATA,
                     .rank = 1,
                     .shape = { 1 },
                     .white = body->type.white,
                     .is_mask = body->type.is_mask };
    imgpar_array *node = fold_node(ctx, "fold", inputs, init, &type);
    if (!node->op) return node;
    node->params[1].number = associative;
    return complete(node);
}

/* Of more axes than a stage has dims, with those beside the one that is walked joined. */
static imgpar_array *joined_scan(imgpar_context *ctx, imgpar_array *a, double init, const ip_scan_options *options,
                                 imgpar_array *const function[3])
{
    ip_scan_options few = *options;
    if (few.axis < 0) few.axis += a->type.rank;
    imgpar_array *joined = ip_build_joined(a, &few.axis);
    imgpar_array *scan = ip_build_scan_fold(ctx, joined, init, &few, function[0], function[1], function[2]);
    imgpar_array *result = scan->op ? ip_build_reshaped(scan, a->type.rank, a->type.shape) : imgpar_array_retain(scan);
    imgpar_array_release(joined);
    imgpar_array_release(scan);
    return result;
}

imgpar_array *ip_build_scan_fold(imgpar_context *ctx, imgpar_array *a, double init, const ip_scan_options *options,
                                 imgpar_array *p, imgpar_array *q, imgpar_array *body)
{
    const int rank = a->op ? a->type.rank : 0;
    if (rank > IP_OWN_DIMS && options->axis >= -rank && options->axis < rank)
        return joined_scan(ctx, a, init, options, (imgpar_array *const[]){ p, q, body });
    imgpar_array *const inputs[] = { a, p, q, body };
    ip_error err = { .status = IMGPAR_OK };
    imgpar_array *node = fold_node(ctx, "scanfold", inputs, init, &a->type);
    if (!node->op) return node;
    node->params[1].number = options->axis;
    node->params[2].number = options->exclusive;
    node->params[3].number = options->reverse;
    node->params[4].number = options->associative;
    node->op->infer(node, &err);
    node->type.white = body->type.white;
    node->type.is_mask = body->type.is_mask;
    return finish(ctx, node, &err);
}

/* ---- scans of several states ------------------------------------------------------------ */

/* Whether an init has one element, or the elements' shape without the axis: 1 there. */
static bool init_fits(const ip_type *init, const ip_type *type, int axis)
{
    if (ip_type_count(init) == 1) return true;
    bool fits = init->rank == type->rank;
    for (int k = 0; fits && k < type->rank; k++)
        fits = init->shape[k] == (k == axis ? 1 : type->shape[k]);
    return fits;
}

/* What is wrong with them; NULL: nothing. */
static const char *states_rule(const ip_states *s, const ip_scan_options *options)
{
    const ip_type *type = &s->elements[0]->type;
    const int axis = options->axis < 0 ? options->axis + type->rank : options->axis;
    for (int k = 0; k < s->m; k++) {
        const ip_type *other = &s->elements[k]->type;
        if (ip_type_is_complex(other)) return "complex numbers are no elements that a function is given";
        if (other->rank != type->rank || memcmp(other->shape, type->shape, sizeof type->shape) != 0)
            return "the arrays have different shapes";
    }
    for (int k = 0; k < s->n; k++) {
        if (ip_type_is_complex(&s->body[k]->type)) return "a state cannot be a complex number";
        if (ip_type_count(&s->body[k]->type) != 1) return "the function gives more than one element";
        if (!ip_array_is_number(s->inits[k], NULL, NULL) && !init_fits(&s->inits[k]->type, type, axis))
            return "a state starts from neither one number nor one for each line, with 1 for the axis";
    }
    return NULL;
}

static imgpar_array *scan_of_state(imgpar_context *ctx, const ip_states *s, int k, const ip_scan_options *options)
{
    imgpar_array *const *const from[] = { s->elements, s->inits, s->p, s->q, s->body };
    const int n[] = { s->m, s->n, s->n, s->m, s->n };
    ip_type type = s->elements[0]->type;
    type.dtype = s->body[k]->type.dtype;
    type.space = type.dtype == s->elements[0]->type.dtype ? type.space : IMGPAR_SPACE_DATA;
    type.white = s->body[k]->type.white;
    type.is_mask = s->body[k]->type.is_mask;
    imgpar_array *node = new_node(ctx, "scanstates", 2 * s->m + 3 * s->n, &type);
    if (!node) return no_memory();
    int to = 0;
    for (size_t list = 0; list < sizeof n / sizeof *n; list++)
        for (int i = 0; i < n[list]; i++)
            node->inputs[to++] = ip_array_hold(from[list][i]);
    const double params[] = { k, s->n, options->axis, options->exclusive, options->reverse, options->associative };
    for (size_t i = 0; i < sizeof params / sizeof *params; i++)
        node->params[i].number = params[i];
    ip_error err = { .status = IMGPAR_OK };
    node->op->infer(node, &err);
    return finish(ctx, node, &err);
}

static imgpar_array *states_error(imgpar_context *ctx, const ip_states *s, const ip_scan_options *options)
{
    imgpar_array *const *const from[] = { s->elements, s->inits, s->p, s->q, s->body };
    const int n[] = { s->m, s->n, s->n, s->m, s->n };
    for (size_t list = 0; list < sizeof n / sizeof *n; list++)
        for (int i = 0; i < n[list]; i++)
            if (!from[list][i]->op) return imgpar_array_retain(from[list][i]);
    const char *rule = states_rule(s, options);
    ip_error err = { .status = IMGPAR_OK };
    if (!rule) return NULL;
    ip_fail(&err, IMGPAR_E_SHAPE, "%s: %s", s->form, rule);
    return ip_array_error(ctx, err.status, err.message);
}

/* Of more axes than a stage has dims: as joined_scan(); inits that have 1 along the axis are joined alike. */
static void joined_states(imgpar_context *ctx, const ip_states *s, const ip_scan_options *options, imgpar_array **out)
{
    imgpar_array *elements[IP_SCAN_STATES], *inits[IP_SCAN_STATES];
    const ip_type *type = &s->elements[0]->type;
    const int axis = options->axis < 0 ? options->axis + type->rank : options->axis;
    ip_scan_options few = *options;
    for (int k = 0; k < s->m; k++) {
        few.axis = axis;
        elements[k] = ip_build_joined(s->elements[k], &few.axis);
    }
    for (int k = 0; k < s->n; k++) {
        int own = axis;
        const bool is_one = s->inits[k]->type.rank != type->rank;
        inits[k] = is_one ? imgpar_array_retain(s->inits[k]) : ip_build_joined(s->inits[k], &own);
    }
    const ip_states joined = { s->form, s->n, s->m, elements, inits, s->p, s->q, s->body };
    ip_build_scan_states(ctx, &joined, &few, out);
    for (int k = 0; k < s->n; k++)
        if (out[k]->op) imgpar_array_replace(&out[k], ip_build_reshaped(out[k], type->rank, type->shape));
    for (int k = 0; k < s->m; k++)
        imgpar_array_release(elements[k]);
    for (int k = 0; k < s->n; k++)
        imgpar_array_release(inits[k]);
}

void ip_build_scan_states(imgpar_context *ctx, const ip_states *states, const ip_scan_options *options,
                          imgpar_array **out)
{
    imgpar_array *error = states_error(ctx, states, options);
    const int rank = error ? 0 : states->elements[0]->type.rank;
    if (rank > IP_OWN_DIMS && options->axis >= -rank && options->axis < rank) {
        joined_states(ctx, states, options, out);
        return;
    }
    for (int k = 0; k < states->n; k++)
        out[k] = error ? imgpar_array_retain(error) : scan_of_state(ctx, states, k, options);
    imgpar_array_release(error);
}

/* ---- loops ----------------------------------------------------------------------------- */

static ip_loop *new_loop(int n, imgpar_array *const *placeholder, imgpar_array *const *next, imgpar_array *until,
                         int64_t count, int64_t check)
{
    ip_loop *loop = ip_zalloc(sizeof *loop);
    if (!loop || !ip_cond_init(&loop->is_free)) {
        ip_free(loop);
        return NULL;
    }
    atomic_init(&loop->refs, 1);
    loop->count = count;
    loop->check = check;
    loop->placeholder = ip_alloc_array((size_t)n, sizeof *loop->placeholder);
    loop->next = ip_alloc_array((size_t)n, sizeof *loop->next);
    if (!loop->placeholder || !loop->next) {
        ip_loop_release(loop);
        return NULL;
    }
    for (int k = 0; k < n; k++) {
        loop->placeholder[k] = ip_array_hold(placeholder[k]);
        loop->next[k] = ip_array_hold(next[k]);
    }
    loop->n_carried = n;
    loop->until = ip_array_hold(until);
    return loop;
}

static imgpar_array *projection(imgpar_context *ctx, int n, int k, imgpar_array *const *initial, ip_loop *loop)
{
    imgpar_array *node = new_node(ctx, "iterate", n, &loop->placeholder[k]->type);
    if (!node) return no_memory();
    for (int i = 0; i < n; i++)
        node->inputs[i] = ip_array_hold(initial[i]);
    node->params[0].number = k;
    node->loop = loop;
    node->bends = loop->placeholder[k]->bends;
    atomic_fetch_add(&loop->refs, 1);
    return complete(node);
}

/* The first error array among those of a loop; NULL: none. */
static imgpar_array *loop_error(int n, imgpar_array *const *initial, imgpar_array *const *placeholder,
                                imgpar_array *const *next, imgpar_array *until)
{
    for (int k = 0; k < n; k++) {
        imgpar_array *const all[] = { initial[k], placeholder[k], next[k] };
        for (int i = 0; i < 3; i++)
            if (!all[i]->op) return all[i];
    }
    return until && !until->op ? until : NULL;
}

void ip_build_loop(imgpar_context *ctx, int n, imgpar_array *const *initial, imgpar_array *const *placeholder,
                   imgpar_array *const *next, imgpar_array *until, int64_t count, int64_t check, imgpar_array **out)
{
    imgpar_array *error = loop_error(n, initial, placeholder, next, until);
    ip_loop *loop = error ? NULL : new_loop(n, placeholder, next, until, count, check);
    bool failed = !loop;
    for (int k = 0; k < n; k++) {
        out[k] = error ? imgpar_array_retain(error) : loop ? projection(ctx, n, k, initial, loop) : no_memory();
        failed = failed || !out[k]->op;
    }
    ip_loop_release(loop);
    for (int k = 0; failed && k < n; k++)
        if (out[k]->op) imgpar_array_replace(&out[k], no_memory());
}

/* ---- loops of elements ------------------------------------------------------------------ */

imgpar_array *ip_build_carried(imgpar_context *ctx, const ip_type *type, int k, int level)
{
    imgpar_array *node = new_node(ctx, "carried", 0, type);
    if (!node) return no_memory();
    node->params[0].number = k;
    node->params[1].number = level;
    return complete(node);
}

static imgpar_array *settled(imgpar_context *ctx, int n, int k, imgpar_array *const *inputs, int64_t count, int level)
{
    imgpar_array *node = new_node(ctx, "settled", 3 * n + 1, &inputs[2 * n + k]->type);
    if (!node) return no_memory();
    for (int i = 0; i <= 3 * n; i++)
        node->inputs[i] = ip_array_hold(inputs[i]);
    node->params[0].number = k;
    node->params[1].number = (double)count;
    node->params[2].number = level;
    return complete(node);
}

void ip_build_settled(imgpar_context *ctx, int n, imgpar_array *const *starts, imgpar_array *const *next,
                      imgpar_array *const *carried, imgpar_array *until, int64_t count, int level, imgpar_array **out)
{
    imgpar_array *inputs[3 * IP_MOST_CARRIED + 1], *error = loop_error(n, starts, carried, next, until);
    for (int k = 0; k < n; k++) {
        inputs[k] = starts[k];
        inputs[n + k] = next[k];
        inputs[2 * n + k] = carried[k];
    }
    inputs[3 * n] = until;
    for (int k = 0; k < n; k++)
        out[k] = error ? imgpar_array_retain(error) : settled(ctx, n, k, inputs, count, level);
}
