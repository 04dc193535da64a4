/* SPDX-License-Identifier: MIT */
/*
 * From an expression to a program.
 *
 * 1. Order. Every distinct expression becomes one instruction at each rate that it is wanted at, arguments first. Those
 *    that depend on a TAP go into the body of its window; what does not depend on it stays outside and is computed
 *    once. What depends on columns and channels alone goes before everything else. While this goes on each instruction
 *    is named by the order of its making (a value number).
 * 2. Layout (ref_layout.c).
 */
#include "run/ref_program.h"

#include "base/alloc.h"
#include "base/dtype.h"
#include "ir/index_map.h"

#include <string.h>

enum {
    LEAST_ROWS = 4,      /* that rows of values are kept for */
    MOST_KEPT = 1 << 16, /* elements of such a row */
    MOST_CHANNELS = 16   /* of a pixel that is computed at once */
};

/* Instructions in order. */
typedef struct block {
    int depth;          /* 0: the outermost; of a window's body more, of what is run before less */
    ip_ref_instr *code; /* .slot and .arg are value numbers */
    int n, capacity;
} block;

typedef struct compiler {
    ip_ir *ir;
    const ip_ref_over *over;
    const ip_ref_loops *loops;
    int *known; /* by expression id and rate: a value number + 1; 0: not compiled */
    size_t n_known;
    block **open;                   /* by window or loop: the body being compiled, or NULL */
    int (*starts)[IP_MOST_CARRIED]; /* by loop: the value numbers of its STARTs */
    block top, before, constants;
    block *kept; /* before, or where rows are not kept top */
    bool by_pixels;
    int n_values, capacity;
    block **places; /* by value: where it is computed */
    imgpar_status status;
    ip_error *err;
} compiler;

static int compile(compiler *c, ip_expr *x, ip_ref_rate rate);

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
    if (n == 0) return true;
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

/* ---- rates ------------------------------------------------------------------------------------ */

/* The lowest rate that x can be computed at. */
static ip_ref_rate rate_of(const compiler *c, const ip_expr *x)
{
    if (x->uses & (IP_USES_ACC | IP_USES_C)) return IP_REF_ELEMENTS;
    if (x->uses & IP_USES_X) return c->by_pixels ? IP_REF_PIXELS : IP_REF_ELEMENTS;
    return IP_REF_ONCE;
}

static bool is_number(const ip_expr *x) { return x->op == IP_X_CONST || x->op == IP_X_PARAM; }

static int *known_at(const compiler *c, const ip_expr *x, ip_ref_rate rate)
{
    return &c->known[(size_t)x->id * IP_REF_RATES + (size_t)rate];
}

/* A new value at the end of a block; its number. */
static int add_unnamed(compiler *c, block *to, ip_ref_instr *instr)
{
    if (c->n_values == c->capacity) {
        block **grown = ip_realloc_array(c->places, (size_t)c->capacity * 2 + 64, sizeof(block *));
        if (!grown) {
            out_of_memory(c);
            return 0;
        }
        c->places = grown;
        c->capacity = c->capacity * 2 + 64;
    }
    c->places[c->n_values] = to;
    instr->slot = c->n_values++;
    append(c, to, instr, 1);
    return instr->slot;
}

/* The same, known as that of its expression. */
static int add(compiler *c, block *to, ip_ref_instr *instr)
{
    const int value = add_unnamed(c, to, instr);
    if (!c->status) *known_at(c, instr->x, instr->rate) = value + 1;
    return value;
}

static int broadcast(compiler *c, ip_expr *x, ip_ref_rate from, ip_ref_rate rate)
{
    ip_ref_instr instr = { .x = x, .kind = IP_REF_BROADCAST, .rate = rate, .from = from, .n_args = 1 };
    instr.arg[0] = compile(c, x, from);
    instr.loop = c->loops->splat[ip_ref_size_log2(x->dtype)];
    return c->status ? 0 : add(c, c->places[instr.arg[0]], &instr);
}

/* ---- windows ---------------------------------------------------------------------------------- */

typedef struct deepest {
    compiler *c;
    block *found;
} deepest;

static void note_tap(ip_expr *x, void *user)
{
    deepest *d = user;
    block *body = x->op == IP_X_TAP || x->op == IP_X_STATE ? d->c->open[x->window] : NULL;
    if (body && body->depth > d->found->depth) d->found = body;
}

