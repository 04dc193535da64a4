/* SPDX-License-Identifier: MIT */
/*
 * Declarations of OpenCL C's built-in functions that the library's texts call, each with all of its overloads and the
 * attributes of clang's opencl-c.h, which stands in no program that has these (src/run/cache.c, Note [Declarations]).
 * What is missing here is a function that such a program cannot call: it is then built with that header.
 *
 * A line that begins with IP_ stands only in programs that name the function, which is its first word in small letters.
 * IP_OF_2(x) to IP_OF_16(x) are defined in front of this: x where the program names a vector of so many (run/needed.c).
 */
#define IP_BUILTIN __attribute__((overloadable))
#define IP_CONST __attribute__((overloadable, const))
#define IP_PURE __attribute__((overloadable, pure))
#define IP_CONVERGENT __attribute__((overloadable, convergent))

/* ---- lists of types: D(f, the type, a number of it, whole numbers as wide, the same without sign) --------- */

#define IP_VECTORS(D, f, t, i, u)      \
    IP_OF_2(D(f, t##2, t, i##2, u##2)) \
    IP_OF_3(D(f, t##3, t, i##3, u##3)) \
    IP_OF_4(D(f, t##4, t, i##4, u##4)) \
    IP_OF_8(D(f, t##8, t, i##8, u##8)) \
    IP_OF_16(D(f, t##16, t, i##16, u##16))
#define IP_ALL(D, f, t, i, u) D(f, t, t, i, u) IP_VECTORS(D, f, t, i, u)
#define IP_EACH_SIGNED(L, D, f)   \
    L(D, f, char, char, uchar)    \
    L(D, f, short, short, ushort) \
    L(D, f, int, int, uint)       \
    L(D, f, long, long, ulong)
#define IP_EACH_INTEGER(L, D, f)   \
    IP_EACH_SIGNED(L, D, f)        \
    L(D, f, uchar, char, uchar)    \
    L(D, f, ushort, short, ushort) \
    L(D, f, uint, int, uint)       \
    L(D, f, ulong, long, ulong)
#ifdef cl_khr_fp64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#define IP_EACH_DOUBLE(L, D, f) L(D, f, double, long, ulong)
#else
#define IP_EACH_DOUBLE(L, D, f)
#endif
#define IP_EACH_FLOAT(L, D, f) L(D, f, float, int, uint) IP_EACH_DOUBLE(L, D, f)
#define IP_EACH(L, D, f) IP_EACH_INTEGER(L, D, f) IP_EACH_FLOAT(L, D, f)

/* ---- forms of declarations ---------------------------------------------------------------------------------- */

#define IP_ONE(f, t, s, i, u) t IP_CONST f(t);
#define IP_TWO(f, t, s, i, u) t IP_CONST f(t, t);
#define IP_THREE(f, t, s, i, u) t IP_CONST f(t, t, t);
#define IP_AND_NUMBER(f, t, s, i, u) t IP_CONST f(t, s);
#define IP_AND_TWO_NUMBERS(f, t, s, i, u) t IP_CONST f(t, s, s);
#define IP_SELECT(f, t, s, i, u) t IP_CONST f(t, t, i); t IP_CONST f(t, t, u);
#define IP_UNSIGNED(f, t, s, i, u) u IP_CONST f(t);
#define IP_TRUTH(f, t, s, i, u) int IP_CONST f(t);
#define IP_LANES_TRUTH(f, t, s, i, u) i IP_CONST f(t);

#define IP_FLOATS_ONE(f) IP_EACH_FLOAT(IP_ALL, IP_ONE, f)
#define IP_FLOATS_TWO(f) IP_EACH_FLOAT(IP_ALL, IP_TWO, f)

/* ---- of floats ---------------------------------------------------------------------------------------------- */

IP_FLOATS_ONE(acos)
IP_FLOATS_ONE(acosh)
IP_FLOATS_ONE(asin)
IP_FLOATS_ONE(asinh)
IP_FLOATS_ONE(atan)
IP_FLOATS_ONE(atanh)
IP_FLOATS_ONE(cbrt)
IP_FLOATS_ONE(ceil)
IP_FLOATS_ONE(cos)
IP_FLOATS_ONE(cosh)
IP_FLOATS_ONE(cospi)
IP_FLOATS_ONE(erf)
IP_FLOATS_ONE(erfc)
IP_FLOATS_ONE(exp)
IP_FLOATS_ONE(exp2)
IP_FLOATS_ONE(expm1)
IP_FLOATS_ONE(fabs)
IP_FLOATS_ONE(floor)
IP_FLOATS_ONE(lgamma)
IP_FLOATS_ONE(log)
IP_FLOATS_ONE(log10)
IP_FLOATS_ONE(log1p)
IP_FLOATS_ONE(log2)
IP_FLOATS_ONE(rint)
IP_FLOATS_ONE(round)
IP_FLOATS_ONE(rsqrt)
IP_FLOATS_ONE(sin)
IP_FLOATS_ONE(sinh)
IP_FLOATS_ONE(sinpi)
IP_FLOATS_ONE(sqrt)
IP_FLOATS_ONE(tan)
IP_FLOATS_ONE(tanh)
IP_FLOATS_ONE(tgamma)
IP_FLOATS_ONE(trunc)
IP_ALL(IP_ONE, half_exp, float, int, uint)
IP_FLOATS_TWO(atan2)
IP_FLOATS_TWO(copysign)
IP_FLOATS_TWO(fmax)
IP_FLOATS_TWO(fmin)
IP_FLOATS_TWO(fmod)
IP_FLOATS_TWO(hypot)
IP_FLOATS_TWO(nextafter)
IP_FLOATS_TWO(pow)
IP_FLOATS_TWO(remainder)
IP_EACH_FLOAT(IP_VECTORS, IP_AND_NUMBER, fmax)
IP_EACH_FLOAT(IP_VECTORS, IP_AND_NUMBER, fmin)
IP_EACH_FLOAT(IP_ALL, IP_THREE, fma)
IP_EACH_FLOAT(IP_ALL, IP_THREE, mad)
#define IP_CLASSES(f)                                   \
    IP_ALL(IP_LANES_TRUTH, f, float, int, uint)         \
    IP_OF_DOUBLE(int IP_CONST f(double);)               \
    IP_OF_DOUBLE(IP_VECTORS(IP_LANES_TRUTH, f, double, long, ulong))
#ifdef cl_khr_fp64
#define IP_OF_DOUBLE(x) x
#else
#define IP_OF_DOUBLE(x)
#endif
IP_CLASSES(isfinite)
IP_CLASSES(isinf)
IP_CLASSES(isnan)

/* ---- of whole numbers, and of both ------------------------------------------------------------------------------- */

IP_EACH_INTEGER(IP_ALL, IP_UNSIGNED, abs)
IP_EACH_INTEGER(IP_ALL, IP_TWO, add_sat)
IP_EACH_INTEGER(IP_ALL, IP_TWO, sub_sat)
IP_EACH_INTEGER(IP_ALL, IP_TWO, mul_hi)
IP_EACH_INTEGER(IP_ALL, IP_TWO, rhadd)
IP_EACH_INTEGER(IP_ALL, IP_TWO, rotate)
IP_EACH_INTEGER(IP_ALL, IP_ONE, clz)
IP_EACH_INTEGER(IP_ALL, IP_ONE, popcount)
IP_EACH_SIGNED(IP_ALL, IP_TRUTH, any)
IP_EACH_SIGNED(IP_ALL, IP_TRUTH, all)
IP_EACH(IP_ALL, IP_TWO, min)
IP_EACH(IP_ALL, IP_TWO, max)
IP_EACH(IP_ALL, IP_THREE, clamp)
IP_EACH(IP_VECTORS, IP_AND_NUMBER, min)
IP_EACH(IP_VECTORS, IP_AND_NUMBER, max)
IP_EACH(IP_VECTORS, IP_AND_TWO_NUMBERS, clamp)
IP_EACH(IP_ALL, IP_SELECT, select)

short IP_CONST upsample(char, uchar);
ushort IP_CONST upsample(uchar, uchar);
int IP_CONST upsample(short, ushort);
uint IP_CONST upsample(ushort, ushort);
long IP_CONST upsample(int, uint);
ulong IP_CONST upsample(uint, uint);

/* ---- conversions ----------------------------------------------------------------------------------------------- */

#define IP_CONVERSIONS(f, t, n) \
    t##n IP_CONST f(char##n);   \
    t##n IP_CONST f(uchar##n);  \
    t##n IP_CONST f(short##n);  \
    t##n IP_CONST f(ushort##n); \
    t##n IP_CONST f(int##n);    \
    t##n IP_CONST f(uint##n);   \
    t##n IP_CONST f(long##n);   \
    t##n IP_CONST f(ulong##n);  \
    t##n IP_CONST f(float##n);  \
    IP_OF_DOUBLE(t##n IP_CONST f(double##n);)
IP_CONVERSIONS(convert_char_sat, char, )
IP_CONVERSIONS(convert_uchar_sat, uchar, )
IP_CONVERSIONS(convert_short_sat, short, )
IP_CONVERSIONS(convert_ushort_sat, ushort, )
IP_CONVERSIONS(convert_int_sat, int, )
IP_CONVERSIONS(convert_uint_sat, uint, )
IP_CONVERSIONS(convert_long_sat, long, )
IP_CONVERSIONS(convert_ulong_sat, ulong, )
IP_CONVERSIONS(convert_int_sat_rte, int, )
IP_CONVERSIONS(convert_uint_sat_rte, uint, )
IP_CONVERSIONS(convert_long_sat_rte, long, )
IP_CONVERSIONS(convert_ulong_sat_rte, ulong, )
IP_CONVERSIONS(convert_char2, char, 2)
IP_CONVERSIONS(convert_char4, char, 4)
IP_CONVERSIONS(convert_char8, char, 8)
IP_CONVERSIONS(convert_char16, char, 16)
IP_CONVERSIONS(convert_uchar2, uchar, 2)
IP_CONVERSIONS(convert_uchar4, uchar, 4)
IP_CONVERSIONS(convert_uchar8, uchar, 8)
IP_CONVERSIONS(convert_uchar16, uchar, 16)
IP_CONVERSIONS(convert_short2, short, 2)
IP_CONVERSIONS(convert_short4, short, 4)
IP_CONVERSIONS(convert_short8, short, 8)
IP_CONVERSIONS(convert_short16, short, 16)
IP_CONVERSIONS(convert_ushort2, ushort, 2)
IP_CONVERSIONS(convert_ushort4, ushort, 4)
IP_CONVERSIONS(convert_ushort8, ushort, 8)
IP_CONVERSIONS(convert_ushort16, ushort, 16)
IP_CONVERSIONS(convert_int2, int, 2)
IP_CONVERSIONS(convert_int4, int, 4)
IP_CONVERSIONS(convert_int8, int, 8)
IP_CONVERSIONS(convert_int16, int, 16)
IP_CONVERSIONS(convert_uint2, uint, 2)
IP_CONVERSIONS(convert_uint4, uint, 4)
IP_CONVERSIONS(convert_uint8, uint, 8)
IP_CONVERSIONS(convert_uint16, uint, 16)
IP_CONVERSIONS(convert_long2, long, 2)
IP_CONVERSIONS(convert_long4, long, 4)
IP_CONVERSIONS(convert_long8, long, 8)
IP_CONVERSIONS(convert_long16, long, 16)
IP_CONVERSIONS(convert_ulong2, ulong, 2)
IP_CONVERSIONS(convert_ulong4, ulong, 4)
IP_CONVERSIONS(convert_ulong8, ulong, 8)
IP_CONVERSIONS(convert_ulong16, ulong, 16)
IP_CONVERSIONS(convert_float2, float, 2)
IP_CONVERSIONS(convert_float4, float, 4)
IP_CONVERSIONS(convert_float8, float, 8)
IP_CONVERSIONS(convert_float16, float, 16)
#ifdef cl_khr_fp64
IP_CONVERSIONS(convert_double2, double, 2)
IP_CONVERSIONS(convert_double4, double, 4)
IP_CONVERSIONS(convert_double8, double, 8)
IP_CONVERSIONS(convert_double16, double, 16)
#endif

/* ---- memory --------------------------------------------------------------------------------------------------- */

#define IP_EACH_LOADED(D, f, n) \
    D(f, char, n)              \
    D(f, uchar, n)             \
    D(f, short, n)             \
    D(f, ushort, n)            \
    D(f, int, n)               \
    D(f, uint, n)              \
    D(f, long, n)              \
    D(f, ulong, n)             \
    D(f, float, n)             \
    IP_OF_DOUBLE(D(f, double, n))
#define IP_LOAD(f, t, n)                         \
    t##n IP_PURE f(size_t, const __constant t *); \
    t##n IP_PURE f(size_t, const __global t *);   \
    t##n IP_PURE f(size_t, const __local t *);    \
    t##n IP_PURE f(size_t, const __private t *);
#define IP_STORE(f, t, n)                          \
    void IP_BUILTIN f(t##n, size_t, __global t *); \
    void IP_BUILTIN f(t##n, size_t, __local t *);  \
    void IP_BUILTIN f(t##n, size_t, __private t *);
IP_EACH_LOADED(IP_LOAD, vload2, 2)
IP_EACH_LOADED(IP_LOAD, vload3, 3)
IP_EACH_LOADED(IP_LOAD, vload4, 4)
IP_EACH_LOADED(IP_LOAD, vload8, 8)
IP_EACH_LOADED(IP_LOAD, vload16, 16)
IP_EACH_LOADED(IP_STORE, vstore2, 2)
IP_EACH_LOADED(IP_STORE, vstore3, 3)
IP_EACH_LOADED(IP_STORE, vstore4, 4)
IP_EACH_LOADED(IP_STORE, vstore8, 8)
IP_EACH_LOADED(IP_STORE, vstore16, 16)

float IP_PURE vload_half(size_t, const __constant half *);
float IP_PURE vload_half(size_t, const __global half *);
float IP_PURE vload_half(size_t, const __local half *);
float IP_PURE vload_half(size_t, const __private half *);
#define IP_STORE_HALF(f, t)                           \
    void IP_BUILTIN f(t, size_t, __global half *); \
    void IP_BUILTIN f(t, size_t, __local half *);  \
    void IP_BUILTIN f(t, size_t, __private half *);
IP_STORE_HALF(vstore_half_rte, float)
#ifdef cl_khr_fp64
IP_STORE_HALF(vstore_half_rte, double)
#endif

#define IP_ATOMICS(f, s)                                                                              \
    int IP_BUILTIN f(volatile __global int *s(int));                                                  \
    uint IP_BUILTIN f(volatile __global uint *s(uint));                                               \
    int IP_BUILTIN f(volatile __local int *s(int));                                                   \
    uint IP_BUILTIN f(volatile __local uint *s(uint));
#define IP_NO_OPERAND(t)
#define IP_OPERAND(t) , t
#define IP_TWO_OPERANDS(t) , t, t
IP_ATOMICS(atomic_add, IP_OPERAND)
IP_ATOMICS(atomic_sub, IP_OPERAND)
IP_ATOMICS(atomic_min, IP_OPERAND)
IP_ATOMICS(atomic_max, IP_OPERAND)
IP_ATOMICS(atomic_and, IP_OPERAND)
IP_ATOMICS(atomic_or, IP_OPERAND)
IP_ATOMICS(atomic_xor, IP_OPERAND)
IP_ATOMICS(atomic_xchg, IP_OPERAND)
float IP_BUILTIN atomic_xchg(volatile __global float *, float);
float IP_BUILTIN atomic_xchg(volatile __local float *, float);
IP_ATOMICS(atomic_inc, IP_NO_OPERAND)
IP_ATOMICS(atomic_dec, IP_NO_OPERAND)
IP_ATOMICS(atomic_cmpxchg, IP_TWO_OPERANDS)

/* ---- work-items ------------------------------------------------------------------------------------------------- */

uint IP_CONST get_work_dim(void);
size_t IP_CONST get_global_size(uint);
size_t IP_CONST get_global_id(uint);
size_t IP_CONST get_local_size(uint);
size_t IP_CONST get_local_id(uint);
size_t IP_CONST get_num_groups(uint);
size_t IP_CONST get_group_id(uint);
size_t IP_CONST get_global_offset(uint);
void IP_CONVERGENT barrier(cl_mem_fence_flags);
