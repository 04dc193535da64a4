/* SPDX-License-Identifier: MIT */
/*
 * Elements that are read at computed places, gathered as parts of words.
 *
 * Note [Gathered words]
 * Processors gather elements of 32 and 64 bits only. Bytes that vectors of pixels read at computed places are fetched
 * one by one, for every channel of every tap. So what lies side by side is gathered at once: the channels of a pixel,
 * and those of the pixels beside it that are read, too, where no border comes between them. A channel is a part of such
 * a word, which is shifted and narrowed as vectors are. Two taps of a row of bytes are one word of 64 bits a pixel,
 * whether they have one channel or three. Floats are elements of 32 bits and gathered by themselves, and so are pixels
 * of four channels, the lanes of a vector.
 *
 * Where columns alone are computed, as in a resize, loops are left as they were.
 *
 * A word may have more bytes than are read. Near the end of a row it is taken from where it ends with the row, and
 * moved: nothing behind a row is read. So rows must have the bytes of a word.
 */
#include "base/dtype.h"
#include "compile/emit.h"

enum {
    WORD = 8,         /* bytes */
    MOST_SPAN = 16,   /* bytes of pixels side by side that are gathered together */
    LEAST_VECTOR = 64 /* bytes: narrower ones gather no quicker than elements are read */
};

static int pixel_bytes(const ip_stage *s) { return (int)(s->dims[3] * (int64_t)ip_dtype(s->dtype)->size_bytes); }

/* A column as another and a number. One that a border moves stands for itself. */
static ip_expr *column_of(const ip_expr *load, int64_t *by)
{
    ip_expr *column = load->arg[2];
    const bool is_sum = load->border == IP_BORDER_NONE && column->op == IP_X_ADD && column->arg[1]->op == IP_X_CONST;
    *by = is_sum ? column->arg[1]->i : 0;
    return is_sum ? column->arg[0] : column;
}

/* The columns beside each other that are read together with a load: its own and by `lo`..`hi` from another. */
typedef struct beside {
    const ip_expr *load, *column;
    int64_t lo, hi;
} beside;

static void look_beside(ip_expr *x, void *user)
{
    beside *b = user;
    int64_t by;
    if (x->op != IP_X_LOAD || x->source != b->load->source || x->border != b->load->border) return;
    if (column_of(x, &by) != b->column) return;
    b->lo = by < b->lo ? by : b->lo;
    b->hi = by > b->hi ? by : b->hi;
}

static beside read_beside(ip_ir *ir, ip_expr *body, const ip_expr *load)
{
    int64_t by;
    beside b = { .load = load, .column = column_of(load, &by), .lo = by, .hi = by };
    ip_x_walk(ir, body, look_beside, &b);
    if ((b.hi - b.lo + 1) * pixel_bytes(load->source) > MOST_SPAN) b.lo = b.hi = by;
    return b;
}

static int bytes_of(const beside *b) { return (int)(b->hi - b->lo + 1) * pixel_bytes(b->load->source); }

int64_t ip_gathered_columns(const ip_stage *source, int64_t pixels)
{
    const int64_t each = pixel_bytes(source), half = WORD / 2;
    const int64_t of_all = (pixels * each + half - 1) / half * half,
                  of_last = (pixels - 1) * each + (each + half - 1) / half * half;
    return ((of_all > of_last ? of_all : of_last) + each - 1) / each;
}

