/* SPDX-License-Identifier: MIT */
/*
 * sqlext.h - what the files of the SQL module share: the connection, the call.
 *
 * The module sees the library through imgpar.h only. Everything it keeps belongs
 * to one SQLite connection, which SQLite uses from one thread at a time, so the
 * module needs no lock of its own: two connections share constant tables only.
 *
 * A function does its work on a call, which remembers the first error:
 *
 *     ip_sql_call call = ip_sql_call_begin(ctx);
 *     ip_sql_call_fail(&call, SQLITE_ERROR, "sigma=%g is below 0", sigma);
 *     ip_sql_call_end(&call, ctx);          (the user sees "blur(): sigma must be 0..1000, got -1")
 */
#ifndef IP_SQLEXT_H
#define IP_SQLEXT_H

/* The pointer to SQLite's functions gets a name of ours: another extension in the process has its own. */
#define sqlite3_api ip_sqlite3_api
#include <sqlite3ext.h>
SQLITE_EXTENSION_INIT3

#include <imgpar.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

struct ip_sql_buffer;

typedef enum ip_sql_setting {
    IP_SQL_SET_DEVICE,
    IP_SQL_SET_SCHEDULE,
    IP_SQL_SET_FUSE,
    IP_SQL_SET_MAX_PIXELS,
    IP_SQL_SET_MEM_LIMIT,
    IP_SQL_SET_HOST_LIMIT,
    IP_SQL_SET_PLACEMENT,
    IP_SQL_SET_TIER,
    IP_SQL_N_SETTINGS
} ip_sql_setting;

enum { IP_SQL_N_BUCKETS = 64, IP_SQL_N_MEMO = 4, IP_SQL_N_RECENT = 4, IP_SQL_N_TEXTS = 16 };

/* A deferred image that was computed, see memo.h. */
typedef struct ip_sql_memo_entry {
    struct ip_sql_buffer *buffer; /* a reference; NULL: empty */
    size_t n_bytes;
    int n_records;
    uint32_t check;
    uint64_t used_at;
} ip_sql_memo_entry;

/* A parsed text of apply(), see texts.c. */
typedef struct ip_sql_text {
    char *text;              /* owned */
    imgpar_formula *formula; /* owned; NULL: empty */
    uint64_t used_at;
} ip_sql_text;

/* An image that a function has encoded, by its length and its ends. */
typedef struct ip_sql_recent {
    size_t n;
    uint64_t hash;
} ip_sql_recent;

typedef struct ip_sql_connection {
    int refs;                /* registrations and live buffers */
    int registrations;       /* functions and modules that SQLite holds */
    sqlite3 *db;             /* borrowed: the registrations go before it does */
    imgpar_context *context; /* NULL until pixels or a graph are needed */
    imgpar_context *ref;     /* opens no device: for headers of deferred images while context is NULL */
    /* above 0: inside an imgpar(SELECT ...) table, where plain images are taken as deferred */
    int deferring;
    char *settings[IP_SQL_N_SETTINGS];               /* what img_setting() stored; NULL: environment or default */
    struct ip_sql_buffer *buckets[IP_SQL_N_BUCKETS]; /* live recipes by address, see buffers.h */
    ip_sql_memo_entry memo[IP_SQL_N_MEMO];
    ip_sql_text texts[IP_SQL_N_TEXTS];
    uint64_t n_parsed; /* texts */
    char *warning;     /* the last one; owned, for sqlite3_free(); NULL: none yet */
    uint64_t memo_clock;
    ip_sql_recent recent[IP_SQL_N_RECENT]; /* for the hint, see values.c */
    int recent_at;
    bool hinted;
} ip_sql_connection;

/* A registered function: what sqlite3_user_data() points to. */
typedef struct ip_sql_function {
    ip_sql_connection *conn;                                           /* retained */
    const imgpar_op_info *op;                                          /* NULL: not a row of the table */
    int variant;                                                       /* tells the members of a family apart */
    void (*run)(sqlite3_context *ctx, int argc, sqlite3_value **argv); /* what the locks let through, see locks.c */
    char *vetted;                                                      /* for the locks; owned */
    char name[];                                                       /* as users write it */
} ip_sql_function;

/* One running function or table: whose it is, and its first error. */
typedef struct ip_sql_call {
    ip_sql_connection *conn;
    const imgpar_op_info *op; /* or NULL */
    const char *name;
    int code;      /* SQLITE_OK or the first error */
    char *message; /* owned; NULL: the code says it all */
    char path[96]; /* for messages: the operations of the deferred image at work, "image > blur > invert" */
    const struct ip_sql_recipe *recipe; /* of the one deferred image at work; or NULL */
} ip_sql_call;

/* ---- conn.c ---- */

ip_sql_connection *ip_sql_connection_new(sqlite3 *db); /* one reference; NULL without memory */
ip_sql_connection *ip_sql_connection_retain(ip_sql_connection *conn);
void ip_sql_connection_release(ip_sql_connection *conn);
/* The same for what SQLite holds until the connection closes: with the last one goes what the connection keeps. */
ip_sql_connection *ip_sql_connection_register(ip_sql_connection *conn);
void ip_sql_connection_unregister(ip_sql_connection *conn);
/* The connection's context, opened at first need. Borrowed; NULL: call has the error. */
imgpar_context *ip_sql_context(ip_sql_call *call);
/* A context that is good for building graphs only, without opening a device. Borrowed; NULL: call has the error. */
imgpar_context *ip_sql_header_context(ip_sql_call *call);
/* Changes a setting of this connection and of its context. */
int ip_sql_setting_change(ip_sql_call *call, const char *name, const char *value);
const char *ip_sql_setting_name(ip_sql_setting which);
/* Its value (borrowed, never NULL) and where that comes from: "img_setting", "environment", "default". */
const char *ip_sql_setting_value(const ip_sql_connection *conn, ip_sql_setting which, const char **origin);
/* The longest blob the connection allows. */
uint64_t ip_sql_max_bytes(const ip_sql_connection *conn);

