/* SPDX-License-Identifier: MIT */
/*
 * What of a pipeline's text a report shows: the values that it names, the calls within expressions, what is saved,
 * printed, and what it ends with. Found by brackets and names alone, so that some are no values after all (a call that
 * reads what a lambda binds): whoever evaluates them leaves those out.
 *
 *     soft = blur(open("a.png"), 2)          blur(open("a.png"), 2), called soft
 *     save(soft * 0.5, "soft.png")           soft * 0.5, of which is told that it is saved as "soft.png"
 */
#ifndef IMGPAR_CLI_STAGES_H
#define IMGPAR_CLI_STAGES_H

#include <stdbool.h>
#include <stddef.h>

typedef struct stage {
    char *name; /* or NULL */
    char *expr;
    char *note; /* what becomes of it, or NULL */
    bool is_value;
} stage;

typedef struct stage_list {
    stage *items;
    size_t n, capacity;
    char *head;  /* the text without the expression that it ends with */
    bool failed; /* there is no memory: some are missing */
} stage_list;

/* text, with open("PATH") instead of $1 where a path is given, for free(); NULL without memory. */
char *stages_with_input(const char *text, const char *path);
void stages_find(stage_list *list, const char *text);
/* The text with print() for each stage from first to end that is a value; for free(), NULL without memory. */
char *stages_printed_range(const stage_list *list, size_t first, size_t end);
/* The next string in *text, which goes on behind it; for free(). NULL: there is none, or no memory. */
char *stages_next_string(const char **text);
void stages_free(stage_list *list);

#endif
