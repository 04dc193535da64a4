/* SPDX-License-Identifier: MIT */
/* From a loss down to what it is differentiated by, stage by stage. adjoint.h tells how. */
#include "ops/adjoint.h"

#include "base/dtype.h"
#include "base/status.h"

#include <math.h>
#include <string.h>

/* ---- helpers ------------------------------------------------------------------------------------ */

static const char *name_of(const ip_stage *s)
{
    if (!s->node || !s->node->op) return "a step";
    return s->node->op->symbol ? s->node->op->symbol : s->node->op->info.name;
}

void ip_adjoint_fail(ip_adjoints *a, const ip_stage *s, const char *what)
{
    if (a->l->err->status) return;
    ip_fail(a->l->err, IMGPAR_E_UNSUPPORTED, "grad: %s has no derivative here%s%s", name_of(s), what ? ": " : "",
            what ? what : "");
}

bool ip_adjoint_failed(const ip_adjoints *a) { return a->l->err->status || a->l->ir->failed; }

bool ip_adjoint_wants(const ip_adjoints *a, const ip_stage *s)
{
    return s->id < a->n_stages && a->depends[s->id] && s->dtype != IMGPAR_BOOL;
}

ip_stage *ip_adjoint_stage(ip_adjoints *a, const int64_t dims[4], ip_expr *value, const char *note)
{
    return ip_lower_stage_sized(a->l, dims, value->dtype, value, note);
}

ip_expr *ip_adjoint_load(ip_adjoints *a, ip_stage *stage, ip_expr *const at[4])
{
    return ip_x_load(a->l->ir, stage, at, IP_BORDER_NONE, NULL);
}

ip_expr *ip_adjoint_here(ip_adjoints *a, ip_stage *stage)
{
    ip_expr *at[4];
    for (int d = 0; stage && d < 4; d++)
        at[d] = ip_x_coord(a->l->ir, d, stage->dims[d]);
    return ip_adjoint_load(a, stage, at);
}

ip_expr *ip_adjoint_first(ip_adjoints *a, ip_stage *stage)
{
    ip_expr *zero = ip_x_int(a->l->ir, IMGPAR_I32, 0);
    return ip_adjoint_load(a, stage, (ip_expr *[]){ zero, zero, zero, zero });
}

ip_expr *ip_adjoint_i32(ip_adjoints *a, int64_t value)
{
    enum { SMALL = 64 };
    if (value >= -SMALL && value <= SMALL) return ip_x_int(a->l->ir, IMGPAR_I32, value);
    return ip_x_param(a->l->ir, IMGPAR_I32, (double)value, value < 0 ? INT32_MIN : 1, value < 0 ? -1 : INT32_MAX);
}

static ip_expr *binary(ip_adjoints *a, ip_xop op, ip_expr *x, ip_expr *y) { return ip_x_binary(a->l->ir, op, x, y); }

void ip_adjoint_place(ip_adjoints *a, ip_expr *number, const int64_t dims[4], ip_expr *at[4])
{
    for (int d = 3; d >= 0; d--) {
        ip_expr *extent = ip_adjoint_i32(a, dims[d]);
        at[d] = dims[d] == 1 ? ip_x_int(a->l->ir, IMGPAR_I32, 0)
                : d == 0     ? number
                             : binary(a, IP_X_MOD, number, extent);
        if (dims[d] != 1) number = binary(a, IP_X_IDIV, number, extent);
    }
}

ip_expr *ip_adjoint_number(ip_adjoints *a, const int64_t dims[4], ip_expr *const at[4])
{
    ip_expr *number = at[0];
    for (int d = 1; d < 4; d++)
        number = binary(a, IP_X_ADD, binary(a, IP_X_MUL, number, ip_adjoint_i32(a, dims[d])), at[d]);
    return number;
}

