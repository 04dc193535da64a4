#!/bin/sh
# SPDX-License-Identifier: MIT
#
# signposts.sh - what comments and src/ARCHITECTURE.md point to is there.
#
# 1. A file that src/ARCHITECTURE.md names exists.
# 2. A Note [X] that is cited stands somewhere, under a line that says "Note [X]" and nothing else, and in the file that
#    the citation names before it ("reach.c, Note [X]").
# 3. A constant of src/ARCHITECTURE.md's table stands in a file of its line.
# 4. Each of the numbered requirements at the head of a file (R1. R2.) begins a line.
. "${srcdir:-.}/tests/common.sh"
cd "$top_srcdir" || exit 99
git rev-parse --git-dir > /dev/null 2>&1 || skip "a release has the signposts of the checkout that it was made of"

files=$(git ls-files .ci include src sqlext shaders tests samples)
lost=$(
    # shellcheck disable=SC2086  # a list of files
    grep -oE '[A-Za-z0-9_/.-]+\.(c|h|cl|def|sh)\b' src/ARCHITECTURE.md | sort -u | awk -v files="$files" '
        BEGIN { n = split(files, list, "\n"); for (k = 1; k <= n; k++) known = known "/" list[k] "\n" }
        index(known, "/" $0 "\n") == 0 && $0 !~ /imgpar_ops\.h$/ { print }'
)
expect "files that src/ARCHITECTURE.md names exist" "$lost" ""

# Comments as running text: a line that ends within a citation goes on in the next one.
lost=$(git ls-files -z src sqlext shaders samples 'tests/*.[ch]' | xargs -0 awk '
    FNR == 1 { tail = "" }
    {
        line = $0
        if (line ~ /^[ \/*#]*Note \[[^]]+\]$/) {
            name = line; sub(/^[^[]*\[/, "", name); sub(/\]$/, "", name)
            stands[name] = stands[name] " /" FILENAME " "
            tail = ""
            next
        }
        sub(/^[ \/*#]+/, "", line)
        text = tail line
        while (match(text, /([A-Za-z0-9_\/.-]+\.(c|h|cl|def|sh), )?Note \[[^]]+\]/)) {
            cited[++n] = substr(text, RSTART, RLENGTH)
            from[n] = FILENAME ":" FNR
            text = substr(text, RSTART + RLENGTH)
        }
        # what may be the beginning of a citation that the next line ends
        tail = match(text, /([A-Za-z0-9_\/.-]+\.(c|h|cl|def|sh),|Note|Note \[[^]]*)$/) ? substr(text, 1) " " : ""
        if (length(tail) > 300) tail = ""
    }
    END {
        for (k = 1; k <= n; k++) {
            name = cited[k]; sub(/^.*Note \[/, "", name); sub(/\]$/, "", name)
            file = cited[k] ~ /, Note/ ? cited[k] : ""; sub(/, Note.*/, "", file)
            if (!(name in stands)) print from[k] ": no Note [" name "]"
            else if (file != "" && index(stands[name], "/" file " ") == 0) print from[k] ": Note [" name "] is not in " file
        }
    }')
expect "Notes stand where they are looked for" "$lost" ""

# "| NAME, NAME | compile/a.c, b.c |": a file without a folder is in the one of the file before it.
lost=$(awk -F ' *[|] *' '
    /^[|] constants [|] file [|]/ { inside = 1; next }
    inside && !/^[|]/ { exit }
    inside && $2 !~ /^-+$/ {
        n = split($3, files, /[,;] */)
        folder = ""
        for (k = 1; k <= n; k++) {
            if (files[k] ~ /\//) folder = files[k] ~ /^shaders/ ? "" : "src/"
            path = files[k]
            if (path ~ /\//) { near = path; sub(/[^\/]*$/, "", near) } else path = near path
            while ((getline line < (folder path)) > 0) text = text "\n" line
            close(folder path)
        }
        m = split($2, names, /[,;] */)
        for (k = 1; k <= m; k++)
            if (text !~ ("[^A-Za-z0-9_]" names[k] "[^A-Za-z0-9_]")) print names[k] ": not in " $3
        text = ""
    }' src/ARCHITECTURE.md)
expect "constants of the table stand in their files" "$lost" ""

merged=$(git ls-files -z '*.c' '*.h' | xargs -0 awk '/^ \* .*[.)] R[0-9]+\. / { print FILENAME ":" FNR }')
expect "each requirement begins a line" "$merged" ""
finish
