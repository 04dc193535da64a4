/* SPDX-License-Identifier: MIT */
/*
 * Shapes and types of operators and element-wise functions: shapes broadcast as NumPy's do (Note [Broadcasting]),
 * dtypes meet by the table of types.def.
 */
#include "ops/infer.h"

#include "base/dtype.h"
#include "base/str.h"
#include "ops/check.h"
#include "ops/complex.h"
#include "ops/coverage.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define ONE(xop)                         \
    {                                    \
        IP_TYPING_ARITHMETIC, xop, false \
    }
#define REAL(xop)                  \
    {                              \
        IP_TYPING_REAL, xop, false \
    }
#define BITS(xop)                  \
    {                              \
        IP_TYPING_BITS, xop, false \
    }
const ip_function_facts ip_functions[IP_N_FUNCTIONS] = {
    [IP_FN_ADD] = ONE(IP_X_ADD),
    [IP_FN_SUB] = ONE(IP_X_SUB),
    [IP_FN_MUL] = ONE(IP_X_MUL),
    [IP_FN_MIN] = ONE(IP_X_MIN),
    [IP_FN_MAX] = ONE(IP_X_MAX),
    [IP_FN_IDIV] = ONE(IP_X_IDIV),
    [IP_FN_MOD] = ONE(IP_X_MOD),
    [IP_FN_DIV] = REAL(IP_X_DIV),
    [IP_FN_POW] = { IP_TYPING_POWER, IP_X_POW, false },
    [IP_FN_ATAN2] = REAL(IP_X_ATAN2),
    [IP_FN_NEXTAFTER] = REAL(IP_X_NEXTAFTER),
    [IP_FN_FMA] = REAL(IP_X_FMA),
    [IP_FN_AND] = BITS(IP_X_AND),
    [IP_FN_OR] = BITS(IP_X_OR),
    [IP_FN_XOR] = BITS(IP_X_XOR),
    [IP_FN_SHL] = { IP_TYPING_SHIFT, IP_X_SHL, false },
    [IP_FN_SHR] = { IP_TYPING_SHIFT, IP_X_SHR, false },
    [IP_FN_LT] = { IP_TYPING_COMPARE, IP_X_LT, false },
    [IP_FN_LE] = { IP_TYPING_COMPARE, IP_X_LE, false },
    [IP_FN_GT] = { IP_TYPING_COMPARE, IP_X_LT, true },
    [IP_FN_GE] = { IP_TYPING_COMPARE, IP_X_LE, true },
    [IP_FN_EQ] = { IP_TYPING_COMPARE, IP_X_EQ, false },
    [IP_FN_NE] = { IP_TYPING_COMPARE, IP_X_NE, false },
    [IP_FN_BOTH] = { IP_TYPING_LOGIC, IP_X_AND, false },
    [IP_FN_EITHER] = { IP_TYPING_LOGIC, IP_X_OR, false },
    [IP_FN_NOT] = { IP_TYPING_LOGIC, IP_X_NOT, false },
    [IP_FN_NEG] = ONE(IP_X_NEG),
    [IP_FN_COMPLEMENT] = BITS(IP_X_NOT),
    [IP_FN_ABS] = ONE(IP_X_ABS),
    [IP_FN_FLOOR] = ONE(IP_X_FLOOR),
    [IP_FN_CEIL] = ONE(IP_X_CEIL),
    [IP_FN_ROUND] = ONE(IP_X_RINT),
    [IP_FN_TRUNC] = ONE(IP_X_TRUNC),
    [IP_FN_SQRT] = REAL(IP_X_SQRT),
#define FUNCTION(OP, NAME, F64) [IP_FN_##OP] = REAL(IP_X_##OP),
#include "ir/functions.def"
#undef FUNCTION
};

/* ---- shapes ------------------------------------------------------------------------- */

char *ip_size_text(const ip_type *type, char *buf)
{
    int64_t d[4];
    ip_type_dims(type, d);
    int n = snprintf(buf, 64, "%lldx%lld", (long long)d[2], (long long)d[1]);
    if (d[0] > 1) snprintf(buf + n, 64 - (size_t)n, "x%lld", (long long)d[0]);
    return buf;
}

