/* SPDX-License-Identifier: MIT */
/* Statements are a tree of lists in the arena; their text is the only OpenCL C that is printed for generated kernels,
 * but for signatures and parameters (emit.c). */
#include "compile/stmt.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *ip_text(ip_ir *ir, const char *format, ...)
{
    char buf[256];
    va_list args;
    va_start(args, format);
    int n = vsnprintf(buf, sizeof buf, format, args);
    va_end(args);
    char *text = n >= 0 ? ip_ir_alloc(ir, (size_t)n + 1, 1) : NULL;
    if (!text) return "";
    if ((size_t)n < sizeof buf) {
        memcpy(text, buf, (size_t)n + 1);
        return text;
    }
    va_start(args, format);
    vsnprintf(text, (size_t)n + 1, format, args);
    va_end(args);
    return text;
}

const char *ip_text_plus(ip_ir *ir, const char *a, long long by)
{
    if (by == 0) return a;
    return by < 0 ? ip_text(ir, "%s - %lld", a, -by) : ip_text(ir, "%s + %lld", a, by);
}

const char *ip_text_times(ip_ir *ir, const char *a, long long by)
{
    return by == 1 ? a : ip_text(ir, "%s * %lld", a, by);
}

const char *ip_text_or(ip_ir *ir, const char *a, const char *b)
{
    if (strcmp(a, "0") == 0) return b;
    return strcmp(b, "0") == 0 ? a : ip_text(ir, "%s | %s", a, b);
}

ip_stmt *ip_s_add(ip_ir *ir, ip_stmt *parent, ip_stmt_kind kind, const char *a, const char *b, const char *c)
{
    static _Thread_local ip_stmt spare; /* handed out when memory ran out; what is put there is never printed */
    ip_stmt *s = ip_ir_alloc(ir, 1, sizeof *s);
    if (!s) {
        spare = (ip_stmt){ .kind = IP_S_NOTE };
        return &spare;
    }
    *s = (ip_stmt){ .kind = kind, .a = a, .b = b, .c = c };
    if (parent->last)
        parent->last->next = s;
    else
        parent->first = s;
    parent->last = s;
    return s;
}

/* One line: the strings up to a NULL, one after the other. Programs are long, and formatting them took most of a
 * launch's time. */
static void line(ip_str *out, int indent, ...) __attribute__((sentinel));
static void line(ip_str *out, int indent, ...)
{
    va_list parts;
    for (int k = 0; k < indent; k += 4)
        ip_str_append_n(out, "    ", 4);
    va_start(parts, indent);
    for (const char *part; (part = va_arg(parts, const char *));)
        ip_str_append(out, part);
    va_end(parts);
    ip_str_putc(out, '\n');
}

#define FEW "#pragma clang loop vectorize(disable) unroll(disable)"

static void print_hint(const ip_stmt *s, int indent, ip_str *out)
{
    if (s->parallel == IP_FEW) line(out, indent, FEW, NULL);
    if (s->parallel == IP_SERIAL || s->parallel == IP_FEW || s->vector_width <= 1) return;
    char width[16];
    snprintf(width, sizeof width, "%d", s->vector_width);
    bool is_sum = s->parallel == IP_REDUCTION;
    const char *rest = s->in_lanes || s->is_vector ? " interleave_count(1) unroll(disable)"
                       : s->is_whole               ? " interleave_count(1)"
                       : is_sum                    ? " interleave_count(4)"
                                                   : "";
    line(out, indent, "#pragma clang loop vectorize(", is_sum ? "enable" : "assume_safety", ") vectorize_width(", width,
         ")", rest, NULL);
}

static void print_braced(const ip_stmt *s, int indent, bool pragmas, ip_str *out)
{
    ip_s_print(s, indent + 4, pragmas, out);
    line(out, indent, "}", NULL);
}

static void print_elements(const ip_stmt *s, int indent, bool pragmas, ip_str *out)
{
    line(out, indent, "for (int ", s->a, " = ", s->b, "; ", s->a, " < ", s->c, "; ", s->a, " += ", s->d ? s->d : "1",
         ") {", NULL);
    print_braced(s, indent, pragmas, out);
}

/* emit_row.c, Note [Whole vectors] */
static void print_lanes(const ip_stmt *s, int indent, ip_str *out)
{
    char width[16];
    snprintf(width, sizeof width, "%d", s->vector_width);
    line(out, indent, "if (", s->c, " - ", s->b, " >= ", width, ") {", NULL);
    line(out, indent + 4, FEW, NULL);
    line(out, indent + 4, "for (int ", s->a, "_from = ", s->b, "; ", s->a, "_from < ", s->c, "; ", s->a,
         "_from += ", width, ") {", NULL);
    line(out, indent + 8, "const int ", s->a, "_first = min(", s->a, "_from, ", s->c, " - ", width, ");", NULL);
    print_hint(s, indent + 8, out);
    line(out, indent + 8, "for (int lane = 0; lane < ", width, "; lane += 1) {", NULL);
    line(out, indent + 12, "const int ", s->a, " = ", s->a, "_first + lane;", NULL);
    print_braced(s, indent + 8, true, out);
    line(out, indent + 4, "}", NULL);
    line(out, indent, "} else {", NULL);
    line(out, indent + 4, FEW, NULL);
    print_elements(s, indent + 4, true, out);
    line(out, indent, "}", NULL);
}

void ip_s_print(const ip_stmt *block, int indent, bool pragmas, ip_str *out)
{
    for (const ip_stmt *s = block->first; s; s = s->next) {
        switch (s->kind) {
        case IP_S_NOTE: line(out, indent, "/* ", s->a, " */", NULL); break;
        case IP_S_LET:
            if (s->a[0] && s->a[strlen(s->a) - 1] == '*')
                line(out, indent, s->a, "const ", s->b, " = ", s->c, ";", NULL);
            else
                line(out, indent, "const ", s->a, " ", s->b, " = ", s->c, ";", NULL);
            break;
        case IP_S_VAR: line(out, indent, s->a, " ", s->b, s->c ? " = " : "", s->c ? s->c : "", ";", NULL); break;
        case IP_S_STORE: line(out, indent, s->a, s->b ? " = " : "", s->b ? s->b : "", ";", NULL); break;
        case IP_S_BARRIER: line(out, indent, "barrier(CLK_", s->a, "_MEM_FENCE);", NULL); break;
        case IP_S_FOR:
            if (s->in_lanes && pragmas) {
                print_lanes(s, indent, out);
                break;
            }
            if (pragmas) print_hint(s, indent, out);
            print_elements(s, indent, pragmas, out);
            break;
        case IP_S_BLOCK:
            line(out, indent, "{", NULL);
            print_braced(s, indent, pragmas, out);
            break;
        case IP_S_IF:
            line(out, indent, "if (", s->a, ") {", NULL);
            print_braced(s, indent, pragmas, out);
            break;
        }
    }
}
