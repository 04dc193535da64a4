/* SPDX-License-Identifier: MIT */
/*
 * Reductions and histograms. Every work-item folds its strip into a partial result of its own,
 * and a second kernel, NAME_finish, combines those in the order of the work-items, so
 * the result is the same on every run.
 *
 * Note [Sums of floats]
 * A row is summed in blocks of BLOCK elements over LANES accumulators that are added pairwise; block
 * sums enter the work-item's total by Neumaier's compensated addition, as do the totals of
 * work-items. The error is that of adding BLOCK / LANES numbers, whatever the size of the image.
 *
 * Note [Sums of small integers]
 * Where a row of a panel cannot overflow 32 bits (it has at most 65536 columns, unless the kernel needs whole rows) it
 * is summed in 32 bits, which vectorises four times as wide, and enters the 64-bit total once. Bytes that stand side by
 * side are summed in 16 bits at first (ip_sum_bytes()).
 *
 * Note [Histograms]
 * A block of pixels at a time: one loop computes their bins, which vectorises (bytes that are bins stand there
 * already), another counts them, which cannot. Neighbouring pixels often fall into the same bin, and a counter cannot
 * be raised twice at once. So neighbours count in tables of their own (ip_histogram_tables() of them, few enough for
 * the first-level cache), which the work-item adds up at its end. Their counters a channel (ip_histogram_pitch()) are a
 * number in the program, so that a table costs no address of its own: a power of two and a line between tables, since a
 * processor takes addresses 4096 bytes apart for the same ones.
 */
#include "base/dtype.h"
#include "compile/emit_fold.h"

#include <math.h>

enum { LANES = 16, BLOCK = 2048, BINS_KEPT = 1536 };

static void line(ip_emit *e, const char *text) { ip_emit_do(e, text); }

const char *ip_fold_neutral(ip_emit *e, const ip_stage *s)
{
    const ip_dtype_facts *facts = ip_dtype(s->acc_dtype);
    if (s->reduce == IP_REDUCE_CUSTOM) return ip_emit_value(e, s->init);
    if (s->reduce == IP_REDUCE_SUM) return "0";
    bool is_min = s->reduce == IP_REDUCE_MIN;
    if (facts->is_float) return "NAN"; /* min(NaN, x) is x */
    if (s->acc_dtype == IMGPAR_U64) return is_min ? "18446744073709551615ul" : "0";
    if (s->acc_dtype == IMGPAR_I64) return is_min ? "9223372036854775807l" : "(-9223372036854775807l - 1)";
    return ip_emit_value(e, ip_x_number(e->ir, s->acc_dtype, is_min ? facts->maximum : facts->minimum));
}

/* acc combined with v, as an expression. A function's values are named anew each time, since acc and v are others. */
const char *ip_fold_combined(ip_emit *e, const ip_stage *s, const char *acc, const char *v)
{
    const char *type = ip_cl_type(s->acc_dtype);
    if (s->reduce == IP_REDUCE_SUM) return ip_text(e->ir, "%s + %s", acc, v);
    if (s->reduce == IP_REDUCE_CUSTOM) {
        e->acc[0] = acc;
        e->acc[1] = v;
        const ip_mark mark = ip_emit_enter(e, e->block);
        const char *text = ip_emit_value(e, s->combine);
        ip_emit_leave(e, mark);
        e->acc[0] = e->acc[1] = NULL;
        return text;
    }
    const bool is_min = s->reduce == IP_REDUCE_MIN;
    if (ip_dtype_is_float(s->acc_dtype)) return ip_emit_extreme(e, is_min, acc, v);
    return ip_text(e->ir, "%s(%s, (%s)%s)", is_min ? "min" : "max", acc, type, v);
}

bool ip_fold_sums_floats(const ip_stage *s)
{
    return s->kind == IP_STAGE_REDUCE && s->reduce == IP_REDUCE_SUM && ip_dtype_is_float(s->acc_dtype);
}

/* Names of a fold within its kernel, after its result's buffer. */
const char *ip_fold_named(ip_emit *e, const char *what, const ip_stage *s)
{
    return ip_text(e->ir, "%s_%s", what, ip_emit_buffer(e, s));
}

