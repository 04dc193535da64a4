/* SPDX-License-Identifier: MIT */
/*
 * Reconstruction and distances in steps: values spread to neighbours, as their limits allow, until nothing changes.
 * What comes of it does not depend on the order, so strips of rows are swept down and up and then followed from what
 * may still change (Vincent 1993, Morphological grayscale reconstruction in image analysis), each by itself, and then
 * where they meet. Distances (RC_STEPS) are not swept but followed from where they begin, breadth first. Within a strip
 * each element is so reached once, and the list is a queue of as many elements as the strip has: what stands in it can
 * be read before what stood there before is done with.
 *
 *     rc_strips    a work-item for each strip of rows
 *     rc_join      what goes on between two groups of strips; a work-item for each pair
 *
 * What stands before this text: RC_T, of elements, RC_FROM and RC_LIMIT, of the inputs; RC_START(from, limit), what an
 * element is first; RC_OFFER(own, v, limit, other), what it is where a neighbour is v, whose limit is other. next: a
 * list of elements that are to be looked at; 0: the element is not in it, -1: it is the last one, else 1 more than the
 * one behind it.
 *
 * Of what its kernels take: P_HEIGHT, rows of all planes; P_PLANE, rows of one; P_WIDTH, elements a row; P_ROWS a
 * strip; P_ITEMS, work-items there is work for; P_CORNERS, 1: elements that meet at a corner are neighbours; P_GROUP,
 * strips of a group in rc_join.
 */
static inline int rc_item(__global const int *P)
{
    return (get_global_id(2) + P[0]) * get_global_size(0) + get_global_id(0);
}

/* Zeros have one sign, those of limits too: of two of either sign fmin() gives any. */
static inline RC_T rc_zero(RC_T v) { return v == 0 ? (RC_T)0 : v; }
static inline bool rc_differ(RC_T is, RC_T was) { return !(is == was) && is == is; }

/* From the row beside it, which is `beside` elements behind. */
static void rc_across(__global RC_T *row, __global const RC_LIMIT *limit, int beside, int n, int channels, int corners)
{
    __global RC_T *restrict to = row;
    __global const RC_T *restrict near = row + beside;
    __global const RC_LIMIT *restrict own = limit, *restrict other = limit + beside;
    for (int e = 0; e < n; e++)
        to[e] = RC_OFFER(to[e], near[e], own[e], other[e]);
    if (!corners) return;
    for (int e = channels; e < n; e++)
        to[e] = RC_OFFER(to[e], near[e - channels], own[e], other[e - channels]);
    for (int e = 0; e < n - channels; e++)
        to[e] = RC_OFFER(to[e], near[e + channels], own[e], other[e + channels]);
}

static void rc_along(__global RC_T *restrict row, __global const RC_LIMIT *restrict limit, int n, int channels)
{
    for (int k = 0; k < channels; k++) {
        RC_T v = row[k];
        for (int e = k + channels; e < n; e += channels)
            row[e] = v = RC_OFFER(row[e], v, limit[e], limit[e - channels]);
    }
}

static void rc_back(__global RC_T *restrict row, __global const RC_LIMIT *restrict limit, int n, int channels)
{
    for (int k = 1; k <= channels; k++) {
        RC_T v = row[n - k];
        for (int e = n - k - channels; e >= 0; e -= channels)
            row[e] = v = RC_OFFER(row[e], v, limit[e], limit[e + channels]);
    }
}

/* A run of rows in which values spread. */
typedef struct rc_area {
    __global RC_T *v;
    __global const RC_LIMIT *limit;
    __global int *next;
    int y0, y1, plane, n, channels, corners;
    int head, tail; /* -1: the list is empty */
#ifdef RC_STEPS
    __global int *queue; /* of rc_strips: from its element head to below tail; NULL: there is the list */
#endif
} rc_area;