void ip_adjoint_add(ip_adjoints *a, const ip_stage *s, ip_stage *part)
{
    ip_stage *before = a->parts[s->id];
    if (!part) return;
    if (before)
        part = ip_adjoint_stage(a, s->dims, binary(a, IP_X_ADD, ip_adjoint_here(a, before), ip_adjoint_here(a, part)),
                                "adjoints together");
    a->parts[s->id] = part;
}

/* ---- what depends on what is asked for ------------------------------------------------------------ */

typedef struct dependence {
    const ip_adjoints *a;
    bool depends;
} dependence;

static void look_at_load(ip_expr *load, void *user)
{
    dependence *d = user;
    d->depends |= load->source->id < d->a->n_stages && d->a->depends[load->source->id];
}

static bool depends(const ip_adjoints *a, const ip_stage *s)
{
    dependence d = { a, false };
    for (int k = 0; s->opaque && k < s->opaque->n_inputs; k++)
        d.depends |= a->depends[s->opaque->inputs[k]->id];
    if (s->kind >= IP_STAGE_MAP) ip_stage_each_load(a->l->ir, s, look_at_load, &d);
    return d.depends;
}

/* ---- expressions -------------------------------------------------------------------------------------- */

/* A stage that an expression reads; in the arena. */
typedef struct source_list {
    const ip_stage *stage;
    struct source_list *next;
} source_list;

/* The reverse pass of one expression of a stage, over a domain. */
typedef struct reversal {
    ip_adjoints *a;
    const ip_stage *stage;
    const int64_t *domain;
    int n_emitted;
    bool only_sources; /* no readings: what changes it smoothly is asked for alone, in sources */
    source_list *sources;
    bool wants_acc;
    bool wants_floats;                   /* of several states those that are floats */
    ip_expr *of_acc[2 * IP_SCAN_STATES]; /* what each ACC counts for; NULL: nothing */
} reversal;

static bool wants(const ip_expr *leaf, void *user)
{
    const reversal *r = user;
    if (leaf->op != IP_X_ACC) return ip_adjoint_wants(r->a, leaf->source);
    return r->wants_acc && (!r->wants_floats || ip_dtype(leaf->dtype)->is_float);
}

static void emit(ip_expr *leaf, ip_expr *cotangent, const ip_frame *frame, void *user)
{
    reversal *r = user;
    ip_ir *ir = r->a->l->ir;
    if (leaf->op == IP_X_ACC) {
        ip_expr **of = &r->of_acc[leaf->axis];
        *of = *of ? ip_x_binary(ir, IP_X_ADD, *of, cotangent) : cotangent;
        return;
    }
    if (r->only_sources) {
        source_list *source = ip_ir_alloc(ir, 1, sizeof *source);
        if (!source) return;
        *source = (source_list){ leaf->source, r->sources };
        r->sources = source;
        return;
    }
    ip_reading *reading = ip_ir_alloc(ir, 1, sizeof *reading);
    if (!reading) return;
    *reading = (ip_reading){ .load = leaf, .cotangent = cotangent, .next = r->a->readings[leaf->source->id] };
    memcpy(reading->domain, r->domain, sizeof reading->domain);
    for (; frame; frame = frame->outer) {
        if (reading->n_frames == IP_ADJOINT_FRAMES) {
            ip_adjoint_fail(r->a, r->stage, "windows within windows");
            return;
        }
        reading->frames[reading->n_frames++] = *frame;
    }
    r->a->readings[leaf->source->id] = reading;
    r->n_emitted++;
}

static ip_expr *keep(ip_expr *x, void *user)
{
    reversal *r = user;
    return ip_adjoint_here(r->a, ip_adjoint_stage(r->a, r->domain, x, "kept for an adjoint"));
}

static void reverse(reversal *r, ip_expr *root, ip_expr *seed)
{
    ip_derivation d = { .ir = r->a->l->ir, .wants = wants, .emit = emit, .keep = keep, .user = r };
    ip_x_reverse(&d, root, seed);
    if (d.failure) ip_adjoint_fail(r->a, r->stage, d.failure);
}

