/* SPDX-License-Identifier: MIT */
/*
 * Kernels to OpenCL C: names, arguments, the parameter buffer's slots, and the text around what a schedule
 * builds. Names and text depend on what a kernel does, not on sizes or values, so equal work compiles once.
 */
#include "base/alloc.h"
#include "base/dtype.h"
#include "base/hash.h"
#include "compile/emit.h"
#include "graph/array.h"

#include <stdio.h>
#include <string.h>

bool ip_emit_is_endless(const ip_placed *placed) { return placed->is_copy && placed->pad_border == IMGPAR_BORDER_WRAP; }

int ip_emit_line_buffer_bias(const ip_placed *placed)
{
    int below = placed->first < 0 ? -placed->first : 0;
    return (below + placed->rows - 1) / placed->rows * placed->rows;
}

const char *ip_emit_storage(ip_emit *e, const ip_stage *stage)
{
    const ip_placed *p = ip_kernel_placed(e->kernel, stage);
    return ip_text(e->ir, "g%d", p ? (int)(p - e->kernel->placed) : -1);
}

/* ---- slots --------------------------------------------------------------------------- */

static bool same_slot(const ip_slot *s, ip_slot_kind kind, int index, const ip_stage *stage, const ip_expr *param)
{
    return s->kind == kind && s->index == index && s->stage == stage && s->param == param;
}

static int slot_cells(const ip_slot *s) { return ip_slot_is_wide(s) ? 2 : 1; }

static int find_slot(ip_emit *e, ip_slot_kind kind, int index, const ip_stage *stage, const ip_expr *param)
{
    ip_arguments *a = &e->args;
    for (int s = 0; s < a->n_slots; s++)
        if (same_slot(&a->slots[s], kind, index, stage, param)) return s;
    if (a->n_slots == a->slots_capacity) {
        int capacity = a->slots_capacity ? a->slots_capacity * 2 : 32;
        ip_slot *slots = ip_realloc_array(a->slots, (size_t)capacity, sizeof *slots);
        if (!slots) {
            e->ir->failed = true;
            return -1;
        }
        a->slots = slots;
        a->slots_capacity = capacity;
    }
    a->slots[a->n_slots] = (ip_slot){ kind, index, stage, param };
    return a->n_slots++;
}

static const char *slot_name(ip_emit *e, int at)
{
    static const char *const bounds[] = {
        [IP_Z0] = "z0", [IP_Z1] = "z1", [IP_Y0] = "y0", [IP_Y1] = "y1", [IP_X0] = "x0", [IP_X1] = "x1"
    };
    static const char *const dims[] = { "depth", "height", "width" };
    static const char *const scans[IP_N_SCAN_SLOTS] = {
        [IP_SCAN_BLOCKS] = "blocks",     [IP_SCAN_STEPS] = "steps",     [IP_SCAN_CHUNK] = "chunk",
        [IP_SCAN_ROWS] = "chunk_rows",   [IP_SCAN_FIRST_X] = "first_x", [IP_SCAN_FIRST_Y] = "first_y",
        [IP_SCAN_FIRST_Z] = "first_z",   [IP_SCAN_ITEMS_X] = "items_x", [IP_SCAN_ITEMS_Y] = "items_y",
        [IP_SCAN_LINES] = "lines_start", [IP_SCAN_LINE] = "line_units", [IP_SCAN_FROM_BLOCK] = "from_block",
        [IP_SCAN_TO_BLOCK] = "to_block",
    };
    if (at < 0) /* memory ran out: the text will not be used */
        return "0";
    const ip_slot *s = &e->args.slots[at];
    switch (s->kind) {
    case IP_SLOT_REGION: return bounds[s->index];
    case IP_SLOT_STRIP_ROWS: return "strip_rows";
    case IP_SLOT_STRIP_COLUMNS: return "strip_columns";
    case IP_SLOT_ITEMS_X: return "items_x";
    case IP_SLOT_ITEMS_Y: return "items_y";
    case IP_SLOT_PANEL_COLUMNS: return "panel_columns";
    case IP_SLOT_DIM: return ip_text(e->ir, "%s%d", dims[s->index], at);
    case IP_SLOT_START: return ip_text(e->ir, "start_%s", ip_emit_buffer(e, s->stage));
    case IP_SLOT_ORIGIN: return ip_text(e->ir, "o%c_%s", "zyx"[s->index], ip_emit_buffer(e, s->stage));
    case IP_SLOT_PITCH: return ip_text(e->ir, "pitch_%s", ip_emit_buffer(e, s->stage));
    case IP_SLOT_PLANE: return ip_text(e->ir, "plane_%s", ip_emit_buffer(e, s->stage));
    case IP_SLOT_PLANES: return ip_text(e->ir, "planes_%s", ip_emit_buffer(e, s->stage));
    case IP_SLOT_LINE_BUFFER_OFFSET: return ip_text(e->ir, "at_%s", ip_emit_storage(e, s->stage));
    case IP_SLOT_STREAMS: return "streams";
    case IP_SLOT_PREFETCHES: return "prefetches";
    case IP_SLOT_SUMS: return ip_text(e->ir, "sums%d_%s", s->index, ip_emit_storage(e, s->stage));
    case IP_SLOT_LINE_BUFFER_PITCH: return ip_text(e->ir, "pitch_%s", ip_emit_storage(e, s->stage));
    case IP_SLOT_SCRATCH_EACH: return "scratch_each";
    case IP_SLOT_SCRATCH_START: return "scratch_start";
    case IP_SLOT_PARTIAL: return ip_text(e->ir, "partials_%s", ip_emit_buffer(e, s->stage));
    case IP_SLOT_PARAM: return ip_text(e->ir, "p%d", at);
    case IP_SLOT_TABLE: return ip_text(e->ir, "t%d", at);
    case IP_SLOT_ITEMS: return "n_items";
    case IP_SLOT_FIRST_ITEM: return "first_item";
    case IP_SLOT_SCAN: return scans[s->index];
    }
    return "?";
}

