#!/bin/sh
# SPDX-License-Identifier: MIT
#
# headers.sh - each public header compiles alone, as C11 and as C++17, without a warning; the macros of imgpar_cl.h as
# C++11, too. Their structs are versioned.
. "${srcdir:-.}/tests/common.sh"
scratch

# compile COMPILER... : compiles the standard input.
compile() {
    "$@" -Wall -Wextra -Wpedantic -Werror -I"$top_srcdir/include" -I"$builddir/include" -c -o out.o -
}

for header in "$top_srcdir"/include/*.h "$builddir"/include/*.h; do
    name=$(basename "$header")
    # shellcheck disable=SC2086  # CC may hold options
    echo "#include <$name>" | compile ${CC:-cc} -std=c11 -xc || fail "$name does not compile as C11"
    # Twice, because the second time only the include guard stands between.
    if command -v g++ >/dev/null; then
        printf '#include <%s>\n#include <%s>\n' "$name" "$name" | compile g++ -std=c++17 -xc++ ||
            fail "$name does not compile as C++17"
    else
        echo "no g++: $name was not tried as C++"
    fi
done

# A struct that programs make begins with struct_size. The others are handed out by pointer only, or passed by value and never change.
handed_out='imgpar_device imgpar_event imgpar_exif_value imgpar_op_param imgpar_op_info imgpar_cl_platform imgpar_cl_profile_row'
by_value='imgpar_x imgpar_cl_arg'
sed -n '/^typedef struct [a-z_]* {/{s/^typedef struct \([a-z_]*\) {\(.*\)/\1 \2/;N;s/\n */ /;p;}' "$top_srcdir"/include/*.h "$builddir"/include/*.h > structs
[ "$(wc -l < structs)" -gt 20 ] || fail "structs of the public headers were not found"
while read -r name first; do
    case "$first / $handed_out $by_value " in
    'size_t struct_size;'* | *" $name "*) ;;
    *) fail "$name does not begin with struct_size: $first" ;;
    esac
done < structs

# A struct that is only filled in need not be told its size: the function that is called sets it.
cat > sizes.c <<'EOF'
#include <imgpar.h>
#include <stdio.h>
#include <string.h>
int main(void)
{
    imgpar_word word;
    memset(&word, 0xa5, sizeof word);
    return imgpar_word_get(0, &word) && word.struct_size == sizeof word && strcmp(word.name, "param") == 0 ? 0 : 1;
}
EOF
# shellcheck disable=SC2086  # CC may hold options
${CC:-cc} -std=c11 -Wall -Wextra -Wpedantic -Werror -I"$top_srcdir/include" -I"$builddir/include" -o sizes sizes.c -L"$builddir/.libs" -limgpar &&
    LD_LIBRARY_PATH="$builddir/.libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" ./sizes || fail "imgpar_word_get() takes a struct of no size"

if command -v g++ > /dev/null; then
    cat > macros.cpp <<'EOF'
#include <imgpar_cl.h>
imgpar_status run(imgpar_cl_queue *q, imgpar_cl_kernel *k, imgpar_cl_buffer *b, imgpar_cl_event *const *after, imgpar_cl_event **event);
imgpar_status run(imgpar_cl_queue *q, imgpar_cl_kernel *k, imgpar_cl_buffer *b, imgpar_cl_event *const *after, imgpar_cl_event **event)
{
    const float data[] = { 1, 2 };
    const imgpar_cl_image *image = IMGPAR_CL_IMAGE(640, 480, IMGPAR_U8, 4);
    if (image->height != 480) return IMGPAR_E_SHAPE;
    imgpar_status st = imgpar_cl_write(q, b, IMGPAR_CL_REGION({ 10 }, { 2 }), data, IMGPAR_CL_ORDER(after, 1, event));
    return st ? st : imgpar_cl_launch(q, k, IMGPAR_CL_WORK({ 640, 480 }, { 16, 16 }),
                                      IMGPAR_CL_ARGS(imgpar_cl_arg_buffer(b), imgpar_cl_arg_real(2)), nullptr);
}
EOF
    for standard in 11 14 17 20; do
        g++ -std=c++$standard -pedantic -Wall -Werror -I"$top_srcdir/include" -I"$builddir/include" -c -o out.o macros.cpp ||
            fail "the macros of imgpar_cl.h do not compile as C++$standard"
    done
fi
finish
