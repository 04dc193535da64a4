#!/bin/sh
# SPDX-License-Identifier: MIT
#
# layering.sh - who may include whom, and that no source file is forgotten.
#
# 1. A file of src/X includes headers of its own folder, of the folders before X in
#    `order`, imgpar.h, and headers of the system; files of src/run and src/ops (what is computed on the host is compiled
#    from them) the OpenCL texts of shaders, too.
# 2. src/cli, sqlext and samples include imgpar.h and headers of their own folder only.
# 3. Outer libraries have one room each: OpenCL and CLBlast in src/run (src/cl goes through its clcheck.h), image formats in src/io,
#    SQLite in sqlext.
# 4. In src/compile what decides uses nothing of what prints, which is defined in emit*.c.
# 5. Every C file stands in Makefile.am.
. "${srcdir:-.}/tests/common.sh"
cd "$top_srcdir" || exit 99

order='base io ir graph ops compile run lang api cl'

# Processes cost most here, above all on a busy machine, so there is none for each file or include.

# "FILE:INCLUDED", one a line, for all files of a folder, with quotes or <> kept.
includes_of() {
    find "$1" \( -name '*.[ch]' -o -name '*.def' \) -exec \
        sed -n '/^[[:space:]]*#[[:space:]]*include[[:space:]]*["<]/{F;s/^[^"<]*\(["<][^">]*[">]\).*/\1/p;}' {} + | paste -d : - -
}

# folder_of FILE INCLUDED: $to is the folder below src that holds the header, "public" or "system".
folder_of() {
    name=${2#?}
    name=${name%?}
    here=${1%/*}
    case $name in imgpar.h | imgpar_*.h) to=public; return ;; esac
    case $2 in '<'*) to=system; return ;; esac
    if [ -f "$here/$name" ]; then
        case $name in
        */*) to=$(cd "$here/${name%/*}" && basename "$PWD") ;;
        *) to=${here##*/} ;;
        esac
    elif [ -f "src/$name" ] || [ "${name#*/}" != "$name" ]; then
        to=${name%%/*}
    else
        to=unknown
    fi
}

# check_folder FOLDER ALLOWED...: each include of FOLDER leads to one of ALLOWED.
check_folder() {
    folder=$1
    shift
    includes_of "$folder" > "$list"
    while IFS=: read -r file included; do
        folder_of "$file" "$included"
        case " $* public system " in
        *" $to "*) ;;
        *) fail "$file includes $included: $folder may include only: $* imgpar.h" ;;
        esac
    done < "$list"
}

# check_room PATTERN FOLDER: only files of FOLDER include a system header that matches.
check_room() {
    for folder in src sqlext samples; do
        [ ! -d "$folder" ] || includes_of "$folder"
    done | grep -E ":<($1)>" | grep -v "^$2/" > "$list"
    while read -r line; do
        fail "${line%%:*} includes ${line#*:}, which belongs to $2"
    done < "$list"
}

list=$(mktemp) || exit 99
trap 'rm -f "$list" "$list.used"' 0

allowed=
for folder in $order; do
    allowed="$allowed $folder"
    texts=
    case $folder in ops | run) texts=shaders ;; esac
    # shellcheck disable=SC2086  # a list of words
    [ ! -d "src/$folder" ] || check_folder "src/$folder" $allowed $texts
done
check_folder src/cli cli
check_folder sqlext sqlext
check_folder samples samples

check_room 'CL/.*' src/run
check_room 'clblast.*' src/run
check_room 'ft2build.*' src/io
check_room 'png\.h|jpeglib\.h|jerror\.h|turbojpeg\.h|zlib\.h' src/io
check_room 'sqlite3(ext)?\.h' sqlext

# Functions that emit*.c define, and where other files, but for compile.c, which runs the pass, call one, comments aside.
sed -n 's/^[a-z][a-z0-9_ *]*[ *]\(ip_[a-z0-9_]*\)(.*/\1/p' src/compile/emit*.c > "$list"
[ -s "$list" ] || fail 'no function is found in src/compile/emit*.c'
find src/compile src/run -name '*.c' ! -path 'src/compile/emit*' ! -path src/compile/compile.c -exec awk '
    FILENAME == ARGV[1] { prints[$1]; next }
    { gsub(/\/\*[^*]*\*\//, "") }
    /\/\*/ { is_comment = 1 }
    !is_comment { n = split($0, words, /[^a-z0-9_]+/); for (k = 1; k <= n; k++) if (words[k] in prints) print FILENAME, words[k] }
    /\*\// { is_comment = 0 }' "$list" {} + | sort -u > "$list.used"
while read -r file name; do
    fail "$file uses $name, which prints: src/compile/emit*.c"
done < "$list.used"

words=" $(tr -s '[:space:]\\' ' ' < Makefile.am) "
for file in src/*/*.c sqlext/*.c samples/*.c tests/*.c tests/bench/*.c; do
    [ -f "$file" ] || continue
    case $file in
    tests/check_*) listed=${file%.c} ;;
    *) listed=$file ;;
    esac
    case $words in *" $listed "*) ;; *) fail "$file is not in Makefile.am" ;; esac
done

for folder in src/*/; do
    folder=$(basename "$folder")
    case " $order cli " in
    *" $folder "*) ;;
    *) fail "src/$folder has no place in the order of folders" ;;
    esac
done
finish
