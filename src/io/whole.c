/* SPDX-License-Identifier: MIT */
/* Does a file end where its format says? What lies between its header and its end is not looked at. */
#include "io/codec.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PNG_FIRST_CHUNK = 8, PNG_CHUNK_REST = 12 /* length, type and sum */ };

/* Chunk after chunk to IEND: what follows that is no part of the picture. */
static bool ends_as_png(const ip_source *s)
{
    ip_error err = { .status = IMGPAR_OK };
    for (uint64_t at = PNG_FIRST_CHUNK; at < s->total;) {
        unsigned char head[8];
        bool found = false;
        if (ip_source_peek(s, at, head, sizeof head, &found, &err) || !found) return false;
        at += PNG_CHUNK_REST +
              ((uint64_t)head[0] << 24 | (uint64_t)head[1] << 16 | (uint64_t)head[2] << 8 | (uint64_t)head[3]);
        if (memcmp(head + 4, "IEND", 4) == 0) return at <= s->total;
    }
    return false;
}

static bool ends_as_jpeg(const ip_source *s)
{
    ip_error err = { .status = IMGPAR_OK };
    unsigned char end[2];
    bool found = false;
    if (s->total < sizeof end || ip_source_peek(s, s->total - sizeof end, end, sizeof end, &found, &err) || !found)
        return false;
    return end[0] == 0xff && end[1] == 0xd9; /* EOI */
}

bool ip_io_is_whole(const char *path)
{
    const ip_read_options options = { .fail_on = IP_FAIL_ON_ERROR,
                                      .max_pixels = (uint64_t)1
                                                    << 48 /* any that sizes in bytes can be computed of */ };
    ip_error err = { .status = IMGPAR_OK };
    ip_header header;
    ip_file file;
    struct stat info;
    if (strcmp(path, "-") == 0 || stat(path, &info) != 0 || !S_ISREG(info.st_mode)) return false;
    if (ip_file_open(path, &options, &file, &header, &err)) return false;
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    const ip_source s = { .total = (uint64_t)file.size_bytes, .fd = fd, .name = path };
    bool is_whole = fd >= 0;
    if (header.format == IP_FORMAT_PNG)
        is_whole = is_whole && ends_as_png(&s);
    else if (header.format == IP_FORMAT_JPEG)
        is_whole = is_whole && ends_as_jpeg(&s);
    else
        is_whole = is_whole && header.end_bytes > 0 && header.end_bytes <= s.total;
    if (fd >= 0) close(fd);
    ip_file_release(&file);
    return is_whole;
}
