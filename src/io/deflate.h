/* SPDX-License-Identifier: MIT */
/* Deflating (RFC 1951) in pieces that are made apart and joined at bytes. */
#ifndef IP_IO_DEFLATE_H
#define IP_IO_DEFLATE_H

#include <stdbool.h>
#include <stddef.h>

typedef struct ip_deflater ip_deflater;

/* level: 0 (nothing is compressed) to 9 (as small as can be). Pieces have at most `most` bytes. NULL: no memory. */
ip_deflater *ip_deflater_new(int level, size_t most);
void ip_deflater_free(ip_deflater *d);
/* How many bytes the code of a piece of n has at most. */
size_t ip_deflater_bound(ip_deflater *d, size_t n);
/* How many bytes before a piece its code may repeat. */
enum { IP_DEFLATE_WINDOW = 32 << 10 };
/* Writes the code of a piece to `out` and tells its bytes; 0: no memory. The n_before bytes before it, at most
 * IP_DEFLATE_WINDOW, belong to pieces before. What is_last ends the stream, other code ends at a byte. */
size_t ip_deflate_piece(ip_deflater *d, const unsigned char *bytes, size_t n_before, size_t n, bool is_last,
                        unsigned char *out);

#endif
