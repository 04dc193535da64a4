/* SPDX-License-Identifier: MIT */
/* Making derived rows, and the ones of derived.def. */
#include "ops/derived.h"

#include "base/dtype.h"
#include "base/plural.h"
#include "ops/distinct.h"
#include "ops/infer.h"
#include "ops/key_table.h"
#include "ops/nth.h"
#include "ops/slices.h"

#include <assert.h>
#include <math.h>
#include <string.h>

imgpar_array *ip_making_keep(ip_making *m, imgpar_array *array)
{
    assert(m->n < IP_MAKING_ARRAYS);
    return m->arrays[m->n++] = array;
}

imgpar_array *ip_make(ip_making *m, const char *row, int n, const ip_arg *args)
{
    return ip_making_keep(m, ip_build(m->call->ctx, ip_op_find(row), args, n));
}

imgpar_array *ip_make_of(ip_making *m, const char *row, imgpar_array *a)
{
    return ip_make(m, row, 1, (ip_arg[]){ ip_arg_array(a) });
}

imgpar_array *ip_make_pair(ip_making *m, const char *row, imgpar_array *a, imgpar_array *b)
{
    return ip_make(m, row, 2, (ip_arg[]){ ip_arg_array(a), ip_arg_array(b) });
}

imgpar_array *ip_make_number(ip_making *m, double value)
{
    return ip_making_keep(m, ip_build_number(m->call->ctx, value, false));
}

static ip_arg numbers(const char *name, const double *values, int n)
{
    return (ip_arg){ .name = name, .kind = IP_ARG_MATRIX, .rows = 1, .cols = n, .numbers = values };
}

static ip_arg option(const char *name, double value)
{
    return (ip_arg){ .name = name, .kind = IP_ARG_NUMBER, .number = value };
}
static ip_arg flag(const char *name, bool value)
{
    return (ip_arg){ .name = name, .kind = IP_ARG_BOOL, .number = value };
}
static ip_arg word(const char *name, const char *text)
{
    return (ip_arg){ .name = name, .kind = IP_ARG_TEXT, .text = text };
}

imgpar_array *ip_make_flat(ip_making *m, imgpar_array *a)
{
    const double whole = (double)ip_type_count(&a->type); /* -1 would divide by no elements */
    return ip_make(m, "reshape", 2, (ip_arg[]){ ip_arg_array(a), numbers("shape", &whole, 1) });
}

imgpar_array *ip_made(ip_making *m, imgpar_array *result)
{
    imgpar_array_retain(result);
    for (int k = 0; k < m->n; k++)
        imgpar_array_release(m->arrays[k]);
    return result;
}

/* The element of a vector one place further, or before; beyond its ends the last one. */
static imgpar_array *neighbour(ip_making *m, imgpar_array *a, double offset)
{
    return ip_make(m, "shift", 2, (ip_arg[]){ ip_arg_array(a), numbers("offsets", &offset, 1) });
}

static imgpar_array *place(ip_making *m, const imgpar_array *vector)
{
    return ip_making_keep(m, ip_build_coordinate(m->call->ctx, ip_type_axis_dim(&vector->type, 0), &vector->type));
}

static imgpar_array *as_i32(ip_making *m, imgpar_array *a)
{
    return ip_make(m, "cast", 2, (ip_arg[]){ ip_arg_array(a), word("dtype", "i32") });
}

static imgpar_array *select_of(ip_making *m, imgpar_array *condition, imgpar_array *yes, double no)
{
    return ip_make(m, "select", 3,
                   (ip_arg[]){ ip_arg_array(condition), ip_arg_array(yes), ip_arg_array(ip_make_number(m, no)) });
}

/* Places of the elements of a bool vector: the true ones in their order, then the others. */
static imgpar_array *true_first(ip_making *m, imgpar_array *is_wanted)
{
    return ip_make(m, "argsort", 2, (ip_arg[]){ ip_arg_array(is_wanted), flag("descending", true) });
}

/* ---- the largest ------------------------------------------------------------------------------- */

imgpar_status ip_infer_topk(imgpar_array *node, ip_error *err)
{
    const ip_type *a = &node->inputs[0]->type;
    int axis;
    imgpar_status st = ip_axis_param(node, a->rank, &axis, err);
    double k = ip_param_number(node, "k");
    if (st || k <= (double)a->shape[axis]) return st;
    return ip_fail(err, IMGPAR_E_SHAPE, "%s: k=%g is above the %lld elements of axis %d", node->op->info.name, k,
                   (long long)a->shape[axis], axis);
}

