/* SPDX-License-Identifier: MIT */
/*
 * What several readers leave out of a computed stage is left out once.
 *
 * Note [Levels of pyramids]
 * Views are composed when they are lowered, so a channel, or a part, of slice(f(a), step=[2 2]) is read from f(a), as
 * the level of a pyramid itself is: all of f(a)'s columns would be kept for its readers. Where a stage is nothing but
 * every n-th row and column of another one, loads of that one at the same places become loads of it, each at its own
 * place. Then only the stage of these elements reads what they are left of (inline_choice.c keeps it where it is read
 * again or elsewhere): it is what is stored, and rows that nobody reads are not computed (decimate.c).
 */
#include "base/alloc.h"
#include "compile/passes.h"

#include <stdlib.h>
#include <string.h>

typedef struct levelling {
    ip_ir *ir;
    const ip_stage **level; /* by stage id: the stage that is every n-th row and column of it; NULL: none is */
    const ip_stage *reader;
} levelling;

bool ip_leaves_elements_out(const ip_stage *s)
{
    const ip_expr *load = s->body;
    bool is_left = s->kind == IP_STAGE_MAP && load->op == IP_X_LOAD && ip_stage_computes(load->source), any = false;
    for (int axis = 1; axis < 3 && is_left; axis++) {
        ip_index_map map = ip_index_map_of(load->arg[axis]);
        any = any || (map.kind == IP_MAP_AFFINE && llabs(map.step[axis]) > 1);
    }
    return any;
}

/* Whether s has all channels of what it leaves elements out of, as they are stored there. */
static bool is_level(const ip_stage *s)
{
    return ip_leaves_elements_out(s) && s->body->border == IP_BORDER_NONE &&
           ip_reads_own_index(s->body, 3, s->dims[3]) && s->body->source->dtype == s->dtype;
}

/* Whether indices are the same sum of multiples of coordinates, whichever arguments it is written with. */
static bool is_same_index(const ip_expr *a, const ip_expr *b)
{
    ip_index_map p = ip_index_map_of(a), q = ip_index_map_of(b);
    return p.kind <= IP_MAP_AFFINE && p.first == p.last && ip_index_map_is_same(&p, &q);
}

static ip_expr *read_level(ip_ir *ir, ip_expr *x, void *user)
{
    const levelling *l = user;
    ip_stage *level = x->op == IP_X_LOAD ? (ip_stage *)l->level[x->source->id] : NULL;
    const int64_t *domain = ip_stage_domain(l->reader);
    if (!level || level == l->reader || x->border != IP_BORDER_NONE ||
        memcmp(level->dims, domain, 3 * sizeof *domain) != 0)
        return x;
    ip_expr *at[4] = { [3] = x->arg[3] };
    for (int axis = 0; axis < 3; axis++) {
        if (!is_same_index(x->arg[axis], level->body->arg[axis])) return x;
        at[axis] = ip_x_coord(ir, axis, level->dims[axis]);
    }
    return ip_x_load(ir, level, at, IP_BORDER_NONE, NULL);
}

imgpar_status ip_pass_levels(ip_plan *plan, const ip_compile_options *options, ip_error *err)
{
    levelling l = { .ir = plan->ir };
    if (!options->fuse) return IMGPAR_OK;
    l.level = ip_zalloc(((size_t)plan->ir->n_stages + 1) * sizeof *l.level);
    for (int k = 0; k < plan->ir->n_stages && l.level; k++) {
        ip_stage *s = plan->ir->stages[k];
        l.reader = s;
        if (s->kind != IP_STAGE_MAP) continue;
        s->body = ip_x_map(plan->ir, s->body, read_level, &l);
        if (is_level(s) && !l.level[s->body->source->id]) l.level[s->body->source->id] = s;
    }
    bool failed = !l.level || plan->ir->failed;
    ip_free(l.level);
    return failed ? ip_fail_memory(err, "compiling") : IMGPAR_OK;
}
