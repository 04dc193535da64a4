/* SPDX-License-Identifier: MIT */
/* The table of words.h, and the public list, which has the operators too: their texts come from the operation table. */
#include "lang/words.h"
#include "base/structs.h"
#include "ops/build.h"
#include "ops/hints.h"

#include <stdio.h>
#include <string.h>

/* ops/types.def as text. */
#define CELL(DTYPE) " " #DTYPE
#define TYPES_ROW(DTYPE, TEXT, B, U8, I8, U16, I16, U32, I32, U64, I64, F16, F32, F64, LITERAL, FRACTIONAL)   \
    TEXT "  " CELL(B) CELL(U8) CELL(I8) CELL(U16) CELL(I16) CELL(U32) CELL(I32) CELL(U64) CELL(I64) CELL(F16) \
        CELL(F32) CELL(F64) CELL(LITERAL) CELL(FRACTIONAL) "\n"
#define TYPES_TOP(TEXT) TEXT "\n"
#define TYPES_RULE(TEXT) "\n* " TEXT
static const char types_table[] =
#include "ops/types.def"
    ;

#define STATEMENT(NAME, USAGE, SUMMARY, HELP, EXAMPLE)                                    \
    {                                                                                     \
        .info = { sizeof(imgpar_word), NAME, "statement", USAGE, SUMMARY, HELP, EXAMPLE } \
    }
#define FORM(NAME, FUNCTION, USAGE, SUMMARY, HELP, EXAMPLE, REQUIRED, ...)                              \
    {                                                                                                   \
        .info = { sizeof(imgpar_word), NAME, "form", USAGE, SUMMARY, HELP, EXAMPLE }, .form = FUNCTION, \
        .params = { __VA_ARGS__ }, .n_required = REQUIRED                                               \
    }
#define LATER_FORM(NAME, FUNCTION, USAGE, SUMMARY, HELP, EXAMPLE, REQUIRED, ...)                        \
    {                                                                                                   \
        .info = { sizeof(imgpar_word), NAME, "form", USAGE, SUMMARY, HELP, EXAMPLE }, .form = FUNCTION, \
        .params = { __VA_ARGS__ }, .n_required = REQUIRED, .yields = true                               \
    }
#define NAMED(NAME, USAGE, SUMMARY, HELP, EXAMPLE)                                   \
    {                                                                                \
        .info = { sizeof(imgpar_word), NAME, "name", USAGE, SUMMARY, HELP, EXAMPLE } \
    }

