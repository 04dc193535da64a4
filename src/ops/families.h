/* SPDX-License-Identifier: MIT */
/*
 * The variants of rows that share their functions, and what is known of each, for
 * infer_*.c and stages_*.c.
 */
#ifndef IP_OPS_FAMILIES_H
#define IP_OPS_FAMILIES_H

#include "graph/array.h"
#include "ir/expr.h"

/* ---- operators and element-wise functions ------------------------------------------- */

typedef enum ip_function {
    IP_FN_ADD,
    IP_FN_SUB,
    IP_FN_MUL,
    IP_FN_MIN,
    IP_FN_MAX,
    IP_FN_IDIV,
    IP_FN_MOD,
    IP_FN_DIV,
    IP_FN_POW,
    IP_FN_ATAN2,
    IP_FN_NEXTAFTER,
    IP_FN_FMA,
    IP_FN_AND,
    IP_FN_OR,
    IP_FN_XOR,
    IP_FN_SHL,
    IP_FN_SHR,
    IP_FN_LT,
    IP_FN_LE,
    IP_FN_GT,
    IP_FN_GE,
    IP_FN_EQ,
    IP_FN_NE,
    IP_FN_BOTH,
    IP_FN_EITHER,
    IP_FN_NEG,
    IP_FN_COMPLEMENT,
    IP_FN_NOT,
    IP_FN_ABS,
    IP_FN_FLOOR,
    IP_FN_CEIL,
    IP_FN_ROUND,
    IP_FN_TRUNC,
    IP_FN_SQRT,
#define FUNCTION(OP, NAME, F64) IP_FN_##OP,
#include "ir/functions.def"
#undef FUNCTION
    IP_FN_COMPLEX,
    IP_FN_REAL,
    IP_FN_IMAG,
    IP_FN_CONJ,
    IP_FN_ARG, /* of ops/complex.h alone */
    IP_N_FUNCTIONS
} ip_function;

/* How operands become one dtype, and what the result is. */
typedef enum ip_typing {
    IP_TYPING_ARITHMETIC, /* the operands' common dtype */
    IP_TYPING_REAL,       /* f32, f64 with an f64 operand */
    IP_TYPING_POWER,      /* ARITHMETIC for integers to a whole literal power, else REAL */
    IP_TYPING_BITS,       /* integers; bool stays bool */
    IP_TYPING_SHIFT,      /* the left operand's dtype, integers */
    IP_TYPING_COMPARE,    /* compared as ip_lower_compare() does, gives bool */
    IP_TYPING_LOGIC       /* operands as conditions, gives bool */
} ip_typing;

typedef struct ip_function_facts {
    ip_typing typing;
    ip_xop xop;   /* what it lowers to where that is one expression */
    bool swapped; /* with its operands swapped: a > b is b < a */
} ip_function_facts;
extern const ip_function_facts ip_functions[IP_N_FUNCTIONS];

imgpar_status ip_infer_function(imgpar_array *node, ip_error *err);
struct ip_stage *ip_stages_function(struct ip_lower *l);

/* The dtype (never f16) in which a function's operands meet. */
imgpar_dtype ip_function_compute_dtype(const imgpar_array *node);
/* Whether operand k of the node is a literal with which integers are compared, and the whole number that does the same:
 * a < 0.5 is a < 1. It may be infinite, and is NaN where what is equal would have to be no integer. */
bool ip_function_compared_whole(const imgpar_array *node, int k, double *whole);
/* The dtype of a choice between two arrays. */
imgpar_dtype ip_select_dtype(const imgpar_array *yes, const imgpar_array *no);
/* The exponent of x ** 2 and the like, 0 to 16; -1: not a small whole literal. */
int ip_function_small_power(const imgpar_array *node);

/* ---- named operations ------------------------------------------------------------------ */

