/* SPDX-License-Identifier: MIT */
/*
 * Note [Stretching]
 * A row of bytes that gets longer, pixel by pixel of two that stand beside each other: what a few pixels are made of lies within 16 bytes. So a
 * processor takes it out of one vector for all of them, by places that are computed as it goes, where compilers read every pixel by itself. Sums are
 * those of emit_weigh.c, Note [Weighing]. shaders/stretch.cl makes as many pixels as read nothing behind the row and no table's end; the rest, a
 * few, or all on processors of other kinds, are made as they were.
 */
#include "base/dtype.h"
#include "compile/emit.h"

enum { MOST_CHANNELS = 4 };

typedef struct stretch { const ip_expr *load; const ip_stage *first, *weights; bool fits; } stretch;

/* Whether table[x] grows by 0 or 1. */
static bool grows_slowly(const ip_stage *table)
{
    const int32_t *at = table->table;
    for (int64_t i = 1; i < table->dims[2]; i++)
        if (at[i] < at[i - 1] || at[i] > at[i - 1] + 1)
            return false;
    return true;
}

static bool is_table(const ip_expr *x) { return x->op == IP_X_LOAD && x->source->kind == IP_STAGE_TABLE && x->source->dtype == IMGPAR_I32; }

/* k of table[2 x + k]; -1: it is none. */
static int weight_number(const ip_expr *weight)
{
    if (!is_table(weight) || weight->lo < INT16_MIN || weight->hi > INT16_MAX)
        return -1;
    const ip_expr *at = weight->arg[2];
    int k = at->op == IP_X_ADD && at->arg[1]->op == IP_X_CONST ? (int)at->arg[1]->i : 0;
    const ip_expr *twice = k ? at->arg[0] : at;
    bool is_twice = twice->op == IP_X_MUL && ip_x_is_coord(twice->arg[0], 2) && twice->arg[1]->op == IP_X_CONST && twice->arg[1]->i == 2;
    return is_twice && (k == 0 || k == 1) ? k : -1;
}

/* The same of a column, table[x] + k. */
static int column_number(const ip_expr *column, const ip_stage **table)
{
    int k = column->op == IP_X_ADD && column->arg[1]->op == IP_X_CONST ? (int)column->arg[1]->i : 0;
    const ip_expr *first = k ? column->arg[0] : column;
    if (!is_table(first) || !ip_x_is_coord(first->arg[2], 2) || k < 0 || k > 1)
        return -1;
    *table = first->source;
    return k;
}

static void note_product(stretch *s, const ip_emit *e, const ip_expr *product)
{
    const ip_stage *first = NULL;
    const ip_expr *value = product->op == IP_X_MUL ? product->arg[0] : NULL, *weight = value ? product->arg[1] : NULL;
    if (value && is_table(value)) {
        value = product->arg[1];
        weight = product->arg[0];
    }
    s->fits = s->fits && value && value->op == IP_X_CAST && value->arg[0]->op == IP_X_LOAD && value->arg[0]->source->dtype == IMGPAR_U8;
    if (!s->fits)
        return;
    const ip_expr *load = value->arg[0];
    int k = column_number(load->arg[2], &first);
    bool row_is_uniform = !((load->arg[0]->uses | load->arg[1]->uses) & (IP_USES_X | IP_USES_C));
    bool own_channel = ip_x_is_coord(load->arg[3], 3) && load->source->dims[3] == e->channels;
    s->fits = k >= 0 && k == weight_number(weight) && row_is_uniform && own_channel && load->border == IP_BORDER_NONE
        && load->source->kind != IP_STAGE_TABLE && (!s->first || (s->first == first && s->weights == weight->source && s->load->source == load->source
                                                                  && s->load->arg[0] == load->arg[0] && s->load->arg[1] == load->arg[1]));
    s->load = load;
    s->first = first;
    s->weights = s->fits ? weight->source : NULL;
}

const char *ip_emit_stretched(ip_emit *e, const ip_stage *stage, const char *target, const char *xa, const char *xb)
{
    ip_rounded_sum sum;
    stretch s = { .fits = ip_emit_calls_helpers(e) && e->channels <= MOST_CHANNELS };
    if (!s.fits || !ip_rounded_sum_of(stage, stage->body, &sum) || sum.sum->op != IP_X_ADD)
        return xa;
    note_product(&s, e, sum.sum->arg[0]);
    note_product(&s, e, sum.sum->arg[1]);
    if (!s.fits || sum.sum->arg[0] == sum.sum->arg[1] || !grows_slowly(s.first))
        return xa;
    e->kernel->stretches = true;
    const char *rest = ip_text(e->ir, "rest%d", e->n_values++), *row = ip_emit_row_pointer(e, s.load), *width = ip_emit_dim(e, s.load->source, 2);
    const char *start = ip_emit_addend(e, sum.start), *shift = ip_emit_value(e, sum.shift), *offset = ip_emit_addend(e, sum.offset);
    ip_s_add(e->ir, e->block, IP_S_LET, "int", rest,
             ip_text(e->ir, "ip_stretch_%d_%s(%s, %s, %s * %d, P + %s, P + %s, %s, %s, %s, %s & 31, %s)", e->channels, ip_dtype(stage->dtype)->cl, target, row,
                     width, e->channels, ip_emit_slot(e, IP_SLOT_TABLE, 0, s.first, NULL), ip_emit_slot(e, IP_SLOT_TABLE, 0, s.weights, NULL), xa, xb,
                     start, shift, offset));
    return rest;
}
