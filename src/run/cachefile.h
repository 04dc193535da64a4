/* SPDX-License-Identifier: MIT */
/*
 * Compiled programs on disk: one file each in the folder of ip_folder_open_cache(),
 * named by the key. A file carries the whole identity (device, driver, options,
 * source) and a checksum, so a corrupt, truncated, foreign or colliding one is
 * simply not found. Written beside its place and renamed, so a reader never sees
 * half a file. Nothing here can fail an evaluation.
 */
#ifndef IP_RUN_CACHEFILE_H
#define IP_RUN_CACHEFILE_H

#include "base/hash.h"

#include <stdbool.h>

/* The binary stored for identity: *binary is new (ip_alloc). False: none. */
bool ip_cachefile_load(ip_hash128 key, const char *identity, size_t identity_bytes, void **binary, size_t *n);
void ip_cachefile_store(ip_hash128 key, const char *identity, size_t identity_bytes, const void *binary, size_t n);

/* A program that is left to be built by whoever takes it. False: it cannot be kept. */
bool ip_cachefile_leave(ip_hash128 key, const char *identity, size_t identity_bytes);
/* The identity of a program that was left, new (ip_alloc) and terminated; it is left no longer. NULL: there is none. */
char *ip_cachefile_take_left(size_t *identity_bytes);
/* Whoever builds what was left holds this: an open descriptor for close(), or -1: somebody holds it, or there is no
 * folder. */
int ip_cachefile_lock_left(void);

#endif
