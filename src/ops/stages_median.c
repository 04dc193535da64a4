/* SPDX-License-Identifier: MIT */
/*
 * Stages of median: networks of min and max without branches, so that they
 * vectorise. Of an exchange only the outputs that reach the result are computed.
 */
#include "ops/lower.h"

#include "base/dtype.h"

#include <stddef.h>

static ip_expr *low(ip_ir *ir, ip_expr *a, ip_expr *b) { return ip_x_binary(ir, IP_X_MIN, a, b); }
static ip_expr *high(ip_ir *ir, ip_expr *a, ip_expr *b) { return ip_x_binary(ir, IP_X_MAX, a, b); }

static void exchange(ip_ir *ir, ip_expr **v, int i, int j)
{
    ip_expr *a = v[i], *b = v[j];
    v[i] = low(ir, a, b);
    v[j] = high(ir, a, b);
}

static ip_expr *middle(ip_ir *ir, ip_expr *a, ip_expr *b, ip_expr *c)
{
    return high(ir, low(ir, a, b), low(ir, high(ir, a, b), c));
}

/* Three values sorted, each in a stage of its own. */
typedef struct columns { ip_stage *low, *middle, *high; } columns;

static columns sort_columns(ip_lower *l, ip_expr *a, ip_expr *b, ip_expr *c)
{
    ip_ir *ir = l->ir;
    bool is_float = ip_dtype(a->dtype)->is_float; /* NaN: as exchanges leave it */
    ip_expr *below = low(ir, a, b), *above = high(ir, a, b), *rest = is_float ? low(ir, above, c) : c, *zero = ip_lower_i32(l, 0);
    columns s = { .low = ip_lower_stage(l, low(ir, below, rest), "lowest of a column"),
                  .high = ip_lower_stage(l, high(ir, above, c), "highest of a column") };
    ip_expr *between = high(ir, below, rest);
    if (!is_float) { /* what the lowest and the highest leave over: no third exchange */
        ip_expr *v[] = { b, c, ip_lower_read(l, s.low, zero, zero, zero, IP_BORDER_NONE, NULL),
                         ip_lower_read(l, s.high, zero, zero, zero, IP_BORDER_NONE, NULL) };
        between = a;
        for (int k = 0; k < 4; k++)
            between = ip_x_binary(ir, IP_X_XOR, between, v[k]);
    }
    s.middle = ip_lower_stage(l, between, "middle of a column");
    return s;
}

/* Element k of a row of three neighbours in stage. */
typedef struct neighbours { ip_expr *v[3]; } neighbours;

static neighbours beside(ip_lower *l, ip_stage *stage, int border, ip_expr *cval)
{
    neighbours n;
    for (int i = 0; i < 3; i++)
        n.v[i] = ip_lower_read(l, stage, ip_lower_i32(l, 0), ip_lower_i32(l, 0), ip_lower_i32(l, i - 1), border, cval);
    return n;
}

/*
 * Columns are sorted once for the three windows that they stand in, and extended by the input's border rule, which is
 * what sorting the extended columns gives. The median is the middle of the largest low, the middle middle and the
 * smallest high.
 */
static ip_expr *median_9(ip_lower *l, int border, ip_expr *cval)
{
    ip_ir *ir = l->ir;
    ip_expr *v[3], *zero = ip_lower_i32(l, 0);
    for (int j = 0; j < 3; j++)
        v[j] = ip_lower_read_value(l, l->in[0], zero, ip_lower_i32(l, j - 1), zero, border, cval);
    columns sorted = sort_columns(l, v[0], v[1], v[2]);
    neighbours lows = beside(l, sorted.low, border, cval), middles = beside(l, sorted.middle, border, cval),
               highs = beside(l, sorted.high, border, cval);
    return middle(ir, high(ir, high(ir, lows.v[0], lows.v[1]), lows.v[2]), middle(ir, middles.v[0], middles.v[1], middles.v[2]),
                  low(ir, low(ir, highs.v[0], highs.v[1]), highs.v[2]));
}

/* The 99 exchanges published by N. Devillard (opt_med25, "Fast median search", 1998); the median ends in place 12. */
static const unsigned char network_25[][2] = {
    { 0, 1 },   { 3, 4 },   { 2, 4 },   { 2, 3 },   { 6, 7 },   { 5, 7 },   { 5, 6 },   { 9, 10 },  { 8, 10 },  { 8, 9 },
    { 12, 13 }, { 11, 13 }, { 11, 12 }, { 15, 16 }, { 14, 16 }, { 14, 15 }, { 18, 19 }, { 17, 19 }, { 17, 18 }, { 21, 22 },
    { 20, 22 }, { 20, 21 }, { 23, 24 }, { 2, 5 },   { 3, 6 },   { 0, 6 },   { 0, 3 },   { 4, 7 },   { 1, 7 },   { 1, 4 },
    { 11, 14 }, { 8, 14 },  { 8, 11 },  { 12, 15 }, { 9, 15 },  { 9, 12 },  { 13, 16 }, { 10, 16 }, { 10, 13 }, { 20, 23 },
    { 17, 23 }, { 17, 20 }, { 21, 24 }, { 18, 24 }, { 18, 21 }, { 19, 22 }, { 8, 17 },  { 9, 18 },  { 0, 18 },  { 0, 9 },
    { 10, 19 }, { 1, 19 },  { 1, 10 },  { 11, 20 }, { 2, 20 },  { 2, 11 },  { 12, 21 }, { 3, 21 },  { 3, 12 },  { 13, 22 },
    { 4, 22 },  { 4, 13 },  { 14, 23 }, { 5, 23 },  { 5, 14 },  { 15, 24 }, { 6, 24 },  { 6, 15 },  { 7, 16 },  { 7, 19 },
    { 13, 21 }, { 15, 23 }, { 7, 13 },  { 7, 15 },  { 1, 9 },   { 3, 11 },  { 5, 17 },  { 11, 17 }, { 9, 17 },  { 4, 10 },
    { 6, 12 },  { 7, 14 },  { 4, 6 },   { 4, 7 },   { 12, 14 }, { 10, 14 }, { 6, 7 },   { 10, 12 }, { 6, 10 },  { 6, 17 },
    { 12, 17 }, { 7, 17 },  { 7, 10 },  { 12, 18 }, { 7, 12 },  { 10, 18 }, { 12, 20 }, { 10, 20 }, { 10, 12 },
};

static ip_expr *median_25(ip_lower *l, int border, ip_expr *cval)
{
    ip_expr *v[25];
    for (int k = 0; k < 25; k++)
        v[k] = ip_lower_read_value(l, l->in[0], ip_lower_i32(l, 0), ip_lower_i32(l, k / 5 - 2), ip_lower_i32(l, k % 5 - 2),
                                   border, cval);
    for (size_t k = 0; k < sizeof network_25 / sizeof *network_25; k++)
        exchange(l->ir, v, network_25[k][0], network_25[k][1]);
    return v[12];
}

ip_stage *ip_stages_median(ip_lower *l)
{
    ip_expr *cval;
    int border = ip_lower_border(l, l->in[0]->dtype, &cval);
    return ip_lower_map(l, ip_param_number(l->node, "size") == 3 ? median_9(l, border, cval) : median_25(l, border, cval));
}
