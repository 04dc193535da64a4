/* SPDX-License-Identifier: MIT */
/* The schedules pixels and texture: one work-item a pixel, everything read by its own border rule, from memory or from
 * images. */
#include "compile/emit.h"

void ip_emit_pixels(ip_emit *e)
{
    const ip_kernel *k = e->kernel;
    const ip_stage *s = k->outputs[0];
    static const char *const names[3] = { "z", "y", "x" };
    e->channels = (int)s->dims[3];
    for (int dim = 0; dim < 3; dim++)
        ip_emit_let_at_top(
            e, "int", names[dim],
            ip_text(e->ir, "(int)get_global_id(%d) + %s", 2 - dim, ip_emit_bound(e, (ip_bound)(dim * 2))));
    if (k->n_textures > 0) ip_emit_samplers(e);
    e->coord[0] = "z";
    e->coord[1] = "y";
    e->coord[2] = "x";
    ip_emit_uniforms(e, s->body);
    ip_stmt *inside =
        ip_s_add(e->ir, e->top, IP_S_IF,
                 ip_text(e->ir, "x < %s & y < %s", ip_emit_bound(e, IP_X1), ip_emit_bound(e, IP_Y1)), NULL, NULL);
    ip_mark mark = ip_emit_enter(e, inside);
    ip_emit_let(e, ip_text(e->ir, "__global %s *", s->dtype == IMGPAR_F16 ? "half" : ip_cl_type(s->dtype)), "out",
                ip_emit_buffer_row(e, s, "z", "y"));
    ip_channels channels = ip_emit_enter_channels(e, s->body);
    for (int c = 0; c < channels.n; c++)
        ip_emit_store(e, s, "out", ip_emit_pixel_index(e, "x", c), ip_emit_value(e, channels.bodies[c]));
    ip_emit_leave_channels(e, &channels);
    ip_emit_leave(e, mark);
}
