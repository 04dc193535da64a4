#!/bin/sh
# SPDX-License-Identifier: MIT
#
# cl_pages.sh - the pages of the device layer, made from its header, have every function and format without a warning; the
# cheat sheet is one page.
. "${srcdir:-.}/tests/common.sh"
scratch
manual=$builddir/src/imgpar-cl.7
sheet=$builddir/src/imgpar-cl-cheatsheet.7

# shellcheck disable=SC2086  # CC may hold options
${CC:-cc} -fpreprocessed -dD -E -P - < "$top_srcdir/include/imgpar_cl.h" | tr '\n' ' ' |
    grep -oE '(IMGPAR_API|static inline) [^;({]*\(' | sed -n 's/.*[ *]imgpar_cl_\([a-z0-9_]*\)(.*/\1/p' | sort -u > names
[ "$(wc -l < names)" -gt 40 ] || fail "only $(wc -l < names) functions were found in imgpar_cl.h"
while read -r name; do
    grep -q "imgpar_cl_$name(" "$manual" || fail "imgpar-cl(7) lacks $name"
    case $name in *_retain | *_release) continue ;; esac
    grep -q "fB$name(" "$sheet" || fail "the cheat sheet lacks $name"
done < names
[ "$(grep -c '' "$sheet")" -lt 120 ] || fail "the cheat sheet is longer than a page: $(grep -c '' "$sheet") lines"
if command -v groff >/dev/null; then
    for page in "$manual" "$sheet"; do
        said=$(groff -man -Tutf8 -ww -rLL=140n "$page" 2>&1 >/dev/null | grep -v 'cannot adjust\|cannot break')
        expect "$(basename "$page") formats without a warning" "$said" ""
    done
fi
finish
