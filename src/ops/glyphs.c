/* SPDX-License-Identifier: MIT */
#include "ops/glyphs.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- the font ------------------------------------------------------------------------------------ */

enum { DRAWN, ACCENTED, SMALLER, SAME };

typedef struct glyph {
    uint32_t code;
    int kind;
    double left, right; /* of SMALLER: left is by how much it is raised */
    const char *path;
    uint32_t base, accent;
} glyph;

#define GLYPH(CODE, LEFT, RIGHT, PATH) { CODE, DRAWN, LEFT, RIGHT, PATH, 0, 0 },
#define COMPOSED(CODE, BASE, ACCENT) { CODE, ACCENTED, 0, 0, "", BASE, ACCENT },
#define REDUCED(CODE, BASE, RAISED) { CODE, SMALLER, RAISED, 0, "", BASE, 0 },
#define ALIAS(CODE, OTHER) { CODE, SAME, 0, 0, "", OTHER, 0 },
static const glyph glyphs[] = {
#include "ops/glyphs.def"
};
#undef GLYPH
#undef COMPOSED
#undef REDUCED
#undef ALIAS
enum { N_GLYPHS = sizeof glyphs / sizeof *glyphs, UNKNOWN = IP_UNKNOWN_CHARACTER };

static const double reduced = 2.0 / 3;

static const glyph *find(uint32_t code)
{
    for (int k = 0; k < N_GLYPHS; k++)
        if (glyphs[k].code == code) return glyphs[k].kind == SAME ? find(glyphs[k].base) : &glyphs[k];
    return find(UNKNOWN);
}

/* ---- paths --------------------------------------------------------------------------------------- */

/* Where lines go to: drawn, or measured. */
typedef struct pen {
    void (*line)(void *user, ip_point from, ip_point to, double dot); /* dot: how many widths the stroke is wide */
    void *user;
    double scale, dx, dy; /* of what is drawn now */
    double steps;         /* into how many lines a quarter of a curve goes */
    ip_point at;          /* where the stroke is, before scale */
    bool is_down;
} pen;

static ip_point placed(const pen *p, ip_point q)
{
    return (ip_point){ q.x * p->scale + p->dx, q.y * p->scale + p->dy };
}

static void go(pen *p, ip_point to)
{
    p->line(p->user, placed(p, p->at), placed(p, to), 1);
    p->at = to;
}

static void dot(pen *p, ip_point at)
{
    p->line(p->user, placed(p, at), placed(p, at), 1.3);
    p->is_down = false;
}

/* |x|^k + |y|^k = 1 with k somewhat above 2: letters whose sides are straighter. */
static double squarer(double v) { return copysign(pow(fabs(v), 0.88), v); }

static ip_point on_arc(const double *n, double degrees)
{
    const double quarter = degrees / 90, a = degrees * (3.14159265358979323846 / 180);
    const bool is_end = quarter == floor(quarter); /* cos(90) is not 0 */
    const double c = is_end ? (double)((int[]){ 1, 0, -1, 0 })[(int)quarter & 3] : cos(a);
    const double s = is_end ? (double)((int[]){ 0, 1, 0, -1 })[(int)quarter & 3] : sin(a);
    return (ip_point){ n[0] + n[2] * squarer(c), n[1] + n[3] * squarer(s) };
}

static void arc(pen *p, const double *n, double from, double to)
{
    const int steps = (int)ceil(p->steps * fabs(to - from) / 90);
    if (p->is_down)
        go(p, on_arc(n, from));
    else
        p->at = on_arc(n, from);
    for (int k = 1; k <= steps; k++)
        go(p, on_arc(n, k == steps ? to : from + (to - from) * k / steps));
    p->is_down = true;
}

static void cubic(pen *p, const double *n)
{
    const ip_point a = p->at;
    const int steps = (int)p->steps + 2;
    for (int k = 1; k <= steps; k++) {
        const double t = (double)k / steps, r = 1 - t;
        const double w0 = r * r * r, w1 = 3 * r * r * t, w2 = 3 * r * t * t, w3 = t * t * t;
        go(p, (ip_point){ w0 * a.x + w1 * n[0] + w2 * n[2] + w3 * n[4], w0 * a.y + w1 * n[1] + w2 * n[3] + w3 * n[5] });
    }
}

