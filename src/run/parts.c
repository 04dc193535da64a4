/* SPDX-License-Identifier: MIT */
/*
 * Selectors of several devices, and devices in parts (clCreateSubDevices):
 *
 *     selector   all | term + term ...          every device that is listed; or these, each once
 *     term       device [ /division [ #k ] ]    part k alone, counted from 0
 *     division   n | units:units ...            n parts, as equal as can be; or parts of so many compute units
 *
 * A device is what a plain selector means, and where all of the text is part of a device's name, it is that device's.
 * First everything is read and checked; then parts are made, which is the first thing that must be undone on failure.
 */
#include "run/select.h"

#include "base/str.h"

#include <stdlib.h>
#include <string.h>

/* What a term means. */
typedef struct choice {
    size_t index;                  /* of the candidate */
    cl_uint units[IP_MAX_DEVICES]; /* compute units of each part */
    size_t n_parts;                /* 0: the whole device */
    size_t first, end;             /* the parts that are wanted */
    char division[24];             /* "2", as it was written */
} choice;

/* ---- reading ------------------------------------------------------------------------ */

static imgpar_status fail_division(const char *term, ip_error *err)
{
    return ip_fail(err, IMGPAR_E_ARGUMENT,
                   "device \"%s\": parts are written as cpu/2, cpu/1:3 or cpu/2#0, %d of them at most", term,
                   IP_MAX_DEVICES);
}

/* A number in decimal digits up to 1,000,000; *text goes behind it. */
static bool read_number(const char **text, unsigned long *n)
{
    char *end;
    if (**text < '0' || **text > '9') return false;
    *n = strtoul(*text, &end, 10);
    *text = end;
    return *n <= 1000000;
}

/* "2" or "1:3": *n numbers. */
static bool read_division(const char **text, unsigned long numbers[IP_MAX_DEVICES], size_t *n)
{
    *n = 0;
    do {
        if (*n == IP_MAX_DEVICES || !read_number(text, &numbers[*n]) || numbers[(*n)++] == 0) return false;
    } while (*(*text)++ == ':');
    --*text;
    return true;
}

/* As equal as can be: the first parts get what is left over. */
static void divide_equally(choice *c, cl_uint units)
{
    for (size_t k = 0; k < c->n_parts; k++)
        c->units[k] = units / (cl_uint)c->n_parts + (k < units % c->n_parts);
}

static imgpar_status read_parts(const ip_candidate *device, const char *term, const char *text, choice *c,
                                ip_error *err)
{
    const imgpar_device *info = &device->facts.info;
    unsigned long numbers[IP_MAX_DEVICES], part = 0;
    const char *end = text;
    if (!read_division(&end, numbers, &c->n_parts) || (size_t)(end - text) >= sizeof c->division)
        return fail_division(term, err);
    memcpy(c->division, text, (size_t)(end - text));
    bool counts = c->n_parts > 1;
    unsigned long wanted = 0;
    for (size_t k = 0; k < c->n_parts; k++)
        wanted += numbers[k];
    if (!counts && (numbers[0] < 2 || numbers[0] > IP_MAX_DEVICES)) return fail_division(term, err);
    if (info->max_parts < 2)
        return ip_fail(err, IMGPAR_E_UNSUPPORTED, "device \"%s\": %s (%s) cannot be divided", term, info->selector,
                       info->name);
    if (wanted > info->compute_units)
        return ip_fail(err, IMGPAR_E_ARGUMENT, "device \"%s\": %s (%s) has %u compute units", term, info->selector,
                       info->name, info->compute_units);
    if (!counts) c->n_parts = numbers[0];
    if (c->n_parts > info->max_parts)
        return ip_fail(err, IMGPAR_E_ARGUMENT, "device \"%s\": %s (%s) can be divided into %u parts", term,
                       info->selector, info->name, info->max_parts);
    if (counts) {
        for (size_t k = 0; k < c->n_parts; k++)
            c->units[k] = (cl_uint)numbers[k];
    } else {
        divide_equally(c, info->compute_units);
    }
    c->end = c->n_parts;
    if (*end == '#') {
        end++;
        if (!read_number(&end, &part) || part >= c->n_parts) return fail_division(term, err);
        c->first = part;
        c->end = part + 1;
    }
    return *end ? fail_division(term, err) : IMGPAR_OK;
}

