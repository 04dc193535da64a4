/* SPDX-License-Identifier: MIT */
/* Alpha: what rows leave alone, and weighted means by it. */
#include "ops/coverage.h"

#include "base/dtype.h"
#include "ops/infer.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum { C = 3 };

static ip_expr *binary(ip_lower *l, ip_xop op, ip_expr *a, ip_expr *b) { return ip_x_binary(l->ir, op, a, b); }
static ip_expr *number(ip_lower *l, imgpar_dtype dtype, double v) { return ip_x_number(l->ir, dtype, v); }

/* ---- the rule of a call --------------------------------------------------------------------------------------- */

static int64_t channels_of(const ip_type *type)
{
    int64_t dims[4];
    ip_type_dims(type, dims);
    return dims[C];
}

bool ip_type_has_alpha(const ip_type *type)
{
    int64_t channels = channels_of(type);
    return type->space != IMGPAR_SPACE_DATA && (channels == 2 || channels == 4);
}

static ip_alpha rule_of_row(const ip_op *op)
{
    const char *word = op->info.alpha ? op->info.alpha : "";
    static const char *const words[] = {
        [IP_ALPHA_STAYS] = "stays", [IP_ALPHA_WEIGHS] = "weighs", [IP_ALPHA_BLENDS] = "blends"
    };
    for (int k = IP_ALPHA_STAYS; k <= IP_ALPHA_BLENDS; k++)
        if (strncmp(word, words[k], strlen(words[k])) == 0) return (ip_alpha)k;
    return IP_ALPHA_CHANNEL; /* or lower() knows */
}

static const ip_param *find_param(const imgpar_array *node, const char *name)
{
    for (int k = 0; k < node->op->info.n_params; k++)
        if (strcmp(node->op->info.params[k]->name, name) == 0) return &node->params[k];
    return NULL;
}

/* A choice of the call is that word. */
static bool has_word(const imgpar_array *node, const char *name, const char *word)
{
    for (int k = 0; k < node->op->info.n_params; k++) {
        const imgpar_op_param *p = node->op->info.params[k];
        if (strcmp(p->name, name) != 0) continue;
        const char *at = p->choices;
        for (int i = (int)node->params[k].number; i > 0; i--)
            at = strchr(at, '|') + 1;
        return strncmp(at, word, strlen(word)) == 0 && (at[strlen(word)] == '|' || at[strlen(word)] == '\0');
    }
    return false;
}

static double sum_of(const ip_param *p, double *magnitude)
{
    double sum = 0;
    *magnitude = 0;
    for (int k = 0; k < p->rows * p->cols; k++) {
        sum += p->numbers[k];
        *magnitude += fabs(p->numbers[k]);
    }
    return fabs(sum) <= *magnitude * 0x1p-40 ? 0 : sum; /* decimal fractions do not add up to 0 exactly */
}

double ip_convolution_gain(const imgpar_array *node)
{
    double magnitude;
    const ip_param *matrix = find_param(node, "matrix");
    double gain =
        matrix ? sum_of(matrix, &magnitude)
               : sum_of(ip_param_get(node, "column"), &magnitude) * sum_of(ip_param_get(node, "row"), &magnitude);
    return gain / ip_param_number(node, "scale");
}

/* A row of weighted means called so that it is none: it chooses pixels, or takes differences. */
static ip_alpha rule_of_mean(const imgpar_array *node)
{
    if (has_word(node, "alpha", "channel") || has_word(node, "filter", "nearest")) return IP_ALPHA_CHANNEL;
    if (find_param(node, "fold") && !has_word(node, "fold", "mean")) return IP_ALPHA_CHANNEL;
    const bool is_convolution = find_param(node, "matrix") || find_param(node, "column");
    return is_convolution && !(ip_convolution_gain(node) > 0) ? IP_ALPHA_STAYS : IP_ALPHA_WEIGHS;
}

/* How many inputs have channels of their own, and the first of them. */
static int many_channels(const imgpar_array *node, int *first)
{
    int n = 0;
    for (int k = node->op->info.n_inputs - 1; k >= 0; k--)
        if (channels_of(&node->inputs[k]->type) > 1) {
            *first = k;
            n++;
        }
    return n;
}

/* A table with a column for each channel. */
static bool has_columns(const imgpar_array *node)
{
    if (node->op->flags & IP_OP_ELEMENTWISE || node->op->info.n_inputs < 2) return false;
    const ip_type *table = &node->inputs[1]->type;
    return table->rank == 2 && table->shape[1] == channels_of(&node->type);
}

