/* SPDX-License-Identifier: MIT */
/*
 * Words in a font as a mask: an opaque stage that the host draws (typeset.h) from the font's bytes, which are its
 * input. How large it is has to be known when it is built, so the font is read then, too: it must be a leaf.
 */
#include "base/alloc.h"
#include "graph/services.h"
#include "ir/opaque.h"
#include "ops/infer.h"
#include "ops/lower.h"
#include "ops/typeset.h"

#include <math.h>

static ip_typeset typeset_of(const imgpar_array *node, ip_font *font)
{
    return (ip_typeset){ .font = font,
                         .words = ip_param_get(node, "words")->text,
                         .size = ip_param_number(node, "size"),
                         .spacing = ip_param_number(node, "spacing"),
                         .align = (ip_align)(int)ip_param_number(node, "align"),
                         .angle = ip_param_number(node, "angle"),
                         .grow = ip_param_number(node, "grow") };
}

/* The bytes that a leaf will have, borrowed, but for those in *owned, which is new. */
static imgpar_status bytes_of(const imgpar_array *leaf, const void **bytes, void **owned, ip_error *err)
{
    char type[96];
    const ip_source *source = leaf->source;
    *owned = NULL;
    *bytes = NULL;
    const bool is_file = source && source->kind == IP_SOURCE_FILE && source->format == IP_FORMAT_FONT;
    const bool is_blob = source && source->kind == IP_SOURCE_BLOB && source->format == IP_FORMAT_FONT;
    const bool is_data = source && source->kind == IP_SOURCE_PIXELS && leaf->type.dtype == IMGPAR_U8 &&
                         leaf->type.rank == 1 && ip_io_is_font(source->data, source->size_bytes);
    if (is_blob || is_data) *bytes = source->data;
    if (is_blob || is_data) return IMGPAR_OK;
    if (!is_file)
        return ip_fail(err, IMGPAR_E_ARGUMENT, "font_mask: font is %s and no font; open(\"FILE.ttf\") gives one",
                       ip_type_text(&leaf->type, type));
    const ip_read_options options = { .max_pixels = ip_services_get()->max_pixels(leaf->ctx) };
    return ip_file_read(&source->file, &options, bytes, owned, err);
}

static imgpar_status set_type(imgpar_array *node, ip_point box, ip_error *err)
{
    const double most_px = 1 << 28;
    if (!(box.x * box.y <= most_px))
        return ip_fail(err, IMGPAR_E_LIMIT, "font_mask: the words would take %.0f x %.0f pixels; %.0f are the limit",
                       box.x, box.y, most_px);
    node->type = (ip_type){ .dtype = IMGPAR_U8,
                            .space = IMGPAR_SPACE_GRAY,
                            .rank = 3,
                            .shape = { (int64_t)box.y, (int64_t)box.x, 1 },
                            .white = 255 };
    node->range = ip_range_of(IMGPAR_U8);
    return IMGPAR_OK;
}

imgpar_status ip_infer_font_mask(imgpar_array *node, ip_error *err)
{
    const imgpar_array *leaf = node->inputs[0];
    const void *bytes;
    void *owned;
    ip_font *font = NULL;
    ip_point box = { 0, 0 };
    ip_error why = { .status = IMGPAR_OK };
    imgpar_status st = bytes_of(leaf, &bytes, &owned, err);
    if (st) return st;
    st = ip_font_open(bytes, (size_t)ip_type_count(&leaf->type), (int)ip_param_number(node, "index"), &font, &why);
    if (!st) {
        const ip_typeset t = typeset_of(node, font);
        st = ip_typeset_box(&t, &box, &why);
    }
    ip_font_close(font);
    ip_free(owned);
    if (st) return ip_fail(err, st, "font_mask: %s", why.message);
    return set_type(node, box, err);
}

/* The bytes come from the input, as those of any other: a plan that is kept has other arrays than it was made for. */
static imgpar_status draw(const ip_opaque *o, const void *const *in, void *out, ip_opaque_ask ask, void *user)
{
    const imgpar_array *node = o->user;
    ip_watch watch = { .ask = ask, .user = user };
    const ip_canvas canvas = { .cover = out, .width = o->dims[2], .height = o->dims[1], .watch = &watch };
    ip_error err = { .status = IMGPAR_OK };
    ip_font *font;
    imgpar_status st = ask(user);
    if (!st) st = ip_font_open(in[0], (size_t)o->inputs[0]->dims[2], (int)ip_param_number(node, "index"), &font, &err);
    if (st) return st;
    const ip_typeset t = typeset_of(node, font);
    st = ip_typeset_draw(&t, &canvas, &err);
    ip_font_close(font);
    return st;
}

static const ip_opaque_kind kind = {
    .name = "text", .widen = ip_opaque_widen_all, .reads = ip_opaque_read_all, .compute = draw
};

ip_stage *ip_stages_font_mask(ip_lower *l)
{
    const ip_opaque o = {
        .kind = &kind, .defines = "", .dtype = IMGPAR_U8, .n_inputs = 1, .inputs = { l->in[0] }, .user = l->node
    };
    return ip_stage_opaque(l->ir, &o, IMGPAR_U8, l->dims, l->node);
}
