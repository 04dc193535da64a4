/* SPDX-License-Identifier: MIT */
/*
 * One composition of operations has one answer: step by step in C, as one text, as nested SQL functions whose results
 * are finished images, as one deferred image, and inside an imgpar(SELECT ...) table. Elements, dtype, shape, space and
 * white are equal.
 *
 * Compositions are drawn at random; a failure prints the seed that draws it. IMGPAR_AGREE_SEED=n begins there,
 * IMGPAR_AGREE_N=n draws so many on the interpreter.
 */
#include "sql_help.h"

#include <imgpar.h>
#include <stdbool.h>
#include <stdint.h>

enum { MAX_STEPS = 5, WIDTH = 6, HEIGHT = 5 };

/* A step: a text for apply(), of the value so far and of a second image; or an operation by its name, with options. */
static const struct step {
    const char *text, *op, *options;
} steps[] = {
    { "$1 + 20", 0, 0 },
    { "$1 * 1.5", 0, 0 },
    { "$1 > 100", 0, 0 },
    { "$1 == $2", 0, 0 },
    { "$1 > $2", 0, 0 },
    { "$1 / 3", 0, 0 },
    { "-$1", 0, 0 },
    { "abs($1)", 0, 0 },
    { "!$1", 0, 0 },
    { "$1 && $2", 0, 0 },
    { "$1 - $2", 0, 0 },
    { "max($1, $2)", 0, 0 },
    { "$1 > 100 ? $1 : $2", 0, 0 },
    { "cast($1, u8)", 0, 0 },
    { "cast($1, u16)", 0, 0 },
    { "cast($1, f32)", 0, 0 },
    { "cast($1, i32)", 0, 0 },
    { "cast($1, bool)", 0, 0 },
    { "sort($1, axis=-1)", 0, 0 },
    { "sort($1, axis=0)", 0, 0 },
    { "reduce($1, \"max\", axis=-1)", 0, 0 },
    { "reduce($1, \"max\", axis=0)", 0, 0 },
    { "scan($1, \"sum\", axis=-1)", 0, 0 },
    { "scan($1, zip(n=0, m=0), (s, q) -> zip(n=s.n + 1, m=s.m + (q - s.m) / (s.n + 1)), axis=-1).m", 0, 0 },
    { "reduce(zip(v=$1, at=x + 0 * $1), zip(v=inf, at=-1), (p, q) -> q.v < p.v ? q : p, axis=-1).at", 0, 0 },
    { "circshift($1, [1 2])", 0, 0 },
    { "transpose($1)", 0, 0 },
    { "$1 % 7", 0, 0 },
    { "slice($1, 1, 4)", 0, 0 },
    { "repeat($1, 2)", 0, 0 },
    { "permute($1, [1 0])", 0, 0 },
    { "$1[-1, 0] + $1", 0, 0 },
    { 0, "invert", "" },
    { 0, "boxblur", "size=3" },
    { 0, "blur", "sigma=1.2" },
    { 0, "unsharp", "sigma=1" },
    { 0, "dog", "" },
    { 0, "sobel", "" },
    { 0, "resize", "width=4, height=7" },
    { 0, "erode", "size=3" },
    { 0, "threshold", "t=100" },
    { 0, "flip", "" },
    { 0, "gray", "" },
    { 0, "crop", "x=1, y=1, width=4, height=3" },
    { "slice($1, 0, 1, axis=2)", 0, 0 },
};

static const imgpar_dtype dtypes[] = { IMGPAR_U8, IMGPAR_U16, IMGPAR_F32, IMGPAR_BOOL, IMGPAR_I32 };

/* ---- drawing ------------------------------------------------------------------------------------ */

typedef struct composition {
    uint64_t seed;
    const struct step *steps[MAX_STEPS];
    int n;
    imgpar_dtype dtype[2];
    int rank[2], channels[2]; /* of the two images */
} composition;

static uint64_t draw(uint64_t *state, uint64_t below)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return (*state >> 11) % below;
}

