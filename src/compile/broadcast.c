/* SPDX-License-Identifier: MIT */
/*
 * Flat loops and broadcast values.
 *
 * Note [Broadcasting]
 * Where the channels of a pixel do not interact, a row is one loop over x * channels + c, which reads and writes with
 * unit stride and vectorises as well as one of a single channel. A value that the channels share, the mask of an
 * overlay, the gray of a pixel, a coordinate, would break that loop: it is known by x, not by x * channels + c. So it
 * is computed once a pixel and written `channels` times to a row of its own, which the flat loop then reads. So is what
 * depends on the channel by its number alone, as a divisor that is alpha for colours and 1 for alpha: no element of the
 * channel is read for it, and a pixel's are computed together.
 *
 * What is broadcast is as narrow as can be: from the largest expression that does not depend on the channel the way
 * leads down through operations on it alone (a conversion, 255 - m), to the one of the fewest bytes.
 */
#include "base/dtype.h"
#include "compile/passes.h"

enum {
    MAX_CHANNELS = 4,
    MAX_BYTES = 8 /* of all values broadcast for a stage: beyond, copying costs more than it saves */
};

typedef struct search {
    ip_ir *ir;
    int64_t channels;
    ip_broadcast *broadcast;
    bool is_flat; /* so far, once the values found are broadcast */
    int bytes;
} search;

static bool is_shared(const ip_expr *x) { return (x->uses & (IP_USES_X | IP_USES_C)) == IP_USES_X; }

static bool check_number(ip_expr *x, void *user)
{
    bool *fits = user;
    *fits = *fits && !(x->op == IP_X_LOAD && x->uses & IP_USES_C) && !ip_x_is_repeated(x);
    return *fits;
}

/* Known by the pixel and the channel's number. */
static bool is_by_number(ip_ir *ir, ip_expr *x)
{
    bool fits = (x->uses & (IP_USES_X | IP_USES_C)) == (IP_USES_X | IP_USES_C) && x->op != IP_X_LOAD;
    if (fits) ip_x_descend(ir, x, check_number, &fits);
    return fits;
}

static int size_of(const ip_expr *x) { return (int)ip_dtype(x->dtype)->size_bytes; }

/* The argument through which alone x depends on the column; NULL: there are several, or x is read or is the column. */
static ip_expr *only_shared_argument(const ip_expr *x)
{
    ip_expr *found = NULL;
    if (x->op == IP_X_LOAD || ip_x_is_repeated(x)) return NULL;
    for (int k = 0; k < x->n_args; k++) {
        if (!is_shared(x->arg[k]) || x->arg[k] == found) continue;
        if (found) return NULL;
        found = x->arg[k];
    }
    return found;
}

static ip_expr *narrowest(ip_expr *x)
{
    ip_expr *best = x;
    for (ip_expr *y = x; y; y = only_shared_argument(y))
        if (size_of(y) < size_of(best)) best = y;
    return best;
}

static void take(search *s, ip_expr *x)
{
    ip_broadcast *broadcast = s->broadcast;
    ip_expr *value = is_shared(x) ? narrowest(x) : x;
    for (int k = 0; k < broadcast->n; k++)
        if (broadcast->values[k] == value) return;
    s->bytes += size_of(value);
    if (broadcast->n == IP_MAX_BROADCAST || s->bytes > MAX_BYTES || value->uses & (IP_USES_TAP | IP_USES_ACC))
        s->is_flat = false;
    else
        broadcast->values[broadcast->n++] = value;
}

static bool look(ip_expr *x, void *user)
{
    search *s = user;
    if (!s->is_flat || ip_x_is_uniform(x)) return false;
    if (is_shared(x) || is_by_number(s->ir, x))
        take(s, x);
    else if (x->op == IP_X_LOAD)
        s->is_flat = ip_reads_own_index(x, 3, s->channels) &&
                     (!(x->arg[2]->uses & IP_USES_X) || ip_x_offset_from(s->ir, x->arg[2], 2));
    else if (x->op == IP_X_COORD || x->op == IP_X_BORDER)
        s->is_flat = false;
    else
        return true;
    return false;
}

/* The argument through which alone x depends on columns and channels; NULL: there are several, or x is read. */
static ip_expr *only_argument(const ip_expr *x)
{
    ip_expr *found = NULL;
    for (int k = 0; k < x->n_args && x->op != IP_X_LOAD && !ip_x_is_repeated(x); k++) {
        if (ip_x_is_uniform(x->arg[k]) || x->arg[k] == found) continue;
        if (found) return NULL;
        found = x->arg[k];
    }
    return found;
}

static bool is_made_of_another(const ip_broadcast *broadcast, const ip_expr *value)
{
    for (const ip_expr *x = only_argument(value); x; x = only_argument(x))
        for (int k = 0; k < broadcast->n; k++)
            if (broadcast->values[k] == x) return true;
    return false;
}

/* The flat loop makes these itself: of a row, another row. */
static void drop_made_of_others(ip_broadcast *broadcast)
{
    ip_broadcast all = *broadcast;
    broadcast->n = 0;
    for (int k = 0; k < all.n; k++)
        if (!is_made_of_another(&all, all.values[k])) broadcast->values[broadcast->n++] = all.values[k];
}

bool ip_find_broadcast(ip_ir *ir, ip_expr *body, int64_t channels, ip_broadcast *broadcast)
{
    search s = { .ir = ir, .channels = channels, .broadcast = broadcast, .is_flat = true };
    broadcast->n = 0;
    /* What is known by the number as a whole leaves no flat loop that a row of its own would serve. */
    if (channels < 2 || channels > MAX_CHANNELS || is_shared(body) || is_by_number(ir, body)) return false;
    ip_x_descend(ir, body, look, &s);
    if (!s.is_flat || ir->failed) broadcast->n = 0;
    drop_made_of_others(broadcast);
    return s.is_flat && !ir->failed;
}
