/* SPDX-License-Identifier: MIT */
/* Which rows need little in most of their blocks: emit_skip.c, Note [Skipped blocks]. */
#include "compile/segments.h"

/* Operations that are saved, at least; how many times as many as the condition has, and as many as are left. */
enum { LEAST_SAVED = 20, TIMES_CONDITION = 4, TIMES_LEFT = 4 };

typedef struct finding {
    ip_ir *ir;
    ip_expr *body;
    int size, most_saved;
    ip_skip found;
} finding;

/* Skipping by that condition, where it holds or does not, if it saves more than what was found before. */
static void consider(finding *f, ip_expr *condition, bool holds)
{
    const int size = ip_x_size(f->ir, condition);
    if (condition->dtype != IMGPAR_BOOL || condition->op == IP_X_CONST || !(condition->uses & IP_USES_X)) return;
    ip_expr *left = ip_masked_body(f->ir, f->body, condition, holds);
    const int n_left = ip_x_size(f->ir, left), saved = f->size - n_left - size;
    if (saved <= f->most_saved || saved < LEAST_SAVED || saved < TIMES_CONDITION * size || saved < TIMES_LEFT * n_left)
        return;
    f->most_saved = saved;
    f->found = (ip_skip){ .condition = condition, .left = left, .holds = holds };
}

/* Conditions are what is joined by "and" and what chooses, down to where neither stands. */
static bool look_for_condition(ip_expr *x, void *user)
{
    finding *f = user;
    for (int k = 0; k < 2 && x->op == IP_X_AND; k++)
        consider(f, x->arg[k], false);
    for (int holds = 0; holds < 2 && x->op == IP_X_SELECT; holds++)
        consider(f, x->arg[0], holds);
    return x->op == IP_X_AND || x->op == IP_X_SELECT || x->op == IP_X_CAST;
}

ip_skip ip_find_skip(const ip_site *site, ip_expr *body)
{
    finding f = { .ir = site->ir, .body = body, .size = ip_x_size(site->ir, body) };
    if (f.size <= LEAST_SAVED || (site->channels > 1 && !ip_is_flat(site, body)) || !ip_site_vectorises(site))
        return (ip_skip){ 0 };
    ip_x_descend(site->ir, body, look_for_condition, &f);
    return f.found;
}

bool ip_fits_skip(const ip_site *site, const ip_placed *p, ip_segment *segment)
{
    segment->skip = ip_find_skip(site, segment->within);
    if (!segment->skip.condition) return false;
    segment->skip.width = ip_width_of(site, segment->skip.condition, IMGPAR_U8);
    segment->skip.elements = ip_elements_of(site, segment->skip.left, p->stage->dtype, NULL, false);
    segment->elements = ip_elements_of(site, segment->within, p->stage->dtype, NULL, false);
    return true;
}