static const ip_word words[] = {
    STATEMENT("param", "param NAME = constant", "a value that the command line can change",
              "A number, \"text\", true, false, a vector or a matrix, or arithmetic of these, as 1 / 3 or [1 2] / 4;\n"
              "NAME=VALUE sets another of the same kind.\n"
              "A text is a choice, too: param how = \"wrap\", then border=how.",
              "param ratio = 0.3"),
    STATEMENT(
        "fn", "fn NAME(p, q) = expr", "a function",
        "There is no recursion; iterate() repeats. A function without a name is (p, q) -> expr. Several values are\n"
        "its arguments where it takes as many: with fn first(n, s) = n, first(scan(a, (0, 0), f)) is the one.",
        "fn mix(a, b, t) = a + (b - a) * t"),
    STATEMENT(
        "save", "save(expr, path, NAME=VALUE ...)", "computes an array and writes it to a file",
        "The path's ending tells the format, or format=png|jpeg|npy|pnm does; \"-\" is standard output.\n"
        "png: bits=8|16, level=0..9: 0 stores, more looks longer for what repeats; noise is as large at any level.\n"
        "jpeg: quality=1..100, subsample=420|422|444, progressive=0|1, background=0..255 or a colour, under alpha.\n"
        "pnm: bits=8|16; .pgm is for gray, .ppm for RGB, .pam for alpha, .pnm for all. npy keeps shape and dtype.\n"
        "png, jpeg: metadata=none leaves out EXIF, XMP and resolution, not the profile.\n"
        "The array's white is written as white, one above 255 in 16 bits where the format has them; numbers of\n"
        "data, which has no white, are rounded as they are. range=1 makes 0..1 black to white (png, jpeg, pnm; any\n"
        "range above 0). All files are opened before any is saved: two saves want two paths, and what was saved\n"
        "cannot be opened after it.",
        "save(out, \"out.jpg\", quality=95)"),
    STATEMENT("print", "print(value, ...)", "prints values in one line",
              "Numbers and text, arrays of up to 64 elements; larger ones by shape, dtype and white.",
              "print(width(a), mean(a))"),

    FORM("make", ip_form_make, "make(width, height, expr, channels=, shape=)",
         "an array from an expression in x, y, z and c",
         "The result is [height, width] and has the channels of expr: make(256, 64, zip(x, y, 0)).\n"
         "With channels=n it has n, and c counts them. shape=[...], 1 to 8 extents from the first axis on,\n"
         "stands for width, height and channels: make(shape=[5 64 64 1], expr=z). Of more than 4 axes\n"
         "y, x and c are the last three; indices() has the others.\n"
         "Random numbers need no shape in it, make(64, 64, x + normal(seed=3)), as beside arrays: a + normal(sigma=9)."
         "\nsobol_at(x, 0) is number x of Sobol's sequence.",
         "make(256, 64, x)", 0, "width", "height", "expr", "channels", "shape"),
    FORM("iterate", ip_form_iterate, "iterate(start, count, step, until=, check=1)", "repeats a step",
         "step is an expression in _, the value before it, or a function p -> expr; several values are carried with\n"
         "(a, b) = iterate((u, v), n, (p, q) -> (e, f)). until= is tested after each step, or with check=k after\n"
         "every k-th one, and stops where it holds. What starts from a number stays one, however long the loop: it\n"
         "never widens what it meets, and is computed in 64 bits (f64 with a fraction). slice(a, i, i + 1) follows\n"
         "a counter.\n"
         "Where until has the shape of what is carried, each element stops by itself, and all steps are one kernel:\n"
         "(u, n) = iterate((cast(a, f32), 0), 99, (u, n) -> (u * 1.5, n + 1), until=(u, n) -> u > 1000). Numbers that\n"
         "it starts from become arrays: what counts in i32, in i64 where that may be too small, with a fraction in\n"
         "f32 (of no steps at all they stay numbers). A step reads its own element of what is carried, up to 16\n"
         "values, none of them f16 or complex, and of other arrays any. There is no check= then.\n"
         "So are long loops within a function of scan() and reduce(), with until or without.\n"
         "A record is carried as its components: iterate(zip(x=a, v=b), 9, s -> zip(x=s.x + s.v, v=s.v * 0.9)).x.",
         "iterate(a, 3, boxblur(_, size=3))", 3, "start", "count", "step", "until", "check"),
    FORM(
        "reduce", ip_form_reduce,
        "reduce(array, \"sum\", axis=) or reduce(array, init, function, axis=, keepdims=, associative=false)",
        "folds an array into one element, or along axes",
        "sum min max mean prod all any and or xor argmin argmax var std norm, with the parameters of their\n"
        "operations. A function (p, q) -> expr folds the elements into init one after the other, of several axes in\n"
        "row-major order. Sums from 0, products from 1, extremes and what combines bits are folded in any order,\n"
        "by many at once: p + q, max(p, q), q > p ? q : p; so is what associative=true says is associative, with init\n"
        "as its identity. Sums and products of integers are carried in i64.\n"
        "Several states are carried as a record, whose components keep their dtypes: --help scan. Where the least\n"
        "element is: reduce(zip(v=a, at=make(width(a), height(a), x)), zip(v=inf, at=-1), (p, q) -> q.v < p.v ? q : "
        "p).",
        "reduce(a, 0, (p, q) -> max(p, q))", 3, "array", "init", "function", "axis", "keepdims", "associative"),
    FORM(
        "scan", ip_form_scan, "scan(array, init, function, axis=0, exclusive=false, reverse=false, associative=false)",
        "folds along an axis and keeps what it passes; with an operator's name it is the operation scan",
        "The elements of a line are folded into init one after the other, many lines at once; long lines in blocks "
        "where\n"
        "the function is a sum from 0, a product from 1, an extreme or combines bits, p + q or max(p, q), or where\n"
        "associative=true says that it is associative and init its identity.\n"
        "Where init is an array, it has one number for each line, 1 for the axis.\n"
        "Up to 16 states are carried where init is a record or a tuple of numbers, or of such arrays:\n"
        "scan(a, zip(n=0, sum=0), (s, q) -> zip(n=s.n + 1, sum=s.sum + q)).sum, or\n"
        "(n, sum) = scan(a, (0, 0), (n, s, q) -> (n + 1, s + q)). The function gives what init has, and the result is\n"
        "a record or a tuple of arrays, each in a dtype of its own: the array's that it starts from; of what starts\n"
        "from a number the one that the function gives, i64 where that is a sum or a product of integers or, as f64 "
        "with\n"
        "a fraction, of numbers alone. The array may be a record or a tuple, too: q.v is a component of an element,\n"
        "or each is an argument behind the states. An associative function takes two records of the same components.",
        "scan(a, 0, (p, q) -> max(p, q), axis=1)", 3, "array", "init", "function", "axis", "exclusive", "reverse",
        "associative"),
    FORM("stencil", ip_form_stencil, "stencil(expr, border=replicate, cval=0, outside=)",
         "says what neighbour reads a[dy, dx] find beyond the edges",
         "border is that of the operations. outside=k makes the result k wherever a read falls outside,\n"
         "outside=keep keeps the value that is there. It holds for the reads written in it, not through names;\n"
         "outside= refuses functions with reads of their own, unless these stand in a stencil() there.",
         "stencil(a[0, 1] - a[0, -1], border=wrap)", 1, "expr", "border", "cval", "outside"),
    LATER_FORM(
        "around", ip_form_around, "around(array, radius, function, fold=sum, border=replicate, cval=0, shape=square)",
        "folds what a function makes of each element p and each neighbour q",
        "function is (p, q, dy, dx) -> expr, or (p, q) -> expr if it needs no distances; those of a volume are dz,\n"
        "dy, dx, of a line dx. q is array[dy, dx]; radius is one number, or a vector of one for each axis with\n"
        "neighbours, and the centre counts. With shape=disc neighbours count that are no farther away than the\n"
        "radius, which is one number then. fold: sum, mean, min, max, product. With \"mean\" it may give a value\n"
        "and its weight, (q, w), for the weighted mean. Other arrays are read as b[dy, dx], neighbours of p and q\n"
        "as q[0, 1]; border and cval hold for these reads, too. One kernel, and no memory for each neighbour.",
        "around(a, 2, (p, q, dy, dx) -> (q, exp(-abs(p - q) / 20.0)), \"mean\")", 3, "array", "radius", "function",
        "fold", "border", "cval", "shape"),
    LATER_FORM(
        "fold", ip_form_fold, "fold(values, function, fold=sum)",
        "folds terms that a function makes of numbers, as if they were written out",
        "values are a vector, a matrix with a row of numbers for each term, or a count n: 0 to n - 1. They stand\n"
        "wherever literals may, as offsets, sizes and parameters. fold: sum, mean, min, max, product; from the\n"
        "first term to the last.",
        "fold([-1 0; 1 0; 0 -1; 0 1], (dy, dx) -> abs(a - a[dy, dx]), \"max\")", 2, "values", "function", "fold"),
    FORM("window", ip_form_window, "window(array, radius, function, border=replicate)",
         "folds what stands within a radius of each element with a function",
         "radius is one number for the first two axes, or a vector of one for each of the first axes. The function\n"
         "must be associative and commutative: it folds along one axis after the other. border is that of stencil,\n"
         "but not constant.",
         "window(a, 2, (p, q) -> max(p, q)) - window(a, 2, (p, q) -> min(p, q))", 3, "array", "radius", "function",
         "border"),
    FORM("einsum", ip_form_einsum, "einsum(text, a, b)", "sums of products by letters for the axes, as numpy.einsum",
         "text names the axes of a, of b where there is one, and behind -> those of the result; of letters that it\n"
         "lacks the products are summed: \"ij,jk->ik\" is matmul, \"ij->ji\" permutes, \"ij->i\" sums, \"ii->i\" is a\n"
         "diagonal, \"i,j->ij\" the outer product. Without -> the result has the letters that occur once, in the\n"
         "order of the alphabet. Where axes are summed and others are of one operand alone it is matmul(), with its\n"
         "dtypes; else a product, and sum(), in one kernel. \"->\" without letters gives one element.",
         "einsum(\"hwc,hwd->cd\", a, a)", 2, "text", "a", "b"),
    FORM("zip", ip_form_zip, "zip(a, b, ...) or zip(r=a, g=b, ...)",
         "arrays side by side, as the last dimension of one",
         "All have one shape, which numbers take too; images of one channel become its channels. Dtypes\n"
         "meet as for operators, but in f64 where integers may have more digits than f32 beside them holds.\n"
         "It costs no kernel. Named components are read by .r as they were given; what operations make of it has\n"
         "no names, but c ? a : b of two such with the same components has, and neighbours have, r[0, 1].u, except\n"
         "in stencil(outside=). Named numbers alone are one element, as scan(), reduce() and iterate() start from.",
         "zip(lo=a, hi=invert(a)).hi", 0, NULL),
    FORM("width", ip_form_extent, "width(array)", "the width as a number", "", "circle(a, radius=width(a) / 4)", 1,
         "array"),
    FORM("height", ip_form_extent, "height(array)", "the height as a number", "", "crop(a, 0, 0, 100, height(a))", 1,
         "array"),
    FORM("white", ip_form_extent, "white(array)", "the number that is white in an array",
         "Its white or, where it has none, 1 for bool and floats, the maximum of u8 and u16, else 255.",
         "threshold(a, white(a) / 2)", 1, "array"),
    FORM("channels", ip_form_extent, "channels(array)", "the number of channels", "", "channels(a) == 3", 1, "array"),
    FORM("shape", ip_form_shape, "shape(array)", "the extents of all axes, as a vector",
         "From the first axis on: of a picture [height width channels].", "make(shape=shape(a), expr=x)", 1, "array"),

    NAMED("x", "x", "the column of each element, from 0, in an element-wise expression or make()", "",
          "make(256, 64, x + y)"),
    NAMED("y", "y", "the row of each element, from 0", "", "a * (y % 2)"),
    NAMED("z", "z", "the plane of each element of a volume, from 0", "", "volume * (z > 3)"),
    NAMED("c", "c", "the channel of each element, from 0", "", "a * (c == 0)"),
    NAMED("_", "_", "the value before a step of iterate()", "", "iterate(a, 3, blur(_, 1))"),
    NAMED("$1", "$1 ... $9", "the arrays that the caller of imgpar_apply() or SQL's apply() gives", "", "invert($1)"),
    NAMED("[]", "a[dy, dx]", "the neighbour of each element: a read at constant offsets",
          "Offsets shift the first axes: a[0] is each element itself, a[1] the one in the row below. They follow any\n"
          "array, open(\"c.png\")[0, 1] too, and choose no row, channel or picture of a stack: that is\n"
          "take(a, [0], axis=0) or slice(a, 0, 1, axis=2). Beyond the edges: see stencil.",
          "abs(a[0, 1] - a[0, -1])"),
    NAMED(".", "a.r", "a component of zip(r=..., g=...)", "", "zip(lo=a, hi=a + 1).lo"),
    NAMED("pi", "pi", "3.14159...", "", "sin(x * pi / 180)"),
    NAMED("inf", "inf", "infinity", "", "a == inf"),
    { .info = { sizeof(imgpar_word), "types", "name", "a + b", "the result types of operators, as a table", types_table,
                "a + b" } },
    NAMED("nan", "nan", "not a number", "", "cast(nan, f32)"),
};
enum { N_WORDS = sizeof words / sizeof *words };

