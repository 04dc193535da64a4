/* SPDX-License-Identifier: MIT */
#include "ops/canvas.h"

#include "base/alloc.h"

#include <math.h>
#include <string.h>

ip_point ip_point_turned(ip_point p, double degrees)
{
    const double quarter = degrees / 90, a = degrees * (3.14159265358979323846 / 180);
    const bool is_whole = quarter == floor(quarter) && fabs(quarter) < 1e9;
    const int k = is_whole ? (int)quarter & 3 : 0;
    const double c = is_whole ? (double)((int[]){ 1, 0, -1, 0 })[k] : cos(a);
    const double s = is_whole ? (double)((int[]){ 0, 1, 0, -1 })[k] : sin(a);
    return (ip_point){ c * p.x - s * p.y, s * p.x + c * p.y };
}

/* ---- lines ---------------------------------------------------------------------------------------- */

/* What of a pixel's width, its middle d away, a line covers that reaches half to either side of its own. */
static double covered(double d, double half)
{
    const double from = d - 0.5 > -half ? d - 0.5 : -half, to = d + 0.5 < half ? d + 0.5 : half;
    return to > from ? to - from : 0;
}

static void raise_to(unsigned char *cover, double share)
{
    const int level = (int)(share * 255 + 0.5);
    if (level > *cover) *cover = (unsigned char)(level > 255 ? 255 : level);
}

bool ip_watch_goes_on(ip_watch *watch, int64_t work)
{
    enum { ASKED_EVERY = 1 << 20 };
    if (!watch) return true;
    watch->work += work;
    if (!watch->status && watch->work >= ASKED_EVERY) {
        watch->status = watch->ask(watch->user);
        watch->work = 0;
    }
    return !watch->status;
}

/* The whole number at or before v, from 0 to n; NaN is 0. */
static int64_t cut(double v, int64_t n) { return !(v > 0) ? 0 : v >= (double)n ? n : (int64_t)v; }

void ip_canvas_line(const ip_canvas *canvas, ip_point from, ip_point to, double width)
{
    const double half = width / 2, reach = half + 0.5, u = to.x - from.x, v = to.y - from.y, square = u * u + v * v;
    const int64_t y0 = cut(fmin(from.y, to.y) - reach, canvas->height),
                  y1 = cut(fmax(from.y, to.y) + reach + 1, canvas->height);
    for (int64_t y = y0; y < y1; y++) {
        const double q = (double)y + 0.5 - from.y;
        double left = fmin(from.x, to.x), right = fmax(from.x, to.x);
        if (v != 0) { /* of a long slanting line a row sees a part */
            const double a = from.x + u * fmin(fmax((q - reach) / v, 0), 1),
                         b = from.x + u * fmin(fmax((q + reach) / v, 0), 1);
            left = fmin(a, b);
            right = fmax(a, b);
        }
        const int64_t x0 = cut(left - reach, canvas->width), x1 = cut(right + reach + 1, canvas->width);
        if (!ip_watch_goes_on(canvas->watch, x1 - x0 + 1)) return;
        for (int64_t x = x0; x < x1; x++) {
            if (canvas->cover[y * canvas->width + x] == 255) continue;
            const double p = (double)x + 0.5 - from.x;
            const double t = square > 0 ? fmin(fmax((p * u + q * v) / square, 0), 1) : 0;
            const double d = hypot(p - t * u, q - t * v);
            if (d < reach) raise_to(&canvas->cover[y * canvas->width + x], covered(d, half));
        }
    }
}

void ip_canvas_fill(const ip_canvas *canvas, ip_point a, ip_point b)
{
    const int64_t y0 = cut(a.y, canvas->height), y1 = cut(ceil(b.y), canvas->height);
    const int64_t x0 = cut(a.x, canvas->width), x1 = cut(ceil(b.x), canvas->width);
    for (int64_t y = y0; y < y1; y++) {
        if (!ip_watch_goes_on(canvas->watch, x1 - x0 + 1)) return;
        for (int64_t x = x0; x < x1; x++) {
            const double across = fmin(b.x, (double)x + 1) - fmax(a.x, (double)x);
            const double along = fmin(b.y, (double)y + 1) - fmax(a.y, (double)y);
            raise_to(&canvas->cover[y * canvas->width + x], fmax(across, 0) * fmax(along, 0));
        }
    }
}

void ip_canvas_clear(const ip_canvas *canvas)
{
    memset(canvas->cover, 0, (size_t)canvas->width * (size_t)canvas->height);
}

void ip_canvas_widen(const ip_canvas *canvas, double by)
{
    for (int64_t k = 0; k < canvas->width * canvas->height; k++) {
        if (k % canvas->width == 0 && !ip_watch_goes_on(canvas->watch, canvas->width)) return;
        if (canvas->cover[k]) raise_to(&canvas->cover[k], fmin(canvas->cover[k] / 255.0 + by, 1));
    }
}

/* ---- areas --------------------------------------------------------------------------------------- */

