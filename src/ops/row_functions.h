/* SPDX-License-Identifier: MIT */
/* Declares the functions that the rows of ops.def name: ip_infer_* and ip_stages_*. */
#ifndef IP_OPS_ROW_FUNCTIONS_H
#define IP_OPS_ROW_FUNCTIONS_H

#include "graph/op.h"

#define OP(NAME, ALIASES, CATEGORY, FLAGS, VARIANT, INFER, STAGES, ...) \
    imgpar_status INFER(imgpar_array *node, ip_error *err);             \
    struct ip_stage *STAGES(struct ip_lower *l);
#define FUNC(NAME, SYMBOL, CATEGORY, FLAGS, VARIANT, INFER, STAGES, ...) \
    imgpar_status INFER(imgpar_array *node, ip_error *err);              \
    struct ip_stage *STAGES(struct ip_lower *l);
#define LEAF(NAME, CATEGORY, FLAGS, INFER, ...) imgpar_status INFER(imgpar_array *node, ip_error *err);
#define DERIVED(NAME, ALIASES, CATEGORY, VARIANT, INFER, EXPAND, ...) \
    imgpar_status INFER(imgpar_array *node, ip_error *err);           \
    imgpar_array *EXPAND(const imgpar_array *call);
#define DERIVED_ALONG(NAME, ALIASES, CATEGORY, FLAGS, INFER, EXPAND, ...) \
    DERIVED(NAME, ALIASES, CATEGORY, 0, INFER, EXPAND, __VA_ARGS__)
#define DERIVED_FUNC(NAME, INFER, EXPAND, ...) DERIVED(NAME, "", "function", 0, INFER, EXPAND, __VA_ARGS__)
#include "ops/ops.def"
#undef OP
#undef FUNC
#undef LEAF
#undef DERIVED
#undef DERIVED_ALONG
#undef DERIVED_FUNC

#endif
