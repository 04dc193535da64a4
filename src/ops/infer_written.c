/* SPDX-License-Identifier: MIT */
/*
 * What rows written in the language (written.def) ask of their inputs: a row's variant, an ip_needs, is a row of the
 * table NEEDS at the end of this file. lang/written.c expands such rows.
 */
#include "base/dtype.h"
#include "base/plural.h"
#include "graph/services.h"
#include "ops/check.h"
#include "ops/coverage.h"
#include "ops/derived.h"
#include "ops/infer.h"
#include "ops/regions.h"
#include "ops/usable.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* A matrix of two or three rows by three columns that moves points of the plane, and back. */
static imgpar_status check_invertible(const imgpar_array *node, ip_error *err)
{
    const ip_param *p = ip_param_get(node, "matrix");
    const char *name = node->op->info.name;
    if (p->cols != 3 || p->rows < 2 || p->rows > 3)
        return ip_fail(err, IMGPAR_E_ARGUMENT, "%s: the matrix is %dx%d; it must be 2x3 or 3x3", name, p->rows,
                       p->cols);
    return ip_check_motion(name, p->numbers, p->rows, err);
}

/* The division model has one coefficient. */
static imgpar_status check_lens(const imgpar_array *node, ip_error *err)
{
    static const char *const others[] = { "k2", "k3", "p1", "p2" };
    const char *name = node->op->info.name;
    if (ip_param_number(node, "model") == 0) return IMGPAR_OK;
    for (size_t k = 0; k < sizeof others / sizeof *others; k++)
        if (ip_param_number(node, others[k]) != 0)
            return ip_fail(err, IMGPAR_E_ARGUMENT,
                           "%s: %s=%g belongs to model=brown_conrady; model=division has k1 alone", name, others[k],
                           ip_param_number(node, others[k]));
    return IMGPAR_OK;
}

/* Of two pictures of one size and as much alpha, one of which is gray: which one has colours, 0 or 1; else -1. */
static int coloured_one(const ip_type *a, const ip_type *b)
{
    const ip_type *of[] = { a, b };
    int64_t dims[2][4];
    for (int k = 0; k < 2; k++)
        ip_type_dims(of[k], dims[k]);
    const bool are_alike = a->rank == b->rank && memcmp(dims[0], dims[1], 3 * sizeof **dims) == 0;
    for (int k = 0; k < 2; k++)
        if (are_alike && of[k]->space != IMGPAR_SPACE_DATA && dims[k][3] >= 3 && dims[k][3] - dims[!k][3] == 2)
            return k;
    return -1;
}

imgpar_status ip_check_one_shape(const imgpar_array *node, ip_error *err)
{
    const ip_type *a = &node->inputs[0]->type, *b = &node->inputs[1]->type;
    char text_a[96], text_b[96];
    bool is_alike = a->rank == b->rank;
    for (int k = 0; is_alike && k < a->rank; k++)
        is_alike = a->shape[k] == b->shape[k];
    if (is_alike) return IMGPAR_OK;
    const imgpar_op_info *info = &node->op->info;
    const int coloured = coloured_one(a, b);
    char hint[64] = "";
    if (coloured >= 0) snprintf(hint, sizeof hint, "; gray(%s) makes it gray, too", info->input_names[coloured]);
    return ip_fail(err, IMGPAR_E_SHAPE, "%s: %s is %s, %s is %s; they must have one shape%s", info->name,
                   info->input_names[0], ip_type_text(a, text_a), info->input_names[1], ip_type_text(b, text_b), hint);
}

/* Where both inputs have a white it is the same. */
static imgpar_status check_white(const imgpar_array *node, ip_error *err)
{
    const ip_type *a = &node->inputs[0]->type, *b = &node->inputs[1]->type;
    const imgpar_op_info *info = &node->op->info;
    if (a->white == b->white || a->white <= 0 || b->white <= 0) return IMGPAR_OK;
    return ip_fail(err, IMGPAR_E_SHAPE, "%s: %s has white %g, %s has %g; depth() makes them alike", info->name,
                   info->input_names[0], a->white, info->input_names[1], b->white);
}

