#!/bin/sh
# SPDX-License-Identifier: MIT
#
# sql.sh - every script of tests/sql, run by the sqlite3 shell with the module loaded, prints
# what the file of the same name with .out holds: its results, then its errors.
. "${srcdir:-.}/tests/common.sh"
need_module
scratch

# is_of_the_device NAME: what it prints tells of the device.
is_of_the_device() { [ "$1" = scans ] || [ "$1" = tables ]; }

# The others print the same on every device: the interpreter runs them in the quick tier, since it compiles nothing.
for script in "$top_srcdir"/tests/sql/*.sql; do
    name=$(basename "$script" .sql)
    (
        [ "$IMGPAR_TEST_TIER" = full ] || is_of_the_device "$name" || { IMGPAR_DEVICE=ref && export IMGPAR_DEVICE; }
        sqlite3 -batch -cmd ".load $builddir/imgpar" :memory: < "$script" > got 2> errors
    )
    cat errors >> got
    diff -u "$top_srcdir/tests/sql/$name.out" got || fail "$name.sql prints something else"
done
finish
