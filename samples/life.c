/* SPDX-License-Identifier: MIT */
/*
 * life.c - Conway's game of life on a torus, the same as life.conf, one generation after the other.
 *
 *     cc life.c -o life $(pkg-config --cflags --libs imgpar)
 *     ./life 200 life.png
 */
#include <imgpar.h>

#include <stdio.h>
#include <stdlib.h>

/* The generation after cells. Nothing is computed yet. */
static imgpar_array *next(imgpar_context *ctx, imgpar_array *cells)
{
    static const double around[] = { -1, -1, -1, 0, -1, 1, 0, -1, 0, 1, 1, -1, 1, 0, 1, 1 };
    imgpar_array *numbers = imgpar_cast(cells, "u8");
    imgpar_array *count = imgpar_neighbours(numbers, around, 8, 2, "sum", IMGPAR_BORDER_WRAP);
    imgpar_array *out = imgpar_apply(ctx, "$2 == 3 || $1 && $2 == 2", (imgpar_array *[]){ cells, count }, 2);
    imgpar_array_release(numbers);
    imgpar_array_release(count);
    return out;
}

int main(int argc, char **argv)
{
    imgpar_context *ctx;
    if (argc != 3) {
        fprintf(stderr, "usage: %s GENERATIONS OUT\n", argv[0]);
        return 2;
    }
    if (imgpar_context_new(NULL, &ctx)) {
        fprintf(stderr, "life: no device\n");
        return 1;
    }
    imgpar_array *cells = imgpar_apply(ctx, "random([256 256], seed=7) < 0.3", NULL, 0);
    imgpar_status status = IMGPAR_OK;
    for (int k = atoi(argv[1]); !status && k > 0; k--) {
        imgpar_array_replace(&cells, next(ctx, cells));
        status = imgpar_array_eval(cells, NULL); /* one kernel; the grid stays on the device */
    }
    imgpar_array *picture = imgpar_apply(ctx, "repeat(repeat($1, 2), 2, axis=1)", &cells, 1);
    if (!status) status = imgpar_save(picture, argv[2], NULL);
    if (status) fprintf(stderr, "life: %s\n", imgpar_array_message(imgpar_array_status(cells) ? cells : picture));

    imgpar_array_release(picture);
    imgpar_array_release(cells);
    imgpar_context_release(ctx);
    return status != IMGPAR_OK;
}