/* ---- what changes smoothly ------------------------------------------------------------------------------ */

/* What changes with the variables, but only by what it compares or rounds, does not. */
static bool is_smooth(ip_adjoints *a, const ip_stage *s);

static bool expr_is_smooth(ip_adjoints *a, const ip_stage *s, ip_expr *x)
{
    reversal r = { .a = a, .stage = s, .domain = s->dims, .only_sources = true };
    reverse(&r, x, ip_x_float(a->l->ir, ip_x_smooth_dtype(x->dtype), 1));
    for (const source_list *of = r.sources; of; of = of->next)
        if (is_smooth(a, of->stage)) return true;
    return false;
}

typedef struct smoothness {
    ip_adjoints *a;
    bool is_smooth;
} smoothness;

static void look_at_source(ip_expr *load, void *user)
{
    smoothness *m = user;
    const int id = load->source->id;
    if (id < m->a->n_stages && m->a->depends[id]) m->is_smooth |= is_smooth(m->a, load->source);
}

/* Whether anything that it reads is. */
static bool reads_smooth(ip_adjoints *a, const ip_stage *s)
{
    smoothness m = { a, false };
    for (int k = 0; s->opaque && k < s->opaque->n_inputs; k++)
        m.is_smooth |= a->depends[s->opaque->inputs[k]->id] && is_smooth(a, s->opaque->inputs[k]);
    if (s->kind >= IP_STAGE_MAP) ip_stage_each_load(a->l->ir, s, look_at_source, &m);
    return m.is_smooth;
}

/* Of maps, and of recurrences of one state; others may be where something that they read is. */
static bool find_smooth(ip_adjoints *a, const ip_stage *s)
{
    for (int k = 0; k < a->n_variables; k++)
        if (a->variables[k] == s) return true;
    const bool is_scan = s->kind == IP_STAGE_SCAN && ip_stage_states(s) == 1;
    if (s->kind != IP_STAGE_MAP && !is_scan) return reads_smooth(a, s);
    return expr_is_smooth(a, s, s->body) || (is_scan && expr_is_smooth(a, s, ip_stage_state(s, 0).init));
}

static bool is_smooth(ip_adjoints *a, const ip_stage *s)
{
    enum { UNKNOWN, STEPS, SMOOTH };
    if (a->smooth[s->id] == UNKNOWN) {
        a->smooth[s->id] = STEPS; /* of a recurrence, what it reads of itself tells nothing */
        a->smooth[s->id] = find_smooth(a, s) ? SMOOTH : STEPS;
    }
    return a->smooth[s->id] == SMOOTH;
}

static ip_expr *put_acc(ip_ir *ir, ip_expr *x, void *user)
{
    ip_expr *const *values = user;
    (void)ir;
    return x->op == IP_X_ACC && values[x->axis] ? values[x->axis] : x;
}

/* x with values for each ACC; NULL: as it is. */
static ip_expr *with_acc(ip_adjoints *a, ip_expr *x, ip_expr **values)
{
    return ip_x_map(a->l->ir, x, put_acc, values);
}

/* ---- folds -------------------------------------------------------------------------------------------- */

/* A fold of body over what s folds, of one element. */
static ip_stage *fold_like(ip_adjoints *a, const ip_stage *s, ip_reduce reduce, ip_expr *body)
{
    static const int64_t one[4] = { 1, 1, 1, 1 };
    ip_stage *f = ip_stage_new(a->l->ir, IP_STAGE_REDUCE, body->dtype, one, a->l->node);
    if (!f) return NULL;
    memcpy(f->over, s->over, sizeof f->over);
    f->body = body;
    f->reduce = reduce;
    f->acc_dtype = body->dtype;
    f->finish = ip_x_acc(a->l->ir, 0, body->dtype);
    return f;
}

