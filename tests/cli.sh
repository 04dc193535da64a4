#!/bin/sh
# SPDX-License-Identifier: MIT
#
# cli.sh - imgpar-run: exit statuses and messages, what is printed and written, and what is
# left behind by failures. Pixels are the business of other tests.
. "${srcdir:-.}/tests/common.sh"
[ -x "$imgpar_run" ] || skip "imgpar-run is not built"
scratch
IMGPAR_DEVICE=ref
export IMGPAR_DEVICE

# run ARGUMENT...: imgpar-run; stdout goes to $out, stderr to $err, the status to $status.
run() {
    status=0
    "$imgpar_run" "$@" > out 2> err < /dev/null || status=$?
    out=$(cat out)
    err=$(cat err)
}

# expect_run CLAIM STATUS STDOUT STDERR ARGUMENT...: pins all three.
expect_run() {
    claim=$1 want_status=$2 want_out=$3 want_err=$4
    shift 4
    run "$@"
    expect "$claim: status" "$status" "$want_status"
    expect "$claim: stdout" "$out" "$want_out"
    expect "$claim: stderr" "$err" "$want_err"
}

# expect_error CLAIM STATUS FIRST-LINE-PATTERN ARGUMENT...: one message, in one line or three (with a caret).
expect_error() {
    claim=$1 want_status=$2 pattern=$3
    shift 3
    run "$@"
    expect "$claim: status" "$status" "$want_status"
    expect "$claim: stdout" "$out" ""
    first=$(head -n 1 err)
    # shellcheck disable=SC2254  # it is a pattern
    case $first in
    $pattern) ;;
    *) fail "$claim
  wanted: $pattern
  got:    $first" ;;
    esac
    lines=$(($(wc -l < err)))
    [ "$lines" -eq 1 ] || [ "$lines" -eq 3 ] || fail "$claim: $lines lines on stderr
$err"
}

# expect_files CLAIM NAMES: the folder holds these files and no others.
expect_files() {
    expect "$1" "$(find . -type f ! -name out ! -name err | sort | tr '\n' ' ')" "$2"
}

# ---- the command line: 2, before anything is opened ------------------------------------------

hint='(--help lists the options)'
expect_run "no arguments" 2 "" "imgpar-run: a pipeline file or -e EXPR is missing $hint"
expect_run "an unknown option" 2 "" "imgpar-run: unknown option --frobnicate $hint" --frobnicate
expect_run "an unknown letter" 2 "" "imgpar-run: unknown option -q $hint" -q
expect_run "an option without its value" 2 "" "imgpar-run: option --device needs a value $hint" --device
expect_run "an option with a value too many" 2 "" "imgpar-run: option --no-fuse=1 takes no value $hint" --no-fuse=1
expect_run "a bad schedule" 2 "" \
    "imgpar-run: --schedule=fast: one of auto|rows|tiles|texture|pixels|ref is expected" --schedule=fast a.conf
expect_run "a bad explain format" 2 "" "imgpar-run: --explain=xml: one of text|dot|json|cl|graph is expected" \
    --explain=xml -e 1
expect_run "explaining what is known already" 0 "nothing is left to be computed" "" --explain -e 'a = zeros([2 3])
print(width(a))'
expect "explaining a recurrence of nothing" \
    "$("$imgpar_run" --explain -e 'cumsum(full([2 4 4 0], 1), axis=2)' 2>&1 | tail -n 1)" "result: [2, 4, 4, 0] f32"
expect_run "a bad tolerance" 2 "" "imgpar-run: --verify=x: a number from 0 on is expected $hint" --verify=x -e 1
expect_run "-o without -e" 2 "" "imgpar-run: -o goes with -e; a pipeline file says itself what it saves $hint" \
    -o a.png a.conf
expect_run "a stray word" 2 "" "imgpar-run: word: NAME=VALUE is expected $hint" a.conf word
expect_run "an unknown operation in --help" 2 "" \
    "imgpar-run: unknown operation blurr (near: blur); --list-ops lists them" --help blurr
expect_run "an unknown word in --help" 2 "" \
    "imgpar-run: unknown operation itearte (near: iterate); --list-ops lists them" --help itearte
expect_run "another library's name with a hyphen" 2 "" \
    'imgpar-run: unknown operation auto_orient; that is open("FILE"), which turns a picture upright as its EXIF says' \
    --help auto-orient
run --help gray-world
case $status:$out in "0:gray_world(a"*) ;; *) fail "--help gray-world: $status $out" ;; esac
expect_run "nothing like it in --help" 2 "" "imgpar-run: unknown operation zzzzzz; --list-ops lists them" --help zzzzzz

