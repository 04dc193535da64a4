/* SPDX-License-Identifier: MIT */
/*
 * Videos as pipes carry them, a frame at a time: PNM and PAM pictures one behind another, and YUV4MPEG2 (Y4M), whose
 * frames become RGB, or gray, and are made of such again.
 *
 * Y4M: C420jpeg, C420mpeg2, C420paldv, C420, C422, C444, C444alpha and Cmono with 8 bits; C420, C422 and C444 (p9 to
 * p16) and Cmono (9 to 16) with more, which become u16. Colours are those of the matrix (BT.601 unless another is asked
 * for), in the limited range unless the stream says XCOLORRANGE=FULL. Colour differences are interpolated linearly from
 * where they lie, and averaged there when they are written: those of C420jpeg and C420 in the middle of four pixels, of
 * the others beside the left ones, of C420paldv beside the upper one.
 */
#ifndef IMGPAR_CLI_VIDEO_H
#define IMGPAR_CLI_VIDEO_H

#include "behind.h"
#include "frames.h"

#include <imgpar.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

typedef enum video_kind { VIDEO_NONE, VIDEO_PNM, VIDEO_Y4M } video_kind;

/* The frames of a stream of Y4M. */
typedef struct y4m_format {
    int64_t width, height;
    int bits;                /* of a sample: 8 to 16 */
    int step_x, step_y;      /* pixels for a colour difference, 1 or 2 along each side */
    bool is_left, is_above;  /* they lie beside the first of these, not in their middle */
    bool is_gray, has_alpha; /* planes: Y; Y U V; Y U V A */
    bool has_full_range;
    char space[24]; /* "420jpeg" */
    char rest[200]; /* " F25:1 Ip A1:1": what is written again as it was read */
} y4m_format;

typedef struct video {
    const char *name; /* in messages */
    video_kind kind;
    y4m_format y4m;
    imgpar_pipeline *decode; /* planes to a picture */
    frames frames;
    uint64_t n_frames; /* that were handed out */
    char why[400];     /* what is wrong */
} video;

/* What the stream is, by its first byte, which stays to be read. VIDEO_PNM may be a single picture. */
video_kind video_kind_of(FILE *file);
/* Begins to read, on a thread, so that the file is left alone until video_close(), which leaves it open and is due in
 * any case. matrix: "601", "709", "2020"; NULL: "601". False: v->why tells. */
bool video_open(video *v, FILE *file, const char *name, const char *matrix);
/* 1: *out is the next frame, a new array; 0: there is none; -1: v->why tells what is wrong, unless a signal was
 * seen. */
int video_next(video *v, imgpar_context *ctx, imgpar_array **out);
void video_close(video *v);

/* Writes frames as Y4M, in the format that is read, or as gray; the first one tells the size. */
typedef struct video_writer {
    FILE *file;
    const char *matrix;
    y4m_format y4m;
    imgpar_pipeline *encode; /* a picture to planes, one behind another; NULL before the first frame */
    behind behind;
    uint64_t n_made; /* frames that were handed over to be written */
    uint64_t frame;  /* that why is about, from 1 on */
    char why[400];
} video_writer;

/* source is what is read; NULL: C444 of 25 frames a second. */
void video_writer_begin(video_writer *w, FILE *file, const video *source, const char *matrix);
/* The frame is written while the next one is made. False: w->why tells, "" where a signal was seen; of a frame before
 * this one, maybe. */
bool video_write(video_writer *w, imgpar_context *ctx, imgpar_array *frame, const imgpar_options *options);
/* Waits until all is written, unless !is_whole. False: w->why tells, "" where a signal was seen. */
bool video_writer_end(video_writer *w, bool is_whole);

#endif
