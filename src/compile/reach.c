/* SPDX-License-Identifier: MIT */
/*
 * How far a load reaches beyond the element that reads.
 *
 * Note [Reading near edges]
 * A reader at row r that looks at r + d reads row f(r + d), f being the border rule. For replicate and both reflections
 * f never moves two rows further apart than they were and keeps rows inside where they are, so |f(r + d) - r| <= |d|: a
 * window made symmetric (reflections) or made to contain 0 (replicate, constant) holds every row that can be asked for.
 * Wrap is not like that: rows from the opposite edge are not in a ring, so it is refused vertically; horizontally it
 * needs whole rows, and is refused in tiles. Copies of a source are the exception: they hold row r of the endless
 * pattern, whatever source row that is, so a reader does not wrap at all.
 */
#include "base/dtype.h"
#include "base/integers.h"
#include "compile/passes.h"

ip_expr *ip_x_offset_from(ip_ir *ir, ip_expr *x, int axis)
{
    if (x->op == IP_X_COORD && x->axis == axis) return ip_x_int(ir, IMGPAR_I32, 0);
    if (x->op != IP_X_ADD && x->op != IP_X_SUB) return NULL;
    for (int side = 0; side < (x->op == IP_X_ADD ? 2 : 1); side++) {
        ip_expr *other = x->arg[1 - side];
        if (other->uses & (IP_USES_X | IP_USES_C)) continue;
        ip_expr *rest = ip_x_offset_from(ir, x->arg[side], axis);
        if (rest) return ip_x_binary(ir, x->op, rest, other);
    }
    return NULL;
}

int64_t ip_x_step(const ip_expr *column)
{
    if (column->op == IP_X_ADD && (column->arg[1]->op == IP_X_CONST || column->arg[1]->op == IP_X_PARAM))
        column = column->arg[0];
    bool is_multiple = column->op == IP_X_MUL && ip_x_is_coord(column->arg[0], 2);
    return is_multiple && column->arg[1]->op == IP_X_CONST ? column->arg[1]->i : 0;
}

static const ip_expr *without_casts(const ip_expr *x)
{
    while (x->op == IP_X_CAST && !ip_dtype(x->arg[0]->dtype)->is_float)
        x = x->arg[0];
    return x;
}

int64_t ip_x_divisor(const ip_expr *column)
{
    column = without_casts(column);
    bool is_quotient = column->op == IP_X_IDIV && ip_x_is_coord(without_casts(column->arg[0]), 2);
    return is_quotient && column->arg[1]->op == IP_X_CONST ? column->arg[1]->i : 0;
}

ip_reach ip_load_reach(ip_ir *ir, const ip_expr *load, const int64_t domain[4])
{
    ip_reach reach = { .is_local = false };
    ip_index index[4];
    bool is_own[3]; /* a place beside the element's own along that axis */
    for (int k = 0; k < 4; k++)
        index[k] = ip_x_classify(ir, load->arg[k]);
    for (int k = 0; k < 3; k++)
        is_own[k] = index[k].kind == IP_INDEX_UNIT && index[k].axis == k && load->source->dims[k] == domain[k];
    bool channel_ok = index[3].kind == IP_INDEX_FIXED || (index[3].kind == IP_INDEX_UNIT && index[3].axis == 3);
    bool own_rows = is_own[0] && is_own[1] && channel_ok && index[0].lo == 0 && index[0].hi == 0;
    reach.is_local = own_rows && is_own[2];
    reach.is_in_rows = own_rows && !is_own[2] && load->border == IP_BORDER_NONE;
    reach.is_paced = ip_load_pace(ir, load, domain, &(ip_pace){ .row = NULL });
    if (own_rows) {
        reach.y_lo = index[1].lo;
        reach.y_hi = index[1].hi;
    }
    if (reach.is_local || reach.is_paced) {
        reach.x_lo = index[2].lo;
        reach.x_hi = index[2].hi;
    }
    return reach;
}

bool ip_load_reads_beside(ip_ir *ir, const ip_expr *load, const int64_t domain[4], int *lo, int *hi)
{
    ip_index x = ip_x_classify(ir, load->arg[2]);
    *lo = x.lo;
    *hi = x.hi;
    return load->border != IP_BORDER_NONE && load->source->kind != IP_STAGE_TABLE &&
           load->source->dims[2] == domain[2] && x.kind == IP_INDEX_UNIT && x.axis == 2 && (x.lo != 0 || x.hi != 0) &&
           !((load->arg[0]->uses | load->arg[1]->uses) & (IP_USES_X | IP_USES_C));
}

static void contract(int *lo, int *hi, int border)
{
    if (border == IMGPAR_BORDER_REFLECT || border == IMGPAR_BORDER_REFLECT101) {
        int m = ip_max_int(ip_max_int(-*lo, *hi), 0);
        *lo = -m;
        *hi = m;
    } else if (border != IP_BORDER_NONE) {
        *lo = ip_min_int(*lo, 0);
        *hi = ip_max_int(*hi, 0);
    }
}

void ip_reach_contract(ip_reach *reach, int border)
{
    contract(&reach->y_lo, &reach->y_hi, border);
    contract(&reach->x_lo, &reach->x_hi, border);
}
