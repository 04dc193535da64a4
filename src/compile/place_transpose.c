/* SPDX-License-Identifier: MIT */
/* Loads that are copied first: those that read columns or planes where rows are wanted (emit_transpose.c, Note
 * [Transposed reads], Note [Transposed tiles]), and those whose vectors may read beyond the end of a row
 * (emit_lanes.c). */
#include "base/dtype.h"
#include "compile/passes.h"

enum { LINE_BYTES = 128, LEAST_AT_ONCE = 16, MOST_AT_ONCE = 64 };

/* Whether x is the coordinate along axis or its negative, and a number. */
static bool is_unit(ip_ir *ir, ip_expr *x, int axis)
{
    if (x->op == IP_X_SUB && !(x->arg[0]->uses & IP_USES_COORDS)) x = x->arg[1];
    ip_expr *rest = ip_x_offset_from(ir, x, axis);
    return rest && !(rest->uses & (IP_USES_COORDS | IP_USES_TAP));
}

/* From memory, without a border, and in the channels of the element. */
static bool reads_whole_pixels(const ip_kernel *kernel, const ip_expr *load, const int64_t domain[4])
{
    const ip_stage *s = load->source;
    const ip_expr *c = load->arg[3];
    if (s->kind == IP_STAGE_TABLE || ip_kernel_computes(kernel, s) || load->border != IP_BORDER_NONE) return false;
    bool own_channel = ip_x_is_coord(c, 3) && s->dims[3] == domain[3] && s->dims[3] > 0;
    return own_channel || (s->dims[3] == 1 && domain[3] == 1 && c->op == IP_X_CONST);
}

/* Wider pixels are read whole sectors at a time by any work-item: Note [Transposed tiles]. */
static bool copies_transposed(const ip_kernel *kernel, const ip_stage *s)
{
    enum { SECTOR = 32 };
    return kernel->schedule == IP_SCHEDULE_ROWS ||
           (kernel->schedule == IP_SCHEDULE_TILES && s->dims[3] * (int64_t)ip_dtype(s->dtype)->size_bytes < SECTOR);
}

bool ip_reads_transposed(ip_ir *ir, const ip_kernel *kernel, const ip_expr *load, const int64_t domain[4])
{
    return copies_transposed(kernel, load->source) && reads_whole_pixels(kernel, load, domain) &&
           is_unit(ir, load->arg[1], 2) && is_unit(ir, load->arg[2], 1) &&
           !(load->arg[0]->uses & (IP_USES_X | IP_USES_Y | IP_USES_C | IP_USES_TAP));
}

bool ip_reads_deep(ip_ir *ir, const ip_kernel *kernel, const ip_expr *load, const int64_t domain[4])
{
    bool is_turned = is_unit(ir, load->arg[0], 2) && is_unit(ir, load->arg[1], 1);
    bool is_cycled = is_unit(ir, load->arg[0], 1) && is_unit(ir, load->arg[1], 2);
    return kernel->schedule == IP_SCHEDULE_ROWS && reads_whole_pixels(kernel, load, domain) &&
           is_unit(ir, load->arg[2], 0) && (is_turned || is_cycled) && load->source->dims[2] > 1;
}

/* Whether all planes read one row of it, and each plane others of its elements, as where channels become planes. */
static bool reads_row_of_planes(const ip_kernel *kernel, const ip_expr *load)
{
    return load->border == IP_BORDER_NONE && !ip_kernel_computes(kernel, load->source) &&
           load->source->kind != IP_STAGE_TABLE && !((load->arg[0]->uses | load->arg[1]->uses) & IP_USES_Z) &&
           (load->arg[2]->uses | load->arg[3]->uses) & IP_USES_Z;
}

typedef struct walk_check {
    ip_ir *ir;
    const ip_kernel *kernel;
    bool fits, share_rows;
} walk_check;

static void check_walk(ip_expr *load, void *user)
{
    walk_check *c = user;
    const int64_t *domain = c->kernel->stages[0]->dims;
    ip_reach reach = ip_load_reach(load, domain);
    bool own_place = reach.is_local && reach.y_lo == 0 && reach.y_hi == 0 && reach.x_lo == 0 && reach.x_hi == 0;
    c->fits &= load->source->kind == IP_STAGE_TABLE || !(load->uses & IP_USES_COORDS) || own_place ||
               ip_reads_deep(c->ir, c->kernel, load, domain) || reads_row_of_planes(c->kernel, load);
    c->share_rows |= load->source->kind != IP_STAGE_TABLE && reads_row_of_planes(c->kernel, load);
}

bool ip_may_walk_planes(ip_ir *ir, const ip_kernel *kernel, bool *share_rows)
{
    const ip_stage *s = kernel->stages[0];
    walk_check c = { ir, kernel,
                     kernel->n_stages == 1 && s->kind == IP_STAGE_MAP && kernel->schedule == IP_SCHEDULE_ROWS, false };
    if (c.fits) ip_stage_each_load(ir, s, check_walk, &c);
    *share_rows = c.fits && c.share_rows;
    return c.fits;
}

int ip_rows_at_once(const ip_stage *s)
{
    int rows = MOST_AT_ONCE;
    while (rows > LEAST_AT_ONCE && rows * s->dims[3] * (int64_t)ip_dtype(s->dtype)->size_bytes > LINE_BYTES)
        rows /= 2;
    return rows;
}

/* ---- rows that vectors read ------------------------------------------------------------------ */

bool ip_may_keep_rows(const ip_kernel *kernel, int64_t columns)
{
    enum { MOST_COLUMNS = 1 << 20, LITTLE = 1 << 10 };
    int64_t rows = kernel->domain[0] * kernel->domain[1];
    bool is_little = rows * (kernel->domain[2] > columns ? kernel->domain[2] : columns) <= LITTLE;
    return (rows >= IP_LEAST_ROWS || is_little) && kernel->domain[2] <= MOST_COLUMNS && columns <= MOST_COLUMNS;
}

static void find_table(ip_expr *x, void *user)
{
    *(bool *)user |= x->op == IP_X_LOAD && x->source->kind == IP_STAGE_TABLE;
}

/* Of three or four channels, which lanes are made of. */
bool ip_reads_listed_columns(ip_ir *ir, const ip_kernel *kernel, const ip_expr *load, const int64_t domain[4])
{
    const ip_stage *s = load->source;
    const ip_dtype_facts *facts = ip_dtype(s->dtype);
    bool is_pixel = load->arg[3]->op == IP_X_COORD && s->dims[3] == domain[3] && (s->dims[3] == 3 || s->dims[3] == 4);
    bool is_lane = s->dtype == IMGPAR_F32 || (!facts->is_float && facts->size_bytes <= 4 && s->dtype != IMGPAR_BOOL);
    if (kernel->schedule != IP_SCHEDULE_ROWS || kernel->is_scan || kernel->n_folds > 0 ||
        ip_kernel_computes(kernel, s) || !is_pixel || !is_lane || !ip_load_reach(load, domain).is_in_rows ||
        !ip_may_keep_rows(kernel, s->dims[2]))
        return false;
    bool is_listed = false;
    ip_x_walk(ir, load->arg[2], find_table, &is_listed);
    return is_listed;
}
