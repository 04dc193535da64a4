/* SPDX-License-Identifier: MIT */
/* A plan for people (text), for pictures (dot), for programs (json), and its OpenCL C (cl). */
#include "base/alloc.h"
#include "base/dtype.h"
#include "compile/segments.h"
#include "graph/array.h"
#include "ir/opaque.h"

#include <stdio.h>
#include <string.h>

static const char *const schedule_names[IP_N_SCHEDULES] = { "auto",   "rows", "tiles", "texture",
                                                            "pixels", "ref",  "opaque" };

const char *ip_schedule_name(ip_schedule schedule)
{
    return schedule < IP_N_SCHEDULES ? schedule_names[schedule] : "?";
}

bool ip_schedule_find(const char *name, ip_schedule *schedule)
{
    for (int k = 0; k < IP_SCHEDULE_OPAQUE; k++)
        if (strcmp(name, schedule_names[k]) == 0) {
            *schedule = (ip_schedule)k;
            return true;
        }
    return false;
}

static uint64_t stage_bytes(const ip_stage *s)
{
    const ip_region whole = { 0, s->dims[0], 0, s->dims[1], 0, s->dims[2] };
    return ip_region_bytes(&whole, s);
}

static void put_size(ip_str *out, uint64_t bytes)
{
    char buf[32];
    if (bytes < 10000)
        snprintf(buf, sizeof buf, "%llu bytes", (unsigned long long)bytes);
    else if (bytes < 10000000)
        snprintf(buf, sizeof buf, "%llu kB", (unsigned long long)(bytes + 500) / 1000);
    else
        snprintf(buf, sizeof buf, "%llu MB", (unsigned long long)(bytes + 500000) / 1000000);
    ip_str_append(out, buf);
}

static void put_shape(ip_str *out, const ip_stage *s)
{
    ip_str_printf(out, "%s ", ip_dtype(s->dtype)->name);
    const ip_region r = ip_stage_shown(s);
    if (r.z1 - r.z0 > 1) ip_str_printf(out, "%lldx", (long long)(r.z1 - r.z0));
    ip_str_printf(out, "%lldx%lldx%lld", (long long)(r.y1 - r.y0), (long long)(r.x1 - r.x0), (long long)s->dims[3]);
}

static const char *source_name(const ip_stage *s)
{
    if (s->node && s->node->source && s->node->source->name) return s->node->source->name;
    if (!s->node || !s->node->op) return "value";
    return strcmp(s->node->op->info.name, "placeholder") == 0 ? "carried from the step before" : s->node->op->info.name;
}

static const ip_kernel *producer(const ip_plan *plan, const ip_stage *s)
{
    for (int k = 0; k < plan->n_kernels; k++)
        for (int i = 0; i < plan->kernels[k].n_outputs; i++)
            if (plan->kernels[k].outputs[i] == s) return &plan->kernels[k];
    return NULL;
}

static void text_walk(const ip_stage *s, ip_str *out)
{
    static const char *const axes[] = { "planes", "rows", "columns", "channels" };
    ip_str_printf(out, "  walks   %s, %s%s", axes[s->axis], s->backward ? "last to first" : "first to last",
                  ip_stage_blocks(s) > 1 ? ", in blocks" : "");
    for (int k = 0; s->n_more > 0 && k < ip_stage_states(s); k++)
        ip_str_printf(out, "%s %s", k ? "" : ", carrying", ip_dtype(ip_stage_state(s, k).body->dtype)->name);
    ip_str_putc(out, '\n');
}

/* "tile    128x16 pixels by 32x8 work-items, 9 kB of local memory, halo work 12%" */
static void text_tile(const ip_kernel *k, ip_str *out)
{
    const ip_tiling *t = &k->tiling;
    ip_str_printf(out, "  tile    %dx%d pixels by %dx%d work-items, ", t->width, t->height, t->group_width,
                  t->group_height);
    put_size(out, (uint64_t)t->bytes);
    ip_str_printf(out, " of local memory, halo work %.0f%%\n", 100 * t->halo_work / t->work);
}

