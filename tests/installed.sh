#!/bin/sh
# SPDX-License-Identifier: MIT
#
# installed.sh - what `make install` left works by itself. Run by `make installcheck` with
# bindir, libdir, includedir and CC; not one of the tests of `make check`.
: "${bindir:?}" "${libdir:?}" "${includedir:?}"
set -eu
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' 0
LD_LIBRARY_PATH=$libdir${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
PKG_CONFIG_PATH=$libdir/pkgconfig${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH}
export LD_LIBRARY_PATH PKG_CONFIG_PATH

"$bindir/imgpar-run" --version

cat > "$tmp/version.c" <<'C'
#include <imgpar.h>
#include <stdio.h>
int main(void) { return puts(imgpar_version()) < 0; }
C
# shellcheck disable=SC2046,SC2086  # options, word by word
${CC:-cc} -o "$tmp/version" "$tmp/version.c" -I"$includedir" -L"$libdir" $(pkg-config --cflags --libs imgpar)
version=$("$tmp/version")
[ "$version" = "$(pkg-config --modversion imgpar)" ] || { echo "imgpar.pc and library differ: $version"; exit 1; }

if command -v sqlite3 >/dev/null && [ -z "${IMGPAR_SANITIZED:-}" ]; then
    sqlite3 -batch -bail :memory: ".load imgpar" "SELECT 'module loaded: ' || count(*) FROM pragma_function_list WHERE name LIKE 'img%'"
    sqlite3 -batch -bail :memory: ".load imgpar sqlite3_imgparsafe_init" "SELECT 'safe module loaded'"
fi
