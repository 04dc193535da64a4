/* SPDX-License-Identifier: MIT */
/*
 * decoded.h - the pixels of the compressed sources that a context decoded last.
 *
 * Tiles, rows of a join and regions of one picture are evaluations of their own, and each of them starts at the encoded
 * bytes. They find here what the first of them decoded:
 *
 *     ip_decoded_key key = { .bytes = jpeg, .n = n, .fail_on = IP_FAIL_ON_ERROR };
 *     ip_source *pixels = ip_decoded_find(&ctx->decoded, &key);
 *     if (!pixels) ... decode, then ip_decoded_keep(&ctx->decoded, &key, pixels);
 *
 * It is no store of results: what is here can always be decoded again, and it forgets silently. Any number of threads
 * may use it at once; two that ask for the same bytes before either has decoded them both decode.
 */
#ifndef IP_RUN_DECODED_H
#define IP_RUN_DECODED_H

#include "graph/array.h"

#include <pthread.h>

typedef struct ip_decoded {
    pthread_mutex_t lock;            /* guards all of it */
    struct ip_decoded_entry *newest; /* a list, the one that was used longest ago is its last */
    uint64_t size_bytes;             /* of pixels and encoded bytes */
    atomic_ullong max_bytes;         /* the same; read by any thread */
} ip_decoded;

/* What decides about the pixels: the encoded bytes and the rules they are read by. */
typedef struct ip_decoded_key {
    const void *bytes; /* borrowed; NULL: a file that file_id names, and nothing else is known */
    size_t n;
    uint64_t file_id; /* of an opened file, see ip_source; 0: of none */
    ip_fail_on fail_on;
    int shrink;
    uint64_t max_pixels;
} ip_decoded_key;

/* False: there is no lock to be had. */
bool ip_decoded_init(ip_decoded *cache);
/* At most a quarter of a limit on host memory, 0: of none, is kept. */
void ip_decoded_limit(ip_decoded *cache, uint64_t limit_bytes);
/* Forgets all that is kept. */
void ip_decoded_trim(ip_decoded *cache);
void ip_decoded_clear(ip_decoded *cache);
/* The pixels as a source, a new reference; NULL: they are not here. */
ip_source *ip_decoded_find(ip_decoded *cache, const ip_decoded_key *key);
/* Keeps pixels (retained) under a copy of the key's bytes, where they are not too large for it. */
void ip_decoded_keep(ip_decoded *cache, const ip_decoded_key *key, ip_source *pixels);

#endif