static inline void rc_push(rc_area *a, int e)
{
#ifdef RC_STEPS
    if (a->queue) {
        a->queue[a->tail++] = e;
        return;
    }
#endif
    if (a->next[e]) return;
    a->next[e] = -1;
    if (a->head < 0)
        a->head = e;
    else
        a->next[a->tail] = e + 1;
    a->tail = e;
}

static inline void rc_offer(rc_area *a, RC_T v, RC_LIMIT other, int e)
{
    const RC_T was = a->v[e], is = RC_OFFER(was, v, a->limit[e], other);
    if (!rc_differ(is, was)) return;
    a->v[e] = is;
    rc_push(a, e);
}

/* What element e of row y has goes to the elements around it. */
static inline void rc_spread(rc_area *a, int y, int column, int e)
{
    const bool up = y > a->y0 && y % a->plane != 0, down = y + 1 < a->y1 && (y + 1) % a->plane != 0;
    const int left = column >= a->channels ? a->channels : 0, right = column + a->channels < a->n ? a->channels : 0;
    const RC_T v = a->v[e];
    const RC_LIMIT own = a->limit[e];
    if (left) rc_offer(a, v, own, e - left);
    if (right) rc_offer(a, v, own, e + right);
    if (up) rc_offer(a, v, own, e - a->n);
    if (down) rc_offer(a, v, own, e + a->n);
    if (!a->corners) return;
    if (up && left) rc_offer(a, v, own, e - a->n - left);
    if (up && right) rc_offer(a, v, own, e - a->n + right);
    if (down && left) rc_offer(a, v, own, e + a->n - left);
    if (down && right) rc_offer(a, v, own, e + a->n + right);
}

/* What the elements around it have goes to element e of row y; with only_first no more than one step. */
static inline void rc_take(rc_area *a, int y, int column, int e, bool only_first)
{
    const bool up = y > a->y0 && y % a->plane != 0, down = y + 1 < a->y1 && (y + 1) % a->plane != 0;
    const int left = column >= a->channels ? a->channels : 0, right = column + a->channels < a->n ? a->channels : 0;
    const RC_LIMIT own = a->limit[e];
    const int above = up ? e - a->n : e, below = down ? e + a->n : e;
    RC_T v = a->v[e];
    v = RC_OFFER(v, a->v[e - left], own, a->limit[e - left]);
    v = RC_OFFER(v, a->v[e + right], own, a->limit[e + right]);
    v = RC_OFFER(v, a->v[above], own, a->limit[above]);
    v = RC_OFFER(v, a->v[below], own, a->limit[below]);
    if (a->corners) {
        v = RC_OFFER(v, a->v[above - left], own, a->limit[above - left]);
        v = RC_OFFER(v, a->v[above + right], own, a->limit[above + right]);
        v = RC_OFFER(v, a->v[below - left], own, a->limit[below - left]);
        v = RC_OFFER(v, a->v[below + right], own, a->limit[below + right]);
    }
    if (!rc_differ(v, a->v[e]) || (only_first && v != 1)) return;
    a->v[e] = v;
    rc_push(a, e);
}

static void rc_follow(rc_area *a)
{
    while (a->head >= 0) {
        const int e = a->head, behind = a->next[e], y = e / a->n;
        a->next[e] = 0;
        a->head = behind - 1;
        if (behind < 0) a->head = -1;
        rc_spread(a, y, e - y * a->n, e);
    }
}

#ifdef RC_STEPS
/* An element is reached in so many steps, if it is equal and was not before. There are no branches, which nothing could
 * foretell: what is not reached stands behind the queue until the next one takes its place. There is room for it, since
 * an element from which steps begin is never in the queue. */
static inline int rc_reach(const rc_area *a, RC_LIMIT own, int steps, int e, int tail)
{
    const int was = a->v[e], is_new = (a->limit[e] == own) & (was > steps);
    a->v[e] = is_new ? steps : was;
    a->queue[tail] = e;
    return tail + is_new;
}

