/* SPDX-License-Identifier: MIT */
/*
 * Products of matrices whose left factors are views.
 *
 * Note [Products of views]
 * A product is a hand-written kernel, which reads what lies in memory, so a left factor that is cut from an array, or
 * put together of parts of it, would be stored first. But the blocked kernel packs its left factor anyway, a few rows
 * at a time: it can as well prefetch them from where they are (ip_mm_view in ops/matmul.h). And a sum of products,
 *
 *     a[0:h, 0:w] b0 + a[0:h, 1:w+1] b1 + ...
 *
 * is one product, of rows that are put together of pieces with the right factors one below the other, so the sum stays
 * in registers. Both are how a convolution of many channels is written, by shifted products or by one of windows side
 * by side (im2col), with or without a margin of zeros; none of it is stored but what is read and the result. This pass
 * comes before inlining, which would put what is cut into each of the views.
 *
 * A view is found by what its index is within a box of its elements (ir/index_map.h): choices by concatenate() along
 * the last axis cut the box, those by pad() tell where 0 is read. Its elements along the last axis must follow one
 * another in memory. What is made in parts is left as it is: a view's product is made whole. Sums of products of
 * floats so are in another order, within the tolerance of the products; what else is added keeps its order.
 */
#include "compile/passes.h"
#include "ops/matmul.h"

#include "base/dtype.h"
#include "base/integers.h"

#include <string.h>

/* ---- views ---------------------------------------------------------------------------------- */

/* Elements of a stage: all of its extents, but along the last axis some of them. */
typedef struct run {
    ip_box box;
    int last; /* that axis */
} run;

/* The kernel's parameters are 32 bits. */
static bool fits_argument(int64_t n) { return n >= -INT32_MAX && n <= INT32_MAX; }

static int64_t length(ip_span span) { return span.hi - span.lo + 1; }

static bool is_number(const ip_expr *x) { return x->op == IP_X_CONST || x->op == IP_X_PARAM; }

/* What index is for the elements of a run: one number an element, of few enough bits to be multiplied by pitches. */
static bool affine_of(const ip_expr *index, const run *r, ip_index_map *map)
{
    bool fits = ip_index_affine(index, &r->box, map) && map->first == map->last && fits_argument(map->first);
    for (int d = 0; d < 4; d++)
        fits = fits && fits_argument(map->step[d]);
    return fits;
}

/* Whether 0 <= index < extent is a part of test. */
static bool tells(const ip_expr *test, const ip_expr *index, bool above, int64_t extent)
{
    if (test->op == IP_X_AND)
        return tells(test->arg[0], index, above, extent) || tells(test->arg[1], index, above, extent);
    if (!above) return test->op == IP_X_LE && is_number(test->arg[0]) && test->arg[0]->i == 0 && test->arg[1] == index;
    return test->op == IP_X_LT && test->arg[0] == index && is_number(test->arg[1]) && test->arg[1]->i == extent;
}

/* How many comparisons test consists of. */
static int parts_of(const ip_expr *test)
{
    return test->op == IP_X_AND ? parts_of(test->arg[0]) + parts_of(test->arg[1]) : 1;
}

typedef struct viewing {
    ip_stage *from; /* what is read; NULL: not known yet */
    ip_mm_view view;
    double elements; /* of all pieces */
} viewing;

/* What row r's run reads along axis d of its source, and whether that may be outside, which test tells. */
static bool axis_of(const ip_expr *load, int d, const ip_expr *test, const run *r, ip_index_map *at, bool *leaves,
                    int *n_told)
{
    const ip_expr *index = load->arg[d];
    const int64_t extent = load->source->dims[d];
    const bool is_told = test && index->op == IP_X_BORDER && is_number(index->arg[1]) && index->arg[1]->i == extent;
    if (is_told) index = index->arg[0];
    ip_span read;
    if (!affine_of(index, r, at) || !ip_index_map_span(at, &r->box, &read)) return false;
    const bool low = is_told && tells(test, index, false, extent), high = is_told && tells(test, index, true, extent);
    *n_told += low + high;
    *leaves |= read.lo < 0 || read.hi >= extent;
    return (read.lo >= 0 || low) && (read.hi < extent || high);
}

