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
 * within a page of 4 KiB only. There each block of a row begins with prefetching what stands a page behind it, of rows
 * that are read at steps, too (halving 12 megapixels takes 0.85 of the time, pyr_down 0.88), but not where columns are
 * three or more apart (every fourth takes 1.1 to 1.2); where a work-item reads long runs of memory, or makes of each
 * row a part of its columns (ops/stages_axes.c, Note [Levels]), of eight pages in turn; where its rows are shorter than
 * that, what stands below it (ip_prefetch_next()). Blocks are short, since prefetches in flight are few. The launch
 * says whether (IP_SLOT_STREAMS, IP_SLOT_PREFETCHES): programs are the same, and where images are small, the row is one
 * block, and its loop reads and writes buffers itself. A step of a loop runs often, on small arrays most of the time:
 * what is small is a row without blocks there, since what a block needs to know of itself takes as long as a short row.
 * invert, threshold and erosion of 12 megapixels take 0.6 to 0.7 of the time so; rows of 240 bytes took three times as
 * long, and do not stream. Where rows of a line or more follow each other in memory, the line that two of them share is
 * written with the second: otherwise it would be read before it is written, and what streams would wait for that.
 * (invert of rows of 8997 bytes takes a tenth less.)
 *
 * Note [Rows ahead]
 * Where the first stages of a kernel read memory into rows that its last stage computes from, memory would be idle
 * while that one computes, and the others would wait for it. So each block of the last stage prefetches, of the row
 * that the first stages read next, what lies below the block, into the second-level cache: it is more than the first
 * one holds beside the rows that are kept. The launch chooses it instead of the above where there is little to compute
 * (IP_PREFETCH_BELOW). The first and the last block prefetch what the first stages read beside, too, since a line that
 * is missing stops them once a row (corners of 4 megapixels take 0.9 of the time). Means, erosions, sharpening and
 * corners of 4 to 12 megapixels take 0.7 to 0.85 of the time; where there is more to compute it takes longer. Rows that
 * are made at a rate of their own come seldom, so they prefetch what lies below by themselves (the largest level of a
 * pyramid that grows, which reads the picture and the level below it, takes 0.9 to 0.95 of the time).
 *
 * Note [Lines of panels]
 * What reads transposed (emit_transpose.c) writes its rows in panels of one or two kilobytes, of which most share
 * lines: 9000 bytes are no whole number of them, so no panel begins with one in all rows. So a panel makes some columns
 * more than its own, writes the lines that begin in it, and leaves out the end of one that began in the panel before,
 * unless rows are whole lines. Columns are made to xl for that. (Transposing 12 megapixels of RGB takes a fifth less.)
 */
#include "base/dtype.h"
#include "base/integers.h"
#include "compile/emit.h"

#include <string.h>

static ip_reads reads_of(const ip_emit *e, ip_expr *body)
{
    const ip_site site = ip_emit_site(e);
    return ip_reads_of(&site, body);
}

const char *ip_emit_streams(ip_emit *e) { return ip_emit_slot(e, IP_SLOT_STREAMS); }

const char *ip_emit_prefetches(ip_emit *e, ip_expr *body)
{
    return reads_of(e, body).n > 0 ? ip_emit_slot(e, IP_SLOT_PREFETCHES) : "0";
}

/* Columns from..to of what is read, `prefetches` telling whether and how. */
static void prefetch_reads(ip_emit *e, ip_expr *body, const char *from, const char *to, const char *prefetches)
{
    ip_reads r = reads_of(e, body);
    if (r.n == 0) return;
    ip_stmt *when = ip_emit_if(e, prefetches);
    for (int k = 0; k < r.n; k++) {
        const ip_stage *s = r.of[k].load->source;
        const int columns = ip_columns_read(&r, k);
        const char *times = ip_times_read(&r, k) > 1 ? ip_text(e->ir, " * (%s == %d ? %d : 1)", prefetches,
                                                               IP_PREFETCH_PAGES, ip_times_read(&r, k))
                                                     : "";
        ip_s_add(e->ir, when, IP_S_STORE,
                 ip_text(e->ir, "ip_prefetch_next((__global const uchar *)(%s + (long)%s%s), %s%s, %s, (long)%s)",
                         ip_emit_row_pointer(e, r.of[k].load), ip_text_times(e->ir, from, s->dims[3] * columns), times,
                         ip_text_times(e->ir, ip_text(e->ir, "(%s - %s)", to, from), ip_pixel_bytes(s) * columns),
                         times, prefetches,
                         ip_text_times(e->ir, ip_emit_slot_of(e, IP_SLOT_PITCH, s),
                                       r.of[k].step * (int64_t)ip_dtype(s->dtype)->size_bytes)),
                 NULL, NULL);
    }
}

