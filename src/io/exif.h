/* SPDX-License-Identifier: MIT */
/* EXIF blocks: what is read of them, and how they are made fit to be passed on. */
#ifndef IP_IO_EXIF_H
#define IP_IO_EXIF_H

#include "io/codec.h"
#include "io/metadata.h"

/* The orientation 1..8 in an EXIF block (TIFF, with or without "Exif\0\0" before); 1 when there is none. */
int ip_exif_orientation(const unsigned char *bytes, size_t n);
/* The resolution a block tells; 0: none. */
ip_resolution ip_exif_resolution(const ip_blob *exif);
/* Does a camera tell by it that the numbers are those of Adobe RGB (1998)? */
bool ip_exif_is_adobe_rgb(const ip_blob *exif);
/*
 * A new copy with orientation 1 and without thumbnails, other previews and what no directory refers to; everything
 * else stands where it stood. IMGPAR_E_CORRUPT where the block cannot be read.
 */
imgpar_status ip_exif_clean(const unsigned char *bytes, size_t n, ip_blob *exif, ip_error *err);
/* Corrects the sizes a cleaned block tells, where it tells them. */
void ip_exif_set_size(ip_blob *exif, uint32_t width, uint32_t height);
/*
 * Turns the pixels of image, which lie as stored, upright. header has the shape after turning.
 * On failure the pixels stay owned by image.
 */
imgpar_status ip_exif_turn(const ip_source *s, ip_image *image, ip_error *err);

#endif
