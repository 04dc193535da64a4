/* SPDX-License-Identifier: MIT */
/*
 * What folds of work-items (emit_fold.c) and of work-groups (emit_fold_group.c) have in common: the arithmetic, names
 * and where partial results stand.
 */
#ifndef IP_COMPILE_EMIT_FOLD_H
#define IP_COMPILE_EMIT_FOLD_H

#include "compile/emit.h"

/* The value no element changes: 0, the far end of the dtype (of floats NaN), or what the user gave. */
const char *ip_fold_neutral(ip_emit *e, const ip_stage *s);
/* acc combined with v, as an expression. */
const char *ip_fold_combined(ip_emit *e, const ip_stage *s, const char *acc, const char *v);
/* Its total is a sum of floats and what that sum has lost: Note [Sums of floats] in emit_fold.c. */
bool ip_fold_sums_floats(const ip_stage *s);
/* total, lost += v, in a block of its own. */
void ip_fold_add_compensated(ip_emit *e, const char *type, const char *total, const char *lost, const char *v);
/* "total_b0": names of a fold within its kernel, after its result's buffer. */
const char *ip_fold_named(ip_emit *e, const char *what, const ip_stage *s);
/* The partial results of all work-items or work-groups, one after the other. */
void ip_fold_declare_partials(ip_emit *e, const ip_stage *s, const char *type);
/* The result, from its total (and what that has lost), to the stage's buffer. */
void ip_fold_store_result(ip_emit *e, const ip_stage *s, const char *total, const char *lost);

/* Folds by keys (emit_by_key.c): of a strip of rows, before them, a row of it; and from partial results to results, one
 * work-item an element. */
void ip_emit_by_key_begin(ip_emit *e, const ip_stage *s);
void ip_emit_by_key_row(ip_emit *e, const ip_stage *s, const ip_fold_rows *fold, const char *xa, const char *xb);
void ip_emit_by_key_results(ip_emit *e, const ip_stage *s);
/* Computes elements of columns q..end into the array `name`, that of column q first. */
void ip_emit_kept_row(ip_emit *e, const ip_folded *kept, const char *name);

/* Work-groups. `memory` is their local memory, `lane` a work-item's number in its group. Before the tiles, within each
 * tile before its elements, for one element's values (n of them, one a channel), after them, after the tiles. */
void ip_emit_group_fold_begin(ip_emit *e, const ip_placed *p);
void ip_emit_group_fold_tile(ip_emit *e, const ip_placed *p);
void ip_emit_group_fold_element(ip_emit *e, const ip_placed *p, const char *const *values, int n);
void ip_emit_group_fold_tile_end(ip_emit *e, const ip_placed *p);
void ip_emit_group_fold_end(ip_emit *e, const ip_placed *p);
/* Declares `memory`, in the kernel's outermost block; 0 bytes: none. */
void ip_emit_group_memory(ip_emit *e, int bytes);
/* All partial results of a REDUCE, by one work-group. */
void ip_emit_group_finish(ip_emit *e, const ip_stage *s);

#endif
