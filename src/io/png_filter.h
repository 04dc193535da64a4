/* SPDX-License-Identifier: MIT */
/* PNG's filters of rows (PNG specification, section 9). Private to the PNG codec. */
#ifndef IP_IO_PNG_FILTER_H
#define IP_IO_PNG_FILTER_H

#include <stddef.h>

enum { IP_PNG_N_FILTERS = 5 };

/*
 * A row of n bytes, filtered behind the byte that tells by which filter: of all five the one whose bytes, as signed
 * numbers, have the least sum of magnitudes, the first of equal ones, as libpng chooses. above: the row before it,
 * zeros for the first one. pixel: bytes of one. out: n + 1 bytes. scratch: n bytes.
 */
void ip_png_filter(const unsigned char *row, const unsigned char *above, size_t n, size_t pixel, unsigned char *out,
                   unsigned char *scratch);

/* Makes n filtered bytes, behind the one that names the filter (below IP_PNG_N_FILTERS), the row that they were. */
void ip_png_unfilter(int filter, unsigned char *row, const unsigned char *above, size_t n, size_t pixel);

#endif
