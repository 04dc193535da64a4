/* SPDX-License-Identifier: MIT */
/*
 * What a header says: img_width() and its like.
 *
 * R1. No pixel is decoded and no device opened; the functions are INNOCUOUS, and DETERMINISTIC: an image table may be
 *     indexed by them.
 * R2. They read deferred images too, whose type and shape are known without computing.
 * R3. img_valid() never fails on bad bytes: it says 0. It looks at the header only; img_error() (try.c) at all of it.
 * R4. NULL in gives NULL out.
 *
 *     SELECT img_width(img), img_height(img), img_info(img) FROM photos WHERE img_valid(img);
 */
#include "values.h"

#include <string.h>

typedef enum fact {
    FACT_WIDTH,
    FACT_HEIGHT,
    FACT_CHANNELS,
    FACT_DTYPE,
    FACT_FORMAT,
    FACT_VALID,
    FACT_INFO,
    N_FACTS
} fact;

static const char *const fact_names[N_FACTS] = {
    [FACT_WIDTH] = "img_width", [FACT_HEIGHT] = "img_height", [FACT_CHANNELS] = "img_channels",
    [FACT_DTYPE] = "img_dtype", [FACT_FORMAT] = "img_format", [FACT_VALID] = "img_valid",
    [FACT_INFO] = "img_info",
};

typedef struct header {
    const char *format; /* constant */
    imgpar_info info;
    size_t n_bytes;
    int n_records, n_sources; /* of a deferred image */
} header;

/* The header of a deferred image: that of its graph; R2. */
static int read_deferred(ip_sql_call *call, sqlite3_value *arg, header *out)
{
    ip_sql_inputs in;
    if (!ip_sql_inputs_read_header(call, arg, &in)) {
        out->format = "deferred";
        out->n_records = in.images[0].recipe.n_records;
        out->n_sources = in.images[0].recipe.n_sources;
        out->info.struct_size = sizeof out->info;
        if (imgpar_array_info(in.arrays[0], &out->info)) ip_sql_call_fail_array(call, in.arrays[0]);
    }
    ip_sql_inputs_free(&in);
    return call->code;
}

static int read_header(ip_sql_call *call, sqlite3_value *arg, header *out)
{
    memset(out, 0, sizeof *out);
    int type = sqlite3_value_type(arg);
    if (type != SQLITE_BLOB) return ip_sql_call_fail_type(call, "argument 1", type);
    const void *bytes = sqlite3_value_blob(arg);
    out->n_bytes = (size_t)sqlite3_value_bytes(arg);
    if (!bytes && out->n_bytes) return ip_sql_call_fail(call, SQLITE_NOMEM, NULL);
    if (!bytes) return ip_sql_call_fail_type(call, "argument 1", type);
    if (ip_sql_recipe_is(bytes, out->n_bytes)) return read_deferred(call, arg, out);
    imgpar_probe probe = { .struct_size = sizeof probe };
    char message[512] = "";
    imgpar_status st = imgpar_probe_memory(bytes, out->n_bytes, &probe, message, sizeof message);
    if (st) return ip_sql_call_fail_status(call, st, "argument 1", message);
    out->format = probe.format;
    out->info = probe.info;
    return SQLITE_OK;
}

static void return_info(ip_sql_call *call, sqlite3_context *ctx, const header *h)
{
    static const char *const spaces[] = {
        [IMGPAR_SPACE_DATA] = "data",
        [IMGPAR_SPACE_GRAY] = "gray",
        [IMGPAR_SPACE_SRGB] = "srgb",
        [IMGPAR_SPACE_LINEAR] = "linear",
    };
    sqlite3_str *s = sqlite3_str_new(call->conn->db);
    sqlite3_str_appendf(s, "{\"format\":\"%s\",\"width\":%lld,\"height\":%lld,\"channels\":%lld,\"depth\":%lld,",
                        h->format, (long long)h->info.width, (long long)h->info.height, (long long)h->info.channels,
                        (long long)h->info.depth);
    sqlite3_str_appendf(s, "\"dtype\":\"%s\",\"space\":\"%s\",\"shape\":[", imgpar_dtype_name(h->info.dtype),
                        spaces[h->info.space]);
    for (int k = 0; k < h->info.rank; k++)
        sqlite3_str_appendf(s, "%s%lld", k ? "," : "", (long long)h->info.shape[k]);
    sqlite3_str_appendall(s, "]");
    if (h->info.white > 0) sqlite3_str_appendf(s, ",\"white\":%!.15g", h->info.white);
    sqlite3_str_appendf(s, ",\"blob_bytes\":%llu", (unsigned long long)h->n_bytes);
    if (h->n_records)
        sqlite3_str_appendf(s, ",\"operations\":%d,\"sources\":%d", h->n_records - h->n_sources, h->n_sources);
    sqlite3_str_appendchar(s, 1, '}');
    int rc = sqlite3_str_errcode(s);
    char *json = sqlite3_str_finish(s);
    if (rc)
        ip_sql_call_fail(call, rc, NULL);
    else
        sqlite3_result_text(ctx, json, -1, SQLITE_TRANSIENT);
    sqlite3_free(json);
}

/* R3: what is wrong becomes the answer, unless memory is short. */
static void return_verdict(ip_sql_call *call, sqlite3_context *ctx)
{
    if (call->code && call->code != SQLITE_ERROR) return;
    sqlite3_result_int(ctx, !call->code);
    sqlite3_free(call->message);
    call->message = NULL;
    call->code = SQLITE_OK;
}

static void return_fact(ip_sql_call *call, sqlite3_context *ctx, fact which, const header *h)
{
    switch (which) {
    case FACT_WIDTH: sqlite3_result_int64(ctx, h->info.width); break;
    case FACT_HEIGHT: sqlite3_result_int64(ctx, h->info.height); break;
    case FACT_CHANNELS: sqlite3_result_int64(ctx, h->info.channels); break;
    case FACT_DTYPE: sqlite3_result_text(ctx, imgpar_dtype_name(h->info.dtype), -1, SQLITE_STATIC); break;
    case FACT_FORMAT: sqlite3_result_text(ctx, h->format, -1, SQLITE_STATIC); break;
    default: return_info(call, ctx, h); break;
    }
}

static void header_function(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
    if (ip_sql_any_null(argc, argv)) /* R4 */
        return;
    ip_sql_call call = ip_sql_call_begin(ctx);
    const ip_sql_function *f = sqlite3_user_data(ctx);
    fact which = (fact)f->variant;
    header h;
    int failed = read_header(&call, argv[0], &h);
    if (which == FACT_VALID)
        return_verdict(&call, ctx);
    else if (!failed)
        return_fact(&call, ctx, which, &h);
    ip_sql_call_end(&call, ctx);
}

int ip_sql_add_headers(const ip_sql_setup *setup)
{
    int rc = SQLITE_OK;
    for (int k = 0; k < N_FACTS && !rc; k++)
        /* R1 */
        rc = ip_sql_add_function(setup, fact_names[k], 1, SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS, header_function,
                                 NULL, k);
    return rc;
}
