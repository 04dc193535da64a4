/* SPDX-License-Identifier: MIT */
/* Images for kernels of the texture schedule, made of buffers on the device (shaders/texture.cl). */
#ifndef IP_RUN_TEXTURE_H
#define IP_RUN_TEXTURE_H

#include "run/launch.h"

/* A new image of what binding holds of the texture's stage. Its time on the device is added to *busy_ms unless NULL. */
imgpar_status ip_texture_make(const ip_runner *runner, const ip_texture *texture, const ip_binding *binding,
                              ip_buffer **image, double *busy_ms, ip_error *err);

#endif
