/* SPDX-License-Identifier: MIT */
/*
 * Functions of floats without branches and calls, so that loops that use them are vectorised: PoCL's own pow and log work on one
 * number at a time. They compute in double, in which a few terms of a series are enough for a float's last place.
 * They are inlined wherever they stand: a loop that calls one, which compilers prefer where it stands several times, is not vectorised.
 */
#define IP_INLINE static inline __attribute__((always_inline))

/* log(x) for normal x > 0: x = 2^k m with m from sqrt(1/2) to sqrt(2), and log(m) = 2 atanh(s) with s = (m - 1) / (m + 1), |s| < 0.1716.
 * The series ends with s^13; what is left out is below 2^-39 of the sum. */
IP_INLINE double ip_log_double(double x)
{
    const long bits = as_long(x);
    const double whole = as_double((bits & 0xfffffffffffffL) | 0x3ff0000000000000L); /* 1 to 2 */
    const int above = whole > 1.4142135623730951;
    const double m = above ? whole * 0.5 : whole;
    const int k = (int)(bits >> 52) - 1023 + above;
    const double s = (m - 1) / (m + 1), z = s * s;
    const double series = ((((((z / 13 + 1.0 / 11) * z + 1.0 / 9) * z + 1.0 / 7) * z + 1.0 / 5) * z + 1.0 / 3) * z + 1) * s;
    return k * 0.6931471805599453 + 2 * series;
}

/* exp(x) for |x| <= 700: 2^k e^r with |r| <= log(2) / 2; Taylor's series to r^9, the rest is below 2^-36. */
IP_INLINE double ip_exp_double(double x)
{
    const double k = rint(x * 1.4426950408889634), r = x - k * 0.6931471805599453;
    const double high = (((r / 362880 + 1.0 / 40320) * r + 1.0 / 5040) * r + 1.0 / 720) * r + 1.0 / 120;
    const double series = ((((high * r + 1.0 / 24) * r + 1.0 / 6) * r + 0.5) * r + 1) * r + 1;
    return series * as_double(((long)k + 1023) << 52);
}

IP_INLINE float ip_log(float x)
{
    const float y = (float)ip_log_double((double)(x > 0 ? x : 1));
    const float least = x == 0 ? -INFINITY : NAN;
    return x > 0 ? (x < INFINITY ? y : x) : least;
}

/* As C's pow(), of an exponent that is finite, above 0 and no whole number. */
IP_INLINE float ip_pow_fraction(float x, float y)
{
    const float a = fabs(x);
    const double t = y * ip_log_double((double)((a > 0) & (a < INFINITY) ? a : 1)); /* beyond 160 floats have ended */
    const float size = (float)ip_exp_double(t > 160 ? 160 : t > -160 ? t : -160);
    const float rest = x < 0 ? NAN : size;
    return a == 0 ? 0 : a == INFINITY ? INFINITY : x == x ? rest : x;
}

/*
 * As C's pow(), special cases included. (Not always inlined: LLVM 14 cannot compile some of what becomes of several with exponents that are
 * the same for all elements.)
 */
static inline float ip_pow(float x, float y)
{
    const float a = fabs(x);
    const double l = a == 0 ? -INFINITY : a < INFINITY ? ip_log_double((double)(a > 0 ? a : 1)) : INFINITY;
    const double t = y * l; /* beyond 160 floats have ended; NaN where 0 and infinity meet, which are told apart below */
    const float size = (float)ip_exp_double(t > 160 ? 160 : t > -160 ? t : -160);
    const int is_whole = rint(y) == y, is_odd = is_whole & (fabs(y) < 16777216.0f) & ((int)(fabs(y) < 16777216.0f ? y : 0) & 1);
    const int is_negative = as_int(x) < 0;
    const float with_sign = is_negative & is_odd ? -size : size;
    const float result = (x != x) | (y != y) | (is_negative & (a > 0) & (a < INFINITY) & !is_whole & (fabs(y) < INFINITY)) ? NAN : with_sign;
    return (y == 0) | (x == 1) | ((x == -1) & (fabs(y) == INFINITY)) ? 1 : result;
}

