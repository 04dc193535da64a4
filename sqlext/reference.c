/* SPDX-License-Identifier: MIT */
/*
 * The table img_reference: one row a function, aggregate and table.
 *
 *     SELECT name, arguments, about FROM img_reference WHERE kind = 'aggregate';
 */
#include "reference.h"
#include "table.h"

#include <string.h>

static const ip_sql_entry entries[] = {
    { "function", "lazy", "img",
      "a deferred image, which remembers the work: any operation on it gives a deferred image", "lazy(img)" },
    { "function", "png", "img [, settings]",
      "computes an image and encodes it as PNG; settings: 'bits=8|16, level=0..9, metadata=none|all'",
      "png(blur(lazy(img), 2), 'level=1')" },
    { "function", "jpeg", "img [, quality or settings]",
      "the same as JPEG; settings: 'quality=1..100, subsample=420|422|444, progressive=0|1, background=0..255 or a "
      "colour, metadata=none|all'",
      "jpeg(lazy(img), 75)" },
    { "function", "npy", "img", "the same as NPY, which holds every type and shape exactly",
      "npy(img_cast(lazy(img), 'f32'))" },
    { "function", "raw", "img", "the elements, tightly packed, in the machine's byte order",
      "hex(raw(crop(img, 0, 0, 2, 1)))" },
    { "function", "save", "img, path [, settings]",
      "writes a file, its format by its name; returns the path. Not in the safe module; see SAFETY",
      "save(img, 'out.jpg', 'quality=80')" },
    { "function", "apply", "text, img, ...",
      "a text in the pipeline language; $1 to $9 are the images. It can open no file",
      "apply('blend(blur($1, 2), invert($1), 0.3)', img)" },
    { "function", "grad", "text, img, ...",
      "by how much the number that a text in the pipeline language gives changes with each element of $1; $1 to $9 are "
      "the images. In f32, f64 for f64; grad(loss, a) of the language, which says what has a derivative",
      "grad('mean(blur($1 / 255, 2) ** 2)', img)" },
    { "function", "img_grad", "text, img, ...", "grad() under another name", "img_grad('sum($1 * $1)', img)" },
    { "function", "img_try", "img",
      "the image, finished, or NULL where it fails: a damaged file, an empty blob, a text. It goes around "
      "images, not around what is measured of them, which is an error: img_mean(img_try(img))",
      "img_try(blur(lazy(img), 2))" },
    { "function", "img_error", "img", "why img_try() gives NULL, or NULL", "img_error(lazy(x'0102'))" },
    { "function", "img_develop", "x", "of a deferred image the finished one, of anything else itself",
      "img_format(img_develop(lazy(img)))" },
    { "function", "img_width", "img", "width in pixels, from the header", "img_width(img)" },
    { "function", "img_height", "img", "height in pixels, from the header", "img_height(img)" },
    { "function", "img_channels", "img", "channels, from the header", "img_channels(img)" },
    { "function", "img_dtype", "img", "element type, from the header: 'u8', 'u16', 'f32', ...", "img_dtype(img)" },
    { "function", "img_format", "img", "'png', 'jpeg', 'npy', 'pnm', 'cube', 'font' or 'deferred'", "img_format(img)" },
    { "function", "img_valid", "img",
      "1 where the header is that of an image, a .cube or a font, else 0. Of a damaged file the header may be whole: "
      "what can be "
      "computed are the images WHERE img_error(img) IS NULL, which decodes them, or img_try(img)",
      "img_valid(x'00')" },
    { "function", "img_info", "img", "all that the header says, as JSON", "img_info(img)" },
    { "function", "img_exif", "img, tag",
      "what the file's EXIF says, by the tag's standard name, in any case of letters, or its number, '0xc4a5' or "
      "50341; NULL: "
      "nothing. 'Make', 'Model', 'LensModel', 'DateTimeOriginal' ('2024-05-06 07:08:09', as date() and strftime() read "
      "it), 'ExposureTime' in seconds, 'FNumber', 'ISO', 'FocalLength' in mm, 'Orientation' (1 to 8), 'GPSLatitude' "
      "and 'GPSLongitude' in degrees, north and east above 0, 'GPSAltitude' in metres, and any other one: rationals "
      "are real numbers, several numbers a text with blanks between them. From the header; of what was computed, "
      "Orientation is 1, since its pixels are upright",
      "img_exif(img, 'DateTimeOriginal') IS NULL" },
    { "function", "img_std", "img", "standard deviation of all elements", "round(img_std(img), 3)" },
    { "function", "img_psnr", "a, b [, peak]",
      "peak signal to noise ratio in dB, 10 log10(peak^2 / mean((a - b)^2)) over all channels, peak being the white of "
      "a (of data the range "
      "of its dtype, 1 for floats) unless given, as 100 or 'peak=100'; infinite where a = b, NULL with NaN",
      "img_psnr(img, jpeg(img, 50)) > 20" },
    { "function", "img_ssim", "a, b [, edges]",
      "mean structural similarity (Wang et al. 2004, windows of 11x11 that lie inside; edges 'reflect' mirrors "
      "them); 1 where a = b. "
      "The mean over pixels and channels of (2 ma mb + C1)(2 sab + C2) / ((ma^2 + mb^2 + C1)(sa + sb + C2)): means m, "
      "variances s and "
      "covariance sab under a Gaussian of sigma 1.5, C1 = (0.01 L)^2, C2 = (0.03 L)^2, L the white of a (of data "
      "the dtype's range, 1 for floats)",
      "img_ssim(img, img, 'reflect')" },
    { "function", "psnr", "a, b [, peak]", "img_psnr()", "psnr(img, jpeg(img, 50)) > 20" },
    { "function", "ssim", "a, b [, edges]", "img_ssim()", "ssim(img, img)" },
    { "function", "img_equal", "a, b", "1 where size, channels, type and all elements are equal, else 0",
      "img_equal(img, png(img))" },
    { "function", "img_pixel", "img, x, y [, channel]",
      "a pixel: a number, or of several channels a JSON array, "
      "integers with all their digits; a number above 2^63 - 1 is the nearest REAL",
      "img_pixel(img, 0, 0)" },
    { "function", "phash", "img",
      "64 bits that hardly change when an image is scaled or recompressed: gray, resized to 32 x 32 by area in 8 bits; "
      "of its "
      "cosine transform the coefficients 1 to 8 of 1 to 8, row by row from the highest bit, 1 where one is above their "
      "lower median",
      "hamming(phash(img), phash(resize(img, 50)))" },
    { "function", "hamming", "a, b", "the number of bits in which two integers differ; of arrays img_hamming()",
      "hamming(0, 7)" },
    { "function", "img_setting", "name, value",
      "sets device (several: 'cpu+gpu', 'all', 'cpu/2'), placement, schedule, fuse, max_pixels, mem_limit, host_limit "
      "or tier "
      "of this connection. "
      "Not in the safe module; see SAFETY",
      "img_setting('fuse', '1')" },
    { "function", "img_warning", "",
      "the last warning of this connection, such as two pictures whose profiles differ; NULL: none so far. "
      "Each goes to sqlite3_log() too (.log stderr)",
      "img_warning() IS NULL" },
    { "aggregate", "img_stack_mean", "img", "mean of the pixels of many images of one size",
      "SELECT img_format(img_stack_mean(img)) FROM photos" },
    { "aggregate", "img_stack_min", "img", "minimum of the pixels",
      "SELECT img_format(img_stack_min(img)) FROM photos" },
    { "aggregate", "img_stack_max", "img", "maximum of the pixels",
      "SELECT img_format(img_stack_max(img)) FROM photos" },
    { "aggregate", "img_stack", "img",
      "images of one size one behind another, in the order of the rows, for what takes a stack: exposure_fusion(), "
      "focus_stack(), hdr_merge(); they are all in memory at once",
      "SELECT img_format(focus_stack(img_stack(img))) FROM photos" },
    { "aggregate", "montage", "img [, columns [, width [, height [, gap [, background]]]]]",
      "a contact sheet; options by position or as 'columns=4, width=160, height=160, gap=8, background=255'",
      "SELECT img_width(montage(img, 'columns=2, width=40')) FROM photos" },
    { "table", "imgpar", "SELECT ...",
      "CREATE VIRTUAL TABLE temp.NAME USING imgpar(SELECT ...): deferred inside, finished at its edge; temp only. "
      "Conditions,"
      " LIMIT and ORDER BY of its columns go into the SELECT; an expression in ORDER BY does not, and has every row "
      "computed",
      "CREATE VIRTUAL TABLE temp.soft USING imgpar(SELECT blur(img, 2) AS img FROM photos)" },
};

