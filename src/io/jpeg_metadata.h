/* SPDX-License-Identifier: MIT */
/* What a JPEG's segments tell beside its pixels. Private to the JPEG codec. */
#ifndef IP_IO_JPEG_METADATA_H
#define IP_IO_JPEG_METADATA_H

#include "io/jpeg_guard.h"

/* Parts of a profile in the order they are found. They borrow the file's bytes. */
enum { IP_JPEG_MAX_PARTS = 255 };
typedef struct ip_jpeg_part {
    const unsigned char *bytes;
    size_t n;
} ip_jpeg_part;

/* Parts of what is longer than a segment, as they come: of extended XMP, and of Photoshop's image resources. */
enum { IP_JPEG_MAX_PIECES = 260 };
typedef struct ip_jpeg_pieces {
    ip_jpeg_part of[IP_JPEG_MAX_PIECES];
    int n;
    bool is_full;
} ip_jpeg_pieces;

/* The segments that tell something: EXIF and XMP (the first of each; bytes NULL: none), JFIF, and the profile's, by
 * number. */
typedef struct ip_jpeg_segments {
    ip_jpeg_part exif, xmp;
    ip_jpeg_pieces extension, resources;
    ip_resolution resolution;
    ip_jpeg_part icc[IP_JPEG_MAX_PARTS];
    int n_icc;           /* as the first part says */
    bool is_icc_damaged; /* a part twice, its number not in 1..count, or another count than the first
                          * part's; missing parts are found by join_parts() */
} ip_jpeg_segments;

/* Notes a segment: code 0xe0 (APP0) and above, and what follows its length. */
void ip_jpeg_note_segment(ip_jpeg_segments *found, int code, const unsigned char *body, size_t n);
imgpar_status ip_jpeg_read_metadata(const ip_source *s, const ip_jpeg_segments *found, ip_metadata *contents,
                                    ip_error *err);

/* What will be written, made before libjpeg is called, which leaves by jumps. */
typedef struct ip_jpeg_output {
    ip_blob exif, icc;
    bool is_icc_made;
    ip_blob xmp, xmp_extension; /* borrowed */
    char xmp_digest[IP_XMP_DIGEST];
    ip_str xmp_pointer; /* the packet, where all it says is in the extension */
    ip_str resources;
    const ip_metadata *metadata;
    bool is_all;
} ip_jpeg_output;
imgpar_status ip_jpeg_output_make(const ip_picture *picture, bool is_gray, bool is_all, ip_jpeg_output *output,
                                  ip_error *err);
void ip_jpeg_output_free(ip_jpeg_output *output);
/* Before jpeg_start_compress(), and right after it. */
void ip_jpeg_set_resolution(j_compress_ptr c, const ip_jpeg_output *output);
void ip_jpeg_write_metadata(j_compress_ptr c, const ip_jpeg_output *output);
/* Appends a line for each thing of m that no JPEG holds. */
void ip_jpeg_losses(const ip_metadata *m, ip_str *lines);

#endif
