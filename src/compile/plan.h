/* SPDX-License-Identifier: MIT */
/*
 * What the compiler makes: a plan. Its kernels are in an order that satisfies
 * their dependencies; each computes a region of its outputs from regions of its
 * inputs. The plan knows no device memory: run/ binds buffers and launches.
 */
#ifndef IP_COMPILE_PLAN_H
#define IP_COMPILE_PLAN_H

#include "base/str.h"
#include "graph/choices.h"
#include "ir/stage.h"

#include <limits.h>

typedef enum ip_schedule {
    IP_SCHEDULE_AUTO,
    IP_SCHEDULE_ROWS,
    IP_SCHEDULE_TILES,
    IP_SCHEDULE_TEXTURE,
    IP_SCHEDULE_PIXELS,
    IP_SCHEDULE_REF,
    IP_SCHEDULE_OPAQUE, /* hand-written kernels; cannot be asked for */
    IP_N_SCHEDULES
} ip_schedule;

const char *ip_schedule_name(ip_schedule schedule);
bool ip_schedule_find(const char *name, ip_schedule *schedule);

/* Where a kernel keeps a stage for its own readers. */
typedef enum ip_place {
    IP_PLACE_LINE_BUFFER, /* rows: the last few rows, in scratch memory of the work-item */
    IP_PLACE_TILE,        /* tiles: the tile and its halo, in local memory of the work-group */
    IP_PLACE_NONE,        /* nobody in the kernel reads it: elements go straight to its buffer */
    IP_PLACE_TOTAL        /* folded into a partial result of the work-item or the work-group */
} ip_place;

/* At most: running sums of a stage, entries of a kernel in tiles; and rows that are made together. */
enum { IP_MAX_RUNNING = 4, IP_MAX_PLACED = 64, IP_TOGETHER = 4 };
enum { IP_ALL_COLUMNS = 1 << 30 }; /* more than rows that are kept whole have: program text tells no size */

/* Rows that are read for a row of the reader: from row + lo to row + hi, where row, an expression over the reader's y,
 * is never less than for the row before. */
typedef struct ip_row_rate {
    ip_expr *row;
    int lo, hi;
} ip_row_rate;

/* What makes columns of a row. */
typedef enum ip_row_loop {
#define LOOP(KIND, SAYS, FITS, EMIT) IP_LOOP_##KIND,
#include "compile/loops.def"
#undef LOOP
    IP_N_LOOPS
} ip_row_loop;

struct ip_match; /* idioms.h */

/* How a loop makes elements, whatever they are: elements.c. */
typedef struct ip_elements {
    bool is_flat;       /* over the flat index x * channels + c; else over pixels */
    bool is_vector;     /* pixels: compilers are to make vectors of them, or of the loop over their channels */
    bool is_gather;     /* pixels: one element after the other: emit_row.c, Note [Gathers] */
    bool gathers_words; /* pixels: emit_gather.c, Note [Gathered words] */
    bool has_gaps;      /* pixels: emit_row.c, Note [Gaps] */
    bool has_angles;    /* emit_row.c, Note [Far angles] */
    int width;          /* lanes of the loop's vectors; 1: it has none */
    int registers;      /* that the values of an iteration take at once: live.c; 0: not looked at */
    int channel_lanes;  /* pixels: lanes of the loop over many channels; 1: it has none */
    int block_pixels;   /* pixels of a block, emit_row.c, Note [Groups of channels]; 0: there are none */
} ip_elements;

/* What blocks of a row are looked through for: emit_skip.c, Note [Skipped blocks]. */
typedef struct ip_skip {
    ip_expr *condition;
    ip_expr *left; /* an element where the condition holds, or does not, throughout its block */
    bool holds;
    int width;            /* lanes of the loop that looks */
    ip_elements elements; /* how a loop makes what is left */
} ip_skip;

