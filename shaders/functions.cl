/* SPDX-License-Identifier: MIT */
/*
 * The functions of floats: exp, log, pow, sin and so on, in f32 and f64, without branches and calls, so that loops that
 * use them are vectorised; PoCL's own work on one number at a time. They are the one definition of these functions:
 * kernels include this file on devices that use it (run/context.c says which), and the interpreter includes it as C
 * (run/ref_loops_float.def), so both give the same bytes. Those of f32 compute in double, in which a few terms of a
 * series are enough for a float's last place; exp, exp2 and the cube root in float, of which a vector holds twice as
 * many: they are within 1 unit in the last place, exp within 1.01. Those of f64 carry what rounding takes from their
 * argument's reduction along (ip_pair): within 3 units, erf, erfc and tgamma within 6, lgamma within 8.
 *
 * Only + - * / fma() sqrt() and fabs() are used, all of which are correctly rounded wherever there are doubles. They
 * are inlined wherever they stand: a loop that calls one, which compilers prefer where it stands several times, is not
 * vectorised.
 */
#ifndef IP_HOST
typedef long ip_long;
#define IP_TABLE __constant
#define IP_FMAF fma
#endif
#define IP_INLINE static inline __attribute__((always_inline))

/* ---- what functions of both types share ------------------------------------------------------ */

/* A number as the sum of two, the second at most half a unit in the first one's last place. */
typedef struct ip_pair {
    double hi, lo;
} ip_pair;

/* a + b, exactly (Knuth's TwoSum). */
IP_INLINE ip_pair ip_sum(double a, double b)
{
    const double hi = a + b, from_b = hi - a;
    const ip_pair sum = { hi, (a - (hi - from_b)) + (b - from_b) };
    return sum;
}

/* a b, exactly but for an underflow. */
IP_INLINE ip_pair ip_product(double a, double b)
{
    const double hi = a * b;
    const ip_pair product = { hi, fma(a, b, -hi) };
    return product;
}

/* The nearest whole number, ties to even, of |x| < 2^51: beyond 2^52 doubles have no fraction. (PoCL's rint() is a call
 * for each number.) */
IP_INLINE double ip_whole(double x) { return (x + 0x1.8p52) - 0x1.8p52; }
/* Whether any x is whole; infinities are. */
IP_INLINE int ip_is_whole(double x)
{
    const double a = fabs(x);
    return (a >= 0x1p52) | ((a + 0x1p52) - 0x1p52 == a);
}
/* Whole k, |k| < 2^51, less the multiple of 4 that leaves 0 to 3. */
IP_INLINE double ip_mod_4(double k) { return k - 4 * ip_whole(k * 0.25 - 0.375); }

/* 2^k for -1022 <= k <= 1023. */
IP_INLINE double ip_power_of_two(int k) { return as_double(((ip_long)k + 1023) << 52); }

/* x = 2^k m for positive finite x, m from sqrt(1/2) to sqrt(2). */
IP_INLINE double ip_mantissa(double x, int *k)
{
    const int is_subnormal = x < 0x1p-1022;
    const ip_long bits = as_long(is_subnormal ? x * 0x1p54 : x);
    const double whole = as_double((bits & 0xfffffffffffffL) | 0x3ff0000000000000L); /* 1 to 2 */
    const int above = whole > 1.4142135623730951;
    *k = (int)(bits >> 52) - 1023 + above - (is_subnormal ? 54 : 0);
    return above ? whole * 0.5 : whole;
}

/* ---- f32 ------------------------------------------------------------------------------------- */

/* atanh(s) of |s| < 0.1716. The series ends with s^13; what is left out is below 2^-39 of the sum. */
IP_INLINE double ip_atanh_series(double s)
{
    const double z = s * s;
    return ((((((z * (1.0 / 13) + 1.0 / 11) * z + 1.0 / 9) * z + 1.0 / 7) * z + 1.0 / 5) * z + 1.0 / 3) * z + 1) * s;
}

/* log(x) for positive finite x = 2^k m: log(m) = 2 atanh((m - 1) / (m + 1)). */
IP_INLINE double ip_log_double(double x)
{
    int k;
    const double m = ip_mantissa(x, &k);
    return k * 0.6931471805599453 + 2 * ip_atanh_series((m - 1) / (m + 1));
}

/* log(1 + x) for finite x > -1. */
IP_INLINE double ip_log1p_double(double x)
{
    const int is_near = (x > -0.29) & (x < 0.41);
    const double near = 2 * ip_atanh_series(is_near ? x / (2 + x) : 0), far = ip_log_double(1 + x);
    return is_near ? near : far;
}

/* exp(x) for |x| <= 700: 2^k e^r with |r| <= log(2) / 2; Taylor's series to r^9, the rest is below 2^-36. */
IP_INLINE double ip_exp_double(double x)
{
    const double k = ip_whole(x * 1.4426950408889634), r = x - k * 0.6931471805599453;
    const double high = (((r * (1.0 / 362880) + 1.0 / 40320) * r + 1.0 / 5040) * r + 1.0 / 720) * r + 1.0 / 120;
    const double series = ((((high * r + 1.0 / 24) * r + 1.0 / 6) * r + 0.5) * r + 1) * r + 1;
    return series * ip_power_of_two((int)k);
}

/*
 * 1 / (m + 1) for m from sqrt(1/2) to sqrt(2), within 2^-39: by a polynomial that is within e = 2^-13, and two terms of
 * the series of 1 / (1 - e). Dividing takes four times as long.
 */
IP_INLINE double ip_over_one_more(double m)
{
    const double y =
        fma(fma(fma(-0.05713502086484903, m, 0.29953839149490885), m, -0.678057920826439), m, 0.9356115072556879);
    const double e = fma(-y, m + 1, 1.0);
    return fma(y, fma(e, e, e), y);
}

/*
 * log2(x) for positive finite x = 2^k m, m from sqrt(1/2) to sqrt(2): of (m - 1) / (m + 1), by the polynomial that is
 * nearest to the series; what is left is below 2^-37 of the sum. Floats are taken apart before they become doubles,
 * twice as many of which a vector holds.
 */
IP_INLINE double ip_log2_of_float(float x)
{
    const int is_subnormal = x < 0x1p-126f;
    const int bits = as_int(is_subnormal ? x * 0x1p24f : x), k = (bits - 0x3f3504f3) >> 23;
    const double m = (double)as_float(bits - (int)((unsigned)k << 23)), s = (m - 1) * ip_over_one_more(m), z = s * s;
    const double p =
        fma(fma(fma(fma(0.3407120415619086, z, 0.41167376623771059), z, 0.57708356600486586), z, 0.96179667345154847),
            z, 2.885390081789987);
    return fma(s, p, (double)(is_subnormal ? k - 24 : k));
}

/* 2^x for |x| <= 1000, by the polynomial of what x is from a whole number; what is left is below 2^-34. */
IP_INLINE double ip_exp2_double(double x)
{
    const double shifted = x + 0x1.8p52, r = x - (shifted - 0x1.8p52);
    const double high = fma(fma(fma(1.5303700711365694e-5, r, 0.00015469729214118297), r, 0.0013333478473685415), r,
                            0.0096180256133180342);
    const double y =
        fma(fma(fma(fma(high, r, 0.055504109063258666), r, 0.24022651213498093), r, 0.69314718055683241), r,
            0.99999999995956175);
    return as_double((ip_long)((unsigned long)as_long(y) + ((unsigned long)as_long(shifted) << 52)));
}

/*
 * 2^k y for y from sqrt(1/2) to sqrt(2) and -151 < k <= 128, where shifted = k + 0x1.8p23: in two steps, of which one
 * rounds, so that results that are subnormal are rounded once, and what is too large is infinite. NaNs stay.
 */
IP_INLINE float ip_scaled_by(float y, float shifted, float k)
{
    const int is_small = k < -100;
    const unsigned power = ((unsigned)as_int(shifted) << 23) + (is_small ? 190u << 23 : 126u << 23);
    return y * as_float((int)power) * (is_small ? 0x1p-63f : 2);
}

/* e^a 2^-k with |a - k log(2)| <= log(2) / 2, log(2) in two parts; the polynomial is within 2^-28. */
IP_INLINE float ip_exp_near(float a, float k)
{
    const float r = IP_FMAF(k, -1.42860677e-6f, IP_FMAF(k, -0.693145752f, a));
    const float high = IP_FMAF(IP_FMAF(0.00138145988f, r, 0.00836871658f), r, 0.0416683890f);
    return 1 + IP_FMAF(IP_FMAF(IP_FMAF(high, r, 0.166665211f), r, 0.499999940f), r * r, r);
}

IP_INLINE float ip_exp(float x)
{
    const float a = x > 89 ? 89 : x < -104 ? -104 : x; /* beyond these floats have ended */
    const float shifted = IP_FMAF(a, 1.44269502f, 0x1.8p23f), k = shifted - 0x1.8p23f;
    return ip_scaled_by(ip_exp_near(a, k), shifted, k);
}

/* Of x <= 0 the same, to the bit, without a choice. */
IP_INLINE float ip_exp_negative(float x)
{
    const float a = x < -104 ? -104 : x;
    const float shifted = IP_FMAF(a, 1.44269502f, 0x1.8p23f + 191), k = shifted - (0x1.8p23f + 191);
    return ip_exp_near(a, k) * as_float((int)((unsigned)as_int(shifted) << 23)) * 0x1p-64f; /* 2^(k + 64) */
}

/*
 * Of f32 with half of the digits, within 2^-13: 2^k 2^r with |r| <= 1/2, the polynomial being within 2^-13.26. What is
 * below half of the least normal number is 0; above 2^127.5 it is infinite.
 */
IP_INLINE float ip_half_exp_below(float a)
{
    const float shifted = IP_FMAF(a, 1.44269502f, 0x1.8p23f + 127), k = shifted - (0x1.8p23f + 127);
    const float r = IP_FMAF(a, 1.44269502f, -k);
    const float y = IP_FMAF(IP_FMAF(IP_FMAF(0.0550089292f, r, 0.242210954f), r, 0.693282962f), r, 1.0f);
    return y * as_float((int)((unsigned)as_int(shifted) << 23)); /* 2^k */
}
IP_INLINE float ip_half_exp(float x) { return ip_half_exp_below(x > 88.5f ? 88.5f : x < -87.8f ? -87.8f : x); }
/* Of x <= 0 the same, to the bit. */
IP_INLINE float ip_half_exp_negative(float x) { return ip_half_exp_below(x < -87.8f ? -87.8f : x); }

