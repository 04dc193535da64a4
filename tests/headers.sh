#!/bin/sh
# SPDX-License-Identifier: MIT
#
# headers.sh - each public header compiles alone, as C11 and as C++17, without a warning.
. "${srcdir:-.}/tests/common.sh"
scratch

# compile COMPILER... : compiles the standard input.
compile() {
    "$@" -Wall -Wextra -Wpedantic -Werror -I"$top_srcdir/include" -I"$builddir/include" -c -o out.o -
}

for header in "$top_srcdir"/include/*.h "$builddir"/include/*.h; do
    name=$(basename "$header")
    # shellcheck disable=SC2086  # CC may hold options
    echo "#include <$name>" | compile ${CC:-cc} -std=c11 -xc || fail "$name does not compile as C11"
    # Twice, because the second time only the include guard stands between.
    if command -v g++ >/dev/null; then
        printf '#include <%s>\n#include <%s>\n' "$name" "$name" | compile g++ -std=c++17 -xc++ ||
            fail "$name does not compile as C++17"
    else
        echo "no g++: $name was not tried as C++"
    fi
done
finish
