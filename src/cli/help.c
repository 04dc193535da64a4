/* SPDX-License-Identifier: MIT */
/* --help, --help OP, --list-ops, --list-devices. Operations and options are told from their tables alone. */
#include "help.h"
#include "options.h"
#include "output.h"

#include <imgpar.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

int print_usage(void)
{
    puts("usage: imgpar-run [options] FILE.conf [NAME=VALUE ...]\n"
         "       imgpar-run [options] -e EXPR [-o OUT]\n"
         "       imgpar-run [options] FILE.conf|-e EXPR [NAME=VALUE ...] FILE ... -o 'out/{name}.jpg'\n"
         "       imgpar-run [options] FILE.conf|-e EXPR [NAME=VALUE ...] FILE ...\n"
         "\n"
         "Runs a pipeline of image operations. FILE.conf, or - for standard input:\n"
         "\n"
         "  param sigma = 2                          # imgpar-run soft.conf sigma=5\n"
         "  soft = blur(open(\"photo.jpg\"), sigma)\n"
         "  save(soft, \"soft.png\")\n"
         "\n"
         "With files and -o it runs for each of them, which the text calls $1: imgpar-run -e 'blur($1, 2)' in/*.jpg -o "
         "'out/{name}.jpg'.\n"
         "Numbers need no -o: imgpar-run -e 'mean(gray($1))' in/*.jpg prints one a file, and its name.\n"
         "{name} is the file's name without its ending, {ext} that, {dir} its folder, {n} its number. One that fails "
         "is passed by.\n"
         "\n"
         "options:");
    options_print();
    puts("\nExit status: 0 done, 2 the command line or the text is wrong, 1 anything that fails later.");
    return EXIT_DONE;
}

/* ---- operations --------------------------------------------------------------------------- */

static void print_signature(const imgpar_op_info *op, FILE *out)
{
    const char *comma = "";
    fprintf(out, "%s(", op->name);
    for (int i = 0; i < op->n_inputs; i++, comma = ", ")
        fprintf(out, "%s%s", comma, op->input_names[i]);
    if (op->takes_more) fputs(", ...", out);
    for (int i = 0; i < op->n_params; i++, comma = ", ") {
        const imgpar_op_param *p = op->params[i];
        fprintf(out, "%s%s", comma, p->name);
        if (p->default_text) fprintf(out, "=%s", p->default_text[0] ? p->default_text : "\"\"");
    }
    fputc(')', out);
}

static void print_range(const imgpar_op_param *p)
{
    bool has_minimum = p->minimum > -INFINITY, has_maximum = p->maximum < INFINITY;
    if (p->type[0] != 'n' && p->type[0] != 'i') return;
    if (has_minimum && has_maximum)
        printf(", %g to %g", p->minimum, p->maximum);
    else if (has_minimum)
        printf(", from %g", p->minimum);
    else if (has_maximum)
        printf(", to %g", p->maximum);
}

/* A label and a text, in lines of at most WIDTH characters, the later ones below the text. */
static void print_wrapped(const char *label, const char *text)
{
    enum { WIDTH = 88 };
    int column = printf("  %s", label), left = column;
    while (*text) {
        int n = (int)strcspn(text, " \n");
        if (column > left && column + 1 + n > WIDTH)
            column = printf("\n%*s", left, "") - 1;
        else if (column > left)
            column += printf(" ");
        column += printf("%.*s", n, text);
        if (text[n] == '\n') column = printf("\n%*s", left, "") - 1; /* a line of a program */
        text += n + (text[n] != '\0');
    }
    putchar('\n');
}

static void print_parameter(const imgpar_op_param *p)
{
    printf("  %-10s %s\n             %s", p->name, p->help, p->type);
    if (strcmp(p->type, "choice") == 0) {
        fputs(": ", stdout);
        for (const char *c = p->choices ? p->choices : ""; *c; c++)
            putchar(*c == '|' ? ' ' : *c);
    } else if (p->choices && strcmp(p->choices, "volume") != 0) { /* a rule: "odd", or "vector": for each channel */
        printf(strcmp(p->choices, "vector") == 0 ? " or %s, one for each channel" : ", %s", p->choices);
    }
    print_range(p);
    if (p->unit && p->unit[0]) printf(", in %s", p->unit);
    if (p->choices && strcmp(p->choices, "vector") == 0 && strcmp(p->unit, "levels") == 0)
        fputs(", or a colour: \"orange\" or \"#ffa500\"", stdout);
    if (p->may_be_array) fputs(", or a one-element array", stdout);
    if (p->default_text)
        printf("; default %s\n", p->default_text[0] ? p->default_text : "empty");
    else
        puts("; required");
}

