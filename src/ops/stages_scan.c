/* SPDX-License-Identifier: MIT */
/* Recurrences along an axis: scans with an operator or a user's function, recursive filters. Types and stages. */
#include "ops/associative.h"
#include "ops/complex.h"
#include "ops/infer.h"
#include "ops/lower.h"
#include "ops/view.h"

#include "base/dtype.h"

#include <math.h>
#include <stdint.h>

/* ---- types --------------------------------------------------------------------------------- */

/* Rows with one operator have it as their variant, scan as its parameter. */
static ip_running operator_of(const imgpar_array *node)
{
    return node->op->variant == IP_RUNNING_ANY_OF ? (ip_running)ip_param_number(node, "op")
                                                  : (ip_running)node->op->variant;
}

/* The axis, counted from the end where negative, as one of the four dims; the array's own axes are meant. */
static int dim_of_axis(const imgpar_array *node)
{
    const ip_type *type = &node->inputs[0]->type;
    int axis = (int)ip_param_number(node, "axis");
    return ip_type_axis_dim(type, axis < 0 ? axis + type->rank : axis);
}

static imgpar_status check_axis(const imgpar_array *node, ip_error *err)
{
    const char *name = node->op->flags & IP_OP_HIDDEN ? "scan" : node->op->info.name;
    int axis = (int)ip_param_number(node, "axis"), rank = node->inputs[0]->type.rank;
    return axis >= -rank && axis < rank ? IMGPAR_OK : ip_no_axis(name, axis, &node->inputs[0]->type, err);
}

imgpar_status ip_infer_scan_states(imgpar_array *node, ip_error *err) { return check_axis(node, err); }

static imgpar_dtype scanned_dtype(ip_running op, imgpar_dtype dtype)
{
    const ip_dtype_facts *facts = ip_dtype(dtype);
    if (op == IP_RUNNING_ANY || op == IP_RUNNING_ALL) return IMGPAR_BOOL;
    bool widens = (op == IP_RUNNING_SUM || op == IP_RUNNING_PROD) && !facts->is_float;
    return !widens ? dtype : facts->is_signed ? IMGPAR_I64 : IMGPAR_U64;
}

static bool is_bitwise(ip_running op) { return op == IP_RUNNING_AND || op == IP_RUNNING_OR || op == IP_RUNNING_XOR; }

imgpar_status ip_infer_scan(imgpar_array *node, ip_error *err)
{
    const imgpar_array *a = node->inputs[0];
    ip_running op = operator_of(node);
    imgpar_status st = check_axis(node, err);
    if (st) return st;
    if (op != IP_RUNNING_SUM && ip_type_is_complex(&a->type)) return ip_complex_refuse(node, 0, err);
    if (is_bitwise(op) && ip_dtype(a->type.dtype)->is_float)
        return ip_fail(err, IMGPAR_E_UNSUPPORTED, "%s: and, or and xor take integers and bool, not %s",
                       node->op->info.name, ip_dtype(a->type.dtype)->name);
    node->type = a->type;
    node->type.dtype = scanned_dtype(op, a->type.dtype);
    if (node->type.dtype != a->type.dtype) node->type.space = IMGPAR_SPACE_DATA;
    const bool adds = op == IP_RUNNING_SUM || op == IP_RUNNING_PROD,
               asks = op == IP_RUNNING_ANY || op == IP_RUNNING_ALL;
    if (adds || asks) {
        node->type.white = asks;
        node->type.is_mask = asks;
    }
    ip_range whole = ip_range_of(node->type.dtype);
    node->range = whole;
    if (op != IP_RUNNING_SUM || ip_dtype(node->type.dtype)->is_float) return IMGPAR_OK;
    int64_t dims[4];
    ip_type_dims(&a->type, dims);
    double n = (double)dims[dim_of_axis(node)], lo = fmin(a->range.lo * n, 0), hi = fmax(a->range.hi * n, 0);
    if (lo >= whole.lo && hi < whole.hi) node->range = (ip_range){ lo, hi };
    return IMGPAR_OK;
}

imgpar_status ip_infer_scan_fold(imgpar_array *node, ip_error *err)
{
    node->type = node->inputs[0]->type;
    node->range = ip_range_of(node->type.dtype);
    return check_axis(node, err);
}

