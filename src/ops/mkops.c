/* SPDX-License-Identifier: MIT */
/*
 * mkops - build-time program: from the rows of ops.def it prints
 *
 *     mkops header      include/imgpar_ops.h, the documented C prototypes
 *     mkops wrappers    src/ops/wrappers.c, their definitions
 *     mkops manual      imgpar-ops.7, the manual page of all operations
 *
 * Not part of the library; it sees the public facts of the rows only.
 */
#include "ops/nth.h"
#include "ops/rows.h"

#include <ctype.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct row {
    imgpar_op_info info;
    unsigned flags;
    const char *symbol;
} row;

#define ENTRY(NAME, SYMBOL, ALIASES, CATEGORY, FLAGS, ...) \
    { { .name = NAME, .aliases = ALIASES, .category = CATEGORY, __VA_ARGS__ }, (FLAGS), SYMBOL },
#define OP(NAME, ALIASES, CATEGORY, FLAGS, VARIANT, INFER, STAGES, ...) \
    ENTRY(NAME, NULL, ALIASES, CATEGORY, FLAGS, __VA_ARGS__)
#define FUNC(NAME, SYMBOL, CATEGORY, FLAGS, VARIANT, INFER, STAGES, ...) \
    ENTRY(NAME, SYMBOL, "", CATEGORY, IP_OP_ELEMENTWISE | IP_OP_OPERATOR | (FLAGS), __VA_ARGS__)
#define LEAF(NAME, CATEGORY, FLAGS, INFER, ...) ENTRY(NAME, NULL, "", CATEGORY, FLAGS, __VA_ARGS__)
#define DERIVED(NAME, ALIASES, CATEGORY, VARIANT, INFER, EXPAND, ...) \
    ENTRY(NAME, NULL, ALIASES, CATEGORY, 0, __VA_ARGS__)
#define DERIVED_ALONG(NAME, ALIASES, CATEGORY, FLAGS, INFER, EXPAND, ...) \
    ENTRY(NAME, NULL, ALIASES, CATEGORY, IP_OP_ALONG | (FLAGS), __VA_ARGS__)
#define DERIVED_FUNC(NAME, INFER, EXPAND, ...) ENTRY(NAME, NULL, "", "function", IP_OP_ELEMENTWISE, __VA_ARGS__)

static const row rows[] = {
#include "ops/ops.def"
};
enum { N_ROWS = sizeof rows / sizeof *rows };

static bool is_listed(const row *r) { return !(r->flags & IP_OP_HIDDEN); }

/* open has its place in imgpar.h, with functions of its own. */
static bool has_prototype(const row *r) { return is_listed(r) && !(r->flags & IP_OP_FILE); }

/* ---- prototypes -------------------------------------------------------------------------- */

static void print_param(const imgpar_op_param *p)
{
    switch (p->type[0]) {
    case 'i':
    case 'b': printf(", int %s", p->name); break;
    case 't': printf(", const char *%s", p->name); break;
    case 'c': printf(strcmp(p->name, "border") == 0 ? ", imgpar_border %s" : ", const char *%s", p->name); break;
    case 'v': printf(", const double *%s, int n_%s", p->name, p->name); break;
    case 'm': printf(", const double *%s, int rows, int cols", p->name); break;
    default: printf(", double %s", p->name);
    }
}

static void print_prototype(const imgpar_op_info *o)
{
    printf("imgpar_array *imgpar_%s(", o->name);
    if (o->n_inputs == 0) printf("imgpar_context *ctx");
    for (int k = 0; k < o->n_inputs; k++)
        printf("%simgpar_array *%s", k ? ", " : "", o->input_names[k]);
    for (int k = 0; k < o->n_params; k++)
        if (o->params[k]->in_c) print_param(o->params[k]);
    printf(")");
}

