/* SPDX-License-Identifier: MIT */
/*
 * Folds by keys: by_key.c, Note [Folds by keys]. A block of elements at a time: one loop computes their keys, another
 * one their values, which vectorise; what stands in memory already is read there. Then each value is joined to its
 * key's in a table of partial results, one value after the other, as ops/scatter.h promises. NAME_finish joins the
 * tables in their order.
 */
#include "base/dtype.h"
#include "compile/emit_fold.h"

enum { PIXELS = 512, FEW_KEYS = 32 };

/* What is joined: sums of integers wrap, as unsigned ones. */
static const char *type_of(const ip_stage *s)
{
    return s->reduce == IP_REDUCE_SUM && !ip_dtype(s->acc_dtype)->is_float ? "ulong" : ip_cl_type(s->acc_dtype);
}

/* As shaders/scatter.cl joins: NaN yields, and of two zeros the first one stays. */
static const char *joined(ip_emit *e, const ip_stage *s, const char *a, const char *b)
{
    const char *symbol = s->reduce == IP_REDUCE_MIN ? "<" : ">";
    if (s->reduce == IP_REDUCE_SUM) return ip_text(e->ir, "%s + %s", a, b);
    if (!ip_dtype(s->acc_dtype)->is_float) return ip_text(e->ir, "%s %s %s ? %s : %s", b, symbol, a, b, a);
    return ip_text(e->ir, "(%s != %s) | (%s %s %s) ? %s : %s", a, a, b, symbol, a, b, a);
}

/* Elements of a table. */
static const char *cells_of(ip_emit *e, const ip_stage *s)
{
    return ip_text_times(e->ir, ip_emit_value(e, s->keys), ip_by_key_pitch(s));
}

/* tables = those from number `first` on, text. */
static void declare_tables(ip_emit *e, const ip_stage *s, const char *first)
{
    const char *type = ip_text(e->ir, "__global %s *", type_of(s));
    ip_emit_let(e, type, "tables",
                ip_text(e->ir, "%s + (long)(%s) * (%s)", ip_fold_named(e, "partial", s), first, cells_of(e, s)));
}

/* Clears the tables of a strip. */
void ip_emit_by_key_begin(ip_emit *e, const ip_stage *s)
{
    const int block = s->block;
    const bool in_panels = ip_kernel_walks_panels(e->kernel);
    const char *left = in_panels ? "left" : "xa", *right = in_panels ? "right" : "xb";
    ip_fold_declare_partials(e, s, type_of(s));
    ip_mark mark = ip_emit_enter(e, ip_s_add(e->ir, e->top, IP_S_BLOCK, NULL, NULL, NULL));
    declare_tables(e, s, block ? ip_text(e->ir, "%s / %d", left, block) : "item");
    const char *n = block ? ip_text(e->ir, "(%s - %s + %d) / %d * (%s)", right, left, block - 1, block, cells_of(e, s))
                          : cells_of(e, s);
    ip_stmt *loop = ip_emit_for(e, "k", "0", n);
    ip_s_add(e->ir, loop, IP_S_STORE, "tables[k]", ip_fold_neutral(e, s), NULL);
    ip_emit_leave(e, mark);
}

/* Where elements q..end are: those of column q first. */
static void declare_row(ip_emit *e, const ip_folded *of, const char *name, int channels)
{
    const int others = e->channels;
    const char *type = ip_cl_type(of->body->dtype);
    e->channels = channels;
    if (of->stands) {
        ip_emit_let(e, ip_text(e->ir, "__global const %s *", type), name,
                    ip_text(e->ir, "%s + (long)q * %d", ip_emit_row_pointer(e, of->body), channels));
    } else {
        ip_emit_var(e, type, ip_text(e->ir, "%s[%d]", name, PIXELS * channels), NULL);
        ip_emit_kept_row(e, of, name);
    }
    e->channels = others;
}