/* The innermost open window or loop whose taps or states x depends on. */
static block *block_of(compiler *c, ip_expr *x)
{
    deepest d = { .c = c, .found = &c->top };
    ip_x_walk(c->ir, x, note_tap, &d);
    return d.found;
}

/* The instruction with its body behind it. Values of the body are forgotten: another window may share them. */
static int add_with_body(compiler *c, block *outer, ip_ref_instr *instr, block *body)
{
    for (int k = 0; k < body->n; k++)
        *known_at(c, body->code[k].x, body->code[k].rate) = 0;
    instr->n_body = body->n;
    int value = add(c, outer, instr);
    if (!c->status) append(c, outer, body->code, body->n);
    ip_free(body->code);
    return value;
}

static int compile_window(compiler *c, ip_expr *x, ip_ref_rate rate)
{
    ip_ref_instr instr = { .x = x, .kind = IP_REF_WINDOW, .rate = rate, .window = x->window, .n_args = x->n_args };
    block *outer = block_of(c, x);
    block body = { .depth = outer->depth + 1 };
    instr.loop = c->loops->op[x->fold == IP_FOLD_FMA ? IP_X_FMA : ip_fold_op(x->fold)][x->dtype];
    if (c->open[x->window] || !instr.loop) defect(c, "a window within itself, or one that cannot be folded");
    c->open[x->window] = &body;
    for (int k = 0; k < x->n_args && !c->status; k++)
        instr.arg[k] = compile(c, x->arg[k], rate);
    c->open[x->window] = NULL;
    return add_with_body(c, outer, &instr, &body);
}

/* ---- loops of an element ------------------------------------------------------------------------ */

/* What the loop begins with: GOING's value number. */
static int start_loop(compiler *c, ip_expr *x, ip_ref_rate rate, ip_expr *const *starts, int n, block *outer)
{
    ip_ref_instr going = { .x = x, .kind = IP_REF_GOING, .rate = rate };
    int numbers[IP_MOST_CARRIED];
    for (int k = 0; k < n; k++) {
        ip_ref_instr start = { .x = starts[k], .kind = IP_REF_START, .rate = rate, .n_args = 1 };
        start.arg[0] = compile(c, starts[k], rate);
        numbers[k] = add_unnamed(c, outer, &start);
    }
    memcpy(c->starts[x->window], numbers, sizeof numbers); /* not before: among what it starts from may be loops */
    return add_unnamed(c, outer, &going);
}

static int compile_steps(compiler *c, ip_expr *x, ip_ref_rate rate)
{
    ip_ref_instr instr = { .x = x, .kind = IP_REF_STEPS, .rate = rate, .n_args = 2 };
    ip_expr *starts[IP_MOST_CARRIED], *next[IP_MOST_CARRIED];
    const int n = ip_x_list(x->arg[0], starts, IP_MOST_CARRIED);
    int values[IP_MOST_CARRIED];
    ip_x_list(x->arg[1], next, IP_MOST_CARRIED);
    block *outer = block_of(c, x);
    block body = { .depth = outer->depth + 1 };
    instr.arg[0] = start_loop(c, x, rate, starts, n, outer);
    if (c->open[x->window]) defect(c, "a loop within itself");
    c->open[x->window] = &body;
    for (int k = 0; k < n && !c->status; k++)
        values[k] = compile(c, next[k], rate);
    if (!c->status) instr.arg[1] = compile(c, x->arg[2], rate);
    c->open[x->window] = NULL;
    for (int k = 0; k < n && !c->status; k++) { /* when all is computed */
        ip_ref_instr to = { .x = next[k], .kind = IP_REF_NEXT, .rate = rate, .n_args = 3 };
        to.arg[0] = values[k];
        to.arg[1] = c->starts[x->window][k];
        to.arg[2] = instr.arg[0];
        add_unnamed(c, &body, &to);
    }
    return add_with_body(c, outer, &instr, &body);
}

/* A value behind the loop, or within a step. */
static void compile_carried(compiler *c, ip_expr *x, ip_ref_instr *instr)
{
    const ip_expr *loop = x->op == IP_X_RESULT ? x->arg[0] : x;
    instr->kind = IP_REF_STATE;
    if (x->op == IP_X_RESULT) instr->arg[1] = compile(c, x->arg[0], instr->rate);
    instr->n_args = x->op == IP_X_RESULT ? 2 : 1;
    instr->arg[0] = c->starts[loop->window][x->axis];
}

