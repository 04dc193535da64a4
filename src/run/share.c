/* SPDX-License-Identifier: MIT */
/*
 * Sharing one evaluation out to the devices of a context:
 *
 *     items    arrays that have no work in common are items of a batch: each device takes one after the other until
 *              there are none, and leaves the last ones to a device that would be done with them sooner. Where one item
 *              is so large that all would wait for it, they are computed one after the other instead
 *     cut      one item, while nothing else runs: its results are cut between rows (volumes: planes), a part for each
 *              device by its speed. Each has a plan of its own and computes its part as any strip is computed, with
 *              sources in its memory as far as the part reads them; parts are put together in host memory, where the
 *              value stays. Devices that share the host's memory write there themselves. Folds give a total for each
 *              part, which are combined in order (totals.c)
 *     whole    what cannot be cut, or is not worth it, or comes while others run, goes to the device that would be done
 *              with it first, and its value stays there
 *     speed    what each took is measured (devices.h) and decides the next time
 *
 * A value may so be in host memory or on any of the devices; whoever needs it elsewhere brings it there
 * (ip_value_on_device()). What does not fit one device's memory is tried on the others; rows that stream go on there.
 * Memory that parts are put together in is the host's (context.c, Note [Host memory]): where its limit leaves too
 * little, nothing is cut, and one device does as if it were alone.
 */
#include "run/share.h"

#include "base/alloc.h"
#include "base/dtype.h"
#include "run/groups.h"
#include "run/jobs.h"

#include <stdatomic.h>
#include <string.h>

#define LEAST_WORK 3e6  /* operations on elements: less is done before threads have started */
#define MOST_TWICE 1.25 /* times the work of all, that parts may do together */
#define LOPSIDED 1.5    /* times what the fastest device would get of a batch, that an item may be */

/* Where the user has placed the work it does not matter where its data are. */
static ip_work work_of(ip_devices *d, ip_evaluation *e)
{
    return (ip_work){ .plan = ip_evaluation_hash(e),
                      .amount = ip_evaluation_work(e, 0, 1),
                      .may = ip_evaluation_may(e),
                      .home = ip_devices_are_placed(d) ? 0 : ip_evaluation_home(e) };
}

static uint64_t builds_of(ip_device *device)
{
    ip_device_counters c;
    ip_device_counters_get(device, &c);
    return c.builds;
}

/* ---- whole ---------------------------------------------------------------------------------- */

/* Everything on the k-th device, measured unless its compiler ran. */
static imgpar_status run_measured(ip_devices *d, size_t k, const ip_work *work, ip_evaluation *e, const ip_request *q,
                                  ip_value **values, ip_error *err)
{
    uint64_t builds = builds_of(d->list[k]);
    ip_devices_begin(d, k, work->amount);
    double start = ip_now_ms();
    imgpar_status st = ip_evaluation_run(e, q, values, err);
    for (size_t i = 0; !st && i < q->n; i++) /* a step of a loop may have been enqueued only; NULL: the taker has it */
        st = values[i] ? ip_value_wait(values[i], err) : IMGPAR_OK;
    bool counts = !st && builds_of(d->list[k]) == builds;
    ip_devices_end(d, k, work, work->amount, counts ? ip_now_ms() - start : 0);
    return st;
}

/* Takes e, an evaluation for the at-th device. stays: it is run there if it may; else where it is done first. */
static imgpar_status run_whole(imgpar_context *ctx, const ip_request *q, ip_evaluation *e, size_t at, bool stays,
                               ip_value **values, ip_error *err)
{
    ip_devices *d = &ctx->devices;
    ip_work work = work_of(d, e);
    imgpar_status st;
    do {
        bool may_stay = work.may >> at & 1 && (!work.home || work.home >> at & 1);
        size_t k = stays && may_stay ? at : ip_devices_quickest(d, &work);
        st = IMGPAR_OK;
        if (k != at) {
            ip_evaluation_free(e);
            st = ip_evaluation_new(ctx, d->list[k], q, &e, err);
            at = k;
        }
        if (!st) st = run_measured(d, k, &work, e, q, values, err);
        work.may &= ~(1u << k);
        if (st == IMGPAR_E_DEVICE_MEMORY && work.may) *err = (ip_error){ .status = IMGPAR_OK };
    } while (st == IMGPAR_E_DEVICE_MEMORY && work.may);
    ip_evaluation_free(e);
    return st;
}

