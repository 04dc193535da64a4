#!/bin/sh
# SPDX-License-Identifier: MIT
#
# samples.sh - every sample runs, those of the device layer (cl_*.c) too, and the sunset is the same picture from the pipeline file, from C and from SQL,
# under every schedule, fused or not.
. "${srcdir:-.}/tests/common.sh"
scratch
samples=$top_srcdir/samples

# A literal path is relative to the file it stands in, so samples are copied to where they may write.
cp "$samples/scenes.conf" "$samples/sunset.conf" "$samples/sunset.sql" .
expect_status "scenes.conf writes beside itself" 0 "$imgpar_run" scenes.conf width=320 height=213
for f in tower.png sunset.png forest.png; do
    [ -s "$f" ] || fail "scenes.conf wrote no $f"
done

expect_status "sunset.conf runs" 0 "$imgpar_run" sunset.conf
mv out.png fused.png
kernels=$("$imgpar_run" --explain=json sunset.conf | grep -c '"name":')
expect "the sunset pipeline is one kernel" "$kernels" 1

for options in --no-fuse "--schedule pixels" "--schedule ref" "--device ref"; do
    # shellcheck disable=SC2086  # two words
    expect_status "sunset.conf runs with $options" 0 "$imgpar_run" $options sunset.conf
    expect_same "$options gives the same bytes" out.png fused.png
done
expect_status "sunset.conf verifies" 0 "$imgpar_run" --verify=0 sunset.conf
expect_status "a parameter changes the picture" 0 "$imgpar_run" sunset.conf ratio=0.6
cmp -s out.png fused.png && fail "ratio=0.6 gave the same picture as ratio=0.3"

expect_status "sunset.c runs" 0 "$builddir/samples/sunset" tower.png sunset.png forest.png out-c.png
expect_same "C gives the same bytes" out-c.png fused.png

# Each compares with a loop on the host and ends with its profile.
for name in himeno:jacobi kmeans:assign matmul:tiled reduce:reduce transform:transform; do
    expect_status "cl_${name%:*}.c runs" 0 "$builddir/samples/cl_${name%:*}"
    echo "$output" | grep -q "^${name#*:} .*[0-9]" || fail "cl_${name%:*} prints no profile: $output"
    lines=$(wc -l < "$samples/cl_${name%:*}.c")
    [ "$lines" -lt 80 ] || fail "cl_${name%:*}.c has $lines lines"
done

if command -v sqlite3 >/dev/null && [ -z "$IMGPAR_SANITIZED" ]; then
    sqlite3 -batch -bail -cmd ".load $builddir/imgpar" :memory: < sunset.sql > sql.log 2>&1 || fail "sunset.sql: $(cat sql.log)"
    expect_same "SQL gives the same bytes" out-sql.png fused.png
fi
finish
