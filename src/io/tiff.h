/* SPDX-License-Identifier: MIT */
/*
 * TIFF blocks, which EXIF is kept in: a header, and directories of entries that name a tag, a type and where the values
 * stand. Every offset is checked before it is followed.
 *
 *     ip_tiff t;
 *     uint32_t details;
 *     if (ip_tiff_of(bytes, n, &t) && ip_tiff_integer(&t, ip_tiff_first(&t), TAG_EXIF, &details)) ...
 */
#ifndef IP_IO_TIFF_H
#define IP_IO_TIFF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    IP_TIFF_BYTE = 1,
    IP_TIFF_ASCII,
    IP_TIFF_SHORT,
    IP_TIFF_LONG,
    IP_TIFF_RATIONAL,
    IP_TIFF_SIGNED_BYTE,
    IP_TIFF_UNDEFINED,
    IP_TIFF_SIGNED_SHORT,
    IP_TIFF_SIGNED_LONG,
    IP_TIFF_SIGNED_RATIONAL,
    IP_TIFF_FLOAT,
    IP_TIFF_DOUBLE
};
enum { IP_TIFF_ENTRY_BYTES = 12, IP_TIFF_HEAD_BYTES = 8 };

typedef struct ip_tiff {
    const unsigned char *bytes; /* borrowed */
    size_t n;
    bool is_big; /* numbers begin with their highest byte */
} ip_tiff;

/* A row of a directory: where it stands, and where its values do. */
typedef struct ip_tiff_entry {
    uint32_t tag, type, count;
    size_t at, values, n_values; /* n_values: in bytes */
} ip_tiff_entry;

/* The n bytes at p as a number, and the other way round. n is 1 to 4. */
uint32_t ip_tiff_get(const unsigned char *p, int n, bool is_big);
void ip_tiff_put(unsigned char *p, int n, bool is_big, uint32_t v);
/* A block, with or without "Exif\0\0" before. False: it is none. */
bool ip_tiff_of(const unsigned char *bytes, size_t n, ip_tiff *t);
/* Where the first directory stands. */
size_t ip_tiff_first(const ip_tiff *t);
/* How many whole entries the directory at `at` has; 0 where there is none. */
size_t ip_tiff_count(const ip_tiff *t, size_t at);
/* The k-th entry of a directory; false where its values do not lie inside the block. */
bool ip_tiff_entry_at(const ip_tiff *t, size_t directory, size_t k, ip_tiff_entry *e);
/* The entry of a tag. */
bool ip_tiff_find(const ip_tiff *t, size_t directory, uint32_t tag, ip_tiff_entry *e);
/* The one SHORT or LONG of an entry. */
bool ip_tiff_integer(const ip_tiff *t, size_t directory, uint32_t tag, uint32_t *value);

#endif
