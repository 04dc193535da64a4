/* SPDX-License-Identifier: MIT */
/*
 * What a picture's file tells beside its pixels goes with the picture through every operation: a node has the metadata
 * of one of its inputs. Profiles convert nothing: where pictures of different profiles meet, numbers stay as they are
 * under the profile that is handed on. Nor does white: operators take numbers as they are. Both are mistakes more often
 * than not, so that nodes remember them for warnings.
 */
#include "graph/array.h"

#include <stdio.h>
#include <string.h>

static bool is_picture(const imgpar_array *a)
{
    return a->type.space != IMGPAR_SPACE_DATA && ip_type_count(&a->type) > 1;
}

static bool is_gray(const imgpar_array *a)
{
    int64_t dims[4];
    ip_type_dims(&a->type, dims);
    return dims[3] <= 2;
}

/* How much an input's metadata say of the node: pictures before data, its kind before the other, a profile before
 * none. */
static int rank_of(const imgpar_array *node, const imgpar_array *input)
{
    if (!input->metadata && !input->is_from_file) return -1;
    const bool is_peer = is_picture(input) && is_gray(input) == is_gray(node);
    const bool is_told = input->metadata && ip_colour_is_told(&input->metadata->colour);
    return (is_peer ? 8 : is_picture(input) ? 4 : 0) + (is_told ? 2 : 0) + (input->metadata ? 1 : 0);
}

/* The input that hands its metadata on; NULL: none. A loop's value continues the one it began with. */
static const imgpar_array *giver_of(const imgpar_array *node)
{
    const imgpar_array *giver = NULL;
    int most = -1;
    if (node->loop) return node->inputs[(int)node->params[0].number];
    for (int k = 0; k < node->n_inputs; k++) {
        const int rank = rank_of(node, node->inputs[k]);
        if (rank <= most) continue;
        most = rank;
        giver = node->inputs[k];
    }
    return giver;
}

/* Is the colour of input another one than that handed on? Gray beside colours is a mask or a level. */
static bool differs(const imgpar_array *node, const imgpar_array *input)
{
    static const ip_colour srgb = { .is_srgb = true };
    if (!is_picture(input) || is_gray(input) != is_gray(node) || !(input->metadata || input->is_from_file))
        return false;
    return !ip_colour_same(input->metadata ? &input->metadata->colour : &srgb,
                           node->metadata ? &node->metadata->colour : &srgb);
}

/* The first of what meets in a node itself whose profile differs: an input, or what a step of its loop makes. NULL:
 * none. */
static const imgpar_array *differing(const imgpar_array *a)
{
    for (int k = 0; k < a->n_inputs && is_picture(a); k++)
        if (!a->loop && differs(a, a->inputs[k])) return a->inputs[k];
    const imgpar_array *next = a->loop ? a->loop->next[(int)a->params[0].number] : NULL;
    return next && differs(a, next) ? next : NULL;
}

/* The white that a number of a is measured by; 0: none, or a mask's, which takes part everywhere. */
static double scale_of(const imgpar_array *a) { return a->type.is_mask ? 0 : a->type.white; }

/* The white of the first input that has one, and that of an input which has another; false: they are alike. Those from
 * 0 to 1 are weights as often as pictures. */
static bool whites_differ(const imgpar_array *a, double whites[2])
{
    whites[0] = 0;
    for (int k = 0; k < a->n_inputs && a->op && a->op->flags & IP_OP_ALIKE; k++) {
        whites[1] = scale_of(a->inputs[k]);
        if (whites[1] <= 1) continue;
        if (whites[0] > 0 && whites[0] != whites[1]) return true;
        whites[0] = whites[1];
    }
    return false;
}

/* The first of what a is made of that mixes so; NULL: none. */
static const imgpar_array *below(const imgpar_array *a, ip_mixture mixture)
{
    for (int k = 0; k < a->n_inputs; k++)
        if (a->inputs[k]->mixes & mixture) return a->inputs[k];
    for (int k = 0; a->loop && k < a->loop->n_carried; k++)
        if (a->loop->next[k]->mixes & mixture) return a->loop->next[k];
    return NULL;
}

void ip_array_inherit(imgpar_array *a)
{
    const imgpar_array *giver = giver_of(a);
    for (int k = 0; k < a->n_inputs; k++)
        a->is_from_file = a->is_from_file || a->inputs[k]->is_from_file;
    if (giver && !a->metadata) a->metadata = ip_metadata_retain(giver->metadata);
    double whites[2];
    if (below(a, IP_MIXES_PROFILES) || differing(a)) a->mixes |= IP_MIXES_PROFILES;
    if (below(a, IP_MIXES_WHITES) || whites_differ(a, whites)) a->mixes |= IP_MIXES_WHITES;
}

const ip_metadata *ip_array_metadata(const imgpar_array *a)
{
    return a->type.space == IMGPAR_SPACE_DATA ? NULL : a->metadata;
}

/* What is written of the node a. */
static void warn_of_profiles(const imgpar_array *a, char *buf)
{
    char kept[96], other[96];
    ip_metadata_colour_name(a->metadata, kept);
    ip_metadata_colour_name(differing(a)->metadata, other);
    snprintf(buf, IP_WARNING_BYTES,
             "%s: profiles differ: %s and %s; numbers are not converted, and the result is tagged as %s",
             a->op->info.name, kept, other, kept);
}

static void warn_of_whites(const imgpar_array *a, char *buf)
{
    double whites[2];
    char advice[48] = "";
    if (!whites_differ(a, whites)) return;
    if (whites[0] == 255 || whites[0] == 65535)
        snprintf(advice, sizeof advice, ", and depth(b, %d) brings b to the first", whites[0] == 255 ? 8 : 16);
    snprintf(buf, IP_WARNING_BYTES, "%s: white is %.17g and %.17g; numbers are taken as they are%s",
             a->op->symbol ? a->op->symbol : a->op->info.name, whites[0], whites[1], advice);
}

char *ip_mixture_warning(const imgpar_array *a, ip_mixture mixture, char *buf)
{
    buf[0] = '\0';
    if (!(a->mixes & mixture)) return buf;
    for (const imgpar_array *deeper; (deeper = below(a, mixture)) != NULL;)
        a = deeper;
    if (mixture == IP_MIXES_PROFILES)
        warn_of_profiles(a, buf);
    else
        warn_of_whites(a, buf);
    return buf;
}
