/* SPDX-License-Identifier: MIT */
/*
 * The folder for what outlives the process, our program cache. A folder
 * is used only if it belongs to us and nobody else may write in it, because what
 * is read from it is executed.
 */
#ifndef IP_RUN_FOLDER_H
#define IP_RUN_FOLDER_H

/* Our cache folder, created if need be (0700): IMGPAR_CACHE_DIR, else XDG_CACHE_HOME/imgpar, else
 * HOME/.cache/imgpar. An open descriptor for close(), or -1: there is none, or IMGPAR_CACHE=0. */
int ip_folder_open_cache(void);

#endif
