#!/bin/sh
# SPDX-License-Identifier: MIT
#
# valgrind.sh - imgpar-run under valgrind on the ref device: a sample, and failures of every kind. It reads and
# writes no memory that it should not, and leaks none, whatever happens. Run by `make check-valgrind`.
. "${srcdir:-.}/tests/common.sh"
[ -n "${VALGRIND:-}" ] || skip "VALGRIND is not set (make check-valgrind sets it)"
scratch
cp "$top_srcdir/samples/scenes.conf" "$top_srcdir/samples/sunset.conf" .

# watched STATUS ARGUMENT...: imgpar-run under valgrind, whose own exit status is 99.
watched() {
    want=$1
    shift
    # shellcheck disable=SC2086  # a command and its options
    expect_status "imgpar-run $* under valgrind" "$want" $VALGRIND "$imgpar_run" --device=ref "$@"
}

"$imgpar_run" --device=ref scenes.conf width=96 height=64 || fail "scenes.conf"
watched 0 sunset.conf
[ -s out.png ] || fail "sunset.conf wrote no out.png"
watched 0 --verify=0 sunset.conf
watched 0 --explain=cl sunset.conf
watched 0 --profile=json -e 'histogram(open("out.png"))' -o h.npy
watched 0 --help
watched 0 --help blur
watched 0 --list-ops
watched 0 -e '(p, n) = iterate((open("out.png"), 1), 100, (p, n) -> (invert(p), n + mean(p))); save(p, "long.jpg"); print(n)'

head -c 900 out.png > cut.png
echo "just text" > text.png
watched 1 -e 'invert(open("cut.png"))' -o b.png
watched 1 -e 'open("text.png")' -o b.png
watched 1 -e 'open("none.png")' -o b.png
watched 1 -e 'make(4, 4, x) + make(5, 5, x)' -o b.png
watched 1 -e 'invert(open("out.png"))' -o none/b.png
watched 2 -e 'blur(open("out.png"), -1)' -o b.png
watched 2 -e 'blurr(open("out.png"))' -o b.png
watched 2 -e 'blur(open("out.png")' -o b.png
watched 2 sunset.conf ratio=red
watched 2 --frobnicate
[ ! -f b.png ] || fail "a failure wrote b.png"
finish
