#!/bin/sh
# SPDX-License-Identifier: MIT
#
# cli_show.sh - imgpar-run --show: what a terminal gets, decoded and compared with the picture.
# shellcheck disable=SC2016  # $1 is for the pipeline
. "${srcdir:-.}/tests/common.sh"
[ -x "$imgpar_run" ] || skip "imgpar-run is not built"
scratch
unset COLUMNS DISPLAY WAYLAND_DISPLAY SDL_VIDEODRIVER
esc=$(printf '\033')

# Half blocks: two rows a line, colours where they change, the last row alone.
line() { printf '\033[38;2;%sm\033[48;2;%sm\342\226\200\342\226\200' "$1" "$2"; }
want=$(line '255;0;0' '255;0;0'; printf '\033[0m\n\033[38;2;255;0;0m\342\226\200\342\226\200\033[0m')
expect "half blocks" "$("$imgpar_run" -e 'fill(2, 3, [255 0 0], channels=3)' --show=blocks)" "$want"
want=$(line '10;10;10' '200;200;200'; printf '\033[0m')
expect "gray, of f32" "$("$imgpar_run" -e 'cast(resize(numbers([10; 200]) / 255, 2, 2, filter=nearest), f32)' --show=blocks)" "$want"
expect "what is transparent shows gray squares" "$("$imgpar_run" -e 'fill(1, 1, [255 0 0 0], channels=4)' --show=blocks)" "$(printf '\033[38;2;96;96;96m\342\226\200\033[0m')"

# columns: how many blocks the first line has.
columns() { "$imgpar_run" -e 'fill(300, 200, 9)' --show=blocks | head -n 1 | sed "s/$esc\[[0-9;]*m//g" | awk '{ print gsub(/\342\226\200/, "") }'; }
expect "80 columns without a terminal" "$(LC_ALL=C columns)" 80
expect "as many as COLUMNS says" "$(COLUMNS=20 LC_ALL=C columns)" 20

# Kitty: chunks of 4096 letters, all but the last marked; together the PNG.
cat > noise.conf <<'CONF'
save(cast(random([90, 120, 3], seed=5) * 255, u8), "noise.png")
CONF
"$imgpar_run" noise.conf || fail "noise.conf: status $?"
"$imgpar_run" -e 'open("noise.png")' --show=kitty > kitty.out || fail "--show=kitty: status $?"
tr -d '\n' < kitty.out | sed "s/$esc\\\\/\n/g" | tr -d '\033' > chunks
expect "the first chunk" "$(head -n 1 chunks | cut -c 1-22)" "_Ga=T,f=100,q=2,m=1;iV"
expect "the last chunk" "$(tail -n 1 chunks | cut -d ';' -f 1)" "_Gm=0"
expect "no chunk is longer" "$(cut -d ';' -f 2 chunks | awk 'length($0) > 4096' | wc -l | tr -d ' ')" 0
cut -d ';' -f 2 chunks | tr -d '\n' | base64 -d > shown.png || fail "kitty: no base64"
expect "the picture in them" "$("$imgpar_run" -e 'maxval(absdiff(open("shown.png"), open("noise.png")))')" 0

# Sixel: a band of six rows, colours by number, runs.
"$imgpar_run" -e 'fill(5, 8, [255 0 0], channels=3)' --show=sixel > sixel.out || fail "--show=sixel: status $?"
expect "sixel begins with the size" "$(head -c 16 sixel.out | tr -d '\033')" 'P0;1;0q"1;1;5;8'
expect "red is the 200th colour" "$(grep -c '#200;2;100;0;0#' sixel.out)" 1
expect "sixel's dots" "$(sed 's/.*#239;2;100;100;100//' sixel.out | tr -d '\033')" '#200!5~-#200!5B\'

# What is shown may be written, too, and files are shown one after the other.
expect "-o beside it" "$("$imgpar_run" -e 'fill(1, 1, 7)' --show=blocks -o one.pgm | wc -l | tr -d ' ') $(tail -c 1 one.pgm | od -An -tu1 | tr -d ' ')" "1 7"
cp one.pgm two.pgm
block=$(printf '\033[38;2;248;248;248m\342\226\200\033[0m')
expect "files" "$("$imgpar_run" -e 'invert($1)' --show=blocks one.pgm two.pgm)" "one.pgm
$block
two.pgm
$block"

