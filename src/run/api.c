/* SPDX-License-Identifier: MIT */
/* The public functions that make an array's value: eval, read, save, encode, verify, explain. */
#include "base/alloc.h"
#include "base/dtype.h"
#include "base/structs.h"
#include "run/evaluate.h"
#include "run/explain.h"
#include "run/progress.h"
#include "run/save.h"
#include "run/stream.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* The first array that is an error already, as a failure. */
static imgpar_status check_arrays(imgpar_array *const *arrays, size_t n)
{
    if (n > 0 && !arrays) return IMGPAR_E_ARGUMENT;
    for (size_t k = 0; k < n; k++) {
        if (!arrays[k]) return IMGPAR_E_ARGUMENT;
        if (!arrays[k]->op) return arrays[k]->status;
        ip_error err = { IMGPAR_OK, "" };
        if (ip_context_check(arrays[k]->ctx, &err)) {
            ip_array_set_error(arrays[k], err.status, err.message);
            return err.status;
        }
    }
    return IMGPAR_OK;
}

static bool are_of_one_context(imgpar_array *const *arrays, size_t n, const char *what, ip_error *err)
{
    for (size_t k = 1; k < n; k++)
        if (arrays[k]->ctx != arrays[0]->ctx) {
            ip_fail(err, IMGPAR_E_ARGUMENT, "%s: the arrays belong to different contexts", what);
            return false;
        }
    return true;
}

/* A failure goes on every array that was asked for: which one caused it is in the message. */
static imgpar_status failed(imgpar_array *const *arrays, size_t n, const ip_error *err)
{
    for (size_t k = 0; k < n; k++)
        ip_array_set_error(arrays[k], err->status, err->message);
    return err->status;
}

/* An evaluation that went well takes back what an earlier one said. */
static imgpar_status succeeded(imgpar_array *const *arrays, size_t n)
{
    for (size_t k = 0; k < n; k++)
        ip_array_set_error(arrays[k], IMGPAR_OK, NULL);
    return IMGPAR_OK;
}

/* Reads the options of a caller of any version into *known, in which *options points from then on; without options it
 * stays NULL. */
static imgpar_status know_options(const char *function, const imgpar_options **options, ip_progress *known,
                                  ip_error *err)
{
    if (!*options) return IMGPAR_OK;
    known->own = (imgpar_options){ .struct_size = sizeof known->own };
    imgpar_status st = ip_struct_in(&known->own, *options, function, "options", err);
    ip_progress_begin(known);
    *options = &known->own;
    return st;
}

imgpar_status imgpar_eval(imgpar_array *const *arrays, size_t n, const imgpar_options *options)
{
    ip_error err = { IMGPAR_OK, "" };
    ip_progress known;
    imgpar_status st = check_arrays(arrays, n);
    if (st || n == 0) return st;
    if (know_options("eval", &options, &known, &err)) return failed(arrays, n, &err);
    if (!are_of_one_context(arrays, n, "eval", &err)) return failed(arrays, n, &err);
    ip_value **values = ip_zalloc(n * sizeof *values);
    if (!values) {
        ip_fail_memory(&err, "evaluating");
        return failed(arrays, n, &err);
    }
    st = ip_evaluate(arrays[0]->ctx, arrays, n, options, IP_BY_EITHER, values, &err);
    for (size_t k = 0; k < n; k++) {
        if (!st) ip_kept_add(arrays[k], values[k]);
        ip_value_release(values[k]);
    }
    ip_free(values);
    return st ? failed(arrays, n, &err) : succeeded(arrays, n);
}

imgpar_status imgpar_array_eval(imgpar_array *a, const imgpar_options *options) { return imgpar_eval(&a, 1, options); }

static size_t array_bytes(const imgpar_array *a)
{
    return (size_t)ip_type_count(&a->type) * ip_dtype(a->type.dtype)->size_bytes;
}

/* The value that a keeps, or a computed one, which it may keep from then on: new in *value. */
static imgpar_status value_of(imgpar_array *a, const imgpar_options *options, ip_value **value, ip_error *err)
{
    *value = ip_kept_find(a);
    if (*value) return IMGPAR_OK;
    const imgpar_status st = ip_evaluate(a->ctx, &a, 1, options, IP_BY_EITHER, value, err);
    if (!st) ip_kept_offer(a, *value);
    return st;
}

/* Whether what is computed of a is found by whoever asks for it next. */
static bool is_to_be_kept(imgpar_array *a) { return ip_array_has_value(a) || ip_kept_takes(a->ctx, array_bytes(a)); }