/* One more piece: load, where test holds, else 0; test NULL: everywhere. */
static bool add_piece(viewing *v, const ip_expr *load, const ip_expr *test, const run *r)
{
    ip_stage *from = load->source;
    ip_mm_view *view = &v->view;
    ip_index_map at[4];
    const ip_span columns = r->box.axis[r->last];
    ip_mm_piece piece = { .steps = length(columns) };
    int64_t stride[4] = { 0 }, pitch[4] = { from->dims[1] * from->dims[2] * from->dims[3],
                                            from->dims[2] * from->dims[3], from->dims[3], 1 };
    int n_told = 0;
    if (load->op != IP_X_LOAD || load->border == IMGPAR_BORDER_CONSTANT || view->n_pieces == IP_MM_PIECES) return false;
    if ((v->from && v->from != from) || from->kind == IP_STAGE_TABLE || ip_dims_count(from->dims) > INT32_MAX)
        return false;
    for (int d = 0; d < 4; d++) {
        bool leaves = false;
        if (!axis_of(load, d, test, r, &at[d], &leaves, &n_told)) return false;
        piece.leaves |= leaves;
        if (leaves && (d == 3 || at[d].step[r->last])) return false;
        piece.offset += at[d].first * pitch[d];
        for (int k = 0; k < 4; k++)
            stride[k] += at[d].step[k] * pitch[d];
    }
    if ((test && n_told != parts_of(test)) || stride[r->last] != 1) return false;
    piece.offset += columns.lo;
    if (!fits_argument(piece.offset)) return false;
    int64_t strides[3] = { 0 }, steps[3] = { 0 };
    for (int d = 0; d < 3; d++)
        piece.move[d] = at[d].step[r->last] ? 0 : at[d].first; /* within a run all is inside */
    for (int k = 0; k < r->last; k++) { /* planes, rows and columns of the view are the axes before the last */
        strides[k] = stride[k];
        steps[k] = at[k].step[k];
        if (!fits_argument(strides[k]) || !fits_argument(steps[k])) return false;
        for (int d = 0; d < 3 && piece.leaves; d++) /* what may leave moves along an axis of the same number */
            if (d != k && at[d].step[k]) return false;
    }
    if (view->n_pieces > 0 && memcmp(strides, view->stride, sizeof strides) != 0) return false;
    if (piece.leaves) { /* steps of pieces that do not leave are not looked at */
        for (int k = 0; k < view->n_pieces; k++)
            if (view->pieces[k].leaves && memcmp(steps, view->step, sizeof steps) != 0) return false;
        memcpy(view->step, steps, sizeof steps);
    }
    memcpy(view->stride, strides, sizeof strides);
    for (int d = 0; d < 3; d++)
        view->extent[d] = from->dims[d];
    v->from = from;
    double elements = 1;
    for (int d = 0; d < 4; d++)
        elements *= (double)length(r->box.axis[d]);
    v->elements += elements;
    view->pieces[view->n_pieces++] = piece;
    return true;
}

/* Pieces of x, in their order. */
static bool add_pieces(viewing *v, const ip_expr *x, run r)
{
    const ip_span columns = r.box.axis[r.last];
    if (length(columns) < 1) return true;
    if (x->op == IP_X_LOAD) return add_piece(v, x, NULL, &r);
    if (x->op != IP_X_SELECT) return false;
    const ip_expr *test = x->arg[0], *no = x->arg[2];
    ip_index_map at;
    if (test->op == IP_X_LT && is_number(test->arg[1]) && affine_of(test->arg[0], &r, &at) &&
        at.kind == IP_MAP_OFFSET && at.step[r.last]) {
        const int64_t cut = ip_clamp(test->arg[1]->i - at.first, columns.lo, columns.hi + 1);
        run left = r, right = r;
        left.box.axis[r.last].hi = cut - 1;
        right.box.axis[r.last].lo = cut;
        return add_pieces(v, x->arg[1], left) && add_pieces(v, no, right);
    }
    const bool is_zero = is_number(no) && (ip_dtype(no->dtype)->is_float ? no->f == 0 : no->i == 0);
    return is_zero && x->arg[1]->op == IP_X_LOAD && add_piece(v, x->arg[1], test, &r);
}

/* The axis of a product's left factor along which its sums run. */
static int last_axis(const ip_stage *left, int64_t k)
{
    return left->dims[3] == k && left->dims[3] > 1 ? 3 : left->dims[3] == 1 && left->dims[2] == k ? 2 : -1;
}

