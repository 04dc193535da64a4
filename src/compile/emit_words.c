/* SPDX-License-Identifier: MIT */
/*
 * Rows of results of small elements, in tiles.
 *
 * Note [Words of results]
 * A GPU moves 32 bits a work-item as quickly as 8. Results of small elements are stored as whole words: each work-item
 * makes those of one where the loop is over elements, and else as many pixels as whole words hold. What these read of
 * their own places in memory is read as words, too, where it lies in such: rows of equal pitch do, whatever their
 * width. A word that the tile's edge cuts is made element by element. (Nor are there words in checked mode, which looks
 * at every element.)
 */
#include "base/dtype.h"
#include "compile/emit_tiles.h"

enum {
    WORD = 4,               /* bytes */
    MOST_WORDS = 4,         /* that a work-item has of a source at a time */
    MOST_SOURCES = 8,       /* rows of them */
    WORDS_OPERATIONS = 256, /* that are written out, with indices that registers have */
};

/* A row in memory of which words are read. */
typedef struct source {
    const ip_expr *load;
    const char *name;
    int each; /* elements an iteration */
} source;

/* What a work-item makes at a time: so many elements of the flat row, or pixels. */
typedef struct words {
    ip_emit *e;
    const ip_placed *p;
    bool flat;
    int n, each; /* iterations, 2 or 4; elements an iteration */
    ip_expr *bodies[IP_WRITTEN_CHANNELS];
    source sources[MOST_SOURCES];
    int n_sources;
} words;

static int size_of(const ip_stage *s) { return (int)ip_dtype(s->dtype)->size_bytes; }

static const char *number(ip_emit *e, int n) { return ip_text(e->ir, "%d", n); }

int ip_tile_word(const ip_emit *e, const ip_placed *p)
{
    const ip_stage *s = p->stage;
    return p->place == IP_PLACE_NONE && s->dtype != IMGPAR_F16 && size_of(s) < WORD && !e->options->checks
               ? WORD / size_of(s)
               : 1;
}

/* ---- what is read as words ------------------------------------------------------------------------ */

/* Of pixels' own places, from memory. */
static bool is_of_own_place(const words *w, const ip_expr *load)
{
    const ip_emit *e = w->e;
    const ip_stage *s = load->source;
    const ip_expr *c = load->arg[3];
    bool varies = (load->arg[0]->uses | load->arg[1]->uses) & ~(IP_USES_Z | IP_USES_Y);
    bool fits = w->flat ? s->dims[3] == e->channels : c->op == IP_X_CONST && c->i >= 0 && c->i < s->dims[3];
    return s->kind != IP_STAGE_TABLE && !ip_kernel_placed(e->kernel, s) && !ip_kernel_texture(e->kernel, s) &&
           load->border == IP_BORDER_NONE && !varies && fits && ip_x_is_coord(load->arg[2], 2);
}

/* The row that the load reads, if it is noted. */
static const source *source_of(const words *w, const ip_expr *load)
{
    for (int k = 0; k < w->n_sources; k++) {
        const ip_expr *of = w->sources[k].load;
        if (of->source == load->source && of->arg[0] == load->arg[0] && of->arg[1] == load->arg[1])
            return &w->sources[k];
    }
    return NULL;
}

static void note_source(ip_expr *load, void *user)
{
    words *w = user;
    if (load->op != IP_X_LOAD || w->n_sources == MOST_SOURCES || !is_of_own_place(w, load)) return;
    const ip_stage *s = load->source;
    const int each = w->flat ? 1 : (int)s->dims[3], bytes = w->n * each * size_of(s);
    if (s->dtype == IMGPAR_F16 || size_of(s) >= WORD || bytes % WORD != 0 || bytes > MOST_WORDS * WORD) return;
    if (source_of(w, load)) return;
    w->sources[w->n_sources] = (source){ load, ip_text(w->e->ir, "in%d", w->n_sources), each };
    w->n_sources++;
}