/* "blur: vertical pass" */
static void put_stage(const ip_placed *p, ip_str *out)
{
    const ip_stage *s = p->stage;
    ip_str_append(out, p->is_copy ? source_name(p->source) : s->node ? s->node->op->info.name : "a stage");
    ip_str_printf(out, "%s%s", s->note ? ": " : "", s->note ? s->note : "");
}

/* "makes   blur: vertical pass by dot products of pairs (ip_dot)" */
static void text_made(const ip_placed *p, const char *by, const char *helper, ip_str *out)
{
    ip_str_append(out, "  makes   ");
    put_stage(p, out);
    ip_str_printf(out, " by %s", by);
    if (helper) ip_str_printf(out, " (%s)", helper);
    ip_str_putc(out, '\n');
}

/* What makes the columns of a row: idioms, a bit each, and the last loop that has a name here. */
typedef struct ways {
    unsigned idioms;
    const char *loop;
} ways;

static void note_ways(const ip_segment *segment, ways *w)
{
    for (int k = 0; segment && segment->cut && k < 2; k++)
        note_ways(segment->parts[k], w);
    if (!segment || segment->cut) return;
    w->idioms |= segment->calls;
    if (segment->match) w->idioms |= 1u << (segment->match->idiom - ip_idioms);
    if (ip_loop_says(segment->loop)) w->loop = ip_loop_says(segment->loop);
}

static void text_ways(const ip_placed *p, ip_str *out)
{
    ways w = { 0 };
    for (int state = 0; state < IP_N_MASK_STATES; state++)
        note_ways(p->row_of[state], &w);
    for (int k = 0; k < IP_N_IDIOMS; k++)
        if (w.idioms >> k & 1) text_made(p, ip_idioms[k].name, ip_idioms[k].helper, out);
    if (w.loop) text_made(p, w.loop, NULL, out);
}

/* "keeps   3 rows of blur: vertical pass" */
static void text_kept(const ip_kernel *k, const ip_placed *p, ip_str *out)
{
    const ip_tiling *t = &k->tiling;
    if (p->place == IP_PLACE_TILE)
        ip_str_printf(out, "  keeps   %dx%d of ", t->width + p->left + p->right, t->height + p->lead - p->first);
    else
        ip_str_printf(out, "  keeps   %d row%s of ", p->rows, p->rows == 1 ? "" : "s");
    put_stage(p, out);
    ip_str_putc(out, '\n');
}

static void text_kernel(const ip_plan *plan, const ip_traffic *traffic, int number, ip_str *out)
{
    const ip_kernel *k = &plan->kernels[number - 1];
    ip_str_printf(out, "kernel %d: %s\n", number, k->ops[0] ? k->ops : "arithmetic");
    ip_str_printf(out, "  schedule %s, %s\n", ip_schedule_name(k->schedule), k->name);
    if (k->fallback[0]) ip_str_printf(out, "  %s\n", k->fallback);
    if (k->library[0]) ip_str_printf(out, "  %s\n", k->library);
    if (k->is_scan) text_walk(k->stages[k->n_stages - 1], out);
    for (int i = 0; i < k->n_inputs; i++) {
        const ip_kernel *from = producer(plan, k->inputs[i]);
        ip_str_append(out, "  reads   ");
        put_shape(out, k->inputs[i]);
        if (from)
            ip_str_printf(out, "  from kernel %d\n", (int)(from - plan->kernels) + 1);
        else
            ip_str_printf(out, "  %s\n", source_name(k->inputs[i]));
        const ip_texture *texture = ip_kernel_texture(k, k->inputs[i]);
        if (texture)
            ip_str_printf(out, "  samples it as an image of %s\n",
                          (const char *const[]){ "R", "RG", "", "RGBA" }[texture->channels - 1]);
    }
    for (int i = 0; i < k->n_outputs; i++) {
        ip_str_append(out, "  writes  ");
        put_shape(out, k->outputs[i]);
        if (k->n_outputs > 1 && k->outputs[i]->node && k->outputs[i]->node->op)
            ip_str_printf(out, "  %s", k->outputs[i]->node->op->info.name);
        ip_str_putc(out, '\n');
    }
    ip_str_append(out, "  traffic ");
    put_size(out, traffic->read);
    ip_str_append(out, " read, ");
    put_size(out, traffic->written);
    ip_str_append(out, " written\n");
    if (k->schedule == IP_SCHEDULE_TILES) text_tile(k, out);
    for (int i = 0; i < k->n_placed; i++)
        if (ip_placed_is_kept(&k->placed[i])) text_kept(k, &k->placed[i], out);
    for (int i = 0; i < k->n_placed; i++)
        text_ways(&k->placed[i], out);
    if (k->reason[0]) ip_str_printf(out, "  ends here because %s\n", k->reason);
}

