/* SPDX-License-Identifier: MIT */
/*
 * Arguments and results.
 *
 * R1. What is neither an image nor a deferred image is an error that says what it is: at once, but for lazy() and
 *     inside a table of R9, where it is one of the sink (R8).
 * R2. A number stands for an image only beside a real one.
 * R3. Any deferred input makes the result deferred; nothing is computed then.
 * R4. The largest recipe is extended, so that the least is copied.
 * R5. A finished image that no sink asked for comes back as it went: dtype, shape and space. PNG holds u8, u16 and
 *     bool of rank 2, or of rank 3 with 1 to 4 channels, and pixels it must have. The rest becomes NPY.
 *     (imgpar_encode_exact)
 * R6. A result longer than SQLITE_LIMIT_LENGTH is refused, before computing where the size is known.
 * R7. Results live in SQLite's memory.
 * R8. A deferred image may have a damaged source, or an operation that does not fit its images: what it fails with is
 *     told where it is computed.
 * R9. Inside an imgpar(SELECT ...) table the first plain image is taken as deferred.
 */
#include "values.h"
#include "buffers.h"
#include "element.h"
#include "memo.h"
#include "options.h"

#include <stdio.h>
#include <string.h>

bool ip_sql_any_null(int argc, sqlite3_value **argv)
{
    for (int k = 0; k < argc; k++)
        if (sqlite3_value_type(argv[k]) == SQLITE_NULL) return true;
    return false;
}

static const char list_fault[] = "a text, not an image (img_numbers('[1 2 3]') makes an array of a list)";

/* What a value of an SQLite type, which is no image, is instead. */
static const char *fault_of(int type)
{
    static const char *const faults[] = {
        [SQLITE_INTEGER] = "a number, not an image",
        [SQLITE_FLOAT] = "a number, not an image",
        [SQLITE_TEXT] = "a text, not an image (readfile() and img_files() read files)",
        [SQLITE_BLOB] = "an empty blob, not an image",
        [SQLITE_NULL] = "NULL, not an image",
    };
    return faults[type];
}

int ip_sql_call_fail_type(ip_sql_call *call, const char *where, int type)
{
    return ip_sql_call_fail(call, SQLITE_ERROR, "%s is %s", where, fault_of(type));
}

bool ip_sql_is_list(sqlite3_value *value)
{
    if (sqlite3_value_type(value) != SQLITE_TEXT) return false;
    const char *text = (const char *)sqlite3_value_text(value);
    return text && text[strspn(text, " \t\r\n")] == '[';
}

/*
 * Note [The hint]
 * blur(img_invert(img)) encodes an image only to decode it again. The last few results are remembered by length and
 * ends; where one of them comes back as an argument of an operation, the log is told, once a connection.
 */
static uint64_t hash_ends(const unsigned char *bytes, size_t n)
{
    enum { END = 256 };
    size_t end = n < END ? n : END;
    return ip_sql_hash(ip_sql_hash(n, bytes, end), bytes + n - end, end);
}

static void note_result(ip_sql_connection *conn, const void *bytes, size_t n)
{
    conn->recent[conn->recent_at++ % IP_SQL_N_RECENT] = (ip_sql_recent){ n, hash_ends(bytes, n) };
}

static void give_hint(ip_sql_call *call, const void *bytes, size_t n)
{
    ip_sql_connection *conn = call->conn;
    for (int k = 0; k < IP_SQL_N_RECENT && !conn->hinted; k++) {
        if (conn->recent[k].n != n || conn->recent[k].hash != hash_ends(bytes, n)) continue;
        conn->hinted = true;
        sqlite3_log(SQLITE_NOTICE,
                    "imgpar: %s() decodes what an inner function has just encoded; with lazy(image) inside and"
                    " png() around it all is computed at once",
                    call->name);
    }
}

