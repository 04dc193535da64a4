/* SPDX-License-Identifier: MIT */
#include "run/devices.h"

#include "base/str.h"

#include <string.h>

#define LEAST_SHARE 0.02 /* less is not worth a launch */
#define NEW_WEIGHT 0.5   /* of the newest measurement in the mean */
#define SECOND_CHANCE \
    1.1 /* a device that was left out is thought so much faster after each run of others, until it is tried again */

imgpar_status ip_devices_open(ip_devices *d, const char *selector, uint64_t mem_limit_bytes, ip_error *err)
{
    imgpar_status st = ip_device_open(selector, mem_limit_bytes, d->list, &d->n, err);
    if (st) return st;
    if (pthread_mutex_init(&d->lock, NULL) != 0) {
        for (size_t k = 0; k < d->n; k++)
            ip_device_close(d->list[k]);
        d->n = 0;
        return ip_fail_memory(err, "opening a context");
    }
    double total = 0;
    d->share_host = true;
    for (size_t k = 0; k < d->n; k++) {
        total += ip_device_facts_of(d->list[k])->speed_guess;
        d->share_host &= ip_device_facts_of(d->list[k])->info.has_unified_memory != 0;
    }
    for (size_t k = 0; k < d->n; k++)
        d->usual[k] = ip_device_facts_of(d->list[k])->speed_guess / total;
    return IMGPAR_OK;
}

void ip_devices_close(ip_devices *d)
{
    if (d->n > 0) pthread_mutex_destroy(&d->lock);
    for (size_t k = 0; k < d->n; k++)
        ip_device_close(d->list[k]);
    d->n = 0;
}

/* ---- placement ------------------------------------------------------------------------ */

/* "2:1" or "1"; *n numbers. */
static bool read_weights(const char *text, double weights[IP_MAX_DEVICES], size_t *n)
{
    double total = 0;
    for (*n = 0; *n < IP_MAX_DEVICES; text++) {
        char *end;
        double w = ip_parse_number(text, &end);
        if (end == text || !(w >= 0) || w > 1e9) return false;
        weights[(*n)++] = w;
        total += w;
        text = end;
        if (!*text) return *n == 1 || total > 0;
        if (*text != ':') return false;
    }
    return false;
}

bool ip_devices_place(ip_devices *d, const char *text)
{
    double numbers[IP_MAX_DEVICES] = { 0 }, weights[IP_MAX_DEVICES] = { 0 };
    size_t n = 0, device;
    bool is_auto = strcmp(text, "auto") == 0;
    if (!is_auto && !read_weights(text, numbers, &n)) return false;
    if (d->n == 0) return true; /* ref: there is nothing to place */
    if (n == 1) {               /* a device's number */
        device = (size_t)numbers[0];
        if ((double)device != numbers[0] || device >= d->n) return false;
        weights[device] = 1;
    } else if (n > 1) {
        if (n != d->n) return false;
        memcpy(weights, numbers, sizeof weights);
    }
    pthread_mutex_lock(&d->lock);
    d->is_placed = !is_auto;
    memcpy(d->weights, weights, sizeof weights);
    pthread_mutex_unlock(&d->lock);
    return true;
}

/* ---- speeds --------------------------------------------------------------------------- */

/* The plan's entry; NULL: it has none. */
static ip_speed *find(ip_devices *d, uint64_t plan)
{
    for (size_t k = 0; k < IP_SPEED_PLANS; k++)
        if (d->speeds[k].used && d->speeds[k].plan == plan) {
            d->speeds[k].used = ++d->clock;
            return &d->speeds[k];
        }
    return NULL;
}

/* The same, or a new one in place of the one that was used longest ago. */
static ip_speed *find_or_add(ip_devices *d, uint64_t plan)
{
    ip_speed *speed = find(d, plan), *oldest = &d->speeds[0];
    if (speed) return speed;
    for (size_t k = 1; k < IP_SPEED_PLANS; k++)
        if (d->speeds[k].used < oldest->used) oldest = &d->speeds[k];
    *oldest = (ip_speed){ .plan = plan, .used = ++d->clock };
    return oldest;
}

/* Speeds of a plan, compared with each other; 0 where a device must not do it. What is not known of a device stands to
 * the others as usual. */
