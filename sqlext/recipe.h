/* SPDX-License-Identifier: MIT */
/*
 * recipe.h - the bytes of a deferred image, and their meaning as a list of records.
 *
 * A recipe is a notice for people, then records. A record is a source (the bytes of an encoded image), an operation of
 * the table with its options as text, a text for apply() or grad(), or a fault: what stood in an image's place, such as
 * a text or an empty blob. Its inputs are records before it; the last record is the value. Appending a record
 * therefore makes a new value, and every value is a prefix of those made from it.
 *
 *     notice      80 bytes, "imgpar deferred image, format 1: ...", zeros behind
 *     record      kind       u8   'S' source, 'O' operation, 'A' text for apply(), 'G' for grad(), 'F' fault
 *                 n_inputs   u8
 *                 n_name     u16  with its zero; 0 unless kind is 'O'
 *                 check      u32  of this head, the inputs and the name, chained from the record before
 *                 n_body     u64
 *                 hash       u64  of the body
 *                 inputs     u32 each: record numbers below this one's
 *                 name
 *                 body            a source's bytes; options, text or what is wrong, with its zero
 *
 * Numbers are little-endian. There is never a path in a recipe.
 */
#ifndef IP_SQL_RECIPE_H
#define IP_SQL_RECIPE_H

#include "sqlext.h"

#pragma GCC visibility push(hidden)

enum {
    IP_SQL_MAX_INPUTS = 16,
    IP_SQL_MAX_RECORDS = 10000,
    IP_SQL_MAX_SOURCES = 1000,
    IP_SQL_MAX_DEPTH = 1000,
    IP_SQL_MAX_TEXT = 1000000,
    IP_SQL_MAX_FAULT = 160 /* bytes of what is wrong */
};

typedef enum ip_sql_kind {
    IP_SQL_SOURCE = 'S',
    IP_SQL_OPERATION = 'O',
    IP_SQL_TEXT = 'A',
    IP_SQL_GRADIENT = 'G',
    IP_SQL_FAULT = 'F'
} ip_sql_kind;

typedef struct ip_sql_record {
    ip_sql_kind kind;
    int n_inputs;
    uint32_t inputs[IP_SQL_MAX_INPUTS];
    const char *name; /* operations; else "". Borrowed from the recipe's bytes or the table */
    const void *body; /* borrowed from the recipe's bytes or an argument */
    uint64_t n_body;  /* with the zero of a text */
    uint64_t hash;
    int depth;           /* 1 for a record without inputs */
    bool used;           /* is an input of a later record */
    imgpar_array *array; /* owned; NULL: not built */
} ip_sql_record;

typedef struct ip_sql_recipe {
    ip_sql_record *records;
    int n_records, capacity;
    int n_sources;
    int n_written;     /* records that stand in bytes; those behind them are to be appended */
    uint32_t check;    /* of the last written record */
    const void *bytes; /* borrowed; NULL: a new recipe */
    size_t n_bytes;
    uint32_t *slots;  /* record number + 1 by hash, 0: empty; NULL until records are compared */
    uint32_t n_slots; /* a power of two */
} ip_sql_recipe;

/* True where the bytes claim to be a recipe, of any format number. */
bool ip_sql_recipe_is(const void *bytes, size_t n);
/* Reads and checks every record before anything is built; bodies of sources are checked when built.
 * Adds to call's error "where: ...". The recipe is to be freed in any case. */
int ip_sql_recipe_parse(ip_sql_call *call, const char *where, const void *bytes, size_t n, ip_sql_recipe *out);
void ip_sql_recipe_free(ip_sql_recipe *r);
/* Gives every record its array. Sources' bytes are compared with their hash. */
int ip_sql_recipe_build(ip_sql_call *call, const char *where, imgpar_context *context, ip_sql_recipe *r);

/* Begins a new recipe with a source of these bytes; a, the image they are, is taken over. */
int ip_sql_recipe_start(ip_sql_call *call, ip_sql_recipe *r, const void *bytes, size_t n, imgpar_array *a);
/* Adds record (its array is taken over, or NULL), or finds its equal. *index is its number. */
int ip_sql_recipe_add(ip_sql_call *call, ip_sql_recipe *r, const ip_sql_record *record, uint32_t *index);
/* Adds what other has more than r. *index gets the number of other's value. Builds what is added. */
int ip_sql_recipe_merge(ip_sql_call *call, imgpar_context *context, ip_sql_recipe *r, const ip_sql_recipe *other,
                        uint32_t *index);
/* An error where a value is above the limits; adds its elements to *elements. where may be NULL. */
int ip_sql_work_check(ip_sql_call *call, const char *where, const imgpar_info *info, uint64_t *elements);
/* "is it told where the image is computed?", of a record that cannot be built: its pixels are to blame, not its
 * text. */
bool ip_sql_waits(ip_sql_kind kind, imgpar_status status);
/* True for an error array; false for one whose last evaluation failed. */
bool ip_sql_is_broken(const imgpar_array *a);
/* The gradient of what a text makes of images, by the first of them. */
imgpar_array *ip_sql_gradient(const imgpar_formula *loss, imgpar_context *context, imgpar_array *const *images, int n);
/* Builds the array of record k from those of its inputs, or from its bytes. */
int ip_sql_record_build(ip_sql_call *call, const char *where, imgpar_context *context, ip_sql_recipe *r, int k);

/* The bytes that appending the new records takes, and writes them to dst. */
uint64_t ip_sql_recipe_more(const ip_sql_recipe *r);
void ip_sql_recipe_write(ip_sql_recipe *r, unsigned char *dst);

/* "image > blur > invert": how a record comes about, along its first inputs, for messages. "": a source. */
void ip_sql_recipe_path(const ip_sql_recipe *r, uint32_t index, char *path, size_t n);

/* 64 bits of n bytes, 8 at a time; finds damage, not forgery. */
uint64_t ip_sql_hash(uint64_t seed, const void *bytes, size_t n);

#pragma GCC visibility pop

#endif
