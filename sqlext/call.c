/* SPDX-License-Identifier: MIT */
/*
 * A running function or table: its errors, and evaluations that can be stopped.
 *
 * R1. An error reads "name(): message" once, in the name the user wrote.
 * R2. Out of memory, too big and interrupted keep SQLite's own codes.
 * R3. sqlite3_interrupt() and progress handlers stop an evaluation within 100 ms, in every version of SQLite. See
 *     Note [Pulse].
 * R4. No statement of ours outlives the call: sqlite3_close() would refuse.
 * R5. The library's warnings go to sqlite3_log(), and img_warning() tells the last of them.
 * R6. A failure while a deferred image is computed names the operations it went through.
 * R7. A number out of range is told with its range: "sigma must be 0..1000, got -1".
 * R8. An option of imgpar-run in a message of the library is told as the setting that it is in SQL.
 */
#include "sqlext.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

ip_sql_call ip_sql_call_begin(sqlite3_context *ctx)
{
    const ip_sql_function *f = sqlite3_user_data(ctx);
    return (ip_sql_call){ .conn = f->conn, .op = f->op, .name = f->name };
}

void ip_sql_call_end(ip_sql_call *call, sqlite3_context *ctx)
{
    if (call->message) sqlite3_result_error(ctx, call->message, -1);
    if (call->code == SQLITE_NOMEM) /* R2 */
        sqlite3_result_error_nomem(ctx);
    else if (call->code == SQLITE_TOOBIG)
        sqlite3_result_error_toobig(ctx);
    else if (call->code && (!call->message || call->code != SQLITE_ERROR))
        sqlite3_result_error_code(ctx, call->code);
    sqlite3_free(call->message);
    call->message = NULL;
}

int ip_sql_call_fail(ip_sql_call *call, int code, const char *format, ...)
{
    if (call->code) return call->code;
    call->code = code;
    if (!format) return code;
    va_list args;
    va_start(args, format);
    char *text = sqlite3_vmprintf(format, args);
    va_end(args);
    call->message = text ? sqlite3_mprintf("%s(): %s", call->name, text) : NULL; /* R1 */
    sqlite3_free(text);
    if (!call->message) call->code = SQLITE_NOMEM;
    return call->code;
}

/* message without "name: " in front, or without the "name:" of a place in a text ("apply:1:6: ..."). */
static const char *without_prefix(const char *message, const char *name)
{
    size_t n = strlen(name);
    if (strncmp(message, name, n) || message[n] != ':') return message;
    return message + n + (message[n + 1] == ' ' ? 2 : 1);
}

/* "sigma=-1 is below 0" of an operation as "sigma must be 0..1000, got -1", new; NULL: it is another message, as "k=5
 * is above the 3 elements". */
static char *range_message(const imgpar_op_info *op, const char *message)
{
    const char *equals = strchr(message, '='), *end = strstr(message, " is below ");
    if (!end) end = strstr(message, " is above ");
    for (int k = 0; op && equals && end && equals < end && k < op->n_params; k++) {
        const imgpar_op_param *p = op->params[k];
        size_t n = strlen(p->name);
        if (n != (size_t)(equals - message) || strncmp(message, p->name, n)) continue;
        const char *limit = end + strlen(" is below ");
        if (*limit != '-' && (*limit < '0' || *limit > '9')) return NULL;
        int n_value = (int)(end - equals - 1);
        if (isfinite(p->minimum) && isfinite(p->maximum))
            return sqlite3_mprintf("%s must be %.15g..%.15g, got %.*s", p->name, p->minimum, p->maximum, n_value,
                                   equals + 1);
        if (isfinite(p->minimum))
            return sqlite3_mprintf("%s must be at least %.15g, got %.*s", p->name, p->minimum, n_value, equals + 1);
    }
    return NULL;
}

/* The message with img_setting() in place of each --max-pixels, new; NULL: it has none. R8. */
static char *settings_message(const char *message)
{
    static const char option[] = "--max-pixels";
    const char *at = strstr(message, option);
    if (!at) return NULL;
    sqlite3_str *s = sqlite3_str_new(NULL);
    for (; at; message = at + strlen(option), at = strstr(message, option))
        sqlite3_str_appendf(s, "%.*simg_setting()", (int)(at - message), message);
    sqlite3_str_appendall(s, message);
    return sqlite3_str_finish(s);
}

