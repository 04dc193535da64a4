/* SPDX-License-Identifier: MIT */
/*
 * Recurrences of the reference interpreter, by Note [Recurrences] in ir/stage.h. Neighbouring lines are walked together
 * where their elements are neighbours in memory, a block of states at a time.
 *
 * Where a line is walked in blocks two states are kept: that of the line, begun from the block's carry, and that of the
 * block alone, begun from init, which at the block's end gives the next carry.
 */
#include "run/ref_impl.h"

#include "base/alloc.h"
#include "base/dtype.h"
#include "base/integers.h"

#include <string.h>

typedef struct walker {
    const ip_stage *stage;
    int n;     /* states */
    int block; /* elements that all programs run for at once */
    ip_ref_program finish;
    struct {
        ip_ref_program body, init, combine;
        size_t value_bytes;
        unsigned char *state, *total, *carry, *next; /* of a block each */
    } of[IP_SCAN_STATES];
    unsigned char *states; /* the memory of all of them */
    unsigned char *out;
    bool in_blocks;
    ip_ref_progress *progress;
} walker;

static imgpar_status allocate_states(walker *w, ip_error *err)
{
    enum { EACH = 4 };
    const size_t size_bytes = (size_t)w->block * IP_REF_ELEMENT_BYTES;
    w->states = ip_alloc_array((size_t)w->n * EACH, size_bytes);
    if (!w->states) return ip_fail_memory(err, "interpreting");
    unsigned char *at = w->states;
    for (int k = 0; k < w->n; k++) {
        unsigned char **const states[EACH] = { &w->of[k].state, &w->of[k].total, &w->of[k].carry, &w->of[k].next };
        for (int i = 0; i < EACH; i++, at += size_bytes)
            *states[i] = at;
    }
    return IMGPAR_OK;
}

static imgpar_status make(walker *w, ip_ir *ir, ip_expr *x, const ip_ref_over *over, ip_ref_program *program,
                          ip_error *err)
{
    if (!x) return IMGPAR_OK;
    imgpar_status st = ip_ref_program_make(ir, x, over, program, err);
    w->block = ip_min_int(w->block, program->block);
    return st;
}

static imgpar_status walker_make(walker *w, ip_ir *ir, void *const *memory, ip_error *err)
{
    const ip_stage *s = w->stage;
    const ip_ref_over over = { .domain = s->dims, .memory = memory, .by_rows = false };
    const ip_ref_program none = { .bad_source = -1 };
    w->finish = none;
    w->block = IP_REF_BLOCK;
    for (int k = 0; k < w->n; k++)
        w->of[k].body = w->of[k].init = w->of[k].combine = none;
    imgpar_status st = make(w, ir, s->finish, &over, &w->finish, err);
    for (int k = 0; !st && k < w->n; k++) {
        const ip_state state = ip_stage_state(s, k);
        w->of[k].value_bytes = ip_dtype(state.body->dtype)->size_bytes;
        st = make(w, ir, state.body, &over, &w->of[k].body, err);
        if (!st) st = make(w, ir, state.init, &over, &w->of[k].init, err);
        if (!st) st = make(w, ir, state.combine, &over, &w->of[k].combine, err);
    }
    return st ? st : allocate_states(w, err);
}

static void walker_clear(walker *w)
{
    ip_free(w->states);
    ip_ref_program_clear(&w->finish);
    for (int k = 0; k < w->n; k++) {
        ip_ref_program_clear(&w->of[k].body);
        ip_ref_program_clear(&w->of[k].init);
        ip_ref_program_clear(&w->of[k].combine);
    }
}

static void store(const walker *w, const void *values, const ip_ref_place *place)
{
    const int64_t *dims = w->stage->dims;
    size_t at = (size_t)((place->z * dims[1] + place->y) * dims[2] * dims[3] + place->first);
    ip_ref_store(w->stage->dtype, values, place->n, w->out + at * ip_dtype(w->stage->dtype)->size_bytes);
}

/* What there is of each state. */
enum which { STATE, TOTAL, CARRY, NEXT };

static unsigned char *kept(const walker *w, int k, enum which which)
{
    return (unsigned char *const[]){ w->of[k].state, w->of[k].total, w->of[k].carry, w->of[k].next }[which];
}

static void keep(const walker *w, enum which to, enum which from, int n)
{
    for (int k = 0; k < w->n; k++)
        memcpy(kept(w, k, to), kept(w, k, from), (size_t)n * w->of[k].value_bytes);
}

