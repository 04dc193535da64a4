/* SPDX-License-Identifier: MIT */
/* Leaves: arrays that stand on pixels from memory or from a file. */
#include "ops/build.h"

#include "base/alloc.h"
#include "base/dtype.h"
#include "graph/services.h"
#include "ops/check.h"
#include "ops/infer.h"

#include <math.h>
#include <string.h>

static const int64_t side_max = INT32_MAX; /* indices on the device are 32-bit */

static ip_source *new_source(ip_source_kind kind, const char *name)
{
    ip_source *s = ip_zalloc(sizeof *s);
    if (!s) return NULL;
    atomic_init(&s->refs, 1);
    s->kind = kind;
    s->fail_on = IP_FAIL_ON_ERROR;
    s->name = ip_strdup(name);
    if (s->name) return s;
    ip_free(s);
    return NULL;
}

/* ---- pixels ------------------------------------------------------------------------- */

static imgpar_status check_pixels(imgpar_context *ctx, imgpar_dtype dtype, int rank, const int64_t *shape,
                                  const void *data, ip_header *header, size_t *size_bytes, ip_error *err)
{
    if (!ctx) return ip_fail(err, IMGPAR_E_ARGUMENT, "data: the context is NULL");
    if (!ip_dtype(dtype)) return ip_fail(err, IMGPAR_E_ARGUMENT, "data: dtype=%d is none", (int)dtype);
    if (rank < 1 || rank > IMGPAR_MAX_RANK)
        return ip_fail(err, IMGPAR_E_ARGUMENT, "data: rank=%d is not 1 to %d", rank, IMGPAR_MAX_RANK);
    if (!shape) return ip_fail(err, IMGPAR_E_ARGUMENT, "data: shape is NULL");
    *header = (ip_header){ .dtype = dtype, .rank = rank };
    *size_bytes = ip_dtype(dtype)->size_bytes;
    for (int k = 0; k < rank; k++) {
        if (shape[k] < 0 || shape[k] > side_max)
            return ip_fail(err, IMGPAR_E_ARGUMENT, "data: shape[%d]=%lld is not 0 to %lld", k, (long long)shape[k],
                           (long long)side_max);
        header->shape[k] = shape[k];
        if (!ip_mul_size(*size_bytes, (size_t)shape[k], size_bytes) || *size_bytes > INT64_MAX)
            return ip_fail(err, IMGPAR_E_LIMIT, "data: the shape has more elements than any memory holds");
    }
    if (!data && *size_bytes > 0) return ip_fail(err, IMGPAR_E_ARGUMENT, "data: data is NULL");
    ip_type type = { .dtype = dtype, .rank = rank };
    memcpy(type.shape, header->shape, sizeof type.shape);
    header->space = ip_space_guess(&type);
    return ip_type_check_folded(&type, "data", err);
}

IMGPAR_API imgpar_array *imgpar_array_from_data(imgpar_context *ctx, imgpar_dtype dtype, int rank, const int64_t *shape,
                                                const void *data)
{
    ip_error err = { .status = IMGPAR_OK };
    ip_header header;
    size_t size_bytes;
    if (check_pixels(ctx, dtype, rank, shape, data, &header, &size_bytes, &err))
        return ip_array_error(ctx, err.status, err.message);
    ip_source *source = new_source(IP_SOURCE_PIXELS, "data");
    void *copy = source ? ip_alloc(size_bytes) : NULL;
    if (!copy) {
        ip_source_release(source);
        return ip_array_error(ctx, IMGPAR_E_HOST_MEMORY, "out of host memory");
    }
    if (size_bytes > 0) /* else data may be NULL */
        memcpy(copy, data, size_bytes);
    source->data = copy;
    source->size_bytes = size_bytes;
    return ip_build_source(ctx, ip_op_find("data"), source, &header, NULL);
}

