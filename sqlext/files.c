/* SPDX-License-Identifier: MIT */
/*
 * Files as rows: img_files(dir [, glob [, recursive]]), and the same as a table:
 *
 *     SELECT name, width, height FROM img_files('/home/me/photos', '*.jpg') WHERE error IS NULL;
 *     CREATE VIRTUAL TABLE temp.album USING imgpar_folder(dir='/home/me/photos', glob='*.jpg', recursive=1);
 *     SELECT name, png(thumbnail(image, 200)) FROM album;
 *
 * R1. Only directories are read to list; a header when one of its columns is asked for, a file when its image is.
 * R2. Regular files (and links to them) whose name fits the glob, in the order of their paths as bytes. Folders are
 *     entered with recursive (0 or 1, false or true), links to folders are not.
 * R3. What is no image, or damaged in its header, is a row with an error. So is a file that cannot be read.
 * R4. image is the file's bytes; in an imgpar_folder it is a deferred image.
 * R5. Both are DIRECTONLY, behind the locks of locks.c, and absent from the safe module.
 * R6. Listing can be interrupted.
 */
#include "table.h"
#include "values.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    COLUMN_PATH,
    COLUMN_NAME,
    COLUMN_SIZE,
    COLUMN_MTIME,
    COLUMN_FORMAT,
    COLUMN_WIDTH,
    COLUMN_HEIGHT,
    COLUMN_CHANNELS,
    COLUMN_ERROR,
    COLUMN_IMAGE,
    N_COLUMNS
};
enum { ARGUMENT_DIR, ARGUMENT_GLOB, ARGUMENT_RECURSIVE, N_ARGUMENTS };
enum { MAX_DEPTH = 64 };

typedef struct scan {
    char **paths; /* owned, each too */
    int n, capacity;
    int at;
    bool deferred;            /* R4 */
    bool is_probed, is_image; /* the header of the current file */
    imgpar_probe probe;
    char error[512];
} scan;

/* ---- listing ------------------------------------------------------------------------------------ */

static int add_path(ip_sql_call *call, scan *s, char *path)
{
    if (s->n == s->capacity) {
        int capacity = s->capacity ? 2 * s->capacity : 64;
        char **paths = sqlite3_realloc64(s->paths, (sqlite3_uint64)capacity * sizeof *paths);
        if (!paths) {
            sqlite3_free(path);
            return ip_sql_call_fail(call, SQLITE_NOMEM, NULL);
        }
        s->paths = paths;
        s->capacity = capacity;
    }
    s->paths[s->n++] = path;
    return SQLITE_OK;
}

/* A listing at work. */
typedef struct listing {
    ip_sql_call *call;
    ip_sql_run run;
    scan *scan;
    const char *glob; /* NULL: all names */
} listing;

static int list_folder(listing *l, const char *dir, int depth, bool is_top);

static int list_entry(listing *l, const char *dir, const char *name, int depth)
{
    struct stat facts;
    size_t n = strlen(dir);
    char *path = sqlite3_mprintf("%s%s%s", dir, n && dir[n - 1] == '/' ? "" : "/", name);
    if (!path) return ip_sql_call_fail(l->call, SQLITE_NOMEM, NULL);
    bool is_link = !lstat(path, &facts) && S_ISLNK(facts.st_mode);
    if (!stat(path, &facts)) {
        if (S_ISREG(facts.st_mode) && (!l->glob || !sqlite3_strglob(l->glob, name)))
            return add_path(l->call, l->scan, path); /* R2 */
        if (S_ISDIR(facts.st_mode) && !is_link && depth > 0) list_folder(l, path, depth - 1, false);
    }
    sqlite3_free(path);
    return l->call->code;
}

static int list_folder(listing *l, const char *dir, int depth, bool is_top)
{
    DIR *d = opendir(dir);
    if (!d && !is_top) /* one that may not be read is passed by */
        return SQLITE_OK;
    if (!d) return ip_sql_call_fail(l->call, SQLITE_ERROR, "%s: %s", dir, strerror(errno));
    for (struct dirent *e = readdir(d); e && !l->call->code; e = readdir(d)) {
        if (l->run.options.poll(&l->run, 0)) /* R6 */
            ip_sql_call_fail(l->call, SQLITE_INTERRUPT, NULL);
        else if (strcmp(e->d_name, ".") && strcmp(e->d_name, ".."))
            list_entry(l, dir, e->d_name, depth);
    }
    closedir(d);
    return l->call->code;
}

