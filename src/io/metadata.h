/* SPDX-License-Identifier: MIT */
/*
 * What a picture's file says besides its pixels: what colours its numbers mean,
 * its resolution, EXIF, XMP and IPTC. One immutable, reference-counted object, made by a
 * decoder, carried by the nodes of a graph (graph/inherit.c) and written back by
 * the encoders of PNG and JPEG.
 *
 * EXIF is kept as it may be written: upright, without thumbnails (exif.h). No blob is
 * larger than IP_MAX_BLOB_BYTES; what is larger or damaged is left out when it is read.
 */
#ifndef IP_IO_METADATA_H
#define IP_IO_METADATA_H

#include "base/status.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { IP_MAX_BLOB_BYTES = 16 << 20, IP_XMP_DIGEST = 32 };

/* Bytes from ip_alloc(); none: NULL. */
typedef struct ip_blob {
    unsigned char *bytes;
    size_t n;
} ip_blob;

/* How numbers mean colours, in the terms a file may use: an ICC profile, or the chunks of PNG. All zero: not told,
 * which means sRGB. */
typedef struct ip_colour {
    ip_blob icc;
    bool is_icc_gray; /* the profile is for gray; else for red, green, blue */
    bool has_srgb, has_gamma, has_primaries, has_cicp;
    unsigned char srgb_intent; /* PNG's sRGB */
    uint32_t gamma;            /* PNG's gAMA: of encoding, times 100000 */
    uint32_t primaries[8];     /* PNG's cHRM: x and y of white, red, green, blue, times 100000 */
    unsigned char cicp[4];     /* PNG's cICP: primaries, transfer, matrix, full range (ITU-T H.273) */
    bool is_srgb;              /* all that is told means sRGB, or sRGB's gray */
    char name[64];             /* for messages: "Adobe RGB (1998)"; "" where nothing is told */
} ip_colour;

/* Pixels per metre; 0: not told. */
typedef struct ip_resolution {
    double x, y;
} ip_resolution;

typedef struct ip_metadata {
    atomic_int refs;
    ip_colour colour;
    ip_resolution resolution;
    ip_blob exif;          /* a TIFF block, without "Exif\0\0" before */
    ip_blob xmp;           /* a packet of RDF */
    ip_blob xmp_extension; /* a JPEG's second packet, which the first one names by this digest */
    char xmp_digest[IP_XMP_DIGEST];
    ip_blob iptc; /* records of IIM */
} ip_metadata;

/* Takes what *contents holds into a new object, and clears it. NULL without memory; then contents is freed. */
ip_metadata *ip_metadata_new(ip_metadata *contents);
ip_metadata *ip_metadata_retain(ip_metadata *m); /* NULL is legal */
void ip_metadata_release(ip_metadata *m);
/* Frees the blobs of an object that was never counted, and clears it. */
void ip_metadata_clear(ip_metadata *contents);
/* A copy of n bytes; false without memory. */
bool ip_blob_copy(ip_blob *blob, const void *bytes, size_t n);

/* Finishes what a decoder has filled in: name and is_srgb. */
void ip_colour_settle(ip_colour *colour);
/*
 * The profile that tells what the colour does, for a picture that is gray or is not: *icc has no bytes where that is
 * sRGB or nothing is told. *is_made: it is new. Fails where no profile can tell it.
 */
imgpar_status ip_colour_profile(const ip_colour *colour, bool is_gray, ip_blob *icc, bool *is_made, ip_error *err);
/* Does a colour tell anything? */
bool ip_colour_is_told(const ip_colour *colour);
/* Do equal numbers mean equal colours? Profiles made at another time or by another program may be the same. */
bool ip_colour_same(const ip_colour *a, const ip_colour *b);
/* The name in quotation marks for a message, or what stands for none; into buf of 96 bytes. m may be NULL. */
const char *ip_metadata_colour_name(const ip_metadata *m, char *buf);

#endif