static void speeds_of(ip_devices *d, const ip_work *work, double out[IP_MAX_DEVICES])
{
    const ip_speed *speed = find(d, work->plan);
    double known = 0, usual = 0;
    for (size_t k = 0; speed && k < d->n; k++)
        if (speed->of[k] > 0) {
            known += speed->of[k];
            usual += d->usual[k];
        }
    double scale = usual > 0 ? known / usual : 1;
    for (size_t k = 0; k < d->n; k++) {
        out[k] = d->is_placed ? d->weights[k] : speed && speed->of[k] > 0 ? speed->of[k] : d->usual[k] * scale;
        if (!(work->may >> k & 1)) out[k] = 0;
    }
}

static double sum(const double *values, size_t n)
{
    double total = 0;
    for (size_t k = 0; k < n; k++)
        total += values[k];
    return total;
}

bool ip_devices_are_free(ip_devices *d)
{
    pthread_mutex_lock(&d->lock);
    bool yes = d->n_running == 0 || d->is_placed;
    pthread_mutex_unlock(&d->lock);
    return yes;
}

bool ip_devices_are_placed(ip_devices *d)
{
    pthread_mutex_lock(&d->lock);
    bool yes = d->is_placed;
    pthread_mutex_unlock(&d->lock);
    return yes;
}

void ip_devices_shares(ip_devices *d, const ip_work *work, double shares[IP_MAX_DEVICES])
{
    pthread_mutex_lock(&d->lock);
    speeds_of(d, work, shares);
    double total = sum(shares, d->n);
    for (size_t k = 0; k < d->n; k++)
        if (!d->is_placed && shares[k] < LEAST_SHARE * total) shares[k] = 0;
    total = sum(shares, d->n);
    for (size_t k = 0; k < d->n && total > 0; k++)
        shares[k] /= total;
    pthread_mutex_unlock(&d->lock);
}

size_t ip_devices_quickest(ip_devices *d, const ip_work *work)
{
    double speeds[IP_MAX_DEVICES], best = 0;
    size_t quickest = 0;
    ip_work where = *work;
    if (work->may & work->home) where.may = work->may & work->home;
    pthread_mutex_lock(&d->lock);
    speeds_of(d, &where, speeds);
    if (sum(speeds, d->n) == 0) /* the user's weights leave out those that can */
        for (size_t k = 0; k < d->n; k++)
            speeds[k] = where.may >> k & 1;
    for (size_t k = 0; k < d->n; k++) {
        double quickness = speeds[k] / (d->queued[k] + work->amount + 1);
        if (quickness > best) {
            best = quickness;
            quickest = k;
        }
    }
    pthread_mutex_unlock(&d->lock);
    return quickest;
}

void ip_devices_begin(ip_devices *d, size_t k, double amount)
{
    pthread_mutex_lock(&d->lock);
    d->queued[k] += amount;
    d->n_running++;
    pthread_mutex_unlock(&d->lock);
}

/* The usual shares lean towards those of a plan that all devices have done. */
static void learn_usual(ip_devices *d, const ip_speed *speed)
{
    double total = sum(speed->of, d->n);
    for (size_t k = 0; k < d->n; k++)
        if (!(speed->of[k] > 0)) return;
    for (size_t k = 0; k < d->n; k++)
        d->usual[k] += NEW_WEIGHT * (speed->of[k] / total - d->usual[k]);
}

/* The k-th device has been measured; those that were too slow to take part have not. */
static void give_chances(const ip_devices *d, ip_speed *speed, size_t k)
{
    double total = sum(speed->of, d->n);
    for (size_t other = 0; other < d->n; other++)
        if (other != k && speed->of[other] < LEAST_SHARE * total) speed->of[other] *= SECOND_CHANCE;
}

void ip_devices_end(ip_devices *d, size_t k, const ip_work *work, double amount, double took_ms)
{
    pthread_mutex_lock(&d->lock);
    d->queued[k] -= amount;
    if (--d->n_running == 0) memset(d->queued, 0, sizeof d->queued); /* no rounding stays */
    if (took_ms > 0 && amount > 0) {
        ip_speed *speed = find_or_add(d, work->plan);
        double now = amount / took_ms;
        speed->of[k] = speed->of[k] > 0 ? speed->of[k] + NEW_WEIGHT * (now - speed->of[k]) : now;
        learn_usual(d, speed);
        give_chances(d, speed, k);
    }
    pthread_mutex_unlock(&d->lock);
}
