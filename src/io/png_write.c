/* SPDX-License-Identifier: MIT */
/*
 * Pixels to PNG. libpng writes what stands before the pixels, and every chunk; the pixels are filtered and deflated
 * here, in pieces of whole rows, by all processors (pieces.h). What a piece wants of the rows before it is filtered
 * once more, so nobody waits for the others, and the bytes do not depend on how many threads there are. See png.c, Note
 * [Long jumps].
 *
 * Note [Filters]
 * libpng filters each row by what makes the least sum of magnitudes. That takes no notice of what repeats: waves and
 * gradients, filtered by "up" all along, take half the bytes or nine tenths, because one row's code is the next one's,
 * and libdeflate finds that at its quickest level. So each piece is filtered in that usual way, or by one filter in all
 * its rows if the quick code of a sample is then smaller by a 64th. The sample comes from two places in the piece: of a
 * photograph the top is seldom like the rest. (The entropy of rows chooses like the sums do; counting pairs of bytes
 * finds more, but takes five times as long as the sums and no less code than the best single filter.)
 */
#include "io/deflate.h"
#include "io/pieces.h"
#include "io/png_filter.h"
#include "io/png_metadata.h"

#include "base/alloc.h"

#include <libdeflate.h>
#include <png.h>
#include <setjmp.h>
#include <string.h>
#include <zlib.h>

enum { PIECE_BYTES = 512 << 10, MOST_PIECE_BYTES = 1 << 20, ENOUGH_PIECES = 32 };
enum { DEFAULT_LEVEL = 6, HEADER_BYTES = 2, SUM_BYTES = 4 /* of a zlib stream (RFC 1950) */ };

/* PNG's filters, and the usual choice among them for each row. */
enum { N_TRIALS = IP_PNG_N_FILTERS + 1 };
enum { SAMPLE_PLACES = 2, FILTER_GAIN = 64 /* the part that one filter for all rows must save */ };

typedef struct writer {
    ip_picture picture;
    const ip_settings *settings;
    const ip_poll *poll;
    ip_sink *out;
    ip_error *err;
    png_structp png;
    png_infop info;
    size_t row_bytes, pixel_bytes;
    size_t piece_rows, n_pieces, rows_before; /* rows_before: that a piece may repeat, but for the first ones */
    size_t sample_bytes, sample_rows;         /* of so many bytes each */
    int level;
    uint32_t sum; /* of the pieces so far */
    bool has_no_memory;
    jmp_buf jump;
} writer;

/* What a piece is made in. */
typedef struct slot {
    ip_deflater *deflater;
    /* code: room for the stream's header before it, its sum behind it */
    unsigned char *row[2], *scratch, *filtered, *code, *trial[N_TRIALS];
    size_t n_code; /* 0: there was no memory, or no row */
    bool lacks_rows;
    uint32_t sum;
} slot;

/* How a piece is filtered, and what its beginning becomes by that. */
typedef struct choice {
    int filter;
    ip_deflate_sample sample;
} choice;

static void *on_malloc(png_structp png, png_alloc_size_t n)
{
    void *p = ip_alloc(n);
    if (!p) ((writer *)png_get_mem_ptr(png))->has_no_memory = true;
    return p;
}

static void on_free(png_structp png, void *p)
{
    (void)png;
    ip_free(p);
}

static void on_error(png_structp png, const char *text)
{
    writer *w = png_get_error_ptr(png);
    if (w->has_no_memory || w->out->text.failed) ip_fail_memory(w->err, "encoding png");
    ip_fail(w->err, IMGPAR_E_INTERNAL, "png: %s", text);
    longjmp(w->jump, 1);
}

static void on_warning(png_structp png, const char *text)
{
    (void)png;
    (void)text; /* there is nobody to tell, and nothing libpng warns of when writing is set here */
}

static void on_write(png_structp png, png_bytep bytes, size_t n)
{
    writer *w = png_get_io_ptr(png);
    ip_str_append_n(&w->out->text, (const char *)bytes, n);
    if (w->out->text.failed) png_error(png, "out of memory");
}

static void on_flush(png_structp png) { (void)png; }

static bool guarded(writer *w, void (*step)(writer *w))
{
    if (setjmp(w->jump)) return false;
    step(w);
    return true;
}

static void create(writer *w)
{
    w->png = png_create_write_struct_2(PNG_LIBPNG_VER_STRING, w, on_error, on_warning, w, on_malloc, on_free);
    if (w->png) w->info = png_create_info_struct(w->png);
}