static bool is_picture(const ip_type *type) { return type->space != IMGPAR_SPACE_DATA; }

/*
 * Note [Broadcasting]
 * Axes are aligned from the last one, as NumPy does it, and extents must be equal or 1. A matrix beside pictures is the
 * exception: it has their height and width, and one channel. Which axis of the result an operand's axis is, decides
 * where lowering reads it (ip_lower_in): a vector of three elements beside a picture is read by the channel.
 */
int ip_broadcast_axis(const ip_type *operand, const ip_type *result, int axis)
{
    bool beside_pictures = operand->rank == 2 && result->rank == 3 && result->shape[2] >= 1 && result->shape[2] <= 4;
    return beside_pictures ? axis : axis + result->rank - operand->rank;
}

/* The result's rank, and 1 in each axis; of pictures the channels, which tell that they are such. */
static void start_shape(const ip_type *const *types, int n, ip_type *out)
{
    int64_t channels = 1;
    out->rank = 1;
    for (int k = 0; k < n; k++) {
        if (types[k]->rank > out->rank) out->rank = types[k]->rank;
        if (types[k]->rank == 3 && channels == 1) channels = types[k]->shape[2];
    }
    for (int axis = 0; axis < IMGPAR_MAX_RANK; axis++)
        out->shape[axis] = axis < out->rank ? 1 : 0;
    if (out->rank == 3) out->shape[2] = channels;
}

/* Sets out's rank and shape. Returns the operand that does not fit those before it, or -1. */
static int broadcast_shape(const ip_type *const *types, int n, ip_type *out)
{
    start_shape(types, n, out);
    for (int k = 0; k < n; k++) {
        for (int axis = 0; axis < types[k]->rank; axis++) {
            int64_t extent = types[k]->shape[axis], *have = &out->shape[ip_broadcast_axis(types[k], out, axis)];
            if (extent != *have && extent != 1 && *have != 1) return k;
            if (*have == 1) *have = extent;
        }
    }
    return -1;
}

/* Inputs a and b of the node do not fit. */
static imgpar_status refuse_pair(const imgpar_array *node, int a, int b, ip_error *err)
{
    const char *label = ip_op_label(node->op), *const names[2] = { node->op->info.input_names[a],
                                                                   node->op->info.input_names[b] };
    const ip_type *const types[2] = { &node->inputs[a]->type, &node->inputs[b]->type };
    int64_t da[4], db[4];
    char size_a[96], size_b[96];
    ip_type_dims(types[0], da);
    ip_type_dims(types[1], db);
    const bool is_folded = ip_type_is_folded(types[0]) || ip_type_is_folded(types[1]);
    if (!is_folded && memcmp(da, db, 3 * sizeof *da) == 0) {
        const int colours = (int)(da[3] < db[3] ? da[3] : db[3]), more = da[3] < db[3] ? b : a;
        const bool has_alpha = is_picture(types[0]) && is_picture(types[1]) && colours == 3 && da[3] + db[3] == 7;
        if (has_alpha)
            return ip_fail(err, IMGPAR_E_SHAPE,
                           "%s: %s has %lld channels, %s has %lld; slice(%s, 0, 3, axis=2) is without alpha, and "
                           "composite() lays a picture over another by its alpha",
                           label, names[0], (long long)da[3], names[1], (long long)db[3],
                           node->op->info.input_names[more]);
        return ip_fail(err, IMGPAR_E_SHAPE, "%s: %s has %lld channels, %s has %lld", label, names[0], (long long)da[3],
                       names[1], (long long)db[3]);
    }
    if (is_picture(types[0]) && is_picture(types[1]))
        return ip_fail(err, IMGPAR_E_SHAPE, "%s: %s is %s, %s is %s; resize() or crop() one to the size of the other",
                       label, names[0], ip_size_text(types[0], size_a), names[1], ip_size_text(types[1], size_b));
    return ip_fail(err, IMGPAR_E_SHAPE,
                   "%s: %s is %s, %s is %s; extents must be equal or 1, counted from the last axis", label, names[0],
                   ip_shape_text(types[0], size_a), names[1], ip_shape_text(types[1], size_b));
}

static bool is_number(const imgpar_array *a) { return ip_array_bends(a, NULL); }

