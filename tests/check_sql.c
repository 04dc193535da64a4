/* SPDX-License-Identifier: MIT */
/*
 * The SQLite module, loaded into a program of our own (so that it may be sanitized):
 * exact messages, hostile recipes, shared memory, limits, interruption, failing allocations.
 *
 * What SQL shapes give is in tests/check_sql_shapes.c and tests/sql.
 */
#include "sql_help.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <time.h>
#include <unistd.h>

/* ---- messages ---------------------------------------------------------------------------- */

static const struct {
    const char *sql, *message;
} messages[] = {
    { "SELECT blur(" GRAY ", -1)", "blur(): sigma must be 0..1000, got -1" },
    { "SELECT img_blur(" GRAY ", 'sigma=-1')", "img_blur(): sigma must be 0..1000, got -1" },
    { "SELECT blur(lazy(" GRAY "), -1)", "blur(): sigma must be 0..1000, got -1" },
    { "SELECT apply('complex(3, 4)')",
      "apply(): the result is a complex number, and SQL has none: take real, imag or abs of it" },
    { "SELECT blur(" GRAY ", 'fast')", "blur(): sigma='fast' is not a number" },
    { "SELECT blur(" GRAY ", 'sigmo=2')",
      "blur(): there is no option sigmo; there are sigma, border, truncate, cval, alpha" },
    { "SELECT img_median(" GRAY ", '3x')", "img_median(): size='3x' is not an integer" },
    { "SELECT blur(" GRAY ", x'01')", "blur(): sigma must be a number, got a blob" },
    { "SELECT blur(" GRAY ", 'sigma=1', 'wrap')",
      "blur(): argument 3: an option by position cannot follow one with a name" },
    { "SELECT blur()", "blur(): takes 1 image (a), got 0 arguments" },
    { "SELECT blend(" GRAY ")", "blend(): takes 2 images (a, b), got 1 argument" },
    { "SELECT img_invert(" GRAY ", 1)", "img_invert(): got 1 option, takes none" },
    { "SELECT blur('a.png')", "blur(): argument 1 is a text, not an image (readfile() and img_files() read files)" },
    { "SELECT blur(7)", "blur(): argument 1 is a number, not an image" },
    { "SELECT img_percentiles(" GRAY ", '[5 50 95]')",
      "img_percentiles(): argument 2 is a text, not an image (img_numbers('[1 2 3]') makes an array of a list)" },
    { "SELECT img_try(img_mean(" GRAY "))",
      "img_try(): argument 1 is what was measured, not an image: img_try() goes around the image, as in "
      "img_mean(img_try(img))" },
    { "SELECT img_try(img_pixel(" RGB ", 0, 0))",
      "img_try(): argument 1 is what was measured, not an image: img_try() goes around the image, as in "
      "img_mean(img_try(img))" },
    { "SELECT img_add(1, 2)", "img_add(): argument 1 is a number, not an image" },
    { "SELECT blend(" GRAY ", x'')", "blend(): argument 2 is an empty blob, not an image" },
    { "SELECT convolve(" GRAY ", '[1 x]')", "convolve(): matrix='[1 x]' is not a matrix" },
    { "SELECT convolve(" GRAY ", '[1 2')", "convolve(): matrix='[1 2' is not a matrix" },
    { "SELECT convolve(" GRAY ", '[1 2] / 4, scale=3')", "convolve(): matrix='[1 2] / 4, scale=3' is not a matrix" },
    { "SELECT convolve(" GRAY ", '[1 2 1] / [1 2]')",
      "convolve(): matrix=[1 2 1] / [1 2]: '/': one is 1x3, the other 1x2; their rows and columns must be equal or 1" },
    { "SELECT blur(x'0102')", "blur(): argument 1: not an image: neither PNG, JPEG, NPY, PNM, .cube nor a font" },
    { "SELECT png(substr(img_invert(" GRAY "), 1, 60))", "png(): PNG: the data ends early" },
    { "SELECT img_width(x'89504e470d0a1a0a0000')", "img_width(): argument 1: PNG: the data ends early" },
    { "SELECT blend(" GRAY ", " RGB ")",
      "blend(): a is 4x3, b is 2x1; resize() or crop() one to the size of the other" },
    { "SELECT png(blend(" GRAY ", lazy(" RGB ")))",
      "png(): image > blend: a is 4x3, b is 2x1; resize() or crop() one to the size of the other" },
    { "SELECT png(img_invert(crop(lazy(" GRAY "), 0, 0, 9, 1)))",
      "png(): image > crop > invert: crop: x=0 and width=9 reach beyond the width 4" },
    { "SELECT apply('blurr($1, 2)', " GRAY ")", "apply(): 1:1: unknown operation blurr (near: blur)\nblurr($1, 2)\n^" },
    { "SELECT png(" GRAY ", 'foo=7')", "png(): unknown setting foo; there are bits, level, metadata, range" },
    { "SELECT save(" GRAY ", '/nonexistent/x.png')", "save(): /nonexistent/x.png: there is no folder /nonexistent" },
    { "SELECT img_setting('schedule', 'best')",
      "img_setting(): schedule=best: one of auto|rows|tiles|texture|pixels|ref is expected" },
    { "SELECT png(lazy('a.png'))", "png(): a text, not an image (readfile() and img_files() read files)" },
    { "SELECT png(" GRAY ", 3)", "png(): argument 2 is not a text of settings" },
    { "SELECT img_width('a')",
      "img_width(): argument 1 is a text, not an image (readfile() and img_files() read files)" },
    { "SELECT img_width(substr(lazy(" GRAY "), 1, 100))",
      "img_width(): argument 1: the deferred image is damaged (record 1: cut off)" },
    { "SELECT png(substr(lazy(" GRAY "), 1, 50))",
      "png(): argument 1: a damaged deferred image, or one of another version" },
    { "SELECT apply('$1' || char(0), " GRAY ")", "apply(): argument 1: a pipeline is text, this has a zero byte" },
    { "SELECT save(" GRAY ", '/nonexistent/x.png' || char(0) || 'x')",
      "save(): argument 2: a path is text, this has a zero byte" },
    { "SELECT save(" GRAY ", '/nonexistent/x.png', 'level=1' || char(0) || '0')",
      "save(): argument 3: settings are text, this has a zero byte" },
    { "SELECT png(" GRAY ", 'level=1' || char(0) || '0')",
      "png(): argument 2: settings are text, this has a zero byte" },
    { "SELECT blur(" GRAY ", 'sigma=1' || char(0) || '0')",
      "blur(): argument 2: an option is text, this has a zero byte" },
    { "SELECT montage(" GRAY ", 'columns=1' || char(0) || '0')",
      "montage(): argument 2: an option is text, this has a zero byte" },
    { "SELECT img_ssim(" GRAY ", " GRAY ", 'reflect' || char(0))",
      "img_ssim(): argument 3: edges is text, this has a zero byte" },
    { "SELECT img_exif(" GRAY ", 'Model' || char(0))", "img_exif(): argument 2: a tag is text, this has a zero byte" },
    { "SELECT img_setting('fuse', '1' || char(0) || '0')",
      "img_setting(): argument 2: a value is text, this has a zero byte" },
    { "SELECT * FROM img_files('/nonexistent' || char(0))",
      "img_files(): argument 1: a folder is text, this has a zero byte" },
    { "SELECT * FROM img_files('/nonexistent', '*' || char(0) || 'x')",
      "img_files(): argument 2: a glob is text, this has a zero byte" },
    { "SELECT * FROM img_files('/nonexistent', '*', '1' || char(0))",
      "img_files(): argument 3: recursive is 0 or 1, this has a zero byte" },
    { "SELECT * FROM img_files('/nonexistent', '*', 'yes')", "img_files(): recursive must be 0 or 1, got yes" },
    { "SELECT * FROM img_files('/nonexistent', '*', 2)", "img_files(): recursive must be 0 or 1, got 2" },
    { "CREATE VIRTUAL TABLE temp.f USING imgpar_folder(dir='/nonexistent', recursive=on)",
      "imgpar_folder(): recursive must be 0 or 1, got on" },
    { "CREATE VIRTUAL TABLE temp.f USING imgpar_folder(dir='/nonexistent', recursive=)",
      "imgpar_folder(): recursive must be 0 or 1, got " },
    { "SELECT topk(img_numbers('[3 1 2]'), 5)", "topk(): k=5 is above the 3 elements of axis 0" },
    { "SELECT topk(img_numbers('[3 1 2]'), -5)", "topk(): k must be 0..2147483647, got -5" },
    { "SELECT frame(" GRAY ", 1, 'nix')",
      "frame(): color=\"nix\" is neither a number nor a colour by its name or #rrggbb" },
    { "SELECT frame(" GRAY ", 1, 'orange')", "frame(): color is a colour, and a is gray, which takes grays; duotone(a, "
                                             "\"black\", \"white\") is the same in RGB" },
    { "SELECT img_psnr(duotone(" GRAY ", 'black', 'white'), " GRAY ")",
      "img_psnr(): a is 4x3x3, b is 4x3x1; gray(a) makes a gray, too" },
    { "SELECT psnr(" GRAY ", duotone(" GRAY ", 'black', 'white'))",
      "psnr(): a is 4x3x1, b is 4x3x3; gray(b) makes b gray, too" },
    { "SELECT apply()", "apply(): takes a text and up to 9 images, got 0 arguments" },
    { "SELECT grad('sum($1)')", "grad(): takes a text and 1 to 9 images, got 1 argument" },
    { "SELECT grad('$1', " GRAY ")", "grad(): loss is [3, 4, 1]; it must be one number, as sum() and mean() give" },
    { "SELECT img_grad('mean($2)', " GRAY ", " GRAY ")",
      "img_grad(): grad: the loss is not computed from a; give the array a name, and that name to both" },
    { "SELECT grad('sum(blur($1, 1))', " GRAY ")",
      "grad(): the loss depends on what it is differentiated by only through blur, which does not change smoothly" },
    { "SELECT apply(" GRAY ")", "apply(): argument 1 is not a text in the pipeline language" },
    { "SELECT apply('$1', 'a.png')",
      "apply(): argument 1 is a text, not an image (readfile() and img_files() read files)" },
    { "SELECT * FROM histogram",
      "histogram(): argument 1 is missing; takes (source, bins, only_channel, lowest, highest), at least 1" },
    { "SELECT * FROM histogram(" GRAY ", 4, 1)", "histogram(): channel=1: the image has 1" },
    { "SELECT * FROM histogram(" GRAY ", 4, -2)", "histogram(): channel=-2: the image has 1" },
    { "SELECT * FROM histogram(" GRAY ", 'x')", "histogram(): bins is not a whole number" },
    { "SELECT * FROM histogram(" GRAY ", 0)", "histogram(): bins must be 1..65536, got 0" },
    { "SELECT * FROM histogram(" GRAY ", 4, -1, 'x')", "histogram(): lowest is not a number" },
    { "SELECT * FROM histogram(" GRAY ", 4, -1, 9, 9)", "histogram(): lo=9 is not below hi=9" },
    { "SELECT img_ssim(" GRAY ", " GRAY ")", "img_ssim(): the window of 11x11 does not fit the image of 4x3; with the "
                                             "third argument 'reflect' its edges are mirrored" },
    { "SELECT img_ssim(" GRAY ", " GRAY ", 'edges=wrap')", "img_ssim(): edges=wrap is not one of valid, reflect" },
    { "SELECT img_ssim(" GRAY ", " GRAY ", 'wrap')", "img_ssim(): edges=wrap is not one of valid, reflect" },
    { "SELECT img_psnr(" GRAY ", " GRAY ", 'x')", "img_psnr(): peak is not a number" },
    { "SELECT img_psnr(" GRAY ", " GRAY ", 1e999)", "img_psnr(): peak=Inf is not finite" },
    { "SELECT * FROM histogram(7)", "histogram(): argument 1 is a number, not an image" },
    { "SELECT img_setting('colour', 'red')", "img_setting(): there is no setting \"colour\"; there are device, "
                                             "schedule, fuse, max_pixels, mem_limit, host_limit, placement, tier" },
    { "SELECT blur(" GRAY ", 'sigmaX=2')",
      "blur(): there is no option sigmaX; there are sigma, border, truncate, cval, alpha; that is sigma" },
    { "SELECT blur(" GRAY ", 2, 'sigmaX=2')",
      "blur(): there is no option sigmaX; there are sigma, border, truncate, cval, alpha; that is sigma" },
    { "SELECT img_unique(" GRAY ", 'return_counts=true')",
      "img_unique(): there is no option return_counts; it takes none; that is img_unique_counts(a)" },
    { "SELECT img_invert(" GRAY ", 'foo=true')", "img_invert(): got 1 option, takes none" },
};

