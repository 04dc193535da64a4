/* SPDX-License-Identifier: MIT */
/*
 * Planes and colours are pipelines of the library's own, so that a frame's conversion is fused with what is done to it.
 *
 * Y4M: mjpegtools' yuv4mpeg(5). Colours: ITU-R BT.601, BT.709 and BT.2020, which differ in the weights of red and blue.
 */
#include "video.h"

#include "signals.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_MAX_BYTES = 400, SIDE_MAX = 1 << 24, TEXT_BYTES = 2400 };

static bool fail(char why[400], const char *format, ...) __attribute__((format(printf, 2, 3)));
static bool fail(char why[400], const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(why, 400, format, args);
    va_end(args);
    return false;
}

video_kind video_kind_of(FILE *file)
{
    const int first = getc(file);
    if (first != EOF) ungetc(first, file);
    return first == 'P' ? VIDEO_PNM : first == 'Y' ? VIDEO_Y4M : VIDEO_NONE;
}

/* ---- Y4M: the header -------------------------------------------------------------------------------- */

static const struct space_row {
    const char *name;
    int step_x, step_y;
    bool is_left, is_above, is_gray, has_alpha, has_bits; /* has_bits: p9 to p16, of mono 9 to 16, may follow */
} spaces[] = {
    { "420jpeg", 2, 2, false, false, false, false, false }, { "420mpeg2", 2, 2, true, false, false, false, false },
    { "420paldv", 2, 2, true, true, false, false, false },  { "444alpha", 1, 1, false, false, false, true, false },
    { "420", 2, 2, false, false, false, false, true },      { "422", 2, 1, true, false, false, false, true },
    { "444", 1, 1, false, false, false, false, true },      { "mono", 1, 1, false, false, true, false, true },
};

static bool find_space(y4m_format *f, const char *name)
{
    for (size_t k = 0; k < sizeof spaces / sizeof *spaces; k++) {
        const struct space_row *s = &spaces[k];
        const size_t n = strlen(s->name);
        if (strncmp(name, s->name, n) != 0) continue;
        const char *bits = name + n + (!s->is_gray && name[n] == 'p');
        char whole[32];
        f->bits = bits[0] ? atoi(bits) : 8;
        snprintf(whole, sizeof whole, s->is_gray ? "%s%d" : "%sp%d", s->name, f->bits);
        if (bits[0] && (!s->has_bits || strcmp(name, whole) != 0 || f->bits < 9 || f->bits > 16)) continue;
        f->step_x = s->step_x;
        f->step_y = s->step_y;
        f->is_left = s->is_left || (s->step_y == 2 && f->bits > 8); /* as MPEG has it */
        f->is_above = s->is_above;
        f->is_gray = s->is_gray;
        f->has_alpha = s->has_alpha;
        snprintf(f->space, sizeof f->space, "%s", name);
        return true;
    }
    return false;
}

/* A word of the header. */
static bool take_word(video *v, const char *word)
{
    y4m_format *f = &v->y4m;
    const size_t n = strlen(f->rest);
    char *end = NULL;
    switch (word[0]) {
    case 'W':
    case 'H': *(word[0] == 'W' ? &f->width : &f->height) = strtoll(word + 1, &end, 10); return *end == '\0';
    case 'C': return find_space(f, word + 1);
    case 'X':
        if (strcmp(word, "XCOLORRANGE=FULL") == 0) f->has_full_range = true;
        break;
    default: break;
    }
    if (strncmp(word, "XYSCSS=", 7) == 0) return true; /* the space, in old words */
    if (n + strlen(word) + 2 > sizeof f->rest) return false;
    snprintf(f->rest + n, sizeof f->rest - n, " %s", word);
    return true;
}

static bool read_y4m_header(video *v, FILE *file)
{
    char line[LINE_MAX_BYTES], *save = NULL;
    if (!fgets(line, sizeof line, file) || !strchr(line, '\n') || strncmp(line, "YUV4MPEG2", 9) != 0)
        return fail(v->why, "%s: this begins like Y4M, but has no header of it", v->name);
    line[strcspn(line, "\n")] = '\0';
    find_space(&v->y4m, "420jpeg");
    strtok_r(line, " ", &save);
    for (const char *word = strtok_r(NULL, " ", &save); word; word = strtok_r(NULL, " ", &save))
        if (!take_word(v, word))
            return fail(v->why, "%s: the header of Y4M says %.40s, which is not known", v->name, word);
    if (v->y4m.width >= 1 && v->y4m.height >= 1 && v->y4m.width <= SIDE_MAX && v->y4m.height <= SIDE_MAX) return true;
    return fail(v->why, "%s: the header of Y4M tells no size", v->name);
}

