/* SPDX-License-Identifier: MIT */
/*
 * A window that shows a picture until somebody closes it, by SDL2, which is loaded when it is needed: a program without
 * it shows pictures in the terminal.
 *
 *     wheel, + and -      larger and smaller, around the pointer or the middle
 *     dragging, arrows    another part of it
 *     1 and 0             its own size, and all of it
 *     q, Esc              close
 *
 * The title tells the name, size and dtype, and of the pixel under the pointer where it is and what it has.
 */
#ifndef IMGPAR_CLI_WINDOW_H
#define IMGPAR_CLI_WINDOW_H

#include <imgpar.h>
#include <stdbool.h>
#include <stddef.h>

/* Can a window be opened? why (size bytes) tells what is missing. */
bool window_is_there(char *why, size_t size);
/* Computes a and shows it. An error, of which why tells; IMGPAR_E_INTERRUPTED where a
 * signal closed the window. */
imgpar_status window_show(imgpar_array *a, const char *name, const imgpar_options *options, char *why, size_t size);

#endif
