/* SPDX-License-Identifier: MIT */
/* Numbers as a picture with axes: what plot() draws, on the host (plot.c). It knows nothing of arrays. */
#ifndef IP_OPS_PLOT_H
#define IP_OPS_PLOT_H

#include "imgpar.h"

#include <stdbool.h>
#include <stdint.h>

typedef enum ip_plot_kind { IP_PLOT_LINE, IP_PLOT_BARS, IP_PLOT_SCATTER, IP_PLOT_HEAT } ip_plot_kind;
/* In the order of the words "none|x|y|both". */
enum { IP_PLOT_LOG_X = 1, IP_PLOT_LOG_Y = 2 };

typedef struct ip_plot {
    ip_plot_kind kind;
    int log; /* which axes have logarithms; none of heat */
    /* The element of a row and a column, NaN or infinite where there is none. */
    double (*at)(const void *user, int64_t row, int64_t column);
    const void *user;
    int64_t rows, columns;
    bool by_rows;                                   /* series are rows; else columns */
    double x0, dx;                                  /* of the first element of a series, and from one to the next */
    double lo, hi;                                  /* of the y axis, of heat of the colours; NaN: the data's */
    double size;                                    /* of the letters */
    double thickness;                               /* of lines; points are four times that */
    const char *title, *x_label, *y_label, *legend; /* UTF-8, "" for none; legend: a line for each series */
} ip_plot;

/* Draws RGB of 8 bits. ask() is called now and then: what is not 0 means stop and return it. */
imgpar_status ip_plot_draw(const ip_plot *plot, unsigned char *rgb, int64_t width, int64_t height,
                           imgpar_status (*ask)(void *user), void *user);

/* Steps of an axis: first, first + step, ... up to hi, with so many digits behind the point. */
typedef struct ip_ticks {
    double first, step;
    int n, digits;
} ip_ticks;
/* About most steps of 1, 2 or 5 times a power of ten, between lo and hi. */
ip_ticks ip_ticks_of(double lo, double hi, int most);

#endif
