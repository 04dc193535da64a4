/* SPDX-License-Identifier: MIT */
/* imgpar_apply(): pipeline text as an expression of given arrays. */
#include "lang/parser.h"
#include "lang/program.h"

#include <string.h>

/* The text's value, or NULL and err. */
static imgpar_array *apply(ip_eval *ev)
{
    ip_outputs outputs = { 0 };
    imgpar_array *result = NULL;
    if (!ip_program_run(ev, NULL, &outputs) && !ev->checking)
        result = imgpar_array_retain(outputs.output[outputs.n - 1].vals[0].u.array);
    ip_outputs_free(&outputs);
    ip_eval_free(ev);
    return result;
}

static imgpar_array *apply_text(imgpar_context *ctx, const char *text, imgpar_array *const *arrays, size_t n, bool safe)
{
    ip_error err = { .status = IMGPAR_OK };
    if (!ctx || !text || (n > 0 && !arrays))
        return ip_array_error(ctx, IMGPAR_E_ARGUMENT, "apply: a context, a text and its arrays are needed");
    ip_program program = { .text = { .name = "apply", .text = text, .length = strlen(text) } };
    imgpar_array *result = NULL;
    if (!ip_parse(&program, IP_PARSE_APPLY, &err)) {
        ip_eval checking = { .program = &program, .checking = true, .safe = safe, .n_inputs = n, .err = &err };
        ip_eval building = { .program = &program, .ctx = ctx, .safe = safe, .inputs = arrays, .n_inputs = n,
                             .err = &err };
        apply(&checking);
        if (!err.status) result = apply(&building);
    }
    ip_program_free(&program);
    return result ? result : ip_array_error(ctx, err.status ? err.status : IMGPAR_E_INTERNAL, err.message);
}

IMGPAR_API imgpar_array *imgpar_apply(imgpar_context *ctx, const char *text, imgpar_array *const *arrays, size_t n)
{
    return apply_text(ctx, text, arrays, n, false);
}

IMGPAR_API imgpar_array *imgpar_apply_safe(imgpar_context *ctx, const char *text, imgpar_array *const *arrays, size_t n)
{
    return apply_text(ctx, text, arrays, n, true);
}
