/* SPDX-License-Identifier: MIT */
/* Pieces of HTML and SVG, written to a stream. What comes from users is written by html_text() and nothing else. */
#ifndef IMGPAR_CLI_HTML_H
#define IMGPAR_CLI_HTML_H

#include "facts.h"

#include <stdint.h>
#include <stdio.h>

/* Text as text, between tags or in quotes: markup is escaped, and what is no UTF-8 or no character of XML is replaced
 * by U+FFFD. */
void html_text(FILE *out, const char *text);
/* At most n characters of it, the middle left out. */
void html_short(FILE *out, const char *text, int n);
void html_base64(FILE *out, const void *bytes, size_t n);
/* "720 kB" */
void html_bytes(FILE *out, uint64_t bytes);
/* "400×600×3" */
void html_shape(FILE *out, const int64_t *shape, int rank);
/* The histogram, or the lines, of an array that is called name, as SVG. */
void html_histogram(FILE *out, const facts *f, const char *name);
void html_lines(FILE *out, const facts *f, const char *name);

#endif