/* ---- cut ------------------------------------------------------------------------------------ */

/* What a device computes of the results. */
typedef struct part {
    ip_job job;
    ip_device *device;
    ip_evaluation *e; /* owned unless it is the cutting's first; NULL: the device has no part */
    double from, to;
    void **hosts;     /* by array: where its rows go, or its totals */
    double took_ms;   /* 0: not measured */
    ip_error no_room; /* the device's memory did not suffice */
} part;

typedef struct cutting {
    imgpar_context *ctx;
    const ip_request *q;
    ip_evaluation *first; /* of everything, on the first device; owned */
    ip_work work;
    part parts[IP_MAX_DEVICES];
    void **hosts;  /* by array; counted as the host's unless in place */
    bool in_place; /* hosts[0] is the caller's memory */
    bool folds;    /* parts give totals, which are put together there */
} cutting;

static imgpar_status run_part(ip_job *job, const imgpar_options *options, ip_error *err)
{
    part *p = (part *)job;
    uint64_t builds = builds_of(p->device);
    double start = ip_now_ms();
    ip_evaluation_report_to(p->e, options);
    imgpar_status st = ip_evaluation_run_part(p->e, p->from, p->to, p->hosts, err);
    if (!st && builds_of(p->device) == builds) p->took_ms = ip_now_ms() - start;
    if (st != IMGPAR_E_DEVICE_MEMORY) return st;
    p->no_room = *err;
    *err = (ip_error){ .status = IMGPAR_OK };
    return IMGPAR_OK;
}

static size_t array_bytes(const imgpar_array *a)
{
    return (size_t)ip_type_count(&a->type) * ip_dtype(a->type.dtype)->size_bytes;
}

static imgpar_status make_hosts(cutting *c, ip_error *err)
{
    const ip_request *q = c->q;
    c->hosts = ip_zalloc(q->n * sizeof *c->hosts);
    c->in_place = q->dst && ip_evaluation_spares(c->first, q->dst, array_bytes(q->arrays[0]));
    if (!c->hosts) return ip_fail_memory(err, "gathering results");
    for (size_t k = 0; k < q->n; k++) {
        const imgpar_array *a = q->arrays[k];
        const size_t n = array_bytes(a);
        imgpar_status st = c->in_place ? IMGPAR_OK : ip_context_take_host(c->ctx, n, a->op->info.name, err);
        if (st) return st;
        c->hosts[k] = c->in_place ? q->dst : ip_alloc(n);
        if (c->hosts[k]) continue;
        ip_account_give(c->ctx->host, n);
        return ip_fail_memory_for(err, a->op->info.name, n);
    }
    return IMGPAR_OK;
}

/* Those that no value has taken. */
static void free_hosts(cutting *c)
{
    for (size_t k = 0; c->hosts && !c->in_place && k < c->q->n; k++) {
        if (!c->hosts[k]) continue;
        ip_account_give(c->ctx->host, array_bytes(c->q->arrays[k]));
        ip_free(c->hosts[k]);
    }
    ip_free(c->hosts);
}

static imgpar_status make_part(const cutting *c, part *p, ip_error *err)
{
    ip_request q = *c->q;
    q.goal.totals = c->folds;
    imgpar_status st = ip_evaluation_new(c->ctx, p->device, &q, &p->e, err);
    if (st) return st;
    ip_evaluation_lend(c->first, p->e);
    if (c->folds) p->hosts = ip_totals_new(p->e);
    return p->hosts ? IMGPAR_OK : ip_fail_memory(err, "folding parts");
}

static imgpar_status make_parts(cutting *c, const double shares[IP_MAX_DEVICES], ip_error *err)
{
    const ip_devices *d = &c->ctx->devices;
    imgpar_status st = ip_evaluation_decode(c->first, err);
    double from = 0;
    size_t last = 0;
    for (size_t k = 0; k < d->n; k++)
        if (shares[k] > 0) last = k;
    for (size_t k = 0; !st && k < d->n; k++) {
        part *p = &c->parts[k];
        if (shares[k] <= 0) continue;
        *p = (part){ .job = { .run = run_part, .share = shares[k] },
                     .device = d->list[k],
                     .hosts = c->folds ? NULL : c->hosts };
        p->from = from;
        p->to = from = k == last ? 1 : from + shares[k];
        if (k == 0 && !c->folds)
            p->e = c->first;
        else
            st = make_part(c, p, err);
    }
    return st;
}

