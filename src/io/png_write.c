/* SPDX-License-Identifier: MIT */
/* Pixels to PNG, with libpng. See png.c, Note [Long jumps]. */
#include "io/png_metadata.h"

#include "base/alloc.h"

#include <png.h>
#include <setjmp.h>

typedef struct writer {
    ip_picture picture;
    const ip_settings *settings;
    const ip_poll *poll;
    ip_str *out;
    ip_error *err;
    png_structp png;
    png_infop info;
    void *row;
    bool has_no_memory;
    jmp_buf jump;
} writer;

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
    if (w->has_no_memory || w->out->failed) ip_fail_memory(w->err, "encoding png");
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
    ip_str_append_n(w->out, (const char *)bytes, n);
    if (w->out->failed) png_error(png, "out of memory");
}

static void on_flush(png_structp png)
{
    (void)png;
}

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
    const unsigned char *sum = (const unsigned char *)ip_str_text(w->out) + start + IP_PNG_IHDR_SUM_AT;
    if (ip_exact_pack(w->picture.source, sum, data)) png_write_chunk(w->png, ip_exact_chunk, data, sizeof data);
}

static void write_all(writer *w)
{
    static const int color_types[] = { 0, PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_GRAY_ALPHA, PNG_COLOR_TYPE_RGB,
                                       PNG_COLOR_TYPE_RGB_ALPHA };
    const ip_picture *p = &w->picture;
    const size_t start = w->out->length;
    png_structp png = w->png;
    png_set_write_fn(png, w, on_write, on_flush);
    if (w->settings->value[IP_SET_LEVEL] >= 0) png_set_compression_level(png, w->settings->value[IP_SET_LEVEL]);
    png_set_IHDR(png, w->info, (png_uint_32)p->width, (png_uint_32)p->height, p->bits, color_types[p->channels],
                 PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_write_info(png, w->info);
    if (p->source->is_exact) write_exact(w, start);
    if (ip_png_append_metadata(w->out, p, w->settings->value[IP_SET_METADATA] != 0, w->err)) longjmp(w->jump, 1);
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    if (p->bits == 16) png_set_swap(png);
#endif
    for (size_t y = 0; y < p->height; y++) {
        if (ip_picture_poll(p, w->poll, y, w->err)) longjmp(w->jump, 1);
        ip_picture_row(p, y, w->row);
        png_write_row(png, w->row);
    }
    png_write_end(png, NULL);
}

imgpar_status ip_png_write(const ip_pixels *pixels, const ip_settings *settings, const ip_poll *poll, ip_str *out,
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
    w.row = ip_alloc(ip_picture_row_bytes(&w.picture));
    if (!w.row || !guarded(&w, create) || !w.png || !w.info) {
        ip_fail_memory(&local, "encoding png");
        goto out;
    }
    guarded(&w, write_all);
out:
    png_destroy_write_struct(&w.png, &w.info);
    ip_free(w.row);
    return local.status ? ip_fail(err, local.status, "%s", local.message) : IMGPAR_OK;
}
