/* SPDX-License-Identifier: MIT */
/* Leaves: files and blobs decoded, user's memory borrowed. */
#include "base/alloc.h"
#include "base/str.h"
#include "run/evaluate.h"

static void report_warnings(const ip_runner *runner, ip_str *warnings)
{
    if (warnings->length > 0 && runner->options && runner->options->on_warning) {
        char *line = warnings->text;
        while (*line) {
            char *end = line;
            while (*end && *end != '\n')
                end++;
            char kept = *end;
            *end = '\0';
            if (*line)
                runner->options->on_warning(runner->options->user, line);
            *end = kept;
            line = *end ? end + 1 : end;
        }
    }
    ip_str_free(warnings);
}

static imgpar_status decode(imgpar_context *ctx, const ip_runner *runner, ip_source *source, int shrink, ip_value **out,
                            ip_error *err)
{
    ip_image image = { 0 };
    ip_str warnings = IP_STR_INIT;
    ip_read_options options = { .max_pixels = ip_context_max_pixels(ctx), .fail_on = source->fail_on,
                                .poll = runner->poll, .shrink = shrink, .warnings = &warnings };
    double start = ip_now_ms();
    imgpar_status st = source->kind == IP_SOURCE_FILE
        ? ip_file_decode(&source->file, &options, &image, err)
        : ip_io_decode(source->data, source->size_bytes, source->name ? source->name : "image", &options, &image, err);
    report_warnings(runner, &warnings);
    if (st)
        return st;
    atomic_fetch_add(&ctx->decodes, 1);
    ip_runner_event(runner, "decode", source->name ? source->name : "memory", start, source->size_bytes, image.size_bytes);
    *out = ip_value_of_host(image.pixels, image.size_bytes);
    return *out ? IMGPAR_OK : ip_fail_memory(err, "decoding");
}

imgpar_status ip_source_value(imgpar_context *ctx, const ip_runner *runner, const imgpar_array *node, ip_value **out,
                              ip_error *err)
{
    if (!node->source)
        return ip_fail(err, IMGPAR_E_INTERNAL, "internal: %s has no pixels", node->op->info.name);
    if (node->source->kind == IP_SOURCE_FILE || node->source->kind == IP_SOURCE_BLOB)
        return decode(ctx, runner, node->source, node->shrink.by, out, err);
    *out = node->source->kind == IP_SOURCE_BUFFER
               ? ip_value_of_buffer(ip_buffer_retain(node->source->data), node->source->size_bytes)
               : ip_value_of_source(node->source);
    return *out ? IMGPAR_OK : ip_fail_memory(err, "reading an array");
}
