/* SPDX-License-Identifier: MIT */
/*
 * Independent answers: what every operation must give, worked out straight from its
 * definition with numbers of 64 significant bits, one element after the other. It
 * shares no code with the library, on purpose; being slow and plain is its merit.
 *
 *     picture a = picture_new(IMGPAR_U8, 7, 13, 3), want;
 *     picture_fill(&a, FILL_ANY, 1);
 *     call c = { .op = "blur", .in = { &a }, .n_in = 1, .options = "sigma=2" };
 *     oracle_answer(&c, &want);                  exact values, not rounded, and what may be missed
 *     picture_compare(&want, bytes, why);        bytes: what the library gave
 */
#ifndef IP_TESTS_ORACLE_H
#define IP_TESTS_ORACLE_H

#include <imgpar.h>
#include <stdbool.h>

/* Holds every element of every dtype, where it has 64 bits of mantissa (oracle_is_exact()). */
typedef long double real;

/* Whether integers of 64 bits are exact here; they are not under valgrind. */
bool oracle_is_exact(void);

/*
 * An image [h, w, c] of values. In an answer, v is the exact mathematical value before
 * rounding to dtype, and slack how far a result may be from it beyond that rounding.
 */
typedef struct picture {
    imgpar_dtype dtype;
    int64_t h, w, c;
    real *v, *slack;  /* h * w * c each; slack NULL: 0 everywhere */
    bool is_number;   /* a literal: one element, which widens nothing */
    bool is_fraction; /* a literal written with a fraction */
    bool is_data;     /* its last channel is never alpha */
} picture;

picture picture_new(imgpar_dtype dtype, int64_t h, int64_t w, int64_t c);
picture picture_number(real value, bool is_fraction);
picture picture_copy(const picture *p);
void picture_free(picture *p);
int64_t picture_count(const picture *p);
real *picture_at(const picture *p, int64_t y, int64_t x, int64_t c);
/* The same with one element or one channel broadcasting. */
real picture_spread(const picture *p, int64_t y, int64_t x, int64_t c);
/* Read beyond the edges by a border rule (imgpar_border). */
real picture_read(const picture *p, int64_t y, int64_t x, int64_t c, int border, real cval);
/* Whether channel c is alpha: the last of 2 or 4 in an image that is not plain data. */
bool picture_is_alpha(const picture *p, int64_t c);

/* The white of an array made of it: of u8 and u16 pictures their maximum, else 0. */
real picture_white(const picture *p);

/* Values that the dtype holds, the same for a seed: all sizes with the extremes mixed in, no value that is not
 * finite; SMALL ones in -8..8; LEVELS around 0..full; WILD as ANY with infinities and NaN in floats. */
typedef enum fill { FILL_ANY, FILL_SMALL, FILL_LEVELS, FILL_WILD } fill;
void picture_fill(picture *p, fill kind, unsigned seed);

/* As tightly packed elements for imgpar_array_from_data(); new memory for free(). */
void *picture_bytes(const picture *p);
size_t picture_size(const picture *p);
imgpar_array *picture_array(imgpar_context *ctx, const picture *p);
/* True when bytes are elements that answer admits; else why (256 bytes) tells the first that is not. */
bool picture_compare(const picture *answer, const void *bytes, char *why);
/* True when two results of answer's type have the same bytes, all NaN being one. */
bool picture_same(const picture *answer, const void *a, const void *b);

/* ---- numbers of a dtype ------------------------------------------------------------------ */

bool is_float(imgpar_dtype dtype);
real dtype_low(imgpar_dtype dtype); /* of floats: -the largest finite */
real dtype_high(imgpar_dtype dtype);
/* What is white where an array has none: the maximum of u8 and u16, 1 of floats and bool, else 255. */
real dtype_full(imgpar_dtype dtype);
/* The nearest number of dtype, ties to even, saturating; NaN gives 0 in integers; floats overflow to infinity. */
real rounded(imgpar_dtype dtype, real v);
/* Half the distance of numbers of dtype around v; 0 in integers. */
real half_ulp(imgpar_dtype dtype, real v);

/* ---- calls ------------------------------------------------------------------------------- */

enum { CALL_MAX_INPUTS = 3, CALL_MAX_NUMBERS = 1024 };

typedef struct call {
    const char *op;
    const picture *in[CALL_MAX_INPUTS];
    int n_in;
    const char *options; /* as for imgpar_op(): "sigma=2, border=wrap"; NULL: none */
} call;

real call_number(const call *c, const char *name, real otherwise);
/* Whether the option is given as a vector, [..]. */
bool call_has_vector(const call *c, const char *name);
/* Whether the option is that word; an option that is not given is the word otherwise. */
bool call_is(const call *c, const char *name, const char *word, const char *otherwise);
/* The elements of [1 2; 3 4], row-major; returns their number. */
int call_numbers(const call *c, const char *name, real numbers[CALL_MAX_NUMBERS], int *rows, int *cols);
int call_border(const call *c);

/* ---- answers ----------------------------------------------------------------------------- */

typedef void (*oracle_fn)(const call *c, picture *out);
typedef struct oracle_row {
    const char *op;
    oracle_fn answer;
} oracle_row;

/* The answer's function for an operation of the table; NULL: there is none. */
oracle_fn oracle_find(const char *op);
/* [height, width, channels] of the largest input. */
void oracle_shape(const call *c, int64_t dims[3]);
/* Where operands of an operator meet. */
imgpar_dtype oracle_common(const picture *const *in, int n);
/* The same of products, or of the power-th power of the first input where power is not negative. */
imgpar_dtype oracle_product(const picture *const *in, int n, int power);
/* Where two arrays' dtypes meet in what chooses between them. */
imgpar_dtype oracle_meet(imgpar_dtype a, imgpar_dtype b);
/* *out is new, for picture_free(). False when there is no oracle for it. */
bool oracle_answer(const call *c, picture *out);

/* Recurrences of arrays of any rank: outer x n x inner elements, the middle ones being lines. */
imgpar_dtype oracle_scan_dtype(const call *c, imgpar_dtype dtype);
void oracle_scan_lines(const call *c, imgpar_dtype dtype, const real *in, int64_t outer, int64_t n, int64_t inner,
                       real *out, real *slack);

/* The tables it looks in, each ended by a row of NULL. */
extern const oracle_row oracle_levels[], oracle_functions[], oracle_filters[], oracle_geometry[], oracle_arrays[],
    oracle_scans[];

#endif