expect_run "-o with an unknown ending" 2 "" \
    "imgpar-run: -o b.xyz: its ending tells no format; .png .jpg .npy .pnm .ppm .pgm .pam do, or --format" \
    -e 'open("none.png")' -o b.xyz
expect_run "-o without an ending" 2 "" \
    "imgpar-run: -o a.d/b: its ending tells no format; .png .jpg .npy .pnm .ppm .pgm .pam do, or --format" -e 1 -o a.d/b
expect_run "-o - without a format" 2 "" "imgpar-run: -o - needs a format: --format=png, jpeg, npy or pnm" \
    -e 'open("none.png")' -o -
expect_run "-o and --format at odds" 2 "" "imgpar-run: -o b.png and --format=jpg contradict each other" \
    --format=jpg -e 'open("none.png")' -o b.png
expect_run "a param given twice" 2 "" "imgpar-run: s is given twice $hint" a.conf s=1 t=2 s=1

expect_run "an operation instead of a pipeline" 2 "" \
    "imgpar-run: blur is an operation, not a pipeline: -e 'blur(open(\"photo.jpg\"))' -o out.png $hint" blur a.png
expect_run "spaces around =" 2 "" "imgpar-run: s =: NAME=VALUE is one word, without spaces $hint" a.conf s = 3
expect_run "a folder with its slash as -o" 2 "" "imgpar-run: -o ./ is a folder; of files -o './{name}.png' names what is written there" -e 1 -o ./
expect_run "a folder as -o" 2 "" "imgpar-run: -o . is a folder; of files -o './{name}.png' names what is written there" -e 1 -o .
expect_run "a file without -o" 2 "" \
    "imgpar-run: b.png: nothing reads it: \$1 in the text would, or -o OUT with it $hint" -e 1 b.png

expect_run "--trace without a name" 2 "" "imgpar-run: --trace= names no file $hint" --trace= -e 1
expect_run "--trace before a picture" 2 "" \
    "imgpar-run: --trace=b.png: that is the name of a picture or a video, and a trace is JSON $hint" --trace b.png -e 1

# What does not go with --explain and --tune: those of options.c are those of the manual page.
in_table() { # CODE: of the pairs with it the others, as they are typed
    sed -n -e "s/^ *{ $1, \([^,]*\),.*/\1/p" -e "s/^ *{ \([^,]*\), $1,.*/\1/p" "$top_srcdir/src/cli/options.c" |
        grep -v '"' | sed -e "s/^'\(.\)'\$/-\1/" -e 's/^OPT_/--/' | tr A-Z_ a-z- | sort
}
in_manual() { # NAME: the options that its paragraph lists, one a line
    awk -v name="$1" '
        { gsub(/\\-/, "-") }
        is_head { is_own = index($2, "--" name) == 1; is_head = 0; next }
        /^\.TP/ { is_head = 1 }
        is_own && /^\.BR? -/ { print $2 }' "$top_srcdir/src/cli/imgpar-run.1" | sort
}
for name in explain tune; do
    code=OPT_$(echo $name | tr a-z A-Z)
    [ -n "$(in_table "$code")" ] || fail "no option is found that excludes --$name"
    expect "what the manual says does not go with --$name" "$(in_manual $name)" "$(in_table "$code")"
done

# What cannot both be meant.
together() { # FIRST SECOND WHY
    expect_run "--$1 with --$2" 2 "" "imgpar-run: --$1 and --$2 do not go together: $3 $hint" "--$2${4:-}" "--$1" -e 1
}
for other in tune verify profile; do together explain $other "--explain computes nothing"; done
together explain trace "--explain computes nothing" =t.json
for other in verify profile; do together tune $other "--tune only measures"; done
together tune trace "--tune only measures" =t.json
together tune no-fuse "--tune tries what is forced, and all else"
together tune schedule "--tune tries what is forced, and all else" =rows
for alone in list-ops list-devices version; do
    expect_run "--$alone with an expression" 2 "" "imgpar-run: --$alone is given alone $hint" "--$alone" -e 1
done
expect_run "--version twice is --version" 0 "$("$imgpar_run" --version)" "" --version --version
run -e 1 --help
case $status:$out in "0:usage: imgpar-run "*) ;; *) fail "--help beside an expression: $status $out" ;; esac

# ---- the text: 2, with a place, before anything is opened ---------------------------------------