/* Two arrays have one shape and, where both have a white, the same. */
imgpar_status ip_check_alike(const imgpar_array *node, ip_error *err)
{
    enum { WINDOW = 11 }; /* of ssim */
    const ip_type *a = &node->inputs[0]->type;
    const char *name = node->op->info.name;
    const bool is_ssim = strcmp(name, "ssim") == 0;
    char text_a[96];
    int64_t dims[4];
    if (ip_check_one_shape(node, err)) return err->status;
    if (check_white(node, err)) return err->status;
    ip_type_dims(a, dims);
    if (is_ssim && ip_param_number(node, "edges") == 0 && (dims[1] < WINDOW || dims[2] < WINDOW))
        return ip_fail(err, IMGPAR_E_SHAPE,
                       "%s: the window of %dx%d does not fit %s; with edges=reflect edges are mirrored", name, WINDOW,
                       WINDOW, ip_type_text(a, text_a));
    enum { LEAST = 16 * (WINDOW - 1) + 1 }; /* of ms_ssim, whose last scale is a sixteenth */
    if (strcmp(name, "ms_ssim") == 0 && (dims[1] < LEAST || dims[2] < LEAST))
        return ip_fail(err, IMGPAR_E_SHAPE, "%s: a is %s; five scales need %dx%d pixels at least", name,
                       ip_type_text(a, text_a), LEAST, LEAST);
    if (!is_ssim || (a->rank >= 2 && dims[0] == 1)) return IMGPAR_OK;
    return ip_fail(err, IMGPAR_E_SHAPE, "%s: a is %s, which is no image", name, ip_type_text(a, text_a));
}

imgpar_status ip_check_one_channel(const imgpar_array *node, ip_error *err)
{
    const imgpar_op_info *info = &node->op->info;
    const ip_type *a = &node->inputs[0]->type;
    char text[96], text_b[96];
    int64_t dims[4];
    ip_type_dims(a, dims);
    if (ip_type_count(a) == 0)
        return ip_fail(err, IMGPAR_E_SHAPE, "%s: %s is %s, which has no elements", info->name, info->input_names[0],
                       ip_type_text(a, text));
    if (a->rank < 2 || a->rank > 4 || dims[0] != 1 || dims[3] > 2)
        return ip_fail(err, IMGPAR_E_SHAPE, "%s: %s is %s; it must be an image of 1 channel; gray() makes one",
                       info->name, info->input_names[0], ip_type_text(a, text));
    for (int k = 1; k < info->n_inputs; k++) {
        const ip_type *b = &node->inputs[k]->type;
        int64_t of_b[4];
        ip_type_dims(b, of_b);
        if (of_b[0] != 1 || of_b[1] != dims[1] || of_b[2] != dims[2] || of_b[3] != 1)
            return ip_fail(err, IMGPAR_E_SHAPE, "%s: %s is %s, %s is %s; it must have one channel of the same size",
                           info->name, info->input_names[0], ip_type_text(a, text), info->input_names[k],
                           ip_type_text(b, text_b));
    }
    return IMGPAR_OK;
}

/* An image of one channel, or a volume: planes of such, without alpha where there are several. */
static imgpar_status check_mask(const imgpar_array *node, ip_error *err)
{
    const ip_type *a = &node->inputs[0]->type;
    int64_t dims[4];
    ip_type_dims(a, dims);
    const bool has_planes = dims[0] > 1 && dims[3] == 1 && a->rank <= 4 && ip_type_count(a) > 0;
    return has_planes ? IMGPAR_OK : ip_check_one_channel(node, err);
}

/* An image, both of whose sides are multiples of 2^levels. */
static imgpar_status check_halves(const imgpar_array *node, ip_error *err)
{
    const ip_type *a = &node->inputs[0]->type;
    const int64_t unit = (int64_t)1 << (int)ip_param_number(node, "levels");
    int64_t dims[4];
    char text[96];
    ip_type_dims(a, dims);
    if (a->rank < 2 || dims[0] != 1 || (dims[1] % unit == 0 && dims[2] % unit == 0 && ip_type_count(a) > 0))
        return IMGPAR_OK;
    return ip_fail(err, IMGPAR_E_SHAPE,
                   "%s: a is %s; with levels=%g its sides must be multiples of %d, to which "
                   "extent() brings them",
                   node->op->info.name, ip_type_text(a, text), ip_param_number(node, "levels"), (int)unit);
}

/* Channels, but for alpha. */
static int64_t colours_of(const ip_type *type)
{
    int64_t dims[4];
    ip_type_dims(type, dims);
    return dims[3] - (type->space != IMGPAR_SPACE_DATA && dims[3] % 2 == 0 ? 1 : 0);
}

