/* SPDX-License-Identifier: MIT */
/*
 * Encoded images in memory and in files: PNG, JPEG, NPY, PNM. Chosen by
 * content when reading, by name or format when writing. Knows nothing of graphs
 * and devices: bytes in, pixels out.
 *
 * Rules of trust: every limit is checked before memory is taken; damaged input
 * follows fail_on; output goes to a temporary file beside the target and is
 * renamed, so a failed write leaves nothing behind.
 */
#ifndef IP_IO_IO_H
#define IP_IO_IO_H

#include "base/status.h"
#include "base/str.h"
#include "io/metadata.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum ip_format {
    IP_FORMAT_PNG,
    IP_FORMAT_JPEG,
    IP_FORMAT_NPY,
    IP_FORMAT_PNM,
    IP_N_WRITTEN_FORMATS, /* those that are only read follow */
    IP_FORMAT_CUBE = IP_N_WRITTEN_FORMATS,
    IP_FORMAT_FONT,
    IP_N_FORMATS
} ip_format;

/*
 * What ends a read; each is stricter than the one before. NONE: nothing once the header is good; what could
 * not be decoded is 0 (of a JPEG: as libjpeg fills it). TRUNCATED: data that is missing or cannot be read on.
 * ERROR: also corrupt data that can be read through (a wrong checksum, ...). WARNING: also oddities.
 * What is tolerated gives a line of warnings.
 */
typedef enum ip_fail_on { IP_FAIL_ON_NONE, IP_FAIL_ON_TRUNCATED, IP_FAIL_ON_ERROR, IP_FAIL_ON_WARNING } ip_fail_on;

/* What the header says; shape, dtype and space are those decoding will give (EXIF orientation applied,
 * palette expanded, 1-, 2- and 4-bit widened to u8, CMYK as RGB). */
typedef struct ip_header {
    ip_format format;
    imgpar_dtype dtype;
    imgpar_space space;
    int rank; /* images: 3, [height, width, channels]; NPY: as stored */
    int64_t shape[IMGPAR_MAX_RANK];
    int orientation;  /* EXIF 1..8 */
    bool tells_white; /* an exact value: white and what follows are its own; else they are guessed */
    double white;
    bool is_mask;
    bool alpha_is_number; /* exact values only: alpha was computed with (ip_type) */
    bool has_rows;        /* ip_row_reader_open() reads it */
    uint64_t end_bytes;   /* NPY, binary PNM: where the elements end in the file; else 0 */
} ip_header;

typedef struct ip_image {
    ip_header header;
    void *pixels; /* tightly packed, native byte order; from ip_alloc */
    size_t size_bytes;
} ip_image;

/* Asked between rows and pieces of bytes; true stops with IMGPAR_E_INTERRUPTED. */
typedef struct ip_poll {
    bool (*stop)(void *user, double done);
    void *user;
} ip_poll;

/* What has no rows is copied, read and written in pieces of so many bytes, each a few milliseconds. */
enum { IP_PIECE_BYTES = 4 << 20 };

typedef struct ip_read_options {
    uint64_t max_pixels; /* width * height (of NPY: elements); 0: 268435456 */
    bool counts_held;    /* of what is read by rows nobody may ever hold all: max_pixels is not its limit */
    ip_fail_on fail_on;
    ip_poll poll;           /* stop may be NULL */
    int shrink;             /* 2, 4, 8: a JPEG is decoded at that fraction of its sides, rounded up; 0, 1: whole */
    ip_str *warnings;       /* may be NULL; a line each */
    ip_metadata **metadata; /* gets a new reference, or NULL where the file tells nothing; NULL: nobody asks */
} ip_read_options;

/*
 * Rows of pixels that are still being made while they are encoded. Encoders ask from any of their threads, for no row
 * before those that they have done with, and for no more than ip_io_rows_held() beyond the first they have not.
 */
typedef struct ip_rows {
    const void *(*row)(void *user, int64_t y); /* waits for row y, valid until done(); NULL: it will never be there */
    void (*done)(void *user, int64_t y);       /* the rows before y are not asked for again */
    void *user;
    int64_t n;
    size_t row_bytes;
} ip_rows;

/* A view of pixels to be written. Any dtype; encode rounds and saturates what the format cannot hold. */
typedef struct ip_pixels {
    imgpar_dtype dtype;
    imgpar_space space;
    int rank;
    int64_t shape[IMGPAR_MAX_RANK];
    double white;         /* the number that is white; 0: data */
    const void *pixels;   /* tightly packed; borrowed */
    const ip_rows *rows;  /* not NULL: the pixels come from there, row by row; borrowed */
    bool is_mask;         /* that white is 1, and a factor raises it */
    bool alpha_is_number; /* alpha was computed with (ip_type) */
    /* png, npy: what is written is read as the same dtype, shape, space, white and alpha, see exact.c */
    bool is_exact;
    const ip_metadata *metadata; /* to be written with them; borrowed, may be NULL */
} ip_pixels;