/* A neighbour that is missing is the element itself. */
static void rc_follow_queue(rc_area *a)
{
    const int n = a->n, channels = a->channels, has_planes = a->y0 / a->plane != (a->y1 - 1) / a->plane;
    int tail = a->tail;
    for (int head = a->head; head < tail; head++) {
        const int e = a->queue[head], y = e / n, column = e - y * n, steps = a->v[e] + 1;
        const int above = y > a->y0 && (!has_planes || y % a->plane != 0) ? -n : 0;
        const int below = y + 1 < a->y1 && (!has_planes || (y + 1) % a->plane != 0) ? n : 0;
        const int left = column >= channels ? -channels : 0, right = column + channels < n ? channels : 0;
        const RC_LIMIT own = a->limit[e];
        tail = rc_reach(a, own, steps, e + left, tail);
        tail = rc_reach(a, own, steps, e + right, tail);
        tail = rc_reach(a, own, steps, e + above, tail);
        tail = rc_reach(a, own, steps, e + below, tail);
        if (!a->corners) continue;
        tail = rc_reach(a, own, steps, e + above + left, tail);
        tail = rc_reach(a, own, steps, e + above + right, tail);
        tail = rc_reach(a, own, steps, e + below + left, tail);
        tail = rc_reach(a, own, steps, e + below + right, tail);
    }
}
#endif

/* Whether any of elements [from, to) of a row would change by those around it. A row that is missing is the row itself,
 * whose elements are around it anyway. */
static bool rc_is_open(__global const RC_T *row, __global const RC_LIMIT *limit, int above, int below, int2 range,
                       int n, int channels, int corners)
{
    int open = 0;
    for (int e = range.x; e < range.y; e++) {
        const int l = e >= channels ? e - channels : e, r = e + channels < n ? e + channels : e;
        const RC_LIMIT own = limit[e];
        RC_T v = RC_OFFER(row[e], row[l], own, limit[l]);
        v = RC_OFFER(v, row[r], own, limit[r]);
        v = RC_OFFER(v, row[above + e], own, limit[above + e]);
        v = RC_OFFER(v, row[below + e], own, limit[below + e]);
        if (corners) {
            v = RC_OFFER(v, row[above + l], own, limit[above + l]);
            v = RC_OFFER(v, row[above + r], own, limit[above + r]);
            v = RC_OFFER(v, row[below + l], own, limit[below + l]);
            v = RC_OFFER(v, row[below + r], own, limit[below + r]);
        }
        open |= rc_differ(v, row[e]);
    }
    return open;
}

/* The same where elements left and right of all of them are there: a loop of vectors. */
static inline bool rc_is_open_within(__global const RC_T *restrict row, __global const RC_LIMIT *restrict limit,
                                     int above, int below, int n, int channels, const bool corners)
{
    int open = 0;
    for (int e = 0; e < n; e++) {
        const RC_LIMIT own = limit[e];
        RC_T v = RC_OFFER(row[e], row[e - channels], own, limit[e - channels]);
        v = RC_OFFER(v, row[e + channels], own, limit[e + channels]);
        v = RC_OFFER(v, row[e + above], own, limit[e + above]);
        v = RC_OFFER(v, row[e + below], own, limit[e + below]);
        if (corners) {
            v = RC_OFFER(v, row[e + above - channels], own, limit[e + above - channels]);
            v = RC_OFFER(v, row[e + above + channels], own, limit[e + above + channels]);
            v = RC_OFFER(v, row[e + below - channels], own, limit[e + below - channels]);
            v = RC_OFFER(v, row[e + below + channels], own, limit[e + below + channels]);
        }
        open |= rc_differ(v, row[e]);
    }
    return open;
}

enum { RC_CHUNK = 64 };