const ip_sql_entry *ip_sql_entry_get(int k)
{
    return k >= 0 && k < (int)(sizeof entries / sizeof entries[0]) ? &entries[k] : NULL;
}

char *ip_sql_op_arguments(const imgpar_op_info *op)
{
    sqlite3_str *s = sqlite3_str_new(NULL);
    int open = 0;
    for (int k = 0; k < op->n_inputs; k++)
        sqlite3_str_appendf(s, "%s%s", k ? ", " : "", op->input_names[k]);
    if (op->takes_more) sqlite3_str_appendall(s, ", ...");
    for (int k = 0; k < op->n_params; k++) {
        const imgpar_op_param *p = op->params[k];
        const char *comma = sqlite3_str_length(s) ? ", " : "";
        if (p->default_text)
            sqlite3_str_appendf(s, "%s[%s%s=%s", *comma ? " " : "", comma, p->name,
                                *p->default_text ? p->default_text : "''"),
                open++;
        else
            sqlite3_str_appendf(s, "%s%s", comma, p->name);
    }
    while (open-- > 0)
        sqlite3_str_appendchar(s, 1, ']');
    if (!sqlite3_str_length(s)) sqlite3_str_appendall(s, "");
    char *text = sqlite3_str_finish(s);
    return text ? text : sqlite3_mprintf("%s", "");
}

