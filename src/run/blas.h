/* SPDX-License-Identifier: MIT */
/*
 * Products of matrices by our own kernels or by CLBlast, whichever is faster on the device at hand. blas.c, Note
 * [Measuring], tells when that is measured and what is kept.
 *
 *     job.own = own_kernels;
 *     st = ip_blas_may(mode, device, &gemm) ? ip_blas_run(&job, err) : own_kernels(user, false, err);
 */
#ifndef IP_RUN_BLAS_H
#define IP_RUN_BLAS_H

#include "ir/opaque.h"
#include "io/io.h"
#include "run/device.h"

/* Who computes products: whoever is faster, our own kernels, CLBlast wherever our blocked kernel would be used. */
typedef enum ip_blas_mode { IP_BLAS_AUTO, IP_BLAS_OWN, IP_BLAS_CLBLAST } ip_blas_mode;

/* The mode of that name: "auto", "own", "clblast". */
bool ip_blas_find(const char *name, ip_blas_mode *mode);

/* Whether CLBlast takes part in computing it. */
bool ip_blas_may(ip_blas_mode mode, ip_device *device, const ip_gemm *gemm);
/* Of such a product: the bytes of device memory that CLBlast takes for itself, at most. */
uint64_t ip_blas_scratch_bytes(const ip_device *device, const ip_gemm *gemm);
/* Of such a product, for people: what computes it, or that this will be measured. */
void ip_blas_explain(ip_blas_mode mode, ip_device *device, const ip_gemm *gemm, char *text, size_t n);

/* A product to be computed. */
typedef struct ip_blas_job {
    ip_device *device;
    ip_blas_mode mode;
    const ip_poll *poll; /* its stop may be NULL */
    const ip_gemm *gemm;
    ip_buffer *a, *b, *c;
    /* Launches our own kernels; is_measured: all at once, without polls and reports. */
    imgpar_status (*own)(void *user, bool is_measured, ip_error *err);
    void *user;
    double *busy_ms; /* the time on the device is added where it is asked for (else NULL) */
} ip_blas_job;

/* Computes it; for gemms that ip_blas_may(). */
imgpar_status ip_blas_run(const ip_blas_job *job, ip_error *err);

#endif
