#!/bin/sh
# SPDX-License-Identifier: MIT
#
# sql_without_opencl.sh - without any OpenCL the module loads, computes the same bytes with the reference interpreter, and
# says so once in SQLite's log.
. "${srcdir:-.}/tests/common.sh"
need_module
scratch

cat > statements.sql <<'E2'
SELECT img_width(CAST('P6 2 1 255' || char(10) || 'RGBrgb' AS BLOB));
SELECT hex(raw(img_invert(lazy(CAST('P6 2 1 255' || char(10) || 'RGBrgb' AS BLOB)))));
SELECT hex(raw(blur(CAST('P5 4 3 255' || char(10) || 'AZaz09!~mnop' AS BLOB), 1)));
E2
sql < statements.sql > with 2>&1
mkdir none
OCL_ICD_VENDORS=$PWD/none sqlite3 -batch -bail -cmd ".log log" -cmd ".load $builddir/imgpar" :memory: < statements.sql > without 2>&1
diff -u with without || fail "other results without OpenCL"
expect "the log says it once" "$(grep -c "imgpar: no OpenCL device" log)" 1

# Headers need no device, so there is nothing to say.
OCL_ICD_VENDORS=$PWD/none sqlite3 -batch -bail -cmd ".log log2" -cmd ".load $builddir/imgpar" :memory: \
    "SELECT img_valid(x'00')" > /dev/null || fail "a header function"
[ ! -s log2 ] || fail "a header function opened a device: $(cat log2)"
finish
