/* SPDX-License-Identifier: MIT */
/* What is done for OpenCL drivers before they are first called. */
#ifndef IP_RUN_DRIVERS_H
#define IP_RUN_DRIVERS_H

/*
 * Prepares the process's environment for OpenCL drivers; call before the first OpenCL call. Sets variables that are not set
 * only:
 *  - POCL_CACHE_DIR, where PoCL's own choice (XDG_CACHE_HOME, HOME/.cache) cannot be written;
 *  - HWLOC_SYNTHETIC, where there is no /sys to count processors in;
 *  - POCL_AFFINITY=1, where the process has one thread so far and may run on all processors.
 * Does its work once in a process; several threads may call it.
 */
void ip_drivers_prepare(void);

#endif
