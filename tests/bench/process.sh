#!/bin/sh
# SPDX-License-Identifier: MIT
#
# process.sh - whole processes, from file to file, beside vips: `make bench-process`, in the build folder.
#
#   PHOTO=FILE.jpg          a picture of about 13 megapixels (one that is computed)
#   REPETITIONS=5           of each command; the two run in turn, the best time and the largest memory count
#   HUGE=0                  leaves out what takes pictures of 600 megapixels, which are made in $TMPDIR first (360 MB)
#
# Prints a table: times in ms, their ratio and the bar it has, peaks of memory in MB and the bar. Without vips its columns
# are empty, and huge pictures are left out.
set -u
run=${IMGPAR_RUN:-./imgpar-run}
repetitions=${REPETITIONS:-5}
folder=$(mktemp -d "${TMPDIR:-/tmp}/imgpar-process-XXXXXX") || exit 1
trap 'rm -rf "$folder"' EXIT
trap 'exit 1' INT TERM
[ -x /usr/bin/time ] || { echo "process.sh: /usr/bin/time is needed"; exit 1; }
command -v vips > /dev/null && has_vips=1 || has_vips=0

IMGPAR_TIER=kernels # of the first runs, too
export IMGPAR_TIER

# measure COMMAND...: $ms and $mb of one run.
measure() {
    begin=$(date +%s%N)
    mb=$(/usr/bin/time -f %M "$@" 2>&1 > /dev/null | tail -n 1)
    ms=$((($(date +%s%N) - begin) / 1000000))
    case $mb in *[!0-9]* | '') echo "process.sh: failed: $*: $mb" >&2; exit 1 ;; esac
    mb=$((mb / 1024))
}

# row NAME BAR MB_BAR OURS VIPS: a line of the table; both are words that the shell splits, and run in $folder.
row() {
    our_ms=999999 our_mb=0 vips_ms=999999 vips_mb=0 i=0
    while [ $((i += 1)) -le "$repetitions" ]; do
        # shellcheck disable=SC2086
        measure "$run" $4
        [ "$ms" -lt "$our_ms" ] && our_ms=$ms
        [ "$mb" -gt "$our_mb" ] && our_mb=$mb
        [ "$has_vips" = 1 ] || continue
        # shellcheck disable=SC2086
        measure $5
        [ "$ms" -lt "$vips_ms" ] && vips_ms=$ms
        [ "$mb" -gt "$vips_mb" ] && vips_mb=$mb
    done
    [ "$has_vips" = 1 ] || vips_ms=0
    awk -v name="$1" -v a="$our_ms" -v b="$vips_ms" -v bar="$2" -v m="$our_mb" -v v="$vips_mb" -v most="$3" 'BEGIN {
        ratio = "-"
        if (b == 0) b = v = "-"; else ratio = sprintf("%.2f", a / b)
        printf "%-22s %8d %8s %7s %6s %8d %8s %6s\n", name, a, b, ratio, bar, m, v, most
    }'
}

cd "$(dirname "$run")" || exit 1
run=$PWD/$(basename "$run")
photo=${PHOTO:-}
case $photo in '' | /*) ;; *) photo=$OLDPWD/$photo ;; esac
cd "$folder" || exit 1
if [ -n "$photo" ]; then
    cp "$photo" a.jpg
else
    "$run" -e 'cast(make(4476, 2984, 128 + 60 * sin(x / 40.0 + c) + 50 * cos(y * 0.3 + x / 7.0), channels=3), u8)' -o a.jpg
fi || exit 1
# shellcheck disable=SC2016  # $1 is the language's
"$run" -e '$1' a.jpg -o a.png && "$run" -e 'crop($1, 0, 0, 64, 64)' a.jpg -o tiny.jpg || exit 1

# shellcheck disable=SC2016
measure "$run" -e 'blur($1,2)' tiny.jpg -o o.jpg # compiles
# shellcheck disable=SC2016
measure "$run" -e 'blur($1,2)' tiny.jpg -o o.jpg
most=$((mb + 60))
printf '%-22s %8s %8s %7s %6s %8s %8s %6s\n' process "ours ms" "vips ms" ratio bar "ours MB" "vips MB" bar
blur='vips gaussblur --min-ampl 0.0111'
# shellcheck disable=SC2016
{
    row jpeg-blur-jpeg 0.65 "$most" '-e blur($1,2) a.jpg -o o.jpg' "$blur a.jpg v.jpg[Q=90] 2"
    row jpeg-800-jpeg 1.00 - '-e thumbnail($1,800) a.jpg -o o.jpg' 'vipsthumbnail a.jpg -s 800 -o v.jpg[Q=90]'
    row png-png 0.35 - '-e $1 a.png -o o.png' 'vips copy a.png v.png'
    row png-blur-png 0.35 - '-e blur($1,2) a.png -o o.png' "$blur a.png v.png 2"
    row jpeg-png 0.35 - '-e $1 a.jpg -o o.png' 'vips copy a.jpg v.png'
    [ "${HUGE:-1}" = 1 ] && [ "$has_vips" = 1 ] || exit 0
    vips replicate a.png b.v 6 9 && vips crop b.v 'b.png[compression=1]' 0 0 24500 24500 && rm b.v && vips copy b.png 'b.jpg[Q=90]' ||
        exit 1
    row 600MP-png-blur-jpeg 0.60 250 '-e blur($1,2) b.png -o o.jpg' "$blur b.png v.jpg[Q=90] 2"
    row 600MP-jpeg-blur-jpeg 0.60 250 '-e blur($1,2) b.jpg -o o.jpg' "$blur b.jpg v.jpg[Q=90] 2"
    row 600MP-jpeg-crop-png - 160 '-e crop($1,12000,12000,500,500) b.jpg -o o.png' 'vips crop b.jpg v.png 12000 12000 500 500'
}
