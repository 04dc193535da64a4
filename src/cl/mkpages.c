/* SPDX-License-Identifier: MIT */
/*
 * mkpages - build-time program: from the comments of imgpar_cl.h it prints
 *
 *     mkpages manual FILE       imgpar-cl.7, all of it
 *     mkpages cheatsheet FILE   imgpar-cl-cheatsheet.7, a line a function
 *
 * The header is read as entries: a comment at the left margin and the declarations below it, under the section that
 * a comment of dashes began. Comments inside of declarations are part of them. Not part of the library.
 */
#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_LINES = 2000, MAX_ENTRIES = 400, MAX_LINE = 512 };

/* Lines of the header from first to before last. */
typedef struct span {
    int first, last;
} span;
typedef struct entry {
    span section; /* the line of dashes; empty before the first */
    span doc, code;
} entry;

static char lines[MAX_LINES][MAX_LINE];
static int n_lines;
static entry entries[MAX_ENTRIES];
static int n_entries;

static bool starts(const char *text, const char *with) { return strncmp(text, with, strlen(with)) == 0; }
static bool is_empty(span s) { return s.first >= s.last; }

/* ---- reading --------------------------------------------------------------------------------- */

static void read_lines(const char *path)
{
    FILE *file = fopen(path, "r");
    if (!file) {
        fprintf(stderr, "mkpages: cannot read %s\n", path);
        exit(1);
    }
    bool is_for_cplusplus = false; /* the pages tell C */
    while (n_lines < MAX_LINES && fgets(lines[n_lines], MAX_LINE, file)) {
        char *line = lines[n_lines];
        line[strcspn(line, "\n")] = '\0';
        bool is_end = starts(line, "#else") || starts(line, "#endif");
        if (starts(line, "#ifdef __cplusplus"))
            is_for_cplusplus = true;
        else if (is_end)
            is_for_cplusplus = false;
        else if (!is_for_cplusplus)
            n_lines++;
    }
    fclose(file);
}

/* The line after a comment that begins at `at`. */
static int end_of_comment(int at)
{
    while (at < n_lines && !strstr(lines[at], "*/"))
        at++;
    return at + 1;
}

/* The line after declarations: an empty one or a comment at the margin, outside of braces. */
static int end_of_code(int at)
{
    int depth = 0;
    for (; at < n_lines; at++) {
        if (depth == 0 && (!lines[at][0] || starts(lines[at], "/*"))) break;
        for (const char *c = lines[at]; *c; c++)
            depth += (*c == '{') - (*c == '}');
    }
    return at;
}

/* Guards, includes and the words for C++ are of no interest to readers. */
static bool is_frame(const char *line)
{
    static const char *const begins[] = {
        "#ifndef", "#ifdef", "#endif", "#include", "extern \"C\"", "}", "#define IMGPAR_CL_H"
    };
    for (size_t k = 0; k < sizeof begins / sizeof *begins; k++)
        if (starts(line, begins[k])) return true;
    return !line[0];
}

static void read_entries(void)
{
    span section = { 0, 0 }, doc = { 0, 0 };
    for (int at = 0; at < n_lines && n_entries < MAX_ENTRIES;) {
        if (starts(lines[at], "/* ----")) {
            section = (span){ at, at + 1 };
            doc = (span){ 0, 0 };
            at++;
        } else if (starts(lines[at], "/*")) {
            doc = (span){ at, end_of_comment(at) };
            at = doc.last;
            if (at < n_lines && !lines[at][0]) /* about nothing but itself */
                doc = (span){ 0, 0 };
        } else if (is_frame(lines[at])) {
            at++;
        } else {
            span code = { at, end_of_code(at) };
            entries[n_entries++] = (entry){ section, doc, code };
            doc = (span){ 0, 0 };
            at = code.last;
        }
    }
}

/* ---- texts --------------------------------------------------------------------------------------- */