static bool is_product(const ip_stage *s)
{
    const ip_expr *c = s->combine;
    return s->reduce == IP_REDUCE_CUSTOM && c && c->op == IP_X_MUL && c->arg[0]->op == IP_X_ACC &&
           c->arg[1]->op == IP_X_ACC && c->arg[0]->axis != c->arg[1]->axis && ip_dtype(s->acc_dtype)->is_float;
}

static bool is_sum(const ip_stage *s)
{
    const ip_expr *c = s->combine;
    if (s->reduce == IP_REDUCE_SUM) return true;
    return s->reduce == IP_REDUCE_CUSTOM && c && c->op == IP_X_ADD && c->arg[0]->op == IP_X_ACC &&
           c->arg[1]->op == IP_X_ACC && c->arg[0]->axis != c->arg[1]->axis;
}

/* What s folds to before its end. */
static ip_expr *total_of(ip_adjoints *a, const ip_stage *s)
{
    ip_stage *total = fold_like(a, s, s->reduce, s->body);
    if (total && s->reduce == IP_REDUCE_CUSTOM) {
        total->init = s->init;
        total->combine = s->combine;
    }
    return ip_adjoint_first(a, total);
}

/* Elements that equal the extreme share alike. */
static ip_expr *share_of_extreme(ip_adjoints *a, const ip_stage *s, ip_expr *g)
{
    ip_ir *ir = a->l->ir;
    ip_expr *one = ip_x_float(ir, g->dtype, 1), *zero = ip_x_float(ir, g->dtype, 0);
    ip_expr *equals = binary(a, IP_X_EQ, s->body, total_of(a, s));
    ip_stage *n = fold_like(a, s, IP_REDUCE_SUM, ip_x_select(ir, equals, one, zero));
    return ip_x_select(ir, equals, binary(a, IP_X_DIV, g, ip_adjoint_first(a, n)), zero);
}

/* The product of all others: with one 0 among them only that one has any. */
static ip_expr *product_of_others(ip_adjoints *a, const ip_stage *s, ip_expr *g)
{
    ip_ir *ir = a->l->ir;
    ip_expr *x = s->body, *zero = ip_x_number(ir, x->dtype, 0), *one = ip_x_number(ir, x->dtype, 1);
    ip_expr *is_zero = binary(a, IP_X_EQ, x, zero);
    ip_expr *safe = ip_x_select(ir, is_zero, one, x);
    ip_stage *zeros = fold_like(a, s, IP_REDUCE_SUM, ip_x_select(ir, is_zero, one, zero));
    ip_stage *product = fold_like(a, s, IP_REDUCE_CUSTOM, safe);
    if (!zeros || !product) return g;
    product->init = s->init;
    product->combine = s->combine;
    ip_expr *n = ip_adjoint_first(a, zeros), *rest = ip_adjoint_first(a, product);
    ip_expr *others =
        ip_x_select(ir, binary(a, IP_X_EQ, n, zero), binary(a, IP_X_DIV, rest, safe),
                    ip_x_select(ir, binary(a, IP_X_AND, binary(a, IP_X_EQ, n, one), is_zero), rest, zero));
    return binary(a, IP_X_MUL, g, ip_x_cast(ir, g->dtype, others));
}

static void reverse_fold(ip_adjoints *a, ip_stage *s, ip_stage *own, reversal *r)
{
    static const int64_t one[4] = { 1, 1, 1, 1 };
    r->wants_acc = true;
    r->domain = one;
    reverse(r, s->finish, ip_adjoint_first(a, own));
    r->wants_acc = false;
    r->domain = s->over;
    ip_expr *g = r->of_acc[0];
    if (!g || ip_adjoint_failed(a)) return;
    if (g->uses & IP_USES_ACC) g = with_acc(a, g, (ip_expr *[]){ total_of(a, s), NULL });
    g = ip_adjoint_first(a, ip_adjoint_stage(a, one, g, "adjoint of a fold"));
    if (is_product(s))
        g = product_of_others(a, s, g);
    else if (s->reduce == IP_REDUCE_MIN || s->reduce == IP_REDUCE_MAX)
        g = share_of_extreme(a, s, g);
    else if (!is_sum(s)) {
        ip_adjoint_fail(a, s, "reduce() with such a function");
        return;
    }
    reverse(r, s->body, g);
}

