/* SPDX-License-Identifier: MIT */
/* Check, with assertions cheap enough for loops over elements: what includes this does not include <check.h>. */
#ifndef IP_TESTS_ASSERTS_H
#define IP_TESTS_ASSERTS_H

#include <check.h>
#include <string.h>

/* Of each assertion that holds Check writes the place to a file, a system call, so that it can tell where a test was
 * that crashes. Where the places are those of a loop, which were written before, they are not written again. */
static inline void mark_new_point(const char *file, int line)
{
    enum { N = 8 };
    static struct {
        const char *file;
        int line;
    } last[N];
    static int next;
    for (int k = 0; k < N; k++)
        if (last[k].line == line && last[k].file && strcmp(last[k].file, file) == 0) return;
    last[next].file = file;
    last[next].line = line;
    next = (next + 1) % N;
    _mark_point(file, line);
}
#define _mark_point(file, line) mark_new_point(file, line)

#endif