/* ---- loads ------------------------------------------------------------------------------------- */

static bool is_empty(const ip_stage *s) { return !s->dims[0] || !s->dims[1] || !s->dims[2] || !s->dims[3]; }

static bool is_once(const ip_expr *x) { return !(x->uses & (IP_USES_X | IP_USES_C | IP_USES_ACC)); }

static ip_ref_reading reading_of(compiler *c, const ip_expr *x, ip_ref_rate rate)
{
    const int64_t channels = c->over->domain[3];
    const ip_index column = ip_x_classify(x->arg[2]);
    const bool is_own_channel = ip_reads_own_index(x, 3, channels),
               is_in_row = is_once(x->arg[0]) && is_once(x->arg[1]),
               is_beside = column.kind == IP_INDEX_UNIT && column.axis == 2,
               by_pixels = rate == IP_REF_PIXELS || (rate == IP_REF_ELEMENTS && channels == 1);
    if (is_in_row && is_beside && is_own_channel && rate == IP_REF_ELEMENTS) return IP_REF_RUN;
    if (is_in_row && is_beside && is_once(x->arg[3]) && by_pixels) return IP_REF_STRIDE;
    const bool takes_pixels = !((x->arg[0]->uses | x->arg[1]->uses | x->arg[2]->uses) & (IP_USES_C | IP_USES_ACC));
    return c->by_pixels && is_own_channel && takes_pixels && rate == IP_REF_ELEMENTS ? IP_REF_WHOLE : IP_REF_SINGLE;
}

static ip_ref_index compile_index(compiler *c, ip_expr *x, ip_ref_rate rate, bool is_first, ip_ref_instr *instr)
{
    const ip_index at = ip_x_classify(x);
    ip_ref_index index = { .axis = -1, .arg = -1, .is_once = is_first || is_once(x) };
    if (x->op == IP_X_CONST) {
        index.by = x->i;
    } else if (index.is_once && at.kind == IP_INDEX_UNIT && at.lo == at.hi) {
        index.axis = at.axis;
        index.by = at.lo;
    } else {
        index.arg = instr->n_args++;
        instr->arg[index.arg] = compile(c, x, index.is_once ? IP_REF_ONCE : rate);
    }
    return index;
}

static void compile_load(compiler *c, ip_expr *x, ip_ref_instr *instr)
{
    const ip_ref_reading reading = reading_of(c, x, instr->rate);
    const bool is_in_row = reading == IP_REF_RUN || reading == IP_REF_STRIDE;
    instr->kind = IP_REF_LOAD;
    instr->reading = reading;
    instr->memory = x->source->kind == IP_STAGE_TABLE ? x->source->table : c->over->memory[x->source->id];
    instr->n_rows = c->over->n_rows ? c->over->n_rows[x->source->id] : 0;
    instr->outside = -1;
    if (!instr->memory && !is_empty(x->source)) defect(c, "a stage is read before it is computed");
    for (int k = 0; k < 4 && !c->status; k++) {
        if (k == 3 && (reading == IP_REF_RUN || reading == IP_REF_WHOLE)) {
            instr->index[k] = (ip_ref_index){ .axis = 3, .arg = -1, .is_once = true };
            continue;
        }
        const ip_ref_rate rate = reading == IP_REF_WHOLE ? IP_REF_PIXELS : instr->rate;
        instr->index[k] = compile_index(c, x->arg[k], rate, is_in_row && k == 2, instr);
    }
    if (x->border != IMGPAR_BORDER_CONSTANT || c->status) return;
    instr->outside = instr->n_args++;
    instr->arg[instr->outside] = compile(c, x->arg[4], instr->rate);
}

/* ---- all of them --------------------------------------------------------------------------------- */

static ip_ref_loop loop_of(const compiler *c, const ip_expr *x)
{
    const imgpar_dtype last = x->arg[x->n_args - 1]->dtype;
    if (x->op == IP_X_CAST) return c->loops->cast[x->dtype][last];
    if (x->op == IP_X_SATURATE) return c->loops->saturate[x->dtype][last];
    return c->loops->op[x->op][last];
}

