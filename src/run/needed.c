/* SPDX-License-Identifier: MIT */
/*
 * Texts by need. Sections are looked at from the last one to the first, as a function is called behind where it stands:
 * a section that is kept adds its words to those that earlier ones are looked for in. Names that are put together by a
 * macro (ip_div_##T) are words, too, ip_div_ here, so a section's name with a * finds them. A text with a macro that
 * puts together what none of its words tells (a##b) gets everything.
 */
#include "run/needed.h"
#include "run/shaders.h"

#include "base/alloc.h"
#include "base/str.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

typedef struct word {
    const char *at;
    size_t n;
} word;

/* Words of a text, each once, numbers behind ## with that: a hash table of at least twice as many places as words. */
typedef struct words {
    word *places;
    size_t n_places; /* a power of 2 */
    size_t n;
    bool pastes_any; /* a macro of the text puts names together of which neither half tells one: a##b, int##N */
    bool failed;     /* without memory */
} words;

static const char marker[] = "/*:";

static bool is_letter(char c) { return isalnum((unsigned char)c) || c == '_'; }

/* ---- sets of words --------------------------------------------------------------------- */

static uint32_t hash_of(word w)
{
    uint32_t h = 2166136261u;
    for (size_t i = 0; i < w.n; i++)
        h = (h ^ (unsigned char)w.at[i]) * 16777619u;
    return h;
}

static word *place_of(const words *set, word w)
{
    size_t i = hash_of(w) & (set->n_places - 1);
    while (set->places[i].at && (set->places[i].n != w.n || memcmp(set->places[i].at, w.at, w.n) != 0))
        i = (i + 1) & (set->n_places - 1);
    return &set->places[i];
}

static void grow(words *set)
{
    words wider = *set;
    wider.n_places = set->n_places ? 2 * set->n_places : 1024;
    wider.places = ip_zalloc(wider.n_places * sizeof *wider.places);
    if (!wider.places) {
        set->failed = true;
        return;
    }
    for (size_t i = 0; i < set->n_places; i++)
        if (set->places[i].at) *place_of(&wider, set->places[i]) = set->places[i];
    ip_free(set->places);
    *set = wider;
}

static void add(words *set, word w)
{
    if (2 * (set->n + 1) > set->n_places) grow(set);
    if (set->failed) return;
    word *place = place_of(set, w);
    if (!place->at) set->n++;
    *place = w;
}

/* Whether at p two names are put together of which the first does not end in _: a##b. Where it does, as in ip_div_##T,
 * the name is found by its beginning. */
static bool pastes_any(const char *from, const char *p, const char *end)
{
    return p > from && end - p > 2 && p[0] == '#' && p[1] == '#' && isalnum((unsigned char)p[-1]) &&
           isalpha((unsigned char)p[2]);
}

static void add_all(words *set, const char *from, const char *end)
{
    for (const char *p = from; p < end && !set->failed;) {
        const char *begin = p;
        set->pastes_any |= pastes_any(from, p, end);
        while (p < end && is_letter(*p))
            p++;
        if (p == begin) {
            p++;
            continue;
        }
        if (begin - from >= 2 && isdigit((unsigned char)*begin) && begin[-1] == '#' && begin[-2] == '#') begin -= 2;
        add(set, (word){ begin, (size_t)(p - begin) });
    }
}

static bool has(const words *set, word w) { return set->n_places > 0 && place_of(set, w)->at; }

static bool has_beginning(const words *set, word w)
{
    for (size_t i = 0; i < set->n_places; i++)
        if (set->places[i].at && set->places[i].n >= w.n && memcmp(set->places[i].at, w.at, w.n) == 0) return true;
    return false;
}

/* Behind the beginning, if the word has it. */
static word behind(word w, const char *beginning)
{
    const size_t n = strlen(beginning);
    return w.n > n && memcmp(w.at, beginning, n) == 0 ? (word){ w.at + n, w.n - n } : w;
}

/* Whether the word is a vector's type of n elements, or a function named after one: float16, as_uchar4, vload8,
 * convert_int2_rte, or T##16. */
