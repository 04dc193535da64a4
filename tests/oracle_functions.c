/* SPDX-License-Identifier: MIT */
/*
 * Operators and element-wise functions. Operands meet in one dtype: integers of up to
 * 16 bits and bool in i32, two others in the one that holds both, else in i64; an
 * integer meets a float in the float; f16 and integers in f32. Literals widen nothing,
 * but one with a fraction makes integers f32, and f64 of u32, u64 and i64. Differences of u32 and u64
 * are i64, and products of integers of up to 16 bits where i32 does not hold them. Integers wrap.
 */
#include "oracle.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

__extension__ typedef __int128 wide;

typedef enum typing { ARITHMETIC, PRODUCT, DIFFERENCE, REAL, POWER, BITS, SHIFT, COMPARE, LOGIC } typing;

typedef struct function {
    const char *op;
    int n_in;
    typing typing;
    wide (*ints)(wide a, wide b, imgpar_dtype dtype);
    real (*reals)(real a, real b, imgpar_dtype dtype);
    real ulps; /* allowed beyond the rounding, in units of the last place */
} function;

/* ---- integers ------------------------------------------------------------------------------ */

static int bits_of(imgpar_dtype dtype) { return dtype == IMGPAR_BOOL ? 1 : (int)imgpar_dtype_size(dtype) * 8; }

static wide wrapped(imgpar_dtype dtype, wide v)
{
    wide n = (wide)1 << bits_of(dtype), low = (wide)dtype_low(dtype);
    return ((v - low) % n + n) % n + low;
}

static wide i_add(wide a, wide b, imgpar_dtype d) { return (void)d, a + b; }
static wide i_sub(wide a, wide b, imgpar_dtype d) { return (void)d, a - b; }
static wide i_mul(wide a, wide b, imgpar_dtype d) /* modulo 2^64, which all dtypes divide */
{
    return (void)d, (wide)((uint64_t)a * (uint64_t)b);
}
static wide i_min(wide a, wide b, imgpar_dtype d) { return (void)d, a < b ? a : b; }
static wide i_max(wide a, wide b, imgpar_dtype d) { return (void)d, a > b ? a : b; }
static wide i_div(wide a, wide b, imgpar_dtype d)
{
    return (void)d, b == 0 ? 0 : a / b - (a % b != 0 && (a < 0) != (b < 0));
}
static wide i_mod(wide a, wide b, imgpar_dtype d) { return b == 0 ? 0 : a - b * i_div(a, b, d); }
static wide i_and(wide a, wide b, imgpar_dtype d) { return (void)d, a & b; }
static wide i_or(wide a, wide b, imgpar_dtype d) { return (void)d, a | b; }
static wide i_xor(wide a, wide b, imgpar_dtype d) { return (void)d, a ^ b; }
static int count_of(wide b, imgpar_dtype d) { return (int)((b % bits_of(d) + bits_of(d)) % bits_of(d)); }
static wide i_shl(wide a, wide b, imgpar_dtype d) { return (wide)((uint64_t)a << count_of(b, d)); }
static wide i_shr(wide a, wide b, imgpar_dtype d) { return a >> count_of(b, d); }
static wide i_lt(wide a, wide b, imgpar_dtype d) { return (void)d, a < b; }
static wide i_le(wide a, wide b, imgpar_dtype d) { return (void)d, a <= b; }
static wide i_gt(wide a, wide b, imgpar_dtype d) { return (void)d, a > b; }
static wide i_ge(wide a, wide b, imgpar_dtype d) { return (void)d, a >= b; }
static wide i_eq(wide a, wide b, imgpar_dtype d) { return (void)d, a == b; }
static wide i_ne(wide a, wide b, imgpar_dtype d) { return (void)d, a != b; }
static wide i_both(wide a, wide b, imgpar_dtype d) { return (void)d, a != 0 && b != 0; }
static wide i_either(wide a, wide b, imgpar_dtype d) { return (void)d, a != 0 || b != 0; }
static wide i_not(wide a, wide b, imgpar_dtype d) { return (void)b, (void)d, a == 0; }
static wide i_neg(wide a, wide b, imgpar_dtype d) { return (void)b, (void)d, -a; }
static wide i_invert(wide a, wide b, imgpar_dtype d) { return (void)b, d == IMGPAR_BOOL ? !a : ~a; }
static wide i_abs(wide a, wide b, imgpar_dtype d) { return (void)b, (void)d, a < 0 ? -a : a; }
static wide i_same(wide a, wide b, imgpar_dtype d) { return (void)b, (void)d, a; }
static wide i_power(wide a, wide b, imgpar_dtype d)
{
    wide r = 1;
    for (; b > 0; b--)
        r = wrapped(d, i_mul(r, a, d));
    return r;
}

