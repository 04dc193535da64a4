/* SPDX-License-Identifier: MIT */
/* Masks and their regions: what the lowering of distances, labels, measures of regions, lines and
 * reconstruction (stages_distance.c, stages_labels.c, stages_regions.c, stages_hough.c, stages_circles.c,
 * stages_reconstruct.c) shares with what they mean on the host (reference_*.c of the same names). */
#ifndef IP_OPS_REGIONS_H
#define IP_OPS_REGIONS_H

#include "ir/opaque.h"
#include "ops/families.h"
#include "ops/lower.h"

/* Whether it has planes: four axes, or three of which the last is not that of channels. */
bool ip_is_volume(const ip_type *type);
/* The node's type becomes that of its mask without axis of channels, of dtype; refuses what is no mask. */
imgpar_status ip_infer_of_mask(imgpar_array *node, imgpar_dtype dtype, ip_error *err);
/* Input k as a stage of u8 and one channel: 0, or what is not 0. */
ip_stage *ip_lower_mask(ip_lower *l, int k);

/* What stands in ip_opaque.sizes of distances, which are of a stage [depth, height, width, 1]. */
enum { IP_DISTANCE_DEPTH, IP_DISTANCE_HEIGHT, IP_DISTANCE_WIDTH, IP_DISTANCE_WANTED, IP_DISTANCE_COLUMN_BYTES };

imgpar_status ip_distance_compute(const ip_opaque *opaque, const void *const *in, void *out, ip_opaque_ask ask,
                                  void *user);

/* The same of labels and of marked regions, of a stage [planes, height, width, 1]. CORNERS: whether pixels of a plane
 * that meet at a corner are neighbours; ACROSS: an ip_across; END_BYTES: of an end of a run. */
enum { IP_LABELS_PLANES, IP_LABELS_HEIGHT, IP_LABELS_WIDTH, IP_LABELS_CORNERS, IP_LABELS_ACROSS, IP_LABELS_END_BYTES };
/* What elements of neighbouring planes share at least that are neighbours; as shaders/labels.cl has it. */
typedef enum ip_across { IP_ACROSS_NOTHING = -1, IP_ACROSS_FACES, IP_ACROSS_EDGES, IP_ACROSS_CORNERS } ip_across;

imgpar_status ip_labels_compute(const ip_opaque *opaque, const void *const *in, void *out, ip_opaque_ask ask,
                                void *user);
imgpar_status ip_labels_compute_marked(const ip_opaque *opaque, const void *const *in, void *out, ip_opaque_ask ask,
                                       void *user);

/* The regions of a mask, u8 of 0 and 1, that have a pixel in marks, of its kind: a stage of u8. */
bool ip_can_mark_regions(const ip_stage *mask);
ip_stage *ip_stage_marked_regions(ip_lower *l, ip_stage *mask, ip_stage *marks, int64_t connectivity);

/* The same of measures of regions, of a stage [planes, height, width, 1] of labels; and what stands in the result for
 * each, as shaders/regions.cl has it: how many elements, then of y and x, of volumes (AXES is 3) of z, y and x, the
 * sums, the least and the largest. */
enum { IP_REGIONS_PLANES, IP_REGIONS_HEIGHT, IP_REGIONS_WIDTH, IP_REGIONS_LABELS, IP_REGIONS_AXES };
static inline int64_t ip_regions_fields(int64_t axes) { return 1 + 3 * axes; }

imgpar_status ip_regions_compute(const ip_opaque *opaque, const void *const *in, void *out, ip_opaque_ask ask,
                                 void *user);

/* The same of counts of the pixels on lines, of a stage [1, height, width, 1] and two of [1, 1, angles, 1], cosines and
 * sines; the counts are [1, angles, distances, 1]. */
enum { IP_HOUGH_HEIGHT, IP_HOUGH_WIDTH, IP_HOUGH_ANGLES, IP_HOUGH_DISTANCES };

imgpar_status ip_hough_compute(const ip_opaque *opaque, const void *const *in, void *out, ip_opaque_ask ask,
                               void *user);

/* The same of votes for centres of circles, of a stage [1, height, width, 1] and two derivatives of the same size, i16
 * or f32: of each square of ip_circles_side() by as many, row by row, votes * pixels + pixels - 1 - place of its place
 * with the most votes, the first of several, where they are threshold at least and no place less than apart / 2 away
 * along x and y has more, or as many and stands before it; else -1. */
enum {
    IP_CIRCLES_HEIGHT,
    IP_CIRCLES_WIDTH,
    IP_CIRCLES_LEAST,
    IP_CIRCLES_LARGEST,
    IP_CIRCLES_THRESHOLD,
    IP_CIRCLES_APART,
    IP_CIRCLES_CENTRES = IP_CIRCLES_THRESHOLD /* of counts of radii: how many places, of a stage of i32; none below 0 */
};
/* No two places of such a square are both the first of those around them. */
static inline int64_t ip_circles_side(int64_t apart) { return apart / 2 + 1; }

imgpar_status ip_circles_compute_centres(const ip_opaque *opaque, const void *const *in, void *out, ip_opaque_ask ask,
                                         void *user);
imgpar_status ip_circles_compute_radii(const ip_opaque *opaque, const void *const *in, void *out, ip_opaque_ask ask,
                                       void *user);

/* The same of a reconstruction, or of steps. WHAT: an ip_reconstruct. */
enum { IP_RECONSTRUCT_CONNECTIVITY, IP_RECONSTRUCT_WHAT };

imgpar_status ip_reconstruct_compute(const ip_opaque *opaque, const void *const *in, void *out, ip_opaque_ask ask,
                                     void *user);

#endif
