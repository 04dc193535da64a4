/* SPDX-License-Identifier: MIT */
/*
 * Powers, logarithms, functions of angles and hyperbolic ones of f32 and f64, near to those of the C library in long
 * double: the special cases of C's Annex F one by one, and many numbers of all sizes; and the same bits from kernels
 * and from the interpreter.
 */
#include "asserts.h"
#include "held.h"
#include "imgpar.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static const float specials[] = {
    0.0f,         -0.0f,       1.0f,        -1.0f,           INFINITY,      -INFINITY,      NAN,
    0.5f,         -0.5f,       2.0f,        -2.0f,           3.0f,          -3.0f,          2.5f,
    -2.5f,        1e-45f,      -1e-45f,     1.17549435e-38f, 3.4028235e38f, -3.4028235e38f, 16777215.0f,
    -16777215.0f, 16777216.0f, 16777217.0f, 0.99999994f,     1.0000001f,    -0.99999994f,   127.0f,
    128.0f,       -149.0f,     -150.0f
};
enum { N_SPECIALS = sizeof specials / sizeof *specials, N_PAIRS = N_SPECIALS * N_SPECIALS, N_RANDOM = 200000 };

static imgpar_context *ctx;

static void open_context(void)
{
    hold_driver();
    ck_assert_int_eq(imgpar_context_new(NULL, &ctx), IMGPAR_OK);
}

/* Whether they are ours. What OpenCL promises of a device's own functions is in the matrix. */
static bool are_ours(void)
{
    const char *kind = imgpar_context_device(ctx)->kind;
    return !strcmp(kind, "cpu") || !strcmp(kind, "ref");
}

static void close_context(void) { imgpar_context_release(ctx); }

/* The expression of $1 and $2, two lines of n numbers. */
static void compute(const char *expression, int64_t n, float *a, float *b, float *result)
{
    imgpar_array *in[2] = { imgpar_array_from_data(ctx, IMGPAR_F32, 1, &n, a),
                            imgpar_array_from_data(ctx, IMGPAR_F32, 1, &n, b) };
    imgpar_array *r = imgpar_apply(ctx, expression, in, 2);
    ck_assert_msg(imgpar_array_read(r, result, (size_t)n * sizeof *result) == IMGPAR_OK, "%s", imgpar_array_message(r));
    imgpar_array_release(r);
    for (int k = 0; k < 2; k++)
        imgpar_array_release(in[k]);
}

/* Whether got is want, rounded, or one of the two floats next to that; NaN, infinities and zeros with their sign. */
static bool is_near(float got, long double want)
{
    float rounded = (float)want;
    if (isnan(rounded) || isnan(got)) return isnan(rounded) && isnan(got);
    if (got == rounded) return signbit(got) == signbit(rounded);
    return got == nextafterf(rounded, INFINITY) || got == nextafterf(rounded, -INFINITY);
}

START_TEST(powers_of_special_numbers_are_those_of_annex_f)
{
    float a[N_PAIRS], b[N_PAIRS], r[N_PAIRS];
    if (!are_ours()) return;
    for (int k = 0; k < N_PAIRS; k++) {
        a[k] = specials[k / N_SPECIALS];
        b[k] = specials[k % N_SPECIALS];
    }
    compute("pow($1, $2)", N_PAIRS, a, b, r);
    for (int k = 0; k < N_PAIRS; k++)
        ck_assert_msg(is_near(r[k], powl(a[k], b[k])), "pow(%a, %a) is %a, not %La", a[k], b[k], r[k],
                      powl(a[k], b[k]));
}
END_TEST

START_TEST(logarithms_of_special_numbers_are_those_of_annex_f)
{
    float a[N_SPECIALS], r[N_SPECIALS];
    if (!are_ours()) return;
    memcpy(a, specials, sizeof a);
    compute("log($1)", N_SPECIALS, a, a, r);
    for (int k = 0; k < N_SPECIALS; k++)
        ck_assert_msg(is_near(r[k], logl(a[k])), "log(%a) is %a, not %La", a[k], r[k], logl(a[k]));
}
END_TEST

/* Bits of all kinds, from a linear congruential generator. */
static float any_float(uint32_t *state)
{
    float f;
    *state = *state * 1664525u + 1013904223u;
    uint32_t bits = *state ^ *state >> 15;
    memcpy(&f, &bits, sizeof f);
    return f;
}

