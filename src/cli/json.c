/* SPDX-License-Identifier: MIT */
/* Recursive descent. true, false and null are read as the numbers 1, 0 and 0. */
#include "json.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_DEPTH = 64 };

static void skip_blanks(const char **at) { *at += strspn(*at, " \t\r\n"); }

static json *fail(json *value)
{
    json_free(value);
    return NULL;
}

/* A code point in UTF-8; surrogates, which the library does not write, become U+FFFD. */
static char *put_utf8(char *out, unsigned c)
{
    if (c >= 0xd800 && c < 0xe000) c = 0xfffd;
    if (c < 0x80) {
        *out++ = (char)c;
        return out;
    }
    if (c < 0x800) {
        *out++ = (char)(0xc0 | c >> 6);
    } else {
        *out++ = (char)(0xe0 | c >> 12);
        *out++ = (char)(0x80 | (c >> 6 & 63));
    }
    *out++ = (char)(0x80 | (c & 63));
    return out;
}

/* Four digits behind \u; false: they are none. */
static bool read_unit(const char *at, unsigned *c)
{
    char digits[5] = "";
    if (strspn(at, "0123456789abcdefABCDEF") < 4) return false;
    memcpy(digits, at, 4);
    *c = (unsigned)strtoul(digits, NULL, 16);
    return true;
}

/* Behind the first quote; the text is never longer than what stands for it. */
static char *read_string(const char **at)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    const char *end = *at;
    while (*end && *end != '"')
        end += *end == '\\' && end[1] ? 2 : 1;
    char *text = *end == '"' ? malloc((size_t)(end - *at) + 1) : NULL, *out = text;
    if (!text) return NULL;
    for (const char *p = *at; p < end; p++) {
        const char *escape = *p == '\\' && p[1] ? strchr(from, p[1]) : NULL;
        unsigned c;
        if (*p != '\\') {
            *out++ = *p;
        } else if (escape) {
            *out++ = to[escape - from];
            p++;
        } else if (p[1] == 'u' && read_unit(p + 2, &c)) {
            out = put_utf8(out, c);
            p += 5;
        } else {
            free(text);
            return NULL;
        }
    }
    *out = '\0';
    *at = end + 1;
    return text;
}

static json *read_value(const char **at, int depth);

/* Behind the bracket that opens an object or a list. */
static json *read_items(const char **at, json *into, char closing, int depth)
{
    json **last = &into->first;
    into->is_list = true;
    skip_blanks(at);
    if (**at == closing) {
        ++*at;
        return into;
    }
    for (;; ++*at) {
        char *key = NULL;
        skip_blanks(at);
        if (closing == '}') {
            if (**at != '"') return fail(into);
            ++*at;
            if (!(key = read_string(at))) return fail(into);
            skip_blanks(at);
            if (**at != ':') {
                free(key);
                return fail(into);
            }
            ++*at;
        }
        json *item = read_value(at, depth + 1);
        if (!item) {
            free(key);
            return fail(into);
        }
        item->key = key;
        *last = item;
        last = &item->next;
        skip_blanks(at);
        if (**at == closing) break;
        if (**at != ',') return fail(into);
    }
    ++*at;
    return into;
}

static json *read_value(const char **at, int depth)
{
    json *value = depth < MAX_DEPTH ? calloc(1, sizeof *value) : NULL;
    char *end;
    if (!value) return NULL;
    skip_blanks(at);
    switch (**at) {
    case '{': ++*at; return read_items(at, value, '}', depth);
    case '[': ++*at; return read_items(at, value, ']', depth);
    case '"':
        ++*at;
        value->text = read_string(at);
        return value->text ? value : fail(value);
    default: break;
    }
    static const char *const words[] = { "false", "true", "null" };
    for (int k = 0; k < 3; k++)
        if (strncmp(*at, words[k], strlen(words[k])) == 0) {
            *at += strlen(words[k]);
            value->number = k == 1;
            return value;
        }
    value->number = strtod(*at, &end);
    if (end == *at) return fail(value);
    *at = end;
    return value;
}

json *json_read(const char *text)
{
    json *root = read_value(&text, 0);
    skip_blanks(&text);
    return *text ? fail(root) : root;
}

const json *json_member(const json *object, const char *key)
{
    const json *item = object ? object->first : NULL;
    while (item && (!item->key || strcmp(item->key, key) != 0))
        item = item->next;
    return item;
}

const json *json_first(const json *list) { return list ? list->first : NULL; }

const char *json_text(const json *value) { return value && value->text ? value->text : ""; }

double json_number(const json *value) { return value ? value->number : 0; }

void json_free(json *root)
{
    while (root) {
        json *next = root->next;
        json_free(root->first);
        free(root->key);
        free(root->text);
        free(root);
        root = next;
    }
}
