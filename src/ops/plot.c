/* SPDX-License-Identifier: MIT */
#include "ops/plot.h"

#include "base/alloc.h"
#include "base/str.h"
#include "ops/glyphs.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct colour {
    unsigned char rgb[3];
} colour;

static const colour white = { { 255, 255, 255 } }, ink = { { 32, 32, 32 } }, grid = { { 225, 225, 225 } },
                    missing = { { 200, 200, 200 } };
/* Colours that people with any colour vision tell apart: Okabe and Ito, Color Universal Design, 2008. */
static const colour series_colours[] = { { { 0, 114, 178 } },   { { 213, 94, 0 } },  { { 0, 158, 115 } },
                                         { { 204, 121, 167 } }, { { 230, 159, 0 } }, { { 86, 180, 233 } },
                                         { { 0, 0, 0 } } };
enum { N_COLOURS = sizeof series_colours / sizeof *series_colours };

/* From low to high: always lighter, from blue by green to yellow. */
static const colour heat_colours[] = {
    { { 24, 16, 72 } }, { { 38, 72, 142 } }, { { 24, 132, 142 } }, { { 110, 192, 90 } }, { { 250, 232, 80 } }
};

/* An interval of an axis; logarithms where it has them. */
typedef struct axis {
    double lo, hi;
    bool is_log;
} axis;

typedef struct box {
    double x0, y0, x1, y1; /* in pixels */
} box;

typedef struct sheet {
    const ip_plot *plot;
    unsigned char *rgb;
    int64_t width, height;
    ip_canvas canvas; /* of the sheet's size, for what is drawn next */
    axis x, y;        /* of heat: columns, rows downwards */
    box area;         /* of the data; whole pixels */
} sheet;

/* ---- numbers ------------------------------------------------------------------------------------- */

/* Steps that people like: Heckbert, Nice numbers for graph labels, Graphics Gems, 1990. */
ip_ticks ip_ticks_of(double lo, double hi, int most)
{
    ip_ticks t = { 0 };
    if (!(hi > lo) || !isfinite(hi - lo) || most < 1) return t;
    const double rough = (hi - lo) / most, power = pow(10, floor(log10(rough))), share = rough / power;
    if (!(power > 0)) return t; /* so small that its power of ten is 0 */
    const double times = share <= 1.000001 ? 1 : share <= 2.000001 ? 2 : share <= 5.000001 ? 5 : 10;
    t.step = times * power;
    t.first = ceil(lo / t.step - 1e-6) * t.step;
    t.n = (int)(floor(hi / t.step + 1e-6) - ceil(lo / t.step - 1e-6)) + 1;
    const double digits = -floor(log10(t.step) + 1e-6);
    t.digits = digits > 0 ? (int)fmin(digits, 300) : 0;
    return t;
}

/* The k-th of ticks as people write it; into buf of 32 bytes. */
static const char *tick_text(const ip_ticks *t, int k, char *buf)
{
    double v = t->first + k * t->step;
    if (fabs(v) < t->step / 2) v = 0;
    const double power = pow(10, t->digits);
    if (isfinite(power) && isfinite(v * power)) v = round(v * power) / power;
    ip_number_text(v, buf);
    return buf;
}

static double value(const ip_plot *p, int64_t series, int64_t k)
{
    return p->by_rows ? p->at(p->user, series, k) : p->at(p->user, k, series);
}
static int64_t length(const ip_plot *p) { return p->by_rows ? p->columns : p->rows; }
static int64_t n_series(const ip_plot *p) { return p->by_rows ? p->rows : p->columns; }

/* The first series of points is their x, if there are more. */
static bool has_own_x(const ip_plot *p) { return p->kind == IP_PLOT_SCATTER && n_series(p) > 1; }
static double x_of(const ip_plot *p, int64_t k) { return has_own_x(p) ? value(p, 0, k) : p->x0 + p->dx * (double)k; }

static bool is_usable(const axis *a, double v) { return isfinite(v) && (!a->is_log || v > 0); }
static double scaled(const axis *a, double v) { return a->is_log ? log10(v) : v; }

