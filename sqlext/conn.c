/* SPDX-License-Identifier: MIT */
/*
 * What a connection owns: a context, its settings and the live recipes.
 *
 * R1. No device is opened by loading the module, nor by functions that read headers.
 * R2. The device is the one img_setting('device', ...) named, else IMGPAR_DEVICE, else the best.
 * R3. The context's notice goes to sqlite3_log() once.
 * R4. A new device keeps the other settings; deferred images made before stay usable.
 * R5. The connection's memory goes with its last function, table and live recipe.
 */
#include "sqlext.h"
#include "buffers.h"
#include "memo.h"

#include <stdlib.h>
#include <string.h>

/* The settings of imgpar_context_set(), and "device", which chooses the context itself. */
static const struct {
    const char *name, *variable, *standard;
} setting_rows[IP_SQL_N_SETTINGS] = {
    [IP_SQL_SET_DEVICE] = { "device", "IMGPAR_DEVICE", "best" },
    [IP_SQL_SET_SCHEDULE] = { "schedule", "IMGPAR_SCHEDULE", "auto" },
    [IP_SQL_SET_FUSE] = { "fuse", "IMGPAR_FUSE", "1" },
    [IP_SQL_SET_MAX_PIXELS] = { "max_pixels", "IMGPAR_MAX_PIXELS", "268435456" },
    [IP_SQL_SET_MEM_LIMIT] = { "mem_limit", "IMGPAR_MEM_LIMIT", "auto" },
    [IP_SQL_SET_HOST_LIMIT] = { "host_limit", "IMGPAR_HOST_LIMIT", "0" },
    [IP_SQL_SET_PLACEMENT] = { "placement", "IMGPAR_PLACEMENT", "auto" },
    [IP_SQL_SET_TIER] = { "tier", "IMGPAR_TIER", "kernels" },
};

ip_sql_connection *ip_sql_connection_new(sqlite3 *db)
{
    ip_sql_connection *conn = sqlite3_malloc64(sizeof *conn);
    if (!conn) return NULL;
    memset(conn, 0, sizeof *conn);
    conn->refs = 1;
    conn->db = db;
    return conn;
}

ip_sql_connection *ip_sql_connection_retain(ip_sql_connection *conn)
{
    conn->refs++;
    return conn;
}

void ip_sql_connection_release(ip_sql_connection *conn)
{
    if (!conn || --conn->refs) return;
    ip_sql_texts_clear(conn);
    imgpar_context_release(conn->context); /* R5 */
    imgpar_context_release(conn->ref);
    sqlite3_free(conn->warning);
    for (int k = 0; k < IP_SQL_N_SETTINGS; k++)
        sqlite3_free(conn->settings[k]);
    sqlite3_free(conn);
}

ip_sql_connection *ip_sql_connection_register(ip_sql_connection *conn)
{
    conn->registrations++;
    return ip_sql_connection_retain(conn);
}

void ip_sql_connection_unregister(ip_sql_connection *conn)
{
    if (!--conn->registrations) { /* R5: what it keeps holds it */
        ip_sql_memo_clear(conn);
        ip_sql_texts_clear(conn);
    }
    ip_sql_connection_release(conn);
}

const char *ip_sql_setting_name(ip_sql_setting which) { return setting_rows[which].name; }

const char *ip_sql_setting_value(const ip_sql_connection *conn, ip_sql_setting which, const char **origin)
{
    const char *value = conn->settings[which];
    *origin = "img_setting";
    if (value) return value;
    value = getenv(setting_rows[which].variable);
    *origin = "environment";
    if (value && *value) return value;
    *origin = "default";
    return setting_rows[which].standard;
}

static int fail_setting(ip_sql_call *call, const char *name, const char *value)
{
    return ip_sql_call_fail(call, SQLITE_ERROR, "%s=%s: %s", name, value, imgpar_setting_expected(name));
}

/* Opens what selector names, with the settings made so far. NULL: call has the error. */
static imgpar_context *open_context(ip_sql_call *call, const char *selector)
{
    imgpar_context *context = NULL;
    imgpar_status st = imgpar_context_new(selector, &context);
    if (st) {
        char text[512] = "";
        imgpar_context_new_error(text, sizeof text);
        ip_sql_call_fail_status(call, st, NULL, *text ? text : imgpar_status_name(st));
        return NULL;
    }
    for (int k = IP_SQL_SET_DEVICE + 1; k < IP_SQL_N_SETTINGS; k++) { /* R4 */
        if (!call->conn->settings[k]) continue;
        st = imgpar_context_set(context, setting_rows[k].name, call->conn->settings[k]);
        if (st) {
            fail_setting(call, setting_rows[k].name, call->conn->settings[k]);
            imgpar_context_release(context);
            return NULL;
        }
    }
    return context;
}

/* Opens the device that value names. */
static imgpar_context *open_device(ip_sql_call *call, const char *value)
{
    imgpar_context *context = open_context(call, value);
    if (context && imgpar_context_notice(context))
        sqlite3_log(SQLITE_NOTICE, "imgpar: %s", imgpar_context_notice(context)); /* R3 */
    return context;
}

imgpar_context *ip_sql_context(ip_sql_call *call)
{
    const char *origin;
    ip_sql_connection *conn = call->conn;
    if (!conn->context) /* R1, R2 */
        conn->context = open_device(call, ip_sql_setting_value(conn, IP_SQL_SET_DEVICE, &origin));
    return conn->context;
}

imgpar_context *ip_sql_header_context(ip_sql_call *call)
{
    ip_sql_connection *conn = call->conn;
    if (conn->context) return conn->context;
    if (!conn->ref) /* R1 */
        conn->ref = open_context(call, "ref");
    return conn->ref;
}

static int find_setting(const char *name)
{
    for (int k = 0; k < IP_SQL_N_SETTINGS; k++)
        if (!strcmp(name, setting_rows[k].name)) return k;
    return -1;
}

int ip_sql_setting_change(ip_sql_call *call, const char *name, const char *value)
{
    ip_sql_connection *conn = call->conn;
    int which = find_setting(name);
    if (which < 0)
        return ip_sql_call_fail(call, SQLITE_ERROR,
                                "there is no setting \"%s\"; there are device, schedule, fuse, max_pixels, mem_limit, "
                                "host_limit, placement, "
                                "tier",
                                name);
    imgpar_context *context = which == IP_SQL_SET_DEVICE ? open_device(call, value) : ip_sql_context(call);
    if (!context) return call->code;
    if (which == IP_SQL_SET_DEVICE) {
        ip_sql_memo_clear(conn);
        ip_sql_buffers_forget_graphs(conn); /* R4: they belong to the context that goes */
        imgpar_context_release(conn->context);
        conn->context = context;
    } else {
        imgpar_status st = imgpar_context_set(context, setting_rows[which].name, value);
        if (st) return fail_setting(call, name, value);
    }
    char *kept = sqlite3_mprintf("%s", value);
    if (!kept) return ip_sql_call_fail(call, SQLITE_NOMEM, NULL);
    sqlite3_free(conn->settings[which]);
    conn->settings[which] = kept;
    return SQLITE_OK;
}

uint64_t ip_sql_max_bytes(const ip_sql_connection *conn)
{
    int limit = sqlite3_limit(conn->db, SQLITE_LIMIT_LENGTH, -1);
    return limit < 0 ? 0 : (uint64_t)limit;
}