/* Two images of one dtype and white, of as many colours; the second fits into the first. */
static imgpar_status check_template(const imgpar_array *node, ip_error *err)
{
    const imgpar_op_info *info = &node->op->info;
    const ip_type *types[] = { &node->inputs[0]->type, &node->inputs[1]->type };
    int64_t dims[2][4];
    char text[2][96];
    for (int k = 0; k < 2; k++) {
        ip_type_dims(types[k], dims[k]);
        ip_type_text(types[k], text[k]);
        if (types[k]->rank < 2 || dims[k][0] != 1 || ip_type_count(types[k]) == 0)
            return ip_fail(err, IMGPAR_E_SHAPE, "%s: %s is %s, which is no image", info->name, info->input_names[k],
                           text[k]);
    }
    const char *why = types[0]->dtype != types[1]->dtype ? "they must have one dtype, which cast() or depth() gives"
                      : colours_of(types[0]) != colours_of(types[1]) ? "they must have as many channels without alpha"
                      : dims[1][1] > dims[0][1] || dims[1][2] > dims[0][2] ? "it must fit into that"
                                                                           : NULL;
    if (why)
        return ip_fail(err, IMGPAR_E_SHAPE, "%s: %s is %s, %s is %s; %s", info->name, info->input_names[0], text[0],
                       info->input_names[1], text[1], why);
    return check_white(node, err);
}

/* Every input is a matrix; has_columns: they have as many columns. */
static imgpar_status check_matrices(const imgpar_array *node, bool has_columns, ip_error *err)
{
    const imgpar_op_info *info = &node->op->info;
    const ip_type *first = &node->inputs[0]->type;
    char text[96], text_first[96];
    for (int k = 0; k < info->n_inputs; k++) {
        const ip_type *type = &node->inputs[k]->type;
        if (type->rank != 2 || ip_type_count(type) == 0)
            return ip_fail(err, IMGPAR_E_SHAPE, "%s: %s is %s; it must be a matrix, which reshape() makes", info->name,
                           info->input_names[k], ip_type_text(type, text));
        if (has_columns && type->shape[1] != first->shape[1])
            return ip_fail(err, IMGPAR_E_SHAPE, "%s: %s is %s, %s is %s; they must have as many columns", info->name,
                           info->input_names[0], ip_type_text(first, text_first), info->input_names[k],
                           ip_type_text(type, text));
    }
    return IMGPAR_OK;
}

/* The last two inputs tell of points: they have as many elements, and some. */
static imgpar_status check_points(const imgpar_array *node, ip_error *err)
{
    const imgpar_op_info *info = &node->op->info;
    const int n = info->n_inputs;
    const ip_type *xs = &node->inputs[n - 2]->type, *ys = &node->inputs[n - 1]->type;
    char text_x[96], text_y[96];
    if (ip_type_count(xs) == ip_type_count(ys) && ip_type_count(xs) > 0) return IMGPAR_OK;
    return ip_fail(err, IMGPAR_E_SHAPE, "%s: %s is %s, %s is %s; they must have as many elements, one at least",
                   info->name, info->input_names[n - 2], ip_type_text(xs, text_x), info->input_names[n - 1],
                   ip_type_text(ys, text_y));
}

static bool is_matrix_of(const ip_type *type, int64_t columns)
{
    return type->rank == 2 && type->shape[0] > 0 && type->shape[1] == columns;
}

/* Points in two columns, x and y, in each of the first n inputs, as many, and `least` of them. */
static imgpar_status check_pairs(const imgpar_array *node, int n, int64_t least, ip_error *err)
{
    const imgpar_op_info *info = &node->op->info;
    const ip_type *a = &node->inputs[0]->type;
    char text[96], text_a[96];
    for (int k = 0; k < n; k++) {
        const ip_type *type = &node->inputs[k]->type;
        if (!is_matrix_of(type, 2) || type->shape[0] < least)
            return ip_fail(err, IMGPAR_E_SHAPE, "%s: %s is %s; it must be [n, 2], x and y in each row, n at least %lld",
                           info->name, info->input_names[k], ip_type_text(type, text), (long long)least);
        if (type->shape[0] != a->shape[0])
            return ip_fail(err, IMGPAR_E_SHAPE, "%s: a is %s, %s is %s; they must have as many points", info->name,
                           ip_type_text(a, text_a), info->input_names[k], ip_type_text(type, text));
    }
    return IMGPAR_OK;
}

/* The last input is a matrix that moves points; what it moves are points, or an image. */
static imgpar_status check_motion(const imgpar_array *node, ip_error *err)
{
    const imgpar_op_info *info = &node->op->info;
    const int last = info->n_inputs - 1;
    const ip_type *m = &node->inputs[last]->type;
    char text[96];
    if (!is_matrix_of(m, 3) || m->shape[0] < 2 || m->shape[0] > 3)
        return ip_fail(err, IMGPAR_E_SHAPE, "%s: %s is %s; it must be [2, 3] or [3, 3]", info->name,
                       info->input_names[last], ip_type_text(m, text));
    return strcmp(info->category, "geometry") == 0 ? IMGPAR_OK : check_pairs(node, last, 1, err);
}

