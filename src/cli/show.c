/* SPDX-License-Identifier: MIT */
/*
 * Pictures in a window (window.h) where there is a display, else in the terminal, by what it can show: Kitty's graphics
 * protocol (a PNG in base64), Sixel (DEC STD 070; six rows of dots a line, colours by number), or half blocks, which
 * every terminal with colours of 24 bits shows: a letter is two pixels, one above the other.
 *
 * Which it is is told by the environment, else by the terminal, which is asked for its attributes (DA1): all terminals
 * answer that, so the answer also ends the wait for one to Kitty's question. Nobody waits longer than WAIT_MS.
 */
#include "show.h"
#include "options.h"
#include "output.h"
#include "window.h"

#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

enum { WAIT_MS = 300, CELL_WIDTH = 10, CELL_HEIGHT = 20, COLUMNS = 80 };

/* ---- text that grows ----------------------------------------------------------------------------- */

typedef struct text {
    char *bytes;
    size_t n, room;
    bool failed;
} text;

static void append(text *t, const char *bytes, size_t n)
{
    if (t->failed) return;
    if (t->room - t->n <= n) {
        const size_t room = (t->room + n) * 2 + 64;
        char *more = realloc(t->bytes, room);
        t->failed = !more;
        if (!more) return;
        t->bytes = more;
        t->room = room;
    }
    memcpy(t->bytes + t->n, bytes, n);
    t->n += n;
    t->bytes[t->n] = '\0';
}

static void put(text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void put(text *t, const char *format, ...)
{
    char buf[128];
    va_list args;
    va_start(args, format);
    const int n = vsnprintf(buf, sizeof buf, format, args);
    va_end(args);
    append(t, buf, n < (int)sizeof buf ? (size_t)n : sizeof buf - 1);
}

/* ---- what the terminal can ----------------------------------------------------------------------- */

static bool is_set(const char *name, const char *part)
{
    const char *value = getenv(name);
    return value && *value && (!part || strstr(value, part));
}

static long now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000L + t.tv_nsec / 1000000;
}

/* Has the answer to DA1 come, "ESC [ ? 62 ; 4 c"? Its beginning, else NULL. */
static const char *attributes_in(const char *answer)
{
    const char *at = strstr(answer, "\033[?");
    return at && at[3 + strspn(at + 3, "0123456789;")] == 'c' ? at + 3 : NULL;
}

/* Is 4, Sixel, among "62;4;22c"? */
static bool has_sixel(const char *attributes)
{
    for (const char *at = attributes; *at != 'c'; at += *at == ';') {
        const size_t n = strspn(at, "0123456789");
        if (n == 1 && *at == '4') return true;
        at += n;
    }
    return false;
}

/* Asks, and waits for the last answer at most WAIT_MS. */
static show_mode ask(int tty)
{
    static const char question[] = "\033_Gi=31,s=1,v=1,a=q,t=d,f=24;AAAA\033\\\033[c";
    char answer[512] = "";
    size_t n = 0;
    if (write(tty, question, sizeof question - 1) < 0) return SHOW_BLOCKS;
    for (long end = now_ms() + WAIT_MS, left; (left = end - now_ms()) > 0 && n < sizeof answer - 1;) {
        struct pollfd p = { .fd = tty, .events = POLLIN };
        if (poll(&p, 1, (int)left) <= 0) break;
        const ssize_t got = read(tty, answer + n, sizeof answer - 1 - n);
        if (got <= 0) break;
        n += (size_t)got;
        answer[n] = '\0';
        const char *attributes = attributes_in(answer);
        if (!attributes) continue;
        if (strstr(answer, "_Gi=31;OK")) return SHOW_KITTY;
        return has_sixel(attributes) ? SHOW_SIXEL : SHOW_BLOCKS;
    }
    return SHOW_BLOCKS;
}

