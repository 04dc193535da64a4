/* SPDX-License-Identifier: MIT */
/*
 * A user's kernel among arrays: a node whose row stands here, since no call of the language makes it. It is lowered to
 * an opaque stage (ir/opaque.h) whose kind launches by itself; the graph sees to inputs, order and memory. And buffers
 * as arrays, arrays as buffers.
 */
#include "cl/cl.h"

#include "base/dtype.h"
#include "ir/opaque.h"
#include "ops/build.h"
#include "ops/lower.h"
#include "run/evaluate.h"
#include "run/value.h"

#include <string.h>

/* What a node computes: copied from the user, kept by the node's source. */
typedef struct applied {
    imgpar_cl_kernel *kernel; /* a reference */
    imgpar_cl_arg *args;      /* structs point into bytes */
    size_t n_args;
    unsigned char *bytes;
    imgpar_cl_work work;
    imgpar_status (*compute)(void *user, const void *const *inputs, void *result);
    void *user;
} applied;

static void applied_free(void *user, void *data)
{
    applied *a = data;
    (void)user;
    imgpar_cl_kernel_release(a->kernel);
    ip_free(a->args);
    ip_free(a->bytes);
    ip_free(a);
}

/* ---- as a stage -------------------------------------------------------------------------------------- */

static imgpar_status run(const ip_opaque_call *call, struct ip_buffer *result, struct ip_buffer *const *inputs,
                         double *busy_ms, ip_error *err)
{
    const applied *a = call->opaque->user;
    const ip_cl_launch launch = {
        .kernel = a->kernel, .args = a->args, .work = a->work, .result = result, .inputs = inputs
    };
    return ip_cl_launch_run(&launch, &(ip_cl_target){ .busy_ms = busy_ms }, err);
}

static imgpar_status compute(const ip_opaque *o, const void *const *in, void *out, ip_opaque_ask ask, void *asked)
{
    const applied *a = o->user;
    imgpar_status st = ask(asked);
    return st ? st : a->compute ? a->compute(a->user, in, out) : IMGPAR_E_UNSUPPORTED;
}

static const ip_opaque_kind kind = {
    .name = "kernel", .widen = ip_opaque_widen_all, .reads = ip_opaque_read_all, .run = run, .compute = compute
};

static ip_stage *lower(ip_lower *l)
{
    const applied *a = l->node->source->data;
    ip_opaque o = { .kind = &kind,
                    .variant = a->kernel ? a->kernel->name : "compute",
                    .defines = a->kernel ? a->kernel->module->text : "",
                    .dtype = l->node->type.dtype,
                    .n_inputs = l->node->n_inputs,
                    .user = a,
                    .uses_f64 = l->node->type.dtype == IMGPAR_F64 };
    for (int k = 0; k < l->node->n_inputs; k++)
        o.inputs[k] = l->in[k];
    return ip_stage_opaque(l->ir, &o, l->node->type.dtype, l->dims, l->node);
}

static const ip_op apply_row = {
    .info = { .name = "kernel",
              .aliases = "",
              .category = "kernel",
              .summary = "a kernel of the user",
              .formula = "the user's",
              .tolerance = "the user's",
              .example = "" },
    .flags = IP_OP_HIDDEN,
    .lower = lower,
};
static const ip_op buffer_row = {
    .info = { .name = "buffer",
              .aliases = "",
              .category = "source",
              .summary = "elements of a buffer",
              .formula = "",
              .tolerance = "0",
              .example = "" },
    .flags = IP_OP_HIDDEN,
};

/* ---- making ----------------------------------------------------------------------------------------------- */