/* ---- recurrences ----------------------------------------------------------------------------------------- */

/*
 * Note [Recurrences the other way round]
 * With n states s[i] = body(s[i-1]) and elements finish(s[i], s[i-1]) what state k counts for, t_k[i], is
 *     t_k[i] = g[i] d finish[i] / d s_k[i] + g[i+1] d finish[i+1] / d s_k[i]
 *            + sum over j of t_j[i+1] d body_j[i+1] / d s_k[i]
 * a recurrence of n states from the last element to the first, whose factors are stages. Where they depend on the
 * states, these are computed once more, as stages of their own. Of several states those of whole numbers count for
 * nothing.
 */

typedef struct backwards {
    ip_adjoints *a;
    ip_stage *s;
    int n;
    ip_stage *states[IP_SCAN_STATES]; /* s's, as stages; NULL: not made yet */
} backwards;

static ip_expr *at_step(backwards *b, ip_stage *stage, int by, ip_expr *outside)
{
    ip_expr *at[4];
    ip_ir *ir = b->a->l->ir;
    for (int d = 0; d < 4; d++)
        at[d] = ip_x_coord(ir, d, stage->dims[d]);
    at[b->s->axis] = ip_x_binary(ir, IP_X_ADD, at[b->s->axis], ip_x_int(ir, IMGPAR_I32, b->s->backward ? -by : by));
    return ip_x_load(ir, stage, at, IMGPAR_BORDER_CONSTANT, outside);
}

static ip_expr *put_first(ip_ir *ir, ip_expr *x, void *user)
{
    const ip_stage *s = user;
    if (x->op != IP_X_COORD || x->axis != s->axis) return x;
    return ip_x_int(ir, IMGPAR_I32, s->backward ? s->dims[s->axis] - 1 : 0);
}

/* State k of an element, or of the one before it, as a number. */
static ip_expr *state_of(backwards *b, int k, bool is_before)
{
    ip_ir *ir = b->a->l->ir;
    ip_stage *s = b->s, *states = b->states[k];
    const ip_state state = ip_stage_state(s, k);
    if (!states) {
        states = b->states[k] = ip_stage_new(ir, IP_STAGE_SCAN, state.body->dtype, s->dims, b->a->l->node);
        if (!states) return ip_x_number(ir, state.body->dtype, 0);
        ip_stage_take_states(ir, states, s);
        states->finish = ip_x_acc(ir, k, state.body->dtype);
    }
    return is_before ? at_step(b, states, -1, ip_x_map(ir, state.init, put_first, s)) : ip_adjoint_here(b->a, states);
}

static void note_acc(ip_expr *x, void *user)
{
    if (x->op == IP_X_ACC) ((bool *)user)[x->axis] = true;
}

/* x at each element, its states those of a body (of the element before) or of a finish (the element's own, then those
 * before). */
static ip_expr *with_states(backwards *b, ip_expr *x, bool of_body)
{
    bool uses[2 * IP_SCAN_STATES] = { false };
    ip_expr *values[2 * IP_SCAN_STATES] = { NULL };
    if (!(x->uses & IP_USES_ACC)) return x;
    ip_x_walk(b->a->l->ir, x, note_acc, uses);
    for (int k = 0; k < 2 * b->n; k++)
        if (uses[k]) values[k] = state_of(b, k % b->n, of_body || k >= b->n);
    return with_acc(b->a, x, values);
}

static ip_stage *stage_with_states(backwards *b, ip_expr *x, bool of_body)
{
    return x ? ip_adjoint_stage(b->a, b->s->dims, with_states(b, x, of_body), "of a recurrence") : NULL;
}

/* The stage's element of the next step; behind the last one 0. */
static ip_expr *of_next(backwards *b, ip_stage *stage)
{
    return at_step(b, stage, 1, ip_x_number(b->a->l->ir, stage->dtype, 0));
}

