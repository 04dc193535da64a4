#!/bin/sh
# SPDX-License-Identifier: MIT
#
# arrays_manual.sh - imgpar-arrays(7) has every operation on arrays with an example that was run, some of whose answers are
# known here, and formats without a complaint.
. "${srcdir:-.}/tests/common.sh"
page=$builddir/src/imgpar-arrays.7
[ -s "$page" ] || skip "no page: built for another machine"
scratch

for category in generator array gather selection measure recurrence order product matrix; do
    "$imgpar_run" --list-ops | awk -v c="$category" '/^[^ ]/ { inside = $1 == c } inside && /^  / { print $1 }'
done > names
[ "$(grep -c . names)" -gt 60 ] || fail "there are few operations: $(cat names)"
while read -r name; do
    grep -q "^\.BR $name \" (" "$page" || fail "$name is not in the page"
done < names

# a is [0 1 2; 7 8 9; 4 5 6; 1 2 3; 8 9 10; 5 6 7].
grep -A6 '^\.BR sum ' "$page" | grep -q '\[1\] u64: 93$' || fail "sum: $(grep -A6 '^\.BR sum ' "$page")"
grep -A6 '^\.BR argmax ' "$page" | grep -q '\[1\] i64: 14$' || fail "argmax: $(grep -A6 '^\.BR argmax ' "$page")"
grep -A6 '^\.BR count_unique ' "$page" | grep -q '\[1\] u64: 11$' || fail "count_unique: $(grep -A6 '^\.BR count_unique ' "$page")"

if command -v groff > /dev/null; then
    groff -man -Tutf8 -ww "$page" 2>&1 > /dev/null | grep -v 'cannot adjust\|cannot break' | head -n 5 > complaints
    [ ! -s complaints ] || fail "groff: $(cat complaints)"
fi
finish