imgpar_array *ip_expand_topk(const imgpar_array *call)
{
    ip_making m = { .call = call };
    const double axis = ip_param_number(call, "axis"), from = 0, to = ip_param_number(call, "k");
    const char *row = call->op->variant == 1 ? "argsort" : "sort";
    imgpar_array *sorted = ip_make(&m, row, 3,
                                   (ip_arg[]){ ip_arg_array(call->inputs[0]), option("axis", axis),
                                               flag("descending", ip_param_number(call, "largest") != 0) });
    return ip_made(&m, ip_make(&m, "slice", 4,
                               (ip_arg[]){ ip_arg_array(sorted), numbers("from", &from, 1), numbers("to", &to, 1),
                                           option("axis", axis) }));
}

/* ---- several keys ---------------------------------------------------------------------------- */

enum { MOST_KEYS = 8 };

static bool are_keys(const imgpar_array *a) { return a->op->infer == ip_infer_keys; }

/* Of the shape of the last one, so that each is compared with its neighbour. */
imgpar_status ip_infer_keys(imgpar_array *node, ip_error *err)
{
    const ip_type *a = &node->inputs[0]->type, *b = &node->inputs[1]->type;
    char text_a[96], text_b[96];
    node->type = *b;
    if (a->rank == b->rank && memcmp(a->shape, b->shape, (size_t)a->rank * sizeof *a->shape) == 0) return IMGPAR_OK;
    return ip_fail(err, IMGPAR_E_SHAPE, "lexsort: keys are %s and %s; they must be of one shape",
                   ip_shape_text(a, text_a), ip_shape_text(b, text_b));
}

static int count_keys(const imgpar_array *keys)
{
    int n = 1;
    for (; are_keys(keys); keys = keys->inputs[0])
        n++;
    return n;
}

imgpar_status ip_infer_lexsort(imgpar_array *node, ip_error *err)
{
    const ip_param *descending = ip_param_get(node, "descending");
    const int n = count_keys(node->inputs[0]), given = descending->rows * descending->cols;
    int axis;
    if (n > MOST_KEYS)
        return ip_fail(err, IMGPAR_E_ARGUMENT, "lexsort: %d keys are too many; at most %d are possible", n, MOST_KEYS);
    if (given > 1 && given != n)
        return ip_fail(err, IMGPAR_E_ARGUMENT, "lexsort: descending has %d numbers for %d %s; one for each is needed",
                       given, n, ip_word_for(n, "key", "keys"));
    for (int k = 0; k < given; k++)
        if (descending->numbers[k] != 0 && descending->numbers[k] != 1)
            return ip_fail(err, IMGPAR_E_ARGUMENT, "lexsort: descending must be of 0 and 1, not %g",
                           descending->numbers[k]);
    return ip_axis_param(node, node->inputs[0]->type.rank, &axis, err);
}

/* From the key that decides last to the one that decides first: what is in order stays so among equals. */
imgpar_array *ip_expand_lexsort(const imgpar_array *call)
{
    ip_making m = { .call = call };
    const ip_param *descending = ip_param_get(call, "descending");
    const ip_arg axis = option("axis", ip_param_number(call, "axis"));
    const int given = descending->rows * descending->cols, n = count_keys(call->inputs[0]);
    imgpar_array *keys[MOST_KEYS] = { NULL }, *rest = call->inputs[0], *order = NULL;
    for (int k = n - 1; k > 0; k--, rest = rest->inputs[0])
        keys[k] = rest->inputs[1];
    keys[0] = rest;
    for (int k = 0; k < n; k++) {
        const ip_arg down = flag("descending", given && descending->numbers[given > 1 ? k : 0] != 0);
        imgpar_array *key = keys[k];
        if (order) key = ip_make(&m, "take_along_axis", 3, (ip_arg[]){ ip_arg_array(key), ip_arg_array(order), axis });
        imgpar_array *by_key = ip_make(&m, "argsort", 3, (ip_arg[]){ ip_arg_array(key), axis, down });
        order = order ? ip_make(&m, "take_along_axis", 3, (ip_arg[]){ ip_arg_array(order), ip_arg_array(by_key), axis })
                      : by_key;
    }
    return ip_made(&m, order);
}