/* Whether a load may be a part of a word of the loop whose body that is. */
static bool is_gathered(const ip_site *site, ip_expr *body, const ip_expr *load)
{
    const ip_stage *s = load->source;
    const int size = (int)ip_dtype(s->dtype)->size_bytes;
    if (s->kind == IP_STAGE_TABLE || s->dtype == IMGPAR_F16 || size >= WORD / 2 || ip_kernel_placed(site->kernel, s))
        return false;
    if (s->dims[3] == IP_LANES) return false; /* a pixel is a word already, the lanes of a vector */
    const bool is_far = load->arg[1]->uses & IP_USES_X ||
                        (load->arg[2]->uses & IP_USES_X && !ip_x_offset_from(site->ir, load->arg[2], 2));
    const bool has_channel = load->arg[3]->op == IP_X_CONST
                                 ? load->arg[3]->i >= 0 && load->arg[3]->i < s->dims[3]
                                 : ip_x_is_coord(load->arg[3], 3) && s->dims[3] == site->channels;
    const bool is_shared = !((load->arg[0]->uses | load->arg[1]->uses | load->arg[2]->uses) & IP_USES_C);
    if (!is_far || !has_channel || !is_shared || pixel_bytes(s) > WORD) return false;
    const int64_t row_bytes = s->dims[2] * pixel_bytes(s);
    const beside b = read_beside(site->ir, body, load);
    return row_bytes >= WORD && row_bytes <= INT32_MAX && bytes_of(&b) > size;
}

typedef struct gather_check {
    const ip_site *site;
    ip_expr *body;
    bool found;
} gather_check;

static void look_for_gathered(ip_expr *x, void *user)
{
    gather_check *c = user;
    c->found = c->found || (x->op == IP_X_LOAD && x->arg[1]->uses & IP_USES_X && is_gathered(c->site, c->body, x));
}

bool ip_gathers_words(const ip_site *site, ip_expr *body)
{
    const bool is_little_endian = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__; /* the device is this processor */
    const bool may = ip_site_calls_helpers(site) && site->options->pragmas && is_little_endian &&
                     site->options->tuning.vector_bytes >= LEAST_VECTOR && site->channels <= IP_WRITTEN_CHANNELS;
    gather_check c = { .site = site, .body = body };
    if (!may || ip_x_has_window(site->ir, body) || ip_x_has_loop(site->ir, body) ||
        ip_x_size(site->ir, body) * site->channels > IP_VECTORISED_OPERATIONS)
        return false;
    ip_x_walk(site->ir, body, look_for_gathered, &c);
    return c.found && !site->ir->failed;
}

/* Whether all that a load without a border reads, together with those beside it, is there for every element. What a
 * condition keeps from reading elsewhere may not be: words are read before conditions are looked at. */
static bool is_there(const ip_emit *e, const ip_expr *load)
{
    const ip_stage *s = load->source;
    const beside b = read_beside(e->ir, e->gather->body, load);
    for (int k = 0; k < 2; k++)
        if (load->arg[k]->lo < 0 || load->arg[k]->hi >= (double)s->dims[k]) return false;
    return b.column->lo + (double)b.lo >= 0 && b.column->hi + (double)b.hi < (double)s->dims[2];
}

bool ip_emit_is_gathered(const ip_emit *e, const ip_expr *load)
{
    const ip_site site = ip_emit_site(e);
    if (!e->gather || !is_gathered(&site, e->gather->body, load)) return false;
    return load->border != IP_BORDER_NONE || e->words_are_inside || is_there(e, load);
}

/* Where word k of what a load reads is in its row, the same for all rows. */
static const ip_gathered_place *place_of(ip_emit *e, const ip_expr *load, const beside *b, int k, int bytes)
{
    ip_gather *g = e->gather;
    for (int i = 0; i < g->n_places; i++) {
        const ip_gathered_place *p = &g->places[i];
        if (p->source == load->source && p->column == b->column && p->border == load->border && p->lo == b->lo &&
            p->word == k)
            return p;
    }
    const int64_t each = pixel_bytes(load->source);
    const bool is_whole = e->words_are_inside || WORD * k + bytes <= bytes_of(b);
    ip_expr own = *load, *const column = (ip_expr *)b->column;
    own.arg[2] = column;
    const char *inside = NULL, *at = ip_text(e->ir, "at%d", e->n_values++), *by = NULL;
    const char *x = ip_emit_column_of_load(e, &own, &inside);
    const char *place = ip_text(e->ir, "%s * %d", x, (int)each);
    place = ip_text_plus(e->ir, place, b->lo * each + WORD * k);
    if (!is_whole) {
        const char *wanted = ip_text(e->ir, "at%d", e->n_values++);
        by = ip_text(e->ir, "by%d", e->n_values++);
        ip_s_add(e->ir, e->block, IP_S_LET, "int", wanted, place);
        place = ip_text(e->ir, "min(%s, %s * %d - %d)", wanted, ip_emit_dim(e, load->source, 2), (int)each, bytes);
        ip_s_add(e->ir, e->block, IP_S_LET, "int", at, place);
        ip_s_add(e->ir, e->block, IP_S_LET, "int", by, ip_text(e->ir, "(%s - %s) * 8", wanted, at));
    } else {
        ip_s_add(e->ir, e->block, IP_S_LET, "int", at, place);
    }
    const int i = g->n_places < IP_MOST_GATHERED ? g->n_places++ : g->n_places - 1;
    g->places[i] = (ip_gathered_place){ load->source, b->column, load->border, b->lo, k, at, by, inside };
    return &g->places[i];
}

