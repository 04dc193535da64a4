/* SPDX-License-Identifier: MIT */
/*
 * Rows that come from memory and go back to it, where what a kernel reads or writes is larger than a processor's
 * caches.
 *
 * Note [Streaming]
 * Results: before a processor writes to memory it reads what stands there, unless it is told that whole lines will be
 * written (a non-temporal store). Compilers make no such stores of a loop that converts pixels, so a block of a row is
 * made in scratch memory, which stays in the first cache, and goes to its buffer by ip_stream(). Inputs: a processor
 * foresees what is read row by row, but where rows beside are read as well (run/division.c, foresees_plain_runs())
 * within a page of 4 KiB only. There each block of a row begins with fetching what stands a page behind it; where a
 * work-item reads long runs of memory, or makes of each row a part of its columns (ops/stages_axes.c, Note [Levels]),
 * of eight pages in turn; where its rows are shorter than that, what stands below it (ip_fetch_next()). Blocks are
 * short, since fetches in flight are few. The launch says whether (IP_SLOT_IS_LARGE): programs are the same, and where
 * images are small, the row is one block, and its loop reads and writes buffers itself. A step of a loop runs often, on
 * small arrays most of the time: what is small is a row without blocks there, since what a block needs to know of
 * itself takes as long as a short row. invert, threshold and erosion of 12 megapixels take 0.6 to 0.7 of the time so;
 * rows of 240 bytes took three times as long, and do not stream. Where rows of a line or more follow each other in
 * memory, the line that two of them share is written with the second: otherwise it would be read before it is written,
 * and what streams would wait for that. (invert of rows of 8997 bytes takes a tenth less.)
 *
 * Note [Lines of panels]
 * What reads across (emit_across.c) writes its rows in panels of one or two kilobytes, of which most share lines: 9000
 * bytes are no whole number of them, so no panel begins with one in all rows. So a panel makes some columns more than
 * its own, writes the lines that begin in it, and leaves out the end of one that began in the panel before, unless rows
 * are whole lines. Columns are made to xl for that. (Transposing 12 megapixels of RGB takes a fifth less.)
 */
#include "base/dtype.h"
#include "base/integers.h"
#include "compile/emit.h"

enum {
    BLOCK_BYTES = 1024,
    LEAST_COLUMNS = 64,
    MOST_READS = 6,
    FEWEST_PIECES = 8,
    LINE_BYTES = 64,
    FETCH_PAGES = 2 /* ip_fetch_next() */
};

static int pixel_bytes(const ip_stage *s)
{
    return (int)ip_min(s->dims[3] * (int64_t)ip_dtype(s->dtype)->size_bytes, 1 << 24);
}

/*
 * The rows of inputs that a body reads at its own columns: of each input the one that comes last, since the others were
 * read for the row before; or all, where rows of the result are several of the input apart. pieces: how often a row is
 * read at columns that arguments tell; from FEWEST_PIECES on that is all over it, as folds do. Fewer columns that stand
 * elsewhere are not foreseen.
 */
typedef struct reads {
    ip_emit *e;
    int n;
    struct {
        const ip_expr *load;
        int64_t step, row;
        int pieces;
        bool is_beside;
    } of[MOST_READS];
} reads;

/* The number that index adds to the coordinate. */
static bool constant_offset(ip_emit *e, ip_expr *index, int axis, int64_t *out)
{
    ip_expr *rest = ip_x_offset_from(e->ir, index, axis);
    if (!rest || rest->op != IP_X_CONST) return false;
    *out = rest->i;
    return true;
}

/* Whether index is step * y + row. */
static bool row_of(ip_emit *e, ip_expr *index, int64_t *step, int64_t *row)
{
    *step = 1;
    if (constant_offset(e, index, 1, row)) return true;
    bool is_sum = index->op == IP_X_ADD && index->arg[1]->op == IP_X_CONST;
    const ip_expr *product = is_sum ? index->arg[0] : index;
    *row = is_sum ? index->arg[1]->i : 0;
    if (product->op != IP_X_MUL || product->arg[0]->op != IP_X_COORD || product->arg[0]->axis != 1 ||
        product->arg[1]->op != IP_X_CONST)
        return false;
    *step = product->arg[1]->i;
    return *step > 1;
}

