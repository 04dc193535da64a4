/* SPDX-License-Identifier: MIT */
/*
 * imgpar.so: images in SQLite.
 *
 *     .load ./imgpar
 *     SELECT writefile('soft.png', blur(img, 2)) FROM photos;
 *     SELECT writefile('out.png', png(blend(blur(lazy(a.img), 2), img_invert(b.img), 0.3))) FROM ...;
 *
 * Give a function ordinary image bytes and it returns a finished PNG, wherever you use it. Give it
 * lazy(img) and it returns a deferred image that only remembers the work; png(), save(), img_mean(),
 * histogram() then do all of it at once, fused.
 *
 * R1. sqlite3_imgpar_init registers everything; sqlite3_imgparsafe_init the same without the functions that touch
 *     files or settings.
 * R2. Loading opens no device and reads no file.
 * R3. The module stays loaded: live values and the OpenCL runtime's threads may outlast a connection.
 * R4. Each connection has its own state; a second load on one connection replaces the functions.
 * R5. No API newer than SQLite 3.31 is called.
 * R6. A function that touches files or settings is DIRECTONLY and behind two locks of our own, see locks.c.
 *
 * HOW IT WORKS
 *
 * values.c turns SQL values into arrays and arrays into values; options.c reads the options of an operation. Functions
 * are in scalar.c, sinks.c, header.c, apply.c, exif.c, measures.c, phash.c and try.c, aggregates in stack.c and
 * montage.c. table.c makes tables of row makers (rows.c): tables.c, pixels.c, regions.c, stats.c, tiles.c, files.c,
 * exif.c, catalog.c and reference.c.
 *
 * A deferred image is a recipe (recipe.c: bytes to checked records; graph.c: records to arrays), whose memory nested
 * calls share (buffers.c). An imgpar(SELECT ...) table finishes deferred images on threads: develop.c and its parts
 * develop_*.c, tokens.c, crew.c.
 *
 * conn.c holds what belongs to a connection, memo.c the images and texts.c the texts of apply() that it remembers;
 * call.c has errors and interruption, locks.c who may write files.
 */
#include "sqlext.h"

#include <string.h>

SQLITE_EXTENSION_INIT1

enum { OLDEST_SQLITE = 3031000 };

static void function_destroy(void *user)
{
    ip_sql_function *f = user;
    ip_sql_connection_unregister(f->conn);
    sqlite3_free(f->vetted);
    sqlite3_free(f);
}

static ip_sql_function *new_function(const ip_sql_setup *setup, const char *name, const imgpar_op_info *op, int variant)
{
    size_t n = strlen(name) + 1;
    ip_sql_function *f = sqlite3_malloc64(sizeof *f + n);
    if (!f) return NULL;
    f->conn = ip_sql_connection_register(setup->conn);
    f->op = op;
    f->variant = variant;
    f->run = NULL;
    f->vetted = NULL;
    memcpy(f->name, name, n);
    return f;
}

static void run_behind_locks(sqlite3_context *ctx, int argc, sqlite3_value **argv) /* R6 */
{
    ip_sql_function *f = sqlite3_user_data(ctx);
    ip_sql_call call = ip_sql_call_begin(ctx);
    int rc = ip_sql_locks_pass(&call, IP_SQL_LOCK_FUNCTION, &f->vetted);
    ip_sql_call_end(&call, ctx);
    if (!rc) f->run(ctx, argc, argv);
}

int ip_sql_add_function(const ip_sql_setup *setup, const char *name, int n_args, int flags, ip_sql_xfunc *run,
                        const imgpar_op_info *op, int variant)
{
    ip_sql_function *f = new_function(setup, name, op, variant);
    if (!f) return SQLITE_NOMEM;
    f->run = run;
    return sqlite3_create_function_v2(setup->db, name, n_args, SQLITE_UTF8 | flags, f,
                                      flags & SQLITE_DIRECTONLY ? run_behind_locks : run, NULL, NULL,
                                      function_destroy); /* on failure too, SQLite destroys f */
}

int ip_sql_add_aggregate(const ip_sql_setup *setup, const char *name, int n_args, ip_sql_xfunc *step,
                         void (*final)(sqlite3_context *ctx), int variant)
{
    ip_sql_function *f = new_function(setup, name, NULL, variant);
    return !f ? SQLITE_NOMEM
              : sqlite3_create_function_v2(setup->db, name, n_args, SQLITE_UTF8, f, NULL, step, final,
                                           function_destroy);
}

static int register_all(const ip_sql_setup *setup)
{
    static int (*const steps[])(const ip_sql_setup *) = {
        ip_sql_add_scalars, ip_sql_add_sinks,    ip_sql_add_headers, ip_sql_add_exif,
        ip_sql_add_apply,   ip_sql_add_measures, ip_sql_add_stacks,  ip_sql_add_montage,
        ip_sql_add_develop, ip_sql_add_try,      ip_sql_add_tables,
    };
    int rc = SQLITE_OK;
    for (size_t k = 0; k < sizeof steps / sizeof steps[0] && !rc; k++)
        rc = steps[k](setup);
    return rc;
}

/* The pointer is the same in every connection, so it is written once: other threads may be reading it. */
static void remember_api(const sqlite3_api_routines *api)
{
    (void)api;
#ifndef SQLITE_CORE
    if (__atomic_load_n(&sqlite3_api, __ATOMIC_ACQUIRE) != api) __atomic_store_n(&sqlite3_api, api, __ATOMIC_RELEASE);
#endif
}

static int module_init(sqlite3 *db, char **message, const sqlite3_api_routines *api, bool safe)
{
    remember_api(api);
    if (sqlite3_libversion_number() < OLDEST_SQLITE) { /* R5 */
        *message = sqlite3_mprintf("imgpar needs SQLite 3.31 or newer, this is %s", sqlite3_libversion());
        return SQLITE_ERROR;
    }
    ip_sql_setup setup = { .db = db, .conn = ip_sql_connection_new(db), .safe = safe };
    int rc = setup.conn ? register_all(&setup) : SQLITE_NOMEM; /* R2 */
    ip_sql_connection_release(setup.conn);
    return rc ? rc : SQLITE_OK_LOAD_PERMANENTLY; /* R3 */
}

/* The entry points, found by name. */
__attribute__((visibility("default"))) int sqlite3_imgpar_init(sqlite3 *db, char **message,
                                                               const sqlite3_api_routines *api);
int sqlite3_imgparsafe_init(sqlite3 *db, char **message, const sqlite3_api_routines *api);

int sqlite3_imgpar_init(sqlite3 *db, char **message, const sqlite3_api_routines *api)
{
    return module_init(db, message, api, false); /* R1 */
}

__attribute__((visibility("default"))) int sqlite3_imgparsafe_init(sqlite3 *db, char **message,
                                                                   const sqlite3_api_routines *api)
{
    return module_init(db, message, api, true);
}