static void walk_path(pen *p, const char *path)
{
    static const struct {
        char letter, count;
    } commands[] = { { 'M', 2 }, { 'L', 2 }, { 'H', 1 }, { 'V', 1 }, { 'C', 6 }, { 'E', 6 }, { 'O', 4 }, { 'D', 2 } };
    p->is_down = false;
    while (*path) {
        const char letter = *path++;
        double n[6] = { 0 };
        for (size_t k = 0; k < sizeof commands / sizeof *commands; k++)
            for (int i = 0; commands[k].letter == letter && i < commands[k].count; i++) {
                /* strtod() knows locales */
                while (*path == ' ')
                    path++;
                const bool is_negative = *path == '-';
                double unit = 1;
                for (path += is_negative; isdigit((unsigned char)*path); path++)
                    n[i] = n[i] * 10 + (*path - '0');
                for (path += *path == '.'; isdigit((unsigned char)*path); path++)
                    n[i] += (*path - '0') * (unit /= 10);
                if (is_negative) n[i] = -n[i];
            }
        switch (letter) {
        case 'M':
            p->at = (ip_point){ n[0], n[1] };
            p->is_down = true;
            break;
        case 'L': go(p, (ip_point){ n[0], n[1] }); break;
        case 'H': go(p, (ip_point){ n[0], p->at.y }); break;
        case 'V': go(p, (ip_point){ p->at.x, n[0] }); break;
        case 'C': cubic(p, n); break;
        case 'E': arc(p, n, n[4], n[5]); break;
        case 'O':
            p->is_down = false;
            arc(p, n, 0, 360);
            break;
        case 'D': dot(p, (ip_point){ n[0], n[1] }); break;
        default: break; /* a space */
        }
    }
}

/* ---- the measures of a glyph --------------------------------------------------------------------- */

typedef struct extent {
    double x0, x1; /* of the middles of strokes; without any 0 */
    bool has_any;
} extent;

static void note(void *user, ip_point from, ip_point to, double width)
{
    extent *e = user;
    (void)width;
    const double lo = fmin(from.x, to.x), hi = fmax(from.x, to.x);
    e->x0 = e->has_any ? fmin(e->x0, lo) : lo;
    e->x1 = e->has_any ? fmax(e->x1, hi) : hi;
    e->has_any = true;
}

static extent extent_of(const char *path)
{
    extent e = { 0 };
    pen p = { .line = note, .user = &e, .scale = 1, .steps = 4 };
    walk_path(&p, path);
    return e;
}

/* left: from where it begins to x = 0 of its path; extents of that path. */
typedef struct measures {
    double advance, left;
    extent e;
} measures;

static measures measures_of(const glyph *g)
{
    if (g->kind == ACCENTED) return measures_of(find(g->base));
    if (g->kind == SMALLER) {
        measures m = measures_of(find(g->base));
        const double beside = 7;
        m.left = beside;
        m.e.x1 = (m.e.x1 - m.e.x0) * reduced;
        m.e.x0 = 0;
        m.advance = m.e.x1 + 2 * beside;
        return m;
    }
    measures m = { .e = extent_of(g->path) };
    const double width = m.e.x1 - m.e.x0;
    m.advance = g->right < 0 ? -g->right : g->left + width + g->right;
    m.left = (g->right < 0 ? (m.advance - width) / 2 : g->left) - m.e.x0;
    return m;
}

/* Draws it with x = 0 of its path at the pen's place. */
static void walk_glyph(pen *p, const glyph *g)
{
    const pen origin = *p;
    if (g->kind == ACCENTED) {
        enum { HIGHER = 20 };
        const glyph *base = find(g->base), *accent = find(g->accent);
        const bool is_capital = g->base < 128 && isupper((int)g->base), is_under = g->accent == 0xb8;
        const extent e = extent_of(base->path), a = extent_of(accent->path);
        walk_glyph(p, base);
        const double across = (e.x0 + e.x1 - a.x0 - a.x1) / 2;
        p->dx = origin.dx + across * origin.scale;
        p->dy = origin.dy + (is_capital && !is_under ? HIGHER : 0) * origin.scale;
        walk_path(p, accent->path);
    } else if (g->kind == SMALLER) {
        const glyph *base = find(g->base);
        p->scale = origin.scale * reduced;
        p->dx = origin.dx - extent_of(base->path).x0 * p->scale;
        p->dy = origin.dy + g->left * origin.scale;
        walk_path(p, base->path);
    } else {
        walk_path(p, g->path);
    }
    p->dx = origin.dx;
    p->dy = origin.dy;
    p->scale = origin.scale;
}

/* ---- lines of letters ---------------------------------------------------------------------------- */