/* Columns of a row: two parts of them, or all made alike. */
typedef struct ip_segment {
    ip_expr *body; /* an element */
    ip_expr *cut;  /* the column that parts[1] begins with, the same for all of the row; NULL: there is none */
    const struct ip_segment *parts[2]; /* before the cut, and from it on */
    ip_expr *within;                   /* an element whose neighbours are inside: of columns between the ends */
    const struct ip_match *match;      /* the idiom that makes what it can of these; NULL: there is none */
    ip_row_loop loop;                  /* makes the rest of them */
    /* what that loop needs to know of `within` */
    unsigned calls; /* bit n: it calls functions of number n in idioms.def */
    int times;      /* strided: every so many-th pixel; repeats: so many times each; lanes: the step, 0: none */
    const ip_expr *copies[IP_FEW_TIMES]; /* repeats: the pixels that these are; one and the same, or of several rows */
    bool are_words;                      /* strided, repeats: pixels are moved as parts of words */
    /* lanes: what of it is computed as lanes, where there is a step the element of its pixel; lookups: the index */
    ip_expr *part;
    /* pixels, flat, indices: how it is made; skips: in blocks that are not skipped; places: at the edges; lookups: the
     * index */
    ip_elements elements;
    /* lanes of vectors: running: of the row's loop; lanes: of the flat loop; windows: of the loop that stores */
    int width;
    int sums_width[IP_MAX_RUNNING]; /* running: the same of loops that start sums */
    bool in_pairs;                  /* lanes: pixels of it may be made in pairs */
    ip_skip skip;                   /* skips: in which blocks there is little to compute */
    const struct ip_places *places; /* places, indices: segments.h */
} ip_segment;

/* Elements of a fold's row, which are folded as they come or, blocks of them, by another loop behind. */
typedef struct ip_folded {
    ip_expr *body;
    bool stands; /* they lie side by side in a row of what is read, and are read there */
    bool is_flat;
    int width; /* lanes of the loop that makes them */
} ip_folded;

/* What folds a row: emit_fold.c, emit_by_key.c. */
typedef enum ip_fold_loop {
    IP_FOLD_ELEMENTS,
    IP_FOLD_SMALL, /* the row's sum in 32 bits */
    IP_FOLD_LANES,
    IP_FOLD_FIRST, /* emit_fold.c, Note [First of few] */
    IP_FOLD_BINS,
    IP_FOLD_KEYS,
    IP_N_FOLD_LOOPS
} ip_fold_loop;
typedef struct ip_fold_rows {
    ip_fold_loop loop;
    ip_folded values; /* what is folded; bins: in which each counts */
    ip_folded beside; /* keys: these; first: what is tested before */
    bool is_inside;   /* bins, keys: every element's is one that counts */
} ip_fold_rows;

/* What a row of a mask is: place_broadcast.c, Note [Masks]. */
typedef enum ip_mask_state { IP_MASK_CLEAR, IP_MASK_SET, IP_MASK_MIXED, IP_N_MASK_STATES } ip_mask_state;

/* Elements of a row: columns are counted in int on the device, where a strip or tile may begin before its row's end and
 * end behind it. */
enum { IP_LONGEST_ROW = INT32_MAX - (1 << 24) };

/* A stage within a kernel of the rows or the tiles schedule. Rows are relative to the output row y being made (or to
 * the row that is made at its rate), or to the first and the last row of the tile: it is computed from first rows
 * before it to lead rows behind it. */
