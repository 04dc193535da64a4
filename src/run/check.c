/* SPDX-License-Identifier: MIT */
#include "run/check.h"

#include "graph/array.h"

#include <string.h>

/* As shaders/helpers.cl writes them. */
typedef struct told {
    int32_t failed, place, z, y, index[2], bits[2];
} told;

imgpar_status ip_check_begin(ip_device *device, ip_buffer **out, ip_error *err)
{
    const told none = { .failed = 0 };
    imgpar_status st = ip_buffer_new(device, sizeof none, out, err);
    return st ? st : ip_buffer_write(*out, 0, &none, sizeof none, err);
}

static int64_t wide(const int32_t halves[2])
{
    return (int64_t)((uint32_t)halves[0] | (uint64_t)(uint32_t)halves[1] << 32);
}

static double real_of(const told *t, imgpar_dtype dtype)
{
    int64_t bits = wide(t->bits);
    float single;
    double real;
    memcpy(&single, t->bits, sizeof single);
    memcpy(&real, &bits, sizeof real);
    return dtype == IMGPAR_F64 ? real : single;
}

imgpar_status ip_check_end(ip_buffer *checks, const ip_kernel *kernel, ip_error *err)
{
    told t;
    imgpar_status st = ip_buffer_read(checks, 0, &t, sizeof t, err);
    if (st || !t.failed || t.place < 0 || t.place >= kernel->args.n_checks) return st;
    const ip_check *check = &kernel->args.checks[t.place];
    const ip_stage *s = check->stage;
    const char *op = s->node && s->node->op ? s->node->op->info.name : "a stage";
    const char *note = s->note ? s->note : "";
    long long index = wide(t.index), channels = s->dims[3] > 0 ? s->dims[3] : 1;
    if (check->kind == IP_CHECK_FINITE)
        return ip_fail(err, IMGPAR_E_CHECK,
                       "%s: %s%s%s: the element at z=%d, y=%d, x=%lld, c=%lld is %g, which is not finite", kernel->name,
                       op, *note ? ", " : "", note, (int)t.z, (int)t.y, index / channels, index % channels,
                       real_of(&t, s->dtype));
    return ip_fail(err, IMGPAR_E_CHECK, "%s: %s%s%s: element %lld is %s at z=%d, y=%d, outside of its memory",
                   kernel->name, op, *note ? ", " : "", note, (long long)wide(t.bits),
                   check->kind == IP_CHECK_READ ? "read" : "written", (int)t.z, (int)t.y);
}
