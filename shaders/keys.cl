/* SPDX-License-Identifier: MIT */
/*
 * Keys: unsigned numbers in the order of elements, or in the opposite one. What stands before this text: S_T, an
 * unsigned type of the elements' size; S_BITS; S_KIND, 0 unsigned, 1 signed, 2 float, 3 bool; S_INDEX, 1: -0 and 0 have
 * one key. Key and element are made of each other without loss, but that all NaN become one; it has the highest key of
 * all.
 */
#define S_TOP ((S_T)((S_T)1 << (S_BITS - 1)))
#define S_ALL ((S_T) ~(S_T)0)
#if S_BITS == 16
#define S_INFINITY ((S_T)0x7c00)
#define S_NAN ((S_T)0x7e00)
#elif S_BITS == 32
#define S_INFINITY ((S_T)0x7f800000)
#define S_NAN ((S_T)0x7fc00000)
#else
#define S_INFINITY ((S_T)0x7ff0000000000000UL)
#define S_NAN ((S_T)0x7ff8000000000000UL)
#endif

static inline S_T key_of(S_T x, bool descending)
{
    S_T key = x;
#if S_KIND == 1
    key = x ^ S_TOP;
#elif S_KIND == 2
    if ((S_T)(x & (S_T)~S_TOP) > S_INFINITY) return S_ALL;
#if S_INDEX
    if (x == S_TOP) x = 0;
#endif
    key = x & S_TOP ? (S_T)~x : (S_T)(x | S_TOP);
#elif S_KIND == 3
    key = x != 0;
#endif
    return descending ? (S_T)~key : key;
}

static inline S_T key_element(S_T key, bool descending)
{
#if S_KIND == 2
    if (key == S_ALL) return S_NAN;
#endif
    if (descending) key = (S_T)~key;
#if S_KIND == 1
    return key ^ S_TOP;
#elif S_KIND == 2
    return key & S_TOP ? (S_T)(key & (S_T)~S_TOP) : (S_T)~key;
#else
    return key;
#endif
}
