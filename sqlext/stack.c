/* SPDX-License-Identifier: MIT */
/*
 * Aggregates over the pixels of many images of one size: img_stack_mean, img_stack_min, img_stack_max; and img_stack,
 * which puts them one behind another, [n, height, width, channels], for the operations that take a stack.
 *
 *     SELECT img_stack_mean(img) FROM photos GROUP BY camera;      -- noise goes, what moves becomes faint
 *     SELECT writefile('sky.png', png(img_stack_max(lazy(img)))) FROM nights;
 *     SELECT exposure_fusion(img_stack(img)) FROM photos GROUP BY scene;
 *
 * R1. All images have the size, channels and dtype of the first one. NULLs are skipped; no image gives NULL.
 * R2. The mean of integers is exact: the sum in i64, divided, to nearest, ties to even. The sum of those of 64 bits is
 *     kept in two parts, of their upper and of their lower 32 bits, one behind the other along axis 0. Floats are
 *     summed in f64 (f32 where the device has none), in order.
 * R3. A few images are held at a time, whatever their number, but for img_stack, whose result has them all, no more
 *     than max_pixels: in the order of the rows.
 * R4. With any deferred image the result is deferred; it is computed all the same, since a recipe of all the sources
 *     would be as large as they are.
 */
#include "element.h"
#include "recipe.h"
#include "values.h"

#include <stdio.h>
#include <string.h>

typedef enum stack_kind { STACK_MEAN, STACK_MIN, STACK_MAX, STACK_ALL, N_STACKS } stack_kind;

enum { HELD_MAX = 8 }; /* with the accumulator, the nine arrays that a text can name */

typedef struct stack {
    bool started, failed, deferred;
    imgpar_info first;
    int64_t n;
    imgpar_array *so_far; /* NULL: nothing folded yet */
    imgpar_array *held[HELD_MAX];
    int n_held;
} stack;

static void stack_free(stack *s)
{
    imgpar_array_release(s->so_far);
    for (int k = 0; k < s->n_held; k++)
        imgpar_array_release(s->held[k]);
    s->so_far = NULL;
    s->n_held = 0;
}

static const char *sum_dtype(const stack *s, imgpar_context *context)
{
    if (!ip_sql_dtype_is_float(s->first.dtype)) return "i64";
    const imgpar_device *device = imgpar_context_device(context);
    return device && !device->has_f64 ? "f32" : "f64";
}

static bool is_in_parts(const stack *s)
{
    return s->first.dtype == IMGPAR_I64 || s->first.dtype == IMGPAR_U64; /* R2 */
}

/* "concatenate($1, expand_dims($2), ...)"; one alone is no concatenation. */
static char *stack_text(const stack *s, int n)
{
    sqlite3_str *text = sqlite3_str_new(NULL);
    sqlite3_str_appendall(text, n > 1 ? "concatenate(" : "");
    for (int k = 1; k <= n; k++) {
        if (k > 1) sqlite3_str_appendall(text, ", ");
        if (k == 1 && s->so_far)
            sqlite3_str_appendall(text, "$1");
        else if (s->first.rank == 3)
            sqlite3_str_appendf(text, "expand_dims($%d)", k);
        else
            sqlite3_str_appendf(text, "reshape($%d, [1, %lld, %lld, %lld])", k, (long long)s->first.height,
                                (long long)s->first.width, (long long)s->first.channels);
    }
    sqlite3_str_appendall(text, n > 1 ? ")" : "");
    return sqlite3_str_finish(text);
}

/* "$1 + cast($2, i64) + ...", with both parts of $2 where it has 64 bits, or "maximum(maximum($1, $2), $3)". NULL
 * without memory. */
static char *fold_text(const stack *s, stack_kind kind, int n, const char *dtype)
{
    sqlite3_str *text = sqlite3_str_new(NULL);
    for (int k = 1; k < n && kind != STACK_MEAN; k++)
        sqlite3_str_appendall(text, kind == STACK_MIN ? "minimum(" : "maximum(");
    for (int k = 1; k <= n; k++) {
        if (kind != STACK_MEAN)
            sqlite3_str_appendf(text, k == 1 ? "$%d" : ", $%d)", k);
        else if (k == 1 && s->so_far)
            sqlite3_str_appendall(text, "$1");
        else if (is_in_parts(s))
            sqlite3_str_appendf(text, "%sconcatenate(cast($%d >> 32, i64), cast($%d & 4294967295, i64), axis=0)",
                                k > 1 ? " + " : "", k, k);
        else
            sqlite3_str_appendf(text, "%scast($%d, %s)", k > 1 ? " + " : "", k, dtype);
    }
    return sqlite3_str_finish(text);
}

/* so_far and what is held become one array, computed at once. */
static int fold(ip_sql_call *call, stack *s, stack_kind kind, imgpar_context *context)
{
    imgpar_array *inputs[HELD_MAX + 1];
    int n = 0;
    if (s->so_far) inputs[n++] = s->so_far;
    for (int k = 0; k < s->n_held; k++)
        inputs[n++] = s->held[k];
    char *text = kind == STACK_ALL ? stack_text(s, n) : fold_text(s, kind, n, sum_dtype(s, context));
    if (!text) return ip_sql_call_fail(call, SQLITE_NOMEM, NULL);
    imgpar_array *a = imgpar_apply_safe(context, text, inputs, (size_t)n);
    sqlite3_free(text);
    if (imgpar_array_status(a))
        ip_sql_call_fail_array(call, a);
    else
        ip_sql_evaluate(call, &a, 1);
    stack_free(s);
    s->so_far = a;
    return call->code;
}