/* What the left factor of a product is: of which stage a view. */
static bool add_map(viewing *v, const ip_stage *left, int64_t k)
{
    const int last = last_axis(left, k);
    const bool is_first = v->view.n_pieces == 0;
    if (last < 0 || left->kind != IP_STAGE_MAP || left->is_output || left->dtype != left->body->dtype ||
        ip_dims_count(left->dims) == 0)
        return false;
    const int64_t height = left->dims[1], width = last == 3 ? left->dims[2] : 1;
    if (!is_first && (width != v->view.width || height != v->view.height)) return false;
    const viewing before = *v;
    v->view.width = width;
    v->view.height = height;
    if (add_pieces(v, left->body, (run){ ip_box_of(left->dims), last }) && v->from->dtype == left->dtype) return true;
    *v = before;
    return false;
}

/* The same elements may be a view in another shape: what is reshaped to rows, as for NumPy's im2col. */
static bool add_left(viewing *v, const ip_opaque *product)
{
    const ip_stage *left = product->inputs[0], *reshaped = ip_product_reshaped_left(product);
    const int64_t k = product->sizes[IP_MM_K];
    if (k < 1) return false;
    if (reshaped && reshaped->body && add_map(v, reshaped, k)) return true;
    return !product->sizes[IP_MM_BY_ROWS] && add_map(v, left, k);
}

/* ---- sums of products ----------------------------------------------------------------------- */

typedef struct making {
    ip_ir *ir;
    const int *n_reads; /* ip_ir_count_reads() */
    ip_stage *reader;
    ip_expr *terms[IP_MM_PIECES]; /* of the sum that is looked at */
    int n_terms;
    bool fits;
} making;

static bool count_reads(making *m) { return (m->n_reads = ip_ir_count_reads(m->ir)) != NULL; }

/* Whether a load reads the element that stands where the reader's own does in memory. */
static bool reads_in_order(const ip_expr *load, const ip_stage *reader)
{
    const int64_t *from = load->source->dims, *to = reader->dims;
    const int64_t pitch[2][4] = { { from[1] * from[2] * from[3], from[2] * from[3], from[3], 1 },
                                  { to[1] * to[2] * to[3], to[2] * to[3], to[3], 1 } };
    const run all = { ip_box_of(to), 3 };
    ip_index_map at, sum = { .first = 0 };
    if (ip_dims_count(from) != ip_dims_count(to) || ip_dims_count(to) > INT32_MAX) return false;
    for (int d = 0; d < 4; d++) {
        if (!affine_of(load->arg[d], &all, &at) || !ip_index_map_add(&sum, &at, pitch[0][d])) return false;
    }
    for (int d = 0; d < 4; d++)
        if (to[d] > 1 && sum.step[d] != pitch[1][d]) return false;
    return sum.first == 0 && load->border == IP_BORDER_NONE;
}

/* A product that this element alone reads. */
static bool is_product(const making *m, const ip_expr *x)
{
    return x->op == IP_X_LOAD && ip_stage_may_read_view(x->source) && !x->source->is_output &&
           m->n_reads[x->source->id] == 1 && reads_in_order(x, m->reader);
}

/* What x is made of, where it is an element of a map that this element alone reads, at its own place; else x. */
static ip_expr *inside(const making *m, ip_expr *x)
{
    const ip_stage *s = x->op == IP_X_LOAD ? x->source : NULL;
    bool is_own = s && s->kind == IP_STAGE_MAP && !s->is_output && m->n_reads[s->id] == 1 &&
                  s->dtype == s->body->dtype && memcmp(s->dims, m->reader->dims, sizeof s->dims) == 0;
    for (int d = 0; d < 4 && is_own; d++)
        is_own = s->dims[d] == 1 || ip_x_is_coord(x->arg[d], d);
    return is_own ? inside(m, s->body) : x;
}

static void gather_terms(making *m, ip_expr *x)
{
    ip_expr *made_of = inside(m, x);
    if (made_of->op == IP_X_ADD) {
        gather_terms(m, made_of->arg[0]);
        gather_terms(m, made_of->arg[1]);
    } else if (m->n_terms == IP_MM_PIECES) {
        m->fits = false;
    } else {
        m->terms[m->n_terms++] = is_product(m, made_of) ? made_of : x;
    }
}

/* Where a right factor lies among all of them: from row `first` on, so many rows of `all`. */
typedef struct place_below {
    int64_t first, rows, all;
} place_below;

static ip_expr *number(ip_ir *ir, int64_t n) { return ip_x_int(ir, IMGPAR_I32, n); }

