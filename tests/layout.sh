#!/bin/sh
# SPDX-License-Identifier: MIT
#
# layout.sh - lines of sources end by column 120, and C is laid out as .clang-format says. Other versions of clang-format than the one named
# here lay out a few lines otherwise.
. "${srcdir:-.}/tests/common.sh"
version=14
cd "$top_srcdir" || exit 99
git rev-parse --git-dir > /dev/null 2>&1 || skip "a release is laid out as the checkout that it was made of"

long=$(git ls-files -z '*.c' '*.h' '*.cl' '*.def' | xargs -0 awk 'length($0) > 120 { print FILENAME ":" FNR }')
expect "lines end by column 120" "$long" ""

formatter=$(command -v "clang-format-$version" clang-format | head -n 1)
[ -n "$formatter" ] || skip "no clang-format"
"$formatter" --version | grep -q "version $version\." || skip "clang-format is not of version $version"
moved=$(git ls-files -z '*.c' '*.h' | xargs -0 "$formatter" --style=file --dry-run 2>&1 | sed -n 's/^\([^ ]*\): warning: .*/\1/p' | head -n 20)
expect "C is laid out as .clang-format says" "$moved" ""
finish