uint32_t ip_next_character(const char **at)
{
    const unsigned char *s = (const unsigned char *)*at;
    const int more = s[0] < 0x80                   ? 0
                     : s[0] >= 0xc2 && s[0] < 0xe0 ? 1
                     : s[0] >= 0xe0 && s[0] < 0xf0 ? 2
                     : s[0] >= 0xf0 && s[0] < 0xf5 ? 3
                                                   : -1;
    *at += 1;
    if (more < 0) return UNKNOWN;
    uint32_t code = more ? s[0] & (0x3fu >> more) : s[0];
    for (int k = 1; k <= more; k++) {
        if ((s[k] & 0xc0) != 0x80) return UNKNOWN;
        code = code << 6 | (s[k] & 0x3f);
    }
    *at += more;
    return code < 0x20 || code == 0x7f ? UNKNOWN : code;
}

/* Pairs that stand closer, in hundredths of the size. */
static double kern(uint32_t a, uint32_t b)
{
    static const struct {
        char first[8], second[24];
        double by;
    } rows[] = { { "AL", "TVWY'\"", 8 }, { "TVWY", "A", 8 },  { "TVWY", "acdegmnopqrsuvwxyz", 6 },
                 { "FPTVWY", ".,", 12 }, { "rvwy", ".,", 7 }, { "A", "vwy", 3 },
                 { "L", "vy", 5 },       { "K", "oecav", 3 }, { "P", "A", 7 },
                 { "R", "TVWY", 3 },     { "F", "Aa", 5 },    { "O", "AVTY", 2 },
                 { ".,", "'\"", 8 } };
    if (a >= 128 || b >= 128 || !a || !b) return 0;
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
        if (strchr(rows[k].first, (int)a) && strchr(rows[k].second, (int)b)) return -rows[k].by;
    return 0;
}

enum { TAB = 8 };

/* How wide strokes are, in hundredths. */
static double stroke_of(const ip_lettering *l) { return l->weight / 50; }
/* What heavier letters are wider apart. */
static double apart(const ip_lettering *l) { return fmax(stroke_of(l) - 8, 0) * 0.6; }

/* Walks one line, which ends with \n or the text, and returns how long it is, in hundredths. each, if any, is told of
 * every glyph and where it begins. */
static double walk_line(const ip_lettering *l, const char **at, void (*each)(void *user, const glyph *g, double x),
                        void *user)
{
    double x = 0;
    uint32_t before = 0;
    while (**at && **at != '\n') {
        if (**at == '\t' || **at == '\r') {
            const double column = TAB * (measures_of(find(' ')).advance + apart(l));
            if (**at == '\t') x = (floor(x / column + 1e-9) + 1) * column;
            *at += 1;
            before = 0;
            continue;
        }
        const uint32_t code = ip_next_character(at);
        const glyph *g = find(code);
        x += kern(before, code);
        if (each) each(user, g, x);
        x += measures_of(g).advance + (g->path[0] || g->kind != DRAWN ? apart(l) : 0);
        before = code;
    }
    return x;
}

/* Columns and lines before it is turned, in pixels. */
static ip_point flat_box(const ip_lettering *l)
{
    ip_point box = { 0, 0 };
    for (const char *at = l->words;; at++) {
        box.x = fmax(box.x, walk_line(l, &at, NULL, NULL) * l->size / 100);
        box.y += l->size * l->spacing;
        if (!*at) return box;
    }
}

ip_point ip_lettering_box(const ip_lettering *l)
{
    const ip_point box = flat_box(l), a = ip_point_turned(box, l->angle),
                   b = ip_point_turned((ip_point){ box.x, -box.y }, l->angle);
    return (ip_point){ fmax(fabs(a.x), fabs(b.x)) + 2 * l->grow, fmax(fabs(a.y), fabs(b.y)) + 2 * l->grow };
}

/* ---- drawing ------------------------------------------------------------------------------------- */

/*
 * Note [Letters on the grid]
 * Strokes along rows and columns are sharp where their edges are those of pixels. So what stands upright is moved by
 * less than a pixel: the baseline, the x-height and the heights of capitals and ascenders to whole rows, what lies
 * between them in proportion. Of small letters, as people read them, the outermost strokes of a glyph come to whole
 * columns, too.
 */
enum { SMALL_SIZE = 40, N_LEVELS = 5 };
static const double levels[N_LEVELS] = { -19.5, 0, 45, 64, 68 };

