/* SPDX-License-Identifier: MIT */
/* Where deflated bytes end, found by walking over their codes: deflate.c joins pieces there (its Note [Joining]). */
#ifndef IP_IO_DEFLATE_END_H
#define IP_IO_DEFLATE_END_H

#include <stdbool.h>
#include <stddef.h>

/* The last block of deflated bytes (RFC 1951): the bits where it begins and where its code ends. False: the bytes are
 * no such code, or there is no last block in them. */
typedef struct ip_deflate_end {
    size_t block, end;
} ip_deflate_end;
bool ip_deflate_find_end(const unsigned char *bytes, size_t n, ip_deflate_end *out);

#endif
