/* SPDX-License-Identifier: MIT */
/* XMP: packets of RDF (ISO 16684-1), and a JPEG's extended XMP (Adobe's XMP specification, part 3, 1.1.3.1). */
#ifndef IP_IO_XMP_H
#define IP_IO_XMP_H

#include "base/str.h"
#include "io/metadata.h"

/* Cleans an XMP packet in place: upright, without thumbnails. */
void ip_xmp_clean(ip_blob *xmp);
/*
 * Appends a packet that says what both say, for formats that have one: the descriptions of the extension stand behind
 * those of xmp, which no longer names it. xmp alone where either has no element rdf:RDF.
 */
void ip_xmp_append_merged(ip_str *out, const ip_blob *xmp, const ip_blob *extension);
/* A packet without the processing instructions around it, which an extension has not. Borrows the bytes. */
ip_blob ip_xmp_unwrapped(const ip_blob *xmp);
/* What an extension is named by: the MD5 of its bytes in hexadecimal. */
void ip_xmp_digest(const ip_blob *extension, char digest[IP_XMP_DIGEST]);
/* Appends a packet that says nothing but the name of an extension, which says it all. */
void ip_xmp_append_pointer(ip_str *out, const char digest[IP_XMP_DIGEST]);
bool ip_xmp_is_pointer(const ip_blob *xmp, const char digest[IP_XMP_DIGEST]);

#endif
