/* SPDX-License-Identifier: MIT */
/*
 * An error on its way to the user: a status and one sentence. Functions that
 * can fail return the status and fill the ip_error they were given. The first
 * failure is kept; later ones do not overwrite it.
 *
 *     if (sigma < 0) return ip_fail(err, IMGPAR_E_ARGUMENT, "blur: sigma=%g is below 0", sigma);
 */
#ifndef IP_BASE_STATUS_H
#define IP_BASE_STATUS_H

#include <imgpar.h>

typedef struct ip_error {
    imgpar_status status; /* IMGPAR_OK until something failed */
    char message[1024];
} ip_error;

/* Records a failure (unless one is recorded already) and returns status. err may be NULL.
 * Prints like printf, in the C locale. */
imgpar_status ip_fail(ip_error *err, imgpar_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* "out of host memory while <doing>". */
imgpar_status ip_fail_memory(ip_error *err, const char *doing);
/* "blur: out of host memory for 40000000000 bytes": of what an operation computes or reads. */
imgpar_status ip_fail_memory_for(ip_error *err, const char *op, uint64_t size_bytes);

#endif
