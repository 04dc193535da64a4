/* SPDX-License-Identifier: MIT */
/* --show: pictures in a window, or in the terminal. */
#ifndef IMGPAR_CLI_SHOW_H
#define IMGPAR_CLI_SHOW_H

#include <imgpar.h>
#include <stdbool.h>
#include <stdint.h>

typedef enum show_mode { SHOW_NOTHING, SHOW_KITTY, SHOW_SIXEL, SHOW_BLOCKS, SHOW_WINDOW } show_mode;

/* How pictures are shown, and how large they may be. */
typedef struct screen {
    show_mode mode;
    int columns, rows;           /* of letters; rows 0: any number */
    int cell_width, cell_height; /* of a letter, in pixels */
} screen;

/* A picture of 8 bits, over gray squares as far as it is transparent. */
typedef struct pixels {
    unsigned char *rgb; /* for free() */
    int64_t width, height;
} pixels;

/* word: auto, window, kitty, sixel or blocks; auto asks environment and terminal. An exit status, after saying why. */
int show_choose(const char *word, screen *s);
/* Reads an array of 8 bits. False: it cannot be computed, or there is no memory. */
bool show_pixels(imgpar_array *a, pixels *out, const imgpar_options *options);
/* What a terminal shows as the picture, without the end of the last line, for free(); NULL: why (size bytes) tells. */
char *show_picture(imgpar_array *a, const screen *s, const imgpar_options *options, char *why, size_t size);

#endif