START_TEST(powers_and_logarithms_are_within_a_place)
{
    if (!are_ours()) return;
    float *a = malloc(3 * N_RANDOM * sizeof *a), *b = a + N_RANDOM, *r = b + N_RANDOM;
    uint32_t state = 7;
    for (int k = 0; k < N_RANDOM; k++) { /* exponents for which most powers are floats */
        a[k] = fabsf(any_float(&state));
        b[k] = k % 4 == 0 ? any_float(&state)
                          : fmodf(any_float(&state), 90.0f) / (isnormal(a[k]) ? fmaxf(fabsf(logf(a[k])), 1e-3f) : 1);
    }
    compute("pow($1, $2)", N_RANDOM, a, b, r);
    for (int k = 0; k < N_RANDOM; k++)
        ck_assert_msg(is_near(r[k], powl(a[k], b[k])), "pow(%a, %a) is %a, not %La", a[k], b[k], r[k],
                      powl(a[k], b[k]));
    compute("log($1)", N_RANDOM, a, b, r);
    for (int k = 0; k < N_RANDOM; k++)
        ck_assert_msg(is_near(r[k], logl(a[k])), "log(%a) is %a, not %La", a[k], r[k], logl(a[k]));
    free(a);
}
END_TEST

static long double to_2_4(long double x) { return powl(x, 2.4f); }
static long double inverse_root(long double x) { return 1 / sqrtl(x); }
static long double fifth_root(long double x) { return copysignl(powl(fabsl(x), 0.2L), x); }
static long double to_one_third(long double x) { return powl(x, (float)(1.0 / 3)); }

static const struct function {
    const char *text;
    long double (*exact)(long double);
} functions[] = {
    { "sin($1)", sinl },
    { "cos($1)", cosl },
    { "tan($1)", tanl },
    { "asin($1)", asinl },
    { "acos($1)", acosl },
    { "atan($1)", atanl },
    { "sinh($1)", sinhl },
    { "cosh($1)", coshl },
    { "exp2($1)", exp2l },
    { "expm1($1)", expm1l },
    { "log2($1)", log2l },
    { "log10($1)", log10l },
    { "log1p($1)", log1pl },
    { "cbrt($1)", cbrtl },
    { "rsqrt($1)", inverse_root },
    { "asinh($1)", asinhl },
    { "acosh($1)", acoshl },
    { "atanh($1)", atanhl },
    { "erf($1)", erfl },
    { "erfc($1)", erfcl },
    { "lgamma($1)", lgammal },
    { "tgamma($1)", tgammal },
    { "tanh($1)", tanhl },
    { "exp($1)", expl },
    { "pow($1, 2.4)", to_2_4 },
    { "pow($1, 1 / 3)", to_one_third },
    { "fifth_root($1)", fifth_root },
    { "sqrt($1)", sqrtl },
};

/* Angles of all sizes; those next to multiples of a quarter turn, of which little is left; numbers about 1; and special
 * ones. */
START_TEST(functions_of_a_number_are_within_a_place)
{
    if (!are_ours()) return;
    const struct function *f = &functions[_i];
    float *a = malloc(2 * N_RANDOM * sizeof *a), *r = a + N_RANDOM;
    uint32_t state = 11;
    for (int k = 0; k < N_RANDOM; k++) {
        float turned = (float)((k / 4) * 1.57079632679489661923L);
        a[k] = k < N_SPECIALS ? specials[k]
               : k % 4 == 0   ? any_float(&state)
               : k % 4 == 1   ? turned
               : k % 4 == 2   ? nextafterf(turned, 0)
                              : fmodf(any_float(&state), k % 8 == 3 ? 100.0f : 1.0001f);
    }
    compute(f->text, N_RANDOM, a, a, r);
    for (int k = 0; k < N_RANDOM; k++) {
        long double want = f->exact(a[k]);
        ck_assert_msg(is_near(r[k], want), "%s of %a is %a, not %La", f->text, a[k], r[k], want);
    }
    free(a);
}
END_TEST

