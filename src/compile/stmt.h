/* SPDX-License-Identifier: MIT */
/*
 * The loop IR: statements between expressions and text. A schedule builds a tree of
 * them (loops, conditions, declarations, stores); one printer turns it into OpenCL C. Strings are
 * C expressions over names that enclosing statements declared; they live in the ip_ir's arena.
 */
#ifndef IP_COMPILE_STMT_H
#define IP_COMPILE_STMT_H

#include "base/str.h"
#include "ir/stage.h"

typedef enum ip_stmt_kind {
    IP_S_NOTE,   /* a: comment */
    IP_S_LET,    /* const a b = c; type, name, value */
    IP_S_VAR,    /* a b = c; one that changes, or an array (c NULL) */
    IP_S_STORE,  /* a = b; or any statement in a (b NULL) */
    IP_S_FOR,    /* for (int a = b; a < c; a += d) children */
    IP_S_IF,     /* if (a) children */
    IP_S_BLOCK,  /* children, as a scope for names */
    IP_S_BARRIER /* all work-items of the group meet; memory in a ("LOCAL") */
} ip_stmt_kind;

/* What a FOR promises about its iterations. */
typedef enum ip_parallel {
    IP_SERIAL,      /* nothing */
    IP_INDEPENDENT, /* no iteration reads what another wrote */
    IP_REDUCTION,   /* they only share an accumulator that may be reassociated */
    IP_FEW          /* nothing, and the compiler is to leave them as they are: there are few, or vectors are slower */
} ip_parallel;

typedef struct ip_stmt {
    ip_stmt_kind kind;
    const char *a, *b, *c, *d;
    ip_parallel parallel;
    int vector_width; /* FOR: hint; 0: none */
    bool is_whole;    /* FOR: runs over whole vectors of that width */
    bool is_vector;   /* FOR: has as many iterations as a vector of that width has lanes */
    bool in_lanes;    /* FOR, b and c are names: each vector is a loop over its lanes, the last one begins early */
    struct ip_stmt *first, *last, *next;
} ip_stmt;

/* A formatted string in the arena; "" (and ir->failed) without memory. */
const char *ip_text(ip_ir *ir, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* "a + 3", "a - 3" or a; "a * 3" or a, by numbers that are known: what adds or multiplies nothing is not written. */
const char *ip_text_plus(ip_ir *ir, const char *a, long long by);
const char *ip_text_times(ip_ir *ir, const char *a, long long by);
/* "a | b" of flags; of one of which nothing is to be said, "0", the other. */
const char *ip_text_or(ip_ir *ir, const char *a, const char *b);
/* A new statement at the end of parent; never NULL. */
ip_stmt *ip_s_add(ip_ir *ir, ip_stmt *parent, ip_stmt_kind kind, const char *a, const char *b, const char *c);
/* Prints the children of block, indented. pragmas: loops carry vectorisation hints. */
void ip_s_print(const ip_stmt *block, int indent, bool pragmas, ip_str *out);

#endif