static void put_roff(const char *text)
{
    if (*text == '.' || *text == '\'') printf("\\&");
    for (; *text; text++) {
        if (*text == '\\')
            printf("\\e");
        else if (*text == '-')
            printf("\\-");
        else
            putchar(*text);
    }
}

/* A line of a comment without its frame, into buf. */
static const char *comment_text(const char *line, char *buf)
{
    const char *from = line;
    if (starts(from, "/*"))
        from += 2;
    else if (starts(from, " *"))
        from += 2;
    from += *from == ' ' && !starts(from, "     ");
    snprintf(buf, MAX_LINE, "%s", from);
    char *end = strstr(buf, "*/");
    if (!end && starts(line, " */")) end = buf;
    if (end) *end = '\0';
    for (size_t n = strlen(buf); n > 0 && buf[n - 1] == ' '; n--)
        buf[n - 1] = '\0';
    return buf;
}

/* A comment as paragraphs; what is indented stays as it is. */
static void put_comment(span s)
{
    char text[MAX_LINE];
    bool verbatim = false;
    for (int k = s.first; k < s.last; k++) {
        comment_text(lines[k], text);
        bool indented = starts(text, "    ");
        if (indented != verbatim) printf(indented ? ".PP\n.nf\n" : ".fi\n.PP\n");
        verbatim = indented;
        if (!text[0])
            printf(verbatim ? "\n" : ".PP\n");
        else {
            put_roff(text);
            putchar('\n');
        }
    }
    if (verbatim) printf(".fi\n");
}

static const char *section_name(span s, char *buf)
{
    snprintf(buf, MAX_LINE, "%s", lines[s.first] + strlen("/* ---- "));
    char *end = strstr(buf, " --");
    if (end) *end = '\0';
    return buf;
}

/* ---- the manual ------------------------------------------------------------------------------------ */

/* Declarations as they are written, without words for compilers, and functions of the header without their bodies. */
static void put_code(span s)
{
    bool in_body = false;
    size_t cut = 0; /* continued lines move with their first one */
    printf(".PP\n.nf\n.ft B\n");
    for (int k = s.first; k < s.last; k++) {
        const char *line = lines[k];
        bool is_inline = starts(line, "static inline ");
        if (line[0] != ' ') cut = starts(line, "IMGPAR_API ") ? strlen("IMGPAR_API ") : 0;
        line += strspn(line, " ") >= cut || line[0] != ' ' ? cut : 0;
        if (in_body) {
            in_body = line[0] != '}';
            continue;
        }
        if (is_inline) line += strlen("static inline ");
        put_roff(line);
        if (is_inline) {
            putchar(';');
            in_body = true;
        }
        putchar('\n');
    }
    printf(".ft R\n.fi\n");
}

static void put_head(const char *page, const char *what)
{
    printf(".\\\" Made by mkpages from the comments of imgpar_cl.h.\n.TH %s 7 \"\" libimgpar \"The device layer of "
           "libimgpar\"\n"
           ".SH NAME\n",
           page);
    put_roff(what);
    printf("\n.SH SYNOPSIS\n.nf\n.B #include <imgpar_cl.h>\n.fi\n.PP\ncc program.c $(pkg\\-config \\-\\-cflags "
           "\\-\\-libs imgpar)\n");
}

/* The comment at the head of the header, which begins with its name. */
static span head_comment(void)
{
    int at = 0;
    while (at < n_lines && !starts(lines[at], " * imgpar_cl.h - "))
        at++;
    return (span){ at + 2, end_of_comment(at) - 1 };
}