static imgpar_status read_term(const ip_candidates *found, const char *term, choice *c, ip_error *err)
{
    *c = (choice){ .first = 0, .end = 1 };
    if (strcmp(term, "ref") == 0)
        return ip_fail(err, IMGPAR_E_ARGUMENT,
                       "device \"ref\": the reference interpreter computes alone, beside no other device");
    char *slash = strrchr(term, '/');
    imgpar_status st = ip_candidates_pick(found, term, &c->index, slash ? NULL : err);
    if (!st || !slash) return st;
    *slash = '\0';
    st = ip_candidates_pick(found, term, &c->index, err);
    *slash = '/';
    return st ? st : read_parts(&found->list[c->index], term, slash + 1, c, err);
}

static imgpar_status add_choice(const ip_candidates *found, choice *list, size_t *n, size_t *n_devices, ip_error *err)
{
    const choice *c = &list[*n];
    const imgpar_device *info = &found->list[c->index].facts.info;
    for (size_t k = 0; k < *n; k++)
        if (list[k].index == c->index)
            return ip_fail(err, IMGPAR_E_ARGUMENT, "device: %s (%s) is named twice", info->selector, info->name);
    *n_devices += c->end - c->first;
    ++*n;
    return *n_devices <= IP_MAX_DEVICES
               ? IMGPAR_OK
               : ip_fail(err, IMGPAR_E_LIMIT, "device: a context has %d devices at most", IP_MAX_DEVICES);
}

/* The terms between the plus signs of text, which is overwritten. */
static imgpar_status read_terms(const ip_candidates *found, char *text, choice *list, size_t *n, ip_error *err)
{
    size_t n_devices = 0;
    imgpar_status st = IMGPAR_OK;
    for (char *term = text, *next; !st && term; term = next) {
        next = strchr(term, '+');
        if (next) *next++ = '\0';
        if (*n == IP_MAX_DEVICES)
            return ip_fail(err, IMGPAR_E_LIMIT, "device: a context has %d devices at most", IP_MAX_DEVICES);
        if (!*term) return ip_fail(err, IMGPAR_E_ARGUMENT, "device: a device is missing beside a plus sign");
        st = read_term(found, term, &list[*n], err);
        if (!st) st = add_choice(found, list, n, &n_devices, err);
    }
    return st;
}

static imgpar_status read_selector(const ip_candidates *found, const char *selector, choice *list, size_t *n,
                                   ip_error *err)
{
    *n = 0;
    if (selector && strcmp(selector, "all") == 0 && found->n > 0) {
        for (; *n < found->n && *n < IP_MAX_DEVICES; ++*n)
            list[*n] = (choice){ .index = *n, .end = 1 };
        return IMGPAR_OK;
    }
    list[0] = (choice){ .end = 1 };
    bool is_plain = !selector || !strpbrk(selector, "+/");
    imgpar_status st = ip_candidates_pick(found, selector, &list[0].index, is_plain ? err : NULL);
    if (!st) *n = 1;
    if (!st || is_plain) return st;
    char *text = ip_strdup(selector);
    if (!text) return ip_fail_memory(err, "choosing a device");
    st = read_terms(found, text, list, n, err);
    ip_free(text);
    return st;
}

/* ---- making ------------------------------------------------------------------------- */

/* ids gets the parts, the caller's to be released. By counts, which always fits; equally where a device knows that
 * only. */
