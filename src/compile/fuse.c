/* SPDX-License-Identifier: MIT */
/*
 * Fusion: stages become kernels. Going from the results towards the sources, a stage
 * joins the kernel of its readers when that saves memory traffic at a fair price:
 *
 *   1. All its readers are in one kernel. (Otherwise its value must be in memory anyway, or be
 *      computed twice.)
 *   2. It has the kernel's depth, height and width, and is read at constant offsets, so that a
 *      few rows of it suffice. (A gather may want any row.)
 *   3. Every reader's border can be served from those rows (place.c, Note [Reading near edges]).
 *   4. The rows that all stages keep stay in the cache (RING_BYTES a work-item), and the rows computed
 *      twice at the strips' seams stay few against the strip (HALO_ROWS). Beyond that, writing the value
 *      to memory and reading it back costs less than computing its halo again.
 *   5. The kernel stays of a size that compiles fast (MAX_STAGES).
 *
 * Reductions and histograms end a kernel, since all of their input must be seen first. Every
 * refusal leaves its reason with the kernel, for --explain.
 */
#include "base/alloc.h"
#include "base/dtype.h"
#include "compile/passes.h"
#include "graph/array.h"

#include <stdio.h>
#include <string.h>

enum { RING_BYTES = 4 << 20, HALO_ROWS = 256, MAX_STAGES = 32 };

typedef struct fusing {
    ip_plan *plan;
    const ip_compile_options *options;
    ip_schedule schedule;    /* what AUTO means here */
    int *kernel_of;          /* by stage id: the kernel computing it, -1: none */
    ip_stage **reader;       /* by stage id: one reader */
    unsigned char *is_live, *has_two_kernels, *reads_gather, *is_other_node;
    ip_stage *visiting;
} fusing;

static const int64_t *domain_of(const ip_stage *s) { return s->kind == IP_STAGE_MAP ? s->dims : s->over; }

static void note_source(ip_expr *load, void *user)
{
    fusing *f = user;
    ip_stage *p = load->source, *reader = f->visiting;
    f->is_live[p->id] = 1;
    if (f->reader[p->id] && f->kernel_of[f->reader[p->id]->id] != f->kernel_of[reader->id])
        f->has_two_kernels[p->id] = 1;
    f->reader[p->id] = reader;
    if (reader->node != p->node)
        f->is_other_node[p->id] = 1;
    if (!ip_load_reach(f->plan->ir, load, domain_of(reader)).is_local)
        f->reads_gather[p->id] = 1;
}

static size_t ring_bytes(const ip_kernel *kernel)
{
    size_t total = 0;
    for (int k = 0; k < kernel->n_placed; k++) {
        const ip_placed *p = &kernel->placed[k];
        if (p->place == IP_PLACE_RING)
            total += (size_t)p->rows * (size_t)(p->stage->dims[2] + 2 * p->pad) * (size_t)p->stage->dims[3]
                * ip_dtype(p->stage->dtype)->size_bytes;
    }
    return total;
}

static bool add_stage(ip_kernel *kernel, ip_stage *stage)
{
    ip_stage **stages = ip_realloc_array(kernel->stages, (size_t)kernel->n_stages + 1, sizeof *stages);
    if (!stages)
        return false;
    kernel->stages = stages;
    memmove(stages + 1, stages, (size_t)kernel->n_stages * sizeof *stages);
    stages[0] = stage; /* ids fall while we go, so the list stays in order */
    kernel->n_stages++;
    return true;
}

static void remove_first_stage(ip_kernel *kernel)
{
    kernel->n_stages--;
    memmove(kernel->stages, kernel->stages + 1, (size_t)kernel->n_stages * sizeof *kernel->stages);
}