/* ---- what is not 0 ------------------------------------------------------------------------------- */

/* Positions are i32. */
imgpar_status ip_infer_flat(imgpar_array *node, ip_error *err)
{
    if (ip_type_count(&node->inputs[0]->type) <= INT32_MAX) return IMGPAR_OK;
    return ip_fail(err, IMGPAR_E_LIMIT, "%s: more than 2147483647 elements", node->op->info.name);
}

static bool is_empty(const imgpar_array *call) { return ip_type_count(&call->inputs[0]->type) == 0; }

static imgpar_array *is_not_0(ip_making *m)
{
    return ip_make_pair(m, "ne", ip_make_flat(m, m->call->inputs[0]), ip_make_number(m, 0));
}

imgpar_array *ip_expand_find(const imgpar_array *call)
{
    ip_making m = { .call = call };
    if (is_empty(call)) return ip_made(&m, as_i32(&m, ip_make_flat(&m, call->inputs[0])));
    imgpar_array *wanted = is_not_0(&m), *places = true_first(&m, wanted);
    imgpar_array *count = as_i32(&m, ip_make_of(&m, "sum", wanted));
    return ip_made(&m, select_of(&m, ip_make_pair(&m, "lt", place(&m, places), count), places, -1));
}

imgpar_array *ip_expand_count_nonzero(const imgpar_array *call)
{
    ip_making m = { .call = call };
    return ip_made(&m, ip_make_of(&m, "sum", is_not_0(&m)));
}

/* ---- different values ------------------------------------------------------------------------------- */

enum { UNIQUE_VALUES, UNIQUE_COUNTS, UNIQUE_NUMBER, UNIQUE_INVERSE }; /* variants of the rows */
/* Of how many values at least tables are sorted, and how many times as many the next size has: a sort of the least
 * takes 0.1 ms. */
enum { LEAST_SIZE = 1 << 12, SIZES = 16 };

/* Whether an element of a sorted vector is the first of its value. NaN differs from itself. */
static imgpar_array *is_first(ip_making *m, imgpar_array *sorted)
{
    imgpar_array *before = neighbour(m, sorted, -1),
                 *at_start = ip_make_pair(m, "eq", place(m, sorted), ip_make_number(m, 0));
    imgpar_array *differs = ip_make_pair(m, "ne", sorted, before);
    if (ip_dtype(sorted->type.dtype)->is_float) /* what follows a NaN is one */
        differs = ip_make_pair(m, "both", differs, ip_make_pair(m, "eq", before, before));
    return ip_make_pair(m, "either", at_start, differs);
}

/* A number as a vector. */
static imgpar_array *vector_of(ip_making *m, imgpar_array *a) { return a->type.rank == 1 ? a : ip_make_flat(m, a); }

/* The vector brought to n elements by zeros. */
static imgpar_array *filled(ip_making *m, imgpar_array *a, int64_t n)
{
    const double after = (double)(n - a->type.shape[0]), before = 0;
    return ip_make(m, "pad", 3,
                   (ip_arg[]){ ip_arg_array(a), numbers("before", &before, 1), numbers("after", &after, 1) });
}

/* Of the vector flat, whose values elements has, where each stands among the different ones; NULL: flat itself. */
static imgpar_array *inverse_of(ip_making *m, imgpar_array *flat, imgpar_array *elements)
{
    imgpar_array *order = elements ? NULL : ip_make_of(m, "argsort", flat),
                 *sorted = elements ? ip_make_of(m, "sort", elements) : ip_make_pair(m, "take", flat, order);
    imgpar_array *values = as_i32(m, ip_make_of(m, "cumsum", is_first(m, sorted)));
    imgpar_array *number = ip_make_pair(m, "minus", values, ip_make_number(m, 1));
    if (elements) return ip_make_pair(m, "take", number, ip_make_first_place(m, sorted, flat));
    imgpar_array *nothing = ip_make_pair(m, "times", order, ip_make_number(m, 0));
    return as_i32(m, ip_make(m, "scatter_add", 3,
                             (ip_arg[]){ ip_arg_array(nothing), ip_arg_array(order), ip_arg_array(number) }));
}

