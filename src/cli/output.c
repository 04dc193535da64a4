/* SPDX-License-Identifier: MIT */
/* The first error of stdout is remembered with its reason, which is gone by the end. */
#include "output.h"
#include "options.h"
#include "signals.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int stdout_error;
static bool has_no_reader; /* of stdout: what failed was not told */

/* What failed may have been an earlier printf(), of which nothing is left to be flushed: errno is that one's then. */
void flush_stdout(void)
{
    if ((fflush(stdout) != 0 || ferror(stdout)) && !stdout_error) stdout_error = errno ? errno : EIO;
}

static bool has_status; /* the terminal's last line is a status */

void show_status(const char *line)
{
    if (has_status) fputs("\r\033[K", stderr); /* ECMA-48: erase in line */
    fputs(line, stderr);
    fflush(stderr);
    has_status = line[0] != '\0';
}

void tell(const char *line)
{
    show_status("");
    fprintf(stderr, "%s\n", line);
}

/* Whether a message tells that nobody reads standard output any more: head, say, has enough. Other commands end by
 * SIGPIPE then, and say nothing. */
static bool is_of_closed_pipe(const char *format, va_list args)
{
    static const char why[] = "Broken pipe";
    char text[2000];
    struct pollfd out = { .fd = STDOUT_FILENO, .events = POLLOUT };
    if (!signals_end_by_pipe() || poll(&out, 1, 0) != 1 || !(out.revents & (POLLERR | POLLHUP))) return false;
    const int n = vsnprintf(text, sizeof text, format, args);
    const size_t n_why = sizeof why - 1;
    return n >= (int)n_why && n < (int)sizeof text && strcmp(text + n - n_why, why) == 0;
}

void complain(const char *format, ...)
{
    va_list args;
    flush_stdout();
    va_start(args, format);
    const bool is_quiet = is_of_closed_pipe(format, args);
    va_end(args);
    has_no_reader |= is_quiet;
    if (is_quiet) return;
    show_status("");
    fputs("imgpar-run: ", stderr);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
}

void say(const char *line)
{
    show_status("");
    if (puts(line) == EOF && !stdout_error) stdout_error = errno;
    flush_stdout();
}

void base64_letters(const unsigned char *in, size_t n, char out[4])
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const uint32_t v = (uint32_t)in[0] << 16 | (n > 1 ? (uint32_t)in[1] << 8 : 0) | (n > 2 ? in[2] : 0);
    out[0] = digits[v >> 18];
    out[1] = digits[v >> 12 & 63];
    out[2] = n > 1 ? digits[v >> 6 & 63] : '=';
    out[3] = n > 2 ? digits[v & 63] : '=';
}

bool make_folders(char *path)
{
    bool ok = true;
    for (char *slash = strchr(path + 1, '/'); slash && ok; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        const int why = mkdir(path, 0777) == 0 ? 0 : errno;
        ok = why == 0 || why == EEXIST || access(path, X_OK) == 0; /* a read-only folder says EROFS of what is there */
        errno = why;
        *slash = '/';
    }
    return ok;
}

bool is_few(const imgpar_array *a)
{
    enum { FEW = 64 };
    imgpar_info info = { .struct_size = sizeof info };
    return imgpar_array_info(a, &info) == IMGPAR_OK && info.size_bytes <= FEW * imgpar_dtype_size(info.dtype);
}

imgpar_status numbers_as_text(imgpar_array *a, const imgpar_options *options_of_run, char **out, char why[200])
{
    imgpar_status st = imgpar_array_text(a, options_of_run, out);
    if (st || is_few(a)) return st;
    snprintf(why, 200, "the result, %s, goes nowhere: -o 'out/{name}.png' writes it", *out);
    imgpar_free(*out);
    *out = NULL;
    return IMGPAR_E_ARGUMENT;
}

int explain_arrays(imgpar_array *const *arrays, size_t n, const char *format)
{
    char *text = NULL;
    if (n == 0) { /* numbers that headers tell */
        say(strcmp(format, "json") == 0 ? "{}" : "nothing is left to be computed");
        return EXIT_DONE;
    }
    imgpar_status st = imgpar_explain(arrays, n, format, &text);
    for (size_t i = 0; st && i < n; i++)
        if (imgpar_array_status(arrays[i])) {
            complain("%s", imgpar_array_message(arrays[i]));
            return EXIT_FAILED;
        }
    if (!st && text[0] && text[strlen(text) - 1] == '\n') text[strlen(text) - 1] = '\0'; /* say() ends the line */
    if (st)
        complain("--explain: %s", imgpar_status_name(st));
    else
        say(text);
    imgpar_free(text);
    return st ? EXIT_FAILED : EXIT_DONE;
}

int close_stdout(int status)
{
    flush_stdout();
    if (!stdout_error || status != EXIT_DONE) return status; /* one error, one line */
    complain("standard output: %s", strerror(stdout_error));
    return EXIT_FAILED;
}

bool stdout_has_no_reader(void) { return has_no_reader; }
