/* SPDX-License-Identifier: MIT */
/*
 * A row of an imgpar table: from what its SELECT gives to a task for the crew.
 *
 * R1. The images of a row become one graph, so that what they share is computed once.
 * R2. A column that cannot be built is an error of its own, told when it is read.
 * R3. Recipes and settings are borrowed from the statement until the task is made, and no longer.
 */
#include "develop.h"
#include "values.h"

#include <stdlib.h>
#include <string.h>

void ip_sql_row_clear(ip_sql_row *row, int n_columns)
{
    for (int k = 0; row->cells && k < n_columns; k++) {
        sqlite3_value_free(row->cells[k].value);
        sqlite3_free(row->cells[k].message);
    }
    sqlite3_free(row->cells);
    ip_sql_task_free(row->task);
    memset(row, 0, sizeof *row);
}

/* What a row is taken from. */
typedef struct source {
    const ip_sql_developed *table;
    const ip_sql_query *query;
    sqlite3_stmt *stmt;
    ip_sql_recipe all; /* the recipes of its images in one; R1 */
} source;

/* The sink that column k is, or NULL. */
static const ip_sql_edge *edge_of(const source *src, int k)
{
    const ip_sql_edge *edge = &src->table->edges[k];
    return src->query->at_edge && edge->format ? edge : NULL;
}

/* True where column k is to be developed. */
static bool is_image(const source *src, int k)
{
    int type = sqlite3_column_type(src->stmt, k);
    const ip_sql_edge *edge = edge_of(src, k);
    if (!src->query->develops || !ip_sql_is_used(src->query->used, k) || type == SQLITE_NULL) return false;
    if (edge) return !edge->settings || sqlite3_column_type(src->stmt, edge->settings) != SQLITE_NULL;
    return type == SQLITE_BLOB &&
           ip_sql_recipe_is(sqlite3_column_blob(src->stmt, k), (size_t)sqlite3_column_bytes(src->stmt, k));
}

/* The recipe of column k, built; a plain image is the one source of a new one. */
static int read_recipe(ip_sql_call *call, imgpar_context *context, sqlite3_stmt *stmt, int k, ip_sql_recipe *recipe)
{
    static const char where[] = "argument 1"; /* of the sink that the column is */
    const void *bytes = sqlite3_column_blob(stmt, k);
    size_t n = (size_t)sqlite3_column_bytes(stmt, k);
    int type = sqlite3_column_type(stmt, k);
    if (type != SQLITE_BLOB) return ip_sql_call_fail_type(call, where, type);
    if (!bytes) return n ? ip_sql_call_fail(call, SQLITE_NOMEM, NULL) : ip_sql_call_fail_type(call, where, type);
    if (!ip_sql_recipe_is(bytes, n))
        return ip_sql_recipe_start(call, recipe, bytes, n, imgpar_open_memory(context, bytes, n));
    return ip_sql_recipe_parse(call, where, bytes, n, recipe) ? call->code
                                                              : ip_sql_recipe_build(call, where, context, recipe);
}

/* A sink's settings, for free(); NULL: it has none, or call has the error. */
static char *read_settings(ip_sql_call *call, sqlite3_stmt *stmt, const ip_sql_edge *edge)
{
    char buf[40], *copy = NULL;
    if (!edge->settings) return NULL;
    sqlite3_value *value = sqlite3_value_dup(sqlite3_column_value(stmt, edge->settings));
    const char *text = value ? ip_sql_settings_read(call, edge->format, value, buf, sizeof buf) : NULL;
    if (text) copy = strdup(text);
    if (!value || (text && !copy)) ip_sql_call_fail(call, SQLITE_NOMEM, NULL);
    sqlite3_value_free(value);
    return copy;
}

static uint64_t hash_of_recipe(const ip_sql_recipe *r)
{
    uint64_t hash = (uint64_t)r->n_records;
    for (int k = 0; k < r->n_records; k++) {
        const ip_sql_record *record = &r->records[k];
        hash = ip_sql_hash(hash ^ record->hash, record->inputs, (size_t)record->n_inputs * sizeof record->inputs[0]);
        hash = ip_sql_hash(hash, record->name, strlen(record->name));
    }
    return hash;
}

/* Column k's recipe joins those of the row. *index is its value's place there. */
static int join_recipe(ip_sql_call *call, source *src, int k, uint32_t *index, uint64_t *hash)
{
    ip_sql_recipe mine = { 0 };
    imgpar_context *context = ip_sql_context(call);
    if (context && !read_recipe(call, context, src->stmt, k, &mine)) {
        *hash = hash_of_recipe(&mine);
        *index = (uint32_t)mine.n_records - 1;
        if (src->all.n_records) {
            ip_sql_recipe_merge(call, context, &src->all, &mine, index);
        } else {
            src->all = mine;
            mine = (ip_sql_recipe){ 0 };
        }
    }
    ip_sql_recipe_free(&mine);
    return call->code;
}

/* The image of column k becomes output o. */
static int add_image(ip_sql_call *call, source *src, int k, ip_sql_output *o, uint64_t *hash)
{
    const ip_sql_edge *edge = edge_of(src, k);
    imgpar_info info = { .struct_size = sizeof info };
    uint32_t index;
    if (join_recipe(call, src, k, &index, hash)) return call->code;
    imgpar_array *a = src->all.records[index].array;
    if (edge) o->settings = read_settings(call, src->stmt, edge);
    if (o->settings) *hash = ip_sql_hash(*hash, o->settings, strlen(o->settings));
    o->format = edge ? edge->format : "png"; /* for an error array, which tells when it is computed */
    o->is_exact = !edge;
    if (!call->code && !imgpar_array_info(a, &info))
        o->format = ip_sql_format_of(call, &info, edge ? edge->format : NULL);
    if (!call->code) o->array = imgpar_array_retain(a);
    ip_sql_recipe_path(&src->all, index, o->path, sizeof o->path);
    return call->code;
}