/* What is written over several lines, each set in. */
static void print_lines(const char *text)
{
    for (size_t n; *text; text += n + (text[n] == '\n')) {
        n = strcspn(text, "\n");
        printf("  %.*s\n", (int)n, text);
    }
}

static void print_word(const imgpar_word *word)
{
    printf("%s\n\n  %s\n", word->usage, word->summary);
    if (strcmp(word->category, "operator") == 0)
        print_wrapped("computes: ", word->help);
    else
        print_lines(word->help);
    if (strcmp(word->example, word->usage) != 0) printf("\nexample:\n  %s\n", word->example);
}

/* The words of that name ("-" has two), a blank line between them. Returns their number. */
static int print_words(const char *name)
{
    int n = 0;
    imgpar_word word = { .struct_size = sizeof word };
    for (size_t i = 0; imgpar_word_get(i, &word); i++) {
        if (strcmp(word.name, name) != 0) continue;
        if (n++ > 0) putchar('\n');
        print_word(&word);
    }
    return n;
}

static bool is_word(const char *name)
{
    imgpar_word word = { .struct_size = sizeof word };
    for (size_t i = 0; imgpar_word_get(i, &word); i++)
        if (strcmp(word.name, name) == 0) return true;
    return false;
}

static int unknown(const char *name)
{
    char near[200];
    const char *here = imgpar_name_elsewhere(name);
    if (here) {
        complain("unknown operation %s; that is %s", name, here);
        return EXIT_USAGE;
    }
    imgpar_near_names(name, near, sizeof near);
    complain("unknown operation %s%s%s%s; --list-ops lists them", name, near[0] ? " (near: " : "", near,
             near[0] ? ")" : "");
    return EXIT_USAGE;
}

/* A name with hyphens, as ImageMagick has them, with underscores: into other, of n bytes. False where nobody knows it,
 * or it has none. */
static bool respell(const char *name, char *other, size_t n)
{
    snprintf(other, n, "%s", name);
    for (char *p = other; *p; p++)
        if (*p == '-') *p = '_';
    return strchr(name, '-') && strlen(name) < n &&
           (imgpar_op_find(other) || is_word(other) || imgpar_name_elsewhere(other));
}

int print_op(const char *name)
{
    char other[64];
    const imgpar_op_info *op = imgpar_op_find(name);
    if (!op && !is_word(name) && respell(name, other, sizeof other)) return print_op(other);
    if (!op) return print_words(name) > 0 ? EXIT_DONE : unknown(name);
    print_signature(op, stdout);
    puts("\n");
    print_wrapped("", op->summary);
    if (op->tolerance && op->tolerance[0]) print_wrapped("tolerance: ", op->tolerance);
    if (op->white) print_wrapped("white: ", op->white);
    if (op->n_inputs > 0) print_wrapped("alpha: ", op->alpha ? op->alpha : "as any channel");
    if (op->same_bytes) print_wrapped("", "the same bytes on every device");
    if (op->takes_complex) print_wrapped("", "takes complex numbers");
    if (op->takes_many_axes && op->n_inputs > 0) print_wrapped("", "takes arrays of up to 8 axes");
    if (op->aliases && op->aliases[0]) print_wrapped("also called: ", op->aliases);
    if (op->n_params > 0) puts("\nparameters:");
    for (int i = 0; i < op->n_params; i++)
        print_parameter(op->params[i]);
    if (op->rule) printf("  rule: %s\n", op->rule);
    if (op->formula && op->formula[0]) { /* which may be a long program: behind what is looked up more often */
        putchar('\n');
        print_wrapped("computes: ", op->formula);
    }
    if (op->example && op->example[0]) printf("\nexample:\n  %s\n", op->example);
    if (is_word(name)) { /* scan is a form, too */
        putchar('\n');
        print_words(name);
    }
    return EXIT_DONE;
}

