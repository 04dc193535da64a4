/* SPDX-License-Identifier: MIT */
/*
 * Memory that goes all at once, and names that are stored once: two equal
 * names of one program are the same ip_symbol, so they compare by pointer and
 * values are found by index.
 */
#ifndef IP_LANG_ARENA_H
#define IP_LANG_ARENA_H

#include "graph/op.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct ip_arena {
    struct ip_arena_block *newest;
} ip_arena;

/* Zeroed memory that lives as long as the arena; NULL without memory. */
void *ip_arena_alloc(ip_arena *arena, size_t size_bytes);
void ip_arena_free(ip_arena *arena);

typedef struct ip_symbol {
    const char *name;
    int index;          /* 0 .. count-1 */
    size_t assigned_at; /* offset + 1 of the statement that assigns it; 0: none */
    const ip_op *op;    /* the row of that name that text may call, or NULL */
    struct ip_symbol *next;
} ip_symbol;

enum { IP_SYMBOL_BUCKETS = 1024 };
typedef struct ip_symbols {
    ip_arena *arena;
    ip_symbol **buckets; /* IP_SYMBOL_BUCKETS of them, made at the first name */
    int count;
} ip_symbols;

/* The symbol of the n bytes at name; NULL without memory. */
ip_symbol *ip_symbol_intern(ip_symbols *symbols, const char *name, size_t n);

#endif
