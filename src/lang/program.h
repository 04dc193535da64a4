/* SPDX-License-Identifier: MIT */
/*
 * Running a program's statements. What they save, print or end with comes out
 * as a list of outputs; nothing is computed here.
 */
#ifndef IP_LANG_PROGRAM_H
#define IP_LANG_PROGRAM_H

#include "base/str.h"
#include "lang/eval.h"

typedef struct ip_output {
    const ip_statement *statement; /* SAVE, PRINT or EXPR */
    ip_val *vals;                  /* SAVE, EXPR: one array; PRINT: anything */
    int n;
    char *path, *format, *settings; /* SAVE; format and settings may be NULL. Owned */
} ip_output;

typedef struct ip_outputs {
    ip_output *output;
    int n, capacity;
} ip_outputs;

/* Evaluates the statements. given: per statement the value of a param, kind NONE for its default; or NULL.
 * ev is set up but for globals; ip_eval_free() it in any case. */
imgpar_status ip_program_run(ip_eval *ev, const ip_val *given, ip_outputs *outputs);
/* Whether one of them saves to this file. Standard output and devices are none. */
bool ip_outputs_save_to(const ip_outputs *outputs, const char *path);
void ip_outputs_free(ip_outputs *outputs);
/* The last expression's value, a reference; NULL: an error, or ev only checks. given: as above. Frees what ev holds. */
imgpar_array *ip_program_value(ip_eval *ev, const ip_val *given);

/* "4.5", "[1 2; 3 4]", "[480, 640, 3] u8": one value of a print statement appended to line. Reads small arrays. */
imgpar_status ip_show(const ip_val *v, const imgpar_options *options, ip_str *line, ip_error *err);
/* The largest array whose elements are printed. */
enum { IP_SHOW_MAX_ELEMENTS = 64 };

#endif
