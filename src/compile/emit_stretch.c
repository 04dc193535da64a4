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

typedef struct stretch { const ip_expr *load; const ip_stage *first, *weights; } stretch;

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

/* Whether a term is product number `at`, of a pixel in the row of the first one, all of which is told by *s from then on. */
static bool is_stretched_term(const ip_stage *stage, const ip_linear_term *t, stretch *s)
{
    const ip_stage *first = NULL;
    if (!t->weight || t->n_loads != 1 || t->window || t->load[0]->source->dtype != IMGPAR_U8)
        return false;
    const ip_expr *load = t->load[0];
    int k = column_number(load->arg[2], &first);
    bool own_channel = ip_x_is_coord(load->arg[3], 3) && load->source->dims[3] == stage->dims[3];
    bool is_in_row = ip_x_is_uniform(load->arg[0]) && ip_x_is_uniform(load->arg[1]) && load->source->kind != IP_STAGE_TABLE;
    bool is_pair = !s->load || (s->first == first && s->weights == t->weight->source && s->load->source == load->source
                                && s->load->arg[0] == load->arg[0] && s->load->arg[1] == load->arg[1] && s->load != load);
    if (k < 0 || k != weight_number(t->weight) || !own_channel || !is_in_row || load->border != IP_BORDER_NONE || !is_pair)
        return false;
    *s = (stretch){ load, first, t->weight->source };
    return true;
}

static bool is_stretched(const ip_stage *stage, const ip_linear *form, stretch *s)
{
    return stage->dims[3] <= MOST_CHANNELS && ip_is_rounded_sum(stage, form) && form->n_terms == 2 && is_stretched_term(stage, &form->terms[0], s)
        && is_stretched_term(stage, &form->terms[1], s) && grows_slowly(s->first);
}

const char *ip_emit_stretched(ip_emit *e, const ip_stage *stage, const char *target, const char *xa, const char *xb)
{
    ip_linear form;
    stretch s = { .load = NULL };
    if (!ip_emit_calls_helpers(e) || !ip_linear_of(e->ir, stage->body, &form) || !is_stretched(stage, &form, &s))
        return xa;
    e->kernel->stretches = true;
    const char *rest = ip_text(e->ir, "rest%d", e->n_values++), *row = ip_emit_row_pointer(e, s.load), *width = ip_emit_dim(e, s.load->source, 2);
    const char *start = ip_emit_addend(e, form.start), *shift = ip_emit_value(e, form.shift), *offset = ip_emit_addend(e, form.offset);
    ip_s_add(e->ir, e->block, IP_S_LET, "int", rest,
             ip_text(e->ir, "ip_stretch_%d_%s(%s, %s, %s * %d, P + %s, P + %s, %s, %s, %s, %s & 31, %s)", e->channels, ip_dtype(stage->dtype)->cl, target, row,
                     width, e->channels, ip_emit_slot(e, IP_SLOT_TABLE, 0, s.first, NULL), ip_emit_slot(e, IP_SLOT_TABLE, 0, s.weights, NULL), xa, xb,
                     start, shift, offset));
    return rest;
}