/* 2^r, |r| <= 1/2, by a polynomial that is within 2^-28. */
IP_INLINE float ip_exp2(float x)
{
    const float a = x > 128 ? 128 : x < -151 ? -151 : x; /* beyond these floats have ended */
    const float shifted = a + 0x1.8p23f, k = shifted - 0x1.8p23f, r = a - k;
    const float high = IP_FMAF(IP_FMAF(0.000153533620f, r, 0.00133988750f), r, 0.00961843692f);
    const float y = 1 + IP_FMAF(IP_FMAF(IP_FMAF(high, r, 0.0555033237f), r, 0.240226477f), r, 0.693147182f) * r;
    return ip_scaled_by(y, shifted, k);
}

/* Below 1/2 by Taylor's series, whose rest is below 2^-35 of the sum. */
IP_INLINE float ip_expm1(float x)
{
    const double a = (double)(x > 160 ? 160 : x > -160 ? x : -160);
    const double high = ((((a * (1.0 / 3628800) + 1.0 / 362880) * a + 1.0 / 40320) * a + 1.0 / 5040) * a + 1.0 / 720);
    const double small = (((((high * a + 1.0 / 120) * a + 1.0 / 24) * a + 1.0 / 6) * a + 0.5) * a + 1) * a;
    const float y = (float)(fabs(a) < 0.5 ? small : ip_exp_double(a) - 1);
    return x == x ? y : x;
}

/* log(x) / log(base) with unit = log(2) / log(base). */
IP_INLINE float ip_log_of(float x, double unit)
{
    const float y = (float)(ip_log2_of_float((x > 0) & (x < INFINITY) ? x : 1) * unit);
    const float least = x == 0 ? -INFINITY : NAN;
    return x > 0 ? (x < INFINITY ? y : x) : least;
}
IP_INLINE float ip_log(float x) { return ip_log_of(x, 0.6931471805599453); }
IP_INLINE float ip_log2(float x) { return ip_log_of(x, 1); }
IP_INLINE float ip_log10(float x) { return ip_log_of(x, 0.3010299956639812); }

IP_INLINE float ip_log1p(float x)
{
    const float y = (float)ip_log1p_double((double)((x > -1) & (x < INFINITY) ? x : 0));
    const float least = x == -1 ? -INFINITY : NAN;
    return x > -1 ? (x < INFINITY ? y : x) : least;
}

IP_INLINE float ip_rsqrt(float x) { return (float)(1 / sqrt((double)x)); }

/*
 * The inverse root y, first from a third of the bits, within 5%, then by what is left, h = 1 - x y^3: y times three
 * and two terms of the series of (1 - h)^(-1/3). The root is x y^2, of which what is left is known to twice a float's
 * digits.
 */
IP_INLINE float ip_cbrt(float x)
{
    const float a = (float)fabs(x);
    const int is_usual = (a > 0) & (a < INFINITY), is_small = a < 0x1p-80f;
    const float b = is_usual ? is_small ? a * 0x1p48f : a : 1;
    const float first = as_float(0x54a21d2a - (int)((float)as_int(b) * 0.333333343f));
    const float h = IP_FMAF(-b * first, first * first, 1.0f), step = first * h;
    const float second = IP_FMAF(step, IP_FMAF(IP_FMAF(0.172839507f, h, 0.222222224f), h, 0.333333343f), first);
    const float rest = IP_FMAF(-b * second, second * second, 1.0f);
    const float y = IP_FMAF(second * rest, IP_FMAF(0.222222224f, rest, 0.333333343f), second);
    const float square = y * y, t = b * square, power = t * t, low = IP_FMAF(t, t, -power);
    const float left = IP_FMAF(low, t, IP_FMAF(power, t, -b));
    const float root = IP_FMAF(-left, square * 0.333333343f, t), size = is_small ? root * 0x1p-16f : root;
    return is_usual ? x < 0 ? -size : size : x;
}

/*
 * As ip_cbrt(): the inverse root y from a fifth of the bits, then y times three and two terms of the series of
 * (1 - h)^(-1/5), h = 1 - x y^5. The root is x y^4, of which what is left is known to twice a float's digits.
 */
IP_INLINE float ip_fifth_root(float x)
{
    const float a = (float)fabs(x);
    const int is_usual = (a > 0) & (a < INFINITY), is_small = a < 0x1p-80f;
    const float b = is_usual ? is_small ? a * 0x1p50f : a : 1;
    const float first = as_float(0x4c2b8000 - (int)((float)as_int(b) * 0.2f)), first_square = first * first;
    const float h = IP_FMAF(-b * first * first_square, first_square, 1.0f), step = first * h;
    const float second = IP_FMAF(step, IP_FMAF(IP_FMAF(0.088f, h, 0.12f), h, 0.2f), first), square = second * second;
    const float rest = IP_FMAF(-b * second * square, square, 1.0f);
    const float y = IP_FMAF(second * rest, IP_FMAF(0.12f, rest, 0.2f), second);
    const float inverse = y * y * y * y, t = b * inverse;
    const float two = t * t, two_low = IP_FMAF(t, t, -two);
    const float four = two * two, four_low = IP_FMAF(two, two, -four) + 2 * two * two_low;
    const float left = IP_FMAF(four_low, t, IP_FMAF(four, t, -b));
    const float root = IP_FMAF(-left, inverse * 0.2f, t), size = is_small ? root * 0x1p-10f : root;
    return is_usual ? x < 0 ? -size : size : x;
}

/* As C's pow(), of an exponent that is finite, above 0 and no whole number. */
IP_INLINE float ip_pow_fraction(float x, float y)
{
    const float a = fabs(x);
    const double t = y * ip_log2_of_float((a > 0) & (a < INFINITY) ? a : 1); /* beyond 230 floats have ended */
    const float size = (float)ip_exp2_double(t > 230 ? 230 : t > -230 ? t : -230);
    const float rest = x < 0 ? NAN : size;
    return a == 0 ? 0 : a == INFINITY ? INFINITY : x == x ? rest : x;
}

/*
 * As C's pow(), special cases included. (Not always inlined: LLVM 14 cannot compile some of what becomes of several
 * with exponents that are the same for all elements.)
 */
static inline float ip_pow(float x, float y)
{
    const float a = fabs(x);
    const double l = a == 0 ? -INFINITY : a < INFINITY ? ip_log2_of_float(a > 0 ? a : 1) : INFINITY;
    /* beyond 230 floats have ended; NaN where 0 and infinity meet, which are told apart below */
    const double t = y * l;
    const float size = (float)ip_exp2_double(t > 230 ? 230 : t > -230 ? t : -230);
    const int is_whole = ip_is_whole((double)y), is_odd = is_whole & !ip_is_whole((double)y * 0.5);
    const int is_negative = as_int(x) < 0;
    const float with_sign = is_negative & is_odd ? -size : size;
    const float result =
        (x != x) | (y != y) | (is_negative & (a > 0) & (a < INFINITY) & !is_whole & (fabs(y) < INFINITY)) ? NAN
                                                                                                          : with_sign;
    return (y == 0) | (x == 1) | ((x == -1) & (fabs(y) == INFINITY)) ? 1 : result;
}

/*
 * The angle a >= 0, finite, in quarter turns: their number mod 4 is returned, what is left of the angle, below 1 either
 * way, is *rest. Of a large angle, a whole multiple of 2^s, 2^s mod 2 pi is put for 2^s, as a sum of two doubles. So
 * product is below 2^51 and what is taken from it leaves a multiple of 2^-52, which is exact.
 */
IP_INLINE double ip_quarter_turns(double a, double *rest)
{
    const int s8 = a >= 0x1p31, s32 = a >= 0x1p55, s56 = a >= 0x1p79, s80 = a >= 0x1p103;
    const double scale = s80 ? 0x1p-80 : s56 ? 0x1p-56 : s32 ? 0x1p-32 : s8 ? 0x1p-8 : 1.0;
    const double high = s80   ? 5.251246658469554
                        : s56 ? 1.8284129089223877
                        : s32 ? 3.621826495514285
                        : s8  ? 4.672587712816541
                              : 1.0;
    const double low = s80   ? 5.5160249034229947e-17
                       : s56 ? 1.0567643478104146e-16
                       : s32 ? 4.7850011877161456e-17
                       : s8  ? -2.721177647744786e-17
                             : 0.0;
    const double scaled = a * scale, product = scaled * high, tail = fma(scaled, high, -product) + scaled * low;
    const double k = ip_whole(product * 0.6366197723675814);
    *rest = fma(-k, 1.5707963267948966, product) + fma(-k, 6.123233995736766e-17, tail);
    return ip_mod_4(k);
}

/* Taylor's series: of |r| < 1 the rest is below 2^-32 of the sum. */
IP_INLINE double ip_sin_double(double r)
{
    const double z = r * r;
    return r + r * z * ((((z * (-1.0 / 39916800) + 1.0 / 362880) * z - 1.0 / 5040) * z + 1.0 / 120) * z - 1.0 / 6);
}

IP_INLINE double ip_cos_double(double r)
{
    const double z = r * r;
    return 1 + z * (((((z * (1.0 / 479001600) - 1.0 / 3628800) * z + 1.0 / 40320) * z - 1.0 / 720) * z + 1.0 / 24) * z -
                    0.5);
}

IP_INLINE float ip_sin(float x)
{
    double r;
    const double q = ip_quarter_turns(fabs(x) < INFINITY ? (double)fabs(x) : 0, &r);
    const double size = (q == 1) | (q == 3) ? ip_cos_double(r) : ip_sin_double(r);
    const float y = (float)(q >= 2 ? -size : size);
    return fabs(x) < INFINITY ? as_int(x) < 0 ? -y : y : NAN;
}

IP_INLINE float ip_cos(float x)
{
    double r;
    const double q = ip_quarter_turns(fabs(x) < INFINITY ? (double)fabs(x) : 0, &r);
    const double size = (q == 1) | (q == 3) ? ip_sin_double(r) : ip_cos_double(r);
    const float y = (float)((q == 1) | (q == 2) ? -size : size);
    return fabs(x) < INFINITY ? y : NAN;
}