static imgpar_status check_type(const char *function, imgpar_dtype dtype, int rank, const int64_t *shape, ip_type *type,
                                ip_error *err)
{
    if (!ip_dtype(dtype)) return ip_fail(err, IMGPAR_E_ARGUMENT, "%s: dtype=%d is none", function, (int)dtype);
    if ((int)dtype >= IP_N_REAL_DTYPES)
        return ip_fail(err, IMGPAR_E_UNSUPPORTED, "%s: dtype=%s: kernels make real elements; a pair of them is complex",
                       function, ip_dtype(dtype)->name);
    if (rank < 1 || rank > IMGPAR_MAX_RANK)
        return ip_fail(err, IMGPAR_E_ARGUMENT, "%s: rank=%d is not 1 to %d", function, rank, IMGPAR_MAX_RANK);
    *type = (ip_type){ .dtype = dtype, .rank = rank };
    size_t bytes = ip_dtype(dtype)->size_bytes;
    for (int k = 0; k < rank; k++) {
        if (shape[k] < 1 || shape[k] > INT32_MAX)
            return ip_fail(err, IMGPAR_E_ARGUMENT, "%s: shape[%d]=%lld is not 1 to %d", function, k,
                           (long long)shape[k], INT32_MAX);
        if (!ip_mul_size(bytes, (size_t)shape[k], &bytes) || bytes > INT64_MAX)
            return ip_fail(err, IMGPAR_E_LIMIT, "%s: the shape has more elements than any memory holds", function);
        type->shape[k] = shape[k];
    }
    type->space = ip_space_guess(type);
    type->white = ip_white_guess(type);
    return ip_type_check_folded(type, function, err);
}

/* A source that owns data by way of release; releases it where it fails. */
static ip_source *new_source(ip_source_kind source_kind, void *data, size_t size_bytes,
                             void (*release)(void *user, void *data))
{
    ip_source *s = ip_zalloc(sizeof *s);
    char *name = s ? ip_strdup("kernel") : NULL;
    if (!name) {
        ip_free(s);
        release(NULL, data);
        return NULL;
    }
    atomic_init(&s->refs, 1);
    s->kind = source_kind;
    s->data = data;
    s->size_bytes = size_bytes;
    s->on_release = release;
    s->name = name;
    return s;
}

/* The node of a row; takes source. */
static imgpar_array *new_node(imgpar_context *ctx, const ip_op *row, ip_source *source, const ip_type *type,
                              imgpar_array *const *inputs, size_t n_inputs)
{
    imgpar_array *node = source ? ip_array_new(ctx, row, (int)n_inputs) : NULL;
    if (!node) {
        ip_source_release(source);
        return ip_array_error(NULL, IMGPAR_E_HOST_MEMORY, "out of host memory");
    }
    for (size_t k = 0; k < n_inputs; k++)
        node->inputs[k] = ip_array_hold(inputs[k]);
    node->source = source;
    node->type = *type;
    node->range = ip_range_of(type->dtype);
    ip_array_complete(node);
    return node;
}

static imgpar_array *error_array(imgpar_context *ctx, const ip_error *err)
{
    return ip_array_error(ctx, err->status, err->message);
}

/* The arguments with what their structs hold. */
static imgpar_status copy_args(applied *a, const imgpar_cl_node *node, ip_error *err)
{
    size_t bytes = 0, at = 0;
    for (size_t k = 0; k < node->n_args; k++)
        if (node->args[k].kind == IMGPAR_CL_ARG_STRUCT) bytes += node->args[k].size_bytes;
    a->args = ip_alloc_array(node->n_args, sizeof *a->args);
    a->bytes = ip_alloc(bytes);
    if (!a->args || !a->bytes) return ip_fail_memory(err, "keeping a kernel's arguments");
    a->n_args = node->n_args;
    for (size_t k = 0; k < node->n_args; k++) {
        a->args[k] = node->args[k];
        if (node->args[k].kind != IMGPAR_CL_ARG_STRUCT) continue;
        a->args[k].pointer = memcpy(a->bytes + at, node->args[k].pointer, node->args[k].size_bytes);
        at += node->args[k].size_bytes;
    }
    return IMGPAR_OK;
}

static bool uses_result(const imgpar_cl_node *node)
{
    for (size_t k = 0; k < node->n_args; k++)
        if (node->args[k].kind == IMGPAR_CL_ARG_RESULT) return true;
    return false;
}

