/* SPDX-License-Identifier: MIT */
/* The table of idioms, and what an element must be for each of them. */
#include "compile/idioms.h"

#include "base/dtype.h"

#include <string.h>

/* ---- dot products of pairs: emit_dot.c, Note [Dot products] ---------------------------------------------- */

enum { MOST_TAPS = 1024 };

static bool is_16_bits(const ip_expr *x) { return x->lo >= INT16_MIN && x->hi <= INT16_MAX; }

/* A sum in 32 bits that is shifted and saturated to bytes or shorts. */
static bool is_rounded_sum(const ip_match *m)
{
    const ip_linear *form = &m->form;
    bool is_small = form->dtype == IMGPAR_U8 || form->dtype == IMGPAR_I16;
    return is_small && form->dtype == m->stage->dtype && form->saturates && form->shift && form->wide == IMGPAR_I32;
}

/* Whether x reads a row along itself, which is there for all elements: where a constant stands for what is outside,
 * it is the element's own. */
static bool reads_row(ip_ir *ir, const ip_match *m, const ip_expr *x)
{
    bool is_row = x->source->kind != IP_STAGE_TABLE && x->dtype == x->source->dtype;
    if (!is_row || !ip_x_offset_from(ir, x->arg[2], 2)) return false;
    for (int k = 0; k < 2 && x->border == IMGPAR_BORDER_CONSTANT; k++)
        if (!ip_reads_own_index(x, k, m->stage->dims[k])) return false;
    return true;
}

/* A product of 16 bits with bytes or shorts, of the kind of the first one. */
static bool is_dot_term(ip_ir *ir, const ip_match *m, const ip_linear_term *t)
{
    const ip_linear_term *first = &m->form.terms[0];
    bool is_alike = t->n_loads > 0 && t->n_loads == first->n_loads && (!t->window || m->form.n_terms == 1);
    bool is_product = t->weight && ip_x_is_uniform(t->weight) && is_16_bits(t->weight) && is_16_bits(t->value);
    for (int k = 0; k < t->n_loads && is_alike; k++)
        is_alike = t->load[k]->dtype == first->load[0]->dtype && reads_row(ir, m, t->load[k]);
    return is_alike && is_product;
}

/* A window of one row or one column. */
static bool is_line(const ip_linear_term *t)
{
    return t->window && (t->window->taps_y == 1 || t->window->taps_x == 1) && ip_term_taps(t) <= MOST_TAPS;
}

static bool is_dot(ip_ir *ir, ip_match *m)
{
    const ip_linear_term *first = &m->form.terms[0];
    int n = m->form.n_terms;
    if (!is_rounded_sum(m) || n > IP_UNROLLED_TAPS || (n == 1 && !is_line(first)) || first->n_loads == 0) return false;
    bool fits = first->load[0]->dtype == IMGPAR_U8 || first->load[0]->dtype == IMGPAR_I16;
    for (int k = 0; k < n && fits; k++)
        fits = is_dot_term(ir, m, &m->form.terms[k]);
    return fits;
}

/* ---- means: emit_dot.c, Note [Means] --------------------------------------------------------------- */

enum { MOST_SUMMANDS = 8, SCALE_BITS = 15 };

/* The most that a sum of rows of shorts can be; -1: it is none of a few. */
static double most_of_shorts(ip_ir *ir, const ip_match *m)
{
    double most = 0;
    if (m->form.n_terms > MOST_SUMMANDS) return -1;
    for (int k = 0; k < m->form.n_terms; k++) {
        const ip_linear_term *t = &m->form.terms[k];
        bool is_read = !t->weight && !t->window && t->n_loads == 1;
        if (!is_read || t->load[0]->dtype != IMGPAR_U16 || !reads_row(ir, m, t->load[0])) return -1;
        most += t->load[0]->hi;
    }
    return most;
}

/* The number whose product with any sum up to most, in units of 2^-15 and rounded, is (sum + add) / d; 0: none is. */
static int scale_of(int64_t most, int64_t add, int64_t d)
{
    int64_t scale = ((1 << SCALE_BITS) + d / 2) / d;
    for (int64_t sum = 0; sum <= most; sum++)
        if ((sum * scale + (1 << (SCALE_BITS - 1))) >> SCALE_BITS != (sum + add) / d) return 0;
    return (int)scale;
}

static bool is_mean(ip_ir *ir, ip_match *m)
{
    const ip_linear *form = &m->form;
    bool is_byte = m->stage->dtype == IMGPAR_U8 && form->dtype == IMGPAR_U8 && !form->saturates;
    bool is_quotient = form->wide == IMGPAR_U16 && form->divisor && form->divisor->i > 1 && !form->offset;
    if (!is_byte || !is_quotient || !form->start || form->start->op != IP_X_CONST) return false;
    double most = most_of_shorts(ir, m);
    bool is_short = most >= 0 && most + form->start->hi <= INT16_MAX;
    m->scale = is_short ? scale_of((int64_t)most, form->start->i, form->divisor->i) : 0;
    return m->scale != 0;
}

