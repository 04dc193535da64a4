/* SPDX-License-Identifier: MIT */
/*
 * Groups of stages, computed row by row by several threads.
 *
 * The last stage's rows are divided among threads, and each thread's into strips. For a strip the rows of every other
 * stage that it needs are inferred backwards; those that are not there yet are computed, and as many are kept, in a
 * line buffer, as this strip and later ones read. So what is between stages stays in a processor's cache. Threads
 * compute what both need at their border twice, each for itself, so they share nothing that changes; values do not
 * depend on the number of threads.
 */
#include "run/ref_impl.h"

#include "base/alloc.h"
#include "base/dtype.h"
#include "base/integers.h"
#include "ir/index_map.h"
#include "run/jobs.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

enum {
    STRIP_BYTES = 256 << 10, /* of the rows of a strip, all stages: half of a cache of 512 KiB */
    MOST_ROWS = 64,          /* of a strip */
    MOST_AWAY = 64,          /* rows from one that reads to one that is read */
    MOST_THREADS = 64,
    PARTS_AROUND = 4 /* a thread's rows are at least so many times those that are computed twice */
};
static const double thread_work = 4e6; /* operations that are worth a thread: about a millisecond */

/* What member `reader` needs of member `source`: its own rows from first to last, by a border rule. */
typedef struct edge {
    int reader, source, border;
    int64_t first, last;
} edge;

typedef struct member {
    const ip_stage *stage;
    ip_ref_program program;
    int64_t row_bytes, n_rows; /* a row's; that are kept, 0: all of the stage's */
    unsigned char *rows;       /* borrowed where all are kept */
    int64_t start, done;       /* of a plane: the first row that is needed, the next to be computed */
    ip_span need;              /* of a strip */
    int64_t least;             /* while rows are counted: the first row that this strip or a later one needs */
} member;

/* A thread's part. */
typedef struct worker {
    ip_job job;
    const struct strips *strips;
    member *members;
    int64_t from, to; /* rows of the last stage, counted through all planes; of a stage by itself blocks */
    ip_ref_progress progress;
    const imgpar_options *options; /* of its job */
} worker;

typedef struct strips {
    ip_ir *ir;
    const ip_ref_group *group;
    void *const *memory;
    const int64_t *dims; /* of the last stage */
    edge *edges;         /* in rising order of readers */
    int n_edges, capacity;
    int64_t strip_rows;
    double work; /* operations on elements */
    ip_ref_progress *progress;
} strips;

/* ---- who reads which rows of whom ------------------------------------------------------------------ */

static bool is_offset(const ip_index_map *map, int axis)
{
    bool fits = map->kind == IP_MAP_OFFSET;
    for (int k = 0; k < 4; k++)
        fits = fits && map->step[k] == (k == axis);
    return fits;
}

bool ip_ref_reads_nearby(const ip_stage *reader, const ip_expr *load)
{
    const ip_stage *source = load->source;
    const bool are_maps = reader->kind == IP_STAGE_MAP && source->kind == IP_STAGE_MAP,
               is_of_row = ip_x_reads_uniform_row(load);
    if (!are_maps || !is_of_row || source->dims[0] != reader->dims[0] || source->dims[1] != reader->dims[1])
        return false;
    const ip_index_map row = ip_index_map_of(load->arg[1]);
    const bool is_in_plane = source->dims[0] == 1 || ip_x_is_coord(load->arg[0], 0),
               turns = load->border == IMGPAR_BORDER_WRAP && (row.first != 0 || row.last != 0);
    return source->dims[1] > 1 && is_in_plane && is_offset(&row, 1) && row.first >= -MOST_AWAY &&
           row.last <= MOST_AWAY && !turns;
}

typedef struct edge_list {
    strips *s;
    int reader;
    bool failed;
} edge_list;

static int member_of(const strips *s, const ip_stage *stage)
{
    for (int k = 0; k < s->group->n; k++)
        if (s->group->stages[k] == stage) return k;
    return -1;
}

static void note_edge(ip_expr *x, void *user)
{
    edge_list *list = user;
    strips *s = list->s;
    const int source = x->op == IP_X_LOAD ? member_of(s, x->source) : -1;
    if (source < 0) return;
    if (s->n_edges == s->capacity) {
        edge *grown = ip_realloc_array(s->edges, (size_t)s->capacity * 2 + 16, sizeof *grown);
        if (!grown) {
            list->failed = true;
            return;
        }
        s->edges = grown;
        s->capacity = s->capacity * 2 + 16;
    }
    const ip_index_map row = ip_index_map_of(x->arg[1]);
    s->edges[s->n_edges++] = (edge){ list->reader, source, x->border, row.first, row.last };
}

