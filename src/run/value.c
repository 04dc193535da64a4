/* SPDX-License-Identifier: MIT */
#include "run/value.h"

#include "base/alloc.h"
#include "base/dtype.h"

#include <string.h>

static ip_value *value_new(size_t size_bytes)
{
    ip_value *v = ip_zalloc(sizeof *v);
    if (!v) return NULL;
    if (pthread_mutex_init(&v->lock, NULL) != 0) {
        ip_free(v);
        return NULL;
    }
    atomic_init(&v->refs, 1);
    v->size_bytes = size_bytes;
    return v;
}

ip_value *ip_value_of_host(void *takes_host, size_t size_bytes)
{
    ip_value *v = value_new(size_bytes);
    if (v)
        v->host = takes_host;
    else
        ip_free(takes_host);
    return v;
}

ip_value *ip_value_of_counted(void *takes_host, size_t size_bytes, ip_account *account)
{
    ip_value *v = ip_value_of_host(takes_host, size_bytes);
    if (v)
        v->account = ip_account_retain(account);
    else
        ip_account_give(account, size_bytes);
    return v;
}

ip_value *ip_value_of_buffer(ip_buffer *takes_buffer, size_t size_bytes)
{
    ip_value *v = value_new(size_bytes);
    if (v)
        v->buffer = takes_buffer;
    else
        ip_buffer_release(takes_buffer);
    return v;
}

ip_value *ip_value_of_source(ip_source *source)
{
    ip_value *v = value_new(source->size_bytes);
    if (!v) return NULL;
    v->host = source->data;
    v->is_host_borrowed = true;
    v->source = source;
    atomic_fetch_add(&source->refs, 1);
    return v;
}

ip_value *ip_value_of_borrowed(void *host, size_t size_bytes)
{
    ip_value *v = value_new(size_bytes);
    if (!v) return NULL;
    v->host = host;
    v->is_host_borrowed = true;
    return v;
}

struct ip_value *ip_value_retain(struct ip_value *v)
{
    if (v) atomic_fetch_add(&v->refs, 1);
    return v;
}

void ip_value_release(struct ip_value *v)
{
    if (!v || atomic_fetch_sub(&v->refs, 1) != 1) return;
    if (!v->is_host_borrowed) ip_free(v->host);
    if (v->source) ip_source_release(v->source);
    ip_account_give(v->account, v->size_bytes);
    ip_account_release(v->account);
    ip_buffer_release(v->buffer);
    for (int k = 0; k < v->n_others; k++)
        ip_buffer_release(v->others[k]);
    pthread_mutex_destroy(&v->lock);
    ip_free(v);
}

/* Where v keeps its buffer on device, NULL: it has none. The caller holds v's lock. */
static ip_buffer **find_buffer(ip_value *v, const ip_device *device)
{
    if (v->buffer && ip_buffer_device(v->buffer) == device) return &v->buffer;
    for (int k = 0; k < v->n_others; k++)
        if (ip_buffer_device(v->others[k]) == device) return &v->others[k];
    return NULL;
}

bool ip_value_is_on_device(ip_value *v, const ip_device *device)
{
    pthread_mutex_lock(&v->lock);
    bool is_there = find_buffer(v, device) != NULL;
    pthread_mutex_unlock(&v->lock);
    return is_there;
}

const ip_device *ip_value_home(ip_value *v)
{
    if (v->host) return NULL;
    const ip_device *device = ip_buffer_device(v->buffer); /* without host it never changes */
    return ip_device_facts_of(device)->info.has_unified_memory ? NULL : device;
}

void ip_value_leave_device(ip_value *v, const ip_device *device)
{
    ip_buffer *unused = NULL;
    pthread_mutex_lock(&v->lock);
    ip_buffer **at = v->host ? find_buffer(v, device) : NULL;
    if (at && !ip_buffer_host(*at)) { /* what is shared takes no room */
        unused = *at;
        *at = at == &v->buffer && v->n_others == 0 ? NULL : v->others[--v->n_others];
    }
    pthread_mutex_unlock(&v->lock);
    ip_buffer_release(unused);
}

static void release_source(void *source, void *host)
{
    (void)host;
    ip_source_release(source);
}

/* Memory that was decoded or computed, and is the value's, becomes a source's, which may have several users. */
static imgpar_status make_source(ip_value *v, ip_error *err)
{
    ip_source *source = ip_zalloc(sizeof *source);
    if (!source) return ip_fail_memory(err, "sharing memory");
    atomic_init(&source->refs, 1);
    source->kind = IP_SOURCE_PIXELS;
    source->data = v->host;
    source->size_bytes = v->size_bytes;
    source->account = v->account;
    v->account = NULL;
    v->source = source;
    v->is_host_borrowed = true;
    return IMGPAR_OK;
}