/* Within 2^-13, but where numbers begin and end; of numbers that are known to be at most 0 it is the same. */
START_TEST(half_exp_has_half_of_the_digits)
{
    if (!are_ours()) return;
    float *a = malloc(3 * N_RANDOM * sizeof *a), *r = a + N_RANDOM, *negative = r + N_RANDOM;
    uint32_t state = 13;
    for (int k = 0; k < N_RANDOM; k++)
        a[k] = k < N_SPECIALS ? specials[k] : k % 4 == 0 ? any_float(&state) : fmodf(any_float(&state), 90.0f);
    compute("half_exp($1)", N_RANDOM, a, a, r);
    compute("half_exp(-abs($1))", N_RANDOM, a, a, negative);
    for (int k = 0; k < N_RANDOM; k++) {
        const long double want = expl(a[k]);
        const float least = want > 0x1p127L ? 0x1p127f : 0, most = want < 0x1p-126L ? 0x1p-126f : INFINITY;
        const bool is_near = want >= 0x1p-126L && want <= 0x1.6ap127L ? fabsl(r[k] - want) <= 0x1p-13L * want
                             : isnan(a[k])                            ? isnan(r[k])
                                                                      : r[k] >= least && r[k] <= most;
        ck_assert_msg(is_near, "half_exp(%a) is %a, not %La", a[k], r[k], want);
        const bool is_same = isnan(a[k]) ? isnan(negative[k]) : negative[k] == r[k];
        ck_assert_msg(a[k] > 0 || is_same, "half_exp(%a) is %a of a number below 0, else %a", a[k], negative[k], r[k]);
    }
    free(a);
}
END_TEST

/* Points on the axes, at infinity and anywhere; those of like sizes, whose angles differ. */
START_TEST(angles_of_points_are_within_a_place)
{
    enum { N = N_PAIRS + N_RANDOM };
    if (!are_ours()) return;
    float *a = malloc(3 * N * sizeof *a), *b = a + N, *r = b + N;
    uint32_t state = 5;
    for (int k = 0; k < N; k++) {
        a[k] = k < N_PAIRS ? specials[k / N_SPECIALS] : any_float(&state);
        b[k] = k < N_PAIRS  ? specials[k % N_SPECIALS]
               : k % 4 == 0 ? any_float(&state)
                            : a[k] * fmodf(any_float(&state), 4.0f);
    }
    compute("atan2($1, $2)", N, a, b, r);
    for (int k = 0; k < N; k++)
        ck_assert_msg(is_near(r[k], atan2l(a[k], b[k])), "atan2(%a, %a) is %a, not %La", a[k], b[k], r[k],
                      atan2l(a[k], b[k]));
    free(a);
}
END_TEST

/* fma() and nextafter() are exact: those of the C library, of numbers of all sizes. */
START_TEST(fma_and_nextafter_are_the_c_librarys)
{
    enum { N = N_PAIRS + N_RANDOM };
    if (!are_ours()) return;
    float *a = malloc(3 * N * sizeof *a), *b = a + N, *r = b + N;
    uint32_t state = 3;
    for (int k = 0; k < N; k++) {
        a[k] = k < N_PAIRS ? specials[k / N_SPECIALS] : any_float(&state);
        b[k] = k < N_PAIRS ? specials[k % N_SPECIALS] : k % 2 ? any_float(&state) : -a[k] * a[k] * 1.0000001f;
    }
    compute("fma($1, $1, $2)", N, a, b, r);
    for (int k = 0; k < N; k++) {
        const float want = fmaf(a[k], a[k], b[k]);
        ck_assert_msg(r[k] == want || (isnan(r[k]) && isnan(want)), "fma(%a, %a, %a) is %a, not %a", a[k], a[k], b[k],
                      r[k], want);
    }
    compute("nextafter($1, $2)", N, a, b, r);
    for (int k = 0; k < N; k++) {
        const float want = nextafterf(a[k], b[k]);
        ck_assert_msg((r[k] == want && signbit(r[k]) == signbit(want)) || (isnan(r[k]) && isnan(want)),
                      "nextafter(%a, %a) is %a, not %a", a[k], b[k], r[k], want);
    }
    free(a);
}
END_TEST

/* ---- f64 ---- */

enum { N_DOUBLES = 40000 };
static const double special_doubles[] = { 0.0,
                                          -0.0,
                                          1.0,
                                          -1.0,
                                          INFINITY,
                                          -INFINITY,
                                          NAN,
                                          0.5,
                                          -0.5,
                                          2.0,
                                          -2.0,
                                          3.0,
                                          -3.0,
                                          2.5,
                                          -2.5,
                                          4.9e-324,
                                          -4.9e-324,
                                          2.2250738585072014e-308,
                                          1.7976931348623157e308,
                                          -1.7976931348623157e308,
                                          9007199254740991.0,
                                          -9007199254740991.0,
                                          9007199254740992.0,
                                          0x1.fffffffffffffp-1,
                                          0x1.0000000000001p+0,
                                          -0x1.fffffffffffffp-1,
                                          1023.0,
                                          -1074.0,
                                          -1075.0,
                                          710.4,
                                          709.78271289338397,
                                          -745.1,
                                          0x1p45,
                                          0x1.fffffffffffffp44,
                                          1e22 };
