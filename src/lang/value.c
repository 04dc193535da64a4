/* SPDX-License-Identifier: MIT */
/* Values: copies share what is counted. */
#include "lang/value.h"
#include "base/alloc.h"

#include <string.h>

ip_matrix *ip_matrix_new(int rows, int cols)
{
    size_t n, bytes;
    if (!ip_mul_size((size_t)rows, (size_t)cols, &n) || !ip_mul_size(n, sizeof(double), &bytes)) return NULL;
    ip_matrix *m = ip_zalloc(sizeof *m + bytes);
    if (!m) return NULL;
    m->refs = 1;
    m->rows = rows;
    m->cols = cols;
    return m;
}

ip_val *ip_vals_new(int n)
{
    ip_val *vals = ip_alloc_array((size_t)n, sizeof *vals);
    if (vals && n > 0) memset(vals, 0, (size_t)n * sizeof *vals);
    return vals;
}

void ip_vals_free(ip_val *vals, int n)
{
    for (int i = 0; vals && i < n; i++)
        ip_val_free(&vals[i]);
    ip_free(vals);
}

ip_val ip_val_tuple(int n)
{
    ip_tuple *tuple = ip_zalloc(sizeof *tuple);
    ip_val *items = ip_vals_new(n);
    if (!tuple || !items) {
        ip_free(tuple);
        ip_free(items);
        return (ip_val){ .kind = IP_V_NONE };
    }
    *tuple = (ip_tuple){ .refs = 1, .n = n, .items = items };
    return (ip_val){ .kind = IP_V_TUPLE, .u.tuple = tuple };
}

ip_record *ip_record_new(int n)
{
    ip_record *r = ip_zalloc(sizeof *r);
    if (!r) return NULL;
    *r = (ip_record){ .refs = 1, .n = n, .names = ip_zalloc((size_t)n * sizeof *r->names), .items = ip_vals_new(n) };
    if (r->names && r->items) return r;
    ip_record_release(r);
    return NULL;
}

void ip_record_release(ip_record *r)
{
    if (!r || --r->refs > 0) return;
    ip_vals_free(r->items, r->n);
    ip_free(r->names);
    ip_free(r);
}

ip_val ip_val_copy(const ip_val *a)
{
    if (a->kind == IP_V_ARRAY && a->record) a->record->refs++;
    if (a->kind == IP_V_ARRAY && a->u.array) imgpar_array_retain(a->u.array);
    if (a->kind == IP_V_MATRIX && a->u.matrix) a->u.matrix->refs++;
    if (a->kind == IP_V_TUPLE) a->u.tuple->refs++;
    return *a;
}

void ip_val_free(ip_val *a)
{
    if (a->kind == IP_V_ARRAY) {
        imgpar_array_release(a->u.array);
        ip_record_release(a->record);
    }
    if (a->kind == IP_V_MATRIX && a->u.matrix && --a->u.matrix->refs == 0) ip_free(a->u.matrix);
    if (a->kind == IP_V_TUPLE && --a->u.tuple->refs == 0) {
        ip_vals_free(a->u.tuple->items, a->u.tuple->n);
        ip_free(a->u.tuple);
    }
    a->kind = IP_V_NONE;
}

const char *ip_val_kind_text(const ip_val *a)
{
    static const char *const text[] = {
        [IP_V_NONE] = "nothing",         [IP_V_NUMBER] = "a number",
        [IP_V_BOOL] = "true or false",   [IP_V_TEXT] = "text",
        [IP_V_ARRAY] = "an array",       [IP_V_MATRIX] = "a vector",
        [IP_V_TUPLE] = "several values", [IP_V_FUNCTION] = "a function",
        [IP_V_ANY] = "a value",
    };
    return text[a->kind];
}
