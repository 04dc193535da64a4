/* SPDX-License-Identifier: MIT */
/*
 * Note [Promises kept]
 * border=checked says that nothing beyond the edges is read, and asks for an error where it is; so does
 * border=unchecked in checked mode. Kernels know nothing of it, they read the nearest element and stay as quick as they
 * are with border=replicate. Before they run, a plan of its own looks for reads outside (run/promises.c runs it): from
 * the stages as they were lowered, for each that has such reads, it folds the number of the first element that reads
 * outside. Where ranges and boxes tell that all reads are inside, there is nothing to fold, and nothing runs. As
 * it is made before stages are inlined, kernels of every schedule and the interpreter fail alike.
 *
 * What counts is what is needed: the box of a stage that its readers read, so that a crop of a blur is looked at where
 * it is shown; and of `c ? a : b`, of && and of || the operand that decides, so that a read may stand behind a
 * comparison that keeps it inside, in a stage of its own, too, where that is read at its own place only. Of a function
 * of around() every neighbour is read.
 *
 * Where an element was found, a second plan tells which of its reads leaves, and how far.
 */
#include "base/integers.h"
#include "compile/passes.h"
#include "graph/array.h"
#include "ir/opaque.h"

#include <string.h>

enum { WRITTEN_OPERATIONS = 2000 }; /* of a stage that is put into its readers */

typedef struct keeping {
    ip_plan *plan;
    ip_ir *ir;
    const ip_compile_options *options;
    int n;                  /* stages that there are */
    bool *is_apart;         /* by stage: read at other places than the own one, or where no condition is known */
    bool *is_written;       /* by stage: put into its readers */
    ip_box *needed;         /* by stage, where */
    bool *is_needed;        /* it is */
    const ip_stage **owner; /* by expression: whose read it was before stages were put into their readers */
    size_t n_owned;
    ip_error *err;
    imgpar_status status;
} keeping;

/* ---- stages read at their own place ------------------------------------------------------------ */

/* An expression of a stage while its loads are walked. */
typedef struct reading {
    keeping *k;
    const ip_stage *stage;
    bool has_condition; /* conditions are known of what stands in it */
} reading;

/* Whether x has a promise, and one that this plan looks after: its axis is the promise's number, 0 where it has none
 * (ir/expr.h, Note [Promises]). */
static bool is_checked(const keeping *k, const ip_expr *x)
{
    return (x->op == IP_X_LOAD || x->op == IP_X_BORDER) && k->options->goal.promises >> x->axis & 1 && x->axis;
}

static void note_apart(ip_expr *x, void *user)
{
    const reading *r = user;
    if (x->op != IP_X_LOAD) return;
    bool is_own = ip_reads_own_element(x, ip_stage_domain(r->stage));
    if (!r->has_condition || !is_own) r->k->is_apart[x->source->id] = true;
}

static void note_owner(ip_expr *x, void *user)
{
    const reading *r = user;
    if (is_checked(r->k, x) && x->id < r->k->n_owned && !r->k->owner[x->id]) r->k->owner[x->id] = r->stage;
}

static void note_promise(ip_expr *x, void *user)
{
    const reading *r = user;
    r->k->is_written[r->stage->id] |= is_checked(r->k, x);
}

static ip_expr *put_written(ip_ir *ir, ip_expr *x, void *user)
{
    const keeping *k = user;
    (void)ir;
    return x->op == IP_X_LOAD && x->source->id < k->n && k->is_written[x->source->id] ? x->source->body : x;
}

static void each_part(const ip_stage *s, void (*fn)(ip_expr *x, void *user), reading *r)
{
    ip_expr *exprs[IP_STAGE_PARTS];
    const int n = ip_stage_exprs(s, exprs);
    for (int i = 0; i < n; i++) {
        r->has_condition = i == 0 && s->kind != IP_STAGE_SCAN;
        ip_x_walk(r->k->ir, exprs[i], fn, r);
    }
}

