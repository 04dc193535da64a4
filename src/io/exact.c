/* SPDX-License-Identifier: MIT */
/*
 * Values that come back as they went: the result of one SQL function is the argument of the next one, as a PNG or an
 * NPY between them. What those formats do not tell by themselves is written beside the pixels, where it is asked for
 * (ip_pixels.is_exact) and nowhere else.
 *
 * PNG: the chunk imGP directly behind IHDR, private, ancillary and unsafe to copy, of 16 bytes. None is written for
 * what any reader takes for the same: u8 or u16 [height, width, channels] of the space that its channels tell and the
 * white of its depth.
 *
 *      0  1   version, 1
 *      1  1   bit 0: bool, samples of 8 bits that are 0 or 255; else the dtype is that of the samples
 *             bit 1: a mask
 *             bit 2: operators take alpha as any channel
 *      2  1   rank, 2 or 3; 2 in gray pictures only
 *      3  1   imgpar_space
 *      4  8   white, a double, the highest byte first; 0: data
 *     12  4   the sum (CRC) of IHDR, as it stands there
 *
 * NPY: a comment behind the dict of its header, which NumPy parses as Python and so passes by.
 *
 *     {'descr': '<f4', 'fortran_order': False, 'shape': (4, 4, 3), } # imgpar: space=srgb white=255
 *
 * Nothing here decides how much memory is taken: sizes are those of IHDR and of the dict. A chunk of another version or
 * length, at another place, or one that does not fit the picture (an editor copied it) is passed by as other unknown
 * chunks are; one whose own sum is wrong, and samples of a bool that are neither 0 nor 255, are damage.
 */
#include "io/codec.h"

#include <string.h>

const unsigned char ip_exact_chunk[5] = "imGP";

enum { CHUNK_VERSION = 1, AT_FLAGS = 1, AT_RANK = 2, AT_SPACE = 3, AT_WHITE = 4, AT_SUM = 12 };
enum { FLAG_BOOL = 1, FLAG_MASK = 2, FLAG_ALPHA_IS_NUMBER = 4, ALL_FLAGS = 7 };

static const char *const space_names[] = {
    [IMGPAR_SPACE_DATA] = "data",
    [IMGPAR_SPACE_GRAY] = "gray",
    [IMGPAR_SPACE_SRGB] = "srgb",
    [IMGPAR_SPACE_LINEAR] = "linear",
};
enum { N_SPACES = sizeof space_names / sizeof *space_names };

static void put_white(unsigned char *p, double white)
{
    uint64_t bits;
    memcpy(&bits, &white, sizeof bits);
    for (int k = 0; k < 8; k++)
        p[k] = (unsigned char)(bits >> (56 - 8 * k));
}

static double get_white(const unsigned char *p)
{
    uint64_t bits = 0;
    double white;
    for (int k = 0; k < 8; k++)
        bits = bits << 8 | p[k];
    memcpy(&white, &bits, sizeof white);
    return white;
}

static bool is_white(double white) { return white >= 0 && white <= 1e300; }

static void tell_white(ip_header *h, double white, bool is_mask, bool alpha_is_number)
{
    h->tells_white = true;
    h->white = white;
    h->is_mask = is_mask && white == 1;
    h->alpha_is_number = alpha_is_number;
}

bool ip_io_png_tells_all(const ip_pixels *p)
{
    const bool is_sampled = p->dtype == IMGPAR_U8 || p->dtype == IMGPAR_U16;
    const bool is_usual = !p->is_mask && !p->alpha_is_number && p->white == (p->dtype == IMGPAR_U8 ? 255 : 65535);
    return is_sampled && is_usual && p->rank == 3 &&
           p->space == (p->shape[2] <= 2 ? IMGPAR_SPACE_GRAY : IMGPAR_SPACE_SRGB);
}