enum { N_SPECIAL_DOUBLES = sizeof special_doubles / sizeof *special_doubles };

/* The expression of $1 and $2, lines of n numbers, on a context; *result is a new array. */
static double *compute_doubles(imgpar_context *on, const char *expression, int64_t n, double *a, double *b)
{
    imgpar_array *in[2] = { imgpar_array_from_data(on, IMGPAR_F64, 1, &n, a),
                            imgpar_array_from_data(on, IMGPAR_F64, 1, &n, b) };
    imgpar_array *r = imgpar_apply(on, expression, in, 2);
    double *result = malloc((size_t)n * sizeof *result);
    ck_assert_msg(imgpar_array_read(r, result, (size_t)n * sizeof *result) == IMGPAR_OK, "%s", imgpar_array_message(r));
    imgpar_array_release(r);
    for (int k = 0; k < 2; k++)
        imgpar_array_release(in[k]);
    return result;
}

static double any_double(uint64_t *state)
{
    double d;
    *state ^= *state << 13, *state ^= *state >> 7, *state ^= *state << 17;
    memcpy(&d, state, sizeof d);
    return d;
}

/* How many units in the last place of want got is away; NaN, infinities and zeros with their sign are equal or far. */
static double units_off(double got, long double want)
{
    double rounded = (double)want;
    if (isnan(rounded) || isnan(got)) return isnan(rounded) && isnan(got) ? 0 : INFINITY;
    if (got == rounded) return signbit(got) == signbit(rounded) ? 0 : INFINITY;
    if (isinf(got) || isinf(rounded)) return INFINITY;
    double unit = nextafter(fabs(rounded), INFINITY) - fabs(rounded);
    return (double)(fabsl((long double)got - want) / (unit > 0 ? unit : 4.9e-324));
}

static long double next_double(long double a, long double b) { return nextafter((double)a, (double)b); }

static const struct double_function {
    const char *text;
    long double (*of_one)(long double);
    long double (*of_two)(long double, long double);
} double_functions[] = {
    { "exp($1)", expl, NULL },           { "log($1)", logl, NULL },
    { "sin($1)", sinl, NULL },           { "cos($1)", cosl, NULL },
    { "tan($1)", tanl, NULL },           { "asin($1)", asinl, NULL },
    { "acos($1)", acosl, NULL },         { "atan($1)", atanl, NULL },
    { "sinh($1)", sinhl, NULL },         { "cosh($1)", coshl, NULL },
    { "tanh($1)", tanhl, NULL },         { "pow($1, $2)", NULL, powl },
    { "atan2($1, $2)", NULL, atan2l },   { "half_exp($1)", expl, NULL },
    { "exp2($1)", exp2l, NULL },         { "expm1($1)", expm1l, NULL },
    { "log2($1)", log2l, NULL },         { "log10($1)", log10l, NULL },
    { "log1p($1)", log1pl, NULL },       { "cbrt($1)", cbrtl, NULL },
    { "rsqrt($1)", inverse_root, NULL }, { "asinh($1)", asinhl, NULL },
    { "acosh($1)", acoshl, NULL },       { "atanh($1)", atanhl, NULL },
    { "erf($1)", erfl, NULL },           { "nextafter($1, $2)", NULL, next_double },
    { "erfc($1)", erfcl, NULL },         { "lgamma($1)", lgammal, NULL },
    { "tgamma($1)", tgammal, NULL },     { "fifth_root($1)", fifth_root, NULL },
};

/* Numbers of all sizes, such as have results of all kinds, next to multiples of a quarter turn, and special ones in
 * pairs. */
static void make_doubles(double *a, double *b)
{
    uint64_t state = 88172645463325252u;
    for (int k = 0; k < N_DOUBLES; k++) {
        double any = any_double(&state), other = any_double(&state),
               turned = (double)((k >> 2) * 1.57079632679489661923L);
        a[k] = k % 4 == 0   ? any
               : k % 4 == 1 ? fmod(any, 750.0)
               : k % 4 == 2 ? nextafter(turned, k % 8 < 4 ? 0 : INFINITY)
                            : fmod(any, 1.0001);
        double spread = isnormal(a[k]) ? fmax(fabs(log(fabs(a[k]))), 1e-3) : 1;
        b[k] = k % 3 == 0 ? a[k] * fmod(other, 4.0) : k % 3 == 1 ? fmod(other, 740.0) / spread : other;
    }
    for (int k = 0; k < N_SPECIAL_DOUBLES * N_SPECIAL_DOUBLES; k++) {
        a[k] = special_doubles[k / N_SPECIAL_DOUBLES];
        b[k] = special_doubles[k % N_SPECIAL_DOUBLES];
    }
}