/* The elements of a in dst. */
static imgpar_status read_elements(imgpar_array *a, void *dst, const imgpar_options *options, ip_error *err)
{
    ip_value *value = NULL; /* found below, as long as it is held here */
    imgpar_status st = is_to_be_kept(a) ? value_of(a, options, &value, err) : IMGPAR_OK;
    if (!st) st = ip_evaluate_into(a->ctx, a, dst, options, IP_BY_EITHER, err);
    ip_value_release(value);
    return st;
}

/* A value's elements in host memory, to be read until ip_buffer_unmap(value->buffer, *mapped). */
static imgpar_status look_at(imgpar_array *a, ip_value *value, const imgpar_options *options, const void **elements,
                             void **mapped, ip_error *err)
{
    ip_runner runner;
    *elements = value->host;
    if (value->host) return IMGPAR_OK;
    ip_runner_init(&runner, ip_buffer_device(value->buffer), options);
    double start = ip_now_ms();
    imgpar_status st = ip_buffer_map(value->buffer, mapped, err);
    *elements = *mapped;
    if (!st) ip_runner_event(&runner, "download", a->op->info.name, start, value->size_bytes, value->size_bytes);
    return st;
}

imgpar_status imgpar_array_read_with(imgpar_array *a, void *dst, size_t bytes, const imgpar_options *options)
{
    ip_error err = { IMGPAR_OK, "" };
    ip_progress known;
    imgpar_status st = check_arrays(&a, 1);
    if (st) return st;
    if (know_options("read", &options, &known, &err)) return failed(&a, 1, &err);
    if (!dst && bytes > 0)
        ip_fail(&err, IMGPAR_E_ARGUMENT, "read: the destination is NULL");
    else if (bytes != array_bytes(a))
        ip_fail(&err, IMGPAR_E_ARGUMENT, "read: the array has %zu bytes, the destination %zu", array_bytes(a), bytes);
    else
        read_elements(a, dst, options, &err);
    return err.status ? failed(&a, 1, &err) : succeeded(&a, 1);
}

imgpar_status imgpar_array_read(imgpar_array *a, void *dst, size_t bytes)
{
    return imgpar_array_read_with(a, dst, bytes, NULL);
}

/* ---- files ------------------------------------------------------------------------------ */

/* A failure of saving to path, or of encoding where that is NULL, is told with both: "save: a.png: ...". */
static imgpar_status fail_named(const char *path, const ip_error *why, ip_error *err)
{
    if (!path) return ip_fail(err, why->status, "encode: %s", why->message);
    const char *name = strcmp(path, "-") == 0 ? "standard output" : path;
    size_t n = strlen(name);
    bool is_named = strncmp(why->message, name, n) == 0 && why->message[n] == ':';
    return ip_fail(err, why->status, "save: %s%s%s", is_named ? "" : name, is_named ? "" : ": ", why->message);
}

static imgpar_status pick_format(const char *path, const imgpar_options *options, ip_format *format, ip_error *err)
{
    const char *name = options ? options->format : NULL;
    if (name) {
        if (ip_format_find(name, format)) return IMGPAR_OK;
        return ip_fail(err, IMGPAR_E_ARGUMENT, "format \"%s\" is none of png, jpeg, npy, pnm", name);
    }
    if (path && ip_format_from_path(path, format)) return IMGPAR_OK;
    if (!path || strcmp(path, "-") == 0)
        return ip_fail(err, IMGPAR_E_ARGUMENT, "a format is needed: png, jpeg, npy or pnm");
    return ip_fail(err, IMGPAR_E_ARGUMENT,
                   "the name tells no format; it ends in none of .png .jpg .npy .pnm .ppm .pgm .pam");
}

static ip_pixels pixels_of(const imgpar_array *a, const void *elements)
{
    ip_pixels pixels = { .dtype = a->type.dtype,
                         .space = a->type.space,
                         .rank = a->type.rank,
                         .white = a->type.white,
                         .is_mask = a->type.is_mask,
                         .alpha_is_number = a->type.alpha_is_number,
                         .pixels = elements,
                         .metadata = ip_array_metadata(a) };
    memcpy(pixels.shape, a->type.shape, sizeof pixels.shape);
    return pixels;
}

/*
 * A slip of a few zeros in a size would be computed for hours, row by row. What is written in its full size is refused
 * by ip_io_check_room() where there is no room for it; a PNG of whatever size might be short.
 */