/* text as a comment of lines up to about 100 columns. */
static void print_wrapped(const char *prefix, const char *text)
{
    size_t column = printf("%s", prefix);
    while (*text) {
        size_t n = strcspn(text, " \n");
        if (column + n > 108) {
            printf("\n *    ");
            column = 6;
        }
        column += (size_t)printf(" %.*s", (int)n, text);
        if (text[n] == '\n') /* a line of a program */
            column = 108;
        text += n + strspn(text + n, " \n");
    }
    printf("\n");
}

static void range_text(const imgpar_op_param *p, char *buf, size_t size)
{
    buf[0] = '\0';
    if (p->choices && p->type[0] == 'c')
        snprintf(buf, size, "%s", p->choices);
    else if (p->type[0] != 'n' && p->type[0] != 'i')
        return;
    else if (isfinite(p->minimum) && isfinite(p->maximum))
        snprintf(buf, size, "%s%s%.10g to %.10g%s%s", p->choices ? p->choices : "", p->choices ? ", " : "", p->minimum,
                 p->maximum, p->unit[0] ? " " : "", p->unit);
    else if (isfinite(p->minimum))
        snprintf(buf, size, "%.10g and above%s%s", p->minimum, p->unit[0] ? " " : "", p->unit);
    else
        snprintf(buf, size, "%s", p->unit);
}

static void print_param_comment(const imgpar_op_param *p)
{
    char range[256], line[900];
    range_text(p, range, sizeof range);
    snprintf(line, sizeof line, "%s%s: %s%s%s%s", p->name, p->in_c ? "" : " (by imgpar_op() only)", p->help,
             range[0] ? " (" : "", range, range[0] ? ")" : "");
    print_wrapped(" *  ", line);
}

/* Operators and element-wise functions, whose inputs may be expressions. */
static bool is_function(const row *r) { return r->flags & IP_OP_OPERATOR; }

static void print_expression(const imgpar_op_info *o)
{
    printf("imgpar_x imgpar_x_%s(", o->name);
    for (int k = 0; k < o->n_inputs; k++)
        printf("%simgpar_x %s", k ? ", " : "", o->input_names[k]);
    printf(")");
}

static void print_expression_header(void)
{
    printf("\n/*\n * The operators and element-wise functions on expressions (imgpar.h): the result belongs to the map "
           "of its operands,\n"
           " * which must be one. Dtypes meet as in the language.\n */\n");
    for (int k = 0; k < N_ROWS; k++) {
        const imgpar_op_info *o = &rows[k].info;
        if (!is_function(&rows[k])) continue;
        printf("\n/*\n");
        print_wrapped(" *", o->summary);
        print_wrapped(" * Computes:", o->formula);
        printf(" */\nIMGPAR_API ");
        print_expression(o);
        printf(";\n");
    }
}

static void print_header(void)
{
    printf("/* SPDX-License-Identifier: MIT */\n"
           "/*\n"
           " * imgpar_ops.h - one function an operation. Made from the operation table; included by imgpar.h.\n"
           " *\n"
           " * Every function borrows its inputs and returns a new reference, never NULL. A parameter out of range or "
           "inputs\n"
           " * that do not fit give an error array (IMGPAR_E_ARGUMENT, IMGPAR_E_SHAPE, IMGPAR_E_UNSUPPORTED) whose "
           "message names\n"
           " * operation, value and rule. NAN as a number and NULL as a text mean the parameter's default. Parameters "
           "not in\n"
           " * a prototype are set through imgpar_op().\n"
           " */\n"
           "#ifndef IMGPAR_OPS_H\n#define IMGPAR_OPS_H\n\n#include <imgpar.h>\n\n"
           "#ifdef __cplusplus\nextern \"C\" {\n#endif\n");
    for (int k = 0; k < N_ROWS; k++) {
        const imgpar_op_info *o = &rows[k].info;
        if (!has_prototype(&rows[k])) continue;
        printf("\n/*\n");
        print_wrapped(" *", o->summary);
        print_wrapped(" * Computes:", o->formula);
        print_wrapped(" * Tolerance:", o->tolerance);
        if (o->white) print_wrapped(" * White:", o->white);
        for (int p = 0; p < o->n_params; p++)
            print_param_comment(o->params[p]);
        printf(" */\nIMGPAR_API ");
        print_prototype(o);
        printf(";\n");
    }
    print_expression_header();
    printf("\n#ifdef __cplusplus\n}\n#endif\n\n#endif\n");
}