/* Rows of others come to one of its own: both sides of a choice may be computed. */
static ip_expr *own_row(ip_ir *ir, const place_below *p)
{
    ip_expr *row = ip_x_binary(ir, IP_X_SUB, ip_x_coord(ir, 1, p->all), number(ir, p->first));
    row = ip_x_binary(ir, IP_X_MAX, row, number(ir, 0));
    return ip_x_binary(ir, IP_X_MIN, row, number(ir, p->rows - 1));
}

/* An element of a right factor. */
static ip_expr *element_of(making *m, ip_stage *right, const place_below *p)
{
    ip_expr *row = own_row(m->ir, p);
    if (right->kind == IP_STAGE_MAP && !right->is_output && m->n_reads[right->id] == 1 &&
        right->dtype == right->body->dtype)
        return ip_x_put_coords(m->ir, right->body, (ip_expr *const[4]){ [1] = row });
    ip_expr *index[4];
    for (int d = 0; d < 4; d++)
        index[d] = d == 1 ? row : ip_x_coord(m->ir, d, right->dims[d]);
    return ip_x_load(m->ir, right, index, IP_BORDER_NONE, NULL);
}

/* The right factors of n products one below the other. */
static ip_stage *right_of(making *m, ip_expr *const *products, int n, int64_t k)
{
    const ip_stage *first = products[0]->source->opaque->inputs[1];
    const int64_t dims[4] = { 1, k, first->dims[2], 1 };
    ip_stage *s = n > 1 ? ip_stage_new(m->ir, IP_STAGE_MAP, first->dtype, dims, first->node) : NULL;
    if (!s) return (ip_stage *)first;
    place_below p = { k, 0, k };
    for (int i = n - 1; i >= 0; i--) {
        const ip_opaque *o = products[i]->source->opaque;
        p.rows = o->sizes[IP_MM_K];
        p.first -= p.rows;
        ip_expr *x = element_of(m, o->inputs[1], &p),
                *is_above = ip_x_binary(m->ir, IP_X_LT, ip_x_coord(m->ir, 1, k), number(m->ir, p.first + p.rows));
        s->body = i == n - 1 ? x : ip_x_select(m->ir, is_above, x, s->body);
    }
    s->lo = s->body->lo;
    s->hi = s->body->hi;
    s->note = "right factors of a sum of products";
    return s;
}

/* The stages from `from` on, which were made last, before place. */
static void move_before(ip_ir *ir, int from, int place)
{
    for (int made = from; made < ir->n_stages; made++, place++)
        ip_stage_move(ir, ir->stages[made], place);
}

/* Whether as much is read as there is, about: all of it is made, where a view by itself would make what it shows. */
static bool reads_most(const viewing *v) { return 2 * v->elements >= ip_dims_count(v->from->dims); }

/* One product in place of `n` of them; NULL: they are none of one stage's views. */
static ip_stage *joined(making *m, ip_expr *const *products, int n)
{
    viewing v = { .from = NULL };
    int64_t k = 0;
    for (int i = 0; i < n; i++) {
        const ip_opaque *o = products[i]->source->opaque;
        const ip_stage *right = o->inputs[1];
        const bool is_matrix = right->dims[0] == 1 && right->dims[1] == o->sizes[IP_MM_K] && right->dims[3] == 1;
        if (o->sizes[IP_MM_N] != products[0]->source->opaque->sizes[IP_MM_N] || (n > 1 && !is_matrix)) return NULL;
        if (!add_left(&v, o)) return NULL;
        k += o->sizes[IP_MM_K];
    }
    if (k > INT32_MAX || !reads_most(&v)) return NULL;
    const int before = m->ir->n_stages;
    ip_stage *right = right_of(m, products, n, k);
    ip_stage *made = ip_stage_product_of_view(m->ir, products[0]->source, m->reader->dims, v.from, &v.view, right, k);
    if (!made) m->ir->n_stages = before; /* what was made is not read */
    if (!made || m->ir->failed) return NULL;
    move_before(m->ir, before, m->reader->id);
    return made;
}

/* Whether one of the terms that are products is there twice: it is computed once, and added twice. */
static bool has_twice(ip_expr *const *products, int n)
{
    for (int k = 0; k < n; k++)
        for (int i = 0; i < k; i++)
            if (products[i]->source == products[k]->source) return true;
    return false;
}

/* x with `joined` in place of the first product in it, and without the others, whose sums it has: other terms are added
 * in the order that they had. NULL: nothing is left. */