static imgpar_status check_extent(const imgpar_array *a, ip_format format, ip_error *err)
{
    enum { TIMES = 64 };
    const uint64_t held = ip_context_max_pixels(a->ctx), least = 268435456;
    const double most = TIMES * (double)(held > least ? held : least);
    int64_t dims[4];
    ip_type_dims(&a->type, dims);
    if (format == IP_FORMAT_NPY || (double)dims[1] * (double)dims[2] <= most) return IMGPAR_OK;
    return ip_fail(err, IMGPAR_E_LIMIT,
                   "%lld x %lld pixels are above the limit of %.0f, %d times max_pixels (IMGPAR_MAX_PIXELS or "
                   "--max-pixels raises it)",
                   (long long)dims[2], (long long)dims[1], most, TIMES);
}

imgpar_status ip_check_save(const imgpar_array *a, const char *path, const imgpar_options *options, ip_format *format,
                            ip_error *err)
{
    ip_error why = { IMGPAR_OK, "" };
    imgpar_status st = pick_format(path, options, format, &why);
    if (!st) st = ip_io_check_settings(*format, options ? options->settings : NULL, &why);
    ip_pixels pixels = pixels_of(a, NULL);
    const char *name = options && options->format ? options->format : path ? ip_path_ending(path) : NULL;
    if (!st) st = ip_io_check_pixels(&pixels, *format, name, &why);
    if (!st) st = check_extent(a, *format, &why);
    if (!st && path) st = ip_io_check_room(path, ip_io_least_bytes(&pixels, *format), &why);
    return st ? fail_named(path, &why, err) : IMGPAR_OK;
}

static void warn_of_look(ip_look look, const char *path, const imgpar_options *options)
{
    static const char *const texts[] = {
        [IP_LOOKS_BLACK] = "no value is above 1, which looks black; range=1 makes 1 white",
        [IP_LOOKS_WHITE] = "all values are above the largest level, which looks white; range=65535 makes 65535 white",
        [IP_LOOKS_BEYOND] =
            "all values are above the largest level, which looks white; normalize() goes from the least to the largest",
        [IP_LOOKS_NEGATIVE] = "no value is above 0, and some are below, which looks black; npy keeps them",
    };
    ip_str text = IP_STR_INIT;
    ip_str_printf(&text, "save: %s%s%s", path ? path : "", path ? ": " : "", texts[look]);
    options->on_warning(options->user, ip_str_text(&text));
    ip_str_free(&text);
}

/* What the file will lack of the picture's metadata, a warning each. */
static imgpar_status warn_of_losses(const ip_pixels *pixels, ip_format format, const char *path,
                                    const imgpar_options *options, ip_error *err)
{
    ip_str lines = IP_STR_INIT, text = IP_STR_INIT;
    imgpar_status st = ip_io_losses(pixels, format, options->settings, &lines, err);
    for (char *line = lines.text, *end; line && *line && (end = strchr(line, '\n')); line = end + 1) {
        *end = '\0';
        ip_str_clear(&text);
        ip_str_printf(&text, "save: %s%s%s", path ? path : "", path ? ": " : "", line);
        options->on_warning(options->user, ip_str_text(&text));
    }
    ip_str_free(&text);
    ip_str_free(&lines);
    return st;
}

/* What is to be made of an array. */
typedef struct target {
    const char *path; /* where the bytes will be written, or NULL */
    ip_format format;
    const imgpar_options *options; /* or NULL */
    bool is_exact;
} target;

/* The context remembers what decoding the bytes would give, since whoever asked for bytes in memory is likely to open
 * them again. */
static void remember_pixels(imgpar_context *ctx, const void *elements, size_t size_bytes, const void *bytes, size_t n)
{
    ip_decoded_key key = {
        .bytes = bytes, .n = n, .fail_on = IP_FAIL_ON_ERROR, .max_pixels = ip_context_max_pixels(ctx)
    };
    void *copy = ip_alloc(size_bytes);
    if (copy) memcpy(copy, elements, size_bytes);
    ip_source *pixels = copy ? ip_source_of_pixels(copy, size_bytes) : NULL;
    if (pixels) ip_decoded_keep(&ctx->decoded, &key, pixels);
    ip_source_release(pixels);
}

static double encode_work(const imgpar_array *a) { return IP_WORK_ENCODE * (double)ip_type_count(&a->type); }

