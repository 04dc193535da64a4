/* SPDX-License-Identifier: MIT */
/*
 * Tables about the module itself: img_ops, img_devices, img_counters, img_settings; img_setting(); and img_warning().
 *
 * R1. img_ops is the operation table, nothing added by hand.
 * R2. img_devices, img_settings and img_setting() are DIRECTONLY; img_setting() is behind the locks of locks.c, and
 *     absent from the safe module.
 * R3. Counters are those of the connection's own context; all 0 before its first use.
 * R4. img_setting(name, value) returns the value now in force.
 * R5. img_warning() is in the safe module too. It changes from row to row of one statement, so it is not
 *     deterministic.
 *
 *     SELECT name, summary FROM img_ops WHERE category = 'filter';
 *     SELECT img_setting('schedule', 'pixels');
 */
#include "table.h"

#include <math.h>
#include <string.h>

/* ---- img_ops ---- */

static void add_json_text(sqlite3_str *s, const char *text)
{
    if (!text) {
        sqlite3_str_appendall(s, "null");
        return;
    }
    sqlite3_str_appendchar(s, 1, '"');
    for (; *text; text++) {
        if ((unsigned char)*text < ' ')
            sqlite3_str_appendf(s, "\\u%04x", (unsigned char)*text);
        else {
            if (*text == '"' || *text == '\\') sqlite3_str_appendchar(s, 1, '\\');
            sqlite3_str_appendchar(s, 1, *text);
        }
    }
    sqlite3_str_appendchar(s, 1, '"');
}

static void add_json_member(sqlite3_str *s, const char *name, const char *text)
{
    sqlite3_str_appendf(s, ",\"%s\":", name);
    add_json_text(s, text);
}

static void add_json_limit(sqlite3_str *s, const char *name, double v)
{
    if (isfinite(v)) sqlite3_str_appendf(s, ",\"%s\":%!.15g", name, v);
}

static char *params_json(const imgpar_op_info *op)
{
    sqlite3_str *s = sqlite3_str_new(NULL);
    sqlite3_str_appendchar(s, 1, '[');
    for (int k = 0; k < op->n_params; k++) {
        const imgpar_op_param *p = op->params[k];
        sqlite3_str_appendall(s, k ? ",{\"name\":" : "{\"name\":");
        add_json_text(s, p->name);
        add_json_member(s, "type", p->type);
        add_json_member(s, "default", p->default_text);
        if (p->choices) add_json_member(s, "choices", p->choices);
        add_json_limit(s, "minimum", p->minimum);
        add_json_limit(s, "maximum", p->maximum);
        if (p->unit && *p->unit) add_json_member(s, "unit", p->unit);
        add_json_member(s, "help", p->help);
        sqlite3_str_appendchar(s, 1, '}');
    }
    sqlite3_str_appendchar(s, 1, ']');
    return sqlite3_str_finish(s);
}

static char *input_names(const imgpar_op_info *op)
{
    if (!op->n_inputs) return sqlite3_mprintf("%s", "");
    sqlite3_str *s = sqlite3_str_new(NULL);
    for (int k = 0; k < op->n_inputs; k++)
        sqlite3_str_appendf(s, "%s%s", k ? ", " : "", op->input_names[k]);
    return sqlite3_str_finish(s);
}

static int fill_ops(ip_sql_call *call, sqlite3_value **argv, ip_sql_rows *rows)
{
    (void)call, (void)argv;
    for (size_t k = 0; k < imgpar_op_count(); k++) { /* R1 */
        const imgpar_op_info *op = imgpar_op_get(k);
        ip_sql_rows_add(rows);
        ip_sql_set_text(rows, 0, op->name);
        ip_sql_set_text(rows, 1, op->category);
        ip_sql_set_text(rows, 2, op->summary);
        ip_sql_set_text(rows, 3, op->example);
        ip_sql_set_owned_text(rows, 4, input_names(op));
        ip_sql_set_owned_text(rows, 5, params_json(op));
        ip_sql_set_text(rows, 6, op->aliases);
        ip_sql_set_text(rows, 7, op->formula);
        ip_sql_set_text(rows, 8, op->tolerance);
        if (op->in_sql)
            ip_sql_set_owned_text(
                rows, 9, op->sql_bare_name ? sqlite3_mprintf("%s", op->name) : sqlite3_mprintf("img_%s", op->name));
        ip_sql_set_integer(rows, 10, op->returns_number != 0);
        ip_sql_set_integer(rows, 11, op->same_bytes != 0);
    }
    return SQLITE_OK;
}

