/* SPDX-License-Identifier: MIT */
/* Building gradients. gradient.h tells how. */
#include "ops/gradient.h"

#include "base/alloc.h"
#include "base/dtype.h"
#include "graph/services.h"
#include "ops/build.h"
#include "ops/infer.h"
#include "ops/lower.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* ---- checks ----------------------------------------------------------------------------------- */

static imgpar_status check_loss(const imgpar_array *loss, ip_error *err)
{
    char shape[96];
    if (ip_type_count(&loss->type) != 1)
        return ip_fail(err, IMGPAR_E_SHAPE, "grad: loss is %s; it must be one number, as sum() and mean() give",
                       ip_shape_text(&loss->type, shape));
    if (ip_type_is_complex(&loss->type) || loss->type.dtype == IMGPAR_BOOL)
        return ip_fail(err, IMGPAR_E_UNSUPPORTED, "grad: loss is %s; it must be a real number",
                       ip_dtype(loss->type.dtype)->name);
    return IMGPAR_OK;
}

static imgpar_status check_variable(const imgpar_array *a, ip_error *err)
{
    if (ip_array_is_number(a, NULL, NULL))
        return ip_fail(err, IMGPAR_E_ARGUMENT,
                       "grad: a is a plain number, which nothing tells apart from others; make it an array, as "
                       "ones([1]) * 0.5");
    if (ip_type_is_complex(&a->type) || a->type.dtype == IMGPAR_BOOL)
        return ip_fail(err, IMGPAR_E_UNSUPPORTED, "grad: a is %s; it must be of real numbers",
                       ip_dtype(a->type.dtype)->name);
    return IMGPAR_OK;
}

static ip_type type_of_gradient(const ip_type *a)
{
    ip_type type = { .dtype = ip_float_for(a->dtype), .space = IMGPAR_SPACE_DATA, .rank = a->rank };
    memcpy(type.shape, a->shape, sizeof type.shape);
    return type;
}

imgpar_status ip_infer_grad(imgpar_array *node, ip_error *err)
{
    imgpar_status st = check_loss(node->inputs[0], err);
    if (!st) st = check_variable(node->inputs[1], err);
    node->type = type_of_gradient(&node->inputs[1]->type);
    node->range = ip_range_of(node->type.dtype);
    return st;
}

imgpar_status ip_infer_variable(imgpar_array *node, ip_error *err)
{
    (void)err;
    node->type = node->inputs[0]->type;
    node->range = node->inputs[0]->range;
    return IMGPAR_OK;
}

ip_stage *ip_stages_variable(ip_lower *l)
{
    ip_stage *in = l->in[0];
    ip_expr *at[4];
    if (!in) return NULL;
    for (int d = 0; d < 4; d++)
        at[d] = ip_x_coord(l->ir, d, in->dims[d]);
    return ip_lower_stage_sized(l, in->dims, in->dtype, ip_x_load(l->ir, in, at, IP_BORDER_NONE, NULL), "variable");
}

/* ---- copying ------------------------------------------------------------------------------------ */

typedef struct met {
    const imgpar_array *node;
    imgpar_array *copy; /* a handle; NULL: it depends on no variable */
    int variable;       /* 1 + its number among the arrays by which is differentiated; 0: it is none */
    bool is_done;
} met;

typedef struct copying {
    imgpar_context *ctx;
    met *table; /* open addressing by address */
    size_t size, used;
    imgpar_array **stack;
    size_t depth, capacity;
    int n_variables;
    ip_error *err;
} copying;

static met *find(const copying *c, const imgpar_array *node)
{
    size_t k = ((uintptr_t)node >> 4) * 0x9E3779B97F4A7C15ull >> 20;
    while (c->table[k & (c->size - 1)].node && c->table[k & (c->size - 1)].node != node)
        k++;
    return &c->table[k & (c->size - 1)];
}

static bool grow(copying *c)
{
    met *old = c->table;
    const size_t old_size = c->size;
    c->size = old_size ? 2 * old_size : 64;
    c->table = ip_zalloc(c->size * sizeof *c->table);
    if (!c->table) {
        c->table = old;
        c->size = old_size;
        return false;
    }
    for (size_t k = 0; k < old_size; k++)
        if (old[k].node) *find(c, old[k].node) = old[k];
    ip_free(old);
    return true;
}

/* The entry of a node, made where there is none. NULL without memory. */
static met *entry_of(copying *c, const imgpar_array *node)
{
    if (2 * (c->used + 1) > c->size && !grow(c)) return NULL;
    met *m = find(c, node);
    c->used += !m->node;
    m->node = node;
    return m;
}

static bool push(copying *c, imgpar_array *node)
{
    if (c->depth == c->capacity) {
        const size_t capacity = c->capacity ? 2 * c->capacity : 64;
        imgpar_array **stack = ip_realloc_array(c->stack, capacity, sizeof *stack);
        if (!stack) return false;
        c->stack = stack;
        c->capacity = capacity;
    }
    c->stack[c->depth++] = node;
    return true;
}

static imgpar_status refuse(copying *c, const imgpar_array *node)
{
    if (node->loop)
        return ip_fail(c->err, IMGPAR_E_UNSUPPORTED,
                       "grad: the loss depends on an iterate() of so many steps that it is run as a loop, which has "
                       "no derivative; short loops have one");
    return ip_fail(c->err, IMGPAR_E_UNSUPPORTED,
                   "grad: the loss depends on a kernel of your own, which has no "
                   "derivative");
}