/* The partial results of all work-items, one after the other. */
void ip_fold_declare_partials(ip_emit *e, const ip_stage *s, const char *type)
{
    ip_emit_let(
        e, ip_text(e->ir, "__global %s *", type), ip_fold_named(e, "partial", s),
        ip_text(e->ir, "(__global %s *)(scratch + (long)%s * 64)", type, ip_emit_slot_of(e, IP_SLOT_PARTIAL, s)));
}

/* ip_histogram_pitch(), as text. */
static const char *pitch(ip_emit *e, const ip_stage *s)
{
    return ip_histogram_tables(e->kernel, s) > 1 ? ip_text(e->ir, "%lld", (long long)ip_histogram_pitch(e->kernel, s))
                                                 : ip_emit_dim(e, s, 2);
}

void ip_emit_fold_begin(ip_emit *e, const ip_stage *s)
{
    e->args.has_scratch = true;
    if (s->kind == IP_STAGE_BY_KEY) {
        ip_emit_by_key_begin(e, s);
        return;
    }
    if (s->kind == IP_STAGE_HISTOGRAM) {
        const char *counts = ip_fold_named(e, "counts", s);
        ip_fold_declare_partials(e, s, "uint");
        const char *cells = ip_text(e->ir, "%s * %d", pitch(e, s), (int)s->dims[1] * ip_histogram_tables(e->kernel, s));
        ip_emit_let_at_top(e, "__global uint *", counts,
                           ip_text(e->ir, "%s + item * %s", ip_fold_named(e, "partial", s), cells));
        ip_stmt *loop = ip_s_add(e->ir, e->top, IP_S_FOR, "k", "0", cells);
        ip_s_add(e->ir, loop, IP_S_STORE, ip_text(e->ir, "%s[k]", counts), "0", NULL);
        return;
    }
    ip_s_add(e->ir, e->top, IP_S_VAR, ip_cl_type(s->acc_dtype), ip_fold_named(e, "total", s), ip_fold_neutral(e, s));
    if (ip_fold_sums_floats(s))
        ip_s_add(e->ir, e->top, IP_S_VAR, ip_cl_type(s->acc_dtype), ip_fold_named(e, "lost", s), "0");
}

/* total, lost += v */
void ip_fold_add_compensated(ip_emit *e, const char *type, const char *total, const char *lost, const char *v)
{
    ip_emit_let(e, type, "next", ip_text(e->ir, "%s + %s", total, v));
    line(e, ip_text(e->ir, "%s += fabs(%s) >= fabs(%s) ? (%s - next) + %s : (%s - next) + %s", lost, total, v, total, v,
                    v, total));
    line(e, ip_text(e->ir, "%s = next", total));
}

/* What one step of the element loop computes: one value, or one a channel. */
static ip_channels enter_element(ip_emit *e, ip_expr *body, bool flat, const char *index, const char **values)
{
    ip_channels channels = { .n = 1, .bodies = { body } };
    e->flat = flat ? index : NULL;
    e->coord[2] = flat ? NULL : index;
    if (flat)
        ip_emit_count_uses(e, channels.bodies, 1);
    else
        channels = ip_emit_enter_channels(e, body);
    for (int c = 0; c < channels.n; c++)
        values[c] = ip_emit_value(e, channels.bodies[c]);
    return channels;
}

static void leave_element(ip_emit *e, const ip_channels *channels)
{
    if (!e->flat) ip_emit_leave_channels(e, channels);
    e->flat = NULL;
    e->coord[2] = NULL;
}

void ip_emit_kept_row(ip_emit *e, const ip_folded *kept, const char *name)
{
    const bool flat = kept->is_flat;
    const char *values[IP_WRITTEN_CHANNELS], *var = flat ? "i" : "x";
    const char *from = flat ? ip_text(e->ir, "q * %d", e->channels) : "q",
               *to = flat ? ip_text(e->ir, "end * %d", e->channels) : "end";
    ip_stmt *loop = ip_emit_for(e, var, from, to);
    loop->parallel = IP_INDEPENDENT;
    loop->vector_width = kept->width;
    ip_mark mark = ip_emit_enter(e, loop);
    ip_channels channels = enter_element(e, kept->body, flat, var, values);
    for (int c = 0; c < channels.n; c++) {
        const char *at = flat ? ip_text(e->ir, "i - q * %d", e->channels)
                              : ip_text(e->ir, "(x - q) * %d + %s", e->channels, ip_emit_channel_text(e, c));
        ip_emit_set(e, ip_text(e->ir, "%s[%s]", name, at), values[c]);
    }
    leave_element(e, &channels);
    ip_emit_leave(e, mark);
}