static imgpar_status check_node(imgpar_context *ctx, const imgpar_cl_node *node, ip_type *type, imgpar_cl_work *work,
                                ip_error *err)
{
    ip_device *device;
    bool is_for_host = ctx && !ctx->device && node->compute; /* there are no kernels on ref */
    imgpar_status st = is_for_host ? ip_context_check(ctx, err) : ip_cl_device(ctx, "apply", &device, err);
    if (st) return st;
    if (!is_for_host && !node->kernel) return ip_cl_null(err, "apply", "the kernel");
    const char *name = is_for_host ? "apply" : node->kernel->name;
    if (node->kernel && node->kernel->module->ctx != ctx)
        return ip_fail(err, IMGPAR_E_ARGUMENT, "%s: the kernel is of another context", node->kernel->name);
    if (node->n_inputs > IMGPAR_CL_MAX_INPUTS)
        return ip_fail(err, IMGPAR_E_LIMIT, "%s: %zu inputs are over %d", name, node->n_inputs, IMGPAR_CL_MAX_INPUTS);
    for (size_t k = 0; k < node->n_inputs; k++) {
        if (!node->inputs || !node->inputs[k]) return ip_cl_null(err, name, "an input");
        if (!node->inputs[k]->op) /* the first cause, as operations have it */
            return ip_fail(err, imgpar_array_status(node->inputs[k]), "%s", imgpar_array_message(node->inputs[k]));
        if (node->inputs[k]->ctx != ctx)
            return ip_fail(err, IMGPAR_E_ARGUMENT, "%s: input %zu is of another context", name, k);
    }
    st = check_type(name, node->dtype, node->rank, node->shape, type, err);
    if (st || is_for_host) return st;
    st = ip_cl_check_args(node->kernel, node->args, node->n_args, (int)node->n_inputs, err);
    if (!st) st = ip_cl_check_work(node->kernel, node->work, node->args, work, err);
    if (!st) st = ip_cl_check_local(node->kernel, node->args, work, err);
    for (unsigned k = 0; !st && k < node->kernel->n_filled; k++) {
        const ip_cl_symbol *symbol = node->kernel->params[node->kernel->n_params + k].symbol;
        if (symbol && !symbol->is_constant)
            st = ip_fail(err, IMGPAR_E_UNSUPPORTED, "%s: has the module's global %s; a node has no state", name,
                         symbol->name);
    }
    if (!st && !uses_result(node))
        st = ip_fail(err, IMGPAR_E_ARGUMENT, "%s: no argument is imgpar_cl_arg_result()", node->kernel->name);
    return st;
}

imgpar_array *imgpar_cl_apply(imgpar_context *ctx, const imgpar_cl_node *given)
{
    ip_error err = { .status = IMGPAR_OK };
    imgpar_cl_node node = { .struct_size = sizeof node };
    imgpar_cl_work work = { .struct_size = sizeof work }; /* of a node that only the host computes: none */
    ip_type type;
    if (!given)
        ip_cl_null(&err, "apply", "the node");
    else
        ip_struct_in(&node, given, "apply", "node", &err);
    if (err.status || check_node(ctx, &node, &type, &work, &err)) return error_array(ctx, &err);
    applied *a = ip_zalloc(sizeof *a);
    if (!ctx->device) /* nobody reads them */
        node.n_args = 0;
    if (!a || copy_args(a, &node, &err)) {
        if (a) applied_free(NULL, a);
        return ip_array_error(NULL, IMGPAR_E_HOST_MEMORY, "out of host memory");
    }
    a->kernel = imgpar_cl_kernel_retain((imgpar_cl_kernel *)node.kernel);
    a->work = work;
    a->compute = node.compute;
    a->user = node.user;
    return new_node(ctx, &apply_row, new_source(IP_SOURCE_KERNEL, a, 0, applied_free), &type, node.inputs,
                    node.n_inputs);
}

/* ---- buffers -------------------------------------------------------------------------------------------------- */

