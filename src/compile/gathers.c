/* SPDX-License-Identifier: MIT */
/* Which elements are gathered as parts of words: emit_gather.c, Note [Gathered words]. */
#include "base/dtype.h"
#include "compile/segments.h"

enum {
    MOST_SPAN = 16,   /* bytes of pixels side by side that are gathered together */
    LEAST_VECTOR = 64 /* bytes: narrower ones gather no quicker than elements are read */
};

ip_expr *ip_gathered_column(const ip_expr *load, int64_t *by)
{
    ip_expr *column = load->arg[2];
    const bool is_sum = load->border == IP_BORDER_NONE && column->op == IP_X_ADD && column->arg[1]->op == IP_X_CONST;
    *by = is_sum ? column->arg[1]->i : 0;
    return is_sum ? column->arg[0] : column;
}

static void look_beside(ip_expr *x, void *user)
{
    ip_beside *b = user;
    int64_t by;
    if (x->op != IP_X_LOAD || x->source != b->load->source || x->border != b->load->border) return;
    if (ip_gathered_column(x, &by) != b->column) return;
    b->lo = by < b->lo ? by : b->lo;
    b->hi = by > b->hi ? by : b->hi;
}

ip_beside ip_read_beside(ip_ir *ir, ip_expr *body, const ip_expr *load)
{
    int64_t by;
    ip_beside b = { .load = load, .column = ip_gathered_column(load, &by), .lo = by, .hi = by };
    ip_x_walk(ir, body, look_beside, &b);
    if ((b.hi - b.lo + 1) * ip_pixel_bytes(load->source) > MOST_SPAN) b.lo = b.hi = by;
    return b;
}

int ip_beside_bytes(const ip_beside *b) { return (int)(b->hi - b->lo + 1) * ip_pixel_bytes(b->load->source); }

int64_t ip_gathered_columns(const ip_stage *source, int64_t pixels)
{
    const int64_t each = ip_pixel_bytes(source), half = IP_GATHERED_WORD / 2;
    const int64_t of_all = (pixels * each + half - 1) / half * half,
                  of_last = (pixels - 1) * each + (each + half - 1) / half * half;
    return ((of_all > of_last ? of_all : of_last) + each - 1) / each;
}

/* Whether a load of that body may be a part of a word that is gathered. */
static bool is_gathered(const ip_site *site, ip_expr *body, const ip_expr *load)
{
    const ip_stage *s = load->source;
    const int size = (int)ip_dtype(s->dtype)->size_bytes;
    if (s->kind == IP_STAGE_TABLE || s->dtype == IMGPAR_F16 || size >= IP_GATHERED_WORD / 2 ||
        ip_kernel_placed(site->kernel, s))
        return false;
    if (s->dims[3] == IP_LANES) return false; /* a pixel is a word already, the lanes of a vector */
    const bool is_far = load->arg[1]->uses & IP_USES_X ||
                        (load->arg[2]->uses & IP_USES_X && !ip_x_offset_from(site->ir, load->arg[2], 2));
    const bool has_channel = load->arg[3]->op == IP_X_CONST
                                 ? load->arg[3]->i >= 0 && load->arg[3]->i < s->dims[3]
                                 : ip_x_is_coord(load->arg[3], 3) && s->dims[3] == site->channels;
    const bool is_shared = !((load->arg[0]->uses | load->arg[1]->uses | load->arg[2]->uses) & IP_USES_C);
    if (!is_far || !has_channel || !is_shared || ip_pixel_bytes(s) > IP_GATHERED_WORD) return false;
    const int64_t row_bytes = s->dims[2] * ip_pixel_bytes(s);
    const ip_beside b = ip_read_beside(site->ir, body, load);
    return row_bytes >= IP_GATHERED_WORD && row_bytes <= INT32_MAX && ip_beside_bytes(&b) > size;
}

/* Whether all that a load without a border reads, together with those beside it, is there for every element. What a
 * condition keeps from reading elsewhere may not be: words are read before conditions are looked at. */
static bool is_there(const ip_site *site, ip_expr *body, const ip_expr *load)
{
    const ip_stage *s = load->source;
    const ip_beside b = ip_read_beside(site->ir, body, load);
    for (int k = 0; k < 2; k++)
        if (load->arg[k]->lo < 0 || load->arg[k]->hi >= (double)s->dims[k]) return false;
    return b.column->lo + (double)b.lo >= 0 && b.column->hi + (double)b.hi < (double)s->dims[2];
}

bool ip_is_gathered_there(const ip_site *site, ip_expr *body, const ip_expr *load, bool words_are_inside)
{
    return is_gathered(site, body, load) &&
           (load->border != IP_BORDER_NONE || words_are_inside || is_there(site, body, load));
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
    const bool may = ip_site_calls_helpers(site) && ip_site_vectorises(site) && is_little_endian &&
                     site->options->tuning.vector_bytes >= LEAST_VECTOR && site->channels <= IP_WRITTEN_CHANNELS;
    gather_check c = { .site = site, .body = body };
    if (!may || ip_x_has_window(site->ir, body) || ip_x_has_loop(site->ir, body) ||
        ip_x_size(site->ir, body) * site->channels > IP_VECTORISED_OPERATIONS)
        return false;
    ip_x_walk(site->ir, body, look_for_gathered, &c);
    return c.found && !site->ir->failed;
}

/* ---- element by element: emit_row.c, Note [Gathers] -------------------------------------------------- */

typedef struct element_check {
    ip_ir *ir;
    bool found;
} element_check;

static void find_load(ip_expr *x, void *user)
{
    *(bool *)user |= x->op == IP_X_LOAD && x->source->kind != IP_STAGE_TABLE;
}

static void look_for_gather(ip_expr *x, void *user)
{
    enum { FEW_ELEMENTS = 4096 };
    element_check *c = user;
    if (x->op != IP_X_LOAD || x->source->kind == IP_STAGE_TABLE || ip_dtype(x->source->dtype)->size_bytes != 4) return;
    double n = 1;
    for (int k = 0; k < 4; k++)
        n *= (double)x->source->dims[k];
    for (int k = 0; k < 4 && n > FEW_ELEMENTS && !c->found; k++)
        ip_x_walk(c->ir, x->arg[k], find_load, &c->found);
}

bool ip_only_gathers(ip_ir *ir, ip_expr *body)
{
    enum { LITTLE = 8 };
    element_check c = { ir, false };
    if (ip_x_size(ir, body) <= LITTLE) ip_x_walk(ir, body, look_for_gather, &c);
    return c.found;
}
