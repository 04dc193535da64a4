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

IMGPAR_API imgpar_x imgpar_x_coord(imgpar_x like, int axis)
{
    const imgpar_array *a = like.array;
    if (!a || !a->op) return like;
    if (axis < 0) axis += a->type.rank;
    if (axis < 0 || axis >= a->type.rank) return fail(like.map, "imgpar_x_coord: there is no such axis");
    return keep(like.map, ip_build_coordinate(a->ctx, ip_type_axis_dim(&a->type, axis), &a->type));
}

IMGPAR_API imgpar_x imgpar_x_neighbour(imgpar_x a, const int *offsets, int n, imgpar_border border)
{
    static const char *const words[] = { "replicate", "reflect", "reflect101", "wrap", "constant" };
    double numbers[IMGPAR_MAX_RANK];
    bool is_border = (unsigned)border < sizeof words / sizeof *words;
    if (!offsets || n < 1 || n > IMGPAR_MAX_RANK) return fail(a.map, "imgpar_x_neighbour: there are 1 to 4 offsets");
    for (int k = 0; k < n; k++)
        numbers[k] = offsets[k];
    ip_arg args[3] = {
        ip_arg_array(a.array),
        { .name = "offsets", .kind = IP_ARG_MATRIX, .rows = 1, .cols = n, .numbers = numbers },
        { .name = "border", .kind = IP_ARG_TEXT, .text = is_border ? words[border] : "?" },
    };
    return keep(a.map, ip_build(a.map ? a.map->ctx : NULL, ip_op_find("shift"), args, 3));
}
