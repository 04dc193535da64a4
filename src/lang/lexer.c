/* SPDX-License-Identifier: MIT */
/* The lexer: one function a kind of token; what is wrong is said where it stands. */
#include "lang/lexer.h"
#include "base/alloc.h"
#include "base/str.h"
#include "lang/words.h"

#include <stdio.h>
#include <string.h>

typedef struct lexer {
    const ip_text *text;
    ip_symbols *symbols;
    ip_tokens *tokens;
    ip_error *err;
    size_t at;    /* next byte */
    int brackets; /* open ones */
    bool space;   /* white space came just before at */
} lexer;

/* Longest first where one begins another. */
static const struct {
    const char *text;
    ip_token_kind kind;
} punctuation[] = {
    { "->", IP_T_ARROW },      { "**", IP_T_POWER },       { "&&", IP_T_AND_AND },    { "||", IP_T_OR_OR },
    { "==", IP_T_EQUAL },      { "!=", IP_T_UNEQUAL },     { "<=", IP_T_LESS_EQUAL }, { ">=", IP_T_GREATER_EQUAL },
    { "<<", IP_T_SHIFT_LEFT }, { ">>", IP_T_SHIFT_RIGHT }, { "(", IP_T_OPEN },        { ")", IP_T_CLOSE },
    { "[", IP_T_OPEN_SQUARE }, { "]", IP_T_CLOSE_SQUARE }, { ",", IP_T_COMMA },       { ";", IP_T_SEMICOLON },
    { "=", IP_T_ASSIGN },      { "?", IP_T_QUESTION },     { ":", IP_T_COLON },       { "<", IP_T_LESS },
    { ">", IP_T_GREATER },     { "|", IP_T_OR },           { "^", IP_T_XOR },         { "&", IP_T_AND },
    { "+", IP_T_PLUS },        { "-", IP_T_MINUS },        { ".", IP_T_DOT },         { "*", IP_T_TIMES },
    { "/", IP_T_DIVIDE },      { "%", IP_T_MODULO },       { "!", IP_T_NOT },         { "~", IP_T_COMPLEMENT },
};

static const struct {
    const char *text;
    ip_token_kind kind;
} words[] = {
    { "true", IP_T_TRUE }, { "false", IP_T_FALSE }, { "div", IP_T_DIV },     { "param", IP_T_PARAM },
    { "fn", IP_T_FN },     { "save", IP_T_SAVE },   { "print", IP_T_PRINT },
};

enum { N_PUNCTUATION = sizeof punctuation / sizeof *punctuation, N_WORDS = sizeof words / sizeof *words };

static const char *const kind_text[IP_N_TOKENS] = {
    [IP_T_END] = "the end of the text",
    [IP_T_NEWLINE] = "the end of the line",
    [IP_T_NUMBER] = "a number",
    [IP_T_STRING] = "a string",
    [IP_T_NAME] = "a name",
    [IP_T_INPUT] = "an argument",
    [IP_T_TRUE] = "'true'",
    [IP_T_FALSE] = "'false'",
    [IP_T_DIV] = "'div'",
    [IP_T_PARAM] = "'param'",
    [IP_T_FN] = "'fn'",
    [IP_T_SAVE] = "'save'",
    [IP_T_PRINT] = "'print'",
    [IP_T_ARROW] = "'->'",
    [IP_T_POWER] = "'**'",
    [IP_T_AND_AND] = "'&&'",
    [IP_T_OR_OR] = "'||'",
    [IP_T_EQUAL] = "'=='",
    [IP_T_UNEQUAL] = "'!='",
    [IP_T_LESS_EQUAL] = "'<='",
    [IP_T_GREATER_EQUAL] = "'>='",
    [IP_T_SHIFT_LEFT] = "'<<'",
    [IP_T_SHIFT_RIGHT] = "'>>'",
    [IP_T_OPEN] = "'('",
    [IP_T_CLOSE] = "')'",
    [IP_T_OPEN_SQUARE] = "'['",
    [IP_T_CLOSE_SQUARE] = "']'",
    [IP_T_DOT] = "'.'",
    [IP_T_COMMA] = "','",
    [IP_T_SEMICOLON] = "';'",
    [IP_T_ASSIGN] = "'='",
    [IP_T_QUESTION] = "'?'",
    [IP_T_COLON] = "':'",
    [IP_T_LESS] = "'<'",
    [IP_T_GREATER] = "'>'",
    [IP_T_OR] = "'|'",
    [IP_T_XOR] = "'^'",
    [IP_T_AND] = "'&'",
    [IP_T_PLUS] = "'+'",
    [IP_T_MINUS] = "'-'",
    [IP_T_TIMES] = "'*'",
    [IP_T_DIVIDE] = "'/'",
    [IP_T_MODULO] = "'%'",
    [IP_T_NOT] = "'!'",
    [IP_T_COMPLEMENT] = "'~'",
};