/* The chunk of exact.c behind IHDR, which starts the picture, so its sum is at a known place. */
static void write_exact(writer *w, size_t start)
{
    unsigned char data[IP_EXACT_BYTES];
    const unsigned char *sum = (const unsigned char *)ip_str_text(&w->out->text) + start + IP_PNG_IHDR_SUM_AT;
    if (ip_exact_pack(w->picture.source, sum, data)) png_write_chunk(w->png, ip_exact_chunk, data, sizeof data);
}

static void write_header(writer *w)
{
    static const int color_types[] = { 0, PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_GRAY_ALPHA, PNG_COLOR_TYPE_RGB,
                                       PNG_COLOR_TYPE_RGB_ALPHA };
    const ip_picture *p = &w->picture;
    const size_t start = w->out->text.length;
    png_structp png = w->png;
    png_set_write_fn(png, w, on_write, on_flush);
    png_set_IHDR(png, w->info, (png_uint_32)p->width, (png_uint_32)p->height, p->bits, color_types[p->channels],
                 PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_write_info(png, w->info);
    if (p->source->is_exact) write_exact(w, start);
    if (ip_png_append_metadata(&w->out->text, p, w->settings->value[IP_SET_METADATA] != 0, w->err)) longjmp(w->jump, 1);
}

/* ---- pieces ----------------------------------------------------------------------------------------------------- */

static size_t rows_of(const writer *w, size_t piece)
{
    const size_t left = w->picture.height - piece * w->piece_rows;
    return left < w->piece_rows ? left : w->piece_rows;
}

static void slot_free(void *made_in)
{
    slot *s = made_in;
    ip_deflater_free(s->deflater);
    ip_free(s->row[0]);
    ip_free(s->row[1]);
    ip_free(s->scratch);
    ip_free(s->filtered);
    ip_free(s->code);
    for (int k = 0; k < N_TRIALS; k++)
        ip_free(s->trial[k]);
    ip_free(s);
}

static void *slot_new(void *user)
{
    const writer *w = user;
    const size_t n = w->row_bytes, n_piece = w->piece_rows * (n + 1);
    slot *s = ip_zalloc(sizeof *s);
    if (!s) return NULL;
    s->deflater = ip_deflater_new(w->level, n_piece);
    s->row[0] = ip_alloc(n);
    s->row[1] = ip_alloc(n);
    s->scratch = ip_alloc(n);
    s->filtered = ip_alloc(n_piece + w->rows_before * (n + 1));
    if (s->deflater) s->code = ip_alloc(HEADER_BYTES + ip_deflater_bound(s->deflater, n_piece) + SUM_BYTES);
    bool has_trials = true;
    for (int k = 0; k < N_TRIALS; k++)
        has_trials = (s->trial[k] = ip_alloc(w->sample_rows * (w->sample_bytes + 1))) != NULL && has_trials;
    if (s->row[0] && s->row[1] && s->scratch && s->filtered && s->code && has_trials) return s;
    slot_free(s);
    return NULL;
}

/* The bytes of row y as PNG has them: 16-bit samples begin with the high byte. */
static bool read_row(const writer *w, size_t y, unsigned char *row)
{
    if (!ip_picture_row(&w->picture, y, row)) return false;
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    for (size_t k = 0; w->picture.bits == 16 && k < w->row_bytes; k += 2) {
        const unsigned char low = row[k];
        row[k] = row[k + 1];
        row[k + 1] = low;
    }
#endif
    return true;
}

/* Row first + k of those from `first` on, taken in turn, and what is above it. False: there is none. */
static bool next_row(const writer *w, slot *s, size_t first, size_t k, ip_png_row *out)
{
    unsigned char *row = s->row[k % 2], *above = s->row[(k + 1) % 2];
    if (k == 0 && first == 0) memset(above, 0, w->row_bytes);
    *out = (ip_png_row){ .row = row, .above = above, .n = w->row_bytes, .pixel = w->pixel_bytes };
    return (k > 0 || first == 0 || read_row(w, first - 1, above)) && read_row(w, first + k, row);
}

static bool filter_rows(const writer *w, slot *s, int filter, size_t first, size_t n, unsigned char *to)
{
    ip_png_row row;
    bool has_rows = true;
    for (size_t k = 0; k < n && (has_rows = next_row(w, s, first, k, &row)); k++)
        ip_png_filter(filter, &row, to + k * (w->row_bytes + 1), s->scratch);
    return has_rows;
}

/* Makes all trials of n rows from `first` on, behind the n_before rows that they hold. */
static bool try_rows(const writer *w, slot *s, size_t first, size_t n, size_t n_before)
{
    ip_png_row row;
    for (size_t k = 0; k < n; k++) {
        if (!next_row(w, s, first, k, &row)) return false;
        row.n = w->sample_bytes;
        for (int filter = 0; filter < N_TRIALS; filter++)
            ip_png_filter(filter, &row, s->trial[filter] + (n_before + k) * (row.n + 1), s->scratch);
    }
    return true;
}

/* Of rows here and there in a piece, or of what they begin with; how many they are, 0: there is one missing. */
static size_t try_piece(const writer *w, slot *s, size_t piece)
{
    const size_t first = piece * w->piece_rows, n = rows_of(w, piece);
    if (n <= w->sample_rows) return try_rows(w, s, first, n, 0) ? n : 0;
    const size_t n_places = w->sample_rows < SAMPLE_PLACES ? w->sample_rows : SAMPLE_PLACES;
    const size_t n_each = w->sample_rows / n_places;
    for (size_t k = 0; k < n_places; k++)
        if (!try_rows(w, s, first + (n - n_each) * (2 * k + 1) / (2 * n_places), n_each, k * n_each)) return 0;
    return n_each * n_places;
}

/* Note [Filters] */
static bool choose_filter(const writer *w, slot *s, size_t piece, choice *out)
{
    const size_t n = try_piece(w, s, piece) * (w->sample_bytes + 1);
    if (n == 0) return false;
    const unsigned char *usual = s->trial[IP_PNG_LEAST_SUM];
    const size_t n_usual = ip_deflater_quick_size(s->deflater, usual, n);
    size_t least = n_usual - n_usual / FILTER_GAIN;
    *out = (choice){ IP_PNG_LEAST_SUM, { usual, usual, n, n_usual, n_usual } };
    for (int filter = 0; filter < IP_PNG_N_FILTERS; filter++) {
        const size_t n_code = ip_deflater_quick_size(s->deflater, s->trial[filter], n);
        if (n_code >= least) continue;
        *out = (choice){ filter, { s->trial[filter], usual, n, least = n_code, n_usual } };
    }
    return true;
}

/* Filters what stands before a piece as the piece before does, which is tried where the piece itself was: of that the
 * sizes are left. */
static bool filter_before(const writer *w, slot *s, size_t piece, ip_deflate_sample *sample)
{
    choice before;
    sample->bytes = sample->other = NULL;
    return choose_filter(w, s, piece - 1, &before) &&
           filter_rows(w, s, before.filter, piece * w->piece_rows - w->rows_before, w->rows_before, s->filtered);
}

/* False: there are not all rows. */
static bool deflate_rows(const writer *w, slot *s, size_t piece)
{
    const size_t stride = w->row_bytes + 1, n_rows = rows_of(w, piece), n_before = w->rows_before * stride;
    unsigned char *bytes = s->filtered + n_before;
    choice chosen = { .filter = IP_PNG_LEAST_SUM };
    if (w->level > 0 && !choose_filter(w, s, piece, &chosen)) return false;
    const bool looks_back =
        w->level > 0 && piece > 0 && ip_deflater_looks_back(&chosen.sample, n_rows * stride) && n_before > 0;
    if (looks_back && !filter_before(w, s, piece, &chosen.sample)) return false;
    if (!filter_rows(w, s, chosen.filter, piece * w->piece_rows, n_rows, bytes)) return false;
    s->sum = libdeflate_adler32(1, bytes, n_rows * stride);
    const size_t window = n_before < IP_DEFLATE_WINDOW ? n_before : IP_DEFLATE_WINDOW;
    const ip_deflate_input in = { .bytes = bytes,
                                  .n = n_rows * stride,
                                  .n_before = looks_back ? window : 0,
                                  .is_last = piece + 1 == w->n_pieces,
                                  .sample = &chosen.sample };
    s->n_code = ip_deflate_piece(s->deflater, &in, s->code + HEADER_BYTES);
    return true;
}

static void make_piece(void *user, size_t piece, void *made_in)
{
    slot *s = made_in;
    s->n_code = 0;
    s->lacks_rows = !deflate_rows(user, s, piece);
}

/* A chunk IDAT a piece. The stream's header tells its window and, for the curious, how much effort was made. */
static void write_piece(writer *w, size_t piece, slot *s)
{
    static const unsigned char headers[4][HEADER_BYTES] = {
        { 0x78, 0x01 }, { 0x78, 0x5e }, { 0x78, 0x9c }, { 0x78, 0xda }
    };
    unsigned char *begin = s->code + HEADER_BYTES, *end = begin + s->n_code;
    if (piece == 0) {
        begin = s->code;
        memcpy(begin, headers[w->level < 2 ? 0 : w->level < 6 ? 1 : w->level == 6 ? 2 : 3], HEADER_BYTES);
    }
    if (piece + 1 == w->n_pieces)
        for (int shift = 24; shift >= 0; shift -= 8)
            *end++ = (unsigned char)(w->sum >> shift);
    png_write_chunk(w->png, (png_const_bytep) "IDAT", begin, (size_t)(end - begin));
}

/* That a piece looks at before its own: to know by which filter the piece before was made, its first rows, too. */
static size_t rows_back(const writer *w) { return w->rows_before > 0 ? w->piece_rows + 1 : 1; }

static imgpar_status take_piece(void *user, size_t piece, void *made_in, ip_error *err)
{
    writer *w = user;
    slot *s = made_in;
    const size_t first = piece * w->piece_rows, n_rows = rows_of(w, piece);
    if (s->lacks_rows) return ip_picture_fail(&w->picture, err);
    if (s->n_code == 0) return ip_fail_memory(err, "encoding png");
    for (size_t y = first; y < first + n_rows; y++)
        if (ip_picture_poll(&w->picture, w->poll, y, err)) return err->status;
    w->sum = (uint32_t)adler32_combine(w->sum, s->sum, (z_off_t)(n_rows * (w->row_bytes + 1)));
    if (setjmp(w->jump)) return err->status;
    write_piece(w, piece, s);
    const size_t end = first + n_rows, n_kept = rows_back(w);
    ip_picture_done(&w->picture, end > n_kept ? end - n_kept : 0);
    return ip_sink_settle(w->out, err);
}

/* Samples of large pieces take a smaller part of the time, but few pieces leave processors without any at the end. */
static size_t piece_bytes(size_t n)
{
    const size_t bytes = n / ENOUGH_PIECES;
    return bytes < PIECE_BYTES ? PIECE_BYTES : bytes < MOST_PIECE_BYTES ? bytes : MOST_PIECE_BYTES;
}

/* Where the picture is cut. */
static void cut(writer *w)
{
    const ip_picture *p = &w->picture;
    w->row_bytes = ip_picture_row_bytes(p);
    w->pixel_bytes = p->channels * (size_t)p->bits / 8;
    w->piece_rows = piece_bytes(p->height * (w->row_bytes + 1)) / (w->row_bytes + 1) + 1;
    if (w->piece_rows > p->height) w->piece_rows = p->height;
    w->sample_bytes = w->row_bytes < IP_DEFLATE_SAMPLE ? w->row_bytes : IP_DEFLATE_SAMPLE - 1;
    w->sample_rows = IP_DEFLATE_SAMPLE / (w->sample_bytes + 1);
    if (w->sample_rows > w->piece_rows) w->sample_rows = w->piece_rows;
    w->n_pieces = (p->height + w->piece_rows - 1) / w->piece_rows;
    w->rows_before =
        w->n_pieces > 1 && w->row_bytes < IP_DEFLATE_WINDOW ? IP_DEFLATE_WINDOW / (w->row_bytes + 1) + 1 : 0;
}

/* Of all pieces that are begun, so that their threads end whether or not more is taken. */
size_t ip_png_rows_held(const ip_picture *picture)
{
    writer w = { .picture = *picture };
    cut(&w);
    return ip_pieces_held(w.n_pieces) * w.piece_rows + rows_back(&w);
}

static imgpar_status write_pixels(writer *w)
{
    const int level = w->settings->value[IP_SET_LEVEL];
    w->level = level < 0 ? DEFAULT_LEVEL : level;
    cut(w);
    w->sum = 1; /* of nothing */
    const ip_pieces pieces = { .n = w->n_pieces,
                               .user = w,
                               .slot_new = slot_new,
                               .slot_free = slot_free,
                               .make = make_piece,
                               .take = take_piece };
    return ip_pieces_run(&pieces, "encoding png", w->err);
}

/* Not png_write_end(), which knows only of pixels that it wrote itself. */
static void write_end(writer *w) { png_write_chunk(w->png, (png_const_bytep) "IEND", NULL, 0); }

imgpar_status ip_png_write(const ip_pixels *pixels, const ip_settings *settings, const ip_poll *poll, ip_sink *out,
                           ip_error *err)
{
    ip_error local = { 0 };
    writer w = { .settings = settings, .poll = poll, .out = out, .err = &local };
    if (ip_picture_of(pixels, IP_FORMAT_PNG, settings->value[IP_SET_BITS], &w.picture, &local)) goto out;
    ip_picture_set_range(&w.picture, settings);
    if (pixels->is_exact) { /* samples are the numbers; the chunk tells white */
        w.picture.range = 0;
        w.picture.bits = pixels->dtype == IMGPAR_U16 ? 16 : 8;
    }
    if (!guarded(&w, create) || !w.png || !w.info) {
        ip_fail_memory(&local, "encoding png");
        goto out;
    }
    if (guarded(&w, write_header) && write_pixels(&w) == IMGPAR_OK) guarded(&w, write_end);
out:
    png_destroy_write_struct(&w.png, &w.info);
    return local.status ? ip_fail(err, local.status, "%s", local.message) : IMGPAR_OK;
}
