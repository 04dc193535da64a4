/* SPDX-License-Identifier: MIT */
/*
 * Expressions from C. A map owns the array of each of its expressions, so that calls may be nested; an expression
 * is that array and its map. Each is a node of the graph as any other, and fuses as any other.
 */
#include "ops/expressions.h"

#include "base/alloc.h"
#include "graph/services.h"
#include "ops/build.h"

struct imgpar_map {
    imgpar_context *ctx; /* retained */
    imgpar_array **held; /* a handle each */
    size_t n, capacity;
    int n_taps; /* neighbourhoods, each of a level of its own: ops/around.h */
};

static imgpar_array *no_memory(void) { return ip_array_error(NULL, IMGPAR_E_HOST_MEMORY, "out of host memory"); }

/* An expression of m, which takes the array. */
static imgpar_x keep(imgpar_map *m, imgpar_array *takes)
{
    if (m && m->n == m->capacity) {
        size_t capacity = m->capacity ? 2 * m->capacity : 16;
        imgpar_array **held = ip_realloc_array(m->held, capacity, sizeof *held);
        if (held) {
            m->held = held;
            m->capacity = capacity;
        }
    }
    if (!m || m->n == m->capacity) { /* nobody would release it */
        imgpar_array_release(takes);
        return (imgpar_x){ m, no_memory() };
    }
    m->held[m->n++] = takes;
    return (imgpar_x){ m, takes };
}

static imgpar_x fail(imgpar_map *m, const char *message)
{
    return keep(m, ip_array_error(m ? m->ctx : NULL, IMGPAR_E_ARGUMENT, message));
}

imgpar_x ip_map_call(const char *row, const imgpar_x *operands, int n)
{
    imgpar_map *m = operands[0].map;
    ip_arg args[4];
    for (int k = 0; k < n; k++) {
        if (operands[k].map != m) return fail(m, "an expression's operands belong to different maps");
        args[k] = ip_arg_array(operands[k].array);
    }
    return keep(m, ip_build(m ? m->ctx : NULL, ip_op_find(row), args, n));
}

/* ---- public ------------------------------------------------------------------------------ */

IMGPAR_API imgpar_map *imgpar_map_new(imgpar_context *ctx)
{
    imgpar_map *m = ctx ? ip_zalloc(sizeof *m) : NULL;
    if (m) m->ctx = ip_services_get()->retain_context(ctx);
    return m;
}

IMGPAR_API void imgpar_map_release(imgpar_map *m)
{
    if (!m) return;
    for (size_t k = 0; k < m->n; k++)
        imgpar_array_release(m->held[k]);
    ip_services_get()->release_context(m->ctx);
    ip_free(m->held);
    ip_free(m);
}

IMGPAR_API imgpar_array *imgpar_map_array(imgpar_x x) { return x.array ? imgpar_array_retain(x.array) : no_memory(); }

IMGPAR_API imgpar_x imgpar_x_array(imgpar_map *m, imgpar_array *a)
{
    if (!a) return fail(m, "an expression's array is NULL");
    return keep(m, imgpar_array_retain(a));
}

IMGPAR_API imgpar_x imgpar_x_whole(imgpar_map *m, int64_t value)
{
    return keep(m, ip_build_number(m ? m->ctx : NULL, (double)value, false));
}

IMGPAR_API imgpar_x imgpar_x_number(imgpar_map *m, double value)
{
    return keep(m, ip_build_number(m ? m->ctx : NULL, value, true));
}

/* A folded axis has no dim of its own. */
static imgpar_array *indices_of(const imgpar_array *a, int axis)
{
    double shape[IMGPAR_MAX_RANK];
    for (int k = 0; k < a->type.rank; k++)
        shape[k] = (double)a->type.shape[k];
    ip_arg args[] = { { .kind = IP_ARG_MATRIX, .rows = 1, .cols = a->type.rank, .numbers = shape },
                      ip_arg_number(axis) };
    return ip_build(a->ctx, ip_op_find("indices"), args, 2);
}

IMGPAR_API imgpar_x imgpar_x_coord(imgpar_x like, int axis)
{
    const imgpar_array *a = like.array;
    if (!a || !a->op) return like;
    if (axis < 0) axis += a->type.rank;
    if (axis < 0 || axis >= a->type.rank) return fail(like.map, "imgpar_x_coord: there is no such axis");
    const int dim = ip_type_axis_dim(&a->type, axis);
    if (ip_type_is_folded(&a->type) && dim == 0) return keep(like.map, indices_of(a, axis));
    return keep(like.map, ip_build_coordinate(a->ctx, dim, &a->type));
}

static bool is_good(imgpar_x x) { return x.array && x.array->op; }

static ip_arg border_arg(imgpar_border border)
{
    static const char *const words[] = { "replicate", "reflect", "reflect101", "wrap",
                                         "constant",  "checked", "unchecked" };
    bool is_border = (unsigned)border < sizeof words / sizeof *words;
    return (ip_arg){ .name = "border", .kind = IP_ARG_TEXT, .text = is_border ? words[border] : "?" };
}