static void explain_text(const ip_plan *plan, const ip_traffic *traffic, const char *sharing, ip_str *out)
{
    uint64_t saved = 0;
    for (int i = 0; i < plan->n_kernels; i++)
        for (int s = 0; s < plan->kernels[i].n_stages; s++)
            if (!ip_kernel_stores(&plan->kernels[i], plan->kernels[i].stages[s]))
                saved += 2 * stage_bytes(plan->kernels[i].stages[s]);
    ip_str_printf(out, "%d node%s, %d kernel%s", plan->n_nodes, plan->n_nodes == 1 ? "" : "s", plan->n_kernels,
                  plan->n_kernels == 1 ? "" : "s");
    if (saved) {
        ip_str_append(out, "; fusing saves ");
        put_size(out, saved);
        ip_str_append(out, " of memory traffic");
    }
    ip_str_putc(out, '\n');
    if (sharing) ip_str_printf(out, "%s\n", sharing);
    for (int i = 0; i < plan->n_kernels; i++)
        text_kernel(plan, &traffic[i], i + 1, out);
}

/* "array": "blur", "dtype": "u8", "shape": [1, 400, 600, 3], "bytes": 720000 */
static void json_array(const ip_stage *s, const char *name, ip_str *out)
{
    const ip_region r = ip_stage_shown(s);
    ip_str_append(out, "\"array\": ");
    ip_str_json(out, name);
    ip_str_printf(out, ", \"dtype\": \"%s\", \"shape\": [%lld, %lld, %lld, %lld], \"bytes\": %llu",
                  ip_dtype(s->dtype)->name, (long long)(r.z1 - r.z0), (long long)(r.y1 - r.y0),
                  (long long)(r.x1 - r.x0), (long long)s->dims[3], (unsigned long long)ip_region_bytes(&r, s));
}

static void json_stages(const ip_kernel *k, ip_str *out)
{
    ip_str_append(out, ", \"stages\": [");
    for (int i = 0; i < k->n_stages; i++) {
        const ip_stage *s = k->stages[i];
        ip_str label = IP_STR_INIT;
        ip_str_printf(&label, "%s%s%s", s->node && s->node->op ? s->node->op->info.name : "a stage",
                      s->note ? ": " : "", s->note ? s->note : "");
        if (i) ip_str_append(out, ", ");
        ip_str_json(out, ip_str_text(&label));
        ip_str_free(&label);
    }
    ip_str_putc(out, ']');
}

