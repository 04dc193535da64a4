/* SPDX-License-Identifier: MIT */
#include "frames.h"

#include "signals.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_MAX_BYTES = 400, SIDE_MAX = 1 << 24, PIECE_BYTES = 1 << 22, TICK_MS = 50 };

static bool fail(frames *f, const char *format, ...) __attribute__((format(printf, 2, 3)));
static bool fail(frames *f, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(f->why, sizeof f->why, format, args);
    va_end(args);
    return false;
}

/* ---- bytes, on the thread --------------------------------------------------------------------------- */

/* The frame that is read. */
static frame_bytes *read_slot(frames *f) { return &f->slots[f->n_read % FRAMES_SLOTS]; }

static unsigned long long number_of(const frames *f) { return (unsigned long long)f->n_read + 1; }

static bool fail_reading(frames *f)
{
    const int why = ferror(f->file) ? errno : 0;
    if (why) return fail(f, "%s: %s", f->name, strerror(why));
    return fail(f, "%s: frame %llu ends early", f->name, number_of(f));
}

static bool has_room(frames *f, size_t n)
{
    frame_bytes *s = read_slot(f);
    if (s->n + n <= s->capacity) return true;
    const size_t capacity = s->capacity + n > 2 * s->capacity ? s->capacity + n : 2 * s->capacity;
    unsigned char *bytes = realloc(s->bytes, capacity);
    if (!bytes) return fail(f, "out of memory");
    s->bytes = bytes;
    s->capacity = capacity;
    return true;
}

static bool read_bytes(frames *f, uint64_t n)
{
    frame_bytes *s = read_slot(f);
    while (n > 0) {
        const size_t piece = n < PIECE_BYTES ? (size_t)n : PIECE_BYTES;
        if (!has_room(f, piece)) return false;
        if (fread(s->bytes + s->n, 1, piece, f->file) < piece) return fail_reading(f);
        s->n += piece;
        n -= piece;
    }
    return true;
}

/* The next byte, which is the frame's, too; EOF: f->why tells. */
static int read_byte(frames *f)
{
    if (!has_room(f, 1)) return EOF;
    frame_bytes *s = read_slot(f);
    const int c = getc(f->file);
    if (c == EOF)
        fail_reading(f);
    else
        s->bytes[s->n++] = (unsigned char)c;
    return c;
}

/* ---- PNM ------------------------------------------------------------------------------------------ */

/* The rest of a comment's line. Its newline, or EOF. */
static int read_comment(frames *f)
{
    int c = read_byte(f);
    while (c != EOF && c != '\n')
        c = read_byte(f);
    return c;
}

static bool fail_header(frames *f, const char *what)
{
    return fail(f, "%s: frame %llu: its header %s", f->name, number_of(f), what);
}

/* A number of a header, behind blanks and comments, with the one byte, or comment, that ends it. */
static bool read_number(frames *f, uint64_t *out)
{
    int c = read_byte(f);
    while (c != EOF && (isspace(c) || c == '#')) {
        if (c == '#' && read_comment(f) == EOF) return false;
        c = read_byte(f);
    }
    if (c == EOF) return false;
    if (!isdigit(c)) return fail_header(f, "has no number where one is expected");
    for (*out = 0; c != EOF && isdigit(c); c = read_byte(f)) {
        *out = *out * 10 + (uint64_t)(c - '0');
        if (*out > SIDE_MAX) return fail_header(f, "has a number that is too large");
    }
    return (c == '#' ? read_comment(f) : c) != EOF;
}

/* The samples of a plain picture: numbers between blanks, of P1 digits. */
static bool read_plain(frames *f, char kind, uint64_t n)
{
    bool in_number = false;
    for (uint64_t k = 0; k < n;) {
        const int c = getc(f->file);
        const bool is_sample = c != EOF && isdigit(c);
        if (c == EOF && !(in_number && k + 1 == n)) return fail_reading(f);
        if (kind == '1' ? is_sample : in_number && !is_sample) k++;
        in_number = is_sample;
        if (c == EOF) break;
        if (!has_room(f, 1)) return false;
        frame_bytes *s = read_slot(f);
        s->bytes[s->n++] = (unsigned char)c;
        if (c == '#' && read_comment(f) == EOF) return false;
    }
    return true;
}

/* The lines of a PAM header; *bytes are those of the picture behind it. */
static bool read_pam_header(frames *f, uint64_t *bytes)
{
    uint64_t width = 0, height = 0, depth = 0, maximum = 0;
    const frame_bytes *s = read_slot(f);
    for (;;) {
        const size_t start = s->n;
        char line[LINE_MAX_BYTES], word[12];
        unsigned long long number;
        for (int c = 0; c != '\n';) {
            if ((c = read_byte(f)) == EOF) return false;
            if (s->n - start >= sizeof line) return fail_header(f, "has a line that is too long");
        }
        memcpy(line, s->bytes + start, s->n - start - 1);
        line[s->n - start - 1] = '\0';
        if (strncmp(line, "ENDHDR", 6) == 0) break;
        if (sscanf(line, "%11s %llu", word, &number) != 2 || number > SIDE_MAX) continue; /* the library tells */
        if (strcmp(word, "WIDTH") == 0) width = number;
        if (strcmp(word, "HEIGHT") == 0) height = number;
        if (strcmp(word, "DEPTH") == 0) depth = number;
        if (strcmp(word, "MAXVAL") == 0) maximum = number;
    }
    if (depth > 4) depth = 0; /* refused */
    *bytes = width * height * depth * (maximum > 255 ? 2 : 1);
    return true;
}

