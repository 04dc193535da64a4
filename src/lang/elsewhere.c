/* SPDX-License-Identifier: MIT */
/* What NumPy, OpenCV, libvips and ImageMagick call things that have another name here, for messages. */
#include "lang/words.h"

#include <string.h>

typedef struct known_name {
    const char *name, *here;
} known_name;

static const known_name operations[] = {
#define ELSEWHERE(who, name, here) { name, here },
#include "lang/elsewhere.def"
#undef ELSEWHERE
};

/* Names by themselves. */
static const known_name names[] = {
    { "True", "true" },
    { "False", "false" },
    { "NaN", "nan" },
    { "Inf", "inf" },
    { "PI", "pi" },
    { "width", "width(a)" },
    { "height", "height(a)" },
    { "disc", "a choice, shape=disc, as median(a, size, shape=disc) has it" },
    { "disk", "a choice, shape=disc, as median(a, size, shape=disc) has it" },
    { "None", "no value: an argument that is left out has its default" },
};

/* Members: a.name. */
static const known_name members[] = {
    { "T", "transpose(a)" },
    { "size", "width(a) * height(a) * channels(a)" },
    { "dtype", "shown by --explain; cast(a, f32) changes it" },
    { "r", "slice(a, 0, 1, axis=2), of an image" },
    { "g", "slice(a, 1, 2, axis=2), of an image" },
    { "b", "slice(a, 2, 3, axis=2), of an image" },
    { "a", "slice(a, 3, 4, axis=2), of an image" },
};

static const char *find(const known_name *known, size_t n, const char *name)
{
    for (size_t k = 0; k < n; k++)
        if (strcmp(known[k].name, name) == 0) return known[k].here;
    return NULL;
}

const char *ip_operation_elsewhere(const char *name)
{
    return find(operations, sizeof operations / sizeof *operations, name);
}

const char *ip_name_elsewhere(const char *name) { return find(names, sizeof names / sizeof *names, name); }

const char *ip_member_elsewhere(const char *name) { return find(members, sizeof members / sizeof *members, name); }