/* A job in the background would be stopped where it changed the terminal's settings. */
static show_mode ask_terminal(void)
{
    const int tty = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC);
    struct termios before, raw;
    show_mode mode = SHOW_BLOCKS;
    if (tty < 0) return mode;
    if (tcgetpgrp(tty) == getpgrp() && tcgetattr(tty, &before) == 0) {
        raw = before;
        raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
        raw.c_cc[VMIN] = 0;
        raw.c_cc[VTIME] = 0;
        if (tcsetattr(tty, TCSANOW, &raw) == 0) {
            mode = ask(tty);
            tcsetattr(tty, TCSANOW, &before);
        }
    }
    close(tty);
    return mode;
}

static show_mode find_mode(void)
{
    if (is_set("TERM", "dumb")) return SHOW_BLOCKS;
    if (!is_set("TMUX", NULL) && !is_set("STY", NULL)) { /* which pass no pictures on */
        if (is_set("KITTY_WINDOW_ID", NULL) || is_set("TERM", "kitty") || is_set("TERM", "ghostty") ||
            is_set("TERM_PROGRAM", "WezTerm"))
            return SHOW_KITTY;
        if (is_set("TERM", "mlterm") || is_set("TERM", "foot")) return SHOW_SIXEL;
    }
    return ask_terminal();
}

static void measure(screen *s)
{
    struct winsize w = { 0 };
    const char *columns = getenv("COLUMNS");
    *s = (screen){ .mode = s->mode, .columns = COLUMNS, .cell_width = CELL_WIDTH, .cell_height = CELL_HEIGHT };
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) == 0 && w.ws_col > 0 && w.ws_row > 0) {
        s->columns = w.ws_col;
        s->rows = w.ws_row > 1 ? w.ws_row - 1 : 1; /* and what was typed */
        if (w.ws_xpixel >= w.ws_col && w.ws_ypixel >= w.ws_row) {
            s->cell_width = w.ws_xpixel / w.ws_col;
            s->cell_height = w.ws_ypixel / w.ws_row;
        }
    } else if (columns && atoi(columns) > 0) {
        s->columns = atoi(columns) < 10000 ? atoi(columns) : 10000;
    }
}

int show_choose(const char *word, screen *s)
{
    static const char *const words[] = { "auto", "kitty", "sixel", "blocks", "window" };
    char why[200];
    for (int k = 0; k < 5; k++)
        if (strcmp(word, words[k]) == 0) s->mode = (show_mode)k;
    if (s->mode == SHOW_WINDOW && !window_is_there(why, sizeof why)) {
        complain("--show=window: %s", why);
        return EXIT_FAILED;
    }
    if (s->mode == SHOW_NOTHING && isatty(STDOUT_FILENO) && window_is_there(why, sizeof why)) s->mode = SHOW_WINDOW;
    if (s->mode == SHOW_NOTHING) {
        if (!isatty(STDOUT_FILENO)) {
            complain(
                "--show: standard output is no terminal; --show=blocks, sixel or kitty writes to it what one shows");
            return EXIT_FAILED;
        }
        s->mode = find_mode();
    }
    measure(s);
    return EXIT_DONE;
}

/* ---- the picture in its size --------------------------------------------------------------------- */

static imgpar_array *call(imgpar_array *takes, const char *op, const char *given)
{
    imgpar_array *result = imgpar_op(NULL, op, &takes, 1, given);
    imgpar_array_release(takes);
    return result;
}

/* Of 8 bits, within so many pixels; height 0: any. */
static imgpar_array *fitted(imgpar_array *a, int width, int height)
{
    char size[80];
    snprintf(size, sizeof size, "width=%d, height=%d", width, height > 0 ? height : 1000000);
    return call(call(imgpar_array_retain(a), "depth", "to=8"), "fit", size);
}