static imgpar_status find_edges(strips *s, ip_error *err)
{
    edge_list list = { .s = s };
    for (; s->group->n > 1 && list.reader < s->group->n; list.reader++)
        ip_x_walk(s->ir, s->group->stages[list.reader]->body, note_edge, &list);
    return list.failed || s->ir->failed ? ip_fail_memory(err, "interpreting") : IMGPAR_OK;
}

static void include(ip_span *all, ip_span more)
{
    all->lo = ip_min(all->lo, more.lo);
    all->hi = ip_max(all->hi, more.hi);
}

/* The rows of each member that rows of the last one need. */
static void find_needs(const strips *s, member *members, ip_span rows)
{
    for (int k = 0; k < s->group->n; k++)
        members[k].need = (ip_span){ INT64_MAX, -1 };
    members[s->group->n - 1].need = rows;
    for (int k = s->n_edges - 1; k >= 0; k--) {
        const edge *e = &s->edges[k];
        const ip_span reader = members[e->reader].need, read = { reader.lo + e->first, reader.hi + e->last };
        include(&members[e->source].need, ip_border_span(e->border, read, s->dims[1]));
    }
}

/* ---- how many rows are kept ---------------------------------------------------------------------------- */

/* Rows from..to - 1 of one plane, strip by strip, the last first. */
static void count_rows(const strips *s, member *members, int64_t from, int64_t to)
{
    for (int k = 0; k < s->group->n; k++)
        members[k].least = INT64_MAX;
    for (int64_t y = from + (to - from - 1) / s->strip_rows * s->strip_rows; y >= from; y -= s->strip_rows) {
        find_needs(s, members, (ip_span){ y, ip_min(y + s->strip_rows, to) - 1 });
        for (int k = 0; k < s->group->n - 1; k++) {
            member *m = &members[k];
            m->least = ip_min(m->least, m->need.lo);
            m->n_rows = ip_max(m->n_rows, m->need.hi - m->least + 1);
        }
    }
    for (int k = 0; k < s->group->n; k++)
        members[k].start = members[k].least;
    members[s->group->n - 1].start = from;
}

/* The part of a plane that begins with row `from`, counted through all planes. */
static ip_span part_of_plane(const worker *w, int64_t from)
{
    const int64_t height = w->strips->dims[1], y = from % height;
    return (ip_span){ y, ip_min(height, y + w->to - from) - 1 };
}

static void count_all_rows(worker *w)
{
    for (int64_t from = w->from; from < w->to;) {
        const ip_span part = part_of_plane(w, from);
        count_rows(w->strips, w->members, part.lo, part.hi + 1);
        from += part.hi - part.lo + 1;
    }
}

/* ---- computing -------------------------------------------------------------------------------------------- */

/* Blocks from place's on, `most` of them or up to the end of the row. */
static imgpar_status compute_blocks(worker *w, member *m, ip_ref_place place, int64_t most, ip_error *err)
{
    const int64_t row = m->n_rows ? place.y % m->n_rows : place.z * m->stage->dims[1] + place.y,
                  size_bytes = ip_dtype(m->stage->dtype)->size_bytes;
    unsigned char *to = m->rows + row * m->row_bytes;
    w->progress.weight = w->strips->group->weights[m->stage->id];
    m->program.progress = &w->progress;
    for (; most > 0 && ip_ref_block_at(&m->program, &place); place.first += place.n, most--) {
        imgpar_status st = ip_ref_ask(&w->progress, err);
        if (st) return st;
        ip_ref_store(m->stage->dtype, ip_ref_program_run(&m->program, &place), place.n, to + place.first * size_bytes);
        w->progress.done += w->progress.weight * place.n;
    }
    return ip_ref_check(&m->program, err);
}

static imgpar_status compute_strip(worker *w, int64_t z, ip_span rows, ip_error *err)
{
    imgpar_status st = IMGPAR_OK;
    find_needs(w->strips, w->members, rows);
    for (int k = 0; !st && k < w->strips->group->n; k++) {
        member *m = &w->members[k];
        for (; !st && m->done <= m->need.hi; m->done++)
            st = compute_blocks(w, m, (ip_ref_place){ .z = z, .y = m->done }, INT64_MAX, err);
    }
    return st;
}

static imgpar_status compute_part(worker *w, int64_t z, ip_span part, ip_error *err)
{
    const strips *s = w->strips;
    imgpar_status st = IMGPAR_OK;
    count_rows(s, w->members, part.lo, part.hi + 1);
    for (int k = 0; k < s->group->n; k++)
        w->members[k].done = w->members[k].start;
    for (int64_t y = part.lo; !st && y <= part.hi; y += s->strip_rows)
        st = compute_strip(w, z, (ip_span){ y, ip_min(y + s->strip_rows - 1, part.hi) }, err);
    return st;
}

