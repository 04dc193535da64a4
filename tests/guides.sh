#!/bin/sh
# SPDX-License-Identifier: MIT
#
# guides.sh - every command in the pages imgpar-numpy(7), imgpar-opencv(7) and imgpar-recipes(7), typed as it stands,
# prints what stands beneath it; pages format. (What stands in their tables of names is tested by check_lang.)
. "${srcdir:-.}/tests/common.sh"
need_module
scratch
mkdir bin lib
# Without libtool's script, which takes longer to start than most commands to run.
if [ -x "$builddir/.libs/imgpar-run" ]; then
    ln -s "$builddir/.libs/imgpar-run" bin/imgpar-run
else
    ln -s "$builddir/imgpar-run" bin/imgpar-run
fi
ln -s "$builddir/imgpar.so" lib/imgpar.so
PATH=$PWD/bin:$PATH
LD_LIBRARY_PATH=$PWD/lib:$builddir/.libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export PATH LD_LIBRARY_PATH

# Formulas are the same on every device: the interpreter runs them in the quick tier, since it compiles nothing.
devices=ref
[ "$IMGPAR_TEST_TIER" != full ] || devices='ref default'

# as_typed PAGE: .EX and what stands from there to .EE, without troff's escapes.
as_typed() {
    sed -n '/^\.EX$/,/^\.EE$/{/^\.EE$/!p;}' "$1" |
        sed "s/^\\\\&//; s/\\\\-/-/g; s/\\\\(aq/'/g; s/\\\\(ga/\`/g; s/\\\\(ha/^/g; s/\\\\(ti/~/g; s/\\\\e/\\\\/g"
}

# type_page PAGE FEWEST: one shell types all of a page; each command is echoed before what it prints. An example that begins with
# "# NAME.conf:" is that file.
type_page() {
    rm -rf files
    mkdir files
    as_typed "$builddir/src/$1.7" | awk '
        /^\.EX$/ { file = ""; is_first = 1; next }
        is_first && /^# [a-z]+\.conf:/ { file = "files/" substr($2, 1, length($2) - 1) }
        { is_first = 0; if (file != "") print > file; else print }' > wanted
    [ "$(grep -c '^\$ ' wanted)" -ge "$2" ] || fail "$1 has few examples"
    awk 'function flush() {
             if (command != "")
                 print "cat <<\047END OF COMMAND\047\n" shown "\nEND OF COMMAND\n{\n" command "\n} 2>&1"
         }
         /^\$ / { flush(); shown = $0; command = substr($0, 3); next }
         /^> / { shown = shown "\n" $0; command = command "\n" substr($0, 3); next }
         END { flush() }' wanted > typed
    for device in $devices; do
        rm -rf work
        cp -r files work
        (
            cd work || exit 99
            [ "$device" = default ] || export IMGPAR_DEVICE="$device"
            sh ../typed
        ) > got 2>&1
        diff -u wanted got > differs || fail "$1 on the device \"$device\" (- the page, + what is printed):
$(cat differs)"
    done
}

type_page imgpar-numpy 50
type_page imgpar-opencv 35
type_page imgpar-recipes 30

# ---- how they look -----------------------------------------------------------------------------

if command -v groff > /dev/null; then
    for page in numpy opencv recipes; do
        said=$(groff -man -Tutf8 -ww "$builddir/src/imgpar-$page.7" 2>&1 > /dev/null |
            grep -v 'cannot adjust\|cannot break' | head -n 5)
        expect "imgpar-$page(7) formats without a complaint" "$said" ""
    done
fi
finish