/* ---- wrappers ------------------------------------------------------------------------------ */

static void print_put(const imgpar_op_param *p)
{
    const char *name = p->name;
    switch (p->type[0]) {
    case 't': printf("    n = put_text(args, n, \"%s\", %s);\n", name, name); break;
    case 'c':
        if (strcmp(name, "border") == 0)
            printf("    n = put_text(args, n, \"border\", border_word(border));\n");
        else
            printf("    n = put_text(args, n, \"%s\", %s);\n", name, name);
        break;
    case 'v': printf("    n = put_matrix(args, n, \"%s\", 1, n_%s, %s);\n", name, name, name); break;
    case 'm': printf("    n = put_matrix(args, n, \"%s\", rows, cols, %s);\n", name, name); break;
    default: printf("    n = put_number(args, n, \"%s\", %s);\n", name, name);
    }
}

static void print_expression_wrappers(void)
{
    for (int k = 0; k < N_ROWS; k++) {
        const imgpar_op_info *o = &rows[k].info;
        if (!is_function(&rows[k])) continue;
        printf("\n");
        print_expression(o);
        printf("\n{\n    return ip_map_call(\"%s\", (const imgpar_x[]){ ", o->name);
        for (int i = 0; i < o->n_inputs; i++)
            printf("%s%s", i ? ", " : "", o->input_names[i]);
        printf(" }, %d);\n}\n", o->n_inputs);
    }
}

static void print_wrappers(void)
{
    printf(
        "/* SPDX-License-Identifier: MIT */\n"
        "/* Made by mkops from ops.def: the functions of imgpar_ops.h. */\n"
        "#include \"ops/build.h\"\n#include \"ops/expressions.h\"\n\n#include <math.h>\n\n"
        "static int put_array(ip_arg *args, int n, imgpar_array *a)\n{\n    args[n] = ip_arg_array(a);\n    return n + "
        "1;\n}\n\n"
        "static int put_number(ip_arg *args, int n, const char *name, double v)\n{\n    if (isnan(v))\n        return "
        "n;\n"
        "    args[n] = ip_arg_number(v);\n    args[n].name = name;\n    return n + 1;\n}\n\n"
        "static int put_text(ip_arg *args, int n, const char *name, const char *text)\n{\n    if (!text)\n        "
        "return n;\n"
        "    args[n] = (ip_arg){ .name = name, .kind = IP_ARG_TEXT, .text = text };\n    return n + 1;\n}\n\n"
        "static int put_matrix(ip_arg *args, int n, const char *name, int rows, int cols, const double *numbers)\n{\n"
        "    if (!numbers)\n        return n;\n"
        "    args[n] = (ip_arg){ .name = name, .kind = IP_ARG_MATRIX, .rows = rows, .cols = cols, .numbers = numbers "
        "};\n"
        "    return n + 1;\n}\n\n"
        "static const char *border_word(imgpar_border border)\n{\n"
        "    static const char *const words[] = { \"replicate\", \"reflect\", \"reflect101\", \"wrap\", \"constant\", "
        "\"checked\",\n                                         \"unchecked\" };\n"
        "    return (unsigned)border < sizeof words / sizeof *words ? words[border] : \"?\";\n}\n");
    for (int k = 0; k < N_ROWS; k++) {
        const imgpar_op_info *o = &rows[k].info;
        if (!has_prototype(&rows[k])) continue;
        printf("\n");
        print_prototype(o);
        printf("\n{\n    ip_arg args[%d];\n    int n = 0;\n", o->n_inputs + o->n_params + 1);
        for (int i = 0; i < o->n_inputs; i++)
            printf("    n = put_array(args, n, %s);\n", o->input_names[i]);
        for (int p = 0; p < o->n_params; p++)
            if (o->params[p]->in_c) print_put(o->params[p]);
        if (o->n_inputs == 0)
            printf("    return ip_build(ctx, ip_op_find(\"%s\"), args, n);\n}\n", o->name);
        else
            printf("    return ip_build(%s ? %s->ctx : NULL, ip_op_find(\"%s\"), args, n);\n}\n", o->input_names[0],
                   o->input_names[0], o->name);
    }
    print_expression_wrappers();
}