const char *ip_emit_slot_at(ip_emit *e, ip_slot_kind kind, int index, const ip_stage *stage, const ip_expr *param)
{
    if (kind == IP_SLOT_TABLE) {
        ip_arguments *a = &e->args;
        bool known = false;
        for (int t = 0; t < a->n_tables; t++)
            known |= a->tables[t] == stage;
        if (!known) {
            const ip_stage **tables = ip_realloc_array(a->tables, (size_t)a->n_tables + 1, sizeof *tables);
            if (tables) {
                a->tables = tables;
                tables[a->n_tables++] = stage;
            } else {
                e->ir->failed = true;
            }
        }
    }
    return slot_name(e, find_slot(e, kind, index, stage, param));
}

const char *ip_emit_slot(ip_emit *e, ip_slot_kind kind) { return ip_emit_slot_at(e, kind, 0, NULL, NULL); }

const char *ip_emit_slot_of(ip_emit *e, ip_slot_kind kind, const ip_stage *stage)
{
    return ip_emit_slot_at(e, kind, 0, stage, NULL);
}

const char *ip_emit_bound(ip_emit *e, ip_bound bound)
{
    return ip_emit_slot_at(e, IP_SLOT_REGION, (int)bound, NULL, NULL);
}

const char *ip_emit_dim(ip_emit *e, const ip_stage *stage, int dim)
{
    const int64_t *dims = stage->kind == IP_STAGE_HISTOGRAM && dim > 1 ? stage->dims : ip_stage_domain(stage);
    /* Stages of one size share the argument. */
    for (int k = 0; k < e->args.n_slots; k++) {
        const ip_slot *s = &e->args.slots[k];
        if (s->kind != IP_SLOT_DIM || s->index != dim || s->stage->kind == IP_STAGE_HISTOGRAM ||
            stage->kind == IP_STAGE_HISTOGRAM)
            continue;
        if (ip_stage_domain(s->stage)[dim] == dims[dim]) return slot_name(e, k);
    }
    return ip_emit_slot_at(e, IP_SLOT_DIM, dim, stage, NULL);
}

/* ---- buffers --------------------------------------------------------------------------- */