bool ip_exact_pack(const ip_pixels *p, const unsigned char sum[4], unsigned char data[IP_EXACT_BYTES])
{
    if (ip_io_png_tells_all(p)) return false;
    memset(data, 0, IP_EXACT_BYTES);
    data[0] = CHUNK_VERSION;
    data[AT_FLAGS] = (unsigned char)((p->dtype == IMGPAR_BOOL ? FLAG_BOOL : 0) | (p->is_mask ? FLAG_MASK : 0) |
                                     (p->alpha_is_number ? FLAG_ALPHA_IS_NUMBER : 0));
    data[AT_RANK] = (unsigned char)p->rank;
    data[AT_SPACE] = (unsigned char)p->space;
    put_white(data + AT_WHITE, p->white);
    memcpy(data + AT_SUM, sum, 4);
    return true;
}

bool ip_exact_unpack(const unsigned char data[IP_EXACT_BYTES], const unsigned char sum[4], ip_header *h)
{
    const bool is_bool = data[AT_FLAGS] & FLAG_BOOL;
    const double white = get_white(data + AT_WHITE);
    if (data[0] != CHUNK_VERSION || data[AT_FLAGS] > ALL_FLAGS || data[AT_SPACE] >= N_SPACES || !is_white(white) ||
        memcmp(data + AT_SUM, sum, 4) != 0)
        return false;
    if (h->orientation != 1 || (is_bool && h->dtype != IMGPAR_U8)) return false;
    if (data[AT_RANK] != 3 && !(data[AT_RANK] == 2 && h->shape[2] == 1)) return false;
    if (is_bool) h->dtype = IMGPAR_BOOL;
    h->rank = data[AT_RANK];
    h->space = (imgpar_space)data[AT_SPACE];
    tell_white(h, white, data[AT_FLAGS] & FLAG_MASK, data[AT_FLAGS] & FLAG_ALPHA_IS_NUMBER);
    return true;
}

static const char note_start[] = "# imgpar: space=", note_white[] = " white=", note_mask[] = " mask",
                  note_alpha[] = " alpha=number";

void ip_exact_note(const ip_pixels *p, imgpar_space guessed, ip_str *text)
{
    const bool levels = p->dtype == IMGPAR_U8 || p->dtype == IMGPAR_U16;
    const double usual = levels && guessed != IMGPAR_SPACE_DATA ? (p->dtype == IMGPAR_U8 ? 255 : 65535) : 0;
    if (!p->is_exact || (p->space == guessed && p->white == usual && !p->is_mask && !p->alpha_is_number)) return;
    ip_str_printf(text, " %s%s%s%.17g%s%s", note_start, space_names[p->space], note_white, p->white,
                  p->is_mask ? note_mask : "", p->alpha_is_number ? note_alpha : "");
}

/* Only data may have any shape. */
static bool may_be_picture(const ip_header *h)
{
    return h->rank == 2 || ((h->rank == 3 || h->rank == 4) && h->shape[h->rank - 1] >= 1 && h->shape[h->rank - 1] <= 4);
}

/* Skips text at *at if it comes next. */
static bool skip(const char **at, const char *text)
{
    const size_t n = strlen(text);
    if (strncmp(*at, text, n) != 0) return false;
    *at += n;
    return true;
}

bool ip_exact_read_note(const char *text, size_t n, ip_header *h)
{
    char note[96];
    const char *at = note;
    while (n > 0 && (text[n - 1] == ' ' || text[n - 1] == '\n'))
        n--;
    if (n >= sizeof note || memchr(text, 0, n)) return false;
    memcpy(note, text, n);
    note[n] = 0;
    if (!skip(&at, note_start)) return false;
    int space = 0;
    while (space < N_SPACES && !skip(&at, space_names[space]))
        space++;
    if (space == N_SPACES || !skip(&at, note_white)) return false;
    char *end;
    const double white = ip_parse_number(at, &end);
    const bool is_number = end != at && is_white(white);
    at = end;
    const bool is_mask = skip(&at, note_mask), alpha_is_number = skip(&at, note_alpha);
    if (!is_number || *at) return false;
    if (space == IMGPAR_SPACE_DATA || may_be_picture(h)) h->space = (imgpar_space)space;
    tell_white(h, white, is_mask, alpha_is_number);
    return true;
}
