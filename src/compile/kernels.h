/* SPDX-License-Identifier: MIT */
/*
 * The list of a plan's kernels while fusion makes it: which stages a kernel computes, which of them it writes to
 * memory, who reads what. Decides nothing; fuse.c does.
 */
#ifndef IP_COMPILE_KERNELS_H
#define IP_COMPILE_KERNELS_H

#include "compile/passes.h"

/* Kernel `kernel` reads stage `stage`, from memory or as one of its own. */
typedef struct ip_reading {
    int stage, kernel;
} ip_reading;

typedef struct ip_grouping {
    ip_plan *plan;
    int *kernel_of;       /* by stage id: the kernel computing it, -1: none yet */
    ip_reading *readings; /* each pair once */
    int n_readings, readings_capacity;
    int *visited, visit; /* by kernel: the last search that saw it */
} ip_grouping;

/* false without memory; then, too, ip_grouping_end() */
bool ip_grouping_begin(ip_grouping *g, ip_plan *plan);
void ip_grouping_end(ip_grouping *g);

/* A new kernel computing and storing root; -1 (and ir->failed) without memory. */
int ip_grouping_new(ip_grouping *g, ip_stage *root, ip_schedule schedule);
/* A copy of a kernel that computes stage, too, and is placed nowhere yet; the plan's own stays as it is. Stages come in
 * falling order of id. stored: its value is written to memory, too. False (and ir->failed) without memory. What it has
 * is either adopted, and takes the plan's kernel's place, or dropped. */
bool ip_grouping_try(const ip_grouping *g, int kernel, ip_stage *stage, bool stored, ip_kernel *trial);
void ip_grouping_adopt(ip_grouping *g, int kernel, const ip_kernel *trial);
void ip_grouping_drop(ip_kernel *trial);
/* Kernel reads stage. */
void ip_grouping_reads(ip_grouping *g, int kernel, const ip_stage *stage);
bool ip_grouping_is_read_by(const ip_grouping *g, const ip_stage *stage, int kernel);
/* Whether kernel needs the result of another kernel that needs stage: computing stage in kernel would be a circle. */
bool ip_grouping_needs_through_others(ip_grouping *g, int kernel, const ip_stage *stage);
/* Puts plan->kernels into an order in which every kernel stands after those it reads; kernel_of is void afterwards. */
void ip_grouping_sort(ip_grouping *g);

#endif