static void widen_by(axis *a, double v)
{
    if (!is_usable(a, v)) return;
    v = scaled(a, v);
    a->lo = isnan(a->lo) ? v : fmin(a->lo, v);
    a->hi = isnan(a->hi) ? v : fmax(a->hi, v);
}

/* Something to see where the data has no extent; room at the ends. */
static void finish_axis(axis *a, double room)
{
    if (isnan(a->lo)) *a = (axis){ 0, 1, a->is_log };
    double extent = a->hi - a->lo;
    if (!(extent > fabs(a->lo) * 1e-12)) {
        extent = a->lo == 0 || a->is_log ? 1 : fabs(a->lo);
        a->lo -= extent / 2;
        a->hi += extent / 2;
        return;
    }
    if (!isfinite(extent)) return;
    a->lo -= extent * room;
    a->hi += extent * room;
}

static void take_limits(axis *a, double lo, double hi)
{
    if (is_usable(a, lo)) a->lo = scaled(a, lo);
    if (is_usable(a, hi)) a->hi = scaled(a, hi);
    if (a->hi <= a->lo) a->hi = a->lo + 1;
}

static bool goes_on(const sheet *s, int64_t work) { return ip_watch_goes_on(s->canvas.watch, work); }

static void find_axes(sheet *s)
{
    const ip_plot *p = s->plot;
    const bool is_heat = p->kind == IP_PLOT_HEAT;
    s->x = (axis){ NAN, NAN, !is_heat && p->log & IP_PLOT_LOG_X };
    s->y = (axis){ NAN, NAN, !is_heat && p->log & IP_PLOT_LOG_Y };
    if (is_heat) {
        s->x = (axis){ p->x0 - p->dx / 2, p->x0 + p->dx * ((double)p->columns - 0.5), false };
        s->y = (axis){ (double)p->rows - 0.5, -0.5, false };
        return;
    }
    for (int64_t k = 0; k < length(p) && goes_on(s, n_series(p)); k++) {
        const double x = x_of(p, k);
        bool is_seen = false;
        for (int64_t j = has_own_x(p); j < n_series(p); j++) {
            const double v = value(p, j, k);
            if (!is_usable(&s->y, v) || !is_usable(&s->x, x)) continue;
            widen_by(&s->y, v);
            is_seen = true;
        }
        if (is_seen || !has_own_x(p)) widen_by(&s->x, x);
    }
    const bool has_bars = p->kind == IP_PLOT_BARS;
    if (has_bars && !s->y.is_log) widen_by(&s->y, 0);
    const double floor_y = s->y.lo;
    finish_axis(&s->y, 0.05);
    if (has_bars && floor_y == 0 && !s->y.is_log && s->y.hi > 0) s->y.lo = 0; /* bars stand on the axis */
    take_limits(&s->y, p->lo, p->hi);
    if (has_bars && !s->x.is_log && !isnan(s->x.lo)) {
        s->x.lo -= fabs(p->dx) / 2;
        s->x.hi += fabs(p->dx) / 2;
    }
    finish_axis(&s->x, p->kind == IP_PLOT_SCATTER ? 0.03 : 0);
}

/* ---- drawing ------------------------------------------------------------------------------------- */

static void blend(unsigned char *at, const colour *c, int cover)
{
    for (int k = 0; k < 3; k++)
        at[k] = (unsigned char)((at[k] * (255 - cover) + c->rgb[k] * cover + 127) / 255);
}

/* Puts what the canvas has onto the sheet, in a colour, within a box of whole pixels, and clears it. */
static void lay_down(sheet *s, const colour *c, const box *within)
{
    const int64_t x0 = (int64_t)fmax(within->x0, 0), x1 = (int64_t)fmin(within->x1, (double)s->width);
    const int64_t y0 = (int64_t)fmax(within->y0, 0), y1 = (int64_t)fmin(within->y1, (double)s->height);
    for (int64_t y = y0; y < y1; y++)
        for (int64_t x = x0; x < x1; x++) {
            const int cover = s->canvas.cover[y * s->width + x];
            if (cover) blend(&s->rgb[(y * s->width + x) * 3], c, cover);
        }
    ip_canvas_clear(&s->canvas);
}