IMGPAR_API imgpar_x imgpar_x_neighbour(imgpar_x a, const int *offsets, int n, imgpar_border border)
{
    double numbers[IMGPAR_MAX_RANK];
    if (!offsets || n < 1 || n > IMGPAR_MAX_RANK) return fail(a.map, "imgpar_x_neighbour: there are 1 to 8 offsets");
    if (is_good(a) && ip_type_is_folded(&a.array->type))
        return fail(a.map, "imgpar_x_neighbour: neighbours are read along up to 4 axes");
    for (int k = 0; k < n; k++)
        numbers[k] = offsets[k];
    ip_arg args[3] = {
        ip_arg_array(a.array),
        { .name = "offsets", .kind = IP_ARG_MATRIX, .rows = 1, .cols = n, .numbers = numbers },
        border_arg(border),
    };
    return keep(a.map, ip_build(a.map ? a.map->ctx : NULL, ip_op_find("shift"), args, 3));
}

/* ---- neighbourhoods ------------------------------------------------------------------------ */

static imgpar_x built(imgpar_map *m, const char *row, const ip_arg *args, int n)
{
    return keep(m, ip_build(m ? m->ctx : NULL, ip_op_find(row), args, n));
}

/* Which of z y x the axes of a are that have neighbours; how many. */
static int axes_of(const imgpar_array *a, int dims[3])
{
    int n = 0;
    for (int k = 0; k < a->type.rank && !ip_type_is_folded(&a->type); k++) {
        int dim = ip_type_axis_dim(&a->type, k);
        if (dim < 3) dims[n++] = dim;
    }
    return n;
}

IMGPAR_API imgpar_x imgpar_x_taps(imgpar_x a, const int *radii, int n)
{
    static const char *const names[] = { "depth", "height", "width" };
    ip_arg args[4];
    int dims[3];
    if (!is_good(a)) return a;
    if (ip_type_is_complex(&a.array->type)) return fail(a.map, "imgpar_x_taps: there are none of complex numbers");
    if (ip_type_is_folded(&a.array->type)) return fail(a.map, "imgpar_x_taps: there are none along more than 4 axes");
    if (!radii || n != axes_of(a.array, dims)) return fail(a.map, "imgpar_x_taps: there is a radius for each axis");
    for (int k = 0; k < 3; k++)
        args[k] = (ip_arg){ .name = names[k], .kind = IP_ARG_NUMBER };
    for (int k = 0; k < n; k++)
        args[dims[k]].number = radii[k];
    args[3] = (ip_arg){ .name = "level", .kind = IP_ARG_NUMBER, .number = a.map->n_taps++ };
    return built(a.map, "taps", args, 4);
}

IMGPAR_API imgpar_x imgpar_x_tap(imgpar_x taps, imgpar_x a, imgpar_border border)
{
    double offsets[IMGPAR_MAX_RANK] = { 0 }, along[IMGPAR_MAX_RANK * 3] = { 0 };
    if (!is_good(taps)) return taps;
    if (!is_good(a)) return a;
    if (taps.map != a.map) return fail(a.map, "an expression's operands belong to different maps");
    int rank = a.array->type.rank;
    if (ip_type_is_folded(&a.array->type)) return fail(a.map, "imgpar_x_tap: neighbours are read along up to 4 axes");
    for (int k = 0; k < rank; k++) {
        int dim = ip_type_axis_dim(&a.array->type, k);
        if (dim < 3) along[3 * k + dim] = 1;
    }
    const ip_arg args[] = {
        ip_arg_array(a.array),
        ip_arg_array(taps.array),
        { .name = "offsets", .kind = IP_ARG_MATRIX, .rows = 1, .cols = rank, .numbers = offsets },
        { .name = "along", .kind = IP_ARG_MATRIX, .rows = rank, .cols = 3, .numbers = along },
        border_arg(border),
    };
    return built(a.map, "tap_read", args, 5);
}

IMGPAR_API imgpar_x imgpar_x_distance(imgpar_x taps, imgpar_x like, int axis)
{
    if (!is_good(taps)) return taps;
    if (!is_good(like)) return like;
    const ip_type *type = &like.array->type;
    if (axis < 0) axis += type->rank;
    if (axis < 0 || axis >= type->rank || ip_type_is_folded(type) || ip_type_axis_dim(type, axis) > 2)
        return fail(taps.map, "imgpar_x_distance: there is no such axis");
    const ip_arg args[] = { ip_arg_array(taps.array),
                            { .name = "dim", .kind = IP_ARG_NUMBER, .number = ip_type_axis_dim(type, axis) } };
    return built(taps.map, "tap", args, 2);
}

static imgpar_x folded(imgpar_x taps, imgpar_x value, ip_arg weight, const char *fold)
{
    if (!is_good(taps)) return taps;
    if (!is_good(value)) return value;
    if (taps.map != value.map) return fail(taps.map, "an expression's operands belong to different maps");
    const ip_arg args[] = { ip_arg_array(taps.array),
                            ip_arg_array(value.array),
                            weight,
                            { .name = "fold", .kind = IP_ARG_TEXT, .text = fold } };
    return built(taps.map, "around", args, 4);
}

IMGPAR_API imgpar_x imgpar_x_fold(imgpar_x taps, imgpar_x value, imgpar_fold fold)
{
    static const char *const words[] = { "sum", "mean", "min", "max", "product" };
    bool is_fold = (unsigned)fold < sizeof words / sizeof *words;
    return folded(taps, value, ip_arg_number(1), is_fold ? words[fold] : "?");
}

IMGPAR_API imgpar_x imgpar_x_weighted_mean(imgpar_x taps, imgpar_x value, imgpar_x weight)
{
    if (!is_good(weight)) return weight;
    if (taps.map != weight.map) return fail(taps.map, "an expression's operands belong to different maps");
    return folded(taps, value, ip_arg_array(weight.array), "mean");
}