static void write_into_readers(keeping *k)
{
    for (int i = 0; i < k->n; i++) {
        const ip_stage *s = k->ir->stages[i];
        each_part(s, note_apart, &(reading){ .k = k, .stage = s });
        each_part(s, note_owner, &(reading){ .k = k, .stage = s });
        for (int j = 0; s->opaque && j < s->opaque->n_inputs; j++)
            k->is_apart[s->opaque->inputs[j]->id] = true;
    }
    for (int i = 0; i < k->n; i++) {
        ip_stage *s = k->ir->stages[i];
        if (s->kind < IP_STAGE_MAP || !s->body) continue;
        s->body = ip_x_map(k->ir, s->body, put_written, k);
        if (s->kind != IP_STAGE_MAP || s->is_output || s->dtype == IMGPAR_F16 || k->is_apart[i]) continue;
        ip_x_walk(k->ir, s->body, note_promise, &(reading){ .k = k, .stage = s });
        k->is_written[i] = k->is_written[i] && ip_x_size(k->ir, s->body) <= WRITTEN_OPERATIONS;
    }
}

/* ---- what is needed ------------------------------------------------------------------------------- */

static void need(keeping *k, const ip_stage *s, const ip_box *box)
{
    ip_box *n = &k->needed[s->id];
    for (int d = 0; d < 4; d++) {
        const bool is_whole = s->kind == IP_STAGE_SCAN && s->axis == d;
        const ip_span span = is_whole ? (ip_span){ 0, s->dims[d] - 1 } : box->axis[d];
        if (!k->is_needed[s->id] || span.lo < n->axis[d].lo) n->axis[d].lo = span.lo;
        if (!k->is_needed[s->id] || span.hi > n->axis[d].hi) n->axis[d].hi = span.hi;
    }
    k->is_needed[s->id] = true;
}

static ip_box whole(const int64_t dims[4])
{
    return (ip_box){ { { 0, dims[0] - 1 }, { 0, dims[1] - 1 }, { 0, dims[2] - 1 }, { 0, dims[3] - 1 } } };
}

static bool is_empty(const int64_t dims[4]) { return ip_dims_count(dims) == 0; }

/* The elements of a stage's domain that are computed. */
static ip_box computed(const keeping *k, const ip_stage *s)
{
    return ip_stage_folds(s) ? whole(s->over) : k->needed[s->id];
}

static void need_load(ip_expr *x, void *user)
{
    const reading *r = user;
    ip_box box, from = computed(r->k, r->stage);
    if (x->op != IP_X_LOAD || is_empty(x->source->dims)) return;
    for (int d = 0; d < 4; d++) {
        const int64_t extent = x->source->dims[d];
        ip_span span;
        const bool is_known = ip_index_span(x->arg[d], &from, &span);
        box.axis[d] = is_known ? ip_border_span(x->border, span, extent) : (ip_span){ 0, extent - 1 };
    }
    need(r->k, x->source, &box);
}

/* Of a stage that hand-written kernels compute. They may prefetch whole rows; what counts is what they make values of.
 * */
static void need_inputs(keeping *k, const ip_stage *s)
{
    const ip_span *n = k->needed[s->id].axis;
    ip_region made = { n[0].lo, n[0].hi + 1, n[1].lo, n[1].hi + 1, n[2].lo, n[2].hi + 1 }, r;
    s->opaque->kind->widen(s->opaque, &made);
    for (int j = 0; j < s->opaque->n_inputs; j++) {
        const ip_stage *in = s->opaque->inputs[j];
        ip_opaque_demand(s->opaque, in, &made, &r);
        if (ip_region_is_empty(&r)) continue;
        if (j == 0 && s->opaque->columns > 0) {
            r.x0 = n[2].lo;
            r.x1 = n[2].hi + s->opaque->columns;
        }
        need(k, in,
             &(ip_box){ { { r.z0, r.z1 - 1 }, { r.y0, r.y1 - 1 }, { r.x0, r.x1 - 1 }, { 0, in->dims[3] - 1 } } });
    }
}

