/* SPDX-License-Identifier: MIT */
/*
 * Reductions and histograms of work-groups: each group walks some tiles and leaves one partial result, a second kernel,
 * NAME_finish, combines those with one group.
 *
 * Note [Trees]
 * Every work-item folds its elements into a total of its own; the totals of a group meet in local memory, half as many
 * in each step. The order depends on the sizes alone, so a result is the same on every run. Integers, whose order does
 * not matter, take sub-group steps where the device has them (ip_group_add_long() and others in shaders/helpers.cl);
 * sums of floats would depend on the width of its sub-groups.
 *
 * Note [Counting in a group]
 * A group counts in local memory with atomic additions. Neighbouring pixels often fall into the same bin, so
 * neighbouring work-items count in different copies of the table where there is room for several.
 */
#include "base/dtype.h"
#include "compile/emit_fold.h"

static int group_items(const ip_emit *e) { return e->kernel->tiling.group_width * e->kernel->tiling.group_height; }

static void line(ip_emit *e, const char *text) { ip_emit_do(e, text); }
static void barrier(ip_emit *e) { ip_s_add(e->ir, e->block, IP_S_BARRIER, "LOCAL", NULL, NULL); }

/* ---- before and within tiles ---------------------------------------------------------- */

void ip_emit_group_fold_begin(ip_emit *e, const ip_placed *p)
{
    const ip_stage *s = p->stage;
    e->args.has_scratch = true;
    if (s->kind == IP_STAGE_HISTOGRAM) {
        const char *counts = ip_fold_named(e, "counts", s);
        ip_emit_let(e, "__local uint *", counts, ip_text(e->ir, "(__local uint *)memory + %d", p->offset / 4));
        ip_stmt *loop = ip_emit_for(e, "k", "lane", ip_text(e->ir, "%d", (int)ip_histogram_cells(s) * p->copies));
        loop->d = ip_text(e->ir, "%d", group_items(e));
        ip_s_add(e->ir, loop, IP_S_STORE, ip_text(e->ir, "%s[k]", counts), "0", NULL);
        return;
    }
    ip_emit_var(e, ip_cl_type(s->acc_dtype), ip_fold_named(e, "total", s), ip_fold_neutral(e, s));
    if (ip_fold_sums_floats(s)) ip_emit_var(e, ip_cl_type(s->acc_dtype), ip_fold_named(e, "lost", s), "0");
}

/* A few elements a tile are added plainly, the tile's sum with compensation. */
void ip_emit_group_fold_tile(ip_emit *e, const ip_placed *p)
{
    if (ip_fold_sums_floats(p->stage)) ip_emit_var(e, ip_cl_type(p->stage->acc_dtype), "sum", "0");
}

void ip_emit_group_fold_tile_end(ip_emit *e, const ip_placed *p)
{
    const ip_stage *s = p->stage;
    if (ip_fold_sums_floats(s))
        ip_fold_add_compensated(e, ip_cl_type(s->acc_dtype), ip_fold_named(e, "total", s), ip_fold_named(e, "lost", s),
                                "sum");
}

static void count(ip_emit *e, const ip_placed *p, const char *value, int channel)
{
    const ip_stage *s = p->stage;
    const char *bins = ip_emit_dim(e, s, 2), *bin = ip_text(e->ir, "bin%d", channel);
    ip_emit_let_int(e, bin, value);
    const char *copy = p->copies > 1 ? ip_text(e->ir, "lane %% %d * %d + ", p->copies, (int)ip_histogram_cells(s)) : "";
    ip_stmt *when = ip_emit_if(e, ip_text(e->ir, "%s >= 0 & %s < %s", bin, bin, bins));
    ip_s_add(e->ir, when, IP_S_STORE,
             ip_text(e->ir, "atomic_inc(%s + %s%s * %s + %s)", ip_fold_named(e, "counts", s), copy,
                     ip_emit_channel_text(e, channel), bins, bin),
             NULL, NULL);
}

void ip_emit_group_fold_element(ip_emit *e, const ip_placed *p, const char *const *values, int n)
{
    const ip_stage *s = p->stage;
    const char *target = ip_fold_sums_floats(s) ? "sum" : ip_fold_named(e, "total", s);
    for (int c = 0; c < n; c++) {
        if (s->kind == IP_STAGE_HISTOGRAM)
            count(e, p, values[c], c);
        else
            ip_emit_set(e, target, ip_fold_combined(e, s, target, values[c]));
    }
}

/* ---- after them -------------------------------------------------------------------------- */

/* The type in which the totals of an integer fold meet; NULL: their order matters, or the user's function folds
 * them. */
static const char *any_order(const ip_stage *s)
{
    if (ip_dtype(s->acc_dtype)->is_float || s->reduce == IP_REDUCE_CUSTOM) return NULL;
    return ip_dtype(s->acc_dtype)->size_bytes < 4 ? "int" : ip_cl_type(s->acc_dtype);
}