/* ---- manual ---------------------------------------------------------------------------------- */

/* Text with what roff would read otherwise escaped. */
static void print_roff(const char *text)
{
    for (const char *p = text; *p; p++) {
        if (*p == '\\')
            printf("\\e");
        else if (*p == '-')
            printf("\\-");
        else if (*p == '"') /* in .B it would open an argument */
            printf("\\(dq");
        else if ((*p == '.' || *p == '\'') && (p == text || p[-1] == '\n'))
            printf("\\&%c", *p);
        else if (*p == '\n') /* a line of a program */
            printf("\n.br\n");
        else
            putchar(*p);
    }
}

/* Texts are shown in quotes where they would not be seen. */
static const char *default_of(const imgpar_op_param *p) { return *p->default_text ? p->default_text : "\"\""; }

static void print_call(const row *r)
{
    const imgpar_op_info *o = &r->info;
    printf("%s(", o->name);
    for (int k = 0; k < o->n_inputs; k++)
        printf("%s%s", k ? ", " : "", o->input_names[k]);
    for (int k = 0; k < o->n_params; k++)
        printf("%s%s%s%s", k || o->n_inputs ? ", " : "", o->params[k]->name, o->params[k]->default_text ? "=" : "",
               o->params[k]->default_text ? default_of(o->params[k]) : "");
    printf(")");
}

static void print_manual_row(const row *r)
{
    const imgpar_op_info *o = &r->info;
    printf(".SS ");
    if (r->symbol) {
        print_roff(r->symbol);
        printf("  (%s)\n", o->name);
    } else {
        printf("%s\n", o->name);
    }
    printf(".B ");
    print_call(r);
    printf("\n.PP\n");
    print_roff(o->summary);
    printf(".\n");
    if (o->aliases[0]) printf("Also called: %s.\n", o->aliases);
    printf(".PP\nFormula: ");
    print_roff(o->formula);
    printf("\n.PP\nTolerance: ");
    print_roff(o->tolerance);
    printf("\n");
    if (o->white) {
        printf(".PP\nWhite: ");
        print_roff(o->white);
        printf("\n");
    }
    if (o->n_inputs > 0) {
        printf(".PP\nAlpha: ");
        print_roff(o->alpha ? o->alpha : "as any channel");
        printf(".\n");
    }
    for (int k = 0; k < o->n_params; k++) {
        const imgpar_op_param *p = o->params[k];
        char range[256];
        range_text(p, range, sizeof range);
        printf(".TP\n.B %s\n%s%s%s. ", p->name, p->type, range[0] ? ", " : "", range);
        print_roff(p->help);
        if (p->default_text) printf("; %s by default", default_of(p));
        printf(".\n");
    }
    if (has_prototype(r)) {
        printf(".PP\nIn C:\n.B \"");
        print_prototype(o);
        printf(";\"\n");
    }
    if (o->rule) {
        printf(".PP\nRule: ");
        print_roff(o->rule);
        printf(".\n");
    }
    printf(".PP\nExample:\n.B ");
    print_roff(o->example);
    printf("\n");
}

/* A rule in one line: its lines are those of the help. */
static void print_rule(const char *text)
{
    for (size_t n; *text; text += n + strspn(text + n, "\n ")) {
        char line[256];
        n = strcspn(text, "\n");
        snprintf(line, sizeof line, "%.*s", (int)n, text);
        print_roff(line);
        if (text[n]) putchar('\n');
    }
}

