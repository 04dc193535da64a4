/* SPDX-License-Identifier: MIT */
/*
 * ICC profiles (ICC.1:2010), as far as pictures need them that are passed on: what one
 * is for and is called, whether it is sRGB, and a profile for numbers whose meaning a
 * PNG tells otherwise. No colour is converted here.
 */
#ifndef IP_IO_ICC_H
#define IP_IO_ICC_H

#include "io/metadata.h"

/* Is this a whole profile for gray or RGB, whose tags lie inside it? *is_gray tells for which. */
bool ip_icc_check(const unsigned char *icc, size_t n, bool *is_gray);
/* Is this a whole profile, of whatever colours? A CMYK picture's, which its RGB pixels do not need, is. */
bool ip_icc_is_whole(const unsigned char *icc, size_t n);
/* The description of a checked profile as printable UTF-8, "unnamed profile" where it has none. */
void ip_icc_name(const unsigned char *icc, size_t n, char name[64]);
/* Does a checked profile mean sRGB (or its gray): the same primaries and curves within 1/100? */
bool ip_icc_is_srgb(const unsigned char *icc, size_t n);
/*
 * A profile, version 2, for encoding exponent gamma (times 100000; 0: the curve of sRGB) and primaries as in ip_colour,
 * adapted to D50 by Bradford's matrix. primaries NULL: gray. Fails without memory, or where the primaries span no
 * colours.
 */
imgpar_status ip_icc_make(uint32_t gamma, const uint32_t primaries[8], const char *name, ip_blob *icc, ip_error *err);
/* Do these chromaticities span a space of colours? */
bool ip_icc_is_possible(const uint32_t primaries[8]);

#endif