static composition compose(uint64_t seed)
{
    composition c = { .seed = seed };
    uint64_t state = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
    for (int k = 0; k < 8; k++)
        draw(&state, 2);
    c.n = 1 + (int)draw(&state, MAX_STEPS);
    for (int k = 0; k < c.n; k++)
        c.steps[k] = &steps[draw(&state, N(steps))];
    for (int k = 0; k < 2; k++) {
        c.dtype[k] = k && draw(&state, 2) ? c.dtype[0] : dtypes[draw(&state, N(dtypes))];
        c.channels[k] = k && draw(&state, 4) ? c.channels[0] : 1 + (int)draw(&state, 4);
        c.rank[k] = c.channels[k] == 1 && draw(&state, 2) ? 2 : 3;
    }
    return c;
}

/* An image of the composition, with numbers that suit its dtype. */
static imgpar_array *make_image(imgpar_context *ctx, const composition *c, int which)
{
    enum { MOST = WIDTH * HEIGHT * 4 };
    uint64_t state = c->seed + 77 + (uint64_t)which;
    union {
        uint8_t u8[MOST];
        uint16_t u16[MOST];
        float f32[MOST];
        int32_t i32[MOST];
    } e;
    const int64_t shape[] = { HEIGHT, WIDTH, c->channels[which] };
    for (int k = 0; k < WIDTH * HEIGHT * c->channels[which]; k++) {
        int v = (int)draw(&state, 256);
        switch (c->dtype[which]) {
        case IMGPAR_U8: e.u8[k] = (uint8_t)v; break;
        case IMGPAR_U16: e.u16[k] = (uint16_t)(v * 251); break;
        case IMGPAR_F32: e.f32[k] = (float)v * 0.75f - 20; break;
        case IMGPAR_BOOL: e.u8[k] = v & 1; break;
        default: e.i32[k] = v * 3 - 200;
        }
    }
    return imgpar_array_from_data(ctx, c->dtype[which], c->rank[which], shape, &e);
}

/* ---- the surfaces --------------------------------------------------------------------------------- */

/* In C, an array a step. */
static imgpar_array *in_c(imgpar_context *ctx, const composition *c, imgpar_array *const *images)
{
    imgpar_array *a = imgpar_array_retain(images[0]);
    for (int k = 0; k < c->n; k++) {
        imgpar_array *inputs[] = { a, images[1] };
        const struct step *s = c->steps[k];
        imgpar_array_replace(&a, s->text ? imgpar_apply(ctx, s->text, inputs, 2)
                                         : imgpar_op(ctx, s->op, inputs, 1, s->options));
    }
    return a;
}

/* As one text: each step is a function of the value so far and the second image. */
static imgpar_array *as_text(imgpar_context *ctx, const composition *c, imgpar_array *const *images)
{
    char text[2048];
    size_t n = 0;
    for (int k = 0; k < c->n; k++) {
        const struct step *s = c->steps[k];
        n += (size_t)snprintf(text + n, sizeof text - n, k + 1 < c->n ? "s%d = " : "", k + 1);
        if (s->op)
            n += (size_t)snprintf(text + n, sizeof text - n, k ? "%s(s%d%s%s)" : "%s($1%.0d%s%s)", s->op, k,
                                  *s->options ? ", " : "", s->options);
        for (const char *p = s->text; p && *p; p++) {
            bool is_value = p[0] == '$' && p[1] == '1' && k;
            n += is_value ? (size_t)snprintf(text + n, sizeof text - n, "s%d", k)
                          : (size_t)snprintf(text + n, sizeof text - n, "%c", *p);
            p += is_value;
        }
        n += (size_t)snprintf(text + n, sizeof text - n, "\n");
    }
    return imgpar_apply(ctx, text, images, 2);
}

/* The nested SQL of the composition around the word image; for sqlite3_free(). */
static char *nest(const composition *c, const char *image)
{
    char *sql = sqlite3_mprintf("%s", image);
    for (int k = 0; k < c->n; k++) {
        const struct step *s = c->steps[k];
        char *outer = s->text ? sqlite3_mprintf("apply(%Q, %s, b)", s->text, sql)
                              : sqlite3_mprintf(*s->options ? "img_%s(%s, %Q)" : "img_%s(%s)", s->op, sql, s->options);
        sqlite3_free(sql);
        sql = outer;
    }
    return sql;
}

