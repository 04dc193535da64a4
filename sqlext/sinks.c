/* SPDX-License-Identifier: MIT */
/*
 * Where deferred images begin and end: lazy(), png(), jpeg(), npy(), raw(), save().
 *
 * R1. lazy(img) only remembers the image's bytes; of a deferred image it is that image.
 * R2. A sink computes the whole graph at once, of a deferred image or a plain one.
 * R3. save() touches files: DIRECTONLY, behind the locks of locks.c, and absent from the safe module. It returns the
 *     path.
 * R4. NULL in gives NULL out.
 *
 *     lazy(img)   png(img [, 'level=9'])   jpeg(img [, 90 | 'quality=90'])   npy(img)   raw(img)
 *     save(img, path [, settings])
 */
#include "values.h"

#include <stdio.h>
#include <string.h>

typedef enum sink { SINK_LAZY, SINK_PNG, SINK_JPEG, SINK_NPY, SINK_RAW } sink;

static const struct {
    const char *name, *format;
    int n_args;
} sink_rows[] = {
    [SINK_LAZY] = { "lazy", NULL, 1 }, [SINK_PNG] = { "png", "png", 2 }, [SINK_JPEG] = { "jpeg", "jpeg", 2 },
    [SINK_NPY] = { "npy", "npy", 1 },  [SINK_RAW] = { "raw", NULL, 1 },
};
enum { N_SINKS = sizeof sink_rows / sizeof sink_rows[0] };

static const char settings_are_text[] = "settings are text";

const char *ip_sql_settings_read(ip_sql_call *call, const char *format, sqlite3_value *value, char *buf, size_t n)
{
    if (!strcmp(format, "jpeg") && sqlite3_value_type(value) == SQLITE_INTEGER) {
        snprintf(buf, n, "quality=%lld", (long long)sqlite3_value_int64(value));
        return buf;
    }
    if (sqlite3_value_type(value) != SQLITE_TEXT) {
        ip_sql_call_fail(call, SQLITE_ERROR, "argument 2 is not a text of settings");
        return NULL;
    }
    return ip_sql_text_read(call, value, 2, settings_are_text);
}

static void run_sink(ip_sql_call *call, sqlite3_context *ctx, sink which, int argc, sqlite3_value **argv)
{
    char buf[40];
    const char *settings = NULL;
    if (argc > 1) {
        settings = ip_sql_settings_read(call, sink_rows[which].format, argv[1], buf, sizeof buf);
        if (!settings) return;
    }
    ip_sql_inputs in;
    if (!(which == SINK_LAZY ? ip_sql_inputs_read_lazily(call, argv[0], &in)
                             : ip_sql_inputs_read(call, 1, argv, &in))) {
        if (which == SINK_LAZY)
            ip_sql_result_deferred(call, ctx, &in); /* R1 */
        else if (which == SINK_RAW)
            ip_sql_result_raw(call, ctx, in.arrays[0]);
        else
            ip_sql_result_encoded(call, ctx, in.arrays[0], sink_rows[which].format, settings); /* R2 */
    }
    ip_sql_inputs_free(&in);
}

static void sink_function(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
    if (ip_sql_any_null(argc, argv)) /* R4 */
        return;
    ip_sql_call call = ip_sql_call_begin(ctx);
    const ip_sql_function *f = sqlite3_user_data(ctx);
    run_sink(&call, ctx, (sink)f->variant, argc, argv);
    ip_sql_call_end(&call, ctx);
}

static void run_save(ip_sql_call *call, sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
    const char *path = ip_sql_text_read(call, argv[1], 2, "a path is text");
    const char *settings = argc > 2 ? ip_sql_text_read(call, argv[2], 3, settings_are_text) : NULL;
    if (call->code) return;
    ip_sql_inputs in;
    if (!ip_sql_inputs_read(call, 1, argv, &in)) {
        ip_sql_run run;
        ip_sql_run_begin(&run, call);
        run.options.settings = settings;
        imgpar_status st = imgpar_save(in.arrays[0], path, &run.options);
        ip_sql_run_end(&run);
        if (st)
            ip_sql_call_fail_status(call, st, NULL, imgpar_array_message(in.arrays[0]));
        else
            sqlite3_result_value(ctx, argv[1]);
    }
    ip_sql_inputs_free(&in);
}

static void save_function(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
    if (ip_sql_any_null(argc, argv)) return;
    ip_sql_call call = ip_sql_call_begin(ctx);
    run_save(&call, ctx, argc, argv);
    ip_sql_call_end(&call, ctx);
}

int ip_sql_add_sinks(const ip_sql_setup *setup)
{
    int rc = SQLITE_OK;
    for (int k = 0; k < N_SINKS && !rc; k++)
        for (int n = 1; n <= sink_rows[k].n_args && !rc; n++)
            rc = ip_sql_add_function(setup, sink_rows[k].name, n, 0, sink_function, NULL, k);
    for (int n = 2; n <= 3 && !rc && !setup->safe; n++) /* R3 */
        rc = ip_sql_add_function(setup, "save", n, SQLITE_DIRECTONLY, save_function, NULL, 0);
    return rc;
}
