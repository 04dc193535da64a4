/* SPDX-License-Identifier: MIT */
/*
 * CLBlast, where configure found it: products of matrices on a device's buffers. What is chosen between it and our own
 * kernels stands in blas.h; this is the library and nothing else.
 *
 * The library is loaded when it is first asked for: linked, it would cost each process that has libimgpar 2.5 ms and
 * the memory of 4.5 MB of tables and C++, for products that few of them make.
 */
#ifndef IP_RUN_CLBLAST_H
#define IP_RUN_CLBLAST_H

#include "run/device.h"

/* CLBlast at work on one device. May be used from several threads. */
typedef struct ip_clblast ip_clblast;

/* count products of an m x k with a k x n matrix, row-major, tightly packed: c[i] = a[i] b[i]. Places are in
 * elements. */
typedef struct ip_clblast_product {
    imgpar_dtype dtype;    /* f32 or f64 */
    size_t m, n, k, count; /* none is 0 */
    ip_buffer *a, *b, *c;
    size_t a_first, b_first, c_first;
    size_t a_next, b_next, c_next; /* from a matrix to the next; 0 repeats it, for a and b */
} ip_clblast_product;

/* Whether it was built in and can be loaded. */
bool ip_clblast_is_there(void);
/* IMGPAR_E_UNSUPPORTED where it is not there. It borrows the device. */
imgpar_status ip_clblast_open(ip_device *device, ip_clblast **out, ip_error *err);
void ip_clblast_close(ip_clblast *clblast); /* NULL is legal */
/* Has CLBlast compile what products of a dtype take, singly or in batches, if it has not. */
imgpar_status ip_clblast_prepare(ip_clblast *clblast, imgpar_dtype dtype, bool is_batch, ip_error *err);
/* Enqueues the product, prepared or not, to run after the commands that its buffers need. What CLBlast refuses is
 * IMGPAR_E_UNSUPPORTED. */
imgpar_status ip_clblast_multiply(ip_clblast *clblast, const ip_clblast_product *product, ip_error *err);
/* Bytes of device memory that it takes for itself meanwhile, at most. */
uint64_t ip_clblast_scratch_bytes(imgpar_dtype dtype, uint64_t m, uint64_t n, uint64_t k, uint64_t count);

#endif
