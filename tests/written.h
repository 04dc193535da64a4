/* SPDX-License-Identifier: MIT */
/* What tests of rows that are written in the language share: a context, pictures of levels, and a text's value against
 * what is wanted, on the device and by the reference interpreter. */
#ifndef IP_TESTS_WRITTEN_H
#define IP_TESTS_WRITTEN_H

#include "asserts.h"
#include "oracle.h"

extern imgpar_context *written_context; /* of the test that runs */
enum { WRITTEN_DTYPES = 3 };
extern const imgpar_dtype written_dtypes[WRITTEN_DTYPES]; /* u8, u16, f32 */

/* Tests that hold the driver, each with a context of its own. */
TCase *written_case(void);
/* Runs them; what main() returns. */
int written_run(const char *suite_name, TCase *tests);

/* Levels from black to white; floats between 0 and 1. */
picture written_levels(imgpar_dtype dtype, int64_t h, int64_t w, int64_t c, unsigned seed);
/* What is read of a or, beyond its edges, of the nearest element. */
real written_nearest(const picture *a, int64_t y, int64_t x, int64_t c);
/* Between four elements, linearly; beyond the edges by border, with 0 for what is constant. */
real written_between(const picture *a, real y, real x, int64_t c, imgpar_border border);
/* text's value, $1 to $n being the pictures in, is want to within its slack: by the interpreter and, where asked, on
 * the device, in the quick tier by turns. Fails the test else. */
void written_expect(const char *text, const picture *const *in, int n, const picture *want, bool on_device);

/* print() writes text's value as `as`, by the interpreter and, as above, on the device. Fails the test else. */
void written_prints(const char *text, const char *as);
/* text, $1 being 3 x 3 zeros of f32, is refused with a message that holds why. Fails the test else. */
void written_refuses(const char *text, const char *why);

#endif