typedef struct ip_placed {
    ip_stage *stage;
    ip_expr *body; /* its element, of what the kernel keeps: the stage's own once the placement is adopted */
    ip_place place;
    bool is_copy;           /* rows of a source, copied so that columns outside can be read */
    bool is_transposed;     /* such a copy, of columns as rows: emit_transpose.c */
    const ip_stage *source; /* what is copied */
    bool is_stored;         /* rows of the strip itself are written to the stage's buffer */
    int lead;               /* computed at row y + lead */
    int first;              /* the lowest row ever needed: y + first */
    int lowest_read;        /* the lowest row that is read of it while y is made: y + lowest_read; INT_MAX: none is */
    int rows;               /* line buffer: rows kept */
    /* line buffer: rows made together, aligned to as many: emit_transpose.c, Note [Transposed reads]; 0: one */
    int at_once;
    bool is_deep; /* at_once counts planes, of which the same row is made, not rows */
    int together; /* rows of neighbours made in one loop: place_together.c, Note [Rows together]; 0: one */
    /* rows: place in the kernel of the stage at whose rate its rows are made, its own if it is that stage; -1: one for
     * each row of the output: place_rates.c, Note [Producer row rates] */
    int rate_of;
    ip_row_rate rate; /* of that stage: the rows that its reader reads */
    int pad;          /* line buffer: columns added at either side, filled by pad_border unless pad_is_computed */
    int pad_rows;     /* tile: rows added above and below the domain, likewise */
    int pad_border;
    ip_expr *pad_outside;
    /* line buffer: these columns are computed as all others are: place_sums.c, Note [Sums of three] */
    bool pad_is_computed;
    /* columns needed beyond the region, before clipping to the domain; IP_ALL_COLUMNS and up: all there are */
    int left, right;
    /* rows: a broadcast value that its reader looks at a row at a time: place_broadcast.c, Note [Masks] */
    bool is_mask;
    ip_expr *mask; /* the expression in its reader's body that stands for this row; NULL: it is no mask */
    int beside_left, beside_right;    /* rows: halo columns that it reads from buffers in place, without a copy */
    ip_expr *running[IP_MAX_RUNNING]; /* windows of its body whose sums are carried along: see ip_place_running() */
    int n_running;
    /* rows: how a row is made, where that of its mask is such; IP_MASK_MIXED: or it has none */
    const ip_segment *row_of[IP_N_MASK_STATES];
    const ip_fold_rows *fold; /* rows, of a fold: how one is folded; NULL: it is none */
    bool is_streamed;         /* rows: it may be written past the caches: emit_stream.c, Note [Streaming] */
    int block_columns;        /* rows: of a row that are made together; 0: the row is made whole */
    int last_reader;          /* place in the kernel of the last stage that reads it; -1: none does */
    int offset, pitch;        /* tile: first byte in the group's local memory, elements a row */
    int copies;               /* histogram in tiles: tables that a work-group counts in */
    int64_t operations;       /* of an element of its body, about; told when all passes have run */
} ip_placed;

/* Rows that a work-item of the rows schedule keeps in scratch memory, of as many columns as its panel has, which the
 * launch tells; or of so many. */
typedef struct ip_scratch {
    const ip_stage *stage; /* whose rows these are */
    const ip_expr *sums;   /* or those of this running sum of it */
    int rows;
    int64_t columns;      /* 0: of a panel */
    int64_t beside, most; /* columns more than that; in all at most */
    int64_t channels;     /* elements a column */
    int64_t elements;     /* more than its columns have */
    int element_bytes;
    bool is_line_buffer; /* each row begins with a line of the cache */
    bool is_line;        /* of a result, where it streams: what the last block left of a line stands before it */
} ip_scratch;

/* Of an input, the last row that is read while row y of the result is made: row y + row. */
typedef struct ip_row_ahead {
    const ip_stage *stage;
    int64_t row;
} ip_row_ahead;
enum { IP_MOST_AHEAD = 6 };

/* Tiles of a strip that a work-group slides down, at least, where the image has them: place_tiles.c, Note [Sliding] */
enum { IP_STRIP_TILES = 4 };

/* What a work-group of the tiles schedule makes at a time. */
typedef struct ip_tiling {
    int width, height;             /* pixels of the result */
    int group_width, group_height; /* work-items; their product is a power of two */
    int bytes;                     /* local memory */
    bool slides;                   /* down a strip of them: place_tiles.c, Note [Sliding] */
    /* operations a pixel of the result takes; those that neighbouring tiles do too; all, with what it fetches */
    double work, halo_work, cost;
} ip_tiling;

/* An input that is read through image2d_t. */
typedef struct ip_texture {
    const ip_stage *stage;
    int channels; /* of a texel: 1, 2 or 4; those that the stage does not have are 0 */
} ip_texture;
enum { IP_MAX_TEXTURES = 16 };

/* Columns of a row that a work-item folds at a time, at most: emit_fold.c, Note [Sums of small integers]. */
enum { IP_FOLD_COLUMNS = 65536 };

/* How what is read is prefetched: the argument `how` of ip_prefetch_next() in shaders/helpers.cl, where these numbers
 * stand, too. BELOW is a power of two, above all others: a stage that leaves it to the last one masks it
 * (emit_stream.c). run/division.c chooses. */
