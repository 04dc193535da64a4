/* SPDX-License-Identifier: MIT */
/*
 * The pixels of an array once they exist: in host memory, on the device, or both. Tightly packed,
 * row-major. Shared by reference count; immutable once made.
 */
#ifndef IP_RUN_VALUE_H
#define IP_RUN_VALUE_H

#include "graph/array.h"
#include "run/device.h"

typedef struct ip_value {
    atomic_int refs;
    size_t size_bytes;
    void *host;                            /* NULL: only on the device */
    bool is_host_borrowed;                 /* belongs to source */
    ip_source *source;                     /* that host belongs to; buffers around that memory hold it too */
    pthread_mutex_t lock;                  /* guards the buffers while they are being uploaded */
    ip_buffer *buffer;                     /* NULL: only in host memory */
    ip_buffer *others[IP_MAX_DEVICES - 1]; /* the same elements on further devices of the context */
    int n_others;
    ip_account *account; /* which host counts in; NULL: in none, or the source does */
} ip_value;

ip_value *ip_value_retain(ip_value *value);
void ip_value_release(ip_value *value); /* NULL is legal */
/* The value that the array keeps, retained; NULL: none. */
ip_value *ip_array_pin(imgpar_array *a);
/* Whether it keeps one at this moment. */
bool ip_array_has_value(imgpar_array *a);

/* Takes host (from ip_alloc) or buffer; NULL without memory (both are released then). */
ip_value *ip_value_of_host(void *takes_host, size_t size_bytes);
/* The same of memory that was taken from account, which may be NULL: it is given back with the memory. */
ip_value *ip_value_of_counted(void *takes_host, size_t size_bytes, ip_account *account);
ip_value *ip_value_of_buffer(ip_buffer *takes_buffer, size_t size_bytes);
/* Borrows the elements of a PIXELS source and retains it. */
ip_value *ip_value_of_source(ip_source *source);

bool ip_value_is_on_device(ip_value *value, const ip_device *device);
/* Gives up the copy on the device where host memory has it too. */
void ip_value_leave_device(ip_value *value, const ip_device *device);
/* The value in device memory: where it stands if the device shares it, else uploaded if needed, from another device if
 * only that has it; *buffer is a new reference. */
imgpar_status ip_value_on_device(ip_value *value, ip_device *device, ip_buffer **buffer, ip_error *err);
/* The device that alone has the value, in memory that it shares with nobody; NULL: there is no such one. */
const ip_device *ip_value_home(ip_value *value);
/* A value whose elements are in memory of somebody else, who outlives it. NULL without memory. */
ip_value *ip_value_of_borrowed(void *host, size_t size_bytes);
/* Waits until the elements are there: those that a step of a loop made may still be on their way. */
imgpar_status ip_value_wait(ip_value *value, ip_error *err);
/* Copies elements to dst, which has room for size_bytes. */
imgpar_status ip_value_read(ip_value *value, void *dst, ip_error *err);
/* The one element of a value of that dtype, which is real. */
imgpar_status ip_value_read_number(ip_value *value, imgpar_dtype dtype, double *number, ip_error *err);
/* The same in pieces, poll (its stop may be NULL) being asked after each. */
imgpar_status ip_value_read_polled(ip_value *value, void *dst, const ip_poll *poll, ip_error *err);
/* Keeps value with a as long as a has handles; a value kept already stays. */
void ip_array_keep_value(imgpar_array *a, ip_value *value);
/* Lets a have value as long as evaluations rely on it (n_users), handles or not. */
void ip_array_lend_value(imgpar_array *a, ip_value *value);

#endif
