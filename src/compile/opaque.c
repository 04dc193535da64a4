/* SPDX-License-Identifier: MIT */
/* Kernels of opaque stages: nothing is generated, the plan holds what the description of ir/opaque.h says. */
#include "base/alloc.h"
#include "base/dtype.h"
#include "compile/passes.h"
#include "ir/opaque.h"

#include <stdio.h>

const ip_opaque *ip_kernel_opaque(const ip_kernel *kernel) { return kernel->outputs[0]->opaque; }

void ip_opaque_demand(const ip_opaque *o, const ip_stage *input, const ip_region *region, ip_region *needed)
{
    bool any = false;
    for (int k = 0; k < o->n_inputs; k++) {
        if (o->inputs[k] != input) continue;
        ip_region one;
        o->kind->reads(o, k, region, &one);
        if (any) /* an input read twice differently */
            one = ip_stage_region(input);
        *needed = one;
        any = true;
    }
}

/* The text that tells the shader what it is made for; the shader itself is run/'s to add. */
static char *source_of(const ip_kernel *k, const ip_opaque *o)
{
    ip_str s = IP_STR_INIT;
    ip_str_printf(&s, "/* %s%s%s%s%s%s */\n%s", k->ops, o->kind->shader ? "; shaders/" : "",
                  o->kind->shader ? o->kind->shader : "", o->kind->shader ? ".cl" : "", o->variant ? ", " : "",
                  o->variant ? o->variant : "", o->defines);
    return ip_str_take(&s);
}

void ip_emit_opaque(ip_plan *plan, ip_kernel *k)
{
    const ip_opaque *o = ip_kernel_opaque(k);
    k->source = source_of(k, o);
    plan->ir->failed |= !k->source;
    snprintf(k->name, sizeof k->name, "%s_%s%s%s", o->kind->name, ip_dtype(o->dtype)->name, o->variant ? "_" : "",
             o->variant ? o->variant : "");
}
