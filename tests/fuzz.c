/* SPDX-License-Identifier: MIT */
/*
 * Fuzz targets for libFuzzer, one program: $IMGPAR_FUZZ chooses among
 *
 *     recipe   bytes of a deferred image (its sums are put right, so that what is behind them is reached)
 *     apply    text of the pipeline language with one image
 *     image    an encoded image
 *
 * With $IMGPAR_FUZZ_SEEDS=FOLDER it first writes a small corpus there: recipes made by SQL, the examples of the
 * operation table, one image in every format. The module and the library are linked in. .ci/run runs each for a minute.
 */
#include "../sqlext/recipe.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);
int sqlite3_imgpar_init(sqlite3 *db, char **message, const sqlite3_api_routines *api);

static sqlite3 *db;
static imgpar_context *ctx;
static char target; /* 'r', 'a', 'i' */
static double deadline_ms;

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* Long loops are legal: they are stopped, not waited for. */
static int is_late(void *user)
{
    (void)user;
    return now_ms() > deadline_ms;
}
static int poll_late(void *user, double done)
{
    (void)done;
    return is_late(user);
}

/* ---- seeds ---------------------------------------------------------------------------------------- */

#define GRAY "CAST('P5 4 3 255' || char(10) || 'AZaz09!~mnop' AS BLOB)"
#define RGB "CAST('P6 2 1 255' || char(10) || 'RGBrgb' AS BLOB)"

static const char *const seed_sql[] = {
    /* name, bytes */
    ['r'] = "SELECT 'r' || id, r FROM (SELECT 1 AS id, lazy(" GRAY
            ") AS r UNION ALL SELECT 2, img_invert(boxblur(lazy(" RGB "), 3))"
            " UNION ALL SELECT 3, blend(blur(lazy(" GRAY "), 1), apply('$1 + 2', lazy(" GRAY ")), 0.3)"
            " UNION ALL SELECT 4, resize(crop(lazy(" GRAY "), 1, 1, 2, 2), 7) UNION ALL SELECT 5, lazy(png(" RGB ")))",
    ['a'] = "SELECT 'a' || row_number() OVER (), replace(replace(example, 'a,', '$1,'), '(a)', '($1)') FROM img_ops "
            "WHERE example <> ''"
            " UNION ALL SELECT 'b1', 'u = $1 * 2' || char(10) || 'iterate(u, 2, boxblur(_, size=3))'"
            " UNION ALL SELECT 'b2', 'fn f(p, q) = p + q' || char(10) || 'reduce($1, 0, (p, q) -> max(p, q))'",
    ['i'] = "SELECT 'png', png(" RGB ") UNION ALL SELECT 'gray.png', png(" GRAY ") UNION ALL SELECT 'jpeg', jpeg(" RGB
            ", 50)"
            " UNION ALL SELECT 'npy', npy(" GRAY ") UNION ALL SELECT 'pnm', " RGB
            " UNION ALL SELECT 'deep.png', png(img_cast(apply('make(3, 2, 1000 * x)'), 'u16'))",
};

static void write_seeds(const char *folder)
{
    sqlite3_stmt *stmt;
    if (sqlite3_prepare_v2(db, seed_sql[(int)target], -1, &stmt, NULL)) {
        fprintf(stderr, "seeds: %s\n", sqlite3_errmsg(db));
        exit(1);
    }
    while (sqlite3_step(stmt) == SQLITE_ROW) {
        char path[1024];
        snprintf(path, sizeof path, "%s/%s", folder, (const char *)sqlite3_column_text(stmt, 0));
        FILE *f = fopen(path, "wb");
        if (!f || !fwrite(sqlite3_column_blob(stmt, 1), 1, (size_t)sqlite3_column_bytes(stmt, 1), f) || fclose(f)) {
            perror(path);
            exit(1);
        }
    }
    if (sqlite3_finalize(stmt)) {
        fprintf(stderr, "seeds: %s\n", sqlite3_errmsg(db));
        exit(1);
    }
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    setenv("IMGPAR_MEM_LIMIT", "1G", 1); /* short texts may ask for large arrays */
    const char *word = getenv("IMGPAR_FUZZ"), *seeds = getenv("IMGPAR_FUZZ_SEEDS");
    target = word && *word && strchr("rai", *word) ? *word : 'r';
    if (sqlite3_open(":memory:", &db) || (sqlite3_imgpar_init(db, NULL, NULL) & 0xff) ||
        imgpar_context_new("ref", &ctx))
        exit(1);
    imgpar_context_set(ctx, "max_pixels", "65536");
    deadline_ms = now_ms() + 1e7;
    if (sqlite3_exec(db, "SELECT img_setting('device', 'ref'), img_setting('max_pixels', '65536')", NULL, NULL, NULL))
        exit(1);
    if (seeds) write_seeds(seeds);
    sqlite3_progress_handler(db, 1000, is_late, NULL);
    return 0;
}