static void release_memory(void *user, void *memory)
{
    (void)user;
    ip_buffer_release(memory);
}

static imgpar_status check_buffer(imgpar_cl_buffer *b, const ip_type *type, ip_error *err)
{
    size_t bytes = (size_t)ip_type_count(type) * ip_dtype(type->dtype)->size_bytes;
    const imgpar_cl_layout *l = &b->layout;
    size_t tight = l->element_bytes;
    for (int k = 0; k < l->rank; k++)
        tight *= l->extent[k];
    if (b->is_image) return ip_fail(err, IMGPAR_E_ARGUMENT, "array: the buffer is an image; copy it to another one");
    if (tight != b->size_bytes)
        return ip_fail(err, IMGPAR_E_ARGUMENT, "array: the rows of the buffer are padded: %zu bytes of elements in %zu",
                       tight, b->size_bytes);
    if (b->whole) return ip_fail(err, IMGPAR_E_ARGUMENT, "array: the buffer is a part of another");
    if (b->size_bytes != bytes)
        return ip_fail(err, IMGPAR_E_SHAPE, "array: the buffer has %zu bytes; the shape takes %zu", b->size_bytes,
                       bytes);
    pthread_mutex_t *order = &b->memory->device->order;
    pthread_mutex_lock(order);
    bool writes = b->mapped && b->mapped_writes;
    if (!writes) b->is_constant = true;
    pthread_mutex_unlock(order);
    return writes ? ip_fail(err, IMGPAR_E_ARGUMENT, "array: the buffer is mapped by the host; unmap it first")
                  : IMGPAR_OK;
}

imgpar_array *imgpar_cl_array(imgpar_cl_buffer *b, imgpar_dtype dtype, int rank, const int64_t *shape)
{
    ip_error err = { .status = IMGPAR_OK };
    ip_type type;
    if (!b || !shape) ip_cl_null(&err, "array", b ? "the shape" : "the buffer");
    if (err.status || check_type("array", dtype, rank, shape, &type, &err) || check_buffer(b, &type, &err))
        return error_array(b ? b->ctx : NULL, &err);
    ip_source *source = new_source(IP_SOURCE_BUFFER, ip_buffer_retain(b->memory), b->size_bytes, release_memory);
    return new_node(b->ctx, &buffer_row, source, &type, NULL, 0);
}

static imgpar_status buffer_of(imgpar_array *a, imgpar_cl_buffer **out, ip_error *err)
{
    ip_device *device;
    ip_value *value = NULL;
    ip_buffer *memory = NULL;
    if (!a) return ip_cl_null(err, "buffer_of", "the array");
    if (!a->op) return ip_fail(err, imgpar_array_status(a), "%s", imgpar_array_message(a));
    imgpar_status st = ip_cl_device(a->ctx, "buffer_of", &device, err);
    if (!st) st = ip_evaluate(a->ctx, &a, 1, NULL, IP_BY_DEVICE, &value, err);
    if (!st) {
        const size_t element = ip_dtype(a->type.dtype)->size_bytes;
        const imgpar_cl_layout given = imgpar_cl_vector(value->size_bytes / element, element);
        imgpar_cl_layout layout;
        size_t size_bytes;
        st = ip_cl_layout("buffer_of", &given, &layout, &size_bytes, err);
        if (!st) st = ip_value_on_device(value, device, &memory, err);
        if (!st) st = ip_cl_buffer_of_memory(a->ctx, IMGPAR_CL_IN, &layout, size_bytes, memory, out, err);
        if (!st) (*out)->is_constant = true;
    }
    ip_value_release(value);
    return st;
}

imgpar_status imgpar_cl_buffer_of(imgpar_array *array, imgpar_cl_buffer **out)
{
    ip_error err = { .status = IMGPAR_OK };
    if (!out) {
        ip_cl_null(&err, "buffer_of", "out");
    } else {
        *out = NULL;
        buffer_of(array, out, &err);
    }
    return ip_cl_say(&err);
}
