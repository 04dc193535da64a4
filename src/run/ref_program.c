/* SPDX-License-Identifier: MIT */
/*
 * From an expression to a program.
 *
 * 1. Order. Every distinct expression becomes one instruction, arguments first. Those that depend on a TAP go into the
 *    body of its window; what does not depend on it stays outside and is computed once. While this goes on each
 *    instruction is named by the order of its making (a value number).
 * 2. Layout. Bodies follow their WINDOW, so the code is one list.
 * 3. Slots. A value keeps its slot until its last use, or, if a window that it does not belong to uses it, until that
 *    window's end. Constants keep theirs for ever and are written once.
 */
#include "run/ref_impl.h"

#include "base/alloc.h"
#include "base/dtype.h"

#include <string.h>

/* Instructions in order; the outermost block, or the body of a window that is being compiled. */
typedef struct block {
    int depth;
    ip_ref_instr *code; /* .slot and .arg are value numbers */
    int n, capacity;
} block;

typedef struct known {
    int value; /* value number + 1; 0: not compiled */
    block *where;
} known;

typedef struct compiler {
    ip_ir *ir;
    const int64_t *domain;
    void *const *memory;
    known *known; /* by expression id */
    size_t n_known;
    block **open; /* by window: the body being compiled, or NULL */
    block top, constants;
    int n_values;
    imgpar_status status;
    ip_error *err;
} compiler;

static int compile(compiler *c, ip_expr *x);

static void out_of_memory(compiler *c)
{
    if (!c->status) c->status = ip_fail_memory(c->err, "interpreting");
}

static void defect(compiler *c, const char *what)
{
    if (!c->status) c->status = ip_fail(c->err, IMGPAR_E_INTERNAL, "internal: interpreter: %s", what);
}

static bool append(compiler *c, block *to, const ip_ref_instr *code, int n)
{
    if (to->n + n > to->capacity) {
        int capacity = to->capacity * 2 + n + 16;
        ip_ref_instr *grown = ip_realloc_array(to->code, (size_t)capacity, sizeof *grown);
        if (!grown) {
            out_of_memory(c);
            return false;
        }
        to->code = grown;
        to->capacity = capacity;
    }
    memcpy(to->code + to->n, code, (size_t)n * sizeof *code);
    to->n += n;
    return true;
}

/* ---- order ----------------------------------------------------------------------------------- */

static bool is_empty(const ip_stage *s) { return !s->dims[0] || !s->dims[1] || !s->dims[2] || !s->dims[3]; }

/* Loads whose neighbours read neighbours: the row is the same for the whole block, and columns and channels follow the
 * domain's. */
static bool reads_a_run(compiler *c, const ip_expr *x)
{
    ip_index at[4];
    if (x->source->dims[3] != c->domain[3]) return false;
    for (int k = 0; k < 4; k++)
        at[k] = ip_x_classify(c->ir, x->arg[k]);
    for (int k = 0; k < 2; k++)
        if (at[k].uses_coord[2] || at[k].uses_coord[3]) return false;
    if (at[2].kind != IP_INDEX_UNIT || at[2].axis != 2) return false;
    if (at[3].kind == IP_INDEX_FIXED) return c->domain[3] == 1;
    return at[3].kind == IP_INDEX_UNIT && at[3].axis == 3 && at[3].lo == 0 && at[3].hi == 0;
}

typedef struct deepest {
    compiler *c;
    block *found;
} deepest;

static void note_tap(ip_expr *x, void *user)
{
    deepest *d = user;
    block *body = x->op == IP_X_TAP ? d->c->open[x->window] : NULL;
    if (body && body->depth > d->found->depth) d->found = body;
}

/* The innermost open window whose taps x depends on. */
static block *block_of(compiler *c, ip_expr *x)
{
    deepest d = { .c = c, .found = &c->top };
    ip_x_walk(c->ir, x, note_tap, &d);
    return d.found;
}

static int add(compiler *c, block *to, ip_ref_instr *instr)
{
    instr->slot = c->n_values++;
    if (append(c, to, instr, 1)) c->known[instr->x->id] = (known){ .value = instr->slot + 1, .where = to };
    return instr->slot;
}

/* The body of a window, then the WINDOW with its body behind it. Values of the body are forgotten: another window may
 * share them. */
