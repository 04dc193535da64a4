/* SPDX-License-Identifier: MIT */
/*
 * Note [Measuring]
 * Products are of one class where the powers of two that hold their m, n, k and count are the same. The first one of a
 * class that somebody computes is computed by either several times, in turn, on its own matrices; CLBlast is the choice
 * where it took less than GAIN of the time. What is measured writes the result's buffer; the choice then writes it once
 * more, so the product that was measured and all after it are computed alike. The times are kept beside the compiled
 * programs, for this device and driver: later processes measure nothing. Other threads that want a product of the class
 * wait for the choice, without polls. Nothing is measured
 *
 *     below LEAST_WORK      a launch takes longer than either; it is not worth the time that CLBlast's programs take to
 *                           compile
 *     on a CPU              on PoCL they take half a minute each, and are then 18 times as slow as OpenBLAS, where ours
 *                           are near it
 *     on several devices    the rows of one result come from all of them and should be rounded alike
 *
 * Where CLBlast fails the product is left to our own kernels, and so are those of its class as long as the device is
 * open. With "blas" set to clblast nothing is measured, and its failures are the caller's.
 */
#include "run/blas.h"

#include "base/alloc.h"
#include "base/integers.h"
#include "base/str.h"
#include "run/cachefile.h"
#include "run/clblast.h"
#include "run/device_impl.h"
#include "run/launch.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const double LEAST_WORK = 512.0 * 512 * 512, GAIN = 0.9;
enum { ROUNDS = 4, ENOUGH_MS = 300 };

/* A piece of a product, after which somebody who polls is asked: multiplications (ip_blas.piece_work; tests lower it)
 * and bytes of CLBlast's own, at most. The pieces are the same with and without a poll, so the result is. */
static const double PIECE_WORK = 0x1p34;
static const uint64_t PIECE_BYTES = 256 << 20;
enum { PIECE_ROWS = 64 }; /* a multiple of these */

/* What a product took; INFINITY: it cannot. */
typedef struct timing {
    double own_ms, clblast_ms;
} timing;

typedef struct ip_blas_class {
    uint64_t key;
    bool is_measured; /* else somebody measures it now */
    timing times;
} ip_blas_class;

static bool prefers_clblast(const timing *t) { return t->clblast_ms < GAIN * t->own_ms; }

bool ip_blas_find(const char *name, ip_blas_mode *mode)
{
    static const char *const names[] = {
        [IP_BLAS_AUTO] = "auto", [IP_BLAS_OWN] = "own", [IP_BLAS_CLBLAST] = "clblast"
    };
    for (size_t k = 0; k < sizeof names / sizeof *names; k++)
        if (strcmp(name, names[k]) == 0) {
            *mode = (ip_blas_mode)k;
            return true;
        }
    return false;
}

/* ---- sizes ------------------------------------------------------------------------------ */

static double work_of(const ip_gemm *g)
{
    return (double)g->whole_m * (double)g->n * (double)g->k * (double)g->count[0] * (double)g->count[1];
}

/* CLBlast's kernels count elements in int. */
static bool fits(const ip_gemm *g)
{
    const double most = (double)g->count[0] * (double)g->count[1], m = (double)g->whole_m, n = (double)g->n,
                 k = (double)g->k;
    return most * fmax(fmax(m * k, k * n), m * n) <= INT32_MAX;
}

/* The number of bits of n - 1: sizes of up to 2^that, and more than half of it. */
static uint64_t power_of(int64_t n)
{
    uint64_t bits = 0;
    while (((int64_t)1 << bits) < n)
        bits++;
    return bits;
}

static uint64_t class_of(const ip_gemm *g)
{
    const int64_t sizes[] = { g->whole_m, g->n, g->k, g->count[0] * g->count[1] };
    uint64_t key = g->dtype == IMGPAR_F64;
    for (int d = 0; d < 4; d++)
        key = key << 8 | power_of(sizes[d]);
    return key;
}

/* Rows of a product, or whole products of the inner batch axis, that make a piece. */
typedef struct piece {
    int64_t rows, count;
} piece;

static piece piece_of(const ip_device *device, const ip_gemm *g)
{
    const double work = device->blas.piece_work, row = (double)g->n * (double)g->k, product = row * (double)g->m;
    const uint64_t bytes = ip_clblast_scratch_bytes(g->dtype, (uint64_t)g->m, (uint64_t)g->n, (uint64_t)g->k, 1);
    int64_t count = ip_min((int64_t)fmin(work / product, INT32_MAX), (int64_t)(PIECE_BYTES / bytes));
    if (count > 1 && g->count[1] > 1) return (piece){ .rows = g->m, .count = ip_min(count, g->count[1]) };
    int64_t rows = (int64_t)fmin(work / row, INT32_MAX) / PIECE_ROWS * PIECE_ROWS;
    return (piece){ .rows = ip_min(ip_max(rows, PIECE_ROWS), g->m), .count = 1 };
}