/* Points of a curve: rows x, y, by ascending x. */
static imgpar_status check_curve(const imgpar_array *node, ip_error *err)
{
    const ip_param *p = ip_param_get(node, "points");
    const char *name = node->op->info.name;
    if (p->cols != 2 || p->rows < 2)
        return ip_fail(err, IMGPAR_E_ARGUMENT,
                       "%s: points is a matrix of %dx%d; it must have two columns and two rows at least", name, p->rows,
                       p->cols);
    for (int k = 1; k < p->rows; k++)
        if (!(p->numbers[2 * k] > p->numbers[2 * k - 2]))
            return ip_fail(err, IMGPAR_E_ARGUMENT, "%s: points go from %g to %g; their first column must ascend", name,
                           p->numbers[2 * k - 2], p->numbers[2 * k]);
    return IMGPAR_OK;
}

static imgpar_status check_polygon(const imgpar_array *node, ip_error *err)
{
    enum { MOST = 64 };
    const ip_param *p = ip_param_get(node, "points");
    if (p->cols == 2 && p->rows <= MOST) return IMGPAR_OK;
    return ip_fail(err, IMGPAR_E_ARGUMENT,
                   "%s: points is a matrix of %dx%d; it must have two columns, and %d rows at most",
                   node->op->info.name, p->rows, p->cols, MOST);
}

/* Two images have as many channels, alpha not counted. */
static imgpar_status check_same_colours(const imgpar_array *node, ip_error *err)
{
    const ip_type *a = &node->inputs[0]->type, *b = &node->inputs[1]->type;
    int64_t dims[4];
    char text_a[96], text_b[96];
    ip_type_dims(b, dims);
    if (b->rank >= 2 && dims[0] == 1 && ip_type_count(b) > 0 && colours_of(a) == colours_of(b)) return IMGPAR_OK;
    return ip_fail(err, IMGPAR_E_SHAPE, "%s: a is %s, b is %s; both must be images of as many channels, but for alpha",
                   node->op->info.name, ip_type_text(a, text_a), ip_type_text(b, text_b));
}

/* The second input, a matrix or a picture of one channel, has a row for each colour, a column for each channel of the
 * first but alpha. */
static imgpar_status check_palette(const imgpar_array *node, ip_error *err)
{
    const ip_type *a = &node->inputs[0]->type, *p = &node->inputs[1]->type;
    int64_t dims[4];
    char text_a[96], text_p[96], hint[96] = "";
    ip_type_dims(p, dims);
    if (p->rank >= 2 && dims[0] == 1 && dims[1] > 0 && dims[2] == colours_of(a) && dims[3] == 1) return IMGPAR_OK;
    const char *op = node->op->info.name, *name = node->op->info.input_names[1];
    if (ip_type_count(p) == 0)
        return ip_fail(err, IMGPAR_E_SHAPE, "%s: %s is empty; it must have rows of %lld, a colour each", op, name,
                       (long long)colours_of(a));
    const bool has_alpha = p->rank == 2 && dims[3] == 1 && dims[2] == colours_of(a) + 1;
    if (has_alpha)
        snprintf(hint, sizeof hint, "; slice(%s, 0, %lld, axis=1) leaves the last channel out", name,
                 (long long)colours_of(a));
    return ip_fail(err, IMGPAR_E_SHAPE, "%s: %s is %s; for %s it must have rows of %lld, a colour each%s", op, name,
                   ip_type_text(p, text_p), ip_type_text(a, text_a), (long long)colours_of(a), hint);
}

static bool is_image(const ip_type *type)
{
    int64_t dims[4];
    ip_type_dims(type, dims);
    return type->rank >= 2 && dims[0] == 1 && ip_type_count(type) > 0;
}

/* The last input is an image of one channel, and all have the size of the first. */
imgpar_status ip_check_masked(const imgpar_array *node, ip_error *err)
{
    const imgpar_op_info *info = &node->op->info;
    const ip_type *a = &node->inputs[0]->type;
    int64_t dims[4], of_a[4];
    char text[96], text_a[96];
    ip_type_dims(a, of_a);
    for (int k = 1; k < info->n_inputs; k++) {
        const ip_type *type = &node->inputs[k]->type;
        const bool is_mask = k == info->n_inputs - 1;
        ip_type_dims(type, dims);
        if (is_image(a) && is_image(type) && dims[1] == of_a[1] && dims[2] == of_a[2] && (!is_mask || dims[3] == 1))
            continue;
        return ip_fail(err, IMGPAR_E_SHAPE, "%s: %s is %s, %s is %s; they must be images of one size%s", info->name,
                       info->input_names[0], ip_type_text(a, text_a), info->input_names[k], ip_type_text(type, text),
                       is_mask ? ", and the mask of one channel" : "");
    }
    return IMGPAR_OK;
}

