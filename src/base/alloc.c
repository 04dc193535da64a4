/* SPDX-License-Identifier: MIT */
/*
 * Host memory and the fault hook. The hook's counters are global: they must
 * outlive any object, because a test makes the creation of the first object
 * fail too. They are atomic, so that counting stays right while several
 * threads allocate.
 */
#include "base/alloc.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static atomic_ulong fault_at[IP_N_FAULT_KINDS];
static atomic_ulong fault_seen[IP_N_FAULT_KINDS];

void ip_fault_set(ip_fault_kind kind, unsigned long nth)
{
    atomic_store(&fault_at[kind], 0);
    atomic_store(&fault_seen[kind], 0);
    atomic_store(&fault_at[kind], nth);
}

bool ip_fault(ip_fault_kind kind)
{
    unsigned long seen = atomic_fetch_add_explicit(&fault_seen[kind], 1, memory_order_relaxed) + 1;
    return seen == atomic_load_explicit(&fault_at[kind], memory_order_relaxed);
}

unsigned long ip_fault_seen(ip_fault_kind kind) { return atomic_load(&fault_seen[kind]); }

bool ip_mul_size(size_t a, size_t b, size_t *product) { return !__builtin_mul_overflow(a, b, product); }

/* malloc(0) may answer NULL, which would read as a failure. */
static size_t at_least_one(size_t size_bytes) { return size_bytes ? size_bytes : 1; }

/*
 * Note [Large pages]
 * Memory that was never touched comes a page of 4 KiB at a time, which takes the system 0.3 to 0.7 us each. Most
 * systems give pages of 2 MiB to those who ask for them, so what is large asks: a PNG of 32 MB is read, blurred and
 * written with a third of the faults, in 0.95 of the processors' time.
 */
static void *in_large_pages(void *memory, size_t size_bytes)
{
#ifdef MADV_HUGEPAGE
    enum { PAGE = 2 << 20, LEAST = 2 * PAGE };
    if (!memory || size_bytes < LEAST) return memory;
    const uintptr_t begin = ((uintptr_t)memory + PAGE - 1) / PAGE * PAGE, end = (uintptr_t)memory + size_bytes;
    const int error = errno;
    madvise((void *)begin, (end - begin) / PAGE * PAGE, MADV_HUGEPAGE); /* a wish: it may fail */
    errno = error;
#else
    (void)size_bytes;
#endif
    return memory;
}

void *ip_alloc(size_t size_bytes)
{
    return ip_fault(IP_FAULT_ALLOC) ? NULL : in_large_pages(malloc(at_least_one(size_bytes)), size_bytes);
}

void *ip_alloc_aligned(size_t alignment, size_t size_bytes)
{
    void *memory;
    if (ip_fault(IP_FAULT_ALLOC) || posix_memalign(&memory, alignment, at_least_one(size_bytes)) != 0) return NULL;
    return in_large_pages(memory, size_bytes);
}

void *ip_zalloc(size_t size_bytes)
{
    return ip_fault(IP_FAULT_ALLOC) ? NULL : in_large_pages(calloc(1, at_least_one(size_bytes)), size_bytes);
}

void *ip_realloc(void *memory, size_t size_bytes)
{
    return ip_fault(IP_FAULT_ALLOC) ? NULL : realloc(memory, at_least_one(size_bytes));
}

void *ip_alloc_array(size_t count, size_t size_bytes)
{
    size_t n;
    return ip_mul_size(count, size_bytes, &n) ? ip_alloc(n) : NULL;
}

void *ip_realloc_array(void *memory, size_t count, size_t size_bytes)
{
    size_t n;
    return ip_mul_size(count, size_bytes, &n) ? ip_realloc(memory, n) : NULL;
}

char *ip_strdup(const char *text)
{
    size_t n = strlen(text) + 1;
    char *copy = ip_alloc(n);
    if (copy) memcpy(copy, text, n);
    return copy;
}

void ip_free(void *memory) { free(memory); }

uint64_t ip_host_memory(void)
{
    long pages = sysconf(_SC_PHYS_PAGES), page_bytes = sysconf(_SC_PAGESIZE);
    return pages > 0 && page_bytes > 0 ? (uint64_t)pages * (uint64_t)page_bytes : UINT64_MAX;
}