/* A step's keys and values, as they are read. */
typedef struct step {
    const ip_stage *fold;
    ip_expr *value, *key;
    bool is_inside;    /* every key is one */
    bool is_in_buffer; /* values are read where they stand */
} step;

static void enter_inside(ip_emit *e, const step *s)
{
    const char *keys = ip_emit_value(e, s->fold->keys);
    if (!s->is_inside) ip_emit_enter(e, ip_emit_if(e, ip_text(e->ir, "(uint)row < (uint)%s", keys)));
}

static bool is_one_value(const step *s) { return !(s->value->uses & IP_USES_COORDS); }

/* Joins elements from..to of the step, one after the other. */
static void join_values(ip_emit *e, const step *s, const char *from, const char *to)
{
    const int channels = (int)s->fold->over[3], pitch = ip_by_key_pitch(s->fold);
    const char *type = type_of(s->fold);
    ip_mark mark = ip_emit_enter(e, ip_emit_for(e, "k", from, to));
    ip_emit_let_int(e, "row", "key[k]");
    enter_inside(e, s);
    for (int c = 0; c < channels; c++) {
        const char *cell = channels == 1 ? "tables[row]" : ip_text(e->ir, "tables[row * %d + %d]", pitch, c),
                   *value = is_one_value(s) ? ip_emit_value(e, s->value)
                            : channels == 1 ? "value[k]"
                                            : ip_text(e->ir, "value[k * %d + %d]", channels, c);
        ip_emit_set(e, cell, joined(e, s->fold, cell, ip_text(e->ir, "(%s)%s", type, value)));
    }
    ip_emit_leave(e, mark);
}

/* The same, all channels of an element at once; of three with a fourth lane that nobody reads: what stands behind an
 * element is added to it, so the step's last one is joined by itself. */
static void join_vectors(ip_emit *e, const step *s)
{
    const int channels = (int)s->fold->over[3], pitch = ip_by_key_pitch(s->fold);
    const int size = (int)ip_dtype(s->fold->acc_dtype)->size_bytes;
    const char *type = ip_text(e->ir, "%s%d", type_of(s->fold), pitch), *space = s->is_in_buffer ? "__global " : "";
    ip_emit_do(e, ip_text(e->ir, "typedef %s __attribute__((aligned(%d))) channels", type, size));
    ip_emit_let(e, ip_text(e->ir, "__global %s *", type), "rows", ip_text(e->ir, "(__global %s *)tables", type));
    ip_mark mark = ip_emit_enter(e, ip_emit_for(e, "k", "0", "end - q - 1"));
    ip_emit_let_int(e, "row", "key[k]");
    enter_inside(e, s);
    ip_emit_set(e, "rows[row]", ip_text(e->ir, "rows[row] + *(%sconst channels *)(value + k * %d)", space, channels));
    ip_emit_leave(e, mark);
    join_values(e, s, "end - q - 1", "end - q");
}

/*
 * Of few keys it takes less to look through the step's for each of them: that is a loop of vectors, which waits for no
 * counter that was just written.
 */
static void count_keys(ip_emit *e, const step *s)
{
    const char *type = ip_cl_type(s->key->dtype), *keys = ip_emit_value(e, s->fold->keys);
    const int few = FEW_KEYS / (int)ip_dtype(s->key->dtype)->size_bytes;
    ip_mark mark = ip_emit_enter(e, ip_emit_if(e, ip_text(e->ir, "%s <= %d", keys, few)));
    ip_emit_enter(e, ip_emit_for(e, "row", "0", keys));
    ip_emit_var(e, "ushort", "n", "0");
    ip_stmt *loop = ip_emit_for(e, "k", "0", "end - q");
    loop->parallel = IP_REDUCTION;
    loop->vector_width = 32;
    ip_s_add(e->ir, loop, IP_S_STORE, "n", ip_text(e->ir, "n + (key[k] == (%s)row)", type), NULL);
    ip_emit_set(e, "tables[row]", ip_text(e->ir, "tables[row] + (ulong)n * (ulong)%s", ip_emit_value(e, s->value)));
    ip_emit_leave(e, mark);
    ip_emit_enter(e, ip_emit_if(e, ip_text(e->ir, "%s > %d", keys, few)));
    join_values(e, s, "0", "end - q");
    ip_emit_leave(e, mark);
}

