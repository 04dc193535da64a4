/* SPDX-License-Identifier: MIT */
/*
 * The devices of a context, what each of them has been given to do, and how fast each has proved to be. It says who
 * gets how much; share.c does it.
 *
 * Speed is work a millisecond, from what evaluations took, copies included. It is kept for each plan (plans of the same
 * kernels are one, whatever the sizes), since a device that is good at one may be bad at another; what is not measured
 * yet is guessed from the plans that are.
 */
#ifndef IP_RUN_DEVICES_H
#define IP_RUN_DEVICES_H

#include "run/device.h"

#include <pthread.h>

enum { IP_SPEED_PLANS = 64 };

/* How fast each device does one plan; 0: not known. */
typedef struct ip_speed {
    uint64_t plan;
    uint64_t used; /* the larger the more recently */
    double of[IP_MAX_DEVICES];
} ip_speed;

typedef struct ip_devices {
    ip_device *list[IP_MAX_DEVICES];
    size_t n;             /* 0: the reference interpreter computes */
    bool share_host;      /* all of them use the host's memory where it stands */
    pthread_mutex_t lock; /* guards what follows */
    bool is_placed;       /* by the user, by weights */
    double weights[IP_MAX_DEVICES];
    /* share of each in general, as the plans measured so far suggest; they sum up to 1 */
    double usual[IP_MAX_DEVICES];
    ip_speed speeds[IP_SPEED_PLANS];
    uint64_t clock;                /* of ip_speed.used */
    double queued[IP_MAX_DEVICES]; /* work that was given to each and is not done */
    int n_running;                 /* evaluations that have been given work */
} ip_devices;

/* Work that an evaluation asks for. */
typedef struct ip_work {
    uint64_t plan;
    double amount;
    unsigned may; /* bit k: the k-th device can do it */
    /* the same: it has what is read in memory of its own, so the work had better go there; 0: none has */
    unsigned home;
} ip_work;

/* Opens what selector means, as ip_device_open(). devices is zeroed; a failure leaves it closed. */
imgpar_status ip_devices_open(ip_devices *devices, const char *selector, uint64_t mem_limit_bytes, ip_error *err);
void ip_devices_close(ip_devices *devices);
/* "auto", a device's number, or weights "2:1", one for each device; false: it is none of them. */
bool ip_devices_place(ip_devices *devices, const char *text);

/* Whether an evaluation that begins now is to be cut: nothing else runs, or the user has weighed the devices. */
bool ip_devices_are_free(ip_devices *devices);
/* Whether the user has weighed the devices; then work is cut even where it may not pay. */
bool ip_devices_are_placed(ip_devices *devices);
/* The share of work that each device gets, in all 1. A device too slow to be worth it gets 0. */
void ip_devices_shares(ip_devices *devices, const ip_work *work, double shares[IP_MAX_DEVICES]);
/* The device that would be done with it first. */
size_t ip_devices_quickest(ip_devices *devices, const ip_work *work);
/* Device k begins with that amount of work; it is done, and took so long (0: nobody knows). */
void ip_devices_begin(ip_devices *devices, size_t k, double amount);
void ip_devices_end(ip_devices *devices, size_t k, const ip_work *work, double amount, double took_ms);

#endif
