/* SPDX-License-Identifier: MIT */
/* One evaluation on several devices. */
#ifndef IP_RUN_SHARE_H
#define IP_RUN_SHARE_H

#include "base/str.h"
#include "run/evaluation.h"

/* Computes the request with the devices of the context, which has several; values as in ip_evaluation_run(). */
imgpar_status ip_share(imgpar_context *ctx, const ip_request *request, ip_value **values, ip_error *err);
/* Says in a line how ip_share() would do it, if nothing else ran. */
imgpar_status ip_share_explain(imgpar_context *ctx, const ip_request *request, ip_str *out, ip_error *err);

#endif