const char *ip_emit_buffer(ip_emit *e, const ip_stage *stage)
{
    const ip_kernel *k = e->kernel;
    for (int i = 0; i < k->n_outputs; i++)
        if (k->outputs[i] == stage) return ip_text(e->ir, "b%d", i);
    for (int i = 0; i < k->n_inputs; i++)
        if (k->inputs[i] == stage) return ip_text(e->ir, "b%d", k->n_outputs + i);
    return "b_missing";
}

/*
 * Note [Constant memory]
 * Where a device has a cache for numbers that all work-items read at once, parameters and weights are in __constant
 * memory. A table that work-items read at different places is slower there, so then everything stays in __global.
 */
static const char *params_space(const ip_emit *e)
{
    const ip_arguments *a = &e->args;
    uint64_t bytes = 0;
    for (int i = 0; i < a->n_slots; i++)
        bytes += (uint64_t)slot_cells(&a->slots[i]) * sizeof(int);
    for (int i = 0; i < a->n_tables; i++)
        bytes += (uint64_t)a->tables[i]->dims[2] * ip_dtype(a->tables[i]->dtype)->size_bytes;
    return !a->looks_up && bytes <= e->options->device.target.constant_bytes ? "__constant int" : "__global const int";
}

/* ---- text -------------------------------------------------------------------------------- */

/*
 * Note [Kernels that call]
 * PoCL compiles a kernel three times: as it is, and inside two functions that walk the items of a work-group. A
 * function that is not to be inlined it compiles once. So what an item of the rows schedule does is a function, which
 * the kernel calls: machine code is there in half of the time. A function that asks for an item's number would be
 * inlined all the same, so the numbers are arguments.
 */
static bool calls_its_body(const ip_emit *e)
{
    return e->options->device.keeps_calls && e->kernel->schedule == IP_SCHEDULE_ROWS;
}

ip_site ip_emit_site(const ip_emit *e)
{
    return (ip_site){ .ir = e->ir,
                      .kernel = e->kernel,
                      .options = e->options,
                      .domain = e->domain,
                      .channels = e->channels,
                      .is_within = e->is_within };
}

bool ip_emit_calls_helpers(const ip_emit *e)
{
    const ip_site site = ip_emit_site(e);
    return ip_site_calls_helpers(&site);
}

const char *ip_emit_global_id(ip_emit *e, int dim)
{
    return calls_its_body(e) ? ip_text(e->ir, "id%d", dim) : ip_text(e->ir, "get_global_id(%d)", dim);
}

static void print_parameters(ip_emit *e, ip_str *out)
{
    const ip_kernel *k = e->kernel;
    for (int i = 0; i < k->n_outputs; i++)
        ip_str_printf(out, "__global %s *restrict b%d, ", ip_dtype(k->outputs[i]->dtype)->cl, i);
    for (int i = 0; i < k->n_inputs; i++) {
        if (ip_kernel_texture(k, k->inputs[i]))
            ip_str_printf(out, "__read_only image2d_t b%d, ", k->n_outputs + i);
        else
            ip_str_printf(out, "__global const %s *restrict b%d, ", ip_dtype(k->inputs[i]->dtype)->cl,
                          k->n_outputs + i);
    }
    if (e->args.has_scratch) ip_str_append(out, "__global uchar *restrict scratch, ");
    ip_str_printf(out, "%s *restrict P%s", params_space(e),
                  e->args.n_checks > 0 ? ", volatile __global int *checks" : "");
}

static void print_signature(ip_emit *e, const char *suffix, ip_str *out)
{
    const ip_kernel *k = e->kernel;
    ip_str_append(out, "__kernel ");
    if (k->schedule == IP_SCHEDULE_TILES) {
        bool finishes = suffix[0] != '\0';
        int w = k->tiling.group_width, h = k->tiling.group_height;
        ip_str_printf(out, "__attribute__((reqd_work_group_size(%d, %d, 1)))\n", finishes ? w * h : w,
                      finishes ? 1 : h);
    }
    ip_str_printf(out, "void @%s(", suffix);
    print_parameters(e, out);
    ip_str_append(out, ")\n{\n");
}