/* The totals of all work-items into element 0 of the tree; what they have lost stands behind them. */
static const char *fold_tree(ip_emit *e, const ip_stage *s)
{
    static const char *const names[] = { [IP_REDUCE_SUM] = "add", [IP_REDUCE_MIN] = "min", [IP_REDUCE_MAX] = "max" };
    const char *type = any_order(s) ? any_order(s) : ip_cl_type(s->acc_dtype), *tree = ip_fold_named(e, "tree", s);
    bool floats = ip_fold_sums_floats(s);
    int items = group_items(e);
    const char *own = ip_text(e->ir, "%s[lane]", tree), *own_lost = ip_text(e->ir, "%s[lane + %d]", tree, items);
    ip_emit_let(e, ip_text(e->ir, "__local %s *", type), tree, ip_text(e->ir, "(__local %s *)memory", type));
    barrier(e); /* whoever reads a tile there has done so */
    if (any_order(s)) {
        line(e, ip_text(e->ir, "ip_group_%s_%s(%s, %s, lane, %d)", names[s->reduce], type, tree,
                        ip_fold_named(e, "total", s), items));
        return tree;
    }
    ip_emit_set(e, own, ip_fold_named(e, "total", s));
    if (floats) ip_emit_set(e, own_lost, ip_fold_named(e, "lost", s));
    barrier(e);
    for (int n = items / 2; n > 0; n /= 2) {
        ip_mark mark = ip_emit_enter(e, ip_emit_if(e, ip_text(e->ir, "lane < %d", n)));
        const char *other = ip_text(e->ir, "%s[lane + %d]", tree, n);
        if (floats) {
            ip_fold_add_compensated(e, type, own, own_lost, other);
            line(e, ip_text(e->ir, "%s += %s[lane + %d]", own_lost, tree, items + n));
        } else {
            ip_emit_set(e, own, ip_fold_combined(e, s, own, other));
        }
        ip_emit_leave(e, mark);
        barrier(e);
    }
    return tree;
}

static void store_counts(ip_emit *e, const ip_placed *p)
{
    const ip_stage *s = p->stage;
    const char *counts = ip_fold_named(e, "counts", s),
               *cells = ip_text(e->ir, "%s * %d", ip_emit_dim(e, s, 2), (int)s->dims[1]);
    barrier(e);
    ip_fold_declare_partials(e, s, "uint");
    ip_stmt *loop = ip_emit_for(e, "k", "lane", cells);
    loop->d = ip_text(e->ir, "%d", group_items(e));
    const char *sum = ip_text(e->ir, "%s[k]", counts);
    for (int copy = 1; copy < p->copies; copy++)
        sum = ip_text(e->ir, "%s + %s[k + %d]", sum, counts, copy * (int)ip_histogram_cells(s));
    ip_s_add(e->ir, loop, IP_S_STORE, ip_text(e->ir, "%s[item * %s + k]", ip_fold_named(e, "partial", s), cells), sum,
             NULL);
}

void ip_emit_group_fold_end(ip_emit *e, const ip_placed *p)
{
    const ip_stage *s = p->stage;
    if (s->kind == IP_STAGE_HISTOGRAM) {
        store_counts(e, p);
        return;
    }
    const char *tree = fold_tree(e, s), *partial = ip_fold_named(e, "partial", s);
    ip_fold_declare_partials(e, s, ip_cl_type(s->acc_dtype));
    ip_stmt *when = ip_emit_if(e, "lane == 0");
    bool floats = ip_fold_sums_floats(s);
    ip_s_add(e->ir, when, IP_S_STORE, ip_text(e->ir, floats ? "%s[item * 2]" : "%s[item]", partial),
             ip_text(e->ir, "%s[0]", tree), NULL);
    if (floats)
        ip_s_add(e->ir, when, IP_S_STORE, ip_text(e->ir, "%s[item * 2 + 1]", partial),
                 ip_text(e->ir, "%s[%d]", tree, group_items(e)), NULL);
}

void ip_emit_group_finish(ip_emit *e, const ip_stage *s)
{
    const char *type = ip_cl_type(s->acc_dtype), *partial = ip_fold_named(e, "partial", s);
    const char *total = ip_fold_named(e, "total", s), *lost = ip_fold_named(e, "lost", s);
    bool floats = ip_fold_sums_floats(s);
    ip_mark in_group = ip_emit_enter(e, ip_emit_if(e, "get_group_id(0) == 0"));
    ip_fold_declare_partials(e, s, type);
    ip_emit_var(e, type, total, ip_fold_neutral(e, s));
    if (floats) ip_emit_var(e, type, lost, "0");
    ip_stmt *loop = ip_emit_for(e, "k", "lane", ip_emit_slot(e, IP_SLOT_ITEMS));
    loop->d = ip_text(e->ir, "%d", group_items(e));
    ip_mark mark = ip_emit_enter(e, loop);
    if (floats) {
        ip_fold_add_compensated(e, type, total, lost, ip_text(e->ir, "%s[k * 2]", partial));
        line(e, ip_text(e->ir, "%s += %s[k * 2 + 1]", lost, partial));
    } else {
        ip_emit_set(e, total, ip_fold_combined(e, s, total, ip_text(e->ir, "%s[k]", partial)));
    }
    ip_emit_leave(e, mark);
    const char *tree = fold_tree(e, s);
    mark = ip_emit_enter(e, ip_emit_if(e, "lane == 0"));
    ip_fold_store_result(e, s, ip_text(e->ir, "%s[0]", tree), ip_text(e->ir, "%s[%d]", tree, group_items(e)));
    ip_emit_leave(e, mark);
    ip_emit_leave(e, in_group);
}
