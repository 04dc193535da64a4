/* SPDX-License-Identifier: MIT */
#include "written.h"

#include "exact.h"
#include "held.h"
#include "tier.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

imgpar_context *written_context;
const imgpar_dtype written_dtypes[WRITTEN_DTYPES] = { IMGPAR_U8, IMGPAR_U16, IMGPAR_F32 };

static void set_up(void)
{
    hold_driver();
    ck_assert_int_eq(imgpar_context_new(NULL, &written_context), IMGPAR_OK);
}

static void tear_down(void) { imgpar_context_release(written_context); }

TCase *written_case(void)
{
    TCase *tests = tcase_create("rows");
    tcase_add_checked_fixture(tests, set_up, tear_down);
    return tests;
}

int written_run(const char *suite_name, TCase *tests)
{
    Suite *suite = suite_create(suite_name);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int n_failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return n_failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

picture written_levels(imgpar_dtype dtype, int64_t h, int64_t w, int64_t c, unsigned seed)
{
    picture p = picture_new(dtype, h, w, c);
    for (int64_t k = 0; k < picture_count(&p); k++) {
        seed = seed * 1664525u + 1013904223u;
        p.v[k] = rounded(dtype, (real)(seed >> 8) / (1 << 24) * dtype_full(dtype));
    }
    return p;
}

real written_nearest(const picture *a, int64_t y, int64_t x, int64_t c)
{
    return picture_read(a, y, x, c, IMGPAR_BORDER_REPLICATE, 0);
}

real written_between(const picture *a, real y, real x, int64_t c, imgpar_border border)
{
    const real fy = y - floorl(y), fx = x - floorl(x);
    real sum = 0;
    for (int k = 0; k < 4; k++) {
        const int64_t py = (int64_t)floorl(y) + k / 2, px = (int64_t)floorl(x) + k % 2;
        sum += picture_read(a, py, px, c, border, 0) * (k / 2 ? fy : 1 - fy) * (k % 2 ? fx : 1 - fx);
    }
    return sum;
}

/* New memory: the bytes of a, which are within what is wanted. */
static char *expect_of_array(imgpar_array *a, const char *text, const picture *want, const char *way)
{
    char why[256];
    imgpar_info info = { .struct_size = sizeof info };
    ck_assert_msg(imgpar_array_info(a, &info) == IMGPAR_OK, "%s: %s", text, imgpar_array_message(a));
    ck_assert_msg(info.width == want->w && info.height == want->h && info.channels == want->c &&
                      info.dtype == want->dtype,
                  "%s gives %lld x %lld x %lld, dtype %d", text, (long long)info.width, (long long)info.height,
                  (long long)info.channels, (int)info.dtype);
    char *data = malloc(info.size_bytes);
    ck_assert_ptr_nonnull(data);
    ck_assert_msg(imgpar_array_read(a, data, info.size_bytes) == IMGPAR_OK, "%s: %s", text, imgpar_array_message(a));
    ck_assert_msg(picture_compare(want, data, why), "%s: %s (%s)", text, why, way);
    return data;
}

static uint64_t hash_of(uint64_t h, int c) { return (h ^ (uint64_t)c) * 0x100000001b3u; } /* FNV-1a */

/* Each text that runs on the device is compiled there for a second or several. So the quick tier has one there once,
 * whatever its numbers are, and of its other numbers, dtypes and channels every fourth. */
static bool is_its_turn(const char *text, const picture *const *in, int n)
{
    static uint64_t seen[1024]; /* texts without their numbers; where it is full, others count as seen */
    uint64_t words = 0xcbf29ce484222325u, all = words;
    for (const char *c = text; *c; c++) {
        if (!strchr("0123456789.", *c)) words = hash_of(words, *c);
        all = hash_of(all, *c);
    }
    for (int k = 0; k < n; k++)
        all = hash_of(hash_of(all, (int)in[k]->dtype), (int)in[k]->c);
    if (test_tier_is_full() || (all >> 32) % 4 == 0) return true;
    size_t k = 0;
    while (k < 1024 && seen[k] && seen[k] != words)
        k++;
    if (k == 1024 || seen[k]) return false;
    seen[k] = words;
    return true;
}

void written_expect(const char *text, const picture *const *in, int n, const picture *want, bool on_device)
{
    imgpar_array *arrays[2];
    for (int k = 0; k < n; k++)
        arrays[k] = picture_array(written_context, in[k]);
    char *bytes[2] = { NULL };
    bool is_exact = false;
    for (int way = on_device && is_its_turn(text, in, n) ? 0 : 1; way < 2; way++) {
        ck_assert_int_eq(imgpar_context_set(written_context, "schedule", way ? "ref" : "auto"), IMGPAR_OK);
        imgpar_array *a = imgpar_apply(written_context, text, arrays, (size_t)n);
        if (!way) is_exact = has_exact_bytes(written_context, a);
        bytes[way] = expect_of_array(a, text, want, way ? "ref" : "device");
        imgpar_array_release(a);
    }
    ck_assert_msg(!is_exact || picture_same(want, bytes[0], bytes[1]), "%s: the device and ref give different bytes",
                  text);
    for (int way = 0; way < 2; way++)
        free(bytes[way]);
    for (int k = 0; k < n; k++)
        imgpar_array_release(arrays[k]);
}

void written_prints(const char *text, const char *as)
{
    for (int way = is_its_turn(text, NULL, 0) ? 0 : 1; way < 2; way++) {
        char *got = NULL;
        ck_assert_int_eq(imgpar_context_set(written_context, "schedule", way ? "ref" : "auto"), IMGPAR_OK);
        imgpar_array *a = imgpar_apply(written_context, text, NULL, 0);
        ck_assert_msg(!imgpar_array_text(a, NULL, &got), "%s: %s", text, imgpar_array_message(a));
        ck_assert_msg(strcmp(got, as) == 0, "%s gives %s, not %s", text, got, as);
        imgpar_free(got);
        imgpar_array_release(a);
    }
}

void written_refuses(const char *text, const char *why)
{
    const float zeros[9] = { 0 };
    imgpar_array *in = imgpar_array_from_data(written_context, IMGPAR_F32, 2, (int64_t[]){ 3, 3 }, zeros);
    imgpar_array *a = imgpar_apply(written_context, text, &in, 1);
    ck_assert_msg(imgpar_array_status(a) != IMGPAR_OK, "%s is taken", text);
    ck_assert_msg(strstr(imgpar_array_message(a), why) != NULL, "%s: %s", text, imgpar_array_message(a));
    imgpar_array_release(a);
    imgpar_array_release(in);
}