/* A picture times or over a number that makes another white of it, as a / 255 does: alpha goes along. */
static bool changes_white(const imgpar_array *node, const imgpar_array *a)
{
    bool is_factor =
        node->op->flags & IP_OP_OPERATOR && (node->op->variant == IP_FN_MUL || node->op->variant == IP_FN_DIV);
    return is_factor && node->op->info.n_inputs == 2 && node->type.white > 0 && node->type.white != a->type.white &&
           (ip_array_is_number(node->inputs[0], NULL, NULL) || ip_array_is_number(node->inputs[1], NULL, NULL));
}

double ip_alpha_full(const imgpar_array *a) { return ip_type_full(&a->type); }

/* Whether the one input with channels keeps its alpha. */
static bool stays(const imgpar_array *node)
{
    int first = 0;
    if (many_channels(node, &first) != 1 || has_columns(node)) return false;
    const ip_type *a = &node->inputs[first]->type;
    if (changes_white(node, node->inputs[first])) return false;
    return channels_of(a) == channels_of(&node->type) && !ip_type_is_complex(a) &&
           !(a->alpha_is_number && node->op->flags & IP_OP_ELEMENTWISE);
}

/* A picture of one channel, or one channel of a picture, in front of one with alpha: it is opaque. */
static bool is_opaque_gray(const imgpar_array *node)
{
    int first = 0;
    const imgpar_array *a = node->inputs[0];
    return many_channels(node, &first) == 1 && first == 1 && !ip_array_is_number(a, NULL, NULL) && a->type.white > 0 &&
           ip_type_has_alpha(&node->inputs[1]->type);
}

/* Two pictures with alpha, of which a gray first one has it unsaid, and nothing else that has channels. */
static bool blends(const imgpar_array *node)
{
    int first = 0;
    if (is_opaque_gray(node)) return !has_word(node, "alpha", "channel");
    return many_channels(node, &first) == 2 && first == 0 && channels_of(&node->inputs[1]->type) > 1 &&
           !has_word(node, "alpha", "channel") && ip_type_has_alpha(&node->inputs[0]->type) &&
           ip_type_has_alpha(&node->inputs[1]->type);
}

static bool weighs(const imgpar_array *node)
{
    const ip_type *a = &node->inputs[0]->type;
    return ip_type_has_alpha(a) && channels_of(a) == channels_of(&node->type);
}

ip_alpha ip_alpha_of(const imgpar_array *node)
{
    if (ip_type_is_complex(&node->type) || !ip_type_has_alpha(&node->type)) return IP_ALPHA_CHANNEL;
    switch (rule_of_row(node->op)) {
    case IP_ALPHA_STAYS: return stays(node) ? IP_ALPHA_STAYS : IP_ALPHA_CHANNEL;
    case IP_ALPHA_WEIGHS: return weighs(node) ? rule_of_mean(node) : IP_ALPHA_CHANNEL;
    case IP_ALPHA_BLENDS: return blends(node) ? IP_ALPHA_BLENDS : stays(node) ? IP_ALPHA_STAYS : IP_ALPHA_CHANNEL;
    case IP_ALPHA_CHANNEL: break;
    }
    return IP_ALPHA_CHANNEL;
}

/* What infer() says of values holds for channels alike: alpha that stays has its picture's, and means by alpha may be
 * anything. */
static void widen_range(imgpar_array *node)
{
    int first = 0;
    ip_alpha rule = ip_alpha_of(node);
    if (rule == IP_ALPHA_WEIGHS || rule == IP_ALPHA_BLENDS) node->range = ip_range_of(node->type.dtype);
    if (rule != IP_ALPHA_STAYS || !many_channels(node, &first)) return;
    const imgpar_array *a = node->inputs[first];
    const double from = a->type.white, to = node->type.white, factor = from > 0 && to > 0 ? to / from : 1;
    const ip_range whole = ip_range_of(node->type.dtype);
    node->range.lo = fmax(whole.lo, fmin(node->range.lo, fmin(a->range.lo, a->range.lo * factor)));
    node->range.hi = fmin(whole.hi, fmax(node->range.hi, fmax(a->range.hi, a->range.hi * factor)));
}

