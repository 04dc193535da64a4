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
/* Bytes from here and there in a piece, in the form that was chosen for it, and in another one: the code of the piece
 * is to be no larger than what zlib makes of that. */
typedef struct ip_deflate_sample {
    const unsigned char *bytes, *other; /* not looked at where ip_deflater_looks_back() */
    size_t n;                           /* of both, at most IP_DEFLATE_SAMPLE */
    size_t n_quick, n_other_quick;      /* ip_deflater_quick_size() of both */
} ip_deflate_sample;
enum { IP_DEFLATE_SAMPLE = 32 << 10 };

typedef struct ip_deflate_input {
    const unsigned char *bytes;
    size_t n, n_before; /* n_before: of pieces before, which stand before `bytes`, at most IP_DEFLATE_WINDOW */
    bool is_last;       /* ends the stream; other code ends at a byte */
    const ip_deflate_sample *sample; /* not looked at: at level 0 */
} ip_deflate_input;

/* How many bytes the code of a sample has that is made quickly. Above level 0. */
size_t ip_deflater_quick_size(ip_deflater *d, const unsigned char *bytes, size_t n);
/* A piece of n bytes with that sample may gain by what is before it. */
bool ip_deflater_looks_back(const ip_deflate_sample *sample, size_t n);
/* Writes the code of a piece to `out` and tells its bytes; 0: no memory. */
size_t ip_deflate_piece(ip_deflater *d, const ip_deflate_input *in, unsigned char *out);

#endif
