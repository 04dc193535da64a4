#!/bin/sh
# SPDX-License-Identifier: MIT
#
# cli_folders.sh - imgpar-run for many files: which are taken, what is written where, what is refused before anything is written,
# and what becomes of the others where one fails.
# shellcheck disable=SC2016  # $1 is for the pipeline
. "${srcdir:-.}/tests/common.sh"
[ -x "$imgpar_run" ] || skip "imgpar-run is not built"
scratch
IMGPAR_DEVICE=ref
export IMGPAR_DEVICE

# run ARGUMENT...: imgpar-run; stdout goes to $out, stderr to $err, the status to $status.
run() {
    status=0
    "$imgpar_run" "$@" > out.txt 2> err.txt < "${stdin:-/dev/null}" || status=$?
    out=$(cat out.txt)
    err=$(cat err.txt)
}

# expect_run CLAIM STATUS STDERR ARGUMENT...: pins both; nothing may be on stdout.
expect_run() {
    claim=$1 want_status=$2 want_err=$3
    shift 3
    run "$@"
    expect "$claim: status" "$status" "$want_status"
    expect "$claim: stdout" "$out" ""
    expect "$claim: stderr" "$err" "$want_err"
}

# expect_files CLAIM FOLDER NAMES: the files in the folder and below, and no others.
expect_files() {
    expect "$1" "$(cd "$2" 2> err.txt && find . -type f | sort | tr '\n' ' ')" "$3"
}

# expect_pixels CLAIM FILE EXPR: the file holds what EXPR gives.
expect_pixels() {
    got=$("$imgpar_run" -e "sum(abs(cast(open(\"$2\"), i32) - cast($3, i32)))" 2>&1)
    expect "$1" "$got" 0
}

draw='make(7, 5, x * 9 + y)'
mkdir -p in/deep/er
for name in a b c; do
    "$imgpar_run" -e "$draw" -o "in/$name.png" || fail "drawing"
done
"$imgpar_run" -e "make(7, 5, x * 9 + y, channels=3)" -o in/deep/d.jpg || fail "drawing"
"$imgpar_run" -e "$draw" -o in/deep/er/e.pgm || fail "drawing"
"$imgpar_run" -e "$draw" -o in/.hidden.png || fail "drawing"
echo text > in/deep/notes.txt
name='{name}' dir='{dir}'

# ---- numbers are printed ------------------------------------------------------------------------

run -e "mean(cast(\$1, f32))" in/a.png
expect "the number of one file" "$status $out$err" "0 29"
run -e "maxval(\$1) + 0" in/a.png in/gone.png in/b.png
expect "numbers of several, with names: stdout" "$status $out" "1 58  in/a.png
58  in/b.png"
expect "numbers of several: stderr" "$err" "imgpar-run: in/gone.png: No such file or directory
imgpar-run: 1 of 3 files failed"
printf 'in/a.png\0in/c.png\0' > list.txt
stdin=list.txt run -0 -e 'param by = 1
height($1) * by' by=2
expect "numbers of a list, with a param" "$status $out" "0 10  in/a.png
10  in/c.png"
printf 'param by = 1\nh = height($1)\nh * by\n' > tall.conf
run tall.conf in/a.png by=3
expect "a number from a pipeline file" "$status $out$err" "0 15"
echo 'print(height($1))' > prints.conf
expect_run "a pipeline file for files prints nothing itself" 2 \
    "imgpar-run: prints.conf:1:1: print: this text is run for every picture it is given, and ends in one expression, its result
print(height(\$1))
^" prints.conf in/a.png
expect_run "a pipeline file without its file" 1 "imgpar-run: in/gone.png: No such file or directory" tall.conf in/gone.png
expect_run "a picture is not printed" 1 \
    "imgpar-run: in/a.png: the result, [15, 7, 1] u8, white 255, goes nowhere: -o 'out/{name}.png' writes it" \
    -e "repeat(\$1, 3)" in/a.png
expect_run "nothing is written that could be skipped" 2 \
    "imgpar-run: --skip-existing goes with files, of which -o names what is written: -o 'out/{name}.jpg' (--help lists the options)" \
    --skip-existing -e "mean(\$1)" in/a.png

# ---- names -------------------------------------------------------------------------------------

