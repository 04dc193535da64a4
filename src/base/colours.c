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

/* The digits behind #. */
static bool read_digits(const char *text, size_t n, unsigned *rgb)
{
    *rgb = 0;
    if (n != 3 && n != 6) return false;
    for (size_t k = 0; k < n; k++) {
        static const char digits[] = "0123456789abcdef";
        const char *digit = text[k] ? strchr(digits, tolower((unsigned char)text[k])) : NULL;
        if (!digit) return false;
        for (size_t times = 0; times < 6 / n; times++) /* #fa0 is #ffaa00 */
            *rgb = *rgb * 16 + (unsigned)(digit - digits);
    }
    return true;
}

bool ip_colour_read(const char *text, size_t n, unsigned char rgb[3])
{
    unsigned found = 0;
    bool is_colour = n > 0 && text[0] == '#' && read_digits(text + 1, n - 1, &found);
    for (size_t k = 0; !is_colour && k < sizeof named / sizeof *named; k++) {
        is_colour = is_same_word(text, n, named[k].name);
        found = named[k].rgb;
    }
    for (int k = 0; k < 3; k++)
        rgb[k] = (unsigned char)(found >> (16 - 8 * k));
    return is_colour;
}
