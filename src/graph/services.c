/* SPDX-License-Identifier: MIT */
#include "graph/services.h"

#include <stdatomic.h>

static _Atomic(const ip_services *) registered;

void ip_services_register(const ip_services *services) { atomic_store(&registered, services); }

const ip_services *ip_services_get(void) { return atomic_load(&registered); }