expect_run "an unknown operation" 2 "" "imgpar-run: -e:1:1: unknown operation blurr (near: blur)
blurr(open(\"none.png\"))
^" -e 'blurr(open("none.png"))'
expect_error "sigma=-1" 2 'imgpar-run: -e:1:24: blur: sigma=-1 is below 0' -e 'blur(open("none.png"), -1)'
expect_error "a syntax error" 2 'imgpar-run: -e:1:4: expected a value, found *' -e '1 +'
expect_error "-o without an expression" 2 'imgpar-run: -o needs -e to end with an expression' \
    -e 'save(1, "a.npy")' -o b.npy
expect_error "no size" 2 'imgpar-run: -e:1:26: resize: width or height or scale is needed' \
    -e 'resize(open("none.png"), 0, 0)' -o b.png
printf 'param s = 2\nprint(blur(open("none.png"), s))\n' > a.conf
expect_error "a param out of its range" 2 'imgpar-run: a.conf:2:30: blur: sigma=-1 is below 0' a.conf s=-1
expect_error "a param that is no number" 2 'imgpar-run: s=big: param s is a number' a.conf s=big
expect_error "an unknown param" 2 'imgpar-run: a.conf has no param t; its params are s' a.conf t=1
expect_error "a param of a text without params" 2 'imgpar-run: -e has no params; param in = ... makes one' \
    -e 'blur(in, 2)' in=photo.png
expect_error "a text error is found before a device" 2 'imgpar-run: -e:1:1: unknown name nope*' \
    --device=no-such-device -e nope
expect_run "nothing in -e" 2 "" \
    'imgpar-run: -e:1:1: nothing is saved or printed: save(expr, "FILE") or print(expr) is expected' -e ""
expect_error "half a device" 2 'imgpar-run: device: a device is missing beside a plus sign' --device=cpu+ -e 1
for pair in "SCHEDULE=fast: one of auto|rows|tiles|texture|pixels|ref" "FUSE=yes: 0 or 1" "MAX_PIXELS=0: a number above 0"; do
    status=0
    env "IMGPAR_${pair%%:*}" "$imgpar_run" -e 1 2> err || status=$?
    expect "a bad variable: status" "$status" 2
    case $(cat err) in
    "imgpar-run: IMGPAR_$pair is expected"*) ;;
    *) fail "a bad variable: $(cat err)" ;;
    esac
done
for schedule in rows tiles pixels; do # the variable is the default of the option, whatever was measured
    IMGPAR_SCHEDULE=$schedule
    export IMGPAR_SCHEDULE
    run --device=cpu --explain -e 'save(blur(make(64, 64, x), 2), "b.png")'
    case $status:$out in *"schedule $schedule,"*) ;; *) fail "IMGPAR_SCHEDULE=$schedule: $status $out $err" ;; esac
    run --device=cpu --schedule=tiles --explain -e 'save(blur(make(64, 64, x), 2), "b.png")'
    case $status:$out in *"schedule tiles,"*) ;; *) fail "--schedule over the variable: $status $out $err" ;; esac
done
unset IMGPAR_SCHEDULE
head -c 1048577 /dev/zero | tr '\0' ' ' > big.conf
expect_error "a text of more than 1 MiB" 2 'imgpar-run: big.conf: the text has 1048577 bytes*' big.conf
rm big.conf

# ---- later failures: 1 -----------------------------------------------------------------------------

expect_error "a missing pipeline" 1 'imgpar-run: none.conf: No such file or directory' none.conf
expect_error "a missing image" 1 'imgpar-run: a.conf:2:12: *none.png: No such file or directory' a.conf
expect_error "a missing device" 1 'imgpar-run: *no-such-device*' --device=no-such-device -e 1
echo "just text" > text.png
expect_error "a text named .png" 1 'imgpar-run: -e:1:1: *text.png: *' -e 'open("text.png")' -o b.png
expect_error "a fold over a row that a device cannot count" 1 \
    'imgpar-run: -e:1:1: *: a row of 3000000000 elements is too long for this device' --device=cpu \
    -e 'sum(make(shape=[1 1 100000 30000], expr=1))'
expect_error "sizes that differ" 1 'imgpar-run: -e:1:15: +: *' -e 'make(4, 4, x) + make(5, 5, x)' -o b.png
expect_error "a picture without -o" 1 'imgpar-run: -e:1:1: this expression gives [[]9, 9[]] i32, which goes nowhere*' \
    -e 'make(9, 9, x)'
expect_error "alpha as PPM" 1 'imgpar-run: -e:1:1: save: b.ppm: ppm holds no alpha, and the image has 4 channels; .pam and .png hold it' \
    -e 'save(make(4, 4, x, channels=4), "b.ppm")'