void ip_emit_prefetch(ip_emit *e, ip_expr *body, const char *from, const char *to)
{
    prefetch_reads(e, body, from, to, ip_emit_prefetches(e, body));
}

bool ip_emit_enter_prefetched(ip_emit *e, ip_expr *body, const char **from, const char **to)
{
    ip_reads r = reads_of(e, body);
    if (r.n == 0) return false;
    const char *prefetches = ip_emit_prefetches(e, body);
    int columns = ip_block_columns(ip_pixel_bytes(r.of[0].load->source));
    ip_stmt *loop = ip_emit_for(e, "xf", *from, *to);
    loop->d = ip_text(e->ir, "(%s ? %d : max(%s - %s, 1))", prefetches, columns, *to, *from);
    loop->parallel = IP_FEW;
    ip_emit_enter(e, loop);
    ip_emit_let_int(e, "xt", ip_text(e->ir, "%s ? min(xf + %d, %s) : %s", prefetches, columns, *to, *to));
    ip_emit_prefetch(e, body, "xf", "xt");
    *from = "xf";
    *to = "xt";
    return true;
}

void ip_emit_prefetch_at(ip_emit *e, ip_expr *body, const char *at, const char *n)
{
    ip_reads r = reads_of(e, body);
    for (int k = 0; k < r.n; k++)
        ip_emit_do(e, ip_text(e->ir, "ip_prefetch((__global const uchar *)(%s + (long)(%s) * %d), (%s) * %d)",
                              ip_emit_row_pointer(e, r.of[k].load), at,
                              (int)r.of[k].load->source->dims[3] * ip_columns_read(&r, k), n,
                              ip_pixel_bytes(r.of[k].load->source) * ip_columns_read(&r, k)));
}

const char *ip_emit_panel_end(ip_emit *e) { return e->kernel->columns_beyond > 0 ? "xl" : "xb"; }

void ip_emit_declare_panel_end(ip_emit *e)
{
    if (e->kernel->columns_beyond == 0) return;
    const char *shared = NULL, *end = ip_emit_bound(e, IP_X1);
    for (int k = 0; k < e->kernel->n_placed; k++) {
        const ip_stage *s = e->kernel->placed[k].stage;
        if (!e->kernel->placed[k].is_streamed) continue;
        const char *shares = ip_text(e->ir, "%s %% %d != 0", ip_emit_slot_of(e, IP_SLOT_PITCH, s),
                                     IP_LINE_BYTES / (int)ip_dtype(s->dtype)->size_bytes);
        shared = shared ? ip_text(e->ir, "%s | %s", shared, shares) : shares;
    }
    ip_emit_let_at_top(e, "int", "beyond",
                       ip_text(e->ir, "%s & (%s) ? %d : 0", ip_emit_streams(e), shared, e->kernel->columns_beyond));
    ip_emit_let_at_top(e, "int", "xl", ip_text(e->ir, "min(xb + beyond, %s)", end));
}

/* A recurrence has one result. */
static const char *line_of(ip_emit *e, const ip_stage *s)
{
    return e->kernel->is_scan ? "line" : ip_text(e->ir, "line_%s", ip_emit_storage(e, s));
}

void ip_emit_declare_lines(ip_emit *e)
{
    for (int k = 0; k < e->kernel->n_placed; k++) {
        const ip_placed *p = &e->kernel->placed[k];
        if (!p->is_streamed) continue;
        e->args.has_scratch = true;
        ip_emit_let_at_top(
            e, "__global uchar *", line_of(e, p->stage),
            ip_text(e->ir, "mine + (long)%s * 64", ip_emit_slot_of(e, IP_SLOT_LINE_BUFFER_OFFSET, p->stage)));
    }
}