static void find_needed(keeping *k)
{
    for (int i = 0; i < k->plan->n_outputs; i++) {
        const ip_box all = whole(k->plan->outputs[i]->dims);
        if (!is_empty(k->plan->outputs[i]->dims)) need(k, k->plan->outputs[i], &all);
    }
    for (int i = k->n - 1; i >= 0; i--) {
        const ip_stage *s = k->ir->stages[i];
        if (!k->is_needed[i] || is_empty(ip_stage_domain(s))) continue;
        each_part(s, need_load, &(reading){ .k = k, .stage = s });
        if (s->opaque) need_inputs(k, s);
    }
}

/* ---- where a read leaves ------------------------------------------------------------------------------ */

/* One index that is promised to be inside. */
typedef struct site {
    ip_expr *index, *extent;
    ip_promise told;
} site;

/* Of a stage's body. */
typedef struct asking {
    keeping *k;
    const ip_box *box;
    const site *only; /* the read that is asked about; NULL: all */
    ip_expr **memo;   /* by expression */
    bool *is_known;
    size_t n;
    bool is_in_loop;
} asking;

static ip_expr *either(ip_ir *ir, ip_expr *a, ip_expr *b)
{
    return a && b ? ip_x_binary(ir, IP_X_OR, a, b) : a ? a : b;
}

/* index < 0 or index >= extent; NULL: nowhere within the box. */
static ip_expr *leaves(const asking *a, ip_expr *index, ip_expr *extent)
{
    static const int64_t nowhere[4] = { 0 };
    ip_ir *ir = a->k->ir;
    double n = 0;
    ip_span span;
    if (a->only && (a->only->index != index || a->only->extent != extent)) return NULL;
    const bool is_known = ip_index_number(extent, nowhere, &n);
    if (is_known && ((index->lo >= 0 && index->hi < n) ||
                     (ip_index_span(index, a->box, &span) && span.lo >= 0 && (double)span.hi < n)))
        return NULL;
    return ip_x_binary(ir, IP_X_OR, ip_x_binary(ir, IP_X_LT, index, ip_x_int(ir, IMGPAR_I32, 0)),
                       ip_x_binary(ir, IP_X_LE, extent, index));
}

static ip_expr *extent_of(ip_ir *ir, const ip_expr *load, int dim)
{
    return ip_x_int(ir, IMGPAR_I32, load->source->dims[dim]);
}

static ip_expr *ask(asking *a, ip_expr *x);

/* The sides of a choice count where they are taken. */
static ip_expr *of_choice(asking *a, const ip_expr *x)
{
    ip_ir *ir = a->k->ir;
    ip_expr *yes = ask(a, x->arg[1]), *no = ask(a, x->arg[2]), *never = ip_x_int(ir, IMGPAR_BOOL, 0);
    ip_expr *of_side = yes || no ? ip_x_select(ir, x->arg[0], yes ? yes : never, no ? no : never) : NULL;
    return either(ir, ask(a, x->arg[0]), of_side);
}

/* The second operand counts where the first does not decide. */
static ip_expr *of_logic(asking *a, const ip_expr *x)
{
    ip_ir *ir = a->k->ir;
    ip_expr *second = ask(a, x->arg[1]);
    ip_expr *open = x->op == IP_X_AND ? x->arg[0] : ip_x_unary(ir, IP_X_NOT, x->arg[0]);
    return either(ir, ask(a, x->arg[0]), second ? ip_x_binary(ir, IP_X_AND, open, second) : NULL);
}

static ip_expr *of_args(asking *a, const ip_expr *x)
{
    ip_expr *any = NULL;
    for (int i = 0; i < x->n_args; i++)
        any = either(a->k->ir, any, ask(a, x->arg[i]));
    return any;
}

static ip_expr *of_window(asking *a, const ip_expr *x)
{
    ip_ir *ir = a->k->ir;
    ip_expr *any = of_args(a, x);
    if (!any || !(any->uses & IP_USES_TAP)) return any;
    any = ip_x_cast(ir, IMGPAR_I32, any);
    any = ip_x_fold_taps(ir, IP_FOLD_MAX, x->window, x->taps_y, x->taps_x, any);
    return ip_x_binary(ir, IP_X_NE, any, ip_x_int(ir, IMGPAR_I32, 0));
}