static void note_load(ip_expr *x, void *user) { *(bool *)user |= x->op == IP_X_LOAD; }

/* Whether state k counts for anything: of several, if it is a float. */
static bool counts(const backwards *b, int k)
{
    return b->n == 1 || ip_dtype(ip_stage_state(b->s, k).body->dtype)->is_float;
}

/* What t begins with: seeds[k] is what state k counts for by the elements alone. own: the elements' cotangents.
 * before[k]: what the state before an element counts for, where it is stored; else NULL. */
static void make_seeds(backwards *b, reversal *r, ip_stage *own, imgpar_dtype f, ip_expr **seeds, ip_stage **before)
{
    ip_ir *ir = b->a->l->ir;
    r->wants_acc = true;
    reverse(r, b->s->finish, ip_adjoint_here(b->a, own));
    for (int k = 0; k < b->n; k++) {
        ip_stage *now = stage_with_states(b, r->of_acc[k], false);
        before[k] = stage_with_states(b, r->of_acc[b->n + k], false);
        ip_expr *g = ip_x_float(ir, f, 0);
        if (now) g = ip_x_cast(ir, f, ip_adjoint_here(b->a, now));
        if (before[k]) g = binary(b->a, IP_X_ADD, g, ip_x_cast(ir, f, of_next(b, before[k])));
        seeds[k] =
            now || before[k] ? ip_adjoint_here(b->a, ip_adjoint_stage(b->a, b->s->dims, g, "adjoint of elements")) : g;
        r->of_acc[k] = r->of_acc[b->n + k] = NULL;
    }
    r->wants_acc = false;
}

/* Adds to bodies[k] what state k counts for by state j of the next element, which is ACC j. */
static void add_factors(backwards *b, const reversal *r, int j, imgpar_dtype f, ip_expr **bodies)
{
    ip_ir *ir = b->a->l->ir;
    reversal q = { .a = b->a,
                   .stage = b->s,
                   .domain = b->s->dims,
                   .only_sources = true, /* the states are asked for, no loads */
                   .wants_acc = true,
                   .wants_floats = r->wants_floats };
    reverse(&q, ip_stage_state(b->s, j).body, ip_x_float(ir, f, 1));
    for (int k = 0; k < b->n; k++) {
        ip_stage *by = stage_with_states(b, q.of_acc[k], true);
        if (!by || ip_adjoint_failed(b->a)) continue;
        ip_stage *factors = ip_adjoint_stage(b->a, b->s->dims, of_next(b, by), "factors of the next state");
        ip_expr *factor = ip_x_cast(ir, f, ip_adjoint_here(b->a, factors));
        bodies[k] = binary(b->a, IP_X_ADD, bodies[k], binary(b->a, IP_X_MUL, factor, ip_x_acc(ir, j, f)));
    }
}

/* What state k counts for, given all of them. */
static ip_expr *adjoint_of_state(backwards *b, const ip_state *states, int k)
{
    ip_ir *ir = b->a->l->ir;
    ip_stage *t = ip_stage_new(ir, IP_STAGE_SCAN, states[k].body->dtype, b->s->dims, b->a->l->node);
    if (!t) return NULL;
    ip_stage_set_states(ir, t, states, b->n);
    t->axis = b->s->axis;
    t->backward = !b->s->backward;
    t->finish = ip_x_acc(ir, k, t->dtype);
    t->note = "adjoint of states";
    return ip_adjoint_here(b->a, t);
}

