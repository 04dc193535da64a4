/* SPDX-License-Identifier: MIT */
/* Complex numbers in stages, and the operators and functions on them. Formulas stand in the rows of ops.def. */
#include "ops/check.h"
#include "ops/complex.h"
#include "ops/families.h"

#include "base/dtype.h"

#include <math.h>

/* ---- parts ------------------------------------------------------------------------------ */

static ip_expr *binary(ip_lower *l, ip_xop op, ip_expr *a, ip_expr *b) { return ip_x_binary(l->ir, op, a, b); }
/* A number of x's dtype. */
static ip_expr *number_like(ip_lower *l, const ip_expr *x, double v) { return ip_x_number(l->ir, x->dtype, v); }
static ip_expr *zero_like(ip_lower *l, const ip_expr *x) { return number_like(l, x, 0); }

ip_expr *ip_complex_part(ip_lower *l)
{
    return binary(l, IP_X_MOD, ip_x_coord(l->ir, 3, 2 * l->dims[3]), ip_lower_i32(l, 2));
}

ip_expr *ip_complex_choose(ip_lower *l, ip_complex z)
{
    ip_expr *is_real = binary(l, IP_X_EQ, ip_complex_part(l), ip_lower_i32(l, 0));
    return ip_x_select(l->ir, is_real, z.re, z.im ? z.im : zero_like(l, z.re));
}

/* The float that parts of all operands meet in, as ops/types.def has it: f64 where one is of f64. What bends does not
 * count. */
static imgpar_dtype operands_part(const imgpar_array *node)
{
    bool is_wide = false;
    for (int k = 0; k < node->op->info.n_inputs; k++)
        is_wide = is_wide ||
                  (!ip_array_bends(node->inputs[k], NULL) && ip_dtype_part(node->inputs[k]->type.dtype) == IMGPAR_F64);
    return is_wide ? IMGPAR_F64 : IMGPAR_F32;
}

/* That of the parts with which the node computes. */
static imgpar_dtype part_dtype(const imgpar_array *node)
{
    return ip_type_is_complex(&node->type) ? ip_dtype_part(node->type.dtype) : operands_part(node);
}

/* A part of input k, which is complex, at the same place. */
static ip_expr *part_in(ip_lower *l, int k, int part)
{
    ip_expr *index[4];
    int64_t dims[4];
    ip_type_dims(&l->node->inputs[k]->type, dims);
    ip_lower_place(l, k, index);
    ip_expr *number = dims[3] == 1 ? ip_lower_i32(l, 0) : index[3];
    index[3] = binary(l, IP_X_ADD, binary(l, IP_X_MUL, number, ip_lower_i32(l, 2)), ip_lower_i32(l, part));
    return ip_lower_convert(l, part_dtype(l->node), ip_x_load(l->ir, l->in[k], index, IP_BORDER_NONE, NULL));
}

ip_complex ip_complex_in(ip_lower *l, int k)
{
    const imgpar_array *in = l->node->inputs[k];
    double v;
    if (ip_type_is_complex(&in->type)) return (ip_complex){ part_in(l, k, 0), part_in(l, k, 1) };
    const imgpar_dtype dtype = part_dtype(l->node);
    if (ip_array_is_number(in, &v, NULL)) return (ip_complex){ .re = ip_lower_literal(l, dtype, v) };
    return (ip_complex){ .re = ip_lower_convert(l, dtype, ip_lower_value(l, k)) };
}

ip_stage *ip_complex_map_part(ip_lower *l, ip_expr *part)
{
    int64_t dims[4];
    imgpar_dtype dtype = ip_type_storage(&l->node->type, dims);
    return ip_lower_stage_sized(l, dims, dtype, part, NULL);
}

ip_stage *ip_complex_map(ip_lower *l, ip_complex z) { return ip_complex_map_part(l, ip_complex_choose(l, z)); }

/* ---- arithmetic: of a real number only what its one part takes ---------------------------------- */