/* The kernel that calls the body. */
static void print_call(ip_emit *e, const char *suffix, ip_str *out)
{
    const ip_kernel *k = e->kernel;
    print_signature(e, suffix, out);
    ip_str_printf(out, "    @%s_item(", suffix);
    for (int i = 0; i < k->n_outputs + k->n_inputs; i++)
        ip_str_printf(out, "b%d, ", i);
    ip_str_printf(out, "%sP, %sget_global_id(0), get_global_id(1), get_global_id(2));\n}\n",
                  e->args.has_scratch ? "scratch, " : "", e->args.n_checks > 0 ? "checks, " : "");
}

static void print_slots(ip_emit *e, ip_str *out)
{
    int cell = 0;
    for (int i = 0; i < e->args.n_slots; i++) {
        const ip_slot *s = &e->args.slots[i];
        const char *name = slot_name(e, i);
        imgpar_dtype dtype = s->kind == IP_SLOT_PARAM ? s->param->dtype : ip_slot_is_wide(s) ? IMGPAR_I64 : IMGPAR_I32;
        const char *type = ip_dtype(dtype)->cl;
        if (slot_cells(s) == 2)
            ip_str_printf(out, "    const %s %s = as_%s((int2)(P[%d], P[%d]));\n", type, name, type, cell, cell + 1);
        else if (dtype == IMGPAR_F32)
            ip_str_printf(out, "    const float %s = as_float(P[%d]);\n", name, cell);
        else
            ip_str_printf(out, "    const %s %s = %sP[%d];\n", type, name,
                          dtype == IMGPAR_I32 ? "" : ip_text(e->ir, "(%s)", type), cell);
        cell += slot_cells(s);
    }
}

static void reset(ip_emit *e)
{
    ip_free(e->names);
    ip_free(e->trail);
    ip_free(e->uses);
    ip_emit fresh = { .ir = e->ir,
                      .kernel = e->kernel,
                      .options = e->options,
                      .args = e->args,
                      .helpers = e->helpers,
                      .domain = e->kernel->domain };
    *e = fresh;
    e->top = ip_ir_alloc(e->ir, 1, sizeof *e->top);
    /* As of ip_s_add(): without memory what is added goes where nobody prints it, and no caller has to look. */
    static _Thread_local ip_stmt spare;
    if (!e->top) {
        spare = (ip_stmt){ .kind = IP_S_NOTE };
        e->top = &spare;
    }
    e->block = e->top;
}

/* The kernels of one program, whose names end in suffix. */
typedef struct part {
    const char *suffix;
    ip_stmt *body;
} part;

static void add_scan_part(ip_emit *e, part *parts, int *n, const char *suffix, ip_scan_phase phase)
{
    reset(e);
    ip_emit_scan(e, phase);
    parts[(*n)++] = (part){ suffix, e->top };
}

static void print_part(ip_emit *e, const part *p, ip_str *out)
{
    if (calls_its_body(e)) {
        ip_str_printf(out, "IP_APART void @%s_item(", p->suffix);
        print_parameters(e, out);
        ip_str_append(out, ", ulong id0, ulong id1, ulong id2)\n{\n");
    } else {
        print_signature(e, p->suffix, out);
    }
    print_slots(e, out);
    ip_s_print(p->body, 4, e->options->device.has_loop_hints, out);
    ip_str_append(out, "}\n");
    if (calls_its_body(e)) print_call(e, p->suffix, out);
}

/* Slots of all kernels of a program must be the same list, so bodies are built before any text is printed. */
static void emit_kernel(ip_emit *e, ip_str *out)
{
    const ip_kernel *k = e->kernel;
    const ip_stage *root = k->outputs[0];
    part parts[3];
    int n = 0;
    if (k->is_scan) {
        add_scan_part(e, parts, &n, "", IP_SCAN_RESULT);
        if (root->axis != 3 && ip_stage_blocks(root) > 1) {
            add_scan_part(e, parts, &n, "_totals", IP_SCAN_TOTALS);
            add_scan_part(e, parts, &n, "_carry", IP_SCAN_CARRY);
        }
    } else {
        reset(e);
        if (k->schedule == IP_SCHEDULE_TILES)
            ip_emit_tiles(e);
        else if (ip_kernel_walks_rows(k))
            ip_emit_rows(e);
        else
            ip_emit_pixels(e);
        parts[n++] = (part){ "", e->top };
    }
    if (k->n_folds > 0) {
        reset(e);
        ip_emit_finish(e);
        parts[n++] = (part){ "_finish", e->top };
    }
    for (int i = 0; i < n && !e->ir->failed; i++) {
        if (i > 0) ip_str_append(out, "\n");
        print_part(e, &parts[i], out);
    }
}

