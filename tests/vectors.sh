#!/bin/sh
# SPDX-License-Identifier: MIT
#
# vectors.sh - the idioms of bytes (src/compile/idioms.c) where the processor has fewer instructions: without AVX-512
# VNNI and VBMI, and with AVX2 only. Every result is that of the interpreter, byte by byte. And GPUs whose groups have
# 64 work-items, where tiles of 256 cannot be launched, or 32, of the device or of kernels, as registers allow: what wants
# more is the interpreter's.
. "${srcdir:-.}/tests/common.sh"

grep -q avx2 /proc/cpuinfo 2>/dev/null || skip "the processor has no AVX2"
[ -z "$IMGPAR_SANITIZED" ] || skip "a library is preloaded"
[ -f "$builddir/tests/.libs/limits.so" ] || skip "built by make check only"
program=$builddir/.libs/imgpar-run
[ -x "$program" ] || program=$builddir/imgpar-run
OCL_ICD_VENDORS=${OCL_ICD_VENDORS:-/etc/OpenCL/vendors/pocl.icd}
[ -f "$OCL_ICD_VENDORS" ] || skip "PoCL is not here"
export OCL_ICD_VENDORS
scratch

# Wider than three vectors of 64 elements, and no whole number of them. Bytes of both ends stand beside each other.
cat > all.conf <<'END'
rgb = make(203, 19, cast((x * x * 7919 + y * 104729 + x * y * 31 + c * 17) % 256, u8), channels=3)
gray1 = make(331, 17, select((x * 5 + y * y) % 7 < 3, 255, (x * x + y * 13) % 256))
two = make(101, 15, cast((x * 77 + y * y * 5 + c * 128) % 256, u8), channels=2)
four = make(67, 15, cast((x * x * 3 + y * 50 + c * 63) % 256, u8), channels=4)
one = cast(gray1, u8)
save(blur(rgb, 1), "blur3.npy")
save(blur(one, 2, border=constant), "blur1.npy")
save(blur(four, 0.6), "blur4.npy")
save(blur(one, 9, border=wrap), "wide.npy")
save(resize(rgb, 345, 33, filter=linear), "grown3.npy")
save(resize(one, 563, 29, filter=linear), "grown1.npy")
save(resize(two, 171, 27, filter=linear), "grown2.npy")
save(resize(four, 113, 26, filter=linear), "grown4.npy")
save(fastblur(rgb, 12), "fast.npy")
save(gray(rgb), "gray.npy")
save(boxblur(rgb, 3), "box.npy")
save(take(cast(cumsum(make(256, 1, x), axis=1) % 251, u8), rgb), "table.npy")
END

# result LIMITS: what kernels make of it under these limits
result() {
    rm -f ./*.npy
    IMGPAR_CACHE=0 IMGPAR_TEST_LIMITS=$1 LD_LIBRARY_PATH="$builddir/.libs" \
        LD_PRELOAD="$builddir/tests/.libs/limits.so" "$program" --device=cpu --quiet all.conf 2>&1
    cksum ./*.npy
}

LD_LIBRARY_PATH="$builddir/.libs" "$program" --device=ref --quiet all.conf || fail "the interpreter"
want=$(cksum ./*.npy)
expect "all results are there" "$(ls ./*.npy | wc -l | tr -d ' ')" 12
expect "with all instructions" "$(result none)" "$want"
expect "without AVX-512 VNNI and VBMI" "$(result plain-vectors)" "$want"
expect "with AVX2" "$(result half-vectors)" "$want"

# on_gpu LIMITS EXPR: there
on_gpu() {
    IMGPAR_TEST_LIMITS="gpu local=16384 $1" LD_LIBRARY_PATH="$builddir/.libs" \
        LD_PRELOAD="$builddir/tests/.libs/limits.so" "$program" --device=gpu --quiet -e "$2" 2>&1
}
product='sum(matmul(ones([40 50]) * 1.0, ones([50 60]) * 1.0))' # 40 x 60 sums of 50 ones
expect "a product in groups of 64" "$(on_gpu group=64 "$product")" 120000
expect "on a device with groups of 32" "$(on_gpu group=32 "$product")" 120000
# 0 to 4999 in order, each times its place. Means of 0, 9, 18, 27, 0 ...: 12, 9, 18 and 15, at the ends 3 and 24.
for limit in group=32 registers=32; do
    expect "sorted, $limit" "$(on_gpu $limit 'sum(cast(sort(arange(0, 5000) * 7 % 5000), i64) * arange(0, 5000))')" \
        41654167500
    expect "a tile with its halo, $limit" "$(on_gpu $limit 'sum(boxblur(make(64, 64, cast(x % 4 * 9, u8)), 3))')" 55296
done
finish
