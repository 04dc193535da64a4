/* SPDX-License-Identifier: MIT */
#include "ops/sobol.h"

enum { HIGHEST_DEGREE = 7 };

/* The degree s of a dimension's polynomial, its coefficients but the first and the last as bits, and s odd numbers. The
 * first dimension has none. */
static const struct {
    int degree;
    uint32_t coefficients, first[HIGHEST_DEGREE];
} polynomials[IP_SOBOL_DIMENSIONS] = {
    { 0, 0, { 0 } },
    { 1, 0, { 1 } },
    { 2, 1, { 1, 3 } },
    { 3, 1, { 1, 3, 1 } },
    { 3, 2, { 1, 1, 1 } },
    { 4, 1, { 1, 1, 3, 3 } },
    { 4, 4, { 1, 3, 5, 13 } },
    { 5, 2, { 1, 1, 5, 5, 17 } },
    { 5, 4, { 1, 1, 5, 5, 5 } },
    { 5, 7, { 1, 1, 7, 11, 19 } },
    { 5, 11, { 1, 1, 5, 1, 1 } },
    { 5, 13, { 1, 1, 1, 3, 11 } },
    { 5, 14, { 1, 3, 5, 5, 31 } },
    { 6, 1, { 1, 3, 3, 9, 7, 49 } },
    { 6, 13, { 1, 1, 1, 15, 21, 21 } },
    { 6, 16, { 1, 3, 1, 13, 27, 49 } },
    { 6, 19, { 1, 1, 1, 15, 7, 5 } },
    { 6, 22, { 1, 3, 1, 15, 13, 25 } },
    { 6, 25, { 1, 1, 5, 5, 19, 61 } },
    { 7, 1, { 1, 3, 7, 11, 23, 15, 103 } },
    { 7, 4, { 1, 3, 7, 13, 13, 15, 69 } },
};

/* Equation (2.1) of the paper, on numbers that are shifted up to 32 bits. */
void ip_sobol_directions(int dimension, uint32_t out[IP_SOBOL_BITS])
{
    const int s = polynomials[dimension].degree;
    for (int i = 0; i < IP_SOBOL_BITS; i++) {
        if (i < s || s == 0) {
            out[i] = (s == 0 ? 1 : polynomials[dimension].first[i]) << (IP_SOBOL_BITS - 1 - i);
            continue;
        }
        out[i] = out[i - s] ^ out[i - s] >> s;
        for (int k = 1; k < s; k++)
            if (polynomials[dimension].coefficients >> (s - 1 - k) & 1) out[i] ^= out[i - k];
    }
}
