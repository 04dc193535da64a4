/* SPDX-License-Identifier: MIT */
/* The IR as a whole: its arena, its list of stages, its tables. */
#include "ir/opaque.h"

#include "base/alloc.h"
#include "base/dtype.h"
#include "ir/internal.h"

#include <string.h>

enum { CHUNK_BYTES = 32 * 1024 };

struct ip_arena_chunk {
    struct ip_arena_chunk *next;
    size_t used, size;
    _Alignas(16) unsigned char bytes[];
};

ip_ir *ip_ir_new(void) { return ip_zalloc(sizeof(ip_ir)); }

void ip_ir_free(ip_ir *ir)
{
    if (!ir) return;
    for (struct ip_arena_chunk *c = ir->arena, *next; c; c = next) {
        next = c->next;
        ip_free(c);
    }
    ip_free(ir->table);
    ip_free(ir->stages);
    ip_free(ir);
}

void *ip_ir_alloc(ip_ir *ir, size_t count, size_t size_bytes)
{
    size_t n;
    if (!ip_mul_size(count, size_bytes, &n) || n > SIZE_MAX / 2) {
        ir->failed = true;
        return NULL;
    }
    n = (n + 15) & ~(size_t)15;
    if (!ir->arena || ir->arena->size - ir->arena->used < n) {
        size_t size = n > CHUNK_BYTES ? n : CHUNK_BYTES;
        struct ip_arena_chunk *c = ip_zalloc(sizeof *c + size);
        if (!c) {
            ir->failed = true;
            return NULL;
        }
        c->size = size;
        c->next = ir->arena;
        ir->arena = c;
    }
    void *p = ir->arena->bytes + ir->arena->used;
    ir->arena->used += n;
    return p;
}

ip_stage *ip_stage_new(ip_ir *ir, ip_stage_kind kind, imgpar_dtype dtype, const int64_t dims[4],
                       const imgpar_array *node)
{
    if (ir->n_stages == ir->stages_capacity) {
        int capacity = ir->stages_capacity ? ir->stages_capacity * 2 : 16;
        ip_stage **stages = ip_realloc_array(ir->stages, (size_t)capacity, sizeof *stages);
        if (!stages) {
            ir->failed = true;
            return NULL;
        }
        ir->stages = stages;
        ir->stages_capacity = capacity;
    }
    ip_stage *s = ip_ir_alloc(ir, 1, sizeof *s);
    if (!s) return NULL;
    s->kind = kind;
    s->id = ir->n_stages;
    s->dtype = dtype;
    memcpy(s->dims, dims, sizeof s->dims);
    memcpy(s->over, dims, sizeof s->over);
    ip_range_of_dtype(dtype, &s->lo, &s->hi);
    s->node = node;
    ir->stages[ir->n_stages++] = s;
    return s;
}

static bool computes_same(const ip_stage *a, const ip_stage *b)
{
    return a->kind == b->kind && a->dtype == b->dtype && memcmp(a->dims, b->dims, sizeof a->dims) == 0 &&
           memcmp(a->over, b->over, sizeof a->over) == 0 && a->reduce == b->reduce && a->acc_dtype == b->acc_dtype &&
           ip_x_is_same(a->body, b->body) && ip_x_is_same(a->init, b->init) && ip_x_is_same(a->combine, b->combine) &&
           ip_x_is_same(a->finish, b->finish) && ip_x_is_same(a->least_place, b->least_place);
}

ip_stage *ip_stage_once(ip_ir *ir, ip_stage *last)
{
    for (int k = 0; k < last->id && last->id == ir->n_stages - 1; k++) {
        if (!computes_same(ir->stages[k], last)) continue;
        ir->n_stages--;
        return ir->stages[k];
    }
    return last;
}

void ip_stage_move(ip_ir *ir, ip_stage *s, int place)
{
    for (int k = s->id; k > place; k--) {
        ir->stages[k] = ir->stages[k - 1];
        ir->stages[k]->id = k;
    }
    ir->stages[place] = s;
    s->id = place;
}

ip_stage *ip_stage_table(ip_ir *ir, imgpar_dtype dtype, int64_t n, const void *data)
{
    const int64_t dims[4] = { 1, 1, n, 1 };
    size_t size_bytes;
    if (!ip_mul_size((size_t)n, ip_dtype(dtype)->size_bytes, &size_bytes)) return NULL;
    ip_stage *s = ip_stage_new(ir, IP_STAGE_TABLE, dtype, dims, NULL);
    void *copy = ip_ir_alloc(ir, (size_t)n, ip_dtype(dtype)->size_bytes);
    if (!s || !copy) return NULL;
    memcpy(copy, data, size_bytes);
    s->table = copy;
    s->is_rising = dtype == IMGPAR_I32;
    for (int64_t k = 1; k < n && s->is_rising; k++)
        s->is_rising = ((const int32_t *)copy)[k] >= ((const int32_t *)copy)[k - 1];
    return s;
}