typedef enum ip_prefetch {
    IP_PREFETCH_NOTHING,
    IP_PREFETCH_AHEAD, /* a page behind what is read */
    IP_PREFETCH_PAGES, /* a line of each of the next eight pages in turn */
    IP_PREFETCH_ROWS,  /* the row that is read next */
    IP_PREFETCH_BELOW  /* by the kernel's last stage: emit_stream.c, Note [Rows ahead] */
} ip_prefetch;

/* Bounds of a region: the first plane, row and column, and those behind the last. */
typedef enum ip_bound { IP_Z0, IP_Z1, IP_Y0, IP_Y1, IP_X0, IP_X1 } ip_bound;

/* Kernel arguments: buffers in the order output..., input..., scratch, then one int buffer P. This tells what stands in
 * P. */
typedef enum ip_slot_kind {
    IP_SLOT_REGION,     /* index: an ip_bound of the launch */
    IP_SLOT_STRIP_ROWS, /* rows and columns of a work-item */
    IP_SLOT_STRIP_COLUMNS,
    IP_SLOT_PANEL_COLUMNS, /* of these, columns that are walked at once */
    IP_SLOT_ITEMS_X,       /* work-items along x and along y */
    IP_SLOT_ITEMS_Y,
    IP_SLOT_DIM, /* stage's extent `index` (0..2) */
    /* stage's buffer: where its element 0 of row 0 of plane 0 is, or would be: the buffer holds a region; wide */
    IP_SLOT_START,
    IP_SLOT_ORIGIN,             /* stage's buffer: region origin `index` (0..2) */
    IP_SLOT_PITCH,              /* stage's buffer: elements a row */
    IP_SLOT_PLANE,              /* stage's buffer: elements a plane; wide */
    IP_SLOT_PLANES,             /* stage's buffer: how many there are */
    IP_SLOT_LINE_BUFFER_OFFSET, /* stage's line buffer: first byte / 64 within the work-item's scratch */
    IP_SLOT_LINE_BUFFER_PITCH,  /* stage's line buffer: elements a row */
    IP_SLOT_STREAMS,            /* 1: what the kernel writes row by row is larger than caches, else 0 */
    IP_SLOT_PREFETCHES,         /* how what it reads is prefetched: an ip_prefetch */
    IP_SLOT_SUMS,               /* stage's running sum `index`: where its row starts, as IP_SLOT_LINE_BUFFER_OFFSET */
    IP_SLOT_SCRATCH_EACH,       /* scratch of a work-item, in units of 64 bytes */
    IP_SLOT_SCRATCH_START,      /* where the first one's starts, in units of 64 bytes */
    IP_SLOT_PARTIAL,            /* a fold's partial results, one a work-item: where they start, in units of 64 bytes */
    IP_SLOT_PARAM,              /* a number; wide for 8-byte dtypes */
    IP_SLOT_TABLE,              /* where the table's elements start in P */
    IP_SLOT_ITEMS,              /* number of work-items of the main kernel (finish kernels) */
    IP_SLOT_FIRST_ITEM,         /* of the launch */
    IP_SLOT_SCAN                /* recurrences: index is an ip_scan_slot */
} ip_slot_kind;

enum {
    IP_SCAN_PIECE = 256, /* steps along x whose results are made together, where they stream; */
    /* bytes more than theirs that a lane has for them: the line of 64 they begin in, and the one they end in */
    IP_SCAN_PIECE_ENDS = 128
};

/* Numbers that a kernel of a recurrence is given. */
typedef enum ip_scan_slot {
    IP_SCAN_BLOCKS, /* blocks of a line */
    IP_SCAN_STEPS,  /* elements of a block along the line */
    IP_SCAN_CHUNK,  /* lines along z or y: columns of a work-item; else: rows of a work-item */
    IP_SCAN_ROWS,   /* lines along z: rows of a work-item */
    IP_SCAN_FIRST_X,
    IP_SCAN_FIRST_Y,
    IP_SCAN_FIRST_Z, /* number of the first work-item of the launch */
    IP_SCAN_ITEMS_X,
    IP_SCAN_ITEMS_Y, /* work-items along x, along y */
    IP_SCAN_FROM_BLOCK,
    IP_SCAN_TO_BLOCK, /* blocks of each line whose totals become carries */
    /* where the memory begins that results are made in, and what a work-item has of it; in units of 64 bytes */
    IP_SCAN_LINES,
    IP_SCAN_LINE,
    IP_N_SCAN_SLOTS
} ip_scan_slot;

