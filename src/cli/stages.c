/* SPDX-License-Identifier: MIT */
/* A scanner of the pipeline language that knows strings, comments, names and brackets, and nothing else. */
#include "stages.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct span {
    const char *s, *end;
} span;

static bool is_letter(char c) { return isalnum((unsigned char)c) || c == '_'; }

static bool is_open(char c) { return c && strchr("([{", c); }
static bool is_close(char c) { return c && strchr(")]}", c); }

/* Behind the token at p, which is not the end: a string, a comment, a name or number, an arrow, else one character. */
static const char *behind(const char *p, const char *end)
{
    const char *at = p + 1;
    if (*p == '"') {
        while (at < end && *at != '"' && *at != '\n')
            at += *at == '\\' && at + 1 < end ? 2 : 1;
        return at < end ? at + 1 : end;
    }
    if (*p == '#')
        while (at < end && *at != '\n')
            at++;
    else if (is_letter(*p))
        while (at < end && is_letter(*at))
            at++;
    else if ((*p == '-' && at < end && *at == '>') || (*p == '=' && at < end && *at == '='))
        at++;
    return at;
}

static bool is_name(span s)
{
    if (s.s == s.end || isdigit((unsigned char)*s.s)) return false;
    for (const char *p = s.s; p < s.end; p++)
        if (!is_letter(*p)) return false;
    return true;
}

static bool is_word(span s, const char *word)
{
    return (size_t)(s.end - s.s) == strlen(word) && memcmp(s.s, word, strlen(word)) == 0;
}

/* Without blanks and comments at both ends. */
static span trimmed(span s)
{
    span out = { s.end, s.end };
    for (const char *p = s.s, *next; p < s.end; p = next) {
        next = behind(p, s.end);
        if (isspace((unsigned char)*p) || *p == '#' || *p == ';') continue;
        if (out.s == s.end) out.s = p;
        out.end = next;
    }
    return out;
}

/* From p on to where the separator stands outside of brackets, or to the end. ';' stands for newlines, too. */
static const char *until(const char *p, const char *end, char separator)
{
    int depth = 0;
    for (const char *next; p < end; p = next) {
        next = behind(p, end);
        if (is_open(*p)) depth++;
        if (is_close(*p)) depth--;
        if (depth <= 0 && (*p == separator || (separator == ';' && *p == '\n'))) return p;
    }
    return end;
}

/* Behind the bracket that closes the one at p. */
static const char *behind_bracket(const char *p, const char *end)
{
    int depth = 0;
    for (const char *next; p < end; p = next) {
        next = behind(p, end);
        if (is_open(*p)) depth++;
        if (is_close(*p) && --depth == 0) return next;
    }
    return end;
}

/* ---- the list ---------------------------------------------------------------------------------------- */

static char *copy(stage_list *list, span s)
{
    char *text = strndup(s.s, (size_t)(s.end - s.s));
    if (!text) list->failed = true;
    return text;
}

/* Is entry one of the notes, which commas separate? */
static bool has_note(const char *notes, const char *entry)
{
    const size_t n = strlen(entry);
    for (const char *at = notes; (at = strstr(at, entry)); at++) {
        const bool begins = at == notes || (at - notes > 1 && memcmp(at - 2, ", ", 2) == 0);
        if (begins && (!at[n] || strncmp(at + n, ", ", 2) == 0)) return true;
    }
    return false;
}

/* Each is told once. */
static void add_note(stage_list *list, stage *s, const char *what, span name)
{
    const size_t n = (size_t)(name.end - name.s), size = strlen(what) + n + 2;
    char *entry = malloc(size), *both = NULL;
    if (entry) snprintf(entry, size, "%s%s%.*s", what, n ? " " : "", (int)n, name.s);
    if (entry && s->note && !has_note(s->note, entry)) {
        both = malloc(strlen(s->note) + size + 2);
        if (both) sprintf(both, "%s, %s", s->note, entry);
        if (!both) list->failed = true;
        free(s->note);
        s->note = both;
    } else if (entry && !s->note) {
        s->note = entry;
        return;
    }
    if (!entry) list->failed = true;
    free(entry);
}

static stage *find(const stage_list *list, span name, span expr)
{
    for (size_t k = 0; k < list->n; k++) {
        stage *s = &list->items[k];
        if (name.s < name.end && s->name && is_word(name, s->name)) return s;
        if (expr.s < expr.end && is_word(expr, s->expr)) return s;
    }
    return NULL;
}