/* R1: an error now, or lazily of what is computed from it. */
static int take_fault(ip_sql_call *call, const char *where, const char *fault, bool lazily, ip_sql_image *image)
{
    if (!lazily) return ip_sql_call_fail(call, SQLITE_ERROR, "%s is %s", where, fault);
    image->fault = fault;
    return SQLITE_OK;
}

/* What an argument is, without opening it. */
static int read_argument(ip_sql_call *call, const char *where, sqlite3_value *arg, bool lazily, ip_sql_image *image)
{
    int type = sqlite3_value_type(arg);
    if (type == SQLITE_INTEGER || type == SQLITE_FLOAT) {
        ip_sql_number_text(arg, image->number);
        return SQLITE_OK;
    }
    if (ip_sql_is_list(arg)) return take_fault(call, where, list_fault, lazily, image);
    if (type != SQLITE_BLOB) return take_fault(call, where, fault_of(type), lazily, image);
    image->bytes = sqlite3_value_blob(arg);
    image->n_bytes = (size_t)sqlite3_value_bytes(arg);
    if (!image->bytes)
        return image->n_bytes ? ip_sql_call_fail(call, SQLITE_NOMEM, NULL)
                              : take_fault(call, where, fault_of(type), lazily, image);
    image->deferred = ip_sql_recipe_is(image->bytes, image->n_bytes);
    if (!image->deferred && !call->conn->hinted) give_hint(call, image->bytes, image->n_bytes);
    return image->deferred ? ip_sql_recipe_parse(call, where, image->bytes, image->n_bytes, &image->recipe) : SQLITE_OK;
}

/* Makes the array of an argument, or those of all its records. */
static int build_argument(ip_sql_call *call, const char *where, imgpar_context *context, ip_sql_image *image,
                          bool lazily)
{
    if (image->deferred) return ip_sql_recipe_build(call, where, context, &image->recipe);
    if (image->fault) {
        image->array = imgpar_array_error(context, IMGPAR_E_CORRUPT, image->fault);
        return SQLITE_OK;
    }
    image->array = *image->number ? imgpar_apply_safe(context, image->number, NULL, 0)
                                  : imgpar_open_memory(context, image->bytes, image->n_bytes);
    imgpar_status st = imgpar_array_status(image->array);
    bool waits = lazily && !*image->number && ip_sql_waits(IP_SQL_SOURCE, st); /* R8 */
    return st && !waits ? ip_sql_call_fail_status(call, st, where, imgpar_array_message(image->array)) : SQLITE_OK;
}

/* A plain image as a source record, a number as a text record, anything else as a fault. Borrows image's bytes. */
static ip_sql_record record_of(const ip_sql_image *image)
{
    ip_sql_record record = { .kind = IP_SQL_SOURCE, .name = "", .body = image->bytes, .n_body = image->n_bytes };
    if (*image->number || image->fault) {
        record.kind = image->fault ? IP_SQL_FAULT : IP_SQL_TEXT;
        record.body = image->fault ? image->fault : image->number;
        record.n_body = strlen(record.body) + 1;
    }
    record.hash = ip_sql_hash(0, record.body, record.n_body);
    record.array = imgpar_array_retain(image->array);
    return record;
}

/* The first image that is no number becomes a recipe of one source or fault. */
static void make_base(ip_sql_call *call, ip_sql_inputs *in)
{
    for (int k = 0; k < in->n && in->base < 0; k++) {
        ip_sql_image *image = &in->images[k];
        if (*image->number) continue;
        ip_sql_record record = record_of(image);
        uint32_t index;
        if (!ip_sql_recipe_add(call, &image->recipe, &record, &index)) in->base = k;
    }
}