typedef struct ip_slot {
    ip_slot_kind kind;
    int index;
    const ip_stage *stage;
    const ip_expr *param;
} ip_slot;

/* Takes two cells of P. */
bool ip_slot_is_wide(const ip_slot *slot);

/* A place of checked mode in a kernel's text; its number is its position in ip_kernel.checks. */
typedef enum ip_check_kind { IP_CHECK_READ, IP_CHECK_WRITE, IP_CHECK_FINITE } ip_check_kind;
typedef struct ip_check {
    ip_check_kind kind;
    const ip_stage *stage;
} ip_check;

/* Files of shaders/ whose functions kernels may call. The first stands before every kernel, others where they are
 * called. */
typedef enum ip_helpers {
    IP_HELPERS_COMMON,
    IP_HELPERS_FUNCTIONS,
    IP_HELPERS_DOT,
    IP_HELPERS_UPSAMPLE,
    IP_HELPERS_LOOKUP,
    IP_HELPERS_PLACES,
    IP_HELPERS_RANDOM,
    IP_N_HELPERS
} ip_helpers;

/* How a recurrence walks its lines: recurrences.c. */
typedef struct ip_recurrence {
    int lanes;       /* along x: lines that a work-item walks at once, emit_scan_x.c, Note [Lanes]; else 0 */
    int steps;       /* along x: that are taken in turn of each of these: Note [Steps at once] */
    bool is_flat;    /* elements are told by one index for column and channel */
    int width;       /* lanes of vectors of elements that take a step together */
    int state_bytes; /* of the states of a line */
} ip_recurrence;

/* What the text of a kernel asks for beside buffers of pixels, noted while it is made: arguments of a launch. */
typedef struct ip_arguments {
    ip_slot *slots; /* in P, owned as all lists here are; behind them tables */
    int n_slots, slots_capacity;
    const ip_stage **tables;
    int n_tables;
    ip_check *checks; /* checked mode: an argument more, behind P */
    int n_checks;
    bool has_scratch;
    bool looks_up; /* work-items read a table at places of their own */
    bool has_line; /* recurrences: work-items have memory that results are made in where they stream */
} ip_arguments;

typedef struct ip_kernel {
    char name[80];
    ip_schedule schedule;
    ip_stage **stages; /* computed here, in order */
    int n_stages;
    ip_placed *placed; /* rows, tiles, folds in pixels: every stage computed here, copies included, in order */
    int n_placed;
    ip_stage **inputs; /* read from buffers: sources and other kernels' outputs */
    int n_inputs;
    ip_stage **outputs; /* those of them that are written to buffers, in order */
    int n_outputs;
    ip_arguments args;
    ip_scratch *scratch; /* what a work-item keeps, one behind the other; in the ir's arena */
    int n_scratch;
    bool whole_vectors; /* loops end with a whole vector: emit_row.c, Note [Whole vectors] */
    unsigned helpers;   /* bit n: it calls functions of that ip_helpers */
    /* rows: what its last stage, which reads kept rows, prefetches while it computes: emit_stream.c, Note [Rows ahead]
     * */
    ip_row_ahead ahead[IP_MOST_AHEAD];
    int n_ahead;
    int64_t read_bytes;        /* rows: of a column, all rows of inputs that are read at once */
    int64_t line_buffer_bytes; /* rows: of a column, all rows that are kept */
    /* rows: that a work-item makes, row by row; 0: one (emit_transpose.c, Note [Walking planes]) */
    int planes_at_once;
    bool is_transpose; /* elements beside each other are read from rows below each other: a transpose */
    bool reads_places; /* rows: pixels are made of others at computed rows and columns (emit_places.c) */
    /* rows: that a panel makes beyond its own, to fill the line it ends in: emit_stream.c, Note [Lines of panels] */
    int columns_beyond;
    /* inputs are read in other rows than the one that is made, or at places that are computed */
    bool reads_other_rows;
    bool reads_in_pieces; /* rows: what is made of a row is made of elements that lie all over it */
    bool whole_rows;      /* a wrap border needs complete rows: no split along x */
    int n_folds;          /* outputs that fold: partial results in scratch, then NAME_finish */
    bool in_groups;       /* opaque: work-groups of many items, as GPUs want them */
    bool is_scan;         /* its output is a SCAN: where it has blocks NAME_totals and NAME_carry run before NAME */
    ip_tiling tiling;     /* tiles */
    ip_texture textures[IP_MAX_TEXTURES]; /* texture: inputs that are images */
    int n_textures;
    ip_recurrence walk; /* recurrences */
    int64_t domain[4];  /* what the work-items walk */
    char ops[192];      /* "boxblur,blend,overlay" */
    /* why its first output was not fused into a reader; "" where none reads it. In the arena, as stages are */
    const char *reason;
    char fallback[160]; /* why a forced schedule was not used; "" */
    char library[160];  /* opaque: whether a library computes it instead, as run/ tells; "" */
    char *source;       /* OpenCL C of this kernel (and NAME_finish), without shaders/helpers.cl; owned */
    bool uses_f64;
} ip_kernel;