static const span nothing = { "", "" };

/* A value; one of the same text, without another name, is the same. */
static stage *add(stage_list *list, span name, span expr)
{
    stage *same = find(list, nothing, expr);
    if (same && (name.s == name.end || !same->name)) {
        if (name.s < name.end) same->name = copy(list, name);
        return same;
    }
    if (list->n == list->capacity) {
        const size_t capacity = list->capacity ? list->capacity * 2 : 32;
        stage *grown = realloc(list->items, capacity * sizeof *grown);
        list->failed = list->failed || !grown;
        if (!grown) return NULL;
        list->items = grown;
        list->capacity = capacity;
    }
    stage *s = &list->items[list->n];
    *s = (stage){ .expr = copy(list, expr), .is_value = true };
    if (name.s < name.end) s->name = copy(list, name);
    if (!s->expr || (name.s < name.end && !s->name)) {
        free(s->name);
        free(s->expr);
        return NULL;
    }
    list->n++;
    return s;
}

/* The bracket behind a name, where it is called; else NULL. */
static const char *call_bracket(const char *p, const char *end)
{
    while (p < end && (*p == ' ' || *p == '\t'))
        p++;
    return p < end && *p == '(' ? p : NULL;
}

static bool is_input(span s)
{
    if (s.end - s.s == 2 && *s.s == '$') return true;
    if (s.s == s.end || !is_word((span){ s.s, behind(s.s, s.end) }, "open")) return false;
    const char *bracket = call_bracket(s.s + 4, s.end);
    return bracket && behind_bracket(bracket, s.end) == s.end;
}

/* The calls within an expression, inner ones first; what stands behind an arrow is a function's body. Files are told
 * of as inputs. */
static void add_calls(stage_list *list, span s, bool takes_whole)
{
    for (const char *p = s.s, *next; p < s.end; p = next) {
        next = behind(p, s.end);
        if (p[0] == '-' && next - p == 2) return;
        const char *bracket = is_name((span){ p, next }) ? call_bracket(next, s.end) : NULL;
        if (!bracket) continue;
        const span call = { p, behind_bracket(bracket, s.end) };
        if (call.end - bracket > 2) add_calls(list, (span){ bracket + 1, call.end - 1 }, true);
        const bool is_whole = call.s == s.s && call.end == s.end;
        if (!is_word((span){ p, next }, "open") && (takes_whole || !is_whole)) add(list, nothing, call);
        next = call.end;
    }
}

/* What something is done with, as what tells: a name that is known, or an expression. */
static void add_used(stage_list *list, span s, const char *what, span with)
{
    s = trimmed(s);
    stage *known = is_name(s) ? find(list, s, nothing) : NULL;
    if (s.s == s.end || *s.s == '"') return;
    if (!known) {
        add_calls(list, s, false);
        known = add(list, nothing, s);
    }
    if (known) add_note(list, known, what, with);
}

/* "a" or "(a, b)", and behind it a "="; the names' ends are where the value begins. */
static bool is_assignment(span s, span *names, span *value)
{
    const char *p = s.s, *end = *p == '(' ? behind_bracket(p, s.end) : behind(p, s.end), *equals = end;
    *names = *p == '(' ? (span){ p + 1, end - 1 } : (span){ p, end };
    while (equals < s.end && isspace((unsigned char)*equals))
        equals++;
    if (equals == s.end || *equals != '=' || behind(equals, s.end) - equals != 1) return false;
    *value = trimmed((span){ equals + 1, s.end });
    for (const char *from = names->s, *to; from < names->end; from = to + 1) {
        to = until(from, names->end, ',');
        if (!is_name(trimmed((span){ from, to }))) return false;
    }
    return true;
}

/* The arguments of save() or print(). */
static void add_arguments(stage_list *list, span s, bool saves)
{
    const char *end = until(s.s, s.end, ',');
    if (saves) {
        add_used(list, (span){ s.s, end }, "saved as", end < s.end ? trimmed((span){ end + 1, s.end }) : nothing);
        return;
    }
    for (const char *from = s.s;; from = end + 1) {
        end = until(from, s.end, ',');
        add_used(list, (span){ from, end }, "printed", nothing);
        if (end == s.end) return;
    }
}