/* What a kernel reads, of a file or of another kernel, counted from 0; and what it writes, which may be a result. */
static void json_arrays(const ip_plan *plan, const ip_kernel *k, ip_str *out)
{
    ip_str_append(out, ", \"reads\": [");
    for (int i = 0; i < k->n_inputs; i++) {
        const ip_stage *s = k->inputs[i];
        const ip_kernel *from = producer(plan, s);
        ip_str_printf(out, "%s{\"id\": %d, ", i ? ", " : "", s->id);
        const bool is_kept = !from && s->node && s->node->op && !(s->node->source && s->node->source->name) &&
                             strcmp(s->node->op->info.name, "placeholder") != 0;
        char name[80];
        snprintf(name, sizeof name, "value of %.60s", is_kept ? s->node->op->info.name : "");
        json_array(s, is_kept ? name : from && s->node && s->node->op ? s->node->op->info.name : source_name(s), out);
        if (from) ip_str_printf(out, ", \"kernel\": %d", (int)(from - plan->kernels));
        ip_str_putc(out, '}');
    }
    ip_str_append(out, "], \"writes\": [");
    for (int i = 0; i < k->n_outputs; i++) {
        const ip_stage *s = k->outputs[i];
        ip_str_printf(out, "%s{\"id\": %d, ", i ? ", " : "", s->id);
        json_array(s, s->node && s->node->op ? s->node->op->info.name : "a stage", out);
        for (int n = 0; n < plan->n_outputs; n++)
            if (plan->outputs[n] == s) {
                ip_str_printf(out, ", \"result\": %d", n + 1);
                break;
            }
        ip_str_putc(out, '}');
    }
    ip_str_putc(out, ']');
}

static void explain_json(const ip_plan *plan, const ip_traffic *traffic, const char *sharing, ip_str *out)
{
    ip_str_printf(out, "{\"nodes\": %d, \"kernels\": [", plan->n_nodes);
    for (int i = 0; i < plan->n_kernels; i++) {
        const ip_kernel *k = &plan->kernels[i];
        ip_str_printf(out, "%s\n  {\"name\": ", i ? "," : "");
        ip_str_json(out, k->name);
        ip_str_append(out, ", \"ops\": [");
        for (const char *p = k->ops; *p;) {
            size_t n = strcspn(p, ",");
            ip_str_printf(out, "%s\"%.*s\"", p == k->ops ? "" : ", ", (int)n, p);
            p += n + (p[n] == ',');
        }
        ip_str_printf(out, "], \"schedule\": \"%s\", \"bytes_read\": %llu, \"bytes_written\": %llu, \"reason\": ",
                      ip_schedule_name(k->schedule), (unsigned long long)traffic[i].read,
                      (unsigned long long)traffic[i].written);
        ip_str_json(out, k->reason);
        if (k->fallback[0]) {
            ip_str_append(out, ", \"fallback\": ");
            ip_str_json(out, k->fallback);
        }
        if (k->library[0]) {
            ip_str_append(out, ", \"library\": ");
            ip_str_json(out, k->library);
        }
        json_stages(k, out);
        json_arrays(plan, k, out);
        ip_str_putc(out, '}');
    }
    ip_str_append(out, plan->n_kernels ? "\n]" : "]");
    if (sharing) {
        ip_str_append(out, ", \"sharing\": ");
        ip_str_json(out, sharing);
    }
    ip_str_append(out, "}\n");
}

static void dot_label(ip_str *out, const char *text)
{
    for (; *text; text++) {
        if (*text == '"' || *text == '\\') ip_str_putc(out, '\\');
        ip_str_putc(out, *text);
    }
}