const char *ip_token_kind_text(ip_token_kind kind) { return kind_text[kind]; }

static bool is_digit(char c) { return c >= '0' && c <= '9'; }
static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

static int hex_value(char c)
{
    if (is_digit(c)) return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

static imgpar_status syntax(lexer *l, size_t at, const char *message)
{
    return ip_text_fail(l->err, l->text, at, IMGPAR_E_SYNTAX, "%s", message);
}

/* The next token, to be filled in; NULL without memory. */
static ip_token *push(lexer *l, ip_token_kind kind)
{
    ip_tokens *tokens = l->tokens;
    if (tokens->n == tokens->capacity) {
        size_t capacity = tokens->capacity ? tokens->capacity * 2 : 64;
        ip_token *grown = ip_realloc_array(tokens->token, capacity, sizeof *grown);
        if (!grown) {
            ip_fail_memory(l->err, "reading pipeline text");
            return NULL;
        }
        tokens->token = grown;
        tokens->capacity = capacity;
    }
    ip_token *token = &tokens->token[tokens->n++];
    *token = (ip_token){ .kind = (uint8_t)kind, .space_before = l->space, .offset = (uint32_t)l->at };
    l->space = false;
    return token;
}

/* Whether the digits from start to end are those of v. */
static bool is_exact(const char *start, const char *end, double v)
{
    char digits[400];
    while (start < end - 1 && *start == '0')
        start++;
    snprintf(digits, sizeof digits, "%.0f", v);
    return strlen(digits) == (size_t)(end - start) && memcmp(digits, start, (size_t)(end - start)) == 0;
}

#define INEXACT "no double is this number exactly: whole ones are to 2^53; with a point or an exponent it is rounded"

static imgpar_status lex_number(lexer *l)
{
    const char *start = l->text->text + l->at, *p = start;
    ip_token *token = push(l, IP_T_NUMBER);
    if (!token) return l->err->status;
    if (p[0] == '0' && (p[1] == 'x' || p[1] == 'X')) {
        for (p += 2; hex_value(*p) >= 0; p++) {
            const double higher = token->u.number * 16, digit = hex_value(*p);
            if (higher > 0x1p1000 || higher + digit - higher != digit) return syntax(l, l->at, INEXACT);
            token->u.number = higher + digit;
        }
        if (p == start + 2) return syntax(l, l->at, "0x is followed by hexadecimal digits");
    } else {
        while (is_digit(*p))
            p++;
        token->fractional = *p == '.';
        if (*p == '.')
            for (p++; is_digit(*p);)
                p++;
        if (*p == 'e' || *p == 'E') {
            const char *exponent = p + 1 + (p[1] == '+' || p[1] == '-');
            if (!is_digit(*exponent)) return syntax(l, l->at, "a number's exponent needs digits");
            for (p = exponent; is_digit(*p);)
                p++;
            token->fractional = true;
        }
        token->u.number = ip_parse_number(start, NULL);
        if (!token->fractional && !is_exact(start, p, token->u.number)) return syntax(l, l->at, INEXACT);
    }
    if (is_letter(*p) || is_digit(*p) || *p == '.')
        return syntax(l, (size_t)(p - l->text->text), "a number ends here: an operator or a space is expected");
    l->at += (size_t)(p - start);
    return IMGPAR_OK;
}

/* Appends a character as UTF-8. */
static void put_utf8(char **out, unsigned code)
{
    char *p = *out;
    if (code < 0x80) {
        *p++ = (char)code;
    } else if (code < 0x800) {
        *p++ = (char)(0xc0 | code >> 6);
        *p++ = (char)(0x80 | (code & 0x3f));
    } else {
        *p++ = (char)(0xe0 | code >> 12);
        *p++ = (char)(0x80 | (code >> 6 & 0x3f));
        *p++ = (char)(0x80 | (code & 0x3f));
    }
    *out = p;
}

/* Resolves the escape at p (after the backslash); returns what follows it, NULL when it is none. */
static const char *escape(const char *p, char **out)
{
    static const char from[] = "ntr\"\\", to[] = "\n\t\r\"\\";
    const char *simple = *p ? strchr(from, *p) : NULL;
    if (simple) {
        *(*out)++ = to[simple - from];
        return p + 1;
    }
    int digits = *p == 'x' ? 2 : *p == 'u' ? 4 : 0;
    unsigned code = 0;
    for (int i = 1; i <= digits; i++) {
        if (hex_value(p[i]) < 0) return NULL;
        code = code * 16 + (unsigned)hex_value(p[i]);
    }
    if (code == 0) return NULL; /* no such escape, or a terminator inside the string */
    if (digits == 2)
        *(*out)++ = (char)code;
    else
        put_utf8(out, code);
    return p + digits + 1;
}

static imgpar_status lex_string(lexer *l)
{
    const char *base = l->text->text, *p = base + l->at + 1, *end = p;
    while (*end && *end != '"' && *end != '\n')
        end += *end == '\\' && end[1] && end[1] != '\n' ? 2 : 1;
    if (*end != '"') return syntax(l, l->at, "this string has no closing '\"' on its line");
    ip_token *token = push(l, IP_T_STRING);
    if (!token) return l->err->status;
    char *out = ip_arena_alloc(l->symbols->arena, (size_t)(end - p) + 1);
    if (!out) return ip_fail_memory(l->err, "reading pipeline text");
    token->u.text = out;
    while (p < end) {
        if (*p != '\\') {
            *out++ = *p++;
            continue;
        }
        const char *next = escape(p + 1, &out);
        if (!next)
            return syntax(l, (size_t)(p - base), "no such escape: \\n \\t \\r \\\" \\\\ \\xHH and \\uHHHH exist");
        p = next;
    }
    l->at = (size_t)(end - base) + 1;
    return IMGPAR_OK;
}

static imgpar_status lex_input(lexer *l)
{
    const char *p = l->text->text + l->at + 1;
    if (*p < '1' || *p > '9' || is_digit(p[1]) || is_letter(p[1])) return syntax(l, l->at, "arguments are $1 to $9");
    ip_token *token = push(l, IP_T_INPUT);
    if (!token) return l->err->status;
    token->u.number = *p - '0';
    l->at += 2;
    return IMGPAR_OK;
}

static imgpar_status lex_name(lexer *l)
{
    const char *start = l->text->text + l->at;
    size_t n = 1;
    while (is_letter(start[n]) || is_digit(start[n]))
        n++;
    ip_token_kind kind = IP_T_NAME;
    for (int i = 0; i < N_WORDS; i++)
        if (strlen(words[i].text) == n && memcmp(words[i].text, start, n) == 0) kind = words[i].kind;
    ip_token *token = push(l, kind);
    if (!token) return l->err->status;
    token->u.name = ip_symbol_intern(l->symbols, start, n);
    if (!token->u.name) return ip_fail_memory(l->err, "reading pipeline text");
    l->at += n;
    return IMGPAR_OK;
}

/* What people mean who are used to other languages. */
static imgpar_status refuse_character(lexer *l, char c)
{
    const char *hint = c == '\''  ? "; text stands in double quotes: \"photo.jpg\""
                       : c == '@' ? "; a product of matrices is matmul(a, b)"
                                  : "";
    return ip_text_fail(l->err, l->text, l->at, IMGPAR_E_SYNTAX, "'%c' means nothing here%s", c, hint);
}

static imgpar_status lex_punctuation(lexer *l)
{
    const char *p = l->text->text + l->at;
    if (strncmp(p, "//", 2) == 0 || strncmp(p, "/*", 2) == 0)
        return syntax(l, l->at,
                      p[1] == '/' ? "a comment starts with #, and whole division is div" : "a comment starts with #");
    for (int i = 0; i < N_PUNCTUATION; i++) {
        size_t n = strlen(punctuation[i].text);
        if (strncmp(p, punctuation[i].text, n) != 0) continue;
        ip_token_kind kind = punctuation[i].kind;
        if (kind == IP_T_OPEN || kind == IP_T_OPEN_SQUARE) l->brackets++;
        if ((kind == IP_T_CLOSE || kind == IP_T_CLOSE_SQUARE) && l->brackets > 0) l->brackets--;
        if (kind == IP_T_SEMICOLON && l->brackets == 0) kind = IP_T_NEWLINE;
        if (!push(l, kind)) return l->err->status;
        l->at += n;
        return IMGPAR_OK;
    }
    if ((unsigned char)*p >= 0x20 && (unsigned char)*p < 0x7f) return refuse_character(l, *p);
    return syntax(l, l->at, "this character belongs in a string or a comment");
}

/* Passes over white space and comments; a newline outside brackets becomes a token. */
static imgpar_status skip_space(lexer *l)
{
    const char *text = l->text->text;
    for (;; l->at++) {
        char c = text[l->at];
        if (c == '#')
            while (text[l->at + 1] && text[l->at + 1] != '\n')
                l->at++;
        else if (c == '\n' && l->brackets == 0 && !push(l, IP_T_NEWLINE))
            return l->err->status;
        else if (c != '\n' && c != ' ' && c != '\t' && c != '\r')
            return IMGPAR_OK;
        l->space = true;
    }
}

imgpar_status ip_lex(const ip_text *text, ip_symbols *symbols, ip_tokens *tokens, ip_error *err)
{
    lexer l = { .text = text, .symbols = symbols, .tokens = tokens, .err = err, .space = true };
    if (text->length > IP_TEXT_MAX_BYTES)
        return ip_fail(err, IMGPAR_E_SYNTAX, "%.240s: the text has %zu bytes, above the limit of 1 MiB", text->name,
                       text->length);
    if (text->length >= 3 && memcmp(text->text, "\xef\xbb\xbf", 3) == 0) l.at = 3; /* a byte order mark */
    for (;;) {
        imgpar_status st = skip_space(&l);
        if (st) return st;
        char c = text->text[l.at];
        if (c == '\0') return push(&l, IP_T_END) ? IMGPAR_OK : err->status;
        if (is_digit(c) || (c == '.' && is_digit(text->text[l.at + 1])))
            st = lex_number(&l);
        else if (c == '"')
            st = lex_string(&l);
        else if (c == '$')
            st = lex_input(&l);
        else if (is_letter(c))
            st = lex_name(&l);
        else
            st = lex_punctuation(&l);
        if (st) return st;
    }
}

void ip_tokens_free(ip_tokens *tokens)
{
    ip_free(tokens->token);
    *tokens = (ip_tokens){ 0 };
}