static box whole_sheet(const sheet *s) { return (box){ 0, 0, (double)s->width, (double)s->height }; }

/* A rectangle of whole pixels. */
static void fill(sheet *s, double x0, double y0, double x1, double y1, const colour *c)
{
    for (int64_t y = (int64_t)fmax(y0, 0); y < (int64_t)fmin(y1, (double)s->height); y++)
        for (int64_t x = (int64_t)fmax(x0, 0); x < (int64_t)fmin(x1, (double)s->width); x++)
            memcpy(&s->rgb[(y * s->width + x) * 3], c->rgb, 3);
}

static ip_lettering letters(const sheet *s, const char *words, double times, double angle)
{
    return (ip_lettering){ .words = words,
                           .size = s->plot->size * times,
                           .weight = times > 1 ? 500 : 400,
                           .spacing = 1.2,
                           .align = IP_ALIGN_CENTRE,
                           .angle = angle };
}

/* Words whose box has the point (across, down) of it at (x, y). */
static void write_words(sheet *s, const ip_lettering *l, double x, double y, double across, double down)
{
    const ip_point size = ip_lettering_box(l);
    ip_lettering_draw(l, &s->canvas, round(x - size.x * across), round(y - size.y * down));
}

static double place_x(const sheet *s, double v)
{
    return s->area.x0 + (v - s->x.lo) / (s->x.hi - s->x.lo) * (s->area.x1 - s->area.x0);
}
static double place_y(const sheet *s, double v)
{
    return s->area.y1 - (v - s->y.lo) / (s->y.hi - s->y.lo) * (s->area.y1 - s->area.y0);
}

/* ---- axes ---------------------------------------------------------------------------------------- */

typedef struct labels {
    ip_ticks ticks; /* of logarithms: whole powers of ten, or where there is none the numbers themselves */
    bool is_log, has_numbers;
} labels;

/* Where tick k is on its axis. */
static double tick_at(const labels *l, int k)
{
    const double v = l->ticks.first + k * l->ticks.step;
    return l->has_numbers ? log10(v) : v;
}

static const char *label_text(const labels *l, int k, char *buf)
{
    if (!l->is_log || l->has_numbers) return tick_text(&l->ticks, k, buf);
    const double power = l->ticks.first + k * l->ticks.step;
    if (fabs(power) <= 4)
        ip_number_text(power < 0 ? 1 / pow(10, -power) : pow(10, power), buf);
    else
        snprintf(buf, 32, "1e%d", (int)power);
    return buf;
}

static labels labels_of(const axis *a, int most)
{
    labels l = { .is_log = a->is_log };
    const double lo = fmin(a->lo, a->hi), hi = fmax(a->lo, a->hi);
    l.ticks = ip_ticks_of(lo, hi, most);
    if (a->is_log && l.ticks.step < 1) { /* whole powers only */
        l.ticks.step = 1;
        l.ticks.first = ceil(lo - 1e-6);
        l.ticks.n = (int)(floor(hi + 1e-6) - l.ticks.first) + 1;
    }
    if (a->is_log && l.ticks.n < 1) { /* less than a decade, between two powers */
        l.has_numbers = true;
        l.ticks = ip_ticks_of(pow(10, lo), pow(10, hi), most);
    }
    return l;
}

/* How wide the widest label is, or how high they are. */
static ip_point widest(const sheet *s, const labels *l)
{
    ip_point most = { 0, 0 };
    char text[32];
    for (int k = 0; k < l->ticks.n; k++) {
        const ip_lettering words = letters(s, label_text(l, k, text), 1, 0);
        const ip_point size = ip_lettering_box(&words);
        most.x = fmax(most.x, size.x);
        most.y = fmax(most.y, size.y);
    }
    return most;
}

enum { COLOUR_BAR = 16 };

static int ticks_for(double extent, double each) { return (int)fmax(fmin(extent / each, 12), 2); }