START_TEST(a_message_names_function_value_and_rule)
{
    sqlite3 *db = open_db();
    expect_error(db, messages[_i].sql, SQLITE_ERROR, messages[_i].message);
    sqlite3_close(db);
}
END_TEST

/* What measures say of numbers that are none: a, b, of four f32: 1 2 nan 4 and 1 2 inf 4, c: 1e9 + 0 1 2 3 in f64. */
#define SPECIAL(K, T) "apply('cast(select(x == 2, " K ", $1 + 1.0), " T ")', apply('make(4, 1, x)'))"
#define LEVEL "apply('cast(make(4, 1, x), f64) + 1000000000', " GRAY ")"
#define HALVES "apply('cast(make(8, 1, x), f32) * 0.5 - 1')" /* -1 -0.5 ... 2.5 */
static const struct {
    const char *sql, *answer;
} measured[] = {
    { "SELECT img_psnr(" SPECIAL("nan", "f32") ", " SPECIAL("0", "f32") ") IS NULL", "1" },
    { "SELECT img_psnr(" SPECIAL("0", "f32") ", " SPECIAL("0", "f32") ")", "Inf" },
    { "SELECT img_std(" SPECIAL(
          "nan", "f32") ") IS NULL AND (SELECT std IS NULL AND mean IS NULL AND sum IS NULL AND min = 1 AND max = 4"
                        " FROM img_stats_of(" SPECIAL("nan", "f32") "))",
      "1" },
    { "SELECT img_std(" SPECIAL(
          "inf", "f32") ") IS NULL AND (SELECT std IS NULL AND max = 9e999 FROM img_stats_of(" SPECIAL("inf",
                                                                                                       "f32") "))",
      "1" },
    { "SELECT round(img_std(" LEVEL "), 9) || '|' || (SELECT round(std, 9) FROM img_stats_of(" LEVEL "))",
      "1.118033989|1.118033989" },
    { "SELECT group_concat(count) || '|' || group_concat(round(percent)) || '|' || min(lo) || '|' || max(hi)"
      " FROM histogram(" HALVES ", 4)",
      "1,0,1,1|33.0,0.0,33.0,33.0|0.0|1.0" },
    { "SELECT group_concat(count) || '|' || group_concat(percent) || '|' || min(lo) || '|' || max(hi)"
      " FROM histogram(" HALVES ", 2, -1, -1, 1)",
      "2,3|40.0,60.0|-1.0|1.0" },
    { "SELECT group_concat(lo || '..' || hi || ':' || count, ' ') FROM histogram(" GRAY ", 2, 0, 48, 122)",
      "48..84:3 85..122:7" },
    { "SELECT img_std(apply('cast(make(3001, 2999, 65535), u16)'))", "0.0" },
    { "SELECT round(img_std(apply('cast(make(4, 3, x * y * 1000), u16)')), 6) || '|' || "
      "img_std(apply('make(4, 1, x) > 1'))",
      "1892.969449|0.5" },
    { "SELECT count(*) || '|' || max(x) FROM pixels(apply('make(10, 4, x + y)'), -1000, 0, 1005, 4)", "20|4" },
    { "SELECT count(*) || '|' || min(x) || '|' || min(y) || '|' || max(y)"
      " FROM pixels(apply('make(10, 4, x + y)'), 7, -9000000000000000000, 9223372036854775807, 9000000000000000003)",
      "9|7|0|2" },
    { "SELECT count(*) FROM pixels(apply('make(10, 4, x + y)'), -9223372036854775807, 0, 9223372036854775807, 4)",
      "0" },
    { "SELECT count(*) FROM pixels(apply('make(10, 4, x + y)'), 9, 0, -9223372036854775807, 4)", "0" },
};