/* A part that did not fit its own device, on one that has done its own part. */
static imgpar_status run_elsewhere(cutting *c, const part *homeless, ip_error *err)
{
    imgpar_status st = IMGPAR_E_DEVICE_MEMORY;
    for (size_t k = 0; st == IMGPAR_E_DEVICE_MEMORY && k < c->ctx->devices.n; k++) {
        part *p = &c->parts[k];
        if (!p->e || p->no_room.status) continue;
        part again = { .job = { .run = run_part, .share = 1 },
                       .device = p->device,
                       .e = p->e,
                       .from = homeless->from,
                       .to = homeless->to,
                       .hosts = homeless->hosts };
        ip_job *job = &again.job;
        st = ip_jobs_run(&job, 1, c->q->options, err);
        if (!st) st = again.no_room.status;
    }
    return st == IMGPAR_E_DEVICE_MEMORY ? ip_fail(err, st, "%s", homeless->no_room.message) : st;
}

static imgpar_status run_parts(cutting *c, ip_error *err)
{
    ip_devices *d = &c->ctx->devices;
    ip_job *jobs[IP_MAX_DEVICES];
    size_t n = 0;
    for (size_t k = 0; k < d->n; k++)
        if (c->parts[k].e) {
            ip_devices_begin(d, k, c->work.amount * c->parts[k].job.share);
            jobs[n++] = &c->parts[k].job;
        }
    imgpar_status st = ip_jobs_run(jobs, n, c->q->options, err);
    for (size_t k = 0; k < d->n; k++)
        if (c->parts[k].e) ip_devices_end(d, k, &c->work, c->work.amount * c->parts[k].job.share, c->parts[k].took_ms);
    for (size_t k = 0; !st && k < d->n; k++)
        if (c->parts[k].no_room.status) st = run_elsewhere(c, &c->parts[k], err);
    return st;
}

/* The results of folds, from the totals of all parts. */
static imgpar_status combine(const cutting *c, ip_error *err)
{
    imgpar_status st = IMGPAR_OK;
    for (size_t k = 0; !st && k < c->q->n; k++) {
        const void *totals[IP_MAX_DEVICES];
        size_t n = 0;
        for (size_t i = 0; i < c->ctx->devices.n; i++)
            if (c->parts[i].e) totals[n++] = c->parts[i].hosts[k];
        st = ip_evaluation_combine(c->first, k, totals, n, c->hosts[k], err);
    }
    return st;
}

/* Takes the memory that was gathered in. */
static imgpar_status take_values(cutting *c, ip_value **values, ip_error *err)
{
    for (size_t k = 0; k < c->q->n; k++) {
        size_t n = array_bytes(c->q->arrays[k]);
        values[k] =
            c->in_place ? ip_value_of_borrowed(c->hosts[k], n) : ip_value_of_counted(c->hosts[k], n, c->ctx->host);
        c->hosts[k] = NULL;
        if (!values[k]) return ip_fail_memory(err, "keeping a result");
    }
    return IMGPAR_OK;
}

static void free_part(const cutting *c, part *p)
{
    if (c->folds && p->e) ip_totals_free(p->e, p->hosts);
    if (p->e != c->first) ip_evaluation_free(p->e);
}

/* Takes first. */
static imgpar_status run_cut(imgpar_context *ctx, const ip_request *q, ip_evaluation *first, const ip_work *work,
                             const double shares[IP_MAX_DEVICES], ip_value **values, ip_error *err)
{
    cutting c = { .ctx = ctx, .q = q, .first = first, .work = *work, .folds = ip_evaluation_folds(first) };
    imgpar_status st = make_hosts(&c, err);
    if (!st) st = make_parts(&c, shares, err);
    if (!st) st = run_parts(&c, err);
    if (!st && c.folds) st = combine(&c, err);
    if (!st) st = take_values(&c, values, err);
    for (size_t k = 0; k < ctx->devices.n; k++)
        free_part(&c, &c.parts[k]);
    ip_evaluation_free(first);
    free_hosts(&c);
    return st;
}

