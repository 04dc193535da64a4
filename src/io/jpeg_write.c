/* SPDX-License-Identifier: MIT */
/*
 * Pixels to JPEG, with libjpeg. Alpha is composed onto a background of one colour; gray onto one that is not gray
 * becomes RGB. See png.c, Note [Long jumps].
 */
#include "io/jpeg_metadata.h"

#include "base/alloc.h"

#include <jerror.h>

enum { CHUNK_BYTES = 65536 };

typedef struct writer {
    ip_jpeg_guard guard; /* first: see jpeg_guard.h */
    struct jpeg_compress_struct c;
    struct jpeg_destination_mgr destination;
    ip_picture picture;
    ip_jpeg_output beside; /* what is written beside the pixels */
    const ip_settings *settings;
    const ip_poll *poll;
    ip_sink *out;
    ip_error *err;
    unsigned background; /* 0xRRGGBB */
    bool is_gray;        /* what is written */
    unsigned char *row;  /* a row of the picture and as it is written, then a chunk of output */
    unsigned char *chunk;
} writer;

static void on_error(ip_jpeg_guard *guard, int code, const char *text)
{
    writer *w = (writer *)guard;
    if (code == JERR_OUT_OF_MEMORY) ip_fail_memory(w->err, "encoding jpeg");
    ip_fail(w->err, IMGPAR_E_INTERNAL, "jpeg: %s", text);
}

static void give_chunk(j_compress_ptr c)
{
    writer *w = c->client_data;
    c->dest->next_output_byte = w->chunk;
    c->dest->free_in_buffer = CHUNK_BYTES;
}

static void append(j_compress_ptr c, size_t n)
{
    writer *w = c->client_data;
    ip_str_append_n(&w->out->text, (const char *)w->chunk, n);
    if (w->out->text.failed) ERREXIT1(c, JERR_OUT_OF_MEMORY, 0);
}

/* libjpeg's rule: the whole buffer is full, whatever free_in_buffer says. */
static boolean on_full(j_compress_ptr c)
{
    append(c, CHUNK_BYTES);
    give_chunk(c);
    return TRUE;
}

static void on_end(j_compress_ptr c) { append(c, CHUNK_BYTES - c->dest->free_in_buffer); }

static void set_parameters(writer *w)
{
    j_compress_ptr c = &w->c;
    const int *set = w->settings->value;
    const bool is_gray = w->is_gray;
    c->image_width = (JDIMENSION)w->picture.width;
    c->image_height = (JDIMENSION)w->picture.height;
    c->input_components = is_gray ? 1 : 3;
    c->in_color_space = is_gray ? JCS_GRAYSCALE : JCS_RGB;
    jpeg_set_defaults(c);
    jpeg_set_quality(c, set[IP_SET_QUALITY], TRUE);
    c->dct_method = JDCT_ISLOW;
    if (!is_gray) {
        c->comp_info[0].h_samp_factor = set[IP_SET_SUBSAMPLE] == 444 ? 1 : 2;
        c->comp_info[0].v_samp_factor = set[IP_SET_SUBSAMPLE] == 420 ? 2 : 1;
    }
    if (set[IP_SET_PROGRESSIVE]) jpeg_simple_progression(c);
}

static bool is_gray_colour(unsigned colour) { return colour == (colour & 255) * 0x010101; }

/* n pixels of channels samples, the last of them alpha; to has one sample a pixel, or three. */
static void compose(const unsigned char *src, size_t n, size_t channels, unsigned background, bool is_gray,
                    unsigned char *to)
{
    const unsigned below[3] = { background >> 16, background >> 8 & 255, background & 255 };
    for (; n-- > 0; src += channels) {
        const unsigned alpha = src[channels - 1];
        for (size_t ch = 0; ch < (is_gray ? 1 : 3); ch++) {
            const unsigned above = src[channels == 2 ? 0 : ch];
            *to++ = (unsigned char)((above * alpha + below[ch] * (255 - alpha) + 127) / 255);
        }
    }
}

static void write_all(writer *w)
{
    j_compress_ptr c = &w->c;
    const ip_picture *p = &w->picture;
    jpeg_create_compress(c);
    ip_jpeg_guard_memory(&w->guard, (j_common_ptr)c);
    w->destination = (struct jpeg_destination_mgr){
        .init_destination = give_chunk,
        .empty_output_buffer = on_full,
        .term_destination = on_end,
    };
    c->dest = &w->destination;
    set_parameters(w);
    ip_jpeg_set_resolution(c, &w->beside);
    jpeg_start_compress(c, TRUE);
    ip_jpeg_write_metadata(c, &w->beside);
    for (size_t y = 0; y < p->height; y++) {
        JSAMPROW row = w->row, written = row;
        if (ip_picture_poll(p, w->poll, y, w->err)) longjmp(w->guard.jump, 1);
        if (!ip_picture_row(p, y, row) && ip_picture_fail(p, w->err)) longjmp(w->guard.jump, 1);
        if (p->channels % 2 == 0) {
            written = row + ip_picture_row_bytes(p);
            compose(row, p->width, p->channels, w->background, w->is_gray, written);
        }
        jpeg_write_scanlines(c, &written, 1);
        ip_picture_done(p, y + 1);
        if (ip_sink_settle(w->out, w->err)) longjmp(w->guard.jump, 1);
    }
    jpeg_finish_compress(c);
}

static bool guarded(writer *w, void (*step)(writer *w))
{
    if (setjmp(w->guard.jump)) return false;
    step(w);
    return true;
}

imgpar_status ip_jpeg_write(const ip_pixels *pixels, const ip_settings *settings, const ip_poll *poll, ip_sink *out,
                            ip_error *err)
{
    ip_error local = { 0 };
    writer w = { .guard = { .on_error = on_error }, .settings = settings, .poll = poll, .out = out, .err = &local };
    ip_jpeg_guard_errors(&w.guard, (j_common_ptr)&w.c);
    if (ip_picture_of(pixels, IP_FORMAT_JPEG, 8, &w.picture, &local)) goto out;
    ip_picture_set_range(&w.picture, settings);
    w.background = (unsigned)settings->value[IP_SET_BACKGROUND];
    w.is_gray = w.picture.channels == 1 || (w.picture.channels == 2 && is_gray_colour(w.background));
    if (ip_jpeg_output_make(&w.picture, w.is_gray, settings->value[IP_SET_METADATA] != 0, &w.beside, &local)) goto out;
    const size_t row_bytes = ip_picture_row_bytes(&w.picture) + w.picture.width * 3;
    w.row = ip_alloc(row_bytes + CHUNK_BYTES);
    if (!w.row) {
        ip_fail_memory(&local, "encoding jpeg");
        goto out;
    }
    w.chunk = w.row + row_bytes;
    guarded(&w, write_all);
out:
    jpeg_destroy_compress(&w.c);
    ip_jpeg_output_free(&w.beside);
    ip_free(w.row);
    return local.status ? ip_fail(err, local.status, "%s", local.message) : IMGPAR_OK;
}