START_TEST(measures_agree_on_numbers_that_are_none)
{
    sqlite3 *db = open_db();
    expect(db, measured[_i].sql, measured[_i].answer);
    sqlite3_close(db);
}
END_TEST

/* Wang et al. 2004 with the window of their ssim_index.m, one pixel at a time in double. */
START_TEST(ssim_counts_the_windows_that_lie_inside)
{
    enum { W = 14, H = 12, R = 5 };
    double weight[2 * R + 1][2 * R + 1], total = 0, sum = 0;
    char file[2][64 + W * H], text[64];
    for (int k = 0; k < 2; k++) {
        int n = sprintf(file[k], "P5 %d %d 255\n", W, H);
        for (int i = 0; i < W * H; i++)
            file[k][n + i] = (char)(k ? (i * 37 + i * i % 11) % 200 + 20 : (i * 37) % 200 + 25);
    }
    for (int y = -R; y <= R; y++)
        for (int x = -R; x <= R; x++)
            total += weight[y + R][x + R] = exp(-(x * x + y * y) / 4.5);
    int at = sprintf(text, "P5 %d %d 255\n", W, H);
    for (int y = R; y < H - R; y++) {
        for (int x = R; x < W - R; x++) {
            double m[5] = { 0 };
            for (int k = 0; k < (2 * R + 1) * (2 * R + 1); k++) {
                int i = at + (y + k / 11 - R) * W + x + k % 11 - R;
                double w = weight[k / 11][k % 11] / total, a = (unsigned char)file[0][i], b = (unsigned char)file[1][i];
                m[0] += w * a, m[1] += w * b, m[2] += w * a * a, m[3] += w * b * b, m[4] += w * a * b;
            }
            double c1 = 2.55 * 2.55, c2 = 7.65 * 7.65;
            sum += (2 * m[0] * m[1] + c1) * (2 * (m[4] - m[0] * m[1]) + c2) /
                   ((m[0] * m[0] + m[1] * m[1] + c1) * (m[2] - m[0] * m[0] + m[3] - m[1] * m[1] + c2));
        }
    }
    sqlite3 *db = open_db();
    char *sql = sqlite3_mprintf("SELECT abs(img_ssim(?1, CAST(x'"), *longer;
    for (int i = 0; i < at + W * H; i++, sql = longer) {
        longer = sqlite3_mprintf("%s%02x", sql, (unsigned char)file[1][i]);
        sqlite3_free(sql);
    }
    longer = sqlite3_mprintf("%s' AS BLOB)) - %.17g) < 1e-9", sql, sum / ((W - 2 * R) * (H - 2 * R)));
    int rc;
    char *answer = ask_with(db, longer, file[0], at + W * H, &rc);
    ck_assert_msg(answer && strcmp(answer, "1") == 0, "%s", sqlite3_errmsg(db));
    free(answer);
    sqlite3_free(sql);
    sqlite3_free(longer);
    sqlite3_close(db);
}
END_TEST

/* What is wrong with the pixels is told where they are computed, so a statement can go on; what is wrong with any
 * image, at once. */
static const struct {
    const char *image, *error;
} tried[] = {
    { "img_invert(lazy(" GRAY "))", NULL },
    { "blend(lazy(" GRAY "), lazy(" RGB "), 0.5)",
      "image > blend: a is 4x3, b is 2x1; resize() or crop() one to the size of the other" },
    { "img_invert(crop(lazy(" GRAY "), 0, 0, 9, 1))",
      "image > crop > invert: crop: x=0 and width=9 reach beyond the width 4" },
    { "blur(lazy(x'0102'), 2)", "image > blur: not an image: neither PNG, JPEG, NPY, PNM, .cube nor a font" },
    { "blur(lazy(x''), 2)", "image > blur: an empty blob, not an image" },
    { "blur(lazy('a.png'), 2)", "image > blur: a text, not an image (readfile() and img_files() read files)" },
    { "blur(lazy(7), 2)", "image > blur: a number, not an image" },
    { "lazy(0.5)", "a number, not an image" },
    { "blend(lazy(" GRAY "), lazy(''), 0.5)",
      "image > blend: a text, not an image (readfile() and img_files() read files)" },
    { "x''", "argument 1 is an empty blob, not an image" },
    { "'a.png'", "argument 1 is a text, not an image (readfile() and img_files() read files)" },
};

START_TEST(img_try_goes_on)
{
    sqlite3 *db = open_db();
    char *sql = sqlite3_mprintf("SELECT (img_try(%s) IS NULL) || '|' || coalesce(img_error(%s), 'none')",
                                tried[_i].image, tried[_i].image);
    char *expected = sqlite3_mprintf("%d|%s", tried[_i].error != NULL, tried[_i].error ? tried[_i].error : "none");
    expect(db, sql, expected);
    sqlite3_free(sql);
    sqlite3_free(expected);
    expect_error(db, "SELECT img_try(blur(lazy(" GRAY "), -1))", SQLITE_ERROR, "blur(): sigma must be 0..1000, got -1");
    expect(db, "SELECT img_error(7)", "argument 1 is a number, not an image");
    expect(db, "SELECT typeof(img_mean(img_try(x'0102')))", "null");
    sqlite3_close(db);
}
END_TEST

/* The same where the functions take plain columns, because a table defers them. */
START_TEST(img_try_goes_on_in_a_table)
{
    sqlite3 *db = open_db();
    run(db, "CREATE TABLE t(img); INSERT INTO t VALUES (x''), ('text'), (7), (x'0102'), (NULL), (" GRAY ")");
    run(db, "CREATE VIRTUAL TABLE temp.d USING imgpar(SELECT img_try(blur(img, 1)) AS small, img_error(blur(img, 1)) "
            "AS why FROM t)");
    expect(db, "SELECT count(small) || '|' || count(why) || '|' || max(why) FROM d",
           "1|4|image > blur: not an image: neither PNG, JPEG, NPY, PNM, .cube nor a font");
    expect(db, "SELECT group_concat(why, '; ') FROM d WHERE why NOT LIKE '%neither%'",
           "image > blur: an empty blob, not an image; image > blur: a text, not an image (readfile() and img_files() "
           "read files); "
           "image > blur: a number, not an image");
    sqlite3_close(db);
}
END_TEST

