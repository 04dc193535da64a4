#!/bin/sh
# SPDX-License-Identifier: MIT
#
# sql_files.sh - img_files() and imgpar_folder open a file only when a column of its header or its image is asked for, and
# read no more than the header for the header; links, odd names and files that are none are told apart.
. "${srcdir:-.}/tests/common.sh"
need_module
scratch

# ---- what is read --------------------------------------------------------------------------

mkdir a
printf 'P5 4 3 255\nAZaz09!~mnop' > a/small.pgm
old=2001-01-01
opened() { # COLUMNS [FROM]: 1 where the query opens the file
    touch -a -d $old a/small.pgm
    before=$(stat -c %X a/small.pgm)
    sql "CREATE VIRTUAL TABLE temp.album USING imgpar_folder(dir='a'); SELECT $1 FROM ${2:-img_files('a')}" > /dev/null || fail "SELECT $1"
    [ "$(stat -c %X a/small.pgm)" = "$before" ] && echo 0 || echo 1
}
touch -a -d $old a/small.pgm && before=$(stat -c %X a/small.pgm) && cat a/small.pgm > /dev/null
if [ "$(stat -c %X a/small.pgm)" != "$before" ]; then # else the file system does not tell
    for from in "img_files('a')" album; do
        expect "listing opens no file" "$(opened 'path, name, size, mtime' "$from")" 0
        expect "a header column opens it" "$(opened width "$from")" 1
        expect "so does error" "$(opened error "$from")" 1
        expect "an image opens it" "$(opened 'length(image)' "$from")" 1
        expect "an image that nobody asks for does not" "$(opened 'count(*)' "$from")" 0
    done
fi

# Nobody reads two terabytes by mistake.
mkdir b
printf 'P5 4000 3000 255\n' > b/huge.pgm
if truncate -s 2T b/huge.pgm 2> /dev/null; then
    expect "a header is read without the rest" "$(sql "SELECT format, width, height, error IS NULL, size FROM img_files('b')")" \
        "pnm|4000|3000|1|2199023255552"
    expect "an image above SQLite's limit is refused unread" "$(sql "SELECT length(image) FROM img_files('b')" 2>&1)" \
        "Error: stepping, string or blob too big (18)"
fi

# ---- what is there --------------------------------------------------------------------------

mkdir c c/below "c/it's; a \"name\""
cp a/small.pgm "c/it's; a \"name\"/one
two.pgm"
cp a/small.pgm c/below/under.pgm
ln -s ../../a/small.pgm c/below/link.pgm
ln -s .. c/below/loop
ln -s nowhere c/dangling.pgm
mkfifo c/pipe.pgm
: > c/empty.png
expect "regular files and links to them; folders with recursive, links to folders never" "$(sql "SELECT replace(path, char(10), '?'), width, error FROM img_files('c', '*', 1)" 2>&1)" \
    "c/below/link.pgm|4|
c/below/under.pgm|4|
c/empty.png||it is empty, not an image
c/it's; a \"name\"/one?two.pgm|4|"
for given in 1 true TRUE "'True'" 0 false "'FALSE'" "'no'"; do
    sql "CREATE VIRTUAL TABLE temp.t USING imgpar_folder(dir='c', recursive=$given); SELECT count(*) FROM t" 2>&1
    sql "SELECT count(*) FROM img_files('c', '*', $given)" 2>&1
done > depths
expect "recursive is 0 or 1, false or true" "$(uniq -c depths | tr -s ' ')" " 8 4
 6 1
 1 Error: stepping, imgpar_folder(): recursive must be 0 or 1, got no
 1 Error: stepping, img_files(): recursive must be 0 or 1, got no"
expect "a folder with quotes in its name" "$(sql "CREATE VIRTUAL TABLE temp.t USING imgpar_folder(dir='c/it''s; a \"name\"');
    SELECT count(*), sum(img_mean(image) > 0) FROM t")" "1|1"
finish
