/* SPDX-License-Identifier: MIT */
/*
 * Records: zip() puts arrays side by side as the last dimension of one, by views, which cost no kernel. Where they are
 * named, the value also remembers them, and a.r is the array that was given, as long as the value is not computed with.
 * Neighbours, r[0, 1], and what c ? a : b chooses have the names, too.
 */
#include "base/alloc.h"
#include "base/dtype.h"
#include "base/str.h"
#include "lang/words.h"
#include "ops/build.h"

#include <math.h>
#include <string.h>

/* ---- zip ----------------------------------------------------------------------------------- */

/* Where a record is put together: at a call of zip(), or where none is written. */
typedef struct packing {
    ip_eval *ev;
    const ip_node *call; /* NULL: none */
    size_t offset;
    bool has_many; /* some component has more than one element */
} packing;

static size_t offset_of(const packing *p, int k) { return p->call ? p->call->items[k]->offset : p->offset; }

static bool component_of(ip_eval *ev, const ip_node *call, int k, ip_val *out)
{
    const ip_node *item = call->items[k];
    if (!ip_eval_value(ev, item, out)) return false;
    if (out->kind == IP_V_ANY) *out = ip_val_unknown(IP_V_ARRAY);
    if (out->kind == IP_V_MATRIX && !ip_call_list(ev, item->offset, out)) {
        ip_val_free(out);
        return false;
    }
    if (out->kind == IP_V_ARRAY || ip_val_is_scalar(out)) return true;
    ip_eval_fail(ev, item->offset, "zip takes arrays and numbers, not %s", ip_val_kind_text(out));
    ip_val_free(out);
    return false;
}

