/* SPDX-License-Identifier: MIT */
/* Recording of failures, the names of statuses, the version. */
#if defined(HAVE_CONFIG_H)
#include <config.h>
#endif

#include "base/status.h"
#include "base/str.h"

#include <stdarg.h>
#include <stddef.h>

#ifndef PACKAGE_VERSION
#define PACKAGE_VERSION "0.0.0"
#endif

static const char *const status_names[] = {
    [IMGPAR_OK] = "ok",
    [IMGPAR_E_ARGUMENT] = "bad argument",
    [IMGPAR_E_SHAPE] = "shape mismatch",
    [IMGPAR_E_UNSUPPORTED] = "unsupported",
    [IMGPAR_E_IO] = "input or output failed",
    [IMGPAR_E_CORRUPT] = "corrupt data",
    [IMGPAR_E_LIMIT] = "limit exceeded",
    [IMGPAR_E_HOST_MEMORY] = "out of host memory",
    [IMGPAR_E_DEVICE_MEMORY] = "out of device memory",
    [IMGPAR_E_NO_DEVICE] = "no device",
    [IMGPAR_E_COMPILE] = "kernel compilation failed",
    [IMGPAR_E_DEVICE_LOST] = "device lost",
    [IMGPAR_E_INTERRUPTED] = "interrupted",
    [IMGPAR_E_SYNTAX] = "syntax error",
    [IMGPAR_E_INTERNAL] = "internal error",
    [IMGPAR_E_CHECK] = "a check failed",
};

IMGPAR_API const char *imgpar_status_name(imgpar_status status)
{
    size_t i = (size_t)status;
    return i < sizeof status_names / sizeof *status_names ? status_names[i] : "unknown status";
}

IMGPAR_API const char *imgpar_version(void) { return PACKAGE_VERSION; }

imgpar_status ip_fail(ip_error *err, imgpar_status status, const char *format, ...)
{
    if (!err || err->status != IMGPAR_OK) return status;
    va_list args;
    va_start(args, format);
    ip_vsnprintf(err->message, sizeof err->message, format, args);
    va_end(args);
    err->status = status;
    return status;
}

imgpar_status ip_fail_memory(ip_error *err, const char *doing)
{
    return ip_fail(err, IMGPAR_E_HOST_MEMORY, "out of host memory while %s", doing);
}

imgpar_status ip_fail_memory_for(ip_error *err, const char *op, uint64_t size_bytes)
{
    return ip_fail(err, IMGPAR_E_HOST_MEMORY, "%s: out of host memory for %llu bytes", op,
                   (unsigned long long)size_bytes);
}