/* Images along a first axis; what tells of each of them has as many numbers. */
static imgpar_status check_stack(const imgpar_array *node, ip_error *err)
{
    const imgpar_op_info *info = &node->op->info;
    const ip_type *a = &node->inputs[0]->type;
    char text[96];
    if (a->rank != 4 || ip_type_count(a) == 0)
        return ip_fail(err, IMGPAR_E_SHAPE,
                       "%s: %s is %s; it must be a stack of images, [n, height, width, channels], which expand_dims() "
                       "and concatenate() make",
                       info->name, info->input_names[0], ip_type_text(a, text));
    for (int k = 0; k < info->n_params; k++) {
        const ip_param *p = &node->params[k];
        if (strcmp(info->params[k]->name, "times") != 0) continue;
        if (p->cols != a->shape[0])
            return ip_fail(err, IMGPAR_E_ARGUMENT, "%s: times has %d %s for %lld %s", info->name, p->cols,
                           ip_word_for(p->cols, "number", "numbers"), (long long)a->shape[0],
                           ip_word_for(a->shape[0], "image", "images"));
        for (int j = 0; j < p->cols; j++)
            if (!(p->numbers[j] > 0))
                return ip_fail(err, IMGPAR_E_ARGUMENT, "%s: times has %g; each must be above 0", info->name,
                               p->numbers[j]);
    }
    return IMGPAR_OK;
}

static imgpar_status check_kernel(const imgpar_array *node, ip_error *err)
{
    const ip_param *p = ip_param_get(node, "kernel");
    double sum = 0;
    const bool is_positive = strcmp(node->op->info.name, "richardson_lucy") == 0;
    for (int k = 0; k < p->rows * p->cols; k++) {
        sum += p->numbers[k];
        if (is_positive && p->numbers[k] < 0)
            return ip_fail(err, IMGPAR_E_ARGUMENT, "%s: kernel has %g; weights are 0 or above", node->op->info.name,
                           p->numbers[k]);
    }
    if (isfinite(sum) && sum > 0) return IMGPAR_OK;
    return ip_fail(err, IMGPAR_E_ARGUMENT, "%s: the sum of kernel is %g; it must be above 0", node->op->info.name, sum);
}

int64_t ip_colours_taken(const imgpar_array *node)
{
    return strcmp(node->op->info.name, "duotone") == 0 ? 3 : colours_of(&node->inputs[0]->type);
}

/* A number for each channel has as many as there are colours, those of the result where it always has three. */
static imgpar_status check_colours(const imgpar_array *node, ip_error *err)
{
    const imgpar_op_info *info = &node->op->info;
    const int64_t n = ip_colours_taken(node);
    for (int k = 0; k < info->n_params; k++) {
        const imgpar_op_param *p = info->params[k];
        const int64_t given = (int64_t)node->params[k].rows * node->params[k].cols;
        if (!p->choices || strcmp(p->choices, "vector") != 0 || given <= 1 || given == n) continue;
        if (ip_param_is_beyond(p)) continue; /* it has one for alpha, too */
        char each[64] = "";
        if (n > 1) snprintf(each, sizeof each, ", or %lld: one for each channel", (long long)n);
        return ip_fail(err, IMGPAR_E_ARGUMENT, "%s: %s has %lld numbers; it must be one%s", info->name, p->name,
                       (long long)given, each);
    }
    return IMGPAR_OK;
}

/* Values are hardly farther apart than white is from black: a parameter that says so was meant in levels. */
static imgpar_status check_shares(const imgpar_array *node, ip_error *err)
{
    static const char unit[] = "shares of white", squared[] = "shares of white squared";
    const double most = 4; /* colours are at most sqrt(3) apart */
    const imgpar_op_info *info = &node->op->info;
    const double white = info->n_inputs > 0 ? node->inputs[0]->type.white : 0;
    char value[32], levels[32];
    for (int k = 0; k < info->n_params && white > 0; k++) {
        const imgpar_op_param *p = info->params[k];
        const bool is_squared = strcmp(p->unit, squared) == 0;
        if (node->params[k].input >= 0 || p->minimum <= 0 || (!is_squared && strcmp(p->unit, unit) != 0)) continue;
        const double given = ip_param_number(node, p->name);
        if (!(given > (is_squared ? most * most : most))) continue;
        ip_number_text(given, value);
        ip_number_text(white > 1 ? white : 255, levels);
        return ip_fail(err, IMGPAR_E_ARGUMENT,
                       "%s: %s=%s is in %s, of which it is too many; %s of %s levels%s are %s/%s%s", info->name,
                       p->name, value, p->unit, value, levels, is_squared ? " squared" : "", value, levels,
                       is_squared ? "**2" : "");
    }
    return IMGPAR_OK;
}