int ip_sql_call_fail_status(ip_sql_call *call, imgpar_status status, const char *where, const char *message)
{
    if (status == IMGPAR_E_HOST_MEMORY) /* R2 */
        return ip_sql_call_fail(call, SQLITE_NOMEM, NULL);
    if (status == IMGPAR_E_INTERRUPTED) return ip_sql_call_fail(call, SQLITE_INTERRUPT, NULL);
    if (!message || !*message) message = imgpar_status_name(status);
    message = without_prefix(message, "encode"); /* what the user wrote is png() or blur() */
    message = without_prefix(message, call->op ? call->op->name : call->name);
    static const char *const unnamed[] = { "open", "memory", "image" }; /* bytes without a file, in messages */
    for (size_t k = 0; k < sizeof unnamed / sizeof unnamed[0]; k++)
        message = without_prefix(message, unnamed[k]);
    char *range = range_message(call->op ? call->op : imgpar_op_find(call->name), message); /* R7 */
    if (range) {
        ip_sql_call_fail(call, SQLITE_ERROR, "%s", range);
        sqlite3_free(range);
        return call->code;
    }
    if (!where && *call->path) { /* R6 */
        where = call->path;
        const char *last = strrchr(where, '>');
        message = without_prefix(message, last ? last + 2 : where);
    }
    char *told = settings_message(message); /* R8 */
    if (told) message = told;
    if (where)
        ip_sql_call_fail(call, SQLITE_ERROR, "%s: %s", where, message);
    else
        ip_sql_call_fail(call, SQLITE_ERROR, "%s", message);
    sqlite3_free(told);
    return call->code;
}

int ip_sql_call_fail_array(ip_sql_call *call, const imgpar_array *a)
{
    return ip_sql_call_fail_status(call, imgpar_array_status(a), NULL, imgpar_array_message(a));
}

const char *ip_sql_text_read(ip_sql_call *call, sqlite3_value *value, int argument, const char *what)
{
    const char *text = (const char *)sqlite3_value_text(value);
    if (!text)
        ip_sql_call_fail(call, SQLITE_NOMEM, NULL);
    else if (strlen(text) != (size_t)sqlite3_value_bytes(value))
        ip_sql_call_fail(call, SQLITE_ERROR, "argument %d: %s, this has a zero byte", argument, what);
    return call->code ? NULL : text;
}

/*
 * Note [Pulse]
 * The poll callback steps a small statement on the same connection: sqlite3_step() then looks
 * at the interrupt flag and counts towards the progress handler, which no function of ours could
 * do itself. The statement runs a few thousand instructions, because a progress handler asks to be
 * called every N of them, and costs about 0.2 ms; it runs at most every 50 ms.
 */
static const char pulse_sql[] =
    "WITH RECURSIVE c(i) AS (VALUES(1) UNION ALL SELECT i+1 FROM c WHERE i<500) SELECT count(*) FROM c";
enum { PULSE_EVERY_MS = 50 };

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static int poll_sqlite(void *user, double done)
{
    (void)done;
    ip_sql_run *run = user;
    double now = now_ms();
    if (now - run->pulse_ms < PULSE_EVERY_MS) return 0;
    run->pulse_ms = now;
    int rc = SQLITE_OK;
    if (!run->pulse) rc = sqlite3_prepare_v2(run->conn->db, pulse_sql, -1, &run->pulse, NULL);
    if (rc) return rc == SQLITE_INTERRUPT; /* an authorizer may refuse the statement: then there is no pulse */
    sqlite3_step(run->pulse);
    return sqlite3_reset(run->pulse) == SQLITE_INTERRUPT; /* R3 */
}

void ip_sql_warn(ip_sql_connection *conn, const char *text)
{
    char *copy = sqlite3_mprintf("%s", text);
    sqlite3_log(SQLITE_WARNING, "imgpar: %s", text); /* R5 */
    if (!copy) return;
    sqlite3_free(conn->warning);
    conn->warning = copy;
}

static void warn(void *user, const char *text) { ip_sql_warn(((ip_sql_run *)user)->conn, text); }

void ip_sql_run_begin(ip_sql_run *run, ip_sql_call *call)
{
    memset(run, 0, sizeof *run);
    run->options.struct_size = sizeof run->options;
    run->options.poll = poll_sqlite;
    run->options.on_warning = warn;
    run->options.user = run;
    run->conn = call->conn;
    run->pulse_ms = now_ms();
}

void ip_sql_run_end(ip_sql_run *run)
{
    sqlite3_finalize(run->pulse); /* R4 */
    run->pulse = NULL;
}

int ip_sql_compute(ip_sql_call *call, imgpar_array *a, void *bytes, size_t n)
{
    ip_sql_run run;
    ip_sql_run_begin(&run, call);
    imgpar_status st = imgpar_array_read_with(a, bytes, n, &run.options);
    ip_sql_run_end(&run);
    return st ? ip_sql_call_fail_status(call, st, NULL, imgpar_array_message(a)) : SQLITE_OK;
}

int ip_sql_evaluate(ip_sql_call *call, imgpar_array *const *arrays, int n)
{
    ip_sql_run run;
    ip_sql_run_begin(&run, call);
    imgpar_status st = imgpar_eval(arrays, (size_t)n, &run.options);
    ip_sql_run_end(&run);
    return st ? ip_sql_call_fail_status(call, st, NULL, imgpar_array_message(arrays[0])) : SQLITE_OK;
}