IP_INLINE float ip_tan(float x)
{
    double r;
    const double q = ip_quarter_turns(fabs(x) < INFINITY ? (double)fabs(x) : 0, &r);
    const double s = ip_sin_double(r), c = ip_cos_double(r);
    const float y = (float)((q == 1) | (q == 3) ? -c / s : s / c);
    return fabs(x) < INFINITY ? as_int(x) < 0 ? -y : y : NAN;
}

/*
 * The angle of the point (x, y), both at least 0, from 0 to pi / 2. Of the quotient t <= 1 of the two: atan(t) = pi / 6
 * + atan(r) with r = (t - c) / (1 + t c), c = tan(pi / 6), where t > tan(pi / 12); then |r| <= tan(pi / 12), and the
 * rest of Taylor's series is below 2^-34 of the sum.
 */
IP_INLINE double ip_angle(double y, double x)
{
    const int above = y > x;
    const double low = above ? x : y, high = above ? y : x, one = high > 0 ? 1 : 0;
    const double t = low == high ? one : low / high; /* infinities and zeros have no quotient */
    const int is_steep = t > 0.2679491924311227;
    const double r = is_steep ? (t - 0.5773502691896258) / (1 + t * 0.5773502691896258) : t, z = r * r;
    const double high_terms = (((z * (-1.0 / 15) + 1.0 / 13) * z - 1.0 / 11) * z + 1.0 / 9) * z - 1.0 / 7;
    const double series = r + r * z * ((high_terms * z + 1.0 / 5) * z - 1.0 / 3);
    const double angle = is_steep ? 0.5235987755982989 + series : series;
    return above ? 1.5707963267948966 - angle : angle;
}

IP_INLINE float ip_atan(float x)
{
    const float y = (float)ip_angle((double)fabs(x), 1);
    return as_int(x) < 0 ? -y : y;
}

IP_INLINE float ip_atan2(float y, float x)
{
    const double angle = ip_angle((double)fabs(y), (double)fabs(x));
    const float a = (float)(as_int(x) < 0 ? 3.141592653589793 - angle : angle);
    return as_int(y) < 0 ? -a : a;
}

/* The other side of a triangle with a long side of 1; NaN where there is none. */
IP_INLINE double ip_other_side(double x) { return sqrt((1 - x) * (1 + x)); }

IP_INLINE float ip_asin(float x)
{
    const double a = (double)fabs(x);
    const float y = (float)ip_angle(a, ip_other_side(a));
    return as_int(x) < 0 ? -y : y;
}

IP_INLINE float ip_acos(float x)
{
    const double a = (double)fabs(x), angle = ip_angle(ip_other_side(a), a);
    return (float)(as_int(x) < 0 ? 3.141592653589793 - angle : angle);
}

/* Below 1 by Taylor's series, whose rest is below 2^-32 of the sum: e^x and e^-x are nearly equal there. */
IP_INLINE float ip_sinh(float x)
{
    const double a = (double)fabs(x), z = a * a;
    const double small =
        a + a * z * ((((z * (1.0 / 39916800) + 1.0 / 362880) * z + 1.0 / 5040) * z + 1.0 / 120) * z + 1.0 / 6);
    const double e = ip_exp_double(a < 100 ? a : 100); /* beyond 90 floats have ended */
    const float y = (float)(a < 1 ? small : (e - 1 / e) / 2);
    return x == x ? as_int(x) < 0 ? -y : y : x;
}

IP_INLINE float ip_cosh(float x)
{
    const double a = (double)fabs(x), e = ip_exp_double(a < 100 ? a : 100);
    return x == x ? (float)((e + 1 / e) / 2) : x;
}

/* sinh(x) / cosh(x) by the series of both below 1, else 1 - 2 / (e^2x + 1). */
IP_INLINE float ip_tanh(float x)
{
    const double a = (double)fabs(x), z = a * a;
    const double sine =
        a + a * z * ((((z * (1.0 / 39916800) + 1.0 / 362880) * z + 1.0 / 5040) * z + 1.0 / 120) * z + 1.0 / 6);
    const double cosine =
        1 +
        z * (((((z * (1.0 / 479001600) + 1.0 / 3628800) * z + 1.0 / 40320) * z + 1.0 / 720) * z + 1.0 / 24) * z + 0.5);
    const double e = ip_exp_double(a < 50 ? 2 * a : 100); /* 1 from 10 on */
    const float y = (float)(a < 1 ? sine / cosine : 1 - 2 / (e + 1));
    return x == x ? as_int(x) < 0 ? -y : y : x;
}

IP_INLINE float ip_asinh(float x)
{
    const double a = fabs(x) < INFINITY ? (double)fabs(x) : 0, square = a * a;
    const float y = (float)ip_log1p_double(a + square / (1 + sqrt(1 + square)));
    return fabs(x) < INFINITY ? as_int(x) < 0 ? -y : y : x;
}

IP_INLINE float ip_acosh(float x)
{
    const double t = (x >= 1) & (x < INFINITY) ? (double)x - 1 : 0;
    const float y = (float)ip_log1p_double(t + sqrt(t * (t + 2)));
    return x >= 1 ? x < INFINITY ? y : x : NAN;
}

IP_INLINE float ip_atanh(float x)
{
    const double a = fabs(x) < 1 ? (double)fabs(x) : 0;
    const float most = fabs(x) == 1 ? INFINITY : NAN;
    const float y = fabs(x) < 1 ? (float)(0.5 * ip_log1p_double(2 * a / (1 - a))) : most;
    return as_int(x) < 0 ? -y : y;
}

/*
 * The error function by three rational functions of Cody (Mathematics of Computation 23, 1969), of 0 <= a: erf(a) where
 * a is small; e^(a^2) erfc(a) to 4, and from there on.
 */
#define IP_ERF_SMALL 0.46875

IP_INLINE double ip_erf_small(double a)
{
    const double z = a * a;
    const double over_1 = fma(fma(fma(1.85777706184603153e-1, z, 3.16112374387056560), z, 1.13864154151050156e2), z,
                              3.77485237685302021e2);
    const double over = fma(over_1, z, 3.20937758913846947e3);
    const double under_1 =
        fma(fma(fma(1.0, z, 2.36012909523441209e1), z, 2.44024637934444173e2), z, 1.28261652607737228e3);
    const double under = fma(under_1, z, 2.84423683343917062e3);
    return a * (over / under);
}

IP_INLINE double ip_erfc_middle(double a)
{
    const double over_1 = fma(fma(fma(2.15311535474403846e-8, a, 5.64188496988670089e-1), a, 8.88314979438837594), a,
                              6.61191906371416295e1);
    const double over_2 =
        fma(fma(fma(over_1, a, 2.98635138197400131e2), a, 8.81952221241769090e2), a, 1.71204761263407058e3);
    const double over = fma(fma(over_2, a, 2.05107837782607147e3), a, 1.23033935479799725e3);
    const double under_1 =
        fma(fma(fma(1.0, a, 1.57449261107098347e1), a, 1.17693950891312499e2), a, 5.37181101862009858e2);
    const double under_2 =
        fma(fma(fma(under_1, a, 1.62138957456669019e3), a, 3.29079923573345963e3), a, 4.36261909014324716e3);
    const double under = fma(fma(under_2, a, 3.43936767414372164e3), a, 1.23033935480374942e3);
    return over / under;
}

IP_INLINE double ip_erfc_large(double a)
{
    const double z = 1 / (a * a);
    const double over_1 = fma(fma(fma(1.63153871373020978e-2, z, 3.05326634961232344e-1), z, 3.60344899949804439e-1), z,
                              1.25781726111229246e-1);
    const double over = fma(fma(over_1, z, 1.60837851487422766e-2), z, 6.58749161529837803e-4);
    const double under_1 =
        fma(fma(fma(1.0, z, 2.56852019228982242), z, 1.87295284992346047), z, 5.27905102951428412e-1);
    const double under = fma(fma(under_1, z, 6.05183413124413191e-2), z, 2.33520497626869185e-3);
    return fma(-z, over / under, 0.5641895835477563) / a;
}

/* erfc(a) of a > IP_ERF_SMALL, where doubles of it are given e^(-a^2). */
IP_INLINE double ip_erfc_scaled(double a, double power)
{
    return power * (a > 4 ? ip_erfc_large(a > 4 ? a : 4) : ip_erfc_middle(a < 4 ? a : 4));
}

IP_INLINE float ip_erf(float x)
{
    const double a = fabs(x) < 10 ? (double)fabs(x) : 10, power = ip_exp_double(-a * a);
    const float y = (float)(a > IP_ERF_SMALL ? 1 - ip_erfc_scaled(a, power) : ip_erf_small(a));
    return x == x ? as_int(x) < 0 ? -y : y : x;
}

IP_INLINE float ip_erfc(float x)
{
    const double a = fabs(x) < 12 ? (double)fabs(x) : 12, power = ip_exp_double(-a * a);
    const double rest = a > IP_ERF_SMALL ? ip_erfc_scaled(a, power) : 1 - ip_erf_small(a);
    return x == x ? (float)(x < 0 ? 2 - rest : rest) : x;
}

/* ---- f64: powers and logarithms ---------------------------------------------------------------- */

/* 2 / 5 + 2 / 7 z + ... : what 2 atanh(s) - 2 s - 2 / 3 s^3 is over s^5, z = s^2 < 0.0295. The rest is below 2^-60. */
IP_INLINE double ip_atanh_tail(double z)
{
    const double high = fma(fma(fma(fma(z, 2.0 / 23, 2.0 / 21), z, 2.0 / 19), z, 2.0 / 17), z, 2.0 / 15);
    return fma(fma(fma(fma(high, z, 2.0 / 13), z, 2.0 / 11), z, 2.0 / 9), z * z, fma(2.0 / 7, z, 2.0 / 5));
}

/* Of positive finite x. With f = m - 1, log(1 + f) = f - (f^2 / 2 - s (f^2 / 2 + R)), where f is exact and R = 2 / 3
 * s^2 + 2 / 5 s^4 + ... */
IP_INLINE double ip_log_normal(double x)
{
    int k;
    const double m = ip_mantissa(x, &k), f = m - 1, s = f / (m + 1), z = s * s, by_two = 0.5 * f * f;
    const double series = z * fma(z, ip_atanh_tail(z), 2.0 / 3);
    return k * 0x1.62e42fefa2p-1 - ((by_two - (s * (by_two + series) + k * 0x1.9ef35793c7673p-41)) - f);
}

