/* SPDX-License-Identifier: MIT */
/* Platforms and devices: lists, summaries, a choice by rule. */
#include "cl/cl.h"

#include "base/str.h"
#include "run/drivers.h"
#include "run/select.h"

#include <stdio.h>
#include <string.h>

enum { MAX_PLATFORMS = 64, TEXT_BYTES = 256, N_TEXTS = 3 };

/* A platform with its texts behind it, so that imgpar_free() of the list frees them too. */
typedef struct described {
    imgpar_cl_platform platform;
    char texts[N_TEXTS][TEXT_BYTES];
} described;

static imgpar_status describe(cl_platform_id id, described *out, ip_error *err)
{
    static const cl_platform_info infos[N_TEXTS] = { CL_PLATFORM_NAME, CL_PLATFORM_VENDOR, CL_PLATFORM_VERSION };
    cl_uint n = 0;
    for (int k = 0; k < N_TEXTS; k++) {
        char long_text[4 * TEXT_BYTES] = "";
        cl_int code = IP_CL(clGetPlatformInfo(id, infos[k], sizeof long_text - 1, long_text, NULL));
        if (code) return ip_cl_fail(err, code, "clGetPlatformInfo", NULL);
        snprintf(out->texts[k], TEXT_BYTES, "%.*s", TEXT_BYTES - 1, long_text);
    }
    cl_int code = IP_CL(clGetDeviceIDs(id, CL_DEVICE_TYPE_ALL, 0, NULL, &n));
    if (code && code != CL_DEVICE_NOT_FOUND) return ip_cl_fail(err, code, "clGetDeviceIDs", out->texts[0]);
    out->platform = (imgpar_cl_platform){
        .name = out->texts[0], .vendor = out->texts[1], .version = out->texts[2], .n_devices = n
    };
    return IMGPAR_OK;
}

static imgpar_status list_platforms(imgpar_cl_platform ***out, size_t *n, ip_error *err)
{
    cl_platform_id ids[MAX_PLATFORMS];
    cl_uint found = 0;
    ip_drivers_prepare();
    cl_int code = IP_CL(clGetPlatformIDs(MAX_PLATFORMS, ids, &found));
    if (code && code != IP_CL_PLATFORM_NOT_FOUND) return ip_cl_fail(err, code, "clGetPlatformIDs", NULL);
    if (code) found = 0;
    if (found > MAX_PLATFORMS) found = MAX_PLATFORMS;
    imgpar_cl_platform **list = ip_list_new(found, sizeof(described));
    if (!list) return ip_fail_memory(err, "listing platforms");
    for (cl_uint k = 0; k < found; k++) {
        imgpar_status st = describe(ids[k], (described *)list[k], err);
        if (st) {
            ip_free(list);
            return st;
        }
    }
    *out = list;
    *n = found;
    return IMGPAR_OK;
}

imgpar_status imgpar_cl_platform_list(imgpar_cl_platform ***out, size_t *n)
{
    ip_error err = { .status = IMGPAR_OK };
    if (!out || !n) {
        ip_cl_null(&err, "platform_list", out ? "n" : "out");
        return ip_cl_say(&err);
    }
    *out = NULL;
    *n = 0;
    if (ip_drivers_are_of_the_parent()) {
        ip_fail(&err, IMGPAR_E_NO_DEVICE,
                "platform_list: this process was forked from one that had loaded an OpenCL driver");
        return ip_cl_say(&err);
    }
    ip_drivers_lock();
    list_platforms(out, n, &err);
    ip_drivers_unlock();
    return ip_cl_say(&err);
}

/* ---- devices ------------------------------------------------------------------------------- */

/* Leaves the devices of one kind in the list. */
static size_t keep_kind(imgpar_device **list, size_t n, const char *kind)
{
    size_t kept = 0;
    for (size_t k = 0; k < n; k++) {
        if (strcmp(list[k]->kind, kind) == 0)
            list[kept++] = list[k];
        else
            ip_device_info_clear(list[k]);
    }
    return kept;
}

static bool is_kind(const char *kind)
{
    for (ip_device_class k = IP_DEVICE_CPU; k < IP_DEVICE_REF; k++)
        if (strcmp(kind, ip_device_class_name(k)) == 0) return true;
    return false;
}