static bool is_vector(word w, const char *n)
{
    static const char *const names[] = { "char",   "short", "int",   "long",   "float",
                                         "double", "half",  "vload", "vstore", "##" };
    const size_t digits = strlen(n);
    w = behind(behind(w, "as_"), "convert_");
    if (w.n > 1 && w.at[0] == 'u') w = (word){ w.at + 1, w.n - 1 };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const word rest = behind(w, names[i]);
        if (rest.n < w.n && rest.n >= digits && memcmp(rest.at, n, digits) == 0 &&
            (rest.n == digits || rest.at[digits] == '_'))
            return true;
    }
    return false;
}

static bool has_vector(const words *set, const char *n)
{
    if (set->pastes_any) return true;
    for (size_t i = 0; i < set->n_places; i++)
        if (set->places[i].at && is_vector(set->places[i], n)) return true;
    return false;
}

/* ---- sections ---------------------------------------------------------------------------- */

static const char *line_after(const char *p)
{
    const char *end = strchr(p, '\n');
    return end ? end + 1 : p + strlen(p);
}

static bool begins_section(const char *line) { return strncmp(line, marker, sizeof marker - 1) == 0; }

/* Where the section before `end`, which begins a line, begins. */
static const char *section_before(const char *text, const char *end)
{
    const char *p = end;
    do {
        for (p--; p > text && p[-1] != '\n';)
            p--;
    } while (p > text && !begins_section(p));
    return p;
}

static bool is_section_needed(const char *section, const words *later)
{
    if (!begins_section(section) || later->pastes_any) return true;
    const char *p = section + sizeof marker - 1, *end = line_after(section);
    bool has_names = false;
    while (p < end) {
        const char *begin = p;
        while (p < end && is_letter(*p))
            p++;
        const word name = { begin, (size_t)(p - begin) };
        if (name.n == 0) {
            p++;
            continue;
        }
        has_names = true;
        const bool is_beginning = p + 1 < end && p[0] == '*' && p[1] != '/';
        if (is_beginning ? has_beginning(later, name) : has(later, name)) return true;
    }
    return !has_names;
}

/* The lines of shaders/builtins.cl for a text of these words. */
static void declare(ip_str *out, const words *used)
{
    static const char *const widths[] = { "2", "3", "4", "8", "16" };
    for (size_t i = 0; i < sizeof widths / sizeof *widths; i++)
        ip_str_printf(out, "#define IP_OF_%s(x)%s\n", widths[i], has_vector(used, widths[i]) ? " x" : "");
    for (const char *line = ip_shader_text("builtins"), *next; *line; line = next) {
        next = line_after(line);
        if (strncmp(line, "IP_", 3) == 0) {
            const char *name = line;
            while (name < next && (!islower((unsigned char)*name) || is_letter(name[-1])))
                name++;
            size_t n = 0;
            while (is_letter(name[n]))
                n++;
            if (!used->pastes_any && !has(used, (word){ name, n })) continue;
        }
        ip_str_append_n(out, line, (size_t)(next - line));
    }
}

/* The declarations that words need, then the sections of source that words need, in their order. From the last section
 * back to the first, since a section uses words of those before it: what is kept adds its own words. */
static char *with_needed(const char *source, words *used)
{
    enum { MOST_SECTIONS = 256 };
    const char *kept[MOST_SECTIONS], *ends[MOST_SECTIONS];
    int n = 0;
    for (const char *end = source + strlen(source), *begin; end > source && n < MOST_SECTIONS; end = begin) {
        begin = n + 1 < MOST_SECTIONS ? section_before(source, end) : source;
        if (!is_section_needed(begin, used)) continue;
        add_all(used, begins_section(begin) ? line_after(begin) : begin, end);
        kept[n] = begin;
        ends[n] = end;
        n++;
    }
    ip_str out = IP_STR_INIT;
    if (!used->failed) declare(&out, used);
    while (n-- > 0)
        ip_str_append_n(&out, kept[n], (size_t)(ends[n] - kept[n]));
    return ip_str_take(&out);
}

char *ip_needed_text(const char *source)
{
    words used = { .places = NULL };
    char *text = with_needed(source, &used);
    const bool failed = used.failed;
    ip_free(used.places);
    if (!failed) return text;
    ip_free(text);
    return NULL;
}
