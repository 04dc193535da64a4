/* SPDX-License-Identifier: MIT */
/*
 * src/lang: the grammar and what numbers give, every message with its place, arrays
 * built from text (computed by the ref device), params, and hostile text.
 */
#include "base/str.h"
#include "base/alloc.h"
#include "graph/array.h"
#include "lang/words.h"
#include "asserts.h"

#include <imgpar.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define N(table) (int)(sizeof table / sizeof *table)

static imgpar_context *ctx;

static void open_ref(void) { ck_assert_int_eq(imgpar_context_new("ref", &ctx), IMGPAR_OK); }

static void close_ref(void) { imgpar_context_release(ctx); }

/* ---- helpers ---------------------------------------------------------------------------- */

static void collect(void *user, const char *line)
{
    ip_str *lines = user;
    if (lines->length) ip_str_putc(lines, '\n');
    ip_str_append(lines, line);
}

/* What text prints, or its message; for free through ip_str_free(). */
static ip_str result_of(const char *text)
{
    ip_str lines = IP_STR_INIT;
    imgpar_pipeline *p;
    imgpar_status st = imgpar_pipeline_parse("t", text, NULL, &p);
    if (!st) st = imgpar_pipeline_run(p, ctx, collect, &lines, NULL);
    if (st) {
        ip_str_clear(&lines);
        ip_str_append(&lines, imgpar_pipeline_message(p));
    }
    imgpar_pipeline_release(p);
    return lines;
}

static void expect_result(const char *text, const char *wanted)
{
    ip_str got = result_of(text);
    ck_assert_msg(strcmp(ip_str_text(&got), wanted) == 0, "%s\n gives  %s\n wanted %s", text, ip_str_text(&got),
                  wanted);
    ip_str_free(&got);
}

/* ---- numbers ------------------------------------------------------------------------------ */

typedef struct text_case {
    const char *text, *wanted;
} text_case;

static const text_case numbers[] = {
    { "1 + 2 * 3", "7" },
    { "(1 + 2) * 3", "9" },
    { "2 ** 3 ** 2", "512" },
    { "-2 ** 2", "-4" },
    { "2 ** -1", "0.5" },
    { "- - 3", "3" },
    { "!0 == 1", "true" },
    { "~5", "-6" },
    { "~true ? 1 : ~false ? 2 : 3", "2" },
    { "(true ^ true ? 1 : 2) + (true | 2)", "5" },
    { "7 div 2", "3" },
    { "-7 div 2", "-4" },
    { "-7 % 3", "2" },
    { "7 % -3", "-2" },
    { "7 div 0", "0" },
    { "7 % 0", "0" },
    { "1 / 4", "0.25" },
    { "1 / 0", "inf" },
    { "10 - 3 - 2", "5" },
    { "100 / 10 / 5", "2" },
    { "1 << 2 + 1", "8" },
    { "1 | 6 & 3", "3" },
    { "6 ^ 3 | 8", "13" },
    { "1 | 2 == 3", "true" }, /* | binds closer than == */
    { "1 < 2 && 3 < 2 || true", "true" },
    { "true || false && false", "true" },
    { "1 > 2 ? 10 : 2 > 1 ? 20 : 30", "20" },
    { "0x10 + 0xfF", "271" },
    { "1e3", "1000" },
    { ".5 + 1.", "1.5" },
    { "1E-3", "0.001" },
    { "sqrt(16) + abs(-2) + floor(2.7) + ceil(2.1)", "11" },
    { "round(2.5) + round(3.5)", "6" },
    { "min(3, 2.5)", "2.5" },
    { "max(3, 2)", "3" },
    { "clamp(7, 0, 5)", "5" },
    { "sign(-3) + sign(0) * 10 + sign(0.5) * 100", "99" },
    { "isnan(nan) + isinf(-inf) * 10 + isfinite(7) * 100 + isfinite(inf) + isnan(1)", "111" },
    { "hypot(3, -4)", "5" },
    { "log2(8) + log10(1000) + exp2(3) + cbrt(-27) + rsqrt(4) + expm1(0) + log1p(0)", "11.5" },
    { "fifth_root(-32) + fifth_root(0)", "-2" },
    { "asinh(0) + acosh(1) + atanh(0) + erf(0) + erfc(0)", "1" },
    { "lgamma(1) + tgamma(5) + fma(2, 3, 4)", "34" },
    { "nextafter(1, 2) > 1", "true" },
    { "atan2(0, 1) + sin(0) + cos(0) + exp(0) + log(1)", "2" },
    { "floor(pi * 100)", "314" },
    { "\"wrap\" == \"wrap\" ? 1 : 2", "1" },
    { "\"wrap\" != \"wrap\" || \"a\" == \"b\"", "false" },
    { "[1 -2 +3]", "[1 -2 3]" },
    { "[1, 2*2, 3 - 1]", "[1 4 2]" },
    { "[1, -2]", "[1 -2]" },
    { "[1 2; 3 4]", "[1 2; 3 4]" },
    { "[1 2;\n 3 4\n]", "[1 2; 3 4]" },
    { "[(1 - 2) 3]", "t:1:16: elements separated by spaces are signed numbers, as in [1 -2]; expressions need commas, "
                     "as in [1 - 2, 3]\n"
                     "print([(1 - 2) 3])\n               ^" },
    { "\"a\\tb\\\"\\\\\\x41\\u00e9\"", "a\tb\"\\A\xc3\xa9" },
    { "iterate(1, 10, _ * 2)", "1024" },
    { "iterate(1, 0, _ * 2)", "1" },
    { "iterate(0, 1000000, _ + 1)", "1000000" },
    { "iterate(1, 100, _ * 2, until = _ > 50)", "64" },
    { "iterate(1, 100, _ * 2, until = _ > 50, check = 4)", "256" },
    { "iterate(1, 10, _ * 2, until = _ > 50, check = 20)", "1024" },
    { "iterate(1, 100, p -> p * 3, until = p -> p > 50)", "81" },
    { "iterate(1, 3, iterate(_, 2, _ + 1) * 2)", "36" },
    { "iterate(2, 3, p -> p ** 2)", "256" },
    { "1, \"and\", 2", "1 and 2" },
    { "1 # a comment", "t:1:21: expected ',' or ')' for the '(' of line 1, found the end of the text\n"
                       "print(1 # a comment)\n                    ^" },
};

START_TEST(numbers_have_the_right_value)
{
    char text[300];
    snprintf(text, sizeof text, "print(%s)", numbers[_i].text);
    expect_result(text, numbers[_i].wanted);
}
END_TEST

static const text_case programs[] = {
    { "print(hypot(cast(numbers([3 0]), f64), 0.1), hypot(cast(numbers([-2147483648 -3]), i32), cast(numbers([0 4]), "
      "i32)))",
      "[3.0016662039607267 0.1] [2.1474836e+09 5]" },
    { "print([1 2] * 2, -[1 2; 3 4] / 2, [1 2 3] * [1; 10], 2 ** [1 2], [5 6] & 3, shape(make(6, 4, x)) div 2)",
      "[2 4] [-0.5 -1; -1.5 -2] [1 2 3; 10 20 30] [2 4] [1 2] [2 3]" },
    { "fn f(v) = v / sum(v)\nw = [1 2 1; 2 4 2; 1 2 1] / 16\nprint(sum(convolve(make(5, 5, 1.0), w)), f([1 3]))",
      "25 [0.25 0.75]" },
    { "print(hypot(numbers([3 0]), 4), sign(numbers([-2 5])), make(4, 1, sign(x - 2)))", "[5 4] [-1 1] [-1 -1 0 1]" },
    { "a = 1; b = a + 1 # two\nprint(b)", "2" },
    { "a = (1 +\n 2)\nprint(a)\nprint(a * 2)", "3\n6" },
    { "\r\na = 1\r\nprint(a)\r\n", "1" },
    { "\xef\xbb\xbfprint(1)", "1" },
    { "fn f(a, b) = a - b\nprint(f(5, 3), f(b=1, a=2), f(1, b=1))", "2 1 0" },
    { "fn f(a) = a * 2\nfn twice(g, v) = g(g(v))\nprint(twice(f, 3), twice(p -> p + 1, 3), twice(sqrt, 16))",
      "12 5 2" },
    { "fn f(a) = a + k\nprint(f(1))", "t:1:15: unknown name k\nfn f(a) = a + k\n              ^" },
    { "k = 5\nfn f(a) = a + k\nfn g(k) = f(k)\nprint(g(1))", "6" }, /* names are those around fn */
    { "param how = \"wrap\"\nfn f(p, b) = circshift(boxblur(p, 3, border=b), 1)\nprint(f(numbers([9 0 0 3]), how))",
      "[4 4 3 1]" },
    { "param how = \"wrap\"\nprint(around(numbers([9 0 3]), 1, (p, q) -> q, \"sum\", border=how), stencil(numbers([9 0 "
      "3])[-1], border=how), how == \"wrap\" ? 1 : how)",
      "[12 12 12] [3 9 0] 1" },
    { "wrap = \"zero\"\nprint(cast(numbers([2.5]), \"u8\"), boxblur(numbers([3 0 0 0]), 3, border=wrap))",
      "2 [1 1 0 1]" },
    { "type = \"i32\"\nprint(cast(2.5 * numbers([3]), type), cast(7.5, type))", "8 8" },
    { "print(9007199254740992, 0018014398509481984, 9007199254740993.0 == 2 ** 53)",
      "9007199254740992 18014398509481984 true" },
    { "fn one() = 1\nprint(one())", "1" },
    { "(a, b) = iterate((0, 1), 10, (p, q) -> (q, p + q))\nprint(a, b)", "55 89" },
    { "fn swap(p, q) = (q, p)\n(a, b) = swap(1, 2)\nprint(a, b)", "2 1" },
    { "fn second(p, q) = q\nfn of(s) = second(s) + 1\nprint(second(iterate((0, 1), 10, (p, q) -> (q, p + q))))", "89" },
    { "fn second(p, q) = q\nprint(second(scan(numbers([1 2 3]), (0, 1), (n, s, q) -> (n + q, s * 0.5 + q))) * 8)",
      "[12 22 35]" },
    { "fn swap(p, q) = (q, p)\nfn less(p, q) = p - q\nprint(less(swap(swap(swap(1, 5)))), less(swap(7, 2)))", "4 -5" },
    /* names of a record are those of its neighbours */
    { "a = make(4, 3, x + y * 10)\nr = zip(u=a, v=a * 0.5, w=7)\ns = r[0, 1]\nprint(s.u, s.w)\nprint(s.v)",
      "[1 2 3 3; 11 12 13 13; 21 22 23 23] 7\n[0.5 1 1.5 1.5; 5.5 6 6.5 6.5; 10.5 11 11.5 11.5]" },
    { "a = make(4, 3, x + y * 10)\nr = zip(u=a, w=7)\nprint(stencil(r[0, 1].u, border=constant, cval=9))\n"
      "print(stencil(r[0, 1].w, border=constant, cval=9), r[-1, 0, 0].u)",
      "[1 2 3 9; 11 12 13 9; 21 22 23 9]\n[7 7 7 9; 7 7 7 9; 7 7 7 9] [0 1 2 3; 0 1 2 3; 10 11 12 13]" },
    { "a = make(4, 3, x + y * 10)\nfn f(r) = r[0, 1].u + r[1].w\nprint(f(zip(u=a, w=cast(a, u8))))\n"
      "s = iterate(zip(u=a, v=a * 0.5), 2, s -> zip(u=s[0, 1].v, v=s[1].u))\nprint(s.u)",
      "[11 13 15 16; 31 33 35 36; 41 43 45 46]\n[11 12 13 13; 21 22 23 23; 21 22 23 23]" },
    { "r = zip(u=numbers([1 2 3]), v=9, w=numbers([5]))\nprint(r[1].u, r[1].v, r[1].w, r[-1].u, r[1, 0].u)",
      "[2 3 3] 9 5 [1 1 2] [2 3 3]" },
    { "(a, b) = iterate((0, 1), 100, (p, q) -> (q, p + q), until = (p, q) -> q > 50)\nprint(a, b)", "34 55" },
    { "fn apply(f, n) = iterate(n, 3, f)\nprint(apply(p -> p + 2, 1))", "7" },
    { "pi = 3\nprint(pi)", "3" },
    { "param n = 4\nprint(n)", "4" },
    { "param n = -4.5\nprint(n)", "-4.5" },
    { "param v = [1 2 1]\nprint(v)", "[1 2 1]" },
    { "param on = true\nprint(on ? 1 : 2)", "1" },
    { "print(1 + 2)\n1 + 3", "3\n4" },
};

START_TEST(programs_print) { expect_result(programs[_i].text, programs[_i].wanted); }
END_TEST

/* ---- messages: a text, and the message without "t:" and without the caret lines --------------- */

