/* SPDX-License-Identifier: MIT */
/*
 * Records: zip() puts arrays side by side as the last dimension of one, by views, which cost no kernel. Where they are
 * named, the value also remembers them, and a.r is the array that was given, as long as the value is not computed with.
 */
#include "base/alloc.h"
#include "lang/words.h"
#include "ops/build.h"

#include <string.h>

/* ---- zip ----------------------------------------------------------------------------------- */

static bool component_of(ip_eval *ev, const ip_node *call, int k, ip_val *out)
{
    const ip_node *item = call->items[k];
    if (!ip_eval_value(ev, item, out)) return false;
    if (out->kind == IP_V_ANY) *out = ip_val_unknown(IP_V_ARRAY);
    if (out->kind == IP_V_ARRAY || ip_val_is_scalar(out)) return true;
    ip_eval_fail(ev, item->offset, "zip takes arrays and numbers, not %s", ip_val_kind_text(out));
    ip_val_free(out);
    return false;
}

/* The numbers among the components become arrays like the first array, in the dtype that both meet in. */
static bool spread_numbers(ip_eval *ev, const ip_node *call, ip_val *items, int n)
{
    const ip_val *array = NULL;
    for (int k = 0; !array && k < n; k++)
        if (items[k].kind == IP_V_ARRAY) array = &items[k];
    if (!array) return ip_eval_fail(ev, call->offset, "zip: one component at least must be an array");
    bool ok = true;
    for (int k = 0; ok && k < n && !ev->checking; k++) {
        const ip_val number = items[k];
        if (number.kind != IP_V_ARRAY)
            ok = ip_call_spread(ev, call->items[k]->offset, &array->u.array->type, &number, array, &items[k]);
    }
    return ok;
}

static bool check_shape(ip_eval *ev, const ip_node *call, int k, const ip_type *first, const ip_type *type)
{
    char wants[96], has[96];
    if (type->rank > IMGPAR_MAX_RANK - 1)
        return ip_eval_fail(ev, call->items[k]->offset, "zip: components have up to %d axes, not the shape %s", IMGPAR_MAX_RANK - 1,
                            ip_shape_text(type, has));
    if (type->rank == first->rank && memcmp(type->shape, first->shape, (size_t)type->rank * sizeof *type->shape) == 0) return true;
    return ip_eval_fail(ev, call->items[k]->offset, "zip: this component has the shape %s, the first one %s",
                        ip_shape_text(type, has), ip_shape_text(first, wants));
}

static bool build_op(ip_eval *ev, size_t offset, const char *row, imgpar_array *a, imgpar_array *b, ip_val *out)
{
    ip_arg args[3] = { ip_arg_array(a) };
    int n = 1;
    if (b) args[n++] = ip_arg_array(b);
    args[n] = ip_arg_number(-1);
    args[n++].name = "axis";
    return ip_call_result(ev, offset, ip_build(ev->ctx, ip_op_find(row), args, n), out);
}

/* The components one after the other along a new last axis. */
static bool put_together(ip_eval *ev, const ip_node *call, const ip_val *items, int n, ip_val *out)
{
    ip_val all = { .kind = IP_V_NONE };
    bool ok = true;
    for (int k = 0; ok && k < n; k++) {
        ip_val one = { .kind = IP_V_NONE }, joined = { .kind = IP_V_NONE };
        size_t offset = call->items[k]->offset;
        ok = check_shape(ev, call, k, &items[0].u.array->type, &items[k].u.array->type)
            && build_op(ev, offset, "expand_dims", items[k].u.array, NULL, &one)
            && (k == 0 || build_op(ev, offset, "concatenate", all.u.array, one.u.array, &joined));
        if (k == 0) {
            all = one;
            continue;
        }
        ip_val_free(&one);
        ip_val_free(&all);
        all = joined;
    }
    if (ok) *out = all;
    else ip_val_free(&all);
    return ok;
}

bool ip_form_zip(ip_eval *ev, const ip_node *call, ip_val *out)
{
    int n = call->n_items, done = 0;
    if (n == 0) return ip_eval_fail(ev, call->offset, "zip: there are no components");
    if (!call->names[0] && call->names[n - 1]) return ip_eval_fail(ev, call->offset, "zip: name all components, or none");
    ip_record *record = ip_record_new(n);
    if (!record) return ip_eval_fail_memory(ev);
    ip_place place = ip_leave_region(ev, ip_inherited_coords(ev));
    bool ok = true;
    for (; ok && done < n; done += ok) {
        record->names[done] = call->names[done];
        ok = component_of(ev, call, done, &record->items[done]);
    }
    ev->place = place;
    ok = ok && spread_numbers(ev, call, record->items, n);
    if (ok && ev->checking) *out = ip_val_unknown(IP_V_ARRAY);
    else if (ok) ok = put_together(ev, call, record->items, n, out);
    if (ok && call->names[0]) out->record = record;
    else ip_record_release(record);
    return ok;
}

/* ---- components -------------------------------------------------------------------------------- */

static bool refuse(ip_eval *ev, const ip_node *node)
{
    const char *name = node->name->name;
    const ip_node *base = node->items[0];
    if (node->name->op || ip_is_form(name))
        return ip_eval_fail(ev, node->offset, "'.' means nothing here; operations are called: %.60s(a)", name);
    if (base->kind == IP_N_NAME && !ip_eval_lookup(ev, base->name))
        return ip_eval_fail(ev, node->offset, "'.' means nothing here; a file's name stands in quotes: \"photo.jpg\"");
    return ip_eval_fail(ev, node->offset, "there is no component %.60s; zip(%.60s=...) names one", name, name);
}

bool ip_eval_component(ip_eval *ev, const ip_node *node, ip_val *out)
{
    const ip_node *base = node->items[0];
    ip_val v;
    if (base->kind == IP_N_NAME && !ip_eval_lookup(ev, base->name)) return refuse(ev, node);
    ip_place place = ip_leave_region(ev, ip_inherited_coords(ev));
    bool ok = ip_eval_value(ev, base, &v);
    ev->place = place;
    if (!ok) return false;
    const ip_record *record = v.kind == IP_V_ARRAY ? v.record : NULL;
    int k = 0;
    while (record && k < record->n && record->names[k] != node->name)
        k++;
    if (v.kind == IP_V_ANY) *out = ip_val_unknown(IP_V_ANY);
    else if (record && k < record->n) *out = ip_val_copy(&record->items[k]);
    else ok = refuse(ev, node);
    ip_val_free(&v);
    return ok;
}