typedef enum ip_named {
    IP_NAMED_ADD,
    IP_NAMED_SUB,
    IP_NAMED_MUL,
    IP_NAMED_ABSDIFF,
    IP_NAMED_MIN,
    IP_NAMED_MAX
} ip_named;
typedef enum ip_measure {
    IP_MEASURE_SUM,
    IP_MEASURE_MEAN,
    IP_MEASURE_MIN,
    IP_MEASURE_MAX,
    IP_MEASURE_PROD,
    IP_MEASURE_ALL,
    IP_MEASURE_ANY,
    IP_MEASURE_BITS_AND,
    IP_MEASURE_BITS_OR,
    IP_MEASURE_BITS_XOR,
    IP_MEASURE_ARGMIN,
    IP_MEASURE_ARGMAX,
    IP_MEASURE_VAR,
    IP_MEASURE_STD,
    IP_MEASURE_NORM,
    IP_MEASURE_DOT
} ip_measure;
/* What a written row asks of its inputs: infer_written.c. */
typedef enum ip_needs {
    IP_NEEDS_NOTHING,
    IP_NEEDS_IMAGE,
    IP_NEEDS_ONE_CHANNEL,
    IP_NEEDS_MASK,    /* that, or a volume */
    IP_NEEDS_PATTERN, /* that, and an element of bounded sides */
    IP_NEEDS_GRAY,
    IP_NEEDS_KEYS, /* of values and whole-number keys: the axes of the keys, and at most one more */
    IP_NEEDS_ONE_SHAPE,
    IP_NEEDS_VECTORS,    /* two of one shape, vectors of three along the last axis */
    IP_NEEDS_CUBE,       /* an image of colours, and a table [n, n, n, 3] */
    IP_NEEDS_ALIKE,      /* two of one size, of as many channels and of one white */
    IP_NEEDS_TWO_IMAGES, /* the same of images */
    IP_NEEDS_COLOUR,
    IP_NEEDS_GRAY_OR_COLOUR, /* an image of one channel, or of three or more, and alpha */
    IP_NEEDS_INKS,           /* an image of four channels or more, of which the fourth is no alpha */
    IP_NEEDS_LEVELS,
    IP_NEEDS_MATRICES,     /* every input */
    IP_NEEDS_COLUMNS,      /* the same, with as many columns */
    IP_NEEDS_POINTS,       /* two last inputs of as many elements */
    IP_NEEDS_MASKED,       /* an image, and behind it a mask of its size */
    IP_NEEDS_CLONED,       /* two images of one size and as many colours, and a mask of their size */
    IP_NEEDS_STACK,        /* of rank 4: images along the first axis */
    IP_NEEDS_KERNEL,       /* an image, and a parameter kernel whose sum is not 0 */
    IP_NEEDS_POLYGON,      /* an image, and a parameter points of two columns */
    IP_NEEDS_CURVE,        /* a parameter points: two columns, the first ascending */
    IP_NEEDS_PALETTE,      /* an image, and a matrix with a column for each of its channels but alpha */
    IP_NEEDS_SAME_COLOURS, /* two images of as many channels but for alpha */
    IP_NEEDS_TEMPLATE,     /* two images of one dtype and white, the second within the first, of as many colours */
    IP_NEEDS_HALVES,       /* an image whose sides can be halved as often as the row's levels say */
    IP_NEEDS_INVERTIBLE,
    IP_NEEDS_LENS,      /* an image, and coefficients that the parameter model has */
    IP_NEEDS_XY,        /* points [n 2] */
    IP_NEEDS_TWO_PAIRS, /* two arrays [n 2] of points, so many at least */
    IP_NEEDS_THREE_PAIRS,
    IP_NEEDS_FOUR_PAIRS,
    IP_NEEDS_MOTION /* behind points or an image a matrix of 2 or 3 rows and 3 columns */
} ip_needs;
typedef enum ip_norm { IP_NORM_L2, IP_NORM_L1, IP_NORM_MAX } ip_norm; /* the row's choices */
/* What a scan runs: in the order of the row's choices; ANY_OF: the row leaves it to its parameter. */
typedef enum ip_running {
    IP_RUNNING_SUM,
    IP_RUNNING_PROD,
    IP_RUNNING_MIN,
    IP_RUNNING_MAX,
    IP_RUNNING_AND,
    IP_RUNNING_OR,
    IP_RUNNING_XOR,
    IP_RUNNING_ANY,
    IP_RUNNING_ALL,
    IP_RUNNING_ANY_OF
} ip_running;
typedef enum ip_fft { IP_FFT_FORWARD, IP_FFT_INVERSE, IP_FFT_FORWARD_2, IP_FFT_INVERSE_2 } ip_fft; /* odd: inverse */
/* The row's choices. */
typedef enum ip_neighbours {
    IP_NEIGHBOURS_SUM,
    IP_NEIGHBOURS_MEAN,
    IP_NEIGHBOURS_MIN,
    IP_NEIGHBOURS_MAX
} ip_neighbours;
enum { IP_MOST_ORDER = 8 };                                                              /* of a recursive filter */
typedef enum ip_start { IP_START_STEADY, IP_START_ZERO } ip_start;                       /* the row's choices */
typedef enum ip_sobel_axis { IP_SOBEL_MAGNITUDE, IP_SOBEL_X, IP_SOBEL_Y } ip_sobel_axis; /* the row's choices */
/* In the order of SAMPLING and RESIZING of rows.h. */
typedef enum ip_at_filter {
    IP_AT_NEAREST,
    IP_AT_LINEAR,
    IP_AT_CUBIC,
    IP_AT_MITCHELL,
    IP_AT_LANCZOS2,
    IP_AT_LANCZOS3
} ip_at_filter;
typedef enum ip_resize_filter {
    IP_RESIZE_AUTO,
    IP_RESIZE_AREA,
    IP_RESIZE_LINEAR,
    IP_RESIZE_NEAREST,
    IP_RESIZE_CUBIC, /* this one and those behind it are kernels of ops/interpolation.h, as from IP_AT_CUBIC on */
    IP_RESIZE_MITCHELL,
    IP_RESIZE_LANCZOS2,
    IP_RESIZE_LANCZOS3
} ip_resize_filter;
typedef enum ip_depth { IP_DEPTH_8, IP_DEPTH_16, IP_DEPTH_FLOAT } ip_depth; /* the row's choices */
typedef enum ip_gray_weights { IP_GRAY_BT601, IP_GRAY_BT709 } ip_gray_weights;