/* How many units in the last place a function may be off. Below 0 lgamma() crosses 0 again and again, as the difference
 * of two logarithms that do not. */
static double units_of(const struct double_function *f, double a, long double want)
{
    if (f->of_one == lgammal && a < 0 && isfinite(want))
        return 8 * (double)(fmaxl(fmaxl(fabsl(want), lgammal(-a)), 1) / fmaxl(fabsl(want), 0x1p-1000L)) * 2;
    if (f->of_one == lgammal) return 8;
    return f->of_one == erfl || f->of_one == erfcl || f->of_one == tgammal ? 6 : 3;
}

/* A function of doubles: near to that of the C library, error functions within 6 places, and the interpreter's. */
static void check_doubles(const struct double_function *f, double *a, double *b)
{
    double *r = compute_doubles(ctx, f->text, N_DOUBLES, a, b);
    for (int k = 0; k < N_DOUBLES; k++) {
        long double want = f->of_one ? f->of_one(a[k]) : f->of_two(a[k], b[k]);
        ck_assert_msg(units_off(r[k], want) <= units_of(f, a[k], want), "%s of %a, %a is %a, not %La", f->text, a[k],
                      b[k], r[k], want);
    }
    imgpar_context *ref;
    ck_assert_int_eq(imgpar_context_new("ref", &ref), IMGPAR_OK);
    double *same = compute_doubles(ref, f->text, N_DOUBLES, a, b);
    for (int k = 0; k < N_DOUBLES; k++)
        ck_assert_msg(r[k] == same[k] || (isnan(r[k]) && isnan(same[k])), "%s of %a, %a: %a, interpreted %a", f->text,
                      a[k], b[k], r[k], same[k]);
    free(same);
    imgpar_context_release(ref);
    free(r);
}

START_TEST(functions_of_doubles_are_within_three_places_and_the_interpreters_bits)
{
    if (!are_ours()) return;
    double *a = malloc(2 * N_DOUBLES * sizeof *a), *b = a + N_DOUBLES;
    make_doubles(a, b);
    check_doubles(&double_functions[_i], a, b);
    free(a);
}
END_TEST

enum { FIRST_OF_ANGLES = 2, BEHIND_ANGLES = 5 };

/* A line without a far angle is computed by functions for near ones; with one as its last element, by those for all. */
START_TEST(lines_of_near_angles_are_within_three_places_and_the_interpreters_bits)
{
    if (!are_ours()) return;
    double *a = malloc(2 * N_DOUBLES * sizeof *a), *b = a + N_DOUBLES;
    make_doubles(a, b);
    for (int k = 0; k < N_DOUBLES; k++)
        if (isfinite(a[k]) && fabs(a[k]) >= 0x1p45)
            a[k] = k % 2 ? fmod(a[k], 0x1p45) : copysign(0x1.fffffffffffffp44, a[k]);
    check_doubles(&double_functions[_i], a, b);
    a[N_DOUBLES - 1] = 0x1p45;
    check_doubles(&double_functions[_i], a, b);
    free(a);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("functions");
    TCase *tc = tcase_create("functions");
    tcase_add_checked_fixture(tc, open_context, close_context);
    tcase_add_test(tc, powers_of_special_numbers_are_those_of_annex_f);
    tcase_add_test(tc, logarithms_of_special_numbers_are_those_of_annex_f);
    tcase_add_test(tc, powers_and_logarithms_are_within_a_place);
    tcase_add_loop_test(tc, functions_of_a_number_are_within_a_place, 0, sizeof functions / sizeof *functions);
    tcase_add_test(tc, fma_and_nextafter_are_the_c_librarys);
    tcase_add_test(tc, angles_of_points_are_within_a_place);
    tcase_add_test(tc, half_exp_has_half_of_the_digits);
    tcase_add_loop_test(tc, functions_of_doubles_are_within_three_places_and_the_interpreters_bits, 0,
                        sizeof double_functions / sizeof *double_functions);
    tcase_add_loop_test(tc, lines_of_near_angles_are_within_three_places_and_the_interpreters_bits, FIRST_OF_ANGLES,
                        BEHIND_ANGLES);
    tcase_set_timeout(tc, 120);
    suite_add_tcase(s, tc);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    int n_failed = srunner_ntests_failed(r);
    srunner_free(r);
    return n_failed ? 1 : 0;
}
