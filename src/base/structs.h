/* SPDX-License-Identifier: MIT */
/*
 * Structs that programs and the library exchange (imgpar.h tells the rule). A program may have been compiled with an
 * older or a newer header, so what it gives is copied over zeros, and what it gets is cut to its size. The struct of
 * this version, on our side, begins with struct_size too, already set.
 *
 *     imgpar_cl_layout layout = { .struct_size = sizeof layout };
 *     if (ip_struct_in(&layout, given, "buffer_new", "layout", err)) return err->status;
 */
#ifndef IP_BASE_STRUCTS_H
#define IP_BASE_STRUCTS_H

#include "base/status.h"

/* Copies the caller's struct to *ours. IMGPAR_E_ARGUMENT where its struct_size is no size; IMGPAR_E_UNSUPPORTED where
 * it is larger than ours and what lies behind is not 0: that asks for something this version does not know. */
imgpar_status ip_struct_in(void *ours, const void *given, const char *function, const char *name, ip_error *err);
/* Fills the caller's struct from *ours; of what a newer header has behind, zeros. IMGPAR_E_ARGUMENT as above. */
imgpar_status ip_struct_out(void *given, const void *ours, const char *function, const char *name, ip_error *err);

/* A list of n pointers to structs of size_bytes, all zero, in one piece of memory for ip_free(); NULL without memory.
 * Callers go from pointer to pointer, so the structs may grow. */
void *ip_list_new(size_t n, size_t size_bytes);

#endif