static void reverse_scan(ip_adjoints *a, ip_stage *s, ip_stage *own, reversal *r)
{
    ip_ir *ir = a->l->ir;
    backwards b = { .a = a, .s = s, .n = ip_stage_states(s) };
    ip_expr *seeds[IP_SCAN_STATES];
    ip_stage *before[IP_SCAN_STATES];
    ip_state states[IP_SCAN_STATES];
    imgpar_dtype f = IMGPAR_F32;
    if (b.n == 1 && !ip_dtype(s->acc_dtype)->is_float && (s->body->op != IP_X_ADD || !s->combine)) {
        if (!is_smooth(a, s)) return;
        ip_adjoint_fail(a, s, "a recurrence of whole numbers");
        return;
    }
    for (int k = 0; k < b.n; k++)
        if (counts(&b, k) && ip_x_smooth_dtype(ip_stage_state(s, k).body->dtype) == IMGPAR_F64) f = IMGPAR_F64;
    r->wants_floats = b.n > 1;
    r->domain = s->dims;
    make_seeds(&b, r, own, f, seeds, before);
    for (int j = 0; j < b.n && !ip_adjoint_failed(a); j++)
        if (counts(&b, j)) add_factors(&b, r, j, f, seeds);
    if (ip_adjoint_failed(a)) return;
    for (int k = 0; k < b.n; k++)
        states[k] = (ip_state){ .body = seeds[k], .init = ip_x_float(ir, f, 0) };
    /* the bodies' loads: their states are numbers now */
    for (int k = 0; k < b.n; k++) {
        ip_expr *body = with_states(&b, ip_stage_state(s, k).body, true);
        bool has_loads = false;
        ip_x_walk(ir, body, note_load, &has_loads);
        if (counts(&b, k) && has_loads) reverse(r, body, adjoint_of_state(&b, states, k));
    }
    /* Where the state before the first element is what is stored; what the body makes of it is the value outside of the
     * loads of states. */
    ip_expr *first = ip_adjoint_i32(a, s->backward ? s->dims[s->axis] - 1 : 0);
    ip_expr *is_first = binary(a, IP_X_EQ, ip_x_coord(ir, s->axis, s->dims[s->axis]), first);
    for (int k = 0; k < b.n && !ip_adjoint_failed(a); k++) {
        if (!before[k]) continue;
        ip_expr *start = ip_x_cast(ir, f, ip_adjoint_here(a, before[k]));
        reverse(r, ip_stage_state(s, k).init, ip_x_select(ir, is_first, start, ip_x_float(ir, f, 0)));
    }
}

/* ---- the walk ---------------------------------------------------------------------------------------------- */

static void look_for_comparison(ip_expr *x, void *user)
{
    const ip_stage **cut = user;
    if (x->op == IP_X_LOAD && x->source->dtype == IMGPAR_BOOL) *cut = x->source;
}

/* What a stage through which nothing goes is to be blamed on: the comparison that it reads, or itself. */
static const ip_stage *comparison_of(const ip_adjoints *a, const ip_stage *s)
{
    const ip_stage *cut = s;
    if (s->body) ip_x_walk(a->l->ir, s->body, look_for_comparison, &cut);
    return cut;
}

static void reverse_stage(ip_adjoints *a, ip_stage *s, ip_stage *own)
{
    reversal r = { .a = a, .stage = s, .domain = s->dims };
    switch (s->kind) {
    case IP_STAGE_MAP: reverse(&r, s->body, ip_adjoint_here(a, own)); break;
    case IP_STAGE_REDUCE: reverse_fold(a, s, own, &r); break;
    case IP_STAGE_SCAN: reverse_scan(a, s, own, &r); break;
    case IP_STAGE_OPAQUE: ip_adjoint_opaque(a, s, own); return;
    default: break; /* histograms count whole numbers */
    }
    if (r.n_emitted == 0) a->cut = comparison_of(a, s);
}