const char *ip_format_name(ip_format format);
/* "png", "jpg", "jpeg", "npy", "pnm" "ppm" "pgm" "pam" */
bool ip_format_find(const char *name, ip_format *format);
bool ip_format_from_path(const char *path, ip_format *format); /* by suffix, any case */
const char *ip_path_ending(const char *path); /* what stands behind the last dot of the file's name, or NULL */

/* Whether bytes begin as a TrueType or OpenType font does, or a collection of them. */
bool ip_io_is_font(const void *bytes, size_t n);

/* name appears in messages ("photo.jpg: not an image ..."). A probe reads the header only and adds no warnings. */
imgpar_status ip_io_probe(const void *bytes, size_t n, const char *name, const ip_read_options *options,
                          ip_header *header, ip_error *err);
imgpar_status ip_io_decode(const void *bytes, size_t n, const char *name, const ip_read_options *options,
                           ip_image *image, ip_error *err);
void ip_image_release(ip_image *image); /* frees pixels, clears; a zeroed image is legal */

/* A file's identity when its header was read. What cannot be read twice ("-", standard input; a FIFO; a
 * device) is read whole at once into stdin_bytes. */
typedef struct ip_file {
    char *path;
    int64_t size_bytes, mtime_sec, mtime_nsec;
    uint64_t device, inode;
    void *stdin_bytes; /* NULL for a regular file */
} ip_file;

/* Opens, reads the header, remembers the identity. file is new, for ip_file_release(). */
imgpar_status ip_file_open(const char *path, const ip_read_options *options, ip_file *file, ip_header *header,
                           ip_error *err);
/* An identity that differs is IMGPAR_E_IO "NAME changed since it was opened". */
imgpar_status ip_file_check(const ip_file *file, ip_error *err);
/* The whole file, checked likewise: file->size_bytes bytes, borrowed where the file keeps them (stdin_bytes); else new,
 * and in *owned too. */
imgpar_status ip_file_read(const ip_file *file, const ip_read_options *options, const void **bytes, void **owned,
                           ip_error *err);
/* Reads and decodes. */
imgpar_status ip_file_decode(const ip_file *file, const ip_read_options *options, ip_image *image, ip_error *err);
const char *ip_file_name(const ip_file *file); /* for messages */
imgpar_status ip_file_copy(const ip_file *file, ip_file *copy, ip_error *err);
void ip_file_release(ip_file *file);

/*
 * A picture, or another array of one plane, that is read row by row from its start: nothing holds all of it, nor of its
 * file. For what has_rows in its header. Rows are what ip_io_decode() gives, and damage is treated alike; but of what
 * follows the rows that are read nobody knows.
 *
 *     st = ip_row_reader_open(&in, &options, &r, err);
 *     for (...) st = ip_row_reader_read(r, 16, rows, err);
 *     if (all have been read) st = ip_row_reader_end(r, err);
 *     ip_row_reader_free(r);
 */
enum { IP_PNG_WHOLE_BYTES = 64 << 20 }; /* a PNG of so many is read at once, at several times the rate (png_whole.h) */
typedef struct ip_row_reader ip_row_reader;
typedef struct ip_row_input {
    const ip_file *file; /* borrowed; NULL: bytes */
    const void *bytes;   /* borrowed */
    size_t n;
    const char *name; /* of bytes, for messages */
} ip_row_input;
/* max_pixels of the options counts for nothing; warnings and poll are asked by whoever reads. */
imgpar_status ip_row_reader_open(const ip_row_input *in, const ip_read_options *options, ip_row_reader **out,
                                 ip_error *err);
int64_t ip_row_reader_height(const ip_row_reader *r);
size_t ip_row_reader_row_bytes(const ip_row_reader *r);
/* The next n rows into dst; NULL: they are passed over. */
imgpar_status ip_row_reader_read(ip_row_reader *r, int64_t n, void *dst, ip_error *err);
/* Behind the last row: whether the file ends as it must, and is still the one that was opened. */
imgpar_status ip_row_reader_end(ip_row_reader *r, ip_error *err);
/* The latter alone. */
imgpar_status ip_row_reader_check(const ip_row_reader *r, ip_error *err);
void ip_row_reader_free(ip_row_reader *r); /* NULL is legal */

/*
 * settings as in imgpar_options.settings, NULL for the defaults; *bytes is new (ip_alloc).
 *
 *     png   bits=8|16  level=0..9  metadata=none|all (all)
 *     jpeg  quality=1..100 (90) subsample=420|422|444 (420) progressive=0|1 (0)
 *           background=0..255|COLOUR (0) metadata=none|all (all)
 *     npy   none; exact shape and dtype
 *     pnm   bits=8|16; PGM, PPM, or PAM with alpha; the ending .pgm is for gray alone, .ppm for RGB
 *
 * Pictures hold [height, width, 1-4 channels], [height, width], or one row [width], not empty; other shapes are
 * IMGPAR_E_UNSUPPORTED. A white above 255, and u16 without one, are written in 16 bits unless bits=8, everything else
 * in 8 unless bits=16. White becomes the samples' maximum; numbers without one are kept, rounded and saturated, but
 * those of u8, u16 and bool, whose maximum becomes the samples'. With range=R (png, jpeg, pnm) R is white instead.
 * metadata=none leaves out EXIF, XMP and resolution; what tells the meaning of colours stays: where a JPEG cannot tell
 * it as the picture's file did, a profile is made, and where there can be none the format is refused.
 */
