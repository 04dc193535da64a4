#!/bin/sh
# SPDX-License-Identifier: MIT
#
# cli_streams.sh - imgpar-run for videos: PNM and Y4M on standard input, a frame at a time. What colours must be is worked out by awk.
# shellcheck disable=SC2016  # $1 is for the pipeline
. "${srcdir:-.}/tests/common.sh"
[ -x "$imgpar_run" ] || skip "imgpar-run is not built"
scratch
IMGPAR_DEVICE=ref
export IMGPAR_DEVICE

# run INPUT ARGUMENT...: imgpar-run for a file on standard input; its output goes to $out, stderr to $err, the status to $status.
run() {
    status=0 input=$1
    shift
    "$imgpar_run" "$@" > out.txt 2> err.txt < "$input" || status=$?
    out=$(tr '\n' '|' < out.txt)
    err=$(cat err.txt)
}

# expect_run CLAIM STATUS OUT ERR: what the last run said; the lines of OUT are ended by |.
expect_run() {
    expect "$1: status" "$status" "$2"
    expect "$1: stdout" "$out" "$3"
    expect "$1: stderr" "$err" "$4"
}

# bytes NUMBER...: as they are.
bytes() {
    for number in "$@"; do
        # shellcheck disable=SC2059
        printf "\\$(printf %03o "$number")"
    done
}

# gray NUMBER...: a frame of 2 x 2 of each of the numbers.
gray() {
    for level in "$@"; do
        printf 'P5\n2 2\n255\n'
        bytes "$level" "$level" "$level" "$level"
    done
}

# ---- PNM ---------------------------------------------------------------------------------------------

gray 10 20 40 > three.pgm
: > empty
run three.pgm -e 'mean($1)' -
expect_run "a line a frame" 0 "10|20|40|" ""
run three.pgm -e 'mean(cast($1, i32) - frame(-1))' -
expect_run "the frame before; the first stands before itself" 0 "0|10|20|" ""
run three.pgm -e 'mean(cast($1, i32) * 100 + frame(-2) + 0 * frame(0))' -
expect_run "two frames before" 0 "1010|2010|4010|" ""
run three.pgm -e 'invert($1)' - -o -
mv out.txt inverted.pgm
run inverted.pgm -e 'mean($1)' -
expect_run "PNM behind PNM" 0 "245|235|215|" ""
printf 'd = cast($1, i32) - frame(-1)\ncast(d, u8)\n' > difference.conf
run three.pgm difference.conf - -o 'd{n}.pgm'
expect "a pipeline in a file" "$("$imgpar_run" -e 'mean(open("d3.pgm"))')" 20

run three.pgm -e 'invert($1)' - -o 'f{n:2}.png'
expect_run "a picture a frame" 0 "" ""
expect "a picture a frame: mean" "$("$imgpar_run" -e 'mean($1)' f01.png f02.png f03.png)" "245  f01.png
235  f02.png
215  f03.png"
run three.pgm -e 'invert($1)' - -o one.png
expect_run "two frames are never one" 1 "" \
    "imgpar-run: standard input has more than one picture: -o 'out{n}.png' names each, -o - writes one behind another"
[ ! -e one.png ] || fail "two frames are never one: one.png is there"
gray 77 > one.pgm
run one.pgm -e 'invert($1)' - -o one.png
expect_run "one frame" 0 "" ""
expect "one frame: mean" "$("$imgpar_run" -e 'mean(open("one.png"))')" 178
run one.png -e 'mean($1)' -
expect_run "a picture that is no video" 0 "178|" ""
run one.png -e 'invert($1)' - -o two.png
expect_run "a picture that is no video, written" 0 "" ""

run empty -e 'mean(open("three.pgm"))'
expect "a file of several pictures is not one" "$status $out" "1 "
case $err in *"three.pgm: PNM: more pictures follow the first one"*) ;; *) fail "a file of several pictures: $err" ;; esac
run three.pgm -e 'mean(open("-"))'
expect "nor is standard input: status" "$status" 1
run empty -e 'mean(open("three.pgm", fail_on=truncated))'
expect "unless that is asked for" "$status $out" "0 10|"

