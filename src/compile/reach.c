/* SPDX-License-Identifier: MIT */
/*
 * How far a load reaches beyond the element that reads.
 *
 * Note [Reading near edges]
 * A reader at row r that looks at r + d reads row f(r + d), f being the border rule. For replicate and both reflections
 * f never moves two rows further apart than they were and keeps rows inside where they are, so |f(r + d) - r| <= |d|: a
 * window made symmetric (reflections) or made to contain 0 (replicate, constant) holds every row that can be asked for.
 * Wrap is not like that: rows from the opposite edge are not in a line buffer, so it is refused vertically;
 * horizontally it needs whole rows, and is refused in tiles. Copies of a source are the exception: they hold row r of
 * the endless pattern, whatever source row that is, so a reader does not wrap at all.
 */
#include "base/integers.h"
#include "compile/passes.h"

ip_reach ip_load_reach(const ip_expr *load, const int64_t domain[4])
{
    ip_reach reach = { .is_local = false };
    ip_index index[4];
    bool is_own[3]; /* a place beside the element's own along that axis */
    for (int k = 0; k < 4; k++)
        index[k] = ip_x_classify(load->arg[k]);
    for (int k = 0; k < 3; k++)
        is_own[k] = index[k].kind == IP_INDEX_UNIT && index[k].axis == k && load->source->dims[k] == domain[k];
    bool channel_ok = index[3].kind == IP_INDEX_FIXED || (index[3].kind == IP_INDEX_UNIT && index[3].axis == 3);
    bool own_rows = is_own[0] && is_own[1] && channel_ok && index[0].lo == 0 && index[0].hi == 0;
    reach.is_local = own_rows && is_own[2];
    reach.is_in_rows = own_rows && !is_own[2] && load->border == IP_BORDER_NONE;
    reach.is_paced = ip_load_rate(load, domain, &(ip_row_rate){ .row = NULL });
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

bool ip_load_reads_beside(const ip_expr *load, const int64_t domain[4], int *lo, int *hi)
{
    ip_index x = ip_x_classify(load->arg[2]);
    *lo = x.lo;
    *hi = x.hi;
    return load->border != IP_BORDER_NONE && load->source->kind != IP_STAGE_TABLE &&
           load->source->dims[2] == domain[2] && x.kind == IP_INDEX_UNIT && x.axis == 2 && (x.lo != 0 || x.hi != 0) &&
           ip_x_reads_uniform_row(load);
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