/* False: it is an expression. */
static bool take_statement(stage_list *list, span s)
{
    const span word = { s.s, behind(s.s, s.end) };
    span names, value;
    const bool saves = is_word(word, "save");
    if (is_word(word, "param") || is_word(word, "fn")) return true;
    const char *bracket = saves || is_word(word, "print") ? call_bracket(word.end, s.end) : NULL;
    if (bracket) {
        const char *end = behind_bracket(bracket, s.end);
        add_arguments(list, (span){ bracket + 1, end - (end > bracket + 1) }, saves);
        return true;
    }
    if (!is_assignment(s, &names, &value)) return false;
    add_calls(list, value, false);
    if (is_input(value)) return true; /* told of as an input */
    for (const char *from = names.s, *to; from < names.end; from = to + 1) {
        to = until(from, names.end, ',');
        add(list, trimmed((span){ from, to }), value);
    }
    return true;
}

void stages_find(stage_list *list, const char *text)
{
    const char *end = text + strlen(text), *head_end = end;
    *list = (stage_list){ 0 };
    for (const char *from = text, *to; from < end; from = to + 1) {
        to = until(from, end, ';');
        const span s = trimmed((span){ from, to });
        if (s.s == s.end || take_statement(list, s)) continue;
        add_used(list, s, "the result", nothing);
        head_end = from;
    }
    list->head = copy(list, (span){ text, head_end });
}

/* ---- texts ------------------------------------------------------------------------------------------- */

/* A tuple's names have one value between them: a name is printed by itself. */
static void print_stage(FILE *out, const stage *s) { fprintf(out, "\nprint(%s)", s->name ? s->name : s->expr); }

char *stages_printed_range(const stage_list *list, size_t first, size_t end)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = list->head ? open_memstream(&text, &size) : NULL;
    if (!out) return NULL;
    fputs(list->head, out);
    if (first == end) fputs("\nprint(1)", out); /* a text has statements */
    for (size_t k = first; k < end; k++)
        if (list->items[k].is_value) print_stage(out, &list->items[k]);
    const bool failed = ferror(out);
    if (fclose(out) == 0 && !failed) return text;
    free(text);
    return NULL;
}

/* As the language has strings: bytes that it reads otherwise by number. */
static void put_string(FILE *out, const char *text)
{
    fputc('"', out);
    for (const unsigned char *p = (const unsigned char *)text; *p; p++)
        if (*p == '"' || *p == '\\')
            fprintf(out, "\\%c", *p);
        else
            fprintf(out, *p < 0x20 || *p == 0x7f ? "\\x%02x" : "%c", *p);
    fputc('"', out);
}

/* The text of the string at p, behind its first quote, as put_string() writes them; for free(). */
static char *unquoted(const char *p)
{
    char *text = malloc(strlen(p) + 1), *out = text;
    for (; text && *p && *p != '"'; p++) {
        unsigned byte;
        if (*p != '\\' || !p[1])
            *out++ = *p;
        else if (p[1] == 'x' && sscanf(p + 2, "%2x", &byte) == 1) {
            *out++ = (char)byte;
            p += 3;
        } else {
            *out++ = *++p;
        }
    }
    if (text) *out = '\0';
    return text;
}

char *stages_next_string(const char **text)
{
    const char *end = *text + strlen(*text);
    for (const char *p = *text; p < end; p = *text) {
        *text = behind(p, end);
        if (*p == '"') return unquoted(p + 1);
    }
    return NULL;
}

char *stages_with_input(const char *text, const char *path)
{
    char *new = NULL;
    size_t size = 0;
    FILE *out = path ? open_memstream(&new, &size) : NULL;
    if (!path) return strdup(text);
    if (!out) return NULL;
    const char *end = text + strlen(text);
    for (const char *p = text, *next; p < end; p = next) {
        next = behind(p, end);
        const bool is_first = *p == '$' && p[1] == '1' && !is_letter(p[2]);
        if (is_first) {
            fputs("open(", out);
            put_string(out, path);
            fputc(')', out);
            next = p + 2;
        } else {
            fwrite(p, 1, (size_t)(next - p), out);
        }
    }
    const bool failed = ferror(out);
    if (fclose(out) == 0 && !failed) return new;
    free(new);
    return NULL;
}

void stages_free(stage_list *list)
{
    for (size_t k = 0; k < list->n; k++) {
        free(list->items[k].name);
        free(list->items[k].expr);
        free(list->items[k].note);
    }
    free(list->items);
    free(list->head);
    *list = (stage_list){ 0 };
}