/* Rows of a table are fetched ahead, two, then four; the fifth of eight fails in the SELECT. */
START_TEST(a_row_that_fails_is_told_behind_those_before_it)
{
    static const char message[] =
        "img_width(): argument 1: not an image: neither PNG, JPEG, NPY, PNM, .cube nor a font";
    sqlite3 *db = open_db();
    run(db, "CREATE TABLE p(id INTEGER PRIMARY KEY, img); INSERT INTO p WITH RECURSIVE n(k) AS "
            "(SELECT 1 UNION ALL SELECT k + 1 FROM n WHERE k < 8) SELECT k, iif(k = 5, x'0102', " GRAY ") FROM n;"
            "CREATE VIRTUAL TABLE temp.d USING imgpar(SELECT id, lazy(" GRAY ") AS i, img_width(img) AS w FROM p)");
    sqlite3_stmt *stmt;
    ck_assert_int_eq(sqlite3_prepare_v2(db, "SELECT id, length(i) > 0, w FROM d", -1, &stmt, NULL), SQLITE_OK);
    for (int scan = 0; scan < 2; scan++) {
        for (int k = 1; k <= 4; k++) {
            ck_assert_int_eq(sqlite3_step(stmt), SQLITE_ROW);
            ck_assert_int_eq(sqlite3_column_int(stmt, 0), k);
            ck_assert_int_eq(sqlite3_column_int(stmt, 1), 1);
            ck_assert_int_eq(sqlite3_column_int(stmt, 2), 4);
        }
        ck_assert_int_eq(sqlite3_step(stmt), SQLITE_ERROR);
        ck_assert_str_eq(sqlite3_errmsg(db), message);
        sqlite3_reset(stmt);
    }
    ck_assert_int_eq(sqlite3_step(stmt), SQLITE_ROW); /* one that is left before its failure is told */
    ck_assert_int_eq(sqlite3_step(stmt), SQLITE_ROW);
    sqlite3_finalize(stmt);
    expect(db, "SELECT sum(length(i) > 0) FROM (SELECT i FROM d WHERE length(i) > 0 LIMIT 4)", "4");
    expect_error(db, "SELECT w FROM d WHERE id > 4", SQLITE_ERROR, message);
    expect(db, "SELECT w FROM d WHERE id > 5", "4");
    sqlite3_close(db);
}
END_TEST

/* ---- finished and deferred images are the same values ------------------------------------------------ */

/* What each gives must not depend on whether an inner result was a finished image; MASK is of 6 ones in 12. */
#define MASK "apply('$1 > 100', " GRAY ")"
/* Of [1 2+i; 3+i 4], whose square is [6+5i 10+5i; 15+5i 21+5i]. */
#define PAIRS "apply('complex(numbers([1 2; 3 4], dtype=f64), numbers([0 1; 1 0], dtype=f64))')"
static const struct {
    const char *eager, *deferred, *wanted;
} alike[] = {
    { "img_mean(" MASK ")", "img_mean(apply('$1 > 100', lazy(" GRAY ")))", "0.5" },
    { "img_dtype(" MASK ")", "img_dtype(apply('$1 > 100', lazy(" GRAY ")))", "bool" },
    { "img_format(" MASK ")", NULL, "png" },
    { "hex(raw(frame(" RGB ", 1, '#010203')))", "hex(raw(frame(lazy(" RGB "), 1, 'color=#010203')))",
      "010203010203010203010203"
      "010203524742726762010203"
      "010203010203010203010203" },
    { "hex(raw(img_fill(1, 1, 'Orange', 3)))", NULL, "FFA500" },
    { "hex(raw(img_pad(img_fill(1, 1, 7, 3), '[0 1]', 'cval=tan')))",
      "hex(raw(img_pad(lazy(img_fill(1, 1, 7, 3)), '[0 1]', 'cval=[210 180 140]')))", "D2B48C070707D2B48C" },
    { "img_maxval(apply('$1 + $1', " MASK "))", "img_maxval(apply('$1 + $1', apply('$1 > 100', lazy(" GRAY "))))",
      "2" },
    { "img_pixel(png(" MASK "), 3, 0)", "img_pixel(png(apply('$1 > 100', lazy(" GRAY "))), 3, 0)", "255" },
    { "hex(raw(apply('sort($1, axis=-1)', apply('cast(numbers([3 1 2; 9 7 8]), u8)'))))",
      "hex(raw(apply('sort(cast(numbers([3 1 2; 9 7 8]), u8), axis=-1)')))", "010203070809" },
    { "img_info(apply('cast(numbers([3 1 2; 9 7 8]), u8)')) ->> 'shape'", NULL, "[2,3]" },
    { "img_info(apply('$1 * 0.5', " RGB ")) ->> 'space'", "img_info(apply('$1 * 0.5', lazy(" RGB "))) ->> 'space'",
      "srgb" },
    /* 2 (a - 1), of a kept blur and without */
    { "hex(raw(grad('sum(($1 - 1) ** 2)', apply('numbers([1 2; 5 0]) * 1.0'))))",
      "hex(raw(grad('sum(($1 - 1) ** 2)', apply('numbers([1 2; 5 0]) * 1.0', lazy(" GRAY ")))))",
      "000000000000004000000041000000C0" },
    { "hex(raw(img_grad('sum($1 * $2)', apply('$1 * 0.5', " RGB "), img_gray(" RGB "))))"
      " = hex(raw(img_grad('sum($1 * $2)', apply('$1 * 0.5', lazy(" RGB ")), img_gray(lazy(" RGB ")))))",
      NULL, "1" },
    { "hex(raw(apply('$1 * 2', grad('sum(blur($1 / 2, 1) ** 2)', " GRAY "))))"
      " = hex(raw(apply('$1 * 2', grad('sum(blur($1 / 2, 1) ** 2)', lazy(" GRAY ")))))",
      NULL, "1" },
    { "hex(raw(grad('sum($1 * $2)', " GRAY ", " GRAY "))) = hex(raw(apply('$1 * 1.0', " GRAY ")))", NULL, "1" },
    { "hex(raw(grad('sum($1 * $2)', lazy(" GRAY "), lazy(" GRAY ")))) = hex(raw(apply('$1 * 1.0', " GRAY ")))", NULL,
      "1" },
    { "img_info(grad('sum($1)', " GRAY ")) ->> 'dtype'", "img_info(grad('sum($1)', lazy(" GRAY "))) ->> 'dtype'",
      "f32" },
    { "grad('sum($1)', NULL) IS NULL", NULL, "1" },
    { "img_dtype(" PAIRS ")", "img_dtype(apply('conj($1)', lazy(" PAIRS ")))", "complex128" },
    { "hex(raw(apply('matmul($1, $1)', " PAIRS ")))", "hex(raw(apply('matmul($1, $1)', lazy(" PAIRS "))))",
      "000000000000184000000000000014400000000000002440000000000000144"
      "00000000000002E40000000000000144000000000000035400000000000001440" },
    { "apply('real(sum($1)) + imag(sum($1)) / 8', apply('matmul($1, $1)', " PAIRS "))",
      "apply('real(sum($1)) + imag(sum($1)) / 8', apply('matmul($1, $1)', lazy(" PAIRS ")))", "54.5" },
    { "hex(raw(apply('real(fft($1, axis=0))', " PAIRS ")))",
      "hex(raw(apply('real(fft($1, axis=0))', lazy(" PAIRS "))))",
      "0000000000001040000000000000184000000000000000C000000000000000C0" },
};

START_TEST(a_value_is_the_same_finished_and_deferred)
{
    sqlite3 *db = open_db();
    char *sql = sqlite3_mprintf("SELECT %s", alike[_i].eager);
    expect(db, sql, alike[_i].wanted);
    sqlite3_free(sql);
    if (alike[_i].deferred) {
        sql = sqlite3_mprintf("SELECT %s", alike[_i].deferred);
        expect(db, sql, alike[_i].wanted);
        sqlite3_free(sql);
    }
    sqlite3_close(db);
}
END_TEST

START_TEST(sinks_write_nothing_private)
{
    sqlite3 *db = open_db();
    expect(db, "SELECT instr(" MASK ", 'imGP') > 0", "1");
    expect(db, "SELECT instr(png(" MASK "), 'imGP') + instr(npy(apply('$1 * 0.5', " RGB ")), 'imgpar')", "0");
    expect(db, "SELECT instr(img_invert(" RGB "), 'imGP')", "0"); /* any reader takes it for what it is */
    sqlite3_close(db);
}
END_TEST

