/* SPDX-License-Identifier: MIT */
/*
 * Shared by the files that turn kernels into statements: the state of one kernel's emission, printing of expressions,
 * slots of the parameter buffer, and what schedules (emit_rows.c, emit_tiles.c, emit_pixels.c, emit_scan.c) have in
 * common.
 */
#ifndef IP_COMPILE_EMIT_H
#define IP_COMPILE_EMIT_H

#include "compile/segments.h"
#include "compile/stmt.h"

/* What the loop that is open gathers as words: emit_gather.c, Note [Gathered words]. */
enum { IP_MOST_GATHERED = 256 };
typedef struct ip_gathered_place {
    const ip_stage *source;
    const ip_expr *column;
    int border;
    int64_t lo;
    int word;
    const char *at, *by, *inside; /* bytes from the start of the row; bits that it is moved by, or NULL */
} ip_gathered_place;
typedef struct ip_gathered_half {
    const char *row, *at;
    int half;
    const char *word, *name;
} ip_gathered_half;
typedef struct ip_gather {
    ip_expr *body; /* of which all that is gathered is read */
    int n_places, n_halves;
    ip_gathered_place places[IP_MOST_GATHERED];
    ip_gathered_half halves[IP_MOST_GATHERED];
} ip_gather;

typedef struct ip_emit {
    ip_ir *ir;
    const ip_kernel *kernel;
    const ip_compile_options *options;
    ip_arguments args; /* of the kernel, and the files of shaders/ that it calls: noted by what is printed */
    unsigned helpers;

    ip_stmt *top;   /* the kernel's body: uniform values are declared here */
    ip_stmt *block; /* where statements go now */

    /* Names of expressions that have been declared in blocks still open. */
    const char **names; /* by expression id */
    size_t n_names;
    unsigned *trail; /* ids in order of declaration */
    size_t n_trail, trail_capacity;
    int *uses; /* by expression id, within the values being computed; 0: unknown */
    int n_values, n_rows;

    /* What coordinates and loads mean at this point. */
    const char *coord[4]; /* z y x c as text; NULL: not available */
    const char *acc[2 * IP_SCAN_STATES];
    const char *flat; /* the flat index x * channels + c, where the loop is over it; else NULL */
    bool is_within;   /* columns beside the element's own are inside: place_copies.c, Note [Reading in place] */
    const char *far;  /* the variable that notes far angles, where functions of near ones are called: emit_row.c, Note
                        [Far angles] */
    ip_expr *lanes;   /* what the lanes of a pixel are computed for, where its rows have no room behind their ends;
                         else NULL: emit_lanes.c, Note [Pixels without room] */
    bool words_are_inside; /* no word that is gathered ends behind its row */
    ip_gather *gather;     /* of the loop over pixels that is open, where it gathers words; else NULL */
    bool in_pairs;         /* vectors hold four pixels: emit_lanes.c, Note [Pixels in pairs] */
    bool is_short;         /* the row is likely to be: its vectors are loops over their lanes */
    const int64_t *domain; /* of the stage being computed */
    int channels;          /* the same */
    /* Pointers to rows, and texels, that have been declared in blocks still open. Where there are more, the last place
     * is taken again: a pointer that is not found is declared once more. */
    struct ip_row {
        const ip_stage *stage;
        const ip_expr *z, *y;
        int border;
        const char *pointer, *inside;
    } rows[512];
} ip_emit;

/* Statements nest by these; names declared inside are forgotten on leaving. */
typedef struct ip_mark {
    ip_stmt *block;
    size_t n_trail;
    int n_rows;
} ip_mark;
ip_mark ip_emit_enter(ip_emit *e, ip_stmt *block);
/*
 * Statements at the end of the block that is being written: "const TYPE NAME = VALUE;", the same of ints, "TYPE NAME =
 * VALUE;" (an array where VALUE is NULL), "PLACE = VALUE;", any other statement, and an if and a for, which are entered
 * by ip_emit_enter().
 */
void ip_emit_let(ip_emit *e, const char *type, const char *name, const char *value);
void ip_emit_let_int(ip_emit *e, const char *name, const char *value);
/* The same in the kernel's outermost block. */
void ip_emit_let_at_top(ip_emit *e, const char *type, const char *name, const char *value);
void ip_emit_var(ip_emit *e, const char *type, const char *name, const char *value);
void ip_emit_set(ip_emit *e, const char *place, const char *value);
void ip_emit_do(ip_emit *e, const char *statement);
ip_stmt *ip_emit_if(ip_emit *e, const char *test);
ip_stmt *ip_emit_for(ip_emit *e, const char *name, const char *from, const char *to);
void ip_emit_leave(ip_emit *e, ip_mark mark);

