/* SPDX-License-Identifier: MIT */
/*
 * progress.h - one fraction for all that a public function does: reading and decoding, kernels, encoding.
 *
 * Each of them polls with a fraction of its own. A function that takes options puts an ip_progress between: what is to
 * come is announced, as amounts of work, then each step says how much of it it is, and the caller is told what part of
 * all is done. It never goes back.
 *
 *     ip_progress p;
 *     ip_progress_begin(&p);                          (p.own is the caller's options; from here on they are passed on
 *                                                     instead)
 *     ip_progress_expect(&p.own, IP_WORK_DECODE * n);
 *     ip_progress_expect(&p.own, IP_WORK_ENCODE * n);
 *     ip_progress_step(&p.own, IP_WORK_DECODE * n);   (polls from 0 to 1 are the first half, more or less, from now on)
 *
 * Options that come from elsewhere, as those of a device's thread, are passed by. An ip_progress belongs to one thread.
 */
#ifndef IP_RUN_PROGRESS_H
#define IP_RUN_PROGRESS_H

#include <imgpar.h>

/* About how long an element takes, against one of a kernel; measured for 8-bit RGB on two cores. */
#define IP_WORK_DECODE 4.0
#define IP_WORK_KERNEL 1.0
#define IP_WORK_REF 40.0
#define IP_WORK_ENCODE 8.0

typedef struct ip_progress {
    imgpar_options own;    /* polls, events and warnings come here */
    imgpar_options caller; /* and go there */
    double expected, done; /* work: announced, and of the steps that are behind us */
    double current;        /* of the step that polls now */
    double told;           /* the largest fraction that the caller has been told */
} ip_progress;

/* p->own holds the caller's options. Without a poll they stay as they are. */
void ip_progress_begin(ip_progress *p);
/* options: any, or NULL. */
void ip_progress_expect(const imgpar_options *options, double work);
void ip_progress_step(const imgpar_options *options, double work);

#endif