static int64_t blocks_of_row(const member *m)
{
    return ip_ceil_div(m->stage->dims[2] * m->stage->dims[3], m->program.block);
}

/* Of a stage by itself, blocks of one row may be several threads'. */
static imgpar_status compute_alone(worker *w, ip_error *err)
{
    member *m = &w->members[0];
    const int64_t blocks = blocks_of_row(m);
    imgpar_status st = IMGPAR_OK;
    for (int64_t at = w->from; !st && at < w->to;) {
        const int64_t row = at / blocks, n = ip_min(blocks - at % blocks, w->to - at);
        const ip_ref_place place = { .z = row / m->stage->dims[1],
                                     .y = row % m->stage->dims[1],
                                     .first = at % blocks * m->program.block };
        st = compute_blocks(w, m, place, n, err);
        at += n;
    }
    return st;
}

static imgpar_status compute(worker *w, ip_error *err)
{
    imgpar_status st = IMGPAR_OK;
    for (int k = 0; k < w->strips->group->n; k++)
        ip_ref_program_fill_rows(&w->members[k].program);
    if (w->strips->group->n == 1) return compute_alone(w, err);
    for (int64_t from = w->from; !st && from < w->to;) {
        const ip_span part = part_of_plane(w, from);
        st = compute_part(w, from / w->strips->dims[1], part, err);
        from += part.hi - part.lo + 1;
    }
    return st;
}

/* ---- one thread -------------------------------------------------------------------------------------------- */

static void worker_clear(worker *w)
{
    for (int k = 0; w->members && k < w->strips->group->n; k++) {
        ip_ref_program_clear(&w->members[k].program);
        if (w->members[k].n_rows) ip_free(w->members[k].rows);
    }
    ip_free(w->members);
}

/* Line buffers, then the programs, which read them. */
static imgpar_status make_members(worker *w, void **memory, int64_t *n_rows, ip_error *err)
{
    const strips *s = w->strips;
    imgpar_status st = IMGPAR_OK;
    for (int k = 0; !st && k < s->group->n; k++) {
        member *m = &w->members[k];
        const ip_ref_over over = { .domain = m->stage->dims, .memory = memory, .by_rows = true, .n_rows = n_rows };
        if (m->n_rows) memory[m->stage->id] = ip_alloc((size_t)(m->n_rows * m->row_bytes));
        m->rows = memory[m->stage->id];
        n_rows[m->stage->id] = m->n_rows;
        st = m->rows || !m->row_bytes ? ip_ref_program_make(s->ir, m->stage->body, &over, &m->program, err)
                                      : ip_fail_memory(err, "interpreting");
    }
    return st;
}

static imgpar_status worker_make(worker *w, ip_error *err)
{
    const strips *s = w->strips;
    const size_t n = (size_t)s->ir->n_stages;
    void **memory = ip_alloc_array(n, sizeof *memory);
    int64_t *n_rows = ip_zalloc(n * sizeof *n_rows);
    w->members = ip_zalloc((size_t)s->group->n * sizeof *w->members);
    imgpar_status st = memory && n_rows && w->members ? IMGPAR_OK : ip_fail_memory(err, "interpreting");
    for (int k = 0; !st && k < s->group->n; k++) {
        const ip_stage *stage = s->group->stages[k];
        w->members[k] = (member){ .stage = stage, .program = { .bad_source = -1 } };
        w->members[k].row_bytes = stage->dims[2] * stage->dims[3] * ip_dtype(stage->dtype)->size_bytes;
    }
    if (!st) {
        memcpy(memory, s->memory, n * sizeof *memory);
        if (s->group->n > 1) count_all_rows(w);
        st = make_members(w, memory, n_rows, err);
    }
    ip_free(memory);
    ip_free(n_rows);
    return st;
}

/* ---- all of them --------------------------------------------------------------------------------------------- */

static bool stop_job(void *user, double done)
{
    const worker *w = user;
    return w->options->poll && w->options->poll(w->options->user, done) != 0;
}

static imgpar_status run_job(ip_job *job, const imgpar_options *options, ip_error *err)
{
    worker *w = (worker *)job;
    const ip_poll poll = { stop_job, w };
    w->options = options;
    w->progress.poll = &poll;
    imgpar_status st = compute(w, err);
    w->progress.poll = NULL;
    return st;
}