/* From here on, until its block is left, x is called name. */
void ip_emit_name(ip_emit *e, const ip_expr *x, const char *name);
/* What x is called here; NULL: it has not been named. */
const char *ip_emit_name_of(const ip_emit *e, const ip_expr *x);
/* The value of x as a C expression at this point, declaring what is used more than once. */
const char *ip_emit_value(ip_emit *e, ip_expr *x);
/* The same, but what is not a leaf is declared as a variable, so that it is computed before what follows. */
const char *ip_emit_variable(ip_emit *e, ip_expr *x);
/* The lesser (is_min) or greater of floats, as MIN and MAX of ir/expr.h: a where b is NaN, else b where a is. The test
 * by which a is it, which holds of vectors lane by lane, and the choice of scalars. Both name a and b several times. */
const char *ip_emit_extreme_test(ip_emit *e, bool is_min, const char *a, const char *b);
const char *ip_emit_extreme(ip_emit *e, bool is_min, const char *a, const char *b);
const char *ip_emit_window_start(ip_emit *e, const ip_expr *window);
/* From here on, until its block is left, the window's tap stands at that row (axis 0) or column (1). */
void ip_emit_name_tap(ip_emit *e, const ip_expr *window, int axis, const char *text);
/* What a loop of an element ends with; where it is not computed yet, it is computed here (emit_loop.c). */
const char *ip_emit_result(ip_emit *e, ip_expr *result);
/* Counts uses below the given roots, so that values used once are written where they are used. */
void ip_emit_count_uses(ip_emit *e, ip_expr *const *roots, int n);
/* Declares what is the same for every element below root; called while the kernel's outermost block is open. */
void ip_emit_uniforms(ip_emit *e, ip_expr *root);
/* The pointer to the row that load reads. */
const char *ip_emit_row_pointer(ip_emit *e, const ip_expr *load);
/* Declares the row pointers of loads below root whose row does not depend on x, c or taps. */
void ip_emit_row_pointers(ip_emit *e, ip_expr *root);
/* The element that load reads (emit_memory.c). */
const char *ip_emit_load(ip_emit *e, const ip_expr *load);
/* Checked mode (emit_check.c): index into memory of the stage at pointer, which is `where` its line buffer, its tile or
 * (else) its buffer is, and a value to be stored at index of its row, as they are to be written in the text. As they
 * are where checks are off. */
const char *ip_emit_checked_index(ip_emit *e, const ip_stage *stage, ip_place where, bool is_written,
                                  const char *pointer, const char *index);
const char *ip_emit_checked_value(ip_emit *e, const ip_stage *stage, const char *index, const char *value);
/* target[index] = value, converted to the stage's storage. target is where the kernel keeps the stage. */
void ip_emit_store(ip_emit *e, const ip_stage *stage, const char *target, const char *index, const char *value);
/* The same, where target is its buffer, to which what is kept is written as well. */
void ip_emit_store_output(ip_emit *e, const ip_stage *stage, const char *target, const char *index, const char *value);
/* Name of a pointer to row (z, y as text) of a buffer, shifted so that element x * channels + c is at that index. */
const char *ip_emit_buffer_row(ip_emit *e, const ip_stage *stage, const char *z, const char *y);
/* Where what is printed now is computed. */
ip_site ip_emit_site(const ip_emit *e);
/* Whether a load of the open loop is a part of a word that is gathered; then its element, row being the pointer to its
 * row. Adds to *inside for borders that columns need (emit_gather.c). */
bool ip_emit_is_gathered(const ip_emit *e, const ip_expr *load);
const char *ip_emit_gathered(ip_emit *e, const ip_expr *load, const char *row, const char **inside);
/* The column of a load, inside by its border; adds to *inside the same. */
const char *ip_emit_column_of_load(ip_emit *e, const ip_expr *load, const char **inside);
/* index moved inside 0..extent-1 by a call of the border's function; index itself for IP_BORDER_NONE. */
const char *ip_emit_border(ip_emit *e, int border, const char *index, const char *extent);