/* The same to some 2^-64 of it, for powers. */
IP_INLINE ip_pair ip_log_pair(double x)
{
    int k;
    const double m = ip_mantissa(x, &k), f = m - 1, d = m + 1, d_lo = m - (d - 1);
    const double s = f / d, s_lo = (fma(-s, d, f) - s * d_lo) / d;
    const double z = s * s, z_lo = fma(s, s, -z) + 2 * s * s_lo;
    const double cube = s * z, cube_lo = fma(s, z, -cube) + (s * z_lo + s_lo * z);
    const double third = cube * (2.0 / 3),
                 third_lo = fma(cube, 2.0 / 3, -third) + (cube * 0x1.5555555555555p-55 + cube_lo * (2.0 / 3));
    /* k times 40 bits: exact */
    const ip_pair first = ip_sum(k * 0x1.62e42fefa2p-1, 2 * s), both = ip_sum(first.hi, third);
    const double rest = k * 0x1.9ef35793c7673p-41 + (2 * s_lo + (third_lo + cube * z * ip_atanh_tail(z)));
    return ip_sum(both.hi, both.lo + (first.lo + rest));
}

/* e^(r + r_lo) - 1 of |r| <= log(2) / 2: Taylor's series to r^13, the rest is below 2^-57. */
IP_INLINE double ip_expm1_series(double r, double r_lo)
{
    const double first = fma(fma(fma(r, 1.0 / 6227020800.0, 1.0 / 479001600), r, 1.0 / 39916800), r, 1.0 / 3628800);
    const double high = fma(fma(fma(fma(first, r, 1.0 / 362880), r, 1.0 / 40320), r, 1.0 / 5040), r, 1.0 / 720);
    const double series = fma(fma(fma(fma(high, r, 1.0 / 120), r, 1.0 / 24), r, 1.0 / 6), r, 0.5);
    return r + fma(r * r, series, r_lo);
}

/* 2^shift e^(x + x_lo): 2^k e^r with |r| <= log(2) / 2. Exact zeros and infinities beyond the range of doubles. */
IP_INLINE double ip_exp_pair(double x, double x_lo, int shift)
{
    const double within = x > 800 ? 800 : x > -800 ? x : -800; /* NaN: -800 */
    const double k = ip_whole(within * 1.4426950408889634);
    const double large = fma(-k, 0x1.62e42fefa39efp-1, within),
                 small = fma(-k, 0x1.abc9e3b39803fp-56, x == within ? x_lo : 0);
    const double r = large + small, r_lo = (large - r) + small;
    const int n = (int)k + shift, by_two = n >> 1;
    return (1 + ip_expm1_series(r, r_lo)) * ip_power_of_two(by_two) * ip_power_of_two(n - by_two);
}

IP_INLINE double ip_exp64(double x) { return x == x ? ip_exp_pair(x, 0, 0) : x; }

IP_INLINE double ip_log64(double x)
{
    const int is_normal = (x > 0) & (x < (double)INFINITY);
    const double y = ip_log_normal(is_normal ? x : 1), other = x == 0 ? -(double)INFINITY : x > 0 ? x : (double)NAN;
    return is_normal ? y : other;
}

/* log(x) / log(base), with 1 / log(base) as a sum of two. */
IP_INLINE double ip_log64_of(double x, double unit, double unit_lo)
{
    const int is_normal = (x > 0) & (x < (double)INFINITY);
    const ip_pair l = ip_log_pair(is_normal ? x : 1), y = ip_product(l.hi, unit);
    const double other = x == 0 ? -(double)INFINITY : x > 0 ? x : (double)NAN;
    return is_normal ? y.hi + (y.lo + (l.hi * unit_lo + l.lo * unit)) : other;
}
IP_INLINE double ip_log2_64(double x) { return ip_log64_of(x, 0x1.71547652b82fep+0, 0x1.777d0ffda0d24p-56); }
IP_INLINE double ip_log10_64(double x) { return ip_log64_of(x, 0x1.bcb7b1526e50ep-2, 0x1.95355baaafad3p-57); }

/* log(1 + x + x_lo) of finite x > -1: 1 + x in two, the second of which is small beside the first. */
IP_INLINE double ip_log1p_pair(double x, double x_lo)
{
    const ip_pair u = ip_sum(1, x);
    return ip_log_normal(u.hi) + (u.lo + x_lo) / u.hi;
}

IP_INLINE double ip_log1p64(double x)
{
    const int is_usual = (x > -1) & (x < (double)INFINITY) & (x != 0);
    const double y = ip_log1p_pair(is_usual ? x : 1, 0), least = x == -1 ? -(double)INFINITY : (double)NAN;
    return is_usual ? y : x > -1 ? x : least;
}

IP_INLINE double ip_exp2_64(double x)
{
    const double within = x > 1100 ? 1100 : x > -1100 ? x : -1100, k = ip_whole(within);
    const ip_pair r = ip_product(within - k, 0x1.62e42fefa39efp-1);
    const double y = ip_exp_pair(r.hi, r.lo + (within - k) * 0x1.abc9e3b39803fp-56, (int)k);
    return x == x ? y : x;
}

/* 2^k e^r - 1 as 2^k (e^r - 1) + (2^k - 1), in which little is lost. */
IP_INLINE double ip_expm1_64(double x)
{
    const int is_near = fabs(x) < 40;
    const double b = is_near ? x : 0, k = ip_whole(b * 1.4426950408889634), power = ip_power_of_two((int)k);
    const double large = fma(-k, 0x1.62e42fefa39efp-1, b), small = -k * 0x1.abc9e3b39803fp-56;
    const double r = large + small, series = ip_expm1_series(r, (large - r) + small);
    const double y = is_near ? fma(power, series, power - 1) : ip_exp_pair(x, 0, 0) - 1;
    return (x == 0) | (x != x) ? x : y;
}

IP_INLINE double ip_rsqrt64(double x) { return 1 / sqrt(x); }

/* A step of Newton's from the cube root to some 2^-36. */
IP_INLINE double ip_cbrt64(double x)
{
    const double a = fabs(x);
    const int is_usual = (a > 0) & (a < (double)INFINITY), is_small = a < 0x1p-900;
    const double b = is_usual ? is_small ? a * 0x1p600 : a : 1, y = ip_exp_double(ip_log_double(b) * (1.0 / 3));
    const ip_pair square = ip_product(y, y);
    const double root = y - (fma(square.hi, y, -b) + square.lo * y) / (3 * square.hi);
    const double size = is_small ? root * 0x1p-200 : root;
    return is_usual ? x < 0 ? -size : size : x;
}

/* A step of Newton's from the fifth root to some 2^-36. */
IP_INLINE double ip_fifth_root64(double x)
{
    const double a = fabs(x);
    const int is_usual = (a > 0) & (a < (double)INFINITY), is_small = a < 0x1p-900;
    const double b = is_usual ? is_small ? a * 0x1p600 : a : 1, y = ip_exp_double(ip_log_double(b) * 0.2);
    const ip_pair square = ip_product(y, y), fourth = ip_product(square.hi, square.hi);
    const double low = fourth.lo + 2 * square.hi * square.lo;
    const double root = y - (fma(fourth.hi, y, -b) + low * y) / (5 * fourth.hi);
    const double size = is_small ? root * 0x1p-120 : root;
    return is_usual ? x < 0 ? -size : size : x;
}

/* As C's pow(), special cases included. */
IP_INLINE double ip_pow64(double x, double y)
{
    /* beyond it only 1 has powers */
    const double a = fabs(x), bounded = y > 0x1p70 ? 0x1p70 : y > -0x1p70 ? y : -0x1p70;
    const int is_normal = (a > 0) & (a < (double)INFINITY);
    const ip_pair l = ip_log_pair(is_normal ? a : 1), t = ip_product(bounded, l.hi);
    const double power = ip_exp_pair(t.hi, t.lo + bounded * l.lo, 0);
    const double size = is_normal ? power : (a == 0) == (y > 0) ? 0 : (double)INFINITY;
    const int is_whole = ip_is_whole(y), is_odd = is_whole & !ip_is_whole(y * 0.5), is_negative = as_long(x) < 0;
    const double with_sign = is_negative & is_odd ? -size : size;
    const int is_nothing = (x != x) | (y != y) | (is_negative & is_normal & !is_whole);
    return (y == 0) | (x == 1) ? 1 : is_nothing ? (double)NAN : with_sign;
}

/* ---- f64: angles -------------------------------------------------------------------------------- */

/* 2^(8 q - 8) times 2 / pi, less the next multiple of 4, as a sum of three numbers, for q from 0 on: quarter turns of
 * angles of all sizes. */