/* index: of the bin in the block; row: of counters (text). */
static void count_bin(ip_emit *e, const ip_stage *s, const char *index, const char *row, bool is_inside)
{
    ip_stmt *block = e->block;
    const char *bin = ip_text(e->ir, "bin[%s]", index), *bins = ip_emit_dim(e, s, 2);
    if (!is_inside)
        block = ip_s_add(e->ir, block, IP_S_IF, ip_text(e->ir, "%s >= 0 & %s < %s", bin, bin, bins), NULL, NULL);
    ip_s_add(e->ir, block, IP_S_STORE,
             ip_text(e->ir, "%s[%s * %s + %s]++", ip_fold_named(e, "counts", s), row, pitch(e, s), bin), NULL, NULL);
}

static void count_bins(ip_emit *e, const ip_stage *s, bool is_inside)
{
    int step = ip_histogram_tables(e->kernel, s) * e->channels;
    ip_emit_let_int(e, "n", ip_text(e->ir, "(end - q) * %d", e->channels));
    const char *whole = "0";
    if (e->channels <= IP_WRITTEN_CHANNELS) {
        whole = ip_text(e->ir, "n - n %% %d", step);
        ip_stmt *groups = ip_emit_for(e, "k", "0", whole);
        groups->d = ip_text(e->ir, "%d", step);
        ip_mark mark = ip_emit_enter(e, groups);
        for (int k = 0; k < step; k++)
            count_bin(e, s, ip_text(e->ir, "k + %d", k), ip_text(e->ir, "%d", k), is_inside);
        ip_emit_leave(e, mark);
    }
    ip_mark mark = ip_emit_enter(e, ip_emit_for(e, "k", whole, "n"));
    count_bin(e, s, "k", e->channels == 1 ? "0" : ip_text(e->ir, "(k %% %d)", e->channels), is_inside);
    ip_emit_leave(e, mark);
}

static void histogram_row(ip_emit *e, const ip_stage *s, const ip_fold_rows *fold, const char *xa, const char *xb)
{
    ip_expr *bin = fold->values.body;
    int pixels = e->channels > 0 && e->channels < BINS_KEPT ? BINS_KEPT / e->channels : 1;
    ip_stmt *blocks = ip_emit_for(e, "q", xa, xb);
    blocks->d = ip_text(e->ir, "%d", pixels);
    ip_mark mark = ip_emit_enter(e, blocks);
    ip_emit_let_int(e, "end", ip_text(e->ir, "min(q + %d, %s)", pixels, xb));
    ip_emit_prefetch(e, s->body, "q", "end");
    if (fold->values.stands) {
        ip_emit_let(e, "__global const uchar *", "bin",
                    ip_text(e->ir, "%s + (long)q * %d", ip_emit_row_pointer(e, bin), e->channels));
    } else {
        ip_emit_var(e, ip_cl_type(bin->dtype), ip_text(e->ir, "bin[%d]", pixels * e->channels), NULL);
        ip_emit_kept_row(e, &fold->values, "bin");
    }
    count_bins(e, s, fold->is_inside);
    ip_emit_leave(e, mark);
}

/* A loop over these columns; its variable. */
static const char *begin_columns(ip_emit *e, const ip_folded *of, const char *from, const char *to, ip_stmt **loop)
{
    const char *var = of->is_flat ? "i" : "x";
    *loop = of->is_flat ? ip_emit_for(e, var, ip_text(e->ir, "%s * %d", from, e->channels),
                                      ip_text(e->ir, "%s * %d", to, e->channels))
                        : ip_emit_for(e, var, from, to);
    (*loop)->parallel = IP_REDUCTION;
    (*loop)->vector_width = of->width;
    return var;
}

