/* SPDX-License-Identifier: MIT */
#include "ops/parts.h"

#include "base/dtype.h"

enum { PART_OPERATIONS = 4096 };

/* A stage of the function and the place at which its element is wanted. */
typedef struct placed {
    ip_parts *parts;
    const ip_stage *stage;
    ip_expr *const *at;
} placed;

static ip_expr *element_at(ip_parts *p, ip_stage *s, ip_expr *const at[4]);

static bool is_home(const ip_parts *p, ip_expr *const at[4])
{
    return at[0] == p->home[0] && at[1] == p->home[1] && at[2] == p->home[2] && at[3] == p->home[3];
}

static ip_expr *extent_of(ip_parts *p, const ip_stage *s, int dim)
{
    ip_ir *ir = p->l->ir;
    if (dim == 3) return ip_x_int(ir, IMGPAR_I32, s->dims[3]);
    for (int k = 0; k < p->n_extents; k++)
        if (p->extents[k].size == s->dims[dim]) return p->extents[k].x;
    ip_expr *x = ip_x_param(ir, IMGPAR_I32, (double)s->dims[dim], 1, INT32_MAX);
    if (p->n_extents < IP_PARTS_EXTENTS) {
        p->extents[p->n_extents].size = s->dims[dim];
        p->extents[p->n_extents++].x = x;
    }
    return x;
}

static ip_expr *refuse(ip_parts *p, const ip_stage *s, const char *before, const char *end)
{
    if (!p->before) p->before = before;
    if (p->before == before) p->end = end;
    return ip_x_number(p->l->ir, s->dtype == IMGPAR_F16 ? IMGPAR_F32 : s->dtype, 0);
}

/* What a load of a stage of the function reads, by the load's border. */
static ip_expr *bordered(const placed *p, ip_expr *load)
{
    ip_ir *ir = p->parts->l->ir;
    ip_stage *s = load->source;
    const bool is_constant = load->border == IMGPAR_BORDER_CONSTANT;
    ip_expr *at[4], *inside = NULL;
    for (int dim = 0; dim < 4; dim++) {
        at[dim] = load->arg[dim];
        bool is_own = at[dim] == p->at[dim] && s->dims[dim] == p->stage->dims[dim];
        if (load->border == IP_BORDER_NONE || is_own) continue;
        ip_expr *extent = extent_of(p->parts, s, dim);
        at[dim] = ip_x_border(ir, is_constant ? IMGPAR_BORDER_REPLICATE : load->border, load->arg[dim], extent);
        ip_expr *is_in =
            ip_x_binary(ir, IP_X_AND, ip_x_binary(ir, IP_X_LE, ip_x_int(ir, IMGPAR_I32, 0), load->arg[dim]),
                        ip_x_binary(ir, IP_X_LT, load->arg[dim], extent));
        inside = inside ? ip_x_binary(ir, IP_X_AND, inside, is_in) : is_in;
    }
    ip_expr *x = element_at(p->parts, s, at);
    return is_constant && inside ? ip_x_select(ir, inside, x, load->arg[4]) : x;
}

static ip_expr *put_in(ip_ir *ir, ip_expr *x, void *user)
{
    const placed *p = user;
    (void)ir;
    if (x->op == IP_X_COORD) return p->at[x->axis];
    if (x->op == IP_X_STATE && !is_home(p->parts, p->at))
        return refuse(p->parts, p->stage, "reads another element of what iterate() carries", NULL);
    return x->op == IP_X_LOAD && x->source->of_taps ? bordered(p, x) : x;
}

/* An element of a stage: of what depends on the neighbour its expression, of what does not a load. */
static ip_expr *element_at(ip_parts *p, ip_stage *s, ip_expr *const at[4])
{
    ip_ir *ir = p->l->ir;
    const bool is_at_home = is_home(p, at);
    if (!s->of_taps) return ip_x_load(ir, s, at, IP_BORDER_NONE, NULL);
    if (s->kind != IP_STAGE_MAP) return refuse(p, s, "folds or sorts what it makes of ", "");
    if (s->dtype == IMGPAR_F16) return refuse(p, s, "makes f16 of ", "; write cast(.., f32)");
    if (is_at_home && p->made[s->id]) return p->made[s->id];
    p->operations += 1 + ip_x_size(ir, s->body);
    if (p->operations > PART_OPERATIONS) return refuse(p, s, "is too large", NULL);
    ip_expr *x = ip_x_map(ir, s->body, put_in, &(placed){ p, s, at });
    if (is_at_home) p->made[s->id] = x;
    return x;
}

bool ip_parts_begin(ip_parts *p, ip_lower *l, const char *of)
{
    *p = (ip_parts){ .l = l, .of = of, .made = ip_ir_alloc(l->ir, (size_t)l->ir->n_stages + 1, sizeof(ip_expr *)) };
    for (int dim = 0; dim < 4; dim++)
        p->home[dim] = ip_lower_coord(l, dim);
    return p->made != NULL;
}

bool ip_parts_fit(const ip_parts *p, const char *who, const char *advice)
{
    if (!p->before) return true;
    ip_fail(p->l->err, IMGPAR_E_UNSUPPORTED, "%s %s%s%s%s", who, p->before, p->end ? p->of : "", p->end ? p->end : "",
            advice);
    return false;
}

ip_expr *ip_parts_input(ip_parts *p, int k)
{
    ip_lower *l = p->l;
    ip_expr *at[4], *x;
    if (ip_array_is_number(l->node->inputs[k], NULL, NULL)) return ip_lower_value(l, k);
    ip_lower_place(l, k, at);
    x = element_at(p, l->in[k], at);
    return x->dtype == IMGPAR_BOOL ? ip_x_cast(l->ir, IMGPAR_U8, x) : x;
}
