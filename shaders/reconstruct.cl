/* SPDX-License-Identifier: MIT */
/*
 * Reconstruction: values spread to neighbours, never beyond a limit, until nothing changes. What comes of it does not
 * depend on the order, so strips of rows are swept down and up and then followed from what may still change (Vincent
 * 1993, Morphological grayscale reconstruction in image analysis), each by itself, and then where they meet.
 *
 *     rc_strips    a work-item for each strip of rows
 *     rc_join      what goes on between two groups of strips; a work-item for each pair
 *
 * What stands before this text: RC_T, of elements; RC_FAR(a, b), which of two spreads; RC_NEAR(a, b), the other; where
 * one is NaN both are the other one. next: a list of elements that are to be looked at; 0: the element is not in it,
 * -1: it is the last one, else 1 more than the one behind it.
 *
 * P: [1] rows, of all planes, [2] rows a plane, [3] elements a row, [4] channels, [5] rows a strip, [6] strips, [7]
 * work-items there is work for, [8] 1: elements that meet at a corner are neighbours, [9] rc_join: strips of a group.
 */
static inline int rc_item(__global const int *P)
{
    return (get_global_id(2) + P[0]) * get_global_size(0) + get_global_id(0);
}

/* What an element is where it may be v. */
static inline RC_T rc_within(RC_T own, RC_T v, RC_T limit) { return RC_NEAR(RC_FAR(own, v), limit); }
static inline bool rc_differ(RC_T is, RC_T was) { return !(is == was) && is == is; }

/* From the row beside it, which near is. */
static void rc_across(__global RC_T *restrict row, __global const RC_T *restrict near,
                      __global const RC_T *restrict limit, int n, int channels, int corners)
{
    for (int e = 0; e < n; e++)
        row[e] = rc_within(row[e], near[e], limit[e]);
    if (!corners) return;
    for (int e = channels; e < n; e++)
        row[e] = rc_within(row[e], near[e - channels], limit[e]);
    for (int e = 0; e < n - channels; e++)
        row[e] = rc_within(row[e], near[e + channels], limit[e]);
}

static void rc_along(__global RC_T *restrict row, __global const RC_T *restrict limit, int n, int channels)
{
    for (int k = 0; k < channels; k++) {
        RC_T v = row[k];
        for (int e = k; e < n; e += channels)
            row[e] = v = rc_within(row[e], v, limit[e]);
    }
}

static void rc_back(__global RC_T *restrict row, __global const RC_T *restrict limit, int n, int channels)
{
    for (int k = 1; k <= channels; k++) {
        RC_T v = row[n - k];
        for (int e = n - k; e >= 0; e -= channels)
            row[e] = v = rc_within(row[e], v, limit[e]);
    }
}

/* A run of rows in which values spread. */
typedef struct rc_area {
    __global RC_T *v;
    __global const RC_T *limit;
    __global int *next;
    int y0, y1, plane, n, channels, corners;
    int head, tail; /* -1: the list is empty */
} rc_area;

static inline void rc_push(rc_area *a, int e)
{
    if (a->next[e]) return;
    a->next[e] = -1;
    if (a->head < 0)
        a->head = e;
    else
        a->next[a->tail] = e + 1;
    a->tail = e;
}

