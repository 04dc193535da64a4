/* SPDX-License-Identifier: MIT */
/* Checked mode (compile/emit_check.c): the memory that a kernel tells its first failure in, and the message made of
 * it. */
#ifndef IP_RUN_CHECK_H
#define IP_RUN_CHECK_H

#include "compile/plan.h"
#include "run/device.h"

/* New memory for the launches of one kernel, nothing failed yet. */
imgpar_status ip_check_begin(ip_device *device, ip_buffer **out, ip_error *err);
/* Waits for the launches; IMGPAR_E_CHECK where one told a failure: kernel, operation, place, value. */
imgpar_status ip_check_end(ip_buffer *checks, const ip_kernel *kernel, ip_error *err);

#endif
