/* SPDX-License-Identifier: MIT */
/*
 * What the codecs share; private to src/io. A codec is a row of the table in
 * io.c: it recognises its bytes, reads a header, decodes, and encodes.
 *
 * A codec never decides what damage is worth: it reports it to
 * ip_source_damaged(), which answers IMGPAR_OK when fail_on allows reading on.
 */
#ifndef IP_IO_CODEC_H
#define IP_IO_CODEC_H

#include "io/io.h"

#define IP_MAX_SIDE 1000000    /* of a picture, read or written, in pixels */
#define IP_JPEG_MAX_SIDE 65500 /* libjpeg's own limit */
#define IP_DEFAULT_MAX_PIXELS 268435456u
/* Who meets the limit is told how to raise it. */
#define IP_MAX_PIXELS_HINT "(max_pixels; IMGPAR_MAX_PIXELS or --max-pixels raises it)"

/* ---- reading ------------------------------------------------------------------ */

/* The encoded bytes and the rules they are read by. Everything is borrowed. */
typedef struct ip_source {
    const unsigned char *bytes;
    size_t n;
    uint64_t total;   /* bytes of the whole file; above n where bytes is only its start */
    int fd;           /* the file behind the start, or -1 */
    const char *name; /* for messages */
    uint64_t max_pixels;
    bool counts_held; /* see ip_read_options */
    ip_fail_on fail_on;
    ip_poll poll;
    int shrink;             /* see ip_read_options */
    ip_metadata **metadata; /* the same */
    ip_str *warnings;       /* may be NULL */
} ip_source;

/* How bad damage is, from little to much. */
typedef enum ip_damage {
    IP_DAMAGE_WARNING,  /* odd, and the pixels are right */
    IP_DAMAGE_READABLE, /* corrupt, and decoding went on; pixels may be wrong */
    IP_DAMAGE_MISSING   /* truncated or unreadable: pixels are missing */
} ip_damage;

/* IMGPAR_OK, and a line in the warnings, when fail_on tolerates the damage; else IMGPAR_E_CORRUPT. */
imgpar_status ip_source_damaged(const ip_source *s, ip_damage damage, const char *format, const char *text,
                                ip_error *err);
/* IMGPAR_E_LIMIT when a picture has too long a side or too many pixels, which will all be held unless it has_rows. */
imgpar_status ip_source_check_size(const ip_source *s, uint64_t width, uint64_t height, bool has_rows, ip_error *err);
/* IMGPAR_E_INTERRUPTED when the poll function asks to stop. */
imgpar_status ip_source_poll(const ip_source *s, double done, ip_error *err);
/* Copies n bytes at offset, from memory or from the file. *found is false when the data ends before. */
imgpar_status ip_source_peek(const ip_source *s, uint64_t offset, void *dst, size_t n, bool *found, ip_error *err);

/* The encoded bytes behind those in memory, a piece after the other. */
typedef struct ip_feed {
    const ip_source *s; /* NULL: there are none */
    uint64_t at;        /* what comes next */
    unsigned char *piece;
} ip_feed;
ip_feed ip_feed_of(const ip_source *s);
/* *n bytes, until the next call; 0: the file has ended. */
imgpar_status ip_feed_next(ip_feed *feed, const unsigned char **bytes, size_t *n, ip_error *err);
void ip_feed_end(ip_feed *feed);

/* Fills a header as [height, width, channels], turned by orientation. */
void ip_header_picture(ip_header *h, ip_format format, imgpar_dtype dtype, uint64_t width, uint64_t height,
                       int channels, int orientation);
/* Takes zeroed memory for the pixels image->header tells of. */
imgpar_status ip_image_alloc(const ip_source *s, ip_image *image, ip_error *err);

/*
 * Finishes what a decoder has found beside the pixels, warns of nothing, and gives it to who asked for it; contents are
 * taken, also on failure. is_turned: width and height were exchanged.
 */
imgpar_status ip_source_give_metadata(const ip_source *s, ip_metadata *contents, bool is_turned, ip_error *err);
/* Puts a copy of an EXIF block, of an XMP packet or of IPTC's records (iptc.h) into contents, fit to be passed on. What
 * is damaged or too large is left out. */
imgpar_status ip_source_take_exif(const ip_source *s, const char *format, const unsigned char *bytes, size_t n,
                                  ip_metadata *contents, ip_error *err);
imgpar_status ip_source_take_xmp(const ip_source *s, const unsigned char *bytes, size_t n, ip_metadata *contents,
                                 ip_error *err);
