/* SPDX-License-Identifier: MIT */
/* Error diffusion: what its lowering (stages_diffusion.c) and its computation on the host (reference_diffusion.c)
 * share. */
#ifndef IP_OPS_DIFFUSION_H
#define IP_OPS_DIFFUSION_H

#include "ir/opaque.h"

/* What stands in ip_opaque.sizes. KERNEL as the parameter numbers them. TONES: how many equal steps a channel has; 0:
 * colours are those of input 1, [1, COLOURS, channels, 1], in the dtype of input 0. ip_opaque.user is the node, whose
 * type tells what white is. */
enum { IP_DIFFUSION_KERNEL, IP_DIFFUSION_SERPENTINE, IP_DIFFUSION_TONES, IP_DIFFUSION_COLOURS };

imgpar_status ip_diffusion_compute(const ip_opaque *opaque, const void *const *in, void *out, ip_opaque_ask ask,
                                   void *user);

#endif