static ip_expr *of_index(asking *a, const ip_expr *x)
{
    ip_ir *ir = a->k->ir;
    ip_expr *any = of_args(a, x);
    if (!is_checked(a->k, x)) return any;
    if (x->op == IP_X_BORDER) return either(ir, any, leaves(a, x->arg[0], x->arg[1]));
    for (int d = 0; d < 4; d++)
        any = either(ir, any, leaves(a, x->arg[d], extent_of(ir, x, d)));
    return any;
}

static ip_expr *asked(asking *a, const ip_expr *x)
{
    if (x->op == IP_X_SELECT) return of_choice(a, x);
    if ((x->op == IP_X_AND || x->op == IP_X_OR) && x->dtype == IMGPAR_BOOL) return of_logic(a, x);
    if (x->op == IP_X_WINDOW) return of_window(a, x);
    if (x->op == IP_X_LOAD || x->op == IP_X_BORDER) return of_index(a, x);
    if (x->op == IP_X_LOOP && (ask(a, x->arg[1]) || ask(a, x->arg[2]))) a->is_in_loop = true;
    return of_args(a, x);
}

/* Whether x, where it is computed, reads outside; NULL: never. */
static ip_expr *ask(asking *a, ip_expr *x)
{
    if (x->id >= a->n || a->is_known[x->id]) return x->id >= a->n ? NULL : a->memo[x->id];
    a->memo[x->id] = asked(a, x);
    a->is_known[x->id] = true;
    return a->memo[x->id];
}

static ip_expr *ask_body(keeping *k, const ip_stage *s, const site *only, const ip_box *box)
{
    asking a = { .k = k, .box = box, .only = only, .n = k->ir->n_exprs };
    a.memo = ip_ir_alloc(k->ir, a.n + 1, sizeof(ip_expr *));
    a.is_known = ip_ir_alloc(k->ir, a.n + 1, sizeof *a.is_known);
    if (!a.memo || !a.is_known) return NULL;
    ip_expr *any = ask(&a, s->body);
    const bool is_of_state = any && any->uses & (IP_USES_ACC | IP_USES_TAP);
    if (!k->status && (a.is_in_loop || is_of_state))
        k->status = ip_fail(k->err, IMGPAR_E_UNSUPPORTED,
                            "%s: border=checked cannot be checked where the place depends on what iterate() or "
                            "scan() carries",
                            s->node->op->info.name);
    return any;
}

/* ---- the first element ---------------------------------------------------------------------------------- */

/* x where elements are counted from the first one of a box. */
static ip_expr *put_first(ip_ir *ir, ip_expr *x, const ip_box *box)
{
    ip_expr *at[4];
    for (int d = 0; d < 4; d++) {
        const ip_span span = box->axis[d];
        at[d] = ip_x_coord(ir, d, span.hi - span.lo + 1);
        if (span.lo) at[d] = ip_x_binary(ir, IP_X_ADD, at[d], ip_x_int(ir, IMGPAR_I32, span.lo));
    }
    return ip_x_put_coords(ir, x, at);
}

/* The number of an element of dims among all of them. */
static ip_expr *number_of(ip_ir *ir, const int64_t dims[4])
{
    ip_expr *n = ip_x_int(ir, IMGPAR_I64, 0);
    for (int d = 0; d < 4; d++) {
        ip_expr *at = ip_x_cast(ir, IMGPAR_I64, ip_x_coord(ir, d, dims[d]));
        n = ip_x_binary(ir, IP_X_ADD, ip_x_binary(ir, IP_X_MUL, n, ip_x_int(ir, IMGPAR_I64, dims[d])), at);
    }
    return n;
}