/*
 * The angle a >= 0, finite, in quarter turns: their number mod 4 is returned, what is left of the angle, below 1 either way, is *rest.
 * Of a large angle, a whole multiple of 2^s, 2^s mod 2 pi is put for 2^s, as a sum of two doubles. So product is below 2^51 and what
 * is taken from it leaves a multiple of 2^-52, which is exact.
 */
IP_INLINE double ip_quarter_turns(double a, double *rest)
{
    const int s8 = a >= 0x1p31, s32 = a >= 0x1p55, s56 = a >= 0x1p79, s80 = a >= 0x1p103;
    const double scale = s80 ? 0x1p-80 : s56 ? 0x1p-56 : s32 ? 0x1p-32 : s8 ? 0x1p-8 : 1.0;
    const double high = s80 ? 5.251246658469554 : s56 ? 1.8284129089223877 : s32 ? 3.621826495514285 : s8 ? 4.672587712816541 : 1.0;
    const double low = s80 ? 5.5160249034229947e-17 : s56 ? 1.0567643478104146e-16 : s32 ? 4.7850011877161456e-17
                     : s8 ? -2.721177647744786e-17 : 0.0;
    const double scaled = a * scale, product = scaled * high, tail = fma(scaled, high, -product) + scaled * low;
    const double k = rint(product * 0.6366197723675814);
    *rest = fma(-k, 1.5707963267948966, product) + fma(-k, 6.123233995736766e-17, tail);
    return k - 4 * floor(k * 0.25);
}

/* Taylor's series: of |r| < 1 the rest is below 2^-32 of the sum. */
IP_INLINE double ip_sin_double(double r)
{
    const double z = r * r;
    return r + r * z * ((((z / -39916800 + 1.0 / 362880) * z - 1.0 / 5040) * z + 1.0 / 120) * z - 1.0 / 6);
}

IP_INLINE double ip_cos_double(double r)
{
    const double z = r * r;
    return 1 + z * (((((z / 479001600 - 1.0 / 3628800) * z + 1.0 / 40320) * z - 1.0 / 720) * z + 1.0 / 24) * z - 0.5);
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
 * The angle of the point (x, y), both at least 0, from 0 to pi / 2. Of the quotient t <= 1 of the two: atan(t) = pi / 6 + atan(r) with
 * r = (t - c) / (1 + t c), c = tan(pi / 6), where t > tan(pi / 12); then |r| <= tan(pi / 12), and the rest of Taylor's series is below
 * 2^-34 of the sum.
 */
IP_INLINE double ip_angle(double y, double x)
{
    const int above = y > x;
    const double low = above ? x : y, high = above ? y : x, one = high > 0 ? 1 : 0;
    const double t = low == high ? one : low / high; /* infinities and zeros have no quotient */
    const int is_steep = t > 0.2679491924311227;
    const double r = is_steep ? (t - 0.5773502691896258) / (1 + t * 0.5773502691896258) : t, z = r * r;
    const double high_terms = (((z / -15 + 1.0 / 13) * z - 1.0 / 11) * z + 1.0 / 9) * z - 1.0 / 7;
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
    const double small = a + a * z * ((((z / 39916800 + 1.0 / 362880) * z + 1.0 / 5040) * z + 1.0 / 120) * z + 1.0 / 6);
    const double e = ip_exp_double(a < 100 ? a : 100); /* beyond 90 floats have ended */
    const float y = (float)(a < 1 ? small : (e - 1 / e) / 2);
    return x == x ? as_int(x) < 0 ? -y : y : x;
}

IP_INLINE float ip_cosh(float x)
{
    const double a = (double)fabs(x), e = ip_exp_double(a < 100 ? a : 100);
    return x == x ? (float)((e + 1 / e) / 2) : x;
}