static const void *run(const walker *w, ip_ref_program *p, enum which acc, enum which other, const ip_ref_place *place)
{
    for (int k = 0; k < w->n; k++) {
        p->acc[k] = kept(w, k, acc);
        p->acc[w->n + k] = kept(w, k, other);
    }
    return ip_ref_program_run(p, place);
}

static void set_init(walker *w, enum which to, const ip_ref_place *place)
{
    for (int k = 0; k < w->n; k++)
        memcpy(kept(w, k, to), ip_ref_program_run(&w->of[k].init, place), (size_t)place->n * w->of[k].value_bytes);
}

static void set_next(walker *w, enum which from, const ip_ref_place *place)
{
    for (int k = 0; k < w->n; k++)
        memcpy(kept(w, k, NEXT), run(w, &w->of[k].body, from, from, place), (size_t)place->n * w->of[k].value_bytes);
}

static void set_joined(walker *w, const ip_ref_place *place)
{
    for (int k = 0; k < w->n; k++)
        memcpy(kept(w, k, NEXT), run(w, &w->of[k].combine, CARRY, TOTAL, place),
               (size_t)place->n * w->of[k].value_bytes);
}

static void step(walker *w, const ip_ref_place *place)
{
    set_next(w, STATE, place);
    store(w, run(w, &w->finish, NEXT, STATE, place), place);
    keep(w, STATE, NEXT, place->n);
}

static void step_block(walker *w, int64_t position, const ip_ref_place *place)
{
    if (position > 0 && position % IP_SCAN_BLOCK == 0) {
        set_joined(w, place);
        keep(w, CARRY, NEXT, place->n);
        keep(w, STATE, CARRY, place->n);
        set_init(w, TOTAL, place);
    }
    set_next(w, TOTAL, place);
    keep(w, TOTAL, NEXT, place->n);
    step(w, place);
}

/* The lines through the elements at start, which are the first along the axis by number. */
static imgpar_status walk(walker *w, const ip_ref_place *start, ip_error *err)
{
    const ip_stage *s = w->stage;
    const int64_t length = s->dims[s->axis], step_x = s->axis == 2 ? s->dims[3] : s->axis == 3 ? 1 : 0;
    for (int64_t p = 0; p < length; p++) {
        int64_t at = s->backward ? length - 1 - p : p;
        ip_ref_place place = *start;
        place.z += s->axis == 0 ? at : 0;
        place.y += s->axis == 1 ? at : 0;
        place.first += at * step_x;
        if (p == 0) {
            set_init(w, STATE, &place);
            keep(w, TOTAL, STATE, place.n);
            keep(w, CARRY, STATE, place.n);
        }
        if (w->in_blocks)
            step_block(w, p, &place);
        else
            step(w, &place);
        w->progress->done += w->progress->weight * place.n;
        imgpar_status st = p % 1024 == 0 ? ip_ref_ask(w->progress, err) : IMGPAR_OK;
        if (st) return st;
    }
    int bad = w->finish.bad_source;
    for (int k = 0; k < w->n; k++)
        bad = w->of[k].body.bad_source >= 0   ? w->of[k].body.bad_source
              : w->of[k].init.bad_source >= 0 ? w->of[k].init.bad_source
                                              : bad;
    if (bad < 0) return IMGPAR_OK;
    return ip_fail(err, IMGPAR_E_INTERNAL, "internal: interpreter: stage %d is read outside of its domain", bad);
}

imgpar_status ip_ref_scan(ip_ir *ir, const ip_stage *stage, void *const *memory, ip_ref_progress *progress, void *out,
                          ip_error *err)
{
    walker w = { .stage = stage,
                 .n = ip_stage_states(stage),
                 .out = out,
                 .progress = progress,
                 .in_blocks = ip_stage_blocks(stage) > 1 };
    const int64_t *dims = stage->dims, channels = dims[3];
    const int axis = stage->axis;
    /* The elements of a row that start a line. */
    const int64_t starts = axis == 2 ? channels : dims[2] * channels;
    imgpar_status st = walker_make(&w, ir, memory, err);
    if (!dims[0] || !dims[1] || !dims[2] || !dims[3]) goto out;
    for (int64_t z = 0; !st && z < (axis == 0 ? 1 : dims[0]); z++)
        for (int64_t y = 0; !st && y < (axis == 1 ? 1 : dims[1]); y++)
            for (int64_t first = 0; !st && first < starts;) {
                ip_ref_place place = { .z = z, .y = y, .first = first, .n = 1 };
                if (axis != 3) place.n = (int)ip_min(starts - first, w.block);
                st = walk(&w, &place, err);
                first += axis == 3 ? channels : place.n;
            }
out:
    walker_clear(&w);
    return st;
}