static int compile_window(compiler *c, ip_expr *x)
{
    ip_ref_instr instr = { .x = x };
    block *outer = block_of(c, x);
    block body = { .depth = outer->depth + 1 };
    if (c->open[x->window]) defect(c, "a window within itself");
    c->open[x->window] = &body;
    for (int k = 0; k < x->n_args && !c->status; k++)
        instr.arg[k] = compile(c, x->arg[k]);
    c->open[x->window] = NULL;
    for (int k = 0; k < body.n; k++)
        c->known[body.code[k].x->id].value = 0;
    instr.n_body = body.n;
    int value = add(c, outer, &instr);
    if (!c->status) append(c, outer, body.code, body.n);
    ip_free(body.code);
    return value;
}

/* x's value number. */
static int compile(compiler *c, ip_expr *x)
{
    ip_ref_instr instr = { .x = x };
    block *to = &c->top;
    if (c->status) return 0;
    if (x->id >= c->n_known) {
        defect(c, "an expression of another IR");
        return 0;
    }
    if (c->known[x->id].value) return c->known[x->id].value - 1;
    if (x->op == IP_X_WINDOW) return compile_window(c, x);
    for (int k = 0; k < x->n_args; k++) {
        instr.arg[k] = compile(c, x->arg[k]);
        if (c->status) return 0;
        block *where = c->known[x->arg[k]->id].where;
        if (where->depth > to->depth) to = where;
    }
    if (x->op == IP_X_CONST || x->op == IP_X_PARAM) to = &c->constants;
    if (x->op == IP_X_TAP) to = c->open[x->window];
    if (!to) {
        defect(c, "a tap outside of its window");
        return 0;
    }
    if (x->op == IP_X_LOAD) {
        instr.memory = x->source->kind == IP_STAGE_TABLE ? x->source->table : c->memory[x->source->id];
        instr.is_run = reads_a_run(c, x);
        if (!instr.memory && !is_empty(x->source)) defect(c, "a stage is read before it is computed");
    }
    return add(c, to, &instr);
}

/* ---- slots -------------------------------------------------------------------------------------- */

/* Tables over positions in the code and over values. */
typedef struct layout {
    int *place_of;   /* value -> position; -1: a constant */
    int *outer;      /* position -> its WINDOW's position, -1: none */
    int *last;       /* value -> the position after which its slot is free */
    int *ends_here;  /* position -> the first value with that last position, -1: none */
    int *next_end;   /* value -> the next such value */
    int *slot_of;    /* value -> slot */
    int *free_slots; /* a stack */
    int n_free, n_slots;
} layout;

static void find_windows(const ip_ref_program *p, layout *l)
{
    int window = -1;
    for (int k = 0; k < p->n_code; k++) {
        while (window >= 0 && k > window + p->code[window].n_body)
            window = l->outer[window];
        l->outer[k] = window;
        if (p->code[k].x->op == IP_X_WINDOW) window = k;
    }
}

/* value is used at position k, or at the end of each window around k that value does not belong to. */
static void note_use(const ip_ref_program *p, layout *l, int value, int k)
{
    int made = l->place_of[value], use = k;
    for (int w = l->outer[k]; w >= 0 && made < w; w = l->outer[w])
        use = w + p->code[w].n_body;
    if (use > l->last[value]) l->last[value] = use;
}

static void find_last_uses(const ip_ref_program *p, layout *l, int n_values, int result)
{
    for (int v = 0; v < n_values; v++)
        l->last[v] = l->place_of[v];
    for (int k = 0; k < p->n_code; k++) {
        const ip_ref_instr *instr = &p->code[k];
        for (int a = 0; a < instr->x->n_args; a++) {
            note_use(p, l, instr->arg[a], k);
            /* A window's arguments are folded after each run of its body. */
            if (instr->n_body > 0) note_use(p, l, instr->arg[a], k + instr->n_body);
        }
    }
    l->last[result] = p->n_code; /* never free */
    for (int k = 0; k < p->n_code; k++)
        l->ends_here[k] = -1;
    for (int v = 0; v < n_values; v++) {
        if (l->place_of[v] < 0 || l->last[v] >= p->n_code) continue;
        l->next_end[v] = l->ends_here[l->last[v]];
        l->ends_here[l->last[v]] = v;
    }
}