imgpar_status ip_infer_recursive(imgpar_array *node, ip_error *err)
{
    const ip_param *b = ip_param_get(node, "feedforward"), *a = ip_param_get(node, "feedback");
    int n_b = b->rows * b->cols, n_a = a->rows * a->cols;
    imgpar_status st = ip_infer_refuse_wide(node, err);
    if (!st) st = check_axis(node, err);
    if (st) return st;
    if (n_b > IP_MOST_ORDER + 1)
        return ip_fail(err, IMGPAR_E_ARGUMENT, "recursive: feedforward has %d numbers; at most %d are possible", n_b,
                       IP_MOST_ORDER + 1);
    if (n_a > IP_MOST_ORDER)
        return ip_fail(err, IMGPAR_E_ARGUMENT, "recursive: feedback has %d numbers; at most %d are possible", n_a,
                       IP_MOST_ORDER);
    double sum = 1;
    for (int k = 0; k < n_a; k++)
        sum += a->numbers[k];
    if (sum == 0 && ip_param_number(node, "start") == IP_START_STEADY)
        return ip_fail(err, IMGPAR_E_ARGUMENT,
                       "recursive: feedback adds up to -1, which has no steady state; write start=zero");
    node->type = node->inputs[0]->type;
    node->range = ip_range_of(node->type.dtype);
    return IMGPAR_OK;
}

/* ---- stages ---------------------------------------------------------------------------------- */

static ip_stage *scan_stage(ip_lower *l, imgpar_dtype acc)
{
    ip_stage *s = ip_stage_new(l->ir, IP_STAGE_SCAN, l->node->type.dtype, l->dims, l->node);
    if (!s) return NULL;
    s->acc_dtype = acc;
    s->axis = dim_of_axis(l->node);
    s->backward = ip_param_number(l->node, "reverse") != 0;
    s->lo = l->node->range.lo;
    s->hi = l->node->range.hi;
    return s;
}

/* Stores the state after each element, or before it. */
static ip_stage *finished(ip_lower *l, ip_stage *s)
{
    if (!s) return NULL;
    bool exclusive = ip_param_number(l->node, "exclusive") != 0;
    s->finish = ip_lower_convert(l, l->node->type.dtype, ip_x_acc(l->ir, exclusive ? 1 : 0, s->acc_dtype));
    return s;
}

/* What an operator does not change. */
static ip_expr *identity(ip_lower *l, ip_running op, imgpar_dtype dtype)
{
    const ip_dtype_facts *facts = ip_dtype(dtype);
    bool is_min = op == IP_RUNNING_MIN;
    switch (op) {
    case IP_RUNNING_PROD: return ip_x_number(l->ir, dtype, 1);
    case IP_RUNNING_AND: return ip_x_int(l->ir, dtype, dtype == IMGPAR_BOOL ? 1 : -1);
    case IP_RUNNING_ALL: return ip_x_int(l->ir, dtype, 1);
    case IP_RUNNING_MIN:
    case IP_RUNNING_MAX:
        if (facts->is_float) return ip_x_number(l->ir, dtype, NAN); /* min(NaN, x) is x */
        if (dtype == IMGPAR_I64) return ip_x_int(l->ir, dtype, is_min ? INT64_MAX : INT64_MIN);
        if (dtype == IMGPAR_U64) return ip_x_int(l->ir, dtype, is_min ? -1 : 0);
        return ip_x_number(l->ir, dtype, is_min ? facts->maximum : facts->minimum);
    default: return ip_x_number(l->ir, dtype, 0);
    }
}

/* The element as the operator takes it. */
static ip_expr *operand(ip_lower *l, ip_running op)
{
    if (is_bitwise(op)) return ip_lower_in(l, 0);
    ip_expr *x = ip_lower_value(l, 0);
    if (op == IP_RUNNING_ANY || op == IP_RUNNING_ALL)
        return ip_x_binary(l->ir, IP_X_NE, x, ip_x_number(l->ir, x->dtype, 0));
    if (op != IP_RUNNING_SUM && op != IP_RUNNING_PROD) return x;
    return ip_dtype(x->dtype)->is_float ? x : ip_x_cast(l->ir, l->node->type.dtype, x);
}

ip_stage *ip_stages_scan(ip_lower *l)
{
    static const ip_xop xops[] = {
        [IP_RUNNING_SUM] = IP_X_ADD, [IP_RUNNING_PROD] = IP_X_MUL, [IP_RUNNING_MIN] = IP_X_MIN,
        [IP_RUNNING_MAX] = IP_X_MAX, [IP_RUNNING_AND] = IP_X_AND,  [IP_RUNNING_OR] = IP_X_OR,
        [IP_RUNNING_XOR] = IP_X_XOR, [IP_RUNNING_ANY] = IP_X_OR,   [IP_RUNNING_ALL] = IP_X_AND,
    };
    ip_running op = operator_of(l->node);
    ip_expr *x = operand(l, op);
    ip_stage *s = scan_stage(l, x->dtype);
    if (!s) return NULL;
    ip_expr *state = ip_x_acc(l->ir, 0, x->dtype);
    s->body = ip_x_binary(l->ir, xops[op], state, x);
    s->combine = ip_x_binary(l->ir, xops[op], state, ip_x_acc(l->ir, 1, x->dtype));
    s->init = identity(l, op, x->dtype);
    return finished(l, s);
}

