/* SPDX-License-Identifier: MIT */
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
    if (!text)
        return "";
    if ((size_t)n < sizeof buf) {
        memcpy(text, buf, (size_t)n + 1);
        return text;
    }
    va_start(args, format);
    vsnprintf(text, (size_t)n + 1, format, args);
    va_end(args);
    return text;
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

static void print_hint(const ip_stmt *s, int indent, ip_str *out)
{
    if (s->parallel == IP_FEW)
        ip_str_printf(out, "%*s#pragma clang loop vectorize(disable) unroll(disable)\n", indent, "");
    if (s->parallel == IP_SERIAL || s->parallel == IP_FEW || s->vector_width <= 1)
        return;
    ip_str_printf(out, "%*s#pragma clang loop vectorize(%s) vectorize_width(%d)%s\n", indent, "",
                  s->parallel == IP_INDEPENDENT ? "assume_safety" : "enable", s->vector_width,
                  s->parallel == IP_REDUCTION ? " interleave_count(4)" : s->is_whole ? " interleave_count(1)" : "");
}

void ip_s_print(const ip_stmt *block, int indent, bool pragmas, ip_str *out)
{
    for (const ip_stmt *s = block->first; s; s = s->next) {
        switch (s->kind) {
        case IP_S_NOTE: ip_str_printf(out, "%*s/* %s */\n", indent, "", s->a); break;
        case IP_S_LET:
            if (s->a[0] && s->a[strlen(s->a) - 1] == '*')
                ip_str_printf(out, "%*s%sconst %s = %s;\n", indent, "", s->a, s->b, s->c);
            else
                ip_str_printf(out, "%*sconst %s %s = %s;\n", indent, "", s->a, s->b, s->c);
            break;
        case IP_S_VAR:
            ip_str_printf(out, "%*s%s %s%s%s;\n", indent, "", s->a, s->b, s->c ? " = " : "", s->c ? s->c : "");
            break;
        case IP_S_STORE:
            ip_str_printf(out, "%*s%s%s%s;\n", indent, "", s->a, s->b ? " = " : "", s->b ? s->b : "");
            break;
        case IP_S_BARRIER: ip_str_printf(out, "%*sbarrier(CLK_%s_MEM_FENCE);\n", indent, "", s->a); break;
        case IP_S_FOR:
            if (pragmas)
                print_hint(s, indent, out);
            ip_str_printf(out, "%*sfor (int %s = %s; %s < %s; %s += %s) {\n", indent, "", s->a, s->b, s->a, s->c, s->a,
                          s->d ? s->d : "1");
            ip_s_print(s, indent + 4, pragmas, out);
            ip_str_printf(out, "%*s}\n", indent, "");
            break;
        case IP_S_BLOCK:
            ip_str_printf(out, "%*s{\n", indent, "");
            ip_s_print(s, indent + 4, pragmas, out);
            ip_str_printf(out, "%*s}\n", indent, "");
            break;
        case IP_S_IF:
            ip_str_printf(out, "%*sif (%s) {\n", indent, "", s->a);
            ip_s_print(s, indent + 4, pragmas, out);
            ip_str_printf(out, "%*s}\n", indent, "");
            break;
        }
    }
}