/* Bodies before a trial placement, which rewrites loads to read copies. */
static bool try_join(fusing *f, ip_kernel *kernel, ip_stage *stage, const char **why)
{
    ip_expr *bodies[MAX_STAGES + 1];
    if (!add_stage(kernel, stage)) {
        f->plan->ir->failed = true;
        return false;
    }
    for (int k = 0; k < kernel->n_stages; k++)
        bodies[k] = kernel->stages[k]->body;
    int n_before = f->plan->ir->n_stages;
    bool fits = ip_place_rows(f->plan, kernel, why);
    if (fits && ring_bytes(kernel) > RING_BYTES) {
        *why = "its rows would not stay in the cache";
        fits = false;
    }
    if (fits && ip_kernel_halo(kernel) > HALO_ROWS) {
        *why = "too many rows would be computed twice at the seams of strips";
        fits = false;
    }
    for (int k = 0; k < kernel->n_stages; k++)
        kernel->stages[k]->body = bodies[k];
    f->plan->ir->n_stages = n_before; /* trial copies go; their memory is the arena's */
    if (!fits)
        remove_first_stage(kernel);
    return fits;
}

/* The kernel that stage p may join, or NULL with the reason. */
static ip_kernel *joinable(fusing *f, ip_stage *p, const char **why)
{
    *why = "";
    if (p->is_output) {
        *why = f->reader[p->id] ? "its value is asked for" : "";
        return NULL;
    }
    ip_stage *reader = f->reader[p->id];
    ip_kernel *kernel = &f->plan->kernels[f->kernel_of[reader->id]];
    if (p->kind != IP_STAGE_MAP) {
        *why = p->kind == IP_STAGE_SCAN ? "a recurrence walks whole lines before a reader can start"
                                         : "all of its input must be seen before a reader can start";
        return NULL;
    }
    if (!f->options->fuse && f->is_other_node[p->id]) {
        *why = "fusion is switched off";
        return NULL;
    }
    if (f->has_two_kernels[p->id]) {
        *why = "several kernels read it";
        return NULL;
    }
    if (kernel->is_scan) {
        *why = "a recurrence reads it, which keeps no neighbours";
        return NULL;
    }
    if (kernel->schedule != IP_SCHEDULE_ROWS) {
        *why = "the pixels schedule keeps no neighbours";
        return NULL;
    }
    if (memcmp(p->dims, kernel->domain, 3 * sizeof p->dims[0]) != 0) {
        *why = "its reader has another size";
        return NULL;
    }
    if (f->reads_gather[p->id]) {
        *why = "it is read at computed places";
        return NULL;
    }
    if (kernel->n_stages >= MAX_STAGES) {
        *why = "the kernel has enough stages";
        return NULL;
    }
    return try_join(f, kernel, p, why) ? kernel : NULL;
}

static ip_kernel *new_kernel(fusing *f, ip_stage *root)
{
    ip_plan *plan = f->plan;
    ip_kernel *kernels = ip_realloc_array(plan->kernels, (size_t)plan->n_kernels + 1, sizeof *kernels);
    if (!kernels) {
        plan->ir->failed = true;
        return NULL;
    }
    plan->kernels = kernels;
    ip_kernel *k = &kernels[plan->n_kernels];
    memset(k, 0, sizeof *k);
    plan->n_kernels++;
    k->is_fold = root->kind == IP_STAGE_REDUCE || root->kind == IP_STAGE_HISTOGRAM;
    k->is_scan = root->kind == IP_STAGE_SCAN;
    k->schedule = k->is_scan ? IP_SCHEDULE_ROWS : f->schedule; /* lines are walked the same way everywhere */
    memcpy(k->domain, domain_of(root), sizeof k->domain);
    if (!add_stage(k, root))
        plan->ir->failed = true;
    return k;
}

/* Asking for a schedule that is not made yet, or not for this kind of stage. */
static void note_fallback(fusing *f, ip_kernel *k)
{
    ip_schedule wanted = f->options->schedule;
    if (k->is_scan && wanted != IP_SCHEDULE_AUTO && wanted != IP_SCHEDULE_ROWS)
        snprintf(k->fallback, sizeof k->fallback, "schedule %s is not offered for a recurrence; it walks its lines", ip_schedule_name(wanted));
    else if (wanted == IP_SCHEDULE_TILES || wanted == IP_SCHEDULE_TEXTURE)
        snprintf(k->fallback, sizeof k->fallback, "schedule %s is not offered for this kernel; pixels is used",
                 ip_schedule_name(wanted));
}