/* A read that was promised to be inside (compile/promises.c): where a plan looks for the first element that leaves, of
 * which stage; where it tells the reads of an element, along which axis. */
typedef struct ip_promise {
    const ip_stage *stage;
    int axis;       /* 0..3: z y x c */
    int64_t extent; /* of what is read */
    int border;     /* which promise it was */
} ip_promise;

typedef struct ip_plan {
    ip_ir *ir; /* owned */
    ip_kernel *kernels;
    int n_kernels;
    int n_nodes;                /* distinct graph nodes */
    imgpar_array *const *asked; /* what is asked for, while the plan is made; borrowed */
    size_t n_asked;
    ip_stage **outputs; /* for each requested array its stage */
    int n_outputs;
    int n_looks, n_folds;       /* of plans of looks: how many looks the folds take, and how many folds others read */
    const ip_promise *promises; /* by element of the one result, where promises are checked; in the ir's arena */
    imgpar_array **held;        /* edges to the graph below, so that stages may borrow nodes */
    int n_held;
    bool uses_f64;
    int64_t most_steps; /* of a loop of an element; 0: none is looped */
} ip_plan;

/* What the schedules tiles and texture may know of the device. */
typedef struct ip_target {
    int group_width, group_height;     /* work-items of a tile; powers of two */
    int most_items;                    /* of a larger group, where that pays */
    uint64_t local_bytes;              /* of a work-group's memory */
    uint64_t constant_bytes;           /* of __constant memory that is faster than __global; 0: none is */
    int64_t image_width, image_height; /* the largest image; 0: there are none */
    unsigned texel_channels;           /* bit n: images may have n channels: 1, 2, 4; 4 where there are images */
    unsigned half_channels;            /* the same for f16 */
} ip_target;

/* Numbers that decide how fast something is computed, never what: found by measuring, where somebody asked for that. */
typedef struct ip_tuning {
    ip_schedule schedule; /* AUTO: the one that suits the device's class */
    int vector_bytes;     /* of the vectors that loops are written for; a power of two */
    int strip_bytes;      /* rows: what a strip of a chain keeps and reads at a time */
    int stream_bytes;     /* rows: what a kernel reads, or writes, from this size on is streamed: emit_stream.c */
    int max_stages;       /* of a kernel: where fusion ends */
} ip_tuning;
enum { IP_MAX_STAGES = 32 }; /* of max_stages at most: placing has room for as many (placing.h) */

/* The look (compile/looks.c) that computes what is asked for, once all folds that others read are known. */
enum { IP_LOOK_LAST = INT_MAX };