/* Why e is not to be cut; NULL: it is, by these shares. */
static const char *refusal(ip_devices *d, ip_evaluation *e, const ip_work *work, double shares[IP_MAX_DEVICES])
{
    bool is_placed = ip_devices_are_placed(d);
    const char *uncut = ip_evaluation_uncut(e, is_placed);
    double parts = 0, from = 0;
    int n = 0;
    if (uncut) return uncut;
    if ((work->may & (work->may - 1)) == 0) return "no other device can compute it";
    if (work->home) return "it has what is read";
    if (!is_placed && !d->share_host && ip_evaluation_loops(e)) return "the values of a loop stay on one device";
    if (!is_placed && work->amount < LEAST_WORK) return "there is little to do";
    ip_devices_shares(d, work, shares);
    for (size_t k = 0; k < d->n; k++) {
        if (shares[k] <= 0) continue;
        n++;
        parts += ip_evaluation_work(e, from, from + shares[k]);
        from += shares[k];
    }
    if (n < 2) return is_placed ? "it is placed there" : "no other device is worth it";
    return !is_placed && parts > MOST_TWICE * work->amount ? "parts would compute too much twice" : NULL;
}

/* One item before it is run. */
typedef struct weighed {
    ip_evaluation *first; /* for the first device; owned */
    ip_work work;
    const char *uncut; /* why it is not to be cut; NULL: it is, by shares */
    double shares[IP_MAX_DEVICES];
} weighed;

static imgpar_status weigh(imgpar_context *ctx, const ip_request *q, weighed *w, ip_error *err)
{
    ip_devices *d = &ctx->devices;
    imgpar_status st = ip_evaluation_new(ctx, d->list[0], q, &w->first, err);
    if (st) return st;
    w->work = work_of(d, w->first);
    w->uncut = refusal(d, w->first, &w->work, w->shares);
    return IMGPAR_OK;
}

static imgpar_status run_one(imgpar_context *ctx, const ip_request *q, ip_value **values, ip_error *err)
{
    weighed w;
    imgpar_status st = weigh(ctx, q, &w, err);
    if (st) return st;
    bool is_cut = !w.uncut && ip_devices_are_free(&ctx->devices);
    return is_cut ? run_cut(ctx, q, w.first, &w.work, w.shares, values, err)
                  : run_whole(ctx, q, w.first, 0, false, values, err);
}

/* ---- items ---------------------------------------------------------------------------------- */

typedef struct batch {
    imgpar_context *ctx;
    const ip_choices *choices;
    const ip_groups *groups;
    ip_value **values; /* in the order of the groups */
    double shares[IP_MAX_DEVICES];
    size_t *owner;        /* by item, where the user has weighed the devices; else NULL */
    double remaining;     /* bytes of results that nobody has taken yet */
    bool *is_taken;       /* by item */
    pthread_mutex_t lock; /* guards the two before */
} batch;

/* A device that takes items. */
typedef struct worker {
    ip_job job;
    batch *batch;
    size_t device;
} worker;

static double item_bytes(const ip_groups *g, size_t item)
{
    double bytes = 0;
    for (size_t k = g->first[item]; k < g->first[item + 1]; k++)
        bytes += (double)array_bytes(g->arrays[k]);
    return bytes;
}

/* Would the fastest other device be done with everything that is left before this one with the item? The fastest of all
 * takes what is left. */
static bool is_better_left(const batch *b, size_t device, double bytes)
{
    double fastest = 0;
    for (size_t k = 0; k < b->ctx->devices.n; k++)
        if (k != device && b->shares[k] > fastest) fastest = b->shares[k];
    return bytes * fastest > b->remaining * b->shares[device];
}