static int hold(ip_sql_call *call, stack *s, stack_kind kind, const ip_sql_inputs *in)
{
    imgpar_info info = { .struct_size = sizeof info };
    if (imgpar_array_info(in->arrays[0], &info)) return ip_sql_call_fail_array(call, in->arrays[0]);
    if (!s->started) s->first = info;
    if (kind == STACK_ALL && info.rank > 3)
        return ip_sql_call_fail(call, SQLITE_ERROR, "an array of %d axes is no image", info.rank);
    if (kind == STACK_ALL) { /* R3 */
        imgpar_info all = info;
        uint64_t elements = 0;
        all.depth = s->n + 1;
        if (ip_sql_work_check(call, NULL, &all, &elements)) return call->code;
    }
    s->started = true;
    s->n++;
    if (info.dtype != s->first.dtype || info.rank != s->first.rank ||
        memcmp(info.shape, s->first.shape, sizeof info.shape))
        return ip_sql_call_fail(call, SQLITE_ERROR, "image %lld is %lldx%lldx%lld %s, the first one %lldx%lldx%lld %s",
                                (long long)s->n, (long long)info.width, (long long)info.height,
                                (long long)info.channels, imgpar_dtype_name(info.dtype), (long long)s->first.width,
                                (long long)s->first.height, (long long)s->first.channels,
                                imgpar_dtype_name(s->first.dtype)); /* R1 */
    s->deferred = s->deferred || in->base >= 0;
    s->held[s->n_held++] = imgpar_array_retain(in->arrays[0]);
    return s->n_held == HELD_MAX ? fold(call, s, kind, in->context) : SQLITE_OK; /* R3 */
}

static void stack_step(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
    if (ip_sql_any_null(argc, argv)) return;
    ip_sql_call call = ip_sql_call_begin(ctx);
    const ip_sql_function *f = sqlite3_user_data(ctx);
    stack *s = sqlite3_aggregate_context(ctx, sizeof *s);
    if (!s) {
        sqlite3_result_error_nomem(ctx);
        return;
    }
    if (s->failed) return;
    ip_sql_inputs in;
    if (!ip_sql_inputs_read(&call, 1, argv, &in)) hold(&call, s, (stack_kind)f->variant, &in);
    ip_sql_inputs_free(&in);
    s->failed = call.code != SQLITE_OK;
    ip_sql_call_end(&call, ctx);
}

/* The sum over the count in the dtype of the images; R2. */
static imgpar_array *mean_of(const stack *s, imgpar_context *context)
{
    char text[512];
    const char *dtype = imgpar_dtype_name(s->first.dtype);
    long long n = (long long)s->n, rows = (long long)s->first.shape[0];
    if (is_in_parts(s))
        snprintf(text, sizeof text,
                 "upper = slice($1, 0, %lld, axis=0)\nu = upper div %lld\n"
                 "t = (upper - u * %lld) * 4294967296 + slice($1, %lld, %lld, axis=0)\nq = t div %lld\n"
                 "r = 2 * (t - q * %lld)\n"
                 "(cast(u, %s) << 32) + cast(q + cast(r > %lld || (r == %lld && q %% 2 != 0), i64), %s)",
                 rows, n, n, rows, 2 * rows, n, n, dtype, n, n, dtype);
    else if (ip_sql_dtype_is_float(s->first.dtype))
        snprintf(text, sizeof text, "cast($1 / %lld, %s)", n, dtype);
    else
        snprintf(
            text, sizeof text,
            "q = $1 div %lld\nr = 2 * ($1 - q * %lld)\ncast(q + cast(r > %lld || (r == %lld && q %% 2 != 0), i64), %s)",
            n, n, n, n, dtype);
    return imgpar_apply_safe(context, text, &s->so_far, 1);
}

static void finish(ip_sql_call *call, sqlite3_context *ctx, stack *s, stack_kind kind)
{
    imgpar_context *context = ip_sql_context(call);
    if (!context || fold(call, s, kind, context)) return;
    imgpar_array *a = kind == STACK_MEAN ? mean_of(s, context) : imgpar_array_retain(s->so_far);
    if (imgpar_array_status(a))
        ip_sql_call_fail_array(call, a);
    else
        ip_sql_result_array(call, ctx, a, s->deferred); /* R4 */
    imgpar_array_release(a);
}

static void stack_final(sqlite3_context *ctx)
{
    stack *s = sqlite3_aggregate_context(ctx, 0);
    if (!s) return; /* R1 */
    ip_sql_call call = ip_sql_call_begin(ctx);
    const ip_sql_function *f = sqlite3_user_data(ctx);
    if (!s->failed && s->n) finish(&call, ctx, s, (stack_kind)f->variant);
    stack_free(s);
    ip_sql_call_end(&call, ctx);
}

int ip_sql_add_stacks(const ip_sql_setup *setup)
{
    static const char *const names[N_STACKS] = { "img_stack_mean", "img_stack_min", "img_stack_max", "img_stack" };
    int rc = SQLITE_OK;
    for (int k = 0; k < N_STACKS && !rc; k++)
        rc = ip_sql_add_aggregate(setup, names[k], 1, stack_step, stack_final, k);
    return rc;
}
