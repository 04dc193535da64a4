/* SPDX-License-Identifier: MIT */
/*
 * How the rows of a stage are made, decided before text is printed: a row is one segment, or split into segments at
 * columns that arguments tell (pieces.c), each with its body, the loop that makes it and, before that, the idiom that
 * makes what it can. Kinds of loops are rows of loops.def. segments.c and elements.c choose, emit_row.c prints; what
 * both must know of a body is asked here.
 */
#ifndef IP_COMPILE_SEGMENTS_H
#define IP_COMPILE_SEGMENTS_H

#include "compile/idioms.h"
#include "compile/passes.h"

/* The place where an expression is computed: the stage whose element it is a part of, in its kernel. */
typedef struct ip_site {
    ip_ir *ir;
    const ip_kernel *kernel;
    const ip_compile_options *options;
    const int64_t *domain; /* of the stage */
    int channels;          /* the same */
    bool is_within;        /* columns beside the element's own are inside: place_copies.c, Note [Reading in place] */
    bool has_uniforms;     /* what is the same for all of a row was computed before: it is no value of the loop */
    bool has_windows;      /* so have windows and loops of an element */
} ip_site;

/* Whether functions of the shaders that know processors' instructions may make parts of rows. What they leave the loop
 * behind the call makes. */
bool ip_site_calls_helpers(const ip_site *site);
/* Whether loops over elements are rows that the device's compiler vectorises. */
bool ip_site_vectorises(const ip_site *site);
/* Whether no border is to be applied to the column of a load of pixels. */
bool ip_site_column_is_inside(const ip_site *site, const ip_expr *load);

/* Whether a body can be computed over the flat index x * channels + c; and whether a row of it is: of one channel x is
 * at hand (flat.c). */
bool ip_may_be_flat(const ip_site *site, ip_expr *body);
bool ip_is_flat(const ip_site *site, ip_expr *body);
/* Up to so many channels are written out one by one; more are a loop over c. */
enum { IP_WRITTEN_CHANNELS = 4 };
/* The lanes of vectors that divide so many channels; 1: too few are side by side. */
int ip_lanes_of_channels(int64_t channels, int width);
/* Of body in the ends of rows, where columns beside an element's own may lie outside (emit_row.c). */
int ip_lanes_of_ends(const ip_expr *body, int64_t channels, int vector_bytes);
/* body in channel c, where channels are written out; else body itself. */
ip_expr *ip_of_channel(const ip_site *site, ip_expr *body, int c);

/* Of pixels at computed places (emit_places.c, Note [Pixels at computed places]). A loop over indices (emit_indices.c)
 * has the indices in `shared`, their lanes in shared_width, and nothing else. */
enum { IP_MOST_SHARED = 24, IP_MOST_INDICES = 4 /* emit_indices.c */ };
typedef struct ip_places {
    ip_expr *inner;                  /* an element, where all that it reads at computed places is inside */
    ip_expr *shared[IP_MOST_SHARED]; /* what the channels of a pixel share, above all places */
    int n_shared;
    bool are_words; /* pixels are made of words that are gathered, not of lanes */
    ip_expr *part;  /* of inner, as of a segment that is made of lanes */
    bool in_pairs;
    ip_elements elements; /* of words: how inner is made */
    int shared_width;     /* lanes of the loop that computes what is shared */
    int width;            /* of lanes: of the flat loop behind them */
    /* what is read around places, each a row and a column, and will be farther down: Note [Places prefetched] */
    const ip_expr *prefetched[IP_MOST_SHARED];
    int n_prefetched;
} ip_places;

/* Bytes that x has in a lane of a loop's vectors; 0: it is no value, or a truth value, which has those of others. */
int ip_lane_bytes(const ip_expr *x);
/* How a loop that needs nothing of a body makes its elements, which are kept as `stored`. places, unless NULL, has what
 * is computed before; words_are_inside: no word that is gathered ends behind its row. */
ip_elements ip_elements_of(const ip_site *site, ip_expr *body, imgpar_dtype stored, const ip_places *places,
                           bool words_are_inside);
/* Whether x is no value of a loop's iteration: it is the same for all elements, or among what places tell. */
bool ip_is_at_hand(const ip_site *site, const ip_expr *x, const ip_places *places);
/* Vector registers of the device that the values of so many elements take at once, of n roots that are stored behind
 * all of them (live.c). */
int ip_live_registers(const ip_site *site, ip_expr *const *roots, int n, const ip_places *places, int lanes);
/* Lanes that suit the widest value below root, and what is stored of it. */
int ip_width_of(const ip_site *site, const ip_expr *root, imgpar_dtype stored);
/* Whether x is a function of an angle that has a form for near ones. */
bool ip_is_of_angle(const ip_compile_options *options, const ip_expr *x);
/* Whether loops of a kernel end with a whole vector. */
bool ip_makes_whole_vectors(ip_ir *ir, const ip_kernel *kernel);

/* The lanes of a vector that is a pixel; the windows, at most, of a body that is made of lanes. */
enum { IP_LANES = 4, IP_PAIRED = 4 /* pixels: two pairs */, IP_LANE_WINDOWS = 2 };

/* Whether a kind of loop (loops.def) can make segment->within of a stage; notes in the segment what the loop needs to
 * know of it. */