/* ---- work is done once --------------------------------------------------------------------------------- */

/* Statements about a PNG in t, and how often it is decoded and something encoded. */
static const struct {
    const char *sql;
    int decodes, encodes;
} once[] = {
    { "SELECT count(*), sum(img_mean(image)) FROM t, img_tiles(lazy(img), 8, 8)", 1, 0 },
    { "SELECT count(*), sum(mean) + sum(perimeter) FROM t, img_regions(threshold(lazy(img), 99), lazy(img))", 1, 0 },
    { "SELECT sum(a.v * b.v) FROM t, pixels(img, 0, 0, 9, 1) a JOIN pixels(img, 0, 1, 9, 1) b", 1, 0 },
    { "SELECT img_mean(img), img_maxval(img), img_minval(img) FROM t", 1, 0 },
    { "SELECT length(img_try(boxblur(lazy(img), 3))), img_error(boxblur(lazy(img), 3)) FROM t", 1, 1 },
    { "SELECT length(jpeg(img_try(boxblur(lazy(img), 3)))) FROM t", 1, 2 },
    { "SELECT length(img_try(png(boxblur(lazy(img), 3)))) FROM t", 1, 1 },
    { "SELECT length(img_invert(img_invert(img_invert(img)))) FROM t", 1, 3 },
};

START_TEST(a_picture_is_decoded_once)
{
    sqlite3 *db = open_db();
    char *wanted = sqlite3_mprintf("%d|%d", once[_i].decodes, once[_i].encodes);
    run(db, "CREATE TABLE t AS SELECT png(apply('cast(make(64, 48, x * y), u8)')) AS img");
    run(db, "SELECT img_setting('device', 'ref')"); /* a new context: nothing is remembered */
    run(db, "CREATE TEMP TABLE before AS SELECT * FROM img_counters");
    run(db, once[_i].sql);
    expect(db,
           "SELECT group_concat(c.value - b.value, '|') FROM img_counters c JOIN before b USING (name) "
           "WHERE name IN ('decodes', 'encodes')",
           wanted);
    sqlite3_free(wanted);
    sqlite3_close(db);
}
END_TEST

START_TEST(a_result_without_pixels_is_npy)
{
    sqlite3 *db = open_db();
    expect(db, "SELECT img_format(apply('slice($1, 0, 0)', " GRAY "))", "npy");
    expect(db,
           "SELECT img_format(apply('find(cast($1 > 999, u16))', " GRAY
           ")) || length(raw(apply('slice($1, 0, 0)', " GRAY ")))",
           "npy0");
    sqlite3_close(db);
}
END_TEST

/* The text of apply() is not trusted: nothing in it reaches a file. */
START_TEST(apply_refuses_files)
{
    static const char *const texts[] = {
        "open(\"a.png\")", "blur(open(\"a.png\"), 1)", "save($1, \"a.png\")", "print($1)", "param p = 1\n$1",
    };
    sqlite3 *db = open_db();
    char sql[256];
    int rc;
    for (int lazy = 0; lazy < 2; lazy++) {
        snprintf(sql, sizeof sql, "SELECT apply('%s', %s(%s))", texts[_i], lazy ? "lazy" : "png", GRAY);
        free(ask_with(db, sql, NULL, 0, &rc));
        ck_assert_msg(rc == SQLITE_ERROR && !strncmp(sqlite3_errmsg(db), "apply(): ", 9), "%s: %d %s", sql, rc,
                      sqlite3_errmsg(db));
    }
    sqlite3_close(db);
}
END_TEST

/* ---- safety -------------------------------------------------------------------------------- */

START_TEST(files_settings_and_devices_are_refused_in_schemas)
{
    static const struct {
        const char *make, *use, *message;
    } cases[] = {
        { "CREATE VIEW v AS SELECT save(" GRAY ", 'x.png')", "SELECT * FROM v", "unsafe use of save()" },
        { "CREATE VIEW v AS SELECT img_setting('fuse', '0')", "SELECT * FROM v", "unsafe use of img_setting()" },
        { "CREATE VIEW v AS SELECT * FROM img_devices", "SELECT * FROM v",
          "unsafe use of virtual table \"img_devices\"" },
        { "CREATE VIEW v AS SELECT * FROM img_settings", "SELECT * FROM v",
          "unsafe use of virtual table \"img_settings\"" },
        { "CREATE TABLE a(x); CREATE TRIGGER r AFTER INSERT ON a BEGIN SELECT save(" GRAY ", 'x.png'); END",
          "INSERT INTO a VALUES (1)", "unsafe use of save()" },
    };
    for (int k = 0; k < N(cases); k++) {
        sqlite3 *db = open_db();
        run(db, cases[k].make);
        expect_error(db, cases[k].use, SQLITE_ERROR, cases[k].message);
        sqlite3_close(db);
    }
}
END_TEST

START_TEST(header_functions_are_innocuous_and_operations_need_trust)
{
    sqlite3 *db = open_db();
    sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    run(db, "CREATE VIEW h AS SELECT img_width(" GRAY ") || img_format(" GRAY ") || img_valid(x'00');"
            "CREATE VIEW o AS SELECT blur(" GRAY ", 1)");
    expect(db, "SELECT * FROM h", "4pnm0");
    expect_error(db, "SELECT * FROM o", SQLITE_ERROR, "unsafe use of blur()");
    sqlite3_close(db);
}
END_TEST

START_TEST(the_safe_entry_has_no_files_and_no_settings)
{
    sqlite3 *db;
    sqlite3_open(":memory:", &db);
    load(db, "sqlite3_imgparsafe_init");
    expect(db, "SELECT hex(raw(img_invert(lazy(" RGB "))))", "ADB8BD8D989D");
    expect_error(db, "SELECT save(" GRAY ", 'x.png')", SQLITE_ERROR, "no such function: save");
    expect_error(db, "SELECT img_setting('fuse', '0')", SQLITE_ERROR, "no such function: img_setting");
    expect(db, "SELECT img_warning()", "NULL");
    sqlite3_close(db);
}
END_TEST

/* A PNG of one pixel with a gAMA chunk, GAMMA being the chunk's data and sum. */
#define PNG_OF_GAMMA(GAMMA)                                                                      \
    "x'89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de0000000467414d41" GAMMA \
    "0000000c49444154789c63105030000000a4006134667d720000000049454e44ae426082'"
#define GAMMA_1 PNG_OF_GAMMA("000186a031e8965f")
#define GAMMA_2 PNG_OF_GAMMA("0000c3500099b534")

static const char *const meetings[] = {
    "SELECT blend(" GAMMA_1 ", " GAMMA_2 ", 0.5) IS NULL",
    "SELECT png(blend(lazy(" GAMMA_1 "), " GAMMA_2 ", 0.5)) IS NULL",
    "SELECT img_mean(blend(lazy(" GAMMA_1 "), " GAMMA_2 ", 0.5)) IS NULL",
    "SELECT apply('blend($1, $2, 0.5)', " GAMMA_1 ", " GAMMA_2 ") IS NULL",
    "SELECT img IS NULL FROM t",
};

START_TEST(img_warning_names_profiles_that_differ)
{
    sqlite3 *db = open_db();
    expect(db, "SELECT img_setting('device', 'ref')", "ref");
    run(db, "CREATE VIRTUAL TABLE temp.t USING imgpar(SELECT blend(" GAMMA_1 ", " GAMMA_2 ", 0.5) AS img)");
    expect(db, "SELECT blend(" GAMMA_1 ", " GAMMA_1 ", 0.5) IS NULL", "0");
    expect(db, "SELECT img_warning()", "NULL");
    expect(db, meetings[_i], "0");
    expect(db, "SELECT img_warning()",
           "blend: profiles differ: \"sRGB, gamma 1\" and \"sRGB, gamma 2\"; "
           "numbers are not converted, and the result is tagged as \"sRGB, gamma 1\"");
    sqlite3 *other = open_db(); /* which has seen none */
    expect(other, "SELECT img_warning()", "NULL");
    sqlite3_close(other);
    ck_assert_int_eq(sqlite3_close(db), SQLITE_OK);
}
END_TEST

