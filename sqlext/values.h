/* SPDX-License-Identifier: MIT */
/*
 * values.h - from SQL values to arrays and back.
 *
 * An argument is an encoded image (PNG, JPEG, NPY, PNM), a deferred image, or, where an operation
 * takes several images, a number. A result is a finished image, a deferred one, or a number:
 *
 *     ip_sql_inputs in;
 *     if (!ip_sql_inputs_read(&call, argc, argv, &in)) {
 *         imgpar_array *a = imgpar_op(in.context, op->name, in.arrays, in.n, options);
 *         ip_sql_result(&call, ctx, &in, &(ip_sql_record){ .kind = IP_SQL_OPERATION, ... }, a);
 *     }
 *     ip_sql_inputs_free(&in);
 */
#ifndef IP_SQL_VALUES_H
#define IP_SQL_VALUES_H

#include "recipe.h"

#pragma GCC visibility push(hidden)

typedef struct ip_sql_image {
    bool deferred;
    const void *bytes; /* borrowed from the argument */
    size_t n_bytes;
    char number[32];      /* a number given for an image, as text; else "" */
    const char *fault;    /* what stands in an image's place, where that is told later; constant; else NULL */
    imgpar_array *array;  /* owned; not deferred */
    ip_sql_recipe recipe; /* deferred */
} ip_sql_image;

typedef struct ip_sql_inputs {
    imgpar_context *context; /* borrowed */
    int n;
    ip_sql_image images[IP_SQL_MAX_INPUTS];
    imgpar_array *arrays[IP_SQL_MAX_INPUTS]; /* borrowed from images */
    int base;                                /* deferred: the image whose recipe is extended by the others; else -1 */
    uint32_t index[IP_SQL_MAX_INPUTS];       /* deferred: the inputs' records in the base's recipe */
} ip_sql_inputs;

/* Reads n arguments (at most IP_SQL_MAX_INPUTS, none NULL) as images. With any deferred one, all
 * become records of one recipe. in is to be freed in any case. */
int ip_sql_inputs_read(ip_sql_call *call, int n, sqlite3_value **argv, ip_sql_inputs *in);
/* The same for one argument whose header is enough: opens no device. */
int ip_sql_inputs_read_header(ip_sql_call *call, sqlite3_value *arg, ip_sql_inputs *in);
/* The same, where bytes that are no image are no error yet. */
int ip_sql_inputs_read_lazily(ip_sql_call *call, sqlite3_value *arg, ip_sql_inputs *in);
void ip_sql_inputs_free(ip_sql_inputs *in);

/*
 * Takes over result, an array made from the inputs, and returns it to SQL: as a number where it
 * is one element and record is a text or a row that returns numbers; deferred where an input
 * was, with record (kind, name, body) appended; else encoded.
 */
void ip_sql_result(ip_sql_call *call, sqlite3_context *ctx, ip_sql_inputs *in, ip_sql_record *record,
                   imgpar_array *result);
/* Returns a deferred image whose source these bytes are. */
void ip_sql_result_lazy(ip_sql_call *call, sqlite3_context *ctx, const void *bytes, size_t n);
/* Returns the deferred image itself, or the plain image made deferred. */
void ip_sql_result_deferred(ip_sql_call *call, sqlite3_context *ctx, ip_sql_inputs *in);
/* The format that a finished image of this kind is returned in: wanted, or where that is NULL PNG if it holds the
 * image, else NPY. NULL: call has the error, it is too long. */
const char *ip_sql_format_of(ip_sql_call *call, const imgpar_info *info, const char *wanted);
/* A sink's settings as text, borrowed from value or written to buf: a whole number is JPEG's quality. NULL: call has
 * the error. */
const char *ip_sql_settings_read(ip_sql_call *call, const char *format, sqlite3_value *value, char *buf, size_t n);
/* Returns a finished array as ordinary bytes, or as a deferred image whose source it is (that is computed, too). */
void ip_sql_result_array(ip_sql_call *call, sqlite3_context *ctx, imgpar_array *a, bool deferred);
/* Computes and encodes; format as for ip_sql_format_of(). */
void ip_sql_result_encoded(ip_sql_call *call, sqlite3_context *ctx, imgpar_array *a, const char *format,
                           const char *settings);
/* Computes and returns the elements, tightly packed. */
void ip_sql_result_raw(ip_sql_call *call, sqlite3_context *ctx, imgpar_array *a);
/* Where a is the value of the call's deferred image: computes it and remembers that. */
int ip_sql_develop(ip_sql_call *call, imgpar_array *a);

/* "argument 1 is a text, not an image", by the SQLite type of what should be one; a blob: an empty one. */
int ip_sql_call_fail_type(ip_sql_call *call, const char *where, int type);
/* Is it a text that begins as a list does, '[5 50 95]' or a JSON array? */
bool ip_sql_is_list(sqlite3_value *value);

/* True where any of the arguments is NULL. */
bool ip_sql_any_null(int argc, sqlite3_value **argv);

#pragma GCC visibility pop

#endif