/* Puts what may still spread into the list. */
static void rc_find(rc_area *a, int y, bool only_first)
{
    const bool up = y > a->y0 && y % a->plane != 0, down = y + 1 < a->y1 && (y + 1) % a->plane != 0;
    const long first = (long)y * a->n;
    const int above = up ? -a->n : 0, below = down ? a->n : 0;
    for (int from = 0; from < a->n; from += RC_CHUNK) {
        const int2 range = (int2)(from, min(from + RC_CHUNK, a->n));
        __global const RC_T *row = a->v + first;
        __global const RC_LIMIT *limit = a->limit + first;
        const bool is_end = from < a->channels || from + RC_CHUNK + a->channels > a->n;
        const bool is_open =
            is_end         ? rc_is_open(row, limit, above, below, range, a->n, a->channels, a->corners)
            : a->corners ? rc_is_open_within(row + from, limit + from, above, below, RC_CHUNK, a->channels, true)
                         : rc_is_open_within(row + from, limit + from, above, below, RC_CHUNK, a->channels, false);
        if (!is_open) continue;
        for (int e = range.x; e < range.y; e++)
            rc_take(a, y, e, (int)first + e, only_first);
    }
}

static rc_area rc_area_of(__global RC_T *v, __global const RC_LIMIT *limit, __global int *next, __global const int *P)
{
    const rc_area a = { .v = v, .limit = limit, .next = next, .plane = P_PLANE, .n = P_WIDTH, .channels = P_CHANNELS,
                        .corners = P_CORNERS, .head = -1, .tail = -1 };
    return a;
}

__kernel void rc_strips(__global const RC_FROM *restrict from, __global const RC_LIMIT *restrict limit,
                        __global RC_T *v, __global int *next, __global const int *P)
{
    const int strip = rc_item(P);
    if (strip >= P_ITEMS) return;
    rc_area a = rc_area_of(v, limit, next, P);
    a.y0 = strip * P_ROWS;
    a.y1 = min(a.y0 + P_ROWS, P_HEIGHT);
    for (int y = a.y0; y < a.y1; y++) {
        const long first = (long)y * a.n;
        __global RC_T *row = v + first;
        for (int e = 0; e < a.n; e++)
            row[e] = RC_START(from[first + e], limit[first + e]);
#ifndef RC_STEPS
        for (int e = 0; e < a.n; e++)
            next[first + e] = 0;
        if (y > a.y0 && y % a.plane != 0) rc_across(row, limit + first, -a.n, a.n, a.channels, a.corners);
        rc_along(row, limit + first, a.n, a.channels);
#endif
    }
#ifdef RC_STEPS
    /* All that are one step away are in the list before any that is two: each element is reached once. */
    a.queue = next + (long)a.y0 * a.n;
    a.head = a.tail = 0;
    for (int y = a.y0; y < a.y1; y++)
        rc_find(&a, y, true);
    rc_follow_queue(&a);
    for (long k = 0; k < (long)(a.y1 - a.y0) * a.n; k++)
        a.queue[k] = 0;
#else
    for (int y = a.y1 - 1; y >= a.y0; y--) {
        const long first = (long)y * a.n;
        __global RC_T *row = v + first;
        if (y + 1 < a.y1 && (y + 1) % a.plane != 0)
            rc_across(row, limit + first, a.n, a.n, a.channels, a.corners);
        rc_back(row, limit + first, a.n, a.channels);
    }
    for (int y = a.y0; y < a.y1; y++) {
        rc_find(&a, y, false);
        rc_follow(&a);
    }
#endif
}

__kernel void rc_join(__global const RC_LIMIT *restrict limit, __global RC_T *v, __global int *next,
                      __global const int *P)
{
    const int item = rc_item(P);
    const long first = (long)2 * item * P_GROUP, middle = (first + P_GROUP) * P_ROWS;
    if (item >= P_ITEMS || middle >= P_HEIGHT || middle % P_PLANE == 0) return;
    rc_area a = rc_area_of(v, limit, next, P);
    a.y0 = first * P_ROWS;
    a.y1 = min((first + 2 * P_GROUP) * P_ROWS, (long)P_HEIGHT);
    for (int y = middle - 1; y <= middle; y++)
        rc_find(&a, y, false);
    rc_follow(&a);
}
