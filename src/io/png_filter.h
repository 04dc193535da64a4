/* SPDX-License-Identifier: MIT */
/* PNG's filters of rows (PNG specification, section 9). Private to the PNG codec. */
#ifndef IP_IO_PNG_FILTER_H
#define IP_IO_PNG_FILTER_H

#include <stddef.h>

/* Filters have the numbers that PNG gives them, 0 to 4: none, sub, up, average, Paeth. */
enum { IP_PNG_N_FILTERS = 5, IP_PNG_LEAST_SUM = IP_PNG_N_FILTERS };

typedef struct ip_png_row {
    const unsigned char *row, *above; /* above: the row before it, zeros for the first one */
    size_t n, pixel;                  /* bytes of both, bytes of a pixel */
} ip_png_row;

/*
 * A row, filtered behind the byte that tells by which filter. IP_PNG_LEAST_SUM: of all five the one whose bytes, as
 * signed numbers, have the least sum of magnitudes, the first of equal ones, as libpng chooses. out: n + 1 bytes.
 * scratch: n bytes.
 */
void ip_png_filter(int filter, const ip_png_row *row, unsigned char *out, unsigned char *scratch);

/* Makes n filtered bytes, behind the one that names the filter (below IP_PNG_N_FILTERS), the row that they were. */
void ip_png_unfilter(int filter, unsigned char *row, const unsigned char *above, size_t n, size_t pixel);

#endif