# Refused.
says() { expect "$1" "$("$imgpar_run" "$@" 2>&1 < /dev/null)" "$want"; }
want="imgpar-run: --show: standard output is no terminal; --show=blocks, sixel or kitty writes to it what one shows"
says --show -e 'fill(2, 2, 0)'
want="imgpar-run: --show=ansi: one of auto|window|kitty|sixel|blocks is expected"
says --show=ansi -e 'fill(2, 2, 0)'
want="imgpar-run: --show goes with -e, whose last expression is shown (--help lists the options)"
says --show=blocks noise.conf
expect "what is no picture" "$("$imgpar_run" --show=blocks -e 'zeros([2, 3, 4, 5])' 2>&1)" "imgpar-run: --show: fit: a is [2, 3, 4, 5] u8, which is no image"
expect "a number" "$("$imgpar_run" --show=blocks -e '1 + 1' 2>&1)" "imgpar-run: --show: fit: a is [1] u8, which is no image"
expect "--explain" "$("$imgpar_run" --show=blocks --explain -e 'fill(2, 2, 0)' 2>&1)" "imgpar-run: --explain and --show do not go together: --explain computes nothing (--help lists the options)"

# A window, if imgpar-run has them: without a display on SDL's dummy, which a signal closes; on a display that is made for it, if there can
# be one, where the title tells the pixel under the pointer.
timeout 60 "$imgpar_run" -e 'fill(1, 1, 0)' --show=window > window.out 2>&1 < /dev/null
if grep -q 'no display' window.out; then
    expect "no display" "$(cat window.out)" "imgpar-run: --show=window: there is no display: neither DISPLAY nor WAYLAND_DISPLAY is set"
fi
if ! grep -q SDL2 window.out; then
    SDL_VIDEODRIVER=dummy timeout -s TERM 3 "$imgpar_run" -e 'open("noise.png")' --show=window > window.out 2>&1 < /dev/null
    expect "a window without a display, closed by a signal" "$? $(cat window.out)" "124 "
    expect "a window of no picture" "$(SDL_VIDEODRIVER=dummy timeout 60 "$imgpar_run" -e 'zeros([2, 3, 4, 5])' --show=window 2>&1 < /dev/null; echo $?)" "imgpar-run: --show: the result is no picture
1"
    for seconds in 3 30; do # the second where a busy machine compiles for longer
        grep -q decode window.out ||
            SDL_VIDEODRIVER=dummy timeout -s TERM $seconds "$imgpar_run" -e 'invert($1)' noise.png --show=window --profile > window.out 2>&1 < /dev/null
    done
    expect "a window of a file, and its times" "$(grep -c -E 'decode +noise.png' window.out)" 1
    head -c 9000 noise.png > trunc.png
    want=$("$imgpar_run" -e 'invert($1)' trunc.png -o none.png 2>&1)
    expect "a file is named once" "$(SDL_VIDEODRIVER=dummy timeout 60 "$imgpar_run" -e 'invert($1)' trunc.png --show=window 2>&1 < /dev/null)" "$want"
fi
if ! grep -q SDL2 window.out && command -v Xvfb > /dev/null && command -v xdotool > /dev/null; then
    Xvfb -displayfd 3 -screen 0 800x600x24 3> number > /dev/null 2>&1 < /dev/null &
    server=$!
    patience() { n=0; until "$@" || [ $((n += 1)) -gt 100 ]; do sleep 0.1; done; }
    has_number() { [ -s number ]; }
    has_window() { window=$(xdotool search --name noise.png 2> /dev/null | head -n 1); [ -n "$window" ]; }
    patience has_number
    DISPLAY=:$(cat number)
    export DISPLAY
    timeout 60 "$imgpar_run" -e 'open("noise.png")' --show=window > window.out 2>&1 < /dev/null &
    shown=$!
    patience has_window
    xdotool mousemove --window "$window" 106 14
    value=$("$imgpar_run" -e 'crop(open("noise.png"), 26, 3, 1, 1)' | tr -d '[]')
    has_title() { title=$(xdotool getwindowname "$window"); [ "${title#*(26, 3): }" = "$value" ]; }
    patience has_title
    expect "the pixel under the pointer" "$title" "open(\"noise.png\") - 120x90x3 u8 - 400% - (26, 3): $value"
    xdotool key --window "$window" q 2> /dev/null
    wait "$shown"
    expect "q closes it" "$? $(cat window.out)" "0 "
    kill "$server"
    unset DISPLAY
fi

# A terminal that answers nothing is waited for a moment; script(1) is one.
if script -qec true /dev/null > pty.out 2> /dev/null < /dev/null; then
    env -u KITTY_WINDOW_ID -u TERM_PROGRAM TERM=xterm-256color script -qec "'$imgpar_run' -e 'fill(2, 2, 0)' --show" /dev/null < /dev/null > pty.out 2>&1
    expect "half blocks in a terminal that says nothing" "$(grep -c '38;2;0;0;0m' pty.out)" 1
    expect "what Kitty gets" "$(KITTY_WINDOW_ID=1 TMUX='' script -qec "'$imgpar_run' -e 'fill(2, 2, 0)' --show" /dev/null < /dev/null | grep -c '_Ga=T,f=100')" 1
fi
finish