/* The result types of operators, ops/types.def. */
static void print_types(void)
{
#define CELL(DTYPE) " " #DTYPE
#define TYPES_TOP(TEXT) printf(TEXT "\n");
#define TYPES_ROW(DTYPE, TEXT, B, U8, I8, U16, I16, U32, I32, U64, I64, F16, F32, F64, LITERAL, FRACTIONAL)          \
    printf(TEXT "  " CELL(B) CELL(U8) CELL(I8) CELL(U16) CELL(I16) CELL(U32) CELL(I32) CELL(U64) CELL(I64) CELL(F16) \
               CELL(F32) CELL(F64) CELL(LITERAL) CELL(FRACTIONAL) "\n");
#define TYPES_RULE(TEXT)
    printf(
        ".SH RESULT TYPES OF OPERATORS\nA row and a column meet in this dtype, which a + b has:\n.PP\n.nf\n.ft CW\n");
#include "ops/types.def"
    printf(".ft\n.fi\n");
#undef TYPES_TOP
#undef TYPES_ROW
#undef TYPES_RULE
#define TYPES_TOP(TEXT)
#define TYPES_ROW(...)
#define TYPES_RULE(TEXT) \
    printf(".PP\n");     \
    print_rule(TEXT);    \
    printf("\n");
#include "ops/types.def"
    printf(".PP\nShapes broadcast as NumPy's: axes are aligned from the last one, and extents are equal or 1. A matrix "
           "beside a\n"
           "picture of up to 4 channels is the exception: it is [height, width, 1].\n");
}

/* ---- white: a table of the rules, each with the rows that follow it ---------------------------- */

/* What the words of imgpar_op_info.white mean; a word that ends in a blank goes on with names of inputs. */
static const struct {
    const char *word, *meaning;
} white_rules[] = {
    { "kept", "That of the first array." },
    { "first", "That of the first array that has one and is no mask; else 1 where one is a mask. A number beside a "
               "mask or a picture "
               "counts as for \"larger\"." },
    { "larger", "Of several arrays a mask, or a value without white, yields; else the larger one counts. Numbers are "
                "left as they are. "
                "Beside a literal number white is kept, but: a mask times k, or divided by 1/k, has k where k is above "
                "1; a picture "
                "divided by its white has 1; a picture of white 1 times 255 or 65535 has that." },
    { "meet ", "That of the first of these inputs that has one. The others that have one are brought to it before: "
               "times this white over "
               "theirs, in the dtype of the result, as depth() computes it; literals and data stay." },
    { "mask", "1, and a mask: a factor above 1, known when the graph is built, becomes the white of the product, so "
              "that * 255 is a full "
              "mask and * 0.5 half of one." },
    { "1", "1, and no mask." },
    { "none", "None: counts, positions, sums, products, made-up numbers." },
};

static const char *white_text(const imgpar_op_info *o) { return o->white ? o->white : "kept"; }

static bool follows_white(const imgpar_op_info *o, const char *word)
{
    size_t n = strlen(word);
    return word[n - 1] == ' ' ? strncmp(white_text(o), word, n) == 0 : strcmp(white_text(o), word) == 0;
}

static void print_white_row(const row *r, int n_before)
{
    printf("%s", n_before ? ",\n" : "");
    if (r->symbol)
        print_roff(r->symbol);
    else
        print_roff(r->info.name);
    if (follows_white(&r->info, "meet ")) printf(" (%s)", r->info.white + strlen("meet "));
}

static bool is_in_manual(const row *r) { return is_listed(r) || r->symbol; }

