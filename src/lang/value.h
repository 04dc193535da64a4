/* SPDX-License-Identifier: MIT */
/*
 * Values of the evaluator. Numbers are doubles and know whether they were
 * written (or computed) as fractions. While a program is only checked, arrays
 * carry no array and numbers that depend on one are unknown; ANY is a
 * parameter of a function that is checked before it is called.
 */
#ifndef IP_LANG_VALUE_H
#define IP_LANG_VALUE_H

#include "graph/array.h"
#include "lang/ast.h"

typedef enum ip_value_kind {
    IP_V_NONE,
    IP_V_NUMBER,
    IP_V_BOOL,
    IP_V_TEXT,
    IP_V_ARRAY,
    IP_V_MATRIX,
    IP_V_TUPLE,
    IP_V_FUNCTION,
    IP_V_ANY
} ip_value_kind;

typedef struct ip_val ip_val;

/* Shared by count; one evaluator, one thread. */
typedef struct ip_matrix {
    int refs, rows, cols;
    double numbers[];
} ip_matrix;
typedef struct ip_tuple {
    int refs, n;
    ip_val *items;
} ip_tuple;
/* What zip(r=a, g=b) put together. */
typedef struct ip_record {
    int refs, n;
    ip_symbol **names;
    ip_val *items;
} ip_record;

/* A lambda with the names it sees, or an fn (scope NULL), or an operation of the table. */
typedef struct ip_function {
    const ip_node *lambda;
    struct ip_scope *scope;          /* borrowed: functions go down into calls, never up */
    struct ip_stencil_form *stencil; /* the stencil() it was written in, or NULL; borrowed */
    const ip_op *op;
} ip_function;

struct ip_val {
    uint8_t kind;
    bool unknown;      /* checking: the number, bool or matrix will be known when building */
    bool fractional;   /* NUMBER */
    bool from_caller;  /* TEXT: given by imgpar_pipeline_set(); a path is relative to the current folder */
    double number;     /* NUMBER, BOOL */
    ip_record *record; /* ARRAY: its named components, or NULL */
    union {
        const char *text;    /* in the program's arena */
        imgpar_array *array; /* a reference; NULL while checking */
        ip_matrix *matrix;
        ip_tuple *tuple;
        ip_function fn;
    } u;
};

static inline ip_val ip_val_number(double number, bool fractional)
{
    return (ip_val){ .kind = IP_V_NUMBER, .number = number, .fractional = fractional };
}
static inline ip_val ip_val_bool(bool value) { return (ip_val){ .kind = IP_V_BOOL, .number = value }; }
static inline ip_val ip_val_text(const char *text) { return (ip_val){ .kind = IP_V_TEXT, .u.text = text }; }
/* Takes the reference. */
static inline ip_val ip_val_array(imgpar_array *takes) { return (ip_val){ .kind = IP_V_ARRAY, .u.array = takes }; }
static inline ip_val ip_val_unknown(ip_value_kind kind) { return (ip_val){ .kind = (uint8_t)kind, .unknown = true }; }
static inline bool ip_val_is_scalar(const ip_val *v) { return v->kind == IP_V_NUMBER || v->kind == IP_V_BOOL; }

/* New references to what a holds. */
ip_val ip_val_copy(const ip_val *a);
void ip_val_free(ip_val *a);            /* and sets it to NONE */
void ip_vals_free(ip_val *vals, int n); /* and the vector itself */
ip_val *ip_vals_new(int n);             /* NULL without memory */
/* NULL without memory. */
ip_matrix *ip_matrix_new(int rows, int cols);
/* A tuple of n NONEs; kind NONE without memory. */
ip_val ip_val_tuple(int n);
/* n components without names and values; NULL without memory. */
ip_record *ip_record_new(int n);
void ip_record_release(ip_record *record); /* NULL is legal */
/* "a number", "an array", ... */
const char *ip_val_kind_text(const ip_val *a);

#endif