for background in '#ff8000' '[255 128 0]'; do
    IMGPAR_DEVICE=ref "$imgpar_run" -e 'fill(8, 8, 0, channels=4)' --save="quality=90, background=$background" -o - \
        --format=jpeg | cksum
    [ "$background" = '#ff8000' ] && background='"#ff8000"'
    IMGPAR_DEVICE=ref "$imgpar_run" -e "save(fill(8, 8, 0, channels=4), \"-\", format=jpeg, quality=90, background=$background)" |
        cksum
done | uniq > sums
expect "a background by its levels, by name and in both places" "$(wc -l < sums | tr -d ' ')" 1
rm sums
expect_error "alpha as PGM" 1 'imgpar-run: save: b.pgm: pgm holds no alpha, and the image has 2 channels; .pam and .png hold it' \
    -e 'make(4, 4, x, channels=2)' -o b.pgm
expect_error "RGB as PGM" 1 \
    'imgpar-run: save: b.pgm: pgm holds one gray channel, and the image has 3; .ppm and .pnm hold them, gray() makes one of them' \
    -e 'make(4, 4, x, channels=3)' -o b.pgm
expect_error "gray as PPM" 1 'imgpar-run: -e:1:1: save: b.ppm: ppm holds red, green and blue, and the image is gray; .pgm and .pnm hold it' \
    -e 'save(make(4, 4, x), "b.ppm")'
expect_error "more lines than are sorted at once" 1 \
    'imgpar-run: sort: more than 8388607 lines along the axis; slice() takes some of them' --device=cpu \
    -e 'sort(make(shape=[8388608 2 1], expr=x), axis=1)' -o b.npy
expect_error "a slip of zeros in a size" 1 \
    'imgpar-run: save: b.png: 1000000 x 1000000 pixels are above the limit of 17179869184, 64 times max_pixels (IMGPAR_MAX_PIXELS or --max-pixels raises it)' \
    -e 'resize(make(4, 4, x), 1000000, 1000000)' -o b.png
expect_error "the same, and a larger limit" 1 \
    'imgpar-run: -e:1:1: save: b.png: 1000000 x 1000000 pixels are above the limit of 68719476736, *' \
    --max-pixels=1G -e 'save(resize(make(4, 4, x), 1000000, 1000000), "b.png")'
expect_error "a smaller max_pixels limits no result further" 1 \
    'imgpar-run: save: b.png: 1000000 x 1000000 pixels are above the limit of 17179869184, *' \
    --max-pixels=9 -e 'resize(make(4, 4, x), 1000000, 1000000)' -o b.png
expect_run "a literal keeps its double" 0 "1000000000.5" "" -e '1e9 + 0.5'
expect_error "an extent below 0" 2 'imgpar-run: -e:1:7: zeros: shape has -1, which is below 0' -e 'zeros([-1])'
expect_error "a step of 0" 2 'imgpar-run: -e:1:14: arange: step must not be 0' -e 'arange(0, 3, 0)'
expect_error "a result beyond the memory" 1 'imgpar-run: random: 40000000000000000 bytes are over the memory limit of * bytes' \
    --format=npy -e 'random([10000 1000000 1000000])' -o -
expect_error "a folder that is not there" 1 'imgpar-run: *none/b.png: there is no folder none' \
    -e 'make(4, 4, x)' -o none/b.png
expect_error "a save to standard output without a format" 2 'imgpar-run: -e:1:1: save: standard output needs a format*' \
    -e 'save(open("none.png"), "-")'
expect_error "standard input opened twice" 2 'imgpar-run: -e:1:13: open: standard input can be read once*' \
    -e 'open("-") + open("-")' -o b.png
printf 'print(1)\0' > zero.conf
expect_error "a zero byte in a pipeline" 1 'imgpar-run: zero.conf: a pipeline is text, this has a zero byte' zero.conf
rm zero.conf
expect_files "failures leave nothing" "./a.conf ./text.png "

# ---- what is printed and written --------------------------------------------------------------------

expect_run "a number" 0 "7" "" -e '1 + 2 * 3'
expect_run "an array of one element" 0 "1.5" "" -e 'mean(make(4, 1, x))'
expect_run "a structuring element" 0 "[4 4 3 3]" "" -e 'median(numbers([4 2 1 3]), element=[1 0 1])'
expect_run "a small array" 0 "[0 1; 0 1]" "" -e 'make(2, 2, x)'
expect_run "a program in -e" 0 "3
hello" "" -e 'a = 1; print(a + 2); print("hello")'
expect_run "an expression into a file" 0 "" "" -e 'make(5, 4, x * 50 + y)' -o b.png
expect_run "and back" 0 \
    "[[0; 50; 100; 150; 200] [1; 51; 101; 151; 201] [2; 52; 102; 152; 202] [3; 53; 103; 153; 203]]" "" \
    -e 'open("b.png")'
