/* SPDX-License-Identifier: MIT */
#include "run/value.h"

#include "base/alloc.h"

#include <string.h>

static ip_value *value_new(size_t size_bytes)
{
    ip_value *v = ip_zalloc(sizeof *v);
    if (!v)
        return NULL;
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
    if (!v)
        return NULL;
    v->host = source->data;
    v->is_host_borrowed = true;
    v->source = source;
    atomic_fetch_add(&source->refs, 1);
    return v;
}

struct ip_value *ip_value_retain(struct ip_value *v)
{
    if (v)
        atomic_fetch_add(&v->refs, 1);
    return v;
}

void ip_value_release(struct ip_value *v)
{
    if (!v || atomic_fetch_sub(&v->refs, 1) != 1)
        return;
    if (!v->is_host_borrowed)
        ip_free(v->host);
    if (v->source)
        ip_source_release(v->source);
    ip_buffer_release(v->buffer);
    pthread_mutex_destroy(&v->lock);
    ip_free(v);
}

bool ip_value_is_on_device(ip_value *v)
{
    pthread_mutex_lock(&v->lock);
    bool is_there = v->buffer != NULL;
    pthread_mutex_unlock(&v->lock);
    return is_there;
}

void ip_value_leave_device(ip_value *v)
{
    pthread_mutex_lock(&v->lock);
    ip_buffer *unused = v->host && !v->is_shared ? v->buffer : NULL; /* what is shared takes no room */
    if (unused)
        v->buffer = NULL;
    pthread_mutex_unlock(&v->lock);
    ip_buffer_release(unused);
}

static void release_source(void *source, void *host)
{
    (void)host;
    ip_source_release(source);
}

static void free_host(void *unused, void *host)
{
    (void)unused;
    ip_free(host);
}

/* A buffer on the host's memory. It may outlive the value, so the memory is its from now on: a source it retains, what was decoded it takes. */
static imgpar_status share(ip_value *v, ip_device *device, ip_buffer **out, ip_error *err)
{
    ip_source *source = v->source;
    imgpar_status st = ip_buffer_wrap(device, v->host, v->size_bytes, source ? release_source : free_host, source, out, err);
    if (st)
        return st;
    if (source)
        atomic_fetch_add(&source->refs, 1);
    v->is_host_borrowed = true;
    v->is_shared = true;
    return IMGPAR_OK;
}

static imgpar_status upload(const ip_value *v, ip_device *device, ip_buffer **out, ip_error *err)
{
    imgpar_status st = ip_buffer_new(device, v->size_bytes ? v->size_bytes : 1, out, err);
    if (!st && v->size_bytes)
        st = ip_buffer_write(*out, 0, v->host, v->size_bytes, err);
    if (!st)
        return IMGPAR_OK;
    ip_buffer_release(*out);
    *out = NULL;
    return st;
}

imgpar_status ip_value_on_device(ip_value *v, ip_device *device, ip_buffer **buffer, ip_error *err)
{
    imgpar_status st = IMGPAR_OK;
    pthread_mutex_lock(&v->lock);
    if (!v->buffer)
        st = v->size_bytes && ip_device_shares(device, v->host) ? share(v, device, &v->buffer, err) : upload(v, device, &v->buffer, err);
    *buffer = st ? NULL : ip_buffer_retain(v->buffer); /* another evaluation may give up the copy */
    pthread_mutex_unlock(&v->lock);
    return st;
}

imgpar_status ip_value_read(ip_value *v, void *dst, ip_error *err)
{
    return ip_value_read_polled(v, dst, &(ip_poll){ 0 }, err);
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
        if (st)
            return st;
        if (poll->stop && poll->stop(poll->user, 1))
            return ip_fail(err, IMGPAR_E_INTERRUPTED, "interrupted");
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

void ip_array_keep_value(imgpar_array *a, ip_value *value)
{
    pthread_mutex_lock(&a->lock);
    if (!a->value)
        a->value = ip_value_retain(value);
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