/* The next item for the device; false: there is none. */
static bool take(batch *b, size_t device, size_t *item)
{
    bool found = false;
    pthread_mutex_lock(&b->lock);
    for (size_t k = 0; !found && k < b->groups->n; k++) {
        if (b->is_taken[k] || (b->owner && b->owner[k] != device)) continue;
        double bytes = item_bytes(b->groups, k);
        if (!b->owner && is_better_left(b, device, bytes)) break;
        b->is_taken[k] = found = true;
        b->remaining -= bytes;
        *item = k;
    }
    pthread_mutex_unlock(&b->lock);
    return found;
}

static imgpar_status run_items(ip_job *job, const imgpar_options *options, ip_error *err)
{
    const worker *w = (const worker *)job;
    batch *b = w->batch;
    imgpar_status st = IMGPAR_OK;
    for (size_t item; !st && !ip_job_is_over(job) && take(b, w->device, &item);) {
        const size_t at = b->groups->first[item];
        const ip_request q = { .arrays = b->groups->arrays + at,
                               .n = b->groups->first[item + 1] - at,
                               .options = options,
                               .goal.choices = b->choices };
        ip_evaluation *e;
        st = ip_evaluation_new(b->ctx, b->ctx->devices.list[w->device], &q, &e, err);
        if (!st) st = run_whole(b->ctx, &q, e, w->device, true, b->values + at, err);
    }
    return st;
}

/* Items by the user's weights: each to the device that has least to do for its weight. */
static imgpar_status give_out(batch *b, ip_error *err)
{
    double given[IP_MAX_DEVICES] = { 0 };
    b->owner = ip_alloc_array(b->groups->n, sizeof *b->owner);
    if (!b->owner) return ip_fail_memory(err, "sharing out a batch");
    for (size_t item = 0; item < b->groups->n; item++) {
        double bytes = item_bytes(b->groups, item), least = 0;
        size_t to = IP_MAX_DEVICES;
        for (size_t k = 0; k < b->ctx->devices.n; k++) {
            double after = b->shares[k] > 0 ? (given[k] + bytes) / b->shares[k] : 0;
            if (b->shares[k] > 0 && (to == IP_MAX_DEVICES || after < least)) {
                least = after;
                to = k;
            }
        }
        b->owner[item] = to;
        given[to] += bytes;
    }
    return IMGPAR_OK;
}

static imgpar_status run_workers(batch *b, const imgpar_options *options, ip_error *err)
{
    worker workers[IP_MAX_DEVICES];
    ip_job *jobs[IP_MAX_DEVICES];
    size_t n = 0;
    for (size_t k = 0; k < b->ctx->devices.n; k++) {
        if (b->shares[k] <= 0) continue;
        workers[n] = (worker){ .job = { .run = run_items, .share = b->shares[k] }, .batch = b, .device = k };
        jobs[n] = &workers[n].job;
        n++;
    }
    return ip_jobs_run(jobs, n, options, err);
}

static imgpar_status run_batch(imgpar_context *ctx, const ip_request *q, const ip_groups *groups, ip_value **values,
                               ip_error *err)
{
    batch b = { .ctx = ctx,
                .choices = q->goal.choices,
                .groups = groups,
                .values = ip_zalloc(q->n * sizeof *b.values),
                .is_taken = ip_zalloc(groups->n) };
    imgpar_status st = b.values && b.is_taken ? IMGPAR_OK : ip_fail_memory(err, "sharing out a batch");
    if (!st && pthread_mutex_init(&b.lock, NULL) != 0) st = ip_fail_memory(err, "sharing out a batch");
    if (st) goto out;
    ip_devices_shares(&ctx->devices, &(ip_work){ .may = ~0u }, b.shares);
    for (size_t item = 0; item < groups->n; item++)
        b.remaining += item_bytes(groups, item);
    if (ip_devices_are_placed(&ctx->devices)) st = give_out(&b, err);
    if (!st) st = run_workers(&b, q->options, err);
    pthread_mutex_destroy(&b.lock);
    for (size_t k = 0; k < q->n; k++)
        values[groups->was[k]] = b.values[k];
out:
    ip_free(b.owner);
    ip_free(b.is_taken);
    ip_free(b.values);
    return st;
}