static void print_manual(void)
{
    char name[MAX_LINE];
    put_head("IMGPAR\\-CL", "imgpar-cl - the device layer: OpenCL for C programs that have kernels of their own");
    printf(".SH DESCRIPTION\n");
    put_comment(head_comment());
    int section = -1;
    for (int k = 0; k < n_entries; k++) {
        const entry *e = &entries[k];
        if (!is_empty(e->section) && e->section.first != section) {
            section = e->section.first;
            printf(".SH \"%s\"\n", section_name(e->section, name));
        }
        put_code(e->code);
        if (!is_empty(e->doc)) {
            printf(".RS 4\n");
            put_comment(e->doc);
            printf(".RE\n");
        }
    }
    printf(".SH SEE ALSO\n.BR imgpar\\-cl\\-cheatsheet (7),\n.BR imgpar\\-ops (7),\n.BR imgpar\\-run (1)\n");
}

/* ---- the cheat sheet --------------------------------------------------------------------------------- */

/* The declaration that begins at line `at`, on one line; returns the line after it. */
static int join(int at, int last, char *out, size_t size)
{
    out[0] = '\0';
    for (; at < last; at++) {
        const char *text = lines[at] + strspn(lines[at], " ");
        size_t n = strlen(out);
        snprintf(out + n, size - n, "%s%s", n ? " " : "", text);
        if (strpbrk(text, ";{}") || starts(out, "#define")) return at + 1;
    }
    return at;
}

static bool is_word(char c) { return isalnum((unsigned char)c) || c == '_'; }

/* The name of a parameter, which ends at `end`: the last word before any brackets; of a function (*name)(...). */
static void append_name(char *out, size_t size, const char *from, const char *end)
{
    const char *function = strstr(from, "(*");
    if (function && function < end) {
        from = function + 2;
        end = from + strcspn(from, ")");
    }
    const char *bracket = memchr(from, '[', (size_t)(end - from));
    if (bracket) end = bracket;
    from = end;
    while (is_word(from[-1]))
        from--;
    size_t n = strlen(out);
    if (strncmp(from, "void", (size_t)(end - from)) != 0)
        snprintf(out + n, size - n, "%s%.*s", out[n - 1] == '(' ? "" : ", ", (int)(end - from), from);
}

/* "buffer_new(ctx, access, layout, out)" of a prototype: the names of its parameters. */
static bool call_of(const char *prototype, char *out, size_t size)
{
    static const char prefix[] = "imgpar_cl_";
    const char *open = strchr(prototype, '('), *name = open, *from = open ? open + 1 : NULL;
    if (!open || (!starts(prototype, "IMGPAR_API ") && !starts(prototype, "static inline "))) return false;
    while (is_word(name[-1]))
        name--;
    if (!starts(name, prefix)) return false;
    name += strlen(prefix);
    snprintf(out, size, "%.*s(", (int)(open - name), name);
    int depth = 0;
    for (const char *c = open + 1; *c && depth >= 0; c++) {
        depth += (*c == '(') - (*c == ')');
        if (depth < 0 || (depth == 0 && *c == ',')) {
            append_name(out, size, from, c);
            from = c + 1;
        }
    }
    size_t n = strlen(out);
    snprintf(out + n, size - n, ")");
    return true;
}

/* The first sentence of a comment, or of it what is before a ';' or ':'. */
static void summary_of(span doc, char *out, size_t size)
{
    char text[MAX_LINE];
    out[0] = '\0';
    for (int k = doc.first; k < doc.last; k++) {
        size_t n = strlen(out);
        comment_text(lines[k], text);
        snprintf(out + n, size - n, "%s%s", n && text[0] ? " " : "", text);
    }
    for (char *c = out; *c; c++)
        if ((*c == '.' || *c == ';' || *c == ':') && (c[1] == ' ' || !c[1])) {
            *c = '\0';
            return;
        }
}

enum { CALL = 50, SUMMARY = 72 };