static bool check_shape(const packing *p, int k, const ip_type *first, const ip_type *type)
{
    ip_eval *ev = p->ev;
    char wants[96], has[96];
    if (type->rank > IMGPAR_MAX_RANK - 1)
        return ip_eval_fail(ev, offset_of(p, k), "zip: components have up to %d axes, not the shape %s",
                            IMGPAR_MAX_RANK - 1, ip_shape_text(type, has));
    if (type->rank == first->rank && memcmp(type->shape, first->shape, (size_t)type->rank * sizeof *type->shape) == 0)
        return true;
    return ip_eval_fail(ev, offset_of(p, k), "zip: this component has the shape %s, the first one %s",
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

/* The float that holds the digits of all, where integers may have more of them than a float beside them holds; NULL:
 * they have not, or are beside complex numbers. */
static const char *longer_float(const ip_val *items, int n)
{
    double most = 0, holds = INFINITY; /* whole numbers up to there */
    for (int k = 0; k < n; k++) {
        if (items[k].kind != IP_V_ARRAY || items[k].u.array->bends) continue;
        const imgpar_array *a = items[k].u.array;
        if (ip_type_is_complex(&a->type)) return NULL;
        if (!ip_dtype(a->type.dtype)->is_float)
            most = fmax(most, fmax(fabs(a->range.lo), fabs(a->range.hi)));
        else if (a->type.dtype != IMGPAR_F64)
            holds = fmin(holds, a->type.dtype == IMGPAR_F16 ? 0x1p11 : 0x1p24);
    }
    return most <= holds ? NULL : most <= 0x1p24 ? "f32" : "f64";
}

static bool keep_digits(const packing *p, ip_val *items, int n)
{
    ip_eval *ev = p->ev;
    const char *dtype = longer_float(items, n);
    bool ok = true;
    for (int k = 0; dtype && ok && k < n; k++) {
        ip_val wide;
        if (items[k].kind != IP_V_ARRAY || items[k].u.array->bends) continue;
        const ip_arg args[] = { ip_arg_array(items[k].u.array),
                                { .name = "dtype", .kind = IP_ARG_TEXT, .text = dtype } };
        ok = ip_call_result(ev, offset_of(p, k), ip_build(ev->ctx, ip_op_find("cast"), args, 2), &wide);
        if (!ok) break;
        ip_val_free(&items[k]);
        items[k] = wide;
    }
    return ok;
}

/* Whether it takes the shape of the others: a number, or one that a loop carries; and, of records, what a number
 * became, one element beside many. */
static bool is_number(const packing *p, const ip_val *v)
{
    if (v->kind != IP_V_ARRAY || v->u.array->bends) return true;
    return p->has_many && (!p->call || p->call->names[0]) && ip_type_count(&v->u.array->type) == 1;
}

/* What numbers among the components become arrays like: one of the shape and dtype in which the arrays meet. NONE:
 * there is no number, or no array. */
static bool meet(const packing *p, const ip_val *items, int n, ip_val *out)
{
    *out = (ip_val){ .kind = IP_V_NONE };
    bool has_numbers = false, ok = true;
    for (int k = 0; k < n; k++)
        has_numbers = has_numbers || is_number(p, &items[k]);
    for (int k = 0; ok && has_numbers && k < n; k++) {
        if (is_number(p, &items[k])) continue;
        if (out->kind == IP_V_NONE) {
            *out = ip_val_copy(&items[k]);
            continue;
        }
        ip_val both;
        const ip_type *shape = &out->u.array->type;
        ok = check_shape(p, k, shape, &items[k].u.array->type) &&
             ip_call_spread(p->ev, offset_of(p, k), shape, out, &items[k], &both);
        if (!ok) break;
        ip_val_free(out);
        *out = both;
    }
    if (!ok) ip_val_free(out);
    return ok;
}

/* An axis to put it beside others along: the channels of an image that has one, else a new one. */
static bool as_component(ip_eval *ev, size_t offset, const ip_val *part, ip_val *out)
{
    const ip_type *type = &part->u.array->type;
    if (type->rank != 3 || type->shape[2] != 1) return build_op(ev, offset, "expand_dims", part->u.array, NULL, out);
    *out = ip_val_copy(part);
    return true;
}

/* The components one after the other along the last axis. */
static bool put_together(const packing *p, const ip_val *items, int n, ip_val *out)
{
    ip_eval *ev = p->ev;
    const ip_coords *coords = ip_inherited_coords(ev);
    const ip_type one_element = { .dtype = IMGPAR_U8, .space = IMGPAR_SPACE_DATA, .rank = 1, .shape = { 1 } },
                  *inherited = coords ? &coords->type : &one_element;
    ip_type first = { .rank = 0 };
    ip_val like, all = { .kind = IP_V_NONE };
    if (!meet(p, items, n, &like)) return false;
    bool ok = true;
    for (int k = 0; ok && k < n; k++) {
        ip_val part = { .kind = IP_V_NONE }, one = part, joined = part;
        size_t offset = offset_of(p, k);
        if (!is_number(p, &items[k]))
            part = ip_val_copy(&items[k]);
        else if (like.kind == IP_V_ARRAY)
            ok = ip_call_spread(ev, offset, &like.u.array->type, &items[k], &like, &part);
        else
            ok = ip_call_spread(ev, offset, inherited, &items[k], &items[k], &part);
        ok = ok && check_shape(p, k, k == 0 ? &part.u.array->type : &first, &part.u.array->type) &&
             as_component(ev, offset, &part, &one) &&
             (k == 0 || build_op(ev, offset, "concatenate", all.u.array, one.u.array, &joined));
        if (ok && k == 0) first = part.u.array->type;
        ip_val_free(&part);
        if (k == 0) {
            all = one;
            continue;
        }
        ip_val_free(&one);
        ip_val_free(&all);
        all = joined;
    }
    ip_val_free(&like);
    if (ok)
        *out = all;
    else
        ip_val_free(&all);
    return ok;
}

/* The same, of components in a dtype that holds the digits of all. */
static bool put_whole(const packing *p, const ip_val *items, int n, ip_val *out)
{
    ip_val *wide = ip_alloc_array((size_t)n, sizeof *wide);
    if (!wide) return ip_eval_fail_memory(p->ev);
    packing whole = *p;
    for (int k = 0; k < n; k++) {
        wide[k] = ip_val_copy(&items[k]);
        const imgpar_array *a = items[k].kind == IP_V_ARRAY ? items[k].u.array : NULL;
        whole.has_many = whole.has_many || (a && !a->bends && ip_type_count(&a->type) > 1);
    }
    bool ok = keep_digits(p, wide, n) && put_together(&whole, wide, n, out);
    for (int k = 0; k < n; k++)
        ip_val_free(&wide[k]);
    ip_free(wide);
    return ok;
}

/* Some component must say the shape, or the expression around, as in make(). Named numbers alone are one element. */
static bool has_shape(ip_eval *ev, const ip_node *call, const ip_val *items, int n)
{
    bool has = ip_inherited_coords(ev) != NULL || ev->dead || call->names[0];
    for (int k = 0; k < n; k++)
        has = has || items[k].kind == IP_V_ARRAY;
    return has || ip_eval_fail(ev, call->offset, "zip: one component at least must be an array");
}

bool ip_form_zip(ip_eval *ev, const ip_node *call, ip_val *out)
{
    int n = call->n_items, done = 0;
    if (n == 0) return ip_eval_fail(ev, call->offset, "zip: there are no components");
    if (!call->names[0] && call->names[n - 1])
        return ip_eval_fail(ev, call->offset, "zip: name all components, or none");
    ip_record *record = ip_record_new(n);
    if (!record) return ip_eval_fail_memory(ev);
    ip_place place = ip_leave_region(ev, ip_inherited_coords(ev));
    bool ok = true;
    for (; ok && done < n; done += ok) {
        record->names[done] = call->names[done];
        ok = component_of(ev, call, done, &record->items[done]);
    }
    ev->place = place;
    ok = ok && has_shape(ev, call, record->items, n);
    if (ok && ev->checking)
        *out = ip_val_unknown(IP_V_ARRAY);
    else if (ok)
        ok = put_whole(&(packing){ .ev = ev, .call = call, .offset = call->offset }, record->items, n, out);
    if (ok && call->names[0])
        out->record = record;
    else
        ip_record_release(record);
    return ok;
}

/* ---- records that no call writes -------------------------------------------------------------- */

bool ip_record_pack(ip_eval *ev, size_t offset, ip_record *takes, ip_val *out)
{
    bool ok = true;
    *out = ip_val_unknown(IP_V_ARRAY);
    ip_place place = ip_leave_region(ev, ip_inherited_coords(ev));
    if (!ev->checking) ok = put_whole(&(packing){ .ev = ev, .offset = offset }, takes->items, takes->n, out);
    ev->place = place;
    if (ok)
        out->record = takes;
    else
        ip_record_release(takes);
    return ok;
}

bool ip_record_has_names(const ip_record *a, const ip_record *b)
{
    bool has = a && b && a->n == b->n;
    for (int k = 0; has && k < a->n; k++)
        has = ip_record_find(b, a->names[k]) >= 0;
    return has;
}

int ip_record_find(const ip_record *record, const ip_symbol *name)
{
    for (int k = 0; record && k < record->n; k++)
        if (record->names[k] == name) return k;
    return -1;
}

/* ---- reads ------------------------------------------------------------------------------------- */

/* A component that has an element for each of the record's; NULL: none. */
static const ip_val *widest_of(const ip_val *base)
{
    const ip_record *record = base->record;
    const int64_t n = ip_type_count(&base->u.array->type) / record->n;
    for (int k = 0; k < record->n; k++) {
        const ip_val *item = &record->items[k];
        if (item->kind == IP_V_ARRAY && !item->u.array->bends && ip_type_count(&item->u.array->type) == n) return item;
    }
    return NULL;
}

/* Whether a constant read beyond the edges is that constant. */
static bool keeps_constants(const ip_stencil_form *form)
{
    static const char *const words[] = { "replicate", "reflect", "reflect101", "wrap", "unchecked" };
    if (!form || !form->border) return true;
    for (size_t k = 0; k < sizeof words / sizeof *words; k++)
        if (strcmp(form->border, words[k]) == 0) return true;
    return false;
}

/* The same read of one component; widest is one with all elements, and a number or one element stands for as many. */
static bool read_component(ip_eval *ev, size_t offset, const ip_val *item, const ip_val *widest, const ip_offsets *at,
                           ip_val *out)
{
    const ip_type *type = &widest->u.array->type;
    const bool is_wide =
        item->kind == IP_V_ARRAY && !item->u.array->bends && ip_type_count(&item->u.array->type) == ip_type_count(type);
    ip_val spread;
    if (!is_wide && keeps_constants(ev->stencil)) {
        *out = ip_val_copy(item);
        return true;
    }
    if (is_wide)
        spread = ip_val_copy(item);
    else if (!ip_call_spread(ev, offset, type, item, item, &spread))
        return false;
    bool ok = ip_call_read(ev, offset, spread.u.array, at, out);
    ip_val_free(&spread);
    return ok;
}

/* Not where neighbours are other components. */
static bool stays_in_components(const ip_val *base, const ip_offsets *at)
{
    const int last = base->u.array->type.rank - 1;
    bool stays = last > 0 && base->u.array->type.shape[last] == base->record->n;
    for (int dim = 0; stays && at->n > last && dim < 3; dim++)
        stays = at->by[last] == 0 && at->along[last][dim] == 0;
    return stays;
}

bool ip_record_name_read(ip_eval *ev, size_t offset, const ip_val *base, const ip_offsets *at, ip_val *read)
{
    const ip_record *record = base->kind == IP_V_ARRAY ? base->record : NULL;
    if (!record || (!ev->checking && !stays_in_components(base, at))) return true;
    const ip_val *widest = ev->checking ? NULL : widest_of(base);
    if (!widest && !ev->checking) return true;
    ip_offsets own = *at;
    if (widest && own.n > widest->u.array->type.rank) own.n = widest->u.array->type.rank;
    ip_record *names = ip_record_new(record->n);
    bool ok = names || ip_eval_fail_memory(ev);
    for (int k = 0; ok && k < record->n; k++) {
        names->names[k] = record->names[k];
        if (ev->checking)
            names->items[k] = ip_val_unknown(IP_V_ARRAY);
        else
            ok = read_component(ev, offset, &record->items[k], widest, &own, &names->items[k]);
    }
    if (ok)
        read->record = names;
    else
        ip_record_release(names);
    return ok;
}

/* ---- choices ----------------------------------------------------------------------------------- */

/* Whether the condition is one of a record's elements, or of all. */
static bool is_of_elements(const ip_val *condition, const ip_record *record)
{
    if (condition->kind != IP_V_ARRAY || !condition->u.array || ip_type_count(&condition->u.array->type) == 1)
        return true;
    const ip_type *type = &condition->u.array->type;
    for (int k = 0; k < record->n; k++) {
        const ip_val *item = &record->items[k];
        if (item->kind != IP_V_ARRAY || !item->u.array) continue;
        const ip_type *own = &item->u.array->type;
        return type->rank == own->rank &&
               memcmp(type->shape, own->shape, (size_t)type->rank * sizeof *type->shape) == 0;
    }
    return true;
}

bool ip_record_may_select(const ip_val operands[3])
{
    const ip_record *a = operands[1].kind == IP_V_ARRAY ? operands[1].record : NULL,
                    *b = operands[2].kind == IP_V_ARRAY ? operands[2].record : NULL;
    return ip_record_has_names(a, b) && is_of_elements(&operands[0], a);
}

bool ip_record_select(ip_eval *ev, size_t offset, const ip_val operands[3], ip_val *out)
{
    const ip_record *a = operands[1].record, *b = operands[2].record;
    ip_record *record = ip_record_new(a->n);
    bool ok = record || ip_eval_fail_memory(ev);
    for (int k = 0; ok && k < a->n; k++) {
        record->names[k] = a->names[k];
        const ip_val parts[3] = { operands[0], a->items[k], b->items[ip_record_find(b, a->names[k])] };
        ok = ip_call_operator(ev, IP_O_SELECT, offset, parts, &record->items[k]);
    }
    if (ok) return ip_record_pack(ev, offset, record, out);
    ip_record_release(record);
    return false;
}

/* ---- components -------------------------------------------------------------------------------- */

/* The record, of which node names no component, may be NULL. */
static bool refuse(ip_eval *ev, const ip_node *node, const ip_record *record)
{
    const char *name = node->name->name;
    const ip_node *base = node->items[0];
    if (node->name->op || ip_is_form(name))
        return ip_eval_fail(ev, node->offset, "'.' means nothing here; operations are called: %.60s(a)", name);
    if (base->kind == IP_N_NAME && !ip_eval_lookup(ev, base->name))
        return ip_eval_fail(ev, node->offset, "'.' means nothing here; a file's name stands in quotes: \"photo.jpg\"");
    if (record) {
        ip_str list = IP_STR_INIT;
        for (int k = 0; k < record->n; k++)
            ip_str_printf(&list, "%s%.60s", k ? ", " : "", record->names[k]->name);
        if (list.failed)
            ip_eval_fail_memory(ev);
        else
            ip_eval_fail(ev, node->offset, "there is no component %.60s; it has %s", name, ip_str_text(&list));
        ip_str_free(&list);
        return false;
    }
    const char *here = ip_member_elsewhere(name);
    if (here) return ip_eval_fail(ev, node->offset, "there is no component %s; that is %s", name, here);
    return ip_eval_fail(ev, node->offset, "there is no component %.60s; zip(%.60s=...) names one", name, name);
}

bool ip_eval_component(ip_eval *ev, const ip_node *node, ip_val *out)
{
    const ip_node *base = node->items[0];
    ip_val v;
    if (base->kind == IP_N_NAME && !ip_eval_lookup(ev, base->name)) return refuse(ev, node, NULL);
    ip_place place = ip_leave_region(ev, ip_inherited_coords(ev));
    bool ok = ip_eval_value(ev, base, &v);
    ev->place = place;
    if (!ok) return false;
    const ip_record *record = v.kind == IP_V_ARRAY ? v.record : NULL;
    const int k = ip_record_find(record, node->name);
    if (v.kind == IP_V_ANY)
        *out = ip_val_unknown(IP_V_ANY);
    else if (k >= 0)
        *out = ip_val_copy(&record->items[k]);
    else
        ok = refuse(ev, node, record);
    ip_val_free(&v);
    return ok;
}