/* A half of a word, which has 32 or 64 bits. */
static const char *half_of(ip_emit *e, const char *row, const ip_gathered_place *place, int bytes, int half)
{
    ip_gather *g = e->gather;
    for (int i = 0; i < g->n_halves; i++)
        if (g->halves[i].row == row && g->halves[i].at == place->at && g->halves[i].half == half)
            return g->halves[i].name;
    const char *word = NULL, *name = ip_text(e->ir, "word%d", e->n_values++);
    for (int i = 0; i < g->n_halves; i++)
        if (g->halves[i].row == row && g->halves[i].at == place->at) word = g->halves[i].word;
    if (!word) {
        word = ip_text(e->ir, "word%d", e->n_values++);
        const char *read = ip_text(e->ir, "ip_word_%d((__global const uchar *)%s + %s)", bytes, row, place->at);
        if (place->by) read = ip_text(e->ir, "%s >> %s", read, place->by);
        ip_s_add(e->ir, e->block, IP_S_LET, bytes == WORD ? "ulong" : "uint", word, read);
    }
    ip_s_add(e->ir, e->block, IP_S_LET, "uint", name,
             half ? ip_text(e->ir, "(uint)(%s >> 32)", word) : ip_text(e->ir, "(uint)%s", word));
    const int i = g->n_halves < IP_MOST_GATHERED ? g->n_halves++ : g->n_halves - 1;
    g->halves[i] = (ip_gathered_half){ row, place->at, half, word, name };
    return name;
}

/* The element of a word that begins at its byte `at`. */
static const char *part_of(ip_emit *e, imgpar_dtype dtype, const char *word, int at)
{
    const ip_dtype_facts *facts = ip_dtype(dtype);
    if (at == 0) return ip_text(e->ir, "(%s)%s", facts->cl, word);
    return ip_text(e->ir, "(%s)(%s >> %d)", facts->cl, word, 8 * at);
}

const char *ip_emit_gathered(ip_emit *e, const ip_expr *load, const char *row, const char **inside)
{
    const int size = (int)ip_dtype(load->source->dtype)->size_bytes;
    const beside b = read_beside(e->ir, e->gather->body, load);
    int64_t by;
    column_of(load, &by);
    const ip_expr *c = load->arg[3];
    const int channel = c->op == IP_X_CONST ? (int)c->i : 0;
    const int byte = (int)(by - b.lo) * pixel_bytes(load->source) + channel * size, k = byte / WORD;
    const int bytes = bytes_of(&b) - k * WORD <= WORD / 2 ? WORD / 2 : WORD;
    const ip_gathered_place *place = place_of(e, load, &b, k, bytes);
    if (place->inside) *inside = *inside ? ip_text(e->ir, "%s & %s", *inside, place->inside) : place->inside;
    const char *half = half_of(e, row, place, bytes, byte % WORD / (WORD / 2));
    return part_of(e, load->source->dtype, half, byte % (WORD / 2));
}