static int make_task(ip_sql_call *call, source *src, const int *images, int n, ip_sql_row *row)
{
    row->task = ip_sql_task_new(n);
    if (!row->task) return ip_sql_call_fail(call, SQLITE_NOMEM, NULL);
    for (int i = 0; i < n; i++) {
        ip_sql_row_cell *cell = &row->cells[images[i]];
        const ip_sql_edge *edge = edge_of(src, images[i]);
        ip_sql_call mine = { .conn = call->conn, .name = edge ? edge->format : call->name };
        cell->output = i;
        cell->code = add_image(&mine, src, images[i], &row->task->outputs[i], &cell->hash); /* R2 */
        cell->message = mine.message;
    }
    ip_sql_recipe_free(&src->all); /* R3 */
    return SQLITE_OK;
}

int ip_sql_row_take(ip_sql_call *call, const ip_sql_developed *v, const ip_sql_query *q, sqlite3_stmt *stmt,
                    ip_sql_row *row)
{
    source src = { .table = v, .query = q, .stmt = stmt };
    int images[IP_SQL_MAX_COLUMNS], n = 0;
    size_t size = (size_t)v->n_columns * sizeof *row->cells;
    memset(row, 0, sizeof *row);
    row->cells = sqlite3_malloc64(size);
    if (!row->cells) return ip_sql_call_fail(call, SQLITE_NOMEM, NULL);
    memset(row->cells, 0, size);
    for (int k = 0; k < v->n_columns; k++) {
        if (is_image(&src, k)) {
            images[n++] = k;
            continue;
        }
        row->cells[k].output = -1;
        if (edge_of(&src, k)) continue; /* NULL in, NULL out */
        row->cells[k].value = sqlite3_value_dup(sqlite3_column_value(stmt, k));
        if (!row->cells[k].value) return ip_sql_call_fail(call, SQLITE_NOMEM, NULL);
    }
    return n ? make_task(call, &src, images, n, row) : SQLITE_OK;
}

/*
 * Note [Row numbers]
 * SQLite may answer a condition with OR by two scans, one a side, and takes rows of equal number for the same one. So
 * where conditions are passed on, a row's number must not depend on them: it comes from what the row holds, and how
 * many rows that hold the same were met before it; a side that takes one of those takes them all. Only a scan of the
 * whole table counts.
 */
static uint64_t hash_of_row(const ip_sql_row *row, int n_columns)
{
    uint64_t hash = 0;
    for (int k = 0; k < n_columns; k++) {
        sqlite3_value *value = row->cells[k].value;
        int type = value ? sqlite3_value_type(value) : SQLITE_NULL;
        double real = type == SQLITE_FLOAT ? sqlite3_value_double(value) : 0;
        sqlite3_int64 integer = type == SQLITE_INTEGER ? sqlite3_value_int64(value) : 0;
        hash = ip_sql_hash(hash ^ row->cells[k].hash, &type, sizeof type);
        if (type == SQLITE_FLOAT)
            hash = ip_sql_hash(hash, &real, sizeof real);
        else if (type == SQLITE_INTEGER)
            hash = ip_sql_hash(hash, &integer, sizeof integer);
        else if (type != SQLITE_NULL)
            hash = ip_sql_hash(hash, sqlite3_value_blob(value), (size_t)sqlite3_value_bytes(value));
    }
    return hash;
}

static struct ip_sql_met *slot_of(const ip_sql_census *census, uint64_t hash)
{
    size_t k = (size_t)hash & (census->n_slots - 1);
    while (census->slots[k].n && census->slots[k].hash != hash)
        k = (k + 1) & (census->n_slots - 1);
    return &census->slots[k];
}

/* Room for one more. */
static int grow(ip_sql_call *call, ip_sql_census *census)
{
    if (census->n_used * 2 < census->n_slots) return SQLITE_OK;
    ip_sql_census larger = { .n_slots = census->n_slots ? 2 * census->n_slots : 64, .n_used = census->n_used };
    larger.slots = sqlite3_malloc64(larger.n_slots * sizeof *larger.slots);
    if (!larger.slots) return ip_sql_call_fail(call, SQLITE_NOMEM, NULL);
    memset(larger.slots, 0, larger.n_slots * sizeof *larger.slots);
    for (size_t k = 0; k < census->n_slots; k++)
        if (census->slots[k].n) *slot_of(&larger, census->slots[k].hash) = census->slots[k];
    sqlite3_free(census->slots);
    *census = larger;
    return SQLITE_OK;
}

int ip_sql_row_number(ip_sql_call *call, const ip_sql_developed *v, ip_sql_census *census, ip_sql_row *row,
                      sqlite3_int64 *out)
{
    if (!row->number) {
        if (grow(call, census)) return call->code;
        uint64_t hash = hash_of_row(row, v->n_columns);
        struct ip_sql_met *met = slot_of(census, hash);
        census->n_used += !met->n;
        met->hash = hash;
        met->n++;
        row->number = (sqlite3_int64)(ip_sql_hash(hash, &met->n, sizeof met->n) >> 1 | 1);
    }
    *out = row->number;
    return SQLITE_OK;
}

void ip_sql_census_clear(ip_sql_census *census)
{
    sqlite3_free(census->slots);
    memset(census, 0, sizeof *census);
}