ip_expr *ip_table_at(ip_ir *ir, ip_stage *table, ip_expr *index)
{
    ip_expr *zero = ip_x_int(ir, IMGPAR_I32, 0);
    ip_expr *at[4] = { zero, zero, index, zero };
    return ip_x_load(ir, table, at, IP_BORDER_NONE, NULL);
}

ip_stage *ip_stage_opaque(ip_ir *ir, const ip_opaque *opaque, imgpar_dtype dtype, const int64_t dims[4],
                          const imgpar_array *node)
{
    ip_opaque *copy = ip_ir_alloc(ir, 1, sizeof *copy);
    for (int k = 0; k < opaque->n_inputs; k++)
        if (!opaque->inputs[k]) ir->failed = true;
    ip_stage *s = copy && !ir->failed ? ip_stage_new(ir, IP_STAGE_OPAQUE, dtype, dims, node) : NULL;
    if (!s) return NULL;
    *copy = *opaque;
    memcpy(copy->dims, dims, sizeof copy->dims);
    if (opaque->n_list > 0) {
        int *list = ip_ir_alloc(ir, (size_t)opaque->n_list, sizeof *list);
        if (!list) return NULL;
        memcpy(list, opaque->list, (size_t)opaque->n_list * sizeof *list);
        copy->list = list;
    }
    s->opaque = copy;
    return s;
}

bool ip_stage_folds(const ip_stage *s)
{
    return s->kind == IP_STAGE_REDUCE || s->kind == IP_STAGE_HISTOGRAM || s->kind == IP_STAGE_BY_KEY;
}

const int64_t *ip_stage_domain(const ip_stage *s) { return ip_stage_folds(s) ? s->over : s->dims; }

ip_region ip_stage_shown(const ip_stage *s) { return s->shown ? *s->shown : ip_stage_region(s); }

ip_region ip_stage_region(const ip_stage *s) { return (ip_region){ 0, s->dims[0], 0, s->dims[1], 0, s->dims[2] }; }

ip_state ip_stage_state(const ip_stage *s, int k)
{
    return k > 0 ? s->more[k - 1] : (ip_state){ s->body, s->init, s->combine };
}

void ip_stage_set_states(ip_ir *ir, ip_stage *s, const ip_state *states, int n)
{
    s->body = states[0].body;
    s->init = states[0].init;
    s->combine = states[0].combine;
    s->acc_dtype = s->body->dtype;
    s->more = n > 1 ? ip_ir_alloc(ir, (size_t)n - 1, sizeof *s->more) : NULL;
    s->n_more = s->more ? n - 1 : 0;
    for (int k = 0; k < s->n_more; k++)
        s->more[k] = states[1 + k];
}

void ip_stage_take_states(ip_ir *ir, ip_stage *s, const ip_stage *from)
{
    ip_state states[IP_SCAN_STATES];
    for (int k = 0; k < ip_stage_states(from); k++)
        states[k] = ip_stage_state(from, k);
    ip_stage_set_states(ir, s, states, ip_stage_states(from));
    s->axis = from->axis;
    s->backward = from->backward;
}

bool ip_stage_has_same_states(const ip_stage *a, const ip_stage *b)
{
    bool same = a->axis == b->axis && a->backward == b->backward && a->n_more == b->n_more;
    for (int k = 0; same && k < ip_stage_states(a); k++) {
        const ip_state p = ip_stage_state(a, k), q = ip_stage_state(b, k);
        same = ip_x_is_same(p.body, q.body) && ip_x_is_same(p.init, q.init) && ip_x_is_same(p.combine, q.combine);
    }
    return same;
}

/* Which states of n are used, and which number each has among them. */
typedef struct state_use {
    int n, number[IP_SCAN_STATES];
    bool is_used[IP_SCAN_STATES], found;
    int n_used;
} state_use;

static void note_state(ip_expr *x, void *user)
{
    state_use *u = user;
    if (x->op != IP_X_ACC || u->is_used[x->axis % u->n]) return;
    u->is_used[x->axis % u->n] = u->found = true;
}

static ip_expr *renumber(ip_ir *ir, ip_expr *x, void *user)
{
    const state_use *u = user;
    if (x->op != IP_X_ACC) return x;
    return ip_x_acc(ir, (x->axis < u->n ? 0 : u->n_used) + u->number[x->axis % u->n], x->dtype);
}

