/* SPDX-License-Identifier: MIT */
/*
 * Element-wise expressions, and the shape of the coordinates in them.
 *
 * A region is a largest expression of operators, calls of element-wise rows and
 * reads. In img * (x > 100) the region is the product; img is a leaf of it, and
 * the only one that can say which shape x has. So before a region with
 * coordinates is evaluated its leaves are, into ip_region.memo; the walk then
 * takes them from there, in the same order. The leaves' common shape is that of
 * the sum they would have: ip_build() knows how operands broadcast.
 *
 * A user's function called in a region is a leaf too, but may contain
 * coordinates and no array; it is evaluated behind the others and falls back on
 * the shape known by then. Random numbers without a shape come last. In make()
 * the shape is given, and arrays do not change it.
 *
 * A condition that cannot depend on the shape is decided first: where it is a
 * number, nothing of the side that it does not choose is evaluated.
 */
#include "base/alloc.h"
#include "lang/eval.h"
#include "lang/parser.h"

#include <string.h>

ip_place ip_leave_region(ip_eval *ev, const ip_coords *fallback)
{
    ip_place before = ev->place;
    ev->place = (ip_place){ .fallback = fallback, .make = before.make };
    return before;
}

const ip_coords *ip_inherited_coords(const ip_eval *ev)
{
    return ev->place.in_region && ev->place.coords ? ev->place.coords : ev->place.fallback;
}

/* Is a call's name bound to a function of the program? */
static bool is_user_call(const ip_eval *ev, const ip_node *node)
{
    if (node->kind != IP_N_CALL) return false;
    const ip_val *bound = ip_eval_lookup(ev, node->name);
    return bound && (bound->kind == IP_V_FUNCTION || bound->kind == IP_V_ANY);
}

const ip_op *ip_elementwise_op(const ip_eval *ev, const ip_node *node)
{
    if (node->kind != IP_N_CALL || !node->name->op || !(node->name->op->flags & IP_OP_ELEMENTWISE)) return NULL;
    return ip_form_find(node->name->name) || is_user_call(ev, node) ? NULL : node->name->op;
}

bool ip_lacks_shape(const ip_eval *ev, const ip_node *node)
{
    if (node->kind != IP_N_CALL || !node->name->op || ip_form_find(node->name->name) || is_user_call(ev, node))
        return false;
    const imgpar_op_info *info = &node->name->op->info;
    bool has_seed = false;
    if (info->n_inputs > 0 || info->n_params == 0 || strcmp(info->params[0]->name, "shape") != 0) return false;
    for (int k = 1; k < info->n_params; k++)
        has_seed = has_seed || strcmp(info->params[k]->name, "seed") == 0;
    for (int i = 0; has_seed && i < node->n_items; i++)
        if (!node->names[i] || strcmp(node->names[i]->name, "shape") == 0) return false;
    return has_seed;
}

/* Calls that may take the shape of the region around them. */
static bool is_shaped_later(const ip_eval *ev, const ip_node *node)
{
    return is_user_call(ev, node) || ip_lacks_shape(ev, node);
}

/* The items of a node that belong to the region it is in: how many, from the first one on. 0: a leaf. */
static int region_items(const ip_eval *ev, const ip_node *node)
{
    if (node->kind == IP_N_OPERATOR) return node->n_items;
    if (node->kind == IP_N_READ) return 1;
    const ip_op *op = ip_elementwise_op(ev, node);
    if (!op) return 0;
    int n = 0;
    while (n < node->n_items && n < op->info.n_inputs && !node->names[n])
        n++;
    return n;
}

static bool is_coordinate_node(const ip_eval *ev, const ip_node *node)
{
    return node->kind == IP_N_NAME && ip_is_coordinate(node->name->name) && !ip_eval_lookup(ev, node->name);
}

/* Does the region from node on ask for a shape? */
static bool wants_shape(const ip_eval *ev, const ip_node *node)
{
    if (is_coordinate_node(ev, node) || is_shaped_later(ev, node)) return true;
    int n = region_items(ev, node);
    for (int i = 0; i < n; i++)
        if (wants_shape(ev, node->items[i])) return true;
    return false;
}

/* How much of the program's functions is looked into before a condition. */
enum { NODES_LOOKED_AT = 4096 };