static const text_case messages[] = {
    /* the lexer */
    { "print(@)", "1:7: '@' means nothing here" },
    { "a = open('b.png')", "1:10: ''' means nothing here; text stands in double quotes: \"photo.jpg\"" },
    { "a = open(b.png)", "1:11: '.' means nothing here; a file's name stands in quotes: \"photo.jpg\"" },
    { "a = open(\"b.png\").blur(2)", "1:18: '.' means nothing here; operations are called: blur(a)" },
    { "a = np.zeros((3, 4))", "1:7: '.' means nothing here; operations are called: zeros([3 4])" },
    { "a = cv2.GaussianBlur(b, 2)", "1:8: '.' means nothing here; GaussianBlur is blur(a, sigma)" },
    { "a = 1\nprint(a.width)", "2:8: '.' means nothing here; operations are called: width(a)" },
    { "a = make(2, 2, x) |> blur(2)",
      "1:20: expected a value, found '>'; a value is handed on as an argument: blur(invert(a), 2)" },
    { "print(blend_mode(make(2, 2, x), make(2, 2, y), color-dodge))",
      "1:53: blend_mode: mode=color-dodge; that is color_dodge" },
    { "print(blend_mode(make(2, 2, x), make(2, 2, y), zzz))",
      "1:48: blend_mode: mode=zzz is not one of normal, multiply, screen, overlay, darken, lighten, color_dodge, "
      "color_burn, hard_light, soft_light, difference, exclusion, hue, saturation, color, luminosity" },
    { "print(blend_mode(make(2, 2, x), make(2, 2, y), \"Colour-Dodge\"))",
      "1:48: blend_mode: mode=Colour-Dodge is not one of normal, multiply, screen, overlay, darken, lighten, "
      "color_dodge, "
      "color_burn, hard_light, soft_light, difference, exclusion, hue, saturation, color, luminosity; that is "
      "color_dodge" },
    { "print(median(make(2, 2, x), disc))",
      "1:29: unknown name disc; that is a choice, shape=disc, as median(a, size, shape=disc) has it" },
    { "print(arange(9))", "1:7: arange: to is missing; arange(0, n) counts from 0 to n - 1" },
    { "print(make(2, 2, x).r)", "1:20: there is no component r; that is slice(a, 0, 1, axis=2), of an image" },
    { "print(make(2, 2, x).shape)", "1:20: '.' means nothing here; operations are called: shape(a)" },
    { "print(make(2, 2, x).re)", "1:20: there is no component re; zip(re=...) names one" },
    { "print(zip(r=make(2, 2, x), h=make(2, 2, y)).g)", "1:44: there is no component g; it has r, h" },
    { "print(zip(1, 2))", "1:7: zip: one component at least must be an array" },
    { "print(zip(make(2, 2, x), g=make(2, 2, y)))", "1:7: zip: name all components, or none" },
    { "print(zip())", "1:7: zip: there are no components" },
    { "print(zip(r=make(2, 2, x)).)", "1:28: expected the name of a component, found ')'" },
    { "// a comment\nprint(1)", "1:1: a comment starts with #" },
    { "print(1) /* a comment */", "1:10: a comment starts with #" },
    { "a = 1\nprint(iterate(a, 3, a + 1))", "2:23: iterate: the step does not use _, the value before it" },
    { "let a = 1", "1:5: expected an operator or the end of the line, found a; an assignment is NAME = expr" },
    { "def f(p) = p", "1:5: expected an operator or the end of the line, found f; a function is fn NAME(p) = expr" },
    { "a = if 1 > 0 then 2",
      "1:8: expected an operator or the end of the line, found a number; a choice is cond ? yes : no" },
    { "print(1 and 2)", "1:9: expected ',' or ')' for the '(' of line 1, found and; that is &&" },
    { "a = 1\nb = 2\n", "2:1: nothing is saved or printed: save(expr, \"FILE\") or print(expr) is expected" },
    { "print(blur(\"b.png\"))", "1:12: blur: a must be an array, not a text; open(\"FILE\") gives a file's image" },
    { "print(\xc3\xa9)", "1:7: this character belongs in a string or a comment" },
    { "a = \"abc\nprint(a)", "1:5: this string has no closing '\"' on its line" },
    { "print(\"a\\qb\")", "1:9: no such escape: \\n \\t \\r \\\" \\\\ \\xHH and \\uHHHH exist" },
    { "print(\"a\\x00\")", "1:9: no such escape: \\n \\t \\r \\\" \\\\ \\xHH and \\uHHHH exist" },
    { "print(2x)", "1:8: a number ends here: an operator or a space is expected" },
    { "print(1.2.3)", "1:10: a number ends here: an operator or a space is expected" },
    { "print(1e)", "1:7: a number's exponent needs digits" },
    { "print(0x)", "1:7: 0x is followed by hexadecimal digits" },
    { "print(0x20000000000001)", "1:7: no double is this number exactly: whole ones are to 2^53; with a point or an "
                                 "exponent it is rounded" },
    { "print((1 << 53) | 1)", "1:17: '|' gives a whole number that no double is" },
    { "print(2 ** 64 & 1)", "1:15: '&' takes whole numbers from -2^63 to 2^63 - 1" },
    { "print($0)", "1:7: arguments are $1 to $9" },
    { "print($10)", "1:7: arguments are $1 to $9" },
    /* the grammar */
    { "print(1", "1:8: expected ',' or ')' for the '(' of line 1, found the end of the text" },
    { "a = (1 + 2\nb = 3", "2:1: expected ',' or ')' for the '(' of line 1, found b" },
    { "a = 1 +\nb = 2", "1:8: expected a value, found the end of the line (an open bracket continues a line)" },
    { "a = 1 2", "1:7: expected an operator or the end of the line, found a number" },
    { "a = ;", "1:5: expected a value, found ';'" },
    { "print(1 ? 2)", "1:12: expected ':' and the other value of '?', found ')'" },
    { "print(1 < 2 < 3)", "1:13: comparisons do not chain: write a < b && b < c" },
    { "print([1 - 2])", "1:10: elements separated by spaces are signed numbers, as in [1 -2]; expressions need commas, "
                        "as in [1 - 2, 3]" },
    { "print([1 -2, 3])",
      "1:10: write '1 - 2' for a difference and '1, -2' for two elements; between expressions stand "
      "commas, as in [cos(t), -sin(t)]" },
    { "print([1 2; 3])", "1:13: this row has 1 element, the first one 2" },
    { "print([])", "1:8: expected a value, found ']'; brackets have one at least, zeros([0]) has none" },
    { "a = save(1, \"b.npy\")", "1:5: save is a statement and cannot stand in an expression" },
    { "param a = 1 + b",
      "1:11: a constant is expected: a number, \"text\", true, false, a vector or arithmetic of these" },
    { "param a = [1, b]",
      "1:11: a constant is expected: a number, \"text\", true, false, a vector or arithmetic of these" },
    { "pi = 3\nparam a = pi",
      "2:11: a constant is expected: a number, \"text\", true, false, a vector or arithmetic of these" },
    { "param a = pi\npi = 3", "1:11: pi is used before line 2, which defines it" },
    { "param = 1", "1:7: expected the param's name, found '='" },
    { "fn f = 1", "1:6: expected '(' and the function's parameters, found '='" },
    { "fn f(1) = 1", "1:6: expected a parameter's name, found a number" },
    { "fn f(a, a) = 1", "1:9: parameter a is given twice" },
    { "fn make(a) = 1", "1:4: make is part of the language and cannot be redefined" },
    { "a = 1\na = 2", "2:1: a is assigned already, in line 1; a name is assigned once" },
    { "x = 1", "1:1: x is a coordinate (x y z c) and cannot be another name" },
    { "how = \"none\"\nprint(boxblur(numbers([1]), border=how))",
      "2:36: boxblur: border=none is not one of replicate, reflect, reflect101, wrap, constant, checked, unchecked" },
    { "how = 3\nprint(boxblur(numbers([1]), border=how))",
      "2:36: boxblur: border must be one of replicate, reflect, reflect101, wrap, constant, checked, unchecked" },
    { "_ = 1", "1:1: _ is the value of iterate() and cannot be another name" },
    { "1 + 1\nprint(1)", "1:1: an expression is the last statement; name this one: NAME = ..." },
    { "print(p -> 1, 1)", "1:9: a value is expected; a function '->' is an argument of fn, iterate or reduce" },
    { "print((1) -> 2)", "1:8: a parameter of '->' is a name" },
    { "", "1:1: nothing is saved or printed: save(expr, \"FILE\") or print(expr) is expected" },
    { "a = 1", "1:1: nothing is saved or printed: save(expr, \"FILE\") or print(expr) is expected" },
    /* names */
    { "tower = 1\nprint(towr)", "2:7: unknown name towr (near: tower)" },
    { "print(nothing)", "1:7: unknown name nothing" },
    { "print(blurr(1))", "1:7: unknown operation blurr (near: blur)" },
    { "print(where(1, 2, 3))", "1:7: unknown operation where; that is select(cond, yes, no), or find(a) for places" },
    { "print(imread(\"a.png\"))", "1:7: unknown operation imread; that is open(\"FILE\")" },
    { "print(7 // 2)", "1:9: a comment starts with #, and whole division is div" },
    { "print(9 @ 2)", "1:9: '@' means nothing here; a product of matrices is matmul(a, b)" },
    { "print(9007199254740993)",
      "1:7: no double is this number exactly: whole ones are to 2^53; with a point or an exponent it is rounded" },
    { "print(digitize(1, 2))", "1:7: unknown operation digitize; that is searchsorted(edges, a)" },
    { "print(merge(1, 2, 3))", "1:7: unknown operation merge; that is zip(r, g, b)" },
    { "print(True)", "1:7: unknown name True; that is true" },
    { "print(resize(make(2, 2, x), [1 1]))", "1:29: resize: width must be an integer, not a list of numbers" },
    { "print(shape(1))", "1:13: shape takes an array, not a number" },
    { "print(make(shape=shape(open(\"none.png\")), expr=x, width=1))",
      "1:18: make: shape stands for width, height and channels; give it alone" },
    { "print(scann(1))", "1:7: unknown operation scann (near: scan, canny)" },
    /* rules between literals are found before a file is opened, wherever they can be known */
    { "print(clamp(open(\"none.png\"), 5, 2))", "1:31: clamp: lo=5 is above hi=2" },
    { "print(clamp(open(\"none.png\"), 5, hi=-1))", "1:31: clamp: lo=5 is above hi=-1" },
    { "param w = 0\nprint(resize(open(\"none.png\"), w, 0))", "2:32: resize: width or height or scale is needed" },
    { "print(resize(open(\"none.png\")))", "1:7: resize: width or height or scale is needed" },
    { "print(convolve(open(\"none.png\"), [1 2 1], scale=2 - 2))", "1:51: convolve: scale must not be 0" },
    { "print(histogram(open(\"none.png\"), lo=3, hi=3))", "1:38: histogram: lo=3 is not below hi=3" },
    { "print(reshape(open(\"none.png\"), [-1 2 -1]))", "1:33: reshape: shape has -1 more than once" },
    { "print(reshape(open(\"none.png\"), [-2 2]))", "1:33: reshape: shape has -2, which is below -1" },
    { "print(randint([3], 0, 300, dtype=u8))", "1:7: randint: u8 does not hold all numbers from 0 to 299" },
    { "param most = 128\nprint(randint([3], 0, most + 1, dtype=i8))",
      "2:7: randint: i8 does not hold all numbers from 0 to 128" },
    { "print(randint([3], 0, 5e9, dtype=u64))", "1:7: randint: there are more than 2^32 numbers from 0 to 5e+09" },
    { "print(fill(2, 2, [1 2 3], channels=4))", "1:18: fill: value has 3 numbers for 4 channels" },
    { "print(blur(open(\"none.png\"), border=zero, cval=2))",
      "1:37: blur: border=zero takes no cval; write border=constant" },
    { "save(1, \"a.png\", range=0)", "1:18: save: png: range=0 is not a number above 0" },
    { "save(1, \"a.npy\", range=1)", "1:18: save: npy: unknown setting range; it has none" },
    { "save(1, \"a.jpg\", range=\"1x\")", "1:18: save: jpeg: range=1x is not a number above 0" },
    { "print(make(2, expr=x))", "1:7: make: height is missing" },
    { "print(make(2, 3))", "1:7: make: expr is missing" },
    { "print(make(shape=[2 0], expr=x))",
      "1:18: make: shape is a vector of 1 to 8 whole numbers from 1 to 2147483647" },
    { "print(make(2, shape=[2 2], expr=x))", "1:21: make: shape stands for width, height and channels; give it alone" },
    { "print(itearte(1, 2, _))", "1:7: unknown operation itearte (near: iterate)" },
    { "x0 = 1\nsavee(x0, \"a.png\")", "2:1: unknown operation savee (near: save)" },
    { "fn soften(a) = a\nprint(sotfen(1))", "2:7: unknown operation sotfen (near: soften)" },
    { "print(a)\na = 1", "1:7: a is used before line 2, which defines it" },
    { "fn f(a) = f(a - 1)\nprint(f(3))", "1:11: f calls itself: there is no recursion; iterate() repeats" },
    { "print(blur)", "1:7: a value is expected, and blur is a function: call it, blur(...)" },
    { "a = 5\nprint(a(1))", "2:7: a is a number, not a function" },
    { "print(_)", "1:7: _ is the value of an iterate(), and there is none around it" },
    { "print($1)", "1:7: $1: no arguments are given here" },
    { "print(true ? 1 : nope)", "1:18: unknown name nope" },
    { "print(shift(1))", "1:7: unknown operation shift" },
    /* functions */
    { "fn f(a) = a\nprint(f(1, 2))", "2:7: f takes 1 argument, here are 2" },
    { "fn f(a, b) = a\nprint(f(1, k=2))", "2:12: f has no parameter k" },
    { "fn f(a, b) = a\nprint(f(1, a=2))", "2:12: f: a is given twice" },
    { "save(make(2, 2, x), \"a.png\")\nsave(make(2, 2, y), \"a.png\")",
      "2:21: save: a.png is saved before, and this would replace it" },
    { "save(make(2, 2, x), \"a.png\")\nprint(sum(open(\"a.png\")))",
      "2:16: open: a.png is saved before, and files are read before any is saved; use what was saved" },
    { "fn f(a) = a\nprint(f(a=1, a=2))", "2:14: argument a is given twice" },
    { "fn f(a, b) = a\nprint(f(a=1, 2))", "2:14: an argument without a name cannot follow a=" },
    { "fn f() = sqrt\nprint(f())", "1:4: f gives a function; a value is expected" },
    { "(a, b) = 1\nprint(a)", "1:1: 2 names for 1 value" },
    { "fn two() = (1, 2)\n(a, b, d) = two()\nprint(a)", "2:1: 3 names for 2 values" },
    { "fn two() = (1, 2)\nfn f(a, b, d) = a\nprint(f(two()))", "3:7: f takes 3 arguments, here are 2" },
    { "fn f(a, b) = a\nprint(f(1))", "2:7: f takes 2 arguments, here are 1" },
    { "fn two() = (1, 2)\nfn f(a, b) = a\nprint(f(a=two()))", "3:7: f takes 2 arguments, here are 1" },
    { "r = zip(u=numbers([1 2 3]), v=9)\nprint(stencil(r[1].u, outside=keep))",
      "2:19: there is no component u; zip(u=...) names one" },
    { "r = zip(u=numbers([1 2 3]), v=9)\nprint(r[1].w)", "2:11: there is no component w; it has u, v" },
    { "fn two() = (1, 2)\nprint(two())",
      "2:7: one value is expected here, these are several: (a, b) = ... names them" },
    /* operators and numbers */
    { "print(\"a\" + 1)", "1:7: '+' takes numbers and arrays, not text" },
    { "print(\"a\" == 1)", "1:7: '==' takes numbers and arrays, not text" },
    { "print(\"a\" < \"b\")", "1:7: '<' takes numbers and arrays, not text" },
    { "print(5.5 & 2)", "1:11: '&' takes whole numbers" },
    { "print(1 << 64)", "1:9: '<<' shifts by 0 to 63" },
    { "print([1 2] == 2)", "1:7: '==' takes numbers and arrays, not a vector" },
    { "print([1 2] + [1 2 3])", "1:13: '+': one is 1x2, the other 1x3; their rows and columns must be equal or 1" },
    { "print([1 2] & 1.5)", "1:13: '&' takes whole numbers" },
    /* forms */
    { "print(x + 1)", "1:7: x is a coordinate, and nothing here says of which shape: use it with an array, or in "
                      "make(width, height, expr)" },
    { "print(boxblur(x))", "1:15: x is a coordinate, and nothing here says of which shape: use it with an array, or in "
                           "make(width, height, expr)" },
    { "print(make(0, 3, 1))", "1:12: make: width=0 is below 1" },
    { "print(make(3, 2.5, 1))", "1:15: make: height=2.5 is not a whole number" },
    { "print(make(3, 2, 1, channels=5))", "1:30: make: channels=5 is above 4" },
    { "print(make(3, 2))", "1:7: make: expr is missing" },
    { "print(make(3, 2, 3, x + c))",
      "1:23: make: the channels come after the expression: make(width, height, expr, channels=3)" },
    { "print(make(3, 2, 1, depth=1))", "1:21: make has no parameter depth" },
    { "print(make(3, 2, \"a\"))", "1:18: make: expr must be a number or an array, not text" },
    { "print(width(3))", "1:13: width takes an array, not a number" },
    { "print(iterate(1, 1000001, _))", "1:18: iterate: count=1000001 is above 1000000" },
    { "print(iterate(1, 3, _ * 2, check=2))",
      "1:34: iterate: check tells how often until is tested, and there is no until" },
    { "print(iterate(1, 3, _ * 2, until = _ > 1, check=0))", "1:49: iterate: check=0 is below 1" },
    { "print(iterate(1, -1, _))", "1:18: iterate: count=-1 is below 0" },
    { "print(iterate((1, 2), 3, _))", "1:26: iterate carries 2 values: a function of as many is expected, such as "
                                      "(p, q) -> (q, p)" },
    { "(a, b) = iterate((1, 2), 3, (p, q) -> p)\nprint(a)", "1:36: iterate carries 2 values, this gives 1" },
    { "print(iterate(1, 3, p -> (p, p)))", "1:23: iterate carries 1 value, this gives 2" },
    { "print(iterate(\"a\", 3, _))", "1:7: iterate carries numbers and arrays, not text" },
    { "print(reduce(make(2, 2, 1), \"median\"))",
      "1:29: reduce: unknown reduction \"median\"; there are: sum min max mean" },
    { "print(reduce(make(2, 2, 1), 0, 5))",
      "1:32: reduce: a function such as (p, q) -> p + q is expected, not a number" },
    { "print(reduce(1, 0, (p, q) -> p + q))", "1:14: reduce takes an array, not a number" },
    { "print(5[1])", "1:8: only arrays have neighbours; this is a number" },
    { "a = make(2, 2, 1)\nprint(a[0.5])", "2:9: offset=0.5 is not a whole number" },
    { "a = make(2, 2, 1)\nprint(stencil(a))", "2:7: stencil: no neighbour read a[dy, dx] is written in it; around "
                                              "those of a function it stands in the function" },
    { "a = make(2, 2, 1)\nfn s(p) = p[1, 0]\nprint(stencil(a[0, 1] + s(a), outside=keep))",
      "2:12: the stencil(outside=) around the call of this function does not see its neighbour reads; write them in "
      "the stencil() itself, or within a stencil() in the function" },
    { "a = make(2, 2, 1)\nprint(stencil(a[0, 1], outside=gone))", "2:32: unknown name gone" },
    /* save and print */
    { "save(1)", "1:1: save takes an expression and a path: save(out, \"out.png\")" },
    { "save(1, 2)", "1:9: save: the path must be text, not a number" },
    { "save(1, \"\")", "1:9: save: the path is empty" },
    { "save(1, \"a.xyz\")",
      "1:9: save: no format is known by the name a.xyz; png jpg npy pnm ppm pgm pam are, or format=" },
    { "save(1, \"a\", format=gif)", "1:21: save: format is one of png jpeg npy pnm" },
    { "save(1, \"a.jpg\", quality=900)", "1:18: save: jpeg: quality=900 is above 100" },
    { "save(1, \"a.png\", quality=90)", "1:18: save: png: unknown setting quality; there are bits, level" },
    { "save(1, \"a.jpg\", quality=90, sharp=1)", "1:30: save: jpeg: unknown setting sharp; there are quality" },
    { "save(1, \"a.dat\", level=3, format=png, bits=9)", "1:39: save: png: bits=9 is not 8 or 16" },
    { "save(\"in.png\", \"a.png\")",
      "1:6: an array or a number is expected, not text; open(\"FILE\") gives a file's image" },
    { "print()", "1:1: print takes at least one value" },
    { "print(1, a=2)", "1:10: print has no parameter a" },
    /* rows of the operation table */
    { "print(blur(open(\"none.png\"), -1))", "1:30: blur: sigma=-1 is below 0" },
    { "print(blur(open(\"none.png\"), 1, bordr=wrap))", "1:33: blur: unknown parameter bordr; it has a, sigma, " },
    { "print(max(ones(3), axis=0))",
      "1:20: max: unknown parameter axis; it has a, b; of one array, that is maxval(a) or reduce(a, \"max\")" },
    { "print(log_polar(ones(3)))",
      "1:7: unknown operation log_polar; that is polar(a, width, height, radius, scale=log), about the middle" },
    { "print(quantile(ones(3), 50))", "1:7: unknown operation quantile; that is percentile(a, p)" },
    { "print(max(open(\"none.png\")))",
      "1:7: max: b is missing; of one array, that is maxval(a) or reduce(a, \"max\")" },
    { "print(open(\"none.png\")[0:10, 0:10])",
      "1:25: brackets read neighbours, a[dy, dx]; a part is slice(a, from, to, step)" },
    { "print(open(5))", "1:12: open: path must be a text" },
    { "param s = -1\nprint(blur(open(\"none.png\"), s))", "2:30: blur: sigma=-1 is below 0" },
};

