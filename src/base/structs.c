/* SPDX-License-Identifier: MIT */
#include "base/structs.h"

#include "base/alloc.h"

#include <string.h>

enum { MAX_STRUCT_BYTES = 4096 }; /* more is no struct of any version of this library */

/* The struct_size that a struct begins with; 0 where it cannot be one. */
static size_t size_of(const void *s)
{
    size_t n;
    memcpy(&n, s, sizeof n);
    return n < sizeof n || n > MAX_STRUCT_BYTES ? 0 : n;
}

static imgpar_status not_set(const char *function, const char *name, ip_error *err)
{
    return ip_fail(err, IMGPAR_E_ARGUMENT, "%s: struct_size of %s is not set", function, name);
}

imgpar_status ip_struct_in(void *ours, const void *given, const char *function, const char *name, ip_error *err)
{
    const size_t known = size_of(ours), n = size_of(given);
    if (n == 0) return not_set(function, name, err);
    memset(ours, 0, known);
    memcpy(ours, given, n < known ? n : known);
    memcpy(ours, &known, sizeof known);
    for (size_t k = known; k < n; k++)
        if (((const char *)given)[k])
            return ip_fail(err, IMGPAR_E_UNSUPPORTED,
                           "%s: %s has %zu bytes and sets some beyond the %zu that libimgpar %s knows", function, name,
                           n, known, imgpar_version());
    return IMGPAR_OK;
}

imgpar_status ip_struct_out(void *given, const void *ours, const char *function, const char *name, ip_error *err)
{
    const size_t known = size_of(ours), n = size_of(given);
    if (n == 0) return not_set(function, name, err);
    memset(given, 0, n);
    memcpy(given, ours, n < known ? n : known);
    memcpy(given, &n, sizeof n);
    return IMGPAR_OK;
}

void *ip_list_new(size_t n, size_t size_bytes)
{
    enum { ALIGNMENT = 16 };
    const size_t each = (size_bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    const size_t pointers = (n * sizeof(void *) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    size_t structs;
    char *memory = ip_mul_size(n, each, &structs) ? ip_zalloc(pointers + structs) : NULL;
    for (size_t k = 0; memory && k < n; k++)
        ((void **)memory)[k] = memory + pointers + k * each;
    return memory;
}