static inline void rc_offer(rc_area *a, RC_T v, int e)
{
    const RC_T was = a->v[e], is = rc_within(was, v, a->limit[e]);
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
    if (left) rc_offer(a, v, e - left);
    if (right) rc_offer(a, v, e + right);
    if (up) rc_offer(a, v, e - a->n);
    if (down) rc_offer(a, v, e + a->n);
    if (!a->corners) return;
    if (up && left) rc_offer(a, v, e - a->n - left);
    if (up && right) rc_offer(a, v, e - a->n + right);
    if (down && left) rc_offer(a, v, e + a->n - left);
    if (down && right) rc_offer(a, v, e + a->n + right);
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

/* Whether any of elements [from, to) of a row would change by those around it. A row that is missing is the row itself,
 * whose elements are around it anyway. */
static bool rc_is_open(__global const RC_T *row, __global const RC_T *above, __global const RC_T *below,
                       __global const RC_T *limit, int2 range, int n, int channels, int corners)
{
    int open = 0;
    for (int e = range.x; e < range.y; e++) {
        const int l = e >= channels ? e - channels : e, r = e + channels < n ? e + channels : e;
        RC_T v = RC_FAR(RC_FAR(row[l], row[r]), RC_FAR(above[e], below[e]));
        if (corners) v = RC_FAR(v, RC_FAR(RC_FAR(above[l], above[r]), RC_FAR(below[l], below[r])));
        open |= rc_differ(rc_within(row[e], v, limit[e]), row[e]);
    }
    return open;
}

enum { RC_CHUNK = 64 };

/* Puts what may still spread into the list. */
static void rc_find(rc_area *a, int y)
{
    const bool up = y > a->y0 && y % a->plane != 0, down = y + 1 < a->y1 && (y + 1) % a->plane != 0;
    const long first = (long)y * a->n;
    __global const RC_T *row = a->v + first, *above = up ? row - a->n : row, *below = down ? row + a->n : row;
    for (int from = 0; from < a->n; from += RC_CHUNK) {
        const int2 range = (int2)(from, min(from + RC_CHUNK, a->n));
        if (!rc_is_open(row, above, below, a->limit + first, range, a->n, a->channels, a->corners)) continue;
        for (int e = max(range.x - a->channels, 0); e < min(range.y + a->channels, a->n); e++) {
            rc_spread(a, y, e, (int)first + e);
            if (up) rc_spread(a, y - 1, e, (int)first - a->n + e);
            if (down) rc_spread(a, y + 1, e, (int)first + a->n + e);
        }
    }
}

static rc_area rc_area_of(__global RC_T *v, __global const RC_T *limit, __global int *next, __global const int *P)
{
    const rc_area a = { v, limit, next, 0, 0, P[2], P[3], P[4], P[8], -1, -1 };
    return a;
}

/* Zeros have one sign. */
static inline RC_T rc_zero(RC_T v) { return v == 0 ? (RC_T)0 : v; }

__kernel void rc_strips(__global const RC_T *restrict from, __global const RC_T *restrict limit, __global RC_T *v,
                        __global int *next, __global const int *P)
{
    const int strip = rc_item(P);
    if (strip >= P[7]) return;
    rc_area a = rc_area_of(v, limit, next, P);
    a.y0 = strip * P[5];
    a.y1 = min(a.y0 + P[5], P[1]);
    for (int y = a.y0; y < a.y1; y++) {
        const long first = (long)y * a.n;
        __global RC_T *row = v + first;
        for (int e = 0; e < a.n; e++)
            row[e] = rc_zero(RC_NEAR(from[first + e], limit[first + e]));
        for (int e = 0; e < a.n; e++)
            next[first + e] = 0;
        if (y > a.y0 && y % a.plane != 0) rc_across(row, row - a.n, limit + first, a.n, a.channels, a.corners);
        rc_along(row, limit + first, a.n, a.channels);
    }
    for (int y = a.y1 - 1; y >= a.y0; y--) {
        const long first = (long)y * a.n;
        __global RC_T *row = v + first;
        if (y + 1 < a.y1 && (y + 1) % a.plane != 0)
            rc_across(row, row + a.n, limit + first, a.n, a.channels, a.corners);
        rc_back(row, limit + first, a.n, a.channels);
    }
    for (int y = a.y0; y < a.y1; y++) {
        rc_find(&a, y);
        rc_follow(&a);
    }
}

__kernel void rc_join(__global const RC_T *restrict limit, __global RC_T *v, __global int *next, __global const int *P)
{
    const int item = rc_item(P);
    const long first = (long)2 * item * P[9], middle = (first + P[9]) * P[5];
    if (item >= P[7] || middle >= P[1] || middle % P[2] == 0) return;
    rc_area a = rc_area_of(v, limit, next, P);
    a.y0 = first * P[5];
    a.y1 = min((first + 2 * P[9]) * P[5], (long)P[1]);
    for (int y = middle - 1; y <= middle; y++)
        rc_find(&a, y);
    rc_follow(&a);
}
