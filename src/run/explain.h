/* SPDX-License-Identifier: MIT */
/* How arrays would be computed. */
#ifndef IP_RUN_EXPLAIN_H
#define IP_RUN_EXPLAIN_H

#include "base/status.h"

#include <stddef.h>

/* *out: of n >= 1 arrays, none an error, text for ip_free(). format as in imgpar_explain(), but "graph". */
imgpar_status ip_explain(imgpar_array *const *arrays, size_t n, const char *format, char **out, ip_error *err);

#endif
