/* SPDX-License-Identifier: MIT */
/*
 * Pixels that read others at computed places, rows and columns, within a border.
 *
 * Note [Pixels at computed places]
 * Where a pixel is read at places that are computed, as in a rotation, most blocks of a row read nothing beyond the
 * edges. So a block is made in two loops: the first, of vectors, computes what the channels of a pixel share, the
 * places above all, and the greatest index along each axis, as a number without sign: that tells whether any lies
 * beyond the edges. If none does, the second makes pixels without a border. It is one of vectors where pixels are
 * small, which are gathered as words (emit_gather.c, Note [Gathered words]), several that lie side by side in one. Else
 * pixels are made as they come, their channels the lanes of a vector (emit_lanes.c, Note [Channels as lanes]). Other
 * blocks are made by a loop of vectors with borders, of which each tap is a word. All give the same values.
 *
 * Note [Places prefetched]
 * A processor foresees runs of memory, but not what lies along a slanted line, and a vector of gathers waits for the
 * farthest line of the cache. So a block of a large picture that reads nothing beyond the edges prefetches what the
 * block a few rows below it will read, into the second-level cache (ip_prefetch_places() in shaders/places.cl). Where
 * that is follows from the block itself: how places move along it, turned by a right angle, is how they move down, as
 * in every rotation, and about so in pictures of lenses and perspectives. Where it is not so, as in a mirrored picture,
 * nothing is lost but the prefetches. (Rotations, perspectives and maps of 12 megapixels take about half of the time
 * so, together with panels as wide as PLACES_COLUMNS in run/division.c.)
 */
#include "base/dtype.h"
#include "compile/emit.h"

enum { BLOCK = 64 };

/* ---- the loops --------------------------------------------------------------------------------------- */

/* Indices along an axis of a source, lo to hi from what they have in common. */
typedef struct tested {
    const ip_stage *source;
    ip_expr *base;
    int dim;
    int64_t lo, hi;
    const char *most; /* the variable that collects the greatest, as a number without sign: less than 0 is large */
} tested;

typedef struct tests {
    ip_emit *e;
    tested of[3 * IP_MOST_SHARED];
    int n;
    bool fits;
} tests;

static void note_index(tests *t, const ip_expr *load, int dim)
{
    enum { MOST = sizeof t->of / sizeof *t->of };
    ip_expr *index = load->arg[dim], *base = ip_without_number(index);
    const int64_t by = index == base ? 0 : index->arg[1]->i;
    for (int k = 0; k < t->n; k++) {
        tested *of = &t->of[k];
        if (of->base != base || of->source != load->source || of->dim != dim) continue;
        of->lo = by < of->lo ? by : of->lo;
        of->hi = by > of->hi ? by : of->hi;
        return;
    }
    t->fits = t->fits && t->n < MOST;
    if (t->n < MOST) t->of[t->n++] = (tested){ load->source, base, dim, by, by, NULL };
}

/* Of values without a border. */
static bool note_indices(ip_expr *x, void *user)
{
    tests *t = user;
    if (!ip_reads_far(t->e->ir, x)) return true;
    for (int dim = 0; dim < 3; dim++)
        if (dim != 0 || !ip_reads_own_index(x, 0, t->e->domain[0])) note_index(t, x, dim);
    return false;
}

/* Before the loop, in it, and behind it: whether one of them is outside, as are words that end behind a row. */
static void begin_tests(tests *t)
{
    for (int k = 0; k < t->n; k++) {
        t->of[k].most = ip_text(t->e->ir, "most%d", t->e->n_values++);
        ip_emit_var(t->e, "uint", t->of[k].most, "0");
    }
}

static void test_indices(tests *t)
{
    for (int k = 0; k < t->n; k++) {
        const tested *of = &t->of[k];
        ip_emit_set(t->e, of->most,
                    ip_text(t->e->ir, "max(%s, (uint)(%s))", of->most,
                            ip_text_plus(t->e->ir, ip_emit_variable(t->e, of->base), of->lo)));
    }
}

static const char *end_tests(tests *t, bool are_words)
{
    const char *outside = ip_text(t->e->ir, "outside%d", t->e->n_values++), *text = t->fits ? "0" : "1";
    for (int k = 0; k < t->n; k++) {
        const tested *of = &t->of[k];
        int64_t behind = of->hi - of->lo;
        if (of->dim == 2 && are_words) behind = ip_gathered_columns(of->source, behind + 1) - 1;
        text = ip_text(t->e->ir, "%s | (%s >= (uint)max(%s - %lld, 0))", text, of->most,
                       ip_emit_dim(t->e, of->source, of->dim), (long long)behind);
    }
    ip_emit_let_int(t->e, outside, text);
    return outside;
}

static const char *array_named(const ip_named *named, const ip_expr *x)
{
    for (int k = 0; k < named->n; k++)
        if (named->of[k] == x) return named->arrays[k];
    return NULL;
}

