/* SPDX-License-Identifier: MIT */
/* What a PNG's chunks tell beside its pixels. Private to the PNG codec. */
#ifndef IP_IO_PNG_METADATA_H
#define IP_IO_PNG_METADATA_H

#include "io/codec.h"

/* Walks over all chunks of the source, in memory or in its file. Damage is reported by fail_on. */
imgpar_status ip_png_read_metadata(const ip_source *s, ip_metadata *contents, int *orientation, ip_error *err);
/* Appends the picture's, for the place right behind IHDR. is_all: not only what tells of colours. */
imgpar_status ip_png_append_metadata(ip_str *out, const ip_picture *picture, bool is_all, ip_error *err);

#endif
