/* SPDX-License-Identifier: MIT */
/* colours.h - colours by name and as CSS writes them: "orange", "#ffa500", "#fa0", "#ffa50080". */
#ifndef IP_COLOURS_H
#define IP_COLOURS_H

#include <stdbool.h>
#include <stddef.h>

/* The colour that n bytes of text name, as red, green and blue from 0 to 255 (sRGB). A name of CSS, whatever the case
 * of its letters, #rrggbb or #rgb; false: none of these. */
bool ip_colour_read(const char *text, size_t n, unsigned char rgb[3]);
/* The same with alpha, which #rrggbbaa and #rgba tell; else it is 255. */
bool ip_colour_read_alpha(const char *text, size_t n, unsigned char rgba[4]);

#endif
