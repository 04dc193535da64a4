/* SPDX-License-Identifier: MIT */
/*
 * The structuring element of a call: what shape, size and angle draw, or a matrix whose elements that are not 0 count.
 * The middle of it is the pixel itself.
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

/* Half away from 0, so that a line is its own reflection; also what a sine misses a half by, as that of 30 degrees. */
static int rounded(double v) { return (int)copysign(floor(fabs(v) + 0.5 + 1e-9), v); }

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

static bool is_empty(const unsigned char *on, int n, int step)
{
    for (int k = 0; k < n; k++)
        if (on[k * step]) return false;
    return true;
}

/* Without the outermost rows and columns that have no neighbour, as long as the middle stays the middle: nothing is
 * asked to be there for them. */
static void trim(ip_element *e)
{
    for (int cols = 2 * e->rx + 1; e->ry > 0; e->ry--) {
        if (!is_empty(e->on, cols, 1) || !is_empty(e->on + 2 * e->ry * cols, cols, 1)) break;
        memmove(e->on, e->on + cols, (size_t)(2 * e->ry - 1) * (size_t)cols);
    }
    for (int rows = 2 * e->ry + 1; e->rx > 0; e->rx--) {
        const int cols = 2 * e->rx + 1;
        if (!is_empty(e->on, rows, cols) || !is_empty(e->on + cols - 1, rows, cols)) break;
        for (int row = 0; row < rows; row++)
            memmove(e->on + row * (cols - 2), e->on + row * cols + 1, (size_t)cols - 2);
    }
}

bool ip_element_of(const imgpar_array *node, ip_element *out)
{
    const ip_param *given = ip_param_get(node, "element");
    const int size = (int)ip_param_number(node, "size");
    const int rows = given->rows ? given->rows : size, cols = given->rows ? given->cols : size;
    unsigned char *on = ip_alloc_array((size_t)rows, (size_t)cols);
    *out = (ip_element){ .ry = rows / 2, .rx = cols / 2, .on = on };
    if (!on) return false;
    memset(on, 0, (size_t)rows * (size_t)cols);
    for (int k = 0; given->rows && k < rows * cols; k++)
        on[k] = given->numbers[k] != 0;
    if (!given->rows) draw(node, on, size / 2);
    trim(out);
    return true;
}

void ip_element_free(ip_element *e)
{
    ip_free(e->on);
    e->on = NULL;
}

int64_t ip_element_count(const ip_element *e)
{
    const int64_t all = (int64_t)(2 * e->ry + 1) * (2 * e->rx + 1);
    int64_t n = 0;
    for (int64_t k = 0; k < all; k++)
        n += e->on[k];
    return n;
}

int ip_element_runs(const ip_element *e, bool of_columns, ip_element_run *runs)
{
    const int rows = 2 * e->ry + 1, cols = 2 * e->rx + 1, lines = of_columns ? cols : rows;
    const int length = of_columns ? rows : cols, line_step = of_columns ? 1 : cols, step = of_columns ? cols : 1;
    int n = 0;
    for (int line = 0; line < lines; line++) {
        const unsigned char *on = e->on + line * line_step;
        for (int k = 0; k < length; k++) {
            if (!on[k * step]) continue;
            const int from = k;
            while (k < length && on[k * step])
                k++;
            if (runs) runs[n] = (ip_element_run){ line, from, k - from };
            n++;
        }
    }
    return n;
}

imgpar_status ip_element_check(const imgpar_array *node, int most_side, ip_error *err)
{
    const ip_param *given = ip_param_get(node, "element");
    const char *name = node->op->info.name;
    if (given->rows > most_side || given->cols > most_side)
        return ip_fail(err, IMGPAR_E_LIMIT, "%s: element is %dx%d; its sides are at most %d", name, given->rows,
                       given->cols, most_side);
    for (int k = 0; k < given->rows * given->cols; k++)
        if (given->numbers[k] != 0) return IMGPAR_OK;
    return given->rows == 0 ? IMGPAR_OK : ip_fail(err, IMGPAR_E_ARGUMENT, "%s: element has nothing but 0", name);
}
