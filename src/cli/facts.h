/* SPDX-License-Identifier: MIT */
/* What a report tells of an array: numbers, a histogram, and a picture that is small enough to stand in it. */
#ifndef IMGPAR_CLI_FACTS_H
#define IMGPAR_CLI_FACTS_H

#include <imgpar.h>
#include <stdbool.h>

enum { FACT_BINS = 64, FACT_CHANNELS = 4, FACT_POINTS = 1024, FACT_LETTERS = 32 };

typedef struct channel_facts {
    double min, max, mean; /* of finite elements */
    uint64_t n_finite;
    uint32_t counts[FACT_BINS];
} channel_facts;

typedef struct facts {
    imgpar_info info;
    const char *complex_name; /* the dtype of complex numbers whose magnitudes these are; else NULL */
    int n_channels;           /* told apart: 1 if there are more than four */
    channel_facts channels[FACT_CHANNELS];
    uint64_t n_nan, n_infinite;
    double lo, hi; /* of the histogram */
    int n_bins;    /* 0: there is none */
    char *text;    /* a few numbers as print() shows them, for imgpar_free(); or NULL */
    void *png;     /* for imgpar_free(); or NULL */
    size_t png_bytes;
    int64_t png_width, png_height;
    const char *shown; /* what of the array the picture is, "plane 3 of 7"; "": all of it */
    char shown_room[120];
    double *lines; /* or it is a few rows of numbers, to be drawn as lines */
    int n_lines, n_points;
    char problem[400]; /* why there is nothing but info, or no picture; "": no reason */
} facts;

/* Computes a, which stays the caller's. IMGPAR_E_INTERRUPTED or IMGPAR_OK: what failed is told as a problem. */
imgpar_status facts_take(imgpar_context *ctx, imgpar_array *a, const imgpar_options *options, facts *out);
void facts_free(facts *f);
/* The k-th of elements that are no complex numbers. */
double facts_element(const void *data, imgpar_dtype dtype, size_t k);
/* An element, or a mean of some: whole numbers with all digits up to 2^53; else f64 with 10, shorter types with 7. */
void facts_number(imgpar_dtype dtype, double v, char out[FACT_LETTERS]);
/* The name of a channel, "red"; "" of plain numbers in one. */
const char *facts_channel(const imgpar_info *info, int channel);
/* The description in the colour profile that a would be saved with, into the n bytes of out; "": it has none. */
void facts_profile(imgpar_context *ctx, imgpar_array *a, char *out, size_t n);

#endif