/* ---- floats -------------------------------------------------------------------------------- */

static real r_add(real a, real b, imgpar_dtype d) { return (void)d, a + b; }
static real r_sub(real a, real b, imgpar_dtype d) { return (void)d, a - b; }
static real r_mul(real a, real b, imgpar_dtype d) { return (void)d, a * b; }
static real r_divide(real a, real b, imgpar_dtype d) { return (void)d, a / b; }
static real r_min(real a, real b, imgpar_dtype d) { return (void)d, fminl(a, b); }
static real r_max(real a, real b, imgpar_dtype d) { return (void)d, fmaxl(a, b); }
static real r_div(real a, real b, imgpar_dtype d) { return b == 0 ? 0 : floorl(rounded(d, a / b)); }
static real r_mod(real a, real b, imgpar_dtype d) { return b == 0 ? 0 : fmal(-r_div(a, b, d), b, a); }
static real r_lt(real a, real b, imgpar_dtype d) { return (void)d, a < b; }
static real r_le(real a, real b, imgpar_dtype d) { return (void)d, a <= b; }
static real r_gt(real a, real b, imgpar_dtype d) { return (void)d, a > b; }
static real r_ge(real a, real b, imgpar_dtype d) { return (void)d, a >= b; }
static real r_eq(real a, real b, imgpar_dtype d) { return (void)d, a == b; }
static real r_ne(real a, real b, imgpar_dtype d) { return (void)d, a != b; }
static real r_both(real a, real b, imgpar_dtype d) { return (void)d, a != 0 && b != 0; }
static real r_either(real a, real b, imgpar_dtype d) { return (void)d, a != 0 || b != 0; }
static real r_not(real a, real b, imgpar_dtype d) { return (void)b, (void)d, a == 0; }
static real r_neg(real a, real b, imgpar_dtype d) { return (void)b, (void)d, -a; }
static real r_abs(real a, real b, imgpar_dtype d) { return (void)b, (void)d, fabsl(a); }
static real r_floor(real a, real b, imgpar_dtype d) { return (void)b, (void)d, floorl(a); }
static real r_ceil(real a, real b, imgpar_dtype d) { return (void)b, (void)d, ceill(a); }
static real r_rint(real a, real b, imgpar_dtype d) { return (void)b, (void)d, rintl(a); }
static real r_trunc(real a, real b, imgpar_dtype d) { return (void)b, (void)d, truncl(a); }
static real r_sqrt(real a, real b, imgpar_dtype d) { return (void)b, (void)d, sqrtl(a); }
static real r_exp(real a, real b, imgpar_dtype d) { return (void)b, (void)d, expl(a); }
static real r_log(real a, real b, imgpar_dtype d) { return (void)b, (void)d, logl(a); }
static real r_sin(real a, real b, imgpar_dtype d) { return (void)b, (void)d, sinl(a); }
static real r_cos(real a, real b, imgpar_dtype d) { return (void)b, (void)d, cosl(a); }
static real r_tan(real a, real b, imgpar_dtype d) { return (void)b, (void)d, tanl(a); }
static real r_asin(real a, real b, imgpar_dtype d) { return (void)b, (void)d, asinl(a); }
static real r_acos(real a, real b, imgpar_dtype d) { return (void)b, (void)d, acosl(a); }
static real r_atan(real a, real b, imgpar_dtype d) { return (void)b, (void)d, atanl(a); }
static real r_sinh(real a, real b, imgpar_dtype d) { return (void)b, (void)d, sinhl(a); }
static real r_cosh(real a, real b, imgpar_dtype d) { return (void)b, (void)d, coshl(a); }
static real r_tanh(real a, real b, imgpar_dtype d) { return (void)b, (void)d, tanhl(a); }
static real r_exp2(real a, real b, imgpar_dtype d) { return (void)b, (void)d, exp2l(a); }
static real r_expm1(real a, real b, imgpar_dtype d) { return (void)b, (void)d, expm1l(a); }
static real r_log2(real a, real b, imgpar_dtype d) { return (void)b, (void)d, log2l(a); }
static real r_log10(real a, real b, imgpar_dtype d) { return (void)b, (void)d, log10l(a); }
static real r_log1p(real a, real b, imgpar_dtype d) { return (void)b, (void)d, log1pl(a); }
static real r_cbrt(real a, real b, imgpar_dtype d) { return (void)b, (void)d, cbrtl(a); }
static real r_fifth_root(real a, real b, imgpar_dtype d)
{
    return (void)b, (void)d, copysignl(powl(fabsl(a), 0.2L), a);
}
static real r_rsqrt(real a, real b, imgpar_dtype d) { return (void)b, (void)d, 1 / sqrtl(a); }
static real r_asinh(real a, real b, imgpar_dtype d) { return (void)b, (void)d, asinhl(a); }
static real r_acosh(real a, real b, imgpar_dtype d) { return (void)b, (void)d, acoshl(a); }
static real r_atanh(real a, real b, imgpar_dtype d) { return (void)b, (void)d, atanhl(a); }
static real r_erf(real a, real b, imgpar_dtype d) { return (void)b, (void)d, erfl(a); }
static real r_erfc(real a, real b, imgpar_dtype d) { return (void)b, (void)d, erfcl(a); }
static real r_tgamma(real a, real b, imgpar_dtype d) { return (void)b, (void)d, tgammal(a); }
static real r_lgamma(real a, real b, imgpar_dtype d) { return (void)b, (void)d, lgammal(a); }
static real r_fma(real a, real b, imgpar_dtype d) /* a b + a */
{
    return d == IMGPAR_F64 ? (real)fma((double)a, (double)b, (double)a) : (real)fmaf((float)a, (float)b, (float)a);
}
static real r_nextafter(real a, real b, imgpar_dtype d)
{
    return d == IMGPAR_F64 ? (real)nextafter((double)a, (double)b) : (real)nextafterf((float)a, (float)b);
}
static real r_atan2(real a, real b, imgpar_dtype d) { return (void)d, atan2l(a, b); }
static real r_pow(real a, real b, imgpar_dtype d) { return (void)d, powl(a, b); }