typedef enum surface { EAGER, DEFERRED, TABLE, N_SURFACES } surface;
static const char *const surface_names[] = { "eager SQL", "deferred SQL", "an imgpar table" };

/* The finished image that the surface gives, opened again in ctx. NULL: SQL says that it fails, or gives a number. */
static imgpar_array *in_sql(sqlite3 *db, imgpar_context *ctx, const composition *c, surface which)
{
    char *nested = nest(c, which == DEFERRED ? "lazy(a)" : "a");
    char *sql = sqlite3_mprintf(which == DEFERRED ? "SELECT img_develop(%s) FROM pair" : "SELECT %s FROM pair", nested);
    imgpar_array *a = NULL;
    sqlite3_stmt *stmt = NULL;
    if (which == TABLE) {
        char *make = sqlite3_mprintf(
            "DROP TABLE IF EXISTS temp.d; CREATE VIRTUAL TABLE temp.d USING imgpar(SELECT %s AS img FROM pair)",
            nested);
        run(db, make);
        sqlite3_free(make);
        sqlite3_free(sql);
        sql = sqlite3_mprintf("SELECT img FROM d");
    }
    ck_assert_msg(sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) == SQLITE_OK, "seed %llu: %s: %s",
                  (unsigned long long)c->seed, sql, sqlite3_errmsg(db));
    if (sqlite3_step(stmt) == SQLITE_ROW && sqlite3_column_type(stmt, 0) == SQLITE_BLOB)
        a = imgpar_open_memory(ctx, sqlite3_column_blob(stmt, 0), (size_t)sqlite3_column_bytes(stmt, 0));
    sqlite3_finalize(stmt);
    sqlite3_free(sql);
    sqlite3_free(nested);
    return a;
}

/* ---- comparing -------------------------------------------------------------------------------------- */

static void explain(const composition *c, const char *where, const char *what)
{
    char *sql = nest(c, "a");
    ck_abort_msg("seed %llu: %s: %s\n%s\na is %s [%d, %d, %d], b is %s [.., %d]", (unsigned long long)c->seed, where,
                 what, sql, imgpar_dtype_name(c->dtype[0]), HEIGHT, WIDTH, c->rank[0] == 3 ? c->channels[0] : 0,
                 imgpar_dtype_name(c->dtype[1]), c->rank[1] == 3 ? c->channels[1] : 0);
}

static void expect_equal(const composition *c, const char *where, imgpar_array *wanted, imgpar_array *got)
{
    imgpar_info w = { .struct_size = sizeof w }, g = { .struct_size = sizeof g };
    char what[256];
    if (imgpar_array_info(wanted, &w) || !got || imgpar_array_info(got, &g)) {
        explain(c, where, "one of them fails");
        return;
    }
    snprintf(what, sizeof what, "%s rank %d [%lld %lld %lld] space %d, not %s rank %d [%lld %lld %lld] space %d",
             imgpar_dtype_name(g.dtype), g.rank, (long long)g.shape[0], (long long)g.shape[1], (long long)g.shape[2],
             g.space, imgpar_dtype_name(w.dtype), w.rank, (long long)w.shape[0], (long long)w.shape[1],
             (long long)w.shape[2], w.space);
    if (g.dtype != w.dtype || g.rank != w.rank || memcmp(g.shape, w.shape, (size_t)g.rank * sizeof *g.shape) ||
        g.space != w.space || g.white != w.white || g.is_mask != w.is_mask)
        explain(c, where, what);
    void *x = malloc(w.size_bytes + 1), *y = malloc(w.size_bytes + 1);
    ck_assert_int_eq(imgpar_array_read(wanted, x, w.size_bytes), IMGPAR_OK);
    ck_assert_int_eq(imgpar_array_read(got, y, w.size_bytes), IMGPAR_OK);
    if (memcmp(x, y, w.size_bytes)) explain(c, where, "other elements");
    free(x);
    free(y);
}