expect_run "a picture for each file" 0 "" -e "invert(\$1)" in/a.png in/b.png -o "o1/{name}.pgm"
expect_files "folders are made, names are kept" o1 "./a.pgm ./b.pgm "
expect_pixels "each is computed of its own file" o1/a.pgm "255 - $draw"
expect_run "ending, number and braces" 0 "" -e "\$1" in/a.png in/deep/d.jpg -o "o2/{n}-{n:3}{{}}{ext}/{name}.{ext}"
expect_files "they are filled in" o2 "./1-001{}png/a.png ./2-002{}jpg/d.jpg "
expect_run "folders as written" 0 "" -e "\$1" ./in//deep/d.jpg "$PWD/in/a.png" -o "o3/$dir/$name.png"
expect_files "an absolute one is put below the output's" o3 \
    "$(printf '%s\n' "./$PWD/in/a.png" ./in/deep/d.png | sed 's,//,/,g' | sort | tr '\n' ' ')"
expect_run "one file needs no template" 0 "" -e "invert(\$1)" in/a.png -o one.png
expect_pixels "and is written" one.png "255 - $draw"
"$imgpar_run" --format=pnm -e "\$1" - -o - < in/a.png > piped.pgm 2> err.txt || fail "from pipe to pipe: $(cat err.txt)"
expect_pixels "standard input to standard output" piped.pgm "$draw"
cat in/a.png in/b.png > two.png
stdin=two.png expect_run "two PNGs on standard input are not the first" 1 \
    "imgpar-run: standard input: several PNGs; frames behind one another are read of PNM and Y4M" -e "mean(\$1)" -
expect_run "--format where the name tells none" 0 "" --format=png -e "\$1" in/a.png in/b.png -o "o4/$name"
expect_files "the name is as given" o4 "./a ./b "

# ---- how it is written --------------------------------------------------------------------------

# size_of FILE: its bytes.
size_of() { wc -c < "$1" | tr -d ' '; }

# has_app1 FILE: whether a JPEG has EXIF or XMP.
has_app1() { LC_ALL=C grep -q 'Exif' "$1"; }

for settings in quality=20 quality=95; do
    expect_run "--save=$settings" 0 "" -e "\$1" in/deep/d.jpg -o "saved/$settings.jpg" --save="$settings"
done
[ "$(size_of saved/quality=20.jpg)" -lt "$(size_of saved/quality=95.jpg)" ] || fail "quality=20 is not smaller than quality=95"
"$imgpar_run" -e 'open("in/deep/d.jpg")' -o saved/one.jpg --save=quality=20 || fail "--save without files"
cmp -s saved/one.jpg saved/quality=20.jpg || fail "--save is the same without files"
echo 'save(open("in/deep/d.jpg"), "saved/conf.jpg", quality=20)' > saved.conf
"$imgpar_run" saved.conf || fail "save() with quality"
cmp -s saved/one.jpg saved/conf.jpg || fail "--save is not what save() writes"
{ # a JPEG with EXIF: its orientation and nothing else, behind the two bytes that begin one
    head -c 2 in/deep/d.jpg
    printf '\377\341\000\042Exif\000\000MM\000\052\000\000\000\010\000\001\001\022\000\003\000\000\000\001\000\001\000\000\000\000\000\000'
    tail -c +3 in/deep/d.jpg
} > told.jpg
expect_run "EXIF goes along" 0 "" -e "\$1" told.jpg -o saved/all.jpg
has_app1 saved/all.jpg || fail "EXIF does not go along"
expect_run "metadata=none" 0 "" -e "\$1" told.jpg -o saved/none.jpg --save='quality=80, metadata=none'
! has_app1 saved/none.jpg || fail "metadata=none leaves EXIF in"
expect_run "a setting of no such name" 2 "imgpar-run: --save=qualty=9: jpeg: unknown setting qualty; there are quality, \
subsample, progressive, background, metadata, range" -e "\$1" in/a.png in/b.png -o "no/$name.jpg" --save=qualty=9
expect_run "a setting that the format lacks" 2 "imgpar-run: --save=quality=9: png: unknown setting quality; there are bits, \
level, metadata, range" -e "\$1" in/a.png in/b.png -o "no/$name.png" --save=quality=9
expect_run "settings of nothing" 2 "imgpar-run: --save goes with -o, and says how that is written; save() in a text says it itself \
(--help lists the options)" -e "mean(\$1)" in/a.png --save=quality=9
[ ! -e no ] || fail "something was written"

# ---- a pipeline file ------------------------------------------------------------------------------