/* What OpenCL allows its functions, in units of the last place. */
static const function functions[] = {
    { "plus", 2, ARITHMETIC, i_add, r_add, 0 },
    { "minus", 2, DIFFERENCE, i_sub, r_sub, 0 },
    { "times", 2, PRODUCT, i_mul, r_mul, 0 },
    { "min", 2, ARITHMETIC, i_min, r_min, 0 },
    { "max", 2, ARITHMETIC, i_max, r_max, 0 },
    { "div", 2, ARITHMETIC, i_div, r_div, 0 },
    { "mod", 2, ARITHMETIC, i_mod, r_mod, 0 },
    { "divide", 2, REAL, NULL, r_divide, 2.5L },
    { "pow", 2, POWER, i_power, r_pow, 16 },
    { "atan2", 2, REAL, NULL, r_atan2, 6 },
    { "nextafter", 2, REAL, NULL, r_nextafter, 0 },
    { "and", 2, BITS, i_and, NULL, 0 },
    { "or", 2, BITS, i_or, NULL, 0 },
    { "xor", 2, BITS, i_xor, NULL, 0 },
    { "shl", 2, SHIFT, i_shl, NULL, 0 },
    { "shr", 2, SHIFT, i_shr, NULL, 0 },
    { "lt", 2, COMPARE, i_lt, r_lt, 0 },
    { "le", 2, COMPARE, i_le, r_le, 0 },
    { "gt", 2, COMPARE, i_gt, r_gt, 0 },
    { "ge", 2, COMPARE, i_ge, r_ge, 0 },
    { "eq", 2, COMPARE, i_eq, r_eq, 0 },
    { "ne", 2, COMPARE, i_ne, r_ne, 0 },
    { "both", 2, LOGIC, i_both, r_both, 0 },
    { "either", 2, LOGIC, i_either, r_either, 0 },
    { "not", 1, LOGIC, i_not, r_not, 0 },
    { "negative", 1, DIFFERENCE, i_neg, r_neg, 0 },
    { "complement", 1, BITS, i_invert, NULL, 0 },
    { "abs", 1, ARITHMETIC, i_abs, r_abs, 0 },
    { "floor", 1, ARITHMETIC, i_same, r_floor, 0 },
    { "ceil", 1, ARITHMETIC, i_same, r_ceil, 0 },
    { "round", 1, ARITHMETIC, i_same, r_rint, 0 },
    { "trunc", 1, ARITHMETIC, i_same, r_trunc, 0 },
    { "sqrt", 1, REAL, NULL, r_sqrt, 3 },
    { "exp", 1, REAL, NULL, r_exp, 3 },
    { "log", 1, REAL, NULL, r_log, 3 },
    { "sin", 1, REAL, NULL, r_sin, 4 },
    { "cos", 1, REAL, NULL, r_cos, 4 },
    { "tan", 1, REAL, NULL, r_tan, 5 },
    { "asin", 1, REAL, NULL, r_asin, 4 },
    { "acos", 1, REAL, NULL, r_acos, 4 },
    { "atan", 1, REAL, NULL, r_atan, 5 },
    { "sinh", 1, REAL, NULL, r_sinh, 4 },
    { "cosh", 1, REAL, NULL, r_cosh, 4 },
    { "tanh", 1, REAL, NULL, r_tanh, 5 },
    { "half_exp", 1, REAL, NULL, r_exp, 2048 }, /* within 2^-13 */
    { "exp2", 1, REAL, NULL, r_exp2, 3 },
    { "expm1", 1, REAL, NULL, r_expm1, 3 },
    { "log2", 1, REAL, NULL, r_log2, 3 },
    { "log10", 1, REAL, NULL, r_log10, 3 },
    { "log1p", 1, REAL, NULL, r_log1p, 3 },
    { "cbrt", 1, REAL, NULL, r_cbrt, 3 },
    { "fifth_root", 1, REAL, NULL, r_fifth_root, 3 },
    { "rsqrt", 1, REAL, NULL, r_rsqrt, 3 },
    { "asinh", 1, REAL, NULL, r_asinh, 4 },
    { "acosh", 1, REAL, NULL, r_acosh, 4 },
    { "atanh", 1, REAL, NULL, r_atanh, 5 },
    { "erf", 1, REAL, NULL, r_erf, 16 },
    { "erfc", 1, REAL, NULL, r_erfc, 16 },
    { "lgamma", 1, REAL, NULL, r_lgamma, 16 },
    { "tgamma", 1, REAL, NULL, r_tgamma, 16 },
    { "fma", 2, REAL, NULL, r_fma, 0 },
};

