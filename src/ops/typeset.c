/* SPDX-License-Identifier: MIT */
#include "ops/typeset.h"

#include "base/alloc.h"

#include <math.h>
#include <string.h>

enum { TAB = 8, MOST_BYTES = 1 << 20 };

/* ---- characters ---------------------------------------------------------------------------------- */

/* Characters that only tell what to do with others: where a font has none of them they are nothing. (Unicode's property
 * Default_Ignorable_Code_Point.) */
static bool is_ignorable(uint32_t code)
{
    static const uint32_t ranges[][2] = {
        { 0xad, 0xad },       { 0x34f, 0x34f },     { 0x61c, 0x61c },   { 0x115f, 0x1160 }, { 0x17b4, 0x17b5 },
        { 0x180b, 0x180f },   { 0x200b, 0x200f },   { 0x202a, 0x202e }, { 0x2060, 0x206f }, { 0x3164, 0x3164 },
        { 0xfe00, 0xfe0f },   { 0xfeff, 0xfeff },   { 0xffa0, 0xffa0 }, { 0xfff0, 0xfff8 }, { 0x1bca0, 0x1bca3 },
        { 0x1d173, 0x1d17a }, { 0xe0000, 0xe0fff },
    };
    for (size_t k = 0; k < sizeof ranges / sizeof *ranges; k++)
        if (code >= ranges[k][0] && code <= ranges[k][1]) return true;
    return false;
}

/* Where a font has no sign for what is missing: a frame. */
static const double frame[2][4][2] = { { { 0.1, 0 }, { 0.1, 0.7 }, { 0.5, 0.7 }, { 0.5, 0 } },
                                       { { 0.15, 0.05 }, { 0.45, 0.05 }, { 0.45, 0.65 }, { 0.15, 0.65 } } };

static imgpar_status measure(const ip_typeset *t, uint32_t glyph, ip_font_measures *m, ip_error *err)
{
    imgpar_status st = ip_font_measure(t->font, glyph, m, err);
    if (!glyph && !m->has_outline) *m = (ip_font_measures){ 0.6, 0.1, 0, 0.5, 0.7, true };
    return st;
}

/* ---- lines of letters ---------------------------------------------------------------------------- */

/* What is done with each letter; x is where it begins, in em, from the beginning of its line. */
typedef imgpar_status (*letter_function)(void *user, uint32_t glyph, double x, ip_error *err);

/* Walks one line, which ends with \n or the text; *length is how long it is, in em. each may be NULL. */
static imgpar_status walk_line(const ip_typeset *t, const char **at, letter_function each, void *user, double *length,
                               ip_error *err)
{
    ip_font_measures m;
    double x = 0;
    uint32_t before = 0;
    imgpar_status st = measure(t, ip_font_glyph(t->font, ' '), &m, err);
    const double column = TAB * m.advance;
    while (!st && **at && **at != '\n') {
        if (**at == '\t' || **at == '\r') {
            if (**at == '\t' && column > 0) x = (floor(x / column + 1e-9) + 1) * column;
            *at += 1;
            before = 0;
            continue;
        }
        const uint32_t code = ip_next_character(at), glyph = ip_font_glyph(t->font, code);
        if (!glyph && is_ignorable(code)) continue;
        x += ip_font_kern(t->font, before, glyph);
        st = measure(t, glyph, &m, err);
        if (!st && each) st = each(user, glyph, x, err);
        x += m.advance;
        before = glyph;
    }
    *length = x;
    return st;
}

/* Lines before they are turned, in pixels. */
typedef struct sheet {
    const ip_typeset *t;
    double width, ascent, above, pitch; /* above: from the top of a line to where its letters may begin */
    double x0, y0, x1, y1;              /* the box, in whole pixels; lines begin at 0, 0 */
    double line_x, baseline;            /* of the line that is looked at */
    struct outline *outline;            /* where it is drawn */
} sheet;

/* Upright lines stand on whole rows. */
static double baseline_of(const sheet *s, int64_t line)
{
    const double quarter = s->t->angle / 90, at = (double)line * s->pitch + s->above + s->ascent;
    return quarter == floor(quarter) ? round(at) : at;
}

/* Walks all lines, each where it belongs. */
static imgpar_status walk_lines(sheet *s, letter_function each, ip_error *err)
{
    const ip_typeset *t = s->t;
    int64_t line = 0;
    for (const char *at = t->words;; at++, line++) {
        const char *begin = at;
        double length;
        imgpar_status st = walk_line(t, &at, NULL, NULL, &length, err);
        const double free_x = s->width - length * t->size;
        s->line_x = t->align == IP_ALIGN_LEFT ? 0 : t->align == IP_ALIGN_RIGHT ? free_x : free_x / 2;
        s->baseline = baseline_of(s, line);
        if (!st) st = walk_line(t, &begin, each, s, &length, err);
        if (st || !*at) return st;
    }
}