/* The message is pinned up to the end of `wanted`, and for those of this folder it is all of the first line. */
/* One table serves the parser, the messages and --help: what it says of a form is what the form takes. */
/* A name followed by a bracket at *text, copied to name; *text moves behind it. False at the end. */
static bool next_call(const char **text, char *name, size_t size)
{
    for (const char *p = *text; *p;) {
        size_t n = strspn(p, "abcdefghijklmnopqrstuvwxyz_0123456789");
        if (n && n < size && p[n] == '(') {
            snprintf(name, size, "%.*s", (int)n, p);
            *text = p + n;
            return true;
        }
        p += n ? n : 1;
    }
    return false;
}

static bool is_known(const char *name)
{
    if (imgpar_op_find(name) || strcmp(name, "montage") == 0) return true; /* an aggregate of SQL */
    imgpar_word word = { .struct_size = sizeof word };
    for (size_t k = 0; imgpar_word_get(k, &word); k++)
        if (strcmp(word.name, name) == 0) return true;
    return false;
}

/* The rows that messages and the pages for NumPy's, OpenCV's and libvips' users have. */
START_TEST(names_from_elsewhere_are_none_of_ours_and_their_answers_are)
{
    static const struct {
        const char *name, *here;
    } rows[] = {
#define ELSEWHERE(who, name, here) { name, here },
#include "lang/elsewhere.def"
#undef ELSEWHERE
    };
    ck_assert_int_gt(N(rows), 140);
    for (int k = 0; k < N(rows); k++) {
        char name[40];
        const char *text = rows[k].here;
        ck_assert_msg(!imgpar_op_find(rows[k].name), "%s is an operation here", rows[k].name);
        ck_assert_msg(strcmp(imgpar_name_elsewhere(rows[k].name), text) == 0, "%s stands twice", rows[k].name);
        while (next_call(&text, name, sizeof name))
            ck_assert_msg(is_known(name), "%s: there is no operation %s", rows[k].name, name);
    }
}
END_TEST

START_TEST(words_are_described)
{
    imgpar_word word = { .struct_size = sizeof word };
    for (size_t i = 0; i < imgpar_word_count(); i++) {
        ck_assert_int_eq(imgpar_word_get(i, &word), 1);
        ck_assert(word.name[0] && word.usage[0] && word.summary[0] && word.example[0] && word.help);
    }
    ck_assert_int_eq(imgpar_word_get(imgpar_word_count(), &word), 0);
    for (size_t i = 0; ip_word_at(i); i++) {
        const ip_word *w = ip_word_at(i);
        ck_assert_int_eq(w->form != NULL, strcmp(w->info.category, "form") == 0);
        /* scan is a row, too */
        if (w->form && strcmp(w->info.name, "scan") != 0) ck_assert_ptr_null(imgpar_op_find(w->info.name));
        for (int k = 0; k < IP_FORM_MAX_PARAMS && w->params[k] && strcmp(w->info.name, "reduce") != 0; k++)
            ck_assert_msg(strstr(w->info.usage, w->params[k]) != NULL, "%s: %s", w->info.usage, w->params[k]);
    }
    char near[40];
    ck_assert_uint_eq(imgpar_near_names("stencill", near, sizeof near), strlen("stencil"));
    ck_assert_str_eq(near, "stencil");
    ck_assert_str_eq(imgpar_name_elsewhere("clip"), "clamp(a, lo, hi)");
    ck_assert_ptr_null(imgpar_name_elsewhere("clamp"));
    imgpar_near_names("blurr", near, 6);
    ck_assert_uint_lt(strlen(near), 6);
    imgpar_near_names("qqqqqqq", near, sizeof near);
    ck_assert_str_eq(near, "");
}
END_TEST

START_TEST(messages_are_pinned)
{
    imgpar_pipeline *p;
    imgpar_status st = imgpar_pipeline_parse("t", messages[_i].text, NULL, &p);
    if (!st) st = imgpar_pipeline_check(p);
    const char *got = imgpar_pipeline_message(p), *wanted = messages[_i].wanted;
    ck_assert_msg(st == IMGPAR_E_SYNTAX, "%s\n is accepted or has status %s: %s", messages[_i].text,
                  imgpar_status_name(st), got);
    ck_assert_msg(strncmp(got, "t:", 2) == 0 && strncmp(got + 2, wanted, strlen(wanted)) == 0,
                  "%s\n says   %s\n wanted %s", messages[_i].text, got, wanted);
    int n_lines = 1;
    for (const char *c = got; *c; c++)
        n_lines += *c == '\n';
    ck_assert_msg(n_lines == (*messages[_i].text ? 3 : 1), "%s\n says %d lines: %s", messages[_i].text, n_lines, got);
    imgpar_pipeline_release(p);
}
END_TEST

START_TEST(the_caret_stands_below_its_character)
{
    expect_result("\tprint(\"\xc3\xa9\", nope)",
                  "t:1:13: unknown name nope\n\tprint(\"\xc3\xa9\", nope)\n\t           ^");
}
END_TEST

/* ---- arrays -------------------------------------------------------------------------------------- */