/* Finished, deferred, by a text and in a table. */
static const char *const mixtures[] = {
    "SELECT absdiff(" RGB ", depth(" RGB ", 16)) IS NULL",
    "SELECT img_mean(absdiff(lazy(" RGB "), depth(lazy(" RGB "), 16))) IS NULL",
    "SELECT apply('absdiff($1, depth($1, 16))', " RGB ") IS NULL",
    "SELECT img IS NULL FROM t",
};

START_TEST(img_warning_names_whites_that_differ)
{
    sqlite3 *db = open_db();
    expect(db, "SELECT img_setting('device', 'ref')", "ref");
    run(db, "CREATE VIRTUAL TABLE temp.t USING imgpar(SELECT absdiff(" RGB ", depth(" RGB ", 16)) AS img)");
    expect(db, "SELECT img_warning()", "NULL");
    expect(db, mixtures[_i], "0");
    expect(db, "SELECT img_warning()",
           "absdiff: white is 255 and 65535; numbers are taken as they are, and depth(b, 8) brings b to the first");
    ck_assert_int_eq(sqlite3_close(db), SQLITE_OK);
}
END_TEST

START_TEST(rows_with_the_same_bytes_may_be_indexed)
{
    sqlite3 *db = open_db();
    run(db, "CREATE TABLE t(img BLOB, neg BLOB AS (img_invert(img)) STORED); CREATE INDEX i ON t(img_invert(img));"
            "INSERT INTO t(img) VALUES (" RGB ")");
    expect(db, "SELECT hex(raw(neg)) FROM t", "ADB8BD8D989D");
    run(db, "CREATE TABLE s(img BLOB, w INT AS (img_width(img)) STORED, f TEXT AS (img_format(img)) STORED); CREATE "
            "INDEX k ON s(img_height(img));"
            "INSERT INTO s(img) VALUES (" RGB ")");
    expect(db, "SELECT w || f || img_height(img) FROM s INDEXED BY k WHERE img_height(img) > 0", "2pnm1");
    expect_error(db, "CREATE INDEX j ON t(png(img))", SQLITE_ERROR,
                 "non-deterministic functions prohibited in index expressions");
    sqlite3_close(db);
}
END_TEST

/* ---- recipes ----------------------------------------------------------------------------------- */

#define RECIPE "SELECT blend(img_invert(boxblur(lazy(" GRAY "), 3)), apply('$1 + $2', lazy(" GRAY "), 3), 0.5)"

START_TEST(a_recipe_with_a_flipped_byte_is_an_error)
{
    sqlite3 *db = open_db();
    int n, rc;
    unsigned char *bytes = make_blob(db, RECIPE, &n);
    free(ask_with(db, "SELECT hex(raw(?1))", bytes, n, &rc));
    ck_assert_int_eq(rc, SQLITE_OK);
    for (int k = 0; k < n; k++) {
        bytes[k] ^= (unsigned char)(1 << k % 8);
        free(ask_with(db, "SELECT hex(raw(?1))", bytes, n, &rc));
        ck_assert_msg(rc == SQLITE_ERROR, "byte %d of %d flipped: %d", k, n, rc);
        bytes[k] ^= (unsigned char)(1 << k % 8);
    }
    free(bytes);
    sqlite3_close(db);
}
END_TEST

/* A value begins with the value it was made from, so a cut there, and only there, is an image. */
START_TEST(a_truncated_recipe_is_an_error_or_its_inner_value)
{
    sqlite3 *db = open_db();
    int n, rc, n_good = 0;
    unsigned char *bytes = make_blob(db, "SELECT img_invert(boxblur(lazy(" GRAY "), 3))", &n);
    for (int k = 0; k < n; k++) {
        unsigned char *cut = malloc((size_t)k + 1); /* its own block, so that a sanitizer sees over-reads */
        memcpy(cut, bytes, (size_t)k);
        free(ask_with(db, "SELECT hex(raw(?1))", cut, k, &rc));
        ck_assert_msg(rc == SQLITE_OK || rc == SQLITE_ERROR, "%d of %d bytes: %d", k, n, rc);
        n_good += rc == SQLITE_OK;
        free(cut);
    }
    ck_assert_int_eq(n_good, 2); /* lazy(...) and boxblur(lazy(...)) */
    free(bytes);
    sqlite3_close(db);
}
END_TEST

/* The first bytes of a recipe, then anything: nothing may crash, over-read or take memory without bound. */
START_TEST(random_records_are_errors)
{
    sqlite3 *db = open_db();
    int n, rc;
    unsigned seed = 1;
    unsigned char *bytes = make_blob(db, RECIPE, &n);
    for (int round = 0; round < 3000; round++) {
        unsigned char *copy = malloc((size_t)n);
        memcpy(copy, bytes, (size_t)n);
        for (int k = 0; k < 1 + round % 5; k++) {
            seed = seed * 1103515245u + 12345u;
            copy[80 + (seed >> 8) % (unsigned)(n - 80)] = (unsigned char)(seed >> 24);
        }
        int same = !memcmp(copy, bytes, (size_t)n);
        free(ask_with(db, "SELECT img_width(?1) + length(raw(?1))", copy, n, &rc));
        ck_assert_msg(same || rc == SQLITE_ERROR, "round %d: %d", round, rc);
        free(copy);
    }
    free(bytes);
    sqlite3_close(db);
}
END_TEST

/* n operations, one by one. */
#define CHAIN(n)                                                    \
    "WITH RECURSIVE r(n, l) AS (SELECT 0, lazy(" GRAY ") UNION ALL" \
    " SELECT n + 1, img_invert(l) FROM r WHERE n < " n ") SELECT max(n) FROM r"

START_TEST(a_deferred_image_has_a_greatest_depth)
{
    sqlite3 *db = open_db();
    expect(db, CHAIN("999"), "999");
    expect_error(db, CHAIN("1000"), SQLITE_ERROR,
                 "img_invert(): a deferred image is at most 1000 operations deep; finish it with png()");
    sqlite3_close(db);
}
END_TEST

/* ---- shared memory --------------------------------------------------------------------------------- */

START_TEST(nested_calls_share_one_copy_of_the_source)
{
    sqlite3 *db = open_db();
    int n, rc;
    unsigned char *image = big_image(2300, &n);                   /* 5 MB */
    free(ask_with(db, "SELECT length(lazy(?1))", image, n, &rc)); /* opens what is opened once */
    sqlite3_int64 before = sqlite3_memory_used();
    sqlite3_memory_highwater(1);
    free(ask_with(db, "SELECT length(img_invert(boxblur(img_invert(boxblur(img_invert(lazy(?1)), 3)), 3)))", image, n,
                  &rc));
    ck_assert_int_eq(rc, SQLITE_OK);
    sqlite3_int64 most = sqlite3_memory_highwater(0) - before;
    ck_assert_msg(most > n && most < n + n / 4, "%lld bytes for a source of %d", (long long)most, n);
    ck_assert_int_eq(sqlite3_memory_used(), before);
    free(image);
    sqlite3_close(db);
}
END_TEST

