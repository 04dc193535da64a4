/* SPDX-License-Identifier: MIT */
/* The passes of the compiler, in their order, as compile.c runs them; and what several of them ask of loads, bodies and
 * kernels. For the files of this folder. */
#ifndef IP_COMPILE_PASSES_H
#define IP_COMPILE_PASSES_H

#include "compile/plan.h"
#include "ir/index_map.h"

/* Steps along a row at which pixels are taken out of vectors (emit_lanes.c, Note [Even steps]); a line of the cache. */
enum { IP_LEAST_STEP = 2, IP_MOST_STEP = 6, IP_LINE_BYTES = 64 };

/* nodes -> stages: equal nodes merged, every node lowered by its row; steps of a loop, one after the other */
imgpar_status ip_pass_lower(ip_plan *plan, const ip_compile_options *options, ip_error *err);
/* what breaks the promises of the stages, in their place (promises.c); no result: nothing can */
imgpar_status ip_pass_promises(ip_plan *plan, const ip_compile_options *options, ip_error *err);
/* folds apart from what reads them (looks.c) */
imgpar_status ip_pass_looks(ip_plan *plan, const ip_compile_options *options, ip_error *err);
/* several reads of every n-th row and column of a stage: as reads of one stage of these (levels.c) */
imgpar_status ip_pass_levels(ip_plan *plan, const ip_compile_options *options, ip_error *err);
/* whether it is every n-th row or column of a computed stage, and nothing else */
bool ip_leaves_elements_out(const ip_stage *stage);
/* maps of what is looked up in a small stage: as lookups in a map of it (lookups.c) */
imgpar_status ip_pass_lookups(ip_plan *plan, const ip_compile_options *options, ip_error *err);
/* products of matrices that are cut from a stage, and sums of them: as one product of a view (products.c) */
imgpar_status ip_pass_products(ip_plan *plan, const ip_compile_options *options, ip_error *err);
/* map into map, stencil into map, map into reduction: bodies substituted for loads */
imgpar_status ip_pass_inline(ip_plan *plan, const ip_compile_options *options, ip_error *err);
/* sums and extremes by few keys: as folds that compute their keys and values (by_key.c) */
imgpar_status ip_pass_by_key(ip_plan *plan, const ip_compile_options *options, ip_error *err);
/* matrices of many rows of few columns: as rows of pixels (turn.c) */
imgpar_status ip_pass_turn(ip_plan *plan, const ip_compile_options *options, ip_error *err);
/* stages of which every n-th row is read: as stages of these rows (decimate.c) */
imgpar_status ip_pass_decimate(ip_plan *plan, const ip_compile_options *options, ip_error *err);
/* a result that is cut from what is computed: as a box of it (frame.c) */
imgpar_status ip_pass_frame(ip_plan *plan, const ip_compile_options *options, ip_error *err);
/* integer arithmetic in the narrowest dtype its range allows */
imgpar_status ip_pass_narrow(ip_plan *plan, const ip_compile_options *options, ip_error *err);
/* stages -> kernels, each with a schedule and the reason it ends where it does */
imgpar_status ip_pass_fuse(ip_plan *plan, const ip_compile_options *options, ip_error *err);
/* where each stage of the kernel lives by its schedule, rows or tiles, and how far it runs ahead; false: does not fit,
 * *why says so. Writes the kernel alone, so that it may be tried: stages and their list stay as they are. */
bool ip_place_stages(ip_plan *plan, ip_kernel *kernel, const char **why);
/* That is how it will be: the kernel's stages read what it keeps, and what was added to them joins the list. */
void ip_adopt_placement(ip_plan *plan, const ip_kernel *kernel);
/* tiles: that, and the size and layout of a tile (kernel->tiling); *why lives as long as the plan */
bool ip_place_tiles(ip_plan *plan, ip_kernel *kernel, const ip_target *target, const char **why);
/* texture: which inputs are images (kernel->textures); false: none, *why tells of one. Its placement is that of
 * pixels. */
bool ip_place_textures(ip_plan *plan, ip_kernel *kernel, const ip_target *target, const char **why);
/* Whether computing `joined` in tiles is cheaper than keeping it in memory (stored: it is written there anyway), when
 * the kernel's tiling was `before` without it and is `after` with it; else *why. */
bool ip_halo_pays(ip_plan *plan, const ip_tiling *before, const ip_tiling *after, const ip_stage *joined, bool stored,
                  const char **why);
/* how rows are made (segments.h) */
imgpar_status ip_pass_segments(ip_plan *plan, const ip_compile_options *options, ip_error *err);
/* what kernels read from buffers, each once: the order of their arguments (demand.c) */
imgpar_status ip_pass_inputs(ip_plan *plan, const ip_compile_options *options, ip_error *err);
/* What passes leave is legal (verify.c); has_rows: how rows are made, too. */
imgpar_status ip_plan_verify(ip_plan *plan, bool has_rows, ip_error *err);
/* kernels -> statements -> OpenCL C */
imgpar_status ip_pass_emit(ip_plan *plan, const ip_compile_options *options, ip_error *err);