/* Folds these columns into target. */
static void fold_columns(ip_emit *e, const ip_stage *s, const ip_folded *of, const char *from, const char *to,
                         const char *target)
{
    const char *values[IP_WRITTEN_CHANNELS];
    ip_stmt *loop;
    const char *var = begin_columns(e, of, from, to, &loop);
    if (s->reduce == IP_REDUCE_CUSTOM) loop->parallel = IP_SERIAL;
    ip_mark mark = ip_emit_enter(e, loop);
    ip_channels channels = enter_element(e, of->body, of->is_flat, var, values);
    for (int k = 0; k < channels.n; k++)
        ip_emit_set(e, target, ip_fold_combined(e, s, target, values[k]));
    leave_element(e, &channels);
    ip_emit_leave(e, mark);
}

/* ---- the first element that counts ------------------------------------------------------------------ */

/*
 * Note [First of few]
 * Of elements that are a place where a test holds, and else the identity of MIN, most are the identity. So a block of
 * columns is tested first, in vectors of what the test compares: only where one passes are places looked at. A
 * block whose least place is not below the least so far is left out unread, whatever the order in which rows and panels
 * are walked. Which folds are such is told by folds.c.
 */

/* least = that of the first channel at a column */
static void declare_least(ip_emit *e, const ip_stage *s, const char *from)
{
    ip_emit_var(e, ip_cl_type(s->acc_dtype), "least", NULL);
    ip_mark mark = ip_emit_enter(e, ip_s_add(e->ir, e->block, IP_S_BLOCK, NULL, NULL, NULL));
    e->coord[2] = from;
    e->coord[3] = "0";
    ip_emit_set(e, "least", ip_emit_value(e, s->least_place));
    e->coord[2] = e->coord[3] = NULL;
    ip_emit_leave(e, mark);
}

static const char *const tests[] = { [1] = "uchar", [2] = "ushort", [4] = "uint", [8] = "ulong" };

/* any |= test */
static void test_columns(ip_emit *e, const ip_folded *test, const char *first, const char *end)
{
    const char *values[IP_WRITTEN_CHANNELS];
    ip_stmt *loop;
    ip_emit_var(e, tests[ip_dtype(test->body->arg[0]->dtype)->size_bytes], "any", "0");
    const char *var = begin_columns(e, test, first, end, &loop);
    ip_mark mark = ip_emit_enter(e, loop);
    ip_channels channels = enter_element(e, test->body, test->is_flat, var, values);
    for (int k = 0; k < channels.n; k++)
        ip_emit_set(e, "any", ip_text(e->ir, "any | %s", values[k]));
    leave_element(e, &channels);
    ip_emit_leave(e, mark);
}

static void least_of_row(ip_emit *e, const ip_stage *s, const ip_fold_rows *fold, const char *xa, const char *xb)
{
    const char *total = ip_fold_named(e, "total", s);
    ip_stmt *blocks = ip_emit_for(e, "q", xa, xb);
    blocks->d = ip_text(e->ir, "%d", e->channels < BLOCK ? BLOCK / e->channels : 1);
    blocks->parallel = IP_FEW;
    ip_mark in_row = ip_emit_enter(e, blocks);
    ip_emit_let_int(e, "end", ip_text(e->ir, "min(q + %s, %s)", blocks->d, xb));
    declare_least(e, s, "q");
    ip_emit_enter(e, ip_emit_if(e, ip_text(e->ir, "least < %s", total)));
    ip_emit_prefetch(e, s->body, "q", "end");
    test_columns(e, &fold->beside, "q", "end");
    ip_emit_enter(e, ip_emit_if(e, "any"));
    fold_columns(e, s, &fold->values, "q", "end", total);
    ip_emit_leave(e, in_row);
}

