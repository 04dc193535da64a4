/* SPDX-License-Identifier: MIT */
/*
 * Functions of floats without branches and calls, so that loops that use them are vectorised: PoCL's own pow and log work on one
 * number at a time. They compute in double, in which a few terms of a series are enough for a float's last place.
 */

/* log(x) for normal x > 0: x = 2^k m with m from sqrt(1/2) to sqrt(2), and log(m) = 2 atanh(s) with s = (m - 1) / (m + 1), |s| < 0.1716.
 * The series ends with s^13; what is left out is below 2^-39 of the sum. */
static inline double ip_log_double(double x)
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
static inline double ip_exp_double(double x)
{
    const double k = rint(x * 1.4426950408889634), r = x - k * 0.6931471805599453;
    const double high = (((r / 362880 + 1.0 / 40320) * r + 1.0 / 5040) * r + 1.0 / 720) * r + 1.0 / 120;
    const double series = ((((high * r + 1.0 / 24) * r + 1.0 / 6) * r + 0.5) * r + 1) * r + 1;
    return series * as_double(((long)k + 1023) << 52);
}

static inline float ip_log(float x)
{
    const float y = (float)ip_log_double((double)(x > 0 ? x : 1));
    const float least = x == 0 ? -INFINITY : NAN;
    return x > 0 ? (x < INFINITY ? y : x) : least;
}

/* As C's pow(), special cases included. */
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