# Every kind, one behind another, with comments, 16 bits and plain numbers.
{
    printf 'P1 # bits\n3 2\n1 0 1\n010\n'
    printf 'P2\n2 1\n# 100\n100\n50 100\n'
    printf 'P3\n1 1\n255\n1 2 3\n'
    printf 'P4\n9 2\n'; bytes 255 128 0 0
    printf 'P5\n1 2\n1000\n'; bytes 3 232 0 0
    printf 'P6\n1 1\n255\n'; bytes 7 8 9
    printf 'P7\nWIDTH 1\nHEIGHT 1\nDEPTH 2\nMAXVAL 255\nTUPLTYPE GRAYSCALE_ALPHA\nENDHDR\n'; bytes 200 100
    gray 5
} > mixed.pnm
run mixed.pnm -e 'width($1) * 1000 + height($1) * 100 + channels($1)' -
expect_run "frames of every kind" 0 "3201|2101|1103|9201|1201|1103|1102|2201|" ""
run mixed.pnm -e 'sum(cast($1, f64)) + 0' -
expect "samples of every kind: sums, of two levels and of 100 or 1000 scaled by the library" "$status $err" "0 "

{ gray 10; printf 'P5\n2 2\n255\n'; bytes 1 2 3; } > cut.pgm
run cut.pgm -e 'mean($1)' -
expect_run "a frame that ends early" 1 "10|" "imgpar-run: standard input: frame 2 ends early"
{ gray 10; printf 'rubbish'; } > rubbish.pgm
run rubbish.pgm -e 'mean($1)' -
expect_run "rubbish between frames" 1 "10|" "imgpar-run: standard input: frame 2 is no PNM or PAM picture"
printf 'P6\n99999999999 2\n255\n' > large.ppm
run large.ppm -e 'mean($1)' -
expect_run "a header that cannot be" 1 "" "imgpar-run: standard input: frame 1: its header has a number that is too large"
printf 'P6\n16000000 16000000\n255\nxyz' > huge.ppm
run huge.ppm -e 'mean($1)' -
expect_run "a header that promises too much takes no memory" 1 "" "imgpar-run: standard input: frame 1 ends early"
run empty -e 'mean($1)' -
expect "no frame: status" "$status" 1

# ---- Y4M -----------------------------------------------------------------------------------------------

# y4m SPACE PLANES...: a header of 4 x 2; each of PLANES is a list of the bytes of a frame.
y4m() {
    printf 'YUV4MPEG2 W4 H2 F30000:1001 Ip A1:1 C%s\n' "$1"
    shift
    for planes in "$@"; do
        printf 'FRAME\n'
        # shellcheck disable=SC2086
        bytes $planes
    done
}

# rgb RED BLUE BLACK RANGE MIDDLE SPREAD FULL Y U V: three levels, by the definition of BT.601 and its kin.
rgb() {
    awk -v kr="$1" -v kb="$2" -v black="$3" -v range="$4" -v middle="$5" -v spread="$6" -v full="$7" -v y="$8" -v u="$9" -v v="${10}" '
        function level(t) { t = t * full; t = t < 0 ? 0 : t > full ? full : t; return int(t + 0.5) }
        BEGIN {
            l = (y - black) / range; b = l + 2 * (1 - kb) * (u - middle) / spread; r = l + 2 * (1 - kr) * (v - middle) / spread
            g = (l - kr * r - kb * b) / (1 - kr - kb)
            printf "%d %d %d", level(r), level(g), level(b)
        }'
}

y4m 444 "16 235 81 145 41 210 170 106  128 128 90 54 240 16 166 202  128 128 240 34 110 146 16 222" > colours.y4m
run colours.y4m -e 'slice($1, [0 0], [1 4])' -
expect_run "black, white, and two colours of BT.601" 0 \
    "[[0 0 0; 255 255 255; $(rgb 0.299 0.114 16 219 128 224 255 81 90 240); $(rgb 0.299 0.114 16 219 128 224 255 145 54 34)]]|" ""