static void store_pair(sqlite3 *db, imgpar_array *const *images)
{
    const imgpar_options options = { .struct_size = sizeof options, .format = "npy" };
    sqlite3_stmt *stmt;
    run(db, "DELETE FROM pair");
    ck_assert_int_eq(sqlite3_prepare_v2(db, "INSERT INTO pair VALUES(?1, ?2)", -1, &stmt, NULL), SQLITE_OK);
    for (int k = 0; k < 2; k++) {
        void *bytes;
        size_t n;
        ck_assert_int_eq(imgpar_encode_exact(images[k], &options, &bytes, &n), IMGPAR_OK);
        sqlite3_bind_blob(stmt, k + 1, bytes, (int)n, SQLITE_TRANSIENT);
        imgpar_free(bytes);
    }
    ck_assert_int_eq(sqlite3_step(stmt), SQLITE_DONE);
    sqlite3_finalize(stmt);
}

/* True where the composition has a value that is no single number. */
static bool compare_surfaces(sqlite3 *db, imgpar_context *ctx, uint64_t seed)
{
    composition c = compose(seed);
    imgpar_array *images[2] = { make_image(ctx, &c, 0), make_image(ctx, &c, 1) };
    imgpar_array *wanted = in_c(ctx, &c, images), *text = as_text(ctx, &c, images);
    imgpar_info info = { .struct_size = sizeof info };
    bool fails = imgpar_array_info(wanted, &info) != IMGPAR_OK, compares = !fails && info.rank > 1;
    store_pair(db, images);
    if (!fails)
        expect_equal(&c, "one text", wanted, text);
    else if (!imgpar_array_status(text))
        explain(&c, "one text", "it does not fail as C does");
    for (int k = 0; k < N_SURFACES; k++) {
        imgpar_array *got = in_sql(db, ctx, &c, (surface)k);
        if (fails && got)
            explain(&c, surface_names[k], "it does not fail as C does");
        else if (compares)
            expect_equal(&c, surface_names[k], wanted, got);
        imgpar_array_release(got);
    }
    imgpar_array_release(wanted);
    imgpar_array_release(text);
    imgpar_array_release(images[0]);
    imgpar_array_release(images[1]);
    return compares;
}

static uint64_t number_of(const char *variable, uint64_t otherwise)
{
    const char *value = getenv(variable);
    return value ? strtoull(value, NULL, 10) : otherwise;
}

static void compare_many(const char *device, uint64_t n)
{
    imgpar_context *ctx;
    sqlite3 *db = open_db();
    uint64_t first = number_of("IMGPAR_AGREE_SEED", 1), n_compared = 0;
    ck_assert_int_eq(imgpar_context_new(device, &ctx), IMGPAR_OK);
    run(db, "CREATE TABLE pair(a, b)");
    if (device) run(db, "SELECT img_setting('device', 'ref')");
    for (uint64_t k = 0; k < n; k++)
        n_compared += compare_surfaces(db, ctx, first + k);
    printf("%s: %llu compositions from seed %llu on, %llu of them with a value\n", device ? device : "kernels",
           (unsigned long long)n, (unsigned long long)first, (unsigned long long)n_compared);
    ck_assert_msg(n_compared * 2 > n || n < 20, "only %llu of %llu have a value", (unsigned long long)n_compared,
                  (unsigned long long)n);
    sqlite3_close(db);
    imgpar_context_release(ctx);
}

START_TEST(all_surfaces_agree_on_the_interpreter) { compare_many("ref", number_of("IMGPAR_AGREE_N", 300)); }
END_TEST

START_TEST(all_surfaces_agree_on_kernels) { compare_many(NULL, number_of("IMGPAR_AGREE_KERNELS", 4)); }
END_TEST

int main(void)
{
    Suite *suite = suite_create("sql agrees");
    TCase *tc = tcase_create("agrees");
    suite_add_tcase(suite, tc);
    tcase_add_test(tc, all_surfaces_agree_on_the_interpreter);
    tcase_add_test(tc, all_surfaces_agree_on_kernels);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
