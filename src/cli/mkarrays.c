/* SPDX-License-Identifier: MIT */
/*
 * Prints the manual page imgpar-arrays.7 when the library is built: what an array is, and every operation on arrays
 * with its row's example and what that gives, computed by the reference interpreter. An example that fails ends the
 * build.
 */
#include <imgpar.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_SHOWN = 12 };

/* What stands before each example. */
static const char *const given = "a = cast(make(3, 2, (y * 3 + x) * 7 % 10, channels=3) + c, u8)\nb = invert(a)\n";

static const struct {
    const char *category, *title;
} chapters[] = {
    { "generator", "ARRAYS FROM NUMBERS" },
    { "array", "VIEWS" },
    { "gather", "READS AT GIVEN PLACES" },
    { "selection", "PLACES AND COUNTS" },
    { "measure", "FOLDS" },
    { "recurrence", "SCANS AND FILTERS ALONG AN AXIS" },
    { "order", "ORDER" },
    { "product", "PRODUCTS" },
    { "matrix", "SMALL MATRICES, ONE FOR EACH PLACE" },
};

static const char head[] =
    ".\\\" Made by mkarrays from the operation table.\n"
    ".TH IMGPAR-ARRAYS 7 \"\" libimgpar \"Arrays in libimgpar\"\n"
    ".SH NAME\nimgpar-arrays \\- arrays of up to eight axes in libimgpar\n"
    ".SH DESCRIPTION\n"
    "An array has 1 to 8 axes and a dtype. Axes are counted from 0 as its shape lists them, "
    "from the last one as -1, and\n"
    "elements are in row\\-major order. An image is an array of [height, width, channels]; a "
    "last axis of 1 to 4 elements is\n"
    "channels, and so is the last of four axes or more. Operations about places of pictures take "
    "up to four axes and refuse more by name;\n.B imgpar\\-run \\-\\-help\nof an operation says "
    "which take eight.\nOperations are lazy: nothing is computed until elements are asked for, and then "
    "as few kernels as possible run.\n"
    ".PP\n"
    "Shapes of operators and element\\-wise functions broadcast as NumPy's do: axes are aligned "
    "from the last one, and their extents\n"
    "are equal or 1, as in\n.IR \"a \\- mean(a, axis=0, keepdims=true)\" .\nA matrix beside a "
    "picture, of three axes with up to 4\n"
    "channels, is the exception: it is [height, width, 1].\n.BR imgpar\\-ops (7)\nhas the table "
    "of their result types.\n"
    ".PP\n"
    "Where how many results there are depends on the values, as in\n.BR find (),\nan array has "
    "room for all there can be and another\n"
    "operation counts them, so that every shape is known before anything is computed.\n"
    ".PP\n"
    "The language repeats a step with\n.BR iterate (),\nfolds with a function of one's own "
    "with\n.BR reduce ,\n.B scan\nand\n.BR window ,\n"
    "and makes an array from its coordinates with\n.BR make ;\nsee\n.BR imgpar\\-run (1)\nand\n"
    ".BR \"imgpar\\-run \\-\\-help iterate\" .\n"
    ".PP\n"
    "In the examples\n.I a\nis the array [2, 3, 3] of u8 that the first line below makes, "
    "and\n.I b\nits negative. Behind each stand\n"
    "shape, dtype and the first elements of what it gives.\n.PP\n.nf\n";

static void print_text(const char *text)
{
    if (*text == '.' || *text == '\'') fputs("\\&", stdout);
    for (; *text; text++) {
        if (*text == '\\')
            fputs("\\e", stdout);
        else if (*text == '-')
            fputs("\\-", stdout);
        else if (*text == '\n') /* a line of a program */
            fputs("\n.br\n", stdout);
        else
            putchar(*text);
    }
}

static void print_number(double v)
{
    char text[32];
    snprintf(text, sizeof text, "%.6g", v);
    print_text(text);
}