run colours.y4m --matrix=709 -e 'slice($1, [1 0], [2 2])' -
expect_run "BT.709" 0 "[[$(rgb 0.2126 0.0722 16 219 128 224 255 41 240 110); $(rgb 0.2126 0.0722 16 219 128 224 255 210 16 146)]]|" ""
run colours.y4m --matrix=2020 -e 'slice($1, [1 2], [2 4])' -
expect_run "BT.2020" 0 "[[$(rgb 0.2627 0.0593 16 219 128 224 255 170 166 16); $(rgb 0.2627 0.0593 16 219 128 224 255 106 202 222)]]|" ""
sed 's/C444/C444 XCOLORRANGE=FULL/' colours.y4m > full.y4m
run full.y4m -e 'slice($1, [0 2], [1 4])' -
expect_run "the full range" 0 "[[$(rgb 0.299 0.114 0 255 128 255 255 81 90 240); $(rgb 0.299 0.114 0 255 128 255 255 145 54 34)]]|" ""
run full.y4m -e 'white($1)' -
expect_run "the full range: white" 0 "255|" ""
run full.y4m -e '$1' - -o - --format=pnm
expect "the full range, saved" "$(tail -c 24 out.txt | head -c 12 | od -An -tu1 | tr -s ' \n' ' ')" \
    " $(rgb 0.299 0.114 0 255 128 255 255 16 128 128) $(rgb 0.299 0.114 0 255 128 255 255 235 128 128)$(
    ) $(rgb 0.299 0.114 0 255 128 255 255 81 90 240) $(rgb 0.299 0.114 0 255 128 255 255 145 54 34) "
y4m "mono XCOLORRANGE=FULL" "0 1 50 100 150 200 254 255" > gray.y4m
run gray.y4m -e '$1' - -o - --format=pnm
expect "gray of the full range, saved" "$(tail -c 8 out.txt | od -An -tu1 | tr -s ' \n' ' ')" " 0 1 50 100 150 200 254 255 "

# Colour differences between two samples, 40 and 200, where each format has them.
for row in "420jpeg 0.25" "420mpeg2 0.5" "422 0.5"; do
    space=${row% *} at=${row#* }
    rows=1
    [ "$space" = 422 ] && rows=2
    chroma="40 200" neutral="128 128"
    [ $rows = 2 ] && chroma="$chroma $chroma" neutral="$neutral $neutral"
    y4m "$space" "100 100 100 100 100 100 100 100 $chroma $neutral" > ramp.y4m
    run ramp.y4m -e 'slice($1, [0 1], [1 2])' -
    expect_run "$space: the second pixel" 0 "[[$(rgb 0.299 0.114 16 219 128 224 255 100 "$(awk "BEGIN { print 40 + 160 * $at }")" 128)]]|" ""
done

# What is only passed on is as it was, to within a level of rounding.
for space in 420jpeg 420mpeg2 420paldv 422 444 mono; do
    case $space in
    420*) colours="120 121 133 134" ;;
    422) colours="120 121 122 123 134 133 132 131" ;;
    444) colours="120 121 122 123 124 125 126 127 128 129 130 131 132 133 134 135" ;;
    mono) colours= ;;
    esac
    y4m "$space" "90 100 110 120 130 140 150 160 $colours" "60 70 80 90 95 100 105 110 $colours" > in.y4m
    run in.y4m -e '$1' - -o -
    expect "$space passes: status" "$status $err" "0 "
    expect "$space passes: header" "$(head -n 1 out.txt)" "$(head -n 1 in.y4m)"
    expect "$space passes: size" "$(wc -c < out.txt)" "$(wc -c < in.y4m)"
    far=$(cmp -l in.y4m out.txt | awk '{ a = int($2 / 100) * 64 + int($2 % 100 / 10) * 8 + $2 % 10
        b = int($3 / 100) * 64 + int($3 % 100 / 10) * 8 + $3 % 10; if (a - b > 1 || b - a > 1) n++ } END { print n + 0 }')
    expect "$space passes: bytes that are off by more than one" "$far" 0
done

