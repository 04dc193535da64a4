#!/bin/sh
# SPDX-License-Identifier: MIT
#
# samples.sh - every sample runs, those of the device layer (cl_*.c) too, and the sunset is the same picture from the
# pipeline file, from C and from SQL, under every schedule, fused or not. Life is the same grid from all three, and solvers
# agree.
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

# ---- arrays ----------------------------------------------------------------------------------------

# Life and the solvers say the same on every device: the interpreter runs them in the quick tier, since it compiles
# nothing.
[ "$IMGPAR_TEST_TIER" = full ] || { IMGPAR_DEVICE=ref && export IMGPAR_DEVICE; }

for f in life heat mandelbrot nbody kmeans poisson deblur tone-curve kalman; do cp "$samples/$f.conf" .; done
expect_status "life.conf runs" 0 "$imgpar_run" life.conf
expect_status "life.c runs" 0 "$builddir/samples/life" 200 life-c.png
expect_same "C gives the same generation" life-c.png life.png
if command -v sqlite3 >/dev/null && [ -z "$IMGPAR_SANITIZED" ]; then
    sqlite3 -batch -bail -cmd ".load $builddir/imgpar" :memory: < "$samples/life.sql" > sql.log 2>&1 || fail "life.sql: $(cat sql.log)"
    expect_same "SQL gives the same generation" life-sql.png life.png
fi

# The last step changes less than was asked for, after a multiple of 50 steps.
got=$("$imgpar_run" heat.conf size=48 tolerance=0.5)
echo "$got" | awk '{ exit !($1 > 0 && $1 < 20000 && $1 % 50 == 0 && $2 < 0.5) }' || fail "heat.conf prints $got"
expect_status "mandelbrot.conf runs" 0 "$imgpar_run" mandelbrot.conf steps=30
got=$("$imgpar_run" nbody.conf steps=2)
case $got in "4096 "*) ;; *) fail "nbody.conf loses bodies: $got" ;; esac
expect_status "kmeans.conf runs" 0 "$imgpar_run" kmeans.conf steps=5
cat > count.conf <<'EOF'
i = cast(open("kmeans.png"), i32)
print(count_unique(reduce(i * (256 ** 2 * (c == 0) + 256 * (c == 1) + (c == 2)), "sum", axis=2)))
EOF
expect "the picture has so many colours" "$("$imgpar_run" count.conf)" 8
got=$("$imgpar_run" poisson.conf n=32 tolerance=1e-8)
echo "$got" | awk '{ exit !($2 < 1e-8 && $3 < 1e-6) }' || fail "poisson.conf: the solutions differ: $got"
got=$("$imgpar_run" deblur.conf size=64 steps=60)
echo "$got" | awk '{ exit !($2 < 0.8 * $1) }' || fail "deblur.conf makes nothing sharper: $got"
got=$("$imgpar_run" tone-curve.conf size=32 steps=300)
echo "$got" | awk '{ exit !($(NF - 1) > 0.01 && $NF < 1e-6) }' || fail "tone-curve.conf finds no curve: $got"
got=$("$imgpar_run" kalman.conf steps=300)
echo "$got" | awk '{ exit !($2 < 0.5 * $1) }' || fail "kalman.conf: the filter leaves $got"
for f in heat mandelbrot nbody kmeans poisson deblur kalman; do
    [ -s "$f.png" ] || fail "$f.conf wrote no picture"
done
finish