/* The float dtype in which a named operation computes: f64 as soon as an operand is f64 or an integer of 32 or more
 * bits, which f32 does not hold; else f32. */
imgpar_dtype ip_float_for(imgpar_dtype a);
imgpar_dtype ip_float_for_inputs(const imgpar_array *node);

/* The size of a Gaussian's window to either side. */
int ip_blur_radius(const imgpar_array *node);

/* scatter_add, scatter_min, scatter_max. */
typedef enum ip_scatter_fold { IP_SCATTER_SUM, IP_SCATTER_MIN, IP_SCATTER_MAX } ip_scatter_fold;
/* How values spread: reconstruct's method, and steps along equal values. */
typedef enum ip_reconstruct { IP_RECONSTRUCT_DILATION, IP_RECONSTRUCT_EROSION, IP_RECONSTRUCT_STEPS } ip_reconstruct;
/* Of distances from zeros; variants ROOT, which is SQUARE with squared=true, and NEAREST. */
typedef enum ip_distance { IP_DISTANCE_ROOT, IP_DISTANCE_SQUARE, IP_DISTANCE_NEAREST } ip_distance;

/* Linear algebra of small matrices (linalg.h), in the order of the numbers in shaders/linalg.cl. QR, EIGH and SVD give
 * all that there is, one part behind the other: q, r; values, vectors; values, u, the transpose of v. */
typedef enum ip_linalg_method {
    IP_LINALG_DET,
    IP_LINALG_SOLVE,
    IP_LINALG_INVERSE,
    IP_LINALG_CHOLESKY,
    IP_LINALG_LSTSQ,
    IP_LINALG_QR,
    IP_LINALG_EIGH,
    IP_LINALG_SVD,
    IP_LINALG_PINV
} ip_linalg_method;

/* What of them the rows that are made of parts give. */
typedef enum ip_linalg_part {
    IP_PART_Q,
    IP_PART_R,
    IP_PART_EIGENVALUES,
    IP_PART_EIGENVECTORS,
    IP_PART_SINGULAR,
    IP_PART_U,
    IP_PART_VT
} ip_linalg_part;

#endif