IMGPAR_API imgpar_array *imgpar_array_wrap(imgpar_context *ctx, imgpar_dtype dtype, int rank, const int64_t *shape,
                                           void *data, void (*on_release)(void *user, void *data), void *user)
{
    ip_error err = { .status = IMGPAR_OK };
    ip_header header;
    size_t size_bytes;
    imgpar_status st = check_pixels(ctx, dtype, rank, shape, data, &header, &size_bytes, &err);
    ip_source *source = st ? NULL : new_source(IP_SOURCE_PIXELS, "data");
    if (!source) {
        if (on_release) on_release(user, data);
        return ip_array_error(ctx, st ? st : IMGPAR_E_HOST_MEMORY, st ? err.message : "out of host memory");
    }
    source->data = data;
    source->size_bytes = size_bytes;
    source->borrowed = true;
    source->on_release = on_release;
    source->user = user;
    return ip_build_source(ctx, ip_op_find("data"), source, &header, NULL);
}

/* ---- encoded images ------------------------------------------------------------------- */

static imgpar_status probe_memory(imgpar_context *ctx, const void *bytes, size_t n, ip_header *header,
                                  ip_metadata **metadata, ip_error *err)
{
    if (!ctx) return ip_fail(err, IMGPAR_E_ARGUMENT, "open: the context is NULL");
    if (!bytes) return ip_fail(err, IMGPAR_E_ARGUMENT, "open: the bytes are NULL");
    if (ip_services_get()->check_context(ctx, err)) return IMGPAR_E_DEVICE_LOST;
    ip_read_options options = { .max_pixels = ip_services_get()->max_pixels(ctx),
                                .fail_on = IP_FAIL_ON_ERROR,
                                .metadata = metadata };
    return ip_io_probe(bytes, n, "memory", &options, header, err);
}

IMGPAR_API imgpar_array *imgpar_open_wrap(imgpar_context *ctx, void *bytes, size_t n,
                                          void (*on_release)(void *user, void *bytes), void *user)
{
    ip_error err = { .status = IMGPAR_OK };
    ip_header header;
    ip_metadata *metadata = NULL;
    imgpar_status st = probe_memory(ctx, bytes, n, &header, &metadata, &err);
    ip_source *source = st ? NULL : new_source(IP_SOURCE_BLOB, "memory");
    if (!source) {
        ip_metadata_release(metadata);
        if (on_release) on_release(user, bytes);
        return ip_array_error(ctx, st ? st : IMGPAR_E_HOST_MEMORY, st ? err.message : "out of host memory");
    }
    source->data = bytes;
    source->size_bytes = n;
    source->borrowed = true;
    source->on_release = on_release;
    source->user = user;
    source->format = header.format;
    source->orientation = header.orientation;
    source->has_rows = header.has_rows;
    return ip_build_source(ctx, ip_op_find("open"), source, &header, metadata);
}

static void free_copy(void *user, void *copy)
{
    (void)user;
    ip_free(copy);
}

IMGPAR_API imgpar_array *imgpar_open_memory(imgpar_context *ctx, const void *bytes, size_t n)
{
    void *copy = bytes ? ip_alloc(n) : NULL;
    if (bytes && !copy) return ip_array_error(ctx, IMGPAR_E_HOST_MEMORY, "out of host memory");
    if (bytes) memcpy(copy, bytes, n);
    return imgpar_open_wrap(ctx, copy, n, free_copy, NULL);
}