/* Room for words around the data. */
static void lay_out(sheet *s, const labels *y, const labels *bar)
{
    const ip_plot *p = s->plot;
    const double gap = p->size * 0.5, line = p->size * 1.2;
    box a = { gap + widest(s, y).x + gap, gap * 1.5, (double)s->width - gap * 3, (double)s->height - line - gap * 1.5 };
    if (*p->title) {
        const ip_lettering title = letters(s, p->title, 1.25, 0);
        a.y0 += ip_lettering_box(&title).y;
    }
    if (*p->x_label) {
        const ip_lettering words = letters(s, p->x_label, 1, 0);
        a.y1 -= ip_lettering_box(&words).y + gap / 2;
    }
    if (*p->y_label) {
        const ip_lettering words = letters(s, p->y_label, 1, -90);
        a.x0 += ip_lettering_box(&words).x + gap / 2;
    }
    if (bar) a.x1 -= COLOUR_BAR + 2 * gap + widest(s, bar).x;
    s->area = (box){ round(a.x0), round(a.y0), round(fmax(a.x1, a.x0 + 1)), round(fmax(a.y1, a.y0 + 1)) };
}

static void draw_axes(sheet *s, const labels *lx, const labels *ly)
{
    const box a = s->area, all = whole_sheet(s);
    const double gap = s->plot->size * 0.5;
    const bool has_grid = s->plot->kind != IP_PLOT_HEAT;
    char text[32];
    for (int k = 0; k < lx->ticks.n; k++) {
        const double x = floor(place_x(s, tick_at(lx, k)));
        const ip_lettering words = letters(s, label_text(lx, k, text), 1, 0);
        if (has_grid) fill(s, x, a.y0, x + 1, a.y1, &grid);
        fill(s, x, a.y1, x + 1, a.y1 + 4, &ink);
        write_words(s, &words, x + 0.5, a.y1 + gap * 0.7, 0.5, 0);
    }
    for (int k = 0; k < ly->ticks.n; k++) {
        const double y = floor(fmin(place_y(s, tick_at(ly, k)), a.y1 - 1));
        const ip_lettering words = letters(s, label_text(ly, k, text), 1, 0);
        if (has_grid) fill(s, a.x0, y, a.x1, y + 1, &grid);
        fill(s, a.x0 - 4, y, a.x0, y + 1, &ink);
        write_words(s, &words, a.x0 - gap, y + 0.5, 1, 0.54);
    }
    const ip_lettering title = letters(s, s->plot->title, 1.25, 0), along_x = letters(s, s->plot->x_label, 1, 0),
                       along_y = letters(s, s->plot->y_label, 1, -90);
    write_words(s, &title, (a.x0 + a.x1) / 2, gap / 2, 0.5, 0);
    write_words(s, &along_x, (a.x0 + a.x1) / 2, (double)s->height - gap / 2, 0.5, 1);
    write_words(s, &along_y, gap / 2, (a.y0 + a.y1) / 2, 0, 0.5);
    lay_down(s, &ink, &all);
}

static void draw_frame(sheet *s)
{
    const box a = s->area;
    fill(s, a.x0 - 1, a.y0 - 1, a.x1 + 1, a.y0, &ink);
    fill(s, a.x0 - 1, a.y1, a.x1 + 1, a.y1 + 1, &ink);
    fill(s, a.x0 - 1, a.y0 - 1, a.x0, a.y1 + 1, &ink);
    fill(s, a.x1, a.y0 - 1, a.x1 + 1, a.y1 + 1, &ink);
}

/* ---- the data ------------------------------------------------------------------------------------ */

/* Where an element is; false: nowhere. Far outside the sheet it does not matter where. */
static bool place(const sheet *s, int64_t series, int64_t k, ip_point *at)
{
    const double x = x_of(s->plot, k), y = value(s->plot, series, k), far = 1e5;
    if (!is_usable(&s->x, x) || !is_usable(&s->y, y)) return false;
    *at = (ip_point){ fmin(fmax(place_x(s, scaled(&s->x, x)), -far), far),
                      fmin(fmax(place_y(s, scaled(&s->y, y)), -far), far) };
    return true;
}

