/* SPDX-License-Identifier: MIT */
#include "run/kept.h"

#include "base/alloc.h"
#include "run/context.h"
#include "run/value.h"

bool ip_kept_init(ip_kept *kept)
{
    *kept = (ip_kept){ .newest = NULL };
    return pthread_mutex_init(&kept->lock, NULL) == 0;
}

void ip_kept_end(ip_kept *kept) { pthread_mutex_destroy(&kept->lock); }

static void link_newest(ip_kept *kept, imgpar_array *a)
{
    a->kept_older = kept->newest;
    a->kept_newer = NULL;
    *(kept->newest ? &kept->newest->kept_newer : &kept->oldest) = a;
    kept->newest = a;
    a->is_listed = true;
}

static void unlink_array(ip_kept *kept, imgpar_array *a)
{
    kept->bytes -= a->offered_bytes;
    a->offered_bytes = 0;
    *(a->kept_newer ? &a->kept_newer->kept_older : &kept->newest) = a->kept_older;
    *(a->kept_older ? &a->kept_older->kept_newer : &kept->oldest) = a->kept_newer;
    a->is_listed = false;
}

void ip_kept_add(imgpar_array *a, ip_value *value)
{
    ip_kept *kept = &a->ctx->kept;
    ip_array_keep_value(a, value);
    pthread_mutex_lock(&kept->lock);
    if (!a->is_listed) link_newest(kept, a);
    kept->bytes -= a->offered_bytes; /* it was asked for by now */
    a->offered_bytes = 0;
    pthread_mutex_unlock(&kept->lock);
}

/* Values that were offered go, the oldest first, until they fit. The list is locked. */
static void drop_offered(ip_kept *kept)
{
    imgpar_array *newer;
    for (imgpar_array *a = kept->oldest; a && kept->bytes > kept->max_bytes; a = newer) {
        newer = a->kept_newer;
        if (a->offered_bytes == 0) continue;
        pthread_mutex_lock(&a->lock);
        ip_value *value = a->n_users == 0 ? a->value : NULL; /* else evaluations rely on it */
        if (value) a->value = NULL;
        pthread_mutex_unlock(&a->lock);
        if (value) unlink_array(kept, a);
        ip_value_release(value);
    }
}

bool ip_kept_takes(imgpar_context *ctx, uint64_t n)
{
    pthread_mutex_lock(&ctx->kept.lock);
    const bool takes = n > 0 && n <= ctx->kept.max_bytes;
    pthread_mutex_unlock(&ctx->kept.lock);
    return takes;
}

void ip_kept_offer(imgpar_array *a, ip_value *value)
{
    ip_kept *kept = &a->ctx->kept;
    if (!ip_kept_takes(a->ctx, value->size_bytes)) return;
    pthread_mutex_lock(&kept->lock);
    if (!a->is_listed) {
        ip_array_keep_value(a, value);
        link_newest(kept, a);
        a->offered_bytes = value->size_bytes;
        kept->bytes += value->size_bytes;
        drop_offered(kept);
    }
    pthread_mutex_unlock(&kept->lock);
}

void ip_kept_limit(ip_kept *kept, uint64_t n)
{
    pthread_mutex_lock(&kept->lock);
    kept->max_bytes = n;
    drop_offered(kept);
    pthread_mutex_unlock(&kept->lock);
}

ip_value *ip_kept_find(imgpar_array *a)
{
    ip_value *value = ip_array_pin(a);
    if (value && a->op->lower && !(a->op->flags & IP_OP_USABLE)) atomic_fetch_add(&a->ctx->values_found, 1);
    return value;
}

void ip_kept_forget(imgpar_array *a)
{
    if (!a->ctx || ip_context_check(a->ctx, NULL)) return; /* in a forked child the lock may be held for ever */
    ip_kept *kept = &a->ctx->kept;
    pthread_mutex_lock(&kept->lock);
    if (a->is_listed) unlink_array(kept, a);
    pthread_mutex_unlock(&kept->lock);
}

/* The same elements in host memory; NULL: v stays, since others use it, it is elsewhere, or there is no memory. */
static ip_value *moved(ip_value *v, const ip_device *device, ip_account *account)
{
    ip_error ignored = { IMGPAR_OK, "" };
    if (atomic_load(&v->refs) != 1 || v->host || v->n_others > 0 || !v->buffer) return NULL;
    if (ip_buffer_device(v->buffer) != device || ip_buffer_host(v->buffer)) return NULL;
    void *host = ip_alloc(v->size_bytes ? v->size_bytes : 1);
    if (host && ip_value_read(v, host, &ignored) == IMGPAR_OK) {
        ip_account_add(account, v->size_bytes);
        return ip_value_of_counted(host, v->size_bytes, account);
    }
    ip_free(host);
    return NULL;
}

/* Moves the value that a keeps; 0 bytes: it stays where it is. */
static uint64_t move(imgpar_array *a, ip_device *device)
{
    uint64_t n = 0;
    ip_value *old = NULL;
    pthread_mutex_lock(&a->lock);
    ip_value *v = a->value, *host = v ? moved(v, device, a->ctx->host) : NULL;
    if (host) {
        old = v;
        n = v->size_bytes;
        a->value = host;
    } else if (v && v->host && atomic_load(&v->refs) == 1 && ip_value_is_on_device(v, device)) {
        n = ip_device_shares(device, v->host) ? 0 : v->size_bytes; /* it came back once, and the host still has it */
        ip_value_leave_device(v, device);
    }
    pthread_mutex_unlock(&a->lock);
    ip_value_release(old);
    return n;
}

bool ip_kept_make_room(imgpar_context *ctx, ip_device *device, uint64_t n)
{
    bool any = false;
    pthread_mutex_lock(&ctx->kept.lock);
    for (imgpar_array *a = ctx->kept.oldest; a && ip_device_budget_left(device) < n; a = a->kept_newer) {
        const uint64_t bytes = move(a, device);
        if (bytes == 0) continue;
        any = true;
        atomic_fetch_add(&ctx->values_moved, 1);
        atomic_fetch_add(&ctx->bytes_moved, bytes);
    }
    pthread_mutex_unlock(&ctx->kept.lock);
    return any;
}
