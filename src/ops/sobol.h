/* SPDX-License-Identifier: MIT */
/*
 * Direction numbers of Sobol's sequence (I. M. Sobol: On the distribution of points in a cube, 1967), by the primitive
 * polynomials and first numbers of S. Joe and F. Y. Kuo, "Constructing Sobol sequences with better two-dimensional
 * projections" (SIAM J. Sci. Comput. 30, 2008), their table new-joe-kuo-6.
 */
#ifndef IP_OPS_SOBOL_H
#define IP_OPS_SOBOL_H

#include <stdint.h>

enum { IP_SOBOL_DIMENSIONS = 21, IP_SOBOL_BITS = 32 };

/* The numbers of a dimension, from 0 on; that of the index's lowest bit first. */
void ip_sobol_directions(int dimension, uint32_t out[IP_SOBOL_BITS]);

#endif