/* Of an example that opens a file, whose bytes SQL is given. */
static char *file_example(const char *example)
{
    const char *open = strstr(example, "open(\""), *path = open + strlen("open(\""), *end = strstr(path, "\")");
    return sqlite3_mprintf("apply('%.*q$1%q', readfile('%.*q'))", (int)(open - example), example, end + 2,
                           (int)(end - path), path);
}

/* The language's example is given to apply(), with every letter that stands for an image as $1. */
char *ip_sql_op_example(const imgpar_op_info *op)
{
    if (!op->example || !*op->example) return NULL;
    if (strstr(op->example, "open(\"")) return file_example(op->example);
    sqlite3_str *s = sqlite3_str_new(NULL);
    sqlite3_str_appendall(s, "apply('");
    for (const char *p = op->example; *p; p++) {
        bool starts = p == op->example || !strchr("abcdefghijklmnopqrstuvwxyz_0123456789\"", p[-1]);
        bool ends = !p[1] || !strchr("abcdefghijklmnopqrstuvwxyz_0123456789=\"", p[1]);
        bool is_image = starts && ends && (*p == 'a' || *p == 'b');
        if (is_image)
            sqlite3_str_appendall(s, "$1");
        else
            sqlite3_str_appendf(s, *p == '\'' ? "''" : "%c", *p);
    }
    sqlite3_str_appendall(s, op->n_inputs ? "', img)" : "')");
    return sqlite3_str_finish(s);
}

static void add_row(ip_sql_rows *rows, const char *kind, char *name, char *arguments, const char *about,
                    const char *columns)
{
    ip_sql_rows_add(rows);
    ip_sql_set_text(rows, 0, kind);
    ip_sql_set_owned_text(rows, 1, name);
    ip_sql_set_owned_text(rows, 2, arguments);
    ip_sql_set_text(rows, 3, about);
    ip_sql_set_text(rows, 4, columns);
}

static int fill_reference(ip_sql_call *call, sqlite3_value **argv, ip_sql_rows *rows)
{
    (void)call, (void)argv;
    for (size_t k = 0; k < imgpar_op_count(); k++) {
        const imgpar_op_info *op = imgpar_op_get(k);
        if (!op->in_sql) continue;
        add_row(rows, "operation", sqlite3_mprintf(op->sql_bare_name ? "%s" : "img_%s", op->name),
                ip_sql_op_arguments(op), op->summary, NULL);
        char *example = ip_sql_op_example(op);
        ip_sql_set_text(rows, 5, example);
        sqlite3_free(example);
    }
    for (int k = 0; ip_sql_entry_get(k); k++) {
        const ip_sql_entry *e = ip_sql_entry_get(k);
        add_row(rows, e->kind, sqlite3_mprintf("%s", e->name), sqlite3_mprintf("%s", e->arguments), e->about, NULL);
        ip_sql_set_text(rows, 5, e->example);
    }
    for (int k = 0; ip_sql_table_get(k); k++) {
        const ip_sql_table *t = ip_sql_table_get(k);
        add_row(rows, "table", sqlite3_mprintf("%s", t->name), ip_sql_table_arguments(t), t->about, t->columns);
        ip_sql_set_text(rows, 5, t->example);
        if (!t->alias) continue;
        char *about = sqlite3_mprintf("%s() under another name", t->name);
        add_row(rows, "table", sqlite3_mprintf("%s", t->alias), ip_sql_table_arguments(t), about, t->columns);
        ip_sql_set_text(rows, 5, t->example);
        sqlite3_free(about);
    }
    return SQLITE_OK;
}

const ip_sql_table ip_sql_table_reference = {
    .name = "img_reference",
    .columns = "kind TEXT, name TEXT, arguments TEXT, about TEXT, columns TEXT, example TEXT",
    .about = "one row a function, aggregate and table of this module",
    .example = "SELECT name, arguments FROM img_reference WHERE kind = 'aggregate'",
    .n_columns = 6,
    .risk = SQLITE_VTAB_INNOCUOUS,
    .fill = fill_reference,
};
