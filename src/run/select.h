/* SPDX-License-Identifier: MIT */
/*
 * Which devices there are, what each is like, and which one a selector means.
 * Internal to the device layer.
 */
#ifndef IP_RUN_SELECT_H
#define IP_RUN_SELECT_H

#include "run/clcheck.h"
#include "run/device.h"

typedef struct ip_candidate {
    cl_platform_id platform;
    cl_device_id id;
    bool is_part;          /* of a device: id is to be released */
    int rank;              /* the smaller the better */
    ip_device_facts facts; /* info's strings are owned here, kind apart */
} ip_candidate;

/* All usable devices, best first. */
typedef struct ip_candidates {
    ip_candidate *list;
    size_t n;
    ip_error why_not; /* the first thing that kept a device out; status OK: nothing did */
} ip_candidates;

/* One thread at a time may make drivers list, open or close devices: PoCL sets its devices up on first use without
 * a lock, and crashes where two threads are first. The lock is the process's, and a thread that holds it may take it
 * again: a failed opening closes devices. */
void ip_drivers_lock(void);
void ip_drivers_unlock(void);

/* Fills *out, which is new for ip_candidates_clear(). No platform or device is not a failure: n is 0. The caller holds
 * the drivers' lock. */
imgpar_status ip_candidates_find(ip_candidates *out, ip_error *err);
void ip_candidates_clear(ip_candidates *found);

/* The candidate that selector means ("cpu", "gpu:1", part of a name; NULL or "": the best), or E_NO_DEVICE. */
imgpar_status ip_candidates_pick(const ip_candidates *found, const char *selector, size_t *index, ip_error *err);

/* ---- parts.c ------------------------------------------------------------------ */

/* The devices that a selector means, parts of devices among them. */
typedef struct ip_selection {
    ip_candidate list[IP_MAX_DEVICES];
    size_t n;
} ip_selection;

/* Fills *out, to be cleared by ip_selection_clear(); what whole devices found knows goes over to it. The grammar of
 * selectors is at the head of parts.c. The caller holds the drivers' lock. */
imgpar_status ip_selection_make(ip_candidates *found, const char *selector, ip_selection *out, ip_error *err);
void ip_selection_clear(ip_selection *selection);

/* ---- facts.c ------------------------------------------------------------------ */

/* Reads what there is to know of a device. On failure facts holds nothing to be freed. */
imgpar_status ip_facts_read(cl_platform_id platform, cl_device_id id, ip_device_facts *facts, ip_error *err);
/* Whether our kernels can run on it; else why not, as "no OpenCL C compiler". NULL: they can. */
const char *ip_facts_unusable(cl_device_id id, const ip_device_facts *facts);
/* The order of devices: the smaller the better. */
int ip_facts_rank(const ip_device_facts *facts);
/* "cpu", "gpu", "accelerator". */
const char *ip_device_class_name(ip_device_class kind);
/* Whether part occurs in text, letters of either case being equal. */
bool ip_text_has(const char *text, const char *part);

#endif
