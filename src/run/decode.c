/* SPDX-License-Identifier: MIT */
/* Leaves: files and blobs decoded, once while the context remembers them (decoded.h), and user's memory borrowed. */
#include "base/alloc.h"
#include "base/dtype.h"
#include "base/str.h"
#include "run/evaluate.h"
#include "run/progress.h"

void ip_report_warnings(const ip_runner *runner, ip_str *warnings)
{
    if (warnings->length > 0 && runner->options && runner->options->on_warning) {
        char *line = warnings->text;
        while (*line) {
            char *end = line;
            while (*end && *end != '\n')
                end++;
            char kept = *end;
            *end = '\0';
            if (*line) runner->options->on_warning(runner->options->user, line);
            *end = kept;
            line = *end ? end + 1 : end;
        }
    }
    ip_str_free(warnings);
}

/* Decodes the encoded bytes of the key, which source has. */
static imgpar_status decode_bytes(imgpar_context *ctx, const ip_runner *runner, const imgpar_array *node,
                                  const ip_decoded_key *key, ip_source **pixels, ip_error *err)
{
    const ip_source *source = node->source;
    const uint64_t expected = (uint64_t)ip_type_count(&node->type) * ip_dtype(node->type.dtype)->size_bytes;
    ip_image image = { 0 };
    ip_str warnings = IP_STR_INIT;
    ip_read_options options = { .max_pixels = key->max_pixels,
                                .fail_on = key->fail_on,
                                .poll = runner->poll,
                                .shrink = key->shrink,
                                .warnings = &warnings };
    const char *name = source->kind == IP_SOURCE_FILE ? ip_file_name(&source->file)
                       : source->name                 ? source->name
                                                      : "image";
    double start = ip_now_ms();
    imgpar_status st = ip_context_take_host(ctx, expected, name, err);
    if (st) return st;
    st = ip_io_decode(key->bytes, key->n, name, &options, &image, err);
    bool is_silent = warnings.length == 0; /* a warning is given each time */
    ip_report_warnings(runner, &warnings);
    ip_account_give(ctx->host, expected);
    if (st) return st;
    atomic_fetch_add(&ctx->decodes, 1);
    ip_runner_event(runner, "decode", source->name ? source->name : "memory", start, key->n, image.size_bytes);
    *pixels = ip_source_of_pixels(image.pixels, image.size_bytes);
    if (!*pixels) return ip_fail_memory(err, "decoding");
    ip_account_add(ctx->host, (*pixels)->size_bytes);
    (*pixels)->account = ip_account_retain(ctx->host);
    /* the others are read like memory */
    bool is_worth_it = source->format == IP_FORMAT_PNG || source->format == IP_FORMAT_JPEG;
    if (is_worth_it && is_silent) ip_decoded_keep(&ctx->decoded, key, *pixels);
    return IMGPAR_OK;
}

/* Decodes a file; of one whose pixels are there only the identity is looked at. */
static imgpar_status decode_file(imgpar_context *ctx, const ip_runner *runner, const imgpar_array *node,
                                 ip_decoded_key *key, ip_source **pixels, ip_error *err)
{
    const ip_source *source = node->source;
    ip_read_options options = { .max_pixels = key->max_pixels, .poll = runner->poll };
    void *owned;
    key->file_id = source->file_id;
    *pixels = ip_decoded_find(&ctx->decoded, key);
    imgpar_status st = *pixels ? ip_file_check(&source->file, err) : IMGPAR_OK;
    if (*pixels) return st;
    st = ip_file_read(&source->file, &options, &key->bytes, &owned, err);
    key->n = (size_t)source->file.size_bytes;
    if (!st && !(*pixels = ip_decoded_find(&ctx->decoded, key))) st = decode_bytes(ctx, runner, node, key, pixels, err);
    ip_free(owned);
    return st;
}

/* The pixels of what is encoded: those that were decoded before, or decoded now. */
static imgpar_status decode(imgpar_context *ctx, const ip_runner *runner, const imgpar_array *node, ip_value **out,
                            ip_error *err)
{
    const ip_source *source = node->source;
    ip_source *pixels = NULL;
    ip_decoded_key key = { .fail_on = source->fail_on,
                           .shrink = node->shrink.by,
                           .max_pixels = ip_context_max_pixels(ctx) };
    imgpar_status st = IMGPAR_OK;
    ip_progress_step(runner->options, IP_WORK_DECODE * (double)ip_type_count(&node->type));
    if (source->kind == IP_SOURCE_FILE) {
        st = decode_file(ctx, runner, node, &key, &pixels, err);
    } else {
        key.bytes = source->data;
        key.n = source->size_bytes;
        pixels = ip_decoded_find(&ctx->decoded, &key);
        if (!pixels) st = decode_bytes(ctx, runner, node, &key, &pixels, err);
    }
    if (!st && !(*out = ip_value_of_source(pixels))) st = ip_fail_memory(err, "decoding");
    ip_source_release(pixels);
    return st;
}

bool ip_source_is_decoded(imgpar_context *ctx, const imgpar_array *node)
{
    const ip_source *source = node->source;
    ip_decoded_key key = { .fail_on = source->fail_on,
                           .shrink = node->shrink.by,
                           .max_pixels = ip_context_max_pixels(ctx),
                           .file_id = source->file_id };
    if (source->kind == IP_SOURCE_BLOB) {
        key.bytes = source->data;
        key.n = source->size_bytes;
    }
    ip_source *pixels = ip_decoded_find(&ctx->decoded, &key);
    ip_source_release(pixels);
    return pixels != NULL;
}

imgpar_status ip_source_value(imgpar_context *ctx, const ip_runner *runner, const imgpar_array *node, ip_value **out,
                              ip_error *err)
{
    if (!node->source) return ip_fail(err, IMGPAR_E_INTERNAL, "internal: %s has no pixels", node->op->info.name);
    if (node->source->kind == IP_SOURCE_FILE || node->source->kind == IP_SOURCE_BLOB)
        return decode(ctx, runner, node, out, err);
    *out = node->source->kind == IP_SOURCE_BUFFER
               ? ip_value_of_buffer(ip_buffer_retain(node->source->data), node->source->size_bytes)
               : ip_value_of_source(node->source);
    return *out ? IMGPAR_OK : ip_fail_memory(err, "reading an array");
}