/* A buffer on the host's memory. It may outlive the value, so both hold the source that the memory belongs to. */
static imgpar_status share(ip_value *v, ip_device *device, ip_buffer **out, ip_error *err)
{
    imgpar_status st = v->source ? IMGPAR_OK : make_source(v, err);
    if (st) return st;
    atomic_fetch_add(&v->source->refs, 1);
    st = ip_buffer_wrap(device, v->host, v->size_bytes, release_source, v->source, out, err);
    if (st) ip_source_release(v->source);
    return st;
}

static imgpar_status upload(ip_value *v, ip_device *device, ip_buffer **out, ip_error *err)
{
    const size_t n = v->size_bytes;
    void *mapped = NULL; /* of another device */
    *out = NULL;
    imgpar_status st = v->host ? IMGPAR_OK : ip_buffer_map(v->buffer, &mapped, err);
    const void *host = v->host ? v->host : mapped;
    if (!st) st = ip_buffer_new(device, n ? n : 1, out, err);
    if (!st && n) st = ip_buffer_write(*out, 0, host, n, err);
    if (mapped) ip_buffer_unmap(v->buffer, mapped);
    if (!st) return IMGPAR_OK;
    ip_buffer_release(*out);
    *out = NULL;
    return st;
}

imgpar_status ip_value_on_device(ip_value *v, ip_device *device, ip_buffer **buffer, ip_error *err)
{
    imgpar_status st = IMGPAR_OK;
    *buffer = NULL;
    pthread_mutex_lock(&v->lock);
    ip_buffer **at = find_buffer(v, device), *made = NULL;
    if (!at) {
        bool shares =
            v->host && v->size_bytes && (v->source || !v->is_host_borrowed) && ip_device_shares(device, v->host);
        st = shares ? share(v, device, &made, err) : upload(v, device, &made, err);
        at = !v->buffer ? &v->buffer : &v->others[v->n_others];
        if (!st) {
            v->n_others += v->buffer != NULL;
            *at = made;
        }
    }
    if (!st) *buffer = ip_buffer_retain(*at); /* another evaluation may give up the copy */
    pthread_mutex_unlock(&v->lock);
    return st;
}

imgpar_status ip_value_wait(ip_value *v, ip_error *err)
{
    if (v->host || !v->buffer) return IMGPAR_OK;
    return ip_buffer_wait(v->buffer, err);
}

imgpar_status ip_value_read(ip_value *v, void *dst, ip_error *err)
{
    return ip_value_read_polled(v, dst, &(ip_poll){ 0 }, err);
}

imgpar_status ip_value_read_number(ip_value *v, imgpar_dtype dtype, double *number, ip_error *err)
{
    unsigned char element[8];
    if (v->size_bytes > sizeof element)
        return ip_fail(err, IMGPAR_E_INTERNAL, "internal: a number of %zu bytes", v->size_bytes);
    imgpar_status st = ip_value_read(v, element, err);
    if (!st) *number = ip_load_number(dtype, element);
    return st;
}

imgpar_status ip_value_read_polled(ip_value *v, void *dst, const ip_poll *poll, ip_error *err)
{
    const size_t piece = poll->stop ? IP_PIECE_BYTES : v->size_bytes;
    for (size_t at = 0; at < v->size_bytes; at += piece) {
        size_t n = v->size_bytes - at < piece ? v->size_bytes - at : piece;
        imgpar_status st = IMGPAR_OK;
        if (v->host)
            memcpy((char *)dst + at, (const char *)v->host + at, n);
        else
            st = ip_buffer_read(v->buffer, at, (char *)dst + at, n, err);
        if (st) return st;
        if (poll->stop && poll->stop(poll->user, 1)) return ip_fail(err, IMGPAR_E_INTERRUPTED, "interrupted");
    }
    return IMGPAR_OK;
}

struct ip_value *ip_array_pin(imgpar_array *a)
{
    pthread_mutex_lock(&a->lock);
    struct ip_value *v = ip_value_retain(a->value);
    pthread_mutex_unlock(&a->lock);
    return v;
}

bool ip_array_has_value(imgpar_array *a)
{
    ip_value *v = ip_array_pin(a);
    ip_value_release(v);
    return v != NULL;
}

void ip_array_keep_value(imgpar_array *a, ip_value *value)
{
    pthread_mutex_lock(&a->lock);
    if (!a->value) a->value = ip_value_retain(value);
    a->is_value_lent = false;
    pthread_mutex_unlock(&a->lock);
}

void ip_array_lend_value(imgpar_array *a, ip_value *value)
{
    pthread_mutex_lock(&a->lock);
    if (!a->value) {
        a->value = ip_value_retain(value);
        a->is_value_lent = true;
    }
    pthread_mutex_unlock(&a->lock);
}
