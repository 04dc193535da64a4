/* SPDX-License-Identifier: MIT */
/*
 * A crop is a demand, not a computation.
 *
 * Note [Shown boxes]
 * Where the one result takes each element from the place of its own plus an offset, of stages that are computed and all
 * of one larger size, it becomes a stage of that size of which a box is shown: the offsets go out of its body and into
 * the demand. Then it is of its producers' size, so they fuse as if nothing had been cut, in a program that is theirs
 * whatever the offsets are, and bounds inference computes the box and its halo. What is made of the box beside the
 * values of elements, their coordinates, counts from the box's corner as before.
 *
 * Only where nobody else asks for more of the same kernel: there is one result, all stages are maps, and no border
 * wraps (bounds.c computes rows that wrap whole). So the kernel of the result makes the box and nothing else, which is
 * then the result's memory.
 */
#include "compile/passes.h"

#include <string.h>

typedef struct framing {
    ip_ir *ir;
    const ip_stage *result;
    const ip_expr *load; /* the first that reads at offsets; NULL: none yet */
    bool fits, is_computed;
    ip_expr *at[3];  /* z y x of the larger size */
    ip_expr *own[3]; /* the same as the result's coordinates */
} framing;

static bool is_offset(const ip_expr *index, int axis)
{
    ip_index_map map = ip_index_map_of(index);
    return map.kind == IP_MAP_OFFSET && map.step[axis] == 1 && map.first == map.last;
}

static void check_load(ip_expr *load, void *user)
{
    framing *f = user;
    if (!(load->uses & IP_USES_COORDS) || !f->fits) return;
    f->fits =
        load->border == IP_BORDER_NONE && load->source->kind != IP_STAGE_TABLE && !(load->arg[3]->uses & ~IP_USES_C);
    for (int k = 0; k < 3 && f->fits; k++)
        f->fits = f->load ? load->arg[k] == f->load->arg[k] && load->source->dims[k] == f->load->source->dims[k]
                          : is_offset(load->arg[k], k);
    f->is_computed |= ip_stage_computes(load->source);
    f->load = load;
}

static void note_wrap(ip_expr *x, void *user)
{
    *(bool *)user |= (x->op == IP_X_LOAD || x->op == IP_X_BORDER) && x->border == IMGPAR_BORDER_WRAP;
}

/* Whether the kernel of the result can be asked for nothing but the result. */
static bool stands_alone(const ip_plan *plan)
{
    bool wraps = false, has_maps = true;
    for (int k = 0; k < plan->ir->n_stages; k++) {
        const ip_stage *s = plan->ir->stages[k];
        has_maps = has_maps && (s->kind <= IP_STAGE_MAP);
        if (s->kind == IP_STAGE_MAP) ip_x_walk(plan->ir, s->body, note_wrap, &wraps);
    }
    return plan->n_outputs == 1 && plan->outputs[0]->kind == IP_STAGE_MAP && has_maps && !wraps;
}

static ip_expr *put_in_frame(ip_ir *ir, ip_expr *x, void *user)
{
    framing *f = user;
    if (x->op == IP_X_COORD && x->axis < 3) return f->own[x->axis];
    if (x->op != IP_X_LOAD || !(x->uses & IP_USES_COORDS)) return x;
    ip_expr *at[4] = { f->at[0], f->at[1], f->at[2], x->arg[3] };
    return ip_x_load(ir, x->source, at, x->border, NULL);
}

static void show_box(framing *f, ip_stage *s)
{
    const int64_t *larger = f->load->source->dims;
    int64_t from[3];
    ip_region *shown = ip_ir_alloc(f->ir, 1, sizeof *shown);
    if (!shown) return;
    for (int k = 0; k < 3; k++) {
        from[k] = ip_index_map_of(f->load->arg[k]).first;
        f->at[k] = ip_x_coord(f->ir, k, larger[k]);
        f->own[k] =
            ip_x_binary(f->ir, IP_X_SUB, f->at[k], ip_x_param(f->ir, IMGPAR_I32, (double)from[k], 0, INT32_MAX));
    }
    *shown = (ip_region){ from[0], from[0] + s->dims[0], from[1], from[1] + s->dims[1], from[2], from[2] + s->dims[2] };
    s->body = ip_x_map(f->ir, s->body, put_in_frame, f);
    memcpy(s->dims, larger, 3 * sizeof *larger);
    s->shown = shown;
    s->view = NULL;
}

imgpar_status ip_pass_frame(ip_plan *plan, const ip_compile_options *options, ip_error *err)
{
    framing f = { .ir = plan->ir, .fits = true };
    if (!options->fuse || options->goal.is_step || options->goal.totals || !stands_alone(plan)) return IMGPAR_OK;
    ip_stage *s = plan->outputs[0];
    ip_stage_each_load(plan->ir, s, check_load, &f);
    bool is_empty = s->dims[0] * s->dims[1] * s->dims[2] == 0;
    if (!f.fits || !f.is_computed || is_empty || memcmp(f.load->source->dims, s->dims, 3 * sizeof *s->dims) == 0)
        return IMGPAR_OK;
    show_box(&f, s);
    return ip_pass_inline(plan, options, err); /* what was elsewhere is at its own place now */
}
