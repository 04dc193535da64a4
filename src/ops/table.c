/* SPDX-License-Identifier: MIT */
/*
 * The operation table: the rows of ops.def as one constant array, and looking
 * them up. Hidden rows are found by the library itself but not listed.
 */
#include "ops/build.h"

#include "base/hash.h"
#include "ops/families.h"
#include "ops/nth.h"
#include "ops/row_functions.h"
#include "ops/rows.h"

#include <ctype.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define ENTRY(NAME, SYMBOL, ALIASES, CATEGORY, FLAGS, VARIANT, INFER, STAGES, ...) \
    { .info = { .name = NAME,                                                      \
                .aliases = ALIASES,                                                \
                .category = CATEGORY,                                              \
                .takes_complex = IP_OP_TAKES_COMPLEX(FLAGS),                       \
                .takes_many_axes = IP_OP_TAKES_MANY_AXES(FLAGS),                   \
                __VA_ARGS__ },                                                     \
      .flags = (FLAGS),                                                            \
      .variant = VARIANT,                                                          \
      .symbol = SYMBOL,                                                            \
      .infer = INFER,                                                              \
      .lower = STAGES },
#define OP(NAME, ALIASES, CATEGORY, FLAGS, VARIANT, INFER, STAGES, ...) \
    ENTRY(NAME, NULL, ALIASES, CATEGORY, FLAGS, VARIANT, INFER, STAGES, __VA_ARGS__)
#define FUNC(NAME, SYMBOL, CATEGORY, FLAGS, VARIANT, INFER, STAGES, ...) \
    ENTRY(NAME, SYMBOL, "", CATEGORY, IP_OP_ELEMENTWISE | IP_OP_OPERATOR | (FLAGS), VARIANT, INFER, STAGES, __VA_ARGS__)
#define LEAF(NAME, CATEGORY, FLAGS, INFER, ...) ENTRY(NAME, NULL, "", CATEGORY, FLAGS, 0, INFER, NULL, __VA_ARGS__)
#define DERIVED(NAME, ALIASES, CATEGORY, VARIANT, INFER, EXPAND, ...)                  \
    { .info = { .name = NAME, .aliases = ALIASES, .category = CATEGORY, __VA_ARGS__ }, \
      .variant = VARIANT,                                                              \
      .infer = INFER,                                                                  \
      .expand = EXPAND },
#define DERIVED_ALONG(NAME, ALIASES, CATEGORY, FLAGS, INFER, EXPAND, ...) \
    { .info = { .name = NAME,                                             \
                .aliases = ALIASES,                                       \
                .category = CATEGORY,                                     \
                .takes_complex = IP_OP_TAKES_COMPLEX(FLAGS),              \
                .takes_many_axes = 1,                                     \
                __VA_ARGS__ },                                            \
      .flags = IP_OP_ALONG | (FLAGS),                                     \
      .infer = INFER,                                                     \
      .expand = EXPAND },
#define DERIVED_FUNC(NAME, INFER, EXPAND, ...)                                                            \
    { .info = { .name = NAME, .aliases = "", .category = "function", .takes_many_axes = 1, __VA_ARGS__ }, \
      .flags = IP_OP_ELEMENTWISE,                                                                         \
      .infer = INFER,                                                                                     \
      .expand = EXPAND },

static const ip_op ops[] = {
#include "ops/ops.def"
};
enum { N_OPS = sizeof ops / sizeof *ops };

/* ---- looking up ------------------------------------------------------------------ */

static bool is_listed(const ip_op *op) { return !(op->flags & IP_OP_HIDDEN); }

/* Names and aliases by their hashes: every call of a text and every row of a written one looks some up. */
typedef struct word {
    const char *text; /* NULL: the slot is free */
    size_t length;
    const ip_op *op;
} word;

enum { WORD_SLOTS = 8 * N_OPS }; /* names and aliases are a quarter of that; tests/check_ops.c finds each */
static word words[WORD_SLOTS];   /* filled once, before it is first read: the table itself in another order */

/* Where text stands, or would. */
static word *slot_of(const char *text, size_t length)
{
    size_t k = (size_t)(ip_hash_bytes(0, text, length) % WORD_SLOTS);
    while (words[k].text && !(words[k].length == length && memcmp(words[k].text, text, length) == 0))
        k = (k + 1) % WORD_SLOTS;
    return &words[k];
}

static void add_word(const char *text, size_t length, const ip_op *op)
{
    word *slot = slot_of(text, length);
    if (!slot->text) *slot = (word){ text, length, op };
}