/* Text applied to two u8 arrays, $1 = [[1, 2, 3], [4, 5, 6]] and $2 = 10 x $1, and what print() shows of it. */
static const text_case arrays[] = {
    { "$1", "[1 2 3; 4 5 6]" },
    { "$1 + $2", "[11 22 33; 44 55 66]" },
    { "$1 + 0.5", "[1.5 2.5 3.5; 4.5 5.5 6.5]" },
    { "$1 - 2", "[-1 0 1; 2 3 4]" },
    { "-$1", "[-1 -2 -3; -4 -5 -6]" },
    { "$1 ** 2", "[1 4 9; 16 25 36]" },
    { "$1 / 2", "[0.5 1 1.5; 2 2.5 3]" },
    { "$1 div 2", "[0 1 1; 2 2 3]" },
    { "$1 > 2 && $1 < 5", "[0 0 1; 1 0 0]" },
    { "$1 > 3 ? $2 : 0", "[0 0 0; 40 50 60]" },
    { "width($1) * 10 + height($1)", "32" },
    { "$1 * width($1)", "[3 6 9; 12 15 18]" },
    { "a = $1 * 2; a + 1", "[3 5 7; 9 11 13]" },
    { "min($1, 3)", "[1 2 3; 3 3 3]" },
    /* coordinates */
    { "x + 0 * $1", "[0 1 2; 0 1 2]" },
    { "$1 * 0 + y * 10 + x", "[0 1 2; 10 11 12]" },
    { "$1 * (x == 1)", "[0 2 0; 0 5 0]" },
    { "make(3, 2, x * y)", "[0 0 0; 0 1 2]" },
    { "make(3, 2, 7)", "[7 7 7; 7 7 7]" },
    { "make(2, 2, zip(x, y, 5))", "[[0 0 5; 1 0 5] [0 1 5; 1 1 5]]" },
    { "zip(4, ones([2], dtype=u8), 0.5)", "[4 1 0.5; 4 1 0.5]" },
    { "zip(make(2, 1, x, channels=1), 5)", "[0 5; 1 5]" },
    { "zip(ones([1], dtype=f16), 1000000, ones([1]))", "[1 1000000 1]" },  /* in the dtype of all */
    { "zip(ones([1], dtype=i32) + 16777216, ones([1]))", "[16777217 1]" }, /* no digit is lost */
    { "make(2, 1, zip(1, 2, 3))", "[1 2 3; 1 2 3]" },
    { "zip(r=2, g=make(2, 2, x)).r + 1", "3" },
    { "n = 2\nmake(2, 1, 7, channels=n)", "[7 7; 7 7]" },
    { "make(2, 1, 7, width($1) - 1)", "[7 7; 7 7]" },
    { "make(3, 2, 7, channels=2)", "[[7 7; 7 7; 7 7] [7 7; 7 7; 7 7]]" },
    { "make(2, 2, c + 10 * x, channels=2)", "[[0 1; 10 11] [0 1; 10 11]]" },
    { "make(shape=[2 1 2 2], expr=z * 100 + x * 10 + c)", "[0 1; 10 11] [100 101; 110 111]" },
    { "make(shape=[3], expr=x + 1)", "[1 2 3]" },
    { "make(shape=[1 2 6], expr=c + x)", "[0 1 2 3 4 5; 0 1 2 3 4 5]" },
    { "make(shape=[2 2 1 1], expr=5) * (z + 1) + y", "[5] [6] [10] [11]" },
    { "fn sq(v) = v * v\nmake(3, 1, sq(x))", "[0 1 4]" },
    { "fn ramp() = x * 2\nmake(3, 1, ramp() + 1)", "[1 3 5]" },
    { "fn ramp() = x * 2\n$1 + ramp()", "[1 4 7; 4 7 10]" },
    { "make(3, 2, mean($1))", "[3.5 3.5 3.5; 3.5 3.5 3.5]" },
    /* neighbours */
    { "$1[0, 0]", "[1 2 3; 4 5 6]" },
    { "$1[0, -1]", "[1 1 2; 4 4 5]" },
    { "$1[1]", "[4 5 6; 4 5 6]" },
    { "stencil($1[0, 1], border=wrap)", "[2 3 1; 5 6 4]" },
    { "stencil($1[0, 1], border=constant, cval=9)", "[2 3 9; 5 6 9]" },
    { "stencil($1[0, 1] + $1[0, -1], outside=0)", "[0 4 0; 0 10 0]" },
    { "stencil($1[0, 1] + $1[0, -1], outside=keep)", "[1 4 3; 4 10 6]" },
    { "k = 2 - 1\n$1[0, k]", "[2 3 3; 5 6 6]" },
    { "window($1, 1, (p, q) -> max(p, q))", "[5 6 6; 5 6 6]" },
    { "window($1, 1, (p, q) -> p + q)", "[21 27 33; 30 36 42]" }, /* 1 1 2, 1 1 2, 4 4 5 and so on */
    { "window($1, [0 1], (p, q) -> p + q, border=wrap)", "[6 6 6; 15 15 15]" },
    { "r = 1\nfn largest(p, q) = max(p, q)\nwindow($1, r - 1, largest) + window($1, [r], largest)",
      "[5 7 9; 8 10 12]" },
    { "window($1, 2, (p, q) -> max(p, q)) - window($1, 2, (p, q) -> min(p, q))", "[5 5 5; 5 5 5]" },
    { "fn right(a) = a[0, 1]\nstencil(right($1) + 0 * $1[0, 0], border=wrap)",
      "[2 3 3; 5 6 6]" }, /* not through names */
    /* records */
    { "zip($1, $2)", "[[1 10; 2 20; 3 30] [4 40; 5 50; 6 60]]" },
    { "zip(r=$1, g=$2, b=$1) * 2", "[[2 20 2; 4 40 4; 6 60 6] [8 80 8; 10 100 10; 12 120 12]]" },
    { "p = zip(r=$1, g=$2)\np.g - p.r * 3", "[7 14 21; 28 35 42]" },
    { "fn gap(p) = p.g - p.r\ngap(zip(r=$1, g=$2))", "[9 18 27; 36 45 54]" },
    { "zip(r=$1, g=$2).g[0, 1]", "[20 30 30; 50 60 60]" },
    { "zip(r=$1 + x, g=$2).r", "[1 3 5; 4 6 8]" },
    { "zip(p=zip(r=$1), q=zip(r=$2)).q.r", "[10 20 30; 40 50 60]" },
    { "cast(sum(zip($1, $2), axis=-1), i32)", "[11 22 33; 44 55 66]" },
    { "p = zip(r=$1, g=$2)\n(p + 1).r",
      "apply:2:8: there is no component r; that is slice(a, 0, 1, axis=2), of an image\n(p + 1).r\n       ^" },
    { "zip($1, mean($2))", "apply:1:9: zip: this component has the shape [1], the first one [2, 3]\n"
                           "zip($1, mean($2))\n        ^" },
    /* reductions */
    { "reduce($1, \"sum\")", "21" },
    { "reduce($1, \"min\") + reduce($1, \"max\")", "7" },
    { "reduce($1, 0, (p, q) -> p + q)", "21" },
    { "reduce($1, 0, (p, q) -> max(p, q))", "6" },
    { "reduce($1, 0, (p, q) -> max(p, q), axis=0)", "[4 5 6]" },
    { "reduce($1, 0, (p, q) -> p + q, axis=1)", "[6 15]" },
    /* carried in i64 */
    { "reduce(make(4, 1, 1000000000), 0, (p, q) -> p + q, axis=1)", "4000000000" },
    { "reduce(make(40, 1, cast(2 + x * 0, u8)), 1, (p, q) -> p * q, axis=1)", "1099511627776" },
    { "reduce(make(40000, 1, cast(60000 + x * 0, u16)), 0, (p, q) -> p + q, axis=1)", "2400000000" },
    { "reduce($1, 0, (p, q) -> p + q, axis=[0 -1])", "21" },
    { "reduce($1, 0, (p, q) -> p + q, axis=-1, keepdims=true)", "[6; 15]" },
    { "reduce(make(40, 2, x + 41 * y), 0, (p, q) -> p + q, axis=1)", "[780 2420]" },
    { "reduce(make(3, 300, select(x == 1, y, 1)), 0, (p, q) -> max(p, q), axis=0)", "[1 299 1]" },
    { "reduce(zeros([2 0]), 7, (p, q) -> min(p, q), axis=1)", "[7 7]" },
    { "reduce(zeros([2 1], dtype=u8), 0, (p, q) -> p + q - 1, axis=1)", "[-1 -1]" }, /* with the identity at least */
    { "norm($1, axis=1) - cast(reduce($1 * $1, 0, (p, q) -> p + q, axis=1), i32) ** 0.5", "[0 0]" },
    { "dot($1, $1 + 0, axis=0)", "[17 29 45]" },
    { "reduce($1, 0, (p, q) -> max(p, q))", "6" },
    /* iterate */
    { "cast(histogram($1 - 4, bins=2, lo=-3, hi=0), i32)", "[2 2]" },
    { "circle($1, radius=1, cx=0, cy=0)", "[255 255 0; 255 0 0]" },
    { "iterate($1, 2, _ * 2)", "[4 8 12; 16 20 24]" },
    { "iterate($1, 0, _ * 2)", "[1 2 3; 4 5 6]" },
    { "iterate($1, 100, _ + 1)", "[101 102 103; 104 105 106]" },
    { "iterate($1, 1000, _ + 1, until = reduce(_, \"max\") >= 10)",
      "apply:1:21: iterate: a step changes [2, 3] u8 to [2, 3] i32; with until, start from that type (cast)\n"
      "iterate($1, 1000, _ + 1, until = reduce(_, \"max\") >= 10)\n                    ^" },
    { "iterate($1 + 0, 1000, _ + 1, until = reduce(_, \"max\") >= 10)", "[5 6 7; 8 9 10]" },
    { "iterate($1 + 0, 1000, _ + 1, until = reduce(_, \"max\") >= 10, check = 3)", "[7 8 9; 10 11 12]" },
    { "iterate($1 + 0, 5, _ + 1, until = reduce(_, \"max\") >= 10, check = 9)", "[6 7 8; 9 10 11]" },
    { "iterate($1 + 0.0, 100, select(mean(_) > 10, _ / 2, _ + 1), until = minval(_) > 4, check = 2)",
      "[5 6 7; 8 9 10]" },
    { "fn step(p, q) = (q, p)\n(a, b) = iterate(($1, $2), 101, step)\na", "[10 20 30; 40 50 60]" },
    { "(a, n) = iterate(($1, 0), 5, (p, k) -> (p + k, k + 1))\na", "[11 12 13; 14 15 16]" },
    { "(a, n) = iterate(($1, 0), 100, (p, k) -> (p + k, k + 1))\na", "[4951 4952 4953; 4954 4955 4956]" },
    { "iterate($1 + 0, 100, p -> min(p + 1, iterate($2 + 0, 100, q -> min(q, p + 5) + 1)))",
      "[101 102 103; 104 105 106]" },
    { "iterate($1 + 0, 100, p -> p + iterate($2 + 0, 100, q -> min(q, p)) - p + 1)", "[11 21 31; 41 51 61]" },
    { "(a, b) = iterate(($1, $2), 101, (p, q) -> iterate((q, p), 101, (r, s) -> (s, r)))\na", "[1 2 3; 4 5 6]" },
};

static imgpar_array *two_arrays(imgpar_array *in[2], const char *text)
{
    static const uint8_t one[] = { 1, 2, 3, 4, 5, 6 }, ten[] = { 10, 20, 30, 40, 50, 60 };
    const int64_t shape[] = { 2, 3 };
    in[0] = imgpar_array_from_data(ctx, IMGPAR_U8, 2, shape, one);
    in[1] = imgpar_array_from_data(ctx, IMGPAR_U8, 2, shape, ten);
    return imgpar_apply(ctx, text, in, 2);
}

/* One element a time, rows and columns as print() has them. */
static void show(imgpar_array *a, ip_str *out)
{
    imgpar_info info = { .struct_size = sizeof info };
    if (imgpar_array_info(a, &info)) {
        ip_str_append(out, imgpar_array_message(a));
        return;
    }
    union {
        uint8_t u8[64];
        int32_t i32[64];
        float f32[64];
        double f64[64];
        int64_t i64[64];
    } data;
    ck_assert_uint_le(info.size_bytes, sizeof data);
    ck_assert_msg(imgpar_array_read(a, &data, info.size_bytes) == IMGPAR_OK, "%s", imgpar_array_message(a));
    int64_t n = (int64_t)(info.size_bytes / imgpar_dtype_size(info.dtype));
    int64_t cols = info.rank > 1 ? info.shape[info.rank - 1] : n, rows = info.rank > 1 ? info.shape[info.rank - 2] : 1;
    if (n > 1) ip_str_append(out, info.rank == 3 && info.shape[0] > 1 ? "[[" : "[");
    for (int64_t i = 0; i < n; i++) {
        if (i > 0) ip_str_append(out, i % (rows * cols) == 0 ? "] [" : i % cols == 0 ? "; " : " ");
        double value = info.dtype == IMGPAR_I32   ? data.i32[i]
                       : info.dtype == IMGPAR_F32 ? (double)data.f32[i]
                       : info.dtype == IMGPAR_F64 ? data.f64[i]
                       : info.dtype == IMGPAR_I64 ? (double)data.i64[i]
                                                  : data.u8[i];
        ip_str_number(out, value);
    }
    if (n > 1) ip_str_append(out, info.rank == 3 && info.shape[0] > 1 ? "]]" : "]");
}

START_TEST(arrays_have_the_right_elements)
{
    imgpar_array *in[2], *a = two_arrays(in, arrays[_i].text);
    ip_str got = IP_STR_INIT;
    show(a, &got);
    ck_assert_msg(strcmp(ip_str_text(&got), arrays[_i].wanted) == 0, "%s\n gives  %s\n wanted %s", arrays[_i].text,
                  ip_str_text(&got), arrays[_i].wanted);
    ip_str_free(&got);
    imgpar_array_release(a);
    imgpar_array_release(in[0]);
    imgpar_array_release(in[1]);
}
END_TEST