static ip_adjoints *begin(ip_lower *l, ip_stage *loss)
{
    ip_adjoints *a = ip_ir_alloc(l->ir, 1, sizeof *a);
    if (!a) return NULL;
    const size_t n = (size_t)l->ir->n_stages;
    a->l = l;
    a->loss = loss;
    a->n_stages = (int)n;
    a->depends = ip_ir_alloc(l->ir, n, sizeof *a->depends);
    a->smooth = ip_ir_alloc(l->ir, n, sizeof *a->smooth);
    a->readings = ip_ir_alloc(l->ir, n, sizeof *a->readings);
    a->parts = ip_ir_alloc(l->ir, n, sizeof(ip_stage *));
    a->adjoints = ip_ir_alloc(l->ir, n, sizeof(ip_stage *));
    a->n_variables = l->node->n_inputs - 1;
    a->variables = ip_ir_alloc(l->ir, (size_t)a->n_variables, sizeof(ip_stage *));
    if (!a->depends || !a->smooth || !a->readings || !a->parts || !a->adjoints || !a->variables) return NULL;
    for (int k = 0; k < a->n_variables; k++)
        a->variables[k] = l->in[1 + k];
    return a;
}

/* Those of the same loss by the same variables, made for another of these; NULL: there are none. */
static ip_adjoints *known_adjoints(ip_lower *l)
{
    for (ip_adjoints *a = l->ir->adjoints; a; a = a->next) {
        bool is_same = a->loss == l->in[0] && a->n_variables == l->node->n_inputs - 1;
        for (int k = 0; is_same && k < a->n_variables; k++)
            is_same = a->variables[k] == l->in[1 + k];
        if (is_same) return a;
    }
    return NULL;
}

/* All adjoints between the loss and the variables of l's node, which are its inputs behind the first. */
static ip_adjoints *adjoints_of(ip_lower *l)
{
    ip_ir *ir = l->ir;
    ip_stage *loss = l->in[0];
    ip_adjoints *a = known_adjoints(l);
    if (a) {
        a->l = l;
        return a;
    }
    a = begin(l, loss);
    if (!a) return NULL;
    for (int k = 0; k < a->n_variables; k++)
        a->depends[a->variables[k]->id] = 1;
    for (int k = 0; k < a->n_stages; k++)
        if (!a->depends[k]) a->depends[k] = depends(a, ir->stages[k]);
    const imgpar_dtype f = ip_x_smooth_dtype(loss->dtype);
    if (ip_adjoint_wants(a, loss)) ip_adjoint_add(a, loss, ip_adjoint_stage(a, loss->dims, ip_x_float(ir, f, 1), "1"));
    for (int k = a->n_stages - 1; k >= 0 && !ip_adjoint_failed(a); k--) {
        ip_stage *s = ir->stages[k];
        bool is_variable = false;
        for (int i = 0; i < a->n_variables; i++)
            is_variable |= a->variables[i] == s;
        if (!a->depends[k] || (!a->readings[k] && !a->parts[k])) continue;
        a->adjoints[k] = ip_adjoint_of_readings(a, s);
        /* what stands below a variable counts only where another one is there */
        if (a->adjoints[k] && (!is_variable || depends(a, s))) reverse_stage(a, s, a->adjoints[k]);
    }
    if (ip_adjoint_failed(a)) return a;
    a->next = ir->adjoints;
    ir->adjoints = a;
    return a;
}

ip_stage *ip_stages_adjoint(ip_lower *l)
{
    const int number = (int)ip_param_number(l->node, "number");
    for (int k = 0; k < l->node->n_inputs; k++)
        if (!l->in[k]) return NULL;
    ip_adjoints *a = adjoints_of(l);
    if (!a || ip_adjoint_failed(a)) return NULL;
    ip_stage *adjoint = a->adjoints[l->in[1 + number]->id];
    if (adjoint) return ip_lower_map(l, ip_adjoint_here(a, adjoint));
    if (!a->depends[a->loss->id] || !a->cut)
        ip_fail(l->err, IMGPAR_E_UNSUPPORTED,
                "grad: the loss does not change smoothly with what it is differentiated by");
    else
        ip_fail(l->err, IMGPAR_E_UNSUPPORTED,
                "grad: the loss depends on what it is differentiated by only through %s, which does not change "
                "smoothly",
                name_of(a->cut));
    return NULL;
}