/* ---- dtypes -------------------------------------------------------------------------------- */

static imgpar_dtype promoted(imgpar_dtype d) { return is_float(d) || imgpar_dtype_size(d) > 2 ? d : IMGPAR_I32; }

static imgpar_dtype meet(imgpar_dtype a, imgpar_dtype b)
{
    bool fa = is_float(a), fb = is_float(b);
    if (fa && fb) return imgpar_dtype_size(a) >= imgpar_dtype_size(b) ? a : b;
    if (fa || fb) return (fa ? a : b) == IMGPAR_F16 ? IMGPAR_F32 : fa ? a : b;
    a = promoted(a);
    b = promoted(b);
    if (dtype_low(a) <= dtype_low(b) && dtype_high(a) >= dtype_high(b)) return a;
    if (dtype_low(b) <= dtype_low(a) && dtype_high(b) >= dtype_high(a)) return b;
    return IMGPAR_I64;
}

/* Small unsigned dtypes fit u32 and u64 although i32 does not. */
static imgpar_dtype meet_arrays(imgpar_dtype a, imgpar_dtype b)
{
    bool small_a = !is_float(a) && imgpar_dtype_size(a) <= 2 && dtype_low(a) == 0;
    bool small_b = !is_float(b) && imgpar_dtype_size(b) <= 2 && dtype_low(b) == 0;
    if (small_a && (b == IMGPAR_U32 || b == IMGPAR_U64)) return b;
    if (small_b && (a == IMGPAR_U32 || a == IMGPAR_U64)) return a;
    return meet(a, b);
}

