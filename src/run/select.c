/* SPDX-License-Identifier: MIT */
/*
 * Listing devices and choosing one. A platform or device that fails while it is
 * asked is left out and does not spoil the others; the first such reason is kept,
 * to be told when nothing is left.
 */
#include "run/select.h"

#include "base/str.h"
#include "base/structs.h"
#include "run/drivers.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_PLATFORMS = 64, MAX_DEVICES = 64 };

void ip_device_info_clear(imgpar_device *info)
{
    const char **owned[] = { &info->selector, &info->name,   &info->platform,  &info->version,
                             &info->driver,   &info->vendor, &info->extensions };
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) {
        ip_free((void *)*owned[i]);
        *owned[i] = NULL;
    }
}

void ip_candidates_clear(ip_candidates *found)
{
    for (size_t i = 0; i < found->n; i++)
        ip_device_info_clear(&found->list[i].facts.info);
    ip_free(found->list);
    *found = (ip_candidates){ .list = NULL };
}

/* Adds a device if it is usable. Only lack of memory is a failure. */
static imgpar_status add_device(ip_candidates *found, cl_platform_id platform, cl_device_id id, ip_error *err)
{
    ip_candidate c = { .platform = platform, .id = id };
    ip_error reason = { .status = IMGPAR_OK };
    imgpar_status st = ip_facts_read(platform, id, &c.facts, &reason);
    if (st) {
        ip_fail(&found->why_not, st, "%s", reason.message);
        return st == IMGPAR_E_HOST_MEMORY ? ip_fail(err, st, "%s", reason.message) : IMGPAR_OK;
    }
    const char *unusable = ip_facts_unusable(id, &c.facts);
    if (unusable) {
        ip_fail(&found->why_not, IMGPAR_E_NO_DEVICE, "%s is %s", c.facts.info.name, unusable);
        ip_device_info_clear(&c.facts.info);
        return IMGPAR_OK;
    }
    ip_candidate *list = ip_realloc_array(found->list, found->n + 1, sizeof *list);
    if (!list) {
        ip_device_info_clear(&c.facts.info);
        return ip_fail_memory(err, "listing devices");
    }
    c.rank = ip_facts_rank(&c.facts);
    found->list = list;
    found->list[found->n++] = c;
    return IMGPAR_OK;
}

static imgpar_status add_platform(ip_candidates *found, cl_platform_id platform, ip_error *err)
{
    cl_device_id ids[MAX_DEVICES];
    cl_uint n = 0;
    cl_int code = IP_CL(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, MAX_DEVICES, ids, &n));
    if (code) {
        ip_cl_fail(&found->why_not, code, "clGetDeviceIDs", NULL);
        return IMGPAR_OK;
    }
    for (cl_uint i = 0; i < n && i < MAX_DEVICES; i++) {
        imgpar_status st = add_device(found, platform, ids[i], err);
        if (st) return st;
    }
    return IMGPAR_OK;
}

/* Best first; the platforms' own order among equals. */
static void sort_by_rank(ip_candidates *found)
{
    for (size_t i = 1; i < found->n; i++) {
        ip_candidate c = found->list[i];
        size_t k = i;
        for (; k > 0 && found->list[k - 1].rank > c.rank; k--)
            found->list[k] = found->list[k - 1];
        found->list[k] = c;
    }
}

/* Selectors count within a class: "gpu", "gpu:1", ... */
static imgpar_status name_selectors(ip_candidates *found, ip_error *err)
{
    unsigned seen[IP_DEVICE_REF + 1] = { 0 };
    for (size_t i = 0; i < found->n; i++) {
        ip_device_facts *facts = &found->list[i].facts;
        unsigned nth = seen[facts->kind]++;
        char text[32];
        if (nth == 0)
            snprintf(text, sizeof text, "%s", facts->info.kind);
        else
            snprintf(text, sizeof text, "%s:%u", facts->info.kind, nth);
        facts->info.selector = ip_strdup(text);
        if (!facts->info.selector) return ip_fail_memory(err, "listing devices");
    }
    return IMGPAR_OK;
}

/* The drivers are the process's, not a context's, so this lock is too. */
static pthread_mutex_t drivers = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP; /* a failed opening closes */

void ip_drivers_lock(void) { pthread_mutex_lock(&drivers); }
void ip_drivers_unlock(void) { pthread_mutex_unlock(&drivers); }