/* Of a vector of elements that stand for as many as counts tells, of those of flat; NULL: each for itself. */
static imgpar_array *unique_of(ip_making *m, imgpar_array *elements, imgpar_array *counts, imgpar_array *flat)
{
    const int wanted = m->call->op->variant;
    const int64_t n = flat->type.shape[0];
    if (wanted == UNIQUE_INVERSE) return inverse_of(m, flat, counts ? elements : NULL);
    imgpar_array *order = NULL, *sorted;
    if (wanted == UNIQUE_COUNTS && counts) {
        order = ip_make_of(m, "argsort", elements);
        sorted = ip_make_pair(m, "take", elements, order);
    } else
        sorted = ip_make_of(m, "sort", elements);
    imgpar_array *first = is_first(m, sorted), *number = ip_make_of(m, "sum", first);
    if (wanted == UNIQUE_NUMBER) return number;
    imgpar_array *starts = true_first(m, first), *k = place(m, starts), *count = as_i32(m, number);
    imgpar_array *is_one = ip_make_pair(m, "lt", k, count);
    if (wanted == UNIQUE_VALUES) return select_of(m, is_one, ip_make_pair(m, "take", sorted, starts), 0);
    if (order) { /* elements stand behind those that stand for the ones before */
        imgpar_array *standing = ip_make_pair(m, "take", counts, order);
        imgpar_array *before = ip_make_pair(m, "minus", ip_make_of(m, "cumsum", standing), standing);
        starts = as_i32(m, ip_make_pair(m, "take", before, starts));
    }
    imgpar_array *follows = ip_make_pair(m, "lt", ip_make_pair(m, "plus", k, ip_make_number(m, 1)), count);
    imgpar_array *end = select_of(m, follows, neighbour(m, starts, 1), (double)n);
    return select_of(m, is_one, ip_make_pair(m, "minus", end, starts), 0);
}

/* Elements from `from` on. */
static imgpar_array *part_of(ip_making *m, imgpar_array *a, int64_t from, int64_t n)
{
    const double first = (double)from, last = (double)(from + n);
    return ip_make(m, "slice", 3, (ip_arg[]){ ip_arg_array(a), numbers("from", &first, 1), numbers("to", &last, 1) });
}

/* Where there are few values (distinct.h, Note [Few values]) they are sorted alone, and how often each occurs is known.
 * Branches on their number choose among sizes of what is sorted. */
static imgpar_array *unique_of_few(ip_making *m, imgpar_array *flat, int64_t most)
{
    const int64_t n = flat->type.shape[0], room = m->call->op->variant == UNIQUE_NUMBER ? 2 : n;
    imgpar_array *tables = ip_make_of(m, IP_DISTINCT, flat), *found = part_of(m, tables, 0, 1);
    imgpar_array *result = filled(m, vector_of(m, unique_of(m, flat, NULL, flat)), room);
    for (int64_t size = most; size >= LEAST_SIZE; size /= SIZES) {
        imgpar_array *few = ip_make_pair(m, "take", flat, part_of(m, tables, 1, size)),
                     *counts = part_of(m, tables, 1 + most, size);
        imgpar_array *of_few = filled(m, vector_of(m, unique_of(m, few, counts, flat)), room);
        imgpar_array *fits = ip_make_pair(m, "le", found, ip_make_number(m, (double)size));
        result = ip_make(m, "select", 3, (ip_arg[]){ ip_arg_array(fits), ip_arg_array(of_few), ip_arg_array(result) });
    }
    return result;
}

static imgpar_array *shaped_as(ip_making *m, imgpar_array *a, const ip_type *type)
{
    double shape[IP_MAX_AXES];
    for (int k = 0; k < type->rank; k++)
        shape[k] = (double)type->shape[k];
    return ip_make(m, "reshape", 2, (ip_arg[]){ ip_arg_array(a), numbers("shape", shape, type->rank) });
}

imgpar_array *ip_expand_unique(const imgpar_array *call)
{
    const int wanted = call->op->variant;
    if (wanted == UNIQUE_NUMBER && is_empty(call)) return ip_expand_count_nonzero(call);
    ip_making m = { .call = call };
    if (wanted == UNIQUE_INVERSE && is_empty(call)) return ip_made(&m, as_i32(&m, call->inputs[0]));
    imgpar_array *flat = ip_make_flat(&m, call->inputs[0]);
    if (is_empty(call)) return ip_made(&m, wanted == UNIQUE_VALUES ? flat : as_i32(&m, flat));
    const int64_t most = ip_distinct_most(flat->type.shape[0]);
    imgpar_array *result = most ? unique_of_few(&m, flat, most) : unique_of(&m, flat, NULL, flat);
    if (most && wanted == UNIQUE_NUMBER) result = ip_make_of(&m, "maxval", result);
    return ip_made(&m, wanted == UNIQUE_INVERSE ? shaped_as(&m, result, &call->inputs[0]->type) : result);
}

