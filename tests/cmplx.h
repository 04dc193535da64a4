/* SPDX-License-Identifier: MIT */
/* CMPLX() of C11, which glibc's <complex.h> declares for gcc alone. */
#ifndef IP_TESTS_CMPLX_H
#define IP_TESTS_CMPLX_H

#include <complex.h>

#ifndef CMPLX
#define CMPLX(re, im) __builtin_complex((double)(re), (double)(im))
#endif

#endif