static imgpar_status divide(const ip_candidate *whole, const choice *c, cl_device_id ids[IP_MAX_DEVICES], ip_error *err)
{
    cl_device_partition_property how[IP_MAX_DEVICES + 3] = { CL_DEVICE_PARTITION_BY_COUNTS };
    cl_uint n = 0;
    for (size_t k = 0; k < c->n_parts; k++)
        how[1 + k] = (cl_device_partition_property)c->units[k];
    cl_int code = IP_CL(clCreateSubDevices(whole->id, how, IP_MAX_DEVICES, ids, &n));
    bool is_even = c->units[0] == c->units[c->n_parts - 1];
    if (code && code != IP_CL_INJECTED && is_even) {
        const cl_device_partition_property equally[] = { CL_DEVICE_PARTITION_EQUALLY,
                                                         (cl_device_partition_property)c->units[0], 0 };
        code = IP_CL(clCreateSubDevices(whole->id, equally, IP_MAX_DEVICES, ids, &n));
    }
    if (code) return ip_cl_fail(err, code, "clCreateSubDevices", whole->facts.info.name);
    if (n == c->n_parts) return IMGPAR_OK;
    return ip_fail(err, IMGPAR_E_NO_DEVICE, "%s was divided into %u parts, not %zu", whole->facts.info.name, n,
                   c->n_parts);
}

/* A candidate that owns the part id, also on failure. */
static imgpar_status add_part(const ip_candidate *whole, cl_device_id id, const choice *c, size_t part,
                              ip_selection *out, ip_error *err)
{
    ip_candidate *to = &out->list[out->n];
    *to = (ip_candidate){ .platform = whole->platform, .id = id, .is_part = true, .rank = whole->rank };
    imgpar_status st = ip_facts_read(whole->platform, id, &to->facts, err);
    if (st) {
        clReleaseDevice(id);
        return st;
    }
    ip_str selector = IP_STR_INIT;
    ip_str_printf(&selector, "%s/%s#%zu", whole->facts.info.selector, c->division, part);
    to->facts.info.selector = ip_str_take(&selector);
    to->facts.info.max_parts = 0;
    out->n++;
    return to->facts.info.selector ? IMGPAR_OK : ip_fail_memory(err, "choosing a device");
}

static imgpar_status add_parts(const ip_candidate *whole, const choice *c, ip_selection *out, ip_error *err)
{
    cl_device_id ids[IP_MAX_DEVICES] = { NULL };
    imgpar_status st = divide(whole, c, ids, err);
    for (size_t k = c->first; !st && k < c->end; k++) {
        st = add_part(whole, ids[k], c, k, out, err);
        ids[k] = NULL;
    }
    for (size_t k = 0; k < IP_MAX_DEVICES; k++)
        if (ids[k]) clReleaseDevice(ids[k]);
    return st;
}

/* A whole device: what is known of it changes owner. */
static void add_whole(ip_candidate *whole, ip_selection *out)
{
    out->list[out->n++] = *whole;
    whole->facts.info = (imgpar_device){ .kind = NULL };
}

imgpar_status ip_selection_make(ip_candidates *found, const char *selector, ip_selection *out, ip_error *err)
{
    choice list[IP_MAX_DEVICES];
    size_t n;
    out->n = 0;
    imgpar_status st = read_selector(found, selector, list, &n, err);
    for (size_t k = 0; !st && k < n; k++) {
        ip_candidate *whole = &found->list[list[k].index];
        if (list[k].n_parts > 0)
            st = add_parts(whole, &list[k], out, err);
        else
            add_whole(whole, out);
    }
    if (st) ip_selection_clear(out);
    return st;
}

void ip_selection_clear(ip_selection *s)
{
    for (size_t k = 0; k < s->n; k++) {
        if (s->list[k].is_part) clReleaseDevice(s->list[k].id);
        ip_device_info_clear(&s->list[k].facts.info);
    }
    s->n = 0;
}
