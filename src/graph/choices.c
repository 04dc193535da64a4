/* SPDX-License-Identifier: MIT */
#include "graph/choices.h"

#include "base/alloc.h"

imgpar_status ip_choices_add(ip_choices *choices, const imgpar_array *node, int taken, ip_error *err)
{
    if (choices->n == choices->capacity) {
        size_t capacity = choices->capacity ? choices->capacity * 2 : 8;
        ip_choice *list = ip_realloc_array(choices->list, capacity, sizeof *list);
        if (!list) return ip_fail_memory(err, "deciding branches");
        choices->list = list;
        choices->capacity = capacity;
    }
    choices->list[choices->n++] = (ip_choice){ node, taken };
    return IMGPAR_OK;
}

const ip_choice *ip_choices_find(const ip_choices *choices, const imgpar_array *node)
{
    if (!choices || !node->op || !(node->op->flags & IP_OP_BRANCH)) return NULL;
    for (size_t k = 0; k < choices->n; k++)
        if (choices->list[k].node == node) return &choices->list[k];
    return NULL;
}

int ip_choices_taken(const ip_choices *choices, const imgpar_array *node)
{
    const ip_choice *choice = ip_choices_find(choices, node);
    return choice ? choice->taken : 0;
}

bool ip_choices_same(const ip_choices *a, const ip_choices *b)
{
    if (a->n != b->n) return false;
    for (size_t k = 0; k < a->n; k++)
        if (a->list[k].node != b->list[k].node || a->list[k].taken != b->list[k].taken) return false;
    return true;
}

void ip_choices_free(ip_choices *choices)
{
    ip_free(choices->list);
    *choices = (ip_choices){ 0 };
}
