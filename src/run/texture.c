/* SPDX-License-Identifier: MIT */
#include "run/texture.h"

#include "base/dtype.h"
#include "base/str.h"
#include "run/shaders.h"

/* The shader for a stage's elements; new for ip_str_free(). */
static ip_str source_of(const ip_stage *s)
{
    const ip_dtype_facts *facts = ip_dtype(s->dtype);
    const char *texel = facts->is_float ? "float4" : facts->is_signed ? "int4" : "uint4";
    const char *suffix = facts->is_float ? "f" : facts->is_signed ? "i" : "ui";
    ip_str source = IP_STR_INIT;
    ip_str_printf(&source, "#define TX_T %s\n#define TX_CHANNELS %d\n#define TX_V %s\n#define TX_WRITE write_image%s\n",
                  facts->cl, (int)s->dims[3], texel, suffix);
    ip_str_append(&source, s->dtype == IMGPAR_F16 ? "#define TX_HALF\n" : "");
    ip_str_append(&source, ip_shader_text("texture"));
    return source;
}

static imgpar_status fill(const ip_runner *runner, ip_program *program, ip_buffer *from, ip_buffer *image, size_t width,
                          size_t height, double *busy_ms, ip_error *err)
{
    size_t side = ip_device_facts_of(runner->device)->local_size;
    ip_buffer *const buffers[] = { from, image };
    const bool writes[] = { false, true };
    const ip_launch launch = { .program = program,
                               .kernel = "to_texture",
                               .buffers = buffers,
                               .n_buffers = 2,
                               .writes = writes,
                               .dims = 2,
                               .global = { (width + side - 1) / side * side, height },
                               .local = { side, 1 } };
    uint64_t start_ns = 0, end_ns = 0;
    imgpar_status st =
        ip_device_launch(runner->device, &launch, busy_ms ? &start_ns : NULL, busy_ms ? &end_ns : NULL, err);
    if (!st && busy_ms) *busy_ms += (double)(end_ns - start_ns) / 1e6;
    return st;
}

imgpar_status ip_texture_make(const ip_runner *runner, const ip_texture *texture, const ip_binding *binding,
                              ip_buffer **image, double *busy_ms, ip_error *err)
{
    const ip_region *r = &binding->region;
    size_t width = (size_t)(r->x1 - r->x0), height = (size_t)(r->y1 - r->y0);
    ip_str source = source_of(texture->stage);
    ip_program *program = NULL;
    imgpar_status st = source.failed ? ip_fail_memory(err, "making an image") : IMGPAR_OK;
    const ip_texels texels = {
        .dtype = texture->stage->dtype, .channels = texture->channels, .width = width, .height = height
    };
    if (!st) st = ip_image_new(runner->device, &texels, image, err);
    if (!st) st = ip_program_get(runner->device, source.text, "", &program, NULL, err);
    if (!st) st = fill(runner, program, binding->buffer, *image, width, height, busy_ms, err);
    ip_program_release(program);
    ip_str_free(&source);
    return st;
}