static void fill_words(void)
{
    for (int k = 0; k < N_OPS; k++)
        add_word(ops[k].info.name, strlen(ops[k].info.name), &ops[k]);
    for (int k = 0; k < N_OPS; k++)
        for (const char *at = ops[k].info.aliases; *at;) {
            size_t length = strcspn(at, " ");
            if (length) add_word(at, length, &ops[k]); /* a name wins over an alias */
            at += length + (at[length] == ' ');
        }
}

const ip_op *ip_op_find(const char *name)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    if (!name) return NULL;
    pthread_once(&once, fill_words);
    return slot_of(name, strlen(name))->op;
}

const ip_op *ip_op_find_symbol(const char *symbol, int n_inputs)
{
    for (int k = 0; k < N_OPS; k++)
        if (ops[k].symbol && ops[k].info.n_inputs == n_inputs && strcmp(ops[k].symbol, symbol) == 0) return &ops[k];
    return NULL;
}

IMGPAR_API size_t imgpar_op_count(void)
{
    size_t n = 0;
    for (int k = 0; k < N_OPS; k++)
        n += is_listed(&ops[k]);
    return n;
}

IMGPAR_API const imgpar_op_info *imgpar_op_get(size_t index)
{
    for (int k = 0; k < N_OPS; k++)
        if (is_listed(&ops[k]) && index-- == 0) return &ops[k].info;
    return NULL;
}

IMGPAR_API const imgpar_op_info *imgpar_op_find(const char *name)
{
    const ip_op *op = ip_op_find(name);
    return op && is_listed(op) ? &op->info : NULL;
}

/* ---- near names ------------------------------------------------------------------ */

enum { NAME_MAX_CHARS = 31, FAR = 99, N_NEAR = 3 };

/* Insertions, deletions, replacements and swaps of neighbours that turn a into b, case apart. */
static int distance(const char *a, const char *b)
{
    int n = (int)strlen(a), m = (int)strlen(b);
    int d[NAME_MAX_CHARS + 1][NAME_MAX_CHARS + 1];
    if (n > NAME_MAX_CHARS || m > NAME_MAX_CHARS) return FAR;
    for (int i = 0; i <= n; i++)
        for (int j = 0; j <= m; j++) {
            if (i == 0 || j == 0) {
                d[i][j] = i + j;
                continue;
            }
            bool same = tolower((unsigned char)a[i - 1]) == tolower((unsigned char)b[j - 1]);
            int best = d[i - 1][j - 1] + !same;
            if (d[i - 1][j] + 1 < best) best = d[i - 1][j] + 1;
            if (d[i][j - 1] + 1 < best) best = d[i][j - 1] + 1;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] && d[i - 2][j - 2] + 1 < best)
                best = d[i - 2][j - 2] + 1;
            d[i][j] = best;
        }
    return d[n][m];
}

/* How far the row is from a misspelt name: a name that holds it, or is held by it, is near whatever its length. */
static int row_distance(const ip_op *op, const char *name)
{
    size_t n = strlen(name);
    int best = distance(name, op->info.name);
    if (n >= 3 && (strstr(op->info.name, name) || strstr(name, op->info.name)) && strlen(op->info.name) >= 3 &&
        best > 2)
        best = 2;
    char alias[NAME_MAX_CHARS + 1];
    const char *at = op->info.aliases;
    for (int used; sscanf(at, " %31s%n", alias, &used) == 1; at += used) {
        int d = distance(name, alias);
        if (d < best) best = d;
    }
    return best;
}

bool ip_is_near(const char *name, const char *other)
{
    size_t n = strlen(name);
    return strcmp(name, other) != 0 && distance(name, other) <= (n < 2 ? 0 : n < 4 ? 1 : 2);
}

char *ip_op_near(const char *name, char *buf, size_t size)
{
    const ip_op *near[N_NEAR];
    int n = 0, limit = strlen(name) <= 3 ? 1 : 2;
    for (int d = 0; d <= limit; d++)
        for (int k = 0; k < N_OPS && n < N_NEAR; k++)
            if (is_listed(&ops[k]) && row_distance(&ops[k], name) == d) near[n++] = &ops[k];
    size_t used = 0;
    if (size) buf[0] = '\0';
    for (int k = 0; k < n && used < size; k++)
        used += (size_t)snprintf(buf + used, size - used, "%s%s", k ? ", " : "", near[k]->info.name);
    return buf;
}