const ip_word *ip_word_at(size_t index) { return index < N_WORDS ? &words[index] : NULL; }

const ip_word *ip_word_find(const char *name)
{
    for (int i = 0; i < N_WORDS; i++)
        if (strcmp(words[i].info.name, name) == 0) return &words[i];
    return NULL;
}

bool ip_is_form(const char *name) { return ip_form_find(name) != NULL; }

bool ip_is_reserved(const char *name)
{
    const ip_word *word = ip_word_find(name);
    return word && word->form && !word->yields;
}

ip_form ip_form_find(const char *name)
{
    const ip_word *word = ip_word_find(name);
    return word ? word->form : NULL;
}

/* ---- public ------------------------------------------------------------------------- */

IMGPAR_API size_t imgpar_word_count(void) { return N_WORDS + IP_N_OPERATORS; }

IMGPAR_API int imgpar_word_get(size_t index, imgpar_word *out)
{
    if (index >= imgpar_word_count() || !out) return 0;
    if (index < N_WORDS) return !ip_struct_out(out, &words[index].info, "word", "out", NULL);
    const ip_operator_facts *facts = &ip_operators[index - N_WORDS];
    const imgpar_op_info *row = &ip_op_find_symbol(facts->symbol, facts->n_operands)->info;
    const bool is_choice = facts->n_operands == 3;
    const imgpar_word word = { .struct_size = sizeof word,
                               .name = facts->symbol,
                               .category = "operator",
                               .summary = row->summary,
                               .help = row->formula,
                               .usage = is_choice ? "cond ? yes : no" : row->example,
                               .example = is_choice ? "a > 128 ? a : 0" : row->example };
    return !ip_struct_out(out, &word, "word", "out", NULL);
}

IMGPAR_API const char *imgpar_name_elsewhere(const char *name) { return name ? ip_operation_elsewhere(name) : NULL; }

IMGPAR_API const char *imgpar_param_elsewhere(const char *op, const char *name)
{
    const ip_op *row = op && name ? ip_op_find(op) : NULL;
    return row ? ip_hint_param(row, name) : NULL;
}

IMGPAR_API size_t imgpar_near_names(const char *name, char *buf, size_t n)
{
    if (n == 0 || !buf) return 0;
    buf[0] = '\0';
    if (!name) return 0;
    ip_op_near(name, buf, n);
    size_t used = strlen(buf);
    for (int i = 0; i < N_WORDS; i++) {
        const char *other = words[i].info.name;
        if (imgpar_op_find(other) || !ip_is_near(name, other) || used + strlen(other) + 3 > n) continue;
        used += (size_t)snprintf(buf + used, n - used, "%s%s", used ? ", " : "", other);
    }
    return used;
}
