/* SPDX-License-Identifier: MIT */
/*
 * Checked mode: every index that a kernel reads or writes memory at is compared with the memory's extent, and every
 * float that it stores must be finite. The first failure of a launch is left in the kernel's last argument, `checks`,
 * with the number of its place in the text (ip_check in plan.h), from which run/ makes the message. An index that fails
 * is moved inside, so that the kernel lives to tell.
 *
 * Both are hooks around what is printed anyway: where they are asked and checks are off, they return what they were
 * given.
 */
#include "base/alloc.h"
#include "base/dtype.h"
#include "compile/emit.h"

/* The number of a place; 0 without memory. */
static int add_check(ip_emit *e, const ip_stage *stage, ip_check_kind kind)
{
    ip_arguments *a = &e->args;
    for (int i = 0; i < a->n_checks; i++)
        if (a->checks[i].stage == stage && a->checks[i].kind == kind) return i;
    ip_check *checks = ip_realloc_array(a->checks, (size_t)a->n_checks + 1, sizeof *checks);
    if (!checks) {
        e->ir->failed = true;
        return 0;
    }
    a->checks = checks;
    checks[a->n_checks] = (ip_check){ kind, stage };
    return a->n_checks++;
}

/* "z, y" of what is being computed. */
static const char *place(ip_emit *e)
{
    return ip_text(e->ir, "%s, %s", e->coord[0] ? e->coord[0] : "0", e->coord[1] ? e->coord[1] : "0");
}

/* Memory that an index must stay in: where it begins, and its elements. */
typedef struct extent {
    const char *space, *base, *count;
} extent;

static extent extent_of(ip_emit *e, const ip_stage *s, ip_place where)
{
    int size = (int)ip_dtype(s->dtype)->size_bytes;
    if (where == IP_PLACE_LINE_BUFFER) /* anywhere in what the work-item has */
        return (extent){ "__global", "mine",
                         ip_text(e->ir, "(long)%s * %d", ip_emit_slot(e, IP_SLOT_SCRATCH_EACH), 64 / size) };
    if (where == IP_PLACE_TILE) /* or the work-group */
        return (extent){ "__local", "memory", ip_text(e->ir, "%d", e->kernel->tiling.bytes / size) };
    return (extent){ "__global", ip_emit_buffer(e, s),
                     ip_text(e->ir, "%s * %s", ip_emit_slot_of(e, IP_SLOT_PLANE, s),
                             ip_emit_slot_of(e, IP_SLOT_PLANES, s)) };
}

const char *ip_emit_checked_index(ip_emit *e, const ip_stage *s, ip_place where, bool is_written, const char *pointer,
                                  const char *index)
{
    if (!e->options->checks) return index;
    extent memory = extent_of(e, s, where);
    const char *type = ip_text(e->ir, "(%s const %s *)", memory.space, ip_dtype(s->dtype)->cl);
    return ip_text(e->ir, "ip_checked_index(checks, %d, %s, %s(%s) - %s%s, %s, %s)",
                   add_check(e, s, is_written ? IP_CHECK_WRITE : IP_CHECK_READ), place(e), type, pointer, type,
                   memory.base, index, memory.count);
}

const char *ip_emit_checked_value(ip_emit *e, const ip_stage *s, const char *index, const char *value)
{
    if (!e->options->checks || !ip_dtype(s->dtype)->is_float) return value;
    return ip_text(e->ir, "ip_checked_%s(checks, %d, %s, %s, %s)", s->dtype == IMGPAR_F64 ? "f64" : "f32",
                   add_check(e, s, IP_CHECK_FINITE), place(e), index, value);
}