/* What a column of pixels sees of the points of a series that lie in it. */
typedef struct run {
    int64_t column;
    ip_point first, lowest, highest, last; /* lowest: the least y of the sheet */
    bool lowest_is_before;
    bool has_any;
    bool is_down; /* how it went on last */
    int n_turns;
} run;

static void add(run *r, int64_t column, ip_point at)
{
    if (!r->has_any) *r = (run){ column, at, at, at, at, true, true, false, 0 };
    if (at.y != r->last.y) {
        const bool is_down = at.y > r->last.y;
        if (r->n_turns == 0 || is_down != r->is_down) r->n_turns += r->n_turns < 4;
        r->is_down = is_down;
    }
    if (at.y < r->lowest.y) {
        r->lowest = at;
        r->lowest_is_before = false;
    }
    if (at.y > r->highest.y) {
        r->highest = at;
        r->lowest_is_before = true;
    }
    r->last = at;
}

/* As of all points: Jugel et al., M4: A Visualization-Oriented Time Series Data Aggregation, 2014. What goes up and
 * down again and again is everywhere in the column, so that goes through its middle. */
static void draw_run(const sheet *s, const run *r)
{
    const ip_point *a = r->lowest_is_before ? &r->lowest : &r->highest,
                   *b = r->lowest_is_before ? &r->highest : &r->lowest;
    ip_canvas_line(&s->canvas, r->first, *a, s->plot->thickness);
    ip_canvas_line(&s->canvas, *a, *b, s->plot->thickness);
    ip_canvas_line(&s->canvas, *b, r->last, s->plot->thickness);
    if (r->n_turns < 4) return;
    const double middle = (double)r->column + 0.5;
    ip_canvas_line(&s->canvas, (ip_point){ middle, r->lowest.y }, (ip_point){ middle, r->highest.y },
                   s->plot->thickness);
}

/* With more points than columns each column is drawn once, and a gap within it is not seen. */
static void draw_line(sheet *s, int64_t series)
{
    const bool is_dense = (double)length(s->plot) > s->area.x1 - s->area.x0;
    run now = { 0 };
    bool has_gap = false;
    for (int64_t k = 0; k < length(s->plot) && goes_on(s, 1); k++) {
        ip_point at;
        if (!place(s, series, k, &at)) {
            has_gap = true;
            continue;
        }
        const int64_t column = is_dense ? (int64_t)floor(at.x) : k;
        if (now.has_any && now.column != column) {
            draw_run(s, &now);
            if (!has_gap) ip_canvas_line(&s->canvas, now.last, at, s->plot->thickness);
            now.has_any = false;
        }
        add(&now, column, at);
        has_gap = false;
    }
    if (now.has_any) draw_run(s, &now);
}

static void draw_points(sheet *s, int64_t series)
{
    ip_point at;
    for (int64_t k = 0; k < length(s->plot) && goes_on(s, 1); k++)
        if (place(s, series, k, &at)) ip_canvas_line(&s->canvas, at, at, s->plot->thickness * 4);
}

static double zero_of_bars(const sheet *s) { return s->y.is_log ? s->area.y1 : fmin(place_y(s, 0), s->area.y1); }

/* More bars than fit: the area is cut into groups, each with a bar of whole columns for each series, which reaches
 * from the least to the largest of the bars that have their middles in the group. */
static void draw_narrow_bars(sheet *s, int64_t series, int64_t n_groups)
{
    const double zero = zero_of_bars(s), width = s->area.x1 - s->area.x0;
    const int64_t n = n_series(s->plot), n_bars = length(s->plot);
    run now = { 0 };
    for (int64_t k = 0; k <= n_bars && goes_on(s, 1); k++) {
        ip_point at = { 0, 0 };
        const bool is_end = k == n_bars;
        if (!is_end && !place(s, series, k, &at)) continue;
        const double share = (at.x - s->area.x0) / width * (double)n_groups;
        const int64_t group = (int64_t)fmin(fmax(share, 0), (double)n_groups - 1);
        if (now.has_any && (is_end || group != now.column)) {
            const double each = width / ((double)n_groups * (double)n), slot = (double)(now.column * n + series);
            const double left = s->area.x0 + floor(slot * each + 1e-9),
                         right = s->area.x0 + floor((slot + 1) * each + 1e-9);
            ip_canvas_fill(&s->canvas, (ip_point){ left, fmin(now.lowest.y, zero) },
                           (ip_point){ fmax(right, left + 1), fmax(now.highest.y, zero) });
            now.has_any = false;
        }
        add(&now, group, at);
    }
}

