/* SPDX-License-Identifier: MIT */
/*
 * mkguides - build-time program: `mkguides FILE` prints a manual page from a text that is one but for two things.
 *
 *     .NAMES opencv      becomes the table of names in elsewhere.def of that library: numpy, opencv or vips
 *     .EX ... .EE        between them stands text as it is typed and printed: no character means anything to troff
 *
 * A line "$ COMMAND" in an example is typed in a shell, "> ..." after it goes on with it, and the lines up to the next
 * one are what it prints; tests/guides.sh types all of them. Not part of the library.
 */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { NUMPY = 1, OPENCV = 2, VIPS = 4, OTHERS = 8 };

static const struct {
    int who;
    const char *name, *here;
} rows[] = {
#define ELSEWHERE(who, name, here) { who, name, here },
#include "lang/elsewhere.def"
#undef ELSEWHERE
};

static const struct {
    int who;
    const char *name;
} libraries[] = {
    { NUMPY, "numpy" },
    { OPENCV, "opencv" },
    { VIPS, "vips" },
};

/* A line as troff prints it unchanged, with quotes and the like that a shell takes when they are copied. */
static void print_as_it_is(const char *text)
{
    static const struct {
        char c;
        const char *escape;
    } escapes[] = {
        { '\\', "\\e" }, { '-', "\\-" }, { '\'', "\\(aq" }, { '`', "\\(ga" }, { '^', "\\(ha" }, { '~', "\\(ti" },
    };
    if (*text == '.') fputs("\\&", stdout);
    for (; *text; text++) {
        const char *escape = NULL;
        for (size_t k = 0; k < sizeof escapes / sizeof *escapes; k++)
            if (*text == escapes[k].c) escape = escapes[k].escape;
        if (escape)
            fputs(escape, stdout);
        else
            putchar(*text);
    }
}

static bool print_names(const char *library)
{
    int who = 0;
    for (size_t k = 0; k < sizeof libraries / sizeof *libraries; k++)
        if (strcmp(library, libraries[k].name) == 0) who = libraries[k].who;
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        if (!(rows[k].who & who)) continue;
        fputs(".TP 22\n.B ", stdout);
        print_as_it_is(rows[k].name);
        putchar('\n');
        print_as_it_is(rows[k].here);
        putchar('\n');
    }
    return who != 0;
}

static bool print_page(FILE *file)
{
    char line[1024];
    bool is_example = false;
    while (fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = '\0';
        if (strcmp(line, ".EE") == 0) is_example = false;
        if (strncmp(line, ".NAMES ", 7) == 0) {
            if (!print_names(line + 7)) return false;
            continue;
        }
        if (is_example)
            print_as_it_is(line);
        else
            fputs(line, stdout);
        putchar('\n');
        if (strcmp(line, ".EX") == 0) is_example = true;
    }
    return !is_example && !ferror(file);
}

int main(int argc, char **argv)
{
    FILE *file = argc == 2 ? fopen(argv[1], "r") : NULL;
    if (!file || !print_page(file)) {
        fprintf(stderr, "mkguides: %s cannot be read, ends within an example, or names an unknown library\n",
                argc == 2 ? argv[1] : "FILE");
        return 1;
    }
    fclose(file);
    return fflush(stdout) || ferror(stdout);
}
