/* SPDX-License-Identifier: MIT */
/*
 * Rows that come from memory and go back to it, where what a kernel reads or writes is larger than a processor's caches.
 *
 * Note [Streaming]
 * Results: before a processor writes to memory it reads what stands there, unless it is told that whole lines will be written
 * (a non-temporal store). Compilers make no such stores of a loop that converts pixels, so a block of a row is made in scratch
 * memory, which stays in the first cache, and goes to its buffer by ip_stream(). Inputs: a processor foresees reads within a page
 * of 4 KiB only, so each block of a row begins with fetching what stands a page behind it; where a work-item reads long runs of memory, or
 * makes of each row a part of its columns (ops/stages_axes.c, Note [Levels]), of eight pages in turn; where its rows are shorter than that,
 * what stands below it (ip_fetch_next()). Blocks are short, since fetches in flight are few. The launch says whether (IP_SLOT_IS_LARGE):
 * programs are the same, and where images are small, the row is one block, and its loop reads and writes buffers itself. A step of a loop
 * runs often, on small arrays most of the time: what is small is a row without blocks there, since what a block needs to know of itself takes
 * as long as a short row.
 * invert, threshold and erosion of 12 megapixels take 0.6 to 0.7 of the time so; rows of 240 bytes took three times as long, and do not stream.
 */
#include "base/dtype.h"
#include "compile/emit.h"

enum { BLOCK_BYTES = 1024, LEAST_COLUMNS = 64, MOST_READS = 6, FEWEST_PIECES = 8, FETCH_PAGES = 2 /* ip_fetch_next() */ };

static int pixel_bytes(const ip_stage *s) { return (int)s->dims[3] * (int)ip_dtype(s->dtype)->size_bytes; }

/*
 * The rows of inputs that a body reads at its own columns: of each input the one that comes last, since the others were read for the row
 * before; or all, where rows of the result are several of the input apart. pieces: how often a row is read at columns that arguments
 * tell; from FEWEST_PIECES on that is all over it, as folds do. Fewer columns that stand elsewhere are not foreseen.
 */
typedef struct reads {
    ip_emit *e;
    int n;
    struct { const ip_expr *load; int64_t step, row; int pieces; bool is_beside; } of[MOST_READS];
} reads;

/* The number that index adds to the coordinate. */
static bool constant_offset(ip_emit *e, ip_expr *index, int axis, int64_t *out)
{
    ip_expr *rest = ip_x_offset_from(e->ir, index, axis);
    if (!rest || rest->op != IP_X_CONST)
        return false;
    *out = rest->i;
    return true;
}

/* Whether index is step * y + row. */
static bool row_of(ip_emit *e, ip_expr *index, int64_t *step, int64_t *row)
{
    *step = 1;
    if (constant_offset(e, index, 1, row))
        return true;
    bool is_sum = index->op == IP_X_ADD && index->arg[1]->op == IP_X_CONST;
    const ip_expr *product = is_sum ? index->arg[0] : index;
    *row = is_sum ? index->arg[1]->i : 0;
    if (product->op != IP_X_MUL || product->arg[0]->op != IP_X_COORD || product->arg[0]->axis != 1 || product->arg[1]->op != IP_X_CONST)
        return false;
    *step = product->arg[1]->i;
    return *step > 1;
}

/* Whether index is x + an argument, where x may be held below a number. */
static bool is_of_a_piece(const ip_expr *index)
{
    if (index->op != IP_X_ADD || index->arg[1]->op != IP_X_PARAM)
        return false;
    const ip_expr *x = index->arg[0];
    return ip_x_is_coord(x, 2) || (x->op == IP_X_MIN && ip_x_is_coord(x->arg[0], 2) && !(x->arg[1]->uses & (IP_USES_X | IP_USES_C)));
}

static bool note_read(ip_expr *x, void *user)
{
    reads *r = user;
    int64_t step, row, column;
    if (x->op != IP_X_LOAD)
        return true;
    const ip_stage *s = x->source;
    const ip_placed *placed = ip_kernel_placed(r->e->kernel, s);
    bool is_input = s->kind != IP_STAGE_TABLE && !(placed && ip_placed_is_kept(placed)) && !ip_kernel_texture(r->e->kernel, s);
    bool is_piece = is_of_a_piece(x->arg[2]), is_beside = constant_offset(r->e, x->arg[2], 2, &column);
    if (!is_input || x->arg[0]->uses & (IP_USES_X | IP_USES_C) || !row_of(r->e, x->arg[1], &step, &row) || (!is_piece && !is_beside))
        return true;
    int k = 0;
    while (k < r->n && !(r->of[k].load->source == s && r->of[k].step == step && (step == 1 || r->of[k].row == row)))
        k++;
    if (k == MOST_READS)
        return true;
    if (k == r->n || row > r->of[k].row) {
        r->of[k].load = x;
        r->of[k].step = step;
        r->of[k].row = row;
    }
    r->of[k].pieces += is_piece;
    r->of[k].is_beside |= is_beside;
    r->n += k == r->n;
    return true;
}