/* ---- what is known of classes ------------------------------------------------------------- */

imgpar_status ip_blas_start(ip_blas *blas, ip_error *err)
{
    *blas = (ip_blas){ .piece_work = PIECE_WORK };
    if (pthread_mutex_init(&blas->lock, NULL)) return ip_fail_memory(err, "opening a device");
    if (!pthread_cond_init(&blas->measured, NULL)) return IMGPAR_OK;
    pthread_mutex_destroy(&blas->lock);
    return ip_fail_memory(err, "opening a device");
}

void ip_blas_end(ip_blas *blas)
{
    ip_clblast_close(blas->clblast);
    ip_free(blas->classes);
    pthread_cond_destroy(&blas->measured);
    pthread_mutex_destroy(&blas->lock);
}

/* What times hold for: the device, its driver, our kernels (the number) and the class. */
static ip_hash128 identify(const ip_device *device, uint64_t class, ip_str *identity)
{
    ip_str_append(identity, "blas 1\n");
    ip_facts_identify(&device->facts, identity);
    ip_str_printf(identity, "class %llx\n", (unsigned long long)class);
    return ip_hash128_bytes((ip_hash128){ 0, 0 }, ip_str_text(identity), identity->length);
}

static bool load(const ip_device *device, uint64_t class, timing *out)
{
    ip_str identity = IP_STR_INIT;
    void *kept = NULL;
    size_t n = 0;
    ip_hash128 key = identify(device, class, &identity);
    bool found = !identity.failed &&
                 ip_cachefile_load(IP_CACHEFILE_PROGRAM, key, ip_str_text(&identity), identity.length, &kept, &n) &&
                 n == sizeof *out;
    if (found) memcpy(out, kept, sizeof *out);
    ip_free(kept);
    ip_str_free(&identity);
    return found && out->own_ms > 0 && out->clblast_ms > 0; /* and no NaN */
}

static void store(const ip_device *device, uint64_t class, const timing *t)
{
    ip_str identity = IP_STR_INIT;
    ip_hash128 key = identify(device, class, &identity);
    if (!identity.failed)
        ip_cachefile_store(IP_CACHEFILE_PROGRAM, key, ip_str_text(&identity), identity.length, t, sizeof *t);
    ip_str_free(&identity);
}

/* The class of that key, NULL: nobody knows it. The lock is held; it is good until the lock is given back. */
static ip_blas_class *find(ip_blas *blas, uint64_t key)
{
    for (size_t k = 0; k < blas->n_classes; k++)
        if (blas->classes[k].key == key) return &blas->classes[k];
    return NULL;
}

/* The lock is held. NULL without memory. */
static ip_blas_class *add(ip_blas *blas, uint64_t key)
{
    ip_blas_class *classes = ip_realloc_array(blas->classes, blas->n_classes + 1, sizeof *classes);
    if (!classes) return NULL;
    blas->classes = classes;
    classes[blas->n_classes] = (ip_blas_class){ .key = key };
    return &classes[blas->n_classes++];
}

static void forget(ip_blas *blas, uint64_t key)
{
    ip_blas_class *c = find(blas, key);
    *c = blas->classes[--blas->n_classes];
}

/* The times of a class that was measured, here or by an earlier process; false: it was not, and *out is not set. */
static bool known_times(ip_device *device, uint64_t key, timing *out)
{
    ip_blas *blas = &device->blas;
    pthread_mutex_lock(&blas->lock);
    const ip_blas_class *c = find(blas, key);
    bool is_known = c && c->is_measured;
    if (is_known) *out = c->times;
    pthread_mutex_unlock(&blas->lock);
    return is_known || (!c && load(device, key, out));
}

/* Waits for who measures the class. *out: its times; or *mine: nobody has, and the caller does until it calls
 * settle(). */