/* ---- Y4M: planes and colours -------------------------------------------------------------------------- */

/* The sides of a plane of colour differences. */
static int64_t chroma_width(const y4m_format *f) { return (f->width + f->step_x - 1) / f->step_x; }
static int64_t chroma_height(const y4m_format *f) { return (f->height + f->step_y - 1) / f->step_y; }
static int planes_of(const y4m_format *f) { return f->is_gray ? 1 : f->has_alpha ? 4 : 3; }
static size_t sample_bytes(const y4m_format *f) { return f->bits > 8 ? 2 : 1; }

/* What the numbers of a plane mean: luma is (y - black) / range, a difference (u - middle) / spread. */
typedef struct levels {
    double black, range, middle, spread;
    double full; /* of the picture: 255 or 65535 */
    const char *type;
    double red, green, blue;    /* in the luma */
    double from_blue, from_red; /* how far blue and red are from the luma where the differences are 1 */
} levels;

static levels levels_of(const y4m_format *f, const char *matrix)
{
    const double scale = (double)(1 << (f->bits - 8)), most = (double)((1 << f->bits) - 1);
    levels l = { .black = f->has_full_range ? 0 : 16 * scale,
                 .range = f->has_full_range ? most : 219 * scale,
                 .middle = 128 * scale,
                 .spread = f->has_full_range ? most : 224 * scale,
                 .full = f->bits > 8 ? 65535 : 255,
                 .type = f->bits > 8 ? "u16" : "u8",
                 .red = 0.299,
                 .blue = 0.114 };
    if (matrix && strcmp(matrix, "709") == 0) l.red = 0.2126, l.blue = 0.0722;
    if (matrix && strcmp(matrix, "2020") == 0) l.red = 0.2627, l.blue = 0.0593;
    l.green = 1 - l.red - l.blue;
    l.from_blue = 2 * (1 - l.blue);
    l.from_red = 2 * (1 - l.red);
    return l;
}

/* Appends to the text of a pipeline. */
static void add(char text[TEXT_BYTES], const char *format, ...) __attribute__((format(printf, 2, 3)));
static void add(char text[TEXT_BYTES], const char *format, ...)
{
    const size_t n = strlen(text);
    va_list args;
    va_start(args, format);
    vsnprintf(text + n, TEXT_BYTES - n, format, args);
    va_end(args);
}

static imgpar_pipeline *parsed(const char *text, char why[400])
{
    imgpar_pipeline *p = NULL;
    if (!imgpar_pipeline_parse("Y4M", text, NULL, &p)) return p;
    fail(why, "%s", imgpar_pipeline_message(p));
    imgpar_pipeline_release(p);
    return NULL;
}

/* Where the difference of a pixel is found among the samples of its plane. */
static const char *position(char text[24], char axis, int step, bool is_beside)
{
    snprintf(text, 24, step == 1 ? "%c" : is_beside ? "%c / 2" : "%c / 2 - 0.25", axis);
    return text;
}

/* From the planes $1 (Y), $2, $3 and $4 (alpha) to a picture. White is not worked out from that of a plane, whose
 * numbers are no picture's: set_white() tells it. */