static void simple_row(ip_emit *e, const ip_stage *s, const ip_fold_rows *fold, const char *xa, const char *xb)
{
    const char *total = ip_fold_named(e, "total", s), *target = total, *from = xa, *to = xb;
    const bool is_small = fold->loop == IP_FOLD_SMALL;
    ip_expr *body = fold->values.body;
    if (is_small && fold->values.stands) {
        line(e,
             ip_text(e->ir, "%s += ip_sum_bytes(%s + (long)%s * %d, (%s - %s) * %d, %s)", total,
                     ip_emit_row_pointer(e, body), xa, e->channels, xb, xa, e->channels, ip_emit_prefetches(e, body)));
        return;
    }
    if (is_small) {
        target = "row";
        ip_emit_var(e, body->lo < 0 ? "int" : "uint", "row", "0");
    }
    ip_mark in_row = { e->block, e->n_trail, e->n_rows };
    if (e->kernel->n_folds == 1) { /* of several, all but the first find the row in the cache */
        int pixels = e->channels > 0 && e->channels < BLOCK ? BLOCK / e->channels : 1;
        ip_stmt *blocks = ip_emit_for(e, "q", xa, xb);
        blocks->d = ip_text(e->ir, "%d", pixels);
        blocks->parallel = IP_FEW;
        ip_emit_enter(e, blocks);
        ip_emit_let_int(e, "end", ip_text(e->ir, "min(q + %d, %s)", pixels, xb));
        ip_emit_prefetch(e, s->body, "q", "end");
        from = "q";
        to = "end";
    }
    fold_columns(e, s, &fold->values, from, to, target);
    ip_emit_leave(e, in_row);
    if (is_small) line(e, ip_text(e->ir, "%s += (%s)row", total, ip_cl_type(s->acc_dtype)));
}

/* Floats: Note [Sums of floats]. MIN and MAX use the lanes too, since their order is free. */
static void lanes_row(ip_emit *e, const ip_stage *s, const char *xa, const char *xb, bool flat)
{
    const char *type = ip_cl_type(s->acc_dtype), *values[IP_WRITTEN_CHANNELS];
    int step = flat || e->channels == 1 ? LANES : 1;
    const char *from = flat ? ip_text(e->ir, "%s * %d", xa, e->channels) : xa;
    const char *to = flat ? ip_text(e->ir, "%s * %d", xb, e->channels) : xb;
    ip_stmt *blocks = ip_emit_for(e, "i0", from, to);
    blocks->d = ip_text(e->ir, "%d", BLOCK);
    ip_mark in_block = ip_emit_enter(e, blocks);
    ip_emit_let_int(e, "i1", ip_text(e->ir, "min(i0 + %d, %s)", BLOCK, to));
    ip_emit_var(e, type, ip_text(e->ir, "lane[%d]", LANES), NULL);
    ip_emit_prefetch(e, s->body, ip_text(e->ir, flat ? "(i0 / %d)" : "i0", e->channels),
                     ip_text(e->ir, flat ? "(i1 / %d)" : "i1", e->channels));
    ip_stmt *init = ip_emit_for(e, "t", "0", ip_text(e->ir, "%d", LANES));
    ip_s_add(e->ir, init, IP_S_STORE, "lane[t]", ip_fold_neutral(e, s), NULL);
    ip_emit_let_int(e, "whole", ip_text(e->ir, "i1 - (i1 - i0) %% %d", step));
    for (int part = 0; part < 2; part++) { /* whole groups of lanes, then the rest */
        ip_stmt *groups = ip_emit_for(e, "q", part == 0 ? "i0" : "whole", part == 0 ? "whole" : "i1");
        groups->d = ip_text(e->ir, "%d", step);
        ip_mark in_group = ip_emit_enter(e, groups);
        ip_stmt *lanes = ip_emit_for(e, "t", "0", part == 0 ? ip_text(e->ir, "%d", step) : "i1 - q");
        if (part == 0 && step == LANES) {
            lanes->parallel = IP_INDEPENDENT;
            lanes->vector_width = s->acc_dtype == IMGPAR_F64 ? LANES / 2 : LANES;
        }
        ip_mark in_lanes = ip_emit_enter(e, lanes);
        const char *var = flat ? "i" : "x";
        ip_emit_let_int(e, var, "q + t");
        ip_channels channels = enter_element(e, s->body, flat, var, values);
        for (int c = 0; c < channels.n; c++)
            ip_emit_set(e, "lane[t]", ip_fold_combined(e, s, "lane[t]", values[c]));
        leave_element(e, &channels);
        ip_emit_leave(e, in_lanes);
        ip_emit_leave(e, in_group);
    }
    for (int half = LANES / 2; half > 0; half /= 2) {
        ip_stmt *pairs = ip_emit_for(e, "t", "0", ip_text(e->ir, "%d", half));
        ip_s_add(e->ir, pairs, IP_S_STORE, "lane[t]",
                 ip_fold_combined(e, s, "lane[t]", ip_text(e->ir, "lane[t + %d]", half)), NULL);
    }
    if (s->reduce == IP_REDUCE_SUM)
        ip_fold_add_compensated(e, type, ip_fold_named(e, "total", s), ip_fold_named(e, "lost", s), "lane[0]");
    else
        ip_emit_set(e, ip_fold_named(e, "total", s), ip_fold_combined(e, s, ip_fold_named(e, "total", s), "lane[0]"));
    ip_emit_leave(e, in_block);
}