/* The graph of an array as text builds the same array. */
START_TEST(a_dumped_graph_reads_back)
{
    imgpar_array *in[2], *a = two_arrays(in, arrays[_i].text);
    ip_str first = IP_STR_INIT, second = IP_STR_INIT;
    char *text = NULL;
    if (!imgpar_array_status(a)) {
        ck_assert_int_eq(imgpar_array_explain(a, "graph", &text), IMGPAR_OK);
        imgpar_array *b = imgpar_apply(ctx, text, in, 2); /* $1 is the leaf that the graph meets first */
        show(a, &first);
        show(b, &second);
        if (strcmp(ip_str_text(&first), ip_str_text(&second)) != 0) {
            imgpar_array *swapped[] = { in[1], in[0] };
            imgpar_array_replace(&b, imgpar_apply(ctx, text, swapped, 2));
            ip_str_clear(&second);
            show(b, &second);
        }
        ck_assert_msg(strcmp(ip_str_text(&first), ip_str_text(&second)) == 0, "%s\n dumped as\n%s\n gives %s, not %s",
                      arrays[_i].text, text, ip_str_text(&second), ip_str_text(&first));
        imgpar_array_release(b);
    }
    imgpar_free(text);
    ip_str_free(&first);
    ip_str_free(&second);
    imgpar_array_release(a);
    imgpar_array_release(in[0]);
    imgpar_array_release(in[1]);
}
END_TEST

/* The graph of an array as text, which as text gives the same text: of leaves in memory in the order that it names. */
static void check_reads_back(const char *what, imgpar_array *a, imgpar_array *const *leaves, size_t n)
{
    char *text = NULL, *again = NULL;
    ck_assert_msg(imgpar_array_status(a) == IMGPAR_OK, "%s: %s", what, imgpar_array_message(a));
    ck_assert_int_eq(imgpar_array_explain(a, "graph", &text), IMGPAR_OK);
    imgpar_array *b = imgpar_apply(ctx, text, leaves, n);
    ck_assert_msg(imgpar_array_status(b) == IMGPAR_OK, "%s is\n%s\n%s", what, text, imgpar_array_message(b));
    ck_assert_int_eq(imgpar_array_explain(b, "graph", &again), IMGPAR_OK);
    ck_assert_msg(strcmp(text, again) == 0, "%s is\n%s\nread back\n%s", what, text, again);
    imgpar_free(text);
    imgpar_free(again);
    imgpar_array_release(b);
}

START_TEST(the_graph_of_every_row_reads_back)
{
    static const int64_t shapes[][3] = { { 16, 24, 3 }, { 6, 5, 5 } };
    uint8_t bytes[16 * 24 * 3];
    for (size_t k = 0; k < sizeof bytes; k++)
        bytes[k] = (uint8_t)(k * 37 % 256);
    for (size_t shape = 0; shape < 2; shape++) {
        imgpar_array *leaf = imgpar_array_from_data(ctx, IMGPAR_U8, 3, shapes[shape], bytes);
        int n = 0;
        for (size_t k = 0; k < imgpar_op_count(); k++) {
            const imgpar_op_info *op = imgpar_op_get(k);
            char text[600];
            if (strstr(op->example, "open(")) continue; /* of files that are not there */
            snprintf(text, sizeof text, "a = $1\nb = 255 - a\n%s", op->example);
            imgpar_array *a = imgpar_apply(ctx, text, &leaf, 1);
            if (shape == 0 || !imgpar_array_status(a)) {
                check_reads_back(op->example, a, &leaf, 1);
                n++;
            }
            imgpar_array_release(a);
        }
        ck_assert_int_gt(n, 200);
        imgpar_array_release(leaf);
    }
}
END_TEST

/* Hidden rows, several gradients, and coordinates of arrays without elements. */
START_TEST(the_graph_of_what_has_no_row_reads_back)
{
    static const char *const texts[] = {
        "unique(tile($1, [2000 100]))",
        "count_unique(cast(tile($1, [2000 100]), f32))",
        "indexin($1, arange(0, 100))",
        "unique_inverse(tile($1, [400 400]))",
        "k = cast(arange(0, 100), u8)\nkey_places($1, k, key_table(k))",
        "percentile(cast(tile($1, [400 400]), f32), 30)",
        "nanpercentile(cast(tile($1, [400 400]), f32), 30)",
        "percentiles(cast(tile($1, [400 400]), f32), [30 60])",
        "autolevel(cast(tile($1, [400 400]), f32))",
        "zeros([0 3]) + x",
        "zeros([2 0 4]) + x * y",
        "zeros([3 0]) + (x > 1)",
        "zeros([2 0 3 4]) + z + c",
        "a = cast($1, f32)\nb = a * 2\n(p, q) = grad(sum(a * b * b), (a, b))\np + q * 2",
        "a = cast($1, f32)\nb = a + 1\n(p, q) = grad(sum(a * b), (a, b))\nq",
        "svdvals(cast($1, f32)) + svd_u(cast($1, f32))[0, 0]",
    };
    static const uint8_t bytes[] = { 1, 2, 3, 4, 5, 6 };
    imgpar_array *leaf = imgpar_array_from_data(ctx, IMGPAR_U8, 2, (const int64_t[]){ 2, 3 }, bytes);
    for (int k = 0; k < N(texts); k++) {
        imgpar_array *a = imgpar_apply(ctx, texts[k], &leaf, 1);
        check_reads_back(texts[k], a, &leaf, 1);
        imgpar_array_release(a);
    }
    imgpar_array_release(leaf);
}
END_TEST

/* What graphs call by name checks what it is given as any row does. */
START_TEST(rows_of_graphs_refuse_what_is_not_theirs)
{
    static const char *const texts[][2] = {
        { "distinct($1)", "distinct: a is [2, 3]" },
        { "distinct(zeros([100]))", "distinct: a is [100]" },
        { "key_table(zeros([0]))", "key_table: keys is [0]" },
        { "key_table(zeros([100 100]))", "key_table: keys is [100, 100]" },
        { "k = arange(0, 100)\nkey_places(k, k, zeros([256], dtype=i32))", "key_places: table is not the table" },
        { "k = arange(0, 100)\nkey_places(k, k, key_table(k + 1))", "key_places: table is not the table" },
        { "k = arange(0, 100)\nkey_places($1, k, key_table(k))", "key_places: a and keys differ in dtype" },
        { "nth(zeros([0]), cast([1 2], i64))", "nth: a is [0]" },
        { "nth($1, numbers([1 2], dtype=i32))", "nth: places is [2]; it must be a vector of 1 to 16 elements, i64" },
        { "nth($1, zeros([2 3], dtype=i64))", "nth: places is [2, 3]" },
        { "nth($1, zeros([17], dtype=i64))", "nth: places is [17]" },
        { "qr_parts(zeros([3]))", "qr_parts: " },
        { "hough_radii($1, numbers([1 2]), 5, 3)", "hough_radii: least=5 is above largest=3" },
        { "hough_centres($1, $1, zeros([4 4]), 1, 2, 3, 3)", "hough_centres: " },
        { "hough_radii(zeros(shape=[5 0]), [1 2 3], 2, 4)",
          "hough_radii: a must be an image of 1 channel, with pixels" },
        { "palette_diffusion($1, zeros([0 1], dtype=u8), kernel=jarvis)", "palette_diffusion: palette is [0, 1] u8" },
        { "palette_diffusion($1, zeros([4 2], dtype=u8), kernel=jarvis)", "palette_diffusion: palette is [4, 2] u8" },
        { "palette_diffusion($1, zeros([4 1], dtype=i32), kernel=jarvis)", "palette_diffusion: palette is [4, 1] i32" },
        { "palette_diffusion($1, zeros([4 1], dtype=u8), kernel=none)", "palette_diffusion: kernel=none" },
        { "quantize($1, zeros([65537 1], dtype=u8), dither=jarvis)", "of at most 65536 colours, not 65537" },
        { "cmyk_to_rgb(zeros([4 4 3]))", "cmyk_to_rgb: a is [4, 4, 3] f32; it must have 4 channels" },
    };
    static const uint8_t bytes[] = { 1, 2, 3, 4, 5, 6 };
    imgpar_array *leaf = imgpar_array_from_data(ctx, IMGPAR_U8, 2, (const int64_t[]){ 2, 3 }, bytes);
    for (int k = 0; k < N(texts); k++) {
        imgpar_array *a = imgpar_apply(ctx, texts[k][0], &leaf, 1);
        ck_assert_msg(strstr(imgpar_array_message(a), texts[k][1]) != NULL, "%s says %s", texts[k][0],
                      imgpar_array_message(a));
        imgpar_array_release(a);
    }
    imgpar_array_release(leaf);
}
END_TEST

/* Failures that only building finds, or that apply() adds: status and the first line. */
static const struct {
    const char *text;
    imgpar_status status;
    const char *wanted;
} failures[] = {
    { "$1 + $3", IMGPAR_E_SYNTAX, "apply:1:6: $3: only 2 arguments are given" },
    { "save($1, \"a.png\")", IMGPAR_E_SYNTAX,
      "apply:1:1: save is a statement of pipeline files; this text is assignments ended by one expression" },
    { "a = $1", IMGPAR_E_SYNTAX,
      "apply:1:7: expected an expression, whose value is the result, found the end of the text" },
    { "", IMGPAR_E_SYNTAX, "apply:1:1: expected an expression, whose value is the result, found the end of the text" },
    { "open(\"no such file.png\")", IMGPAR_E_IO, "apply:1:1: " },
    { "$1 + make(5, 5, x)", IMGPAR_E_SHAPE, "apply:1:4: " },
    { "boxblur($1, size=width($1) + 1)", IMGPAR_E_ARGUMENT, "apply:1:28: boxblur: size=4 is even" },
    { "$1[0, 0, 0]", IMGPAR_E_ARGUMENT, "apply:1:3: 3 offsets, but the array has 2 axes" },
    { "v = numbers([1 2])\nv[0, 0]", IMGPAR_E_ARGUMENT, "apply:2:2: 2 offsets, but the array has 1 axis" },
    { "linear(numbers([1 2]), a=[1 2 3])", IMGPAR_E_SHAPE, "apply:1:1: linear: a has 3 numbers for 1 channel" },
    { "fill(2, 2, [1 2])", IMGPAR_E_SYNTAX, "apply:1:12: fill: value has 2 numbers for 1 channel" },
    { "make(2, 3, zip(x, y, 1, 2, 3))", IMGPAR_E_ARGUMENT,
      "apply:1:1: make: the expression has the shape [3, 2, 5], not [3, 2]" },
    { "iterate($1, 100, make(width(_) + 1, 1, x))", IMGPAR_E_ARGUMENT, "apply:1:18: iterate: the type never settles" },
    { "reduce($1, 0.5, (p, q) -> p + q)", IMGPAR_E_ARGUMENT, "apply:1:12: reduce: init is 0.5, but elements are" },
    { "reduce($1, 0, (p, q) -> p / q > 1 ? p : q)", IMGPAR_OK, "" },
    { "iterate($1, 1000000, iterate(_, 100, boxblur(_)) + 1)", IMGPAR_OK, "" },
    { "fn f(a) = iterate(a, 60, _ + 1)\nfn g(a) = iterate(a, 60, f(f(_)))\niterate($1, 2, g(g(g(_))))", IMGPAR_OK, "" },
};

START_TEST(failures_carry_status_and_place)
{
    imgpar_array *in[2], *a = two_arrays(in, failures[_i].text);
    ck_assert_msg(imgpar_array_status(a) == failures[_i].status, "%s\n gives %s: %s", failures[_i].text,
                  imgpar_status_name(imgpar_array_status(a)), imgpar_array_message(a));
    const char *got = imgpar_array_message(a), *wanted = failures[_i].wanted;
    ck_assert_msg(strncmp(got, wanted, strlen(wanted)) == 0, "%s\n says %s", failures[_i].text, got);
    imgpar_array_release(a);
    imgpar_array_release(in[0]);
    imgpar_array_release(in[1]);
}
END_TEST

START_TEST(an_argument_that_failed_passes_its_message_on)
{
    imgpar_array *bad = imgpar_open(ctx, "no such file.png"), *a = imgpar_apply(ctx, "$1 + 1", &bad, 1);
    ck_assert_int_eq(imgpar_array_status(a), IMGPAR_E_IO);
    ck_assert_str_eq(imgpar_array_message(a), imgpar_array_message(bad));
    imgpar_array_release(a);
    imgpar_array_release(bad);
}
END_TEST

START_TEST(safe_text_opens_no_file)
{
    imgpar_array *a = imgpar_apply_safe(ctx, "fn f(p) = p\nf(open)(\"a.png\")", NULL, 0);
    ck_assert_int_eq(imgpar_array_status(a), IMGPAR_E_SYNTAX);
    imgpar_array_replace(&a, imgpar_apply_safe(ctx, "open(\"a.png\")", NULL, 0));
    ck_assert_int_eq(imgpar_array_status(a), IMGPAR_E_SYNTAX);
    ck_assert_ptr_eq(strstr(imgpar_array_message(a), "apply:1:1: open is refused here: it reads files"),
                     imgpar_array_message(a));
    imgpar_array_replace(&a, imgpar_apply_safe(ctx, "fn f(g, p) = g(p)\nf(open, \"a.png\")", NULL, 0));
    ck_assert_int_eq(imgpar_array_status(a), IMGPAR_E_SYNTAX);
    imgpar_array_release(a);
    a = imgpar_apply_safe(NULL, "1", NULL, 0);
    ck_assert_int_eq(imgpar_array_status(a), IMGPAR_E_ARGUMENT);
    imgpar_array_release(a);
}
END_TEST

/* ---- params ------------------------------------------------------------------------------------------ */