imgpar_status ip_source_take_iptc(const ip_source *s, const char *format, const unsigned char *bytes, size_t n,
                                  ip_metadata *contents, ip_error *err);
/* Takes a JPEG's second packet. It becomes the only one where the first says nothing else. */
void ip_source_take_xmp_extension(ip_blob takes, const char *digest, ip_metadata *contents);
/* Takes a profile, which is freed where it is left out. */
imgpar_status ip_source_take_icc(const ip_source *s, const char *format, ip_blob takes, ip_metadata *contents,
                                 ip_error *err);

/* The file of a header again, in *fd, and whether what is open is still that: "NAME changed WHEN". (file.c) */
enum { IP_MAX_HEAD_BYTES = 16 << 20 }; /* of a file whose rows are read: in which its header ends */
imgpar_status ip_file_reopen(const ip_file *file, int *fd, ip_error *err);
imgpar_status ip_file_check_open(const ip_file *file, int fd, const char *when, ip_error *err);

/* ---- writing ------------------------------------------------------------------ */

typedef enum ip_setting {
    IP_SET_BITS,
    IP_SET_LEVEL,
    IP_SET_QUALITY,
    IP_SET_SUBSAMPLE,
    IP_SET_PROGRESSIVE,
    IP_SET_BACKGROUND, /* 0xRRGGBB */
    IP_SET_METADATA,   /* 0: the colour's tags only, 1: all */
    IP_N_SETTINGS
} ip_setting;

/* A value for each setting; -1 where the format chooses. */
typedef struct ip_settings {
    int value[IP_N_SETTINGS];
    double range; /* the number that becomes the samples' maximum; 0: numbers are kept */
} ip_settings;

/* Reads settings text; every setting not named gets its default. text may be NULL. */
imgpar_status ip_settings_parse(ip_format format, const char *text, ip_settings *settings, ip_error *err);

/* Pixels seen as a picture. */
typedef struct ip_picture {
    const ip_pixels *source; /* borrowed */
    const char *format;      /* for messages */
    size_t width, height, channels;
    int bits;     /* of a sample to be written: 8 or 16 */
    double range; /* the number that becomes the samples' maximum; 0: numbers are kept */
} ip_picture;

/* IMGPAR_E_UNSUPPORTED where pixels has a shape the format cannot hold. bits: 8, 16, or -1: as white and dtype are. The
 * range is the pixels' white; ip_picture_set_range() puts the one of the settings in its place. */
imgpar_status ip_picture_of(const ip_pixels *pixels, ip_format format, int bits, ip_picture *picture, ip_error *err);
static inline void ip_picture_set_range(ip_picture *picture, const ip_settings *settings)
{
    if (settings->range > 0) picture->range = settings->range;
}
/* The samples of row y as uint8_t or native uint16_t; dst holds ip_picture_row_bytes(). False: the row will never be
 * there (ip_rows). */
bool ip_picture_row(const ip_picture *picture, size_t y, void *dst);
size_t ip_picture_row_bytes(const ip_picture *picture);
/* The rows before y are not looked at again. */
void ip_picture_done(const ip_picture *picture, size_t y);
imgpar_status ip_picture_fail(const ip_picture *picture, ip_error *err); /* what a row that is not there means */
imgpar_status ip_picture_poll(const ip_picture *picture, const ip_poll *poll, size_t y, ip_error *err);

/* ---- exact values ----------------------------------------------------------------- */

/* What exact.c says about values that a format does not tell by itself. */
enum { IP_EXACT_BYTES = 16, IP_PNG_IHDR_SUM_AT = 29, IP_PNG_IHDR_END = 33 };
extern const unsigned char ip_exact_chunk[5]; /* the name of PNG's chunk, ended by 0 */
/* The chunk's data for pixels, whose IHDR has that sum. False: a PNG tells all of it without. */
bool ip_exact_pack(const ip_pixels *pixels, const unsigned char sum[4], unsigned char data[IP_EXACT_BYTES]);
/* Makes *h what the chunk's data say. False, and *h as it was: they say nothing that fits h, an upright picture, and
 * sum. */
bool ip_exact_unpack(const unsigned char data[IP_EXACT_BYTES], const unsigned char sum[4], ip_header *h);
/* " # imgpar: space=srgb" for the header of an NPY, appended where the space is not the one that is guessed. */
void ip_exact_note(const ip_pixels *pixels, imgpar_space guessed, ip_str *text);
/* Reads such a note of n bytes; false: it is none. *h keeps its space where the one that is told does not fit its
 * shape. */
bool ip_exact_read_note(const char *text, size_t n, ip_header *h);

