/* SPDX-License-Identifier: MIT */
/*
 * What happens to alpha, the last of 2 or 4 channels of a picture: its share of the pixel that is covered. A row says by its rule
 * (ip_alpha) how it treats alpha; what that does is written here, once for all rows. Arrays of space data are no pictures and have no alpha.
 *
 * Note [Weighing by alpha]
 * The mean of pixels p with the weights w is, where alpha counts, sum(w alpha colour) / sum(w alpha). The row's own passes make both
 * sums: they run once more over a stage of floats that holds alpha times colour, and alpha as it is. The quotient is
 *
 *     c = sum(w colour alpha / full) / (sum(w alpha) / full)        0 where sum(w alpha) is not above 0
 *
 * and alpha itself is the mean of a channel like any other. Where all pixels that a mean reads are opaque, the colours are what the row
 * makes of a picture without alpha, to the bit: that result, which is computed too, is taken where sum(w alpha) is at least what the
 * passes make of opaque pixels alone. What that is follows from the passes' weights; weights of floats do not add up to 1 exactly
 * (ip_coverage_pass()). Where weights are negative the sum does not tell; then the least alpha that is read does.
 *
 * What a border rule adds with cval is a pixel whose channels all are cval.
 */
#ifndef IP_OPS_COVERAGE_H
#define IP_OPS_COVERAGE_H

#include "ops/lower.h"

/* While the passes of a weighted mean run over colours that are multiplied by alpha. */
typedef struct ip_coverage {
    const ip_stage *source; /* the picture itself */
    double full;            /* alpha of an opaque pixel */
    double opaque;          /* what the passes so far made of it, at least */
    ip_expr *weight;        /* the sum of alpha where a channel's is not that of its pixel; NULL: that of the pixel */
    ip_expr *is_opaque;     /* where no pixel that is read lets anything through; NULL: where the sum of alpha is `opaque` */
    double gain, offset;    /* the row's result is mean times gain plus offset */
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

/* Of a call that BLENDS inputs 0 and 1: their elements weighted by share and alpha, 0 where neither has any; plain, which is what becomes of
 * opaque ones and of alpha. Of l->dtype. */
ip_expr *ip_lower_blended(ip_lower *l, ip_expr *plain, ip_expr *const shares[2]);

/* For the makers of passes: a pass makes at least `least` of a constant l->coverage->opaque. */
void ip_coverage_pass(ip_lower *l, double least);
/* cval as it is beyond the edges: in a colour and in alpha. They differ where colours are multiplied by alpha. */
typedef struct ip_outside { double colour, alpha; } ip_outside;
ip_outside ip_lower_outside(ip_lower *l);
/* Both as one expression of dtype. */
ip_expr *ip_lower_outside_value(ip_lower *l, imgpar_dtype dtype, ip_outside outside);

#endif