/* ---- elements in order ---------------------------------------------------------------------------------- */

imgpar_status ip_infer_percentile(imgpar_array *node, ip_error *err)
{
    const ip_type *a = &node->inputs[0]->type;
    unsigned axes;
    imgpar_status st = ip_axes_of(node, "axis", a->rank, &axes, err);
    for (int k = 0; !st && k < a->rank; k++)
        if (axes >> k & 1 && a->shape[k] == 0)
            return ip_fail(err, IMGPAR_E_SHAPE, "percentile: axis %d has no elements", k);
    return st;
}

/* Extents: those of the axes that stay, and n; or 1 for each that is folded. Returns how many. */
static int rest_of(const ip_type *a, unsigned axes, bool keeps, double extents[IP_MAX_AXES])
{
    int n = 0;
    for (int k = 0; k < a->rank; k++)
        if (keeps || !(axes >> k & 1)) extents[n++] = axes >> k & 1 ? 1 : (double)a->shape[k];
    return n;
}

static double n_folded(const ip_type *a, unsigned axes)
{
    double n = 1;
    for (int k = 0; k < a->rank; k++)
        n *= axes >> k & 1 ? (double)a->shape[k] : 1;
    return n;
}

/* The elements that are folded, in order along the last axis. */
static imgpar_array *in_order(ip_making *m, unsigned axes)
{
    imgpar_array *a = m->call->inputs[0];
    double order[IP_MAX_AXES], extents[IP_MAX_AXES + 1];
    int n = 0;
    for (int folded = 0; folded < 2; folded++)
        for (int k = 0; k < a->type.rank; k++)
            if ((int)(axes >> k & 1) == folded) order[n++] = k;
    imgpar_array *rows = ip_make(m, "permute", 2, (ip_arg[]){ ip_arg_array(a), numbers("axes", order, n) });
    int n_rest = rest_of(&a->type, axes, false, extents);
    extents[n_rest] = n_folded(&a->type, axes);
    return ip_make_of(
        m, "sort", ip_make(m, "reshape", 2, (ip_arg[]){ ip_arg_array(rows), numbers("shape", extents, n_rest + 1) }));
}

/* The elements at one place of the order, as floats. */
static imgpar_array *at_place(ip_making *m, imgpar_array *sorted, double place)
{
    const imgpar_dtype real = ip_float_for(m->call->inputs[0]->type.dtype);
    const double to = place + 1;
    imgpar_array *taken = ip_make(
        m, "slice", 4,
        (ip_arg[]){ ip_arg_array(sorted), numbers("from", &place, 1), numbers("to", &to, 1), option("axis", -1) });
    return ip_make(m, "cast", 2, (ip_arg[]){ ip_arg_array(taken), word("dtype", ip_dtype(real)->name) });
}

/* Of levels it is enough to count them: the largest that a dtype may have. 0: such elements are sorted. */
static double top_level(imgpar_dtype dtype)
{
    return dtype == IMGPAR_U8 ? UINT8_MAX : dtype == IMGPAR_U16 ? UINT16_MAX : 0;
}

/* How many elements have a level or one below it, from 0 to top. */
static imgpar_array *counted(ip_making *m, double top)
{
    imgpar_array *flat = ip_make_flat(m, m->call->inputs[0]);
    const ip_arg bins = { .name = "bins", .kind = IP_ARG_NUMBER, .number = top + 1 },
                 lo = { .name = "lo", .kind = IP_ARG_NUMBER, .number = 0 },
                 hi = { .name = "hi", .kind = IP_ARG_NUMBER, .number = top + 1 };
    imgpar_array *counts = ip_make(m, "histogram", 4, (ip_arg[]){ ip_arg_array(flat), bins, lo, hi });
    return ip_make(m, "cumsum", 2, (ip_arg[]){ ip_arg_array(counts), option("axis", -1) });
}

