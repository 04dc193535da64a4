/* SPDX-License-Identifier: MIT */
/* Rows of the operation table that are texts of the language (ops/written.def): what a call of one stands for. */
#ifndef IP_LANG_WRITTEN_H
#define IP_LANG_WRITTEN_H

#include "imgpar.h"

/* The value of the row's text for the call's inputs and parameters, a new reference; an error array where there is
 * none. */
imgpar_array *ip_written_expand(const imgpar_array *call);

#endif