const ip_sql_table ip_sql_table_ops = {
    .name = "img_ops",
    .columns = "name TEXT, category TEXT, summary TEXT, example TEXT, inputs TEXT, params TEXT, aliases TEXT,"
               " formula TEXT, tolerance TEXT, sql_name TEXT, returns_number INTEGER, same_bytes INTEGER",
    .about = "one row an operation, from the operation table",
    .example = "SELECT name, summary FROM img_ops WHERE category = 'filter'",
    .n_columns = 12,
    .risk = SQLITE_VTAB_INNOCUOUS,
    .fill = fill_ops,
};

/* ---- img_devices ---- */

static int fill_devices(ip_sql_call *call, sqlite3_value **argv, ip_sql_rows *rows)
{
    (void)argv;
    imgpar_device **list = NULL;
    size_t n = 0;
    imgpar_status st = imgpar_device_list(&list, &n);
    if (st) return ip_sql_call_fail_status(call, st, NULL, NULL);
    for (size_t k = 0; k < n; k++) {
        const imgpar_device *d = list[k];
        const char *const texts[] = { d->selector, d->kind, d->name, d->platform, d->version, d->driver };
        const char *const more_texts[] = { d->vendor, d->extensions };
        const uint64_t numbers[] = {
            d->compute_units,
            d->global_bytes,
            d->local_bytes,
            d->max_alloc_bytes,
            d->max_work_group,
            d->has_f64 != 0,
            d->has_f16 != 0,
            d->has_images != 0,
            d->has_unified_memory != 0,
            d->max_parts,
            d->vendor_id,
            d->address_bits,
            d->clock_mhz,
            d->max_work_items[0],
            d->max_work_items[1],
            d->max_work_items[2],
            d->constant_bytes,
            d->max_constant_args,
            d->max_parameter_bytes,
            d->buffer_align_bytes,
            d->type_align_bytes,
            d->timer_resolution_ns,
            d->is_available != 0,
            d->has_compiler != 0,
            d->is_little_endian != 0,
            d->has_error_correction != 0,
        };
        enum { TEXTS = 6, NUMBERS = sizeof numbers / sizeof *numbers };
        ip_sql_rows_add(rows);
        for (int c = 0; c < TEXTS; c++)
            ip_sql_set_text(rows, c, texts[c]);
        for (int c = 0; c < NUMBERS; c++)
            ip_sql_set_integer(rows, TEXTS + c, (sqlite3_int64)numbers[c]);
        for (int c = 0; c < 2; c++)
            ip_sql_set_text(rows, TEXTS + NUMBERS + c, more_texts[c]);
    }
    imgpar_device_list_release(list, n);
    return SQLITE_OK;
}

const ip_sql_table ip_sql_table_devices = {
    .name = "img_devices",
    .columns = "selector TEXT, kind TEXT, name TEXT, platform TEXT, version TEXT, driver TEXT, compute_units INTEGER,"
               " global_bytes INTEGER, local_bytes INTEGER, max_alloc_bytes INTEGER, max_work_group INTEGER,"
               " has_f64 INTEGER, has_f16 INTEGER, has_images INTEGER, has_unified_memory INTEGER, max_parts INTEGER,"
               " vendor_id INTEGER, address_bits INTEGER, clock_mhz INTEGER, max_work_items_0 INTEGER,"
               " max_work_items_1 INTEGER, max_work_items_2 INTEGER, constant_bytes INTEGER, max_constant_args INTEGER,"
               " max_parameter_bytes INTEGER, buffer_align_bytes INTEGER, type_align_bytes INTEGER,"
               " timer_resolution_ns INTEGER, is_available INTEGER, has_compiler INTEGER, is_little_endian INTEGER,"
               " has_error_correction INTEGER, vendor TEXT, extensions TEXT",
    .about = "one row a device, the best one first",
    .example = "SELECT selector, name FROM img_devices",
    .n_columns = 34,
    .risk = SQLITE_VTAB_DIRECTONLY,
    .fill = fill_devices, /* R2 */
};