# 10 bits, little-endian: 512 and 64 are (512 - 64) / 876 and 0.
{ printf 'YUV4MPEG2 W2 H1 F25:1 C444p10\nFRAME\n'; bytes 0 2 64 0 0 2 0 2 0 2 0 2; } > ten.y4m
run ten.y4m -e '$1' -
grays=$(rgb 0.299 0.114 64 876 512 896 65535 512 512 512)
expect_run "10 bits" 0 "[[$grays; 0 0 0]]|" ""
run ten.y4m -e '$1' - -o same.y4m
expect_run "10 bits, to a file" 0 "" ""
expect_same "10 bits, to a file" ten.y4m same.y4m
run colours.y4m -e 'gray($1)' - -o -
expect "gray: header" "$(head -n 1 out.txt)" "YUV4MPEG2 W4 H2 F30000:1001 Ip A1:1 Cmono"
run empty -e 'resize($1, 8, 4)' in.y4m -o larger.y4m
expect_run "a file that is named" 0 "" ""
expect "a file that is named: header" "$(head -n 1 larger.y4m)" "YUV4MPEG2 W8 H4 F30000:1001 Ip A1:1 Cmono"
run three.pgm -e 'zip($1, $1, $1)' - -o - --format=y4m
expect "Y4M of PNM: header" "$(head -n 1 out.txt)" "YUV4MPEG2 W2 H2 F25:1 Ip A1:1 C444"
expect "Y4M of PNM: size" "$(wc -c < out.txt)" $((35 + 3 * (6 + 12)))
run colours.y4m -e '$1' - -o - --format=ppm
expect "PNM of Y4M: header" "$(head -n 1 out.txt)" P6

run three.pgm -e 'mean($1)' --progress=json -
expect "progress is counted in frames" "$(sed 's/: [0-9.]*}$/: S}/' err.txt)" '{"frames": 3, "seconds": S}'
run three.pgm -e 'invert($1)' --explain - -o -
case $status$out in 0*invert*) ;; *) fail "--explain of a video: $status $out$err" ;; esac

# ---- what is refused ---------------------------------------------------------------------------------------

y4m 411 "0" > other.y4m
run other.y4m -e 'mean($1)' -
expect_run "a format that is not known" 1 "" "imgpar-run: standard input: the header of Y4M says C411, which is not known"
y4m 444 "1 2 3" > cut.y4m
run cut.y4m -e 'mean($1)' -
expect_run "planes that end early" 1 "" "imgpar-run: standard input: frame 1 ends early"
printf 'YUV4MPEG2 H2 C444\n' > no_size.y4m
run no_size.y4m -e 'mean($1)' -
expect_run "no size" 1 "" "imgpar-run: standard input: the header of Y4M tells no size"
run mixed.pnm -e 'zip($1, $1, $1)' - -o broken.y4m
expect "frames of other sizes: status" "$status" 1
[ ! -e broken.y4m ] || fail "what is not whole is there"
expect "what is not whole leaves nothing" "$(find . -name 'broken*')" ""
run colours.y4m -e 'zip($1, 255)' - -o -
expect "alpha: status" "$status" 1
run one.png -e 'mean($1 - frame(-1))' -
expect "a picture has no frame before it: status" "$status" 2
case $err in *"frame(-1) is of a video"*) ;; *) fail "a picture has no frame before it: $err" ;; esac
run three.pgm -e 'mean($1 - frame(-64))' -
expect "too far back: status" "$status" 2
run one.png -e '$1' - -o x.y4m
expect_run "a picture is no video" 2 "" \
    "imgpar-run: -o x.y4m: Y4M is written of one video: Y4M or PNM on standard input, or a file of Y4M"
run one.png -e '$1' - -o x.y4m --format=y4m
expect_run "a picture is no video" 2 "" "imgpar-run: --format=y4m is of videos: Y4M or PNM on standard input, or a file of Y4M"