"$imgpar_run" --format=pnm -e 'make(3, 1, x + 65)' -o - > b.pnm 2> err || fail "-o -: $(cat err)"
expect "a file on standard output" "$(tail -c 3 b.pnm)" "ABC"
printf 'a = make(3, 1, x)\nprint("first")\nsave(a + 65, "-", format=pnm)\nprint("last")\n' > order.conf
run order.conf
expect "prints and saves keep their order" "$(tr -d '\0' < out | sed -n '1p;$p' | tr '\n' ' ')" "first ABClast "
printf 'param n = 1\nparam t = "x"\nprint(n + 1, t)\n' > params.conf
expect_run "params have defaults" 0 "2 x" "" params.conf
expect_run "params are set" 0 "4.5 a b" "" params.conf n=3.5 't=a b'
echo 'print(6 * 7)' | "$imgpar_run" - > out 2> err || fail "a pipeline on standard input: $(cat err)"
expect "a pipeline on standard input" "$(cat out)" "42"

expect_run "floats from 0 to 1 are saved with a range" 0 "" "" \
    -e 'save(make(5, 1, x == 4 ? 7.5 : x == 0 ? -0.5 : x == 1 ? 0.2 : x == 2 ? 0.5 : 1.0), "r.png", range=1)'
expect_run "and come back" 0 "[[0; 51; 128; 255; 255]]" "" -e 'open("r.png")'
"$imgpar_run" -e 'save(make(3, 1, x * 50), "r.png", range=100, bits=16)' &&
    expect_run "with 16 bits" 0 "[[0; 32768; 65535]]" "" -e 'open("r.png")'
rm r.png

expect_run "an image instead of a pipeline" 2 "" \
    "imgpar-run: b.png is an image, not a pipeline: -e 'blur(open(\"b.png\"))' -o out.png" b.png
expect_run "floats that look black" 0 "" \
    "imgpar-run: warning: save: r.png: no value is above 1, which looks black; range=1 makes 1 white" \
    -e 'make(4, 1, x / 4)' -o r.png
expect_run "a picture over its white is a picture from 0 to 1" 0 "" "" -e 'open("b.png") / 255' -o r.png
expect_run "floats that look white" 0 "" \
    "imgpar-run: warning: save: r.png: all values are above the largest level, which looks white; range=65535 makes 65535 white" \
    -e 'make(3, 1, x * 0.0 + 300)' -o r.png
expect_run "integers that look white" 0 "" \
    "imgpar-run: warning: save: r.png: all values are above the largest level, which looks white; range=65535 makes 65535 white" \
    -e 'full([4 4], 300, dtype=i32)' -o r.png
expect_run "integers beyond 16 bits" 0 "" \
    "imgpar-run: warning: save: r.png: all values are above the largest level, which looks white; normalize() goes from the least to the largest" \
    -e 'arange(70000, 70016) + zeros([4 16], dtype=i32)' -o r.png
for dtype in f32 i32; do
    expect_run "values that are negative, $dtype" 0 "" \
        "imgpar-run: warning: save: r.png: no value is above 0, and some are below, which looks black; npy keeps them" \
        -e "full([4 4], -5, dtype=$dtype)" -o r.png
done
expect_run "integers of all kinds" 0 "" "" -e 'make(5, 1, x * 200 - 300)' -o r.png
expect_run "integers that are all 0" 0 "" "" -e 'full([4 4], 0, dtype=i32)' -o r.png
expect_run "floats of all kinds" 0 "" "" -e 'make(3, 1, x * 300.5)' -o r.png
expect_run "floats that are all 0" 0 "" "" -e 'open("b.png") * 0.0' -o r.png
expect_run "floats in NPY" 0 "" "" -e 'open("b.png") / 255' -o r.npy
rm r.npy r.png
head -c 50 b.png > cut.png
expect_error "a damaged file is told where it is saved" 1 "imgpar-run: -e:2:1: cut.png: PNG: *" \
    -e 'save(make(4, 4, x), "r.png")
save(open("cut.png"), "s.png")'
rm cut.png

# Standard input is read once, however often the pipeline is built.
for words in "" "--verify" "--explain"; do
    # shellcheck disable=SC2086  # one word or none
    "$imgpar_run" $words -e 'fn src() = open("-"); a = src(); print(width(a), mean(a) >= 0)' < b.png > out 2> err ||
        fail "open(\"-\") $words: $(cat err)"
    [ "$words" = --explain ] || expect "open(\"-\") $words" "$(cat out)" "5 true"
