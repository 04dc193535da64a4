/* SPDX-License-Identifier: MIT */
/*
 * The decoded sources.
 *
 * R1. Found by content: the encoded bytes are kept and compared; a hash only finds the candidate. A file that was
 *     opened once is also known by that opening, so that its regions need not read it again; whoever asks has
 *     compared its identity.
 * R2. Bounded in bytes, pixels and encoded bytes together; what was used longest ago goes first.
 * R3. Only pixels of the host are kept. Every evaluation makes a value of its own around them, so that copies on
 *     devices go with the evaluation and never take device memory from others.
 */
#include "run/decoded.h"

#include "base/alloc.h"
#include "base/hash.h"

#include <string.h>

/* A picture of 40 megapixels in RGB fits; on a small machine a sixteenth of its memory. */
static const uint64_t most_bytes = UINT64_C(128) << 20, part_of_memory = 16;

typedef struct ip_decoded_entry {
    struct ip_decoded_entry *next;
    ip_source *pixels; /* retained */
    ip_decoded_key key;
    uint64_t hash;
    unsigned char bytes[]; /* key.bytes */
} entry;

static uint64_t own_limit(void)
{
    const uint64_t part = ip_host_memory() / part_of_memory;
    return part && part < most_bytes ? part : most_bytes;
}

bool ip_decoded_init(ip_decoded *cache)
{
    *cache = (ip_decoded){ .max_bytes = own_limit() };
    return pthread_mutex_init(&cache->lock, NULL) == 0;
}

static uint64_t bytes_of(const entry *e) { return (uint64_t)e->key.n + e->pixels->size_bytes; }

/* Takes the entry that *at points to out of the list and frees it. */
static void forget(ip_decoded *cache, entry **at)
{
    entry *e = *at;
    *at = e->next;
    cache->size_bytes -= bytes_of(e);
    ip_source_release(e->pixels);
    ip_free(e);
}

static void forget_oldest(ip_decoded *cache)
{
    entry **last = &cache->newest;
    while ((*last)->next)
        last = &(*last)->next;
    forget(cache, last);
}

void ip_decoded_limit(ip_decoded *cache, uint64_t limit_bytes)
{
    const uint64_t own = own_limit();
    pthread_mutex_lock(&cache->lock);
    cache->max_bytes = limit_bytes && limit_bytes / 4 < own ? limit_bytes / 4 : own;
    while (cache->newest && cache->size_bytes > cache->max_bytes)
        forget_oldest(cache);
    pthread_mutex_unlock(&cache->lock);
}

void ip_decoded_trim(ip_decoded *cache)
{
    pthread_mutex_lock(&cache->lock);
    while (cache->newest)
        forget(cache, &cache->newest);
    pthread_mutex_unlock(&cache->lock);
}

void ip_decoded_clear(ip_decoded *cache)
{
    while (cache->newest)
        forget(cache, &cache->newest);
    pthread_mutex_destroy(&cache->lock);
}

static bool same_rules(const ip_decoded_key *a, const ip_decoded_key *b)
{
    return a->fail_on == b->fail_on && a->shrink == b->shrink && a->max_pixels == b->max_pixels;
}

/* R1 */
static bool is_for(const entry *e, const ip_decoded_key *key, uint64_t hash)
{
    if (!same_rules(&e->key, key)) return false;
    if (!key->bytes) return key->file_id && e->key.file_id == key->file_id;
    return e->hash == hash && e->key.n == key->n && memcmp(e->bytes, key->bytes, key->n) == 0;
}

/* Where the list points to the entry of the key; NULL: nowhere. */
static entry **place_of(ip_decoded *cache, const ip_decoded_key *key, uint64_t hash)
{
    for (entry **at = &cache->newest; *at; at = &(*at)->next)
        if (is_for(*at, key, hash)) return at;
    return NULL;
}

static uint64_t hash_of(const ip_decoded_key *key) { return key->bytes ? ip_hash_bytes(0, key->bytes, key->n) : 0; }

ip_source *ip_decoded_find(ip_decoded *cache, const ip_decoded_key *key)
{
    ip_source *pixels = NULL;
    uint64_t hash = hash_of(key);
    pthread_mutex_lock(&cache->lock);
    entry **at = place_of(cache, key, hash);
    if (at) {
        entry *e = *at;
        *at = e->next;
        e->next = cache->newest;
        cache->newest = e;
        if (key->file_id) e->key.file_id = key->file_id;
        pixels = e->pixels;
        atomic_fetch_add(&pixels->refs, 1);
    }
    pthread_mutex_unlock(&cache->lock);
    return pixels;
}

static entry *new_entry(const ip_decoded_key *key, ip_source *pixels)
{
    entry *e = ip_alloc(sizeof *e + key->n);
    if (!e) return NULL;
    *e = (entry){ .pixels = pixels, .key = *key, .hash = hash_of(key) };
    memcpy(e->bytes, key->bytes, key->n);
    e->key.bytes = e->bytes;
    atomic_fetch_add(&pixels->refs, 1);
    return e;
}

void ip_decoded_keep(ip_decoded *cache, const ip_decoded_key *key, ip_source *pixels)
{
    if (pixels->size_bytes > cache->max_bytes || key->n > cache->max_bytes - pixels->size_bytes) return;
    entry *e = new_entry(key, pixels);
    if (!e) return; /* it is decoded again */
    pthread_mutex_lock(&cache->lock);
    entry **there = place_of(cache, key, e->hash);
    if (there) /* another thread decoded the same */
        forget(cache, there);
    e->next = cache->newest;
    cache->newest = e;
    cache->size_bytes += bytes_of(e);
    while (cache->size_bytes > cache->max_bytes) /* R2; never e, which fits */
        forget_oldest(cache);
    pthread_mutex_unlock(&cache->lock);
}