/* What pixels below p to p + n will read: Note [Places prefetched]. */
static void prefetch_places(ip_emit *e, const ip_places *places, const ip_named *named, const char *outside)
{
    if (!e->options->device.has_clang_builtins) return;
    const char *is_large = ip_emit_slot(e, IP_SLOT_PREFETCHES);
    ip_stmt *when = ip_emit_if(e, ip_text(e->ir, "%s != 0 & !%s", is_large, outside));
    for (int k = 0; k < places->n_prefetched; k++) {
        const ip_expr *load = places->prefetched[k];
        const ip_stage *s = load->source;
        const char *z = ip_x_is_coord(load->arg[0], 0) ? "z" : "0";
        ip_s_add(
            e->ir, when, IP_S_STORE,
            ip_text(e->ir, "ip_prefetch_places((__global const uchar *)(%s), %s, %s, n, (long)%s, %d)",
                    ip_emit_buffer_row(e, s, z, "0"), array_named(named, ip_without_number(load->arg[1])),
                    array_named(named, ip_without_number(load->arg[2])),
                    ip_text_times(e->ir, ip_emit_slot_of(e, IP_SLOT_PITCH, s), (int)ip_dtype(s->dtype)->size_bytes),
                    ip_pixel_bytes(s)),
            NULL, NULL);
    }
}

static void name_all(ip_emit *e, const ip_named *named)
{
    for (int k = 0; k < named->n; k++)
        ip_emit_name(e, named->of[k], ip_text(e->ir, "%s[x - p]", named->arrays[k]));
}

static const char *array_of(ip_emit *e, const ip_expr *x)
{
    const char *name = ip_text(e->ir, "shared%d", e->n_values++);
    ip_emit_var(e, ip_cl_type(x->dtype), ip_text(e->ir, "%s[%d]", name, BLOCK), NULL);
    return name;
}

/* Computes what pixels p to p + n share; the variable that tells whether they read beyond the edges. */
static const char *compute_shared(ip_emit *e, const ip_places *places, const ip_named *named)
{
    tests t = { .e = e, .fits = true };
    ip_x_descend(e->ir, places->inner, note_indices, &t);
    begin_tests(&t);
    ip_mark mark = ip_emit_enter(e, ip_emit_vectors(e, "x", "p", "p + n", places->shared_width));
    e->coord[2] = "x";
    ip_emit_count_uses(e, named->of, named->n);
    for (int k = 0; k < named->n; k++)
        ip_emit_set(e, ip_text(e->ir, "%s[x - p]", named->arrays[k]), ip_emit_variable(e, named->of[k]));
    test_indices(&t);
    e->coord[2] = NULL;
    ip_emit_leave(e, mark);
    return end_tests(&t, places->are_words);
}

/* Pixels p to p + n as they come; what is named has been computed. is_inside: so are all words that they read. */
static void make_pixels(ip_emit *e, const ip_columns *c, ip_expr *body, const ip_elements *elements,
                        const ip_named *named, bool is_inside)
{
    name_all(e, named);
    e->words_are_inside = is_inside;
    ip_emit_plain_row(
        e,
        &(ip_columns){
            .stage = c->stage, .body = body, .elements = elements, .target = c->target, .from = "p", .to = "p + n" });
    e->words_are_inside = false;
}

/* Pixels p to p + n of a block, of which it is known whether they read beyond the edges. */
static void make_block(ip_emit *e, const ip_columns *c, ip_expr *inner, const ip_named *named, bool are_words,
                       const char *outside)
{
    ip_mark of_inner = ip_emit_enter(e, ip_emit_if(e, ip_text(e->ir, "!%s", outside)));
    if (are_words)
        make_pixels(e, c, inner, &c->segment->places->elements, named, true);
    else
        ip_emit_lanes_block(e, &(ip_columns){ .stage = c->stage, .body = inner, .target = c->target },
                            c->segment->places, BLOCK, named);
    ip_emit_leave(e, of_inner);

    ip_mark of_edges = ip_emit_enter(e, ip_emit_if(e, outside));
    make_pixels(e, c, c->body, c->elements, named, false);
    ip_emit_leave(e, of_edges);
}

void ip_emit_places_row(ip_emit *e, const ip_columns *c)
{
    const ip_places *places = c->segment->places;
    const char *arrays[IP_MOST_SHARED];
    ip_stmt *blocks = ip_emit_for(e, "p", c->from, c->to);
    blocks->d = ip_text(e->ir, "%d", BLOCK);
    blocks->parallel = IP_FEW;
    ip_mark mark = ip_emit_enter(e, blocks);
    ip_emit_let_int(e, "n", ip_text(e->ir, "min(%s - p, %d)", c->to, BLOCK));
    for (int k = 0; k < places->n_shared; k++)
        arrays[k] = array_of(e, places->shared[k]);
    const ip_named named = { places->shared, arrays, places->n_shared };
    const char *outside = compute_shared(e, places, &named);
    prefetch_places(e, places, &named, outside);
    make_block(e, c, places->inner, &named, places->are_words, outside);
    ip_emit_leave(e, mark);
}