/* l is one value; each of the two functions on it appends a record of its own. */
START_TEST(the_second_append_to_a_prefix_copies)
{
    sqlite3 *db = open_db();
    expect(db,
           "SELECT hex(raw(a)) || ' ' || hex(raw(b)) || ' ' || hex(raw(l)) FROM"
           " (SELECT img_invert(l) AS a, img_invert(img_invert(l)) AS b, l FROM"
           " (SELECT lazy(" RGB ") AS l LIMIT 1))",
           "ADB8BD8D989D 524742726762 524742726762");
    sqlite3_close(db);
}
END_TEST

START_TEST(a_new_device_keeps_live_values)
{
    sqlite3 *db = open_db();
    sqlite3_stmt *stmt;
    run(db, "CREATE TABLE t(img)");
    run(db, "INSERT INTO t VALUES (" RGB "), (" RGB ")");
    const char *sql = "SELECT hex(raw(img_invert(l))) FROM (SELECT lazy(img) AS l FROM t LIMIT 2)";
    ck_assert_int_eq(sqlite3_prepare_v2(db, sql, -1, &stmt, NULL), SQLITE_OK);
    for (int k = 0; k < 2; k++) {
        ck_assert_int_eq(sqlite3_step(stmt), SQLITE_ROW);
        ck_assert_str_eq((const char *)sqlite3_column_text(stmt, 0), "ADB8BD8D989D");
        expect(db, "SELECT img_setting('device', 'ref')", "ref");
    }
    sqlite3_finalize(stmt);
    sqlite3_close(db);
}
END_TEST

START_TEST(rows_are_computed_by_several_devices)
{
    if (sysconf(_SC_NPROCESSORS_ONLN) < 2) return;
    sqlite3 *db = open_db();
    expect(db, "SELECT img_setting('device', 'cpu/2')", "cpu/2");
    expect_error(db, "SELECT img_setting('placement', '1:1:1')", SQLITE_ERROR,
                 "img_setting(): placement=1:1:1: auto is expected, the number of a device, from 0, "
                 "or weights such as 2:1, one for each device");
    run(db, "CREATE VIRTUAL TABLE temp.d USING imgpar(SELECT img_invert(" RGB
            ") AS img FROM json_each('[1, 2, 3, 4, 5, 6]'))");
    const char *const placements[] = { "auto", "1:1", "1" };
    for (int k = 0; k < 3; k++) {
        char sql[100];
        snprintf(sql, sizeof sql, "SELECT img_setting('placement', '%s')", placements[k]);
        expect(db, sql, placements[k]);
        expect(db, "SELECT group_concat(DISTINCT hex(raw(img))) || count(*) FROM d", "ADB8BD8D989D6");
    }
    sqlite3_close(db);
}
END_TEST

START_TEST(a_connection_closes_whatever_was_used)
{
    sqlite3 *db = open_db();
    load(db, "sqlite3_imgparsafe_init"); /* a second load replaces the functions */
    expect(db, "SELECT hex(raw(img_invert(" RGB ")))", "ADB8BD8D989D");
    sqlite3_stmt *stmt;
    sqlite3_prepare_v2(db, "SELECT img_invert(lazy(" RGB "))", -1, &stmt, NULL);
    ck_assert_int_eq(sqlite3_step(stmt), SQLITE_ROW);
    ck_assert_int_eq(sqlite3_close_v2(db), SQLITE_OK);
    ck_assert_int_eq(sqlite3_column_type(stmt, 0), SQLITE_BLOB);
    sqlite3_finalize(stmt);
}
END_TEST

/* ---- limits and interruption ----------------------------------------------------------------------- */

START_TEST(results_keep_to_the_length_limit)
{
    sqlite3 *db = open_db();
    int n, rc;
    unsigned char *image = big_image(300, &n);
    sqlite3_limit(db, SQLITE_LIMIT_LENGTH, n + 200);
    free(ask_with(db, "SELECT length(raw(img_cast(lazy(?1), 'f32')))", image, n, &rc));
    ck_assert_int_eq(rc, SQLITE_TOOBIG);
    free(ask_with(db, "SELECT length(npy(img_cast(lazy(?1), 'f32')))", image, n, &rc));
    ck_assert_int_eq(rc, SQLITE_TOOBIG);
    free(ask_with(db, "SELECT img_cast(?1, 'f32')", image, n, &rc));
    ck_assert_int_eq(rc, SQLITE_TOOBIG);
    expect(db, "SELECT sum(value) FROM img_counters WHERE name IN ('evaluations', 'encodes')", "0");
    free(ask_with(db, "SELECT img_invert(img_invert(img_invert(img_invert(lazy(?1)))))", image, n, &rc));
    ck_assert_int_eq(rc, SQLITE_TOOBIG);
    free(image);
    sqlite3_close(db);
}
END_TEST

static int stop(void *counter) { return ++*(int *)counter > 2; }

/* Slow enough to be stopped: the interpreter, a thousand medians. */
static const char slow[] = "SELECT length(raw(apply('iterate($1, 1000, median(_, size=5))', lazy(?1))))";

START_TEST(a_progress_handler_stops_an_evaluation)
{
    sqlite3 *db = open_db();
    int n, rc, count = 0;
    unsigned char *image = big_image(2000, &n);
    expect(db, "SELECT img_setting('device', 'ref')", "ref");
    sqlite3_progress_handler(db, 1000, stop, &count);
    free(ask_with(db, slow, image, n, &rc));
    ck_assert_int_eq(rc, SQLITE_INTERRUPT);
    ck_assert_str_eq(sqlite3_errmsg(db), "interrupted");
    sqlite3_progress_handler(db, 0, NULL, NULL);
    expect(db, "SELECT hex(raw(img_invert(" RGB ")))", "ADB8BD8D989D");
    free(image);
    sqlite3_close(db);
}
END_TEST

/* Again and again, since one that comes before the statement has begun is of no effect. */
typedef struct interrupter {
    sqlite3 *db;
    atomic_bool is_over;
} interrupter;

static void *interrupt_soon(void *user)
{
    interrupter *i = user;
    const struct timespec t = { 0, 20000000 };
    while (!i->is_over) {
        nanosleep(&t, NULL);
        sqlite3_interrupt(i->db);
    }
    return NULL;
}

START_TEST(sqlite3_interrupt_stops_an_evaluation)
{
    sqlite3 *db = open_db();
    pthread_t thread;
    int n, rc;
    unsigned char *image = big_image(3000, &n);
    expect(db, "SELECT img_setting('device', 'ref')", "ref");
    interrupter i = { .db = db };
    pthread_create(&thread, NULL, interrupt_soon, &i);
    free(ask_with(db, slow, image, n, &rc));
    i.is_over = true;
    pthread_join(thread, NULL);
    ck_assert_int_eq(rc, SQLITE_INTERRUPT);
    free(image);
    ck_assert_int_eq(sqlite3_close(db), SQLITE_OK); /* no statement of ours is left */
}
END_TEST

/* ---- threads ------------------------------------------------------------------------------------------ */

/* What a thread works on; Check's assertions are for the main thread only. */
typedef struct worker {
    sqlite3 *db;
    pthread_t thread;
    int n_good;
} worker;
enum { ROUNDS = 20 };

static void *work(void *user)
{
    worker *w = user;
    for (int k = 0; k < ROUNDS; k++) {
        int rc;
        char *got = ask_with(w->db, "SELECT hex(raw(img_invert(img_invert(img_invert(lazy(" RGB "))))))", NULL, 0, &rc);
        w->n_good += got && !strcmp(got, "ADB8BD8D989D");
        free(got);
    }
    return NULL;
}

START_TEST(two_connections_work_in_two_threads)
{
    worker workers[2] = { { .db = open_db() }, { .db = open_db() } };
    for (int k = 0; k < 2; k++)
        pthread_create(&workers[k].thread, NULL, work, &workers[k]);
    for (int k = 0; k < 2; k++) {
        pthread_join(workers[k].thread, NULL);
        ck_assert_int_eq(workers[k].n_good, ROUNDS);
        sqlite3_close(workers[k].db);
    }
}
END_TEST