void ip_alpha_infer(imgpar_array *node)
{
    int first;
    widen_range(node);
    bool is_number =
        node->type.alpha_is_number || (rule_of_row(node->op) == IP_ALPHA_STAYS && many_channels(node, &first) > 1);
    for (int k = 0; k < node->op->info.n_inputs; k++)
        is_number = is_number || (node->inputs[k]->type.alpha_is_number && channels_of(&node->inputs[k]->type) > 1);
    node->type.alpha_is_number = is_number && ip_type_has_alpha(&node->type);
}

static ip_expr *as_float(ip_lower *l, imgpar_dtype f, ip_expr *x)
{
    return ip_x_cast(l->ir, f, x->dtype == IMGPAR_BOOL ? ip_x_cast(l->ir, IMGPAR_U8, x) : x);
}

/* ---- alpha stays ---------------------------------------------------------------------------------------------- */

/* What lower() made of the node, but with its picture's alpha. */
static ip_stage *with_alpha_of_input(ip_lower *l)
{
    ip_stage *s = l->node->op->lower(l);
    int picture = 0;
    many_channels(l->node, &picture);
    if (!s || s == l->in[picture] || !l->in[picture]) return s;
    assert(s->kind == IP_STAGE_MAP && s->node == l->node && s->body);
    ip_expr *alpha = ip_lower_in(l, picture);
    const double from = l->node->inputs[picture]->type.white, to = l->node->type.white;
    if (from > 0 && to > 0 && from != to) { /* the other array had the larger white */
        imgpar_dtype f = ip_float_for_inputs(l->node);
        alpha = binary(l, IP_X_MUL, as_float(l, f, alpha), ip_lower_argument(l, f, to / from));
    }
    alpha = ip_lower_convert(l, l->dtype, alpha);
    s->body = ip_x_select(l->ir, ip_lower_is_alpha(l), alpha, s->body);
    s->lo = fmin(s->lo, alpha->lo);
    s->hi = fmax(s->hi, alpha->hi);
    return s;
}

/* ---- weighted means ------------------------------------------------------------------------------------------- */

void ip_coverage_pass(ip_lower *l, double least)
{
    if (l->coverage) l->coverage->opaque = least;
}

/* The part of an opaque pixel's colour that alpha leaves of it, as ip_coverage_floats() computes it. */
static double share_of(double alpha, double full, imgpar_dtype f)
{
    double share = f == IMGPAR_F32 ? (double)((float)alpha * (float)(1 / full)) : alpha * (1 / full);
    return alpha == full ? 1 : share;
}

/* A level beyond the edges as the input's elements have it. */
static double level_outside(const ip_lower *l, double level)
{
    const ip_dtype_facts *facts = ip_dtype(l->in[0]->dtype);
    if (l->in[0]->dtype == IMGPAR_F16) level = ip_float_from_half(ip_half_from_float((float)level));
    return !l->coverage || facts->is_float ? level : fmin(fmax(rint(level), facts->minimum), facts->maximum);
}

ip_outside ip_lower_outside(ip_lower *l)
{
    const double *levels;
    const int n = ip_beyond_levels(l->node, &levels);
    const imgpar_dtype f = ip_float_for(l->in[0]->dtype);
    ip_outside outside = { .is_list = n > 1, .alpha = level_outside(l, levels[n - 1]) };
    for (int c = 0; c < IP_BEYOND_CHANNELS; c++)
        outside.of[c] = level_outside(l, levels[c < n ? c : n - 1]);
    if (!l->coverage) return outside;
    const double factor = l->coverage->is_whole ? outside.alpha : share_of(outside.alpha, l->coverage->full, f);
    for (int c = 0; c < IP_BEYOND_CHANNELS; c++) {
        const double product = outside.of[c] * factor;
        outside.of[c] = f == IMGPAR_F32 ? (double)(float)product : product;
    }
    if (n > 1) outside.of[n - 1] = outside.alpha;
    return outside;
}

/* Zero is written out: arguments are never the same, so neighbours that are read in several places, each with a border
 * of its own, would keep rows from being shared. */
static ip_expr *number_outside(ip_lower *l, imgpar_dtype dtype, double value)
{
    bool is_zero = value == 0 && !signbit(value) && dtype != IMGPAR_BOOL;
    ip_expr *argument = ip_lower_argument(l, dtype, value);
    return is_zero ? ip_x_number(l->ir, argument->dtype, 0) : argument;
}

