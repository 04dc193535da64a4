/* SPDX-License-Identifier: MIT */
/*
 * The matrix of pixel tests: operations x dtypes x borders x channels x sizes. A row
 * says which; every combination is computed by the reference interpreter, and a choice
 * of them, in which each dtype, border and number of channels occurs, by the device
 * too, once in its own schedule and once in `pixels`. A program costs time, a size does not.
 */
#ifndef IP_TESTS_MATRIX_H
#define IP_TESTS_MATRIX_H

#include "oracle.h"

typedef struct matrix_row {
    const char *op;
    const char *options; /* without the border; NULL: none */
    const char *inputs;  /* one letter each, see matrix_input() */
    const char *dtypes;  /* "u8 f32": the first n_quick are what the quick tier gives to the device */
    int n_quick;
    const char *channels;    /* "1234" */
    const char *sizes;       /* "13x7 1x1"; NULL: all odd ones */
    const char *device_size; /* the only one for the device, where programs depend on sizes; NULL: all */
    fill fill;
    bool has_border;
    real number;      /* of input '#' */
    const char *text; /* how the language writes it, for what has no name there: %s stands for ", border=..." */
} matrix_row;

extern const matrix_row matrix_rows[];
extern const int n_matrix_rows;

/* Members of one dtype computed by one kernel: row y of the image by member y % n. */
typedef struct pack_member {
    const char *op, *text;
    int n_in;
    real number;         /* of the last input, a literal; 0: there is none */
    const char *options; /* for the oracle */
} pack_member;
typedef struct matrix_pack {
    const char *name, *dtypes, *seconds; /* seconds: of the second input; NULL: the same */
    int n_quick;
    fill fill;
    pack_member members[24];
} matrix_pack;

extern const matrix_pack matrix_packs[];
extern const int n_matrix_packs;

/* ---- computing in all ways --------------------------------------------------------------- */

enum { EVERY_WAY = -1 };

typedef struct bench {
    imgpar_context *ctx;
    bool has_device, is_full;
    /* number of the row: beside the device's own schedule the quick tier has one of the other ways for every second
     * row, by turns; EVERY_WAY */
    int turn;
} bench;

void bench_open(bench *b);
void bench_close(bench *b);
uint64_t bench_programs(const bench *b);
/* FUSED: not without fusion, which would be many programs; ROWS: by the device's own schedule only. */
typedef enum device_use { NO_DEVICE, DEVICE_ROWS, DEVICE_FUSED = 3, DEVICE } device_use;

/*
 * Computes a by the reference interpreter, and if the device is used by the device's own schedule, by `tiles`, by
 * `pixels`, without fusion and in the full tier by `texture` (or by one of them, if it is b->turn's), and fails the
 * test, telling what, unless all agree with want. same_bytes: they agree with each other to the byte (all NaN being
 * one). Releases a.
 */
void bench_check(bench *b, imgpar_array *a, const picture *want, bool same_bytes, device_use device, const char *what);

/* An input of h x w x c: a the image, b another like it, o like it with one channel, m a mask of u8 and M of its dtype,
 * c a condition, k a matrix [1, c, 3], w weights of 3 x 3, p positions near the image, # a literal number. */
picture matrix_input(const matrix_row *row, char letter, imgpar_dtype dtype, int64_t h, int64_t w, int64_t c,
                     unsigned seed);

/* Word k of a list, into buf of 32 bytes; false past its end. */
bool list_word(const char *list, int k, char *buf);
int list_length(const char *list);
imgpar_dtype list_dtype(const char *list, int k);

#endif