static void print_white(void)
{
    printf(
        ".SH WHITE\n"
        "A picture has a white: the number that is white, full or opaque in it. print() and \\-\\-explain show it, and "
        "white(a) is it.\n"
        "A decoded picture has the maximum of its depth: 255 or 65535. NPY files and arrays of a program have one "
        "where they are\n"
        "pictures of u8 or u16; set_white() gives one to others. Data has none: counts, positions, coordinates, "
        "literals.\n"
        "What means white, full or opaque, the default of a threshold and the upper edge of a histogram go by it: "
        "invert, threshold,\n"
        "adaptive_threshold, gamma, normalize, equalize, the mask of overlay, alpha in composite, the conversions "
        "between colours.\n"
        "Where such an operation needs one that is missing it takes 1 for bool and floats, the maximum of u8 and u16, "
        "else 255.\n"
        "A computed bool has 1 and is a mask. Saving writes white as white: a white above 255 in 16 bits where the "
        "format has\n"
        "them, a smaller one in 8; bits= and range= say otherwise. Data is saved as its numbers stand.\n"
        "cast() keeps numbers and white, set_white() the numbers; depth() changes dtype, numbers and white together.\n"
        "Sums, differences and comparisons take numbers as they are: where pictures of 8 and of 16 bits meet in one "
        "there is a\n"
        "warning, and depth(b, 8) brings the one to the other.\n"
        ".PP\nWhat white the results of operations have:\n");
    for (size_t rule = 0; rule < sizeof white_rules / sizeof *white_rules; rule++) {
        const char *word = white_rules[rule].word;
        int n = 0;
        printf(".TP\n.B %s%s\n", word, word[strlen(word) - 1] == ' ' ? "..." : "");
        print_roff(white_rules[rule].meaning);
        printf("\n");
        for (int k = 0; k < N_ROWS; k++)
            if (is_in_manual(&rows[k]) && follows_white(&rows[k].info, word)) print_white_row(&rows[k], n++);
        printf(".\n");
    }
    for (int k = 0; k < N_ROWS; k++) {
        bool is_own = is_listed(&rows[k]);
        for (size_t rule = 0; is_own && rule < sizeof white_rules / sizeof *white_rules; rule++)
            is_own = !follows_white(&rows[k].info, white_rules[rule].word);
        if (!is_own) continue;
        printf(".TP\n.B %s\n", rows[k].info.name);
        print_roff(rows[k].info.white);
        printf(".\n");
    }
}

/* The rows that treat alpha alike, as one paragraph of the table; text NULL: as any channel. */
static void print_alpha_rows(const char *text)
{
    const char *before = "";
    printf(".TP\n.B ");
    print_roff(text ? text : "as any channel");
    printf("\n");
    for (int k = 0; k < N_ROWS; k++) {
        const imgpar_op_info *o = &rows[k].info;
        bool is_operator = rows[k].symbol && rows[k].flags & IP_OP_HIDDEN;
        if ((!is_listed(&rows[k]) && !is_operator) || o->n_inputs == 0) continue;
        if (!text != !o->alpha || (text && strcmp(text, o->alpha) != 0)) continue;
        printf("%s", before);
        print_roff(rows[k].symbol ? rows[k].symbol : o->name);
        before = ",\n";
    }
    printf("\n");
}

static void print_borders(void)
{
    printf(
        ".SH BORDERS\n"
        "What is read beyond the edges of abcd: replicate aa|abcd|dd, reflect ba|abcd|dc, reflect101 cb|abcd|cb, wrap "
        "cd|abcd|ab,\n"
        "constant kk|abcd|kk, where k is cval: one number, one for each channel or a colour. With\n.B checked\n"
        "a read there is an error that names the operation, the place and the extent; nothing is computed then. What "
        "counts is what is\n"
        "needed: crop(blur(a, 2, border=checked), ..) where the crop shows pixels whose neighbours are there is fine, "
        "and so is the side\n"
        "of c ? a : b, && or || that does not decide. The reads are checked before, which launches nothing where their "
        "places tell that all\n"
        "are inside, and else computes these places twice. (Rows that list borders of their own, as pad, rotate and "
        "warp, "
        "do not take these\ntwo.) With\n.B unchecked\n"
        "you promise that nothing there is read. Where the promise is wrong, the nearest element is read as with "
        "replicate, never other\n"
        "memory, whoever wrote the text, so that it may stand in SQL of untrusted files; with IMGPAR_CHECK=1 it is "
        "checked. It is as quick\n"
        "as replicate, of which kernels take the test out where they can tell that it is not needed.\n");
}

