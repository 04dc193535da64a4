/* SPDX-License-Identifier: MIT */
/*
 * Elements that are read at computed places, gathered as parts of words.
 *
 * Note [Gathered words]
 * Processors gather elements of 32 and 64 bits only. Bytes that vectors of pixels read at computed places are fetched
 * one by one, for every channel of every tap. So what lies side by side is gathered at once: the channels of a pixel,
 * and those of the pixels beside it that are read, too, where no border comes between them. A channel is a part of such
 * a word, which is shifted and narrowed as vectors are. Two taps of a row of bytes are one word a pixel, of 32 bits
 * where they have one channel, of 64 where they have three. Floats are elements of 32 bits and gathered by themselves,
 * and so are pixels of four channels, the lanes of a vector.
 *
 * Where columns alone are computed, as in a resize, loops are left as they were.
 *
 * A word may have more bytes than are read. Near the end of a row it is taken from where it ends with the row, and
 * moved: nothing behind a row is read. So rows must have the bytes of a word.
 */
#include "base/dtype.h"
#include "compile/emit.h"

bool ip_emit_is_gathered(const ip_emit *e, const ip_expr *load)
{
    const ip_site site = ip_emit_site(e);
    return e->gather && ip_is_gathered_there(&site, e->gather->body, load, e->words_are_inside);
}

/* Where word k of what a load reads is in its row, the same for all rows. */
static const ip_gathered_place *place_of(ip_emit *e, const ip_expr *load, const ip_beside *b, int k, int bytes)
{
    ip_gather *g = e->gather;
    for (int i = 0; i < g->n_places; i++) {
        const ip_gathered_place *p = &g->places[i];
        if (p->source == load->source && p->column == b->column && p->border == load->border && p->lo == b->lo &&
            p->word == k)
            return p;
    }
    const int64_t each = ip_pixel_bytes(load->source);
    const bool is_whole = e->words_are_inside || IP_GATHERED_WORD * k + bytes <= ip_beside_bytes(b);
    ip_expr own = *load, *const column = (ip_expr *)b->column;
    own.arg[2] = column;
    const char *inside = NULL, *at = ip_text(e->ir, "at%d", e->n_values++), *by = NULL;
    const char *x = ip_emit_column_of_load(e, &own, &inside);
    const char *place = ip_text(e->ir, "%s * %d", x, (int)each);
    place = ip_text_plus(e->ir, place, b->lo * each + IP_GATHERED_WORD * k);
    if (!is_whole) {
        const char *wanted = ip_text(e->ir, "at%d", e->n_values++);
        by = ip_text(e->ir, "by%d", e->n_values++);
        ip_emit_let_int(e, wanted, place);
        place = ip_text(e->ir, "min(%s, %s * %d - %d)", wanted, ip_emit_dim(e, load->source, 2), (int)each, bytes);
        ip_emit_let_int(e, at, place);
        ip_emit_let_int(e, by, ip_text(e->ir, "(%s - %s) * 8", wanted, at));
    } else {
        ip_emit_let_int(e, at, place);
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
        ip_emit_let(e, bytes == IP_GATHERED_WORD ? "ulong" : "uint", word, read);
    }
    ip_emit_let(e, "uint", name, half ? ip_text(e->ir, "(uint)(%s >> 32)", word) : ip_text(e->ir, "(uint)%s", word));
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
    const ip_beside b = ip_read_beside(e->ir, e->gather->body, load);
    int64_t by;
    ip_gathered_column(load, &by);
    const ip_expr *c = load->arg[3];
    const int channel = c->op == IP_X_CONST ? (int)c->i : 0;
    const int byte = (int)(by - b.lo) * ip_pixel_bytes(load->source) + channel * size, k = byte / IP_GATHERED_WORD;
    const int bytes =
        ip_beside_bytes(&b) - k * IP_GATHERED_WORD <= IP_GATHERED_WORD / 2 ? IP_GATHERED_WORD / 2 : IP_GATHERED_WORD;
    const ip_gathered_place *place = place_of(e, load, &b, k, bytes);
    if (place->inside) *inside = *inside ? ip_text(e->ir, "%s & %s", *inside, place->inside) : place->inside;
    const char *half = half_of(e, row, place, bytes, byte % IP_GATHERED_WORD / (IP_GATHERED_WORD / 2));
    return part_of(e, load->source->dtype, half, byte % (IP_GATHERED_WORD / 2));
}