static ip_expr *put_element(ip_ir *ir, ip_expr *x, void *user)
{
    (void)ir;
    return x->op == IP_X_ACC && x->axis == 1 ? user : x;
}

ip_stage *ip_stages_scan_fold(ip_lower *l)
{
    ip_expr *x = ip_lower_in(l, 0), *combine = ip_lower_function(l, x->dtype);
    ip_stage *s = combine ? scan_stage(l, x->dtype) : NULL;
    if (!s) return NULL;
    imgpar_array *const *in = l->node->inputs;
    if (ip_param_number(l->node, "associative") != 0 ||
        ip_folds_in_any_order(in[1], in[2], in[3], ip_param_number(l->node, "init")))
        s->combine = combine;
    s->body = ip_x_map(l->ir, combine, put_element, x);
    s->init = ip_lower_identity(l, x->dtype);
    return finished(l, s);
}

/* ---- several states -------------------------------------------------------------------------------- */

/* The inputs of a node "scanstates": ip_build_scan_states(). */
typedef struct stating {
    ip_lower *l;
    int n, m, p, q, body; /* states, arrays, and where their lists begin */
    bool joins;           /* states take the place of elements */
    bool foreign;
    ip_expr **made[2]; /* by stage id, without and with states in the place of elements: its element, once it is made */
} stating;

static imgpar_dtype state_dtype(const stating *t, int k)
{
    const imgpar_dtype dtype = t->l->node->inputs[t->p + k]->type.dtype;
    return dtype == IMGPAR_F16 ? IMGPAR_F32 : dtype;
}

/* The value of an argument of the function that is a stage; NULL: it is none. */
static ip_expr *argument(const stating *t, const ip_stage *stage)
{
    for (int k = 0; k < t->n; k++)
        if (stage == t->l->in[t->p + k]) return ip_x_acc(t->l->ir, k, state_dtype(t, k));
    for (int k = 0; k < t->m; k++)
        if (stage == t->l->in[t->q + k])
            return t->joins ? ip_x_acc(t->l->ir, t->n + k, state_dtype(t, k)) : ip_lower_in(t->l, k);
    return NULL;
}

static ip_expr *put_arguments(ip_ir *ir, ip_expr *x, void *user)
{
    stating *t = user;
    if (x->op == IP_X_COORD) return ip_x_int(ir, IMGPAR_I32, 0);
    if (x->op != IP_X_LOAD) return x;
    ip_expr *value = argument(t, x->source);
    if (value) return ip_lower_of_one(ir, x, value);
    if (x->source->kind == IP_STAGE_MAP) {
        ip_expr **made = &t->made[t->joins][x->source->id];
        if (!*made) *made = ip_x_map(ir, x->source->body, put_arguments, user);
        return ip_lower_of_one(ir, x, *made);
    }
    t->foreign = true;
    return x;
}

static ip_expr *function_of(stating *t, int k, bool joins)
{
    const ip_stage *stage = t->l->in[t->body + k];
    t->joins = joins;
    ip_expr *value = argument(t, stage);
    if (!value && stage->kind == IP_STAGE_MAP) value = ip_x_map(t->l->ir, stage->body, put_arguments, t);
    t->foreign = t->foreign || !value;
    return value;
}

static ip_expr *first_state(stating *t, int k)
{
    const imgpar_dtype dtype = state_dtype(t, k);
    double number;
    if (!ip_array_is_number(t->l->node->inputs[t->m + k], &number, NULL))
        return ip_x_cast(t->l->ir, dtype, ip_lower_in(t->l, t->m + k));
    return ip_lower_convert(t->l, dtype, ip_x_number(t->l->ir, dtype == IMGPAR_BOOL ? IMGPAR_U8 : dtype, number));
}