/* The element at one place of the order, as floats: as many levels are below it as have no more elements up to them. */
static imgpar_array *at_count(ip_making *m, imgpar_array *counts, double place)
{
    const imgpar_dtype real = ip_float_for(m->call->inputs[0]->type.dtype);
    imgpar_array *below = ip_make_pair(m, "le", counts, ip_make_number(m, place));
    return ip_make(m, "cast", 2,
                   (ip_arg[]){ ip_arg_array(ip_make_of(m, "sum", below)), word("dtype", ip_dtype(real)->name) });
}

/* The elements at one place of the order of all and at the next one. */
static imgpar_array *two_in_order(ip_making *m, double place)
{
    const ip_arg range[] = { option("from", place), option("to", place + 2), option("step", 1), word("dtype", "i64") };
    return ip_make_pair(m, IP_NTH, m->call->inputs[0], ip_make(m, "arange", 4, range));
}

/* Equal elements are not subtracted: they may be infinite. */
imgpar_array *ip_expand_percentile(const imgpar_array *call)
{
    ip_making m = { .call = call };
    const ip_type *a = &call->inputs[0]->type;
    ip_error ignored = { .status = IMGPAR_OK };
    double extents[IP_MAX_AXES] = { 1 };
    unsigned axes;
    ip_axes_of(call, "axis", a->rank, &axes, &ignored);
    const bool is_all = n_folded(a, axes) == (double)ip_type_count(a), counts = is_all && top_level(a->dtype) > 0,
               searches = is_all && !counts && ip_type_count(a) >= IP_NTH_LEAST;
    const double h = ip_param_number(call, "p") * (n_folded(a, axes) - 1) / 100, between = h - floor(h);
    imgpar_array *from = counts     ? counted(&m, top_level(a->dtype))
                         : searches ? two_in_order(&m, floor(h))
                                    : in_order(&m, axes);
    imgpar_array *(*at)(ip_making *, imgpar_array *, double) = counts ? at_count : at_place;
    const double place = searches ? 0 : floor(h); /* in what it is taken from */
    imgpar_array *value = at(&m, from, place);
    if (between > 0) {
        imgpar_array *lo = value, *hi = at(&m, from, place + 1);
        imgpar_array *step = ip_make_pair(&m, "times", ip_make_pair(&m, "minus", hi, lo), ip_make_number(&m, between));
        value = ip_make(&m, "select", 3,
                        (ip_arg[]){ ip_arg_array(ip_make_pair(&m, "eq", hi, lo)), ip_arg_array(lo),
                                    ip_arg_array(ip_make_pair(&m, "plus", lo, step)) });
    }
    int n = rest_of(a, axes, ip_param_number(call, "keepdims") != 0, extents);
    return ip_made(&m,
                   ip_make(&m, "reshape", 2, (ip_arg[]){ ip_arg_array(value), numbers("shape", extents, n ? n : 1) }));
}

/* ---- along diagonals ---------------------------------------------------------------------------------- */

imgpar_status ip_infer_wavefront(imgpar_array *node, ip_error *err)
{
    const ip_type *a = &node->inputs[0]->type;
    char text[96];
    if (a->rank >= 2) return IMGPAR_OK;
    return ip_fail(err, IMGPAR_E_SHAPE, "wavefront: a is %s; it must have two axes", ip_shape_text(a, text));
}

static ip_arg same_vector(const imgpar_array *call, const char *name)
{
    const ip_param *p = ip_param_get(call, name);
    return numbers(name, p->numbers, p->cols);
}

/* Outside, input and result are 0, as they are where skew() has no element. */
imgpar_array *ip_expand_wavefront(const imgpar_array *call)
{
    ip_making m = { .call = call };
    imgpar_array *a = call->inputs[0];
    const double before = (double)(a->type.shape[0] - 1), to = before + (double)a->type.shape[1];
    if (is_empty(call)) return imgpar_array_retain(a);
    imgpar_array *columns = ip_make(&m, "skew", 2, (ip_arg[]){ ip_arg_array(a), option("step", -1) });
    imgpar_array *filtered =
        ip_make(&m, "recursive", 5,
                (ip_arg[]){ ip_arg_array(columns), same_vector(call, "feedforward"), same_vector(call, "feedback"),
                            option("axis", 0), word("start", "zero") });
    imgpar_array *back = ip_make(&m, "skew", 2, (ip_arg[]){ ip_arg_array(filtered), option("step", 1) });
    return ip_made(&m, ip_make(&m, "slice", 4,
                               (ip_arg[]){ ip_arg_array(back), numbers("from", &before, 1), numbers("to", &to, 1),
                                           option("axis", 1) }));
}
