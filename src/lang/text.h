/* SPDX-License-Identifier: MIT */
/*
 * The text being read, and how an error points into it:
 *
 *     sunset.conf:3:10: unknown operation blurr (near: blur)
 *     soft   = blurr(tower, 2)
 *              ^
 *
 * A place is a byte offset; line and column (in characters, from 1) are found
 * only when there is something to say.
 */
#ifndef IP_LANG_TEXT_H
#define IP_LANG_TEXT_H

#include "base/status.h"

#include <stddef.h>

typedef struct ip_text {
    const char *name; /* in messages; borrowed */
    const char *text; /* borrowed */
    size_t length;
} ip_text;

/* Records "NAME:LINE:COL: message", the line and a caret, unless an error is recorded already. Returns status. */
imgpar_status ip_text_fail(ip_error *err, const ip_text *text, size_t offset, imgpar_status status, const char *format,
                           ...) __attribute__((format(printf, 5, 6)));
/* The line of offset, from 1. */
size_t ip_text_line(const ip_text *text, size_t offset);

#endif