/* Whether index is x + an argument, where x may be held below a number. */
static bool is_of_a_piece(const ip_expr *index)
{
    if (index->op != IP_X_ADD || index->arg[1]->op != IP_X_PARAM) return false;
    const ip_expr *x = index->arg[0];
    return ip_x_is_coord(x, 2) ||
           (x->op == IP_X_MIN && ip_x_is_coord(x->arg[0], 2) && !(x->arg[1]->uses & (IP_USES_X | IP_USES_C)));
}

static bool note_read(ip_expr *x, void *user)
{
    reads *r = user;
    int64_t step, row, column;
    if (x->op != IP_X_LOAD) return true;
    const ip_stage *s = x->source;
    const ip_placed *placed = ip_kernel_placed(r->e->kernel, s);
    bool is_input =
        s->kind != IP_STAGE_TABLE && !(placed && ip_placed_is_kept(placed)) && !ip_kernel_texture(r->e->kernel, s);
    bool is_piece = is_of_a_piece(x->arg[2]), is_beside = constant_offset(r->e, x->arg[2], 2, &column);
    if (!is_input || x->arg[0]->uses & (IP_USES_X | IP_USES_C) || !row_of(r->e, x->arg[1], &step, &row) ||
        (!is_piece && !is_beside))
        return true;
    int k = 0;
    while (k < r->n && !(r->of[k].load->source == s && r->of[k].step == step && (step == 1 || r->of[k].row == row)))
        k++;
    if (k == MOST_READS) return true;
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
    if (e->options->streams && e->kernel->schedule == IP_SCHEDULE_ROWS) ip_x_descend(e->ir, body, note_read, &r);
    int n = 0;
    for (int k = 0; k < r.n; k++)
        if (r.of[k].is_beside || r.of[k].pieces >= FEWEST_PIECES) r.of[n++] = r.of[k];
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

/* Of a block, of so many bytes each: at least a line, since a shorter one could not complete a line that others
 * began. */
static int columns_of(int bytes)
{
    int columns = BLOCK_BYTES / bytes / LEAST_COLUMNS * LEAST_COLUMNS;
    return columns > LEAST_COLUMNS ? columns : LEAST_COLUMNS;
}

/* Columns of a row that are made together. */
static int block_columns(ip_emit *e, const ip_placed *p)
{
    reads r = reads_of(e, p->stage->body);
    bool is_idle = (r.n == 0 && !p->is_streamed) || p->stage->dims[3] == 0;
    if (is_idle || p->n_running > 0 || p->mask || ip_x_has_window(e->ir, p->stage->body)) return 0;
    int made = pixel_bytes(p->stage), fetched = 0;
    for (int k = 0; k < r.n; k++) {
        fetched += pixel_bytes(r.of[k].load->source) * times_read(&r, k);
        e->kernel->reads_in_pieces |= times_read(&r, k) > 1;
    }
    return columns_of(fetched > made ? fetched : made);
}

/* Pixels that the end of a line may hold. */
static int columns_of_line(const ip_stage *s) { return (LINE_BYTES - 1 + pixel_bytes(s) - 1) / pixel_bytes(s); }

void ip_emit_plan_blocks(ip_emit *e)
{
    bool has_panels = e->kernel->reads_across && !e->kernel->whole_rows;
    e->kernel->columns_beyond = 0;
    for (int k = 0; k < e->kernel->n_placed && e->options->streams; k++) {
        ip_placed *p = &e->kernel->placed[k];
        if (p->stage->kind != IP_STAGE_MAP) continue;
        p->is_streamed = p->place == IP_PLACE_NONE;
        p->block_columns = block_columns(e, p);
        if (p->is_streamed && has_panels && p->stage->dims[3] > 0)
            e->kernel->columns_beyond = ip_max_int(e->kernel->columns_beyond, columns_of_line(p->stage));
    }
}

void ip_emit_fetch(ip_emit *e, ip_expr *body, const char *from, const char *to)
{
    reads r = reads_of(e, body);
    if (r.n == 0) return;
    const char *fetches = ip_emit_fetches(e, body);
    ip_stmt *when = ip_s_add(e->ir, e->block, IP_S_IF, fetches, NULL, NULL);
    for (int k = 0; k < r.n; k++) {
        const ip_stage *s = r.of[k].load->source;
        const char *times = times_read(&r, k) > 1
                                ? ip_text(e->ir, " * (%s == %d ? %d : 1)", fetches, FETCH_PAGES, times_read(&r, k))
                                : "";
        ip_s_add(
            e->ir, when, IP_S_STORE,
            ip_text(
                e->ir,
                "ip_fetch_next((__global const uchar *)(%s + (long)%s * %d%s), (%s - %s) * %d%s, %s, (long)%s * %d)",
                ip_emit_row_pointer(e, r.of[k].load), from, (int)s->dims[3], times, to, from, pixel_bytes(s), times,
                fetches, ip_emit_slot(e, IP_SLOT_PITCH, 0, s, NULL),
                (int)(r.of[k].step * (int64_t)ip_dtype(s->dtype)->size_bytes)),
            NULL, NULL);
    }
}

bool ip_emit_enter_fetched(ip_emit *e, ip_expr *body, const char **from, const char **to)
{
    reads r = reads_of(e, body);
    if (r.n == 0) return false;
    const char *fetches = ip_emit_fetches(e, body);
    int columns = columns_of(pixel_bytes(r.of[0].load->source));
    ip_stmt *loop = ip_s_add(e->ir, e->block, IP_S_FOR, "xf", *from, *to);
    loop->d = ip_text(e->ir, "(%s ? %d : max(%s - %s, 1))", fetches, columns, *to, *from);
    loop->parallel = IP_FEW;
    ip_emit_enter(e, loop);
    ip_s_add(e->ir, e->block, IP_S_LET, "int", "xt",
             ip_text(e->ir, "%s ? min(xf + %d, %s) : %s", fetches, columns, *to, *to));
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
                 ip_text(e->ir, "ip_fetch((__global const uchar *)(%s + (long)(%s) * %d), (%s) * %d)",
                         ip_emit_row_pointer(e, r.of[k].load), at, (int)r.of[k].load->source->dims[3], n,
                         pixel_bytes(r.of[k].load->source)),
                 NULL, NULL);
}