IP_TABLE double ip_turns[] = {
    0x1.45f306dc9c883p-9,    -0x1.6b01ec5417056p-63,  -0x1.6447e493ad4cep-117, 0x1.45f306dc9c883p-1,
    -0x1.6b01ec5417056p-55,  -0x1.6447e493ad4cep-109, -0x1.067c91b1bbeadp+0,   -0x1.80f62a0b82b2dp-54,
    0x1.dc0db6295993cp-108,  0x1.836e4e44152a0p+0,    -0x1.ec54170565912p-55,  0x1.b6c52b3278872p-113,
    -0x1.236377d5ac07bp-1,   -0x1.505c1596447e5p-57,  0x1.b14acc9e21c82p-111,  -0x1.b1bbead603d8bp+0,
    0x1.f47d4d377036ep-54,   -0x1.d6a66c3bc6fbep-108, -0x1.bbead603d8a83p+0,   0x1.f534ddc0db629p-56,
    0x1.664f10e4107f9p-110,  0x1.529fc2757d1f5p-4,    0x1.a6ee06db14acdp-59,   -0x1.8778df7c035d4p-113,
    0x1.29fc2757d1f53p+0,    0x1.377036d8a5665p-54,   -0x1.de37df00d74e3p-111, 0x1.fc2757d1f534ep+0,
    -0x1.1f924eb53361ep-55,  0x1.c820ff28b1d5fp-111,  0x1.3abe8fa9a6ee0p-3,    0x1.b6c52b3278872p-57,
    0x1.07f9458eaf7afp-114,  -0x1.505c1596447e5p-1,   0x1.b14acc9e21c82p-55,   0x1.fe5163abdebbcp-112,
    -0x1.70565911f924fp-3,   0x1.2b32788720840p-57,   -0x1.ae9c5421443aap-112, 0x1.f534ddc0db629p+0,
    0x1.664f10e4107f9p-54,   0x1.163abdebbc562p-108,  0x1.34ddc0db6295ap+0,    -0x1.b0ef1bef806bap-54,
    -0x1.c5421443a9e49p-108, 0x1.bb81b6c52b328p-1,    -0x1.de37df00d74e3p-55,  0x1.7bd778ac36e49p-109,
    0x1.c0db6295993c4p+0,    0x1.c820ff28b1d5fp-55,   -0x1.443a9e48db91cp-112, 0x1.b6c52b3278872p-1,
    0x1.07f9458eaf7afp-58,   -0x1.d4f246dc8e2dfp-115, -0x1.3ad4cd8778df8p-1,   0x1.fe5163abdebbcp-56,
    0x1.586dc91b8e909p-110,  -0x1.6a66c3bc6fbe0p+0,   -0x1.ae9c5421443aap-56,  0x1.b7246e3a424ddp-112,
    0x1.993c439041fe5p+0,    0x1.63abdebbc561bp-56,   0x1.c91b8e909374cp-110,  0x1.3c439041fe516p+0,
    0x1.d5ef5de2b0db9p-55,   0x1.1b8e909374b80p-110,  0x1.0e4107f9458ebp-2,    -0x1.0a21d4f246dc9p-59,
    0x1.d2126e9700325p-115,  -0x1.bef806ba71508p-2,   -0x1.443a9e48db91cp-56,  -0x1.6f6c8b47fe6dbp-110,
    0x1.07f9458eaf7afp-2,    -0x1.d4f246dc8e2dfp-59,  0x1.374b801924bbbp-114,  0x1.fe5163abdebbcp+0,
    0x1.586dc91b8e909p-54,   0x1.ba5c00c925dd4p-109,  -0x1.ae9c5421443aap+0,   0x1.b7246e3a424ddp-56,
    0x1.700324977504fp-111,  0x1.63abdebbc561bp+0,    0x1.c91b8e909374cp-54,   -0x1.ff9b6d115f62ep-108,
    -0x1.508510ea79237p-2,   0x1.b8e909374b802p-58,   -0x1.b6d115f62e6dep-112, -0x1.0a21d4f246dc9p-3,
    0x1.d2126e9700325p-59,   -0x1.a22bec5cdbc60p-113, -0x1.443a9e48db91cp+0,   -0x1.6f6c8b47fe6dbp-54,
    -0x1.115f62e6de302p-108, -0x1.d4f246dc8e2dfp-3,   0x1.374b801924bbbp-58,   -0x1.f62e6de301e21p-112,
    0x1.61b7246e3a425p+0,    -0x1.168ffcdb688b0p-55,  0x1.3a32439fc3bd6p-109,  0x1.b7246e3a424ddp+0,
    0x1.700324977504fp-55,   -0x1.cdbc603c429c7p-109, -0x1.b7238b7b645a4p-1,   0x1.924bba8274648p-62,
    0x1.cfe1deb1cb12ap-116,  0x1.b8e909374b802p-2,    -0x1.b6d115f62e6dep-56,  -0x1.80f10a71a76b3p-111,
    -0x1.c5bdb22d1ff9bp+0,   -0x1.b4457d8b9b78cp-54,  -0x1.e214e34ed658cp-112, -0x1.bdb22d1ff9b6dp+0,
    -0x1.15f62e6de301ep-56,  -0x1.0a71a76b2c609p-111, -0x1.b22d1ff9b6d11p+0,   -0x1.7d8b9b78c0788p-54,
    -0x1.4e34ed658c117p-108, 0x1.d2e006492eea1p+0,    -0x1.8b9b78c078854p-54,  0x1.cb129a73ee882p-108,
    -0x1.1ff9b6d115f63p+0,   0x1.921cfe1deb1cbp-56,   0x1.29a73ee88235fp-112,  0x1.924bba8274648p-6,
    0x1.cfe1deb1cb12ap-60,   -0x1.63045df7282b4p-114, -0x1.b6d115f62e6dep+0,   -0x1.80f10a71a76b3p-55,
    0x1.cfba208d7d4bbp-110,  0x1.2eea09d1921d0p+0,    -0x1.e214e34ed658cp-56,  -0x1.177dca0ad144cp-112,
    -0x1.15f62e6de301ep+0,   -0x1.0a71a76b2c609p-55,  0x1.1046bea5d7689p-109,  -0x1.f62e6de301e21p+0,
    -0x1.38d3b5963045ep-54,  0x1.1afa975da2427p-111,  0x1.d1921cfe1deb2p+0,    -0x1.a76b2c608bbeep-55,
    -0x1.415a28976f62dp-109, 0x1.921cfe1deb1cbp+0,    0x1.29a73ee88235fp-56,   0x1.4baed1213a672p-110,
    -0x1.e301e214e34edp+0,   -0x1.963045df7282bp-54,  -0x1.144bb7b166390p-108, 0x1.fc3bd63962535p-1,
    -0x1.822efb9415a29p-57,  0x1.a24274ce38136p-111,  -0x1.e214e34ed658cp+0,   -0x1.177dca0ad144cp-56,
    0x1.213a671c09ad1p-110,  0x1.eb1cb129a73efp+0,    -0x1.df7282b4512eep-54,  0x1.3a671c09ad17ep-110,
    -0x1.c69dacb1822f0p-1,   0x1.1afa975da2427p-55,   0x1.338e04d68befdp-109,  0x1.62534e7dd1047p-1,
    -0x1.0568a25dbd8b3p-55,  -0x1.c7eca5d040df6p-111, 0x1.29a73ee88235fp+0,    0x1.4baed1213a672p-54,
    -0x1.fb29741037d8dp-109, 0x1.a73ee88235f53p+0,    -0x1.44bb7b16638fep-56,  0x1.ad17df904e647p-110,
    -0x1.822efb9415a29p-1,   0x1.a24274ce38136p-55,   -0x1.741037d8cdc54p-109, -0x1.177dca0ad144cp+0,
    0x1.213a671c09ad1p-54,   0x1.f7e413991d63ap-108,  0x1.046bea5d76891p-1,    -0x1.8b31c7eca5d04p-55,
    -0x1.bec66e29c67cbp-112, -0x1.ca0ad144bb7b1p+0,   -0x1.98e3f652e8207p-54,  0x1.3991d63983534p-112,
    0x1.f52ebb4484e9ap+0,    -0x1.c7eca5d040df6p-55,  -0x1.9b8a719f2b318p-110, 0x1.2ebb4484e99c7p+0,
    0x1.35a2fbf209cc9p-59,   -0x1.4e33e566305b2p-115, -0x1.44bb7b16638fep+0,   0x1.ad17df904e647p-54,
    0x1.639835339f49dp-108,  -0x1.76f62cc71fb29p-1,   -0x1.d040df633714ep-55,  -0x1.9f2b3182d8defp-110,
    0x1.09d338e04d68cp-1,    -0x1.037d8cdc538d0p-57,  0x1.a99cfa4e422fcp-111,  0x1.d338e04d68bf0p-1,
    -0x1.bec66e29c67cbp-56,  0x1.9cfa4e422fc5ep-111,  0x1.9c7026b45f7e4p+0,    0x1.3991d63983534p-56,
    -0x1.82d8dee81d108p-110, 0x1.c09ad17df904ep-2,    0x1.91d639835339fp-56,   0x1.272117e2ef7e5p-110,
    0x1.35a2fbf209cc9p-3,    -0x1.4e33e566305b2p-59,  0x1.08bf177bf2507p-113,  -0x1.4ba081bec66e3p+0,
    0x1.8e60d4ce7d272p-54,   0x1.17e2ef7e4a0ecp-110,  0x1.7df904e64758ep-2,    0x1.835339f49c846p-56,
    -0x1.d1081b5f13802p-114, -0x1.037d8cdc538d0p-1,   0x1.a99cfa4e422fcp-55,   0x1.77bf250763ff1p-109,
    -0x1.bec66e29c67cbp+0,   0x1.9cfa4e422fc5ep-55,   -0x1.036be27003b40p-111, 0x1.3991d63983534p+0,
    -0x1.82d8dee81d108p-54,  -0x1.b5f13801da001p-110, 0x1.91d639835339fp+0,    0x1.272117e2ef7e5p-54,
    -0x1.7c4e007680022p-108, 0x1.d639835339f4ap+0,    -0x1.bdd03a21036bep-55,  -0x1.3801da00087eap-110,
    -0x1.c67cacc60b638p+0,   0x1.17e2ef7e4a0ecp-54,   0x1.ff897ffde0598p-108,  0x1.835339f49c846p+0,
    -0x1.d1081b5f13802p-58,  0x1.2fffbc0b301fep-113,  -0x1.598c16c6f740fp-1,   0x1.defc941d8ffc5p-55,
    -0x1.00043f4cfe022p-109, -0x1.8c16c6f740e88p-1,   -0x1.036be27003b40p-55,  -0x1.0fd33f8086877p-115,
    0x1.f49c845f8bbe0p+0,    -0x1.b5f13801da001p-54,  0x1.e05980fef2f12p-108,  0x1.3908bf177bf25p-1,
    0x1.d8ffc4bffef03p-59,   -0x1.9fc04343b9d29p-114, 0x1.08bf177bf2507p-1,    0x1.8ffc4bffef02dp-55,
    -0x1.fc04343b9d298p-110, 0x1.7e2ef7e4a0ec8p-2,    -0x1.da00087e99fc0p-62,  -0x1.0d0ee74a5f593p-116,
    -0x1.d1081b5f13802p-2,   0x1.2fffbc0b301fep-57,   -0x1.a1dce94beb25cp-113, -0x1.081b5f13801dap-2,
    -0x1.0fd33f8086877p-67,  -0x1.d297d64b824b2p-122, 0x1.f9283b1ff8980p+0,    -0x1.0fd33f8086877p-59,
    -0x1.d297d64b824b2p-114, 0x1.283b1ff897ffep+0,    -0x1.fa67f010d0ee7p-56,  -0x1.297d64b824b26p-110,
    0x1.d8ffc4bffef03p-3,    -0x1.9fc04343b9d29p-58,  -0x1.f592e092c9813p-112, -0x1.c00ed00043f4dp-1,
    0x1.fde5e2316b415p-61,   -0x1.2e092c98130d8p-116, -0x1.da00087e99fc0p-6,   -0x1.0d0ee74a5f593p-60,
    0x1.f6d367ecf27cbp-116,  0x1.2fffbc0b301fep-1,    -0x1.a1dce94beb25cp-57,  -0x1.25930261b069fp-113,
    -0x1.0fd33f8086877p-11,  -0x1.d297d64b824b2p-66,  -0x1.8130d834f648bp-120, -0x1.0fd33f8086877p-3,
    -0x1.d297d64b824b2p-58,  -0x1.8130d834f648bp-112, -0x1.fa67f010d0ee7p+0,   -0x1.297d64b824b26p-54,
    -0x1.30d834f648b0cp-112, 0x1.980fef2f118b6p+0,    -0x1.7d64b824b2605p-54,  0x1.e4f96136e9e8cp-109,
    0x1.fde5e2316b415p-5,    -0x1.2e092c98130d8p-60,  -0x1.a7b24585ce04dp-115, -0x1.0d0ee74a5f593p-4,
    0x1.f6d367ecf27cbp-60,   0x1.36e9e8c7ecd3dp-117,  -0x1.a1dce94beb25cp-1,   -0x1.25930261b069fp-57,
    0x1.b74f463f669e6p-112,  -0x1.dce94beb25c12p-1,   -0x1.64c0986c1a7b2p-55,  -0x1.161738132c340p-109,
    0x1.8b5a0a6d1f6d3p+0,    0x1.9fb3c9f2c26ddp-54,   0x1.e8c7ecd3cbfd4p-109,  -0x1.4beb25c125930p-1,
    -0x1.30d834f648b0cp-56,  0x1.8fd9a797fa8b6p-110,  -0x1.f592e092c9813p+0,   -0x1.b069ec9161738p-57,
    -0x1.32c3402ba515bp-113, -0x1.92e092c98130ep+0,   0x1.f2c26dd3d18fep-54,   -0x1.961a015d28ad8p-108,
    0x1.1f6d367ecf27dp+0,    -0x1.3d922c2e70266p-54,  0x1.e5fea2d7527bbp-108,  -0x1.25930261b069fp-1,
    0x1.b74f463f669e6p-56,   -0x1.5d28ad8453814p-116, 0x1.367ecf27cb09bp+0,    0x1.d3d18fd9a7980p-54,
    -0x1.5d28ad8453814p-108, -0x1.8130d834f648bp+0,   -0x1.738132c3402bap-57,  -0x1.456c229c0a0d0p-111,
    -0x1.30d834f648b0cp+0,   0x1.8fd9a797fa8b6p-54,   -0x1.5b08a7028341dp-109, -0x1.b069ec9161738p-1,
    -0x1.32c3402ba515bp-57,  -0x1.14e050683a131p-114, -0x1.a7b24585ce04dp-3,   0x1.3cbfd45aea4f7p-57,
    0x1.63f5f2f8bd9e8p-111,  -0x1.ec9161738132cp-1,   -0x1.a015d28ad8454p-56,  0x1.faf97c5ecf41dp-110,
    0x1.b74f463f669e6p+0,    -0x1.5d28ad8453814p-60,  -0x1.a0e84c2f8c608p-116, -0x1.61738132c3403p-1,
    0x1.16ba93dd63f5fp-55,   0x1.7c5ecf41ce7dep-110,  -0x1.738132c3402bap-1,   -0x1.456c229c0a0d0p-55,
    -0x1.d0985f18c10ebp-109, -0x1.c09961a015d29p+0,   0x1.49eeb1faf97c6p-54,   -0x1.30be31821d6b6p-110,
    -0x1.32c3402ba515bp-1,   -0x1.14e050683a131p-58,  0x1.0739f78a5292fp-112,  -0x1.61a015d28ad84p+0,
    -0x1.4e050683a130cp-54,  0x1.ce7de294a4baap-110,  -0x1.a015d28ad8454p+0,   0x1.faf97c5ecf41dp-54,
    -0x1.821d6b5b45650p-110, -0x1.5d28ad8453814p-4,   -0x1.a0e84c2f8c608p-60,  -0x1.d6b5b45650128p-114,
    -0x1.d28ad84538142p+0,   0x1.7c5ecf41ce7dep-54,   0x1.4a525d4d7f6bfp-109,  0x1.7527bac7ebe5fp+0,
    0x1.7b3d0739f78a5p-56,   0x1.497535fdafd89p-111,  0x1.27bac7ebe5f18p+0,    -0x1.30be31821d6b6p-54,
    0x1.2ea6bfb5fb120p-108,  -0x1.14e050683a131p-2,   0x1.0739f78a5292fp-56,   -0x1.65012813b81cbp-110,
    -0x1.38141a0e84c30p+0,   0x1.ce7de294a4baap-54,   -0x1.404a04ee072a3p-108, -0x1.41a0e84c2f8c6p-4,
    -0x1.0eb5ada2b2809p-61,  -0x1.0277039517bd5p-115, -0x1.a0e84c2f8c608p-4,   -0x1.d6b5b45650128p-58,
    -0x1.3b81ca8bdea7fp-114,
};

