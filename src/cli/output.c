/* SPDX-License-Identifier: MIT */
/* The first error of stdout is remembered with its reason, which is gone by the end. */
#include "output.h"
#include "options.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static int stdout_error;

static void flush_stdout(void)
{
    if (fflush(stdout) != 0 && !stdout_error) stdout_error = errno;
}

void complain(const char *format, ...)
{
    va_list args;
    flush_stdout();
    fputs("imgpar-run: ", stderr);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
}

void say(const char *line)
{
    if (puts(line) == EOF && !stdout_error) stdout_error = errno;
    flush_stdout();
}

int close_stdout(int status)
{
    flush_stdout();
    if (!stdout_error && ferror(stdout)) stdout_error = EIO;
    if (!stdout_error || status != EXIT_DONE) return status; /* one error, one line */
    complain("standard output: %s", strerror(stdout_error));
    return EXIT_FAILED;
}
