/* SPDX-License-Identifier: MIT */
/* What print() says: numbers as short as they read back, small arrays element by element, others by shape. */
#include "base/alloc.h"
#include "base/dtype.h"
#include "base/str.h"
#include "lang/program.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* The shortest text that gives the same float. */
static void show_float(ip_str *line, float value)
{
    ip_str text = IP_STR_INIT;
    for (int digits = 6; digits <= 9; digits++) {
        ip_str_clear(&text);
        ip_str_printf(&text, "%.*g", digits, (double)value);
        if ((float)ip_parse_number(ip_str_text(&text), NULL) == value) break;
    }
    ip_str_append(line, isnan(value) ? "nan" : ip_str_text(&text));
    ip_str_free(&text);
}

static void show_real(ip_str *line, imgpar_dtype dtype, const void *element)
{
    switch (dtype) {
    case IMGPAR_U64: ip_str_printf(line, "%" PRIu64, *(const uint64_t *)element); break;
    case IMGPAR_I64: ip_str_printf(line, "%" PRId64, *(const int64_t *)element); break;
    case IMGPAR_F32: show_float(line, *(const float *)element); break;
    case IMGPAR_F16: show_float(line, (float)ip_load_number(dtype, element)); break;
    default: ip_str_number(line, ip_load_number(dtype, element)); break;
    }
}

static void show_element(ip_str *line, imgpar_dtype dtype, const void *element)
{
    const imgpar_dtype part = ip_dtype_part(dtype);
    show_real(line, part, element);
    if (!ip_dtype_is_complex(dtype)) return;
    const void *imaginary = (const char *)element + imgpar_dtype_size(part);
    const double im = ip_load_number(part, imaginary);
    if (isnan(im) || !signbit(im)) ip_str_putc(line, '+');
    show_real(line, part, imaginary);
    ip_str_putc(line, 'i');
}

/* Elements of the axes from axis on: rows in the language's own notation, [1 2; 3 4]; further axes in more brackets. */
static void show_axes(ip_str *line, const ip_type *type, int axis, const char **element)
{
    int left = type->rank - axis;
    size_t size = imgpar_dtype_size(type->dtype);
    if (left > 1) {
        ip_str_putc(line, '[');
        for (int64_t i = 0; i < type->shape[axis]; i++) {
            if (i > 0) ip_str_append(line, left == 2 ? "; " : " ");
            show_axes(line, type, axis + 1, element);
        }
        ip_str_putc(line, ']');
        return;
    }
    for (int64_t i = 0; i < type->shape[axis]; i++, *element += size) {
        if (i > 0) ip_str_putc(line, ' ');
        show_element(line, type->dtype, *element);
    }
}

static imgpar_status show_array(imgpar_array *a, const imgpar_options *options, ip_str *line, ip_error *err)
{
    double number;
    if (ip_array_is_number(a, &number, NULL)) { /* a literal is itself, whatever dtype it has among arrays */
        ip_str_number(line, number);
        return IMGPAR_OK;
    }
    const ip_type *type = &a->type;
    int64_t count = ip_type_count(type);
    if (count > IP_SHOW_MAX_ELEMENTS) {
        char text[96];
        ip_str_append(line, ip_type_text(type, text));
        if (type->white > 0) ip_str_printf(line, ", white %.10g", type->white);
        return IMGPAR_OK;
    }
    _Alignas(16) char elements[IP_SHOW_MAX_ELEMENTS * 8];
    const char *element = elements;
    size_t size_bytes = (size_t)count * imgpar_dtype_size(type->dtype);
    imgpar_status st = imgpar_array_read_with(a, elements, size_bytes, options);
    if (st) return ip_fail(err, st, "%s", imgpar_array_message(a));
    if (count == 1 && type->dtype == IMGPAR_BOOL)
        ip_str_append(line, elements[0] ? "true" : "false");
    else if (count == 1)
        show_element(line, type->dtype, element);
    else if (type->rank == 1) {
        ip_str_putc(line, '[');
        show_axes(line, type, 0, &element);
        ip_str_putc(line, ']');
    } else {
        show_axes(line, type, 0, &element);
    }
    return IMGPAR_OK;
}

imgpar_status ip_show(const ip_val *v, const imgpar_options *options, ip_str *line, ip_error *err)
{
    switch ((ip_value_kind)v->kind) {
    case IP_V_NUMBER: ip_str_number(line, v->number); return IMGPAR_OK;
    case IP_V_BOOL: ip_str_append(line, v->number != 0 ? "true" : "false"); return IMGPAR_OK;
    case IP_V_TEXT: ip_str_append(line, v->u.text); return IMGPAR_OK;
    case IP_V_ARRAY: return show_array(v->u.array, options, line, err);
    case IP_V_MATRIX:
        ip_str_putc(line, '[');
        for (int r = 0; r < v->u.matrix->rows; r++)
            for (int c = 0; c < v->u.matrix->cols; c++) {
                if (r + c > 0) ip_str_append(line, c == 0 ? "; " : " ");
                ip_str_number(line, v->u.matrix->numbers[r * v->u.matrix->cols + c]);
            }
        ip_str_putc(line, ']');
        return IMGPAR_OK;
    default: return ip_fail(err, IMGPAR_E_INTERNAL, "this value cannot be printed");
    }
}

IMGPAR_API imgpar_status imgpar_array_text(imgpar_array *a, const imgpar_options *options, char **out)
{
    ip_str line = IP_STR_INIT;
    ip_error err = { .status = IMGPAR_OK };
    if (out) *out = NULL;
    if (!a || !out) return IMGPAR_E_ARGUMENT;
    imgpar_status st = imgpar_array_status(a);
    if (st) return st;
    st = show_array(a, options, &line, &err);
    if (!st && !(*out = ip_str_take(&line))) st = ip_fail_memory(&err, "printing");
    if (st && !imgpar_array_status(a)) ip_array_set_error(a, st, err.message);
    ip_str_free(&line);
    return st;
}
