#!/bin/sh
# SPDX-License-Identifier: MIT
#
# symbols.sh - the library exports what its headers declare and nothing else; the module
# exports its two entry points; no variable is exported; no folder of src uses what one above it defines.
. "${srcdir:-.}/tests/common.sh"
[ -z "$IMGPAR_SANITIZED" ] || skip "sanitizers add symbols"
command -v nm >/dev/null || skip "no nm"
scratch

exported() {
    nm -D --defined-only "$1" | awk '{ print $NF }' | sed 's/@.*//' | sort -u
}

exported "$builddir/.libs/libimgpar.so" > library || fail "nm cannot read libimgpar.so"
[ -s library ] || fail "libimgpar.so exports nothing"
while read -r symbol; do
    case $symbol in
    imgpar_*) ;;
    *) fail "libimgpar.so exports $symbol" ;;
    esac
done < library

# Comments are dropped first; a declaration may go over several lines.
cat "$top_srcdir/include/imgpar.h" "$top_srcdir/include/imgpar_cl.h" "$builddir/include/imgpar_ops.h" | ${CC:-cc} -fpreprocessed -dD -E -P - |
    tr '\n' ' ' | grep -o 'IMGPAR_API [^;(]*(' | sed -n 's/.*[ *]\(imgpar_[a-z0-9_]*\)(.*/\1/p' | sort -u > declared
[ -s declared ] || fail "no declaration was found in the public headers"
while read -r symbol; do
    grep -qx "$symbol" library || fail "$symbol is declared but not exported"
done < declared
while read -r symbol; do
    grep -qx "$symbol" declared || fail "$symbol is exported but not declared"
done < library

expect "the module exports its entry points only" "$(exported "$builddir/.libs/imgpar.so" | tr '\n' ' ')" \
    "sqlite3_imgpar_init sqlite3_imgparsafe_init "

# A variable among the exports would be a global of the API.
nm -D --defined-only "$builddir/.libs/libimgpar.so" | awk '$2 ~ /[BDC]/ { print $3 }' > data
while read -r symbol; do fail "libimgpar.so exports the variable $symbol"; done < data

# "RANK FOLDER D|U SYMBOL" of all object files; public functions are told apart by where they are defined, too.
rank=0
for folder in base io ir graph ops compile run lang api cl; do
    rank=$((rank + 1))
    find "$builddir/src/$folder" -name '*.o' -exec nm {} + 2>/dev/null |
        awk -v place="$rank $folder" 'NF == 2 && $1 == "U" { print place, "U", $2 }
            NF == 3 && $2 ~ /[TDRBGSVW]/ { print place, "D", $3 }'
done > used
[ -s used ] || fail "there are no object files"
awk '$3 == "D" { rank[$4] = $1; by[$4] = $2 } { line[NR] = $0 }
    END { for (k = 1; k <= NR; k++) {
            split(line[k], f, " ")
            if (f[3] == "U" && f[4] in rank && rank[f[4]] > f[1]) print f[2], "uses", f[4], "of", by[f[4]]
        } }' used | sort -u > upwards
while read -r line; do fail "src/$line: graph/services.h is the way upwards"; done < upwards
finish