/* Where an instruction stands at the earliest, but for its arguments. */
static block *place_of(compiler *c, const ip_expr *x, ip_ref_rate rate)
{
    if (is_number(x)) return &c->constants;
    if (x->op == IP_X_TAP || x->op == IP_X_STATE) return c->open[x->window];
    const bool is_of_first = rate < rate_of(c, x), is_of_row = x->uses & ~(IP_USES_X | IP_USES_C),
               reads_stage = x->op == IP_X_LOAD && x->source->kind > IP_STAGE_TABLE;
    return is_of_first || is_of_row || reads_stage ? &c->top : c->kept;
}

/* What is part of the instruction that uses it, which is none slower for that. */
static bool goes_into(const compiler *c, const ip_expr *part, const ip_ref_instr *instr)
{
    return !*known_at(c, part, instr->rate) && rate_of(c, part) == instr->rate;
}

static void compile_operands(compiler *c, ip_expr *const *operands, int n, ip_ref_instr *instr)
{
    instr->n_args = n;
    for (int k = 0; k < n && !c->status; k++)
        instr->arg[k] = compile(c, operands[k], instr->rate);
}

/* The sum of two casts from one dtype. */
static bool compile_sum_of_casts(compiler *c, ip_expr *x, ip_ref_instr *instr)
{
    const ip_expr *a = x->arg[0], *b = x->arg[1];
    if (a->op != IP_X_CAST || b->op != IP_X_CAST || a->arg[0]->dtype != b->arg[0]->dtype) return false;
    if (!goes_into(c, a, instr) || !goes_into(c, b, instr)) return false;
    instr->loop = c->loops->add_casts[x->dtype][a->arg[0]->dtype];
    ip_expr *const operands[] = { a->arg[0], b->arg[0] };
    if (instr->loop) compile_operands(c, operands, 2, instr);
    return instr->loop;
}

/* c + a b of integers, which wraps in the end whether or not the product did, or a + CAST of b. */
static bool compile_sum(compiler *c, ip_expr *x, ip_ref_instr *instr)
{
    const bool is_float = ip_dtype(x->dtype)->is_float;
    for (int k = 1; k >= 0; k--) {
        ip_expr *part = x->arg[k], *rest = x->arg[1 - k];
        if (!goes_into(c, part, instr)) continue;
        instr->loop = part->op == IP_X_MUL && !is_float ? c->loops->op[IP_X_FMA][x->dtype]
                      : part->op == IP_X_CAST           ? c->loops->add_cast[x->dtype][part->arg[0]->dtype]
                                                        : NULL;
        if (!instr->loop) continue;
        ip_expr *const product[] = { part->arg[0], part->n_args > 1 ? part->arg[1] : NULL, rest };
        ip_expr *const cast[] = { rest, part->arg[0] };
        if (part->op == IP_X_MUL)
            compile_operands(c, product, 3, instr);
        else
            compile_operands(c, cast, 2, instr);
        return true;
    }
    return false;
}

static void compile_operation(compiler *c, ip_expr *x, ip_ref_instr *instr)
{
    instr->kind = x->op == IP_X_BORDER ? IP_REF_BORDER : IP_REF_LOOP;
    if (x->op == IP_X_ADD && (compile_sum_of_casts(c, x, instr) || compile_sum(c, x, instr))) return;
    if (instr->kind == IP_REF_LOOP) instr->loop = loop_of(c, x);
    if (instr->kind == IP_REF_LOOP && !instr->loop) defect(c, "an operation that its dtype does not have");
    compile_operands(c, x->arg, x->n_args, instr);
}

static void compile_instr(compiler *c, ip_expr *x, ip_ref_instr *instr)
{
    switch (x->op) {
    case IP_X_CONST:
    case IP_X_PARAM: instr->kind = IP_REF_CONSTANT; break;
    case IP_X_COORD: instr->kind = IP_REF_COORD; break;
    case IP_X_ACC: instr->kind = IP_REF_ACC; break;
    case IP_X_TAP:
        instr->kind = IP_REF_TAP;
        instr->window = x->window;
        break;
    case IP_X_LOAD: compile_load(c, x, instr); break;
    case IP_X_STATE:
    case IP_X_RESULT: compile_carried(c, x, instr); break;
    default: compile_operation(c, x, instr); break;
    }
}