static ip_expr *add(ip_lower *l, ip_expr *a, ip_expr *b) { return a && b ? binary(l, IP_X_ADD, a, b) : a ? a : b; }
static ip_expr *sub(ip_lower *l, ip_expr *a, ip_expr *b) { return binary(l, IP_X_SUB, a, b); }
static ip_expr *mul(ip_lower *l, ip_expr *a, ip_expr *b) { return a && b ? binary(l, IP_X_MUL, a, b) : NULL; }
static ip_expr *quotient(ip_lower *l, ip_expr *a, ip_expr *b) { return a ? binary(l, IP_X_DIV, a, b) : NULL; }
static ip_expr *negative(ip_lower *l, ip_expr *a) { return a ? ip_x_unary(l->ir, IP_X_NEG, a) : NULL; }
static ip_expr *choose(ip_lower *l, ip_expr *c, ip_expr *a, ip_expr *b) { return ip_x_select(l->ir, c, a, b); }

static ip_complex sum(ip_lower *l, ip_complex a, ip_complex b)
{
    return (ip_complex){ add(l, a.re, b.re), add(l, a.im, b.im) };
}

static ip_complex negated(ip_lower *l, ip_complex a, ip_complex b)
{
    (void)b;
    return (ip_complex){ negative(l, a.re), negative(l, a.im) };
}

static ip_complex difference(ip_lower *l, ip_complex a, ip_complex b)
{
    return (ip_complex){ sub(l, a.re, b.re), a.im && b.im ? sub(l, a.im, b.im) : a.im ? a.im : negative(l, b.im) };
}

ip_complex ip_complex_product(ip_lower *l, ip_complex a, ip_complex b)
{
    ip_expr *re = mul(l, a.re, b.re);
    if (a.im && b.im) re = sub(l, re, mul(l, a.im, b.im));
    return (ip_complex){ re, add(l, mul(l, a.re, b.im), mul(l, a.im, b.re)) };
}

static ip_expr *magnitude_of(ip_lower *l, ip_expr *x) { return ip_x_unary(l->ir, IP_X_ABS, x); }

/* Whether the imaginary part is the larger one. */
static ip_expr *leans(ip_lower *l, ip_complex z)
{
    return binary(l, IP_X_LT, magnitude_of(l, z.re), magnitude_of(l, z.im));
}

/* Smith's: divides by the larger part of b first, so that nothing but the quotient itself can overflow. */
static ip_complex divided(ip_lower *l, ip_complex a, ip_complex b)
{
    if (!b.im) return (ip_complex){ quotient(l, a.re, b.re), quotient(l, a.im, b.re) };
    if (!a.im) a.im = zero_like(l, a.re);
    ip_expr *turned = leans(l, b);
    ip_expr *large = choose(l, turned, b.im, b.re), *small = choose(l, turned, b.re, b.im);
    ip_expr *first = choose(l, turned, a.im, a.re), *second = choose(l, turned, a.re, a.im);
    ip_expr *r = quotient(l, small, large), *by = add(l, large, mul(l, small, r));
    ip_expr *re = quotient(l, add(l, first, mul(l, second, r)), by);
    ip_expr *im = quotient(l, sub(l, second, mul(l, first, r)), by);
    return (ip_complex){ re, choose(l, turned, negative(l, im), im) };
}

/* By squaring, from the highest bit of the exponent down. */
static ip_complex whole_power(ip_lower *l, ip_complex a, int n)
{
    int bit = 1;
    if (n == 0) return (ip_complex){ .re = number_like(l, a.re, 1) };
    while (bit * 2 <= n)
        bit *= 2;
    ip_complex r = a;
    for (bit /= 2; bit; bit /= 2) {
        r = ip_complex_product(l, r, r);
        if (n & bit) r = ip_complex_product(l, r, a);
    }
    return r;
}

/* ---- functions ------------------------------------------------------------------------------------- */

static ip_complex exponential(ip_lower *l, ip_complex a, ip_complex b)
{
    (void)b;
    ip_expr *size = ip_x_unary(l->ir, IP_X_EXP, a.re);
    return (ip_complex){ mul(l, size, ip_x_unary(l->ir, IP_X_COS, a.im)),
                         mul(l, size, ip_x_unary(l->ir, IP_X_SIN, a.im)) };
}

static ip_complex conjugated(ip_lower *l, ip_complex a, ip_complex b)
{
    (void)b;
    return (ip_complex){ a.re, negative(l, a.im) };
}

static ip_complex real_part(ip_lower *l, ip_complex a, ip_complex b)
{
    (void)l, (void)b;
    return (ip_complex){ .re = a.re };
}