/* Elements of the rows for all iterations into arrays, which are registers: all their indices are numbers. */
static void read_words(const words *w)
{
    ip_emit *e = w->e;
    for (int k = 0; k < w->n_sources; k++) {
        const source *from = &w->sources[k];
        const ip_stage *s = from->load->source;
        const int word = WORD / size_of(s), n = w->n * from->each;
        const char *type = ip_dtype(s->dtype)->cl, *row = ip_emit_row_pointer(e, from->load),
                   *at = ip_text(e->ir, "%s + %s", row, ip_text_times(e->ir, "at", from->each));
        ip_emit_var(e, type, ip_text(e->ir, "%s[%d]", from->name, n), NULL);
        ip_emit_let_int(e, ip_text(e->ir, "in_words%d", k),
                        ip_text(e->ir, "((%s - %s) & %d) == 0", at, ip_emit_buffer(e, s), word - 1));
        ip_mark mark = ip_emit_enter(e, ip_emit_if(e, ip_text(e->ir, "in_words%d", k)));
        for (int j = 0; j < n / word; j++)
            ip_emit_do(e, ip_text(e->ir, "vstore%d(as_%s%d(((__global const uint *)(%s))[%d]), %d, %s)", word, type,
                                  word, at, j, j, from->name));
        ip_emit_leave(e, mark);
        mark = ip_emit_enter(e, ip_emit_if(e, ip_text(e->ir, "!in_words%d", k)));
        for (int j = 0; j < n; j++)
            ip_emit_set(e, ip_text(e->ir, "%s[%d]", from->name, j), ip_text(e->ir, "(%s)[%d]", at, j));
        ip_emit_leave(e, mark);
    }
}

typedef struct iteration {
    const words *w;
    int k;
} iteration;

/* In this iteration the load is called by the element that was read. */
static void name_load(ip_expr *load, void *user)
{
    const iteration *t = user;
    const words *w = t->w;
    if (load->op != IP_X_LOAD || !is_of_own_place(w, load)) return;
    const source *from = source_of(w, load);
    if (!from) return;
    const int index = t->k * from->each + (w->flat ? 0 : (int)load->arg[3]->i);
    ip_emit_name(w->e, load, ip_text(w->e->ir, "%s[%d]", from->name, index));
}

/* ---- what is made ----------------------------------------------------------------------------------- */

/* The element, or the pixel, i: as word[at] and what follows it. */
static void make_iteration(const words *w, const char *at)
{
    ip_emit *e = w->e;
    e->flat = w->flat ? "i" : NULL;
    e->coord[2] = w->flat ? NULL : "i";
    ip_emit_count_uses(e, w->bodies, w->each);
    for (int c = 0; c < w->each; c++)
        ip_emit_set(e, ip_text(e->ir, "word[%s]", ip_text_plus(e->ir, at, c)), ip_emit_value(e, w->bodies[c]));
    e->flat = e->coord[2] = NULL;
}

/* All iterations, one behind the other, where that is little; else in a loop, which reads element by element. */
static void make_iterations(words *w)
{
    ip_emit *e = w->e;
    int64_t cost = 0;
    for (int c = 0; c < w->each; c++)
        cost += 1 + ip_x_cost(e->ir, w->bodies[c]);
    bool are_written_out = cost * w->n <= WORDS_OPERATIONS;
    if (!are_written_out) {
        ip_mark mark = ip_emit_enter(e, ip_emit_for(e, "k", "0", number(e, w->n)));
        ip_emit_let_int(e, "i", "at + k");
        make_iteration(w, ip_text_times(e->ir, "k", w->each));
        ip_emit_leave(e, mark);
        return;
    }
    for (int c = 0; c < w->each; c++)
        ip_x_walk(e->ir, w->bodies[c], note_source, w);
    read_words(w);
    for (int k = 0; k < w->n; k++) {
        iteration t = { w, k };
        ip_mark mark = ip_emit_enter(e, ip_s_add(e->ir, e->block, IP_S_BLOCK, NULL, NULL, NULL));
        ip_emit_let_int(e, "i", ip_text_plus(e->ir, "at", k));
        for (int c = 0; c < w->each; c++)
            ip_x_walk(e->ir, w->bodies[c], name_load, &t);
        make_iteration(w, number(e, k * w->each));
        ip_emit_leave(e, mark);
    }
}