/* Gives the values of the code their slots; the constants have the first ones. */
static void assign_slots(ip_ref_program *p, layout *l)
{
    for (int k = 0; k < p->n_code; k++) {
        int value = p->code[k].slot;
        l->slot_of[value] = l->n_free > 0 ? l->free_slots[--l->n_free] : l->n_slots++;
        for (int v = l->ends_here[k]; v >= 0; v = l->next_end[v]) /* after the result's: it is no argument's */
            l->free_slots[l->n_free++] = l->slot_of[v];
    }
    for (int k = 0; k < p->n_code; k++) {
        ip_ref_instr *instr = &p->code[k];
        instr->slot = l->slot_of[instr->slot];
        for (int a = 0; a < instr->x->n_args; a++)
            instr->arg[a] = l->slot_of[instr->arg[a]];
        if (instr->x->op != IP_X_TAP) continue;
        int w = l->outer[k];
        while (p->code[w].x->window != instr->x->window)
            w = l->outer[w];
        instr->window = w;
    }
}

static void write_constant(ip_ref_values *to, const ip_expr *x)
{
    for (int k = 0; k < IP_REF_BLOCK; k++) {
        if (x->dtype == IMGPAR_F32)
            to->f[k] = (float)x->f;
        else if (x->dtype == IMGPAR_F64)
            to->d[k] = x->f;
        else
            to->i[k] = x->i;
    }
    if (!ip_dtype(x->dtype)->is_float) ip_ref_wrap(x->dtype, IP_REF_BLOCK, to->i);
}

static imgpar_status lay_out(compiler *c, ip_ref_program *p, int result)
{
    size_t n = (size_t)c->n_values + (size_t)p->n_code + 1;
    int *tables = ip_alloc_array(n, 7 * sizeof *tables);
    if (!tables) return ip_fail_memory(c->err, "interpreting");
    layout l = { .place_of = tables,
                 .outer = tables + n,
                 .last = tables + 2 * n,
                 .ends_here = tables + 3 * n,
                 .next_end = tables + 4 * n,
                 .slot_of = tables + 5 * n,
                 .free_slots = tables + 6 * n };

    for (int k = 0; k < c->constants.n; k++) {
        l.place_of[c->constants.code[k].slot] = -1;
        l.slot_of[c->constants.code[k].slot] = l.n_slots++;
    }
    for (int k = 0; k < p->n_code; k++)
        l.place_of[p->code[k].slot] = k;
    find_windows(p, &l);
    find_last_uses(p, &l, c->n_values, result);
    assign_slots(p, &l);
    p->n_slots = l.n_slots;
    p->result = l.slot_of[result];

    p->slots = ip_alloc_array((size_t)p->n_slots, sizeof *p->slots);
    for (int k = 0; p->slots && k < c->constants.n; k++)
        write_constant(&p->slots[k], c->constants.code[k].x);
    ip_free(tables);
    return p->slots ? IMGPAR_OK : ip_fail_memory(c->err, "interpreting");
}

imgpar_status ip_ref_program_make(ip_ir *ir, ip_expr *x, const int64_t domain[4], void *const *memory,
                                  ip_ref_program *out, ip_error *err)
{
    compiler c = { .ir = ir, .domain = domain, .memory = memory, .n_known = ir->n_exprs, .err = err };
    *out = (ip_ref_program){ .bad_source = -1 };
    memcpy(out->domain, domain, sizeof out->domain);
    c.known = ip_zalloc((ir->n_exprs + 1) * sizeof *c.known);
    c.open = ip_zalloc(((size_t)ir->n_windows + 1) * sizeof *c.open);
    if (!c.known || !c.open) out_of_memory(&c);
    int result = compile(&c, x);
    if (!c.status && ir->failed) out_of_memory(&c);
    out->code = c.top.code;
    out->n_code = c.top.n;
    if (!c.status) c.status = lay_out(&c, out, result);
    ip_free(c.constants.code);
    ip_free(c.open);
    ip_free(c.known);
    return c.status;
}

void ip_ref_program_clear(ip_ref_program *program)
{
    ip_free(program->code);
    ip_free(program->slots);
    *program = (ip_ref_program){ .bad_source = -1 };
}
