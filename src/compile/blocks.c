/* SPDX-License-Identifier: MIT */
/* Which rows are made in blocks and stream, and what of inputs is prefetched for them: emit_stream.c, Note [Streaming];
 * and what scratch memory a work-item of the rows schedule has, line buffers and those blocks. */
#include "base/dtype.h"
#include "base/integers.h"
#include "compile/segments.h"

enum { BLOCK_BYTES = 1024, LEAST_COLUMNS = 64, FEWEST_PIECES = 8, MOST_PREFETCHED_STEP = 2 };

int ip_pixel_bytes(const ip_stage *s)
{
    return (int)ip_min(s->dims[3] * (int64_t)ip_dtype(s->dtype)->size_bytes, 1 << 24);
}

/* ---- what is read --------------------------------------------------------------------------------- */

typedef struct reading {
    const ip_site *site;
    ip_reads found;
} reading;

/* Whether index is step * coordinate + offset. The step is a number of the text, no argument, which may be another. */
static bool is_at_steps(ip_ir *ir, ip_expr *index, int axis, int64_t *step, int64_t *offset)
{
    const ip_expr *beside = ip_x_offset_from(ir, index, axis);
    *step = 1;
    if (beside) {
        *offset = beside->i;
        return beside->op == IP_X_CONST;
    }
    bool is_sum = index->op == IP_X_ADD && index->arg[1]->op == IP_X_CONST;
    const ip_expr *product = is_sum ? index->arg[0] : index;
    *offset = is_sum ? index->arg[1]->i : 0;
    if (product->op != IP_X_MUL || !ip_x_is_coord(product->arg[0], axis)) return false;
    const ip_expr *by = product->arg[1];
    *step = by->op == IP_X_CONST ? by->i : 0;
    return *step > 1;
}

static bool is_same_row(int64_t row, int64_t other, int64_t step) { return (row - other) % step == 0; }

/* Whether index is x + an argument, where x may be held below a number. */
static bool is_of_a_piece(const ip_expr *index)
{
    if (index->op != IP_X_ADD || index->arg[1]->op != IP_X_PARAM) return false;
    const ip_expr *x = index->arg[0];
    return ip_x_is_coord(x, 2) || (x->op == IP_X_MIN && ip_x_is_coord(x->arg[0], 2) && ip_x_is_uniform(x->arg[1]));
}

static bool note_read(ip_expr *x, void *user)
{
    reading *r = user;
    ip_reads *f = &r->found;
    ip_ir *ir = r->site->ir;
    int64_t step, row, columns, column;
    if (x->op != IP_X_LOAD) return true;
    const ip_stage *s = x->source;
    const ip_placed *placed = ip_kernel_placed(r->site->kernel, s);
    bool is_input =
        s->kind != IP_STAGE_TABLE && !(placed && ip_placed_is_kept(placed)) && !ip_kernel_texture(r->site->kernel, s);
    bool is_piece = is_of_a_piece(x->arg[2]),
         is_beside =
             is_at_steps(ir, x->arg[2], 2, &columns, &column) &&
             (columns == 1 || (columns <= MOST_PREFETCHED_STEP && columns * ip_pixel_bytes(s) <= IP_LINE_BYTES));
    if (!is_input || !ip_x_is_uniform(x->arg[0]) || !is_at_steps(ir, x->arg[1], 1, &step, &row) ||
        (!is_piece && !is_beside))
        return true;
    int k = 0;
    while (k < f->n && !(f->of[k].load->source == s && f->of[k].step == step && is_same_row(row, f->of[k].row, step)))
        k++;
    if (k == IP_MOST_READS) return true;
    if (k == f->n || row > f->of[k].row) {
        f->of[k].load = x;
        f->of[k].step = step;
        f->of[k].row = row;
    }
    f->of[k].pieces += is_piece;
    f->of[k].is_beside |= is_beside;
    if (is_beside) f->of[k].columns = ip_max(f->of[k].columns, columns);
    f->n += k == f->n;
    return true;
}

ip_reads ip_reads_of(const ip_site *site, ip_expr *body)
{
    reading r = { .site = site };
    if (site->options->device.has_clang_builtins && site->kernel->schedule == IP_SCHEDULE_ROWS)
        ip_x_descend(site->ir, body, note_read, &r);
    int n = 0;
    for (int k = 0; k < r.found.n; k++)
        if (r.found.of[k].is_beside || r.found.of[k].pieces >= FEWEST_PIECES) r.found.of[n++] = r.found.of[k];
    r.found.n = n;
    return r.found;
}

int ip_times_read(const ip_reads *r, int k) { return r->of[k].pieces >= FEWEST_PIECES ? r->of[k].pieces : 1; }
int ip_columns_read(const ip_reads *r, int k) { return ip_max_int((int)r->of[k].columns, 1); }

/* ---- blocks ----------------------------------------------------------------------------------------- */

int ip_block_columns(int bytes)
{
    int columns = BLOCK_BYTES / bytes / LEAST_COLUMNS * LEAST_COLUMNS;
    return columns > LEAST_COLUMNS ? columns : LEAST_COLUMNS;
}

static void choose_block(const ip_site *site, ip_kernel *kernel, ip_placed *p)
{
    ip_expr *body = p->stage->body;
    p->is_streamed = p->place == IP_PLACE_NONE;
    const ip_reads r = ip_reads_of(site, body);
    bool is_idle = (r.n == 0 && !p->is_streamed) || p->stage->dims[3] == 0;
    if (is_idle || p->n_running > 0 || p->mask || ip_x_has_window(site->ir, body)) return;
    int made = ip_pixel_bytes(p->stage), prefetched = 0;
    for (int k = 0; k < r.n; k++) {
        prefetched += ip_pixel_bytes(r.of[k].load->source) * ip_times_read(&r, k);
        kernel->reads_in_pieces |= ip_times_read(&r, k) > 1;
    }
    p->block_columns = ip_block_columns(ip_max_int(prefetched, made));
}

