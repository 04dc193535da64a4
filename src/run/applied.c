/* SPDX-License-Identifier: MIT */
#include "run/applied.h"

#include <string.h>

static bool is_row(const imgpar_array *node, const char *name) { return strcmp(node->op->info.name, name) == 0; }

unsigned ip_applied_begins(const imgpar_array *node)
{
    if (ip_array_is_placeholder(node)) return IP_APPLIED_FOLDED;
    return is_row(node, "taps") ? IP_APPLIED_AROUND : is_row(node, "carried") ? IP_APPLIED_CARRIED : 0;
}

/* Functions of around() and iterate() may stand in others of theirs, and read what these are applied to: the outermost
 * ends it. Those of folds and scans read their own only. */
unsigned ip_applied_ends(const imgpar_array *node)
{
    if (is_row(node, "fold") || is_row(node, "scanfold") || is_row(node, "scanstates")) return IP_APPLIED_FOLDED;
    if (is_row(node, "around")) return ip_param_number(node->inputs[0], "level") == 0 ? IP_APPLIED_AROUND : 0;
    if (is_row(node, "settled")) return ip_param_number(node, "level") == 0 ? IP_APPLIED_CARRIED : 0;
    return 0;
}