/* The last input has whole numbers for keys, and the axes of the first, or all of them but the last. */
static imgpar_status check_keys(const imgpar_array *node, ip_error *err)
{
    const int n = node->op->info.n_inputs;
    const ip_type *keys = &node->inputs[n - 1]->type, *values = &node->inputs[0]->type;
    const char *name = node->op->info.name;
    char text_k[96], text_v[96];
    if (ip_dtype(keys->dtype)->is_float)
        return ip_fail(err, IMGPAR_E_SHAPE, "%s: keys is %s; it must be an integer; write cast(keys, i32)", name,
                       ip_dtype(keys->dtype)->name);
    if (ip_type_count(keys) == 0)
        return ip_fail(err, IMGPAR_E_SHAPE, "%s: keys is %s, which has no elements", name, ip_type_text(keys, text_k));
    bool fits = values->rank == keys->rank || values->rank == keys->rank + 1;
    for (int k = 0; fits && k < keys->rank; k++)
        fits = values->shape[k] == keys->shape[k] || /* a map of keys, of one channel, for pixels of several */
               (k == keys->rank - 1 && k == values->rank - 1 && k >= 2 && keys->shape[k] == 1);
    if (!fits || ip_type_count(values) == 0)
        return ip_fail(err, IMGPAR_E_SHAPE,
                       "%s: values is %s, keys is %s; keys must have its axes, or all but the last", name,
                       ip_type_text(values, text_v), ip_type_text(keys, text_k));
    return IMGPAR_OK;
}

/* Both have vectors of three along the last axis, and one shape. */
static imgpar_status check_vectors(const imgpar_array *node, ip_error *err)
{
    const ip_type *a = &node->inputs[0]->type;
    char text[96];
    if (ip_check_one_shape(node, err)) return err->status;
    if (a->rank > 0 && a->shape[a->rank - 1] == 3) return IMGPAR_OK;
    return ip_fail(err, IMGPAR_E_SHAPE, "%s: a is %s; vectors of 3 elements must lie along the last axis",
                   node->op->info.name, ip_type_text(a, text));
}

/* An image of three colours, and a table of colours for each place of a cube. */
static imgpar_status check_cube(const imgpar_array *node, ip_error *err)
{
    const ip_type *t = &node->inputs[1]->type;
    char text[96];
    const int64_t n = t->shape[0];
    if (t->rank == 4 && n >= 2 && t->shape[1] == n && t->shape[2] == n && t->shape[3] == 3) return IMGPAR_OK;
    return ip_fail(err, IMGPAR_E_SHAPE, "%s: %s is %s; it must be [n, n, n, 3], n at least 2", node->op->info.name,
                   node->op->info.input_names[1], ip_type_text(t, text));
}

imgpar_status ip_check_connectivity(const imgpar_array *node, ip_error *err)
{
    const imgpar_op_info *info = &node->op->info;
    for (int k = 0; k < info->n_params; k++) {
        const imgpar_op_param *p = info->params[k];
        const double of = node->params[k].number;
        if (strcmp(p->name, "connectivity") != 0 || of == 4 || of == 8) continue;
        const bool is_of_volumes = p->choices && strcmp(p->choices, "volume") == 0;
        const bool is_volume = is_of_volumes && ip_is_volume(&node->inputs[0]->type);
        if (is_volume && (of == 6 || of == 18 || of == 26)) continue;
        return ip_fail(err, IMGPAR_E_ARGUMENT, "%s: connectivity=%g is %s", info->name, of,
                       is_volume ? "none of 6, 18 and 26, as a volume has them" : "neither 4 nor 8");
    }
    return IMGPAR_OK;
}

/* Every pixel is compared with the whole element, so a large one takes long. */
static imgpar_status check_pattern(const imgpar_array *node, ip_error *err)
{
    enum { MOST_SIDE = 255 };
    const ip_param *element = ip_param_get(node, "element");
    if (element->rows <= MOST_SIDE && element->cols <= MOST_SIDE) return IMGPAR_OK;
    return ip_fail(err, IMGPAR_E_ARGUMENT, "%s: element is %dx%d; its sides are at most %d", node->op->info.name,
                   element->rows, element->cols, MOST_SIDE);
}