void ip_emit_fold_row(ip_emit *e, const ip_placed *p, const char *xa, const char *xb)
{
    const ip_stage *s = p->stage;
    switch (p->fold->loop) {
    case IP_FOLD_BINS: histogram_row(e, s, p->fold, xa, xb); break;
    case IP_FOLD_KEYS: ip_emit_by_key_row(e, s, p->fold, xa, xb); break;
    case IP_FOLD_LANES: lanes_row(e, s, xa, xb, p->fold->values.is_flat); break;
    case IP_FOLD_FIRST: least_of_row(e, s, p->fold, xa, xb); break;
    default: simple_row(e, s, p->fold, xa, xb);
    }
}

/* All tables of a work-item into its first. */
static void add_tables(ip_emit *e, const ip_stage *s)
{
    const char *counts = ip_fold_named(e, "counts", s),
               *cells = ip_text(e->ir, "%s * %d", pitch(e, s), (int)s->dims[1]);
    ip_stmt *tables =
        ip_s_add(e->ir, e->top, IP_S_FOR, "t", "1", ip_text(e->ir, "%d", ip_histogram_tables(e->kernel, s)));
    ip_stmt *loop = ip_s_add(e->ir, tables, IP_S_FOR, "k", "0", cells);
    ip_s_add(e->ir, loop, IP_S_STORE, ip_text(e->ir, "%s[k] += %s[t * %s + k]", counts, counts, cells), NULL, NULL);
}

void ip_emit_fold_end(ip_emit *e, const ip_stage *s)
{
    if (s->kind == IP_STAGE_HISTOGRAM) {
        add_tables(e, s);
        return;
    }
    if (s->kind == IP_STAGE_BY_KEY) return;
    const char *partial = ip_fold_named(e, "partial", s), *total = ip_fold_named(e, "total", s);
    ip_fold_declare_partials(e, s, ip_cl_type(s->acc_dtype));
    if (ip_fold_sums_floats(s)) {
        ip_s_add(e->ir, e->top, IP_S_STORE, ip_text(e->ir, "%s[item * 2]", partial), total, NULL);
        ip_s_add(e->ir, e->top, IP_S_STORE, ip_text(e->ir, "%s[item * 2 + 1]", partial), ip_fold_named(e, "lost", s),
                 NULL);
    } else {
        ip_s_add(e->ir, e->top, IP_S_STORE, ip_text(e->ir, "%s[item]", partial), total, NULL);
    }
}

/* One work-item a bin. */
static void finish_histogram(ip_emit *e, const ip_stage *s)
{
    const char *bins = ip_emit_dim(e, s, 2), *items = ip_emit_slot(e, IP_SLOT_ITEMS);
    ip_fold_declare_partials(e, s, "uint");
    ip_emit_let_int(e, "bin", ip_emit_global_id(e, 0));
    ip_stmt *when = ip_emit_if(e, ip_text(e->ir, "bin < %s * %d", bins, (int)s->dims[1]));
    ip_s_add(e->ir, when, IP_S_VAR, "uint", "count", "0");
    ip_stmt *loop = ip_s_add(e->ir, when, IP_S_FOR, "k", "0", items);
    ip_s_add(e->ir, loop, IP_S_STORE,
             ip_text(e->ir, "count += %s[(long)k * %d * %s + bin + bin / %s * (%s - %s)]",
                     ip_fold_named(e, "partial", s), (int)s->dims[1] * ip_histogram_tables(e->kernel, s), pitch(e, s),
                     bins, pitch(e, s), bins),
             NULL, NULL);
    ip_s_add(e->ir, when, IP_S_STORE, ip_text(e->ir, "%s[bin]", ip_emit_buffer(e, s)), "count", NULL);
}