ip_expr *ip_lower_outside_value(ip_lower *l, imgpar_dtype dtype, ip_outside outside)
{
    const double *levels;
    if (outside.is_list) return ip_lower_of_channels(l, dtype, outside.of, ip_beyond_levels(l->node, &levels));
    ip_expr *colour = number_outside(l, dtype, outside.of[0]);
    if (outside.of[0] == outside.alpha || isnan(outside.alpha)) return colour;
    return ip_x_select(l->ir, ip_lower_is_alpha(l), number_outside(l, dtype, outside.alpha), colour);
}

/* The element of a stage of those dims, in its own channel or in another one. */
enum { OWN = -1 };
static ip_expr *element(ip_lower *l, ip_stage *stage, const int64_t dims[4], int64_t channel)
{
    ip_expr *index[4];
    for (int k = 0; k < 4; k++)
        index[k] = ip_x_coord(l->ir, k, dims[k]);
    if (channel != OWN) index[C] = ip_lower_i32(l, channel);
    return ip_x_load(l->ir, stage, index, IP_BORDER_NONE, NULL);
}

static ip_expr *last_channel_of(ip_lower *l, const ip_stage *in)
{
    return binary(l, IP_X_EQ, ip_x_coord(l->ir, C, in->dims[C]), ip_lower_i32(l, in->dims[C] - 1));
}

ip_stage *ip_coverage_floats(ip_lower *l, bool plain_differs)
{
    ip_stage *in = l->in[0];
    if (!l->coverage) return in;
    l->coverage->plain_differs = plain_differs;
    imgpar_dtype f = ip_float_for(in->dtype);
    const double full = l->coverage->full;
    ip_expr *alpha = as_float(l, f, element(l, in, in->dims, in->dims[C] - 1)), *one = number(l, f, 1);
    ip_expr *share = binary(l, IP_X_MUL, alpha, ip_lower_argument(l, f, 1 / full));
    share = ip_x_select(l->ir, binary(l, IP_X_EQ, alpha, ip_lower_argument(l, f, full)), one, share);
    ip_expr *factor = ip_x_select(l->ir, last_channel_of(l, in), one, full == 1 ? alpha : share);
    ip_expr *colour = as_float(l, f, element(l, in, in->dims, OWN)), *zero = number(l, f, 0);
    ip_expr *product = binary(l, IP_X_MUL, colour, factor);
    if (ip_dtype(in->dtype)->is_float) product = ip_x_select(l->ir, binary(l, IP_X_EQ, factor, zero), zero, product);
    return ip_lower_stage_sized(l, in->dims, f, product, "colours times alpha");
}

ip_stage *ip_coverage_whole(ip_lower *l, int64_t count)
{
    ip_stage *in = l->in[0];
    if (!l->coverage) return in;
    l->coverage->is_whole = true;
    l->coverage->count = count;
    ip_expr *alpha = ip_x_cast(l->ir, IMGPAR_U16, element(l, in, in->dims, in->dims[C] - 1));
    ip_expr *factor = ip_x_select(l->ir, last_channel_of(l, in), ip_x_int(l->ir, IMGPAR_U16, 1), alpha);
    ip_expr *product = binary(l, IP_X_MUL, ip_x_cast(l->ir, IMGPAR_U16, element(l, in, in->dims, OWN)), factor);
    return ip_lower_stage_sized(l, in->dims, IMGPAR_U16, product, "colours times alpha");
}

/* What sums of colours are multiplied by; 0 where nothing covers. */
static ip_expr *inverse_of(ip_lower *l, const ip_coverage *coverage, ip_expr *alpha)
{
    imgpar_dtype f = alpha->dtype;
    ip_expr *zero = number(l, f, 0), *of_opaque = ip_lower_argument(l, f, coverage->full * coverage->gain);
    if (coverage->total) of_opaque = binary(l, IP_X_MUL, coverage->total, of_opaque);
    ip_expr *inverse = binary(l, IP_X_DIV, of_opaque, alpha);
    return ip_x_select(l->ir, binary(l, IP_X_LT, zero, alpha), inverse, zero);
}