static const struct {
    const char *name, *value, *wanted;
} settings[] = {
    { "n", "0.5", "0.5 a true [1 2 1]" },
    { "n", "-0x10", "-16 a true [1 2 1]" },
    { "s", "say \"x\"", "1 say \"x\" true [1 2 1]" },
    { "on", "false", "1 a false [1 2 1]" },
    { "v", "[1 -2; 3 4]", "1 a true [1 -2; 3 4]" },
    { "v", "1 -2", "1 a true [1 -2]" },
    { "n", "-1 / 4 + 2 ** 3", "7.75 a true [1 2 1]" },
    { "v", "[1 2 1] / 4", "1 a true [0.25 0.5 0.25]" },
    { "v", "[1 2] * [1; 2] + 1", "1 a true [2 3; 3 5]" },
    { "n", "[1 2] * 2", "n=[1 2] * 2: param n is a number" },
    { "n", "1 + b", "n=1 + b: param n is a number" },
    { "v", "[1 2 3] / [1 2]", "v=[1 2 3] / [1 2]: param v is a vector such as [1 2 1]" },
    { "n", "abc", "n=abc: param n is a number" },
    { "n", "1 2", "n=1 2: param n is a number" },
    { "n", "", "n=: param n is a number" },
    { "n", "[1]", "n=[1]: param n is a number" },
    { "on", "1", "on=1: param on is true or false" },
    { "v", "[1 2", "v=[1 2: param v is a vector such as [1 2 1]" },
    { "k", "1", "t has no param k; its params are n, s, on, v" },
};

START_TEST(params_are_set_from_text)
{
    static const char text[] = "param n = 1\nparam s = \"a\"\nparam on = true\nparam v = [1 2 1]\nprint(n, s, on, v)";
    imgpar_pipeline *p;
    ip_str got = IP_STR_INIT;
    ck_assert_int_eq(imgpar_pipeline_parse("t", text, NULL, &p), IMGPAR_OK);
    if (imgpar_pipeline_set(p, settings[_i].name, settings[_i].value))
        ip_str_append(&got, imgpar_pipeline_message(p));
    else
        ck_assert_int_eq(imgpar_pipeline_run(p, ctx, collect, &got, NULL), IMGPAR_OK);
    ck_assert_str_eq(ip_str_text(&got), settings[_i].wanted);
    ip_str_free(&got);
    imgpar_pipeline_release(p);
}
END_TEST

START_TEST(a_pipeline_runs_twice_and_builds)
{
    imgpar_pipeline *p;
    imgpar_array **built;
    size_t n;
    ip_str got = IP_STR_INIT;
    static const char text[] = "a = make(2, 2, x)\nprint(1, a, \"b\")\nprint(a + 1)\na * 2";
    ck_assert_int_eq(imgpar_pipeline_parse("t", text, NULL, &p), IMGPAR_OK);
    for (int i = 0; i < 2; i++)
        ck_assert_int_eq(imgpar_pipeline_run(p, ctx, collect, &got, NULL), IMGPAR_OK);
    ck_assert_str_eq(ip_str_text(&got), "1 [0 1; 0 1] b\n[1 2; 1 2]\n[0 2; 0 2]\n"
                                        "1 [0 1; 0 1] b\n[1 2; 1 2]\n[0 2; 0 2]");
    imgpar_array *result;
    ip_str_clear(&got);
    ck_assert_int_eq(imgpar_pipeline_run_result(p, ctx, collect, &got, NULL, &result), IMGPAR_OK);
    ck_assert_str_eq(ip_str_text(&got), "1 [0 1; 0 1] b\n[1 2; 1 2]");
    char *last;
    ck_assert_int_eq(imgpar_array_text(result, NULL, &last), IMGPAR_OK);
    ck_assert_str_eq(last, "[0 2; 0 2]");
    imgpar_free(last);
    imgpar_array_release(result);
    ck_assert_int_eq(imgpar_pipeline_build(p, ctx, &built, &n), IMGPAR_OK);
    ck_assert_uint_eq(n, 3);
    while (n > 0)
        imgpar_array_release(built[--n]);
    imgpar_free(built);
    ip_str_free(&got);
    imgpar_pipeline_release(p);
    imgpar_pipeline_release(NULL);
}
END_TEST

/* ---- hostile text ---------------------------------------------------------------------------------------- */

/* before, then part repeated, then after: refused with this message (or accepted: NULL), and quickly. */
static const struct {
    const char *before, *part;
    int times;
    const char *after, *wanted;
} hostile[] = {
    { "print(", "(", 100000, "1", "nested more than 200 deep" },
    { "print(", "-", 100000, "1)", "nested more than 200 deep" },
    { "print(", "[", 100000, "1)", "nested more than 200 deep" },
    { "print(", "f(", 100000, "1)", "nested more than 200 deep" },
    { "print(", "2**", 100000, "1)", "nested more than 200 deep" },
    { "print(", "1?2:", 100000, "1)", "nested more than 200 deep" },
    { "", "p -> ", 100000, "1", "nested more than 200 deep" },
    { "print(", "1+", 100000, "1)", "more than 1000 operators deep" },
    { "print(", "1+", 900, "1)", NULL },
    { "print($1", "[0]", 100000, ")", "more than 1000 operators deep" },
    { "print(", "1,", 100000, "1)", "at most 64 arguments" },
    { "a = [", "1 ", 400000, "]\nprint(1)", NULL },
    { "print(", "x", 1000000, ")", "unknown name xxx" },
    { "print(\"", "x", 1000000, "\")", NULL },
    { "", " ", 1048577, "", "above the limit of 1 MiB" },
    { "", "\n", 1000000, "print(1)", NULL },
    { "", "((((((((((", 19, "1", "expected ',' or ')'" },
    { "fn f(a) = a + ", "(a + ", 190, "a", "expected ',' or ')'" },
    { "print(iterate(1, 1000000, ", "iterate(_, 1000000, ", 2, "_ + 1))))", "steps to evaluate" },
};

START_TEST(hostile_text_meets_a_message)
{
    ip_str text = IP_STR_INIT;
    imgpar_pipeline *p;
    ip_str_append(&text, hostile[_i].before);
    for (int i = 0; i < hostile[_i].times; i++)
        ip_str_append(&text, hostile[_i].part);
    ip_str_append(&text, hostile[_i].after);
    imgpar_status st = imgpar_pipeline_parse("t", ip_str_text(&text), NULL, &p);
    if (!st) st = imgpar_pipeline_check(p);
    const char *got = imgpar_pipeline_message(p), *wanted = hostile[_i].wanted;
    if (wanted)
        ck_assert_msg(st == IMGPAR_E_SYNTAX && strstr(got, wanted), "wanted %s, got %s", wanted, got);
    else
        ck_assert_msg(st == IMGPAR_OK, "%s", got);
    imgpar_pipeline_release(p);
    ip_str_free(&text);
}
END_TEST

START_TEST(functions_of_functions_are_bounded)
{
    ip_str text = IP_STR_INIT;
    imgpar_pipeline *p;
    ip_str_append(&text, "fn f0(a) = a + a\n");
    for (int i = 1; i < 60; i++)
        ip_str_printf(&text, "fn f%d(a) = f%d(a) + f%d(a)\n", i, i - 1, i - 1);
    ip_str_append(&text, "print(f59(1))");
    ck_assert_int_eq(imgpar_pipeline_parse("t", ip_str_text(&text), NULL, &p), IMGPAR_OK);
    ck_assert_int_eq(imgpar_pipeline_check(p), IMGPAR_E_SYNTAX);
    ck_assert_ptr_nonnull(strstr(imgpar_pipeline_message(p), "steps to evaluate"));
    imgpar_pipeline_release(p);
    ip_str_clear(&text);
    ip_str_append(&text, "fn f0(a) = a\n");
    for (int i = 1; i < 2000; i++)
        ip_str_printf(&text, "fn f%d(a) = f%d(a)\n", i, i - 1);
    ip_str_append(&text, "print(f1999(1))");
    ck_assert_int_eq(imgpar_pipeline_parse("t", ip_str_text(&text), NULL, &p), IMGPAR_OK);
    ck_assert_int_eq(imgpar_pipeline_check(p), IMGPAR_E_SYNTAX);
    ck_assert_ptr_nonnull(strstr(imgpar_pipeline_message(p), "deep"));
    imgpar_pipeline_release(p);
    ip_str_free(&text);
}
END_TEST

/* Every cut of a text, and every byte of it replaced, is accepted or refused: nothing else happens. */
START_TEST(damaged_text_is_survived)
{
    static const char text[] = "param s = 2\nfn f(a, b) = a[0, -1] * b + (x > 1 ? [1 2; 3 4] : \"t\\n\")\n"
                               "(u, v) = iterate(($1, 1), 3, (p, q) -> (f(p, q), q ** -2), until = _ > s)\n"
                               "save(stencil(u[1] / 0x1F, border=wrap), \"o.png\", level=1) # end";
    static const char bytes[] = "()[];,=\"$#x1.\\\n";
    char damaged[sizeof text];
    for (size_t i = 0; i < sizeof text; i++)
        for (size_t k = 0; k < sizeof bytes; k++) { /* the last one cuts the text */
            imgpar_pipeline *p;
            memcpy(damaged, text, sizeof text);
            damaged[i] = bytes[k];
            damaged[sizeof text - 1] = '\0';
            if (!imgpar_pipeline_parse("t", damaged, NULL, &p)) imgpar_pipeline_check(p);
            imgpar_pipeline_release(p);
        }
}
END_TEST

/* Each allocation fails once: the result is an error, and nothing leaks or crashes. */
static const char *const allocating[] = {
    "r = zip(u=$1, v=$1 * 0.5, w=7)\nstencil(r[0, 1].w + r[1].u, border=constant)",
    "fn less(p, q) = p - q\nless(iterate(($1, 1), 2, (p, q) -> (p + q, q)))",
    "fn f(a) = a[0, 1] + x\nb = iterate($1, 3, f(_))\nreduce(b, \"sum\")",
    "stencil($1[0, 1], outside=keep) + reduce($1, 0, (p, q) -> p + q)",
    "(a, n) = iterate(($1, 1), 100, (p, q) -> (p * q, q + 1), until = (p, q) -> q > 50)\na + n",
    "make(4, 3, clamp(x, 0, 2)) == convolve($1, [1 2 1; 2 4 2; 1 2 1])",
    "blurr(\"text\\n\", [1, 2 * 3], $1)",
};

START_TEST(every_failing_allocation_is_reported)
{
    static const uint8_t data[] = { 1, 2, 3, 4 };
    const int64_t shape[] = { 2, 2 };
    imgpar_array *in = imgpar_array_from_data(ctx, IMGPAR_U8, 2, shape, data);
    for (unsigned long nth = 1, seen = 1; seen >= nth; nth++) {
        ip_fault_set(IP_FAULT_ALLOC, nth);
        imgpar_array *a = imgpar_apply(ctx, allocating[_i], &in, 1);
        seen = ip_fault_seen(IP_FAULT_ALLOC);
        ip_fault_set(IP_FAULT_ALLOC, 0);
        ck_assert_msg(seen < nth || imgpar_array_status(a), "%s: allocation %lu fails unnoticed", allocating[_i], nth);
        imgpar_array_release(a);
    }
    imgpar_array_release(in);
}
END_TEST

/* ---- pipelines as functions ----------------------------------------------------------------- */

static const char function_text[] = "param k = 3\nparam m = [0 1 0]\nfn f(p) = p * k\nconvolve(f($1), m, scale=1)";

static imgpar_pipeline *parsed(const char *text)
{
    imgpar_pipeline *p;
    ck_assert_int_eq(imgpar_pipeline_parse("t", text, NULL, &p), IMGPAR_OK);
    return p;
}

static imgpar_array *two_by_two(int first)
{
    const int32_t data[] = { first, first + 1, first + 2, first + 3 };
    return imgpar_array_from_data(ctx, IMGPAR_I32, 2, (const int64_t[]){ 2, 2 }, data);
}

/* (first + i) * factor, factor being k times the one weight of m. NULL: as it should be. */
static const char *wrong_value(const imgpar_pipeline *p, int first, int factor)
{
    int32_t got[4];
    imgpar_array *in = two_by_two(first), *a = imgpar_pipeline_apply(p, ctx, &in, 1);
    imgpar_array *whole = imgpar_op(ctx, "cast", &a, 1, "dtype=i32");
    const char *why = imgpar_array_read(whole, got, sizeof got) ? "it fails" : NULL;
    for (int i = 0; i < 4 && !why; i++)
        if (got[i] != (first + i) * factor) why = "it is another number";
    imgpar_array_release(whole);
    imgpar_array_release(a);
    imgpar_array_release(in);
    return why;
}

START_TEST(a_pipeline_is_a_function_of_its_arrays_and_params)
{
    imgpar_pipeline *p = parsed(function_text);
    ck_assert_int_eq(imgpar_pipeline_check_apply(p, 1), IMGPAR_OK);
    ck_assert_str_eq(imgpar_pipeline_param(p, 0), "k");
    ck_assert_str_eq(imgpar_pipeline_param(p, 1), "m");
    ck_assert_ptr_null(imgpar_pipeline_param(p, 2));
    ck_assert_ptr_null(imgpar_pipeline_param(NULL, 0));
    ck_assert_ptr_null(wrong_value(p, 5, 3));
    ck_assert_int_eq(imgpar_pipeline_set(p, "k", "7"), IMGPAR_OK);
    ck_assert_int_eq(imgpar_pipeline_set(p, "m", "[0 9 0]"), IMGPAR_OK);
    ck_assert_ptr_null(wrong_value(p, 5, 7 * 9));
    imgpar_pipeline_release(p);
}
END_TEST

/* Lists of numbers that nobody knows before there is a picture: no rule of a row is held against them. */
static const char *const unknown_lists[] = {
    "slice($1, [0 0], step=[width($1), 1])",
    "tile($1, [height($1) div 2, 1])",
    "reshape($1, [width($1), height($1)])",
    "permute($1, [height($1) - 1, 0])",
    "recursive($1, [width($1), 1], [height($1) / 8])",
    "cast(numbers([width($1) / 4, 1]), i32)",
};

