/* SPDX-License-Identifier: MIT */
/* IPTC: records of the Information Interchange Model, and the block of Photoshop's image resources that holds them. */
#ifndef IP_IO_IPTC_H
#define IP_IO_IPTC_H

#include "base/str.h"
#include "io/metadata.h"

/*
 * A new copy of the records, alone or in image resources ("8BIM"), without previews and orientation. No bytes, and
 * IMGPAR_OK, where the resources hold none; IMGPAR_E_CORRUPT where they or the records cannot be read.
 */
imgpar_status ip_iptc_clean(const unsigned char *bytes, size_t n, ip_blob *iptc, ip_error *err);
/* Appends the image resource that holds them. */
void ip_iptc_append_resource(ip_str *out, const ip_blob *iptc);

#endif