/* Names of parameters; each is declared once at the top. */
const char *ip_emit_slot_at(ip_emit *e, ip_slot_kind kind, int index, const ip_stage *stage, const ip_expr *param);
/* Of the launch; of a stage or of its buffer; a bound of the region. */
const char *ip_emit_slot(ip_emit *e, ip_slot_kind kind);
const char *ip_emit_slot_of(ip_emit *e, ip_slot_kind kind, const ip_stage *stage);
const char *ip_emit_bound(ip_emit *e, ip_bound bound);
const char *ip_emit_dim(ip_emit *e, const ip_stage *stage, int dim);
/* "b2": the buffer argument of a stage that is an input or output of the kernel. */
const char *ip_emit_buffer(ip_emit *e, const ip_stage *stage);
/* The work-item's number along a dimension: emit.c, Note [Kernels that call]. */
const char *ip_emit_global_id(ip_emit *e, int dim);
/* "g3": the line buffer or tile of a stage, by its place in the kernel. */
const char *ip_emit_storage(ip_emit *e, const ip_stage *stage);
/* Declares the samplers that loads from images use: emit_memory.c, Note [Samplers]. */
void ip_emit_samplers(ip_emit *e);
/* Row of the domain that a stage's tile starts with, and the flat index x * channels + c that its rows start with. */
const char *ip_emit_tile_top(ip_emit *e, const ip_stage *stage);
const char *ip_emit_tile_left(ip_emit *e, const ip_stage *stage);
const char *ip_cl_type(imgpar_dtype dtype); /* of values: bool is uchar */
/* A copy of a source's rows read with a wrapping border: its rows are those of the endless pattern. */
bool ip_emit_is_endless(const ip_placed *placed);
/* A multiple of its line buffer's rows that makes every row number of an endless copy positive. */
int ip_emit_line_buffer_bias(const ip_placed *placed);

/* Splits columns: from *low to *high all that lie so far beside an element's own, left and right, are inside. */
void ip_emit_split_row(ip_emit *e, const ip_columns *columns, const int beside[2], const char **low, const char **high);
/* Loops of the kinds in loops.def. */
typedef void ip_emits(ip_emit *e, const ip_columns *columns);
#define LOOP(KIND, SAYS, FITS, EMIT) ip_emits EMIT;
#include "compile/loops.def"
#undef LOOP
/* Calls of the idioms in idioms.def: print one; the first column that is left to be made. */
typedef const char *ip_calls(ip_emit *e, const ip_match *match, const ip_columns *columns);
#define IDIOM(KIND, CALL, ...) ip_calls CALL;
#define PART(KIND, ...)
#include "compile/idioms.def"
#undef PART
#undef IDIOM
/* Name of the row that running sum k of a stage is kept in. */
const char *ip_emit_sums(ip_emit *e, const ip_placed *placed, int k);

/* An inner loop over var in from..to whose elements are independent, width at a time: emit_row.c, Note [Whole
 * vectors]. */
ip_stmt *ip_emit_vectors(ip_emit *e, const char *var, const char *from, const char *to, int width);

/* A row of a stage as its segment says (emit_row.c), written to `out`. row is the row's number, first that of the
 * strip's first row. */
void ip_emit_row(ip_emit *e, const ip_placed *placed, const ip_segment *segment, const char *xa, const char *xb,
                 const char *row, const char *first);

/* The row of a stage that is needed where rows from ya on are made, and y is the one being made (emit_rows.c); the
 * lowest of them. */
void ip_emit_stage(ip_emit *e, const ip_placed *placed, const char *y, const char *ya);
const char *ip_emit_lowest_row(ip_emit *e, const ip_placed *placed, const char *ya);

/* Rows at the rate that the stage at that place in the kernel goes at (emit_rates.c), and what is known of all of
 * them. */
void ip_emit_rate(ip_emit *e, int rate);
void ip_emit_declare_paces(ip_emit *e);

/* Values of n expressions for each pixel of a block, which begins at p, as arrays. */
typedef struct ip_named {
    ip_expr *const *of;
    const char *const *arrays;
    int n;
} ip_named;
/* Pixels p to p + n, at most `most`, as channels in lanes; what is named has been computed. */
void ip_emit_lanes_block(ip_emit *e, const ip_columns *columns, const ip_places *places, int most,
                         const ip_named *named);

/* Pixels of a row that lie `by` elements apart, the first at `from`; n of them go to `to`, side by side. */
typedef struct ip_taking {
    const char *from, *to, *n;
    int by;
    imgpar_dtype dtype;
    bool is_global; /* where they are */
} ip_taking;
/* The type of a word of 1, 2, 4 or 8 bytes. */
const char *ip_emit_word_of(int64_t bytes);
/* Takes pixels of three or four channels (emit_strided.c); n is above 0. */
void ip_emit_take(ip_emit *e, const ip_taking *taking);

/* ip_site_calls_helpers() */
bool ip_emit_calls_helpers(const ip_emit *e);

const char *ip_emit_addend(ip_emit *e, ip_expr *x); /* start or offset of a linear form; "0" for NULL */

/* A copy whose rows are columns of its source: makes the rows from `row` on that are made together. first: of the
 * strip. */
void ip_emit_transposed_rows(ip_emit *e, const ip_placed *placed, const char *xa, const char *xb, const char *row,
                             const char *first);