const char *ip_emit_panel_end(ip_emit *e) { return e->kernel->columns_beyond > 0 ? "xl" : "xb"; }

void ip_emit_declare_panel_end(ip_emit *e)
{
    if (e->kernel->columns_beyond == 0) return;
    const char *shared = NULL, *end = ip_emit_slot(e, IP_SLOT_REGION, 5, NULL, NULL);
    for (int k = 0; k < e->kernel->n_placed; k++) {
        const ip_stage *s = e->kernel->placed[k].stage;
        if (!e->kernel->placed[k].is_streamed) continue;
        const char *shares = ip_text(e->ir, "%s %% %d != 0", ip_emit_slot(e, IP_SLOT_PITCH, 0, s, NULL),
                                     LINE_BYTES / (int)ip_dtype(s->dtype)->size_bytes);
        shared = shared ? ip_text(e->ir, "%s | %s", shared, shares) : shares;
    }
    ip_s_add(e->ir, e->top, IP_S_LET, "int", "beyond",
             ip_text(e->ir, "%s & (%s) ? %d : 0", ip_emit_streams(e), shared, e->kernel->columns_beyond));
    ip_s_add(e->ir, e->top, IP_S_LET, "int", "xl", ip_text(e->ir, "min(xb + beyond, %s)", end));
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
        if (!p->is_streamed) continue;
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
    if (p->block_columns == 0) return;
    ip_emit_row_pointers(e, p->stage->body);
    const char *streams = p->is_streamed ? ip_emit_streams(e) : "0", *fetches = ip_emit_fetches(e, p->stage->body);
    ip_s_add(e->ir, e->block, IP_S_LET, "int", "block",
             ip_text(e->ir, "%s | %s ? %d : max(%s - %s, 1)", streams, fetches, p->block_columns, *to, *from));
    /* what is made behind the panel belongs to its last block */
    bool has_more = p->is_streamed && e->kernel->columns_beyond > 0;
    ip_stmt *loop = ip_s_add(e->ir, e->block, IP_S_FOR, "from", *from, has_more ? "xb" : *to);
    loop->d = "block";
    loop->parallel = IP_FEW;
    ip_emit_enter(e, loop);
    ip_s_add(e->ir, e->block, IP_S_LET, "int", "to",
             has_more ? ip_text(e->ir, "from + block < xb ? from + block : %s", *to)
                      : ip_text(e->ir, "min(from + block, %s)", *to));
    ip_emit_fetch(e, p->stage->body, "from", "to");
    *from = "from";
    *to = "to";
}

