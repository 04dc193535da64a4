/* SPDX-License-Identifier: MIT */
/* Shared by the files that print the tiles schedule: emit_tiles.c, and emit_blocks.c and emit_words.c for what it makes
 * in blocks and of words. */
#ifndef IP_COMPILE_EMIT_TILES_H
#define IP_COMPILE_EMIT_TILES_H

#include "compile/emit.h"

/* Rows or columns (text): from the first to before the last. */
typedef struct ip_tile_range {
    const char *from, *to;
} ip_tile_range;

/* Of a stage's tile: of those beyond the domain only as many as some reader looks at. */
ip_tile_range ip_tile_span(ip_emit *e, const ip_placed *p, bool rows);

/* The first row of those that are made of it now, as text: place_tiles.c, Note [Sliding]. */
const char *ip_tile_first_row(ip_emit *e, const ip_placed *p);

/* Where an element of a stage goes. */
typedef struct ip_tile_target {
    const ip_placed *p;
    const char *row, *stored; /* pointers to its row in the tile or in its buffer; where it is stored beside a tile */
    const char *outside;      /* for a constant border, "is it beyond the edges?"; NULL */
    ip_expr *value_outside;   /* and what stands there */
} ip_tile_target;

/* Declares the pointers to that row (text). */
ip_tile_target ip_tile_target_of(ip_emit *e, const ip_placed *p, const char *row);

/* The variable of a loop over a row: the flat index, or the column. */
const char *ip_tile_variable(const ip_placed *p, bool flat);
/* Computes the element, or the pixel, that the variable tells, of what the border rule makes of it, and puts it. */
void ip_tile_element(ip_emit *e, ip_tile_target t, bool flat);

/* Elements of a stage in a word: more than one only if it is stored to memory and they are small. */
int ip_tile_word(const ip_emit *e, const ip_placed *p);
/* Makes a row of what is stored to memory, `out`, as words; false, and nothing: it is made element by element
 * (emit_words.c). */
bool ip_emit_tile_words(ip_emit *e, const ip_placed *p, bool flat);

/* Makes the stage's tile in blocks; false, and nothing: it is made element by element (emit_blocks.c). */
bool ip_emit_tile_blocks(ip_emit *e, const ip_placed *p, bool flat);

/* Makes the tile of a copy that reads transposed (emit_transpose.c). */
void ip_emit_transposed_tile(ip_emit *e, const ip_placed *p);

#endif