cat > soft.conf <<'END'
param k = 10
param weights = [1 2 1; 2 4 2; 1 2 1]
fn brighter(p) = p + k
brighter($1)
END
expect_run "a pipeline file that ends in an expression" 0 "" soft.conf in/a.png k=20 in/b.png "weights=1 1 1" -o "o5/$name.pgm"
expect_pixels "with its params" o5/b.pgm "$draw + 20"
cp in/a.png k=3.png
cp in/a.png z=3.png
cp in/a.png k=7
expect_run "a name with = is a file unless the text declares what stands before it" 0 "" \
    soft.conf z=3.png ./k=3.png -o "o6/$name.pgm"
expect_files "both are there" o6 "./k=3.pgm ./z=3.pgm "
expect_run "a param wins over a file of that name" 0 "" soft.conf in/a.png k=7 -o o7.pgm
expect_pixels "and is set" o7.pgm "$draw + 7"
expect_run "a misspelt param" 2 "imgpar-run: soft.conf has no param kk; its params are k, weights" soft.conf in/a.png kk=3 -o o.png
expect_run "a param twice" 2 "imgpar-run: k is given twice (--help lists the options)" soft.conf in/a.png k=3 k=4 -o o.png

# ---- refused before anything is written --------------------------------------------------------------

mkdir empty
expect_run "two outputs of one name" 2 "imgpar-run: in/a.png and in/b.png would both be written to no/x.png" \
    -e "\$1" in/a.png in/b.png -o no/x.png
expect_run "two outputs of one name in other spellings" 2 "imgpar-run: in/a.png and in/./a.png would both be written to no/in/a.png" \
    -e "\$1" in/a.png in/./a.png -o "no/$dir/$name.png"
expect_run "an output that is an input" 2 "imgpar-run: -o in/a.png would replace the input in/a.png" \
    -e "\$1" in/a.png -o "in/./$name.png"
ln in/b.png linked.png
ln -s in/c.png pointed.png
expect_run "an output that is an input by another link" 2 "imgpar-run: -o linked.png would replace the input in/b.png" \
    -e "\$1" in/a.png in/b.png -o "linked.png"
expect_run "an output that points to an input" 2 "imgpar-run: -o pointed.png would replace the input in/c.png" \
    -e "\$1" in/c.png -o pointed.png
cp in/a.png other.png
expect_run "an output that the text reads" 2 "imgpar-run: -o other.png would replace a file that the text names" \
    -e 'blend($1, open("other.png"), 0.5)' in/a.png in/b.png -o 'other.png'
cp soft.conf soft.png
expect_run "an output that is the pipeline" 2 "imgpar-run: -o soft.png would replace the pipeline soft.png" \
    soft.png in/a.png -o soft.png
expect_run "{dir} upwards" 2 "imgpar-run: {dir} of in/../in/a.png would lead upwards" \
    -e "\$1" in/../in/a.png -o "no/$dir/$name.png"
expect_run "an unknown word in braces" 2 \
    "imgpar-run: -o no/{nam}.png: {nam} stands for nothing; {name} {ext} {n} {dir} do, and {{ is a brace" -e "\$1" in/a.png -o "no/{nam}.png"
expect_run "an open brace" 2 \
    "imgpar-run: -o no/{name.png: {name.png stands for nothing; {name} {ext} {n} {dir} do, and {{ is a brace" \
    -e "\$1" in/a.png -o "no/{name.png"
expect_run "a name without a format" 2 \
    "imgpar-run: -o no/a.txt: its ending tells no format; .png .jpg .npy .pnm .ppm .pgm .pam do, or --format" \
    -e "\$1" in/a.png in/deep/notes.txt -o "no/$name.txt"
expect_run "a file whose {ext} tells no format" 1 "imgpar-run: in/deep/notes.txt: its ending, {ext} of -o, tells no format
imgpar-run: 1 of 2 files failed" -e "\$1" in/deep/notes.txt in/a.png -o "ext/$name.{ext}"
expect_files "is passed by like one that is damaged" ext "./a.png "
expect_run "a folder" 2 "imgpar-run: in is a folder; --recursive reads all pictures in it" -e "\$1" in -o "no/$name.png"
expect_run "a folder among files" 1 "imgpar-run: in/deep is a folder; --recursive reads all pictures in it" \
    -e "\$1" in/a.png in/deep -o "beside/$name.png"
