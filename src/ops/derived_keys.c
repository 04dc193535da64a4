/* SPDX-License-Identifier: MIT */
/* Rows of derived.def that look values up by keys: by halves, or of very many keys in a table (key_table.h). */
#include "ops/infer.h"
#include "ops/key_table.h"

#include "base/dtype.h"
#include "base/str.h"

#include <math.h>

/* Chosen for many elements. Where elements are about as few as the keys a table is quicker of fewer keys, too, since
 * keys are sorted to be looked up by halves. */
enum { FEW_KEYS = 1 << 18 };

static bool has_key_table(int64_t n) { return n > FEW_KEYS && n <= IP_KEY_TABLE_MOST; }

imgpar_array *ip_make_first_place(ip_making *m, imgpar_array *sorted, imgpar_array *a)
{
    return ip_make(
        m, "searchsorted", 3,
        (ip_arg[]){ ip_arg_array(sorted), ip_arg_array(a), { .name = "side", .kind = IP_ARG_TEXT, .text = "left" } });
}

static imgpar_array *make_key_places(ip_making *m, imgpar_array *a, imgpar_array *keys)
{
    imgpar_array *table = ip_make_of(m, IP_KEY_TABLE, keys);
    return ip_make(m, IP_KEY_PLACES, 3, (ip_arg[]){ ip_arg_array(a), ip_arg_array(keys), ip_arg_array(table) });
}

/* ---- indexin ------------------------------------------------------------------------------------- */

/* No dtype holds all numbers of both, and both are brought to one before anything is looked up. */
static bool meet_in_none(imgpar_dtype a, imgpar_dtype b)
{
    const ip_dtype_facts *other = ip_dtype(a == IMGPAR_U64 ? b : a);
    return (a == IMGPAR_U64) != (b == IMGPAR_U64) && !other->is_float && other->is_signed;
}

imgpar_status ip_infer_indexin(imgpar_array *node, ip_error *err)
{
    const int64_t n = ip_type_count(&node->inputs[1]->type);
    const imgpar_dtype a = node->inputs[0]->type.dtype, keys = node->inputs[1]->type.dtype;
    if (meet_in_none(a, keys))
        return ip_fail(err, IMGPAR_E_ARGUMENT,
                       "indexin: a is %s, keys are %s; no integer holds both: cast one to the other", ip_dtype(a)->name,
                       ip_dtype(keys)->name);
    if (n > INT32_MAX) return ip_fail(err, IMGPAR_E_LIMIT, "indexin: more than 2147483647 keys");
    if (has_key_table(n) && ip_type_count(&node->inputs[0]->type) > INT32_MAX)
        return ip_fail(err, IMGPAR_E_LIMIT, "indexin: more than 2147483647 elements, and more than %d keys", FEW_KEYS);
    node->type.dtype = IMGPAR_I32;
    node->type.space = IMGPAR_SPACE_DATA;
    node->range = (ip_range){ -1, (double)n - 1 };
    return IMGPAR_OK;
}

static imgpar_array *as(ip_making *m, imgpar_array *a, imgpar_dtype dtype)
{
    if (a->type.dtype == dtype) return a;
    const ip_arg word = { .name = "dtype", .kind = IP_ARG_TEXT, .text = ip_dtype(dtype)->name };
    return ip_make(m, "cast", 2, (ip_arg[]){ ip_arg_array(a), word });
}

/* All NaN are equal. */
static imgpar_array *are_equal(ip_making *m, imgpar_array *a, imgpar_array *b)
{
    imgpar_array *equal = ip_make_pair(m, "eq", a, b);
    if (!ip_dtype(a->type.dtype)->is_float) return equal;
    return ip_make_pair(m, "either", equal,
                        ip_make_pair(m, "both", ip_make_pair(m, "ne", a, a), ip_make_pair(m, "ne", b, b)));
}

/* The keys in order and, beside each, where it stood: argsort leaves equal ones in theirs. */
static imgpar_array *places_by_halves(ip_making *m, imgpar_array *a, imgpar_array *keys)
{
    imgpar_array *order = ip_make_of(m, "argsort", keys), *sorted = ip_make_pair(m, "take", keys, order);
    imgpar_array *at = ip_make_first_place(m, sorted, a);
    imgpar_array *inside = ip_make_pair(m, "lt", at, ip_make_number(m, (double)keys->type.shape[0]));
    imgpar_array *is_one = ip_make_pair(m, "both", inside, are_equal(m, a, ip_make_pair(m, "take", sorted, at)));
    return ip_make(m, "select", 3,
                   (ip_arg[]){ ip_arg_array(is_one), ip_arg_array(ip_make_pair(m, "take", order, at)),
                               ip_arg_array(ip_make_number(m, -1)) });
}

imgpar_array *ip_expand_indexin(const imgpar_array *call)
{
    ip_making m = { .call = call };
    imgpar_array *a = call->inputs[0], *keys = ip_make_flat(&m, call->inputs[1]);
    const int64_t n = keys->type.shape[0];
    if (a->type.dtype != keys->type.dtype) {
        const imgpar_dtype dtype = ip_infer_common_dtype(call);
        a = as(&m, a, dtype);
        keys = as(&m, keys, dtype);
    }
    if (n == 0 || ip_type_count(&a->type) == 0) /* nothing is found, whatever it is */
        return ip_made(
            &m, ip_make(&m, "select", 3,
                        (ip_arg[]){ ip_arg_array(ip_make_pair(&m, "eq", a, a)), ip_arg_array(ip_make_number(&m, -1)),
                                    ip_arg_array(ip_make_number(&m, -1)) }));
    return ip_made(&m, has_key_table(n) ? make_key_places(&m, a, keys) : places_by_halves(&m, a, keys));
}

/* ---- lookup_by ----------------------------------------------------------------------------------- */

/* NULL, or what keeps values from being the number. */
static const char *misfit(imgpar_dtype dtype, double number)
{
    const ip_dtype_facts *facts = ip_dtype(dtype);
    if (facts->is_float)
        return isfinite(number) && fabs(number) > facts->maximum ? "is beyond what values hold, which are" : NULL;
    if (isnan(number) || (isfinite(number) && number != floor(number))) return "is no whole number, and values are";
    return number < facts->minimum || number > facts->maximum ? "is beyond what values hold, which are" : NULL;
}

/* Its values are what take() gives of them. */
imgpar_status ip_infer_lookup_by(imgpar_array *node, ip_error *err)
{
    const ip_type *keys = &node->inputs[0]->type, *values = &node->inputs[1]->type, *a = &node->inputs[2]->type;
    char text_k[96], text_v[96];
    if (keys->rank != 1 || values->rank < 1 || values->shape[0] != keys->shape[0])
        return ip_fail(
            err, IMGPAR_E_SHAPE,
            "lookup_by: keys is %s, values is %s; keys must be a vector, and values have as many elements or "
            "rows",
            ip_shape_text(keys, text_k), ip_shape_text(values, text_v));
    if (a->rank + values->rank - 1 > IMGPAR_MAX_RANK)
        return ip_fail(err, IMGPAR_E_SHAPE, "lookup_by: a and a row of values have %d axes; at most %d are possible",
                       a->rank + values->rank - 1, IMGPAR_MAX_RANK);
    const double number = ip_param_number(node, "default");
    const char *why = misfit(values->dtype, number);
    if (!why) return IMGPAR_OK;
    return ip_fail(err, IMGPAR_E_ARGUMENT, "lookup_by: default=%s %s %s; cast(values, DTYPE) makes others of them",
                   ip_number_text(number, text_k), why, ip_dtype(values->dtype)->name);
}
