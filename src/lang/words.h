/* SPDX-License-Identifier: MIT */
/*
 * The words of the language that are no rows of the operation table: statements, forms, names. One
 * table for the parser, the evaluator, near names in messages, and imgpar_word_get().
 */
#ifndef IP_LANG_WORDS_H
#define IP_LANG_WORDS_H

#include "lang/eval.h"

enum { IP_FORM_MAX_PARAMS = 7 };

typedef struct ip_word {
    imgpar_word info;
    ip_form form;                           /* of the category "form", else NULL */
    const char *params[IP_FORM_MAX_PARAMS]; /* of a form, in their order; ended by NULL */
    int n_required;
    bool yields; /* to a function of the same name: it came when programs had such functions */
} ip_word;

/* The row of that name, or NULL. */
const ip_word *ip_word_find(const char *name);
/* Is it a form? */
bool ip_is_form(const char *name);
/* Is it a form that no function may redefine? */
bool ip_is_reserved(const char *name);
/* What is here what an operation, a name or a member of this name is in NumPy, OpenCV and others; NULL: none with
 * another name. */
const char *ip_operation_elsewhere(const char *name);
const char *ip_name_elsewhere(const char *name);
const char *ip_member_elsewhere(const char *name);
/* Rows by index; NULL at the end. (Operators are no rows here, see imgpar_word_get().) */
const ip_word *ip_word_at(size_t index);

#endif