void ip_stage_drop_states(ip_ir *ir, ip_stage *s)
{
    state_use u = { .n = ip_stage_states(s) };
    ip_state states[IP_SCAN_STATES];
    if (u.n == 1) return;
    ip_x_walk(ir, s->finish, note_state, &u);
    u.is_used[0] |= !u.found; /* one at least is carried */
    for (u.found = true; u.found;) {
        u.found = false;
        for (int k = 0; k < u.n; k++) {
            const ip_state state = ip_stage_state(s, k);
            if (!u.is_used[k]) continue;
            ip_x_walk(ir, state.body, note_state, &u);
            if (state.combine) ip_x_walk(ir, state.combine, note_state, &u);
        }
    }
    for (int k = 0; k < u.n; k++) {
        u.number[k] = u.n_used;
        if (u.is_used[k]) states[u.n_used++] = ip_stage_state(s, k);
    }
    if (u.n_used == u.n) return;
    for (int k = 0; k < u.n_used; k++) {
        states[k].body = ip_x_map(ir, states[k].body, renumber, &u);
        if (states[k].combine) states[k].combine = ip_x_map(ir, states[k].combine, renumber, &u);
    }
    s->finish = ip_x_map(ir, s->finish, renumber, &u);
    ip_stage_set_states(ir, s, states, u.n_used);
}

int ip_stage_parts(ip_stage *s, ip_expr **parts[IP_STAGE_PARTS])
{
    int n = 0;
    ip_expr **const first[] = { &s->body, &s->finish, &s->combine, &s->init };
    for (size_t k = 0; k < sizeof first / sizeof *first; k++)
        if (*first[k]) parts[n++] = first[k];
    for (int k = 0; k < s->n_more; k++) {
        parts[n++] = &s->more[k].body;
        parts[n++] = &s->more[k].init;
        if (s->more[k].combine) parts[n++] = &s->more[k].combine;
    }
    return n;
}

int ip_stage_exprs(const ip_stage *s, ip_expr *exprs[IP_STAGE_PARTS])
{
    ip_expr **parts[IP_STAGE_PARTS];
    const int n = ip_stage_parts((ip_stage *)s, parts);
    for (int k = 0; k < n; k++)
        exprs[k] = *parts[k];
    return n;
}

bool ip_stage_computes(const ip_stage *s)
{
    return s->kind == IP_STAGE_MAP || s->kind == IP_STAGE_SCAN || ip_stage_folds(s);
}

typedef struct load_visit {
    void (*fn)(ip_expr *, void *);
    void *user;
} load_visit;

static void visit_load(ip_expr *x, void *user)
{
    load_visit *v = user;
    if (x->op == IP_X_LOAD) v->fn(x, v->user);
}

void ip_stage_each_load(ip_ir *ir, const ip_stage *s, void (*fn)(ip_expr *load, void *user), void *user)
{
    load_visit v = { fn, user };
    ip_expr *exprs[IP_STAGE_PARTS];
    const int n = ip_stage_exprs(s, exprs);
    for (int k = 0; k < n; k++)
        ip_x_walk(ir, exprs[k], visit_load, &v);
}

static void count_load(ip_expr *load, void *user) { ((int *)user)[load->source->id]++; }

int *ip_ir_count_reads(ip_ir *ir)
{
    int *n_reads = ip_ir_alloc(ir, (size_t)ir->n_stages + 1, sizeof *n_reads);
    for (int k = ir->n_stages - 1; n_reads && k >= 0; k--) { /* readers first */
        const ip_stage *s = ir->stages[k];
        if (!ip_stage_is_live(s, n_reads)) continue;
        for (int i = 0; s->opaque && i < s->opaque->n_inputs; i++)
            n_reads[s->opaque->inputs[i]->id]++;
        if (ip_stage_computes(s)) ip_stage_each_load(ir, s, count_load, n_reads);
    }
    return ir->failed ? NULL : n_reads;
}

int ip_stage_size(ip_ir *ir, const ip_stage *s)
{
    int size = ip_x_size(ir, s->body);
    for (int k = 0; k < s->n_more; k++)
        size += ip_x_size(ir, s->more[k].body);
    return size;
}

int64_t ip_stage_blocks(const ip_stage *s)
{
    int64_t length = s->dims[s->axis];
    return s->combine && length > IP_SCAN_LONG ? (length + IP_SCAN_BLOCK - 1) / IP_SCAN_BLOCK : 1;
}

static void find_remainder(ip_expr *x, void *found)
{
    if (x->op == IP_X_MOD && ip_dtype(x->dtype)->is_float) *(bool *)found = true;
}

bool ip_ir_is_exact(ip_ir *ir)
{
    bool is_open = false;
    for (int k = 0; k < ir->n_stages && !is_open; k++) {
        const ip_stage *s = ir->stages[k];
        is_open = s->kind == IP_STAGE_OPAQUE || (s->kind == IP_STAGE_REDUCE && ip_dtype(s->acc_dtype)->is_float);
        ip_expr *exprs[IP_STAGE_PARTS];
        const int n = ip_stage_exprs(s, exprs);
        for (int i = 0; i < n && !is_open; i++)
            ip_x_walk(ir, exprs[i], find_remainder, &is_open);
    }
    return !is_open && !ir->failed;
}