START_TEST(lists_of_numbers_that_are_not_known_yet_are_taken)
{
    imgpar_pipeline *p = parsed(unknown_lists[_i]);
    ck_assert_msg(imgpar_pipeline_check_apply(p, 1) == IMGPAR_OK, "%s", imgpar_pipeline_message(p));
    imgpar_array *in = two_by_two(1), *a = imgpar_pipeline_apply(p, ctx, &in, 1);
    ck_assert_msg(imgpar_array_eval(a, NULL) == IMGPAR_OK, "%s", imgpar_array_message(a));
    imgpar_array_release(a);
    imgpar_array_release(in);
    imgpar_pipeline_release(p);
}
END_TEST

static const struct {
    const char *text;
    size_t n;
    const char *message;
} not_functions[] = {
    { "$1 + $2", 1, "t:1:6: $2: only 1 argument is given" },
    { "$2", 2, "t reads no $1, so what is given for it would change nothing" },
    { "a = $1", 1, "t:1:1: an expression is expected at the end of the text, whose value is the result" },
    { "", 0, "t:1:1: an expression is expected at the end of the text, whose value is the result" },
    { "print(1); $1", 1,
      "t:1:1: print: this text is run for every picture it is given, and ends in one expression, its result" },
    { "a = $1\nsave(a, \"a.png\")", 1,
      "t:2:1: save: this text is run for every picture it is given, and ends in one expression, its result" },
    { "fn f(p) = p + open(\"-\")\nf($1)", 1,
      "t:1:15: open: standard input can be read once, and this text is run for every picture it is given" },
    { "blurr($1)", 1, "t:1:1: unknown operation blurr (near: blur)" },
};

START_TEST(what_is_no_function_is_refused)
{
    imgpar_pipeline *p = parsed(not_functions[_i].text);
    const size_t n = strcspn(not_functions[_i].message, "\n");
    ck_assert_int_eq(imgpar_pipeline_check_apply(p, not_functions[_i].n), IMGPAR_E_SYNTAX);
    ck_assert_msg(strncmp(imgpar_pipeline_message(p), not_functions[_i].message, n) == 0, "%s",
                  imgpar_pipeline_message(p));
    imgpar_array *in = two_by_two(0), *a = imgpar_pipeline_apply(p, ctx, &in, 1);
    if (_i != 1) ck_assert_int_ne(imgpar_array_status(a), IMGPAR_OK);
    imgpar_array_release(a);
    imgpar_array_release(in);
    imgpar_pipeline_release(p);
}
END_TEST

START_TEST(a_pipeline_is_a_function_of_frames)
{
    imgpar_pipeline *p = parsed("d = $1 * 10 - frame(-2)\nsum(d + frame(0))");
    size_t n = 0;
    double got;
    ck_assert_int_eq(imgpar_pipeline_check_frames(p, &n), IMGPAR_OK);
    ck_assert_uint_eq(n, 3);
    ck_assert_int_eq(imgpar_pipeline_check_frames(p, NULL), IMGPAR_OK);
    imgpar_array *frames[] = { two_by_two(5), two_by_two(100), two_by_two(20) }; /* 5 6 7 8 and so on */
    imgpar_array *a = imgpar_pipeline_apply_frames(p, ctx, frames, 3), *cast = imgpar_cast(a, "f64");
    ck_assert_msg(imgpar_array_read(cast, &got, sizeof got) == IMGPAR_OK, "%s", imgpar_array_message(cast));
    ck_assert_double_eq(got, 11 * 26 - 86);
    imgpar_array *few = imgpar_pipeline_apply_frames(p, ctx, frames, 2),
                 *none = imgpar_pipeline_apply(p, ctx, frames, 1);
    ck_assert_ptr_nonnull(strstr(imgpar_array_message(few), "frame(-2): at most 1 frames are kept"));
    ck_assert_ptr_nonnull(strstr(imgpar_array_message(none), "frame(-2) is of a video"));
    imgpar_array *const lost[] = { frames[0], NULL, NULL };
    imgpar_array *null = imgpar_pipeline_apply_frames(p, ctx, lost, 3),
                 *nothing = imgpar_pipeline_apply_frames(p, ctx, NULL, 0);
    ck_assert_str_eq(imgpar_array_message(null), "frame(-2): the array is NULL");
    ck_assert_int_eq(imgpar_array_status(nothing), IMGPAR_E_ARGUMENT);
    imgpar_array *const all[] = { a, cast, few, none, null, nothing, frames[0], frames[1], frames[2] };
    for (size_t k = 0; k < sizeof all / sizeof *all; k++)
        imgpar_array_release(all[k]);
    imgpar_pipeline_release(p);
    p = parsed("frame(-64)");
    ck_assert_int_eq(imgpar_pipeline_check_frames(p, &n), IMGPAR_E_SYNTAX);
    imgpar_pipeline_release(p);
    p = parsed("frame(make(4, 4, x), 1, 9)"); /* the operation of that name */
    ck_assert_int_eq(imgpar_pipeline_check_frames(p, &n), IMGPAR_E_SYNTAX);
    ck_assert_ptr_nonnull(strstr(imgpar_pipeline_message(p), "t reads no $1"));
    imgpar_pipeline_release(p);
}
END_TEST

/* Numbers of a list bend as literals do: what stands beside them keeps its dtype where that holds them. */
START_TEST(lists_bend)
{
    static const struct {
        imgpar_dtype beside;
        const char *text;
        imgpar_dtype is;
    } rows[] = {
        { IMGPAR_U8, "$1 * [1 2]", IMGPAR_I32 },
        { IMGPAR_U8, "$1 * [1 300]", IMGPAR_I32 },
        { IMGPAR_U8, "$1 * [1 0.5]", IMGPAR_F32 },
        { IMGPAR_F16, "$1 * [1 2]", IMGPAR_F16 },
        { IMGPAR_F16, "$1 * [1 0.5]", IMGPAR_F16 },
        { IMGPAR_F32, "$1 + [1 16777217]", IMGPAR_F32 },
        { IMGPAR_F64, "$1 + [1 0.1]", IMGPAR_F64 },
        { IMGPAR_U32, "$1 * [1 2]", IMGPAR_U32 },
        { IMGPAR_U32, "$1 * [1 -2]", IMGPAR_I64 },
        { IMGPAR_I32, "$1 + [0.5 1]", IMGPAR_F32 },
        { IMGPAR_U64, "$1 + [1 2]", IMGPAR_U64 },
        { IMGPAR_U8, "$1 + [1 5000000000]", IMGPAR_I64 },
        { IMGPAR_U8, "$1 > [1 2]", IMGPAR_BOOL },
        { IMGPAR_U8, "$1 > 3 ? $1 : [9 8]", IMGPAR_U8 },
        { IMGPAR_U8, "max($1, [9 8])", IMGPAR_I32 },
        { IMGPAR_COMPLEX64, "$1 * [1 2]", IMGPAR_COMPLEX64 },
        { IMGPAR_U8, "$1 > 3 ? $1 : [9 800]", IMGPAR_I32 },
        { IMGPAR_U8, "$1 > 3 ? [1 2] : [3 4]", IMGPAR_I32 },
        { IMGPAR_U8, "$1 > 3 ? [1 2] : [3.5 4]", IMGPAR_F32 },
    };
    const double zeros[4] = { 0 };
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        imgpar_array *in = imgpar_array_from_data(ctx, rows[k].beside, 2, (int64_t[]){ 1, 2 }, zeros),
                     *a = imgpar_apply(ctx, rows[k].text, &in, 1);
        imgpar_info info = { .struct_size = sizeof info };
        ck_assert_msg(imgpar_array_info(a, &info) == IMGPAR_OK, "%s: %s", rows[k].text, imgpar_array_message(a));
        ck_assert_msg(info.dtype == rows[k].is, "%s beside %s is %s", rows[k].text, imgpar_dtype_name(rows[k].beside),
                      imgpar_dtype_name(info.dtype));
        imgpar_array_release(a);
        imgpar_array_release(in);
    }
}
END_TEST

START_TEST(arrays_as_text_are_what_print_says)
{
    static const char *const texts[][2] = {
        { "mean(numbers([1 2 4 8]))", "3.75" },
        { "numbers([1 2; 3 4]) * 2", "[2 4; 6 8]" },
        { "maxval(numbers([1 2])) > 1", "true" },
        { "sum([1 2 3])", "6" }, /* a list where an array is due is one */
        { "sqrt([1 4 9])", "[1 2 3]" },
        { "make(3, 2, x) * [1 2 3]", "[0 2 6; 0 2 6]" },
        { "[1 2 3] - make(3, 1, x)", "[1 1 1]" },
        { "make(2, 2, x) > [0.5; 1]", "[0 1; 0 0]" },
        { "make(2, 1, x == 1) ? [7 8] : make(2, 1, 9)", "[9 8]" },
        /* what is not chosen is not there, whoever decides */
        { "fn big(a) = width(a) > 4\na = make(3, 1, x)\nbig(a) ? crop(a, 0, 0, 5, 5) : a + 1", "[1 2 3]" },
        { "fn big(a) = width(a) > 4\nfn small(a) = !big(a)\na = make(3, 1, x)\nb = small(a) && 1 ? a : crop(a, 0, 0, "
          "5, 5)\n"
          "b + 1",
          "[1 2 3]" },
        { "fn odd(v) = (v + x) % 2 == 1\na = make(3, 1, 2)\nodd(a) ? a + 7 : x", "[0 9 2]" },
        { "fn any(f, v) = f(v)\na = make(3, 1, 2)\nany(v -> v + x > 3, a) ? a + 7 : x", "[0 1 9]" },
        { "min(make(3, 1, x), [1 0 1])", "[0 0 1]" },
        { "sort([3 1 2])", "[1 2 3]" },
        { "matmul([1 2; 3 4], transpose([5 6; 7 8]))", "[17 23; 39 53]" },
        { "take(take([5 6 7], [2 0]), [1])", "5" },
        { "fn f(p) = p + 1\nnumbers(shape(f(make(3, 2, x)) * normal(seed=2)))", "[2 3]" },
        { "fn f(p) = p + 1\nnumbers(shape(normal() * f(make(3, 2, x))))", "[2 3]" },
        { "[1 2.5]", "[1 2.5]" },
        { "shape(make(2, 3, x))", "[3 2]" },
        { "zip([1 2], [3 4])", "[1 3; 2 4]" },
        { "scan([1 2 3], 0, (p, q) -> p + q)", "[1 3 6]" },
        { "make(2, 1, x) * make(2, 1, zip(1, 1)) * [1 2]", "[[0 0; 1 2]]" },
        { "set_white(fill(1, 1, [10 20 30 40], channels=4), 255, picture=true) * [1 2 3]", "[[10 40 90 40]]" },
        { "overlay(cast(make(2, 1, 200), u8), cast(make(2, 1, 100), u8), [0 1])", "[200 100]" },
        { "m = make(2, 1, x)\nselect(m > 0, [25 0], cast(m, u8))", "[0 0]" },
        { "reduce(make(2000, 1, 2000000), 0, (p, q) -> p + q)", "4000000000" },
        { "zeros(shape(make(2, 3, x)))", "[0 0; 0 0; 0 0]" },
        { "numbers(shape(make(shape=[4 1 2 3], expr=x)))", "[4 1 2 3]" },
        { "make(30, 40, x)", "[40, 30] i32" }, /* too many to be told */
    };
    char *text;
    for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) {
        imgpar_array *a = imgpar_apply(ctx, texts[k][0], NULL, 0);
        ck_assert_msg(imgpar_array_text(a, NULL, &text) == IMGPAR_OK, "%s", imgpar_array_message(a));
        ck_assert_str_eq(text, texts[k][1]);
        imgpar_free(text);
        imgpar_array_release(a);
    }
    imgpar_array *wrong = imgpar_apply(ctx, "mean(", NULL, 0);
    text = (char *)texts;
    ck_assert_int_eq(imgpar_array_text(wrong, NULL, &text), IMGPAR_E_SYNTAX);
    ck_assert_ptr_null(text);
    ck_assert_int_eq(imgpar_array_text(NULL, NULL, &text), IMGPAR_E_ARGUMENT);
    ck_assert_int_eq(imgpar_array_text(wrong, NULL, NULL), IMGPAR_E_ARGUMENT);
    imgpar_array_release(wrong);
}
END_TEST

START_TEST(a_pipeline_that_was_not_parsed_is_no_function)
{
    imgpar_pipeline *p;
    ck_assert_int_eq(imgpar_pipeline_parse("t", "1 +", NULL, &p), IMGPAR_E_SYNTAX);
    ck_assert_int_eq(imgpar_pipeline_check_apply(p, 1), IMGPAR_E_SYNTAX);
    imgpar_array *a = imgpar_pipeline_apply(p, ctx, NULL, 0), *none = imgpar_pipeline_apply(NULL, ctx, NULL, 0);
    ck_assert_str_eq(imgpar_array_message(a), imgpar_pipeline_message(p));
    ck_assert_int_eq(imgpar_array_status(a), IMGPAR_E_SYNTAX);
    ck_assert_int_eq(imgpar_array_status(none), IMGPAR_E_ARGUMENT);
    imgpar_array_release(a);
    imgpar_array_release(none);
    imgpar_pipeline_release(p);
}
END_TEST

static void *apply_often(void *user)
{
    const char *why = NULL;
    for (int i = 0; i < 50 && !why; i++)
        why = wrong_value(user, i, 7 * 9);
    return (void *)why;
}