typedef bool ip_fits(const ip_site *site, const ip_placed *placed, ip_segment *segment);
#define LOOP(KIND, SAYS, FITS, EMIT) ip_fits FITS;
#include "compile/loops.def"
#undef LOOP
/* The segments of all rows, for IMGPAR_DUMP. */
void ip_segments_print(const ip_plan *plan, ip_str *log);
/* What --explain says of a kind; NULL: nothing. */
const char *ip_loop_says(ip_row_loop loop);
/* The condition by which blocks of elements are skipped, if there is one that pays; else none. */
ip_skip ip_find_skip(const ip_site *site, ip_expr *body);
/* Whether x is a load at a computed place: its row depends on the column, or its column is none beside the own one. */
bool ip_reads_far(ip_ir *ir, const ip_expr *x);
/* The y of x = y + a constant; else x itself. */
ip_expr *ip_without_number(ip_expr *x);
/* Whether lanes fit, of rows that are not kept, too: their loads may not read behind a pixel. */
bool ip_are_lanes(const ip_site *site, ip_expr *body, imgpar_dtype stored);
/* Operations of a pixel up to which its loop is vectorised. Lanes that do not lie side by side are put together one by
 * one, and LLVM compares all of these with each other: a thousand operations take it 20 seconds. */
enum { IP_VECTORISED_OPERATIONS = 400 };
/* Whether a loop over its pixels reads parts of words that it gathers (emit_gather.c, Note [Gathered words]). A word
 * has so many bytes, or half of them. */
enum { IP_GATHERED_WORD = 8 };
bool ip_gathers_words(const ip_site *site, ip_expr *body);
/* Whether it does little but read elements at places that it reads: emit_row.c, Note [Gathers]. */
bool ip_only_gathers(ip_ir *ir, ip_expr *body);
/* Whether helpers.cl has a function that takes several pixels at once, `by` elements apart. */
bool ip_takes_several(int channels, imgpar_dtype dtype, int by);
/* The same of a load that is such a part for every element: all of its word is there, be it that a border tells what is
 * not, that every word is known to be inside, or that ranges say so. */
bool ip_is_gathered_there(const ip_site *site, ip_expr *body, const ip_expr *load, bool words_are_inside);
/* The columns beside each other that are read together with a load: its own and by `lo`..`hi` from another; and their
 * bytes. */
typedef struct ip_beside {
    const ip_expr *load, *column;
    int64_t lo, hi;
} ip_beside;
ip_beside ip_read_beside(ip_ir *ir, ip_expr *body, const ip_expr *load);
int ip_beside_bytes(const ip_beside *beside);
/* The column of a load as another and a number. One that a border moves stands for itself. */
ip_expr *ip_gathered_column(const ip_expr *load, int64_t *by);
/* Columns that words have which hold so many pixels side by side: at least as many. */
int64_t ip_gathered_columns(const ip_stage *source, int64_t pixels);
/* Whether the channel's number alone tells it: lane by lane, it is written out. */
static inline bool ip_is_by_channel(const ip_expr *x) { return x->uses == IP_USES_C && x->op != IP_X_LOAD; }
/* The part of such a body that is computed as lanes: the rest is made of it and of what is the same for all
 * elements. */
ip_expr *ip_lanes_part(const ip_site *site, ip_expr *body);
/* Whether pixels of such a part may be made in pairs (emit_lanes.c, Note [Pixels in pairs]). */
bool ip_fits_pairs(const ip_site *site, ip_expr *part);

/* The rows of inputs that are worth prefetching for a body (blocks.c): those that it reads at its own columns, or at
 * short steps along a row. Of the rows of one input that it reads around row y only the last one is listed: those
 * before it were read for the rows of the result before. At a row step s > 1 that holds among rows that are a multiple
 * of s apart, so the last one of each such class is. Reads at other columns (`pieces`) count where there are many. */
enum { IP_MOST_READS = 6 };
typedef struct ip_reads {
    int n;
    struct {
        const ip_expr *load;
        int64_t step, row; /* step * y + row is read */
        int64_t columns;   /* of it for each of the element's own: the step of its columns; 0: no such are read */
        int pieces;        /* how often it is, at columns that arguments tell: many are all over it, as folds' are */
        bool is_beside;    /* it is, beside the element's own column */
    } of[IP_MOST_READS];
} ip_reads;
ip_reads ip_reads_of(const ip_site *site, ip_expr *body);
/* How many pixels of read number k there are for one. */
int ip_times_read(const ip_reads *reads, int k);
/* How many of its pixels stand beneath one, of a row that is read at steps. */
int ip_columns_read(const ip_reads *reads, int k);
int ip_pixel_bytes(const ip_stage *stage);
/* Columns of a block, of so many bytes each: at least a line, since a shorter one could not complete a line that others
 * began. */
int ip_block_columns(int bytes);
/* How a recurrence, a kernel of its own, walks its lines, so many at once at most. */
enum { IP_SCAN_LANES = 8 };
ip_recurrence ip_choose_recurrence(const ip_site *kernel);
/* How rows of a fold are folded (folds.c). NULL without memory. */
const ip_fold_rows *ip_choose_fold(const ip_site *site, const ip_stage *fold);
/* Which stages are made in blocks, and which stream. */
void ip_choose_blocks(const ip_site *site, ip_kernel *kernel);
/* What work-items keep: kernel->scratch. */
void ip_lay_out_scratch(ip_ir *ir, ip_kernel *kernel);

#endif
