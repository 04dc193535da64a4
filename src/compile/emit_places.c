/* SPDX-License-Identifier: MIT */
/*
 * Pixels that read others at computed places, rows and columns, within a border.
 *
 * Note [Pixels at computed places]
 * Where a pixel is read at places that are computed, as in a rotation, most blocks of a row read nothing beyond the
 * edges. A loop of vectors that applies the border at every place reads each channel by itself, behind a test. So a
 * block is made in two loops: the first, of vectors, computes what the channels of a pixel share, the places above all,
 * and notes whether any lies beyond the edges. If none does, the second makes pixels as they come, without a border,
 * their channels the lanes of a vector (emit_lanes.c, Note [Channels as lanes]). Other blocks are made as they were.
 * Both give the same values.
 */
#include "base/dtype.h"
#include "compile/emit.h"

enum { BLOCK = 64, MOST_SHARED = 24, MOST_OPERATIONS = 400 };

/* ---- what is read without a border ----------------------------------------------------------------- */

static bool is_at_computed_place(ip_ir *ir, const ip_expr *x)
{
    return x->op == IP_X_LOAD && x->source->kind != IP_STAGE_TABLE && x->border != IP_BORDER_NONE &&
           ((x->arg[1]->uses & IP_USES_X) || !ip_x_offset_from(ir, x->arg[2], 2));
}

/* For ip_x_map_values(): what is read to tell a place keeps its border, since its own place is not tested. */
static ip_expr *without_border(ip_ir *ir, ip_expr *x, void *user)
{
    (void)user;
    return is_at_computed_place(ir, x) ? ip_x_load(ir, x->source, x->arg, IP_BORDER_NONE, NULL) : x;
}

/* The places, of loads of the body as it is. */
typedef struct place_check {
    const ip_site *site;
    int n;
    bool fits, reads_far;
} place_check;

static bool check_place(ip_expr *x, void *user)
{
    place_check *c = user;
    if (x->op != IP_X_LOAD || !is_at_computed_place(c->site->ir, x)) return true;
    bool own_channel = ip_reads_own_index(x, 3, c->site->channels);
    c->n++;
    c->reads_far |= (x->arg[1]->uses & IP_USES_X) != 0;
    /* what tells the places is computed before it is known that all are inside */
    c->fits = c->fits && own_channel && !ip_kernel_placed(c->site->kernel, x->source) && ip_x_is_uniform(x->arg[0]) &&
              !((x->arg[1]->uses | x->arg[2]->uses) & IP_USES_C);
    return false;
}

/* Expressions that channels share, of each of which there is an array. */
typedef struct shared_values {
    const ip_site *site;
    ip_expr *of[MOST_SHARED];
    int n;
    bool fits;
} shared_values;

static void share(shared_values *s, ip_expr *x)
{
    if (!(x->uses & IP_USES_X) || x->n_args == 0) return;
    for (int k = 0; k < s->n; k++)
        if (s->of[k] == x) return;
    if (s->n == MOST_SHARED || x->dtype == IMGPAR_BOOL || x->dtype == IMGPAR_F16)
        s->fits = false;
    else
        s->of[s->n++] = x;
}

/* What a number is added to, or x itself. */
static ip_expr *without_number(ip_expr *x) { return x->op == IP_X_ADD && x->arg[1]->op == IP_X_CONST ? x->arg[0] : x; }

static bool note_shared(ip_expr *x, void *user)
{
    shared_values *s = user;
    if (!(x->uses & IP_USES_C)) {
        share(s, x);
        return false;
    }
    if (x->op != IP_X_LOAD) return true;
    share(s, without_number(x->arg[1]));
    share(s, without_number(x->arg[2]));
    return false;
}

/* Of what lanes are made of, borders left out. */
static shared_values shared_of(const ip_site *site, ip_expr *inner)
{
    shared_values s = { .site = site, .fits = true };
    ip_x_descend(site->ir, ip_lanes_part(site, inner), note_shared, &s);
    return s;
}

bool ip_fits_places(const ip_site *site, ip_expr *body, imgpar_dtype stored)
{
    place_check c = { .site = site, .fits = site->kernel->schedule == IP_SCHEDULE_ROWS };
    if (!c.fits || ip_x_has_window(site->ir, body) || ip_x_has_loop(site->ir, body) ||
        ip_x_size(site->ir, body) > MOST_OPERATIONS)
        return false;
    ip_x_descend(site->ir, body, check_place, &c);
    if (!c.fits || !c.reads_far) return false;
    ip_expr *inner = ip_x_map_values(site->ir, body, without_border, NULL);
    const shared_values s = shared_of(site, inner);
    return ip_are_lanes(site, inner, stored) && s.fits && s.n > 0 && !site->ir->failed;
}