static ip_complex imaginary_part(ip_lower *l, ip_complex a, ip_complex b)
{
    (void)b;
    return (ip_complex){ .re = a.im ? a.im : zero_like(l, a.re) };
}

static ip_complex joined(ip_lower *l, ip_complex re, ip_complex im)
{
    (void)l;
    return (ip_complex){ re.re, im.re };
}

/* m sqrt(1 + (n/m)^2) of the larger part m and the smaller n, so that no square overflows. */
ip_expr *ip_complex_length(ip_lower *l, ip_complex a)
{
    if (!a.im) return magnitude_of(l, a.re);
    ip_expr *one = number_like(l, a.re, 1), *infinite = number_like(l, a.re, INFINITY);
    ip_expr *turned = leans(l, a), *re = magnitude_of(l, a.re), *im = magnitude_of(l, a.im);
    ip_expr *m = choose(l, turned, im, re), *r = quotient(l, choose(l, turned, re, im), m);
    ip_expr *longer = mul(l, m, ip_x_unary(l->ir, IP_X_SQRT, ip_x_fma(l->ir, r, r, one)));
    ip_expr *is_plain = binary(l, IP_X_AND, binary(l, IP_X_NE, m, zero_like(l, m)), binary(l, IP_X_NE, m, infinite));
    return choose(l, is_plain, longer, m);
}

static ip_complex magnitude(ip_lower *l, ip_complex a, ip_complex b)
{
    (void)b;
    return (ip_complex){ .re = ip_complex_length(l, a) };
}

static ip_complex angle(ip_lower *l, ip_complex a, ip_complex b)
{
    (void)b;
    return (ip_complex){ .re = binary(l, IP_X_ATAN2, a.im ? a.im : zero_like(l, a.re), a.re) };
}

static ip_complex logarithm(ip_lower *l, ip_complex a, ip_complex b)
{
    return (ip_complex){ ip_x_unary(l->ir, IP_X_LOG, ip_complex_length(l, a)), angle(l, a, b).re };
}

/* exp(b log(a)); 0 where a is 0, whose logarithm is infinite, and b to the right of 0. */
static ip_complex power(ip_lower *l, ip_complex a, ip_complex b)
{
    int n = ip_function_small_power(l->node);
    if (n >= 0) return whole_power(l, a, n);
    ip_complex z = exponential(l, ip_complex_product(l, b, logarithm(l, a, b)), b);
    ip_expr *zero = zero_like(l, a.re), *is_right = binary(l, IP_X_LT, zero, b.re);
    ip_expr *is_0 = binary(l, IP_X_AND, binary(l, IP_X_EQ, ip_complex_length(l, a), zero), is_right);
    return (ip_complex){ choose(l, is_0, zero, z.re), choose(l, is_0, zero, z.im) };
}

/* The root with a real part that is not negative: of the part that is added to |a|, and from it the other one. */
static ip_complex root(ip_lower *l, ip_complex a, ip_complex b)
{
    (void)b;
    ip_expr *half = number_like(l, a.re, 0.5), *zero = zero_like(l, a.re);
    ip_expr *t = ip_x_unary(l->ir, IP_X_SQRT,
                            ip_x_fma(l->ir, half, magnitude_of(l, a.re), mul(l, half, ip_complex_length(l, a))));
    ip_expr *other = choose(l, binary(l, IP_X_EQ, t, zero), zero, mul(l, half, quotient(l, a.im, t)));
    ip_expr *is_right = binary(l, IP_X_LE, zero, a.re), *is_below = binary(l, IP_X_LT, a.im, zero);
    return (ip_complex){ choose(l, is_right, t, magnitude_of(l, other)),
                         choose(l, is_right, other, choose(l, is_below, negative(l, t), t)) };
}

static ip_complex sine(ip_lower *l, ip_complex a, ip_complex b)
{
    (void)b;
    return (ip_complex){ mul(l, ip_x_unary(l->ir, IP_X_SIN, a.re), ip_x_unary(l->ir, IP_X_COSH, a.im)),
                         mul(l, ip_x_unary(l->ir, IP_X_COS, a.re), ip_x_unary(l->ir, IP_X_SINH, a.im)) };
}

