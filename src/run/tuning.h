/* SPDX-License-Identifier: MIT */
/*
 * Tuning: what was measured to suit a device (imgpar-run --tune) is kept in the folder of the program cache, one
 * file for a device and its driver, and is what contexts on that device start from. Nothing depends on there being one.
 */
#ifndef IP_RUN_TUNING_H
#define IP_RUN_TUNING_H

#include "compile/plan.h"
#include "run/device.h"

/* What was kept for the device, else the defaults; facts NULL: the defaults. */
ip_tuning ip_tuning_load(const ip_device_facts *facts);
imgpar_status ip_tuning_keep(const ip_device_facts *facts, const ip_tuning *tuning);
/* Sets the number of that name. False: no such name, or out of its range. */
bool ip_tuning_set(ip_tuning *tuning, const char *name, uint64_t value);

#endif
