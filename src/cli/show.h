/* SPDX-License-Identifier: MIT */
/* --show: pictures in the terminal. */
#ifndef IMGPAR_CLI_SHOW_H
#define IMGPAR_CLI_SHOW_H

#include <imgpar.h>

typedef enum show_mode { SHOW_NOTHING, SHOW_KITTY, SHOW_SIXEL, SHOW_BLOCKS } show_mode;

/* How pictures are shown, and how large they may be. */
typedef struct screen {
    show_mode mode;
    int columns, rows;           /* of letters; rows 0: any number */
    int cell_width, cell_height; /* of a letter, in pixels */
} screen;

/* word: auto, kitty, sixel or blocks; auto asks environment and terminal. An exit status, after saying why. */
int show_choose(const char *word, screen *s);
/* What a terminal shows as the picture, without the end of the last line, for free(); NULL: why (size bytes) tells. */
char *show_picture(imgpar_array *a, const screen *s, const imgpar_options *options, char *why, size_t size);

#endif