/* Pixels that the end of a line may hold. */
static int columns_of_line(const ip_stage *s)
{
    return (IP_LINE_BYTES - 1 + ip_pixel_bytes(s) - 1) / ip_pixel_bytes(s);
}

static void note_ahead(ip_kernel *kernel, const ip_stage *s, int64_t row)
{
    int k = 0;
    while (k < kernel->n_ahead && kernel->ahead[k].stage != s)
        k++;
    if (k == IP_MOST_AHEAD) return;
    if (k == kernel->n_ahead || row > kernel->ahead[k].row) kernel->ahead[k] = (ip_row_ahead){ s, row };
    kernel->n_ahead += k == kernel->n_ahead;
}

/* Finds the rows that the kernel's last stage can prefetch; whether it does, the launch says. */
static void find_rows_ahead(const ip_site *site, ip_kernel *kernel)
{
    const ip_placed *last = &kernel->placed[kernel->n_placed - 1];
    kernel->n_ahead = 0;
    bool keeps_rows = false;
    for (int i = 0; i < kernel->n_placed; i++) {
        const ip_placed *p = &kernel->placed[i];
        const ip_stage *s = p->stage;
        if (p->rate_of >= 0 || p->at_once || s->kind != IP_STAGE_MAP || s->dims[2] != last->stage->dims[2]) continue;
        const ip_site there = {
            .ir = site->ir, .kernel = kernel, .options = site->options, .domain = s->dims, .channels = (int)s->dims[3]
        };
        const ip_reads r = ip_reads_of(&there, s->body);
        for (int k = 0; k < r.n; k++)
            if (r.of[k].is_beside && r.of[k].step == 1 && r.of[k].columns == 1)
                note_ahead(kernel, r.of[k].load->source, p->lead + r.of[k].row);
        keeps_rows |= ip_placed_is_kept(p) && r.n > 0;
    }
    if (!keeps_rows || !last->is_streamed || last->block_columns == 0 || kernel->planes_at_once > 0)
        kernel->n_ahead = 0;
}

void ip_choose_blocks(const ip_site *site, ip_kernel *kernel)
{
    bool has_panels = kernel->is_transpose && !kernel->whole_rows;
    kernel->n_ahead = 0;
    for (int k = 0; k < kernel->n_placed && site->options->device.has_clang_builtins; k++) {
        ip_placed *p = &kernel->placed[k];
        if (p->stage->kind != IP_STAGE_MAP) continue;
        choose_block(site, kernel, p);
        if (p->is_streamed && has_panels && p->stage->dims[3] > 0)
            kernel->columns_beyond = ip_max_int(kernel->columns_beyond, columns_of_line(p->stage));
    }
    if (site->options->device.has_clang_builtins && kernel->n_placed > 1) find_rows_ahead(site, kernel);
}

/* ---- scratch memory ------------------------------------------------------------------------------------ */

/* Elements behind a row that are written with its last pixel: the fourth lane (emit_lanes.c); ip_turn_words() in
 * helpers.cl writes four bytes. */
static int elements_behind(const ip_placed *p) { return p->stage->dims[3] != 3 ? 0 : p->at_once ? 4 : 1; }

static void add_scratch(ip_kernel *kernel, ip_scratch scratch) { kernel->scratch[kernel->n_scratch++] = scratch; }

static void add_rows(ip_kernel *kernel, const ip_placed *p)
{
    const ip_stage *s = p->stage;
    ip_scratch rows = {
        .stage = s, .rows = 1, .channels = s->dims[3], .element_bytes = (int)ip_dtype(s->dtype)->size_bytes
    };
    if (p->place == IP_PLACE_LINE_BUFFER) {
        rows.is_line_buffer = true;
        rows.rows = p->rows;
        rows.beside = (int64_t)kernel->columns_beyond + p->left + p->right;
        rows.most = s->dims[2];
        rows.elements = ip_placed_before(p) + p->pad * s->dims[3] + elements_behind(p);
    } else if (p->is_streamed) {
        rows.is_line = true;
        rows.columns = p->block_columns;
        rows.beside = kernel->columns_beyond;
        rows.most = INT64_MAX;
    } else {
        return;
    }
    add_scratch(kernel, rows);
}

void ip_lay_out_scratch(ip_ir *ir, ip_kernel *kernel)
{
    kernel->scratch = ip_ir_alloc(ir, (size_t)kernel->n_placed * (1 + IP_MAX_RUNNING) + 1, sizeof *kernel->scratch);
    kernel->n_scratch = 0;
    for (int i = 0; i < kernel->n_placed && kernel->scratch; i++) {
        const ip_placed *p = &kernel->placed[i];
        add_rows(kernel, p);
        for (int k = 0; k < p->n_running && !ip_placed_is_sums(p); k++)
            add_scratch(kernel, (ip_scratch){ .stage = p->stage,
                                              .sums = p->running[k],
                                              .rows = 1,
                                              .beside = (int64_t)kernel->columns_beyond + p->left + p->right,
                                              .most = p->stage->dims[2],
                                              .channels = p->stage->dims[3],
                                              .element_bytes = (int)ip_dtype(p->running[k]->dtype)->size_bytes });
    }
}