static int compare_paths(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

/* ---- the scan -------------------------------------------------------------------------------------- */

static void end(void *state)
{
    scan *s = state;
    for (int k = 0; k < s->n; k++)
        sqlite3_free(s->paths[k]);
    sqlite3_free(s->paths);
    sqlite3_free(s);
}

/* NULL: not given, or call has the error. */
static const char *text_of(ip_sql_call *call, const ip_sql_ask *ask, int k)
{
    static const char *const what[] = { "a folder is text", "a glob is text", "recursive is 0 or 1" };
    if (ask->argv[k]) return ip_sql_text_read(call, ask->argv[k], k + 1, what[k]);
    return ask->fixed ? ask->fixed[k] : NULL;
}

/* How deep folders are entered; NULL: not at all. */
static int read_depth(ip_sql_call *call, const char *recursive, int *depth)
{
    const bool is_one = recursive && (!strcmp(recursive, "1") || !sqlite3_stricmp(recursive, "true"));
    const bool is_zero = !recursive || !strcmp(recursive, "0") || !sqlite3_stricmp(recursive, "false");
    *depth = is_one ? MAX_DEPTH : 0;
    return is_one || is_zero ? SQLITE_OK
                             : ip_sql_call_fail(call, SQLITE_ERROR, "recursive must be 0 or 1, got %.40s", recursive);
}

static int check_fixed(ip_sql_call *call, const char *const *fixed)
{
    int depth;
    return read_depth(call, fixed[ARGUMENT_RECURSIVE], &depth);
}

static int begin(ip_sql_call *call, const ip_sql_ask *ask, void **state)
{
    scan *s = sqlite3_malloc64(sizeof *s);
    const char *dir = text_of(call, ask, ARGUMENT_DIR), *glob = text_of(call, ask, ARGUMENT_GLOB);
    int depth = 0;
    if (!s) return ip_sql_call_fail(call, SQLITE_NOMEM, NULL);
    if (call->code || read_depth(call, text_of(call, ask, ARGUMENT_RECURSIVE), &depth) || call->code) {
        sqlite3_free(s);
        return call->code;
    }
    memset(s, 0, sizeof *s);
    s->at = -1;
    s->deferred = !ask->argv[ARGUMENT_DIR] || call->conn->deferring;
    *state = s;
    listing l = { .call = call, .scan = s, .glob = glob };
    ip_sql_run_begin(&l.run, call);
    list_folder(&l, dir, depth, true);
    ip_sql_run_end(&l.run);
    if (s->n) qsort(s->paths, (size_t)s->n, sizeof s->paths[0], compare_paths);
    return call->code;
}

static bool next(ip_sql_call *call, void *state)
{
    (void)call;
    scan *s = state;
    s->is_probed = false;
    return ++s->at < s->n;
}

/* ---- columns ------------------------------------------------------------------------------------------ */

/* "PATH: " before a message says what the row's path says. */
static const char *without_path(const char *message, const char *path)
{
    size_t n = strlen(path);
    return !strncmp(message, path, n) && message[n] == ':' && message[n + 1] == ' ' ? message + n + 2 : message;
}

static void probe(scan *s)
{
    if (s->is_probed) return;
    s->is_probed = true;
    s->probe.struct_size = sizeof s->probe;
    s->is_image = !imgpar_probe_file(s->paths[s->at], &s->probe, s->error, sizeof s->error);
}

static void return_size_or_time(sqlite3_context *ctx, const char *path, int k)
{
    struct stat facts;
    if (!stat(path, &facts))
        sqlite3_result_int64(ctx, k == COLUMN_SIZE ? (sqlite3_int64)facts.st_size : (sqlite3_int64)facts.st_mtime);
}

static void return_header(sqlite3_context *ctx, scan *s, int k)
{
    probe(s);
    if (k == COLUMN_ERROR && !s->is_image)
        sqlite3_result_text(ctx, without_path(s->error, s->paths[s->at]), -1, SQLITE_TRANSIENT);
    if (k == COLUMN_ERROR || !s->is_image) return;
    const imgpar_info *info = &s->probe.info;
    if (k == COLUMN_FORMAT)
        sqlite3_result_text(ctx, s->probe.format, -1, SQLITE_STATIC);
    else
        sqlite3_result_int64(ctx, k == COLUMN_WIDTH ? info->width : k == COLUMN_HEIGHT ? info->height : info->channels);
}

/* The whole file as memory of SQLite; NULL with errno, or call has the error. */
static unsigned char *read_file(ip_sql_call *call, const char *path, size_t *n)
{
    struct stat facts;
    unsigned char *bytes = NULL;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &facts) || !S_ISREG(facts.st_mode)) {
        if (fd >= 0) close(fd);
        return NULL;
    }
    if ((uint64_t)facts.st_size > ip_sql_max_bytes(call->conn)) {
        ip_sql_call_fail(call, SQLITE_TOOBIG, NULL);
    } else {
        bytes = sqlite3_malloc64((sqlite3_uint64)facts.st_size + 1);
        if (!bytes) ip_sql_call_fail(call, SQLITE_NOMEM, NULL);
    }
    *n = 0;
    while (bytes && *n < (size_t)facts.st_size) {
        ssize_t got = read(fd, bytes + *n, (size_t)facts.st_size - *n);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) break; /* cut while it was read: what there is */
        *n += (size_t)got;
    }
    close(fd);
    return bytes;
}