/* What is planned of the arrays: all zero is them, with all that may be done to compute them fast. */
typedef struct ip_goal {
    bool keep_stages; /* a stage a node, and no kernels: for the reference interpreter */
    bool totals;      /* folds that are asked for store their totals: run/totals.c, Note [Totals] */
    bool spills;      /* every fold stores its total, of which a stage behind it makes its result: run/spill.c */
    int look;         /* 0: the arrays; else what of them, Note [Looks] in compile/looks.c */
    const ip_choices *choices; /* branches that are decided; NULL: none */
    bool is_step;              /* of a loop: it runs again and again, and reads what it made before */
    /* of a loop, taken at once: one step reads at placeholders[k] what the one before it made of arrays[k]; 0, 1:
     * one */
    int steps;
    imgpar_array *const *placeholders; /* as many as arrays, where there are several steps */
    /* 1 << border: in place of the arrays, what breaks these promises of theirs; 0: the arrays. With a place, z y x c,
     * of a stage: which reads of that element do, of promise number `promise`. Note [Promises kept] */
    unsigned promises;
    int promise;
    const int64_t *place;
} ip_goal;

/* Bytes of a vector register from which on a processor is taken to have 32 of them, and quick gathers, as AVX-512. */
enum { IP_WIDE_VECTOR = 64 };

/* What the device and its compiler are like. */
typedef struct ip_device_traits {
    bool prefers_rows;       /* where no schedule is asked for: rows, for few long work-items; else tiles */
    bool has_loop_hints;     /* its compiler heeds "#pragma clang loop", and vectorises loops */
    bool has_clang_builtins; /* helpers of shaders/ may be called, lines prefetched and stored past the cache */
    bool keeps_calls;        /* it compiles a function that is not inlined once: emit.c, Note [Kernels that call] */
    bool has_few_items;      /* work-items are few and long, with caches of their own */
    bool uses_own_functions; /* exp, log, sin and so on are those of shaders/functions.cl */
    int vector_bytes;        /* of its widest registers; narrower ones than IP_WIDE_VECTOR are taken for 16 in number,
                                whose gathers are not worth it, as AVX2's are */
    ip_target target;
} ip_device_traits;

/* Passes ask this, and no rule between its fields: ip_compile() has applied them (compile.c, settled()). */
typedef struct ip_compile_options {
    ip_goal goal;
    ip_device_traits device;
    ip_tuning tuning;
    ip_schedule schedule; /* what tuning.schedule comes to on the device, never AUTO; ip_compile() finds it */
    bool fuse;            /* false: a kernel a node */
    bool checks;          /* checked mode (compile/emit_check.c): nothing is vectorised, no helper called */
    bool in_parts;        /* results may be made in parts: memory is limited, or several devices compute */
    const char *dump;     /* IMGPAR_DUMP: passes whose result goes to log; NULL */
    ip_str *log;          /* receives dumps; NULL */
} ip_compile_options;

/* arrays: what is asked for, none of them an error. */
imgpar_status ip_compile(imgpar_array *const *arrays, size_t n, const ip_compile_options *options, ip_plan **out,
                         ip_error *err);
void ip_plan_free(ip_plan *plan);

/* format "text", "dot", "json", "cl"; sharing: a line on the devices that are to run it, NULL: there is nothing to say.
 * New string in *out. */
imgpar_status ip_plan_explain(const ip_plan *plan, const char *format, const char *sharing, char **out, ip_error *err);

/* Where a kernel of the rows or tiles schedule keeps a stage; NULL: it does not. */
ip_placed *ip_kernel_placed(const ip_kernel *kernel, const ip_stage *stage);
/* Its readers find it in a line buffer or tile, edges filled in. */
bool ip_placed_is_kept(const ip_placed *placed);
/* Elements of a line buffer's row before that of its first column, which begins with a line of the cache: the columns
 * that the pad has there, at least. (What is stored across lines takes twice as long.) */