static imgpar_status look_up(ip_device *device, uint64_t key, timing *out, bool *mine, ip_error *err)
{
    ip_blas *blas = &device->blas;
    ip_blas_class *c;
    imgpar_status st = IMGPAR_OK;
    *mine = false;
    pthread_mutex_lock(&blas->lock);
    while ((c = find(blas, key)) && !c->is_measured)
        pthread_cond_wait(&blas->measured, &blas->lock);
    if (!c && (c = add(blas, key))) {
        c->is_measured = load(device, key, &c->times);
        *mine = !c->is_measured;
    }
    if (c)
        *out = c->times;
    else
        st = ip_fail_memory(err, "multiplying matrices");
    pthread_mutex_unlock(&blas->lock);
    return st;
}

/* t NULL: it was not measured after all, and the next one is to do it. */
static void settle(ip_device *device, uint64_t key, const timing *t)
{
    ip_blas *blas = &device->blas;
    pthread_mutex_lock(&blas->lock);
    if (t)
        *find(blas, key) = (ip_blas_class){ .key = key, .is_measured = true, .times = *t };
    else
        forget(blas, key);
    pthread_cond_broadcast(&blas->measured);
    pthread_mutex_unlock(&blas->lock);
}

/* ---- computing ------------------------------------------------------------------------------- */

static imgpar_status open_clblast(ip_device *device, ip_clblast **out, ip_error *err)
{
    ip_blas *blas = &device->blas;
    pthread_mutex_lock(&blas->lock);
    imgpar_status st = blas->clblast ? IMGPAR_OK : ip_clblast_open(device, &blas->clblast, err);
    *out = blas->clblast;
    pthread_mutex_unlock(&blas->lock);
    return st;
}

static imgpar_status ask(const ip_blas_job *job, double done, ip_error *err)
{
    const ip_poll *poll = job->poll;
    if (poll->stop && poll->stop(poll->user, 0.1 + 0.8 * done))
        return ip_fail(err, IMGPAR_E_INTERRUPTED, "interrupted");
    return IMGPAR_OK;
}

/* The piece that begins with a row of a product of the batch. */
static ip_clblast_product product_at(const ip_blas_job *job, const piece *size, int64_t outer, int64_t inner,
                                     int64_t row)
{
    const ip_gemm *g = job->gemm;
    return (ip_clblast_product){
        .dtype = g->dtype,
        .m = (size_t)ip_min(size->rows, g->m - row),
        .n = (size_t)g->n,
        .k = (size_t)g->k,
        .count = (size_t)ip_min(size->count, g->count[1] - inner),
        .a = job->a,
        .b = job->b,
        .c = job->c,
        .a_first = (size_t)(g->a_first + outer * g->a_next[0] + inner * g->a_next[1] + row * g->k),
        .b_first = (size_t)(outer * g->b_next[0] + inner * g->b_next[1]),
        .c_first = (size_t)(((outer * g->count[1] + inner) * g->m + row) * g->n),
        .a_next = (size_t)g->a_next[1],
        .b_next = (size_t)g->b_next[1],
        .c_next = (size_t)(g->m * g->n),
    };
}

static imgpar_status run_pieces(const ip_blas_job *job, ip_clblast *clblast, bool polls, ip_error *err)
{
    const ip_gemm *g = job->gemm;
    const piece size = piece_of(job->device, g);
    for (int64_t outer = 0; outer < g->count[0]; outer++)
        for (int64_t inner = 0; inner < g->count[1]; inner += size.count)
            for (int64_t row = 0; row < g->m; row += size.rows) {
                const ip_clblast_product p = product_at(job, &size, outer, inner, row);
                const double done = (double)(outer * g->count[1] + inner + (int64_t)p.count - 1) +
                                    (double)(row + (int64_t)p.m) / (double)g->m;
                imgpar_status st = ip_clblast_multiply(clblast, &p, err);
                if (!st && polls) st = ip_buffer_wait(job->c, err);
                if (!st && polls) st = ask(job, done / (double)(g->count[0] * g->count[1]), err);
                if (st) return st;
            }
    return IMGPAR_OK;
}

static imgpar_status wait_for_matrices(const ip_blas_job *job, ip_error *err)
{
    imgpar_status st = ip_buffer_wait(job->a, err);
    return st ? st : ip_buffer_wait(job->b, err);
}

/* CLBlast tells the event of its last kernel only, so what it takes on the device is timed from here. */
static imgpar_status run_clblast(const ip_blas_job *job, bool is_measured, ip_error *err)
{
    const bool polls = job->poll->stop && !is_measured, timed = job->busy_ms && !is_measured;
    ip_clblast *clblast;
    imgpar_status st = open_clblast(job->device, &clblast, err);
    if (!st && timed)
        st = ip_clblast_prepare(clblast, job->gemm->dtype, piece_of(job->device, job->gemm).count > 1, err);
    if (!st && timed) st = wait_for_matrices(job, err);
    double start = ip_now_ms();
    if (!st) st = run_pieces(job, clblast, polls, err);
    if (!st && timed) st = ip_buffer_wait(job->c, err);
    if (!st && timed) *job->busy_ms += ip_now_ms() - start;
    return st;
}