/* Over gray squares, as far as it is transparent. */
static void flatten(const unsigned char *in, int64_t channels, pixels *out)
{
    enum { SQUARE = 8, DARK = 96, LIGHT = 144 };
    for (int64_t k = 0; k < out->width * out->height; k++) {
        const unsigned char *p = in + k * channels;
        const int64_t square = (k % out->width / SQUARE + k / out->width / SQUARE) % 2;
        const int alpha = channels % 2 ? 255 : p[channels - 1], under = square ? LIGHT : DARK;
        for (int c = 0; c < 3; c++)
            out->rgb[k * 3 + c] =
                (unsigned char)((p[channels < 3 ? 0 : c] * alpha + under * (255 - alpha) + 127) / 255);
    }
}

bool show_pixels(imgpar_array *a, pixels *out, const imgpar_options *of_run)
{
    imgpar_info info = { .struct_size = sizeof info };
    if (imgpar_array_info(a, &info)) return false;
    unsigned char *data = malloc(info.size_bytes + 1);
    *out = (pixels){ malloc((size_t)(info.width * info.height * 3) + 1), info.width, info.height };
    const bool is_read = data && out->rgb && !imgpar_array_read_with(a, data, info.size_bytes, of_run);
    if (is_read) flatten(data, info.channels, out);
    free(data);
    return is_read;
}

/* ---- Kitty --------------------------------------------------------------------------------------- */

static void put_base64(text *t, const unsigned char *in, size_t n)
{
    for (size_t k = 0; k < n; k += 3) {
        char letters[4];
        base64_letters(in + k, n - k, letters);
        append(t, letters, sizeof letters);
    }
}

/* In chunks of 4096 letters, as the protocol wants; q=2: the terminal does not answer. */
static bool put_kitty(text *t, imgpar_array *a, const imgpar_options *of_run)
{
    enum { CHUNK = 4096 / 4 * 3 };
    imgpar_options as_png = *of_run;
    void *png = NULL;
    size_t n = 0;
    as_png.format = "png";
    if (imgpar_encode(a, &as_png, &png, &n)) return false;
    for (size_t at = 0; at < n; at += CHUNK) {
        const size_t size = n - at < CHUNK ? n - at : CHUNK;
        put(t, at == 0 ? "\033_Ga=T,f=100,q=2,m=%d;" : "\033_Gm=%d;", at + size < n);
        put_base64(t, (const unsigned char *)png + at, size);
        put(t, "\033\\");
    }
    imgpar_free(png);
    return true;
}

/* ---- Sixel --------------------------------------------------------------------------------------- */

enum { REDS = 6, GREENS = 8, BLUES = 5, N_COLOURS = REDS * GREENS * BLUES, BAND = 6 };

/* Ordered dithering: the threshold of a pixel of 4 x 4, from 0 to 15 (Bayer 1973). */
static int threshold(int64_t x, int64_t y)
{
    static const int t[4][4] = { { 0, 8, 2, 10 }, { 12, 4, 14, 6 }, { 3, 11, 1, 9 }, { 15, 7, 13, 5 } };
    return t[y % 4][x % 4];
}

static int level(int v, int n, int over) { return (v * (n - 1) * 32 + over * 255 * 2 + 255) / (255 * 32); }

static int colour_of(const unsigned char *rgb, int64_t x, int64_t y)
{
    const int over = threshold(x, y);
    return (level(rgb[0], REDS, over) * GREENS + level(rgb[1], GREENS, over)) * BLUES + level(rgb[2], BLUES, over);
}

static void put_run(text *t, char sixel, int64_t n)
{
    if (n > 3)
        put(t, "!%lld%c", (long long)n, sixel);
    else
        for (; n > 0; n--)
            append(t, &sixel, 1);
}

