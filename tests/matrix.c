/* SPDX-License-Identifier: MIT */
#include "matrix.h"
#include "asserts.h"
#include "exact.h"
#include "held.h"
#include "tier.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- lists --------------------------------------------------------------------------------- */

bool list_word(const char *list, int k, char *buf)
{
    for (; k > 0 && *list; k--) {
        list += strcspn(list, " ");
        list += *list == ' ';
    }
    int n = (int)strcspn(list, " ");
    snprintf(buf, 32, "%.*s", n, list);
    return n > 0;
}

int list_length(const char *list)
{
    char word[32];
    int n = 0;
    while (list_word(list, n, word))
        n++;
    return n;
}

imgpar_dtype list_dtype(const char *list, int k)
{
    char word[32];
    list_word(list, k, word);
    for (int d = 0; d < IMGPAR_N_DTYPES; d++)
        if (strcmp(imgpar_dtype_name((imgpar_dtype)d), word) == 0) return (imgpar_dtype)d;
    ck_abort_msg("no dtype \"%s\" in \"%s\"", word, list);
    return IMGPAR_U8;
}

/* ---- inputs -------------------------------------------------------------------------------- */

/* Quarters of a pixel from a little outside to a little outside. */
static picture positions(int64_t h, int64_t w, unsigned seed)
{
    picture p = picture_new(IMGPAR_F32, h, w, 1);
    picture_fill(&p, FILL_LEVELS, seed);
    for (int64_t k = 0; k < picture_count(&p); k++)
        p.v[k] = rintl(p.v[k] * 4 * 40) / 4 - 5;
    return p;
}

picture matrix_input(const matrix_row *row, char letter, imgpar_dtype dtype, int64_t h, int64_t w, int64_t c,
                     unsigned seed)
{
    if (letter == '#') return picture_number(row->number, row->number != rintl(row->number));
    if (letter == 'p') return positions(h, w, seed);
    if (letter == 'm') dtype = IMGPAR_U8;
    if (letter == 'c') dtype = IMGPAR_BOOL;
    if (letter == 'k') { /* a matrix of as many rows as there are channels */
        h = 1;
        w = c;
    }
    if (letter == 'w') h = w = 3; /* weights of neighbours */
    picture p = picture_new(dtype, h, w, letter == 'k' ? 3 : letter == 'a' || letter == 'b' ? c : 1);
    picture_fill(&p, letter == 'm' || letter == 'M' ? FILL_LEVELS : letter == 'w' ? FILL_SMALL : row->fill, seed);
    return p;
}

/* ---- the bench ------------------------------------------------------------------------------ */

void bench_open(bench *b)
{
    char why[512];
    hold_driver();
    imgpar_status st = imgpar_context_new(NULL, &b->ctx);
    imgpar_context_new_error(why, sizeof why);
    ck_assert_msg(st == IMGPAR_OK, "no context: %s", why);
    b->has_device = strcmp(imgpar_context_device(b->ctx)->kind, "ref") != 0;
    b->is_full = test_tier_is_full();
    b->turn = EVERY_WAY;
}

void bench_close(bench *b) { imgpar_context_release(b->ctx); }

uint64_t bench_programs(const bench *b)
{
    imgpar_counters counters = { .struct_size = sizeof counters };
    imgpar_context_counters(b->ctx, &counters);
    return counters.programs_built + counters.programs_loaded;
}

/* The bytes of a by one schedule, new. */
static void *computed(bench *b, imgpar_array *a, size_t size, const char *schedule, const char *fuse, const char *what)
{
    void *bytes = malloc(size ? size : 1);
    ck_assert_ptr_nonnull(bytes);
    ck_assert_int_eq(imgpar_context_set(b->ctx, "schedule", schedule), IMGPAR_OK);
    ck_assert_int_eq(imgpar_context_set(b->ctx, "fuse", fuse), IMGPAR_OK);
    imgpar_status st = imgpar_array_read(a, bytes, size);
    ck_assert_msg(st == IMGPAR_OK, "%s, schedule %s: %s", what, schedule, imgpar_array_message(a));
    return bytes;
}

static void check_type(imgpar_array *a, const picture *want, const char *what)
{
    imgpar_info info = { .struct_size = sizeof info };
    ck_assert_msg(imgpar_array_info(a, &info) == IMGPAR_OK, "%s: %s", what, imgpar_array_message(a));
    ck_assert_msg(info.dtype == want->dtype, "%s: is %s, must be %s", what, imgpar_dtype_name(info.dtype),
                  imgpar_dtype_name(want->dtype));
    ck_assert_msg(info.size_bytes == picture_size(want), "%s: has %zu bytes, must have %zu", what, info.size_bytes,
                  picture_size(want));
    if (want->h * want->w == 1 || info.rank == 1) return;
    ck_assert_msg(info.height == want->h && info.width == want->w, "%s: is %dx%d, must be %dx%d", what, (int)info.width,
                  (int)info.height, (int)want->w, (int)want->h);
}

void bench_check(bench *b, imgpar_array *a, const picture *want, bool same_bytes, device_use device, const char *what)
{
    /* Small pictures stream, too, where they are fused. */
    static const struct {
        const char *schedule, *fuse, *stream_bytes;
    } ways[] = {
        { "ref", "1", "1G" },    { "auto", "1", "1" },  { "tiles", "1", "1G" },
        { "pixels", "1", "1G" }, { "auto", "0", "1G" }, { "texture", "1", "1G" },
    };
    int n_ways = b->has_device ? 1 + (int)device : 1, n_always = 2;
    if (b->has_device && device == DEVICE && b->is_full) n_ways++;
    size_t size = picture_size(want);
    void *bytes[sizeof ways / sizeof *ways] = { NULL };
    char why[256];
    const bool is_exact = same_bytes || has_exact_bytes(b->ctx, a);
    check_type(a, want, what);
    for (int k = 0; k < n_ways; k++) {
        if (k >= n_always && b->turn != EVERY_WAY && b->turn % (2 * (n_ways - n_always)) != k - n_always) continue;
        ck_assert_int_eq(imgpar_context_set(b->ctx, "stream_bytes", ways[k].stream_bytes), IMGPAR_OK);
        bytes[k] = computed(b, a, size, ways[k].schedule, ways[k].fuse, what);
        ck_assert_msg(picture_compare(want, bytes[k], why), "%s, schedule %s, fuse %s: %s", what, ways[k].schedule,
                      ways[k].fuse, why);
        ck_assert_msg(!is_exact || picture_same(want, bytes[0], bytes[k]), "%s: ref and %s give different bytes", what,
                      ways[k].schedule);
    }
    for (int k = 0; k < n_ways; k++)
        free(bytes[k]);
    imgpar_array_release(a);
}