static imgpar_pipeline *decoder(const y4m_format *f, const char *matrix, char why[400])
{
    const levels l = levels_of(f, matrix);
    char text[TEXT_BYTES] = "", down[24], across[24];
    add(text, "l = (cast($1, f32) - %.17g) / %.17g\n", l.black, l.range);
    if (f->is_gray) {
        add(text, "set_white(cast(l * %.17g, %s), %.17g, picture=true)\n", l.full, l.type, l.full);
        return parsed(text, why);
    }
    add(text, "s = cast(zip($2, $3), f32)\n");
    if (f->step_x == 1 && f->step_y == 1)
        add(text, "d = (s - %.17g) / %.17g\n", l.middle, l.spread);
    else
        add(text, "d = (make(%lld, %lld, at(s, %s, %s, filter=linear)) - %.17g) / %.17g\n", (long long)f->width,
            (long long)f->height, position(down, 'y', f->step_y, f->is_above),
            position(across, 'x', f->step_x, f->is_left), l.middle, l.spread);
    add(text, "p = recomb(concatenate(l, d, axis=2), [%.17g 0 %.17g; %.17g %.17g %.17g; %.17g %.17g 0])\n", l.full,
        l.full * l.from_red, l.full, -l.full * l.from_blue * l.blue / l.green, -l.full * l.from_red * l.red / l.green,
        l.full, l.full * l.from_blue);
    add(text, "colours = set_white(cast(p, %s), %.17g, picture=true)\n", l.type, l.full);
    add(text, f->has_alpha ? "concatenate(colours, $4, axis=2)\n" : "colours\n");
    return parsed(text, why);
}

/* The mean of what a sample of a plane stands for: two of step pixels, or one and half of those beside it. */
static void add_mean(char text[TEXT_BYTES], const char *name, const char *of, char axis, int step, bool is_beside,
                     int64_t width, int64_t height)
{
    const char *const down = axis == 'y' ? "2 * y" : "y", *const across = axis == 'x' ? "2 * x" : "x";
    const char *const dy = axis == 'y' ? " + 1" : "", *const dx = axis == 'x' ? " + 1" : "";
    if (step == 1)
        add(text, "%s = %s\n", name, of);
    else if (!is_beside)
        add(text, "%s = make(%lld, %lld, (at(%s, %s, %s) + at(%s, %s%s, %s%s)) / 2)\n", name, (long long)width,
            (long long)height, of, down, across, of, down, dy, across, dx);
    else
        add(text, "%s = make(%lld, %lld, (at(%s, %s - %d, %s - %d) + 2 * at(%s, %s, %s) + at(%s, %s%s, %s%s)) / 4)\n",
            name, (long long)width, (long long)height, of, down, axis == 'y', across, axis == 'x', of, down, across, of,
            down, dy, across, dx);
}

/* From a picture to its planes, one behind another. */
static imgpar_pipeline *encoder(const y4m_format *f, const char *matrix, char why[400])
{
    const levels l = levels_of(f, matrix);
    const double k = 1 / l.full;
    const int64_t w = chroma_width(f), h = chroma_height(f), n = f->width * f->height;
    char text[TEXT_BYTES] = "";
    add(text, "a = depth($1, %d)\n", f->bits > 8 ? 16 : 8);
    if (f->is_gray) {
        add(text, "cast(cast(a, f32) * %.17g + %.17g, %s)\n", l.range * k, l.black, l.type);
        return parsed(text, why);
    }
    add(text,
        "p = recomb(cast(slice(a, 0, 3, axis=2), f32), [%.17g %.17g %.17g; %.17g %.17g %.17g; %.17g %.17g %.17g])\n",
        l.red * k, l.green * k, l.blue * k, -l.red / l.from_blue * k, -l.green / l.from_blue * k, 0.5 * k, 0.5 * k,
        -l.green / l.from_red * k, -l.blue / l.from_red * k);
    add(text, "l = cast(slice(p, 0, 1, axis=2) * %.17g + %.17g, %s)\n", l.range, l.black, l.type);
    add(text, "full = slice(p, 1, 3, axis=2)\n");
    add_mean(text, "narrow", "full", 'x', f->step_x, f->is_left, w, f->height);
    add_mean(text, "small", "narrow", 'y', f->step_y, f->is_above, w, h);
    add(text, "d = cast(small * %.17g + %.17g, %s)\n", l.spread, l.middle, l.type);
    add(text, "u = reshape(slice(d, 0, 1, axis=2), [%lld])\nv = reshape(slice(d, 1, 2, axis=2), [%lld])\n",
        (long long)(w * h), (long long)(w * h));
    add(text, "y4m = concatenate(concatenate(reshape(l, [%lld]), u), v)\n", (long long)n);
    add(text, f->has_alpha ? "concatenate(y4m, reshape(slice(a, 3, 4, axis=2), [%lld]))\n" : "y4m\n", (long long)n);
    return parsed(text, why);
}