/* Encodes elements of a. */
static imgpar_status encode_elements(imgpar_array *a, const void *elements, const target *t, void **bytes, size_t *n,
                                     ip_error *err)
{
    const char *settings = t->options ? t->options->settings : NULL;
    ip_runner runner;
    ip_error why = { IMGPAR_OK, "" };
    ip_pixels pixels = pixels_of(a, elements);
    ip_look look = IP_LOOKS_FINE;
    imgpar_status st = IMGPAR_OK;
    ip_runner_init(&runner, NULL, t->options);
    double start = ip_now_ms();
    ip_progress_step(t->options, encode_work(a));
    pixels.is_exact = t->is_exact;
    if (t->options && t->options->on_warning) st = ip_io_look(&pixels, t->format, settings, &runner.poll, &look, err);
    if (look != IP_LOOKS_FINE) warn_of_look(look, t->path, t->options);
    if (!st && t->options && t->options->on_warning) st = warn_of_losses(&pixels, t->format, t->path, t->options, err);
    if (!st) st = ip_io_encode(&pixels, t->format, settings, &runner.poll, bytes, n, &why);
    if (why.status) fail_named(t->path, &why, err);
    if (st) return st;
    atomic_fetch_add(&a->ctx->encodes, 1);
    ip_runner_event(&runner, "encode", ip_format_name(t->format), start, array_bytes(a), *n);
    bool is_the_same = t->is_exact || (!t->path && !(settings && *settings) && ip_io_png_tells_all(&pixels));
    if (is_the_same && t->format == IP_FORMAT_PNG) remember_pixels(a->ctx, elements, array_bytes(a), *bytes, *n);
    return IMGPAR_OK;
}

static imgpar_status encode_value(imgpar_array *a, ip_value *value, const target *t, void **bytes, size_t *n,
                                  ip_error *err)
{
    const void *elements = NULL;
    void *mapped = NULL; /* of what is on the device only */
    imgpar_status st = look_at(a, value, t->options, &elements, &mapped, err);
    if (!st) st = encode_elements(a, elements, t, bytes, n, err);
    if (mapped) ip_buffer_unmap(value->buffer, mapped);
    return st;
}

static imgpar_status encode(imgpar_array *a, const target *t, void **bytes, size_t *n, ip_error *err)
{
    ip_value *value = NULL;
    ip_progress_expect(t->options, encode_work(a));
    imgpar_status st = value_of(a, t->options, &value, err);
    if (!st) st = encode_value(a, value, t, bytes, n, err);
    ip_value_release(value);
    return st;
}

static imgpar_status encode_to_memory(imgpar_array *a, const imgpar_options *options, bool is_exact, void **out,
                                      size_t *n)
{
    ip_error err = { IMGPAR_OK, "" };
    ip_progress known;
    if (!out || !n) return IMGPAR_E_ARGUMENT;
    *out = NULL;
    *n = 0;
    imgpar_status st = check_arrays(&a, 1);
    if (st) return st;
    if (know_options("encode", &options, &known, &err)) return failed(&a, 1, &err);
    target t = { .options = options, .is_exact = is_exact };
    st = ip_check_save(a, NULL, options, &t.format, &err);
    if (!st && is_exact) {
        ip_pixels pixels = pixels_of(a, NULL);
        st = ip_io_check_exact(&pixels, t.format, options->settings, &err);
    }
    if (!st) st = encode(a, &t, out, n, &err);
    return st ? failed(&a, 1, &err) : succeeded(&a, 1);
}

imgpar_status imgpar_encode(imgpar_array *a, const imgpar_options *options, void **out, size_t *n)
{
    return encode_to_memory(a, options, false, out, n);
}

imgpar_status imgpar_encode_exact(imgpar_array *a, const imgpar_options *options, void **out, size_t *n)
{
    return encode_to_memory(a, options, true, out, n);
}

const char *imgpar_path_format(const char *path)
{
    ip_format format;
    return path && ip_format_from_path(path, &format) ? ip_format_name(format) : NULL;
}

static bool warns(const imgpar_options *options) { return options && options->on_warning; }

static imgpar_status warn_of_stream(imgpar_array *a, const target *t, ip_stream *s, ip_error *err)
{
    const ip_pixels pixels = pixels_of(a, NULL);
    const ip_look look = ip_stream_look(s);
    if (look != IP_LOOKS_FINE) warn_of_look(look, t->path, t->options);
    return warns(t->options) ? warn_of_losses(&pixels, t->format, t->path, t->options, err) : IMGPAR_OK;
}

