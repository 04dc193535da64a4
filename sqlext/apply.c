/* SPDX-License-Identifier: MIT */
/*
 * apply(text, img...): the pipeline language in SQL; grad(text, img...): the gradient of the number that a text gives.
 *
 * R1. The text is not trusted: open, save, print and param are refused.
 * R2. $1..$9 are the images, or numbers beside them. NULL in gives NULL out.
 * R3. With a deferred image the text becomes a record of the result.
 * R4. A text is parsed once, however many rows it is applied to.
 * R5. grad() is by $1, which must be an image. A loss cannot be an argument of its own: SQL finishes numbers.
 *
 *     SELECT png(apply('blend(blur($1, 2), invert($2), 0.3)', lazy(a.img), b.img)) FROM ...;
 *     SELECT grad('mean((blur($1, 2) - $2) ** 2)', guess, seen) FROM ...;
 */
#include "values.h"

#include <string.h>

enum { MAX_IMAGES = 9 };

static void run_apply(ip_sql_call *call, ip_sql_kind kind, sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
    if (kind == IP_SQL_GRADIENT && argc == 1) {
        ip_sql_call_fail(call, SQLITE_ERROR, "takes a text and 1 to %d images, got 1 argument", MAX_IMAGES);
        return;
    }
    if (!argc || argc - 1 > MAX_IMAGES) {
        ip_sql_call_fail(call, SQLITE_ERROR, "takes a text and up to %d images, got %d argument%s", MAX_IMAGES, argc,
                         argc == 1 ? "" : "s");
        return;
    }
    if (sqlite3_value_type(argv[0]) != SQLITE_TEXT) {
        ip_sql_call_fail(call, SQLITE_ERROR, "argument 1 is not a text in the pipeline language");
        return;
    }
    const char *text = ip_sql_text_read(call, argv[0], 1, "a pipeline is text");
    const imgpar_formula *formula = text ? ip_sql_formula(call, text) : NULL; /* R4 */
    if (!formula) return;
    ip_sql_inputs in;
    if (!ip_sql_inputs_read(call, argc - 1, argv + 1, &in)) {
        ip_sql_record record = { .kind = kind, .name = "", .body = text, .n_body = strlen(text) + 1 }; /* R3 */
        imgpar_array *result = kind == IP_SQL_GRADIENT
                                   ? ip_sql_gradient(formula, in.context, in.arrays, in.n)                    /* R5 */
                                   : imgpar_formula_apply_safe(formula, in.context, in.arrays, (size_t)in.n); /* R1 */
        ip_sql_result(call, ctx, &in, &record, result);
    }
    ip_sql_inputs_free(&in);
}

static void run_function(ip_sql_kind kind, sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
    if (ip_sql_any_null(argc, argv)) /* R2 */
        return;
    ip_sql_call call = ip_sql_call_begin(ctx);
    run_apply(&call, kind, ctx, argc, argv);
    ip_sql_call_end(&call, ctx);
}

static void apply_function(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
    run_function(IP_SQL_TEXT, ctx, argc, argv);
}

static void grad_function(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
    run_function(IP_SQL_GRADIENT, ctx, argc, argv);
}

int ip_sql_add_apply(const ip_sql_setup *setup)
{
    int rc = ip_sql_add_function(setup, "apply", -1, 0, apply_function, NULL, 0);
    if (!rc) rc = ip_sql_add_function(setup, "grad", -1, 0, grad_function, NULL, 0);
    return rc ? rc : ip_sql_add_function(setup, "img_grad", -1, 0, grad_function, NULL, 0);
}
