/* SPDX-License-Identifier: MIT */
/* What PoCL keeps of a program in its own folder (POCL_CACHE_DIR), before it is read there. */
#ifndef IP_RUN_POCL_FILES_H
#define IP_RUN_POCL_FILES_H

#include <stddef.h>

/* Writes anew what is there of the program of this binary of PoCL's and is not what the binary has. Nothing can fail:
 * what is not understood, or cannot be written, stays. */
void ip_pocl_files_mend(const void *binary, size_t n);

#endif