/* Ends what streamed into a file, and tells of it. */
static imgpar_status end_stream(imgpar_array *a, const target *t, ip_stream *s, imgpar_status computed, ip_error *err)
{
    ip_runner runner;
    size_t n;
    ip_runner_init(&runner, NULL, t->options);
    imgpar_status st = computed ? computed : warn_of_stream(a, t, s, err); /* what fails now leaves no file */
    st = ip_stream_end(s, st, &n, err);
    if (st) return st;
    atomic_fetch_add(&a->ctx->encodes, 1);
    ip_runner_event(&runner, "encode", ip_format_name(t->format), ip_now_ms() - ip_stream_busy_ms(s), array_bytes(a),
                    n);
    ip_runner_event(&runner, "write", t->path, ip_now_ms(), 0, n);
    return IMGPAR_OK;
}

/* Computes a and saves it on the way, strip by strip; where that is not worth it, *value is what was computed. */
static imgpar_status compute_or_stream(imgpar_array *a, const target *t, ip_value **value, ip_error *err)
{
    const ip_pixels pixels = pixels_of(a, NULL);
    const ip_stream_of of = { .path = t->path,
                              .settings = t->options ? t->options->settings : NULL,
                              .pixels = &pixels,
                              .format = t->format,
                              .options = t->options,
                              .work = encode_work(a),
                              .looks = warns(t->options),
                              .account = a->ctx->host };
    ip_stream *s;
    ip_error why = { IMGPAR_OK, "" };
    imgpar_status st = ip_stream_new(&of, &s, err);
    if (st) return st;
    ip_row_taker *taker = ip_stream_taker(s);
    st = ip_evaluate_rows(a->ctx, a, t->options, taker, value, &why);
    if (taker->has_begun) st = end_stream(a, t, s, st, &why);
    const ip_error *failure = ip_stream_failure(s);
    if (st && failure->status)
        fail_named(t->path, failure, err);
    else if (st)
        ip_fail(err, st, "%s", why.message);
    ip_stream_free(s);
    return st;
}

static imgpar_status write_value(imgpar_array *a, ip_value *value, const target *t, ip_error *err)
{
    ip_runner runner;
    void *bytes = NULL;
    size_t n = 0;
    ip_error why = { IMGPAR_OK, "" };
    ip_runner_init(&runner, NULL, t->options);
    imgpar_status st = encode_value(a, value, t, &bytes, &n, err);
    double start = ip_now_ms();
    if (!st) st = ip_io_write(t->path, bytes, n, &runner.poll, &why);
    if (why.status) fail_named(t->path, &why, err);
    if (bytes) ip_runner_event(&runner, "write", t->path, start, 0, n);
    ip_free(bytes);
    return st;
}

imgpar_status imgpar_save(imgpar_array *a, const char *path, const imgpar_options *options)
{
    ip_error err = { IMGPAR_OK, "" };
    ip_progress known;
    imgpar_status st = check_arrays(&a, 1);
    if (st) return st;
    if (know_options("save", &options, &known, &err)) return failed(&a, 1, &err);
    target t = { .path = path, .options = options };
    st = path ? ip_check_save(a, path, options, &t.format, &err) : ip_fail(&err, IMGPAR_E_ARGUMENT, "save: no path");
    ip_value *value = NULL;
    if (!st) ip_progress_expect(options, encode_work(a));
    if (!st && is_to_be_kept(a)) st = value_of(a, options, &value, &err);
    if (!st && !value) st = compute_or_stream(a, &t, &value, &err);
    if (!st && value) st = write_value(a, value, &t, &err);
    ip_value_release(value);
    return st ? failed(&a, 1, &err) : succeeded(&a, 1);
}

static imgpar_status fill_probe(const ip_header *header, imgpar_probe *out, ip_error *err)
{
    ip_type type = { .dtype = header->dtype, .space = header->space, .rank = header->rank };
    memcpy(type.shape, header->shape, sizeof type.shape);
    type.white = header->tells_white ? header->white : ip_white_guess(&type);
    type.is_mask = header->is_mask;
    type.alpha_is_number = header->alpha_is_number;
    imgpar_probe probe = { .struct_size = sizeof probe, .format = ip_format_name(header->format) };
    ip_type_info(&type, &probe.info);
    if (!out) return ip_fail(err, IMGPAR_E_ARGUMENT, "probe: out is NULL");
    imgpar_status st = ip_struct_out(out, &probe, "probe", "out", err);
    const size_t room =
        st || out->struct_size < offsetof(imgpar_probe, info) ? 0 : out->struct_size - offsetof(imgpar_probe, info);
    if (room >= sizeof out->info.struct_size) /* an older one is shorter, of a newer one our part is filled */
        out->info.struct_size = room < sizeof probe.info ? room : sizeof probe.info;
    return st;
}

