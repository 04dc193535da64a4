/* SPDX-License-Identifier: MIT */
/* Fourier transforms between their types (infer_arrays.c), lowering (stages_fft.c, stages_chirp.c) and meaning on the
 * host (reference_fft.c). */
#ifndef IP_OPS_FFT_H
#define IP_OPS_FFT_H

#include "graph/array.h"
#include "ir/opaque.h"
#include "ops/lower.h"

/* What stands in ip_opaque.sizes: `outer` times n times `inner` complex numbers; lines run along n. */
enum {
    IP_FFT_OUTER,
    IP_FFT_N,
    IP_FFT_INNER,
    IP_FFT_IS_INVERSE,
    IP_FFT_LINES_PER_Y /* rows of the domain hold so many lines; 0: it cannot be cut */
};

/* The longest parts of a line, and of doubles where it can be split so; the device may make them shorter
 * (stages_fft.c). */
enum { IP_FFT_MAX = 2048, IP_FFT_MAX_F64 = 1024 };

/* The axes that the node transforms, in their order; returns how many: 1 or 2. */
int ip_fft_axes(const imgpar_array *node, int axes[2]);
/* n as n1 n2 with both at most `most` and prime factors of at most 7, n2 being 1 where that suffices; false: it is no
 * such product. */
bool ip_fft_split(int64_t n, int64_t most, int64_t *n1, int64_t *n2);
/* Whether lines of n elements are transformed as they are; else the length to which they are padded (stages_chirp.c),
 * 0: they are too long. */
bool ip_fft_is_direct(int64_t n);
int64_t ip_fft_longer(int64_t n);
imgpar_status ip_fft_compute(const ip_opaque *opaque, const void *const *in, void *out, ip_opaque_ask ask, void *user);

/* Lines in a stage: `outer` times n times `inner` complex numbers; rows of the domain hold so many lines, 0: it cannot
 * be cut. */
typedef struct ip_fft_lines {
    int64_t outer, n, inner, per_y;
} ip_fft_lines;

/* Those of an array of that type along an axis, if it had n elements there. */
ip_fft_lines ip_fft_lines_of(const ip_type *type, int axis, int64_t n);
/* Their transforms, as a stage of these dims, which in has. */
ip_stage *ip_fft_of_lines(ip_lower *l, ip_stage *in, const int64_t dims[4], const ip_fft_lines *lines, bool is_inverse);
/* The transforms of lines of the node along an axis, whose length is not direct. */
ip_stage *ip_fft_by_chirps(ip_lower *l, ip_stage *in, int axis, bool is_inverse);

#endif