/* Bars of several series stand side by side. */
static void draw_bars(sheet *s, int64_t series)
{
    const ip_plot *p = s->plot;
    const double n = (double)n_series(p), zero = zero_of_bars(s);
    const int64_t n_groups = (int64_t)fmax(floor((s->area.x1 - s->area.x0) / n), 1);
    if (length(p) > n_groups) {
        draw_narrow_bars(s, series, n_groups);
        return;
    }
    for (int64_t k = 0; k < length(p) && goes_on(s, 1); k++) {
        ip_point at;
        if (!place(s, series, k, &at)) continue;
        const double x = x_of(p, k), half = fabs(p->dx) / 2;
        double left = s->x.is_log ? at.x - 2 : place_x(s, x - half),
               right = s->x.is_log ? at.x + 2 : place_x(s, x + half);
        const double share = right - left > 4 && (right - left) * 0.8 >= n ? 0.1 : 0, room = (right - left) * share;
        const double each = (right - left - 2 * room) / n;
        left += room + each * (double)series;
        right = left + each;
        if (share == 0) { /* between bars without room there is nothing to see, so they are of whole columns */
            left = round(left);
            right = fmax(round(right), left + 1);
        }
        ip_canvas_fill(&s->canvas, (ip_point){ fmax(left, s->area.x0), fmin(at.y, zero) },
                       (ip_point){ fmin(right, s->area.x1), fmax(at.y, zero) });
    }
}

static void draw_series(sheet *s)
{
    static void (*const draw[])(sheet *, int64_t) = { draw_line, draw_bars, draw_points };
    for (int64_t k = has_own_x(s->plot); k < n_series(s->plot) && goes_on(s, s->width * s->height); k++) {
        draw[s->plot->kind](s, k);
        lay_down(s, &series_colours[(k - has_own_x(s->plot)) % N_COLOURS], &s->area);
    }
}

static void draw_legend(sheet *s)
{
    const double size = s->plot->size, gap = size * 0.5;
    const box all = whole_sheet(s);
    if (!*s->plot->legend) return;
    ip_lettering l = letters(s, s->plot->legend, 1, 0);
    l.align = IP_ALIGN_LEFT;
    const ip_point words = ip_lettering_box(&l);
    const double x1 = s->area.x1 - gap, x0 = x1 - words.x - size * 2.5, y0 = s->area.y0 + gap;
    fill(s, round(x0), y0, x1, round(y0 + words.y + gap), &white);
    const char *line = s->plot->legend;
    for (int k = 0; line; k++) {
        const double y = floor(y0 + gap / 2 + size * 1.2 * (k + 0.5));
        fill(s, round(x0 + gap), y - 1, round(x0 + size * 1.8), y + 2, &series_colours[k % N_COLOURS]);
        line = strchr(line, '\n');
        line = line ? line + 1 : NULL;
    }
    ip_lettering_draw(&l, &s->canvas, round(x0 + size * 2.2), round(y0 + gap / 2));
    lay_down(s, &ink, &all);
}

/* ---- heat ---------------------------------------------------------------------------------------- */

static colour heat_of(const axis *of, double v)
{
    enum { LAST = sizeof heat_colours / sizeof *heat_colours - 1 };
    if (isnan(v)) return missing;
    const double t = fmin(fmax((v - of->lo) / (of->hi - of->lo), 0), 1) * LAST;
    const int k = (int)fmin(t, LAST - 1);
    colour c;
    for (int i = 0; i < 3; i++)
        c.rgb[i] = (unsigned char)(heat_colours[k].rgb[i] * (1 - (t - k)) + heat_colours[k + 1].rgb[i] * (t - k) + 0.5);
    return c;
}

