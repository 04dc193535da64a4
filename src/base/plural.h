/* SPDX-License-Identifier: MIT */
/* Words of messages that depend on a number. */
#ifndef IP_BASE_PLURAL_H
#define IP_BASE_PLURAL_H

#include <stdint.h>

/* The word for n of a thing. */
static inline const char *ip_word_for(int64_t n, const char *one, const char *many) { return n == 1 ? one : many; }

#endif