/* "k_blur_blend_u8_9f3c": the ops, the dtype, and a hash of the text. */
static void name_kernel(ip_kernel *k, const char *text)
{
    char ops[48] = "";
    size_t n = 0;
    for (const char *op = k->ops; *op;) { /* whole names only */
        size_t length = strcspn(op, ",");
        if (n + length + 2 > sizeof ops) break;
        n += (size_t)snprintf(ops + n, sizeof ops - n, "%s%.*s", n ? "_" : "", (int)length, op);
        op += length + (op[length] == ',');
    }
    snprintf(k->name, sizeof k->name, "k_%s_%s_%08x", ops, ip_dtype(k->outputs[k->n_outputs - 1]->dtype)->name,
             (unsigned)(ip_hash_text(7, text) >> 32));
}

/* In text @ stands where the name belongs. */
static char *with_name(const ip_kernel *k, const char *text)
{
    static const char place[] = "@";
    ip_str s = IP_STR_INIT;
    ip_str_printf(&s, "/* %s; schedule %s */\n", k->ops, ip_schedule_name(k->schedule));
    for (const char *at; (at = strstr(text, place)); text = at + strlen(place)) {
        ip_str_append_n(&s, text, (size_t)(at - text));
        ip_str_append(&s, k->name);
    }
    ip_str_append(&s, text);
    return ip_str_take(&s);
}

imgpar_status ip_pass_emit(ip_plan *plan, const ip_compile_options *options, ip_error *err)
{
    for (int i = 0; i < plan->n_kernels && !plan->ir->failed; i++) {
        ip_kernel *k = &plan->kernels[i];
        if (k->schedule == IP_SCHEDULE_OPAQUE) {
            ip_emit_opaque(plan, k);
            continue;
        }
        ip_emit e = { .ir = plan->ir, .kernel = k, .options = options, .helpers = k->helpers, .domain = k->domain };
        ip_str text = IP_STR_INIT;
        emit_kernel(&e, &text);
        k->args = e.args;
        k->helpers = e.helpers;
        name_kernel(k, ip_str_text(&text));
        k->source = with_name(k, ip_str_text(&text));
        plan->ir->failed |= text.failed || !k->source;
        ip_str_free(&text);
        ip_free(e.names);
        ip_free(e.trail);
        ip_free(e.uses);
    }
    return plan->ir->failed ? ip_fail_memory(err, "generating kernels") : IMGPAR_OK;
}

void ip_emit_let(ip_emit *e, const char *type, const char *name, const char *value)
{
    ip_s_add(e->ir, e->block, IP_S_LET, type, name, value);
}

void ip_emit_let_int(ip_emit *e, const char *name, const char *value) { ip_emit_let(e, "int", name, value); }

void ip_emit_let_at_top(ip_emit *e, const char *type, const char *name, const char *value)
{
    ip_s_add(e->ir, e->top, IP_S_LET, type, name, value);
}

void ip_emit_var(ip_emit *e, const char *type, const char *name, const char *value)
{
    ip_s_add(e->ir, e->block, IP_S_VAR, type, name, value);
}

void ip_emit_set(ip_emit *e, const char *place, const char *value)
{
    ip_s_add(e->ir, e->block, IP_S_STORE, place, value, NULL);
}

void ip_emit_do(ip_emit *e, const char *statement) { ip_s_add(e->ir, e->block, IP_S_STORE, statement, NULL, NULL); }

ip_stmt *ip_emit_if(ip_emit *e, const char *test) { return ip_s_add(e->ir, e->block, IP_S_IF, test, NULL, NULL); }

ip_stmt *ip_emit_for(ip_emit *e, const char *name, const char *from, const char *to)
{
    return ip_s_add(e->ir, e->block, IP_S_FOR, name, from, to);
}