/* A copy of node over the copies of its inputs. */
static imgpar_status copy_node(copying *c, const imgpar_array *node, imgpar_array **copy)
{
    if (node->loop || node->source) return refuse(c, node);
    imgpar_array *made = ip_array_copy_in(c->ctx, node);
    if (!made) return ip_fail_memory(c->err, "building a gradient");
    for (int k = 0; k < node->n_inputs; k++) {
        const met *in = find(c, node->inputs[k]);
        made->inputs[k] = ip_array_hold(in->copy ? in->copy : node->inputs[k]);
    }
    ip_array_complete(made);
    *copy = made;
    return IMGPAR_OK;
}

/* A variable over the node, or over its copy, so that what it is made of counts, too. */
static imgpar_status make_variable(copying *c, met *m, imgpar_array *node)
{
    const ip_arg args[] = { ip_arg_array(m->copy ? m->copy : node),
                            { .name = "number", .kind = IP_ARG_NUMBER, .number = m->variable - 1 } };
    imgpar_array *variable = ip_build(c->ctx, ip_op_find("variable"), args, 2);
    imgpar_array_release(m->copy);
    m->copy = variable;
    return variable->op ? IMGPAR_OK : ip_fail_memory(c->err, "building a gradient");
}

/* The node on top of the stack: its inputs first. What stands below the only variable does not matter. */
static imgpar_status visit(copying *c)
{
    imgpar_array *node = c->stack[c->depth - 1];
    met *m = entry_of(c, node);
    if (!m) return ip_fail_memory(c->err, "building a gradient");
    const bool looks_below = !m->is_done && !(m->variable && c->n_variables == 1);
    bool waits = false, depends = false;
    for (int k = 0; looks_below && k < node->n_inputs; k++) {
        const met *in = find(c, node->inputs[k]);
        depends |= in->node && in->copy;
        if (in->node && in->is_done) continue;
        waits = true;
        if (!push(c, node->inputs[k])) return ip_fail_memory(c->err, "building a gradient");
    }
    if (waits) return IMGPAR_OK;
    c->depth--;
    if (m->is_done) return IMGPAR_OK;
    m->is_done = true;
    imgpar_status st = depends ? copy_node(c, node, &m->copy) : IMGPAR_OK;
    return !st && m->variable ? make_variable(c, m, node) : st;
}

/* ---- gradients ------------------------------------------------------------------------------------- */

static imgpar_array *adjoint(copying *c, imgpar_array *loss, imgpar_array *const *by, int n, int number)
{
    imgpar_array *node = ip_array_new(c->ctx, ip_op_find("adjoint"), 1 + n);
    if (!node) return ip_array_error(c->ctx, IMGPAR_E_HOST_MEMORY, "out of host memory");
    node->type = type_of_gradient(&by[number]->type);
    node->range = ip_range_of(node->type.dtype);
    node->params[0].input = -1;
    node->params[0].number = number;
    node->inputs[0] = ip_array_hold(find(c, loss)->copy);
    for (int k = 0; k < n; k++)
        node->inputs[1 + k] = ip_array_hold(find(c, by[k])->copy);
    ip_array_complete(node);
    return node;
}

static imgpar_status copy_all(copying *c, imgpar_array *loss, imgpar_array *const *by, int n)
{
    imgpar_status st = check_loss(loss, c->err);
    c->n_variables = n;
    for (int k = 0; !st && k < n; k++) {
        st = check_variable(by[k], c->err);
        met *m = st ? NULL : entry_of(c, by[k]);
        if (!st && !m) st = ip_fail_memory(c->err, "building a gradient");
        if (!st && m->variable) st = ip_fail(c->err, IMGPAR_E_ARGUMENT, "grad: one array is given twice");
        if (!st) m->variable = k + 1;
    }
    if (!st && !push(c, loss)) st = ip_fail_memory(c->err, "building a gradient");
    while (!st && c->depth > 0)
        st = visit(c);
    for (int k = 0; !st && k < n; k++)
        if (!find(c, by[k])->copy)
            st = ip_fail(c->err, IMGPAR_E_ARGUMENT,
                         "grad: the loss is not computed from a; give the array a name, and that name to both");
    return st;
}

void ip_build_gradients(imgpar_context *ctx, imgpar_array *loss, imgpar_array *const *by, int n, imgpar_array **out)
{
    ip_error err = { IMGPAR_OK, "" };
    copying c = { .ctx = ctx, .err = &err };
    imgpar_status st = grow(&c) ? copy_all(&c, loss, by, n) : ip_fail_memory(&err, "building a gradient");
    for (int k = 0; k < n; k++)
        out[k] = st ? ip_array_error(ctx, st, err.message) : adjoint(&c, loss, by, n, k);
    for (size_t k = 0; k < c.size; k++)
        imgpar_array_release(c.table[k].copy);
    ip_free(c.table);
    ip_free(c.stack);
}

imgpar_array *ip_expand_grad(const imgpar_array *call)
{
    imgpar_array *out;
    ip_build_gradients(call->ctx, call->inputs[0], &call->inputs[1], 1, &out);
    return out;
}