/* Every node computed in the kernel, in order, hidden helpers aside. */
static void list_node(ip_kernel *k, size_t *used, const imgpar_array *node, const imgpar_array **last)
{
    if (!node || node == *last || !node->op || *used >= sizeof k->ops || node->op->flags & IP_OP_HIDDEN)
        return;
    *used += (size_t)snprintf(k->ops + *used, sizeof k->ops - *used, "%s%s", *used ? "," : "", node->op->info.name);
    *last = node;
}

static void list_ops(ip_kernel *k)
{
    size_t used = 0;
    const imgpar_array *last = NULL;
    for (int s = 0; s < k->n_stages; s++) {
        for (int i = 0; i < k->stages[s]->n_absorbed; i++)
            list_node(k, &used, k->stages[s]->absorbed[i], &last);
        list_node(k, &used, k->stages[s]->node, &last);
    }
}

/* Kernels were made from the results backwards: turn them round, and renumber nothing else. */
static void reverse_kernels(ip_plan *plan)
{
    for (int a = 0, b = plan->n_kernels - 1; a < b; a++, b--) {
        ip_kernel t = plan->kernels[a];
        plan->kernels[a] = plan->kernels[b];
        plan->kernels[b] = t;
    }
}

static void fuse_all(fusing *f)
{
    ip_ir *ir = f->plan->ir;
    for (int id = ir->n_stages - 1; id >= 0 && !ir->failed; id--) {
        ip_stage *s = ir->stages[id];
        if (!ip_stage_computes(s) || !(f->is_live[id] || s->is_output))
            continue;
        const char *why;
        ip_kernel *k = joinable(f, s, &why);
        if (!k) {
            k = new_kernel(f, s);
            if (!k)
                return;
            snprintf(k->reason, sizeof k->reason, "%s", why);
            note_fallback(f, k);
        }
        f->kernel_of[id] = (int)(k - f->plan->kernels);
        f->visiting = s;
        ip_stage_each_load(ir, s, note_source, f);
    }
}

static ip_schedule default_schedule(const ip_compile_options *options)
{
    if (options->schedule == IP_SCHEDULE_ROWS)
        return IP_SCHEDULE_ROWS;
    if (options->schedule == IP_SCHEDULE_AUTO)
        return options->is_cpu ? IP_SCHEDULE_ROWS : IP_SCHEDULE_PIXELS;
    return IP_SCHEDULE_PIXELS;
}

imgpar_status ip_pass_fuse(ip_plan *plan, const ip_compile_options *options, ip_error *err)
{
    ip_ir *ir = plan->ir;
    size_t n = (size_t)ir->n_stages + 1;
    fusing f = { .plan = plan, .options = options, .schedule = default_schedule(options) };
    f.kernel_of = ip_alloc_array(n, sizeof(int));
    f.reader = ip_zalloc(n * sizeof *f.reader);
    unsigned char *flags = ip_zalloc(n * 4);
    if (f.kernel_of && f.reader && flags) {
        f.is_live = flags;
        f.has_two_kernels = flags + n;
        f.reads_gather = flags + 2 * n;
        f.is_other_node = flags + 3 * n;
        memset(f.kernel_of, -1, n * sizeof(int));
        fuse_all(&f);
    } else {
        ir->failed = true;
    }
    ip_free(f.kernel_of);
    ip_free(f.reader);
    ip_free(flags);
    if (ir->failed)
        return ip_fail_memory(err, "compiling");
    reverse_kernels(plan);
    for (int k = 0; k < plan->n_kernels; k++) {
        ip_kernel *kernel = &plan->kernels[k];
        const char *why = "";
        list_ops(kernel);
        if (!kernel->is_scan && (kernel->schedule == IP_SCHEDULE_ROWS || kernel->is_fold) && !ip_place_rows(plan, kernel, &why) && !ir->failed)
            return ip_fail(err, IMGPAR_E_INTERNAL, "internal: kernel %s does not fit its schedule: %s", kernel->ops, why);
    }
    return ir->failed ? ip_fail_memory(err, "compiling") : IMGPAR_OK;
}
