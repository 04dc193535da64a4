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

#include <string.h>

typedef struct walker {
    const ip_stage *stage;
    ip_ref_program body, init, finish, combine;
    size_t value_bytes;
    unsigned char *states; /* all of the following, of a block each */
    unsigned char *state, *before, *total, *carry, *next;
    unsigned char *out;
    bool in_blocks;
    ip_ref_progress *progress;
} walker;

static imgpar_status allocate_states(walker *w, ip_error *err)
{
    unsigned char **const states[] = { &w->state, &w->before, &w->total, &w->carry, &w->next };
    const size_t n = sizeof states / sizeof *states, size_bytes = (size_t)w->body.block * IP_REF_ELEMENT_BYTES;
    w->states = ip_alloc_array(n, size_bytes);
    if (!w->states) return ip_fail_memory(err, "interpreting");
    for (size_t k = 0; k < n; k++)
        *states[k] = w->states + k * size_bytes;
    return IMGPAR_OK;
}

static imgpar_status walker_make(walker *w, ip_ir *ir, void *const *memory, ip_error *err)
{
    const ip_stage *s = w->stage;
    const ip_ref_over over = { .domain = s->dims, .memory = memory, .by_rows = false };
    struct {
        ip_expr *x;
        ip_ref_program *program;
    } const parts[] = {
        { s->body, &w->body },
        { s->init, &w->init },
        { s->finish, &w->finish },
        { s->combine, &w->combine },
    };
    imgpar_status st = IMGPAR_OK;
    for (size_t k = 0; k < sizeof parts / sizeof *parts; k++)
        *parts[k].program = (ip_ref_program){ .bad_source = -1 };
    for (size_t k = 0; !st && k < sizeof parts / sizeof *parts; k++)
        if (parts[k].x) st = ip_ref_program_make(ir, parts[k].x, &over, parts[k].program, err);
    return st ? st : allocate_states(w, err);
}

static void walker_clear(walker *w)
{
    ip_free(w->states);
    ip_ref_program_clear(&w->body);
    ip_ref_program_clear(&w->init);
    ip_ref_program_clear(&w->finish);
    ip_ref_program_clear(&w->combine);
}

static const void *run(ip_ref_program *p, const void *acc0, const void *acc1, const ip_ref_place *place)
{
    p->acc[0] = acc0;
    p->acc[1] = acc1;
    return ip_ref_program_run(p, place);
}

static void store(const walker *w, const void *values, const ip_ref_place *place)
{
    const int64_t *dims = w->stage->dims;
    size_t at = (size_t)((place->z * dims[1] + place->y) * dims[2] * dims[3] + place->first);
    ip_ref_store(w->stage->dtype, values, place->n, w->out + at * ip_dtype(w->stage->dtype)->size_bytes);
}

static void keep(const walker *w, unsigned char *to, const void *from, int n)
{
    memcpy(to, from, (size_t)n * w->value_bytes);
}

static void step(walker *w, const ip_ref_place *place)
{
    keep(w, w->next, run(&w->body, w->state, w->before, place), place->n);
    store(w, run(&w->finish, w->next, w->state, place), place);
    keep(w, w->before, w->state, place->n);
    keep(w, w->state, w->next, place->n);
}

static void step_block(walker *w, int64_t position, const ip_ref_place *place)
{
    if (position > 0 && position % IP_SCAN_BLOCK == 0) {
        keep(w, w->carry, run(&w->combine, w->carry, w->total, place), place->n);
        keep(w, w->state, w->carry, place->n);
        keep(w, w->total, run(&w->init, NULL, NULL, place), place->n);
    }
    keep(w, w->total, run(&w->body, w->total, NULL, place), place->n);
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
            keep(w, w->state, run(&w->init, NULL, NULL, &place), place.n);
            keep(w, w->before, w->state, place.n);
            keep(w, w->total, w->state, place.n);
            keep(w, w->carry, w->state, place.n);
        }
        if (w->in_blocks)
            step_block(w, p, &place);
        else
            step(w, &place);
        w->progress->done += w->progress->weight * place.n;
        imgpar_status st = p % 1024 == 0 ? ip_ref_ask(w->progress, err) : IMGPAR_OK;
        if (st) return st;
    }
    int bad = w->body.bad_source >= 0   ? w->body.bad_source
              : w->init.bad_source >= 0 ? w->init.bad_source
                                        : w->finish.bad_source;
    if (bad < 0) return IMGPAR_OK;
    return ip_fail(err, IMGPAR_E_INTERNAL, "internal: interpreter: stage %d is read outside of its domain", bad);
}

imgpar_status ip_ref_scan(ip_ir *ir, const ip_stage *stage, void *const *memory, ip_ref_progress *progress, void *out,
                          ip_error *err)
{
    walker w = { .stage = stage, .out = out, .progress = progress, .in_blocks = ip_stage_blocks(stage) > 1 };
    w.value_bytes = ip_dtype(stage->acc_dtype)->size_bytes;
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
                if (axis != 3) place.n = starts - first < IP_REF_BLOCK ? (int)(starts - first) : IP_REF_BLOCK;
                st = walk(&w, &place, err);
                first += axis == 3 ? channels : place.n;
            }
out:
    walker_clear(&w);
    return st;
}
