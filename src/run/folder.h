/* SPDX-License-Identifier: MIT */
/*
 * Folders for what outlives the process: our program cache, and PoCL's. A folder
 * is used only if it belongs to us and nobody else may write in it, because what
 * is read from it is executed.
 */
#ifndef IP_RUN_FOLDER_H
#define IP_RUN_FOLDER_H

/* Our cache folder, created if need be (0700): IMGPAR_CACHE_DIR, else XDG_CACHE_HOME/imgpar, else
 * HOME/.cache/imgpar. An open descriptor for close(), or -1: there is none, or IMGPAR_CACHE=0. */
int ip_folder_open_cache(void);

/*
 * Prepares the process's environment for OpenCL drivers; call before the first OpenCL call. Sets
 * variables that are not set only, and only where a driver would fail without:
 *  - POCL_CACHE_DIR, where PoCL's own choice (XDG_CACHE_HOME, HOME/.cache) cannot be written;
 *  - HWLOC_SYNTHETIC, where there is no /sys to count processors in.
 * Does its work once in a process; several threads may call it.
 */
void ip_folder_prepare_drivers(void);

#endif