static reads reads_of(ip_emit *e, ip_expr *body)
{
    reads r = { .e = e };
    if (e->options->streams && e->kernel->schedule == IP_SCHEDULE_ROWS)
        ip_x_descend(e->ir, body, note_read, &r);
    int n = 0;
    for (int k = 0; k < r.n; k++)
        if (r.of[k].is_beside || r.of[k].pieces >= FEWEST_PIECES)
            r.of[n++] = r.of[k];
    r.n = n;
    return r;
}

const char *ip_emit_streams(ip_emit *e) { return ip_emit_slot(e, IP_SLOT_IS_LARGE, 0, NULL, NULL); }

const char *ip_emit_fetches(ip_emit *e, ip_expr *body)
{
    return reads_of(e, body).n > 0 ? ip_emit_slot(e, IP_SLOT_IS_LARGE, 1, NULL, NULL) : "0";
}

/* How many pixels of an input are read for one. */
static int times_read(const reads *r, int k) { return r->of[k].pieces >= FEWEST_PIECES ? r->of[k].pieces : 1; }

/* Of a block, of so many bytes each. */
static int columns_of(int bytes)
{
    int columns = BLOCK_BYTES / bytes / LEAST_COLUMNS * LEAST_COLUMNS;
    return columns > LEAST_COLUMNS ? columns : LEAST_COLUMNS;
}

/* Columns of a row that are made together. */
static int block_columns(ip_emit *e, const ip_placed *p)
{
    reads r = reads_of(e, p->stage->body);
    if (p->n_running > 0 || p->mask || ip_emit_has_window(e, p->stage->body) || (r.n == 0 && !p->is_streamed) || p->stage->dims[3] == 0)
        return 0;
    int made = pixel_bytes(p->stage), fetched = 0;
    for (int k = 0; k < r.n; k++) {
        fetched += pixel_bytes(r.of[k].load->source) * times_read(&r, k);
        e->kernel->reads_in_pieces |= times_read(&r, k) > 1;
    }
    return columns_of(fetched > made ? fetched : made);
}

void ip_emit_plan_blocks(ip_emit *e)
{
    for (int k = 0; k < e->kernel->n_placed && e->options->streams; k++) {
        ip_placed *p = &e->kernel->placed[k];
        if (p->stage->kind != IP_STAGE_MAP)
            continue;
        p->is_streamed = p->place == IP_PLACE_NONE;
        p->block_columns = block_columns(e, p);
    }
}

void ip_emit_fetch(ip_emit *e, ip_expr *body, const char *from, const char *to)
{
    reads r = reads_of(e, body);
    if (r.n == 0)
        return;
    const char *fetches = ip_emit_fetches(e, body);
    ip_stmt *when = ip_s_add(e->ir, e->block, IP_S_IF, fetches, NULL, NULL);
    for (int k = 0; k < r.n; k++) {
        const ip_stage *s = r.of[k].load->source;
        const char *times = times_read(&r, k) > 1 ? ip_text(e->ir, " * (%s == %d ? %d : 1)", fetches, FETCH_PAGES, times_read(&r, k)) : "";
        ip_s_add(e->ir, when, IP_S_STORE,
                 ip_text(e->ir, "ip_fetch_next((__global const uchar *)(%s + (long)%s * %d%s), (%s - %s) * %d%s, %s, (long)%s * %d)",
                         ip_emit_row_pointer(e, r.of[k].load), from, (int)s->dims[3], times, to, from, pixel_bytes(s), times, fetches,
                         ip_emit_slot(e, IP_SLOT_PITCH, 0, s, NULL), (int)(r.of[k].step * (int64_t)ip_dtype(s->dtype)->size_bytes)), NULL, NULL);
    }
}

bool ip_emit_enter_fetched(ip_emit *e, ip_expr *body, const char **from, const char **to)
{
    reads r = reads_of(e, body);
    if (r.n == 0)
        return false;
    const char *fetches = ip_emit_fetches(e, body);
    int columns = columns_of(pixel_bytes(r.of[0].load->source));
    ip_stmt *loop = ip_s_add(e->ir, e->block, IP_S_FOR, "xf", *from, *to);
    loop->d = ip_text(e->ir, "(%s ? %d : max(%s - %s, 1))", fetches, columns, *to, *from);
    loop->parallel = IP_FEW;
    ip_emit_enter(e, loop);
    ip_s_add(e->ir, e->block, IP_S_LET, "int", "xt", ip_text(e->ir, "%s ? min(xf + %d, %s) : %s", fetches, columns, *to, *to));
    ip_emit_fetch(e, body, "xf", "xt");
    *from = "xf";
    *to = "xt";
    return true;
}