/* What n 2^8(q-1) is in quarter turns, less a multiple of 4, for whole n < 2^37: the product's parts, the largest
 * first. */
IP_INLINE ip_pair ip_turns_of(double n, int q, double *rest)
{
    const ip_pair high = ip_product(n, ip_turns[3 * q]), middle = ip_product(n, ip_turns[3 * q + 1]);
    const ip_pair small = ip_sum(high.lo, middle.hi);
    const ip_pair turns = { high.hi - 4 * ip_whole(high.hi * 0.25), small.hi };
    *rest = small.lo + (middle.lo + n * ip_turns[3 * q + 2]);
    return turns;
}

/* Of a from 2^45 on, m 2^e with whole m: m in two, and of e what eights leave. */
IP_INLINE ip_pair ip_far_turns(double a, double *turns)
{
    const ip_long bits = as_long(a), m = (bits & 0xfffffffffffffL) | 0x10000000000000L;
    const int e = (int)(bits >> 52) - 1067, q = e >> 3; /* 2^-8 is taken out */
    const double unit = ip_power_of_two(e & 7);
    double rest_high, rest_low;
    const ip_pair high = ip_turns_of((double)(m >> 24) * unit, q + 3, &rest_high);
    const ip_pair low = ip_turns_of((double)(m & 0xffffff) * unit, q, &rest_low);
    const ip_pair large = ip_sum(high.hi, low.hi), small = ip_sum(high.lo, low.lo);
    const double k = ip_whole(large.hi + small.hi);
    const ip_pair left = ip_sum(large.hi - k, small.hi), rounded = ip_sum(left.lo, large.lo);
    const ip_pair part = ip_sum(left.hi, rounded.hi + (rounded.lo + (small.lo + (rest_high + rest_low))));
    const ip_pair angle = ip_product(part.hi, 0x1.921fb54442d18p+0);
    *turns = ip_mod_4(k);
    return ip_sum(angle.hi, angle.lo + (part.hi * 0x1.1a62633145c07p-54 + part.lo * 0x1.921fb54442d18p+0));
}

/* Below 2^45: pi / 2 in three numbers, of which k times the first one leaves an exact difference (Cody and Waite 1980,
 * with fma()). */
IP_INLINE ip_pair ip_near_turns(double a, double *turns)
{
    const double k = ip_whole(a * 0x1.45f306dc9c883p-1);
    const ip_pair second = ip_product(k, 0x1.1a62633145c07p-54);
    const ip_pair difference = ip_sum(fma(-k, 0x1.921fb54442d18p+0, a), -second.hi);
    *turns = ip_mod_4(k);
    return ip_sum(difference.hi, difference.lo - (second.lo + k * -0x1.f1976b7ed8fbcp-110));
}

/* The angle |x| in quarter turns: their number mod 4, and what is left of the angle. Of infinities, NaN and angles from
 * 2^45 on those of 0. */
IP_INLINE double ip_quarter_turns64_near(double x, ip_pair *rest)
{
    double turns;
    *rest = ip_near_turns(fabs(x) < 0x1p45 ? fabs(x) : 0, &turns);
    return turns;
}

IP_INLINE int ip_is_far(double x) { return (fabs(x) >= 0x1p45) & (fabs(x) < (double)INFINITY); }

/* The same of angles of all sizes. */
IP_INLINE double ip_quarter_turns64(double x, ip_pair *rest)
{
    const int is_far = ip_is_far(x);
    ip_pair near;
    double far_turns;
    const double near_turns = ip_quarter_turns64_near(x, &near);
    const ip_pair far = ip_far_turns(is_far ? fabs(x) : 0x1p45, &far_turns);
    rest->hi = is_far ? far.hi : near.hi;
    rest->lo = is_far ? far.lo : near.lo;
    return is_far ? far_turns : near_turns;
}

/* Taylor's series to r^17 and r^18, of |r| <= 0.8. */
IP_INLINE double ip_sin_pair(ip_pair r)
{
    const double z = r.hi * r.hi;
    const double first = fma(fma(z, 1.0 / 355687428096000.0, -1.0 / 1307674368000.0), z, 1.0 / 6227020800.0);
    const double high = fma(fma(first, z, -1.0 / 39916800), z, 1.0 / 362880);
    const double series = fma(fma(fma(high, z, -1.0 / 5040), z, 1.0 / 120), z, -1.0 / 6);
    return r.hi + fma(r.hi * z, series, r.lo * fma(-0.5, z, 1.0));
}

IP_INLINE double ip_cos_pair(ip_pair r)
{
    const double z = r.hi * r.hi, by_two = 0.5 * z, w = 1 - by_two;
    const double first = fma(fma(z, -1.0 / 6402373705728000.0, 1.0 / 20922789888000.0), z, -1.0 / 87178291200.0);
    const double high = fma(fma(first, z, 1.0 / 479001600), z, -1.0 / 3628800);
    const double series = fma(fma(fma(high, z, 1.0 / 40320), z, -1.0 / 720), z, 1.0 / 24);
    return w + (((1 - w) - by_two) + fma(z * z, series, -(r.hi * r.lo)));
}