void ip_fold_store_result(ip_emit *e, const ip_stage *s, const char *total, const char *lost)
{
    /* NaN as a total means that nothing but NaN was seen, or inf - inf in the compensation: then the plain sum. */
    if (ip_fold_sums_floats(s)) {
        const char *sum = ip_fold_named(e, "sum", s);
        ip_emit_let(e, ip_cl_type(s->acc_dtype), sum,
                    ip_text(e->ir, "isfinite(%s) ? %s + %s : %s", total, total, lost, total));
        total = sum;
    }
    e->acc[0] = total;
    ip_emit_count_uses(e, (ip_expr *[]){ s->finish }, 1);
    ip_emit_store(e, s, ip_emit_buffer(e, s), "0", ip_emit_value(e, s->finish));
    e->acc[0] = NULL;
}

/* One work-item in all. */
static void finish_reduction(ip_emit *e, const ip_stage *s)
{
    const char *type = ip_cl_type(s->acc_dtype), *items = ip_emit_slot(e, IP_SLOT_ITEMS);
    const char *partial = ip_fold_named(e, "partial", s), *total = ip_fold_named(e, "total", s),
               *lost = ip_fold_named(e, "lost", s);
    ip_mark outer = ip_emit_enter(e, ip_emit_if(e, ip_text(e->ir, "%s == 0", ip_emit_global_id(e, 0))));
    ip_fold_declare_partials(e, s, type);
    ip_emit_var(e, type, total, ip_fold_neutral(e, s));
    if (ip_fold_sums_floats(s)) ip_emit_var(e, type, lost, "0");
    ip_stmt *loop = ip_emit_for(e, "k", "0", items);
    ip_mark mark = ip_emit_enter(e, loop);
    ip_emit_let(e, type, "v", ip_text(e->ir, ip_fold_sums_floats(s) ? "%s[k * 2]" : "%s[k]", partial));
    if (ip_fold_sums_floats(s)) {
        ip_fold_add_compensated(e, type, total, lost, "v");
        line(e, ip_text(e->ir, "%s += %s[k * 2 + 1]", lost, partial));
    } else {
        ip_emit_set(e, total, ip_fold_combined(e, s, total, "v"));
    }
    ip_emit_leave(e, mark);
    ip_fold_store_result(e, s, total, lost);
    ip_emit_leave(e, outer);
}

/* Work-items (i, k): element i of the kernel's k-th fold. */
void ip_emit_finish(ip_emit *e)
{
    const ip_kernel *k = e->kernel;
    int fold = 0;
    if (k->schedule == IP_SCHEDULE_TILES) {
        ip_emit_group_memory(e, k->tiling.group_width * k->tiling.group_height * 2 * (int)sizeof(int64_t));
        ip_emit_let_at_top(e, "int", "lane", "get_local_id(0)");
    }
    for (int i = 0; i < k->n_outputs; i++) {
        const ip_stage *s = k->outputs[i];
        if (s->kind == IP_STAGE_MAP) continue;
        if (s->init) ip_emit_uniforms(e, s->init);
        ip_mark mark =
            ip_emit_enter(e, ip_s_add(e->ir, e->top, IP_S_IF,
                                      ip_text(e->ir, "%s == %d", ip_emit_global_id(e, 1), fold++), NULL, NULL));
        if (s->kind == IP_STAGE_BY_KEY)
            ip_emit_by_key_results(e, s);
        else if (s->kind == IP_STAGE_HISTOGRAM)
            finish_histogram(e, s);
        else if (k->schedule == IP_SCHEDULE_TILES)
            ip_emit_group_finish(e, s);
        else
            finish_reduction(e, s);
        ip_emit_leave(e, mark);
    }
}
