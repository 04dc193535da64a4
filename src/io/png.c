/* SPDX-License-Identifier: MIT */
/*
 * PNG to pixels, with libpng; what is plain and whole only as far as the header (png_whole.h). Gray of 1, 2 and 4 bits
 * is widened, palettes become RGB, tRNS becomes alpha, 16 bits come in native order. Colour is left alone: what gamma
 * and profiles say is passed on (png_metadata.h), and converts nothing.
 *
 * Note [Chunks dropped]
 * Of the ancillary chunks only tRNS is given to libpng, and exact.c's is read by us where it stands behind IHDR; all
 * others are skipped unread. Their CRC is still checked: where it is wrong they are left out with a warning, but for
 * those that say what pixels are (says_pixels()), which are damage as critical chunks are. Text and profile chunks are
 * compressed, and 57 bytes of them can ask for a gigabyte; and many good pictures carry a profile that libpng calls an
 * error. Those that are kept are found by our own walk over the chunks (png_metadata.c), because they may follow the
 * picture data, while a header is wanted before that.
 *
 * Note [Long jumps]
 * libpng reports errors by calling us, and we may not return. Whatever must survive the jump is in struct reader, never
 * in a local variable of the function that calls setjmp().
 */
#include "io/exif.h"
#include "io/png_metadata.h"
#include "io/png_whole.h"

#include "base/alloc.h"

#include <png.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>

enum { MAX_CHUNK_BYTES = 64 << 20 };

typedef struct reader {
    const ip_source *s;
    ip_image *image;
    ip_error *err;
    png_structp png;
    png_infop info;
    bool is_in_pixels; /* the header is read: damage may be tolerated */
    bool has_no_memory;
    ip_feed feed; /* of what is read by rows */
    const unsigned char *fed;
    size_t n_fed;
    unsigned char *to; /* where the next row goes */
    size_t row_bytes;
    bool is_bool, is_odd, is_over; /* by rows: after damage that is tolerated there are no more */
    char last_warning[128];        /* what libpng said just before "Invalid IHDR data" */
    jmp_buf jump;
} reader;

bool ip_png_sniff(const unsigned char *bytes, size_t n)
{
    return n >= 4 && memcmp(bytes + 1, "PNG", 3) == 0; /* libpng explains what is wrong with the rest */
}

bool ip_png_is_followed(const unsigned char *bytes, size_t n)
{
    enum { SIGNATURE = 8, AROUND = 12 }; /* a chunk's length, name and checksum */
    bool has_ended = false;
    size_t at = SIGNATURE;
    if (n < SIGNATURE || !ip_png_sniff(bytes, n)) return false;
    while (!has_ended && n - at >= AROUND + SIGNATURE) {
        const unsigned char *chunk = bytes + at;
        const size_t length = (size_t)chunk[0] << 24 | (size_t)chunk[1] << 16 | (size_t)chunk[2] << 8 | chunk[3];
        if (length > n - at - AROUND) return false; /* cut off: the decoder says so */
        at += length + AROUND;
        has_ended = memcmp(chunk + 4, "IEND", 4) == 0;
    }
    return has_ended && ip_png_sniff(bytes + at, n - at);
}

static void *on_malloc(png_structp png, png_alloc_size_t n)
{
    void *p = ip_alloc(n);
    if (!p) ((reader *)png_get_mem_ptr(png))->has_no_memory = true;
    return p;
}

static void on_free(png_structp png, void *p)
{
    (void)png;
    ip_free(p);
}

static void on_read(png_structp png, png_bytep dst, size_t n)
{
    reader *r = png_get_io_ptr(png);
    while (n > 0) {
        if (r->n_fed == 0 && ip_feed_next(&r->feed, &r->fed, &r->n_fed, r->err)) png_error(png, "reading failed");
        if (r->n_fed == 0) png_error(png, "the data ends early");
        const size_t n_now = n < r->n_fed ? n : r->n_fed;
        memcpy(dst, r->fed, n_now);
        dst += n_now;
        n -= n_now;
        r->fed += n_now;
        r->n_fed -= n_now;
    }
}

