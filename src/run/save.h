/* SPDX-License-Identifier: MIT */
/* Whether an array can be saved, known without computing it. */
#ifndef IP_RUN_SAVE_H
#define IP_RUN_SAVE_H

#include "graph/array.h"
#include "io/io.h"

/* The format that a would be saved in (path NULL: options->format is required), or why it cannot be: the format,
 * the settings, the shape, the room where path is. */
imgpar_status ip_check_save(const imgpar_array *a, const char *path, const imgpar_options *options, ip_format *format,
                            ip_error *err);

#endif