/* Six rows, once for each colour that they have. */
static bool put_band(text *t, const pixels *p, int64_t y0)
{
    const int64_t rows = p->height - y0 < BAND ? p->height - y0 : BAND;
    short *colours = malloc((size_t)(p->width * rows) * sizeof *colours);
    bool is_used[N_COLOURS] = { false }, is_first = true;
    if (!colours) return false;
    for (int64_t k = 0; k < p->width * rows; k++) {
        const int64_t x = k % p->width, y = y0 + k / p->width;
        colours[k] = (short)colour_of(&p->rgb[(y * p->width + x) * 3], x, y);
        is_used[colours[k]] = true;
    }
    for (int c = 0; c < N_COLOURS; c++) {
        if (!is_used[c]) continue;
        char before = 0;
        int64_t n = 0;
        put(t, is_first ? "#%d" : "$#%d", c);
        is_first = false;
        for (int64_t x = 0; x < p->width; x++) {
            int bits = 0;
            for (int64_t y = 0; y < rows; y++)
                bits |= (colours[y * p->width + x] == c) << y;
            const char sixel = (char)(63 + bits);
            if (n > 0 && sixel != before) {
                put_run(t, before, n);
                n = 0;
            }
            before = sixel;
            n++;
        }
        if (before != 63) put_run(t, before, n); /* what is empty at the end need not be said */
    }
    free(colours);
    return true;
}

static bool put_sixel(text *t, const pixels *p)
{
    put(t, "\033P0;1;0q\"1;1;%lld;%lld", (long long)p->width, (long long)p->height);
    for (int c = 0; c < N_COLOURS; c++) /* in hundredths */
        put(t, "#%d;2;%d;%d;%d", c, (c / BLUES / GREENS * 200 + REDS - 1) / (2 * (REDS - 1)),
            (c / BLUES % GREENS * 200 + GREENS - 1) / (2 * (GREENS - 1)),
            (c % BLUES * 200 + BLUES - 1) / (2 * (BLUES - 1)));
    for (int64_t y = 0; y < p->height; y += BAND) {
        if (!put_band(t, p, y)) return false;
        if (y + BAND < p->height) put(t, "-");
    }
    put(t, "\033\\");
    return true;
}

/* ---- half blocks --------------------------------------------------------------------------------- */

/* A letter's upper half is its foreground, U+2580; its lower half the background, which below the last row is the
 * terminal's own. */
static void put_blocks(text *t, const pixels *p)
{
    for (int64_t y = 0; y < p->height; y += 2) {
        const unsigned char *upper = NULL, *lower = NULL; /* what was said last */
        for (int64_t x = 0; x < p->width; x++) {
            const unsigned char *a = &p->rgb[(y * p->width + x) * 3], *b = y + 1 < p->height ? a + p->width * 3 : NULL;
            if (!upper || memcmp(upper, a, 3) != 0) put(t, "\033[38;2;%d;%d;%dm", a[0], a[1], a[2]);
            if (b && (!lower || memcmp(lower, b, 3) != 0)) put(t, "\033[48;2;%d;%d;%dm", b[0], b[1], b[2]);
            put(t, "\xe2\x96\x80");
            upper = a;
            lower = b;
        }
        put(t, y + 2 < p->height ? "\033[0m\n" : "\033[0m");
    }
}

static bool put_picture(text *t, imgpar_array *a, const screen *s, const imgpar_options *of_run)
{
    pixels p = { 0 };
    if (s->mode == SHOW_KITTY) return put_kitty(t, a, of_run);
    bool is_done = show_pixels(a, &p, of_run);
    if (is_done && s->mode == SHOW_SIXEL) is_done = put_sixel(t, &p);
    if (is_done && s->mode == SHOW_BLOCKS) put_blocks(t, &p);
    free(p.rgb);
    return is_done;
}

char *show_picture(imgpar_array *a, const screen *s, const imgpar_options *of_run, char *why, size_t size)
{
    const bool has_blocks = s->mode == SHOW_BLOCKS;
    text t = { 0 };
    imgpar_array *shown =
        fitted(a, s->columns * (has_blocks ? 1 : s->cell_width), s->rows * (has_blocks ? 2 : s->cell_height));
    const bool is_done = !imgpar_array_status(shown) && put_picture(&t, shown, s, of_run) && !t.failed;
    if (!is_done) {
        snprintf(why, size, "--show: %s", imgpar_array_status(shown) ? imgpar_array_message(shown) : "out of memory");
        free(t.bytes);
        t.bytes = NULL;
    }
    imgpar_array_release(shown);
    return t.bytes;
}