/* Samples of 16 bits are little-endian. */
static void swap_samples(void *bytes, size_t n)
{
    const uint16_t one = 1;
    unsigned char *b = bytes;
    if (*(const unsigned char *)&one == 1) return;
    for (size_t k = 0; k + 1 < n; k += 2) {
        const unsigned char low = b[k];
        b[k] = b[k + 1];
        b[k + 1] = low;
    }
}

/* Of a frame behind its line. */
static uint64_t bytes_of(const y4m_format *f)
{
    const uint64_t chroma = f->is_gray ? 0 : 2 * (uint64_t)chroma_width(f) * (uint64_t)chroma_height(f);
    return ((uint64_t)f->width * (uint64_t)f->height * (f->has_alpha ? 2 : 1) + chroma) * sample_bytes(f);
}

/* The picture of the planes that were read. */
static imgpar_array *picture_of(const video *v, imgpar_context *ctx, const unsigned char *bytes)
{
    const y4m_format *f = &v->y4m;
    const imgpar_dtype dtype = f->bits > 8 ? IMGPAR_U16 : IMGPAR_U8;
    const int n = planes_of(f);
    imgpar_array *planes[4];
    size_t at = 0;
    for (int k = 0; k < n; k++) {
        const bool is_chroma = k == 1 || k == 2;
        const int64_t shape[3] = { is_chroma ? chroma_height(f) : f->height, is_chroma ? chroma_width(f) : f->width,
                                   1 };
        planes[k] = imgpar_array_from_data(ctx, dtype, 3, shape, bytes + at);
        at += (size_t)shape[0] * (size_t)shape[1] * sample_bytes(f);
    }
    imgpar_array *picture = imgpar_pipeline_apply(v->decode, ctx, planes, (size_t)n);
    for (int k = 0; k < n; k++)
        imgpar_array_release(planes[k]);
    return picture;
}

/* ---- reading ------------------------------------------------------------------------------------------- */

bool video_open(video *v, FILE *file, const char *name, const char *matrix)
{
    *v = (video){ .name = name, .kind = video_kind_of(file) };
    if (v->kind == VIDEO_NONE) return fail(v->why, "%s: this is no Y4M and no PNM", name);
    if (v->kind == VIDEO_Y4M && !read_y4m_header(v, file)) return false;
    if (v->kind == VIDEO_Y4M && !(v->decode = decoder(&v->y4m, matrix, v->why))) return false;
    const bool is_pnm = v->kind == VIDEO_PNM;
    if (frames_begin(&v->frames, is_pnm ? FRAMES_PNM : FRAMES_Y4M, file, name, is_pnm ? 0 : bytes_of(&v->y4m)))
        return true;
    return fail(v->why, "%s", v->frames.why);
}

int video_next(video *v, imgpar_context *ctx, imgpar_array **out)
{
    unsigned char *bytes;
    size_t n;
    const int more = frames_next(&v->frames, &bytes, &n);
    if (more < 0 && !signals_seen()) fail(v->why, "%s", v->frames.why);
    if (more <= 0) return more;
    if (v->y4m.bits > 8) swap_samples(bytes, n);
    imgpar_array *a = v->kind == VIDEO_PNM ? imgpar_open_memory(ctx, bytes, n) : picture_of(v, ctx, bytes);
    v->n_frames++;
    if (!imgpar_array_status(a)) {
        *out = a;
        return 1;
    }
    const char *message = imgpar_array_message(a), *const source = "memory: "; /* where the library has it from */
    if (strncmp(message, source, strlen(source)) == 0) message += strlen(source);
    fail(v->why, "%s: frame %llu: %s", v->name, (unsigned long long)v->n_frames, message);
    imgpar_array_release(a);
    return -1;
}

void video_close(video *v)
{
    imgpar_pipeline_release(v->decode);
    v->decode = NULL;
    frames_end(&v->frames);
}

/* ---- writing ------------------------------------------------------------------------------------------- */

void video_writer_begin(video_writer *w, FILE *file, const video *source, const char *matrix)
{
    *w = (video_writer){ .file = file, .matrix = matrix };
    if (source && source->kind == VIDEO_Y4M) {
        w->y4m = source->y4m;
        return;
    }
    find_space(&w->y4m, "444");
    snprintf(w->y4m.rest, sizeof w->y4m.rest, " F25:1 Ip A1:1");
}