/* Whether a stage prefetches, what it reads or what is ahead of it; "0": neither. */
static const char *prefetches_of(ip_emit *e, const ip_placed *p)
{
    const ip_kernel *k = e->kernel;
    const char *reads = ip_emit_prefetches(e, p->stage->body);
    if (k->n_ahead == 0) return reads;
    const bool is_last = p == &k->placed[k->n_placed - 1], has_reads = strcmp(reads, "0") != 0;
    const char *how = ip_emit_slot(e, IP_SLOT_PREFETCHES);
    if (!is_last && p->rate_of >= 0) return reads;
    if (!is_last) return has_reads ? ip_text(e->ir, "(%s & %d)", how, IP_PREFETCH_BELOW - 1) : reads;
    return has_reads ? how : ip_text(e->ir, "(%s == %d)", how, IP_PREFETCH_BELOW);
}

const char *ip_emit_without_blocks(ip_emit *e, const ip_placed *p)
{
    enum { STEP_OPERATIONS = 48 };
    if (p->block_columns == 0 || !e->options->goal.is_step || ip_x_size(e->ir, p->stage->body) > STEP_OPERATIONS)
        return NULL;
    return ip_text(e->ir, "!(%s)", ip_text_or(e->ir, p->is_streamed ? ip_emit_streams(e) : "0", prefetches_of(e, p)));
}

/* Columns beyond xa..xb that stages read of the kernel's inputs. */
static void columns_beside(const ip_kernel *k, int beside[2])
{
    beside[0] = beside[1] = 0;
    for (int i = 0; i < k->n_placed; i++) {
        const ip_placed *p = &k->placed[i];
        if (p->left < IP_ALL_COLUMNS) beside[0] = ip_max_int(beside[0], p->left + p->beside_left);
        if (p->right < IP_ALL_COLUMNS) beside[1] = ip_max_int(beside[1], p->right + p->beside_right);
    }
}

/* Of the rows ahead what lies below columns from..to, by the kernel's last stage. The first and the last block prefetch
 * what is read beside, too. */
static void prefetch_rows_ahead(ip_emit *e, const ip_placed *p)
{
    const ip_kernel *k = e->kernel;
    if (p != &k->placed[k->n_placed - 1] || k->n_ahead == 0) return;
    const char *how = ip_emit_slot(e, IP_SLOT_PREFETCHES);
    ip_stmt *when = ip_emit_if(e, ip_text(e->ir, "%s == %d", how, IP_PREFETCH_BELOW));
    int beside[2];
    columns_beside(k, beside);
    const char *first = beside[0] > 0 ? ip_text(e->ir, "(from - (from == xa ? %d : 0))", beside[0]) : "from";
    const char *end = beside[1] > 0 ? ip_text(e->ir, "to + (to == xb ? %d : 0)", beside[1]) : "to";
    for (int i = 0; i < k->n_ahead; i++) {
        const ip_stage *s = k->ahead[i].stage;
        const char *row =
            ip_text(e->ir, "clamp(%s, 0, %s - 1)", ip_text_plus(e->ir, "y", k->ahead[i].row + 1), ip_emit_dim(e, s, 1));
        ip_s_add(e->ir, when, IP_S_STORE,
                 ip_text(e->ir, "ip_prefetch_far((__global const uchar *)(%s + (long)%s), %s)",
                         ip_emit_buffer_row(e, s, s->dims[0] == e->domain[0] ? "z" : "0", row),
                         ip_text_times(e->ir, first, s->dims[3]),
                         ip_text_times(e->ir, ip_text(e->ir, "(%s - %s)", end, first), ip_pixel_bytes(s))),
                 NULL, NULL);
    }
}

/* What the block from..to reads. Rows that are made at a rate of their own prefetch what lies below them themselves. */
static void prefetch_block(ip_emit *e, const ip_placed *p)
{
    const char *how = ip_emit_prefetches(e, p->stage->body);
    if (e->kernel->n_ahead > 0 && p->rate_of >= 0)
        how = ip_text(e->ir, "(%s == %d ? %d : %s)", how, IP_PREFETCH_BELOW, IP_PREFETCH_ROWS, how);
    prefetch_reads(e, p->stage->body, "from", "to", how);
}

