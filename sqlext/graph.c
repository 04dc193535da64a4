/* SPDX-License-Identifier: MIT */
/*
 * From records to arrays: the only place where a recipe becomes a graph.
 *
 * R1. A source is opened from its bytes, an operation built by name, a text by imgpar_apply_safe(): nothing here can
 *     reach a file, whatever a recipe says.
 * R2. A source whose bytes changed since lazy() is an error before it is decoded.
 * R3. A fault, a source that cannot be opened, and an operation whose images do not fit together, are kept as an
 *     error array, which every operation on it passes on: the failure is that of the sink, and img_try() can tell of
 *     it.
 * R4. A value has at most max_pixels pixels (img_settings), and all of a deferred image together MAX_ELEMENTS
 *     elements: a few bytes can ask for a terabyte.
 * R5. Records that two deferred images share become one array, so shared work is done once.
 * R6. A gradient is by its first image alone, though another one may be the same array: the first gets a node of its
 *     own.
 */
#include "recipe.h"

#include <stdlib.h>
#include <string.h>

bool ip_sql_is_broken(const imgpar_array *a)
{
    imgpar_info info = { .struct_size = sizeof info };
    return imgpar_array_info(a, &info) != IMGPAR_OK;
}

bool ip_sql_waits(ip_sql_kind kind, imgpar_status status)
{
    return kind == IP_SQL_FAULT || kind == IP_SQL_SOURCE ? status != IMGPAR_E_HOST_MEMORY : status == IMGPAR_E_SHAPE;
}

#define MAX_PIXELS_HINT "(max_pixels; IMGPAR_MAX_PIXELS or img_setting() raises it)"

/* "256M", "0.5g", "1e9" or "0x100": the setting was checked when it was made. By hand, since strtod()
 * goes by the locale. */
static double number_of_pixels(const char *text)
{
    static const char units[] = "KMG";
    double n = 0, place = 1;
    char *end;
    text += strspn(text, " +");
    if (text[0] == '0' && (text[1] | 0x20) == 'x') {
        n = (double)strtoull(text, &end, 16);
        text = end;
    }
    for (; *text >= '0' && *text <= '9'; text++)
        n = n * 10 + (*text - '0');
    if (*text == '.')
        for (text++; *text >= '0' && *text <= '9'; text++)
            n += (*text - '0') * (place /= 10);
    if ((*text | 0x20) == 'e') {
        long exponent = strtol(text + 1, &end, 10);
        text = end;
        for (; exponent > 0 && n < 1e300; exponent--)
            n *= 10;
        for (; exponent < 0 && n > 0; exponent++)
            n /= 10;
    }
    const char *unit = *text ? strchr(units, *text & ~0x20) : NULL; /* either case */
    for (const char *u = units; unit && u <= unit; u++)
        n *= 1024;
    return n;
}

int ip_sql_work_check(ip_sql_call *call, const char *where, const imgpar_info *info, uint64_t *elements)
{
    static const uint64_t MAX_ELEMENTS = UINT64_C(1) << 36;
    const char *origin, *limit = ip_sql_setting_value(call->conn, IP_SQL_SET_MAX_PIXELS, &origin);
    const double most = number_of_pixels(limit);
    const uint64_t size = imgpar_dtype_size(info->dtype);
    *elements += info->size_bytes / size;
    if ((double)info->depth * (double)info->height * (double)info->width > most)
        return ip_sql_call_fail(call, SQLITE_ERROR, "%s%s%lld x %lld pixels are above the limit of %s " MAX_PIXELS_HINT,
                                where ? where : "", where ? ": " : "", (long long)info->width,
                                (long long)(info->height * info->depth), limit);
    if (*elements > MAX_ELEMENTS)
        return ip_sql_call_fail(call, SQLITE_ERROR, "%s%sa deferred image of too much work; finish it with png()",
                                where ? where : "", where ? ": " : "");
    return SQLITE_OK;
}

imgpar_array *ip_sql_gradient(const imgpar_formula *loss, imgpar_context *context, imgpar_array *const *images, int n)
{
    imgpar_array *arrays[IP_SQL_MAX_INPUTS];
    memcpy(arrays, images, (size_t)n * sizeof *arrays);
    arrays[0] = imgpar_op(context, "slice", images, 1, "from=0"); /* R6 */
    imgpar_array *value = imgpar_formula_apply_safe(loss, context, arrays, (size_t)n);
    imgpar_array *gradient = imgpar_grad(value, arrays[0]);
    imgpar_array_release(value);
    imgpar_array_release(arrays[0]);
    return gradient;
}