void ip_edges_add(ip_edges *edges, ip_point from, ip_point to)
{
    if (edges->n == edges->room && !edges->failed) {
        const size_t room = edges->room ? 2 * edges->room : 256;
        ip_edge *more = ip_realloc_array(edges->at, room, sizeof *more);
        edges->failed = !more;
        if (more) edges->at = more;
        if (more) edges->room = room;
    }
    if (!edges->failed) edges->at[edges->n++] = (ip_edge){ from, to };
}

void ip_edges_free(ip_edges *edges)
{
    ip_free(edges->at);
    *edges = (ip_edges){ 0 };
}

/*
 * Note [Areas]
 * An edge that goes down by d within a pixel's row adds d times the part of the pixel that lies to its right, and d to
 * each pixel further right; one that goes up takes that away. What all edges add is the signed area inside, exactly.
 * Rows hold differences from pixel to pixel, so that an edge touches only the pixels which it crosses.
 */
typedef struct band {
    double *at; /* height rows of width differences */
    int64_t left, top, width, height;
} band;

/* What lies to the left of t of a piece of an edge that goes from xa to xb, a <= b, and down by d. */
static double left_of(double t, double xa, double xb, double d)
{
    if (t <= xa) return 0;
    if (t >= xb) return d * (t - (xa + xb) / 2);
    return d * (t - xa) * (t - xa) / (2 * (xb - xa));
}

/* A piece within one row: Note [Areas]. */
static void add_piece(double *row, int64_t width, double xa, double xb, double d)
{
    if (xa > xb) {
        const double other = xa;
        xa = xb;
        xb = other;
    }
    if (xa >= (double)width) return;
    if (xb <= 0) { /* the whole row lies to its right */
        row[0] += d;
        return;
    }
    double last = 0;
    for (int64_t x = cut(xa, width); x < width; x++) {
        const double whole = left_of((double)x + 1, xa, xb, d) - left_of((double)x, xa, xb, d);
        row[x] += whole - last;
        last = whole;
        if ((double)x >= xb) return;
    }
}

static void add_edge(const band *b, const ip_edge *e)
{
    const bool is_down = e->from.y < e->to.y;
    const ip_point p = is_down ? e->from : e->to, q = is_down ? e->to : e->from;
    const double top = p.y - (double)b->top, bottom = q.y - (double)b->top, slope = (q.x - p.x) / (q.y - p.y);
    if (!(top < bottom)) return;
    for (int64_t y = cut(top, b->height); y < b->height && (double)y < bottom; y++) {
        const double from = fmax(top, (double)y), to = fmin(bottom, (double)y + 1);
        const double xa = p.x + (from - top) * slope, xb = to == bottom ? q.x : p.x + (to - top) * slope;
        if (to > from)
            add_piece(b->at + y * b->width, b->width, xa - (double)b->left, xb - (double)b->left,
                      is_down ? to - from : from - to);
    }
}

static void raise_band(const band *b, const ip_canvas *canvas)
{
    for (int64_t y = 0; y < b->height; y++) {
        double sum = 0;
        for (int64_t x = 0; x < b->width; x++) {
            sum += b->at[y * b->width + x];
            raise_to(&canvas->cover[(b->top + y) * canvas->width + b->left + x], fmin(fabs(sum), 1));
        }
    }
}

bool ip_canvas_area(const ip_canvas *canvas, const ip_edges *edges)
{
    enum { BAND = 1 << 17 }; /* pixels, of which the differences stay in a cache */
    double x0 = INFINITY, x1 = -INFINITY, y0 = INFINITY, y1 = -INFINITY;
    for (size_t k = 0; k < edges->n; k++) {
        const ip_edge *e = &edges->at[k];
        x0 = fmin(x0, fmin(e->from.x, e->to.x));
        x1 = fmax(x1, fmax(e->from.x, e->to.x));
        y0 = fmin(y0, fmin(e->from.y, e->to.y));
        y1 = fmax(y1, fmax(e->from.y, e->to.y));
    }
    const int64_t left = cut(x0, canvas->width), right = cut(ceil(x1), canvas->width);
    const int64_t top = cut(y0, canvas->height), bottom = cut(ceil(y1), canvas->height);
    if (edges->failed) return false;
    if (left >= right || top >= bottom) return true;
    const int64_t rows = right - left < BAND ? BAND / (right - left) : 1;
    band b = { .left = left, .width = right - left };
    b.height = rows < bottom - top ? rows : bottom - top;
    const size_t n = (size_t)b.height * (size_t)b.width;
    b.at = ip_alloc_array(n, sizeof *b.at);
    const bool has_room = b.at != NULL;
    for (b.top = top; has_room && b.top < bottom; b.top += b.height) {
        if (b.height > bottom - b.top) b.height = bottom - b.top;
        if (!ip_watch_goes_on(canvas->watch, (int64_t)edges->n + (int64_t)n)) break;
        memset(b.at, 0, n * sizeof *b.at);
        for (size_t k = 0; k < edges->n; k++)
            add_edge(&b, &edges->at[k]);
        raise_band(&b, canvas);
    }
    ip_free(b.at);
    return has_room;
}