/* The functions of x, which is q quarter turns and the rest r. */
IP_INLINE double ip_sin_of_turns(double x, double q, ip_pair r)
{
    const double size = (q == 1) | (q == 3) ? ip_cos_pair(r) : ip_sin_pair(r), y = q >= 2 ? -size : size;
    return fabs(x) < (double)INFINITY ? as_long(x) < 0 ? -y : y : (double)NAN;
}

IP_INLINE double ip_cos_of_turns(double x, double q, ip_pair r)
{
    const double size = (q == 1) | (q == 3) ? ip_sin_pair(r) : ip_cos_pair(r), y = (q == 1) | (q == 2) ? -size : size;
    return fabs(x) < (double)INFINITY ? y : (double)NAN;
}

IP_INLINE double ip_tan_of_turns(double x, double q, ip_pair r)
{
    const double s = ip_sin_pair(r), c = ip_cos_pair(r), y = (q == 1) | (q == 3) ? -c / s : s / c;
    return fabs(x) < (double)INFINITY ? as_long(x) < 0 ? -y : y : (double)NAN;
}

/*
 * Each in two forms. Angles from 2^45 on take four times as long as others, of which vectorised loops, which have no
 * branches, would pay the most: so a loop is of the form for near angles, and is run again in the other where that has
 * met a far one, which it notes (compile/emit_row.c, Note [Far angles]).
 */
#define IP_OF_ANGLES(NAME)                                      \
    IP_INLINE double ip_##NAME##64(double x)                    \
    {                                                           \
        ip_pair r;                                              \
        const double q = ip_quarter_turns64(x, &r);             \
        return ip_##NAME##_of_turns(x, q, r);                   \
    }                                                           \
    IP_INLINE double ip_##NAME##64_near(double x, int *has_far) \
    {                                                           \
        ip_pair r;                                              \
        const double q = ip_quarter_turns64_near(x, &r);        \
        *has_far |= ip_is_far(x);                               \
        return ip_##NAME##_of_turns(x, q, r);                   \
    }
IP_OF_ANGLES(sin)
IP_OF_ANGLES(cos)
IP_OF_ANGLES(tan)
#undef IP_OF_ANGLES

/*
 * ip_angle() in double: r = (y - x c) / (x + y c), to one rounding, since c = tan(pi / 6) comes in two parts. Sides are
 * scaled where their products would leave the range of doubles or lose bits.
 */
IP_INLINE double ip_angle64(double y, double x)
{
    const int above = y > x;
    const double short_side = above ? x : y, long_side = above ? y : x;
    const double scale = long_side > 0x1p1000 ? 0x1p-100 : long_side < 0x1p-900 ? 0x1p100 : 1;
    const int is_even = short_side == long_side; /* infinities and zeros have no quotient */
    const double p = is_even ? long_side > 0 : short_side * scale,
                 q = is_even | (long_side == (double)INFINITY) ? 1 : long_side * scale;
    const double near_p = long_side == (double)INFINITY && !is_even ? 0 : p;
    const int is_steep = near_p > q * 0.2679491924311227;
    const double over = is_steep ? fma(-q, 0x1.279a74590331cp-1, near_p) - q * 0x1.34863e0792bedp-55 : near_p;
    const double under = is_steep ? fma(near_p, 0x1.279a74590331cp-1, q) : q;
    const double r = over / under, z = r * r;
    const double first = fma(fma(fma(z, -1.0 / 31, 1.0 / 29), z, -1.0 / 27), z, 1.0 / 25);
    const double high = fma(fma(fma(fma(first, z, -1.0 / 23), z, 1.0 / 21), z, -1.0 / 19), z, 1.0 / 17);
    const double middle = fma(fma(fma(high, z, -1.0 / 15), z, 1.0 / 13), z, -1.0 / 11);
    const double series = r * z * fma(fma(fma(fma(middle, z, 1.0 / 9), z, -1.0 / 7), z, 1.0 / 5), z, -1.0 / 3);
    const double angle = is_steep ? 0x1.0c152382d7366p-1 + (r + (series - 0x1.ee6913347c2a6p-55)) : r + series;
    return above ? 0x1.921fb54442d18p+0 - (angle - 0x1.1a62633145c07p-54) : angle;
}

/* The angle's supplement where x is negative. */
IP_INLINE double ip_turned64(double x, double angle)
{
    return as_long(x) < 0 ? 0x1.921fb54442d18p+1 - (angle - 0x1.1a62633145c07p-53) : angle;
}

IP_INLINE double ip_atan64(double x)
{
    const double y = ip_angle64(fabs(x), 1);
    return x == x ? as_long(x) < 0 ? -y : y : x;
}

IP_INLINE double ip_atan2_64(double y, double x)
{
    const double a = ip_turned64(x, ip_angle64(fabs(y), fabs(x)));
    return (x != x) | (y != y) ? (double)NAN : as_long(y) < 0 ? -a : a;
}

IP_INLINE double ip_asin64(double x)
{
    const double a = fabs(x), y = ip_angle64(a, ip_other_side(a));
    return a <= 1 ? as_long(x) < 0 ? -y : y : (double)NAN;
}

IP_INLINE double ip_acos64(double x)
{
    const double a = fabs(x), y = ip_turned64(x, ip_angle64(ip_other_side(a), a));
    return a <= 1 ? y : (double)NAN;
}

/* ---- f64: hyperbolic functions ------------------------------------------------------------------- */

/* sinh(a) of 0 <= a < 1, Taylor's series to a^19. */
IP_INLINE double ip_sinh_series(double a)
{
    const double z = a * a;
    const double high =
        (((z * (1.0 / 121645100408832000.0) + 1.0 / 355687428096000.0) * z + 1.0 / 1307674368000.0) * z +
         1.0 / 6227020800.0) *
            z +
        1.0 / 39916800;
    return a + a * z * ((((high * z + 1.0 / 362880) * z + 1.0 / 5040) * z + 1.0 / 120) * z + 1.0 / 6);
}

/* e^a / 2 + or - e^-a / 2. */
IP_INLINE double ip_sinh64(double x)
{
    const double a = fabs(x), e = ip_exp_pair(a, 0, -1), y = a < 1 ? ip_sinh_series(a) : e - 0.25 / e;
    return x == x ? as_long(x) < 0 ? -y : y : x;
}

IP_INLINE double ip_cosh64(double x)
{
    const double e = ip_exp_pair(fabs(x), 0, -1);
    return x == x ? e + 0.25 / e : x;
}

/* Below 1 s / sqrt(1 + s^2) with s = sinh(a), else 1 - 2 / (e^2a + 1). */
IP_INLINE double ip_tanh64(double x)
{
    const double a = fabs(x), s = ip_sinh_series(a < 1 ? a : 0), e = ip_exp_pair(a < 50 ? 2 * a : 100, 0, 0);
    const double y = a < 1 ? s / sqrt(1 + s * s) : 1 - 2 / (e + 1);
    return x == x ? as_long(x) < 0 ? -y : y : x;
}

/* The root of x + x_lo > 0. */
IP_INLINE ip_pair ip_root(double x, double x_lo)
{
    const double r = sqrt(x);
    const ip_pair root = { r, (fma(-r, r, x) + x_lo) / (2 * r) };
    return root;
}

/* log(1 + t) with t = a + a^2 / (1 + sqrt(1 + a^2)); log(2 a) where a^2 is much above 1. */
IP_INLINE double ip_asinh64(double x)
{
    const double a = fabs(x);
    const int is_large = a > 0x1p30, is_usual = (a > 0) & (a < (double)INFINITY);
    const double b = is_usual & !is_large ? a : 1;
    const ip_pair square = ip_product(b, b), sum = ip_sum(1, square.hi), root = ip_root(sum.hi, sum.lo + square.lo);
    const ip_pair under = ip_sum(1, root.hi);
    const double q = square.hi / under.hi,
                 q_lo = (fma(-q, under.hi, square.hi) + square.lo - q * (under.lo + root.lo)) / under.hi;
    const ip_pair t = ip_sum(b, q);
    const double near = ip_log1p_pair(t.hi, t.lo + q_lo);
    const double far = ip_log_normal(is_usual ? a : 1) + 0x1.62e42fefa39efp-1, y = is_large ? far : near;
    return is_usual ? x < 0 ? -y : y : x;
}

/* log(1 + t + sqrt(t (t + 2))) with t = x - 1; log(2 x) where x is large. */
IP_INLINE double ip_acosh64(double x)
{
    const int is_large = x > 0x1p30, is_usual = (x > 1) & (x < (double)INFINITY);
    const double t = is_usual & !is_large ? x - 1 : 1; /* exact */
    const ip_pair sum = ip_sum(2, t), square = ip_product(t, sum.hi);
    const ip_pair root = ip_root(square.hi, square.lo + t * sum.lo), all = ip_sum(t, root.hi);
    const double near = ip_log1p_pair(all.hi, all.lo + root.lo);
    const double far = ip_log_normal(is_usual ? x : 1) + 0x1.62e42fefa39efp-1, y = is_large ? far : near;
    return is_usual ? y : x == 1 ? 0 : x > 1 ? x : (double)NAN;
}

/* log(1 + 2 a / (1 - a)) / 2. */
IP_INLINE double ip_atanh64(double x)
{
    const double a = fabs(x), b = (a > 0) & (a < 1) ? a : 0.5;
    const ip_pair under = ip_sum(1, -b);
    const double q = 2 * b / under.hi, q_lo = (fma(-q, under.hi, 2 * b) - q * under.lo) / under.hi;
    const double y = a < 1 ? 0.5 * ip_log1p_pair(q, q_lo) : a == 1 ? (double)INFINITY : (double)NAN;
    return a == 0 ? x : x < 0 ? -y : y;
}

/* ---- f64: the error function ----------------------------------------------------------------------- */

/* erfc(a) of a > IP_ERF_SMALL. */
IP_INLINE double ip_erfc64_far(double a)
{
    const ip_pair square = ip_product(a, a);
    return ip_erfc_scaled(a, ip_exp_pair(-square.hi, -square.lo, 0));
}

IP_INLINE double ip_erf64(double x)
{
    const double a = fabs(x) < 10 ? fabs(x) : 10;
    const double y = a > IP_ERF_SMALL ? 1 - ip_erfc64_far(a) : ip_erf_small(a);
    return x == x ? as_long(x) < 0 ? -y : y : x;
}

