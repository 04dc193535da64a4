/* SPDX-License-Identifier: MIT */
/* What is done for OpenCL drivers before they are first called. */
#ifndef IP_RUN_DRIVERS_H
#define IP_RUN_DRIVERS_H

#include <stdbool.h>

/*
 * Prepares the process's environment for OpenCL drivers; call before the first OpenCL call. Sets variables that are not
 * set only, but for the first of them:
 *  - POCL_CACHE_DIR, where PoCL's own choice (XDG_CACHE_HOME, HOME/.cache) cannot be written, or the disk of that or of
 *    what it is set to is full, or it is set to a file;
 *  - HWLOC_SYNTHETIC, where there is no /sys to count processors in;
 *  - POCL_AFFINITY=1, where the process has one thread so far and may run on all processors;
 *  - POCL_WORK_GROUP_SPECIALIZATION=0, where the process has one thread so far.
 * Does its work once in a process; several threads may call it.
 */
void ip_drivers_prepare(void);

/*
 * Why drivers may have no device: "POCL_CACHE_DIR=/x cannot be written, and PoCL has no device without it", new, for
 * ip_free(). NULL: nothing is known, or no memory.
 */
char *ip_drivers_complaint(void);

/* Where PoCL keeps its kernels, new, for ip_free(); NULL: nowhere, or no memory. */
char *ip_drivers_pocl_folder(void);

/* That what PoCL launches is what its binaries hold, so that keeping them costs nothing: see Note [One machine code a
 * kernel]. */
bool ip_drivers_pocl_is_general(void);

/* True in a process that was forked after ip_drivers_prepare(): what a driver needs of threads and locks is the
 * parent's. */
bool ip_drivers_are_of_the_parent(void);

#endif