/* One picture, from its magic number to its last sample. */
static bool read_picture(frames *f)
{
    uint64_t width, height, maximum = 1, bytes;
    const int magic = read_byte(f), kind = magic == EOF ? EOF : read_byte(f);
    if (kind == EOF) return false;
    if (magic != 'P' || kind < '1' || kind > '7')
        return fail(f, "%s: frame %llu is no PNM or PAM picture", f->name, number_of(f));
    if (kind == '7') return read_pam_header(f, &bytes) && read_bytes(f, bytes);
    if (!read_number(f, &width) || !read_number(f, &height)) return false;
    if (kind != '1' && kind != '4' && !read_number(f, &maximum)) return false;
    const uint64_t samples = width * height * (kind == '3' || kind == '6' ? 3 : 1);
    if (kind <= '3') return read_plain(f, (char)kind, samples);
    return read_bytes(f, kind == '4' ? (width + 7) / 8 * height : samples * (maximum > 255 ? 2 : 1));
}

/* ---- Y4M ------------------------------------------------------------------------------------------ */

static bool read_planes(frames *f)
{
    char line[LINE_MAX_BYTES];
    if (!fgets(line, sizeof line, f->file)) return fail_reading(f);
    if (strncmp(line, "FRAME", 5) != 0 || !strchr(line, '\n'))
        return fail(f, "%s: frame %llu of Y4M does not begin with FRAME", f->name, number_of(f));
    return read_bytes(f, f->n_payload);
}

/* ---- the thread ------------------------------------------------------------------------------------- */

/* Blanks and comments may stand between pictures. */
static bool has_more(frames *f)
{
    int c = getc(f->file);
    bool in_comment = false;
    while (c != EOF && f->kind == FRAMES_PNM && f->n_read > 0 && (in_comment || isspace(c) || c == '#')) {
        in_comment = c != '\n' && (in_comment || c == '#');
        c = getc(f->file);
    }
    if (c != EOF) ungetc(c, f->file);
    return c != EOF;
}

static int read_frame(frames *f)
{
    read_slot(f)->n = 0;
    if (!has_more(f)) return ferror(f->file) ? (fail_reading(f), -1) : 0;
    return (f->kind == FRAMES_PNM ? read_picture(f) : read_planes(f)) ? 1 : -1;
}

/* Whoever sends may take any time, so that frames_end() cancels what is being read; nowhere else. */
static void *read_all(void *user)
{
    frames *f = user;
    int more = 1, unused;
    while (more > 0) {
        pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &unused);
        more = read_frame(f);
        pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &unused);
        pthread_mutex_lock(&f->io.lock);
        read_slot(f)->more = more;
        f->n_read++;
        pthread_cond_signal(&f->io.changed);
        while (!f->stops && f->n_read - f->n_taken > FRAMES_AHEAD)
            pthread_cond_wait(&f->io.changed, &f->io.lock);
        if (f->stops) more = 0;
        pthread_mutex_unlock(&f->io.lock);
    }
    return NULL;
}

bool frames_begin(frames *f, frames_kind kind, FILE *file, const char *name, uint64_t n_payload)
{
    *f = (frames){ .kind = kind, .file = file, .name = name, .n_payload = n_payload };
    if (io_thread_begin(&f->io, read_all, f)) return true;
    return fail(f, "%s: no thread can be started to read it", f->name);
}

int frames_next(frames *f, unsigned char **bytes, size_t *n)
{
    bool is_there;
    pthread_mutex_lock(&f->io.lock);
    while (!(is_there = f->n_read > f->n_taken) && !signals_poll(NULL, 0))
        threads_wait(&f->io.changed, &f->io.lock, TICK_MS);
    const frame_bytes *s = &f->slots[f->n_taken % FRAMES_SLOTS];
    if (is_there && s->more > 0) f->n_taken++;
    pthread_cond_signal(&f->io.changed);
    pthread_mutex_unlock(&f->io.lock);
    if (!is_there) return -1;
    *bytes = s->bytes;
    *n = s->n;
    return s->more;
}

void frames_end(frames *f)
{
    if (!f->io.is_there) return;
    pthread_mutex_lock(&f->io.lock);
    f->stops = true;
    pthread_cond_signal(&f->io.changed);
    pthread_mutex_unlock(&f->io.lock);
    io_thread_end(&f->io, true);
    for (int k = 0; k < FRAMES_SLOTS; k++)
        free(f->slots[k].bytes);
}