/* Might what node computes depend on the shape around it? The bodies of functions are looked into. *left: how many
 * nodes still are; behind them all might. */
static bool may_want_shape(const ip_eval *ev, const ip_node *node, int *left)
{
    if (--*left < 0 || is_coordinate_node(ev, node) || ip_lacks_shape(ev, node)) return true;
    if (node->kind == IP_N_NAME || node->kind == IP_N_CALL) {
        const ip_val *bound = ip_eval_lookup(ev, node->name);
        if (bound && bound->kind == IP_V_ANY) return true;
        const bool has_body = bound && bound->kind == IP_V_FUNCTION && !bound->u.fn.op;
        if (has_body && may_want_shape(ev, bound->u.fn.lambda->items[0], left)) return true;
    }
    for (int i = 0; i < node->n_items; i++)
        if (may_want_shape(ev, node->items[i], left)) return true;
    return false;
}

/* Can a condition be evaluated before anything is known of the region's shape? */
static bool is_decided_before(const ip_eval *ev, const ip_node *condition)
{
    int left = NODES_LOOKED_AT;
    return !wants_shape(ev, condition) || !may_want_shape(ev, condition, &left);
}

/* ---- leaves ---------------------------------------------------------------------------- */

/* Widens the region's shape by that of a leaf. */
static bool merge_shape(ip_eval *ev, ip_region *region, const ip_val *leaf)
{
    ip_coords *coords = &region->coords;
    if (leaf->kind == IP_V_ANY) coords->bound = true;
    if (leaf->kind != IP_V_ARRAY) return true;
    bool first = !coords->bound;
    coords->bound = true;
    if (ev->checking) return true;
    const ip_type *type = &leaf->u.array->type;
    if (first || (ip_type_count(&coords->type) == 1 && coords->type.rank <= type->rank)) {
        coords->type = *type;
        return true;
    }
    bool same = type->rank == coords->type.rank &&
                memcmp(type->shape, coords->type.shape, (size_t)type->rank * sizeof *type->shape) == 0;
    if (same || ip_type_count(type) == 1) return true;
    imgpar_array *seen = ip_build_placeholder(ev->ctx, &coords->type);
    ip_arg args[] = { ip_arg_array(seen), ip_arg_array(leaf->u.array) };
    imgpar_array *sum = ip_build(ev->ctx, ip_op_find_symbol("+", 2), args, 2);
    if (!imgpar_array_status(sum)) coords->type = sum->type; /* else the real operator says what is wrong */
    imgpar_array_release(sum);
    imgpar_array_release(seen);
    return true;
}

static struct ip_memo *add_memo(ip_eval *ev, ip_region *region, const ip_node *node)
{
    if (region->n == region->capacity) {
        int capacity = region->capacity ? region->capacity * 2 : 8;
        struct ip_memo *memo = ip_realloc_array(region->memo, (size_t)capacity, sizeof *memo);
        if (!memo) {
            ip_eval_fail_memory(ev);
            return NULL;
        }
        region->memo = memo;
        region->capacity = capacity;
    }
    struct ip_memo *memo = &region->memo[region->n++];
    *memo = (struct ip_memo){ .node = node, .val = { .kind = IP_V_NONE } };
    return memo;
}

/* *seen: its value, borrowed. */
static bool collect_leaf_now(ip_eval *ev, ip_region *region, const ip_node *node, ip_val *seen)
{
    struct ip_memo *memo = add_memo(ev, region, node);
    if (!memo || !ip_eval_any(ev, node, &memo->val)) return false;
    *seen = memo->val;
    return merge_shape(ev, region, &memo->val);
}

static bool collect_leaf(ip_eval *ev, ip_region *region, const ip_node *node)
{
    ip_val ignored;
    return is_shaped_later(ev, node) ? add_memo(ev, region, node) != NULL
                                     : collect_leaf_now(ev, region, node, &ignored);
}

static bool is_literal(const ip_node *node)
{
    return node->kind == IP_N_NUMBER || node->kind == IP_N_BOOL || node->kind == IP_N_TEXT || node->kind == IP_N_MATRIX;
}