expect "is passed by" "$(ls beside)" "a.png"
expect_run "two on standard output" 2 "imgpar-run: in/a.png and in/b.png would both be written to standard output" \
    --format=png -e "\$1" in/a.png in/b.png -o -
expect_run "standard input twice" 2 "imgpar-run: standard input can be read once" -0 -e "\$1" - -o "no/$name.png"
echo '$1' > first
stdin=first
expect_run "standard input for the text and a picture" 2 "imgpar-run: standard input can be read once" - - -o x.png
stdin=
expect_run "a text without \$1" 2 "imgpar-run: -e reads no \$1, so what is given for it would change nothing" \
    -e "$draw" in/a.png -o no/x.png
expect_run "\$2" 2 "imgpar-run: -e:1:6: \$2: only 1 argument is given
\$1 + \$2
     ^
imgpar-run: of several files the text is run once for each, as \$1; another one is open(\"FILE\")" -e "\$1 + \$2" in/a.png -o no/x.png
expect_run "save in the text" 2 \
    "imgpar-run: -e:1:1: save: this text is run for every picture it is given, and ends in one expression, its result
save(\$1, \"x.png\")
^" -e 'save($1, "x.png")' in/a.png -o no/x.png
expect_run "print in the text" 2 \
    "imgpar-run: -e:1:1: print: this text is run for every picture it is given, and ends in one expression, its result
print(mean(\$1)); \$1
^" -e 'print(mean($1)); $1' in/a.png -o no/x.png
expect_run "standard input in the text" 2 \
    "imgpar-run: -e:1:6: open: standard input can be read once, and this text is run for every picture it is given
\$1 + open(\"-\")
     ^" -e '$1 + open("-")' in/a.png -o no/x.png
expect_run "no files" 2 "imgpar-run: no files are given: imgpar-run -e 'blur(\$1, 2)' in/*.jpg -o 'out/{name}.jpg'" \
    --skip-existing -e "$draw" -o no/x.png
expect_run "--recursive without -o" 2 \
    "imgpar-run: --recursive goes with files, of which -o names what is written: -o 'out/{name}.jpg' (--help lists the options)" \
    --recursive -e "$draw" in
expect_run "--quiet and --progress" 2 "imgpar-run: --quiet and --progress do not go together: one tells how far it is, \
the other does not (--help lists the options)" --quiet --progress -e "\$1" in/a.png -o x.png
[ ! -e no ] || fail "something was written all the same"

# ---- folders and lists --------------------------------------------------------------------------------

expect_run "--recursive" 0 \
    "imgpar-run: 1 file was left out: the ending tells no format of pictures that are read; .png .jpg .npy .pnm .ppm .pgm .pam do" --recursive -e "\$1" in -o "o8/$dir/$name.{ext}"
expect_files "all pictures below, but hidden ones and what is none" o8 "./a.png ./b.png ./c.png ./deep/d.jpg ./deep/er/e.pgm "
ln -s .. in/deep/up
expect_run "a folder that links to itself" 0 \
    "imgpar-run: 1 file was left out: the ending tells no format of pictures that are read; .png .jpg .npy .pnm .ppm .pgm .pam do" --recursive -e "\$1" in/ -o "o9/$dir/{n}.png"
expect_files "is not followed, and names are in order" o9 "./1.png ./2.png ./3.png ./deep/4.png ./deep/er/5.png "
rm in/deep/up
expect_run "an empty folder" 1 "imgpar-run: there is no file to read" --recursive -e "\$1" empty -o "o10/$name.png"
printf 'in/a.png\0in/b.png' > list
stdin=list
expect_run "a list" 0 "" -0 -e "\$1" in/c.png -o "o11/{n}$name.png"
expect_files "follows what is named" o11 "./1c.png ./2a.png ./3b.png "
printf 'in/a.png\nin/b.png\n' > list
expect_run "a list of lines" 2 "imgpar-run: -0: names end with a zero byte, as find -print0 writes them; these end with newlines" \
    -0 -e "\$1" -o "o12/$name.png"
printf 'in/a.png\0\0' > list
expect_run "an empty name" 2 "imgpar-run: an empty name is no file" -0 -e "\$1" -o "o12/$name.png"
: > list
expect_run "an empty list" 1 "imgpar-run: there is no file to read" -0 -e "\$1" -o "o12/$name.png"
i=0
while [ $i -lt 300 ]; do printf 'in/a.png\0'; i=$((i + 1)); done > list
expect_run "more files than are remembered" 0 "" -0 -e "crop(\$1, 0, 0, 1, 1)" -o "o13/{n}.pgm"
expect "are all written" "$(find o13 -name '*.pgm' | wc -l)" 300
stdin=

# ---- files that fail --------------------------------------------------------------------------------------

head -c 60 in/a.png > in/b2.png
expect_run "a damaged file and a missing one are told and passed by" 1 "imgpar-run: in/b2.png: PNG: the data ends early
imgpar-run: none.png: No such file or directory
imgpar-run: 2 of 5 files failed" -e "\$1" in/a.png in/b2.png none.png in/b.png in/c.png -o "p1/$name.png"
expect_files "the others are all there" p1 "./a.png ./b.png ./c.png "
expect_run "a picture that does not fit" 1 "imgpar-run: in/a.png: -e:1:1: crop: x=0 and width=8 reach beyond the width 7
crop(\$1, 0, 0, 8, 1)
^" -e "crop(\$1, 0, 0, 8, 1)" in/a.png -o p2.png
cp in/a.png crop
expect_run "a message that has the file's name in it by chance" 1 "imgpar-run: crop: -e:1:1: crop: x=0 and width=8 reach beyond the width 7
crop(\$1, 0, 0, 8, 1)
^" -e "crop(\$1, 0, 0, 8, 1)" crop -o p2.png
expect_run "--stop-on-error" 1 "imgpar-run: in/b2.png: PNG: the data ends early
imgpar-run: stopped after 2 of 4 files" --stop-on-error -e "\$1" in/a.png in/b2.png in/b.png in/c.png -o "p3/$name.png"
[ -e p3/a.png ] || fail "what comes before the first failure is written"
: > p4
expect_run "a file where a folder must be" 1 "imgpar-run: in/a.png: save: p4/a.png: Not a directory" -e "\$1" in/a.png -o "p4/$name.png"
if [ -w /dev/full ]; then
    ln -s /dev/full full.png
    expect_run "a full disk" 1 "imgpar-run: in/a.png: save: full.png: No space left on device" -e "\$1" in/a.png -o full.png
fi
expect "nothing half is left" "$(find . -name '.imgpar*')" ""

# ---- ended from outside ---------------------------------------------------------------------------------------

# They take a while, so that the signal comes in the middle of some.
i=0
while [ $i -lt 40 ]; do printf 'in/a.png\0'; i=$((i + 1)); done > list
slow='iterate(resize(cast($1, f32), 150, 150), 400, sqrt(_ + 1))'
"$imgpar_run" -0 -e "$slow" -o "k/{n}.npy" < list 2> err.txt &
pid=$!
i=0
while [ ! -e k/1.npy ] && [ $i -lt 200 ]; do sleep 0.05; i=$((i + 1)); done
kill -TERM "$pid"
status=0
wait "$pid" || status=$?
expect "a signal ends it: status" "$status" 143
[ "$(find k -name '*.npy' | wc -l)" -lt 40 ] || fail "a signal ends it: it went on"
expect "and it says so once" "$(sed 's/after [0-9]*/after N/' err.txt)" "imgpar-run: interrupted after N of 40 files"
for file in k/*.npy; do
    expect "what is written is whole" "$(wc -c < "$file")" $((150 * 150 * 4 + 128))
done
expect "and nothing half is left" "$(find k -name '.imgpar*')" ""
{ "$imgpar_run" --format=pnm -e "resize(\$1, 999, 999)" in/a.png -o - 2> err.txt || echo $? > code; } | :
expect "a closed pipe ends it as it ends others: status" "$(cat code)" 141
expect "a closed pipe ends it as it ends others" "$(cat err.txt)" ""
{ trap '' PIPE; "$imgpar_run" --format=pnm -e "resize(\$1, 999, 999)" in/a.png -o - 2> err.txt || echo $? > code; } | :
expect "a closed pipe, where SIGPIPE is ignored: status" "$(cat code)" 1
expect "a closed pipe, where SIGPIPE is ignored" "$(cat err.txt)" \
    "imgpar-run: in/a.png: save: standard output: Broken pipe"

# ---- --skip-existing ---------------------------------------------------------------------------------------

rm in/b2.png
"$imgpar_run" -e "$draw" -o n.npy
skipped() { run --skip-existing --progress=json -e "invert(\$1)" "$@" -o "s/$name.{ext}"; echo "$err" | sed -n 's/.*"skipped": \([0-9]*\).*/\1/p' | tail -n 1; }
expect "nothing is there to be skipped" "$(skipped in/a.png in/deep/d.jpg in/deep/er/e.pgm n.npy)" 0
expect "what is there is skipped" "$(skipped in/a.png in/deep/d.jpg in/deep/er/e.pgm n.npy)" 4
expect "a new file is not" "$(skipped in/a.png in/b.png)" 1
for cut in a.png d.jpg e.pgm n.npy; do
    size=$(($(wc -c < "s/$cut") - 1))
    head -c "$size" "s/$cut" > shorter && mv shorter "s/$cut"
    cp "s/$cut" cut-before
    expect "a cut one is made again" "$(skipped in/a.png in/deep/d.jpg in/deep/er/e.pgm n.npy)" 3
    cmp -s "s/$cut" cut-before && fail "$cut is still cut"
done
touch -d '2 hours ago' s/a.png
expect "an older one is made again" "$(skipped in/a.png in/b.png)" 1
expect_pixels "and is right" s/a.png "255 - $draw"
rm -f in/gone.png && cp s/a.png s/gone.png
run --skip-existing -e "\$1" in/gone.png in/a.png -o "s/$name.png"
expect "a missing file is told though its output is there" "$status $err" \
    "1 imgpar-run: in/gone.png: No such file or directory
imgpar-run: 1 of 2 files failed"

# ---- what else is there for a single picture ---------------------------------------------------------------------

run --explain -e "blur(\$1, 2)" in/a.png in/b.png -o "x/$name.png"
expect "--explain tells of the first: status" "$status" 0
case $out in *blur*) ;; *) fail "--explain tells of the first: $out" ;; esac
[ ! -e x ] || fail "--explain writes"
expect_run "--verify compares each" 0 "verify: max difference 0, allowed 1" --verify -e "blur(\$1, 1)" in/a.png in/b.png -o "v/$name.png"

run --profile=json -e "invert(\$1)" in/a.png in/b.png in/c.png -o "w/$name.png"
expect "--profile has a row for all that is alike" "$(grep -c '"kind": "decode"' err.txt) $(grep -c '"kind": "encode", "name": "3 of them"' err.txt)" "1 1"
expect_run "--tune" 2 "imgpar-run: --tune and files do not go together: --tune only measures; open() one of them" \
    --tune -e "\$1" in/a.png -o no.png
expect_run "an expression without -e" 1 "imgpar-run: invert(\$1): No such file or directory; -e evaluates an expression" \
    "invert(\$1)" in/a.png -o no.png

# ---- progress -----------------------------------------------------------------------------------------------------

run --progress=json -e "\$1" in/a.png in/none.png -o "q/$name.png"
expect "the last line of JSON says that all is done" \
    "$(tail -n 2 err.txt | head -n 1 | sed 's/, "mb_per_s".*//')" '{"fraction": 1.0000, "files": 2, "of": 2, "failed": 1, "skipped": 0'
if command -v script > /dev/null; then
    # It has to take more than a second: instrumented code does with fewer.
    files=${IMGPAR_TEST_FILES:-400}
    i=0
    while [ $i -lt "$files" ]; do printf 'in/a.png\0'; i=$((i + 1)); done > list
    export TERM=xterm
    script -qec "'$imgpar_run' -0 -e '$slow' -o 't/{n}.npy' < list" typed > /dev/null < /dev/null
    tr '\r' '\n' < typed > lines
    grep -q " of $files files, [0-9.]* MB/s, [0-9:]* s\{0,1\} *left" lines || fail "a terminal is told how far it is: $(cat -v typed)"
    grep -q "$files of $files files, [0-9.]* MB/s, " lines || fail "and at the end what was done: $(cat -v typed)"
    rm -r t
    script -qec "'$imgpar_run' --quiet -e '\$1' in/a.png -o q.png" typed > /dev/null < /dev/null
    grep -q 'files' typed && fail "--quiet: $(cat -v typed)"
fi
expect "what standard input has instead of a picture" "$(printf abc | "$imgpar_run" -e '$1' - -o x.png 2>&1)" "imgpar-run: standard input: not an image: neither PNG, JPEG, NPY, PNM, .cube nor a font"
finish