const char *ip_emit_line(ip_emit *e, const ip_stage *s, const char *stored, const char *from)
{
    const char *type = ip_dtype(s->dtype)->cl;
    ip_s_add(e->ir, e->block, IP_S_LET, "int", "at",
             ip_text(e->ir, "(int)((ulong)(%s + (long)%s * %d) & 63)", stored, from, (int)s->dims[3]));
    return ip_text(e->ir, "%s ? (__global %s *)(%s + at) - (long)%s * %d : %s", ip_emit_streams(e), type, line_of(e, s),
                   from, (int)s->dims[3], stored);
}

void ip_emit_stream(ip_emit *e, const ip_stage *s, const char *stored, const char *first, const char *last,
                    const char *from, const char *to, const char *row)
{
    int pixel = pixel_bytes(s), line = pixel > 0 ? (LINE_BYTES + pixel - 1) / pixel : 1;
    const char *end = ip_text(e->ir, "at + (%s - %s) * %d", to, from, pixel), *shared = "at";
    const char *begins = ip_text(e->ir, "%s == %s", from, first), *ends = ip_text(e->ir, "%s == %s", to, last);
    if (e->kernel->columns_beyond > 0) {
        end = ip_text(e->ir, "min(%s, (at + (xb - %s) * %d + %d) / %d * %d)", end, from, pixel, LINE_BYTES - 1,
                      LINE_BYTES, LINE_BYTES);
        shared = ip_text(e->ir, "(beyond > 0 & xa > %s ? -at : at)", ip_emit_slot(e, IP_SLOT_REGION, 4, NULL, NULL));
    }
    if (row) {
        const char *joins = ip_text(e->ir, "%s == (xb - xa) * %d & xb - xa >= %d",
                                    ip_emit_slot(e, IP_SLOT_PITCH, 0, s, NULL), (int)s->dims[3], line);
        begins = ip_text(e->ir, "%s & !(%s & %s > ya)", begins, joins, row);
        ends = ip_text(e->ir, "%s & !(%s & %s + 1 < min(yb, %s))", ends, joins, row, ip_emit_dim(e, s, 1));
    }
    ip_s_add(e->ir, ip_s_add(e->ir, e->block, IP_S_IF, ip_emit_streams(e), NULL, NULL), IP_S_STORE,
             ip_text(e->ir, "ip_stream((__global uchar *)(%s + (long)%s * %d) - at, %s, %s, %s ? %s : 0, %s)", stored,
                     from, (int)s->dims[3], line_of(e, s), end, begins, shared, ends),
             NULL, NULL);
}

void ip_emit_stream_end(ip_emit *e)
{
    bool any = false;
    for (int k = 0; k < e->kernel->n_placed; k++)
        any |= e->kernel->placed[k].is_streamed;
    if (any || e->kernel->has_line)
        ip_s_add(e->ir, ip_s_add(e->ir, e->top, IP_S_IF, ip_emit_streams(e), NULL, NULL), IP_S_STORE, "ip_stream_end()",
                 NULL, NULL);
}