/* ---- mixed channels: emit_mix.c, Note [Mixed channels] ------------------------------------------------- */

enum {
    MOST_WEIGHT = 32767, /* of green, which counts in two pairs, twice that */
    MOST_START = INT32_MAX - 4 * MOST_WEIGHT * UINT8_MAX
};

static bool reads_same_row(const ip_expr *a, const ip_expr *b)
{
    return a->source == b->source && a->arg[0] == b->arg[0] && a->arg[1] == b->arg[1];
}

/* A channel of three bytes at the element's own column. */
static bool reads_own_pixel(const ip_expr *load)
{
    const ip_stage *s = load->source;
    return s->dims[3] == IP_MIXED_CHANNELS && s->dtype == IMGPAR_U8 && load->border == IP_BORDER_NONE &&
           ip_x_is_coord(load->arg[2], 2) && ip_x_reads_uniform_row(load);
}

/* The channel of a term, whose weight is a number; -1: it has none. */
static int channel_of(const ip_linear_term *t)
{
    if (!t->weight || t->weight->op != IP_X_CONST || t->window || t->n_loads != 1) return -1;
    const ip_expr *c = t->load[0]->arg[3];
    if (c->op != IP_X_CONST || c->i < 0 || c->i >= IP_MIXED_CHANNELS) return -1;
    bool fits = t->weight->i >= 0 && t->weight->i <= (c->i == 1 ? 2 : 1) * MOST_WEIGHT;
    return fits && reads_own_pixel(t->load[0]) ? (int)c->i : -1;
}

static bool is_number_up_to(const ip_expr *x, int64_t most) { return x->op == IP_X_CONST && x->i >= 0 && x->i <= most; }

static bool is_mixed(ip_ir *ir, ip_match *m)
{
    const ip_linear *form = &m->form;
    bool is_byte = m->stage->dtype == IMGPAR_U8 && form->dtype == IMGPAR_U8 && m->stage->dims[3] == 1;
    bool is_shifted = form->wide == IMGPAR_I32 && form->shift && is_number_up_to(form->shift, 31) && !form->offset;
    bool is_seen[IP_MIXED_CHANNELS] = { false };
    (void)ir;
    if (!is_byte || !is_shifted || (form->start && !is_number_up_to(form->start, MOST_START)) ||
        form->n_terms != IP_MIXED_CHANNELS)
        return false;
    for (int k = 0; k < IP_MIXED_CHANNELS; k++) {
        const ip_linear_term *t = &form->terms[k];
        int c = channel_of(t);
        if (c < 0 || is_seen[c] || !reads_same_row(t->load[0], form->terms[0].load[0])) return false;
        is_seen[c] = true;
        m->weights[c] = t->weight->i;
    }
    return true;
}

/* ---- upsampled rows: emit_upsample.c, Note [Upsampling rows] --------------------------------------------------- */

enum { MOST_CHANNELS = 4 };

/* Whether table[x] grows by 0 or 1. */
static bool grows_slowly(const ip_stage *table)
{
    const int32_t *at = table->table;
    for (int64_t i = 1; i < table->dims[2]; i++)
        if (at[i] < at[i - 1] || at[i] > at[i - 1] + 1) return false;
    return true;
}

static bool is_table(const ip_expr *x) { return ip_x_is_of_table(x) && x->source->dtype == IMGPAR_I32; }

/* The k, 0 or 1, of x + k, and that x; -1: k is another. */
static int added(const ip_expr *sum, const ip_expr **x)
{
    bool is_sum = sum->op == IP_X_ADD && sum->arg[1]->op == IP_X_CONST;
    int64_t k = is_sum ? sum->arg[1]->i : 0;
    *x = is_sum ? sum->arg[0] : sum;
    return k == 0 || k == 1 ? (int)k : -1;
}

/* The k of table[2 x + k]; -1: it is none. */
static int weight_number(const ip_expr *weight)
{
    const ip_expr *twice;
    if (!is_table(weight) || !is_16_bits(weight)) return -1;
    int k = added(weight->arg[2], &twice);
    bool is_twice = twice->op == IP_X_MUL && ip_x_is_coord(twice->arg[0], 2) && twice->arg[1]->op == IP_X_CONST;
    return is_twice && twice->arg[1]->i == 2 ? k : -1;
}

/* The k of a column table[x] + k; -1: it is none. */
static int column_number(const ip_expr *column, const ip_stage **table)
{
    const ip_expr *first;
    int k = added(column, &first);
    if (!is_table(first) || !ip_x_is_coord(first->arg[2], 2)) return -1;
    *table = first->source;
    return k;
}

