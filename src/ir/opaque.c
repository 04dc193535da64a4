/* SPDX-License-Identifier: MIT */
/* What many descriptions of opaque stages have in common: demand of what is made whole, and numbers of work-items. */
#include "ir/opaque.h"

#include "base/integers.h"

void ip_opaque_widen_all(const ip_opaque *o, ip_region *result)
{
    *result = (ip_region){ 0, o->dims[0], 0, o->dims[1], 0, o->dims[2] };
}

void ip_opaque_read_all(const ip_opaque *o, int input, const ip_region *result, ip_region *needed)
{
    (void)result;
    *needed = ip_stage_region(o->inputs[input]);
}

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