/* ---- recipes ----------------------------------------------------------------------------------------- */

enum { NOTICE = 80, HEAD = 24 };

static uint64_t get(const uint8_t *p, int n)
{
    uint64_t v = 0;
    while (n--)
        v = v << 8 | p[n];
    return v;
}

static void put(uint8_t *p, uint64_t v, int n)
{
    for (; n--; v >>= 8)
        *p++ = (uint8_t)v;
}

/* Sums of bodies and heads as recipe.h tells, as far as records can be told apart. */
static void put_sums_right(uint8_t *bytes, size_t n)
{
    uint32_t check = 0;
    for (size_t at = NOTICE; at + HEAD <= n;) {
        uint8_t *head = bytes + at;
        size_t left = n - at - HEAD, fixed = (size_t)head[1] * 4 + (size_t)get(head + 2, 2);
        uint64_t n_body = get(head + 8, 8);
        if (fixed > left || n_body > left - fixed) break;
        put(head + 16, ip_sql_hash(0, head + HEAD + fixed, (size_t)n_body), 8);
        put(head + 4, check, 4);
        uint64_t h = ip_sql_hash(ip_sql_hash(0, head, HEAD), head + HEAD, fixed);
        check = (uint32_t)(h ^ h >> 32);
        put(head + 4, check, 4);
        at += HEAD + fixed + (size_t)n_body;
    }
}

static void run_recipe(const uint8_t *bytes, size_t n)
{
    static const char *const statements[] = {
        "SELECT img_info(?1), img_error(?1), length(img_invert(?1))",
        "SELECT count(*) FROM pixels(?1, 0, 0, 2, 2)",
    };
    uint8_t *copy = malloc(n ? n : 1);
    memcpy(copy, bytes, n);
    put_sums_right(copy, n);
    for (size_t k = 0; k < sizeof statements / sizeof statements[0]; k++) {
        sqlite3_stmt *stmt;
        if (sqlite3_prepare_v2(db, statements[k], -1, &stmt, NULL)) abort();
        sqlite3_bind_blob(stmt, 1, copy, (int)n, SQLITE_STATIC);
        sqlite3_step(stmt);
        sqlite3_finalize(stmt);
    }
    free(copy);
}

/* ---- texts and images ----------------------------------------------------------------------------------- */

/* Computes what is small. */
static void compute(imgpar_array *a)
{
    imgpar_info info = { .struct_size = sizeof info };
    imgpar_options options = { .struct_size = sizeof options, .poll = poll_late };
    if (imgpar_array_info(a, &info) || info.size_bytes > 1 << 20) return;
    void *elements = malloc(info.size_bytes);
    imgpar_array_read_with(a, elements, info.size_bytes, &options);
    free(elements);
}

static void run_apply(const uint8_t *bytes, size_t n)
{
    static const unsigned char pixels[12] = "AZaz09!~mnop";
    char *text = malloc(n + 1);
    memcpy(text, bytes, n);
    text[n] = 0;
    imgpar_array *image = imgpar_array_from_data(ctx, IMGPAR_U8, 3, (const int64_t[]){ 3, 4, 1 }, pixels);
    imgpar_array *a = imgpar_apply_safe(ctx, text, &image, 1);
    compute(a);
    imgpar_array_release(a);
    imgpar_array_release(image);
    free(text);
}

static void run_image(const uint8_t *bytes, size_t n)
{
    imgpar_array *a = imgpar_open_memory(ctx, bytes, n), *small = imgpar_thumbnail(a, 8, 8);
    compute(a);
    compute(small);
    imgpar_array_release(small);
    imgpar_array_release(a);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    deadline_ms = now_ms() + 200;
    if (target == 'r')
        run_recipe(bytes, n);
    else if (target == 'a')
        run_apply(bytes, n);
    else
        run_image(bytes, n);
    return 0;
}