void ip_emit_fetch_at(ip_emit *e, ip_expr *body, const char *at, const char *n)
{
    reads r = reads_of(e, body);
    for (int k = 0; k < r.n; k++)
        ip_s_add(e->ir, e->block, IP_S_STORE,
                 ip_text(e->ir, "ip_fetch((__global const uchar *)(%s + (long)(%s) * %d), (%s) * %d)", ip_emit_row_pointer(e, r.of[k].load),
                         at, (int)r.of[k].load->source->dims[3], n, pixel_bytes(r.of[k].load->source)), NULL, NULL);
}

/* A recurrence has one result. */
static const char *line_of(ip_emit *e, const ip_stage *s)
{
    return e->kernel->is_scan ? "line" : ip_text(e->ir, "line_%s", ip_emit_ring(e, s));
}

void ip_emit_declare_lines(ip_emit *e)
{
    for (int k = 0; k < e->kernel->n_placed; k++) {
        const ip_placed *p = &e->kernel->placed[k];
        if (!p->is_streamed)
            continue;
        e->kernel->has_scratch = true;
        ip_s_add(e->ir, e->top, IP_S_LET, "__global uchar *", line_of(e, p->stage),
                 ip_text(e->ir, "mine + (long)%s * 64", ip_emit_slot(e, IP_SLOT_RING_OFFSET, 0, p->stage, NULL)));
    }
}

const char *ip_emit_without_blocks(ip_emit *e, const ip_placed *p)
{
    enum { MOST_OPERATIONS = 48 };
    if (p->block_columns == 0 || !e->options->is_step || ip_x_size(e->ir, p->stage->body) > MOST_OPERATIONS)
        return NULL;
    return ip_text(e->ir, "!(%s | %s)", p->is_streamed ? ip_emit_streams(e) : "0", ip_emit_fetches(e, p->stage->body));
}

void ip_emit_enter_block(ip_emit *e, const ip_placed *p, const char **from, const char **to)
{
    if (p->block_columns == 0)
        return;
    ip_emit_row_pointers(e, p->stage->body);
    const char *streams = p->is_streamed ? ip_emit_streams(e) : "0", *fetches = ip_emit_fetches(e, p->stage->body);
    ip_s_add(e->ir, e->block, IP_S_LET, "int", "block",
             ip_text(e->ir, "%s | %s ? %d : max(%s - %s, 1)", streams, fetches, p->block_columns, *to, *from));
    ip_stmt *loop = ip_s_add(e->ir, e->block, IP_S_FOR, "from", *from, *to);
    loop->d = "block";
    loop->parallel = IP_FEW;
    ip_emit_enter(e, loop);
    ip_s_add(e->ir, e->block, IP_S_LET, "int", "to", ip_text(e->ir, "min(from + block, %s)", *to));
    ip_emit_fetch(e, p->stage->body, "from", "to");
    *from = "from";
    *to = "to";
}

const char *ip_emit_line(ip_emit *e, const ip_stage *s, const char *stored, const char *from)
{
    const char *type = ip_dtype(s->dtype)->cl;
    ip_s_add(e->ir, e->block, IP_S_LET, "int", "at",
             ip_text(e->ir, "(int)((ulong)(%s + (long)%s * %d) & 63)", stored, from, (int)s->dims[3]));
    return ip_text(e->ir, "%s ? (__global %s *)(%s + at) - (long)%s * %d : %s", ip_emit_streams(e), type, line_of(e, s), from, (int)s->dims[3], stored);
}

void ip_emit_stream(ip_emit *e, const ip_stage *s, const char *stored, const char *xa, const char *xb, const char *from,
                    const char *to)
{
    ip_stmt *when = ip_s_add(e->ir, e->block, IP_S_IF, ip_emit_streams(e), NULL, NULL);
    ip_s_add(e->ir, when, IP_S_STORE,
             ip_text(e->ir,
                     "ip_stream((__global uchar *)(%s + (long)%s * %d) - at, %s, at + (%s - %s) * %d, %s == %s ? at : 0, %s == %s)",
                     stored, from, (int)s->dims[3], line_of(e, s), to, from, pixel_bytes(s), from, xa, to, xb), NULL, NULL);
}

void ip_emit_stream_end(ip_emit *e)
{
    bool any = false;
    for (int k = 0; k < e->kernel->n_placed; k++)
        any |= e->kernel->placed[k].is_streamed;
    if (any || e->kernel->has_line)
        ip_s_add(e->ir, ip_s_add(e->ir, e->top, IP_S_IF, ip_emit_streams(e), NULL, NULL), IP_S_STORE, "ip_stream_end()", NULL, NULL);
}