static void on_error(png_structp png, const char *text)
{
    reader *r = png_get_error_ptr(png);
    if (strcmp(text, "Invalid IHDR data") == 0 && r->last_warning[0]) text = r->last_warning;
    if (r->err->status) /* ours: interrupted */
        longjmp(r->jump, 1);
    if (r->has_no_memory)
        ip_fail(r->err, IMGPAR_E_HOST_MEMORY, "%s: out of host memory while reading it", r->s->name);
    else if (strstr(text, "exceeds user limit"))
        ip_fail(r->err, IMGPAR_E_LIMIT, "%s: PNG: a side is above the limit of %d", r->s->name, IP_MAX_SIDE);
    else if (r->is_in_pixels)
        ip_source_damaged(r->s, IP_DAMAGE_MISSING, "PNG", text, r->err);
    else
        ip_fail(r->err, IMGPAR_E_CORRUPT, "%s: PNG: %s", r->s->name, text);
    longjmp(r->jump, 1);
}

/* Is a warning of an ancillary chunk without which pixels would be others? Its name may be damaged, in a byte. */
static bool says_pixels(const char *text)
{
    const char *const types[] = { "tRNS", (const char *)ip_exact_chunk };
    for (size_t k = 0; k < sizeof types / sizeof *types; k++) {
        int n_other = 0;
        for (int j = 0; j < 4; j++)
            n_other += text[j] != types[k][j];
        if (n_other <= 1) return true;
    }
    return false;
}

static void on_warning(png_structp png, const char *text)
{
    reader *r = png_get_error_ptr(png);
    size_t n = strnlen(text, sizeof r->last_warning - 1);
    memcpy(r->last_warning, text, n);
    r->last_warning[n] = '\0';
    if (r->has_no_memory || strstr(text, "in IHDR")) return; /* an error follows */
    char left_out[48];
    ip_damage damage = IP_DAMAGE_WARNING;
    if (strstr(text, ": CRC error") && says_pixels(text)) {
        damage = IP_DAMAGE_READABLE;
    } else if (strstr(text, ": CRC error") && text[0] >= 'a') { /* critical chunks begin with a capital */
        snprintf(left_out, sizeof left_out, "%.30s, and left out", text);
        text = left_out;
    }
    if (ip_source_damaged(r->s, damage, "PNG", text, r->err)) longjmp(r->jump, 1);
}

/* Runs a step; false when it jumped out. */
static bool guarded(reader *r, void (*step)(reader *r))
{
    if (setjmp(r->jump)) return false;
    step(r);
    return true;
}

static void create(reader *r)
{
    r->png = png_create_read_struct_2(PNG_LIBPNG_VER_STRING, r, on_error, on_warning, r, on_malloc, on_free);
    if (r->png) r->info = png_create_info_struct(r->png);
}

static void read_header(reader *r)
{
    png_structp png = r->png;
    const bool is_lenient = r->s->fail_on < IP_FAIL_ON_ERROR;
    png_set_read_fn(png, r, on_read);
    png_set_benign_errors(png, is_lenient);
    if (is_lenient)
        png_set_crc_action(png, PNG_CRC_WARN_USE, PNG_CRC_WARN_USE);
    else
        png_set_crc_action(png, PNG_CRC_ERROR_QUIT, PNG_CRC_WARN_DISCARD);
    if (is_lenient) png_set_option(png, PNG_IGNORE_ADLER32, PNG_OPTION_ON);
    png_set_user_limits(png, IP_MAX_SIDE, IP_MAX_SIDE);
    png_set_chunk_malloc_max(png, MAX_CHUNK_BYTES);
    png_set_chunk_cache_max(png, 128);
    /* -1: the unknown chunks and every known one but IHDR PLTE tRNS IDAT IEND. */
    png_set_keep_unknown_chunks(png, PNG_HANDLE_CHUNK_NEVER, NULL, -1);
    png_read_info(png, r->info);
}

