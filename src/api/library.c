/* SPDX-License-Identifier: MIT */
/* Where the layers meet: the first context tells lower ones what upper ones do for them (graph/services.h). */
#include "graph/services.h"
#include "lang/constant.h"
#include "lang/written.h"
#include "run/context.h"
#include "run/kept.h"
#include "run/value.h"

static const ip_services services = {
    .retain_context = imgpar_context_retain,
    .release_context = imgpar_context_release,
    .check_context = ip_context_check,
    .max_pixels = ip_context_max_pixels,
    .next_file = ip_context_next_file,
    .pin_array = ip_kept_find,
    .retain_value = ip_value_retain,
    .forget_kept = ip_kept_forget,
    .release_value = ip_value_release,
    .expand_written = ip_written_expand,
    .apply = imgpar_apply_safe,
    .read_constant = ip_constant_numbers,
};

imgpar_status imgpar_context_new(const char *selector, imgpar_context **out)
{
    ip_services_register(&services);
    return ip_context_new(selector, out);
}