/* Sums times factor, and offset; 0 where factor is, whatever colours there are. */
static ip_expr *scaled(ip_lower *l, const ip_coverage *coverage, ip_expr *sum, ip_expr *factor)
{
    ip_expr *value = binary(l, IP_X_MUL, sum, factor), *zero = number(l, sum->dtype, 0);
    bool has_offset = coverage->offset != 0;
    if (has_offset) value = binary(l, IP_X_ADD, value, ip_lower_argument(l, value->dtype, coverage->offset));
    bool is_zero = !has_offset && !ip_dtype(l->in[0]->dtype)->is_float; /* by itself */
    return is_zero ? value : ip_x_select(l->ir, binary(l, IP_X_EQ, factor, zero), zero, value);
}

/* Where all that was read is opaque. Sums are not multiplied by 1 where they are of more than that: floats may be, and
 * bytes whose white is less than 255. */
static ip_expr *opacity_of(ip_lower *l, const ip_coverage *coverage, ip_expr *alpha, bool are_means)
{
    const double full = coverage->full, most = full * coverage->gain * (1 + 0x1p-8);
    ip_expr *least = ip_x_param(l->ir, alpha->dtype, coverage->opaque, 0, 2 * full);
    ip_expr *is_opaque = coverage->is_opaque ? coverage->is_opaque : binary(l, IP_X_LE, least, alpha);
    if (!are_means || l->in[0]->hi <= full) return is_opaque;
    return binary(l, IP_X_AND, is_opaque, binary(l, IP_X_LE, alpha, ip_lower_argument(l, alpha->dtype, most)));
}

/* Of sums of floats, and of plain, which is what the row makes of the picture as it is: the same sums, or others. */
static ip_stage *quotients(ip_lower *l, const ip_coverage *coverage, ip_stage *sums, ip_stage *plain)
{
    const bool are_means = plain == sums;
    ip_expr *sum = element(l, sums, l->dims, OWN), *alpha = coverage->weight, *is_alpha = ip_lower_is_alpha(l);
    if (!alpha) alpha = element(l, sums, l->dims, l->dims[C] - 1);
    imgpar_dtype f = sum->dtype;
    ip_expr *is_plain = binary(l, IP_X_OR, is_alpha, opacity_of(l, coverage, alpha, are_means));
    ip_expr *none = number(l, f, -1), *factor = inverse_of(l, coverage, alpha);
    factor = ip_x_select(l->ir, is_plain, are_means ? number(l, f, 1) : none, factor);
    ip_expr *value = ip_lower_convert(l, l->dtype, scaled(l, coverage, sum, factor));
    if (!are_means) {
        ip_expr *own = ip_lower_convert(l, l->dtype, element(l, plain, l->dims, OWN));
        value = ip_x_select(l->ir, binary(l, IP_X_EQ, factor, none), own, value);
    }
    if (coverage->gain == 1 && coverage->offset == 0 && !coverage->total) return ip_lower_map(l, value);
    ip_expr *mean_alpha = coverage->total ? binary(l, IP_X_DIV, alpha, coverage->total)
                                          : binary(l, IP_X_MUL, alpha, ip_lower_argument(l, f, 1 / coverage->gain));
    value = ip_x_select(l->ir, is_alpha, ip_lower_convert(l, l->dtype, mean_alpha), value);
    if (!coverage->total) return ip_lower_map(l, value);
    ip_expr *own_alpha = ip_lower_convert(l, l->dtype, ip_lower_in(l, 0)),
            *differences = ip_lower_convert(l, l->dtype, element(l, plain, l->dims, OWN)),
            *is_mean = binary(l, IP_X_LT, number(l, f, 0), coverage->total);
    differences = ip_x_select(l->ir, is_alpha, own_alpha, differences);
    return ip_lower_map(l, ip_x_select(l->ir, is_mean, value, differences));
}

/* Note [Whole quotients] */
static ip_stage *whole_quotients(ip_lower *l, const ip_coverage *coverage, ip_stage *sums)
{
    const imgpar_dtype w = IMGPAR_I32, f = IMGPAR_F32;
    ip_expr *n = ip_x_cast(l->ir, w, element(l, sums, l->dims, OWN)), *one = ip_x_int(l->ir, w, 1);
    ip_expr *alpha = ip_x_cast(l->ir, w, element(l, sums, l->dims, l->dims[C] - 1));
    ip_expr *count = ip_x_int(l->ir, w, coverage->count);
    ip_expr *d = ip_x_select(l->ir, ip_lower_is_alpha(l), count, binary(l, IP_X_MAX, alpha, one));
    ip_expr *inverse = binary(l, IP_X_DIV, number(l, f, 1), ip_x_cast(l->ir, f, d));
    ip_expr *near = binary(l, IP_X_MUL, ip_x_cast(l->ir, f, n), inverse);
    near = binary(l, IP_X_ADD, near, number(l, f, 0.5 - 0x1p-12));
    ip_expr *q = ip_x_cast(l->ir, w, binary(l, IP_X_MIN, near, number(l, f, UINT8_MAX)));
    ip_expr *rest = binary(l, IP_X_SUB, n, binary(l, IP_X_MUL, q, d));
    ip_expr *is_less = binary(l, IP_X_LE, d, binary(l, IP_X_ADD, rest, rest));
    return ip_lower_map(l, binary(l, IP_X_ADD, q, ip_x_cast(l->ir, w, is_less)));
}

