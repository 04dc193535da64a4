/* SPDX-License-Identifier: MIT */
/* imgpar_apply(), imgpar_formula: pipeline text as an expression of given arrays. */
#include "base/alloc.h"
#include "lang/parser.h"
#include "lang/program.h"

#include <string.h>

struct imgpar_formula {
    ip_program program;
    char *text; /* owned; the program points into it */
    ip_error error;
};

imgpar_array *ip_program_value(ip_eval *ev, const ip_val *given)
{
    ip_outputs outputs = { 0 };
    imgpar_array *result = NULL;
    if (!ip_program_run(ev, given, &outputs) && !ev->checking)
        result = imgpar_array_retain(outputs.output[outputs.n - 1].vals[0].u.array);
    ip_outputs_free(&outputs);
    ip_eval_free(ev);
    return result;
}

/* Checked before anything is built, so that a mistake at the end is found without opening what the beginning names. */
static imgpar_array *apply_program(const ip_program *program, imgpar_context *ctx, imgpar_array *const *arrays,
                                   size_t n, bool safe, ip_error *err)
{
    ip_eval checking = { .program = program, .checking = true, .safe = safe, .n_inputs = n, .err = err };
    ip_eval building = { .program = program, .ctx = ctx, .safe = safe, .inputs = arrays, .n_inputs = n, .err = err };
    ip_program_value(&checking, NULL);
    return err->status ? NULL : ip_program_value(&building, NULL);
}

static imgpar_array *result_of(imgpar_context *ctx, imgpar_array *result, const ip_error *err)
{
    return result ? result : ip_array_error(ctx, err->status ? err->status : IMGPAR_E_INTERNAL, err->message);
}

static imgpar_array *apply_text(imgpar_context *ctx, const char *text, imgpar_array *const *arrays, size_t n, bool safe)
{
    ip_error err = { .status = IMGPAR_OK };
    if (!ctx || !text || (n > 0 && !arrays))
        return ip_array_error(ctx, IMGPAR_E_ARGUMENT, "apply: a context, a text and its arrays are needed");
    ip_program program = { .text = { .name = "apply", .text = text, .length = strlen(text) } };
    imgpar_array *result = NULL;
    if (!ip_parse(&program, IP_PARSE_APPLY, &err)) result = apply_program(&program, ctx, arrays, n, safe, &err);
    ip_program_free(&program);
    return result_of(ctx, result, &err);
}

IMGPAR_API imgpar_array *imgpar_apply(imgpar_context *ctx, const char *text, imgpar_array *const *arrays, size_t n)
{
    return apply_text(ctx, text, arrays, n, false);
}

IMGPAR_API imgpar_array *imgpar_apply_safe(imgpar_context *ctx, const char *text, imgpar_array *const *arrays, size_t n)
{
    return apply_text(ctx, text, arrays, n, true);
}

/* ---- parsed once ------------------------------------------------------------------------------ */

IMGPAR_API imgpar_status imgpar_formula_parse(const char *text, imgpar_formula **out)
{
    if (!out) return IMGPAR_E_ARGUMENT;
    *out = NULL;
    if (!text) return IMGPAR_E_ARGUMENT;
    imgpar_formula *f = ip_zalloc(sizeof *f);
    char *copy = f ? ip_strdup(text) : NULL;
    if (!copy) {
        ip_free(f);
        return IMGPAR_E_HOST_MEMORY;
    }
    f->text = copy;
    f->program.text = (ip_text){ .name = "apply", .text = copy, .length = strlen(copy) };
    ip_parse(&f->program, IP_PARSE_APPLY, &f->error);
    *out = f;
    return f->error.status;
}

IMGPAR_API imgpar_array *imgpar_formula_apply_safe(const imgpar_formula *f, imgpar_context *ctx,
                                                   imgpar_array *const *arrays, size_t n)
{
    if (!f || !ctx || (n > 0 && !arrays))
        return ip_array_error(ctx, IMGPAR_E_ARGUMENT, "apply: a formula, a context and its arrays are needed");
    ip_error err = f->error;
    return result_of(ctx, err.status ? NULL : apply_program(&f->program, ctx, arrays, n, true, &err), &err);
}

IMGPAR_API void imgpar_formula_release(imgpar_formula *f)
{
    if (!f) return;
    ip_program_free(&f->program);
    ip_free(f->text);
    ip_free(f);
}
