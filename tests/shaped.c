/* SPDX-License-Identifier: MIT */
#include "shaped.h"
#include "asserts.h"
#include "tier.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

nd nd_of_shape(imgpar_dtype dtype, int rank, const int64_t *shape)
{
    nd a = { .rank = rank };
    int64_t n = 1;
    for (int k = 0; k < rank; k++)
        n *= a.shape[k] = shape[k];
    a.p = picture_new(dtype, 1, n, 1);
    return a;
}

nd nd_new(imgpar_dtype dtype, const char *text)
{
    int64_t shape[4];
    int rank = 0;
    for (char *end; rank < 4 && *text; text = *end == 'x' ? end + 1 : end)
        shape[rank++] = strtoll(text, &end, 10);
    return nd_of_shape(dtype, rank, shape);
}

void nd_fill(nd *a, fill kind, unsigned seed)
{
    if (picture_count(&a->p) > 0) picture_fill(&a->p, kind, seed);
}

void nd_free(nd *a) { picture_free(&a->p); }

imgpar_array *nd_array(imgpar_context *ctx, const nd *a)
{
    void *bytes = picture_bytes(&a->p);
    imgpar_array *array = imgpar_array_from_data(ctx, a->p.dtype, a->rank, a->shape, bytes);
    ck_assert_msg(imgpar_array_status(array) == IMGPAR_OK, "%s", imgpar_array_message(array));
    free(bytes);
    return array;
}

static void *computed(imgpar_context *ctx, imgpar_array *a, const char *schedule, const char *fuse, const char *what)
{
    imgpar_info info = { .struct_size = sizeof info };
    ck_assert_msg(imgpar_array_info(a, &info) == IMGPAR_OK, "%s: %s", what, imgpar_array_message(a));
    void *bytes = malloc(info.size_bytes ? info.size_bytes : 1);
    ck_assert_ptr_nonnull(bytes);
    ck_assert_int_eq(imgpar_context_set(ctx, "schedule", schedule), IMGPAR_OK);
    ck_assert_int_eq(imgpar_context_set(ctx, "fuse", fuse), IMGPAR_OK);
    imgpar_status st = imgpar_array_read(a, bytes, info.size_bytes);
    ck_assert_msg(st == IMGPAR_OK, "%s, schedule %s: %s", what, schedule, imgpar_array_message(a));
    ck_assert_int_eq(imgpar_context_set(ctx, "schedule", "auto"), IMGPAR_OK);
    ck_assert_int_eq(imgpar_context_set(ctx, "fuse", "1"), IMGPAR_OK);
    return bytes;
}

void *nd_read(imgpar_context *ctx, imgpar_array *a, const char *schedule, const char *what)
{
    return computed(ctx, a, schedule, "1", what);
}

static void check_ways(imgpar_context *ctx, imgpar_array *a, const nd *want, bool same_bytes, int n_ways,
                       const char *what)
{
    static const struct {
        const char *schedule, *fuse;
    } ways[] = {
        { "ref", "1" },
        { "auto", "1" },
        { "pixels", "1" },
        { "auto", "0" },
    };
    void *first = NULL;
    imgpar_info info = { .struct_size = sizeof info };
    char why[256];
    ck_assert_msg(imgpar_array_info(a, &info) == IMGPAR_OK, "%s: %s", what, imgpar_array_message(a));
    ck_assert_msg(info.dtype == want->p.dtype, "%s: is %s", what, imgpar_dtype_name(info.dtype));
    ck_assert_msg(info.rank == want->rank &&
                      memcmp(info.shape, want->shape, (size_t)info.rank * sizeof *info.shape) == 0,
                  "%s: has another shape, of %d axes", what, info.rank);
    for (int k = 0; k < n_ways; k++) {
        void *bytes = computed(ctx, a, ways[k].schedule, ways[k].fuse, what);
        ck_assert_msg(picture_compare(&want->p, bytes, why), "%s, schedule %s: %s", what, ways[k].schedule, why);
        ck_assert_msg(!same_bytes || !first || picture_same(&want->p, first, bytes),
                      "%s: ref and %s give different bytes", what, ways[k].schedule);
        if (first)
            free(bytes);
        else
            first = bytes;
    }
    free(first);
    imgpar_array_release(a);
}

void nd_check(imgpar_context *ctx, imgpar_array *a, const nd *want, bool same_bytes, const char *what)
{
    check_ways(ctx, a, want, same_bytes, strcmp(imgpar_context_device(ctx)->kind, "ref") != 0 ? 4 : 1, what);
}

void nd_check_dtype(imgpar_context *ctx, imgpar_array *a, const nd *want, bool same_bytes, imgpar_dtype dtype,
                    const char *what)
{
    bool is_full = test_tier_is_full(), often = dtype == IMGPAR_F32 || dtype == IMGPAR_U8;
    bool has_device = strcmp(imgpar_context_device(ctx)->kind, "ref") != 0;
    check_ways(ctx, a, want, same_bytes, !has_device ? 1 : is_full ? 4 : often ? 2 : 1, what);
}

void nd_expect_kernels(imgpar_array *a, int n, const char *word, const char *what)
{
    char *json;
    int count = 0;
    imgpar_status st = imgpar_explain(&a, 1, "json", &json);
    ck_assert_msg(st == IMGPAR_OK, "%s: %s", what, imgpar_array_message(a));
    for (const char *at = json; (at = strstr(at, "{\"name\": ")); at++)
        count++;
    ck_assert_msg(count == n, "%s: %d kernels, must be %d\n%s", what, count, n, json);
    ck_assert_msg(!word || strstr(json, word), "%s: \"%s\" does not stand in\n%s", what, word, json);
    imgpar_free(json);
}
