/* SPDX-License-Identifier: MIT */
/* The first error of stdout is remembered with its reason, which is gone by the end. */
#include "output.h"
#include "options.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int stdout_error;

static void flush_stdout(void)
{
    if (fflush(stdout) != 0 && !stdout_error) stdout_error = errno;
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

void complain(const char *format, ...)
{
    va_list args;
    flush_stdout();
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
    if (!stdout_error && ferror(stdout)) stdout_error = EIO;
    if (!stdout_error || status != EXIT_DONE) return status;                            /* one error, one line */
    if (stdout_error != EPIPE) complain("standard output: %s", strerror(stdout_error)); /* head has enough */
    return EXIT_FAILED;
}