/* "[2, 3] f32: 1 2 3 ...". */
static int print_result(const char *text)
{
    imgpar_context *ctx;
    imgpar_info info = { .struct_size = sizeof info };
    if (imgpar_context_new("ref", &ctx)) return 0;
    char *whole = malloc(strlen(given) + strlen(text) + 1);
    imgpar_array *got = whole ? imgpar_apply(ctx, strcat(strcpy(whole, given), text), NULL, 0) : NULL, *numbers = NULL;
    double *v = NULL;
    imgpar_status st = got ? imgpar_array_info(got, &info) : IMGPAR_E_HOST_MEMORY;
    if (!st) {
        numbers = imgpar_cast(got, "f64");
        size_t n = info.size_bytes / imgpar_dtype_size(info.dtype);
        v = calloc(n + 1, sizeof *v);
        st = v ? imgpar_array_read(numbers, v, n * sizeof *v) : IMGPAR_E_HOST_MEMORY;
        for (int k = 0; !st && k < info.rank; k++)
            printf("%s%lld", k ? ", " : "[", (long long)info.shape[k]);
        if (!st) printf("] %s:", imgpar_dtype_name(info.dtype));
        for (size_t k = 0; !st && k < n && k < MOST_SHOWN; k++) {
            putchar(' ');
            print_number(v[k]);
        }
        printf("%s\n", n > MOST_SHOWN ? " ..." : "");
    }
    if (st)
        fprintf(stderr, "mkarrays: %s: %s\n", text,
                got ? imgpar_array_message(imgpar_array_status(got) ? got : numbers) : "no memory");
    imgpar_array_release(numbers);
    imgpar_array_release(got);
    imgpar_context_release(ctx);
    free(whole);
    free(v);
    return !st;
}

static int print_operation(const imgpar_op_info *op)
{
    printf(".TP\n.BR %s \" (", op->name);
    for (int k = 0; k < op->n_inputs; k++)
        printf("%s%s", k ? ", " : "", op->input_names[k]);
    if (op->takes_more) printf(", ...");
    for (int k = 0; k < op->n_params; k++)
        printf("%s%s%s", k || op->n_inputs ? ", " : "", op->params[k]->name, op->params[k]->default_text ? "=" : "");
    printf(")\"\n");
    print_text(op->summary);
    printf(": ");
    print_text(op->formula);
    printf(".\n.br\n.I ");
    print_text(op->example);
    printf("\n.br\n");
    return print_result(op->example);
}

/* The operations that take complex numbers, by the table. */
static void print_complex(void)
{
    const char *comma = "";
    fputs(".SH COMPLEX NUMBERS\ncomplex64 is a dtype of arrays: a real and an imaginary part in f32. complex128 has "
          "both in f64.\n.BR complex (re, im)\nmakes them of two\n"
          "real arrays, complex128 where one is f64, and what meets one in an expression becomes one. The operators + "
          "\\- * / ** == and !=\n"
          "take them, ?: chooses between them, and neighbours are read as those of real numbers. These operations take "
          "them, too:\n.PP\n",
          stdout);
    for (size_t k = 0; k < imgpar_op_count(); k++) {
        if (!imgpar_op_get(k)->takes_complex) continue;
        printf("%s%s", comma, imgpar_op_get(k)->name);
        comma = ",\n";
    }
    fputs(".\n.PP\nOperations that are linear (filters, running sums, reads at positions) compute both parts by "
          "themselves, the value beyond a\n"
          "border being real; products of matrices and\n\\fBdot\\fR conjugate nothing. All others refuse complex "
          "numbers: take\n.BR abs (),\n"
          ".BR real ()\nand\n.BR imag ()\nof them. Files hold them as NPY.\n",
          stdout);
}

int main(void)
{
    int is_ok = 1;
    fputs(head, stdout);
    print_text(given);
    printf(".fi\n");
    for (size_t c = 0; c < sizeof chapters / sizeof *chapters; c++) {
        printf(".SH %s\n", chapters[c].title);
        for (size_t k = 0; k < imgpar_op_count(); k++)
            if (!strcmp(imgpar_op_get(k)->category, chapters[c].category))
                is_ok = print_operation(imgpar_op_get(k)) && is_ok;
    }
    print_complex();
    printf(".SH SEE ALSO\n.BR imgpar\\-run (1),\n.BR imgpar\\-ops (7),\n.BR imgpar\\-numpy (7)\n");
    return !is_ok || fflush(stdout) || ferror(stdout);
}