/* Where the first word of the row begins: at iteration `from` or up to n - 1 before it. An iteration has `each`
 * elements, an odd number, and n is 2 or 4: then each * each is 1 modulo n, so that going back (offset * each) modulo n
 * iterations goes back the elements by which `from` lies behind a word's begin. (An even number begins at words or
 * never does.) */
static const char *first_iteration(const words *w)
{
    ip_emit *e = w->e;
    const char *offset =
        ip_text(e->ir, "(int)(out - %s + %s)", ip_emit_buffer(e, w->p->stage), ip_text_times(e->ir, "from", w->each));
    return w->each % 2 ? ip_text(e->ir, "from - (%s & %d)", ip_text_times(e->ir, offset, w->each), w->n - 1) : "from";
}

static words words_of(ip_emit *e, const ip_placed *p, bool flat)
{
    words w = { .e = e, .p = p, .flat = flat, .n = ip_tile_word(e, p), .each = flat ? 1 : e->channels };
    for (int c = 0; c < w.each; c++)
        w.bodies[c] = flat ? p->stage->body : ip_emit_of_channel(e, p->stage->body, c);
    return w;
}

bool ip_emit_tile_words(ip_emit *e, const ip_placed *p, bool flat)
{
    const ip_stage *s = p->stage;
    if (ip_tile_word(e, p) == 1 || (!flat && e->channels > IP_WRITTEN_CHANNELS)) return false;
    words w = words_of(e, p, flat);
    const int edge = flat ? e->channels : 1, n = w.n, elements = n * w.each;
    const char *type = ip_dtype(s->dtype)->cl;
    ip_emit_let_int(e, "from", ip_text_times(e->ir, "xa", edge));
    ip_emit_let_int(e, "to", ip_text_times(e->ir, "xb", edge));
    ip_emit_let_int(e, "word_start", first_iteration(&w));
    ip_stmt *loop = ip_emit_for(e, "at", ip_text(e->ir, "word_start + lx * %d", n), "to");
    loop->d = number(e, n * e->kernel->tiling.group_width);
    ip_mark in_words = ip_emit_enter(e, loop);
    ip_emit_let_int(e, "is_whole",
                    ip_text(e->ir, "at >= from & at + %d <= to%s", n,
                            w.each % 2 ? ""
                                       : ip_text(e->ir, " & ((out - %s + at * %d) & %d) == 0", ip_emit_buffer(e, s),
                                                 w.each, n - 1)));
    ip_mark mark = ip_emit_enter(e, ip_emit_if(e, "is_whole"));
    ip_emit_var(e, type, ip_text(e->ir, "word[%d]", elements), NULL);
    make_iterations(&w);
    for (int k = 0; k < elements / n; k++)
        ip_emit_set(e,
                    ip_text(e->ir, "*(__global %s%d *)(out + %s)", type, n,
                            ip_text_plus(e->ir, ip_text_times(e->ir, "at", w.each), k * n)),
                    ip_text(e->ir, "vload%d(%d, word)", n, k));
    ip_emit_leave(e, mark);
    mark = ip_emit_enter(e, ip_emit_if(e, "!is_whole"));
    ip_emit_enter(e, ip_emit_for(e, ip_tile_variable(p, flat), "max(at, from)", ip_text(e->ir, "min(at + %d, to)", n)));
    ip_tile_element(e, (ip_tile_target){ .p = p, .row = "out" }, flat);
    ip_emit_leave(e, mark);
    ip_emit_leave(e, in_words);
    return true;
}
