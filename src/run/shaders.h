/* SPDX-License-Identifier: MIT */
/*
 * shaders - the OpenCL texts of the folder shaders/, embedded at build time.
 *
 * src/run/embed.c turns every shaders/NAME.cl that Makefile.am lists into one row of
 * the table; nothing is read from disk at run time.
 *
 *     const char *text = ip_shader_text("matmul");
 */
#ifndef IP_RUN_SHADERS_H
#define IP_RUN_SHADERS_H

#include <stddef.h>

typedef struct ip_shader {
    const char *name; /* the file's name without folder and .cl */
    const char *text; /* OpenCL C */
} ip_shader;

/* The rows in the order of their names; the last row is { NULL, NULL }. */
extern const ip_shader ip_shaders[];

/* The text of one shader, or NULL if there is none of that name. Borrowed, constant. */
const char *ip_shader_text(const char *name);

#endif