/* ---- locks.c ---- */

/* What a lock is in front of: a function, a table-valued function, or a table that was created (in temp) under a name
 * of its own. */
typedef enum ip_sql_lock { IP_SQL_LOCK_FUNCTION, IP_SQL_LOCK_TABLE, IP_SQL_LOCK_CREATED } ip_sql_lock;
/* Lets call go on, or fails it. *vetted (NULL at first, for sqlite3_free()) remembers the schemas that were looked
 * through. */
int ip_sql_locks_pass(ip_sql_call *call, ip_sql_lock lock, char **vetted);

/* ---- texts.c ---- */

/* The parsed text, kept for a while. Borrowed until the next call of this; NULL: call has the error. */
const imgpar_formula *ip_sql_formula(ip_sql_call *call, const char *text);
void ip_sql_texts_clear(ip_sql_connection *conn);

/* ---- call.c ---- */

ip_sql_call ip_sql_call_begin(sqlite3_context *ctx);
/* Gives the first error, if there is one, to SQLite and frees the message. */
void ip_sql_call_end(ip_sql_call *call, sqlite3_context *ctx);
/* Records the first error as "name(): ..." and returns its code. NULL format: the code says it all. */
int ip_sql_call_fail(ip_sql_call *call, int code, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* The same for a failure of the library; "blur: " before the message is dropped where call names blur already.
 * where (may be NULL) goes before the message: "argument 2". */
int ip_sql_call_fail_status(ip_sql_call *call, imgpar_status status, const char *where, const char *message);
int ip_sql_call_fail_array(ip_sql_call *call, const imgpar_array *a);
/* The argument (from 1 on) as text, borrowed from value. What it is, "a path is text", is told where a zero byte would
 * cut it. NULL: call has the error. */
const char *ip_sql_text_read(ip_sql_call *call, sqlite3_value *value, int argument, const char *what);

/* Logs a warning of the library and keeps it for img_warning(). */
void ip_sql_warn(ip_sql_connection *conn, const char *text);

/* Options for an evaluation that SQLite can interrupt. They live until ip_sql_run_end(). */
typedef struct ip_sql_run {
    imgpar_options options;
    ip_sql_connection *conn;
    sqlite3_stmt *pulse; /* NULL until the evaluation has lasted a while */
    double pulse_ms;     /* when it was stepped last */
} ip_sql_run;
void ip_sql_run_begin(ip_sql_run *run, ip_sql_call *call);
void ip_sql_run_end(ip_sql_run *run);
/* Computes a and copies its elements to bytes, which hold n = info.size_bytes. */
int ip_sql_compute(ip_sql_call *call, imgpar_array *a, void *bytes, size_t n);
/* Computes n arrays at once; they keep their values. */
int ip_sql_evaluate(ip_sql_call *call, imgpar_array *const *arrays, int n);

/* ---- registration: each file adds its own ---- */

/* What entry points leave out or add. */
typedef struct ip_sql_setup {
    sqlite3 *db;
    ip_sql_connection *conn;
    bool safe; /* no files, no settings */
} ip_sql_setup;

typedef void ip_sql_xfunc(sqlite3_context *ctx, int argc, sqlite3_value **argv);
/* Registers one function; op may be NULL. One that is DIRECTONLY goes through the locks first. Returns an SQLite
 * code. */
int ip_sql_add_function(const ip_sql_setup *setup, const char *name, int n_args, int flags, ip_sql_xfunc *run,
                        const imgpar_op_info *op, int variant);

/* The same for an aggregate; step and final begin a call as functions do. */
int ip_sql_add_aggregate(const ip_sql_setup *setup, const char *name, int n_args, ip_sql_xfunc *step,
                         void (*final)(sqlite3_context *ctx), int variant);

/* Builds the operation call->op of images and options, and returns its value. */
void ip_sql_run_operation(ip_sql_call *call, sqlite3_context *ctx, int argc, sqlite3_value **argv);
int ip_sql_add_scalars(const ip_sql_setup *setup);  /* scalar.c: a function an op */
int ip_sql_add_sinks(const ip_sql_setup *setup);    /* sinks.c */
int ip_sql_add_headers(const ip_sql_setup *setup);  /* header.c */
int ip_sql_add_exif(const ip_sql_setup *setup);     /* exif.c */
int ip_sql_add_apply(const ip_sql_setup *setup);    /* apply.c */
int ip_sql_add_measures(const ip_sql_setup *setup); /* measures.c */
int ip_sql_add_stacks(const ip_sql_setup *setup);   /* stack.c */
int ip_sql_add_montage(const ip_sql_setup *setup);  /* montage.c */
int ip_sql_add_develop(const ip_sql_setup *setup);  /* develop.c */
int ip_sql_add_try(const ip_sql_setup *setup);      /* try.c */
int ip_sql_add_phash(const ip_sql_setup *setup);    /* phash.c */
int ip_sql_add_tables(const ip_sql_setup *setup);   /* table.c, from the rows of tables.c and catalog.c */

#pragma GCC visibility pop

#endif
