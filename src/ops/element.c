/* SPDX-License-Identifier: MIT */
/*
 * The structuring element of a call as runs of its rows: what shape, size and angle draw, or a matrix whose elements
 * that are not 0 count. The middle of it is the pixel itself.
 */
#include "ops/element.h"

#include "base/alloc.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SHAPE_SQUARE, SHAPE_DISC, SHAPE_DIAMOND, SHAPE_CROSS, SHAPE_LINE }; /* the words of ELEMENT in ops.def */

bool ip_element_is_square(const imgpar_array *node)
{
    return ip_param_get(node, "element")->rows == 0 && ip_param_number(node, "shape") == SHAPE_SQUARE;
}

/* Half away from 0, so that a line is its own reflection. */
static int rounded(double v) { return (int)copysign(floor(fabs(v) + 0.5), v); }

/* From the middle as far to both sides as (size - 1) / 2 leads along the direction; a pixel in each step along the
 * longer side. */
static void draw_line(unsigned char *on, int radius, double degrees)
{
    const double angle = fmod(degrees, 360) * (acos(-1.0) / 180);
    const int side = 2 * radius + 1, dx = rounded(radius * cos(angle)), dy = rounded(radius * sin(angle));
    const int steps = abs(dx) > abs(dy) ? abs(dx) : abs(dy);
    on[radius * side + radius] = 1;
    for (int k = -steps; k <= steps && steps > 0; k++)
        on[(radius + rounded((double)k * dy / steps)) * side + radius + rounded((double)k * dx / steps)] = 1;
}

static bool is_on(int shape, int radius, int dy, int dx)
{
    switch (shape) {
    case SHAPE_DISC: return dx * dx + dy * dy <= radius * radius;
    case SHAPE_DIAMOND: return abs(dx) + abs(dy) <= radius;
    case SHAPE_CROSS: return dx == 0 || dy == 0;
    default: return true;
    }
}

static void draw(const imgpar_array *node, unsigned char *on, int radius)
{
    const int shape = (int)ip_param_number(node, "shape"), side = 2 * radius + 1;
    if (shape == SHAPE_LINE) {
        draw_line(on, radius, ip_param_number(node, "angle"));
        return;
    }
    for (int k = 0; k < side * side; k++)
        on[k] = is_on(shape, radius, k / side - radius, k % side - radius);
}

/* Counts the runs, and notes them where there is room. */
static int find_runs(const unsigned char *on, int rows, int cols, ip_element_run *runs)
{
    int n = 0;
    for (int y = 0; y < rows; y++)
        for (int x = 0; x < cols; x++) {
            if (!on[y * cols + x]) continue;
            const int from = x;
            while (x < cols && on[y * cols + x])
                x++;
            if (runs) runs[n] = (ip_element_run){ y - rows / 2, from - cols / 2, x - from };
            n++;
        }
    return n;
}

bool ip_element_of(const imgpar_array *node, ip_element *out)
{
    const ip_param *given = ip_param_get(node, "element");
    const int size = (int)ip_param_number(node, "size");
    const int rows = given->rows ? given->rows : size, cols = given->rows ? given->cols : size;
    unsigned char *on = ip_alloc_array((size_t)rows, (size_t)cols);
    *out = (ip_element){ .ry = rows / 2, .rx = cols / 2 };
    if (!on) return false;
    memset(on, 0, (size_t)rows * (size_t)cols);
    for (int k = 0; given->rows && k < rows * cols; k++)
        on[k] = given->numbers[k] != 0;
    if (!given->rows) draw(node, on, size / 2);
    out->n = find_runs(on, rows, cols, NULL);
    bool ok = true;
    if (out->n > 0 && out->n <= IP_ELEMENT_MOST_RUNS) {
        out->runs = ip_alloc_array((size_t)out->n, sizeof *out->runs);
        ok = out->runs != NULL;
        if (ok) find_runs(on, rows, cols, out->runs);
    }
    ip_free(on);
    return ok;
}

void ip_element_free(ip_element *e)
{
    ip_free(e->runs);
    e->runs = NULL;
}
