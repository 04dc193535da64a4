/* SPDX-License-Identifier: MIT */
/* Selection of elements by rank, between its lowering (stages_nth.c), its meaning on the host (reference_nth.c) and
 * the rows that are made with it (derived.c, written_features.def, written_tone.def). */
#ifndef IP_OPS_NTH_H
#define IP_OPS_NTH_H

#include "ir/opaque.h"

/*
 * Note [Selection]
 * The hidden row "nth" of an array and a vector of places, i64, gives for each place the element that stands there in
 * sort() of all elements, to the bit; places are counted from 0, and beyond the ends are the first and the last.
 * Nothing is sorted. Keys are unsigned numbers in the order of the elements (keys.h). How many keys have each value of
 * the highest digit tells that digit of the key at a place, and its rank among the keys with this prefix; of these the
 * next digit is counted, until the key is known. That reads the array once for each digit, twice of f32; a sort reads
 * and writes it 4 times, and writes all over it. A GPU counts in local memory and has smaller digits. Places with the
 * same prefix, as neighbours have, share their counts.
 */

enum { IP_NTH_DIGIT_BITS = 16, IP_NTH_GPU_DIGIT_BITS = 11 };
enum { IP_NTH_MOST = 16 }; /* places */
/* Arrays of fewer elements are sorted; the text is for written rows. */
#define IP_NTH_LEAST 131072
#define IP_NTH_LEAST_TEXT "131072"
enum { IP_NTH_A, IP_NTH_PLACES }; /* inputs */

/* Digit k from the highest, of digit_bits at most: the bits from above down to shift. False: keys of so many bits have
 * none. */
bool ip_nth_digit(int bits, int digit_bits, int k, int *above, int *shift);
imgpar_status ip_nth_compute(const ip_opaque *opaque, const void *const *in, void *out, ip_opaque_ask ask, void *user);

#endif
