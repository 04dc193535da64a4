/* SPDX-License-Identifier: MIT */
/* The value beyond the edges: a number, a list of one for each channel, or a colour. */
#include "ops/beyond.h"

#include "base/alloc.h"
#include "base/colours.h"
#include "base/dtype.h"
#include "ops/check.h"
#include "ops/coverage.h"
#include "ops/families.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* The channels of the picture that has edges. */
typedef struct channels {
    const ip_type *type;
    int64_t n, colours;
    bool has_alpha;
} channels;

/* The number of the picture that is read beyond its edges: of two that are images, as register() has them, the second
 * is moved. */
static int picture_of(const imgpar_array *node)
{
    return node->op->expand != NULL && node->op->variant == IP_NEEDS_TWO_IMAGES;
}

static channels channels_of(const imgpar_array *node)
{
    int64_t dims[4];
    channels c = { .type = &node->inputs[picture_of(node)]->type };
    ip_type_dims(c.type, dims);
    c.has_alpha = ip_type_has_alpha(c.type);
    c.n = dims[3];
    c.colours = c.n - c.has_alpha;
    return c;
}

static imgpar_status refuse_count(const imgpar_array *node, int given, ip_error *err)
{
    const channels c = channels_of(node);
    char each[96] = "";
    if (c.has_alpha && c.colours > 1)
        snprintf(each, sizeof each, ", or %lld, an opaque colour, or %lld with its alpha", (long long)c.colours,
                 (long long)c.n);
    else if (c.has_alpha)
        snprintf(each, sizeof each, ", or %lld with alpha", (long long)c.n);
    else if (c.n > 1 && c.n <= IP_BEYOND_CHANNELS)
        snprintf(each, sizeof each, ", or %lld: one for each channel", (long long)c.n);
    return ip_fail(err, IMGPAR_E_ARGUMENT, "%s: cval has %d numbers; it must be one%s", ip_op_label(node->op), given,
                   each);
}

/* What is the same in all channels is one number, so that it is computed as such. */
static imgpar_status set_levels(ip_param *param, const double *levels, int n, ip_error *err)
{
    bool differ = false;
    for (int c = 1; c < n; c++)
        differ = differ || levels[c] != levels[0];
    param->number = levels[0];
    if (!differ) return IMGPAR_OK;
    param->numbers = ip_alloc_array((size_t)n, sizeof *levels);
    if (!param->numbers) return ip_fail_memory(err, "building an operation");
    memcpy(param->numbers, levels, (size_t)n * sizeof *levels);
    param->rows = 1;
    param->cols = n;
    param->number = NAN;
    return IMGPAR_OK;
}

/* Levels of each colour, without alpha or with it. */
static imgpar_status set_list(imgpar_array *node, int k, const double *given, int n, ip_error *err)
{
    const channels c = channels_of(node);
    double levels[IP_BEYOND_CHANNELS];
    if (n == 1) return set_levels(&node->params[k], given, 1, err);
    if ((n != c.colours && n != c.n) || c.n > IP_BEYOND_CHANNELS) return refuse_count(node, n, err);
    if (ip_type_is_complex(c.type))
        return ip_fail(err, IMGPAR_E_ARGUMENT, "%s: cval of complex numbers is one number", ip_op_label(node->op));
    for (int i = 0; i < c.n; i++)
        levels[i] = i < n ? given[i] : ip_alpha_full(node->inputs[picture_of(node)]);
    return set_levels(&node->params[k], levels, (int)c.n, err);
}

static imgpar_status set_colour(imgpar_array *node, int k, const char *text, const unsigned char rgba[4], ip_error *err)
{
    const channels c = channels_of(node);
    const char *label = ip_op_label(node->op), *name = node->op->info.input_names[picture_of(node)];
    const bool is_gray = rgba[0] == rgba[1] && rgba[1] == rgba[2];
    const double full = ip_type_full(c.type);
    double levels[4];
    for (int i = 0; i < 4; i++)
        levels[i] = rgba[i] * full / 255;
    if (rgba[3] != 255 && !c.has_alpha)
        return ip_fail(err, IMGPAR_E_ARGUMENT, "%s: cval=%.20s has alpha, and %s has none; opaque(%s) has", label, text,
                       name, name);
    if (is_gray && !c.has_alpha) return set_levels(&node->params[k], levels, 1, err);
    if (!is_gray && c.colours <= 2)
        return ip_fail(err, IMGPAR_E_ARGUMENT,
                       "%s: cval is a colour, and %s is gray, which takes grays; duotone(%s, \"black\", \"white\") is "
                       "the same in RGB",
                       label, name, name);
    if (!c.has_alpha && c.colours != 3)
        return ip_fail(err, IMGPAR_E_ARGUMENT,
                       "%s: cval is a colour, and %s has %lld channels, which are not RGB with alpha; cval must be one "
                       "number, or a list of %lld, one for each channel",
                       label, name, (long long)c.n, (long long)c.n);
    if (c.has_alpha && c.colours == 1) levels[1] = levels[3];
    return set_list(node, k, levels, c.has_alpha ? (int)c.n : 3, err);
}

imgpar_status ip_beyond_set(imgpar_array *node, int k, const ip_arg *arg, ip_error *err)
{
    unsigned char rgba[4];
    double value = 0;
    if (arg->kind == IP_ARG_MATRIX) return set_list(node, k, arg->numbers, arg->rows * arg->cols, err);
    if (arg->kind == IP_ARG_TEXT && ip_colour_read_alpha(arg->text, strlen(arg->text), rgba))
        return set_colour(node, k, arg->text, rgba, err);
    ip_arg_is_number(arg, &value);
    return set_levels(&node->params[k], &value, 1, err);
}

static const ip_param *beyond_of(const imgpar_array *node)
{
    for (int k = 0; k < node->op->info.n_params; k++)
        if (strcmp(node->op->info.params[k]->name, "cval") == 0) return &node->params[k];
    return NULL;
}

imgpar_status ip_beyond_check(const imgpar_array *node, ip_error *err)
{
    const ip_param *p = beyond_of(node);
    int64_t dims[4], own[4];
    if (!p || !p->numbers || node->op->expand) return IMGPAR_OK;
    ip_type_dims(&node->inputs[picture_of(node)]->type, dims);
    ip_type_dims(&node->type, own);
    if (dims[3] == own[3]) return IMGPAR_OK;
    return ip_fail(err, IMGPAR_E_ARGUMENT, "%s: cval is a colour, and channels are added; it must be one number",
                   ip_op_label(node->op));
}

int ip_beyond_levels(const imgpar_array *node, const double **levels)
{
    const ip_param *p = beyond_of(node);
    *levels = p->numbers ? p->numbers : &p->number;
    return p->numbers ? p->cols : 1;
}

ip_range ip_beyond_range(const imgpar_array *node)
{
    const double *levels;
    const int n = ip_beyond_levels(node, &levels);
    ip_range range = { levels[0], levels[0] };
    for (int c = 1; c < n; c++)
        range = (ip_range){ fmin(range.lo, levels[c]), fmax(range.hi, levels[c]) };
    return range;
}