/* What is wrong with the first input: "NAME: a is [4, 4, 3] f32" and this. */
static imgpar_status refuse(const imgpar_array *node, const char *why, ip_error *err)
{
    char text[96];
    return ip_fail(err, IMGPAR_E_SHAPE, "%s: %s is %s%s", node->op->info.name, node->op->info.input_names[0],
                   ip_type_text(&node->inputs[0]->type, text), why);
}

static imgpar_status check_gray(const imgpar_array *node, ip_error *err)
{
    const ip_type *a = &node->inputs[0]->type;
    int64_t dims[4];
    ip_type_dims(a, dims);
    bool fits = a->rank >= 2 && dims[3] == 1 && dims[1] >= 2 && dims[2] >= 2;
    return fits ? IMGPAR_OK : refuse(node, "; it must be of 1 channel and at least 2 x 2", err);
}

static int64_t channels_of(const imgpar_array *node)
{
    int64_t dims[4];
    ip_type_dims(&node->inputs[0]->type, dims);
    return dims[3];
}

static imgpar_status check_three_colours(const imgpar_array *node, ip_error *err)
{
    return channels_of(node) >= 3 ? IMGPAR_OK : refuse(node, "; it must have 3 channels, or 4 with alpha", err);
}

static imgpar_status check_gray_or_colours(const imgpar_array *node, ip_error *err)
{
    const int64_t colours = channels_of(node) - ip_type_has_alpha(&node->inputs[0]->type);
    return colours == 1 || colours >= 3 ? IMGPAR_OK
                                        : refuse(node, "; it must have 1 channel or 3, or one more with alpha", err);
}

static imgpar_status check_inks(const imgpar_array *node, ip_error *err)
{
    return channels_of(node) >= 4 ? IMGPAR_OK : refuse(node, "; it must have 4 channels, an ink each", err);
}

static imgpar_status check_levels(const imgpar_array *node, ip_error *err)
{
    const imgpar_dtype dtype = node->inputs[0]->type.dtype;
    bool fits = dtype == IMGPAR_U8 || dtype == IMGPAR_U16;
    return fits ? IMGPAR_OK : refuse(node, "; its levels must be u8 or u16", err);
}

static imgpar_status check_image(const imgpar_array *node, ip_error *err)
{
    const ip_type *a = &node->inputs[0]->type;
    int64_t dims[4];
    ip_type_dims(a, dims);
    return a->rank >= 2 && dims[0] == 1 ? IMGPAR_OK : refuse(node, ", which is no image", err); /* it may be empty */
}

/* Of rows of points that is all; those of geometry move an image. */
static imgpar_status check_motion_of_image(const imgpar_array *node, ip_error *err)
{
    imgpar_status st = check_motion(node, err);
    return st || strcmp(node->op->info.category, "geometry") != 0 ? st : check_image(node, err);
}

static imgpar_status check_any_columns(const imgpar_array *node, ip_error *err)
{
    return check_matrices(node, false, err);
}

static imgpar_status check_same_columns(const imgpar_array *node, ip_error *err)
{
    return check_matrices(node, true, err);
}

static imgpar_status check_xy(const imgpar_array *node, ip_error *err) { return check_pairs(node, 1, 1, err); }

static imgpar_status check_two_pairs(const imgpar_array *node, ip_error *err) { return check_pairs(node, 2, 2, err); }

static imgpar_status check_three_pairs(const imgpar_array *node, ip_error *err) { return check_pairs(node, 2, 3, err); }

static imgpar_status check_four_pairs(const imgpar_array *node, ip_error *err) { return check_pairs(node, 2, 4, err); }