/* The same of a record's text. */
static imgpar_array *gradient_of(const ip_sql_record *record, imgpar_context *context, imgpar_array *const *images)
{
    imgpar_formula *loss = NULL;
    imgpar_formula_parse(record->body, &loss); /* what is wrong with it is told when it is applied */
    imgpar_array *gradient = ip_sql_gradient(loss, context, images, record->n_inputs);
    imgpar_formula_release(loss);
    return gradient;
}

int ip_sql_record_build(ip_sql_call *call, const char *where, imgpar_context *context, ip_sql_recipe *r, int k)
{
    ip_sql_record *record = &r->records[k];
    imgpar_array *inputs[IP_SQL_MAX_INPUTS];
    for (int i = 0; i < record->n_inputs; i++)
        inputs[i] = r->records[record->inputs[i]].array;
    size_t n = (size_t)record->n_inputs;
    for (int i = 0; i < record->n_inputs; i++)
        if (ip_sql_is_broken(inputs[i])) { /* R3 */
            record->array = imgpar_array_retain(inputs[i]);
            return SQLITE_OK;
        }
    if (record->kind == IP_SQL_SOURCE) {
        if (ip_sql_hash(0, record->body, record->n_body) != record->hash) /* R2 */
            return ip_sql_call_fail(call, SQLITE_ERROR, "%s: the deferred image is damaged (record %d: bad sum)", where,
                                    k + 1);
        record->array = imgpar_open_memory(context, record->body, record->n_body);
    } else if (record->kind == IP_SQL_OPERATION) {
        record->array = imgpar_op(context, record->name, inputs, n, record->body);
    } else if (record->kind == IP_SQL_GRADIENT) {
        record->array = gradient_of(record, context, inputs); /* R1 */
    } else if (record->kind == IP_SQL_FAULT) {
        record->array = imgpar_array_error(context, IMGPAR_E_CORRUPT, record->body);
    } else {
        record->array = imgpar_apply_safe(context, record->body, inputs, n); /* R1 */
    }
    imgpar_status st = imgpar_array_status(record->array);
    return st && !ip_sql_waits(record->kind, st)
               ? ip_sql_call_fail_status(call, st, where, imgpar_array_message(record->array))
               : SQLITE_OK;
}

int ip_sql_recipe_build(ip_sql_call *call, const char *where, imgpar_context *context, ip_sql_recipe *r)
{
    uint64_t elements = 0;
    for (int k = 0; k < r->n_records; k++) {
        imgpar_info info = { .struct_size = sizeof info };
        if (!r->records[k].array && ip_sql_record_build(call, where, context, r, k)) return call->code;
        if (!imgpar_array_info(r->records[k].array, &info) && ip_sql_work_check(call, where, &info, &elements)) /* R4 */
            return call->code;
    }
    return SQLITE_OK;
}

/* True where record (of r) has the same input arrays as original (of other): its array can be shared. */
static bool same_inputs(const ip_sql_recipe *r, const ip_sql_record *record, const ip_sql_recipe *other,
                        const ip_sql_record *original)
{
    for (int i = 0; i < record->n_inputs; i++)
        if (r->records[record->inputs[i]].array != other->records[original->inputs[i]].array) return false;
    return true;
}

int ip_sql_recipe_merge(ip_sql_call *call, imgpar_context *context, ip_sql_recipe *r, const ip_sql_recipe *other,
                        uint32_t *index)
{
    uint32_t *number = sqlite3_malloc64((sqlite3_uint64)other->n_records * sizeof *number);
    if (!number) return ip_sql_call_fail(call, SQLITE_NOMEM, NULL);
    for (int k = 0; k < other->n_records; k++) {
        const ip_sql_record *original = &other->records[k];
        ip_sql_record record = *original;
        for (int i = 0; i < record.n_inputs; i++)
            record.inputs[i] = number[original->inputs[i]];
        record.array = same_inputs(r, &record, other, original) ? imgpar_array_retain(original->array) : NULL;
        if (ip_sql_recipe_add(call, r, &record, &number[k])) /* R5 */
            break;
        if (!r->records[number[k]].array && ip_sql_record_build(call, "argument", context, r, (int)number[k])) break;
    }
    *index = number[other->n_records - 1];
    sqlite3_free(number);
    return call->code;
}