IP_INLINE double ip_erfc64(double x)
{
    const double a = fabs(x) < 30 ? fabs(x) : 30;
    const double rest = a > IP_ERF_SMALL ? ip_erfc64_far(a) : 1 - ip_erf_small(a);
    return x == x ? x < 0 ? 2 - rest : rest : x;
}

/* ---- f64: the gamma function -------------------------------------------------------------------------- */

/* log(gamma(2 + t)) / t of |t| <= 1/2: 1 - Euler's constant, and behind it (-1)^k (zeta(k) - 1) / k times t^(k - 1)
 * (Abramowitz, Stegun, 6.1.33). The rest is below 2^-58. */
IP_INLINE double ip_gamma_series(double t)
{
    const double p1 = fma(fma(fma(t, 0x1.24932a337434cp-33, -0x1.2f69a9fabe3e0p-32), t, 0x1.3b15d2b2fc10cp-31), t,
                          -0x1.47b1679258d0ep-30);
    const double p2 = fma(fma(fma(fma(p1, t, 0x1.555a877ffd2c3p-29), t, -0x1.6434a8447aeadp-28), t,
                              0x1.7469daccfadcdp-27),
                          t, -0x1.862c734df3eacp-26);
    const double p3 = fma(fma(fma(fma(p2, t, 0x1.99b93c2070b0fp-25), t, -0x1.af5a6cbbf8a97p-24), t,
                              0x1.c76bbb3f07a4dp-23),
                          t, -0x1.e2600d93cfd2fp-22);
    const double p4 = fma(fma(fma(fma(p3, t, 0x1.0064cdeb22f0fp-20), t, -0x1.11b2eb7679541p-19), t,
                              0x1.2597a39f34aacp-18),
                          t, -0x1.3cbc963ce2243p-17);
    const double p5 = fma(fma(fma(fma(p4, t, 0x1.580dcee66eb02p-16), t, -0x1.78de5bd7c81efp-15), t,
                              0x1.a127b0f17d65ap-14),
                          t, -0x1.d3fd4c76d2fc8p-13);
    const double p6 = fma(fma(fma(fma(p5, t, 0x1.0b36af86396e9p-11), t, -0x1.38ac5c2bf8e08p-10), t,
                              0x1.7add6eadb6c30p-9),
                          t, -0x1.e404fc218f5f2p-8);
    const double p7 = fma(fma(fma(p6, t, 0x1.51322ac7d8483p-6), t, -0x1.13e001a557607p-4), t, 0x1.4a34cc4a60fa6p-2);
    return fma(p7, t, 0x1.b0ee6072093cep-2);
}

/* Of 0 < a <= 8.5, t with |t| <= 1/2: gamma(a) is gamma(2 + t) times the factor, (a - 1) (a - 2) ..., and from 1.5 down
 * gamma(2 + t) over it: over a, and over a (1 + a) below 1/2. */
IP_INLINE double ip_gamma_reduced(double a, double *factor)
{
    const double m = ip_whole(a);
    const double two = m > 3 ? (a - 1) * (a - 2) : m > 2 ? a - 1 : 1;
    const double four = m > 5 ? (a - 3) * (a - 4) : m > 4 ? a - 3 : 1;
    const double six = m > 7 ? (a - 5) * (a - 6) : m > 6 ? a - 5 : 1;
    *factor = a < 0.5 ? a * (1 + a) : a < 1.5 ? a : two * four * six;
    return a < 0.5 ? a : a < 1.5 ? a - 1 : a - m;
}

/* log(gamma(a)) of 8 <= a < 2^60, to some 2^-62 of it: Stirling's series (Abramowitz, Stegun, 6.1.41). */
IP_INLINE ip_pair ip_gamma_stirling(double a)
{
    const ip_pair l = ip_log_pair(a), n = ip_sum(a, -0.5), p = ip_product(n.hi, l.hi);
    const double r = 1 / a, z = r * r;
    const double first = fma(fma(fma(z, 0x1.6fe96381e0680p-3, -0x1.e4286cb0f5398p-6), z, 0x1.a41a41a41a41ap-8), z,
                             -0x1.f6ab0d9993c7dp-10);
    const double high = fma(fma(first, z, 0x1.b951e2b18ff23p-11), z, -0x1.3813813813814p-11);
    const double series = r * fma(fma(fma(high, z, 0x1.a01a01a01a01ap-11), z, -0x1.6c16c16c16c17p-9), z,
                                  0x1.5555555555555p-4);
    const ip_pair less = ip_sum(p.hi, -a), all = ip_sum(less.hi, 0x1.d67f1c864beb5p-1);
    const double rest = p.lo + (n.hi * l.lo + n.lo * l.hi) + less.lo + all.lo - 0x1.65b5a1b7ff5dfp-55;
    return ip_sum(all.hi, series + rest);
}

/* Of a >= 0, infinity included; where is_next, of 1 + a below 1/2. */
IP_INLINE double ip_lgamma_positive(double a, int is_next)
{
    const int is_small = a <= 8.5, is_usual = a < 0x1p60, is_finite = a < (double)INFINITY;
    const double b = is_small & (a > 0) ? a : 2, c = is_usual & !is_small ? a : 8.5;
    double factor;
    const double t = ip_gamma_reduced(b, &factor), own = is_next & (b < 0.5) ? 1 + b : factor;
    const double l = ip_log_normal(is_usual ? own : is_finite ? a : 1);
    const double small = t * ip_gamma_series(t) + (b < 1.5 ? -l : l), huge = is_finite ? a * (l - 1) : a;
    const double y = is_small ? small : is_usual ? ip_gamma_stirling(c).hi : huge;
    return a > 0 ? y : (double)INFINITY;
}

/* sin(pi r) / r of |r| <= 1/2. */
IP_INLINE double ip_sin_pi_over(double r)
{
    const double z = r * r;
    const double first = fma(fma(fma(z, 0x1.2877020d52cf0p-31, -0x1.8a404211f9547p-26), z, 0x1.aaec32af93359p-21), z,
                             -0x1.6fadb9f155744p-16);
    const double high = fma(fma(fma(first, z, 0x1.e8f434d018d63p-12), z, -0x1.e3074fde8871fp-8), z,
                            0x1.50783487ee782p-4);
    return fma(fma(fma(fma(high, z, -0x1.32d2cce62bd86p-1), z, 0x1.466bc6775aae2p+1), z, -0x1.4abbce625be53p+2), z,
               0x1.921fb54442d18p+1);
}

/* How far 0 <= a < 2^52 is from the nearest whole number; whether the one below it is odd. */
IP_INLINE double ip_from_whole(double a, int *is_odd)
{
    const double by_two = a * 0.5, rest = 2 * (by_two - ip_whole(by_two)), d = fabs(rest);
    *is_odd = rest < 0;
    return a < 0.5 ? a : d > 0.5 ? 1 - d : d;
}

/* Below 0 log(pi / |a sin(pi a)|) - log(gamma(a)) with a = -x. */
IP_INLINE double ip_lgamma64(double x)
{
    const double a = fabs(x), y = ip_lgamma_positive(a, x < 0);
    int is_odd;
    const double b = (x < 0) & (a < 0x1p52) ? a : 0.5, r = ip_from_whole(b, &is_odd);
    const double sine = r * (ip_sin_pi_over(r) * 0x1.45f306dc9c883p-2) * (b < 0.5 ? 1 : b);
    const double below = (r > 0) & (b == a) ? -ip_log_normal(r > 0 ? sine : 1) - y : (double)INFINITY;
    return x != x ? x : x < 0 ? below : y;
}

/* From 8.5 on e to Stirling's series; below 0 -pi / (a sin(pi a) gamma(a)), times 2^200 where gamma(a) is large. Whole
 * numbers below 0 have none. */
IP_INLINE double ip_tgamma64(double x)
{
    const double a = fabs(x), b = (a > 0) & (a <= 8.5) ? a : 2;
    const int is_small = a <= 8.5, is_below = x < 0;
    double factor;
    const double t = ip_gamma_reduced(b, &factor), series = t * ip_gamma_series(t);
    const ip_pair l = ip_gamma_stirling(is_small ? 8.5 : a < 250 ? a : 250);
    const double high = is_small ? series : l.hi, low = is_small ? 0 : l.lo;
    const double e = ip_exp_pair(is_below ? -high : high, is_below ? -low : low, is_below & !is_small ? 200 : 0);
    const double above = !is_small ? e : b < 1.5 ? e / factor : e * factor;

    int is_odd;
    const double r = ip_from_whole(a < 0x1p52 ? a : 0.5, &is_odd);
    const double of_gamma = !is_small ? e / a : b < 0.5 ? e * (1 + b) : b < 1.5 ? e : e / (factor * b);
    const double size = of_gamma * (0x1.921fb54442d18p+1 / ip_sin_pi_over(r)) / (r > 0 ? r : 1);
    const double scaled = is_small ? size : size * 0x1p-200, below = is_odd ? scaled : -scaled;
    const double negative = (r > 0) & (a < 0x1p52) ? below : (double)NAN;
    const double at_0 = as_long(x) < 0 ? -(double)INFINITY : (double)INFINITY;
    return x != x ? x : x == 0 ? at_0 : is_below ? negative : above;
}

IP_INLINE float ip_lgamma(float x) { return (float)ip_lgamma64(x); }
IP_INLINE float ip_tgamma(float x) { return (float)ip_tgamma64(x); }

/* ---- the next number ----------------------------------------------------------------------------------- */

/* As C's nextafter(): numbers of one sign are in the order of their bits. */
IP_INLINE float ip_nextafter(float a, float b)
{
    const unsigned int bits = (unsigned int)as_int(a), next = (as_int(a) < 0) == (a < b) ? bits - 1 : bits + 1;
    const float beside_0 = b < 0 ? -0x1p-149f : 0x1p-149f;
    return (a != a) | (b != b) ? NAN : a == b ? b : a == 0 ? beside_0 : as_float((int)next);
}

IP_INLINE double ip_nextafter64(double a, double b)
{
    const unsigned long bits = (unsigned long)as_long(a), next = (as_long(a) < 0) == (a < b) ? bits - 1 : bits + 1;
    const double beside_0 = b < 0 ? -0x1p-1074 : 0x1p-1074;
    return (a != a) | (b != b) ? (double)NAN : a == b ? b : a == 0 ? beside_0 : as_double((ip_long)next);
}