/* The size of the first frame, and a space for its channels: what was read, where that has them. */
static void choose_format(video_writer *w, const imgpar_info *info)
{
    y4m_format *f = &w->y4m;
    char space[24] = "";
    f->width = info->width;
    f->height = info->height;
    if (info->channels == 1 && !f->is_gray) snprintf(space, sizeof space, f->bits > 8 ? "mono%d" : "mono", f->bits);
    if (info->channels == 3 && (f->is_gray || f->has_alpha))
        snprintf(space, sizeof space, f->bits > 8 ? "444p%d" : "444", f->bits);
    if (space[0]) find_space(f, space);
}

static bool check_frame(video_writer *w, const imgpar_info *info)
{
    const y4m_format *f = &w->y4m;
    if (info->depth != 1 || info->channels > 4 || info->rank < 2)
        return fail(w->why, "the result is no picture, as a frame of Y4M is");
    if (!w->encode) choose_format(w, info);
    if (info->width != f->width || info->height != f->height)
        return fail(w->why, "frames of Y4M have one size: this is %lld x %lld, the first one %lld x %lld",
                    (long long)info->width, (long long)info->height, (long long)f->width, (long long)f->height);
    const int wanted = f->is_gray ? 1 : f->has_alpha ? 4 : 3;
    if (info->channels == wanted) return true;
    if (info->channels == 2) return fail(w->why, "Y4M has no gray with alpha; slice(a, 0, 1, axis=2) leaves alpha out");
    if (info->channels == 4)
        return fail(w->why, "C%s of Y4M has no alpha; slice(a, 0, 3, axis=2) leaves it out", f->space);
    return fail(w->why, "this frame has %lld channels, C%s of Y4M %d", (long long)info->channels, f->space, wanted);
}

/* Before the first frame. */
static bool begin(video_writer *w)
{
    const y4m_format *f = &w->y4m;
    imgpar_pipeline *encode = encoder(f, w->matrix, w->why);
    if (!encode) return false;
    const bool ok = fprintf(w->file, "YUV4MPEG2 W%lld H%lld%s C%s\n", (long long)f->width, (long long)f->height,
                            f->rest, f->space) > 0;
    if (!ok)
        fail(w->why, "%s", strerror(errno));
    else if (!behind_begin(&w->behind, w->file))
        fail(w->why, "no thread can be started to write it");
    else
        w->encode = encode;
    if (!w->encode) imgpar_pipeline_release(encode);
    return w->encode != NULL;
}

/* What a frame begins with. */
static const char line[] = "FRAME\n";
enum { LINE_BYTES = sizeof line - 1 };

static bool fail_writing(video_writer *w)
{
    uint64_t piece;
    const int why = behind_why(&w->behind, &piece);
    if (why) w->frame = piece + 1;
    return fail(w->why, "%s", why ? strerror(why) : signals_seen() ? "" : "out of memory");
}

bool video_write(video_writer *w, imgpar_context *ctx, imgpar_array *frame, const imgpar_options *options)
{
    imgpar_info info = { .struct_size = sizeof info };
    w->frame = w->n_made + 1;
    if (imgpar_array_info(frame, &info)) return fail(w->why, "%s", imgpar_array_message(frame));
    if (!check_frame(w, &info) || (!w->encode && !begin(w))) return false;
    imgpar_array *bytes = imgpar_pipeline_apply(w->encode, ctx, &frame, 1);
    imgpar_status st = imgpar_array_info(bytes, &info);
    const size_t n = st ? 0 : info.size_bytes;
    unsigned char *piece = st ? NULL : behind_room(&w->behind, LINE_BYTES + n);
    if (piece) st = imgpar_array_read_with(bytes, piece + LINE_BYTES, n, options);
    if (st) fail(w->why, "%s", st == IMGPAR_E_INTERRUPTED ? "" : imgpar_array_message(bytes));
    imgpar_array_release(bytes);
    if (st) return false;
    if (!piece) return fail_writing(w);
    memcpy(piece, line, LINE_BYTES);
    if (w->y4m.bits > 8) swap_samples(piece + LINE_BYTES, n);
    behind_put(&w->behind);
    w->n_made++;
    return true;
}

bool video_writer_end(video_writer *w, bool is_whole)
{
    const bool ok = behind_end(&w->behind, is_whole) || !is_whole || fail_writing(w);
    imgpar_pipeline_release(w->encode);
    w->encode = NULL;
    return ok;
}