imgpar_status imgpar_cl_device_list(const char *kind, imgpar_device ***out, size_t *n)
{
    ip_error err = { .status = IMGPAR_OK };
    if (!out || !n) {
        ip_cl_null(&err, "device_list", out ? "n" : "out");
        return ip_cl_say(&err);
    }
    *out = NULL;
    *n = 0;
    if (kind && !is_kind(kind))
        ip_fail(&err, IMGPAR_E_ARGUMENT, "device_list: kind=\"%s\" is none of cpu, gpu, accelerator", kind);
    else if (!ip_device_enumerate(out, n, &err) && kind)
        *n = keep_kind(*out, *n, kind);
    return ip_cl_say(&err);
}

size_t imgpar_cl_device_summary(const imgpar_device *d, char *buf, size_t n)
{
    if (!d) return (size_t)snprintf(buf, n, "no device");
    return (size_t)snprintf(
        buf, n,
        "%s (%s)\n  vendor        %s, %#x\n  platform      %s\n  version       %s, driver %s\n"
        "  compute units %u at up to %u MHz, %u-bit addresses, %s-endian%s%s\n"
        "  work-groups   of up to %zu, [%zu %zu %zu]\n"
        "  memory        %llu MiB, buffers of up to %llu MiB%s%s\n  local memory  %llu KiB\n"
        "  constant      %llu KiB, %u arguments; all arguments %zu bytes\n"
        "  alignment     %u bytes of buffers, %u of types\n  timer         %zu ns\n"
        "  has           %s%s%s\n  extensions    %s\n",
        d->name, d->selector, d->vendor, d->vendor_id, d->platform, d->version, d->driver, d->compute_units,
        d->clock_mhz, d->address_bits, d->is_little_endian ? "little" : "big", d->is_available ? "" : ", not available",
        d->has_compiler ? "" : ", without a compiler", d->max_work_group, d->max_work_items[0], d->max_work_items[1],
        d->max_work_items[2], (unsigned long long)(d->global_bytes >> 20),
        (unsigned long long)(d->max_alloc_bytes >> 20), d->has_unified_memory ? ", shared with the host" : "",
        d->has_error_correction ? ", with error correction" : "", (unsigned long long)(d->local_bytes >> 10),
        (unsigned long long)(d->constant_bytes >> 10), d->max_constant_args, d->max_parameter_bytes,
        d->buffer_align_bytes, d->type_align_bytes, d->timer_resolution_ns, d->has_f64 ? "f64 " : "",
        d->has_f16 ? "f16 " : "", d->has_images ? "images" : "", d->extensions);
}

static const imgpar_device *best_of(imgpar_device *const *list, size_t n,
                                    double (*score)(void *, const imgpar_device *), void *user)
{
    const imgpar_device *best = NULL;
    double most = 0;
    for (size_t k = 0; k < n; k++) {
        double s = score(user, list[k]);
        if (!(s >= 0) || (best && s <= most)) continue;
        best = list[k];
        most = s;
    }
    return best;
}

imgpar_status imgpar_cl_context_choose(double (*score)(void *user, const imgpar_device *device), void *user,
                                       imgpar_context **out)
{
    ip_error err = { .status = IMGPAR_OK };
    imgpar_device **list = NULL;
    size_t n = 0;
    if (!out || !score) {
        ip_cl_null(&err, "context_choose", out ? "score" : "out");
        return ip_cl_say(&err);
    }
    *out = NULL;
    imgpar_status st = imgpar_cl_device_list(NULL, &list, &n);
    if (st) return st;
    const imgpar_device *best = best_of(list, n, score, user);
    if (!best)
        ip_fail(&err, IMGPAR_E_NO_DEVICE, "context_choose: none of %zu devices has a score of 0 or more", n);
    else if ((st = imgpar_context_new(best->selector, out))) {
        char why[sizeof err.message];
        imgpar_context_new_error(why, sizeof why);
        ip_fail(&err, st, "%s", why);
    }
    imgpar_device_list_release(list, n);
    return ip_cl_say(&err);
}
