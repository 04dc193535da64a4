/* SPDX-License-Identifier: MIT */
/*
 * sunset.c - the pipeline of sunset.conf as a C program.
 *
 *     cc sunset.c -o sunset $(pkg-config --cflags --libs imgpar)
 *     ./sunset tower.png sunset.png forest.png out.png
 */
#include <imgpar.h>

#include <stdio.h>

static imgpar_array *draw(imgpar_array *tower, imgpar_array *sunset, imgpar_array *forest)
{
    imgpar_info info = { .struct_size = sizeof info };
    imgpar_array *soft = imgpar_array_retain(tower);
    for (int i = 0; i < 3; i++) imgpar_array_replace(&soft, imgpar_boxblur(soft, 3, IMGPAR_BORDER_REPLICATE));
    imgpar_array *mixed = imgpar_blend(soft, sunset, 0.3);
    imgpar_array *inverted = imgpar_invert(forest);
    double radius = imgpar_array_info(mixed, &info) ? 0 : (double)info.height / 4;
    imgpar_array *mask = imgpar_circle(mixed, radius);
    imgpar_array *out = imgpar_overlay(mixed, inverted, mask);
    imgpar_array_release(soft);
    imgpar_array_release(mixed);
    imgpar_array_release(inverted);
    imgpar_array_release(mask);
    return out;
}

int main(int argc, char **argv)
{
    if (argc != 5) {
        fprintf(stderr, "usage: %s TOWER SUNSET FOREST OUT\n", argv[0]);
        return 2;
    }
    imgpar_context *ctx;
    if (imgpar_context_new(NULL, &ctx)) {
        fprintf(stderr, "sunset: no device\n");
        return 1;
    }
    imgpar_array *in[3];
    for (int i = 0; i < 3; i++) in[i] = imgpar_open(ctx, argv[i + 1]);
    imgpar_array *out = draw(in[0], in[1], in[2]);

    imgpar_status status = imgpar_save(out, argv[4], NULL); /* everything is computed here, in one kernel */
    if (status) fprintf(stderr, "sunset: %s\n", imgpar_array_message(out));

    imgpar_array_release(out);
    for (int i = 0; i < 3; i++) imgpar_array_release(in[i]);
    imgpar_context_release(ctx);
    return status != IMGPAR_OK;
}