/* Makes the box of a sheet as large as a letter is. */
static imgpar_status hold_letter(void *user, uint32_t glyph, double x, ip_error *err)
{
    sheet *s = user;
    ip_font_measures m;
    imgpar_status st = measure(s->t, glyph, &m, err);
    if (st || !m.has_outline) return st;
    const double size = s->t->size, left = s->line_x + x * size;
    s->x0 = fmin(s->x0, floor(left + m.x0 * size + 1e-6));
    s->x1 = fmax(s->x1, ceil(left + m.x1 * size - 1e-6));
    s->y0 = fmin(s->y0, floor(s->baseline - m.y1 * size + 1e-6));
    s->y1 = fmax(s->y1, ceil(s->baseline - m.y0 * size - 1e-6));
    return IMGPAR_OK;
}

static imgpar_status lay_out(sheet *s, const ip_typeset *t, ip_error *err)
{
    const ip_font_lines lines = ip_font_lines_of(t->font);
    int64_t n = 0;
    double longest = 0, length;
    imgpar_status st = IMGPAR_OK;
    if (strlen(t->words) > MOST_BYTES)
        return ip_fail(err, IMGPAR_E_LIMIT, "the words have %zu bytes; %d are the limit", strlen(t->words), MOST_BYTES);
    for (const char *at = t->words; !st; at++) {
        st = walk_line(t, &at, NULL, NULL, &length, err);
        longest = fmax(longest, length);
        n++;
        if (!*at) break;
    }
    *s = (sheet){ .t = t, .width = longest * t->size, .ascent = lines.ascent * t->size };
    s->pitch = (t->spacing == t->spacing ? t->spacing : lines.pitch) * t->size;
    s->above = (s->pitch - (lines.ascent + lines.descent) * t->size) / 2;
    s->x1 = fmax(ceil(s->width - 1e-6), 1);
    s->y1 = fmax(ceil((double)n * s->pitch - 1e-6), 1);
    return st ? st : walk_lines(s, hold_letter, err);
}

static ip_point box_of(const sheet *s)
{
    const ip_point flat = { s->x1 - s->x0, s->y1 - s->y0 };
    const ip_point a = ip_point_turned(flat, s->t->angle),
                   b = ip_point_turned((ip_point){ flat.x, -flat.y }, s->t->angle);
    return (ip_point){ ceil(fmax(fabs(a.x), fabs(b.x)) - 1e-6) + 2 * ceil(s->t->grow),
                       ceil(fmax(fabs(a.y), fabs(b.y)) - 1e-6) + 2 * ceil(s->t->grow) };
}

imgpar_status ip_typeset_box(const ip_typeset *t, ip_point *box, ip_error *err)
{
    sheet s;
    imgpar_status st = lay_out(&s, t, err);
    *box = st ? (ip_point){ 0, 0 } : box_of(&s);
    return st;
}

/* ---- outlines ------------------------------------------------------------------------------------ */

/* Straight edges of an outline on the canvas. */
typedef struct outline {
    const sheet *s;
    ip_point middle, half; /* of the box on the canvas; what is in the middle of the flat one */
    double x;              /* where the letter begins, on its line */
    double steps;          /* of a curve that bends by a pixel, squared */
    ip_edges edges;
    ip_point at;
    const ip_canvas *canvas;
} outline;

static ip_point on_canvas(const outline *o, const double p[2])
{
    const double size = o->s->t->size, x = o->s->line_x + (o->x + p[0]) * size, y = o->s->baseline - p[1] * size;
    const ip_point q = ip_point_turned((ip_point){ x - o->half.x, y - o->half.y }, o->s->t->angle);
    return (ip_point){ o->middle.x + q.x, o->middle.y + q.y };
}

static void go(outline *o, ip_point to)
{
    ip_edges_add(&o->edges, o->at, to);
    o->at = to;
}

/* Into how many edges a curve goes whose second difference is that long. */
static int steps_of(const outline *o, double bend)
{
    enum { MOST_STEPS = 500 };
    return (int)fmin(fmax(ceil(sqrt(bend * o->steps)), 1), MOST_STEPS);
}

static double second_difference(ip_point a, ip_point b, ip_point c)
{
    return hypot(a.x - 2 * b.x + c.x, a.y - 2 * b.y + c.y);
}