/* All inputs become records of the base's recipe; R4. */
static int gather(ip_sql_call *call, ip_sql_inputs *in)
{
    for (int k = 0; k < in->n; k++)
        if (in->images[k].deferred && (in->base < 0 || in->images[k].n_bytes > in->images[in->base].n_bytes))
            in->base = k;
    if (in->base < 0 && call->conn->deferring) /* R9 */
        make_base(call, in);
    if (in->base < 0) return call->code;
    ip_sql_recipe *r = &in->images[in->base].recipe;
    in->index[in->base] = (uint32_t)r->n_records - 1;
    for (int k = 0; k < in->n && !call->code; k++) {
        const ip_sql_image *image = &in->images[k];
        if (k == in->base) continue;
        if (image->deferred) {
            ip_sql_recipe_merge(call, in->context, r, &image->recipe, &in->index[k]);
        } else {
            ip_sql_record record = record_of(image);
            ip_sql_recipe_add(call, r, &record, &in->index[k]);
        }
    }
    return call->code;
}

/* Sinks and measures tell of the one deferred image they work on. */
static void take_note(ip_sql_call *call, const ip_sql_inputs *in)
{
    const ip_sql_recipe *r = &in->images[0].recipe;
    ip_sql_recipe_path(r, in->index[0], call->path, sizeof call->path);
    call->recipe = r;
}

typedef enum read_mode { READ_FULLY, READ_HEADER, READ_LAZILY } read_mode;

static int read_inputs(ip_sql_call *call, int n, sqlite3_value **argv, ip_sql_inputs *in, read_mode mode)
{
    char where[32];
    int n_numbers = 0;
    bool lazily = mode == READ_LAZILY || call->conn->deferring;
    memset(in, 0, sizeof *in);
    in->n = n;
    in->base = -1;
    for (int k = 0; k < n; k++) {
        snprintf(where, sizeof where, "argument %d", k + 1);
        if (read_argument(call, where, argv[k], lazily, &in->images[k])) return call->code;
        n_numbers += *in->images[k].number != 0;
    }
    if (n && n_numbers == n) { /* R2 */
        *in->images[0].number = 0;
        if (take_fault(call, "argument 1", fault_of(SQLITE_INTEGER), lazily, &in->images[0])) return call->code;
    }
    in->context = mode == READ_HEADER ? ip_sql_header_context(call) : ip_sql_context(call);
    if (!in->context) return call->code;
    for (int k = 0; k < n; k++) {
        snprintf(where, sizeof where, "argument %d", k + 1);
        if (build_argument(call, where, in->context, &in->images[k], lazily)) return call->code;
    }
    if (gather(call, in)) return call->code;
    for (int k = 0; k < n; k++)
        in->arrays[k] = in->base < 0 ? in->images[k].array : in->images[in->base].recipe.records[in->index[k]].array;
    if (!call->op && in->n == 1 && in->base == 0) take_note(call, in);
    return SQLITE_OK;
}

int ip_sql_inputs_read(ip_sql_call *call, int n, sqlite3_value **argv, ip_sql_inputs *in)
{
    return read_inputs(call, n, argv, in, READ_FULLY);
}

int ip_sql_inputs_read_header(ip_sql_call *call, sqlite3_value *arg, ip_sql_inputs *in)
{
    return read_inputs(call, 1, &arg, in, READ_HEADER);
}

int ip_sql_inputs_read_lazily(ip_sql_call *call, sqlite3_value *arg, ip_sql_inputs *in)
{
    return read_inputs(call, 1, &arg, in, READ_LAZILY);
}

void ip_sql_inputs_free(ip_sql_inputs *in)
{
    for (int k = 0; k < in->n; k++) {
        imgpar_array_release(in->images[k].array);
        ip_sql_recipe_free(&in->images[k].recipe);
    }
}

/* Writes r, with the records added to it, as a value of the connection. */
static void return_recipe(ip_sql_call *call, sqlite3_context *ctx, ip_sql_recipe *r)
{
    uint64_t n_more = ip_sql_recipe_more(r);
    if (r->n_bytes + n_more > ip_sql_max_bytes(call->conn)) { /* R6 */
        ip_sql_call_fail(call, SQLITE_TOOBIG, NULL);
        return;
    }
    ip_sql_buffer *b = ip_sql_buffer_extend(call->conn, r->bytes, r->n_bytes, (size_t)n_more);
    if (!b) {
        ip_sql_call_fail(call, SQLITE_NOMEM, NULL);
        return;
    }
    ip_sql_recipe_write(r, b->data + r->n_bytes);
    for (int k = 0; k < r->n_records; k++)
        ip_sql_buffer_keep(b, k, r->records[k].array);
    sqlite3_result_blob64(ctx, b->data, r->n_bytes + n_more, ip_sql_buffer_drop);
}