/* x's value number. */
static int compile(compiler *c, ip_expr *x, ip_ref_rate rate)
{
    if (c->status) return 0;
    if (x->id >= c->n_known) {
        defect(c, "an expression of another IR");
        return 0;
    }
    const ip_ref_rate own = rate_of(c, x);
    if (is_number(x)) rate = IP_REF_ELEMENTS;
    if (*known_at(c, x, rate)) return *known_at(c, x, rate) - 1;
    if (!is_number(x) && own < rate) return broadcast(c, x, own, rate);
    if (x->op == IP_X_WINDOW) return compile_window(c, x, rate);
    if (x->op == IP_X_LOOP) return compile_steps(c, x, rate);

    ip_ref_instr instr = { .x = x, .rate = rate };
    compile_instr(c, x, &instr);
    block *to = place_of(c, x, rate);
    for (int k = 0; k < instr.n_args && !c->status; k++) {
        block *where = c->places[instr.arg[k]];
        if (to && where->depth > to->depth) to = where;
    }
    if (!to) defect(c, "a tap outside of its window");
    return c->status ? 0 : add(c, to, &instr);
}

static bool keeps_rows(const ip_ref_over *over)
{
    const int64_t *d = over->domain;
    return over->by_rows && d[0] * d[1] >= LEAST_ROWS && d[2] * d[3] <= MOST_KEPT;
}

/* Elements of a block at most: a row in equal parts, of whole pixels; or whatever others choose. */
static int block_of_row(const compiler *c, bool has_loop)
{
    const int64_t unit = c->by_pixels ? c->over->domain[3] : 1, row = c->over->domain[2] * c->over->domain[3] / unit;
    const int64_t most = (has_loop ? IP_REF_LOOP_BLOCK : IP_REF_BLOCK) / unit, parts = (row + most - 1) / most;
    if (row == 0) return 1;
    return (int)(c->over->by_rows ? (row + parts - 1) / parts * unit : row < most ? row : most);
}

/* What is run before, then the rest, as one list. */
static void join(compiler *c, ip_ref_program *out)
{
    out->n_kept = c->before.n;
    if (!c->status) append(c, &c->before, c->top.code, c->top.n);
    out->code = c->before.code;
    out->n_code = c->before.n;
    ip_free(c->top.code);
}

imgpar_status ip_ref_program_make(ip_ir *ir, ip_expr *x, const ip_ref_over *over, ip_ref_program *out, ip_error *err)
{
    compiler c = { .ir = ir, .over = over, .loops = ip_ref_loops_here(), .n_known = (size_t)x->id + 1, .err = err };
    *out = (ip_ref_program){ .loops = c.loops, .bad_source = -1 };
    memcpy(out->domain, over->domain, sizeof out->domain);
    c.known = ip_zalloc(c.n_known * IP_REF_RATES * sizeof *c.known); /* arguments have smaller numbers */
    c.open = ip_zalloc(((size_t)ir->n_windows + 1) * sizeof *c.open);
    c.before.depth = -1;
    c.constants.depth = -2;
    c.kept = keeps_rows(over) ? &c.before : &c.top;
    c.by_pixels = over->by_rows && over->domain[3] > 1 && over->domain[3] <= MOST_CHANNELS;
    c.starts = ip_alloc_array((size_t)ir->n_windows + 1, sizeof *c.starts);
    out->block = block_of_row(&c, ip_x_has_loop(ir, x));
    if (!c.known || !c.open || !c.starts) out_of_memory(&c);
    int result = compile(&c, x, IP_REF_ELEMENTS);
    if (!c.status && ir->failed) out_of_memory(&c);
    join(&c, out);
    const ip_ref_made made = { c.constants.code, c.constants.n, c.n_values, ir->n_windows, result };
    if (!c.status) c.status = ip_ref_lay_out(out, &made, err);
    ip_free(c.constants.code);
    ip_free(c.open);
    ip_free(c.starts);
    ip_free(c.known);
    ip_free(c.places);
    return c.status;
}

void ip_ref_program_clear(ip_ref_program *program)
{
    ip_free(program->code);
    ip_free(program->taps);
    ip_free(program->at);
    ip_free(program->rows);
    ip_free(program->memory);
    *program = (ip_ref_program){ .bad_source = -1 };
}
