/* SPDX-License-Identifier: MIT */
/* Colours by name. */
#include "base/colours.h"

#include <ctype.h>
#include <string.h>

static const struct {
    const char *name;
    unsigned rgb;
} named[] = {
#define NAMED(name, rgb) { name, rgb },
#include "base/colours.def"
#undef NAMED
};

static bool is_same_word(const char *text, size_t n, const char *word)
{
    size_t k = 0;
    while (k < n && tolower((unsigned char)text[k]) == word[k])
        k++;
    return k == n && word[k] == '\0';
}

/* The digits behind #, one or two a channel. */
static bool read_digits(const char *text, size_t n, int channels, unsigned *found)
{
    const size_t one = (size_t)channels, two = 2 * one;
    *found = 0;
    if (n != one && n != two) return false;
    for (size_t k = 0; k < n; k++) {
        static const char digits[] = "0123456789abcdef";
        const char *digit = text[k] ? strchr(digits, tolower((unsigned char)text[k])) : NULL;
        if (!digit) return false;
        for (size_t times = 0; times < two / n; times++) /* #fa0 is #ffaa00 */
            *found = *found * 16 + (unsigned)(digit - digits);
    }
    return true;
}

bool ip_colour_read(const char *text, size_t n, unsigned char rgb[3])
{
    unsigned found = 0;
    bool is_colour = n > 0 && text[0] == '#' && read_digits(text + 1, n - 1, 3, &found);
    for (size_t k = 0; !is_colour && k < sizeof named / sizeof *named; k++) {
        is_colour = is_same_word(text, n, named[k].name);
        found = named[k].rgb;
    }
    for (int k = 0; k < 3; k++)
        rgb[k] = (unsigned char)(found >> (16 - 8 * k));
    return is_colour;
}

bool ip_colour_read_alpha(const char *text, size_t n, unsigned char rgba[4])
{
    unsigned found;
    rgba[3] = 255;
    if (n == 0 || text[0] != '#' || !read_digits(text + 1, n - 1, 4, &found)) return ip_colour_read(text, n, rgba);
    for (int k = 0; k < 4; k++)
        rgba[k] = (unsigned char)(found >> (24 - 8 * k));
    return true;
}