static imgpar_status tell(const ip_error *err, char *message, size_t message_size)
{
    if (err->status && message && message_size > 0) snprintf(message, message_size, "%s", err->message);
    return err->status;
}

imgpar_status imgpar_probe_memory(const void *bytes, size_t n, imgpar_probe *out, char *message, size_t message_size)
{
    ip_error err = { IMGPAR_OK, "" };
    if (!bytes || !out) return IMGPAR_E_ARGUMENT;
    ip_read_options options = { .fail_on = IP_FAIL_ON_ERROR };
    ip_header header;
    imgpar_status st = ip_io_probe(bytes, n, "image", &options, &header, &err);
    if (!st) fill_probe(&header, out, &err);
    return tell(&err, message, message_size);
}

imgpar_status imgpar_probe_file(const char *path, imgpar_probe *out, char *message, size_t message_size)
{
    ip_error err = { IMGPAR_OK, "" };
    if (!path || !out) return IMGPAR_E_ARGUMENT;
    ip_read_options options = { .fail_on = IP_FAIL_ON_ERROR };
    ip_header header;
    ip_file file;
    imgpar_status st = ip_file_open(path, &options, &file, &header, &err);
    if (!st) {
        ip_file_release(&file);
        fill_probe(&header, out, &err);
    }
    return tell(&err, message, message_size);
}

int imgpar_file_is_whole(const char *path) { return path && ip_io_is_whole(path); }

/* ---- looking inside ------------------------------------------------------------------------- */

/* The largest difference of two elements. */
static imgpar_status compare(imgpar_array *a, const char *x, const char *y, const imgpar_options *options, double *most,
                             ip_error *err)
{
    enum { N_A_POLL = 1 << 20 };
    size_t n = (size_t)ip_type_count(&a->type), size = ip_dtype(a->type.dtype)->size_bytes;
    ip_runner runner;
    ip_runner_init(&runner, NULL, options);
    for (size_t k = 0; k < n; k++) {
        double d = ip_number_difference(a->type.dtype, x + k * size, y + k * size);
        if (d > *most) *most = d;
        if (k % N_A_POLL == 0 && runner.poll.stop && runner.poll.stop(runner.poll.user, 1))
            return ip_fail(err, IMGPAR_E_INTERRUPTED, "interrupted");
    }
    return IMGPAR_OK;
}

imgpar_status imgpar_array_verify(imgpar_array *a, double *max_difference, const imgpar_options *options)
{
    ip_error err = { IMGPAR_OK, "" };
    ip_progress known;
    imgpar_status st = check_arrays(&a, 1);
    if (st) return st;
    if (know_options("verify", &options, &known, &err)) return failed(&a, 1, &err);
    size_t n = array_bytes(a);
    char *device = ip_alloc(n), *ref = ip_alloc(n);
    st = device && ref ? IMGPAR_OK : ip_fail_memory(&err, "verifying");
    if (!st) st = ip_evaluate_into(a->ctx, a, device, options, IP_BY_DEVICE, &err);
    if (!st) st = ip_evaluate_into(a->ctx, a, ref, options, IP_BY_REF, &err);
    double most = 0;
    if (!st) st = compare(a, device, ref, options, &most, &err);
    if (max_difference) *max_difference = most;
    ip_free(device);
    ip_free(ref);
    return st ? failed(&a, 1, &err) : succeeded(&a, 1);
}

imgpar_status imgpar_explain(imgpar_array *const *arrays, size_t n, const char *format, char **out)
{
    ip_error err = { IMGPAR_OK, "" };
    if (!out) return IMGPAR_E_ARGUMENT;
    *out = NULL;
    imgpar_status st = check_arrays(arrays, n);
    if (st || n == 0) return st;
    if (!are_of_one_context(arrays, n, "explain", &err)) return failed(arrays, n, &err);
    if (format && strcmp(format, "graph") == 0) {
        *out = ip_graph_unparse(arrays, n);
        if (!*out) ip_fail_memory(&err, "explaining");
    } else {
        ip_explain(arrays, n, format, out, &err);
    }
    return err.status ? failed(arrays, n, &err) : IMGPAR_OK;
}

imgpar_status imgpar_array_explain(imgpar_array *a, const char *format, char **out)
{
    return imgpar_explain(&a, 1, format, out);
}

void imgpar_free(void *memory) { ip_free(memory); }
