#!/bin/sh
# SPDX-License-Identifier: MIT
#
# sql_newest.sh - the module with another SQLite than the one it was built with: the SQL programs run again with a library
# made of the amalgamation in $IMGPAR_SQLITE (a folder with sqlite3.c and sqlite3.h; .ci/run gets one from the npm package
# better-sqlite3, which carries a new one).
. "${srcdir:-.}/tests/common.sh"
[ -n "${IMGPAR_SQLITE:-}" ] || skip "no other SQLite (set IMGPAR_SQLITE)"
[ -z "$IMGPAR_SANITIZED" ] || skip "sanitized programs have their SQLite tested as it is"
[ -f "$IMGPAR_SQLITE/sqlite3.c" ] || fail "there is no sqlite3.c in $IMGPAR_SQLITE"
scratch

mkdir lib
${CC:-cc} -O1 -fPIC -shared -DSQLITE_ENABLE_COLUMN_METADATA -DSQLITE_ENABLE_LOAD_EXTENSION -DSQLITE_STRICT_SUBTYPE=1 -DSQLITE_THREADSAFE=1 \
    -Wl,-soname,libsqlite3.so.0 -o lib/libsqlite3.so.0 "$IMGPAR_SQLITE/sqlite3.c" -lpthread -ldl -lm || fail "sqlite3.c does not compile"
cat > version.c <<'EOF'
#include <sqlite3.h>
#include <stdio.h>
int main(void) { puts(sqlite3_libversion()); return 0; }
EOF
${CC:-cc} -I"$IMGPAR_SQLITE" -o version version.c lib/libsqlite3.so.0 || fail "version.c"
LD_LIBRARY_PATH=$PWD/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export LD_LIBRARY_PATH
echo "SQLite $(./version)"
for program in check_sql check_sql_hostile check_sql_locks check_sql_shapes; do
    "$builddir/tests/$program" > log 2>&1 || fail "$program with SQLite $(./version): $(tail -n 30 log)"
    grep '^100%' log
done
finish
