/* SPDX-License-Identifier: MIT */
/*
 * What is done with the elements of a table is done with the table.
 *
 * Note [Maps of lookups]
 * Where a stage computes its elements from those of a lookup alone, f(t[i]), and the table t has far fewer elements, it
 * is a lookup in another table: f(t)[i]. So f is computed once an element of t, whatever it costs, and what is read a
 * pixel has the type that f gives. A chain of such stages is one lookup. The new table is a map of t, which goes into
 * what computes t (inline.c); where nothing does that could take it, it is a kernel more, for which f has to be worth
 * it.
 */
#include "compile/passes.h"

#include <string.h>

enum {
    FEWER = 16,          /* times fewer elements */
    MOST = 65536,        /* elements of a table */
    LEAST_OPERATIONS = 4 /* of f, for a kernel of its own */
};

/* Whether s is nothing but elements of a small stage; the load. */
static ip_expr *lookup_of(const ip_stage *s)
{
    ip_expr *load = s->kind == IP_STAGE_MAP ? s->body : NULL;
    if (!load || load->op != IP_X_LOAD || load->border == IMGPAR_BORDER_CONSTANT) return NULL;
    const ip_stage *t = load->source;
    bool has_dtype = t->kind != IP_STAGE_TABLE && t->dtype != IMGPAR_F16 && s->dtype == t->dtype;
    double n = ip_dims_count(t->dims);
    return has_dtype && n > 0 && n <= MOST && n * FEWER <= ip_dims_count(s->dims) ? load : NULL;
}

typedef struct search {
    const ip_stage *stage, *lookup; /* lookup: what alone the stage reads, at its own place; NULL: nothing yet */
    bool fits;
} search;

static bool look(ip_expr *x, void *user)
{
    search *s = user;
    if (!x->uses || !s->fits) return false;
    if (x->op == IP_X_LOAD) {
        s->fits = ip_reads_own_element(x, s->stage->dims) && (!s->lookup || s->lookup == x->source);
        s->lookup = x->source;
        return false;
    }
    s->fits = x->op != IP_X_COORD && !ip_x_is_repeated(x) && !(x->uses & (IP_USES_TAP | IP_USES_ACC));
    return s->fits;
}

/* Whether what computes t may compute a map of it on the way. */
static bool takes_maps(const ip_stage *t) { return t->kind == IP_STAGE_MAP || t->kind == IP_STAGE_SCAN; }

static ip_expr *put_element(ip_ir *ir, ip_expr *x, void *user)
{
    ip_stage *const *tables = user; /* what was looked up, and the table */
    bool is_own = x->op == IP_X_LOAD && x->source == tables[0] && x->uses;
    return is_own ? ip_x_beside(ir, tables[1], 0, IP_BORDER_NONE) : x;
}

/* A stage of dims that stands before `reader`. */
static ip_stage *new_before(ip_ir *ir, const ip_stage *reader, const int64_t dims[4])
{
    ip_stage *made = ip_stage_new(ir, IP_STAGE_MAP, reader->dtype, dims, reader->node);
    if (made) ip_stage_move(ir, made, reader->id);
    return made;
}

/* A map of a table for s to look up: what another lookup made of the same table, or a new one. */
static ip_stage *map_of_table(ip_ir *ir, const ip_stage *s, const ip_stage *table, ip_expr *body)
{
    for (int k = 0; k < s->id; k++) {
        ip_stage *made = ir->stages[k];
        if (made->kind == IP_STAGE_MAP && made->body == body && made->dtype == s->dtype && !made->of_taps &&
            memcmp(made->dims, table->dims, sizeof made->dims) == 0)
            return made;
    }
    ip_stage *map = new_before(ir, s, table->dims);
    if (!map) return NULL;
    map->body = body;
    map->lo = body->lo;
    map->hi = body->hi;
    return map;
}

static void look_up_map(ip_ir *ir, ip_stage *s)
{
    search found = { .stage = s,
                     .fits = s->kind == IP_STAGE_MAP && s->dtype != IMGPAR_F16 && !s->of_taps && !s->window };
    if (found.fits) ip_x_descend(ir, s->body, look, &found);
    ip_expr *load = found.fits && found.lookup ? lookup_of(found.lookup) : NULL;
    if (!load || (!takes_maps(load->source) && ip_x_size(ir, s->body) < LEAST_OPERATIONS)) return;
    ip_expr *body = ip_x_map(ir, s->body, put_element, (ip_stage *[]){ (ip_stage *)found.lookup, load->source });
    ip_stage *map = body ? map_of_table(ir, s, load->source, body) : NULL;
    if (!map) return;
    s->body = ip_x_load(ir, map, load->arg, load->border, NULL);
    s->view = NULL;
}

imgpar_status ip_pass_lookups(ip_plan *plan, const ip_compile_options *options, ip_error *err)
{
    bool has_lookup = false;
    for (int k = 0; k < plan->ir->n_stages; k++)
        has_lookup = has_lookup || lookup_of(plan->ir->stages[k]);
    for (int k = 0; options->fuse && has_lookup && k < plan->ir->n_stages && !plan->ir->failed; k++)
        look_up_map(plan->ir, plan->ir->stages[k]);
    return plan->ir->failed ? ip_fail_memory(err, "compiling") : IMGPAR_OK;
}
