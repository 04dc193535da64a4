/* SPDX-License-Identifier: MIT */
/*
 * Placing one kernel's stages (place.c): which rows are added to them first (place_copies.c, place_repeats.c,
 * place_broadcast.c, place_sums.c), which sums are carried along (place_running.c), and which rows are made in one loop
 * (place_together.c). For these files only; fuse.c and place_tiles.c call ip_place_stages() (passes.h), once for every
 * kernel that is tried. All of it writes the kernel and new stages that are in no list yet, never the plan's own.
 */
#ifndef IP_COMPILE_PLACING_H
#define IP_COMPILE_PLACING_H

#include "compile/passes.h"

enum { IP_MAX_READS = 16 };

typedef struct ip_placing {
    ip_plan *plan;
    ip_kernel *kernel;
    ip_expr *bodies[IP_MAX_STAGES + 1]; /* of the kernel's stages, as they are rewritten to read what it keeps */
    ip_placed *reader;                  /* the entry whose loads are being visited */
    bool walks_planes;     /* the kernel's work-items may walk planes: emit_transpose.c, Note [Walking planes] */
    bool reads_in_place;   /* the stage whose loads are being visited does: Note [Reading in place] */
    const int64_t *domain; /* of the stage whose loads are being visited */
    /* of a column, the rows read from memory */
    struct ip_read {
        const ip_stage *source;
        int64_t bytes;
    } reads[IP_MAX_READS];
    int n_reads;
    ip_expr *mask;   /* of the stage whose values are being broadcast; NULL: none */
    const char *why; /* the kernel cannot be placed; NULL: so far it can. A constant text */
    int capacity;    /* of kernel->placed */
} ip_placing;

static inline bool ip_in_tiles(const ip_placing *p) { return p->kernel->schedule == IP_SCHEDULE_TILES; }

/* A stage for rows that are added; it is in no list, and has no number, until the placement is adopted. NULL without
 * memory. */
ip_stage *ip_added_stage(ip_placing *p, imgpar_dtype dtype, const int64_t dims[4], const imgpar_array *node);
/* A new entry behind the others; false (and ir->failed) without memory. */
bool ip_add_placed(ip_placing *p, ip_stage *stage, ip_expr *body, bool is_copy);
/* An entry before its reader's, a row of value in so many channels; NULL without memory. */
ip_stage *ip_add_row(ip_placing *p, const ip_stage *reader, ip_expr *value, int64_t channels, const char *note);
/* body, with another expression for that value. */
ip_expr *ip_put_value(ip_ir *ir, ip_expr *body, const ip_expr *value, ip_expr *with);
/* Copies of what the kernel's stages read, where that is better; their loads are then of the copies. */
void ip_place_copies(ip_placing *p);
/* Sets domain and reads_in_place for a stage with that body. */
void ip_choose_reading(ip_placing *p, const ip_stage *stage, ip_expr *body);
/* Entries for pixels that stage, with *body, reads several times each, side by side; *body will read them
 * (place_repeats.c). */
void ip_place_repeats(ip_placing *p, const ip_stage *stage, ip_expr **body);
/* Entries for what the channels of a pixel share in stage, likewise; sets mask. */
void ip_place_broadcast(ip_placing *p, const ip_stage *stage, ip_expr **body);
/* An entry for sums of three in reader, likewise (place_sums.c). */
void ip_place_sums(ip_placing *p, const ip_stage *reader, ip_expr **body);
/* Rows between those that are read at that rate are made for nobody. */
bool ip_rate_leaves_rows_out(const ip_row_rate *rate);
/* Finds placed's running sums. */
void ip_place_running(ip_ir *ir, ip_placed *placed);

/* Whether rows of a stage are made together: place_together.c, Note [Rows together]. Its readers have been seen. */
void ip_place_together(const ip_placing *p, ip_placed *placed);

#endif
