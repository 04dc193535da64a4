/* SPDX-License-Identifier: MIT */
/*
 * The reference interpreter: computes stages on the host by the semantics at the head of ir/expr.h. It is what --verify
 * compares with, and what runs where there is no OpenCL device. Built with -ffp-contract=off.
 *
 * An expression is evaluated for a block of elements of a row at a time, an operation being a loop of vector
 * instructions, and rows are divided among threads: src/ARCHITECTURE.md, "The interpreter".
 */
#ifndef IP_RUN_REF_H
#define IP_RUN_REF_H

#include "base/status.h"
#include "io/io.h"
#include "ir/stage.h"

/*
 * Computes every stage that the outputs need, in order, each in its own dtype. memory[i] belongs to stage i:
 * SOURCE stages come filled in (tightly packed, dims row-major; borrowed; NULL is legal where there are no elements),
 * all others are NULL on entry; on success those of the stages with is_output are new (ip_alloc) and the others NULL
 * again (freed after their last reader); on failure all of them are NULL. limit_bytes: of what is held at once, sources
 * aside, were each stage whole; more is IMGPAR_E_DEVICE_MEMORY, before anything is computed. poll may be NULL; it is
 * asked every 50 ms.
 */
imgpar_status ip_ref_run(ip_ir *ir, void **memory, uint64_t limit_bytes, const ip_poll *poll, ip_error *err);

/* What ip_ref_run() takes: operations on an element, each about a nanosecond, HUGE_VAL where it cannot compute
 * everything (kernels of the user), or err tells why this is not known; and the most bytes that it holds at once,
 * sources aside. */
typedef struct ip_ref_cost {
    double work, bytes;
} ip_ref_cost;
ip_ref_cost ip_ref_cost_of(ip_ir *ir, ip_error *err);

/* The result of a fold from the totals of n parts of what it folds, in their order: elements of its acc_dtype or, of a
 * histogram, its counts. */
imgpar_status ip_ref_combine(ip_ir *ir, const ip_stage *fold, const void *const *totals, size_t n, void *out,
                             ip_error *err);

#endif
