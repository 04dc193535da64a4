/* SPDX-License-Identifier: MIT */
/*
 * The sunset pipeline on three photographs, cropped to one size, against a computation of its own: plain loops over
 * the decoded pixels, integers for the box filters and the overlay, double precision for the blend.
 */
#include <imgpar.h>

#include "asserts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 400, HEIGHT = 300, CHANNELS = 3, N = WIDTH * HEIGHT * CHANNELS };
static const double RATIO = 0.3;

static char *shared_path(const char *name)
{
    static char path[1024];
    const char *shared = getenv("IMGPAR_SHARED");
    if (!shared || !*shared) return NULL;
    snprintf(path, sizeof path, "%s/photos/%s", shared, name);
    return path;
}

/* The photograph's top left corner, by hand. */
static unsigned char *corner(imgpar_array *photo)
{
    imgpar_info info = { .struct_size = sizeof info };
    ck_assert_int_eq(imgpar_array_info(photo, &info), IMGPAR_OK);
    ck_assert(info.channels == 3 && info.width >= WIDTH && info.height >= HEIGHT);
    unsigned char *all = malloc(info.size_bytes), *part = malloc(N);
    ck_assert_int_eq(imgpar_array_read(photo, all, info.size_bytes), IMGPAR_OK);
    for (int y = 0; y < HEIGHT; y++)
        memcpy(part + (size_t)y * WIDTH * CHANNELS, all + (size_t)y * (size_t)info.width * CHANNELS, WIDTH * CHANNELS);
    free(all);
    return part;
}

static int inside(int i, int n) { return i < 0 ? 0 : i >= n ? n - 1 : i; }

static void box3(unsigned char *image)
{
    unsigned char *out = malloc(N);
    for (int y = 0; y < HEIGHT; y++)
        for (int x = 0; x < WIDTH; x++)
            for (int c = 0; c < CHANNELS; c++) {
                int sum = 0;
                for (int dy = -1; dy <= 1; dy++)
                    for (int dx = -1; dx <= 1; dx++)
                        sum += image[(inside(y + dy, HEIGHT) * WIDTH + inside(x + dx, WIDTH)) * CHANNELS + c];
                out[(y * WIDTH + x) * CHANNELS + c] = (unsigned char)lrint(sum / 9.0);
            }
    memcpy(image, out, N);
    free(out);
}

START_TEST(the_sunset_of_photographs_agrees_with_plain_loops)
{
    static const char *const names[3] = { "astronaut.png", "coffee.png", "chelsea.png" };
    imgpar_context *ctx;
    imgpar_array *photo[3];
    unsigned char *in[3], *got = malloc(N), *boxed = malloc(N);
    if (!shared_path(names[0])) return;
    ck_assert_int_eq(imgpar_context_new(NULL, &ctx), IMGPAR_OK);
    for (int k = 0; k < 3; k++) {
        photo[k] = imgpar_open(ctx, shared_path(names[k]));
        in[k] = corner(photo[k]);
    }
    imgpar_array *soft = imgpar_apply(ctx, "iterate(crop($1, 0, 0, 400, 300), 3, boxblur(_, size=3))", photo, 1);
    ck_assert_msg(imgpar_array_read(soft, boxed, N) == IMGPAR_OK, "%s", imgpar_array_message(soft));
    for (int k = 0; k < 3; k++)
        box3(in[0]);
    ck_assert_mem_eq(boxed, in[0], N);

    imgpar_array *out = imgpar_apply(ctx,
                                     "fn part(a) = crop(a, 0, 0, 400, 300)\n"
                                     "mixed = blend(iterate(part($1), 3, boxblur(_, size=3)), part($2), 0.3)\n"
                                     "overlay(mixed, invert(part($3)), circle(mixed, radius=height(mixed)/4))",
                                     photo, 3);
    char *json = NULL;
    ck_assert_msg(imgpar_array_read(out, got, N) == IMGPAR_OK, "%s", imgpar_array_message(out));
    for (int i = 0; i < N; i++) {
        int x = i / CHANNELS % WIDTH, y = i / CHANNELS / WIDTH;
        double dx = x - (WIDTH - 1) / 2.0, dy = y - (HEIGHT - 1) / 2.0, radius = HEIGHT / 4.0;
        if (dx * dx + dy * dy <= radius * radius)
            ck_assert_int_eq(got[i], 255 - in[2][i]);
        else
            ck_assert(fabs(got[i] - (in[0][i] * (1 - RATIO) + in[1][i] * RATIO)) <= 0.51);
    }
    ck_assert_int_eq(imgpar_array_explain(out, "json", &json), IMGPAR_OK);
    const char *first = strstr(json, "\"name\"");
    ck_assert(first && !strstr(first + 1, "\"name\""));
    imgpar_free(json);
    imgpar_array_release(soft);
    imgpar_array_release(out);
    for (int k = 0; k < 3; k++) {
        imgpar_array_release(photo[k]);
        free(in[k]);
    }
    imgpar_context_release(ctx);
    free(got);
    free(boxed);
}
END_TEST

int main(void)
{
    if (!shared_path("")) {
        puts("skipped: no test material (set IMGPAR_SHARED)");
        return 77;
    }
    Suite *suite = suite_create("sunset");
    TCase *tc = tcase_create("sunset");
    tcase_add_test(tc, the_sunset_of_photographs_agrees_with_plain_loops);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
