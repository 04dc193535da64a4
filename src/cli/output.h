/* SPDX-License-Identifier: MIT */
/* Standard output and standard error. */
#ifndef IMGPAR_CLI_OUTPUT_H
#define IMGPAR_CLI_OUTPUT_H

#include <imgpar.h>
#include <stdbool.h>

/* "imgpar-run: message" on stderr. */
void complain(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* A line on stderr as it is. */
void tell(const char *line);
/* The last line of a terminal, which the next one is written over and any other line on stderr removes; "": none. */
void show_status(const char *line);
/* A line on stdout, sent off at once: the library writes to "-" past stdio. */
void say(const char *line);
/* Writes what printf() and the like have left in memory; what fails is told by close_stdout(). */
void flush_stdout(void);
/* The four letters of base64 (RFC 4648) for the first three of n bytes, filled up with "=". */
void base64_letters(const unsigned char *in, size_t n, char out[4]);
/* Makes the folders that path lies in. False: errno says why. */
bool make_folders(char *path);
/* Is it so few elements that a result is printed? What is more must go to a file. */
bool is_few(const imgpar_array *a);
/* A result without -o as print() shows it, for imgpar_free(), if it is a few numbers. Else an error, of which why tells
 * what a's message does not. */
imgpar_status numbers_as_text(imgpar_array *a, const imgpar_options *options_of_run, char **out, char why[200]);
/* What would be computed for n arrays, on stdout. An exit status, after saying why not. */
int explain_arrays(imgpar_array *const *arrays, size_t n, const char *format);
/* At the end: has everything printed arrived? Else fails, and complains of a full disk, but not of a closed pipe.
 * Returns status. */
int close_stdout(int status);
/* Whether that is why something failed, about which nothing was said. */
bool stdout_has_no_reader(void);

#endif