static ip_stage *first_of(keeping *k, const ip_stage *s, ip_expr *condition, const ip_box *box)
{
    static const int64_t one[4] = { 1, 1, 1, 1 };
    ip_ir *ir = k->ir;
    ip_expr *none = ip_x_int(ir, IMGPAR_I64, INT64_MAX);
    ip_expr *first = ip_x_select(ir, condition, number_of(ir, ip_stage_domain(s)), none);
    ip_stage *fold = ip_stage_new(ir, IP_STAGE_REDUCE, IMGPAR_I64, one, s->node);
    if (!fold) return NULL;
    fold->body = put_first(ir, first, box);
    for (int d = 0; d < 4; d++)
        fold->over[d] = box->axis[d].hi - box->axis[d].lo + 1;
    fold->reduce = IP_REDUCE_MIN;
    fold->acc_dtype = IMGPAR_I64;
    fold->finish = ip_x_acc(ir, 0, IMGPAR_I64);
    fold->note = "first read outside";
    return fold;
}

/* ---- the reads of an element -------------------------------------------------------------------------------- */

typedef struct sites {
    keeping *k;
    const ip_stage *stage;
    site *list;
    int n, most;
} sites;

static void add_site(sites *s, const ip_expr *x, int dim)
{
    ip_expr *index = x->op == IP_X_BORDER ? x->arg[0] : x->arg[dim];
    ip_expr *extent = x->op == IP_X_BORDER ? x->arg[1] : extent_of(s->k->ir, x, dim);
    for (int i = 0; i < s->n; i++)
        if (s->list[i].index == index && s->list[i].extent == extent) return;
    if (s->n == s->most) return;
    static const int64_t nowhere[4] = { 0 };
    const ip_stage *owner = x->id < s->k->n_owned ? s->k->owner[x->id] : NULL;
    double n = 0;
    ip_index_number(extent, nowhere, &n);
    s->list[s->n++] = (site){ index, extent, { owner ? owner : s->stage, dim, (int64_t)n, x->axis } };
}

static void count_site(ip_expr *x, void *user)
{
    sites *s = user;
    if (is_checked(s->k, x)) s->most += x->op == IP_X_LOAD ? 4 : 1;
}

static void note_site(ip_expr *x, void *user)
{
    sites *s = user;
    for (int d = 0; d < 4 && x->op == IP_X_LOAD; d++) {
        if (is_checked(s->k, x)) add_site(s, x, d);
        if (x->arg[d]->op == IP_X_BORDER && is_checked(s->k, x->arg[d])) add_site(s, x->arg[d], d);
    }
}

/* The index that a site reads at, where it leaves, else INT64_MAX; element i of the result. */
static ip_expr *index_read(keeping *k, const ip_stage *s, const site *at, const ip_box *box)
{
    ip_ir *ir = k->ir;
    ip_expr *none = ip_x_int(ir, IMGPAR_I64, INT64_MAX), *where = ask_body(k, s, at, box);
    if (!where) return none;
    ip_expr *index = at->index;
    if (index->uses & IP_USES_TAP) { /* of a window, its furthest */
        const int64_t *p = k->options->goal.place;
        const ip_box here = { { { p[0], p[0] }, { p[1], p[1] }, { p[2], p[2] }, { p[3], p[3] } } };
        ip_span span;
        if (!ip_index_span(index, &here, &span)) span = (ip_span){ INT32_MIN, INT32_MIN };
        index = ip_x_int(ir, IMGPAR_I32, span.lo < 0 ? span.lo : span.hi);
    }
    return ip_x_select(ir, where, ip_x_cast(ir, IMGPAR_I64, index), none);
}

/* ---- the pass ------------------------------------------------------------------------------------------------ */