/* ---- img_counters ---- */

static int fill_counters(ip_sql_call *call, sqlite3_value **argv, ip_sql_rows *rows)
{
    (void)argv;
    imgpar_counters c = { .struct_size = sizeof c };
    if (call->conn->context) /* R3 */
        imgpar_context_counters(call->conn->context, &c);
    const struct {
        const char *name;
        uint64_t value;
    } all[] = {
        { "evaluations", c.evaluations },
        { "kernels", c.kernels },
        { "programs_built", c.programs_built },
        { "programs_loaded", c.programs_loaded },
        { "programs_pending", c.programs_pending },
        { "spills", c.spills },
        { "fallbacks", c.fallbacks },
        { "values_moved", c.values_moved },
        { "bytes_moved", c.bytes_moved },
        { "values_found", c.values_found },
        { "decodes", c.decodes },
        { "encodes", c.encodes },
        { "bytes_uploaded", c.bytes_uploaded },
        { "bytes_downloaded", c.bytes_downloaded },
        { "device_bytes", c.device_bytes },
        { "device_bytes_peak", c.device_bytes_peak },
        { "buffers", c.buffers },
        { "bytes_read", c.bytes_read },
        { "bytes_written", c.bytes_written },
        { "texts_parsed", call->conn->n_parsed },
    };
    for (size_t k = 0; k < sizeof all / sizeof all[0]; k++) {
        ip_sql_rows_add(rows);
        ip_sql_set_text(rows, 0, all[k].name);
        ip_sql_set_integer(rows, 1, (sqlite3_int64)all[k].value);
    }
    return SQLITE_OK;
}

const ip_sql_table ip_sql_table_counters = {
    .name = "img_counters",
    .columns = "name TEXT, value INTEGER",
    .n_columns = 2,
    .fill = fill_counters,
    .about = "work done by this connection so far",
    .example = "SELECT value FROM img_counters WHERE name = 'encodes'",
};

/* ---- img_settings ---- */

static int fill_settings(ip_sql_call *call, sqlite3_value **argv, ip_sql_rows *rows)
{
    (void)argv;
    for (int k = 0; k < IP_SQL_N_SETTINGS; k++) {
        const char *origin;
        ip_sql_rows_add(rows);
        ip_sql_set_text(rows, 0, ip_sql_setting_name((ip_sql_setting)k));
        ip_sql_set_text(rows, 1, ip_sql_setting_value(call->conn, (ip_sql_setting)k, &origin));
        ip_sql_set_text(rows, 2, origin);
    }
    return SQLITE_OK;
}

const ip_sql_table ip_sql_table_settings = {
    .name = "img_settings",
    .columns = "name TEXT, value TEXT, origin TEXT",
    .n_columns = 3,
    .about = "settings of this connection",
    .example = "SELECT name, value, origin FROM img_settings",
    .risk = SQLITE_VTAB_DIRECTONLY,
    .fill = fill_settings, /* R2 */
};

static void setting_function(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
    (void)argc;
    if (sqlite3_value_type(argv[0]) == SQLITE_NULL || sqlite3_value_type(argv[1]) == SQLITE_NULL) return;
    ip_sql_call call = ip_sql_call_begin(ctx);
    const char *name = ip_sql_text_read(&call, argv[0], 1, "a name is text");
    const char *value = ip_sql_text_read(&call, argv[1], 2, "a value is text");
    if (!call.code && !ip_sql_setting_change(&call, name, value))
        sqlite3_result_text(ctx, value, -1, SQLITE_TRANSIENT); /* R4 */
    ip_sql_call_end(&call, ctx);
}

static void warning_function(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
    (void)argc;
    (void)argv;
    const ip_sql_function *f = sqlite3_user_data(ctx);
    if (f->conn->warning) sqlite3_result_text(ctx, f->conn->warning, -1, SQLITE_TRANSIENT);
}

int ip_sql_add_settings(const ip_sql_setup *setup)
{
    int rc = ip_sql_add_function(setup, "img_warning", 0, 0, warning_function, NULL, 0); /* R5 */
    return rc || setup->safe
               ? rc
               : ip_sql_add_function(setup, "img_setting", 2, SQLITE_DIRECTONLY, setting_function, NULL, 0);
}
