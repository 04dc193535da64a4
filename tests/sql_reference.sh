#!/bin/sh
# SPDX-License-Identifier: MIT
#
# sql_reference.sh - img_reference, of which the manual page imgpar-sql(7) is made, describes what is registered, all of
# it and nothing else; every example in it runs; v of pixels() is what its formula gives; the page formats.
. "${srcdir:-.}/tests/common.sh"
need_module
scratch

# ---- what is registered -----------------------------------------------------------------------

sqlite3 :memory: "SELECT DISTINCT name FROM pragma_function_list UNION SELECT name FROM pragma_module_list" | sort > before
sql "SELECT DISTINCT name FROM pragma_function_list UNION SELECT name FROM pragma_module_list" | sort > after
comm -13 before after > registered
sql "SELECT name FROM img_reference UNION SELECT 'img_' || name FROM img_ops WHERE sql_name IS NOT NULL
     UNION SELECT name FROM pragma_module_list WHERE name IN ('histogram')" | sort > described
diff -u registered described || fail "what is registered (-) is not what is described (+)"
expect "no description is empty" "$(sql "SELECT name FROM img_reference WHERE about IS NULL OR about = '' OR arguments IS NULL")" ""

# ---- the examples --------------------------------------------------------------------------------

"$imgpar_run" -e 'cast(make(40, 30, 128 + 60 * sin(x / 9.0 + c) + 50 * cos(y / 11.0), channels=3), u8)' -o picture.png || fail "a picture"
photos="CREATE TABLE photos(img BLOB); INSERT INTO photos VALUES (readfile('picture.png'));"
{
    echo "$photos"
    sql "SELECT CASE WHEN example GLOB 'SELECT*' OR example GLOB 'CREATE*' THEN example
                     ELSE 'SELECT typeof(' || example || ') FROM photos' END || ';'
         FROM img_reference WHERE example NOT GLOB '*readfile(*'" # of a file that is not there
} > examples.sql
[ "$(grep -c . examples.sql)" -gt 90 ] || fail "there are few examples"
# Calls are the same on every device: the interpreter runs them in the quick tier, since it compiles nothing.
(
    [ "$IMGPAR_TEST_TIER" = full ] || { IMGPAR_DEVICE=ref && export IMGPAR_DEVICE; }
    sqlite3 -batch -cmd ".load $builddir/imgpar" :memory: < examples.sql > results 2> errors
)
[ ! -s errors ] || fail "an example fails: $(head -n 20 errors)"
grep -qx null results && fail "an example gives NULL: $(grep -nx null results)"
expect "everything has an example" "$(sql "SELECT name FROM img_reference WHERE example IS NULL")" ""

# ---- formulas, by hand -----------------------------------------------------------------------------

# v_of CLAIM EXPR WANTED: the columns of the only pixel, finished and deferred, and whether v is a whole number.
v_of() {
    expect "pixels() of $1" "$(IMGPAR_DEVICE=ref sql "SELECT r, g, b, a, v, typeof(v) FROM pixels(apply('$2'))")" "$3"
    expect "pixels() of deferred $1" \
        "$(IMGPAR_DEVICE=ref sql "SELECT r, g, b, a, v, typeof(v) FROM pixels(apply('$2', lazy(apply('fill(1, 1, 0)'))))")" "$3"
}
# 0.299 * 200 + 0.587 * 100 + 0.114 * 50 = 124.2, times 257 = 31919.4; 0.2990 / 2 + 0.587 / 4 + 0.114 / 8 = 0.3105.
v_of "8 bits" 'fill(1, 1, [200 100 50], channels=3)' '200|100|50||124|integer'
v_of "16 bits" 'depth(fill(1, 1, [200 100 50], channels=3), 16)' '51400|25700|12850||31919|integer'
v_of "RGBA: alpha is left out" 'fill(1, 1, [200 100 50 9], channels=4)' '200|100|50|9|124|integer'
v_of "gray and alpha" 'fill(1, 1, [7 9], channels=2)' '7|7|7|9|7|integer'
v_of "floats" 'fill(1, 1, [0.5 0.25 0.125], channels=3, dtype=f32)' '0.5|0.25|0.125||0.3105|real'
v_of "a mask, 0 to 1: green alone is above a half" 'fill(1, 1, [0 200 0], channels=3) > 100' '0|1|0||1|integer'
v_of "floats of white 255, which is not divided by" 'fill(1, 1, [200 100 50], channels=3) / 2' '100.0|50.0|25.0||62.1|real'

# ---- the page --------------------------------------------------------------------------------------

page=$builddir/src/imgpar-sql.7
[ -s "$page" ] || fail "there is no manual page"
for word in 'SH LOADING' 'B lazy(img)' 'B pixels(source, x0, y0, w, h)' 'Columns: x INTEGER, y INTEGER' 'B blur(a'; do
    grep -qF "$word" "$page" || fail "the page lacks: $word"
done
if command -v groff > /dev/null; then
    groff -man -Tutf8 -ww "$page" 2>&1 > /dev/null | grep -v 'cannot adjust\|cannot break' | head -n 5 > complaints
    [ ! -s complaints ] || fail "groff: $(cat complaints)"
fi
finish