static void on_move(void *user, const double to[2])
{
    outline *o = user;
    o->at = on_canvas(o, to);
}

static void on_line(void *user, const double to[2])
{
    outline *o = user;
    go(o, on_canvas(o, to));
}

static void on_conic(void *user, const double control[2], const double to[2])
{
    outline *o = user;
    const ip_point a = o->at, b = on_canvas(o, control), c = on_canvas(o, to);
    const int n = steps_of(o, second_difference(a, b, c) / 4);
    for (int k = 1; k < n; k++) {
        const double t = (double)k / n, r = 1 - t;
        go(o, (ip_point){ r * r * a.x + 2 * r * t * b.x + t * t * c.x, r * r * a.y + 2 * r * t * b.y + t * t * c.y });
    }
    go(o, c);
}

static void on_cubic(void *user, const double control[4], const double to[2])
{
    outline *o = user;
    const ip_point a = o->at, b = on_canvas(o, control), c = on_canvas(o, control + 2), d = on_canvas(o, to);
    const int n = steps_of(o, fmax(second_difference(a, b, c), second_difference(b, c, d)) * 0.75);
    for (int k = 1; k < n; k++) {
        const double t = (double)k / n, r = 1 - t;
        const double u = r * r * r, v = 3 * r * r * t, w = 3 * r * t * t, z = t * t * t;
        go(o, (ip_point){ u * a.x + v * b.x + w * c.x + z * d.x, u * a.y + v * b.y + w * c.y + z * d.y });
    }
    go(o, d);
}

static imgpar_status trace(outline *o, uint32_t glyph, double x, ip_error *err)
{
    const ip_font_pen pen = { on_move, on_line, on_conic, on_cubic, o };
    ip_font_measures m;
    o->edges.n = 0;
    o->x = x;
    imgpar_status st = glyph ? IMGPAR_OK : ip_font_measure(o->s->t->font, glyph, &m, err);
    if (!st && (glyph || m.has_outline)) st = ip_font_walk(o->s->t->font, glyph, &pen, err);
    for (int k = 0; k < 2 && !st && !glyph && !m.has_outline; k++) {
        on_move(o, frame[k][3]);
        for (int i = 0; i < 4; i++)
            on_line(o, frame[k][i]);
    }
    return !st && o->edges.failed ? ip_fail_memory(err, "drawing letters") : st;
}

static imgpar_status asked(const ip_canvas *canvas) { return canvas->watch ? canvas->watch->status : IMGPAR_OK; }

static imgpar_status fill_letter(void *user, uint32_t glyph, double x, ip_error *err)
{
    outline *o = ((sheet *)user)->outline;
    enum { GLYPH_WORK = 1000 };
    ip_watch_goes_on(o->canvas->watch, GLYPH_WORK);
    imgpar_status st = trace(o, glyph, x, err);
    if (!st && !ip_canvas_area(o->canvas, &o->edges)) st = ip_fail_memory(err, "drawing letters");
    return st ? st : asked(o->canvas);
}

static imgpar_status line_letter(void *user, uint32_t glyph, double x, ip_error *err)
{
    outline *o = ((sheet *)user)->outline;
    imgpar_status st = trace(o, glyph, x, err);
    for (size_t k = 0; k < o->edges.n && !st && !asked(o->canvas); k++)
        ip_canvas_line(o->canvas, o->edges.at[k].from, o->edges.at[k].to, 2 * o->s->t->grow);
    return st ? st : asked(o->canvas);
}

/* Letters that grow are their areas, widened at the edges, and lines along their outlines, with round ends. */
imgpar_status ip_typeset_draw(const ip_typeset *t, const ip_canvas *canvas, ip_error *err)
{
    enum { FINE = 512, COARSE = 16 }; /* edges are closer to their curve than so many parts of a pixel */
    sheet s;
    ip_canvas_clear(canvas);
    imgpar_status st = lay_out(&s, t, err);
    if (st) return st;
    const ip_point box = box_of(&s);
    outline o = { .s = &s,
                  .canvas = canvas,
                  .middle = { box.x / 2, box.y / 2 },
                  .half = { (s.x0 + s.x1) / 2, (s.y0 + s.y1) / 2 },
                  .steps = FINE };
    s.outline = &o;
    st = walk_lines(&s, fill_letter, err);
    if (!st && t->grow > 0) {
        o.steps = COARSE;
        ip_canvas_widen(canvas, t->grow);
        st = walk_lines(&s, line_letter, err);
    }
    ip_edges_free(&o.edges);
    return st;
}