imgpar_status ip_io_encode(const ip_pixels *pixels, ip_format format, const char *settings, const ip_poll *poll,
                           void **bytes, size_t *n, ip_error *err);
/* As ip_io_encode(), but that the bytes go to put() as they come, which may fail. Where the rows end early that pixels
 * tells of, IMGPAR_E_INTERRUPTED. */
typedef imgpar_status (*ip_put)(void *user, const void *bytes, size_t n, ip_error *err);
imgpar_status ip_io_encode_to(const ip_pixels *pixels, ip_format format, const char *settings, const ip_poll *poll,
                              ip_put put, void *user, ip_error *err);
/* How many rows the encoder looks at together, so that its rows must be there for it to go on. */
imgpar_status ip_io_rows_held(const ip_pixels *pixels, ip_format format, const char *settings, size_t *n,
                              ip_error *err);
/* Checks the settings without encoding. */
imgpar_status ip_io_check_settings(ip_format format, const char *settings, ip_error *err);
/* Can the format hold pixels of that type and shape (the pixels themselves are not looked at)? name is the ending or
 * word the format was given by, or NULL: "pgm" is for gray alone and "ppm" for RGB, since their readers expect that. */
imgpar_status ip_io_check_pixels(const ip_pixels *pixels, ip_format format, const char *name, ip_error *err);
/* A file of them in the format is at least so long; 0: nothing is known. */
double ip_io_least_bytes(const ip_pixels *pixels, ip_format format);
/* Does the format give back pixels of that type and shape exactly (ip_pixels.is_exact), with no settings? */
imgpar_status ip_io_check_exact(const ip_pixels *pixels, ip_format format, const char *settings, ip_error *err);
/* Is any PNG of them, without settings, read as the same pixels? */
bool ip_io_png_tells_all(const ip_pixels *pixels);
/* What a picture looks like that has no range= and no white of 1 or less. WHITE: it has no white, and all values are
 * above the largest level; BEYOND: some of them above that of 16 bits. BLACK: floats, some above 0 and none above 1.
 * NEGATIVE: some below 0 and none above. */
typedef enum ip_look { IP_LOOKS_FINE, IP_LOOKS_BLACK, IP_LOOKS_WHITE, IP_LOOKS_BEYOND, IP_LOOKS_NEGATIVE } ip_look;
imgpar_status ip_io_look(const ip_pixels *pixels, ip_format format, const char *settings, const ip_poll *poll,
                         ip_look *look, ip_error *err);
/* The same of elements that come in pieces; pixels has none. */
typedef struct ip_looker {
    imgpar_dtype dtype;
    bool is_fine;                    /* seen enough, or there is nothing to be seen */
    double least, most;              /* what is above least can be told from black, what is above most is white */
    bool any_low, any_high, any_far; /* what looks black; above the largest level; above that of 16 bits */
    bool is_above_0, is_below_0;
} ip_looker;
imgpar_status ip_look_begin(const ip_pixels *pixels, ip_format format, const char *settings, ip_looker *looker,
                            ip_error *err);
void ip_look_at(ip_looker *looker, const void *elements, size_t size_bytes);
ip_look ip_look_told(const ip_looker *looker);
/* Appends a line for each thing that a file in the format, written with the settings, will lack of pixels->metadata. */
imgpar_status ip_io_losses(const ip_pixels *pixels, ip_format format, const char *settings, ip_str *lines,
                           ip_error *err);
/* Is there a file whose header is good and which ends where its format says: a JPEG with EOI, a PNG after IEND, NPY and
 * binary PNM after the last element? What lies between is not looked at. */
bool ip_io_is_whole(const char *path);
/* Writes bytes to path by way of a temporary file and rename; "-" is standard output. A device, a FIFO or a
 * dangling link is written in place. An existing file keeps its mode, a link stays a link. poll may be NULL. */
imgpar_status ip_io_write(const char *path, const void *bytes, size_t n, const ip_poll *poll, ip_error *err);
/* Is there room for so many more bytes where path will be written? Where nobody can tell there is. */
imgpar_status ip_io_check_room(const char *path, double bytes, ip_error *err);
/* As ip_io_write(), of bytes that come in pieces: what is not replaced by a rename is written when all are there. */
typedef struct ip_file_writer ip_file_writer;
imgpar_status ip_file_writer_new(const char *path, ip_file_writer **out, ip_error *err);
/* Whether what is put is held until the end, since it is written in place. */
bool ip_file_writer_gathers(const ip_file_writer *w);
imgpar_status ip_file_writer_put(ip_file_writer *w, const void *bytes, size_t n, ip_error *err);
imgpar_status ip_file_writer_end(ip_file_writer *w, const ip_poll *poll, ip_error *err);
void ip_file_writer_free(ip_file_writer *w); /* what has not ended leaves nothing behind; NULL is legal */

#endif