/* Kernels as boxes, the nodes inside them as ellipses, sources as notes. */
static void explain_dot(const ip_plan *plan, ip_str *out)
{
    ip_str_append(out, "digraph imgpar {\n  rankdir=LR; node [fontname=\"sans-serif\"];\n");
    for (int i = 0; i < plan->n_kernels; i++) {
        const ip_kernel *k = &plan->kernels[i];
        ip_str_printf(out, "  subgraph cluster_%d {\n    label=\"kernel %d, %s\"; style=rounded;\n", i + 1, i + 1,
                      ip_schedule_name(k->schedule));
        ip_str_printf(out, "    k%d [shape=box, label=\"", i + 1);
        for (const char *p = k->ops[0] ? k->ops : "arithmetic"; *p; p++)
            ip_str_append_n(out, *p == ',' ? "\\n" : p, *p == ',' ? 2 : 1);
        ip_str_append(out, "\"];\n  }\n");
        for (int s = 0; s < k->n_inputs; s++) {
            const ip_kernel *from = producer(plan, k->inputs[s]);
            if (from) {
                ip_str_printf(out, "  k%d -> k%d;\n", (int)(from - plan->kernels) + 1, i + 1);
            } else {
                ip_str_printf(out, "  s%d [shape=note, label=\"", k->inputs[s]->id);
                dot_label(out, source_name(k->inputs[s]));
                ip_str_printf(out, "\"];\n  s%d -> k%d;\n", k->inputs[s]->id, i + 1);
            }
        }
        for (int s = 0; s < plan->n_outputs; s++)
            if (ip_kernel_stores(k, plan->outputs[s]))
                ip_str_printf(out, "  out%d [shape=plaintext, label=\"result %d\"];\n  k%d -> out%d;\n", s + 1, s + 1,
                              i + 1, s + 1);
    }
    ip_str_append(out, "}\n");
}

/* By kernel, what each needs and makes so that all of the results are made; owned by the plan's arena. NULL without
 * memory. */
static ip_traffic *traffic_of(const ip_plan *plan)
{
    size_t n = (size_t)plan->ir->n_stages + 1;
    ip_region *wanted = ip_ir_alloc(plan->ir, (size_t)plan->n_outputs + 1, sizeof *wanted);
    ip_bounds bounds = { .plan = plan,
                         .wanted = wanted,
                         .needed = ip_ir_alloc(plan->ir, n, sizeof *bounds.needed),
                         .is_needed = ip_ir_alloc(plan->ir, n, sizeof *bounds.is_needed) };
    ip_traffic *traffic = ip_ir_alloc(plan->ir, (size_t)plan->n_kernels + 1, sizeof *traffic);
    if (!wanted || !bounds.needed || !bounds.is_needed || !traffic) return NULL;
    for (int k = 0; k < plan->n_outputs; k++)
        wanted[k] = ip_stage_shown(plan->outputs[k]);
    ip_bounds_infer(&bounds);
    for (int k = 0; k < plan->n_kernels; k++) {
        const ip_region region = ip_bounds_region(&bounds, &plan->kernels[k]);
        traffic[k] = ip_kernel_traffic(plan, &plan->kernels[k], &region);
    }
    return plan->ir->failed ? NULL : traffic;
}

imgpar_status ip_plan_explain(const ip_plan *plan, const char *format, const char *sharing, char **text, ip_error *err)
{
    ip_str out = IP_STR_INIT;
    const ip_traffic *traffic = traffic_of(plan);
    *text = NULL;
    if (!traffic) return ip_fail_memory(err, "explaining");
    if (!format || strcmp(format, "text") == 0) {
        explain_text(plan, traffic, sharing, &out);
    } else if (strcmp(format, "json") == 0) {
        explain_json(plan, traffic, sharing, &out);
    } else if (strcmp(format, "dot") == 0) {
        explain_dot(plan, &out);
    } else if (strcmp(format, "cl") == 0) {
        for (int k = 0; k < plan->n_kernels; k++) {
            if (k) ip_str_putc(&out, '\n');
            ip_str_append(&out, plan->kernels[k].source);
        }
    } else {
        return ip_fail(err, IMGPAR_E_ARGUMENT, "explain: format \"%s\" is none of text, dot, json, cl, graph", format);
    }
    ip_str_append(&out, "");
    *text = out.text ? ip_str_take(&out) : ip_strdup("");
    return *text ? IMGPAR_OK : ip_fail_memory(err, "explaining");
}