/* Where encoded bytes go: they are appended to text, and taken from there now and then if there is somebody to. */
typedef struct ip_sink {
    ip_str text;
    ip_put put; /* NULL: text keeps them all */
    void *user;
} ip_sink;
/* Called between rows and pieces. */
imgpar_status ip_sink_settle(ip_sink *sink, ip_error *err);

/* ---- the codecs ---------------------------------------------------------------- */

/* Reading by rows. What state holds of s is borrowed. Where the header has more bytes than s, IMGPAR_E_CORRUPT. */
typedef struct ip_row_codec {
    imgpar_status (*open)(const ip_source *s, ip_header *header, void **state, ip_error *err);
    imgpar_status (*read)(void *state, void *dst, ip_error *err); /* the next row */
    imgpar_status (*end)(void *state, ip_error *err);             /* after the last one; NULL: nothing follows */
    void (*close)(void *state);
} ip_row_codec;
extern const ip_row_codec ip_png_rows, ip_jpeg_rows, ip_npy_rows, ip_pnm_rows;

typedef struct ip_codec {
    const char *name;
    const char *names[6]; /* names and suffixes, ended by NULL; what is read only has none */
    size_t max_side;      /* of a picture it writes; 0: it holds arrays of any shape */
    bool (*sniff)(const unsigned char *bytes, size_t n);
    /* image is NULL to read the header only. Else its pixels are released by the caller, also on failure. */
    imgpar_status (*read)(const ip_source *s, ip_header *header, ip_image *image, ip_error *err);
    /* The caller looks at out->text.failed. */
    imgpar_status (*write)(const ip_pixels *pixels, const ip_settings *settings, const ip_poll *poll, ip_sink *out,
                           ip_error *err);
    size_t (*rows_held)(const ip_picture *picture); /* NULL: one */
    const ip_row_codec *rows;
} ip_codec;

/* The row of format in io.c. */
const ip_codec *ip_codec_of(ip_format format);
/* Whose bytes they are. IMGPAR_E_UNSUPPORTED for a format that is known and not read, IMGPAR_E_CORRUPT for what is no
 * image. */
imgpar_status ip_codec_sniff(const ip_source *s, const ip_codec **codec, ip_error *err);
/* A source with the options' rules (options may be NULL). */
ip_source ip_source_of(const void *bytes, size_t n, const char *name, const ip_read_options *options);
/* Decodes the whole bytes of s. On failure image is empty. */
imgpar_status ip_source_decode(const ip_source *s, ip_image *image, ip_error *err);
imgpar_status ip_source_probe(const ip_source *s, ip_header *header, ip_error *err);

bool ip_png_sniff(const unsigned char *bytes, size_t n);
/* Whether another PNG begins where the first one ends. */
bool ip_png_is_followed(const unsigned char *bytes, size_t n);
imgpar_status ip_png_read(const ip_source *s, ip_header *header, ip_image *image, ip_error *err);
imgpar_status ip_png_write(const ip_pixels *pixels, const ip_settings *settings, const ip_poll *poll, ip_sink *out,
                           ip_error *err);
size_t ip_png_rows_held(const ip_picture *picture);
bool ip_jpeg_sniff(const unsigned char *bytes, size_t n);
imgpar_status ip_jpeg_read(const ip_source *s, ip_header *header, ip_image *image, ip_error *err);
imgpar_status ip_jpeg_write(const ip_pixels *pixels, const ip_settings *settings, const ip_poll *poll, ip_sink *out,
                            ip_error *err);
bool ip_npy_sniff(const unsigned char *bytes, size_t n);
imgpar_status ip_npy_read(const ip_source *s, ip_header *header, ip_image *image, ip_error *err);
imgpar_status ip_npy_write(const ip_pixels *pixels, const ip_settings *settings, const ip_poll *poll, ip_sink *out,
                           ip_error *err);
bool ip_pnm_sniff(const unsigned char *bytes, size_t n);
imgpar_status ip_pnm_read(const ip_source *s, ip_header *header, ip_image *image, ip_error *err);
bool ip_cube_sniff(const unsigned char *bytes, size_t n);
imgpar_status ip_cube_read(const ip_source *s, ip_header *header, ip_image *image, ip_error *err);
bool ip_font_sniff(const unsigned char *bytes, size_t n);
imgpar_status ip_font_read(const ip_source *s, ip_header *header, ip_image *image, ip_error *err);
imgpar_status ip_pnm_write(const ip_pixels *pixels, const ip_settings *settings, const ip_poll *poll, ip_sink *out,
                           ip_error *err);

#endif
