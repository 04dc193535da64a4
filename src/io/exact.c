/* SPDX-License-Identifier: MIT */
/*
 * Values that come back as they went: the result of one SQL function is the argument of the next one, as a PNG or an NPY
 * between them. What those formats do not tell by themselves is written beside the pixels, where it is asked for
 * (ip_pixels.is_exact) and nowhere else.
 *
 * PNG: the chunk imGP directly behind IHDR, private, ancillary and unsafe to copy, of 16 bytes. None is written for what
 * any reader takes for the same: u8 or u16 [height, width, channels] of the space that its channels tell.
 *
 *      0  1   version, 1
 *      1  1   1: bool, samples of 8 bits that are 0 or 255; 0: the dtype is that of the samples
 *      2  1   rank, 2 or 3; 2 in gray pictures only
 *      3  1   imgpar_space
 *      4  8   0
 *     12  4   the sum (CRC) of IHDR, as it stands there
 *
 * NPY: a comment behind the dict of its header, which NumPy parses as Python and so passes by.
 *
 *     {'descr': '<f4', 'fortran_order': False, 'shape': (4, 4, 3), } # imgpar: space=srgb
 *
 * Nothing here decides how much memory is taken: sizes are those of IHDR and of the dict. A chunk of another version or
 * length, at another place, or one that does not fit the picture (an editor copied it) is passed by as other unknown chunks
 * are; one whose own sum is wrong, and samples of a bool that are neither 0 nor 255, are damage.
 */
#include "io/codec.h"

#include <string.h>

const unsigned char ip_exact_chunk[5] = "imGP";

enum { CHUNK_VERSION = 1, AT_BOOL = 1, AT_RANK = 2, AT_SPACE = 3, AT_ZERO = 4, AT_SUM = 12 };

static const char *const space_names[] = {
    [IMGPAR_SPACE_DATA] = "data", [IMGPAR_SPACE_GRAY] = "gray", [IMGPAR_SPACE_SRGB] = "srgb", [IMGPAR_SPACE_LINEAR] = "linear",
};
enum { N_SPACES = sizeof space_names / sizeof *space_names };

bool ip_io_png_tells_all(const ip_pixels *p)
{
    const bool is_sampled = p->dtype == IMGPAR_U8 || p->dtype == IMGPAR_U16;
    return is_sampled && p->rank == 3 && p->space == (p->shape[2] <= 2 ? IMGPAR_SPACE_GRAY : IMGPAR_SPACE_SRGB);
}

bool ip_exact_pack(const ip_pixels *p, const unsigned char sum[4], unsigned char data[IP_EXACT_BYTES])
{
    if (ip_io_png_tells_all(p)) return false;
    memset(data, 0, IP_EXACT_BYTES);
    data[0] = CHUNK_VERSION;
    data[AT_BOOL] = p->dtype == IMGPAR_BOOL;
    data[AT_RANK] = (unsigned char)p->rank;
    data[AT_SPACE] = (unsigned char)p->space;
    memcpy(data + AT_SUM, sum, 4);
    return true;
}

bool ip_exact_unpack(const unsigned char data[IP_EXACT_BYTES], const unsigned char sum[4], ip_header *h)
{
    static const unsigned char zeros[AT_SUM - AT_ZERO];
    const bool is_bool = data[AT_BOOL] == 1;
    if (data[0] != CHUNK_VERSION || data[AT_BOOL] > 1 || data[AT_SPACE] >= N_SPACES || memcmp(data + AT_ZERO, zeros, sizeof zeros) != 0 ||
        memcmp(data + AT_SUM, sum, 4) != 0)
        return false;
    if (h->orientation != 1 || (is_bool && h->dtype != IMGPAR_U8)) return false;
    if (data[AT_RANK] != 3 && !(data[AT_RANK] == 2 && h->shape[2] == 1)) return false;
    if (is_bool) h->dtype = IMGPAR_BOOL;
    h->rank = data[AT_RANK];
    h->space = (imgpar_space)data[AT_SPACE];
    return true;
}

static const char note_start[] = "# imgpar: space=";

void ip_exact_note(const ip_pixels *p, imgpar_space guessed, ip_str *text)
{
    if (p->is_exact && p->space != guessed) ip_str_printf(text, " %s%s", note_start, space_names[p->space]);
}

/* Only data may have any shape. */
static bool may_be_picture(const ip_header *h)
{
    return h->rank == 2 || (h->rank >= 3 && h->shape[h->rank - 1] >= 1 && h->shape[h->rank - 1] <= 4);
}

bool ip_exact_read_note(const char *text, size_t n, ip_header *h)
{
    const size_t start = sizeof note_start - 1;
    if (n < start || memcmp(text, note_start, start) != 0) return false;
    while (n > start && (text[n - 1] == ' ' || text[n - 1] == '\n'))
        n--;
    for (int k = 0; k < N_SPACES; k++) {
        if (strlen(space_names[k]) != n - start || memcmp(space_names[k], text + start, n - start) != 0) continue;
        if (k == IMGPAR_SPACE_DATA || may_be_picture(h)) h->space = (imgpar_space)k;
        return true;
    }
    return false;
}