static ip_complex cosine(ip_lower *l, ip_complex a, ip_complex b)
{
    (void)b;
    return (ip_complex){ mul(l, ip_x_unary(l->ir, IP_X_COS, a.re), ip_x_unary(l->ir, IP_X_COSH, a.im)),
                         negative(l, mul(l, ip_x_unary(l->ir, IP_X_SIN, a.re), ip_x_unary(l->ir, IP_X_SINH, a.im))) };
}

/* ---- comparing: the result is a condition ------------------------------------------------------------- */

static ip_complex equal(ip_lower *l, ip_complex a, ip_complex b)
{
    ip_expr *re = binary(l, IP_X_EQ, a.re, b.re);
    ip_expr *zero = zero_like(l, a.re), *im = binary(l, IP_X_EQ, a.im ? a.im : zero, b.im ? b.im : zero);
    return (ip_complex){ .re = binary(l, IP_X_AND, re, im) };
}

static ip_complex different(ip_lower *l, ip_complex a, ip_complex b)
{
    return (ip_complex){ .re = ip_x_unary(l->ir, IP_X_NOT, equal(l, a, b).re) };
}

/* ---- the functions by name -------------------------------------------------------------------------------- */

static const struct function {
    ip_complex (*value)(ip_lower *l, ip_complex a, ip_complex b); /* NULL: its row takes none */
    enum { NUMBER, PART, CONDITION } result;                      /* a complex number, a real one, or a bool */
    bool is_always;                                               /* of real operands too */
} functions[IP_N_FUNCTIONS] = {
    [IP_FN_ADD] = { sum, NUMBER, false },
    [IP_FN_SUB] = { difference, NUMBER, false },
    [IP_FN_MUL] = { ip_complex_product, NUMBER, false },
    [IP_FN_DIV] = { divided, NUMBER, false },
    [IP_FN_POW] = { power, NUMBER, false },
    [IP_FN_NEG] = { negated, NUMBER, false },
    [IP_FN_EXP] = { exponential, NUMBER, false },
    [IP_FN_LOG] = { logarithm, NUMBER, false },
    [IP_FN_SQRT] = { root, NUMBER, false },
    [IP_FN_SIN] = { sine, NUMBER, false },
    [IP_FN_COS] = { cosine, NUMBER, false },
    [IP_FN_ABS] = { magnitude, PART, false },
    [IP_FN_EQ] = { equal, CONDITION, false },
    [IP_FN_NE] = { different, CONDITION, false },
    [IP_FN_COMPLEX] = { joined, NUMBER, true },
    [IP_FN_CONJ] = { conjugated, NUMBER, true },
    [IP_FN_REAL] = { real_part, PART, true },
    [IP_FN_IMAG] = { imaginary_part, PART, true },
    [IP_FN_ARG] = { angle, PART, true },
};

bool ip_complex_has_input(const imgpar_array *node)
{
    bool has_one = false;
    for (int k = 0; k < node->op->info.n_inputs; k++)
        has_one = has_one || ip_type_is_complex(&node->inputs[k]->type);
    return has_one;
}

bool ip_complex_is_call(const imgpar_array *node)
{
    return functions[node->op->variant].is_always || ip_complex_has_input(node);
}

imgpar_status ip_complex_refuse(const imgpar_array *node, int k, ip_error *err)
{
    const imgpar_op_info *info = &node->op->info;
    const char *name = k < info->n_inputs ? info->input_names[k] : "a parameter";
    return ip_fail(err, IMGPAR_E_SHAPE, "%s: %s is %s; it must be real, as abs(), real() and imag() of it are",
                   ip_op_label(node->op), name, ip_dtype(node->inputs[k]->type.dtype)->name);
}

void ip_complex_infer(imgpar_array *node)
{
    const struct function *f = &functions[node->op->variant];
    const imgpar_dtype part = operands_part(node);
    node->type.dtype = f->result == NUMBER ? ip_dtype_complex(part) : f->result == PART ? part : IMGPAR_BOOL;
    node->range = ip_range_of(node->type.dtype);
}

ip_stage *ip_complex_stage(ip_lower *l)
{
    ip_complex a = ip_complex_in(l, 0), b = { NULL, NULL };
    if (l->node->op->info.n_inputs > 1) b = ip_complex_in(l, 1);
    ip_complex z = functions[l->node->op->variant].value(l, a, b);
    return ip_type_is_complex(&l->node->type) ? ip_complex_map(l, z) : ip_lower_map(l, z.re);
}