/* One product until it is there. */
static imgpar_status run_measured(const ip_blas_job *job, bool by_clblast, double *least_ms, ip_error *err)
{
    double start = ip_now_ms();
    imgpar_status st = by_clblast ? run_clblast(job, true, err) : job->own(job->user, true, err);
    if (!st) st = ip_buffer_wait(job->c, err);
    if (!st) *least_ms = fmin(*least_ms, ip_now_ms() - start);
    return st;
}

/* Note [Measuring]. The first round has everything compiled and is not counted. */
static imgpar_status measure(const ip_blas_job *job, timing *out, ip_error *err)
{
    ip_error refusal = { .status = IMGPAR_OK };
    double start = 0, unused = INFINITY;
    timing t = { INFINITY, INFINITY };
    imgpar_status st = wait_for_matrices(job, err);
    for (int round = 0; !st && round < ROUNDS && (round < 2 || ip_now_ms() - start < ENOUGH_MS); round++) {
        if (round == 1) start = ip_now_ms();
        st = ask(job, 0, err);
        if (!st) st = run_measured(job, false, round ? &t.own_ms : &unused, err);
        if (!st) st = ask(job, 0, err);
        if (!st && run_measured(job, true, round ? &t.clblast_ms : &unused, &refusal)) break;
    }
    if (refusal.status) t.clblast_ms = INFINITY;
    *out = t;
    return st;
}

/* The times of the job's class, which are measured where nobody has. */
static imgpar_status get_times(const ip_blas_job *job, timing *out, ip_error *err)
{
    ip_device *device = job->device;
    uint64_t key = class_of(job->gemm);
    bool mine;
    imgpar_status st = look_up(device, key, out, &mine, err);
    if (st || !mine) return st;
    st = measure(job, out, err);
    settle(device, key, st ? NULL : out);
    if (!st && isfinite(out->clblast_ms)) store(device, key, out); /* a failure may be over with the process */
    return st;
}

imgpar_status ip_blas_run(const ip_blas_job *job, ip_error *err)
{
    ip_error refusal = { .status = IMGPAR_OK };
    timing t;
    if (job->mode == IP_BLAS_CLBLAST) return run_clblast(job, false, err);
    imgpar_status st = get_times(job, &t, err);
    if (st) return st;
    if (!prefers_clblast(&t)) return job->own(job->user, false, err);
    st = run_clblast(job, false, &refusal);
    if (!st) return IMGPAR_OK;
    if (st == IMGPAR_E_INTERRUPTED) return ip_fail(err, st, "%s", refusal.message);
    t.clblast_ms = INFINITY;
    settle(job->device, class_of(job->gemm), &t);
    return job->own(job->user, false, err);
}

/* ---- what is asked before ---------------------------------------------------------------------- */

bool ip_blas_may(ip_blas_mode mode, ip_device *device, const ip_gemm *gemm)
{
    if (mode == IP_BLAS_OWN || !fits(gemm)) return false;
    if (mode == IP_BLAS_CLBLAST) return true;
    return device->facts.kind == IP_DEVICE_GPU && work_of(gemm) >= LEAST_WORK && ip_clblast_is_there();
}

uint64_t ip_blas_scratch_bytes(const ip_device *device, const ip_gemm *gemm)
{
    const piece size = piece_of(device, gemm);
    return ip_clblast_scratch_bytes(gemm->dtype, (uint64_t)size.rows, (uint64_t)gemm->n, (uint64_t)gemm->k,
                                    (uint64_t)size.count);
}

void ip_blas_explain(ip_blas_mode mode, ip_device *device, const ip_gemm *gemm, char *text, size_t n)
{
    timing t;
    if (mode == IP_BLAS_CLBLAST)
        snprintf(text, n, "computed by CLBlast, as the setting \"blas\" says");
    else if (!known_times(device, class_of(gemm), &t))
        snprintf(text, n, "computed by CLBlast where it takes less time, which the first run measures");
    else if (isinf(t.clblast_ms))
        snprintf(text, n, "not computed by CLBlast, which failed");
    else
        snprintf(text, n, "%scomputed by CLBlast, which took %.3g ms where our own kernels took %.3g",
                 prefers_clblast(&t) ? "" : "not ", t.clblast_ms, t.own_ms);
}