static void join_step(ip_emit *e, const step *s)
{
    const bool sums = s->fold->reduce == IP_REDUCE_SUM, floats = ip_dtype(s->fold->acc_dtype)->is_float;
    if (sums && !floats && is_one_value(s) && s->fold->over[3] == 1)
        count_keys(e, s);
    else if (sums && floats && s->fold->over[3] > 1 && !is_one_value(s) && s->value->dtype == s->fold->acc_dtype)
        join_vectors(e, s);
    else
        join_values(e, s, "0", "end - q");
}

void ip_emit_by_key_row(ip_emit *e, const ip_stage *s, const ip_fold_rows *fold, const char *xa, const char *xb)
{
    const int block = s->block;
    const step now = { .fold = s,
                       .value = fold->values.body,
                       .key = fold->beside.body,
                       .is_inside = fold->is_inside,
                       .is_in_buffer = fold->values.stands };
    /* PIXELS divide a block, so no step goes from one to the next */
    ip_stmt *steps = ip_emit_for(e, "at", ip_text(e->ir, "%s - %s %% %d", xa, xa, PIXELS), xb);
    steps->d = ip_text(e->ir, "%d", PIXELS);
    ip_mark mark = ip_emit_enter(e, steps);
    ip_emit_let_int(e, "q", ip_text(e->ir, "max(at, %s)", xa));
    ip_emit_let_int(e, "end", ip_text(e->ir, "min(at + %d, %s)", PIXELS, xb));
    declare_row(e, &fold->beside, "key", 1);
    if (!is_one_value(&now)) declare_row(e, &fold->values, "value", (int)s->over[3]);
    declare_tables(e, s, block ? ip_text(e->ir, "q / %d", block) : "item");
    join_step(e, &now);
    ip_emit_leave(e, mark);
}

/* Element k of the result, from that of all tables in their order. */
void ip_emit_by_key_results(ip_emit *e, const ip_stage *s)
{
    const int block = s->block, channels = (int)s->over[3];
    const char *cells = cells_of(e, s),
               *n = block ? ip_text(e->ir, "(%s + %d) / %d", ip_emit_dim(e, s, 2), block - 1, block)
                          : ip_emit_slot(e, IP_SLOT_ITEMS);
    ip_fold_declare_partials(e, s, type_of(s));
    ip_emit_let_int(e, "k", ip_emit_global_id(e, 0));
    ip_mark mark = ip_emit_enter(
        e, ip_emit_if(e, ip_text(e->ir, "k < %s", ip_text_times(e->ir, ip_emit_value(e, s->keys), channels))));
    ip_emit_let_int(e, "cell",
                    ip_by_key_pitch(s) == channels
                        ? "k"
                        : ip_text(e->ir, "k / %d * %d + k %% %d", channels, ip_by_key_pitch(s), channels));
    ip_emit_var(e, type_of(s), "result", s->init ? ip_emit_value(e, s->init) : ip_fold_neutral(e, s));
    ip_stmt *loop = ip_emit_for(e, "t", "0", n);
    ip_mark in_loop = ip_emit_enter(e, loop);
    ip_emit_let(e, type_of(s), "v", ip_text(e->ir, "%s[(long)t * (%s) + cell]", ip_fold_named(e, "partial", s), cells));
    ip_emit_set(e, "result", joined(e, s, "result", "v"));
    ip_emit_leave(e, in_loop);
    ip_emit_set(e, ip_text(e->ir, "%s[k]", ip_emit_buffer(e, s)), "result");
    ip_emit_leave(e, mark);
}
