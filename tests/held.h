/* SPDX-License-Identifier: MIT */
/* What a driver takes long to set up, kept while tests open and close contexts of their own. */
#ifndef IP_TESTS_HELD_H
#define IP_TESTS_HELD_H

#include "imgpar.h"

#include <stddef.h>

/* Opens a context that stays open until the process ends. PoCL reads its library of built-in functions once for all
 * contexts that are open at once (src/run/device.c, Note [Shared contexts]): with this one among them, once for all
 * tests of a process. A test calls it before it opens its own. */
static inline void hold_driver(void)
{
    static imgpar_context *held;
    if (!held && imgpar_context_new(NULL, &held) != IMGPAR_OK) held = NULL;
}

#endif