imgpar_dtype oracle_meet(imgpar_dtype a, imgpar_dtype b) { return a == b ? a : meet_arrays(a, b); }

imgpar_dtype oracle_common(const picture *const *in, int n)
{
    imgpar_dtype dtype = IMGPAR_I32;
    bool any = false, fraction = false;
    for (int k = 0; k < n; k++) {
        fraction = fraction || (in[k]->is_number && in[k]->is_fraction);
        if (in[k]->is_number) continue;
        dtype = any ? meet_arrays(dtype, in[k]->dtype) : promoted(in[k]->dtype);
        if (!any && n == 2 && !in[1 - k]->is_number) dtype = meet_arrays(in[0]->dtype, in[1]->dtype);
        if (!any && n == 2 && !in[1 - k]->is_number) break;
        any = true;
    }
    bool is_wide = dtype == IMGPAR_U32 || dtype == IMGPAR_U64 || dtype == IMGPAR_I64;
    return !fraction || is_float(dtype) ? dtype : is_wide ? IMGPAR_F64 : IMGPAR_F32;
}

static imgpar_dtype real_dtype(imgpar_dtype d) { return is_float(d) ? d : IMGPAR_F32; }

static bool is_small_power(const call *c)
{
    return c->in[1]->is_number && !c->in[1]->is_fraction && c->in[1]->v[0] >= 0 && c->in[1]->v[0] <= 16;
}

/* The largest magnitude that an input may have, as far as its dtype tells. */
static real most_of(const picture *p)
{
    return p->is_number ? fabsl(p->v[0]) : fmaxl(fabsl(dtype_low(p->dtype)), dtype_high(p->dtype));
}

/* i64 where all inputs are integers of up to 16 bits, and i32 does not hold their product, or the power of the
 * first. */
imgpar_dtype oracle_product(const picture *const *in, int n, int power)
{
    imgpar_dtype d = oracle_common(in, n);
    real most = 1;
    for (int k = 0; k < n; k++) {
        if (!in[k]->is_number && (is_float(in[k]->dtype) || imgpar_dtype_size(in[k]->dtype) > 2)) return d;
        if (power < 0) most *= most_of(in[k]);
    }
    for (int k = 0; k < power; k++)
        most *= most_of(in[0]);
    return d == IMGPAR_I32 && most > INT32_MAX ? IMGPAR_I64 : d;
}

static imgpar_dtype operand_dtype(const call *c, const function *f)
{
    imgpar_dtype d = oracle_common(c->in, c->n_in);
    bool bools = true;
    for (int k = 0; k < c->n_in; k++)
        bools = bools && c->in[k]->dtype == IMGPAR_BOOL;
    switch (f->typing) {
    case REAL: return real_dtype(d);
    case POWER: return is_small_power(c) ? oracle_product(c->in, c->n_in, (int)c->in[1]->v[0]) : real_dtype(d);
    case PRODUCT: return oracle_product(c->in, c->n_in, -1);
    case DIFFERENCE: return d == IMGPAR_U32 || d == IMGPAR_U64 ? IMGPAR_I64 : d;
    case BITS: return bools ? IMGPAR_BOOL : d;
    case SHIFT: return promoted(c->in[0]->dtype);
    case LOGIC: return is_float(d) ? IMGPAR_F64 : IMGPAR_I64;
    default: return d;
    }
}