/* Note [Weighing by alpha] */
static ip_stage *weighed_by_alpha(ip_lower *l)
{
    ip_coverage coverage = { .full = ip_alpha_full(l->node->inputs[0]), .gain = 1 };
    coverage.opaque = coverage.full;
    ip_lower passes = *l;
    passes.dtype = ip_float_for(l->in[0]->dtype);
    passes.coverage = &coverage;
    ip_stage *sums = l->node->op->lower(&passes);
    if (!sums || sums == l->in[0]) return sums;
    if (coverage.is_whole) return whole_quotients(l, &coverage, sums);
    ip_stage *plain = coverage.plain_differs ? l->node->op->lower(l) : sums;
    return plain ? quotients(l, &coverage, sums, plain) : NULL;
}

/* ---- two pictures --------------------------------------------------------------------------------------------- */

ip_expr *ip_lower_opaque(ip_lower *l, ip_expr *x)
{
    if (ip_alpha_of(l->node) != IP_ALPHA_BLENDS || channels_of(&l->node->inputs[0]->type) > 1) return x;
    return ip_x_select(l->ir, ip_lower_is_alpha(l), number(l, x->dtype, ip_alpha_full(l->node->inputs[0])), x);
}

/* Alpha of input k, which may be one row, one column or one pixel for all. */
static ip_expr *alpha_in(ip_lower *l, int k, imgpar_dtype f)
{
    ip_expr *index[4];
    if (channels_of(&l->node->inputs[k]->type) == 1) return number(l, f, ip_alpha_full(l->node->inputs[k]));
    ip_lower_place(l, k, index);
    index[C] = ip_lower_i32(l, l->in[k]->dims[C] - 1);
    return as_float(l, f, ip_x_load(l->ir, l->in[k], index, IP_BORDER_NONE, NULL));
}

ip_expr *ip_lower_blended(ip_lower *l, ip_expr *plain, ip_expr *const shares[2])
{
    imgpar_dtype f = shares[0]->dtype;
    ip_expr *sum = NULL, *weights = NULL, *are_opaque = NULL;
    for (int k = 0; k < 2; k++) {
        double full = ip_alpha_full(l->node->inputs[k]);
        ip_expr *alpha = alpha_in(l, k, f);
        ip_expr *weight = binary(l, IP_X_MUL, shares[k], alpha),
                *is_opaque = binary(l, IP_X_LE, number(l, f, full), alpha);
        ip_expr *product = binary(l, IP_X_MUL, weight, as_float(l, f, ip_lower_in(l, k)));
        sum = sum ? binary(l, IP_X_ADD, sum, product) : product;
        weights = weights ? binary(l, IP_X_ADD, weights, weight) : weight;
        are_opaque = are_opaque ? binary(l, IP_X_AND, are_opaque, is_opaque) : is_opaque;
    }
    ip_expr *zero = number(l, f, 0),
            *mean = ip_x_select(l->ir, binary(l, IP_X_LT, zero, weights), binary(l, IP_X_DIV, sum, weights), zero);
    ip_expr *is_plain = binary(l, IP_X_OR, ip_lower_is_alpha(l), are_opaque);
    return ip_x_select(l->ir, is_plain, ip_lower_convert(l, l->dtype, plain), ip_lower_convert(l, l->dtype, mean));
}

ip_stage *ip_lower_row(ip_lower *l)
{
    switch (ip_alpha_of(l->node)) {
    case IP_ALPHA_STAYS: return with_alpha_of_input(l);
    case IP_ALPHA_WEIGHS: return weighed_by_alpha(l);
    case IP_ALPHA_BLENDS:
    case IP_ALPHA_CHANNEL: break;
    }
    return l->node->op->lower(l);
}
