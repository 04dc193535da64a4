/* SPDX-License-Identifier: MIT */
/* Running the hand-written kernels of an opaque stage: the launches that its description (ir/opaque.h) lists. */
#ifndef IP_RUN_OPAQUE_H
#define IP_RUN_OPAQUE_H

#include "ir/opaque.h"
#include "run/launch.h"

/* As ip_kernel_run(); region is as its `widen` made it (compile/bounds.c). */
imgpar_status ip_opaque_run(const ip_runner *runner, const ip_plan *plan, const ip_kernel *kernel,
                            const ip_binding *bindings, const ip_region *region, ip_error *err);
/* Bytes of scratch memory that it takes where the inputs' buffers hold what it reads; 0 for other kernels. */
uint64_t ip_opaque_scratch_bytes(const ip_runner *runner, const ip_kernel *kernel, const ip_region *region);
/* Tells in kernel->library what imgpar_explain() says of a library; nothing for other kernels. device NULL: ref
 * computes. */
void ip_opaque_explain(ip_blas_mode mode, ip_device *device, ip_kernel *kernel);

#endif