/* The first input with which input k does not fit by itself; where it fits each, its neighbour. */
static int culprit_of(const imgpar_array *node, int first, int k)
{
    for (int other = first; other < node->op->info.n_inputs; other++) {
        const ip_type *const pair[2] = { &node->inputs[other]->type, &node->inputs[k]->type };
        ip_type ignored;
        if (other != k && broadcast_shape(pair, 2, &ignored) >= 0) return other;
    }
    return k > first ? k - 1 : k + 1;
}

imgpar_status ip_check_pairs_fit(const imgpar_array *node, ip_error *err)
{
    for (int b = 1; b < node->op->info.n_inputs; b++)
        for (int a = 0; a < b; a++) {
            const ip_type *const pair[2] = { &node->inputs[a]->type, &node->inputs[b]->type };
            ip_type ignored;
            if (broadcast_shape(pair, 2, &ignored) >= 0) return refuse_pair(node, a, b, err);
        }
    return IMGPAR_OK;
}

imgpar_status ip_infer_broadcast(imgpar_array *node, int first, ip_error *err)
{
    enum { MOST_OPERANDS = 4 };
    const ip_type *types[MOST_OPERANDS] = { NULL };
    int n = node->op->info.n_inputs;
    assert(n - first <= MOST_OPERANDS);
    for (int k = first; k < n; k++)
        types[k - first] = &node->inputs[k]->type;
    int misfit = broadcast_shape(types, n - first, &node->type);
    if (misfit >= 0) {
        int b = first + misfit, a = culprit_of(node, first, b);
        return refuse_pair(node, a < b ? a : b, a < b ? b : a, err);
    }
    node->type.space = IMGPAR_SPACE_DATA;
    for (int k = first; k < n; k++)
        if (node->type.space == IMGPAR_SPACE_DATA && ip_type_count(types[k - first]) == ip_type_count(&node->type))
            node->type.space = types[k - first]->space;
    return IMGPAR_OK;
}

/* ---- dtypes ------------------------------------------------------------------------- */