/* Whether one item would keep a device busy long after the others are done. */
static bool is_lopsided(ip_devices *d, const ip_groups *groups)
{
    double shares[IP_MAX_DEVICES], most = 0, total = 0, largest = 0;
    if (ip_devices_are_placed(d)) return false;
    ip_devices_shares(d, &(ip_work){ .may = ~0u }, shares);
    for (size_t k = 0; k < d->n; k++)
        most = shares[k] > most ? shares[k] : most;
    for (size_t item = 0; item < groups->n; item++) {
        double bytes = item_bytes(groups, item);
        total += bytes;
        largest = bytes > largest ? bytes : largest;
    }
    return largest > LOPSIDED * most * total;
}

static imgpar_status run_in_turn(imgpar_context *ctx, const ip_request *q, const ip_groups *groups, ip_value **values,
                                 ip_error *err)
{
    ip_value **of_groups = ip_zalloc(q->n * sizeof *of_groups);
    imgpar_status st = of_groups ? IMGPAR_OK : ip_fail_memory(err, "sharing out a batch");
    for (size_t item = 0; !st && item < groups->n; item++) {
        const size_t at = groups->first[item];
        const ip_request one = { .arrays = groups->arrays + at,
                                 .n = groups->first[item + 1] - at,
                                 .options = q->options,
                                 .goal.choices = q->goal.choices };
        st = run_one(ctx, &one, of_groups + at, err);
    }
    for (size_t k = 0; of_groups && k < q->n; k++)
        values[groups->was[k]] = of_groups[k];
    ip_free(of_groups);
    return st;
}

/* ---- all of it ------------------------------------------------------------------------------ */

static imgpar_status run_groups(imgpar_context *ctx, const ip_request *q, const ip_groups *groups, ip_value **values,
                                ip_error *err)
{
    if (groups->n == 1) return run_one(ctx, q, values, err);
    return is_lopsided(&ctx->devices, groups) ? run_in_turn(ctx, q, groups, values, err)
                                              : run_batch(ctx, q, groups, values, err);
}

imgpar_status ip_share(imgpar_context *ctx, const ip_request *q, ip_value **values, ip_error *err)
{
    if (q->n == 1) return run_one(ctx, q, values, err);
    ip_groups groups;
    imgpar_status st = ip_groups_find(q->arrays, q->n, &groups, err);
    if (!st) st = run_groups(ctx, q, &groups, values, err);
    ip_groups_clear(&groups);
    return st;
}

static const char *selector_of(const ip_devices *d, size_t k) { return ip_device_facts_of(d->list[k])->info.selector; }

static void explain_shares(const ip_devices *d, const double shares[IP_MAX_DEVICES], const char *of, ip_str *out)
{
    ip_str_append(out, "devices: ");
    for (size_t k = 0, n = 0; k < d->n; k++)
        if (shares[k] > 0) ip_str_printf(out, "%s%s %.0f%%", n++ ? ", " : "", selector_of(d, k), 100 * shares[k]);
    ip_str_printf(out, " of the %s", of);
}

static imgpar_status explain_one(imgpar_context *ctx, const ip_request *q, ip_str *out, ip_error *err)
{
    ip_devices *d = &ctx->devices;
    weighed w;
    imgpar_status st = weigh(ctx, q, &w, err);
    if (st) return st;
    if (w.uncut)
        ip_str_printf(out, "devices: %s alone: %s", selector_of(d, ip_devices_quickest(d, &w.work)), w.uncut);
    else
        explain_shares(d, w.shares, "rows", out);
    ip_evaluation_free(w.first);
    return IMGPAR_OK;
}

imgpar_status ip_share_explain(imgpar_context *ctx, const ip_request *q, ip_str *out, ip_error *err)
{
    ip_groups groups;
    double shares[IP_MAX_DEVICES];
    imgpar_status st = ip_groups_find(q->arrays, q->n, &groups, err);
    if (!st && groups.n > 1 && is_lopsided(&ctx->devices, &groups)) {
        ip_str_printf(out, "devices: %zu items in turn, one of them too large to be given out whole", groups.n);
    } else if (!st && groups.n > 1) {
        ip_devices_shares(&ctx->devices, &(ip_work){ .may = ~0u }, shares);
        explain_shares(&ctx->devices, shares, "items", out);
        ip_str_printf(out, ", %zu of them", groups.n);
    } else if (!st) {
        st = explain_one(ctx, q, out, err);
    }
    ip_groups_clear(&groups);
    return st;
}
