/* SPDX-License-Identifier: MIT */
#include "ir/opaque.h"

#include "base/integers.h"

void ip_opaque_set_params(ip_opaque_launch *out, const int *params, int n)
{
    out->n_params = n;
    for (int k = 1; k < n; k++)
        out->params[k] = params[k];
}

void ip_opaque_set_items(ip_opaque_launch *out, int64_t items, int64_t group)
{
    out->local[0] = out->global[0] = (size_t)group;
    out->global[1] = 1;
    out->global[2] = (size_t)ip_ceil_div(items, group);
}
