#!/bin/sh
# SPDX-License-Identifier: MIT
#
# lanes.sh - what the memory of a GPU would have to do for our kernels, counted without one (lanes.c tells how).
#
# As a test: pipelines whose figures are pinned. `make bench-lanes` (lanes.sh --table) prints those of more pipelines on
# two classes of device, with the share of a unit's work-items that find room by local memory: units of 96 KiB and 2048
# items with 48 KiB a group, of 32 KiB and 1024 items with 16 KiB a group. lanes.c has the words of the columns.
. "${srcdir:-.}/tests/common.sh"

pocl=$(ldconfig -p 2>/dev/null | sed -n 's/.*libpocl.so.* => //p' | head -n 1)
version=$(ldd "${pocl:-/nowhere}" 2>/dev/null | sed -n 's/.*libLLVM-\([0-9]*\)\.so.*/\1/p' | head -n 1)
clang=clang-${version:-none}
bitcode=$(ls /usr/share/pocl/kernel-x86_64-pc-linux-gnu-avx2.bc 2>/dev/null)
command -v "$clang" >/dev/null && [ -n "$bitcode" ] || skip "PoCL's library and the clang that it was built with are not here"
grep -q avx2 /proc/cpuinfo || skip "the processor has no AVX2"
[ -z "$IMGPAR_SANITIZED" ] || skip "work-items are contexts of their own, which sanitizers do not follow"
[ -f "$builddir/tests/.libs/lanes.so" ] && [ -x "$builddir/tests/lanes_run" ] || skip "built by make check only"
program=$builddir/tests/.libs/lanes_run
[ -x "$program" ] || program=$builddir/tests/lanes_run
scratch

# PoCL's functions have a calling convention that clang does not give to calls on this target.
"$clang" -x ir -w -S -emit-llvm -o all.ll "$bitcode" && sed 's/ spir_func / /; s/ spir_kernel / /' all.ll > plain.ll &&
    "$clang" -w -c -emit-llvm -o helpers.bc plain.ll || exit 99
rm -f all.ll plain.ll

# run LIMITS DTYPE WIDTH HEIGHT CHANNELS PIPELINE...: the lines about them, in the file log
run() {
    limits=$1
    shift
    rm -f log
    OCL_ICD_VENDORS=${OCL_ICD_VENDORS:-/etc/OpenCL/vendors/pocl.icd} IMGPAR_CACHE=0 IMGPAR_DEVICE=gpu \
        IMGPAR_TEST_LIMITS="gpu $limits no-images" IMGPAR_TEST_LANES="$PWD/log" IMGPAR_TEST_LANES_CLANG=$clang \
        IMGPAR_TEST_LANES_HELPERS="$PWD/helpers.bc" LD_LIBRARY_PATH="$builddir/.libs" \
        LD_PRELOAD="$builddir/tests/.libs/limits.so $builddir/tests/.libs/lanes.so" \
        "$program" "$@"
}

# table ITEMS BYTES: the log's lines as rows, for a unit of so many work-items and so much local memory
table() {
    awk -v items="$1" -v bytes="$2" '
        /^pipeline=/ { text = substr($0, 10); next }
        / left out$/ { printf "%-72.72s %s\n", text, "left out"; next }
        {
            for (k = 1; k <= NF; k++) { split($k, pair, "="); value[pair[1]] = pair[2] }
            split(value["group"], group, "x")
            n = group[1] * group[2]
            groups = int(items / n)
            if (value["local"] > 0 && int(bytes / value["local"]) < groups) groups = int(bytes / value["local"])
            printf "%-72.72s %7s %7d %6.2f %8.2f %6.2f %6.1f %8s %5.0f %%\n", text, value["group"], value["local"],
                value["lines"], value["sectors"], value["banks"], value["loads"], value["private"],
                100 * groups * n / items
        }' log
}

heading() {
    printf '%s\n%-72s %7s %7s %6s %8s %6s %6s %8s %7s\n' "$1" pipeline group local lines sectors banks loads private room
}

filters="boxblur(\$1,3)
boxblur(boxblur(boxblur(\$1,3),3),3)
blur(\$1,1)
blur(\$1,2)
boxblur(\$1,15)
median(\$1,3)
sobel(\$1)
erode(\$1,15)
unsharp(\$1)
threshold(blend(median(blur(\$1,2),3),invert(\$1),0.4),128)"
others="invert(\$1)
gray(\$1)
cast(\$1,f32)*0.5
sum(\$1)
histogram(\$1)
sum(\$1,axis=0)
sum(\$1,axis=1)
cumsum(cast(\$1,i32),axis=0)
transpose(\$1)
resize(\$1,400,256)
fastblur(\$1,5)"

# in_lines COMMAND... TEXT: the command with the text's lines as its last arguments
in_lines() {
    text=$1
    shift
    set -f
    old=$IFS
    IFS='
'
    # shellcheck disable=SC2086
    "$@" $text
    IFS=$old
    set +f
}

if [ "${1:-}" = --table ]; then
    heading "48 KiB of local memory a group"
    in_lines "$filters
$others" run "local=49152 group=1024" u8 800 512 3 && table 2048 98304
    in_lines "$filters" run "local=49152 group=1024" f32 800 512 1 && table 2048 98304
    heading "16 KiB of local memory a group"
    in_lines "$filters" run "local=16384 group=256" u8 800 512 3 && table 1024 32768
    in_lines "$filters" run "local=16384 group=256" f32 800 512 1 && table 1024 32768
    exit
fi

# at_most COLUMN NUMBER: of the only launch in the log
at_most() {
    expect "$(sed -n 's/^pipeline=//p' log): $1 at most $2" \
        "$(awk -v name="$1" -v most="$2" '
            /^kernel=/ {
                for (k = 1; k <= NF; k++) { split($k, pair, "="); if (pair[1] == name) found = pair[2] }
                print (found <= most ? "yes" : found)
                exit
            }' log)" yes
}

run "local=49152 group=1024" u8 400 256 3 'boxblur($1,3)' || exit 1
at_most lines 1.35
at_most banks 1.35
at_most private 0
run "local=49152 group=1024" u8 400 256 3 'median($1,3)' || exit 1
at_most lines 1.75
at_most banks 1.1
run "local=49152 group=1024" f32 400 256 1 'blur($1,2)' || exit 1
at_most banks 1.1
at_most sectors 1.4
run "local=49152 group=1024" f32 400 256 1 'invert($1)' || exit 1
at_most sectors 1.01
at_most lines 1.3
run "local=49152 group=1024" u8 400 256 3 'invert($1)' || exit 1
at_most sectors 1.2
run "local=49152 group=1024" u8 400 256 3 'gray($1)' || exit 1
at_most sectors 2.6
run "local=49152 group=1024" u8 400 256 3 'transpose($1)' || exit 1
at_most sectors 1.3
at_most lines 1.8
at_most banks 1.1
finish