ip_stage *ip_stages_scan_states(ip_lower *l)
{
    const int n = (int)ip_param_number(l->node, "states"), m = (l->node->n_inputs - 3 * n) / 2,
              number = (int)ip_param_number(l->node, "number");
    stating t = { .l = l, .n = n, .m = m, .p = m + n, .q = m + 2 * n, .body = 2 * m + 2 * n };
    ip_state states[IP_SCAN_STATES];
    for (int k = 0; k < 2; k++)
        t.made[k] = ip_ir_alloc(l->ir, (size_t)l->ir->n_stages + 1, sizeof(ip_expr *));
    if (!t.made[0] || !t.made[1]) return NULL;
    for (int k = 0; k < n; k++)
        states[k] = (ip_state){ .body = function_of(&t, k, false), .init = first_state(&t, k) };
    bool joins = ip_param_number(l->node, "associative") != 0 && m == n;
    for (int k = 0; k < n && !t.foreign; k++)
        joins = joins && ip_array_is_number(l->node->inputs[m + k], NULL, NULL) &&
                l->node->inputs[t.q + k]->type.dtype == l->node->inputs[t.p + k]->type.dtype;
    for (int k = 0; k < n && joins; k++)
        states[k].combine = function_of(&t, k, true);
    if (t.foreign) {
        ip_fail(l->err, IMGPAR_E_UNSUPPORTED, "scan: the function may use its arguments and numbers only");
        return NULL;
    }
    ip_stage *s = scan_stage(l, state_dtype(&t, number));
    if (!s) return NULL;
    ip_stage_set_states(l->ir, s, states, n);
    const bool exclusive = ip_param_number(l->node, "exclusive") != 0;
    s->finish = ip_lower_convert(l, l->node->type.dtype,
                                 ip_x_acc(l->ir, (exclusive ? n : 0) + number, state_dtype(&t, number)));
    return s;
}

/* ---- recursive filters ---------------------------------------------------------------------------- */

/* The input `back` elements before the one at hand, in f: the first one, or 0, before the first. */
static ip_expr *delayed(ip_lower *l, const ip_stage *s, imgpar_dtype f, int back)
{
    bool steady = ip_param_number(l->node, "start") == IP_START_STEADY;
    ip_expr *index[4];
    for (int k = 0; k < 4; k++)
        index[k] = ip_lower_coord(l, k);
    index[s->axis] = ip_x_binary(l->ir, IP_X_ADD, index[s->axis], ip_lower_i32(l, s->backward ? back : -back));
    imgpar_dtype stored = l->in[0]->dtype == IMGPAR_F16 ? IMGPAR_F32 : l->in[0]->dtype;
    ip_expr *x = back == 0 ? ip_lower_in(l, 0)
                 : steady  ? ip_x_load(l->ir, l->in[0], index, IMGPAR_BORDER_REPLICATE, NULL)
                           : ip_x_load(l->ir, l->in[0], index, IMGPAR_BORDER_CONSTANT, ip_x_number(l->ir, stored, 0));
    return ip_x_cast(l->ir, f, x->dtype == IMGPAR_BOOL ? ip_x_cast(l->ir, IMGPAR_U8, x) : x);
}

/* factor x + sum, rounded once; a factor of 0 is skipped. */
static ip_expr *added(ip_lower *l, double factor, ip_expr *x, ip_expr *sum)
{
    if (factor == 0) return sum;
    ip_expr *weight = ip_lower_argument(l, x->dtype, factor);
    return sum ? ip_x_fma(l->ir, weight, x, sum) : ip_x_binary(l->ir, IP_X_MUL, weight, x);
}

ip_stage *ip_stages_recursive(ip_lower *l)
{
    const ip_param *b = ip_param_get(l->node, "feedforward"), *a = ip_param_get(l->node, "feedback");
    int n_b = b->rows * b->cols, n_a = a->rows * a->cols;
    imgpar_dtype f = ip_float_for(l->in[0]->dtype);
    ip_stage *s = scan_stage(l, f);
    if (!s) return NULL;
    double sum_b = 0, sum_a = 1;
    ip_expr *y = NULL;
    for (int k = 0; k < n_b; k++) {
        y = added(l, b->numbers[k], delayed(l, s, f, k), y);
        sum_b += b->numbers[k];
    }
    if (!y) y = ip_x_number(l->ir, f, 0);
    for (int k = n_a - 1; k >= 0; k--) { /* the newest state last: the sum before it does not wait for it */
        y = added(l, -a->numbers[k], ip_x_acc(l->ir, k, f), y);
        sum_a += a->numbers[k];
    }
    bool steady = ip_param_number(l->node, "start") == IP_START_STEADY;
    ip_expr *start = steady ? added(l, sum_b / sum_a, delayed(l, s, f, 0), NULL) : NULL;
    ip_state states[IP_SCAN_STATES];
    while (n_a > 0 && a->numbers[n_a - 1] == 0)
        n_a--;
    for (int k = 0; k == 0 || k < n_a; k++)
        states[k] =
            (ip_state){ .body = k ? ip_x_acc(l->ir, k - 1, f) : y, .init = start ? start : ip_x_number(l->ir, f, 0) };
    ip_stage_set_states(l->ir, s, states, n_a > 1 ? n_a : 1);
    s->finish = ip_lower_convert(l, l->node->type.dtype, ip_x_acc(l->ir, 0, f));
    s->note = "recursive filter";
    return s;
}