static axis heat_range(const sheet *s)
{
    const ip_plot *p = s->plot;
    axis a = { NAN, NAN, false };
    for (int64_t y = 0; y < p->rows; y++)
        for (int64_t x = 0; x < p->columns && goes_on(s, 1); x++)
            widen_by(&a, p->at(p->user, y, x));
    finish_axis(&a, 0);
    take_limits(&a, p->lo, p->hi);
    return a;
}

/* Cells are as large as fits; a sheet's pixel shows the cell that its middle lies in. */
static void draw_cells(sheet *s, const axis *heat)
{
    const ip_plot *p = s->plot;
    const box a = s->area;
    for (double y = a.y0; y < a.y1 && p->rows > 0 && goes_on(s, s->width); y++)
        for (double x = a.x0; x < a.x1 && p->columns > 0; x++) {
            const int64_t row = (int64_t)((y + 0.5 - a.y0) / (a.y1 - a.y0) * (double)p->rows);
            const int64_t column = (int64_t)((x + 0.5 - a.x0) / (a.x1 - a.x0) * (double)p->columns);
            const colour c = heat_of(heat, p->at(p->user, row, column));
            fill(s, x, y, x + 1, y + 1, &c);
        }
}

static void draw_colour_bar(sheet *s, const axis *heat, const labels *l)
{
    const box a = s->area, all = whole_sheet(s);
    const double gap = s->plot->size * 0.5, x0 = round(a.x1 + gap * 1.5), x1 = x0 + COLOUR_BAR;
    char text[32];
    for (double y = a.y0; y < a.y1; y++) {
        const colour c = heat_of(heat, heat->hi + (y + 0.5 - a.y0) / (a.y1 - a.y0) * (heat->lo - heat->hi));
        fill(s, x0, y, x1, y + 1, &c);
    }
    for (int k = 0; k < l->ticks.n; k++) {
        const double v = l->ticks.first + k * l->ticks.step;
        const double y = floor(a.y1 - (v - heat->lo) / (heat->hi - heat->lo) * (a.y1 - a.y0));
        const ip_lettering words = letters(s, label_text(l, k, text), 1, 0);
        fill(s, x1, fmin(y, a.y1 - 1), x1 + 4, fmin(y, a.y1 - 1) + 1, &ink);
        write_words(s, &words, x1 + gap, y + 0.5, 0, 0.54);
    }
    lay_down(s, &ink, &all);
}

static void draw_heat(sheet *s)
{
    const axis heat = heat_range(s);
    const double size = s->plot->size;
    const labels bar = labels_of(&heat, ticks_for((double)s->height, size * 4));
    const labels y = labels_of(&s->y, ticks_for((double)s->height, size * 4));
    lay_out(s, &y, &bar);
    const labels x = labels_of(&s->x, ticks_for(s->area.x1 - s->area.x0, size * 5));
    draw_axes(s, &x, &y);
    draw_cells(s, &heat);
    draw_frame(s);
    draw_colour_bar(s, &heat, &bar);
}

imgpar_status ip_plot_draw(const ip_plot *plot, unsigned char *rgb, int64_t width, int64_t height,
                           imgpar_status (*ask)(void *user), void *user)
{
    ip_watch watch = { .ask = ask, .user = user };
    sheet s = { .plot = plot, .rgb = rgb, .width = width, .height = height };
    s.canvas = (ip_canvas){ ip_alloc((size_t)width * (size_t)height), width, height, &watch };
    if (!s.canvas.cover) return IMGPAR_E_HOST_MEMORY;
    memset(rgb, 255, (size_t)width * (size_t)height * 3);
    ip_canvas_clear(&s.canvas);
    find_axes(&s);
    if (plot->kind == IP_PLOT_HEAT) {
        draw_heat(&s);
    } else {
        const labels y = labels_of(&s.y, ticks_for((double)height, plot->size * 4));
        lay_out(&s, &y, NULL);
        const labels x = labels_of(&s.x, ticks_for(s.area.x1 - s.area.x0, plot->size * 6));
        draw_axes(&s, &x, &y);
        draw_series(&s);
        draw_frame(&s);
        draw_legend(&s);
    }
    ip_free(s.canvas.cover);
    return watch.status;
}
