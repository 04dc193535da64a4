/* SPDX-License-Identifier: MIT */
/* How recurrences walk their lines, which emit_scan.c prints. */
#include "base/dtype.h"
#include "base/integers.h"
#include "compile/segments.h"

static bool may_be_flat(const ip_site *site, const ip_stage *s)
{
    bool may = ip_may_be_flat(site, s->finish);
    for (int k = 0; may && k < ip_stage_states(s); k++) {
        const ip_state state = ip_stage_state(s, k);
        may = ip_may_be_flat(site, state.body) && ip_may_be_flat(site, state.init);
    }
    return may;
}

/* ---- along x: emit_scan_x.c -------------------------------------------------------------------------- */

static int lanes_of(const ip_site *site, const ip_stage *s)
{
    enum { MANY_OPERATIONS = 24 };
    const int size = ip_stage_size(site->ir, s) + ip_x_size(site->ir, s->finish);
    return site->channels < 1 || site->channels > 2 || size > MANY_OPERATIONS ? 1 : IP_SCAN_LANES / site->channels;
}

typedef struct reading {
    ip_ir *ir;
    bool fits;
} reading;

static bool note_load(ip_expr *x, void *user)
{
    bool *any = user;
    *any = *any || x->op == IP_X_LOAD;
    return !*any;
}

/* Loads of a vector's elements: those of the lane itself, with nothing else read on the way. */
static bool check_load(ip_expr *x, void *user)
{
    reading *r = user;
    if (x->op != IP_X_LOAD) return r->fits;
    bool reads_more = false;
    for (int k = 0; k < x->n_args; k++)
        ip_x_descend(r->ir, x->arg[k], note_load, &reads_more);
    r->fits = r->fits && !reads_more && x->source->kind != IP_STAGE_TABLE && x->source->dtype != IMGPAR_F16 &&
              ip_x_is_coord(x->arg[2], 2);
    return false;
}

/* How many steps can be taken at once, and pay. */
static int steps_at_once(const ip_site *site, const ip_stage *s)
{
    enum { STEPS = 4, FEW_OPERATIONS = 8 };
    ip_ir *ir = site->ir;
    reading r = { ir, ip_stage_size(ir, s) + ip_x_size(ir, s->finish) <= FEW_OPERATIONS };
    for (int k = 0; k < ip_stage_states(s); k++)
        ip_x_descend(ir, ip_stage_state(s, k).body, check_load, &r);
    ip_x_descend(ir, s->finish, check_load, &r);
    return r.fits ? STEPS : 1;
}

/* ---- all of it ------------------------------------------------------------------------------------------ */

ip_recurrence ip_choose_recurrence(const ip_site *site)
{
    const ip_stage *s = site->kernel->outputs[0];
    const bool is_along_x = s->axis == 2, is_single = site->channels == 1;
    ip_recurrence walk = { .lanes = is_along_x ? lanes_of(site, s) : 0, .steps = 1, .width = INT_MAX };
    bool may = is_along_x ? walk.lanes > 1 && is_single && !s->backward : s->axis < 2 && !is_single;
    walk.is_flat = may && may_be_flat(site, s);
    if (is_along_x && walk.is_flat && !site->options->checks) walk.steps = steps_at_once(site, s);
    for (int k = 0; k < ip_stage_states(s); k++) {
        const ip_expr *body = ip_stage_state(s, k).body;
        walk.width = ip_min_int(walk.width, ip_width_of(site, body, s->dtype));
        walk.state_bytes += (int)ip_dtype(body->dtype)->size_bytes;
    }
    return walk;
}