/* The words of the language, by category, in its order. */
static void print_word_list(void)
{
    static const struct {
        const char *category, *title;
    } parts[] = {
        { "form", "forms" },
        { "statement", "statements" },
        { "operator", "operators" },
        { "name", "names" },
    };
    for (size_t k = 0; k < sizeof parts / sizeof *parts; k++) {
        imgpar_word word = { .struct_size = sizeof word };
        printf("\n%s\n", parts[k].title);
        for (size_t i = 0; imgpar_word_get(i, &word); i++)
            if (strcmp(word.category, parts[k].category) == 0) printf("  %-12s %s\n", word.name, word.summary);
    }
}

/* Is op the first of its category? */
static bool opens_category(size_t index)
{
    const char *category = imgpar_op_get(index)->category;
    for (size_t i = 0; i < index; i++)
        if (strcmp(imgpar_op_get(i)->category, category) == 0) return false;
    return true;
}

int print_ops(void)
{
    const char *gap = "";
    for (size_t i = 0; i < imgpar_op_count(); i++) {
        if (!opens_category(i)) continue;
        const char *category = imgpar_op_get(i)->category;
        printf("%s%s\n", gap, category);
        gap = "\n";
        for (size_t k = i; k < imgpar_op_count(); k++) {
            const imgpar_op_info *op = imgpar_op_get(k);
            if (strcmp(op->category, category) == 0) printf("  %-12s %s\n", op->name, op->summary);
        }
        flush_stdout();
    }
    print_word_list();
    return EXIT_DONE;
}

/* ---- devices -------------------------------------------------------------------------------- */

static void print_bytes(const char *before, uint64_t bytes, const char *after)
{
    static const char *const units[] = { "bytes", "KiB", "MiB", "GiB", "TiB" };
    double value = (double)bytes;
    int unit = 0;
    for (; value >= 1024 && unit < 4; unit++)
        value /= 1024;
    printf("%s%.*f %s%s", before, value < 10 && unit > 0 ? 1 : 0, value, units[unit], after);
}

static void print_device(const imgpar_device *d)
{
    if (strcmp(d->kind, "ref") == 0) {
        printf("%-8s %s\n", d->selector, d->name);
        return;
    }
    printf("%-8s %s\n         %s, %s, driver %s\n", d->selector, d->name, d->platform, d->version, d->driver);
    printf("         %u compute units, work-groups to %zu", d->compute_units, d->max_work_group);
    print_bytes("; memory ", d->global_bytes, d->has_unified_memory ? " shared with the host" : "");
    print_bytes(", buffers to ", d->max_alloc_bytes, "");
    print_bytes(", local ", d->local_bytes, "\n");
    printf("         %s; %u MHz, %u-bit addresses, work-groups within %zu x %zu x %zu, constants to %llu KiB\n",
           d->vendor, d->clock_mhz, d->address_bits, d->max_work_items[0], d->max_work_items[1], d->max_work_items[2],
           (unsigned long long)(d->constant_bytes >> 10));
    printf("         buffers at multiples of %u bytes, timer of %zu ns%s%s\n", d->buffer_align_bytes,
           d->timer_resolution_ns, d->has_error_correction ? ", error correction" : "",
           d->is_little_endian ? "" : ", big-endian");
    printf("         f64 %s, f16 %s, images %s", d->has_f64 ? "yes" : "no", d->has_f16 ? "yes" : "no",
           d->has_images ? "yes" : "no");
    if (d->max_parts > 1)
        printf("; in parts: %s/2%s\n", d->selector, d->max_parts > 2 ? " and more" : "");
    else
        putchar('\n');
}

int print_devices(void)
{
    imgpar_device **list;
    size_t n;
    imgpar_status st = imgpar_device_list(&list, &n);
    if (st) {
        complain("listing the devices: %s", imgpar_status_name(st));
        return EXIT_FAILED;
    }
    for (size_t i = 0; i < n; i++)
        print_device(list[i]);
    imgpar_device_list_release(list, n);
    return EXIT_DONE;
}
