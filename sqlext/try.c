/* SPDX-License-Identifier: MIT */
/*
 * Going on past damaged images: img_try(x) is x finished, or NULL where that fails; img_error(x) says why, or is NULL.
 *
 *     SELECT name, img_try(thumbnail(lazy(img), 320)), img_error(thumbnail(lazy(img), 320)) FROM photos;
 *
 * R1. x is computed whole: a deferred image with all its operations, a plain one by decoding it. A plain image comes
 *     back as it is, a deferred one as PNG or NPY.
 * R2. What fails is what x is: damaged data, an operation that does not fit, an empty blob, a text.
 *     Interruption, a lack of memory and a result above SQLite's length limit stay errors.
 * R3. A function of a plain image that fails is an error before img_try() is called: x has to be deferred. So is what
 *     is wrong with any image, such as blur(x, -1), and a function whose result is a number.
 * R4. NULL in gives NULL out.
 * R5. img_try() of a number, or of a JSON array, is an error: it is what was measured of an image, good or not, and
 *     what failed in measuring is an error before img_try() is called. img_error() says of it that it is no image.
 */
#include "values.h"

#include <string.h>

typedef enum attempt { TRY_IMAGE, TRY_ERROR, N_ATTEMPTS } attempt;

static void run_attempt(ip_sql_call *call, sqlite3_context *ctx, attempt which, sqlite3_value **argv)
{
    ip_sql_inputs in;
    if (!ip_sql_inputs_read(call, 1, argv, &in)) {
        bool plain = in.base < 0 || sqlite3_value_bytes(argv[0]) == 0 || !in.images[0].deferred;
        if (plain || which == TRY_ERROR) {
            imgpar_info info = { .struct_size = sizeof info };
            if (imgpar_array_info(in.arrays[0], &info))
                ip_sql_call_fail_array(call, in.arrays[0]);
            else if (plain)
                ip_sql_evaluate(call, in.arrays, 1);
            else
                ip_sql_develop(call, in.arrays[0]);
            if (!call->code && which == TRY_IMAGE) sqlite3_result_value(ctx, argv[0]);
        } else {
            ip_sql_result_encoded(call, ctx, in.arrays[0], NULL, NULL);
        }
    }
    ip_sql_inputs_free(&in);
}

static bool is_measure(sqlite3_value *value)
{
    int type = sqlite3_value_type(value);
    return type == SQLITE_INTEGER || type == SQLITE_FLOAT || ip_sql_is_list(value);
}

static void try_function(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
    if (ip_sql_any_null(argc, argv)) /* R4 */
        return;
    ip_sql_call call = ip_sql_call_begin(ctx);
    const ip_sql_function *f = sqlite3_user_data(ctx);
    if (f->variant == TRY_IMAGE && is_measure(argv[0])) { /* R5 */
        ip_sql_call_fail(&call, SQLITE_ERROR,
                         "argument 1 is what was measured, not an image: img_try() goes around the image, as in "
                         "img_mean(img_try(img))");
        ip_sql_call_end(&call, ctx);
        return;
    }
    run_attempt(&call, ctx, (attempt)f->variant, argv);
    if (call.code == SQLITE_ERROR) {                 /* R2 */
        if (f->variant == TRY_ERROR && call.message) /* without "img_error(): " */
            sqlite3_result_text(ctx, call.message + strlen(call.name) + 4, -1, SQLITE_TRANSIENT);
        sqlite3_free(call.message);
        call.message = NULL;
        call.code = SQLITE_OK;
    }
    ip_sql_call_end(&call, ctx);
}

int ip_sql_add_try(const ip_sql_setup *setup)
{
    int rc = ip_sql_add_function(setup, "img_try", 1, 0, try_function, NULL, TRY_IMAGE);
    return rc ? rc : ip_sql_add_function(setup, "img_error", 1, 0, try_function, NULL, TRY_ERROR);
}