/* The row "open": reads the header at once. */
imgpar_status ip_infer_open(imgpar_array *node, ip_error *err)
{
    const char *path = ip_param_get(node, "path")->text;
    ip_header header;
    ip_source *source = new_source(IP_SOURCE_FILE, path);
    if (!source) return ip_fail_memory(err, "opening a file");
    source->fail_on = (ip_fail_on)ip_param_number(node, "fail_on");
    ip_read_options options = { .max_pixels = ip_services_get()->max_pixels(node->ctx),
                                .counts_held = true,
                                .fail_on = source->fail_on,
                                .metadata = &node->metadata };
    imgpar_status st = ip_file_open(path, &options, &source->file, &header, err);
    if (st) {
        source->kind = IP_SOURCE_BLOB; /* there is no file to release */
        ip_source_release(source);
        return st;
    }
    source->format = header.format;
    source->orientation = header.orientation;
    source->has_rows = header.has_rows;
    source->file_id = ip_services_get()->next_file(node->ctx);
    node->source = source;
    node->is_from_file = true;
    node->type = (ip_type){ .dtype = header.dtype, .space = header.space, .rank = header.rank };
    memcpy(node->type.shape, header.shape, sizeof node->type.shape);
    const double white = ip_param_number(node, "white");
    node->type.white = !isnan(white) ? white : header.tells_white ? header.white : ip_white_guess(&node->type);
    node->type.is_mask = isnan(white) && header.is_mask;
    node->type.alpha_is_number = header.alpha_is_number;
    node->range = ip_range_of(header.dtype);
    return IMGPAR_OK;
}

imgpar_array *ip_leaf_shrunk(const imgpar_array *leaf, int shrink)
{
    bool is_jpeg = leaf->source && leaf->source->kind != IP_SOURCE_PIXELS && leaf->source->format == IP_FORMAT_JPEG;
    imgpar_array *node = is_jpeg && !leaf->shrink.by ? ip_array_new(leaf->ctx, leaf->op, 0) : NULL;
    if (!node) return NULL;
    for (int k = 0; k < leaf->op->info.n_params; k++) {
        const ip_param *p = &leaf->params[k];
        node->params[k] = *p;
        node->params[k].text = p->text ? ip_strdup(p->text) : NULL;
        if (p->text && !node->params[k].text) {
            imgpar_array_release(node);
            return NULL;
        }
    }
    atomic_fetch_add(&leaf->source->refs, 1);
    node->source = leaf->source;
    node->metadata = ip_metadata_retain(leaf->metadata);
    node->is_from_file = leaf->is_from_file;
    node->type = leaf->type;
    node->range = leaf->range;
    /* orientations */
    const unsigned flips[2] = { 1u << 3 | 1u << 4 | 1u << 7 | 1u << 8, 1u << 2 | 1u << 3 | 1u << 6 | 1u << 7 };
    node->shrink.by = shrink;
    for (int k = 0; k < 2; k++) {
        int64_t full = leaf->type.shape[k], shrunk = (full + shrink - 1) / shrink;
        node->type.shape[k] = shrunk;
        node->shrink.full[k] = full;
        node->shrink.before[k] = flips[k] >> leaf->source->orientation & 1 ? shrunk * shrink - full : 0;
    }
    ip_array_complete(node);
    return node;
}

IMGPAR_API imgpar_array *imgpar_open(imgpar_context *ctx, const char *path)
{
    ip_arg args[] = { { .kind = IP_ARG_TEXT, .text = path } };
    return ip_build(ctx, ip_op_find("open"), args, 1);
}

IMGPAR_API imgpar_array *imgpar_open_with(imgpar_context *ctx, const char *path, const char *options)
{
    ip_arg args[] = { { .kind = IP_ARG_TEXT, .text = path },
                      { .name = "fail_on", .kind = IP_ARG_TEXT, .text = options } };
    if (!options || !*options) return imgpar_open(ctx, path);
    if (!strchr(options, '=')) return ip_build(ctx, ip_op_find("open"), args, 2); /* the bare word */
    return ip_build_with_text(ctx, ip_op_find("open"), args, 1, options);
}

/* ---- errors ------------------------------------------------------------------------------ */

IMGPAR_API imgpar_array *imgpar_array_error(imgpar_context *ctx, imgpar_status status, const char *message)
{
    return ip_array_error(ctx, status ? status : IMGPAR_E_ARGUMENT, message ? message : imgpar_status_name(status));
}