/* ---- failing allocations -------------------------------------------------------------------------------- */

static sqlite3_mem_methods real_memory;
static long fail_at; /* the allocation that fails, counted from 1; 0: none */

static int fails(void) { return fail_at > 0 && --fail_at == 0; }

static void *failing_malloc(int n) { return fails() ? NULL : real_memory.xMalloc(n); }
static void *failing_realloc(void *p, int n) { return fails() ? NULL : real_memory.xRealloc(p, n); }

static const char *const failing_statements[] = {
    "SELECT length(raw(blend(img_invert(lazy(" GRAY ")), apply('$1 + 0', boxblur(" GRAY ", 'size=3')), 0.5)))",
    "SELECT sum(count) FROM histogram(img_invert(lazy(" GRAY ")), 4)",
    "SELECT length(img_info(lazy(" GRAY ")) || img_invert(" GRAY "))",
    "SELECT count(*), sum(length(params)) FROM img_ops",
    "SELECT count(*) FROM img_explain(lazy(" GRAY "))",
    "SELECT sum(v) FROM pixels(img_invert(lazy(" GRAY "))) WHERE x < 3 AND y = 1",
    "SELECT sum(mean) + sum(std) FROM img_stats_of(lazy(" RGB "))",
    "SELECT count(hex(raw(image))) FROM img_tiles(img_invert(lazy(" GRAY ")), 2, 2)",
    "SELECT sum(area) + sum(mean) + sum(perimeter) FROM img_regions(lazy(" GRAY "), " GRAY ")",
    "SELECT length(montage(i, 'columns=2, width=3')) + length(img_stack_mean(i)) FROM (SELECT lazy(" GRAY
    ") AS i UNION ALL SELECT " GRAY ")",
    "SELECT img_std(i) + img_psnr(i, i, 9) + img_ssim(i, i, 'reflect') + phash(i) + length(img_pixel(i, 0, 0)) "
    "FROM (SELECT lazy(" RGB ") AS i)",
    "SELECT length(img_try(i)) + length(img_error(lazy(x'01'))) + length(png(i)) FROM (SELECT img_invert(lazy(" RGB
    ")) AS i)",
    "SELECT sum(length(img)) + max(n) FROM developed WHERE n > 0 AND img <> x'00' ORDER BY n LIMIT 5",
    "SELECT sum(length(j)) FROM developed WHERE n < 2 OR n = '3' OR n > 2",
    "SELECT count(*), sum(length(example)) FROM img_reference",
};

/* Each allocation of SQLite and of the module fails once: out of memory is said, nothing leaks or crashes. Rows of a
 * long table allocate alike, so behind the first ones every seventh fails. */
START_TEST(every_allocation_may_fail)
{
    sqlite3_shutdown();
    sqlite3_config(SQLITE_CONFIG_GETMALLOC, &real_memory);
    sqlite3_mem_methods failing = real_memory;
    failing.xMalloc = failing_malloc;
    failing.xRealloc = failing_realloc;
    ck_assert_int_eq(sqlite3_config(SQLITE_CONFIG_MALLOC, &failing), SQLITE_OK);
    ck_assert_int_eq(sqlite3_initialize(), SQLITE_OK);
    sqlite3 *db = open_db();
    sqlite3_db_config(db, SQLITE_DBCONFIG_LOOKASIDE, NULL, 0, 0);
    run(db,
        "CREATE VIRTUAL TABLE temp.developed USING imgpar(SELECT value AS n, img_invert(boxblur(" GRAY ", 3)) AS img, "
        "jpeg(img_invert(" GRAY "), 40 + value) AS j FROM json_each('[1, 2, 3]'))");
    int rc;
    free(ask_with(db, failing_statements[_i], NULL, 0, &rc));
    ck_assert_msg(rc == SQLITE_OK, "%s: %s", failing_statements[_i], sqlite3_errmsg(db));
    enum { FIRST = 1000, STEP = 7 };
    long n = 0;
    do {
        fail_at = n += n < FIRST ? 1 : STEP;
        free(ask_with(db, failing_statements[_i], NULL, 0, &rc));
        ck_assert_msg(rc == SQLITE_OK || rc == SQLITE_NOMEM, "allocation %ld: %d %s", n, rc, sqlite3_errmsg(db));
    } while (fail_at <= 0 && n < 20000);
    ck_assert_int_gt(n, 10);
    ck_assert_int_lt(n, 20000);
    fail_at = 0;
    sqlite3_close(db);
}
END_TEST

/* In processes of their own, since SQLite is begun anew in each; how many failed. */
static int failed_allocations(void)
{
    Suite *suite = suite_create("sql, allocations");
    TCase *tc = tcase_create("allocations");
    suite_add_tcase(suite, tc);
    tcase_add_loop_test(tc, every_allocation_may_fail, 0, N(failing_statements));
    SRunner *runner = srunner_create(suite);
    srunner_set_fork_status(runner, CK_FORK);
    srunner_run_all(runner, CK_NORMAL);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed;
}

int main(void)
{
    Suite *suite = suite_create("sql");
    TCase *tc = tcase_create("sql");
    suite_add_tcase(suite, tc);
    tcase_add_loop_test(tc, a_message_names_function_value_and_rule, 0, N(messages));
    tcase_add_loop_test(tc, measures_agree_on_numbers_that_are_none, 0, N(measured));
    tcase_add_test(tc, ssim_counts_the_windows_that_lie_inside);
    tcase_add_loop_test(tc, img_try_goes_on, 0, N(tried));
    tcase_add_test(tc, img_try_goes_on_in_a_table);
    tcase_add_test(tc, a_row_that_fails_is_told_behind_those_before_it);
    tcase_add_loop_test(tc, a_value_is_the_same_finished_and_deferred, 0, N(alike));
    tcase_add_test(tc, sinks_write_nothing_private);
    tcase_add_loop_test(tc, a_picture_is_decoded_once, 0, N(once));
    tcase_add_test(tc, a_result_without_pixels_is_npy);
    tcase_add_loop_test(tc, apply_refuses_files, 0, 5);
    tcase_add_test(tc, files_settings_and_devices_are_refused_in_schemas);
    tcase_add_test(tc, header_functions_are_innocuous_and_operations_need_trust);
    tcase_add_test(tc, the_safe_entry_has_no_files_and_no_settings);
    tcase_add_test(tc, rows_with_the_same_bytes_may_be_indexed);
    tcase_add_test(tc, a_recipe_with_a_flipped_byte_is_an_error);
    tcase_add_test(tc, a_truncated_recipe_is_an_error_or_its_inner_value);
    tcase_add_test(tc, random_records_are_errors);
    tcase_add_test(tc, a_deferred_image_has_a_greatest_depth);
    tcase_add_test(tc, nested_calls_share_one_copy_of_the_source);
    tcase_add_test(tc, the_second_append_to_a_prefix_copies);
    tcase_add_test(tc, a_new_device_keeps_live_values);
    tcase_add_test(tc, rows_are_computed_by_several_devices);
    tcase_add_test(tc, a_connection_closes_whatever_was_used);
    tcase_add_test(tc, results_keep_to_the_length_limit);
    tcase_add_test(tc, a_progress_handler_stops_an_evaluation);
    tcase_add_test(tc, sqlite3_interrupt_stops_an_evaluation);
    tcase_add_test(tc, two_connections_work_in_two_threads);
    tcase_add_loop_test(tc, img_warning_names_profiles_that_differ, 0, sizeof meetings / sizeof *meetings);
    tcase_add_loop_test(tc, img_warning_names_whites_that_differ, 0, sizeof mixtures / sizeof *mixtures);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner) + failed_allocations();
    srunner_free(runner);
    return failed != 0;
}
