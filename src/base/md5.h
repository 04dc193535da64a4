/* SPDX-License-Identifier: MIT */
/* MD5 (RFC 1321), for file formats that name things by it. Not for secrets: anyone can make two texts of one digest. */
#ifndef IP_BASE_MD5_H
#define IP_BASE_MD5_H

#include <stddef.h>

enum { IP_MD5_BYTES = 16 };

void ip_md5(const void *bytes, size_t n, unsigned char digest[IP_MD5_BYTES]);

#endif