imgpar_status ip_candidates_find(ip_candidates *out, ip_error *err)
{
    cl_platform_id platforms[MAX_PLATFORMS];
    cl_uint n = 0;
    imgpar_status st = IMGPAR_OK;
    *out = (ip_candidates){ .list = NULL };
    ip_drivers_prepare();

    cl_int code = IP_CL(clGetPlatformIDs(MAX_PLATFORMS, platforms, &n));
    if (code == IP_CL_PLATFORM_NOT_FOUND) return IMGPAR_OK;
    if (code) return ip_cl_fail(err, code, "clGetPlatformIDs", NULL);
    for (cl_uint i = 0; i < n && i < MAX_PLATFORMS && !st; i++)
        st = add_platform(out, platforms[i], err);
    sort_by_rank(out);
    if (!st) st = name_selectors(out, err);
    if (st) ip_candidates_clear(out);
    return st;
}

/* ---- choosing ------------------------------------------------------------------- */

/* "gpu" or "gpu:1": true, the class's name has *length letters and *nth is the number. */
static bool parse_class(const char *selector, ip_device_class *kind, unsigned *nth)
{
    for (ip_device_class k = IP_DEVICE_CPU; k < IP_DEVICE_REF; k++) {
        const char *name = ip_device_class_name(k);
        size_t n = strlen(name);
        if (strncmp(selector, name, n) != 0) continue;
        char *end = (char *)selector + n;
        unsigned long number = 0;
        if (*end == ':' && end[1] >= '0' && end[1] <= '9') number = strtoul(end + 1, &end, 10);
        if (*end != '\0') continue;
        *kind = k;
        *nth = number > 1000000 ? 1000000 : (unsigned)number;
        return true;
    }
    return false;
}

/* "cpu (NAME), gpu (NAME)", or why there is none. */
static void describe(const ip_candidates *found, ip_str *text)
{
    char *complaint = found->n > 0 ? NULL : ip_drivers_complaint();
    if (found->n > 0)
        ip_str_append(text, "there are: ");
    else if (complaint)
        ip_str_printf(text, "there is no OpenCL device (%s)", complaint);
    else if (found->why_not.status)
        ip_str_printf(text, "there is no usable OpenCL device (%s)", found->why_not.message);
    else
        ip_str_append(text, "there is no OpenCL device");
    for (size_t i = 0; i < found->n; i++) {
        const imgpar_device *info = &found->list[i].facts.info;
        ip_str_printf(text, "%s%s (%s)", i ? ", " : "", info->selector, info->name);
    }
    ip_free(complaint);
}

imgpar_status ip_candidates_pick(const ip_candidates *found, const char *selector, size_t *index, ip_error *err)
{
    ip_device_class kind = IP_DEVICE_CPU;
    unsigned nth = 0;
    bool any = !selector || !*selector;
    bool is_class = !any && parse_class(selector, &kind, &nth);
    for (size_t i = 0; i < found->n; i++) {
        const ip_device_facts *facts = &found->list[i].facts;
        bool fits =
            any || (is_class ? facts->kind == kind && nth-- == 0
                             : ip_text_has(facts->info.name, selector) || ip_text_has(facts->info.platform, selector));
        if (!fits) continue;
        *index = i;
        return IMGPAR_OK;
    }
    ip_str there = IP_STR_INIT;
    describe(found, &there);
    if (any)
        ip_fail(err, IMGPAR_E_NO_DEVICE, "%s", ip_str_text(&there));
    else
        ip_fail(err, IMGPAR_E_NO_DEVICE, "device \"%s\": no such device; %s", selector, ip_str_text(&there));
    ip_str_free(&there);
    return IMGPAR_E_NO_DEVICE;
}

imgpar_status ip_device_enumerate(imgpar_device ***out, size_t *n, ip_error *err)
{
    ip_candidates found = { .n = 0 };
    *out = NULL;
    *n = 0;
    imgpar_status st = IMGPAR_OK;
    if (!ip_drivers_are_of_the_parent()) {
        ip_drivers_lock();
        st = ip_candidates_find(&found, err);
        ip_drivers_unlock();
    }
    if (st) return st;
    imgpar_device **list = ip_list_new(found.n + 1, sizeof **list);
    if (!list) {
        ip_candidates_clear(&found);
        return ip_fail_memory(err, "listing devices");
    }
    *n = found.n;
    for (size_t i = 0; i < found.n; i++) /* the strings change owner */
        *list[i] = found.list[i].facts.info;
    found.n = 0;
    ip_candidates_clear(&found);
    *out = list;
    return IMGPAR_OK;
}
