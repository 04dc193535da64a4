/* SPDX-License-Identifier: MIT */
/* Words as a mask: an opaque stage that the host draws (glyphs.h). */
#include "base/alloc.h"
#include "ir/opaque.h"
#include "ops/glyphs.h"
#include "ops/infer.h"
#include "ops/lower.h"

#include <math.h>
#include <string.h>

static ip_lettering lettering_of(const imgpar_array *node)
{
    return (ip_lettering){ .words = ip_param_get(node, "words")->text,
                           .size = ip_param_number(node, "size"),
                           .weight = ip_param_number(node, "weight"),
                           .spacing = ip_param_number(node, "spacing"),
                           .align = (ip_align)(int)ip_param_number(node, "align"),
                           .angle = ip_param_number(node, "angle"),
                           .grow = ip_param_number(node, "grow") };
}

/* Whole pixels of a box, at least one. */
static double whole(double extent) { return fmax(ceil(extent - 1e-6), 1); }

imgpar_status ip_infer_text_mask(imgpar_array *node, ip_error *err)
{
    const double most_px = 1 << 28;
    const ip_lettering l = lettering_of(node);
    const ip_point box = ip_lettering_box(&l);
    const double width = whole(box.x), height = whole(box.y);
    if (!(width * height <= most_px))
        return ip_fail(err, IMGPAR_E_LIMIT, "text_mask: the words would take %.0f x %.0f pixels; %.0f are the limit",
                       width, height, most_px);
    node->type = (ip_type){ .dtype = IMGPAR_U8,
                            .space = IMGPAR_SPACE_GRAY,
                            .rank = 3,
                            .shape = { (int64_t)height, (int64_t)width, 1 },
                            .white = 255 };
    node->range = ip_range_of(IMGPAR_U8);
    return IMGPAR_OK;
}

/* Line k of words in the middle of a canvas. */
static imgpar_status draw_line(const imgpar_array *node, int64_t k, const ip_canvas *canvas)
{
    const char *line = ip_param_get(node, "words")->text;
    for (; line && k > 0; k--) {
        line = strchr(line, '\n');
        if (line) line++;
    }
    ip_canvas_clear(canvas);
    if (!line) return IMGPAR_OK;
    char *words = ip_strdup(line);
    if (!words) return IMGPAR_E_HOST_MEMORY;
    words[strcspn(words, "\n")] = '\0';
    const ip_lettering l = {
        .words = words, .size = ip_param_number(node, "size"), .weight = ip_param_number(node, "weight"), .spacing = 1.2
    };
    const ip_point box = ip_lettering_box(&l);
    ip_lettering_draw(&l, canvas, round(((double)canvas->width - box.x) / 2),
                      round(((double)canvas->height - box.y) / 2));
    ip_free(words);
    return canvas->watch->status;
}

imgpar_status ip_infer_text_lines(imgpar_array *node, ip_error *err)
{
    const double most_px = 1 << 28, count = ip_param_number(node, "count"), width = ip_param_number(node, "width"),
                 height = ip_param_number(node, "height");
    if (count * width * height > most_px)
        return ip_fail(err, IMGPAR_E_LIMIT, "text_lines: %.0f masks of %.0f x %.0f pixels; %.0f pixels are the limit",
                       count, width, height, most_px);
    node->type = (ip_type){ .dtype = IMGPAR_U8,
                            .space = IMGPAR_SPACE_DATA,
                            .rank = 4,
                            .shape = { (int64_t)count, (int64_t)height, (int64_t)width, 1 },
                            .white = 255 };
    node->range = ip_range_of(IMGPAR_U8);
    return IMGPAR_OK;
}

static imgpar_status draw(const ip_opaque *o, const void *const *in, void *out, ip_opaque_ask ask, void *user)
{
    const ip_lettering l = lettering_of(o->user);
    ip_watch watch = { .ask = ask, .user = user };
    const ip_canvas canvas = { .cover = out, .width = o->dims[2], .height = o->dims[1], .watch = &watch };
    (void)in;
    imgpar_status st = ask(user);
    if (st) return st;
    ip_canvas_clear(&canvas);
    ip_lettering_draw(&l, &canvas, 0, 0);
    return watch.status;
}

static imgpar_status draw_lines(const ip_opaque *o, const void *const *in, void *out, ip_opaque_ask ask, void *user)
{
    const int64_t size = o->dims[1] * o->dims[2];
    ip_watch watch = { .ask = ask, .user = user };
    imgpar_status st = IMGPAR_OK;
    (void)in;
    for (int64_t k = 0; !st && k < o->dims[0]; k++) {
        const ip_canvas canvas = { (unsigned char *)out + k * size, o->dims[2], o->dims[1], &watch };
        st = ask(user);
        if (!st) st = draw_line(o->user, k, &canvas);
    }
    return st;
}

static const ip_opaque_kind lines = {
    .name = "lines", .widen = ip_opaque_widen_all, .reads = ip_opaque_read_all, .compute = draw_lines
};

ip_stage *ip_stages_text_lines(ip_lower *l)
{
    const ip_opaque o = { .kind = &lines, .defines = "", .dtype = IMGPAR_U8, .user = l->node };
    return ip_stage_opaque(l->ir, &o, IMGPAR_U8, l->dims, l->node);
}

static const ip_opaque_kind kind = {
    .name = "text", .widen = ip_opaque_widen_all, .reads = ip_opaque_read_all, .compute = draw
};

ip_stage *ip_stages_text_mask(ip_lower *l)
{
    const ip_opaque o = { .kind = &kind, .defines = "", .dtype = IMGPAR_U8, .user = l->node };
    return ip_stage_opaque(l->ir, &o, IMGPAR_U8, l->dims, l->node);
}
