#!/bin/sh
# SPDX-License-Identifier: MIT
#
# sql_samples.sh - the samples of folders of pictures say what they should, and the transcript in the README, typed into
# sqlite3 as it stands, gives what the README shows.
. "${srcdir:-.}/tests/common.sh"
need_module
scratch
samples=$top_srcdir/samples

# ---- the README ----------------------------------------------------------------------------

cp "$samples/scenes.conf" .
expect_status "scenes.conf draws three pictures" 0 "$imgpar_run" scenes.conf
mkdir photos lib
cp tower.png sunset.png forest.png photos/

# Its lines begin with a prompt where they are typed; the others are answers.
awk '/^```$/ { inside = 0 } inside { print } /^```/ && !/^```[a-z]/ { getline; if (/^sqlite> /) { inside = 1; print } }' \
    "$top_srcdir/README" > transcript
sed -n 's/^sqlite> //p; s/^   \.\.\.> //p' transcript > typed
grep -v -e '^sqlite> ' -e '^   \.\.\.> ' transcript > wanted
[ -s typed ] || fail "there is no transcript in the README"
ln -s "$builddir/imgpar.so" lib/imgpar.so
LD_LIBRARY_PATH=$PWD/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} sqlite3 -batch < typed > got 2>&1
diff -u wanted got || fail "the transcript gives something else"

# ---- the samples -----------------------------------------------------------------------------

# They say the same on every device: the interpreter runs them in the quick tier, since it compiles nothing.
[ "$IMGPAR_TEST_TIER" = full ] || { IMGPAR_DEVICE=ref && export IMGPAR_DEVICE; }

sql "SELECT writefile('photos/small.jpg', jpeg(resize(readfile('tower.png'), 300), 60)),
            writefile('photos/dark.jpg', jpeg(linear(readfile('sunset.png'), 0.12), 90)),
            writefile('photos/blurred.jpg', jpeg(blur(readfile('forest.png'), 6), 90)),
            writefile('photos/cut.png', substr(readfile('tower.png'), 1, 20000)),
            writefile('photos/notes.txt', 'no picture')" > /dev/null || fail "pictures for the samples"

sample() { sql < "$samples/$1.sql" 2>&1; }
of_the_tower() { { echo ".parameter set :picture tower.png"; cat "$samples/$1.sql"; } | sql 2>&1; }

expect "thumbnails.sql" "$(sample thumbnails)" "photos/blurred.jpg|640x426|320x213|
photos/cut.png|640x426||image > thumbnail: PNG: the data ends early
photos/dark.jpg|640x426|320x213|
photos/forest.png|640x426|320x213|
photos/small.jpg|300x200|300x200|
photos/sunset.png|640x426|320x213|
photos/tower.png|640x426|320x213|"

sample nearest > nearest
expect "nearest.sql takes the first picture there is" "$(grep -c blurred.jpg nearest)" 0
of_the_tower nearest > nearest
expect "nearest.sql finds the scaled picture by its hash" "$(sed -n 2p nearest)" "small.jpg|0"
expect "nearest.sql finds the scaled picture by its colours" "$(sed -n '6s/|.*//p' nearest)" "small.jpg"
expect "nearest.sql finds three of each" "$(wc -l < nearest | tr -d ' ')" 8

expect "contact-sheet.sql" "$(sample contact-sheet)" "sheet.png"
expect "the sheet has two rows of three" "$(sql "SELECT img_width(readfile('sheet.png')), img_height(readfile('sheet.png'))")" "640|330"

expect "compare.sql takes the first picture there is" "$(sample compare | sed -n '$p')" "nothing|Inf dB|1.000|1"
of_the_tower compare > compare
expect "compare.sql: nothing changed" "$(sed -n '$p' compare)" "nothing|Inf dB|1.000|1"
expect "compare.sql: quality counts" "$(cut -d'|' -f1,4 compare | head -n 4 | tr '\n' ' ')" "jpeg 95|0 jpeg 75|0 jpeg 30|0 blur 1|0 "
expect "compare.sql: psnr falls" "$(sed -n 's/^jpeg.*|\([0-9.]*\) dB.*/\1/p' compare | sort -rnc 2>&1)" ""

expect "sort-out.sql" "$(sample sort-out | cut -d'|' -f1,4)" "blurred.jpg|blurred
cut.png|damaged
dark.jpg|dark
forest.png|good
small.jpg|good
sunset.png|good
tower.png|good"

# ---- a folder of everything: files that are no pictures, alpha, gray, 16 bits -------------------

mkdir -p hard/photos
sql "SELECT writefile('hard/photos/alpha.png', png(apply('concatenate(\$1, gray(\$1), axis=2)', readfile('tower.png')))),
            writefile('hard/photos/gray.png', png(img_gray(readfile('tower.png')))),
            writefile('hard/photos/deep.png', png(readfile('tower.png'), 'bits=16')),
            writefile('hard/photos/dim.png', png(linear(readfile('tower.png'), 0.1), 'bits=16')),
            writefile('hard/photos/cut.png', substr(readfile('tower.png'), 1, 20000)),
            writefile('hard/photos/text.jpg', 'no picture')" > /dev/null || fail "pictures for a folder of everything"
: > hard/photos/empty.jpg
cd hard || exit 99

expect "thumbnails.sql goes past what is no picture" "$(sample thumbnails)" "photos/alpha.png|640x426|320x213|
photos/cut.png|640x426||image > thumbnail: PNG: the data ends early
photos/deep.png|640x426|320x213|
photos/dim.png|640x426|320x213|
photos/empty.jpg|||image > thumbnail: an empty blob, not an image
photos/gray.png|640x426|320x213|
photos/text.jpg|||image > thumbnail: not an image: neither PNG, JPEG, NPY, PNM, .cube nor a font"

expect "sort-out.sql judges by white" "$(sample sort-out | cut -d'|' -f1,4)" "alpha.png|good
cut.png|damaged
deep.png|good
dim.png|dark
empty.jpg|damaged
gray.png|good
text.jpg|damaged"

expect "contact-sheet.sql takes them all" "$(sample contact-sheet)" "sheet.png"
for picture in alpha gray deep; do
    { echo ".parameter set :picture $picture.png"; cat "$samples/compare.sql"; } | sql > compare 2>&1
    expect "compare.sql takes $picture.png" "$(sed -n '$p' compare)" "nothing|Inf dB|1.000|1"
    { echo ".parameter set :picture $picture.png"; cat "$samples/nearest.sql"; } | sql > nearest 2>&1
    expect "nearest.sql takes $picture.png" "$(wc -l < nearest | tr -d ' ')" 8
done
expect "nearest.sql: depth does not count" "$({ echo ".parameter set :picture deep.png"; cat "$samples/nearest.sql"; } | sql 2>&1 |
    sed -n '6p' | cut -d'|' -f1)" "alpha.png"
cd ..
finish