/* Rows that come from memory and go back to it: emit_stream.c, Note [Streaming]. */
void ip_emit_declare_lines(ip_emit *e); /* the memory that blocks of results are made in */
/* The condition (text) under which a row that may be made in blocks is made without, by a second loop for short rows;
 * NULL: there is the loop over blocks alone. */
const char *ip_emit_without_blocks(ip_emit *e, const ip_placed *placed);
/* A row, columns *from to *to, is made in a loop over blocks, which become *from and *to; where the stage has none, it
 * is whole. */
void ip_emit_enter_block(ip_emit *e, const ip_placed *placed, const char **from, const char **to);
/* The end of the columns that are made of a panel, which begins at xa and ends at xb: Note [Lines of panels]. The
 * second declares it where it is another than xb. */
const char *ip_emit_panel_end(ip_emit *e);
void ip_emit_declare_panel_end(ip_emit *e);
/* The pointer (text) through which columns `from` and on of a result are written, indexed as its row `stored` is: into
 * scratch memory if the launch streams, else `stored`. Declares `at`, the byte of its line of the cache that they begin
 * with. */
const char *ip_emit_line(ip_emit *e, const ip_stage *stage, const char *stored, const char *from);
/* Columns from..to have been made where ip_emit_line() says: moves them to the buffer by non-temporal stores if the
 * launch streams. first..last are all columns that are made of that row. row is its number where the row that is made
 * next is the next in memory, too, so that the two may share a line; else NULL. */
void ip_emit_stream(ip_emit *e, const ip_stage *stage, const char *stored, const char *first, const char *last,
                    const char *from, const char *to, const char *row);
void ip_emit_stream_end(ip_emit *e);     /* of the kernel */
const char *ip_emit_streams(ip_emit *e); /* whether results of this launch stream */
/* How what body reads from memory is prefetched: the last argument of ip_sum_bytes() (text). */
const char *ip_emit_prefetches(ip_emit *e, ip_expr *body);
/* Columns from..to are about to be read: prefetches what lies ahead of them, if inputs are large. */
void ip_emit_prefetch(ip_emit *e, ip_expr *body, const char *from, const char *to);
/* Enters a loop over blocks of columns *from..*to, which become the block's, and begins each with that. False, and no
 * loop: body reads no inputs. */
bool ip_emit_enter_prefetched(ip_emit *e, ip_expr *body, const char **from, const char **to);
/* Prefetches n pixels at column `at` of each of these rows, at once. */
void ip_emit_prefetch_at(ip_emit *e, ip_expr *body, const char *at, const char *n);

/* Schedules: fill e->top. */
void ip_emit_rows(ip_emit *e);
void ip_emit_pixels(ip_emit *e);
void ip_emit_tiles(ip_emit *e);
/* A recurrence, one of its kernels; scratch memory is declared by them. */
typedef enum ip_scan_phase { IP_SCAN_RESULT, IP_SCAN_TOTALS, IP_SCAN_CARRY } ip_scan_phase;
void ip_emit_scan(ip_emit *e, ip_scan_phase phase);
/* The second kernel where there are folds: combines partial results; fills e->top. */
void ip_emit_finish(ip_emit *e);
/* The accumulator of a fold: declared before the rows, fed within a row, stored after. */
void ip_emit_fold_begin(ip_emit *e, const ip_stage *fold);
void ip_emit_fold_row(ip_emit *e, const ip_placed *fold, const char *xa, const char *xb);
void ip_emit_fold_end(ip_emit *e, const ip_stage *fold);
/*
 * Channels. Up to IP_WRITTEN_CHANNELS of them are written out one by one, each a copy of the body with its channel put
 * in (so that alpha, broadcasting and shared work are decided while compiling); more are a loop over c. Between enter
 * and leave there are `n` bodies to compute; channel k's index is ip_emit_channel_text(e, k).
 */
typedef struct ip_channels {
    int n;
    ip_expr *bodies[IP_WRITTEN_CHANNELS];
    ip_mark mark;
} ip_channels;
ip_channels ip_emit_enter_channels(ip_emit *e, ip_expr *body);
void ip_emit_leave_channels(ip_emit *e, const ip_channels *channels);
const char *ip_emit_channel_text(ip_emit *e, int k);
/* x in channel c, where channels are written out; else x itself, in the loop over c. */
ip_expr *ip_emit_of_channel(ip_emit *e, ip_expr *x, int c);
/* "x * 3 + 1": the index of channel k of pixel x. */
const char *ip_emit_pixel_index(ip_emit *e, const char *x, int k);
/* What stands before a column, a sum or not, that is multiplied by the channels: "(long)" or nothing (emit_memory.c,
 * Note [Pixels side by side in memory]). */
const char *ip_emit_widening(int channels, bool is_sum);

#endif