/* Palettes, few bits and transparency are expanded, samples come in native order. How often the rows come. */
static int start(reader *r)
{
    png_structp png = r->png;
    png_set_expand(png); /* palette, few bits, tRNS */
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    png_set_swap(png);
#endif
    const int n_passes = png_set_interlace_handling(png);
    png_read_update_info(png, r->info);
    r->row_bytes = png_get_rowbytes(png, r->info);
    return n_passes;
}

static void read_pixels(reader *r)
{
    png_structp png = r->png;
    const int n_passes = start(r);
    const size_t row_bytes = r->row_bytes;
    const png_uint_32 height = png_get_image_height(png, r->info);
    if (row_bytes * height != r->image->size_bytes) png_error(png, "its rows have an unexpected size");

    for (int pass = 0; pass < n_passes; pass++)
        for (png_uint_32 y = 0; y < height; y++) {
            double done = (pass + (double)y / height) / n_passes;
            if (ip_source_poll(r->s, done, r->err)) png_error(png, "interrupted");
            png_read_row(png, (png_bytep)r->image->pixels + y * row_bytes, NULL);
        }
    png_read_end(png, NULL);
}

/* What exact.c wrote behind IHDR, if it is there and fits the header. */
static imgpar_status read_exact(const ip_source *s, ip_header *header, ip_error *err)
{
    static const unsigned char length[4] = { 0, 0, 0, IP_EXACT_BYTES };
    unsigned char sum[4], chunk[8 + IP_EXACT_BYTES];
    bool found, goes_on;
    imgpar_status st = ip_source_peek(s, IP_PNG_IHDR_SUM_AT, sum, sizeof sum, &found, err);
    if (!st) st = ip_source_peek(s, IP_PNG_IHDR_END, chunk, sizeof chunk, &goes_on, err);
    if (!st && found && goes_on && memcmp(chunk, length, 4) == 0 && memcmp(chunk + 4, ip_exact_chunk, 4) == 0)
        ip_exact_unpack(chunk + 8, sum, header);
    return st;
}

/* Samples of a bool, 0 or 255, as 0 or 1. */
static void read_as_bool(reader *r, unsigned char *p, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        r->is_odd |= p[i] != 0 && p[i] != 255;
        p[i] = p[i] != 0;
    }
}

static void tell_odd_bools(const reader *r)
{
    if (r->is_odd)
        ip_source_damaged(r->s, IP_DAMAGE_READABLE, "PNG", "samples of a bool are neither 0 nor 255", r->err);
}

static imgpar_status fill_header(const reader *r, ip_header *header)
{
    const png_uint_32 width = png_get_image_width(r->png, r->info), height = png_get_image_height(r->png, r->info);
    const int type = png_get_color_type(r->png, r->info);
    const bool has_alpha = type & PNG_COLOR_MASK_ALPHA || png_get_valid(r->png, r->info, PNG_INFO_tRNS);
    const int channels = (type & PNG_COLOR_MASK_COLOR ? 3 : 1) + has_alpha;
    const bool is_in_order = png_get_interlace_type(r->png, r->info) == PNG_INTERLACE_NONE;
    imgpar_status st = ip_source_check_size(r->s, width, height, is_in_order, r->err);
    if (st) return st;
    int orientation;
    ip_metadata contents = { .colour = { .has_srgb = false } };
    st = ip_png_read_metadata(r->s, &contents, &orientation, r->err);
    if (st) {
        ip_metadata_clear(&contents);
        return st;
    }
    st = ip_source_give_metadata(r->s, &contents, orientation >= 5, r->err);
    if (st) return st;
    ip_header_picture(header, IP_FORMAT_PNG, png_get_bit_depth(r->png, r->info) == 16 ? IMGPAR_U16 : IMGPAR_U8, width,
                      height, channels, orientation);
    header->has_rows = orientation == 1 && is_in_order;
    st = ip_source_check_size(r->s, width, height, header->has_rows, r->err);
    if (st) return st;
    return read_exact(r->s, header, r->err);
}

