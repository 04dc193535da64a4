/* SPDX-License-Identifier: MIT */
/*
 * One SQL function for every operation of the table: blur(img, 2), img_add(a, b).
 *
 * R1. Every row offered in SQL is there as img_NAME; under its bare name only where the row says so.
 * R2. NULL in gives NULL out, whatever the place of the NULL.
 * R3. A function is DETERMINISTIC only where its row promises the same bytes on every device.
 * R4. Arguments: the operation's images, then its options (options.h). Where a row takes more images than its own,
 *     all up to the first option are: a blob, or of a row without options whatever it is.
 * R5. A matrix may be an image, too, where there is a row for such: convolve(img, k) is convolve_by(img, k).
 *
 *     SELECT blur(img, 2) FROM photos;                            -- finished PNG
 *     SELECT png(blend(blur(lazy(a), 2), img_invert(b), 0.3));    -- deferred, computed once
 */
#include "options.h"
#include "values.h"

#include <string.h>

static int too_few(ip_sql_call *call, int argc)
{
    const imgpar_op_info *op = call->op;
    sqlite3_str *s = sqlite3_str_new(NULL);
    for (int k = 0; k < op->n_inputs; k++)
        sqlite3_str_appendf(s, "%s%s", k ? ", " : "", op->input_names[k]);
    char *names = sqlite3_str_finish(s);
    ip_sql_call_fail(call, SQLITE_ERROR, "takes %d image%s (%s), got %d argument%s", op->n_inputs,
                     op->n_inputs == 1 ? "" : "s", names ? names : "", argc, argc == 1 ? "" : "s");
    sqlite3_free(names);
    return call->code;
}

/* The row that a call is of: NAME_by where an image is given for the matrix that is the last one of NAME_by; R5. */
static const imgpar_op_info *op_taking(const imgpar_op_info *op, int argc, sqlite3_value **argv)
{
    char by[64];
    const int n = op->n_inputs;
    if (argc <= n || sqlite3_value_type(argv[n]) != SQLITE_BLOB || !op->n_params ||
        strcmp(op->params[0]->type, "matrix") != 0)
        return op;
    sqlite3_snprintf(sizeof by, by, "%s_by", op->name);
    const imgpar_op_info *other = imgpar_op_find(by);
    const bool takes_it =
        other && other->in_sql && other->n_inputs == n + 1 && strcmp(other->input_names[n], op->params[0]->name) == 0;
    return takes_it ? other : op;
}

void ip_sql_run_operation(ip_sql_call *call, sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
    const imgpar_op_info *op = call->op = op_taking(call->op, argc, argv);
    if (argc < op->n_inputs) {
        too_few(call, argc);
        return;
    }
    int n = op->n_inputs;
    while (op->takes_more && n < argc && (!op->n_params || sqlite3_value_type(argv[n]) == SQLITE_BLOB))
        n++;
    if (n > IP_SQL_MAX_INPUTS) {
        ip_sql_call_fail(call, SQLITE_ERROR, "got %d images, takes at most %d", n, IP_SQL_MAX_INPUTS);
        return;
    }
    char *options = ip_sql_options_read(call, n, argc - n, argv + n);
    if (!options) return;
    ip_sql_inputs in;
    if (!ip_sql_inputs_read(call, n, argv, &in)) {
        ip_sql_record record = {
            .kind = IP_SQL_OPERATION, .name = op->name, .body = options, .n_body = strlen(options) + 1
        };
        ip_sql_result(call, ctx, &in, &record,
                      imgpar_op(in.context, op->name, in.arrays, (size_t)in.n, *options ? options : NULL));
    }
    ip_sql_inputs_free(&in);
    sqlite3_free(options);
}

static void op_function(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
    if (ip_sql_any_null(argc, argv)) /* R2 */
        return;
    ip_sql_call call = ip_sql_call_begin(ctx);
    ip_sql_run_operation(&call, ctx, argc, argv);
    ip_sql_call_end(&call, ctx);
}

static int add_op(const ip_sql_setup *setup, const imgpar_op_info *op)
{
    int flags = op->same_bytes ? SQLITE_DETERMINISTIC : 0; /* R3 */
    char *name = sqlite3_mprintf("img_%s", op->name);
    if (!name) return SQLITE_NOMEM;
    int rc = ip_sql_add_function(setup, name, -1, flags, op_function, op, 0);
    sqlite3_free(name);
    if (!rc && op->sql_bare_name) rc = ip_sql_add_function(setup, op->name, -1, flags, op_function, op, 0);
    return rc;
}

int ip_sql_add_scalars(const ip_sql_setup *setup)
{
    int rc = SQLITE_OK;
    for (size_t k = 0; k < imgpar_op_count() && !rc; k++) {
        const imgpar_op_info *op = imgpar_op_get(k);
        if (op->in_sql && op->n_inputs <= IP_SQL_MAX_INPUTS) /* R1 */
            rc = add_op(setup, op);
    }
    return rc;
}