done
"$imgpar_run" --format=png -e 'make(3, 3, x)' -o noending 2> err || fail "--format with -o: $(cat err)"
[ -s noending ] || fail "--format with -o writes no file"
rm -f noending

# A path in a file is relative to the file; one on the command line to the current folder.
mkdir sub
printf 'param in = "b.png"\nsave(open(in), "copy.png")\n' > sub/c.conf
cp b.png sub/b.png
expect_run "paths are relative to the file" 0 "" "" sub/c.conf
expect_run "and on the command line to here" 0 "" "" sub/c.conf in=b.png
expect "a saved file lies beside its pipeline" "$(find . -name copy.png)" "./sub/copy.png"

# ---- information ---------------------------------------------------------------------------------------

run --version
case $status:$out in "0:imgpar-run "[0-9]*) ;; *) fail "--version: $status $out $err" ;; esac
run --help
case $status:$out in "0:usage: imgpar-run "*--explain*--verify*) ;; *) fail "--help: $status $out" ;; esac
run --help blur
case $status:$out in "0:blur(a, sigma="*parameters:*computes:*example:*) ;; *) fail "--help OP: $status $out" ;; esac
for word in make iterate stencil reduce save print param fn width x _ '$1' '[]' at select sqrt '**' '?:' - div; do
    run --help "$word"
    expect "--help $word: status" "$status$err" 0
    [ -n "$out" ] || fail "--help $word says nothing"
done
expect_run "an operator is explained" 0 "a % b

  floored remainder
  computes: a - b floor(a / b), 0 where b is 0; floats with fma()" "" --help %
expect_run "a form is explained" 0 "make(width, height, expr, channels=, shape=)

  an array from an expression in x, y, z and c
  The result is [height, width] and has the channels of expr: make(256, 64, zip(x, y, 0)).
  With channels=n it has n, and c counts them. shape=[...], 1 to 8 extents from the first axis on,
  stands for width, height and channels: make(shape=[5 64 64 1], expr=z). Of more than 4 axes
  y, x and c are the last three; indices() has the others.
  Random numbers need no shape in it, make(64, 64, x + normal(seed=3)), as beside arrays: a + normal(sigma=9).
  sobol_at(x, 0) is number x of Sobol's sequence.

example:
  make(256, 64, x)" "" --help make
run --help exposure_fusion # the formula is a long program
case $status:$out in "0:exposure_fusion("*parameters:*exposedness*computes:*example:*) ;; *) fail "--help of a long row" ;; esac
run --list-ops
case $status:$out in 0:*blur*iterate*save*'**'*) ;; *) fail "--list-ops: $status $out" ;; esac
"$imgpar_run" --list-ops | while read -r name rest; do
    [ -z "$rest" ] || "$imgpar_run" --help "$name" > help 2>&1 || echo "$name" >> unhelped
done
[ ! -f unhelped ] || fail "--help fails for: $(cat unhelped)"
rm -f help
run --list-devices
case $status:$out in 0:*ref*) ;; *) fail "--list-devices: $status $out" ;; esac
for format in text dot json cl graph; do
    run --explain=$format -e 'a = make(9, 9, x); a + boxblur(cast(a, u8))'
    [ "$status:${out:+text}" = 0:text ] || fail "--explain=$format: $status $err"
done
# What passes leave, by their names in the order they run in, or by other words; of those that ran, which are few for the
# interpreter.
passes() {
    IMGPAR_TIER=kernels IMGPAR_DUMP=operations,graph,looks,fuse,decimate,expr "$imgpar_run" --device="$1" \
        -e 'maxval(make(9, 9, x))' 2>&1 | sed -n 's/^---- after \(.*\) ----$/\1/p' | tr '\n' ' '
}
expect "the passes of a kernel" "$(passes cpu)" "lower decimate narrow fuse operations "
expect "the passes of the interpreter" "$(passes ref)" "lower "
# How loops make the elements of rows; lanes, and the registers that values take, depend on the processor.
rows() {
    IMGPAR_TIER=kernels IMGPAR_DUMP=plan "$imgpar_run" --device=cpu -o rows.npy -e "$1" 2>&1 |
        sed -n 's/, [0-9]* registers//; s/^    \(columns by \)*\(.*[a-zA-Z]\), [0-9]* lanes/\2/p' | tr '\n' ';'
}
expect "a loop over pixels" "$(rows 'make(9, 9, x) + 1')" 'PIXELS, made pixels;'
expect "a flat loop" "$(rows 'sqrt(zeros([9, 9, 3], f32))')" 'FLAT, made flat;'
expect "sums that are carried along" \
    "$(rows 'boxblur(make(90, 60, x), 31)')" 'PIXELS, made pixels;RUNNING;PIXELS, made pixels;PIXELS, made pixels;'
