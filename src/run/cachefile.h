/* SPDX-License-Identifier: MIT */
/*
 * What is kept of programs on disk: files in the folder of ip_folder_open_cache(), named by key and kind. A file
 * carries the whole identity (device, driver, options, source) and a checksum, so a corrupt, truncated, foreign or
 * colliding one is simply not found. Written beside its place and renamed, so a reader never sees half a file. Nothing
 * here can fail an evaluation.
 */
#ifndef IP_RUN_CACHEFILE_H
#define IP_RUN_CACHEFILE_H

#include "base/hash.h"

#include <stdbool.h>

typedef enum ip_cachefile_kind {
    IP_CACHEFILE_PROGRAM, /* its binary; or what was measured, of which the identity tells */
    IP_CACHEFILE_SPENT,   /* what was spent without it, a double: cache.c, Note [Work spent without a program] */
    IP_CACHEFILE_PENDING, /* it is to be compiled, nothing else: pending.c, Note [Background compilation] */
    IP_N_CACHEFILES
} ip_cachefile_kind;

/* What is kept for identity: *content is new (ip_alloc), of *n bytes. False: nothing. */
bool ip_cachefile_load(ip_cachefile_kind kind, ip_hash128 key, const char *identity, size_t identity_bytes,
                       void **content, size_t *n);
/* Whether something is; its content is not looked at. */
bool ip_cachefile_has(ip_cachefile_kind kind, ip_hash128 key, size_t identity_bytes);
/* n above 0, and a kind that has no content is given one byte. False: it cannot be kept. */
bool ip_cachefile_store(ip_cachefile_kind kind, ip_hash128 key, const char *identity, size_t identity_bytes,
                        const void *content, size_t n);
void ip_cachefile_remove(ip_cachefile_kind kind, ip_hash128 key);

/* The identity of a program that is pending, new (ip_alloc) and terminated; it is pending no longer. NULL: there is
 * none. */
char *ip_cachefile_take_pending(void);
bool ip_cachefile_has_pending(void);
/* Whoever compiles what is pending holds this: an open descriptor for close(), or -1: somebody holds it, or there is no
 * folder. */
int ip_cachefile_lock_pending(void);

#endif