imgpar_status ip_png_read(const ip_source *s, ip_header *header, ip_image *image, ip_error *err)
{
    ip_error local = { 0 };
    reader r = { .s = s, .image = image, .err = &local, .fed = s->bytes, .n_fed = s->n };
    if (!guarded(&r, create) || !r.png || !r.info) {
        ip_fail(&local, IMGPAR_E_HOST_MEMORY, "%s: out of host memory while reading it", s->name);
        goto out;
    }
    if (!guarded(&r, read_header)) goto out;
    if (fill_header(&r, header) || !image) goto out;

    image->header = *header;
    if (ip_image_alloc(s, image, &local)) goto out;
    r.is_in_pixels = true;
    imgpar_status st;
    if (!ip_png_read_whole(s, image, &st, &local))
        guarded(&r, read_pixels); /* a jump with no failure recorded is tolerated damage */
    if (!local.status && header->dtype == IMGPAR_BOOL) {
        read_as_bool(&r, image->pixels, image->size_bytes);
        tell_odd_bools(&r);
    }
    if (!local.status) ip_exif_turn(s, image, &local);
out:
    png_destroy_read_struct(&r.png, &r.info, NULL);
    return local.status ? ip_fail(err, local.status, "%s", local.message) : IMGPAR_OK;
}

/* ---- by rows --------------------------------------------------------------------------------- */

static void close_rows(void *state)
{
    reader *r = state;
    png_destroy_read_struct(&r->png, &r->info, NULL);
    ip_feed_end(&r->feed);
    ip_free(r);
}

/* Takes what a step recorded, and what comes of it. */
static imgpar_status step(reader *r, void (*function)(reader *r), ip_error *err)
{
    ip_error local = { 0 };
    r->err = &local;
    if (!guarded(r, function)) r->is_over = true;
    r->err = NULL;
    return local.status ? ip_fail(err, local.status, "%s", local.message) : IMGPAR_OK;
}

static void start_rows(reader *r) { start(r); }
static void read_row(reader *r) { png_read_row(r->png, r->to, NULL); }
static void finish(reader *r) { png_read_end(r->png, NULL); }

static imgpar_status open_header(reader *r, ip_header *header, ip_error *err)
{
    imgpar_status st = step(r, create, err);
    if (!st && (!r->png || !r->info))
        st = ip_fail(err, IMGPAR_E_HOST_MEMORY, "%s: out of host memory while reading it", r->s->name);
    if (!st) st = step(r, read_header, err);
    r->err = err;
    if (!st) st = fill_header(r, header);
    r->is_in_pixels = true;
    if (!st) st = step(r, start_rows, err);
    return st;
}

static imgpar_status open_rows(const ip_source *s, ip_header *header, void **state, ip_error *err)
{
    reader *r = ip_zalloc(sizeof *r);
    if (!r) return ip_fail(err, IMGPAR_E_HOST_MEMORY, "%s: out of host memory while reading it", s->name);
    *r = (reader){ .s = s, .feed = ip_feed_of(s), .fed = s->bytes, .n_fed = s->n };
    imgpar_status st = open_header(r, header, err);
    r->is_bool = !st && header->dtype == IMGPAR_BOOL;
    if (st)
        close_rows(r);
    else
        *state = r;
    return st;
}

static imgpar_status next_row(void *state, void *dst, ip_error *err)
{
    reader *r = state;
    r->to = dst;
    const png_uint_32 y = png_get_current_row_number(r->png);
    imgpar_status st = r->is_over ? IMGPAR_OK : ip_source_poll(r->s, 0, err);
    if (!st && !r->is_over) st = step(r, read_row, err);
    /* Damage behind the last row is found while that is read: it is there nevertheless. */
    if (r->is_over && png_get_current_row_number(r->png) == y) memset(dst, 0, r->row_bytes);
    if (r->is_bool) read_as_bool(r, dst, r->row_bytes);
    return st;
}

static imgpar_status end_rows(void *state, ip_error *err)
{
    reader *r = state;
    imgpar_status st = r->is_over ? IMGPAR_OK : step(r, finish, err);
    r->err = err;
    if (!st) tell_odd_bools(r);
    return err->status;
}

const ip_row_codec ip_png_rows = { open_rows, next_row, end_rows, close_rows };
