/* SPDX-License-Identifier: MIT */
/*
 * Reads JSON that the library wrote, as imgpar_explain() does. A tree that is read, not changed:
 *
 *     json *root = json_read(text);
 *     for (const json *k = json_first(json_member(root, "kernels")); k; k = k->next)
 *         puts(json_text(json_member(k, "schedule")));
 *     json_free(root);
 *
 * What is missing is NULL, and of NULL a member is NULL, the text "" and the number 0.
 */
#ifndef IMGPAR_CLI_JSON_H
#define IMGPAR_CLI_JSON_H

#include <stdbool.h>

typedef struct json {
    char *key;  /* within an object, or NULL */
    char *text; /* of strings, else NULL */
    double number;
    bool is_list; /* or an object */
    struct json *first, *next;
} json;

/* The tree, for json_free(); NULL: text is no JSON, or there is no memory. */
json *json_read(const char *text);
const json *json_member(const json *object, const char *key);
const json *json_first(const json *list);
const char *json_text(const json *value);
double json_number(const json *value);
/* NULL is legal. */
void json_free(json *root);

#endif