START_TEST(threads_apply_one_pipeline)
{
    enum { N_THREADS = 8 };
    pthread_t threads[N_THREADS];
    imgpar_pipeline *p = parsed(function_text);
    ck_assert_int_eq(imgpar_pipeline_set(p, "k", "7"), IMGPAR_OK);
    ck_assert_int_eq(imgpar_pipeline_set(p, "m", "[0 9 0]"), IMGPAR_OK);
    for (int k = 0; k < N_THREADS; k++)
        ck_assert_int_eq(pthread_create(&threads[k], NULL, apply_often, p), 0);
    for (int k = 0; k < N_THREADS; k++) {
        void *why;
        ck_assert_int_eq(pthread_join(threads[k], &why), 0);
        ck_assert_msg(!why, "%s", (const char *)why);
    }
    imgpar_pipeline_release(p);
}
END_TEST

START_TEST(every_failing_allocation_of_a_function_is_reported)
{
    imgpar_pipeline *p = parsed(function_text);
    imgpar_array *in = two_by_two(0);
    ck_assert_int_eq(imgpar_pipeline_set(p, "m", "[0 9 0]"), IMGPAR_OK);
    for (unsigned long nth = 1, seen = 1; seen >= nth; nth++) {
        ip_fault_set(IP_FAULT_ALLOC, nth);
        imgpar_array *a = imgpar_pipeline_apply(p, ctx, &in, 1);
        seen = ip_fault_seen(IP_FAULT_ALLOC);
        ip_fault_set(IP_FAULT_ALLOC, 0);
        ck_assert_msg(seen < nth || imgpar_array_status(a), "allocation %lu fails unnoticed", nth);
        imgpar_array_release(a);
    }
    imgpar_array_release(in);
    imgpar_pipeline_release(p);
}
END_TEST

/* ---- a graph that is made again ------------------------------------------------------------------- */

static imgpar_array *gray_u8(int64_t height, int64_t width)
{
    uint8_t data[64] = { 1, 2, 3, 5, 8, 13 };
    return imgpar_array_from_data(ctx, IMGPAR_U8, 3, (const int64_t[]){ height, width, 1 }, data);
}

/* The graphs of two calls as texts, one behind the other; "" where the first fails. */
static ip_str two_calls(imgpar_pipeline *first, imgpar_pipeline *second, imgpar_array *const *in, size_t n)
{
    ip_str texts = IP_STR_INIT;
    imgpar_pipeline *const both[] = { first, second };
    for (int k = 0; k < 2; k++) {
        imgpar_array *a = imgpar_pipeline_apply(both[k], ctx, in, n);
        char *text = imgpar_array_status(a) ? NULL : ip_graph_unparse(&a, 1);
        const bool has_loop = text && strstr(text, "iterate("); /* each of which has a hash of its own */
        if (text) ip_str_printf(&texts, "%s%016llx\n", text, has_loop ? 0ull : (unsigned long long)a->hash);
        ip_free(text);
        imgpar_array_release(a);
    }
    return texts;
}

/* Of each row's example: the graph that a pipeline makes again is that which a new pipeline makes. */
START_TEST(what_is_made_again_is_what_the_text_makes)
{
    imgpar_array *in[] = { gray_u8(4, 6), gray_u8(4, 6) };
    int n_made = 0;
    for (size_t i = 0; i < imgpar_op_count(); i++) {
        char text[400];
        const imgpar_op_info *info = imgpar_op_get(i);
        snprintf(text, sizeof text, "a = $1\nb = $2\n%s", info->example ? info->example : "1");
        imgpar_pipeline *p, *other;
        if (!imgpar_pipeline_parse("t", text, NULL, &p) && !imgpar_pipeline_parse("t", text, NULL, &other)) {
            imgpar_array_release(imgpar_pipeline_apply(p, ctx, in, 2));
            ip_str texts = two_calls(p, other, in, 2);
            const size_t half = texts.length / 2;
            const char *made = ip_str_text(&texts);
            ck_assert_msg(memcmp(made, made + half, half) == 0, "%s:\n%.900s", text, made);
            n_made += half > 0;
            ip_str_free(&texts);
            imgpar_pipeline_release(other);
        }
        imgpar_pipeline_release(p);
    }
    ck_assert_int_gt(n_made, 350);
    for (int k = 0; k < N(in); k++)
        imgpar_array_release(in[k]);
}
END_TEST

/* Width times 100 and height, by the elements of what is made; then of other shapes, and of others again. */
START_TEST(a_graph_is_made_again_for_the_same_shapes_only)
{
    static const int64_t shapes[][2] = { { 2, 3 }, { 2, 3 }, { 3, 2 }, { 2, 3 }, { 1, 1 }, { 1, 1 } };
    imgpar_pipeline *p = parsed("param k = 100\nsum($1) * 0 + width($1) * k + height($1)");
    for (int i = 0; i < 2 * N(shapes); i++) {
        const int64_t *shape = shapes[i % N(shapes)];
        if (i == N(shapes)) ck_assert_int_eq(imgpar_pipeline_set(p, "k", "1000"), IMGPAR_OK);
        imgpar_array *in = gray_u8(shape[0], shape[1]), *a = imgpar_pipeline_apply(p, ctx, &in, 1);
        imgpar_array *whole = imgpar_op(ctx, "cast", &a, 1, "dtype=f64");
        double got = 0;
        ck_assert_int_eq(imgpar_array_read(whole, &got, sizeof got), IMGPAR_OK);
        ck_assert_double_eq(got, (double)shape[1] * (i < N(shapes) ? 100 : 1000) + (double)shape[0]);
        imgpar_array_release(whole);
        imgpar_array_release(a);
        imgpar_array_release(in);
    }
    imgpar_pipeline_release(p);
}
END_TEST

/* One array twice is no two arrays, nor are two of them one. */
START_TEST(a_graph_is_made_again_of_each_array)
{
    static const int pairs[][2] = { { 1, 2 }, { 1, 1 }, { 2, 1 }, { 2, 2 }, { 1, 2 } };
    imgpar_pipeline *p = parsed("$1 * 10 - $2");
    for (int i = 0; i < N(pairs); i++) {
        imgpar_array *in[2] = { two_by_two(pairs[i][0]) };
        in[1] = pairs[i][1] == pairs[i][0] ? imgpar_array_retain(in[0]) : two_by_two(pairs[i][1]);
        imgpar_array *a = imgpar_pipeline_apply(p, ctx, in, 2);
        int32_t got[4];
        ck_assert_int_eq(imgpar_array_read(a, got, sizeof got), IMGPAR_OK);
        for (int k = 0; k < 4; k++)
            ck_assert_int_eq(got[k], (pairs[i][0] + k) * 10 - (pairs[i][1] + k));
        imgpar_array_release(a);
        imgpar_array_release(in[0]);
        imgpar_array_release(in[1]);
    }
    imgpar_pipeline_release(p);
}
END_TEST

/* A text whose graph has nothing of a file but its height. */
START_TEST(a_text_that_reads_files_is_evaluated_each_time)
{
    char path[] = "/tmp/imgpar-lang-XXXXXX", text[200];
    const int fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    snprintf(text, sizeof text, "h = height(open(\"%s\"))\n$1 + h", path);
    imgpar_pipeline *p = parsed(text);
    for (int height = 1; height <= 4; height++) {
        char pgm[40];
        const int n = snprintf(pgm, sizeof pgm, "P5\n1 %d\n255\n", height);
        ck_assert_int_eq(pwrite(fd, "P5 1 1 255        ", 18, 0), 18);
        memset(pgm + n, 7, sizeof pgm - (size_t)n);
        ck_assert_int_eq(pwrite(fd, pgm, (size_t)(n + height), 0), n + height);
        ck_assert_int_eq(ftruncate(fd, n + height), 0);
        imgpar_array *in = two_by_two(0), *a = imgpar_pipeline_apply(p, ctx, &in, 1);
        int32_t got[4];
        ck_assert_int_eq(imgpar_array_read(a, got, sizeof got), IMGPAR_OK);
        ck_assert_int_eq(got[3], 3 + height);
        imgpar_array_release(a);
        imgpar_array_release(in);
    }
    imgpar_pipeline_release(p);
    close(fd);
    unlink(path);
}
END_TEST

/* ---- how far it is ------------------------------------------------------------------------------ */

typedef struct fractions {
    double first, last;
    int n;
    bool went_back;
} fractions;

static int note_fraction(void *user, double done)
{
    fractions *f = user;
    if (f->n++ == 0) f->first = done;
    f->went_back = f->went_back || done < f->last;
    f->last = done;
    return 0;
}

/* Reading, computing and writing are parts of one whole, of one picture as of several. */
static const char *const far_going[] = {
    "save(boxblur(open(\"a.png\"), 3), \"a.jpg\")",
    "a = open(\"a.png\")\nsave(boxblur(a, 3), \"a.jpg\")\nprint(mean(a))\n"
    "save(invert(a), \"b.png\")",
    "save(iterate(open(\"a.png\"), 100, boxblur(_, 3)), \"a.jpg\")",
};

START_TEST(the_fraction_done_is_one_and_never_goes_back)
{
    static const char *const files[] = { "a.png", "b.png", "a.jpg" };
    fractions f = { .first = -1 };
    char folder[] = "/tmp/imgpar-lang.XXXXXX", path[64];
    imgpar_pipeline *draw, *p;
    ck_assert_ptr_nonnull(mkdtemp(folder));
    ck_assert_int_eq(imgpar_pipeline_parse("t", "save(make(200, 150, x + y, channels=3), \"a.png\")", folder, &draw),
                     IMGPAR_OK);
    ck_assert_int_eq(imgpar_pipeline_parse("t", far_going[_i], folder, &p), IMGPAR_OK);
    const imgpar_options options = { .struct_size = sizeof options, .poll = note_fraction, .user = &f };
    ck_assert_int_eq(imgpar_pipeline_run(draw, ctx, NULL, NULL, NULL), IMGPAR_OK);
    ck_assert_msg(!imgpar_pipeline_run(p, ctx, NULL, NULL, &options), "%s", imgpar_pipeline_message(p));
    ck_assert_msg(!f.went_back, "it went back");
    ck_assert_msg(f.n >= 2 * 150, "%d polls", f.n); /* each row that is read and each that is written, at least */
    ck_assert_msg(f.first >= 0 && f.first < 0.01 && f.last > 0.99 && f.last <= 1, "from %g to %g", f.first, f.last);
    imgpar_pipeline_release(draw);
    imgpar_pipeline_release(p);
    for (int k = 0; k < N(files); k++) {
        snprintf(path, sizeof path, "%s/%s", folder, files[k]);
        remove(path);
    }
    remove(folder);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("lang");
    TCase *c = tcase_create("lang");
    tcase_set_timeout(c, 120);
    tcase_add_checked_fixture(c, open_ref, close_ref);
    tcase_add_loop_test(c, numbers_have_the_right_value, 0, N(numbers));
    tcase_add_loop_test(c, programs_print, 0, N(programs));
    tcase_add_loop_test(c, messages_are_pinned, 0, N(messages));
    tcase_add_test(c, words_are_described);
    tcase_add_test(c, a_pipeline_is_a_function_of_its_arrays_and_params);
    tcase_add_test(c, a_pipeline_is_a_function_of_frames);
    tcase_add_loop_test(c, lists_of_numbers_that_are_not_known_yet_are_taken, 0,
                        sizeof unknown_lists / sizeof *unknown_lists);
    tcase_add_loop_test(c, what_is_no_function_is_refused, 0, N(not_functions));
    tcase_add_test(c, a_pipeline_that_was_not_parsed_is_no_function);
    tcase_add_test(c, threads_apply_one_pipeline);
    tcase_add_test(c, every_failing_allocation_of_a_function_is_reported);
    tcase_add_test(c, what_is_made_again_is_what_the_text_makes);
    tcase_add_test(c, a_graph_is_made_again_for_the_same_shapes_only);
    tcase_add_test(c, a_graph_is_made_again_of_each_array);
    tcase_add_test(c, a_text_that_reads_files_is_evaluated_each_time);
    tcase_add_loop_test(c, the_fraction_done_is_one_and_never_goes_back, 0, N(far_going));
    tcase_add_test(c, the_caret_stands_below_its_character);
    tcase_add_loop_test(c, arrays_have_the_right_elements, 0, N(arrays));
    tcase_add_loop_test(c, a_dumped_graph_reads_back, 0, N(arrays));
    tcase_add_test(c, the_graph_of_every_row_reads_back);
    tcase_add_test(c, the_graph_of_what_has_no_row_reads_back);
    tcase_add_test(c, rows_of_graphs_refuse_what_is_not_theirs);
    tcase_add_loop_test(c, failures_carry_status_and_place, 0, N(failures));
    tcase_add_test(c, an_argument_that_failed_passes_its_message_on);
    tcase_add_test(c, safe_text_opens_no_file);
    tcase_add_loop_test(c, params_are_set_from_text, 0, N(settings));
    tcase_add_test(c, a_pipeline_runs_twice_and_builds);
    tcase_add_loop_test(c, hostile_text_meets_a_message, 0, N(hostile));
    tcase_add_test(c, damaged_text_is_survived);
    tcase_add_test(c, lists_bend);
    tcase_add_test(c, arrays_as_text_are_what_print_says);
    tcase_add_test(c, names_from_elsewhere_are_none_of_ours_and_their_answers_are);
    tcase_add_loop_test(c, every_failing_allocation_is_reported, 0, N(allocating));
    suite_add_tcase(suite, c);
    c = tcase_create("limits");
    tcase_set_tags(c, "long"); /* it runs until the limit of steps is reached */
    tcase_add_checked_fixture(c, open_ref, close_ref);
    tcase_set_timeout(c, 120);
    tcase_add_test(c, functions_of_functions_are_bounded);
    suite_add_tcase(suite, c);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int n_failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return n_failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
