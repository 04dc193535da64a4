/* SPDX-License-Identifier: MIT */
/* The tier of tests: the quick one takes minutes, also where every kernel must be compiled; the full one is the whole
 * matrix. */
#ifndef IP_TESTS_TIER_H
#define IP_TESTS_TIER_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Whether IMGPAR_TEST_TIER asks for the full one. */
static inline bool test_tier_is_full(void)
{
    const char *tier = getenv("IMGPAR_TEST_TIER");
    return tier && strcmp(tier, "full") == 0;
}

#endif