static bool collect(ip_eval *ev, ip_region *region, const ip_node *node)
{
    if (is_literal(node) || is_coordinate_node(ev, node)) return true;
    int n = region_items(ev, node);
    if (n == 0) return collect_leaf(ev, region, node);
    bool chooses = node->kind == IP_N_OPERATOR && node->op == IP_O_SELECT;
    if (chooses && is_decided_before(ev, node->items[0])) { /* a number chooses one branch; only that is evaluated */
        ip_val condition = { .kind = IP_V_NONE };
        if (!collect_leaf_now(ev, region, node->items[0], &condition)) return false;
        if (ip_val_is_scalar(&condition) && !condition.unknown)
            return collect(ev, region, node->items[condition.number != 0 ? 1 : 2]);
        return collect(ev, region, node->items[1]) && collect(ev, region, node->items[2]);
    }
    for (int i = 0; i < n; i++)
        if (!collect(ev, region, node->items[i])) return false;
    return true;
}

/* Evaluates the leaves that were put off, of random numbers or others, with the shape known so far. */
static bool collect_late(ip_eval *ev, ip_region *region, bool random)
{
    const ip_coords *fallback = ev->place.fallback;
    ip_coords known = region->coords;
    bool ok = true;
    if (known.bound) ev->place.fallback = &known;
    for (int i = 0; ok && i < region->n; i++) {
        struct ip_memo *memo = &region->memo[i];
        if (memo->val.kind == IP_V_NONE && ip_lacks_shape(ev, memo->node) == random)
            ok = ip_eval_any(ev, memo->node, &memo->val) && merge_shape(ev, region, &memo->val);
    }
    ev->place.fallback = fallback;
    return ok;
}

/* Calls of the program's functions, then, in the shape that these have, too, random numbers. */
static bool collect_calls(ip_eval *ev, ip_region *region)
{
    return collect_late(ev, region, false) && collect_late(ev, region, true);
}

/* ---- evaluation ------------------------------------------------------------------------- */

static bool eval_inside(ip_eval *ev, const ip_node *node, ip_val *out)
{
    if (node->kind == IP_N_OPERATOR) return ip_eval_operator(ev, node, out);
    return node->kind == IP_N_READ ? ip_eval_read(ev, node, out) : ip_eval_call(ev, node, out);
}

static bool eval_with_leaves(ip_eval *ev, const ip_node *node, ip_val *out)
{
    ip_region region = { .n = 0 };
    ip_place place = ip_leave_region(ev, ev->place.fallback);
    bool ok = collect(ev, &region, node) && collect_calls(ev, &region);
    if (ok) {
        ev->place = place;
        ev->place.in_region = true;
        ev->place.region = &region;
        ev->place.coords = region.coords.bound ? &region.coords : place.fallback;
        ok = eval_inside(ev, node, out);
    }
    ev->place = place;
    for (int i = 0; i < region.n; i++)
        ip_val_free(&region.memo[i].val);
    ip_free(region.memo);
    return ok;
}

bool ip_eval_elementwise(ip_eval *ev, const ip_node *node, ip_val *out)
{
    if (ev->place.in_region) return eval_inside(ev, node, out);
    if (wants_shape(ev, node)) return eval_with_leaves(ev, node, out);
    ip_place place = ev->place;
    ev->place.in_region = true;
    ev->place.region = NULL;
    ev->place.coords = NULL;
    bool ok = eval_inside(ev, node, out);
    ev->place = place;
    return ok;
}

bool ip_eval_coordinate(ip_eval *ev, const ip_node *node, ip_val *out)
{
    const char *name = node->name->name;
    const ip_coords *coords = ip_inherited_coords(ev);
    if (!coords && !ev->dead)
        return ip_eval_fail(ev, node->offset,
                            "%s is a coordinate, and nothing here says of which shape: use it with "
                            "an array, or in make(width, height, expr)",
                            name);
    *out = ip_val_unknown(IP_V_ARRAY);
    if (ev->checking) return true;
    int dim = (int)(strchr("zyxc", name[0]) - "zyxc");
    if (dim == 0 && ip_type_is_folded(&coords->type))
        return ip_eval_fail(ev, node->offset,
                            "z is a coordinate of arrays of up to 4 axes; indices(shape, axis) has those of %d",
                            coords->type.rank);
    return ip_call_result(ev, node->offset, ip_build_coordinate(ev->ctx, dim, &coords->type), out);
}