/* Every row is in one paragraph: that of the first row with its text prints them all. */
static void print_alpha_table(void)
{
    printf(
        ".SH ALPHA\n"
        "The last of 2 or 4 channels of a picture is alpha, the share of a pixel that is covered; arrays of space "
        "data have none. A weighted\n"
        "mean weighs colours by it, sum(w alpha colour) / sum(w alpha), so that the colours of transparent pixels "
        "do not show, and is\n"
        "0 where all is transparent; alpha itself is the mean of a channel. An opaque picture gives the same bytes "
        "as without alpha.\n"
        "What lies beyond the edges with border=constant has cval in every channel, alpha too; colours by their names "
        "and lists without\nalpha's number are opaque.\n"
        "Where alpha stays, that is with numbers, arrays of one channel and data of one number; operators of two "
        "arrays of several channels\n"
        "compute with it as with any channel, and so do operators on their result, so that (a + b) / 2 is the mean "
        "of both.\n");
    for (int k = 0; k < N_ROWS; k++) {
        const char *text = rows[k].info.alpha;
        bool is_first = text != NULL;
        for (int i = 0; is_first && i < k; i++)
            is_first = !rows[i].info.alpha || strcmp(rows[i].info.alpha, text) != 0;
        if (is_first) print_alpha_rows(text);
    }
    print_alpha_rows(NULL);
}

static void print_manual(void)
{
    printf(".\\\" Made by mkops from the operation table.\n"
           ".TH IMGPAR-OPS 7 \"\" libimgpar \"Operations of libimgpar\"\n"
           ".SH NAME\nimgpar\\-ops \\- the operations of libimgpar\n"
           ".SH DESCRIPTION\n"
           "The same operations are functions of C (imgpar_NAME), of the pipeline language of\n.BR imgpar\\-run (1)\n"
           "and of SQL (img_NAME). Named operations keep the dtype of their first input, round to nearest even and "
           "saturate;\n"
           "operators and element\\-wise functions promote integers of up to 16 bits to i32.\n");
    print_types();
    print_white();
    const char *category = "";
    for (int pass = 0; pass < N_ROWS; pass++) {
        /* Categories in the order of their first row; rows in the order of the table. */
        bool is_first = is_listed(&rows[pass]);
        for (int k = 0; is_first && k < pass; k++)
            is_first = !is_listed(&rows[k]) || strcmp(rows[k].info.category, rows[pass].info.category) != 0;
        if (!is_first) continue;
        category = rows[pass].info.category;
        printf(".SH ");
        for (const char *p = category; *p; p++)
            putchar(toupper((unsigned char)*p));
        printf("\n");
        for (int k = pass; k < N_ROWS; k++)
            if (is_listed(&rows[k]) && strcmp(rows[k].info.category, category) == 0) print_manual_row(&rows[k]);
    }
    print_borders();
    print_alpha_table();
    printf(".SH SEE ALSO\n.BR imgpar\\-run (1)\n");
}

int main(int argc, char **argv)
{
    static const struct {
        const char *mode;
        void (*print)(void);
    } modes[] = {
        { "header", print_header },
        { "wrappers", print_wrappers },
        { "manual", print_manual },
    };
    for (size_t k = 0; argc == 2 && k < sizeof modes / sizeof *modes; k++)
        if (strcmp(argv[1], modes[k].mode) == 0) {
            modes[k].print();
            return fflush(stdout) != 0 || ferror(stdout);
        }
    fprintf(stderr, "usage: mkops header|wrappers|manual\n");
    return 2;
}