static int poll_all(void *user, double done)
{
    const strips *s = user;
    const ip_ref_progress *p = s->progress;
    const double all = p->total > 0 ? (p->done + done * s->work) / p->total : 1;
    return p->poll->stop(p->poll->user, all < 1 ? all : 1);
}

static imgpar_status run_threads(strips *s, worker *workers, size_t n, ip_error *err)
{
    const bool polls = s->progress->poll && s->progress->poll->stop;
    const imgpar_options options = { .struct_size = sizeof options, .user = s, .poll = polls ? poll_all : NULL };
    ip_job *jobs[MOST_THREADS];
    for (size_t k = 0; k < n; k++) {
        workers[k].job = (ip_job){ .run = run_job, .share = 1.0 / (double)n };
        workers[k].progress = (ip_ref_progress){ .asked = s->progress->asked, .total = s->work / (double)n };
        jobs[k] = &workers[k].job;
    }
    imgpar_status st = ip_jobs_run(jobs, n, &options, err);
    s->progress->done += s->work;
    return st;
}

static imgpar_status run_alone(strips *s, worker *w, ip_error *err)
{
    w->progress = *s->progress;
    imgpar_status st = compute(w, err);
    s->progress->asked = w->progress.asked;
    s->progress->done += s->work;
    return st;
}

/* Rows of one stage that a row of the last one needs: at the border of two threads' parts they are computed twice. */
static int64_t rows_around(const strips *s, member *members)
{
    int64_t most = 1;
    const int64_t middle = s->dims[1] / 2;
    find_needs(s, members, (ip_span){ middle, middle });
    for (int k = 0; k < s->group->n; k++)
        most = ip_max(most, members[k].need.hi - members[k].need.lo + 1);
    return most;
}

static imgpar_status find_threads(const strips *s, size_t *n, ip_error *err)
{
    *n = 1;
    if (s->work < 2 * thread_work) return IMGPAR_OK;
    member *members = ip_zalloc((size_t)s->group->n * sizeof *members);
    if (!members) return ip_fail_memory(err, "interpreting");
    const double n_processors = (double)sysconf(_SC_NPROCESSORS_ONLN),
                 rows = (double)(s->dims[0] * s->dims[1] / (PARTS_AROUND * rows_around(s, members))),
                 parts = s->group->n == 1 ? MOST_THREADS : rows;
    *n = (size_t)fmax(fmin(fmin(n_processors, MOST_THREADS), fmin(parts, s->work / thread_work)), 1);
    ip_free(members);
    return IMGPAR_OK;
}

static void measure(strips *s)
{
    int64_t bytes = 1;
    for (int k = 0; k < s->group->n; k++) {
        const ip_stage *stage = s->group->stages[k];
        s->work += s->group->weights[stage->id] * ip_dims_count(stage->dims);
        bytes += stage->dims[2] * stage->dims[3] * ip_dtype(stage->dtype)->size_bytes;
    }
    s->strip_rows = ip_clamp(STRIP_BYTES / bytes, 1, MOST_ROWS);
}

/* The k-th of n parts of `all`. */
static void divide(worker *w, int64_t all, int64_t k, int64_t n)
{
    w->from = all * k / n;
    w->to = all * (k + 1) / n;
}

imgpar_status ip_ref_group_run(ip_ir *ir, const ip_ref_group *group, void *const *memory, ip_ref_progress *progress,
                               ip_error *err)
{
    strips s = { .ir = ir, .group = group, .memory = memory, .progress = progress };
    s.dims = group->stages[group->n - 1]->dims;
    if (ip_dims_count(s.dims) == 0) return IMGPAR_OK;
    measure(&s);
    size_t n = 1;
    imgpar_status st = find_edges(&s, err);
    if (!st) st = find_threads(&s, &n, err);
    worker *workers = st ? NULL : ip_zalloc(n * sizeof *workers);
    if (!st && !workers) st = ip_fail_memory(err, "interpreting");
    for (size_t k = 0; !st && k < n; k++) {
        workers[k].strips = &s;
        divide(&workers[k], s.dims[0] * s.dims[1], (int64_t)k, (int64_t)n);
        st = worker_make(&workers[k], err);
        if (!st && group->n == 1)
            divide(&workers[k], s.dims[0] * s.dims[1] * blocks_of_row(workers[k].members), (int64_t)k, (int64_t)n);
    }
    if (!st) st = n > 1 ? run_threads(&s, workers, n, err) : run_alone(&s, &workers[0], err);
    for (size_t k = 0; workers && k < n; k++)
        if (workers[k].strips) worker_clear(&workers[k]);
    ip_free(workers);
    ip_free(s.edges);
    return st;
}
