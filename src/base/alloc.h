/* SPDX-License-Identifier: MIT */
/*
 * Memory from the host, with checked sizes, and the hook that makes the Nth
 * allocation, file call or OpenCL call fail so that tests can walk every failure
 * path. Every such call in the library goes through here or asks ip_fault().
 */
#ifndef IP_BASE_ALLOC_H
#define IP_BASE_ALLOC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* New memory, or NULL. Zero bytes give a valid pointer. ip_free(NULL) is legal. */
void *ip_alloc(size_t size_bytes);
void *ip_zalloc(size_t size_bytes);
/* At a multiple of alignment, a power of two of at least 16. */
void *ip_alloc_aligned(size_t alignment, size_t size_bytes);
void *ip_realloc(void *memory, size_t size_bytes);
/* count * size bytes; NULL also when the product overflows. */
void *ip_alloc_array(size_t count, size_t size_bytes);
void *ip_realloc_array(void *memory, size_t count, size_t size_bytes);
char *ip_strdup(const char *text);
void ip_free(void *memory);

/* What the machine has, in bytes; UINT64_MAX where it does not say. */
uint64_t ip_host_memory(void);

/* *product = a * b; false when it does not fit. */
bool ip_mul_size(size_t a, size_t b, size_t *product);

typedef enum ip_fault_kind { IP_FAULT_ALLOC, IP_FAULT_FILE, IP_FAULT_CL, IP_N_FAULT_KINDS } ip_fault_kind;
/* For tests: the nth call of this kind from now on fails (1: the next); 0: none. */
void ip_fault_set(ip_fault_kind kind, unsigned long nth);
/* True when this call is the one to fail. */
bool ip_fault(ip_fault_kind kind);
/* Calls of this kind seen since ip_fault_set(). */
unsigned long ip_fault_seen(ip_fault_kind kind);

#endif