void ip_sql_result_deferred(ip_sql_call *call, sqlite3_context *ctx, ip_sql_inputs *in)
{
    if (in->base >= 0) {
        return_recipe(call, ctx, &in->images[in->base].recipe);
        return;
    }
    ip_sql_recipe r = { 0 };
    ip_sql_record record = record_of(&in->images[0]);
    uint32_t index;
    if (!ip_sql_recipe_add(call, &r, &record, &index)) return_recipe(call, ctx, &r);
    ip_sql_recipe_free(&r);
}

int ip_sql_develop(ip_sql_call *call, imgpar_array *a)
{
    bool is_value =
        call->recipe && call->recipe->n_records && call->recipe->records[call->recipe->n_records - 1].array == a;
    return is_value ? ip_sql_memo_compute(call, call->recipe) : SQLITE_OK;
}

void ip_sql_result_raw(ip_sql_call *call, sqlite3_context *ctx, imgpar_array *a)
{
    imgpar_info info = { .struct_size = sizeof info };
    if (imgpar_array_info(a, &info)) {
        ip_sql_call_fail_array(call, a);
        return;
    }
    if (info.size_bytes > ip_sql_max_bytes(call->conn)) { /* R6 */
        ip_sql_call_fail(call, SQLITE_TOOBIG, NULL);
        return;
    }
    if (ip_sql_develop(call, a)) return;
    /* NULL for 0 bytes would read as a failure */
    void *bytes = sqlite3_malloc64(info.size_bytes ? info.size_bytes : 1);
    if (!bytes)
        ip_sql_call_fail(call, SQLITE_NOMEM, NULL);
    else if (!ip_sql_compute(call, a, bytes, info.size_bytes)) {
        sqlite3_result_blob64(ctx, bytes, info.size_bytes, sqlite3_free); /* R7 */
        return;
    }
    sqlite3_free(bytes);
}

static bool png_holds(const imgpar_info *info)
{
    enum { MOST_SIDE = 1000000 }; /* of what libpng writes */
    return info->size_bytes > 0 && info->shape[0] <= MOST_SIDE && info->shape[1] <= MOST_SIDE &&
           (info->dtype == IMGPAR_U8 || info->dtype == IMGPAR_U16 || info->dtype == IMGPAR_BOOL) &&
           (info->rank == 2 || (info->rank == 3 && info->shape[2] >= 1 && info->shape[2] <= 4));
}

/* R6: false and TOOBIG where no encoder could make it short enough. */
static bool may_fit(ip_sql_call *call, const imgpar_info *info, const char *format)
{
    /* The strongest compression of each format (deflate packs 1032 to 1), to refuse in time what cannot fit. */
    enum { NPY_FACTOR = 1, DEFLATE_FACTOR = 1032 };
    if (info->size_bytes / (strcmp(format, "npy") ? DEFLATE_FACTOR : NPY_FACTOR) > ip_sql_max_bytes(call->conn))
        ip_sql_call_fail(call, SQLITE_TOOBIG, NULL);
    return !call->code;
}

const char *ip_sql_format_of(ip_sql_call *call, const imgpar_info *info, const char *wanted)
{
    const char *format = wanted ? wanted : png_holds(info) ? "png" : "npy"; /* R5 */
    return may_fit(call, info, format) ? format : NULL;
}