/* A product with a pixel of a row of bytes at a column of the table. */
static bool is_upsampled_term(const ip_match *m, const ip_linear_term *t, const ip_stage **columns)
{
    if (!t->weight || t->window || t->n_loads != 1) return false;
    const ip_expr *load = t->load[0];
    bool is_byte = load->source->kind != IP_STAGE_TABLE && load->source->dtype == IMGPAR_U8;
    if (!is_byte || load->border != IP_BORDER_NONE || !ip_reads_own_channel(load, m->stage->dims[3]) ||
        !ip_x_reads_uniform_row(load))
        return false;
    int k = column_number(load->arg[2], columns);
    return k >= 0 && k == weight_number(t->weight);
}

static bool is_upsampled(ip_ir *ir, ip_match *m)
{
    const ip_linear_term *a = &m->form.terms[0], *b = &m->form.terms[1];
    const ip_stage *columns;
    (void)ir;
    if (m->stage->dims[3] > MOST_CHANNELS || !is_rounded_sum(m) || m->form.n_terms != 2 ||
        !is_upsampled_term(m, a, &m->columns) || !is_upsampled_term(m, b, &columns))
        return false;
    m->factors = a->weight->source;
    return columns == m->columns && b->weight->source == m->factors && a->load[0] != b->load[0] &&
           reads_same_row(a->load[0], b->load[0]) && grows_slowly(columns);
}

/* ---- broadcast rows: emit_broadcast.c, Note [Broadcast rows] -------------------------------------------------------
 * */

/* The value that all channels have, or all but the last, which then is *last. */
static ip_expr *shared_part(ip_expr *body, int64_t channels, ip_expr **last)
{
    *last = NULL;
    if (body->op != IP_X_SELECT) return body;
    const ip_expr *test = body->arg[0];
    bool is_number = test->op == IP_X_EQ && ip_x_is_coord(test->arg[0], 3) && test->arg[1]->op == IP_X_CONST;
    if (!is_number || test->arg[1]->i != channels - 1 || !ip_x_is_uniform(body->arg[1])) return NULL;
    *last = body->arg[1];
    return body->arg[2];
}

static bool has_function(imgpar_dtype dtype)
{
    return dtype == IMGPAR_BOOL || dtype == IMGPAR_U8 || dtype == IMGPAR_U16 || dtype == IMGPAR_I32 ||
           dtype == IMGPAR_F32;
}

/* Whether load reads a row of that dtype that is kept, at the element's own place. */
static bool reads_kept_row(const ip_kernel *kernel, const ip_expr *load, imgpar_dtype dtype)
{
    const ip_placed *placed = load->op == IP_X_LOAD ? ip_kernel_placed(kernel, load->source) : NULL;
    return placed && placed->place == IP_PLACE_LINE_BUFFER && load->source->dims[3] == 1 &&
           load->source->dtype == dtype && load->dtype == dtype && ip_x_is_coord(load->arg[2], 2);
}

static bool is_broadcast(ip_ir *ir, ip_match *m)
{
    const ip_stage *s = m->stage;
    (void)ir;
    if ((s->dims[3] != 2 && s->dims[3] != 4) || !has_function(s->dtype)) return false;
    m->value = shared_part(m->body, s->dims[3], &m->last);
    return m->value && reads_kept_row(m->kernel, m->value, s->dtype);
}

/* ---- random words: emit_random.c, Note [Random words] -------------------------------------------------------- */

static bool is_random(ip_ir *ir, ip_match *m)
{
    (void)ir;
    return ip_stage_is_random(m->stage) && m->body == m->stage->body;
}

/* ---- the table ---------------------------------------------------------------------------------------------- */

const ip_idiom ip_idioms[IP_N_IDIOMS] = {
#define IDIOM(KIND, CALL, ...) [IP_IDIOM_##KIND] = { __VA_ARGS__ },
#define PART(KIND, ...) [IP_IDIOM_##KIND] = { __VA_ARGS__ },
#include "compile/idioms.def"
#undef PART
#undef IDIOM
};

bool ip_idiom_find(ip_ir *ir, const ip_kernel *kernel, const ip_stage *stage, ip_expr *body, ip_match *match)
{
    memset(match, 0, sizeof *match);
    match->stage = stage;
    match->kernel = kernel;
    match->body = body;
    const bool is_form = ip_linear_of(ir, body, &match->form) && match->form.n_terms > 0;
    for (int k = 0; k < IP_N_IDIOMS; k++) {
        match->idiom = &ip_idioms[k];
        const bool is_asked = match->idiom->is_any ? kernel != NULL : is_form;
        if (is_asked && match->idiom->fits && match->idiom->fits(ir, match)) return true;
    }
    return false;
}
