/* SPDX-License-Identifier: MIT */
/*
 * Rows that are made of pieces.
 *
 * Note [Pieces of rows]
 * Where a body chooses by whether the column is below a number, the same for the whole row, a row is two pieces side by
 * side: of concatenate() the first array's columns and the second one's, of circshift() what stays and what comes from
 * the other end. Each is a loop of its own without the choice, in which indices that are held inside an array need not
 * be: below n, min(x, n - 1) is x, and from n on max(x - n, 0) is x - n. So their loads are vectors.
 */
#include "compile/passes.h"

static bool is_column(const ip_expr *x) { return ip_x_is_coord(x, 2); }

typedef struct search {
    ip_expr *test;
} search;

static bool look(ip_expr *x, void *user)
{
    search *s = user;
    if (s->test || !(x->uses & IP_USES_X)) return false;
    ip_expr *test = x->op == IP_X_SELECT ? x->arg[0] : NULL;
    bool may = test && test->op == IP_X_LT && is_column(test->arg[0]) && test->arg[1]->dtype == IMGPAR_I32;
    if (may && !(test->arg[1]->uses & (IP_USES_X | IP_USES_C | IP_USES_TAP | IP_USES_ACC))) s->test = test;
    return !s->test;
}

ip_expr *ip_find_pieces(ip_ir *ir, ip_expr *body)
{
    search s = { NULL };
    ip_x_descend(ir, body, look, &s);
    return s.test;
}

typedef struct piece {
    ip_expr *test;
    bool is_left;
} piece;

static bool is_one_below(const ip_expr *x, const ip_expr *n)
{
    /* as the rules write n - 1 */
    return x->op == IP_X_ADD && x->arg[0] == n && x->arg[1]->op == IP_X_CONST && x->arg[1]->i == -1;
}

static ip_expr *in_piece(ip_ir *ir, ip_expr *x, void *user)
{
    const piece *p = user;
    const ip_expr *n = p->test->arg[1];
    (void)ir;
    if (x->op == IP_X_SELECT && x->arg[0] == p->test) return x->arg[p->is_left ? 1 : 2];
    if (p->is_left && x->op == IP_X_MIN && is_column(x->arg[0]) && is_one_below(x->arg[1], n)) return x->arg[0];
    bool is_held = !p->is_left && x->op == IP_X_MAX && x->arg[1]->op == IP_X_CONST && x->arg[1]->i == 0;
    if (is_held && x->arg[0]->op == IP_X_SUB && is_column(x->arg[0]->arg[0]) && x->arg[0]->arg[1] == n)
        return x->arg[0];
    return x;
}

ip_expr *ip_piece_of(ip_ir *ir, ip_expr *body, ip_expr *test, bool is_left)
{
    piece p = { test, is_left };
    return ip_x_map(ir, body, in_piece, &p);
}

/* ---- moved rows ------------------------------------------------------------------------------------ */

/*
 * Note [Moved rows]
 * A row that is read so many columns beside, as many as an argument or an element tells, as pad() reads it, lies
 * inside but at its ends. So it is three pieces, of which the one in the middle needs no border rule for its columns:
 * its loads are vectors. Of rows that are read several columns beside, or of several widths, the middle is where all of
 * them are inside. A rule that gives a number of its own to what lies outside would be lost with it, where rows or
 * planes are outside; pad() chooses that number itself, by comparisons of the column, which hold in the middle.
 */
enum { MOVES = 64 };

typedef struct move {
    ip_ir *ir;
    ip_expr *first, *end; /* columns that are inside of all that was met; NULL: nothing was */
    ip_expr *held[MOVES]; /* columns that a rule holds within width[] */
    int64_t width[MOVES];
    int n_held;
    bool is_needed, fits;
} move;

/* A load whose column is held inside, by its own rule or by one that is a part of the column. */
static bool is_held(const ip_expr *x)
{
    return x->op == IP_X_LOAD && x->arg[2]->uses & IP_USES_X &&
           (x->border != IP_BORDER_NONE || x->arg[2]->op == IP_X_BORDER);
}

static ip_expr *extent(ip_ir *ir, int64_t n) { return ip_x_param(ir, IMGPAR_I32, (double)n, 1, INT32_MAX); }