void ip_sql_result_encoded(ip_sql_call *call, sqlite3_context *ctx, imgpar_array *a, const char *format,
                           const char *settings)
{
    imgpar_info info = { .struct_size = sizeof info };
    if (imgpar_array_info(a, &info)) {
        ip_sql_call_fail_array(call, a);
        return;
    }
    bool is_exact = !format; /* R5 */
    format = ip_sql_format_of(call, &info, format);
    if (!format || ip_sql_develop(call, a)) return;
    ip_sql_run run;
    void *bytes = NULL;
    size_t n = 0;
    ip_sql_run_begin(&run, call);
    run.options.format = format;
    run.options.settings = settings;
    imgpar_status st =
        is_exact ? imgpar_encode_exact(a, &run.options, &bytes, &n) : imgpar_encode(a, &run.options, &bytes, &n);
    ip_sql_run_end(&run);
    if (st)
        ip_sql_call_fail_status(call, st, NULL, imgpar_array_message(a));
    else if (n > ip_sql_max_bytes(call->conn))
        ip_sql_call_fail(call, SQLITE_TOOBIG, NULL);
    else {
        if (call->op || !strcmp(call->name, "apply")) note_result(call->conn, bytes, n);
        sqlite3_result_blob64(ctx, bytes, n, SQLITE_TRANSIENT); /* R7 */
    }
    imgpar_free(bytes);
}

static bool is_number(const ip_sql_record *record, const ip_sql_call *call, const imgpar_info *info)
{
    bool may_be = record->kind == IP_SQL_TEXT ? info->rank == 1 : call->op && call->op->returns_number;
    return may_be && info->size_bytes == imgpar_dtype_size(info->dtype);
}

/* Appends record to the inputs' recipe and returns that; R3. Takes over result. */
static void return_appended(ip_sql_call *call, sqlite3_context *ctx, ip_sql_inputs *in, ip_sql_record *record,
                            imgpar_array *result)
{
    ip_sql_recipe *r = &in->images[in->base].recipe;
    uint32_t index;
    if (record->n_body > IP_SQL_MAX_TEXT) {
        ip_sql_call_fail(call, SQLITE_ERROR, "a deferred image takes texts of at most %d bytes", IP_SQL_MAX_TEXT);
        imgpar_array_release(result);
        return;
    }
    record->n_inputs = in->n;
    memcpy(record->inputs, in->index, (size_t)in->n * sizeof in->index[0]);
    record->hash = ip_sql_hash(0, record->body, record->n_body);
    record->array = result;
    if (!ip_sql_recipe_add(call, r, record, &index)) return_recipe(call, ctx, r);
}

/* The deferred input that is an error array, or -1. */
static int broken_input(const ip_sql_inputs *in)
{
    for (int k = 0; k < in->n && in->base >= 0; k++)
        if (ip_sql_is_broken(in->arrays[k])) return k;
    return -1;
}

void ip_sql_result(ip_sql_call *call, sqlite3_context *ctx, ip_sql_inputs *in, ip_sql_record *record,
                   imgpar_array *result)
{
    imgpar_info info = { .struct_size = sizeof info };
    int broken = broken_input(in);
    bool waits = broken >= 0 || (in->base >= 0 && ip_sql_waits(record->kind, imgpar_array_status(result)));
    if (waits && !(call->op && call->op->returns_number)) { /* R8 */
        if (broken >= 0) imgpar_array_replace(&result, imgpar_array_retain(in->arrays[broken]));
        return_appended(call, ctx, in, record, result);
        return;
    }
    uint64_t elements = 0;
    if (imgpar_array_status(result) || imgpar_array_info(result, &info)) {
        ip_sql_call_fail_array(call, result);
    } else if (ip_sql_work_check(call, NULL, &info, &elements)) {
        /* as a recipe of it would be refused */
    } else if (is_number(record, call, &info) && ip_sql_dtype_is_complex(info.dtype)) {
        ip_sql_call_fail(call, SQLITE_ERROR,
                         "the result is a complex number, and SQL has none: take real, imag or abs of it");
    } else if (is_number(record, call, &info)) {
        uint64_t element;
        if (!ip_sql_compute(call, result, &element, info.size_bytes)) ip_sql_result_element(ctx, info.dtype, &element);
    } else if (in->base >= 0) {
        return_appended(call, ctx, in, record, result);
        return;
    } else {
        ip_sql_result_encoded(call, ctx, result, NULL, NULL);
    }
    imgpar_array_release(result);
}