int ip_placed_before(const ip_placed *placed);
/* Its row in the line buffer is the row of its running sums. */
bool ip_placed_is_sums(const ip_placed *placed);
/* The kernel uses the rows schedule, or pixels and computes folds, and is no recurrence: work-items walk strips. */
bool ip_kernel_walks_rows(const ip_kernel *kernel);
/* A work-group walks a strip of tiles: folds, and tiles that slide. */
bool ip_kernel_walks_tiles(const ip_kernel *kernel);
/* Of the stage's tile only new rows are made, where that is not a strip's first. */
bool ip_tile_grows(const ip_kernel *kernel, const ip_placed *placed);
/* Rows of it above the new ones that the next tile reads, if the kernel's slide. */
int ip_tile_rows_kept(const ip_placed *placed);
/* How the kernel samples an input; NULL: it reads a buffer. */
const ip_texture *ip_kernel_texture(const ip_kernel *kernel, const ip_stage *stage);
/* Whether stage is one of the kernel's outputs. */
bool ip_kernel_stores(const ip_kernel *kernel, const ip_stage *stage);
/* Rows that a strip computes beyond its own, to fill its line buffers. */
int ip_kernel_halo(const ip_kernel *kernel);
/* How many rows of the output take about as long as what a strip computes beyond its own: the halo, or more where rows
 * of another height are made first. */
int64_t ip_kernel_rows_twice(const ip_kernel *kernel);
/* Columns of a panel, at least, where rows are so many: what it computes beyond its own stays little. */
int64_t ip_kernel_least_columns(const ip_kernel *kernel);
/* Work-items walk their strip in panels, which share a scratch: strips that keep rows and may be cut along x
 * (division.c, Note [Panels]). */
bool ip_kernel_walks_panels(const ip_kernel *kernel);
/* Operations on an element of the kernel's domain. What hand-written kernels do is not known; but a part of it is that
 * part. */
double ip_kernel_cost(const ip_plan *plan, const ip_kernel *kernel);

/* Elements that a key has in a table of results of a fold by keys: one a channel; of sums of floats a vector. */
int ip_by_key_pitch(const ip_stage *fold);

/* Counters of a bin in a partial result of a histogram, which is that many histograms. */
int ip_histogram_tables(const ip_kernel *kernel, const ip_stage *histogram);
/* Counters that a channel has in each of them: its bins and, where there are several tables, what rounds them up to a
 * number that the program can hold. */
int64_t ip_histogram_pitch(const ip_kernel *kernel, const ip_stage *histogram);
/* Counters of a table in local memory: enough for all bins and channels, a power of two, so that programs are few. */
int64_t ip_histogram_cells(const ip_stage *histogram);

/* Bytes of that region of a stage's elements. */
uint64_t ip_region_bytes(const ip_region *region, const ip_stage *stage);
/* The region of input that kernel reads to compute region of its outputs, clipped. Of opaque kernels the plan is not
 * looked at. */
void ip_kernel_demand(const ip_plan *plan, const ip_kernel *kernel, const ip_stage *input, const ip_region *region,
                      ip_region *needed);
/* The bytes that kernel then needs of its inputs, each once, and makes of its outputs. */
typedef struct ip_traffic {
    uint64_t read, written;
} ip_traffic;
ip_traffic ip_kernel_traffic(const ip_plan *plan, const ip_kernel *kernel, const ip_region *region);

/* Grows a region of what kernel makes to one that it can make: whole lines of a recurrence, whole rows that wrap
 * around, what a hand-written kernel asks for. */
void ip_kernel_widen(const ip_kernel *kernel, ip_region *region);

/* Bounds inference (bounds.c): from what is wanted of the results backwards, what is needed of every stage. */
typedef struct ip_bounds {
    const ip_plan *plan;
    const ip_region *wanted;                                   /* by output */
    ip_region (*seen)(const void *user, const ip_stage *fold); /* what a fold sees of what it folds; NULL: everything */
    const void *user;                                          /* of seen */
    ip_region *needed; /* by stage id, filled by ip_bounds_infer() as is_needed is */
    bool *is_needed;
} ip_bounds;
void ip_bounds_infer(const ip_bounds *bounds);
/* Whether anything is needed of what kernel makes. */
bool ip_bounds_need(const ip_bounds *bounds, const ip_kernel *kernel);
/* The part of its domain that kernel walks to make that. */
ip_region ip_bounds_region(const ip_bounds *bounds, const ip_kernel *kernel);
/* The description of an opaque root; NULL: it is none. */
const ip_opaque *ip_kernel_opaque(const ip_kernel *kernel);

#endif
