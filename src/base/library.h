/* SPDX-License-Identifier: MIT */
/* Libraries that are loaded when they are first needed, so that a program without them starts and runs. */
#ifndef IP_BASE_LIBRARY_H
#define IP_BASE_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>

/* A function of the library, and where its address goes within what ip_library_load() fills. */
typedef struct ip_library_function {
    const char *name;
    size_t offset;
} ip_library_function;

/* Fills out with the addresses of all n functions; false: the library, or one of them, is missing. The library stays
 * loaded: what it has made is ended with the process. */
bool ip_library_load(const char *soname, const ip_library_function *functions, size_t n, void *out);

#endif
