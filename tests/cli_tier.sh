#!/bin/sh
# SPDX-License-Identifier: MIT
#
# cli_tier.sh - imgpar-run where nothing is compiled yet: who computes, what is compiled behind it, that the bytes stay the same.
# shellcheck disable=SC2016  # $1 is for the pipeline
. "${srcdir:-.}/tests/common.sh"
[ -x "$imgpar_run" ] || skip "imgpar-run is not built"
scratch
IMGPAR_CACHE_DIR=$PWD/cache
unset IMGPAR_TIER
export IMGPAR_CACHE_DIR
mkdir cache
awk 'BEGIN { print "P2 96 64 255"; for (k = 0; k < 96 * 64; k++) print (k * 7 + int(k / 96) * 13) % 256 }' > in.pgm
text='median(blur(open("in.pgm"), 2), 5)'

# who: the steps of a run that computed; ref is the interpreter.
who() { "$imgpar_run" --profile "$@" -e "$text" -o out.pgm 2>&1 | awk '/ kernel / { print $NF == "(rows)" || $NF == "(pixels)" ? "kernel" : $NF }' | sort -u; }

# pending: how many programs are left to be compiled.
pending() { find cache -name '*.pending' | wc -l | tr -d ' '; }

first=$(who --tier=interpret)
[ "$first" != kernel ] || skip "this device has no tiers"
expect "the first run is the interpreter's" "$first" ref
cp out.pgm first.pgm
expect "interpret leaves nothing" "$(pending)" 0
expect "--tier=kernels waits" "$(who --tier=kernels)" kernel
expect "the same bytes" "$(cmp out.pgm first.pgm && echo same)" same
expect "what is compiled is used" "$(who)" kernel

# A process started behind may be slow, or stopped after its minute: then the next run starts another one.
rm -r cache
mkdir cache
expect "the first run is interpreted" "$(who)" ref
expect "the same bytes, interpreted" "$(cmp out.pgm first.pgm && echo same)" same
for second in $(seq 1 120); do
    "$imgpar_run" --compile-pending || fail "--compile-pending: status $?"
    now=$(who)
    [ "$now" = ref ] || break
    sleep 1
done
expect "a later run has kernels" "$now" kernel
expect "the same bytes, compiled behind" "$(cmp out.pgm first.pgm && echo same)" same
for second in $(seq 1 120); do
    [ "$(pending)" -gt 0 ] || break
    "$imgpar_run" --compile-pending
    sleep 1
done
expect "nothing is pending" "$(pending)" 0

# The whole of a source is not needed: what is wrong with the rest of it must not depend on who computes.
text='crop(invert(open("in.pgm")), 0, 0, 96, 8)'
expect "a part of a source is no work for the interpreter" "$(who)" kernel

expect "--compile-pending goes alone" "$("$imgpar_run" --compile-pending --quiet 2>&1)" "imgpar-run: --compile-pending is given alone (--help lists the options)"
expect "a bad tier" "$("$imgpar_run" --tier=fast -e 1 2>&1)" "imgpar-run: --tier=fast: one of auto|interpret|kernels is expected"
expect "a bad tier of the environment" "$(IMGPAR_TIER=fast "$imgpar_run" -e 1 2>&1)" "imgpar-run: IMGPAR_TIER=fast: one of auto|interpret|kernels is expected"

# Nowhere to keep anything: kernels, and no process.
expect "without a folder kernels compute" "$(IMGPAR_CACHE=0 who)" kernel

# Nobody may be at work in a folder that goes.
if command -v flock > /dev/null && [ -f cache/pending.lock ]; then flock cache/pending.lock true; fi
finish

# PoCL ends a process that reads what is damaged of its files: those of a program that we keep are written anew.
POCL_CACHE_DIR=$PWD/pocl
export POCL_CACHE_DIR
mkdir pocl
total() { "$imgpar_run" --tier=kernels -e 'sum(boxblur(make(9, 7, x)))' 2>&1; }
expect "a sum" "$(total)" 252
if [ -n "$(find cache -name '*.bin')" ] && [ -n "$(find pocl -name program.bc)" ]; then
    for size in 0 1500 -1; do
        find pocl -name program.bc -exec truncate -s "$size" {} +
        find pocl -name '*.so' -exec truncate -s "$size" {} +
        expect "files of PoCL's cut to $size" "$(total)" 252
    done
    find pocl -name program.bc | while read -r file; do
        printf '\377\377\377\377' | dd of="$file" bs=1 seek=2000 conv=notrunc 2>/dev/null
    done
    expect "changed files of PoCL's" "$(total)" 252
    expect "nothing is left beside them" "$(find pocl -name '*-??????')" ""
fi

# A text that calls a built-in function which shaders/builtins.cl lacks is built twice, and clang tells standard error so.
# One names its calls by macros, which no search of the text finds.
expect "functions of masks are declared" "$("$imgpar_run" --tier=kernels -e 'sum(distance(make(40, 9, x > 3)))' 2>&1)" 5994