cp colours.y4m own.y4m
run empty -e 'invert($1)' own.y4m -o ./own.y4m
expect_run "a video is not written over itself" 2 "" "imgpar-run: -o ./own.y4m would replace the input own.y4m"
expect_same "a video is not written over itself" colours.y4m own.y4m
run empty difference.conf own.y4m -o difference.conf --format=y4m
expect "nor over the text: status" "$status" 2
run empty -e '$1' own.y4m -o 'v{n}.y4m'
expect_run "a video is one file" 2 "" "imgpar-run: -o v{n}.y4m: a video is one file, and has no {n}"
run empty -e '$1' own.y4m -o v.png --format=y4m
expect_run "an ending that contradicts" 2 "" "imgpar-run: -o v.png and --format=y4m contradict each other"
run empty -e '$1' own.y4m -o 'new/folder/{name}-copy.y4m'
expect_same "folders are made, and names filled in" own.y4m new/folder/own-copy.y4m
ln -s own.y4m link.y4m
run inverted.pgm -e 'zip($1, $1, $1)' - -o link.y4m
[ -h link.y4m ] || fail "a link stays one"
expect "what a link points to is written" "$(head -n 1 own.y4m)" "YUV4MPEG2 W2 H2 F25:1 Ip A1:1 C444"
mkfifo pipe.y4m
cat pipe.y4m > piped &
run empty -e '$1' colours.y4m -o pipe.y4m
wait
expect_same "a pipe is written in place" colours.y4m piped
run empty -e 'mean(frame(-1))' colours.y4m
expect "a text that reads earlier frames only: status" "$status $err" "0 "
run empty difference.conf three.y4m
expect "a file that is not there" "$status $err" "1 imgpar-run: three.y4m: No such file or directory"
printf 'param k = 2\nmean($1) * 0 + mean(frame(-1)) * k\n' > param.conf
run three.pgm param.conf k=3 -
expect_run "a pipeline file with a param" 0 "30|30|60|" ""
run three.pgm -e 'mean($1 - frame(1))' -
expect "a frame to come: status" "$status" 2
case $err in *"frame(-k) takes a whole number"*) ;; *) fail "a frame to come: $err" ;; esac
y4m 444alpha "16 16 16 16 16 16 16 16 128 128 128 128 128 128 128 128 128 128 128 128 128 128 128 128 1 2 3 4 5 6 7 8" > alpha.y4m
run alpha.y4m -e 'slice($1, [0 0 3], [1 4 4])' -
expect_run "alpha" 0 "[[1; 2; 3; 4]]|" ""
run alpha.y4m -e '$1' - -o -
expect_same "alpha passes" alpha.y4m out.txt
run alpha.y4m -e 'slice($1, 0, 3, axis=2)' - -o -
expect "without alpha: header" "$(head -n 1 out.txt)" "YUV4MPEG2 W4 H2 F30000:1001 Ip A1:1 C444"
run alpha.y4m -e 'gray($1)' - -o -
expect_run "gray with alpha" 1 "" "imgpar-run: standard input: frame 1: Y4M has no gray with alpha; slice(a, 0, 1, axis=2) leaves alpha out"
for space in 420p0010 420p8 420p17 mono010 444p4294967306; do
    y4m "$space" "0" > odd.y4m
    run odd.y4m -e '$1' - -o -
    expect_run "$space" 1 "" "imgpar-run: standard input: the header of Y4M says C$space, which is not known"
done
printf 'P2 2 2 255 1 2 # 3\n 3 4\n# end\nP5\n2#x\n2\n255\nabcd\n' > comments.pnm
run comments.pnm -e 'sum(cast($1, i32))' -
expect_run "comments within and between pictures" 0 "10|394|" ""

# A reader that goes away ends the run; memory does not grow with frames.
{ for k in 1 2 3 4 5 6 7 8 9; do cat three.pgm three.pgm three.pgm three.pgm; done; } > many.pgm
{ status=0; "$imgpar_run" -e 'invert($1)' - -o - < many.pgm 2> err.txt || status=$?; echo "$status" > code; } | head -c 20 > /dev/null
case $(cat code) in
0) ;; # all fitted into the pipe
*) expect "a closed pipe" "$(cat code) $(cat err.txt)" "141 " ;;
esac
if [ -w /dev/full ]; then
    status=0
    "$imgpar_run" -e '$1' - -o - < colours.y4m > /dev/full 2> err.txt || status=$?
    expect "a full disk" "$status $(cat err.txt)" "1 imgpar-run: standard input: frame 1: No space left on device"
fi

finish