expect "a fold" "$(rows 'histogram(make(9, 9, cast(x, u8)))')" 'stage 2 is folded by BINS, pixels;'
expect "a recurrence" "$(rows 'cumsum(zeros([60, 90], f32), axis=1)')" 'lines by 8, steps by 4, flat;'
rm rows.npy
run --explain -e 'save(make(4, 4, x), "never.png")'
[ ! -f never.png ] || fail "--explain computes nothing"
run --profile -e 'make(4, 4, x)' -o b.png
case $status:$err in 0:*ms*GB/s*encode*) ;; *) fail "--profile: $status $err" ;; esac
run --profile=json -e 'make(4, 4, x)' -o b.png
case $status:$err in '0:{"events": ['*'"kind": "encode"'*'], "copy_gb_per_s": '*'}') ;;
*) fail "--profile=json: $status $err" ;;
esac
run --trace=t.json -e 'make(4, 4, x)' -o b.png
case $status:$(cat t.json) in '0:{"displayTimeUnit": "ms", "traceEvents": ['*'"ph": "X"'*'"cat": "encode"'*']}') ;;
*) fail "--trace: $status $err" ;;
esac
rm t.json
expect_run "--trace where no file can be" 1 "" "imgpar-run: --trace=no/t.json: No such file or directory" \
    --trace=no/t.json -e 'make(4, 4, x)' -o b.png
expect_run "--mem-limit" 0 "" "" --mem-limit=64M -e 'make(4, 4, x)' -o b.png
expect_run "--mem-limit=auto" 0 "" "" --mem-limit=auto -e 'make(4, 4, x)' -o b.png
cat b.png b.png > pngs
status=0
"$imgpar_run" -e 'mean(open("-"))' < pngs > out 2> err || status=$?
expect "two PNGs are not silently one" "$status $(head -n 1 err)" \
    "1 imgpar-run: -e:1:6: standard input: more PNGs follow the first one; PNM and Y4M may have several frames"
rm pngs
expect_run "a picture" 0 "" "" -e 'cast(make(4000, 3000, x % 200), u8)' -o big.jpg
expect_run "--mem-limit of what streams" 0 "" "" --mem-limit=20M -e '$1' big.jpg -o big2.jpg
expect_run "--mem-limit of what is held" 1 "" \
    "imgpar-run: big.jpg: has to be held whole, which takes 11719 kB; 8192 kB are left of the limit on host memory" \
    --mem-limit=8M -e 'sort($1, axis=0)' big.jpg -o never.png
[ ! -f never.png ] || fail "--mem-limit writes what does not fit"
rm big.jpg big2.jpg
expect_run "--mem-limit without a number" 2 "" \
    "imgpar-run: --mem-limit=much: auto is expected, a number of bytes, or one with K, M or G" \
    --mem-limit=much -e 'make(4, 4, x)' -o b.png
IMGPAR_DEVICE=quantum run -e 'print(1)'
case $status:$err in "1:imgpar-run: IMGPAR_DEVICE: device \"quantum\": no such device; there are: "*) ;;
*) fail "IMGPAR_DEVICE: $status $err" ;;
esac
shared_cache=$IMGPAR_CACHE_DIR
IMGPAR_CACHE_DIR=$PWD/kept
run --device=cpu --tune -e 'save(boxblur(boxblur(make(64, 64, x))), "never.png")'
case $status:$out in 0:"schedule auto: "*"schedule pixels: "*"vector_bytes 64: "*" ms"*"strip_bytes 24K: "*"max_stages 1: "*)
    [ -n "$(ls kept)" ] || fail "--tune keeps nothing" ;;
1:) ;; # no OpenCL device
*) fail "--tune: $status $out $err" ;; esac
[ ! -f never.png ] || fail "--tune saves nothing"
IMGPAR_CACHE_DIR=$shared_cache
rm -rf kept
expect_run "--tune where nothing can be kept" 1 "" "imgpar-run: --tune: there is no OpenCL device to tune for" \
    --device=ref --tune -e 'make(4, 4, x)'
expect_run "--verify" 0 "" "verify: max difference 0, allowed 1" --verify -e 'make(4, 4, x)' -o b.png

# ---- pipes, full disks, interrupts -----------------------------------------------------------------------