typedef struct drawing {
    const ip_lettering *l;
    const ip_canvas *canvas;
    ip_point middle, half;      /* of the box on the canvas; half of the flat one */
    double baseline, line_x;    /* of the line, in the flat box */
    double width;               /* of strokes, without what they grow */
    double at_levels[N_LEVELS]; /* above the baseline, in pixels */
    bool on_grid;
    /* of the glyph: pixels of x = 0 and pixels a hundredth */
    double glyph_x, glyph_scale;
} drawing;

static double height_of(const drawing *d, double y)
{
    int k = 0;
    while (k < N_LEVELS - 2 && y > levels[k + 1])
        k++;
    const double t = (y - levels[k]) / (levels[k + 1] - levels[k]);
    return d->at_levels[k] + t * (d->at_levels[k + 1] - d->at_levels[k]);
}

static ip_point on_canvas(const drawing *d, ip_point p)
{
    const double x = d->glyph_x + p.x * d->glyph_scale, y = d->baseline - height_of(d, p.y);
    const ip_point q = ip_point_turned((ip_point){ x - d->half.x, y - d->half.y }, d->l->angle);
    return (ip_point){ d->middle.x + q.x, d->middle.y + q.y };
}

static void draw_stroke(void *user, ip_point from, ip_point to, double dot_widths)
{
    const drawing *d = user;
    ip_canvas_line(d->canvas, on_canvas(d, from), on_canvas(d, to), d->width * dot_widths + 2 * d->l->grow);
}

static void draw_glyph(void *user, const glyph *g, double x)
{
    drawing *d = user;
    enum { GLYPH_WORK = 1000 }; /* of its path, wherever it lies */
    if (!ip_watch_goes_on(d->canvas->watch, GLYPH_WORK)) return;
    const measures m = measures_of(g);
    const double scale = d->l->size / 100, half = d->width / 2;
    double first = d->line_x + (x + m.left + m.e.x0 + apart(d->l) / 2) * scale;
    d->glyph_scale = scale;
    if (d->on_grid && d->l->size <= SMALL_SIZE) {
        const double width = m.e.x1 - m.e.x0, whole = round(width * scale);
        const double left = d->middle.x - d->half.x; /* of the box, on the canvas */
        first = round(left + first - half) + half - left;
        if (width > 0 && whole >= 1) d->glyph_scale = whole / width;
    }
    d->glyph_x = first - m.e.x0 * d->glyph_scale;
    pen p = { .line = draw_stroke, .user = d, .scale = 1, .steps = fmin(fmax(sqrt(d->l->size), 4), 40) };
    walk_glyph(&p, g);
}

/* Note [Letters on the grid]; top is that of the line on the canvas. */
static void set_levels(drawing *d, double top)
{
    const double scale = d->l->size / 100, half = d->width / 2;
    for (int k = 0; k < N_LEVELS; k++)
        d->at_levels[k] = levels[k] * scale;
    if (!d->on_grid) return;
    const double below = round(top + d->baseline + half) - (top + d->baseline + half); /* by how much it goes down */
    d->baseline += below;
    for (int k = 0; k < N_LEVELS; k++) {
        const double out = levels[k] < 0 ? -half : half; /* the edge that is seen */
        if (levels[k] != 0) d->at_levels[k] = round(d->at_levels[k] + out + half) - out - half;
    }
    if (d->at_levels[4] <= d->at_levels[3]) d->at_levels[4] = d->at_levels[3] + (levels[4] - levels[3]) * scale;
}

void ip_lettering_draw(const ip_lettering *l, const ip_canvas *canvas, double x, double y)
{
    const ip_point flat = flat_box(l), box = ip_lettering_box(l);
    drawing d = { .l = l,
                  .canvas = canvas,
                  .middle = { x + box.x / 2, y + box.y / 2 },
                  .half = { flat.x / 2, flat.y / 2 },
                  .width = stroke_of(l) * l->size / 100,
                  .on_grid = l->angle == 0 };
    double top = 0;
    for (const char *at = l->words;; at++, top += l->size * l->spacing) {
        const char *line = at;
        const double length = walk_line(l, &at, NULL, NULL) * l->size / 100, free_x = flat.x - length;
        d.line_x = l->align == IP_ALIGN_LEFT ? 0 : l->align == IP_ALIGN_RIGHT ? free_x : free_x / 2;
        /* capitals with accents reach 90 up, descenders 24 down */
        d.baseline = top + l->size * (0.90 + (l->spacing - 1.16) / 2);
        set_levels(&d, d.middle.y - d.half.y);
        walk_line(l, &line, draw_glyph, &d);
        if (!*at) return;
    }
}
