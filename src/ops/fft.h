/* SPDX-License-Identifier: MIT */
/* Fourier transforms between their types (infer_arrays.c), lowering (stages_fft.c) and meaning on the host
 * (reference_fft.c). */
#ifndef IP_OPS_FFT_H
#define IP_OPS_FFT_H

#include "graph/array.h"
#include "ir/opaque.h"

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
imgpar_status ip_fft_compute(const ip_opaque *opaque, const void *const *in, void *out, ip_opaque_ask ask, void *user);

#endif