/* ---- the loops --------------------------------------------------------------------------------------- */

typedef struct tests {
    ip_emit *e;
    const char *outside;
    const ip_expr *seen[2 * MOST_SHARED];
    const ip_stage *of[2 * MOST_SHARED];
    int n;
} tests;

/* Notes where index number dim of a load lies outside. */
static void test_index(tests *t, const ip_expr *load, int dim)
{
    enum { MOST = sizeof t->seen / sizeof *t->seen };
    ip_expr *index = load->arg[dim];
    for (int k = 0; k < t->n; k++)
        if (t->seen[k] == index && t->of[k]->dims[dim] == load->source->dims[dim] && t->of[k] == load->source) return;
    if (t->n < MOST) {
        t->seen[t->n] = index;
        t->of[t->n++] = load->source;
    }
    const char *value = ip_emit_variable(t->e, index), *extent = ip_emit_dim(t->e, load->source, dim);
    ip_s_add(t->e->ir, t->e->block, IP_S_STORE, t->outside,
             ip_text(t->e->ir, "%s | (%s < 0) | (%s >= %s)", t->outside, value, value, extent), NULL);
}

static bool test_places(ip_expr *x, void *user)
{
    tests *t = user;
    if (x->op != IP_X_LOAD || !is_at_computed_place(t->e->ir, x)) return true;
    for (int dim = 0; dim < 3; dim++)
        if (dim != 0 || !ip_reads_own_index(x, 0, t->e->domain[0])) test_index(t, x, dim);
    return false;
}

static const char *array_of(ip_emit *e, const ip_expr *x)
{
    const char *name = ip_text(e->ir, "shared%d", e->n_values++);
    ip_s_add(e->ir, e->block, IP_S_VAR, ip_cl_type(x->dtype), ip_text(e->ir, "%s[%d]", name, BLOCK), NULL);
    return name;
}

/* Computes what pixels p to p + n share, and whether they read beyond the edges. */
static void compute_shared(ip_emit *e, const ip_columns *c, const shared_values *s, const char *const *arrays,
                           const char *outside)
{
    tests t = { .e = e, .outside = outside };
    ip_mark mark = ip_emit_enter(e, ip_emit_vectors(e, "x", "p", "p + n", ip_emit_width(e, s->of[0], IMGPAR_F32)));
    e->coord[2] = "x";
    ip_emit_count_uses(e, s->of, s->n);
    for (int k = 0; k < s->n; k++)
        ip_s_add(e->ir, e->block, IP_S_STORE, ip_text(e->ir, "%s[x - p]", arrays[k]), ip_emit_variable(e, s->of[k]),
                 NULL);
    ip_x_descend(e->ir, c->body, test_places, &t);
    e->coord[2] = NULL;
    ip_emit_leave(e, mark);
}

void ip_emit_places_row(ip_emit *e, const ip_columns *c)
{
    const ip_site site = ip_emit_site(e);
    ip_expr *inner = ip_x_map_values(e->ir, c->body, without_border, NULL);
    const shared_values s = shared_of(&site, inner);
    const char *outside = ip_text(e->ir, "outside%d", e->n_values++), *arrays[MOST_SHARED];
    ip_stmt *blocks = ip_s_add(e->ir, e->block, IP_S_FOR, "p", c->from, c->to);
    blocks->d = ip_text(e->ir, "%d", BLOCK);
    blocks->parallel = IP_FEW;
    ip_mark mark = ip_emit_enter(e, blocks);
    ip_s_add(e->ir, e->block, IP_S_LET, "int", "n", ip_text(e->ir, "min(%s - p, %d)", c->to, BLOCK));
    for (int k = 0; k < s.n; k++)
        arrays[k] = array_of(e, s.of[k]);
    ip_s_add(e->ir, e->block, IP_S_VAR, "int", outside, "0");
    compute_shared(e, c, &s, arrays, outside);

    ip_mark of_inner = ip_emit_enter(e, ip_s_add(e->ir, e->block, IP_S_IF, ip_text(e->ir, "!%s", outside), NULL, NULL));
    ip_emit_lanes_block(e, &(ip_columns){ .stage = c->stage, .body = inner, .target = c->target }, BLOCK,
                        &(ip_named){ s.of, arrays, s.n });
    ip_emit_leave(e, of_inner);

    ip_mark of_edges = ip_emit_enter(e, ip_s_add(e->ir, e->block, IP_S_IF, outside, NULL, NULL));
    ip_emit_plain_row(
        e, &(ip_columns){ .stage = c->stage, .body = c->body, .target = c->target, .from = "p", .to = "p + n" });
    ip_emit_leave(e, of_edges);
    ip_emit_leave(e, mark);
}
