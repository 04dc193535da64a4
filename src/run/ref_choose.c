/* SPDX-License-Identifier: MIT */
/* Which of the loops of the reference interpreter the processor can run. */
#include "run/ref_loops.h"

int ip_ref_loops_list(const ip_ref_loops *list[IP_REF_LOOPS_MOST])
{
    int n = 0;
    list[n++] = &ip_ref_loops_any;
#ifdef HAVE_AVX2_LOOPS
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) list[n++] = &ip_ref_loops_avx2;
#endif
#ifdef HAVE_AVX512_LOOPS
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("fma"))
        list[n++] = &ip_ref_loops_avx512;
#endif
    return n;
}

const ip_ref_loops *ip_ref_loops_here(void)
{
    const ip_ref_loops *list[IP_REF_LOOPS_MOST];
    return list[ip_ref_loops_list(list) - 1];
}