/* What each asks for, in this order. */
enum { MOST_CHECKS = 3 };
static imgpar_status (*const NEEDS[][MOST_CHECKS])(const imgpar_array *node, ip_error *err) = {
    [IP_NEEDS_NOTHING] = { NULL },
    [IP_NEEDS_IMAGE] = { check_image },
    [IP_NEEDS_ONE_CHANNEL] = { ip_check_one_channel },
    [IP_NEEDS_MASK] = { check_mask },
    [IP_NEEDS_PATTERN] = { check_pattern, ip_check_one_channel },
    [IP_NEEDS_GRAY] = { check_gray, check_image },
    [IP_NEEDS_KEYS] = { check_keys },
    [IP_NEEDS_ONE_SHAPE] = { ip_check_one_shape },
    [IP_NEEDS_VECTORS] = { check_vectors },
    [IP_NEEDS_CUBE] = { check_cube, check_three_colours, check_image },
    [IP_NEEDS_ALIKE] = { ip_check_alike },
    [IP_NEEDS_TWO_IMAGES] = { ip_check_alike, check_image },
    [IP_NEEDS_COLOUR] = { check_three_colours, check_image },
    [IP_NEEDS_GRAY_OR_COLOUR] = { check_gray_or_colours, check_image },
    [IP_NEEDS_INKS] = { check_inks, check_image },
    [IP_NEEDS_LEVELS] = { check_levels, check_image },
    [IP_NEEDS_MATRICES] = { check_any_columns },
    [IP_NEEDS_COLUMNS] = { check_same_columns },
    [IP_NEEDS_POINTS] = { check_points },
    [IP_NEEDS_MASKED] = { ip_check_masked },
    [IP_NEEDS_CLONED] = { check_same_colours, ip_check_masked },
    [IP_NEEDS_STACK] = { check_stack },
    [IP_NEEDS_KERNEL] = { check_kernel, check_image },
    [IP_NEEDS_POLYGON] = { check_polygon, check_image },
    [IP_NEEDS_CURVE] = { check_curve },
    [IP_NEEDS_PALETTE] = { check_palette, check_image },
    [IP_NEEDS_SAME_COLOURS] = { check_same_colours, check_image },
    [IP_NEEDS_TEMPLATE] = { check_template },
    [IP_NEEDS_HALVES] = { check_halves, check_image },
    [IP_NEEDS_INVERTIBLE] = { check_invertible, check_image },
    [IP_NEEDS_LENS] = { check_lens, check_image },
    [IP_NEEDS_XY] = { check_xy },
    [IP_NEEDS_TWO_PAIRS] = { check_two_pairs },
    [IP_NEEDS_THREE_PAIRS] = { check_three_pairs },
    [IP_NEEDS_FOUR_PAIRS] = { check_four_pairs },
    [IP_NEEDS_MOTION] = { check_motion_of_image },
};

/* Whether the row's inputs are images, by one of the checks that refuse what is none. */
static bool needs_image(const ip_op *op)
{
    static imgpar_status (*const of_images[])(const imgpar_array *node, ip_error *err) = {
        check_image, ip_check_one_channel, ip_check_masked, check_same_colours, check_template,
    };
    if (op->infer != ip_infer_written) return false;
    for (int k = 0; k < MOST_CHECKS && NEEDS[op->variant][k]; k++)
        for (size_t i = 0; i < sizeof of_images / sizeof *of_images; i++)
            if (NEEDS[op->variant][k] == of_images[i]) return true;
    return false;
}

/* Without its first axis a stack of one picture with more channels would be a volume. */
static imgpar_status check_channels(const imgpar_array *node, ip_error *err)
{
    enum { MOST = 4 };
    int64_t dims[4];
    char text[96];
    for (int k = 0; k < node->op->info.n_inputs && needs_image(node->op); k++) {
        const ip_type *type = &node->inputs[k]->type;
        ip_type_dims(type, dims);
        if (type->rank == 4 && dims[0] == 1 && dims[3] > MOST)
            return ip_fail(err, IMGPAR_E_SHAPE, "%s: %s is %s; images have 1 to %d channels", node->op->info.name,
                           node->op->info.input_names[k], ip_type_text(type, text), MOST);
    }
    return IMGPAR_OK;
}

bool ip_is_stack_of_one(const imgpar_array *call, int input)
{
    const ip_type *type = &call->inputs[input]->type;
    int64_t dims[4];
    ip_type_dims(type, dims);
    return needs_image(call->op) && dims[0] == 1 && ip_is_volume(type);
}

bool ip_is_of_volume(const imgpar_array *call)
{
    return ip_is_volume(&call->inputs[0]->type) && !ip_is_stack_of_one(call, 0);
}

imgpar_status ip_infer_written(imgpar_array *node, ip_error *err)
{
    imgpar_status st = ip_check_connectivity(node, err);
    if (!st) st = check_colours(node, err);
    if (!st) st = check_shares(node, err);
    for (int k = 0; !st && k < MOST_CHECKS && NEEDS[node->op->variant][k]; k++)
        st = NEEDS[node->op->variant][k](node, err);
    return st ? st : check_channels(node, err);
}

imgpar_array *ip_expand_written(const imgpar_array *call) { return ip_services_get()->expand_written(call); }