/* The stage's element i is x[i]. */
static void give(keeping *k, ip_expr *const *x, int n)
{
    ip_ir *ir = k->ir;
    const int64_t dims[4] = { 1, 1, n, 1 };
    ip_expr *at = ip_x_coord(ir, 2, n), *value = n > 0 ? x[n - 1] : NULL;
    for (int i = n - 2; i >= 0; i--)
        value = ip_x_select(ir, ip_x_binary(ir, IP_X_EQ, at, ip_x_int(ir, IMGPAR_I32, i)), x[i], value);
    for (int i = 0; i < k->plan->n_outputs; i++)
        k->plan->outputs[i]->is_output = false;
    k->plan->n_outputs = 0;
    ip_stage *s = n > 0 ? ip_stage_new(ir, IP_STAGE_MAP, IMGPAR_I64, dims, k->plan->outputs[0]->node) : NULL;
    if (!s) return;
    s->body = value;
    s->is_output = true;
    k->plan->outputs[k->plan->n_outputs++] = s;
}

static void tell_reads(keeping *k, const ip_stage *s, const ip_box *box)
{
    ip_ir *ir = k->ir;
    sites all = { .k = k, .stage = s };
    ip_x_walk(ir, s->body, count_site, &all);
    all.list = ip_ir_alloc(ir, (size_t)all.most + 1, sizeof *all.list);
    if (all.list) ip_x_walk(ir, s->body, note_site, &all);
    ip_expr **x = ip_ir_alloc(ir, (size_t)all.n + 1, sizeof(ip_expr *));
    ip_promise *told = ip_ir_alloc(ir, (size_t)all.n + 1, sizeof *told);
    if (!all.list || !x || !told) return;
    ip_expr *place[4];
    for (int d = 0; d < 4; d++)
        place[d] = ip_x_int(ir, IMGPAR_I32, k->options->goal.place[d]);
    for (int i = 0; i < all.n; i++) {
        x[i] = ip_x_put_coords(ir, index_read(k, s, &all.list[i], box), place);
        told[i] = all.list[i].told;
    }
    k->plan->promises = told;
    give(k, x, all.n);
}

static void look_after(keeping *k)
{
    ip_ir *ir = k->ir;
    ip_expr **x = ip_ir_alloc(ir, (size_t)k->n + 1, sizeof(ip_expr *)), *zero = ip_x_int(ir, IMGPAR_I32, 0);
    ip_promise *told = ip_ir_alloc(ir, (size_t)k->n + 1, sizeof *told);
    int n = 0;
    for (int i = 0; i < k->n && !ir->failed && !k->status; i++) {
        const ip_stage *s = ir->stages[i];
        if (!k->is_needed[i] || !s->body || s->kind < IP_STAGE_MAP || is_empty(ip_stage_domain(s))) continue;
        const ip_box box = computed(k, s);
        ip_expr *where = ask_body(k, s, NULL, &box);
        if (!where) continue;
        if (n == k->options->goal.promise && k->options->goal.place) {
            tell_reads(k, s, &box);
            return;
        }
        ip_stage *first = first_of(k, s, where, &box);
        if (!first || !told || !x) return;
        x[n] = ip_x_load(ir, first, (ip_expr *const[]){ zero, zero, zero, zero }, IP_BORDER_NONE, NULL);
        told[n++] = (ip_promise){ .stage = s };
    }
    k->plan->promises = told;
    give(k, x, n);
}

imgpar_status ip_pass_promises(ip_plan *plan, const ip_compile_options *options, ip_error *err)
{
    ip_ir *ir = plan->ir;
    const size_t n = (size_t)ir->n_stages + 1;
    keeping k = { .plan = plan, .ir = ir, .options = options, .n = ir->n_stages, .err = err };
    k.is_apart = ip_ir_alloc(ir, n, sizeof *k.is_apart);
    k.is_written = ip_ir_alloc(ir, n, sizeof *k.is_written);
    k.n_owned = ir->n_exprs;
    k.owner = ip_ir_alloc(ir, k.n_owned + 1, sizeof *k.owner);
    k.needed = ip_ir_alloc(ir, n, sizeof *k.needed);
    k.is_needed = ip_ir_alloc(ir, n, sizeof *k.is_needed);
    if (ir->failed) return ip_fail_memory(err, "compiling");
    write_into_readers(&k);
    find_needed(&k);
    look_after(&k);
    ir->keeps_promises = false;
    return ir->failed ? ip_fail_memory(err, "compiling") : k.status;
}