/* ---- the answer ---------------------------------------------------------------------------- */

void oracle_shape(const call *c, int64_t dims[3])
{
    const picture *big = c->in[0];
    for (int k = 1; k < c->n_in; k++)
        if (picture_count(c->in[k]) > picture_count(big)) big = c->in[k];
    dims[0] = big->h;
    dims[1] = big->w;
    dims[2] = big->c;
}

static real one_element(const function *f, imgpar_dtype d, real a, real b, real *slack)
{
    imgpar_dtype computed = d == IMGPAR_F16 ? IMGPAR_F32 : d;
    *slack = 0;
    if (!is_float(d))
        return (real)wrapped(f->typing == COMPARE || f->typing == LOGIC ? IMGPAR_BOOL : d,
                             f->ints(wrapped(d, (wide)a), wrapped(d, (wide)b), d));
    a = rounded(computed, a);
    b = rounded(computed, b);
    real v = f->reals(a, b, computed);
    if (f->ulps > 0 && isfinite(v))
        *slack = f->ulps * 2 * half_ulp(computed, v) + (computed == IMGPAR_F32 ? 0x1p-126L : 0);
    return v;
}

static void answer(const call *c, picture *out)
{
    const function *f = functions;
    int64_t dims[3];
    while (strcmp(f->op, c->op) != 0)
        f++;
    if (c->n_in != f->n_in) abort();
    imgpar_dtype d = operand_dtype(c, f);
    oracle_shape(c, dims);
    *out = picture_new(f->typing == COMPARE || f->typing == LOGIC ? IMGPAR_BOOL : d, dims[0], dims[1], dims[2]);
    for (int64_t y = 0; y < dims[0]; y++)
        for (int64_t x = 0; x < dims[1]; x++)
            for (int64_t k = 0; k < dims[2]; k++) {
                int64_t at = (y * dims[1] + x) * dims[2] + k;
                real b = f->n_in > 1 ? picture_spread(c->in[1], y, x, k) : 0;
                out->v[at] = one_element(f, d, picture_spread(c->in[0], y, x, k), b, &out->slack[at]);
                if (f->typing == POWER && is_small_power(c) && is_float(d)) /* by squaring */
                    out->slack[at] = 8 * half_ulp(d, out->v[at]);
            }
}

const oracle_row oracle_functions[] = {
    { "plus", answer },       { "minus", answer },      { "times", answer },  { "divide", answer },
    { "div", answer },        { "mod", answer },        { "min", answer },    { "max", answer },
    { "pow", answer },        { "atan2", answer },      { "and", answer },    { "or", answer },
    { "xor", answer },        { "shl", answer },        { "shr", answer },    { "lt", answer },
    { "le", answer },         { "gt", answer },         { "ge", answer },     { "eq", answer },
    { "ne", answer },         { "both", answer },       { "either", answer }, { "not", answer },
    { "negative", answer },   { "complement", answer }, { "abs", answer },    { "floor", answer },
    { "ceil", answer },       { "round", answer },      { "trunc", answer },  { "sqrt", answer },
    { "exp", answer },        { "log", answer },        { "sin", answer },    { "cos", answer },
    { "tan", answer },        { "asin", answer },       { "acos", answer },   { "atan", answer },
    { "sinh", answer },       { "cosh", answer },       { "tanh", answer },   { "exp2", answer },
    { "expm1", answer },      { "log2", answer },       { "log10", answer },  { "log1p", answer },
    { "cbrt", answer },       { "rsqrt", answer },      { "asinh", answer },  { "acosh", answer },
    { "atanh", answer },      { "erf", answer },        { "erfc", answer },   { "tgamma", answer },
    { "half_exp", answer },   { "nextafter", answer },  { "lgamma", answer }, { "fma", answer },
    { "fifth_root", answer }, { NULL, NULL },
};
