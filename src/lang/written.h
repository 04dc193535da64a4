/* SPDX-License-Identifier: MIT */
#ifndef IP_LANG_WRITTEN_H
#define IP_LANG_WRITTEN_H

#include "imgpar.h"

/* What a call of a row of ops/written.def gives: written.c. */
imgpar_array *ip_written_expand(const imgpar_array *call);

#endif
