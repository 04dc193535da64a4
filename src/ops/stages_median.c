/* SPDX-License-Identifier: MIT */
/*
 * Stages of median: of squares of 9 and 25 values networks of min and max without branches, so that they
 * vectorise. Of an exchange only the outputs that reach the result are computed. The others: stages_rank.c.
 */
#include "ops/element.h"
#include "ops/lower.h"
#include "ops/rank.h"

#include <stdbool.h>
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

/* Columns sorted; the median is the middle of the largest low, the middle middle and the smallest high. */
static ip_expr *median_9(ip_ir *ir, ip_expr **v)
{
    for (int x = 0; x < 3; x++) {
        exchange(ir, v, x, x + 3);
        exchange(ir, v, x + 3, x + 6);
        exchange(ir, v, x, x + 3);
    }
    ip_expr *lows = high(ir, high(ir, v[0], v[1]), v[2]), *highs = low(ir, low(ir, v[6], v[7]), v[8]);
    return middle(ir, lows, middle(ir, v[3], v[4], v[5]), highs);
}

/* The 99 exchanges published by N. Devillard (opt_med25, "Fast median search", 1998); the median ends in place 12. */
static const unsigned char network_25[][2] = {
    { 0, 1 },   { 3, 4 },   { 2, 4 },   { 2, 3 },   { 6, 7 },   { 5, 7 },   { 5, 6 },   { 9, 10 },  { 8, 10 },
    { 8, 9 },   { 12, 13 }, { 11, 13 }, { 11, 12 }, { 15, 16 }, { 14, 16 }, { 14, 15 }, { 18, 19 }, { 17, 19 },
    { 17, 18 }, { 21, 22 }, { 20, 22 }, { 20, 21 }, { 23, 24 }, { 2, 5 },   { 3, 6 },   { 0, 6 },   { 0, 3 },
    { 4, 7 },   { 1, 7 },   { 1, 4 },   { 11, 14 }, { 8, 14 },  { 8, 11 },  { 12, 15 }, { 9, 15 },  { 9, 12 },
    { 13, 16 }, { 10, 16 }, { 10, 13 }, { 20, 23 }, { 17, 23 }, { 17, 20 }, { 21, 24 }, { 18, 24 }, { 18, 21 },
    { 19, 22 }, { 8, 17 },  { 9, 18 },  { 0, 18 },  { 0, 9 },   { 10, 19 }, { 1, 19 },  { 1, 10 },  { 11, 20 },
    { 2, 20 },  { 2, 11 },  { 12, 21 }, { 3, 21 },  { 3, 12 },  { 13, 22 }, { 4, 22 },  { 4, 13 },  { 14, 23 },
    { 5, 23 },  { 5, 14 },  { 15, 24 }, { 6, 24 },  { 6, 15 },  { 7, 16 },  { 7, 19 },  { 13, 21 }, { 15, 23 },
    { 7, 13 },  { 7, 15 },  { 1, 9 },   { 3, 11 },  { 5, 17 },  { 11, 17 }, { 9, 17 },  { 4, 10 },  { 6, 12 },
    { 7, 14 },  { 4, 6 },   { 4, 7 },   { 12, 14 }, { 10, 14 }, { 6, 7 },   { 10, 12 }, { 6, 10 },  { 6, 17 },
    { 12, 17 }, { 7, 17 },  { 7, 10 },  { 12, 18 }, { 7, 12 },  { 10, 18 }, { 12, 20 }, { 10, 20 }, { 10, 12 },
};

static ip_expr *median_25(ip_ir *ir, ip_expr **v)
{
    for (size_t k = 0; k < sizeof network_25 / sizeof *network_25; k++)
        exchange(ir, v, network_25[k][0], network_25[k][1]);
    return v[12];
}

ip_stage *ip_stages_median(ip_lower *l)
{
    int size = (int)ip_param_number(l->node, "size"), radius = size / 2;
    if (!ip_element_is_square(l->node) || (size != 3 && size != 5)) return ip_stages_rank_median(l);
    ip_expr *v[25], *cval;
    int border = ip_lower_border(l, l->in[0]->dtype, &cval);
    for (int j = 0; j < size; j++)
        for (int i = 0; i < size; i++)
            v[j * size + i] = ip_lower_read_value(l, l->in[0], ip_lower_i32(l, 0), ip_lower_i32(l, j - radius),
                                                  ip_lower_i32(l, i - radius), border, cval);
    return ip_lower_map(l, size == 3 ? median_9(l->ir, v) : median_25(l->ir, v));
}