/* Opaque stages in the passes (opaque.c): what one reads of an input; name and text of its kernel. */
void ip_opaque_demand(const ip_opaque *opaque, const ip_stage *input, const ip_region *region, ip_region *needed);
void ip_emit_opaque(ip_plan *plan, ip_kernel *kernel);
/* Values that the channels of a pixel share, or that their numbers tell (broadcast.c). */
enum { IP_MAX_BROADCAST = 4 };
typedef struct ip_broadcast {
    ip_expr *values[IP_MAX_BROADCAST];
    int n;
} ip_broadcast;
/* Whether a row of body is one flat loop over x * channels + c once these values are read from rows of their own.
 * channels: 2 to 4, else false. */
bool ip_find_broadcast(ip_ir *ir, ip_expr *body, int64_t channels, ip_broadcast *broadcast);
/* A test whether the column is below a number that is the same for the whole row, by which body chooses; NULL: there is
 * none (pieces.c). */
ip_expr *ip_find_pieces(ip_ir *ir, ip_expr *body);
/* body, where the test is true, or false. */
ip_expr *ip_piece_of(ip_ir *ir, ip_expr *body, ip_expr *test, bool is_left);
/* Where a body reads rows so many columns beside (pieces.c, Note [Moved rows]): what an element is in the columns from
 * first to before end, where these are inside. False: it does not, or no more than a few columns known before. */
typedef struct ip_move {
    ip_expr *first, *end, *inside;
} ip_move;
bool ip_find_move(ip_ir *ir, ip_expr *body, ip_move *move);
/* body for the columns first..last only, which decide comparisons of columns (pieces.c). */
ip_expr *ip_within_columns(ip_ir *ir, ip_expr *body, int64_t first, int64_t last);
/* body, where the value mask is 0 everywhere, or at its dtype's maximum (place_broadcast.c, Note [Masks]). */
ip_expr *ip_masked_body(ip_ir *ir, ip_expr *body, ip_expr *mask, bool is_set);
/* How a load reads: the offsets along z, y, x and whether a line buffer can serve it. */
typedef struct ip_reach {
    bool is_local; /* unit steps in z (offset 0), y and x with constant offsets, same d h w */
    /* likewise in z and y, but at computed columns, all inside: what keeps whole rows can serve it */
    bool is_in_rows;
    /* its own plane and column, in computed rows that never go back: ip_load_rate() tells them */
    bool is_paced;
    int y_lo, y_hi, x_lo, x_hi;
} ip_reach;
ip_reach ip_load_reach(const ip_expr *load, const int64_t domain[4]);
/* Whether load reads columns beside its own, from a row that is the same for all columns and of the domain's width:
 * from column x + *lo to x + *hi. */
bool ip_load_reads_beside(const ip_expr *load, const int64_t domain[4], int *lo, int *hi);
/* The rows a reader at row r needs around r, once the border rule is applied inside the domain. */
void ip_reach_contract(ip_reach *reach, int border);
/* Loads that are copied as rows (place_transpose.c): whether the element's column comes from the row that is computed,
 * its row from the column; or its column from the plane, its plane and row from the other two. */
bool ip_reads_transposed(ip_ir *ir, const ip_kernel *kernel, const ip_expr *load, const int64_t domain[4]);
bool ip_reads_deep(ip_ir *ir, const ip_kernel *kernel, const ip_expr *load, const int64_t domain[4]);
/* Whether the kernel's work-items may walk planes, and whether all of them then read one row: emit_transpose.c, Note
 * [Walking planes]. */
bool ip_may_walk_planes(ip_ir *ir, const ip_kernel *kernel, bool *share_rows);
/* The rows that a load reads, where a stage can be computed at its reader's rate (place_rates.c, Note [Producer row
 * rates]). */
bool ip_load_rate(const ip_expr *load, const int64_t domain[4], ip_row_rate *rate);
/* Whether load reads pixels of a buffer at columns from a table, so that the row is copied to where vectors may read
 * beyond its end. */
bool ip_reads_listed_columns(ip_ir *ir, const ip_kernel *kernel, const ip_expr *load, const int64_t domain[4]);
enum { IP_LEAST_ROWS = 64 }; /* planes count: of a kernel that keeps rows whole */
/* Whether the kernel may keep rows of that width whole: work-items then share its rows alone. */
bool ip_may_keep_rows(const ip_kernel *kernel, int64_t columns);
/* Rows of a copy that are made together. */
int ip_rows_at_once(const ip_stage *copy);
bool ip_kernel_computes(const ip_kernel *kernel, const ip_stage *stage); /* it is one of the kernel's own */
/* Whether load reads pixels of so many channels at such columns, few times each: emit_repeat.c, Note [Copies side by
 * side]. */
bool ip_repeats_pixels(const ip_expr *load, int64_t channels);
/* Whether body is pixels of several rows by turns: emit_repeat.c, Note [Interleaved rows]. */
bool ip_interleaves_pixels(const ip_expr *body, int64_t channels);

#endif