for file in large.npy "$PWD/large.npy"; do
    status=0
    "$imgpar_run" -e 'zeros([1000000000, 1000000000])' -o "$file" > out 2> err || status=$?
    expect "more than a disk has room for, $file: status" "$status" 1
    expect "more than a disk has room for, $file" "$(sed 's/for [0-9]*$/for N/' err)" \
        "imgpar-run: save: $file: it will have 4000000000000 MB or more, and there is room for N"
done

if [ -c /dev/full ]; then
    for words in "--help" "--list-ops" "-e 1+1" "--version"; do
        status=0
        # shellcheck disable=SC2086  # words are words
        "$imgpar_run" $words > /dev/full 2> err || status=$?
        expect "$words on a full disk: status" "$status" 1
        expect "$words on a full disk" "$(cat err)" "imgpar-run: standard output: No space left on device"
    done
    status=0
    "$imgpar_run" --format=png -e 'make(4, 4, x)' -o - > /dev/full 2> err || status=$?
    expect "a picture on a full disk: status" "$status" 1
    expect "a picture on a full disk: lines" "$(wc -l < err | tr -d ' ')" 1
fi
{ status=0; "$imgpar_run" --list-ops 2> err || status=$?; echo "$status" > closed; } | :
case $(cat closed):$(cat err) in
0: | 141:) ;;
*) fail "a closed pipe: $(cat closed) $(cat err)" ;;
esac
rm -f closed

# How far a process has come: on a busy machine a second of the clock is not enough to begin. Without /proc it has to be.
# until_it_computes PID: until it has used a processor for a second.
until_it_computes() {
    [ -r "/proc/$1/stat" ] || sleep 1
    second=$(getconf CLK_TCK)
    while ticks=$(awk '{ print $3 == "Z" ? "ended" : $14 + $15 }' "/proc/$1/stat" 2> /dev/null) && [ "$ticks" -lt "$second" ] 2> /dev/null; do
        sleep 0.1
    done
}
# until_it_waits PID: until it is asleep in five looks.
until_it_waits() {
    [ -r "/proc/$1/stat" ] || sleep 1
    n_asleep=0
    while [ "$n_asleep" -lt 5 ] && state=$(awk '{ print $3 }' "/proc/$1/stat" 2> /dev/null) && [ "$state" != Z ]; do
        if [ "$state" = S ]; then n_asleep=$((n_asleep + 1)); else n_asleep=0; fi
        sleep 0.2
    done
}

# A pipeline that would take minutes, interrupted.
"$imgpar_run" -e 'iterate(make(2000, 2000, cast(x, f32)), 100000, sqrt(_ + 1))' -o long.png 2> err &
pid=$!
until_it_computes "$pid"
kill -TERM "$pid"
status=0
wait "$pid" || status=$?
expect "interrupted: status" "$status" 143
expect "interrupted: stderr" "$(cat err)" "imgpar-run: interrupted"
[ ! -f long.png ] || fail "interrupted: nothing is written"

# A shell says so of what a signal has ended, and not of an exit status.
(until [ -s pid ]; do sleep 1; done; sleep 1; kill -TERM "$(cat pid)") &
status=0
run_long='echo $$ > pid; exec "$0" -e "iterate(make(2000, 2000, cast(x, f32)), 100000, sqrt(_ + 1))" -o long.png'
sh -c 'sh -c "$1" "$0"; exit $?' "$imgpar_run" "$run_long" 2> err || status=$?
expect "ended by the signal: status" "$status" 143
case $(cat err) in *Terminated*) ;; *) fail "ended by the signal: $(cat err)" ;; esac
rm -f pid

# Waiting for standard input: one signal is enough.
mkfifo fifo
"$imgpar_run" -e 'mean(open("-"))' < fifo > out 2> err &
pid=$!
exec 3> fifo
until_it_waits "$pid"
kill -TERM "$pid"
status=0
wait "$pid" || status=$?
exec 3>&-
expect "interrupted before anything is computed: status" "$status" 143
expect "interrupted before anything is computed: output" "$(cat out err)" ""

# Waiting for the reader of what is written, which the first one cannot end: two are.
"$imgpar_run" --device=ref --format=png -e 'make(4, 4, x)' -o fifo 2> err &
pid=$!
until_it_waits "$pid"
kill -TERM "$pid"
sleep 1
kill -HUP "$pid"
status=0
wait "$pid" || status=$?
expect "a second signal: status" "$status" 129
rm fifo
expect_files "nothing is left behind" "./a.conf ./b.png ./b.pnm ./order.conf ./params.conf ./sub/b.png ./sub/c.conf \
./sub/copy.png ./text.png "
finish
