/* SPDX-License-Identifier: MIT */
/* Blocks in a list; each allocation is cut from the newest. */
#include "lang/arena.h"
#include "base/alloc.h"
#include "base/hash.h"
#include "ops/build.h"

#include <string.h>

enum { BLOCK_BYTES = 8192, ALIGNMENT = 16 };

struct ip_arena_block {
    struct ip_arena_block *older;
    size_t used, size_bytes;
    _Alignas(ALIGNMENT) unsigned char bytes[];
};

void *ip_arena_alloc(ip_arena *arena, size_t size_bytes)
{
    size_t n;
    if (__builtin_add_overflow(size_bytes, ALIGNMENT - 1, &n)) return NULL;
    n -= n % ALIGNMENT;
    struct ip_arena_block *block = arena->newest;
    if (!block || block->size_bytes - block->used < n) {
        size_t room = n > BLOCK_BYTES ? n : BLOCK_BYTES, total;
        if (__builtin_add_overflow(room, sizeof *block, &total)) return NULL;
        block = ip_alloc(total);
        if (!block) return NULL;
        *block = (struct ip_arena_block){ .older = arena->newest, .size_bytes = room };
        arena->newest = block;
    }
    void *memory = block->bytes + block->used;
    block->used += n;
    return memset(memory, 0, n);
}

void ip_arena_free(ip_arena *arena)
{
    while (arena->newest) {
        struct ip_arena_block *block = arena->newest;
        arena->newest = block->older;
        ip_free(block);
    }
}

ip_symbol *ip_symbol_intern(ip_symbols *symbols, const char *name, size_t n)
{
    if (!symbols->buckets) {
        symbols->buckets = ip_arena_alloc(symbols->arena, IP_SYMBOL_BUCKETS * sizeof *symbols->buckets);
        if (!symbols->buckets) return NULL;
    }
    ip_symbol **bucket = &symbols->buckets[ip_hash_bytes(0, name, n) % IP_SYMBOL_BUCKETS];
    for (ip_symbol *s = *bucket; s; s = s->next)
        if (strncmp(s->name, name, n) == 0 && s->name[n] == '\0') return s;
    ip_symbol *s = ip_arena_alloc(symbols->arena, sizeof *s);
    char *copy = ip_arena_alloc(symbols->arena, n + 1);
    if (!s || !copy) return NULL;
    memcpy(copy, name, n);
    s->name = copy;
    s->index = symbols->count++;
    s->op = ip_op_find(copy);
    if (s->op && (s->op->flags & (IP_OP_HIDDEN | IP_OP_PART)) == IP_OP_HIDDEN) s->op = NULL;
    s->next = *bucket;
    *bucket = s;
    return s;
}