void ip_emit_enter_block(ip_emit *e, const ip_placed *p, const char **from, const char **to)
{
    if (p->block_columns == 0) return;
    ip_emit_row_pointers(e, p->stage->body);
    const char *streams = p->is_streamed ? ip_emit_streams(e) : "0", *prefetches = prefetches_of(e, p);
    ip_emit_let_int(e, "block",
                    ip_text(e->ir, "%s ? %d : max(%s - %s, 1)", ip_text_or(e->ir, streams, prefetches),
                            p->block_columns, *to, *from));
    /* what is made behind the panel belongs to its last block */
    bool has_more = p->is_streamed && e->kernel->columns_beyond > 0;
    ip_stmt *loop = ip_emit_for(e, "from", *from, has_more ? "xb" : *to);
    loop->d = "block";
    loop->parallel = IP_FEW;
    ip_emit_enter(e, loop);
    ip_emit_let_int(e, "to",
                    has_more ? ip_text(e->ir, "from + block < xb ? from + block : %s", *to)
                             : ip_text(e->ir, "min(from + block, %s)", *to));
    prefetch_block(e, p);
    prefetch_rows_ahead(e, p);
    *from = "from";
    *to = "to";
}

const char *ip_emit_line(ip_emit *e, const ip_stage *s, const char *stored, const char *from)
{
    const char *type = ip_dtype(s->dtype)->cl;
    ip_emit_let_int(
        e, "at", ip_text(e->ir, "(int)((ulong)(%s + (long)%s) & 63)", stored, ip_text_times(e->ir, from, s->dims[3])));
    return ip_text(e->ir, "%s ? (__global %s *)(%s + at) - (long)%s : %s", ip_emit_streams(e), type, line_of(e, s),
                   ip_text_times(e->ir, from, s->dims[3]), stored);
}

void ip_emit_stream(ip_emit *e, const ip_stage *s, const char *stored, const char *first, const char *last,
                    const char *from, const char *to, const char *row)
{
    int pixel = ip_pixel_bytes(s), line = pixel > 0 ? (IP_LINE_BYTES + pixel - 1) / pixel : 1;
    const char *end = ip_text(e->ir, "at + (%s - %s) * %d", to, from, pixel), *shared = "at";
    const char *begins = ip_text(e->ir, "%s == %s", from, first), *ends = ip_text(e->ir, "%s == %s", to, last);
    if (e->kernel->columns_beyond > 0) {
        end = ip_text(e->ir, "min(%s, (at + (xb - %s) * %d + %d) / %d * %d)", end, from, pixel, IP_LINE_BYTES - 1,
                      IP_LINE_BYTES, IP_LINE_BYTES);
        shared = ip_text(e->ir, "(beyond > 0 & xa > %s ? -at : at)", ip_emit_bound(e, IP_X0));
    }
    if (row) {
        const char *joins = ip_text(e->ir, "%s == (xb - xa) * %d & xb - xa >= %d", ip_emit_slot_of(e, IP_SLOT_PITCH, s),
                                    (int)s->dims[3], line);
        begins = ip_text(e->ir, "%s & !(%s & %s > ya)", begins, joins, row);
        ends = ip_text(e->ir, "%s & !(%s & %s + 1 < min(yb, %s))", ends, joins, row, ip_emit_dim(e, s, 1));
    }
    ip_s_add(e->ir, ip_emit_if(e, ip_emit_streams(e)), IP_S_STORE,
             ip_text(e->ir, "ip_stream((__global uchar *)(%s + (long)%s * %d) - at, %s, %s, %s ? %s : 0, %s)", stored,
                     from, (int)s->dims[3], line_of(e, s), end, begins, shared, ends),
             NULL, NULL);
}

void ip_emit_stream_end(ip_emit *e)
{
    bool any = false;
    for (int k = 0; k < e->kernel->n_placed; k++)
        any |= e->kernel->placed[k].is_streamed;
    if (any || e->args.has_line)
        ip_s_add(e->ir, ip_s_add(e->ir, e->top, IP_S_IF, ip_emit_streams(e), NULL, NULL), IP_S_STORE, "ip_stream_end()",
                 NULL, NULL);
}