static ip_expr *without_products(making *m, ip_expr *x, ip_expr **joined)
{
    ip_expr *made_of = inside(m, x), *left, *right;
    if (is_product(m, made_of)) {
        ip_expr *first = *joined;
        *joined = NULL;
        return first;
    }
    if (made_of->op != IP_X_ADD) return x;
    left = without_products(m, made_of->arg[0], joined);
    right = without_products(m, made_of->arg[1], joined);
    return left && right ? ip_x_binary(m->ir, IP_X_ADD, left, right) : left ? left : right;
}

/* x, a sum with products or one of them, with one product in place of all of these; NULL: it is none. */
static ip_expr *join_sum(making *m, ip_expr *x)
{
    ip_expr *products[IP_MM_PIECES];
    int n = 0;
    m->n_terms = 0;
    m->fits = true;
    gather_terms(m, x);
    for (int k = 0; k < m->n_terms && m->fits; k++)
        if (is_product(m, m->terms[k])) products[n++] = m->terms[k];
    const bool may_join = n > 0 && m->fits && !m->ir->failed && !has_twice(products, n);
    ip_stage *made = may_join ? joined(m, products, n) : NULL;
    if (!made) return NULL;
    ip_expr *sum = ip_x_beside(m->ir, made, 0, IP_BORDER_NONE);
    return without_products(m, x, &sum);
}

typedef struct finding {
    making *m;
    ip_expr *sum, *joined; /* the first that was found */
} finding;

static bool find_sum(ip_expr *x, void *user)
{
    finding *f = user;
    if (f->sum || (x->op != IP_X_ADD && x->op != IP_X_LOAD)) return !f->sum;
    if ((f->joined = join_sum(f->m, x))) f->sum = x;
    return x->op == IP_X_ADD && !f->sum;
}

static ip_expr *put_sum(ip_ir *ir, ip_expr *x, void *user)
{
    const finding *f = user;
    (void)ir;
    return x == f->sum ? f->joined : x;
}

/* A stage of a product's elements and nothing else is that product. */
static void become_product(ip_stage *s)
{
    const ip_expr *x = s->body;
    if (x->op != IP_X_LOAD || !x->source->opaque || x->source->dtype != s->dtype) return;
    s->kind = IP_STAGE_OPAQUE;
    s->opaque = x->source->opaque;
    s->body = NULL;
    s->view = NULL;
}

static void join_sums(making *m, ip_stage *s)
{
    finding f = { .m = m };
    bool is_joined = false;
    do {
        f = (finding){ .m = m };
        m->reader = s;
        ip_x_descend(m->ir, s->body, find_sum, &f);
        if (f.sum) s->body = ip_x_map(m->ir, s->body, put_sum, &f);
        is_joined |= f.sum != NULL;
    } while (f.sum && !m->ir->failed && count_reads(m));
    if (is_joined) become_product(s);
}

/* A product that is asked for, or that a kernel reads: itself a stage of a view's product. */
static void read_in_place(making *m, ip_stage *s)
{
    viewing v = { .from = NULL };
    const ip_opaque *o = s->opaque;
    if (!ip_stage_may_read_view(s) || !add_left(&v, o) || !reads_most(&v)) return;
    const ip_stage *made =
        ip_stage_product_of_view(m->ir, s, s->dims, v.from, &v.view, o->inputs[1], o->sizes[IP_MM_K]);
    if (!made) return;
    s->opaque = made->opaque;
    m->ir->n_stages--; /* what was made stands where s does */
}

imgpar_status ip_pass_products(ip_plan *plan, const ip_compile_options *options, ip_error *err)
{
    making m = { .ir = plan->ir };
    bool has_product = false;
    for (int k = 0; k < plan->ir->n_stages; k++)
        has_product = has_product || ip_stage_may_read_view(plan->ir->stages[k]);
    if (!has_product || !options->device.has_few_items || !options->fuse || options->schedule != IP_SCHEDULE_ROWS ||
        options->in_parts || !count_reads(&m))
        return plan->ir->failed ? ip_fail_memory(err, "compiling") : IMGPAR_OK;
    for (int k = plan->ir->n_stages - 1; k >= 0 && !plan->ir->failed; k--) { /* a sum before those that it is made of */
        ip_stage *s = plan->ir->stages[k];
        if (ip_stage_is_live(s, m.n_reads) && s->kind == IP_STAGE_MAP && !s->of_taps) join_sums(&m, s);
    }
    for (int k = 0; k < plan->ir->n_stages && !plan->ir->failed; k++)
        read_in_place(&m, plan->ir->stages[k]);
    return plan->ir->failed ? ip_fail_memory(err, "compiling") : IMGPAR_OK;
}