static void return_image(ip_sql_call *call, sqlite3_context *ctx, scan *s)
{
    size_t n;
    unsigned char *bytes = read_file(call, s->paths[s->at], &n);
    if (bytes && s->deferred && n)
        ip_sql_result_lazy(call, ctx, bytes, n);
    else if (bytes) {
        sqlite3_result_blob64(ctx, bytes, n, sqlite3_free);
        return;
    }
    sqlite3_free(bytes); /* R3: a file that cannot be read is NULL */
}

static void column(ip_sql_call *call, void *state, sqlite3_context *ctx, int k)
{
    scan *s = state;
    const char *path = s->paths[s->at], *slash = strrchr(path, '/');
    if (k == COLUMN_PATH)
        sqlite3_result_text(ctx, path, -1, SQLITE_TRANSIENT);
    else if (k == COLUMN_NAME)
        sqlite3_result_text(ctx, slash ? slash + 1 : path, -1, SQLITE_TRANSIENT);
    else if (k == COLUMN_SIZE || k == COLUMN_MTIME)
        return_size_or_time(ctx, path, k);
    else if (k == COLUMN_IMAGE)
        return_image(call, ctx, s);
    else
        return_header(ctx, s, k);
}

#define COLUMNS                                                                                                        \
    "path TEXT, name TEXT, size INTEGER, mtime INTEGER, format TEXT, width INTEGER, height INTEGER, channels INTEGER," \
    " error TEXT, image BLOB"

const ip_sql_table ip_sql_table_files = {
    .name = "img_files",
    .columns = COLUMNS ", dir HIDDEN, glob HIDDEN, recursive HIDDEN",
    .about = "one row a file; headers and files are read when their columns are",
    .example = "SELECT name, width, height FROM img_files('.', '*.png')",
    .n_columns = N_COLUMNS,
    .n_arguments = N_ARGUMENTS,
    .n_required = 1,
    .risk = SQLITE_VTAB_DIRECTONLY,
    .files = true,
    .begin = begin,
    .next = next,
    .column = column,
    .end = end,
};

static const char *const parameters[] = { "dir", "glob", "recursive", NULL };

const ip_sql_table ip_sql_table_folder = {
    .name = "imgpar_folder",
    .columns = COLUMNS,
    .parameters = parameters,
    .check = check_fixed,
    .about = "a table of the files of a folder; image is deferred",
    .example = "CREATE VIRTUAL TABLE temp.album USING imgpar_folder(dir='.', glob='*.png')",
    .n_columns = N_COLUMNS,
    .n_required = 1,
    .risk = SQLITE_VTAB_DIRECTONLY,
    .files = true,
    .begin = begin,
    .next = next,
    .column = column,
    .end = end,
};
