/* SPDX-License-Identifier: MIT */
/*
 * Where the regions of a matrix of labels are: of each label how many elements have it, the sums of their y and x, and
 * the smallest and largest y and x; of a volume, with RG_VOLUME, of z, y and x. Rows are walked by runs of equal
 * labels.
 *
 *     rg_add    a work-item has a strip of rows and a part of the labels, of which it fills its strip's table
 *     rg_sum    strips' tables become the result; a work-item computes a run of labels
 *
 * Labels are those from 1 on; of a label that is not there all is 0. Tables have RG_FIELDS numbers a label.
 *
 * Of what its kernels take: P_HEIGHT, rows of all planes; P_PLANE, rows a plane; P_ROWS a strip, P_STRIPS; P_PARTS of
 * the labels; P_ITEMS, work-items there is work for; P_EACH, labels of a work-item of rg_sum.
 */
#ifdef RG_VOLUME
#define RG_OF(NAME) RG_##NAME##_Z, RG_##NAME##_Y, RG_##NAME##_X
#else
#define RG_OF(NAME) RG_##NAME##_Y, RG_##NAME##_X
#endif
enum { RG_COUNT, RG_OF(SUM), RG_OF(MIN), RG_OF(MAX), RG_FIELDS };

static inline int rg_item(__global const int *P)
{
    return (get_global_id(2) + P[0]) * get_global_size(0) + get_global_id(0);
}

/* t: a label's numbers; the run goes from x to below end. */
static inline void rg_run(__global long *t, long z, long y, long x, long end)
{
    const bool is_first = t[RG_COUNT] == 0;
    t[RG_COUNT] += end - x;
    t[RG_SUM_Y] += y * (end - x);
    t[RG_SUM_X] += (x + end - 1) * (end - x) / 2;
    /* What is outermost only grows. */
#ifdef RG_VOLUME
    t[RG_SUM_Z] += z * (end - x);
    if (is_first) t[RG_MIN_Z] = z;
    t[RG_MAX_Z] = z;
    t[RG_MIN_Y] = is_first ? y : min(t[RG_MIN_Y], y);
    t[RG_MAX_Y] = is_first ? y : max(t[RG_MAX_Y], y);
#else
    if (is_first) t[RG_MIN_Y] = y;
    t[RG_MAX_Y] = y;
#endif
    t[RG_MIN_X] = is_first ? x : min(t[RG_MIN_X], x);
    t[RG_MAX_X] = is_first ? end - 1 : max(t[RG_MAX_X], end - 1);
}

__kernel void rg_add(__global const int *restrict labels, __global long *restrict tables,
                     __global const int *restrict P)
{
    const int item = rg_item(P), width = P_WIDTH, parts = P_PARTS, strip = item / parts, part = item % parts;
    if (item >= P_ITEMS) return;
    const int first = (int)((long)P_LABELS * part / parts), end = (int)((long)P_LABELS * (part + 1) / parts);
    const int y0 = strip * P_ROWS, y1 = min(y0 + P_ROWS, P_HEIGHT);
    __global long *restrict t = tables + ((long)strip * P_LABELS) * RG_FIELDS;
    for (long j = (long)first * RG_FIELDS; j < (long)end * RG_FIELDS; j++)
        t[j] = 0;
    for (int y = y0; y < y1; y++) {
        __global const int *restrict row = labels + (long)y * width;
        const int z = y / P_PLANE;
        for (int x = 0; x < width;) {
            const int from = x, label = row[x];
            while (x < width && row[x] == label)
                x++;
            if (label > first && label <= end) rg_run(t + (label - 1L) * RG_FIELDS, z, y - z * P_PLANE, from, x);
        }
    }
}

__kernel void rg_sum(__global const long *restrict tables, __global long *restrict result,
                     __global const int *restrict P)
{
    const int item = rg_item(P), labels = P_LABELS, to = min((item + 1) * P_EACH, labels);
    if (item >= P_ITEMS) return;
    for (int l = item * P_EACH; l < to; l++) {
        long sum[RG_FIELDS] = { 0 };
        for (int s = 0; s < P_STRIPS; s++) {
            __global const long *restrict t = tables + ((long)s * labels + l) * RG_FIELDS;
            if (t[RG_COUNT] == 0) continue;
            const bool is_first = sum[RG_COUNT] == 0;
            for (int k = RG_COUNT; k <= RG_SUM_X; k++)
                sum[k] += t[k];
            for (int k = RG_SUM_X + 1; k <= RG_MIN_X; k++)
                sum[k] = is_first ? t[k] : min(sum[k], t[k]);
            for (int k = RG_MIN_X + 1; k <= RG_MAX_X; k++)
                sum[k] = is_first ? t[k] : max(sum[k], t[k]);
        }
        for (int k = 0; k < RG_FIELDS; k++)
            result[(long)l * RG_FIELDS + k] = sum[k];
    }
}