static void look_for_move(ip_expr *x, void *user)
{
    enum { FAR = 1 << 30 };
    move *m = user;
    if (!is_held(x) || !m->fits) return;
    bool by_column = x->border == IP_BORDER_NONE;
    int64_t width = by_column ? x->arg[2]->arg[1]->i : x->source->dims[2];
    ip_expr *column = by_column ? x->arg[2]->arg[0] : x->arg[2], *by = ip_x_offset_from(m->ir, column, 2);
    m->fits = by && by->lo > -FAR && by->hi < FAR && x->border != IMGPAR_BORDER_CONSTANT &&
              !(by->uses & (IP_USES_TAP | IP_USES_ACC)) && m->n_held < MOVES;
    if (!m->fits) return;
    m->is_needed |= by->op != IP_X_CONST;
    m->held[m->n_held] = column;
    m->width[m->n_held++] = width;
    ip_expr *first = ip_x_binary(m->ir, IP_X_SUB, ip_x_int(m->ir, IMGPAR_I32, 0), by),
            *end = ip_x_binary(m->ir, IP_X_SUB, extent(m->ir, width), by);
    m->first = m->first ? ip_x_binary(m->ir, IP_X_MAX, m->first, first) : first;
    m->end = m->end ? ip_x_binary(m->ir, IP_X_MIN, m->end, end) : end;
}

/* Whether x says that a column is inside which in the middle is: an argument's value tells (Note [Deciding by
 * arguments]). */
static bool is_sure(const move *m, const ip_expr *x)
{
    bool low = x->op == IP_X_LE && x->arg[0]->op == IP_X_CONST && x->arg[0]->i == 0;
    bool high = x->op == IP_X_LT && (x->arg[1]->op == IP_X_CONST || x->arg[1]->op == IP_X_PARAM);
    for (int k = 0; (low || high) && k < m->n_held; k++)
        if (x->arg[low] == m->held[k] && (low || x->arg[1]->i >= m->width[k])) return true;
    return false;
}

static ip_expr *without_border(ip_ir *ir, ip_expr *x, void *user)
{
    ip_expr *at[4];
    if (is_sure(user, x)) return ip_x_int(ir, IMGPAR_BOOL, 1);
    if (!is_held(x)) return x;
    for (int k = 0; k < 4; k++)
        at[k] = k >= 2 || x->border == IP_BORDER_NONE
                    ? x->arg[k]
                    : ip_x_border(ir, x->border, x->arg[k], extent(ir, x->source->dims[k]));
    if (x->border == IP_BORDER_NONE) at[2] = at[2]->arg[0];
    return ip_x_load(ir, x->source, at, IP_BORDER_NONE, NULL);
}

bool ip_find_move(ip_ir *ir, ip_expr *body, ip_move *found)
{
    move m = { .ir = ir, .fits = true };
    ip_x_walk(ir, body, look_for_move, &m);
    if (!m.is_needed || !m.fits) return false;
    found->first = m.first;
    found->end = m.end;
    found->inside = ip_x_map(ir, body, without_border, &m);
    return true;
}

/* ---- what is known within a row ------------------------------------------------------------------ */

/*
 * Note [Deciding by arguments]
 * Whether 1 <= x or x + 2 < width holds for all columns of a part of a row depends on the values of arguments, and a
 * program's text then does, too. That is right as long as text is printed anew for other values, and programs are found
 * by their text.
 */

typedef struct span {
    int64_t first, last;
} span;

/* The values that an index takes while the column is one of `columns`, where that is known. */
static bool span_of(const ip_expr *x, const span *columns, span *out)
{
    span a, b;
    if (x->op == IP_X_CONST || x->op == IP_X_PARAM)
        *out = (span){ x->i, x->i };
    else if (is_column(x))
        *out = *columns;
    else if (x->op == IP_X_ADD && span_of(x->arg[0], columns, &a) && span_of(x->arg[1], columns, &b))
        *out = (span){ a.first + b.first, a.last + b.last };
    else
        return false;
    return x->dtype == IMGPAR_I32 && out->first >= INT32_MIN && out->last <= INT32_MAX; /* what wraps is not known */
}

static ip_expr *decide(ip_ir *ir, ip_expr *x, void *user)
{
    span a, b;
    bool is_test = (x->op == IP_X_LT || x->op == IP_X_LE) && (x->uses & IP_USES_X);
    if (!is_test || !span_of(x->arg[0], user, &a) || !span_of(x->arg[1], user, &b)) return x;
    int64_t bit = x->op == IP_X_LE;
    if (a.last < b.first + bit) return ip_x_int(ir, IMGPAR_BOOL, 1);
    return a.first >= b.last + bit ? ip_x_int(ir, IMGPAR_BOOL, 0) : x;
}

ip_expr *ip_within_columns(ip_ir *ir, ip_expr *body, int64_t first, int64_t last)
{
    return ip_x_map(ir, body, decide, &(span){ first, last });
}
