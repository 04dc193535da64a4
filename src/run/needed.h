/* SPDX-License-Identifier: MIT */
/*
 * needed - of the library's own texts what a program needs, since a compiler that parses all of them does little else.
 *
 *     char *text = ip_needed_text(source); // NULL: without memory
 */
#ifndef IP_RUN_NEEDED_H
#define IP_RUN_NEEDED_H

/*
 * source without what it does not use. In the texts of shaders/ a line that begins with a comment of ": NAME NAME ..."
 * begins a section, which stands only in programs whose later text has one of these words, or one that begins so where
 * a * is behind the name; without names it always stands. In front of all are the declarations of shaders/builtins.cl
 * that are needed. The caller frees it with ip_free().
 */
char *ip_needed_text(const char *source);

#endif
