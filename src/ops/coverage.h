/* SPDX-License-Identifier: MIT */
/*
 * What happens to alpha, the last of 2 or 4 channels of a picture: its share of the pixel that is covered. A row says
 * by its rule (ip_alpha) how it treats alpha; what that does is written here, once for all rows. Arrays of space data
 * are no pictures and have no alpha.
 *
 * Note [Weighing by alpha]
 * The mean of pixels p with the weights w is, where alpha counts, sum(w alpha colour) / sum(w alpha). The row's own
 * passes make both sums: they run over a stage of floats that holds colours times alpha / full, and alpha as it is.
 * The quotient is
 *
 *     c = sum(w colour alpha / full) (full / sum(w alpha))        0 where sum(w alpha) is not above 0
 *
 * with one division a pixel, and alpha itself is the mean of a channel like any other. Where all pixels that a mean
 * reads are opaque, the colours are what the row makes of a picture without alpha, to the bit: alpha / full of an
 * opaque pixel is exactly 1, so the sums are that, and where sum(w alpha) is at least what the passes make of opaque
 * pixels alone they are multiplied by exactly 1. What that is follows from the passes' weights; weights of floats do
 * not add up to 1 exactly (ip_coverage_pass()). Where weights are negative the sum does not tell; then the least alpha
 * that is read does. A row that computes in whole numbers where colours are not multiplied by alpha is computed so,
 * too, and that result is taken where all is opaque.
 *
 * Note [Whole quotients]
 * Plain means of bytes are exact: sums S of colours times alpha and A of alpha are whole, and the colour is S / A,
 * halves up. Of opaque pixels that is 255 sum(colour) / (255 n), so nothing else is computed for them. What is wanted,
 * floor(S / A + 1/2), is 255 at most, and is made of a float: the conversions, the inverse and the product are off by
 * less than 2^-20 of the quotient together, however a device divides, hence by less than 2^-12, which is taken off. So
 * what the float is cut to is the colour or one less, and the rest of the division tells which.
 *
 * What a border rule adds with cval is a pixel whose channels all are cval, or those of the list that cval is.
 */
#ifndef IP_OPS_COVERAGE_H
#define IP_OPS_COVERAGE_H

#include "ops/beyond.h"
#include "ops/lower.h"

/* While the passes of a weighted mean run over colours that are multiplied by alpha. */
typedef struct ip_coverage {
    double full;     /* alpha of an opaque pixel */
    double opaque;   /* what the passes so far made of it, at least */
    ip_expr *weight; /* the sum of alpha where a channel's is not that of its pixel; NULL: that of the pixel */
    /* where no pixel that is read lets anything through; NULL: where the sum of alpha is `opaque` */
    ip_expr *is_opaque;
    double gain, offset; /* the row's result is mean times gain plus offset */
    /* the gain where elements tell it, one number for all; where it is not above 0 alpha stays; NULL: no elements do */
    ip_expr *total;
    bool plain_differs; /* the row makes opaque pixels from other values than these */
    bool is_whole;      /* sums are exact, of `count` pixels */
    int64_t count;
} ip_coverage;

/* What becomes of alpha. */
typedef enum ip_alpha {
    IP_ALPHA_CHANNEL, /* what becomes of every channel */
    IP_ALPHA_STAYS,   /* nothing: it is the input's */
    IP_ALPHA_WEIGHS,  /* its mean; colours are weighed by it */
    IP_ALPHA_BLENDS   /* the same of two pictures; lower() does it (ip_lower_blended()) */
} ip_alpha;

/* What this call does to alpha: the row's rule, and what its parameters make of it. */
ip_alpha ip_alpha_of(const imgpar_array *node);
/* Alpha of an opaque pixel of the picture. */
double ip_alpha_full(const imgpar_array *a);
/* Whether type is a picture with alpha. */
bool ip_type_has_alpha(const ip_type *type);
/* Sets node->type.alpha_is_number from its inputs; once infer() is done. */
void ip_alpha_infer(imgpar_array *node);
/* The stage of a node by its row's lower(), alpha treated by ip_alpha_of(). */
ip_stage *ip_lower_row(ip_lower *l);

/* The sum of a convolution's weights over its scale; 0 where it is a difference. */
double ip_convolution_gain(const imgpar_array *node);

/* Input 0 as x; its alpha is full where the call BLENDS and it is a gray picture, which has none. */
ip_expr *ip_lower_opaque(ip_lower *l, ip_expr *x);
/* Of a call that BLENDS inputs 0 and 1: their elements weighted by share and alpha, 0 where neither has any; plain,
 * which is what becomes of opaque ones and of alpha. Of l->dtype. */
ip_expr *ip_lower_blended(ip_lower *l, ip_expr *plain, ip_expr *const shares[2]);

/* For the makers of passes: input 0, or while colours are multiplied by alpha what takes its place. Of floats, where
 * plain_differs tells that the row reads l->in[0] in whole numbers else. */
ip_stage *ip_coverage_floats(ip_lower *l, bool plain_differs);
/* Of whole numbers: u16 of what are bytes. The row returns exact sums of `count` pixels each, below 2^31, undivided. */
ip_stage *ip_coverage_whole(ip_lower *l, int64_t count);
/* For the makers of passes: a pass makes at least `least` of a constant l->coverage->opaque. */
void ip_coverage_pass(ip_lower *l, double least);
/* cval as it is beyond the edges: in each channel, all the same but for a list's, and in alpha. They differ where
 * colours are multiplied by alpha. */
typedef struct ip_outside {
    bool is_list; /* the last channel's is alpha's, where that counts */
    double of[IP_BEYOND_CHANNELS], alpha;
} ip_outside;
ip_outside ip_lower_outside(ip_lower *l);
/* Both as one expression of dtype. */
ip_expr *ip_lower_outside_value(ip_lower *l, imgpar_dtype dtype, ip_outside outside);

#endif