/* Both on one line, where there is room. */
static void put_line(const char *call, char *summary)
{
    size_t n = strlen(summary);
    if (n > SUMMARY) { /* whole words */
        for (n = SUMMARY; n > 0 && summary[n] != ' '; n--)
            continue;
        strcpy(summary + n, " ...");
    }
    printf("\\fB");
    put_roff(call);
    printf("\\fP%s", strlen(call) > CALL && n ? "\n" : "");
    printf("%*s", n ? CALL + 2 - (strlen(call) > CALL ? 0 : (int)strlen(call)) : 0, "");
    put_roff(summary);
    putchar('\n');
}

/* Said once for all. */
static bool is_count(const char *call) { return strstr(call, "_retain(") || strstr(call, "_release("); }

static void print_cheatsheet(void)
{
    char name[MAX_LINE], prototype[4 * MAX_LINE], call[MAX_LINE], summary[4 * MAX_LINE];
    put_head("IMGPAR\\-CL\\-CHEATSHEET",
             "imgpar-cl-cheatsheet - the device layer, a line a function; each name begins with imgpar_cl_");
    int section = -1;
    for (int k = 0; k < n_entries; k++) {
        const entry *e = &entries[k];
        summary_of(e->doc, summary, sizeof summary);
        for (int at = e->code.first; at < e->code.last;) {
            at = join(at, e->code.last, prototype, sizeof prototype);
            bool is_macro = starts(prototype, "#define IMGPAR_CL_") && strchr(prototype, '(');
            if (is_macro) { /* its comment is the call */
                snprintf(call, sizeof call, "%.*s", MAX_LINE - 1, summary);
                summary[0] = '\0';
            } else if (!call_of(prototype, call, sizeof call) || is_count(call)) {
                continue;
            }
            if (!is_empty(e->section) && e->section.first != section) {
                printf("%s.SH \"%s\"\n.nf\n", section >= 0 ? ".fi\n" : "", section_name(e->section, name));
                section = e->section.first;
            }
            put_line(call, summary);
            summary[0] = '\0';
        }
    }
    printf(".fi\n.SH \"in kernels\"\n.nf\n");
    put_roff(
        "IMGPAR_GLOBAL(T, name, n);   IMGPAR_CONSTANT(T, name, n);   between functions: memory of the module\n"
        "IMGPAR_SYMBOL(name), IMGPAR_GROUP, IMGPAR_REPORT             behind the parameters that launches are given\n"
        "imgpar_random(seed, index)                                   four random words\n"
        "GROUP:  imgpar_work_group_any(b)  _all  _count  _reduce_add(v)  _reduce_min  _reduce_max  _broadcast(v, i)\n"
        "        _shuffle(v, i)  _shuffle_up(v, n)  _shuffle_down(v, n)  _shuffle_xor(v, mask)  _size()  _local_id()\n"
        "        imgpar_sub_group_...  the same, and _ballot(b)  _id();  imgpar_num_sub_groups()\n"
        "REPORT: imgpar_printf(format, ...)  imgpar_assert(b)  imgpar_check_index(i, n)  imgpar_check_finite(v)\n");
    printf(".fi\n.SH EVERYWHERE\n.nf\n");
    put_roff("X_retain(x), X_release(x)    of queue, event, buffer, module, kernel; NULL is legal\n"
             "every imgpar_status          0 is well; else message() tells why\n"
             "order, region                NULL for the plain case\n");
    printf(".fi\n.SH SEE ALSO\n.BR imgpar\\-cl (7)\n");
}

int main(int argc, char **argv)
{
    static const struct {
        const char *mode;
        void (*print)(void);
    } modes[] = { { "manual", print_manual }, { "cheatsheet", print_cheatsheet } };
    for (size_t k = 0; argc == 3 && k < sizeof modes / sizeof *modes; k++) {
        if (strcmp(argv[1], modes[k].mode) != 0) continue;
        read_lines(argv[2]);
        read_entries();
        modes[k].print();
        return fflush(stdout) != 0 || ferror(stdout);
    }
    fprintf(stderr, "usage: mkpages manual|cheatsheet imgpar_cl.h\n");
    return 2;
}