/* ops/types.def, by the dtypes of both operands; behind them a whole literal and one with a fraction. */
enum { WHOLE_LITERAL = IP_N_REAL_DTYPES, FRACTION, N_OPERANDS };
#define CELL_u8 IMGPAR_U8
#define CELL_i8 IMGPAR_I8
#define CELL_u16 IMGPAR_U16
#define CELL_i16 IMGPAR_I16
#define CELL_u32 IMGPAR_U32
#define CELL_i32 IMGPAR_I32
#define CELL_u64 IMGPAR_U64
#define CELL_i64 IMGPAR_I64
#define CELL_f16 IMGPAR_F16
#define CELL_f32 IMGPAR_F32
#define CELL_f64 IMGPAR_F64
#define CELL_bool IMGPAR_BOOL
#define TYPES_ROW(DTYPE, TEXT, B, U8, I8, U16, I16, U32, I32, U64, I64, F16, F32, F64, LITERAL, FRACTIONAL)        \
    [CELL_##DTYPE] = { [IMGPAR_BOOL] = CELL_##B,         [IMGPAR_U8] = CELL_##U8,       [IMGPAR_I8] = CELL_##I8,   \
                       [IMGPAR_U16] = CELL_##U16,        [IMGPAR_I16] = CELL_##I16,     [IMGPAR_U32] = CELL_##U32, \
                       [IMGPAR_I32] = CELL_##I32,        [IMGPAR_U64] = CELL_##U64,     [IMGPAR_I64] = CELL_##I64, \
                       [IMGPAR_F16] = CELL_##F16,        [IMGPAR_F32] = CELL_##F32,     [IMGPAR_F64] = CELL_##F64, \
                       [WHOLE_LITERAL] = CELL_##LITERAL, [FRACTION] = CELL_##FRACTIONAL },
#define TYPES_TOP(TEXT)
#define TYPES_RULE(TEXT)
static const imgpar_dtype meetings[IP_N_REAL_DTYPES][N_OPERANDS] = {
#include "ops/types.def"
};
#undef TYPES_TOP
#undef TYPES_ROW
#undef TYPES_RULE

/* Where two arrays' dtypes meet. */
static imgpar_dtype meet(imgpar_dtype a, imgpar_dtype b)
{
    const imgpar_dtype part = meetings[ip_dtype_part(a)][ip_dtype_part(b)];
    return ip_dtype_is_complex(a) || ip_dtype_is_complex(b) ? ip_dtype_complex(part) : part;
}

/* What operators on one array compute in. */
static imgpar_dtype promoted(imgpar_dtype dtype)
{
    return ip_dtype_is_complex(dtype) ? dtype : meetings[dtype][WHOLE_LITERAL];
}

static imgpar_dtype with_literal(imgpar_dtype dtype, bool fractional)
{
    return ip_dtype_is_complex(dtype) ? dtype : meetings[dtype][fractional ? FRACTION : WHOLE_LITERAL];
}

static bool holds(imgpar_dtype dtype, double v)
{
    if (ip_dtype_is_float(dtype))
        return fabs(v) <= (dtype == IMGPAR_F16 ? 0x1p11 : dtype == IMGPAR_F32 ? 0x1p24 : 0x1p53);
    return v >= ip_dtype(dtype)->minimum && v <= ip_dtype(dtype)->maximum && fabs(v) < 0x1p63;
}

imgpar_dtype ip_list_dtype(const double *numbers, int n, imgpar_dtype beside)
{
    bool is_whole = true, is_held = true, is_short = true;
    if (ip_dtype_is_complex(beside)) return ip_dtype_part(beside);
    for (int k = 0; k < n; k++) {
        is_whole = is_whole && numbers[k] == floor(numbers[k]) && fabs(numbers[k]) < 0x1p63;
        is_held = is_held && holds(beside, numbers[k]);
        is_short = is_short && holds(IMGPAR_I32, numbers[k]);
    }
    if (is_whole && is_held) return beside;
    if (beside == IMGPAR_F32 || beside == IMGPAR_F64) return beside;
    if (!is_whole) return with_literal(beside, true);
    if (beside == IMGPAR_F16) return IMGPAR_F32;
    return is_short ? IMGPAR_I32 : IMGPAR_I64;
}

bool ip_list_is_of_colours(int n, const ip_type *beside)
{
    return n > 1 && ip_type_has_alpha(beside) && beside->shape[beside->rank - 1] == n + 1;
}

/* Where values that all bend meet: i64, f64 with a fraction. */
static imgpar_dtype widest(bool fractional) { return fractional ? IMGPAR_F64 : IMGPAR_I64; }

/* Where all inputs meet, literals bending to the arrays. */
static imgpar_dtype common(const imgpar_array *node)
{
    int n = node->op->info.n_inputs;
    bool any_array = false, any_loop_value = false, fractional = false, f;
    imgpar_dtype dtype = node->inputs[0]->type.dtype;
    for (int k = 0; k < n; k++) {
        const imgpar_array *a = node->inputs[k];
        if (ip_array_bends(a, &f)) {
            fractional = fractional || f;
            any_loop_value = any_loop_value || !ip_array_is_number(a, NULL, NULL);
        } else {
            dtype = any_array ? meet(dtype, a->type.dtype) : a->type.dtype;
            any_array = true;
        }
    }
    if (!any_array && any_loop_value) return widest(fractional);
    for (int k = 0; k < n && !any_array; k++)
        dtype = meet(dtype, node->inputs[k]->type.dtype);
    return with_literal(dtype, fractional);
}

/* The largest magnitude of an operand: a literal's own, else that of its dtype. */
static double magnitude_of(const imgpar_array *a)
{
    const ip_dtype_facts *facts = ip_dtype(a->type.dtype);
    double v;
    if (ip_array_is_number(a, &v, NULL)) return fabs(v);
    if (ip_array_bends(a, NULL)) return fmax(fabs(a->range.lo), fabs(a->range.hi));
    return fmax(fabs(facts->minimum), facts->maximum);
}

/* Products and whole powers: of integers of up to 16 bits in i64 where i32 does not hold them. */
static imgpar_dtype product(const imgpar_array *node)
{
    imgpar_dtype dtype = common(node);
    bool any_array = false;
    for (int k = 0; k < node->op->info.n_inputs; k++) {
        if (is_number(node->inputs[k])) continue;
        if (ip_dtype(node->inputs[k]->type.dtype)->size_bytes > 2) return dtype; /* i32 wraps */
        any_array = true;
    }
    if (dtype != IMGPAR_I32 || !any_array) return dtype;
    int power = node->op->variant == IP_FN_POW ? ip_function_small_power(node) : 0;
    double most = power > 0 ? pow(magnitude_of(node->inputs[0]), power) : 1;
    for (int k = 0; k < node->op->info.n_inputs && node->op->variant != IP_FN_POW; k++)
        most *= magnitude_of(node->inputs[k]);
    return most > ip_dtype(IMGPAR_I32)->maximum ? IMGPAR_I64 : dtype;
}

/* Differences and negatives: counts become signed. */
static imgpar_dtype difference(const imgpar_array *node)
{
    imgpar_dtype dtype = common(node);
    return dtype == IMGPAR_U32 || dtype == IMGPAR_U64 ? IMGPAR_I64 : dtype;
}

imgpar_dtype ip_infer_product_dtype(const imgpar_array *node) { return product(node); }

imgpar_dtype ip_infer_common_dtype(const imgpar_array *node) { return common(node); }

static imgpar_dtype real(const imgpar_array *node)
{
    imgpar_dtype dtype = common(node);
    return ip_dtype_is_float(dtype) ? dtype : ip_infer_bends(node) ? IMGPAR_F64 : IMGPAR_F32;
}

int ip_function_small_power(const imgpar_array *node)
{
    double n;
    bool fractional;
    if (!ip_array_is_number(node->inputs[1], &n, &fractional) || fractional) return -1;
    return n >= 0 && n <= 16 ? (int)n : -1;
}

bool ip_function_compared_whole(const imgpar_array *node, int k, double *whole)
{
    const int fn = node->op->variant;
    double v;
    if (ip_functions[fn].typing != IP_TYPING_COMPARE || !ip_array_is_number(node->inputs[k], &v, NULL)) return false;
    const imgpar_array *other = node->inputs[1 - k];
    if (ip_array_is_number(other, NULL, NULL) || ip_dtype(other->type.dtype)->is_float) return false;
    if (fn == IP_FN_EQ || fn == IP_FN_NE)
        *whole = v == floor(v) ? v : NAN;
    else
        *whole = (fn == IP_FN_LT || fn == IP_FN_GE) == (k == 1) ? ceil(v) : floor(v);
    return true;
}

/* Where an integer dtype meets a whole literal: in i64 where it does not hold that. */
static imgpar_dtype comparison_with(imgpar_dtype dtype, double whole)
{
    dtype = promoted(dtype);
    if (dtype == IMGPAR_U64 && whole >= 0) return dtype;
    return whole >= ip_dtype(dtype)->minimum && whole <= ip_dtype(dtype)->maximum ? dtype : IMGPAR_I64;
}

/* A whole literal that the arrays' dtype does not hold, or a loop's value that it may not, is compared in a wider
 * one. */
static imgpar_dtype comparison(const imgpar_array *node)
{
    imgpar_dtype dtype = common(node);
    double whole;
    for (int k = 0; k < 2; k++)
        if (ip_function_compared_whole(node, k, &whole)) return comparison_with(node->inputs[1 - k]->type.dtype, whole);
    if (ip_dtype_is_float(dtype)) return dtype;
    for (int k = 0; k < 2; k++)
        if (ip_array_bends(node->inputs[k], NULL) && magnitude_of(node->inputs[k]) > ip_dtype(dtype)->maximum &&
            !ip_array_is_number(node->inputs[k], NULL, NULL))
            return IMGPAR_I64; /* a loop's value that may become any */
    return dtype;
}

/* Where literals do not come out right modulo 2^n, they are held. */
static imgpar_dtype holding_literals(const imgpar_array *node)
{
    const imgpar_dtype dtype = common(node);
    double v;
    for (int k = 0; k < node->op->info.n_inputs && !ip_dtype_is_float(dtype) && !ip_dtype_is_complex(dtype); k++)
        if (ip_array_is_number(node->inputs[k], &v, NULL) && v == floor(v) && fabs(v) < 0x1p63 && !holds(dtype, v))
            return IMGPAR_I64;
    return dtype;
}

static bool all_bool(const imgpar_array *node)
{
    for (int k = 0; k < node->op->info.n_inputs; k++)
        if (node->inputs[k]->type.dtype != IMGPAR_BOOL) return false;
    return true;
}

/* The number next to one of f16 is one of f32, as which f16 is computed. */
static imgpar_dtype next_dtype(const imgpar_array *node)
{
    imgpar_dtype dtype = real(node);
    return dtype == IMGPAR_F16 ? IMGPAR_F32 : dtype;
}

static imgpar_dtype operand_dtype(const imgpar_array *node)
{
    switch (ip_functions[node->op->variant].typing) {
    case IP_TYPING_REAL: return node->op->variant == IP_FN_NEXTAFTER ? next_dtype(node) : real(node);
    case IP_TYPING_POWER: return ip_function_small_power(node) >= 0 ? product(node) : real(node);
    case IP_TYPING_BITS: return all_bool(node) ? IMGPAR_BOOL : common(node);
    case IP_TYPING_SHIFT: return ip_infer_bends(node) ? widest(false) : promoted(node->inputs[0]->type.dtype);
    case IP_TYPING_COMPARE: return comparison(node);
    case IP_TYPING_LOGIC: return IMGPAR_BOOL;
    case IP_TYPING_ARITHMETIC: break;
    }
    switch (node->op->variant) {
    case IP_FN_MUL: return product(node);
    case IP_FN_SUB:
    case IP_FN_NEG: return difference(node);
    case IP_FN_IDIV:
    case IP_FN_MOD:
    case IP_FN_MIN:
    case IP_FN_MAX: return holding_literals(node);
    default: return common(node);
    }
}

imgpar_dtype ip_function_compute_dtype(const imgpar_array *node)
{
    imgpar_dtype dtype = operand_dtype(node);
    return dtype == IMGPAR_F16 ? IMGPAR_F32 : dtype;
}

static imgpar_status refuse_floats(const imgpar_array *node, ip_error *err)
{
    for (int k = 0; k < node->op->info.n_inputs; k++)
        if (ip_dtype_is_float(node->inputs[k]->type.dtype))
            return ip_fail(err, IMGPAR_E_SHAPE, "%s: %s is %s; it must be an integer%s", node->op->symbol,
                           node->op->info.input_names[k], ip_dtype(node->inputs[k]->type.dtype)->name,
                           node->op->variant == IP_FN_XOR ? " (a power is **)" : "");
    return IMGPAR_OK;
}

/* ---- ranges -------------------------------------------------------------------------- */

/* The range of operand k in the node's dtype: what that does not hold wraps and may be anything. Of 64 bits its largest
 * number is no double, so what ends there may be beyond it. */
static ip_range converted(const imgpar_array *node, int k)
{
    const imgpar_array *a = node->inputs[k];
    const ip_range r = a->range, whole = ip_range_of(node->type.dtype);
    const bool is_held = r.lo >= whole.lo && (r.hi < whole.hi || (r.hi == whole.hi && whole.hi < 0x1p53));
    return is_held || a->type.dtype == node->type.dtype ? r : whole;
}

ip_range ip_infer_chosen_range(const imgpar_array *node, int a, int b)
{
    const ip_range p = converted(node, a), q = converted(node, b);
    if (node->type.dtype == IMGPAR_F16) return ip_range_of(IMGPAR_F16);
    return (ip_range){ fmin(p.lo, q.lo), fmax(p.hi, q.hi) };
}

/* Of + - * % min max on integers, where the result does not wrap; else the dtype's. Beyond what a double tells exactly
 * it may have wrapped. Operands that wrap matter to min, max and % only: sums and products are right modulo 2^64 all
 * the same. */
static ip_range function_range(const imgpar_array *node)
{
    const ip_range whole = ip_range_of(node->type.dtype);
    const int last = node->op->info.n_inputs - 1;
    ip_range a = node->inputs[0]->range, b = node->inputs[last]->range, r = whole;
    if (ip_dtype_is_float(node->type.dtype)) return whole;
    switch (node->op->variant) {
    case IP_FN_ADD: r = (ip_range){ a.lo + b.lo, a.hi + b.hi }; break;
    case IP_FN_SUB: r = (ip_range){ a.lo - b.hi, a.hi - b.lo }; break;
    case IP_FN_NEG: r = (ip_range){ -a.hi, -a.lo }; break;
    case IP_FN_MIN:
        a = converted(node, 0), b = converted(node, last);
        return (ip_range){ fmin(a.lo, b.lo), fmin(a.hi, b.hi) };
    case IP_FN_MAX:
        a = converted(node, 0), b = converted(node, last);
        return (ip_range){ fmax(a.lo, b.lo), fmax(a.hi, b.hi) };
    case IP_FN_MOD:
        b = converted(node, last);
        r = b.lo > 0 ? (ip_range){ 0, b.hi - 1 } : whole;
        break;
    case IP_FN_MUL:
        r.lo = fmin(fmin(a.lo * b.lo, a.lo * b.hi), fmin(a.hi * b.lo, a.hi * b.hi));
        r.hi = fmax(fmax(a.lo * b.lo, a.lo * b.hi), fmax(a.hi * b.lo, a.hi * b.hi));
        break;
    default: break;
    }
    const bool is_exact = ip_dtype(node->type.dtype)->size_bytes < 8 || (r.lo >= -0x1p53 && r.hi <= 0x1p53);
    return is_exact && r.lo >= whole.lo && r.hi <= whole.hi ? r : whole;
}

bool ip_infer_bends(const imgpar_array *node)
{
    bool any_loop_value = false;
    for (int k = 0; k < node->op->info.n_inputs; k++) {
        if (!is_number(node->inputs[k])) return false;
        any_loop_value = any_loop_value || !ip_array_is_number(node->inputs[k], NULL, NULL);
    }
    return any_loop_value;
}

/* floor() and the like of a loop's value count as whole from then on, as they do of numbers. */
static bool makes_whole(ip_function fn)
{
    return fn == IP_FN_FLOOR || fn == IP_FN_CEIL || fn == IP_FN_ROUND || fn == IP_FN_TRUNC;
}

imgpar_status ip_infer_function(imgpar_array *node, ip_error *err)
{
    ip_typing typing = ip_functions[node->op->variant].typing;
    imgpar_status st = ip_infer_broadcast(node, 0, err);
    if (!st && ip_complex_is_call(node)) {
        ip_complex_infer(node);
        return IMGPAR_OK;
    }
    if (!st && (typing == IP_TYPING_BITS || typing == IP_TYPING_SHIFT)) st = refuse_floats(node, err);
    if (st) return st;
    node->bends = ip_infer_bends(node);
    node->type.dtype = typing == IP_TYPING_COMPARE                                  ? IMGPAR_BOOL
                       : node->bends && makes_whole((ip_function)node->op->variant) ? IMGPAR_I64
                                                                                    : operand_dtype(node);
    node->range = function_range(node);
    return IMGPAR_OK;
}

/* What a value that bends becomes beside another dtype in a choice. */
static imgpar_dtype chosen_dtype(const imgpar_array *bending, imgpar_dtype other)
{
    double v = 0;
    bool fractional, is_literal = ip_array_is_number(bending, &v, NULL);
    ip_array_bends(bending, &fractional);
    if (ip_dtype_is_float(other)) return other;
    if (fractional) return with_literal(other, true);
    double lo = is_literal ? v : bending->range.lo, hi = is_literal ? v : bending->range.hi;
    if (lo >= ip_dtype(other)->minimum && hi <= ip_dtype(other)->maximum) return other;
    return is_literal ? meet(other, bending->type.dtype) : meet(other, hi - lo < 0x1p32 ? IMGPAR_I32 : IMGPAR_I64);
}

imgpar_dtype ip_select_dtype(const imgpar_array *yes, const imgpar_array *no)
{
    bool f[2], bend[2] = { ip_array_bends(yes, &f[0]), ip_array_bends(no, &f[1]) };
    if (bend[0] && !bend[1]) return chosen_dtype(yes, no->type.dtype);
    if (bend[1] && !bend[0]) return chosen_dtype(no, yes->type.dtype);
    return yes->type.dtype == no->type.dtype ? yes->type.dtype : meet(yes->type.dtype, no->type.dtype);
}
