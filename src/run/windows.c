/* SPDX-License-Identifier: MIT */
/*
 * Sources of an evaluation that are read by rows, as strips need them: which of them, and how they reach the device.
 * The limit on pixels counts those of a window: where it would hold more, the source is decoded whole, which says what
 * the limit is. A source that is read backwards is decoded whole, too, unless the limit forbids it: its window would be
 * decoded from the first row on for each strip.
 */
#include "run/evaluation_impl.h"

#include "base/integers.h"
#include "run/window.h"

bool ip_evaluation_may_window(const evaluation *e, const ip_stage *s)
{
    ip_source *source = s->node ? s->node->source : NULL;
    const uint64_t n = s->kind == IP_STAGE_SOURCE ? ip_stage_bytes(s) : 0;
    if (n == 0 || s->value || e->source_values[s->id] || !source || !source->has_rows || s->dims[0] != 1) return false;
    if (source->kind != IP_SOURCE_FILE && source->kind != IP_SOURCE_BLOB) return false;
    const bool fits = n <= ip_account_left(e->ctx->host) / 2;
    if (source->format == IP_FORMAT_PNG && n <= IP_PNG_WHOLE_BYTES && fits) return false;
    if (atomic_load(&source->n_streamed) > 0 && n <= e->ctx->decoded.max_bytes) return false;
    return !ip_source_is_decoded(e->ctx, s->node);
}

static imgpar_status open_window(evaluation *e, const ip_stage *s, const ip_needed_rows *rows, bool runs_ahead,
                                 ip_error *err)
{
    const ip_window_of of = { .source = s->node->source,
                              .shrink = s->node->shrink.by,
                              .n_rows = s->dims[1],
                              .end = rows->end,
                              .row_bytes = (size_t)ip_stage_row_bytes(s),
                              .most_rows = rows->most,
                              .runs_ahead = runs_ahead,
                              .poll = e->runner.poll,
                              .account = e->ctx->host };
    imgpar_status st = ip_window_open(&of, &e->windows[s->id], err);
    if (!st) atomic_fetch_add(&e->ctx->decodes, 1);
    return st;
}

/* Whether that many rows may be held at once. */
static bool is_allowed(const evaluation *e, const ip_stage *s, int64_t rows)
{
    return (uint64_t)rows * (uint64_t)s->dims[2] <= ip_context_max_pixels(e->ctx);
}

imgpar_status ip_evaluation_open_window(evaluation *e, const ip_stage *s, const ip_needed_rows *rows, ip_error *err)
{
    if (!is_allowed(e, s, rows->most)) return IMGPAR_OK;
    atomic_fetch_add(&s->node->source->n_streamed, 1);
    return open_window(e, s, rows, true, err);
}

imgpar_status ip_evaluation_decode_whole(evaluation *e, const ip_stage *s, ip_error *err)
{
    ip_value *v;
    if (!is_allowed(e, s, s->dims[1]) || ip_stage_bytes(s) > ip_account_left(e->ctx->host)) return IMGPAR_OK;
    ip_window_free(e->windows[s->id]); /* what it warned of comes again */
    e->windows[s->id] = NULL;
    return ip_evaluation_source(e, s, &v, err);
}

static bool is_too_large_to_keep(const evaluation *e, const ip_stage *s)
{
    return ip_stage_bytes(s) > e->ctx->decoded.max_bytes;
}

bool ip_evaluation_holds_little(const evaluation *e)
{
    for (int k = 0; k < e->plan->ir->n_stages; k++) {
        const ip_stage *s = e->plan->ir->stages[k];
        if (e->is_needed[k] && ip_evaluation_may_window(e, s) && is_too_large_to_keep(e, s) &&
            ip_region_bytes(&e->needed[k], s) > e->ctx->decoded.max_bytes)
            return false;
    }
    return true;
}

imgpar_status ip_evaluation_window_for_part(evaluation *e, const ip_stage *s, ip_error *err)
{
    const ip_region *r = &e->needed[s->id];
    const bool is_part = r->y0 > 0 || r->y1 < s->dims[1];
    if (e->windows[s->id] && r->y0 < ip_window_first(e->windows[s->id])) return ip_evaluation_decode_whole(e, s, err);
    if (e->windows[s->id] || !is_part || !is_allowed(e, s, r->y1 - r->y0) || e->runner.is_step || r->y1 <= r->y0 ||
        !is_too_large_to_keep(e, s) || !ip_evaluation_may_window(e, s))
        return IMGPAR_OK;
    const ip_needed_rows rows = { .end = s->dims[1], .most = r->y1 - r->y0 };
    return open_window(e, s, &rows, false, err);
}

imgpar_status ip_evaluation_bind_window(evaluation *e, const ip_stage *s, ip_error *err)
{
    ip_binding *b = &e->bindings[s->id];
    ip_device *device = e->runner.device;
    const ip_region *needed = &e->needed[s->id];
    void *memory;
    int64_t first;
    b->region = ip_region_whole(s->dims);
    b->region.y1 = needed->y1;
    imgpar_status st = ip_window_rows(e->windows[s->id], needed->y0, needed->y1, &memory, &first, err);
    if (st) return st;
    const bool shares = ip_device_shares(device, memory); /* its first row; others need not be aligned */
    b->region.y0 = shares ? first : needed->y0;
    const size_t n = (size_t)ip_region_bytes(&b->region, s);
    if (shares) return ip_buffer_wrap(device, memory, n, NULL, NULL, &b->buffer, err);
    const double start = ip_now_ms();
    const char *rows = (const char *)memory + (size_t)((needed->y0 - first) * ip_stage_row_bytes(s));
    st = ip_buffer_new_with(device, rows, n, &b->buffer, err);
    if (!st) ip_runner_event(&e->runner, "upload", s->node->op->info.name, start, n, n);
    return st;
}

void ip_evaluation_drop_windows(evaluation *e)
{
    for (int k = 0; k < e->plan->ir->n_stages; k++) {
        ip_window_free(e->windows[k]);
        e->windows[k] = NULL;
    }
}

imgpar_status ip_evaluation_end_windows(evaluation *e, imgpar_status run, ip_error *err)
{
    imgpar_status st = run;
    for (int k = 0; k < e->plan->ir->n_stages; k++) {
        ip_window *w = e->windows[k];
        const ip_stage *s = e->plan->ir->stages[k];
        if (!w) continue;
        ip_error unheard = { IMGPAR_OK, "" };
        const imgpar_status ended = ip_window_end(w, st ? &unheard : err);
        if (!st) st = ended;
        if (run != IMGPAR_E_INTERRUPTED) ip_report_warnings(&e->runner, ip_window_warnings(w));
        if (!st)
            ip_runner_event(&e->runner, "decode", s->node->source->name ? s->node->source->name : "memory",
                            ip_now_ms() - ip_window_busy_ms(w), s->node->source->size_bytes, ip_stage_bytes(s));
        ip_window_free(w);
        e->windows[k] = NULL;
    }
    return st;
}