/* Whether a has the white that its encoded form would be read with. */
static bool has_white_of(const imgpar_array *a, const imgpar_array *source)
{
    imgpar_info of_a = { .struct_size = sizeof of_a }, of_source = { .struct_size = sizeof of_source };
    return !imgpar_array_info(a, &of_a) && !imgpar_array_info(source, &of_source) && of_a.white == of_source.white &&
           of_a.is_mask == of_source.is_mask;
}

/* A recipe of one source and, where that alone would lose it, the white of a; takes over a. */
static void return_source_with_white(ip_sql_call *call, sqlite3_context *ctx, const void *bytes, size_t n,
                                     imgpar_array *a)
{
    ip_sql_recipe r = { 0 };
    imgpar_info info = { .struct_size = sizeof info };
    uint32_t index;
    char text[64];
    imgpar_array *source = imgpar_open_memory(call->conn->context, bytes, n);
    imgpar_array_info(a, &info);
    const bool same = has_white_of(a, source);
    sqlite3_snprintf(sizeof text, text, "white=%!.17g, mask=%s", info.white, info.is_mask ? "true" : "false");
    ip_sql_record told = { .kind = IP_SQL_OPERATION,
                           .name = "set_white",
                           .n_inputs = 1,
                           .inputs = { 0 },
                           .body = text,
                           .n_body = strlen(text) + 1,
                           .hash = ip_sql_hash(0, text, strlen(text) + 1),
                           .array = a };
    int failed = ip_sql_recipe_start(call, &r, bytes, n, same ? imgpar_array_retain(a) : imgpar_array_retain(source));
    if (!failed && !same)
        failed = ip_sql_recipe_add(call, &r, &told, &index); /* takes a */
    else
        imgpar_array_release(a);
    if (!failed) return_recipe(call, ctx, &r);
    imgpar_array_release(source);
    ip_sql_recipe_free(&r);
}

/* A recipe of one source; takes over a. */
static void return_source(ip_sql_call *call, sqlite3_context *ctx, const void *bytes, size_t n, imgpar_array *a)
{
    ip_sql_recipe r = { 0 };
    if (!ip_sql_recipe_start(call, &r, bytes, n, a)) return_recipe(call, ctx, &r);
    ip_sql_recipe_free(&r);
}

void ip_sql_result_lazy(ip_sql_call *call, sqlite3_context *ctx, const void *bytes, size_t n)
{
    imgpar_context *context = ip_sql_context(call);
    if (context) return_source(call, ctx, bytes, n, imgpar_open_memory(context, bytes, n));
}

void ip_sql_result_array(ip_sql_call *call, sqlite3_context *ctx, imgpar_array *a, bool deferred)
{
    if (!deferred) {
        ip_sql_result_encoded(call, ctx, a, NULL, NULL);
        return;
    }
    ip_sql_run run;
    imgpar_info info = { .struct_size = sizeof info };
    void *bytes = NULL;
    size_t n = 0;
    if (imgpar_array_info(a, &info)) {
        ip_sql_call_fail_array(call, a);
        return;
    }
    ip_sql_run_begin(&run, call);
    run.options.format = png_holds(&info) ? "png" : "npy"; /* R5: PNG holds a colour profile, too */
    imgpar_status st = imgpar_encode_exact(a, &run.options, &bytes, &n);
    ip_sql_run_end(&run);
    if (st)
        ip_sql_call_fail_status(call, st, NULL, imgpar_array_message(a));
    else
        return_source_with_white(call, ctx, bytes, n, imgpar_array_retain(a));
    imgpar_free(bytes);
}
