/* SPDX-License-Identifier: MIT */
#include "html.h"
#include "output.h"

#include <math.h>
#include <string.h>

/* ---- text -------------------------------------------------------------------------------------------- */

/* How many bytes the character at p has, if UTF-8 (RFC 3629) and XML have it; else 0. */
static int character(const unsigned char *p)
{
    const int n = p[0] < 0x80 ? 1 : p[0] >= 0xc2 && p[0] < 0xe0 ? 2 : p[0] >= 0xe0 && p[0] < 0xf0 ? 3 : 4;
    if (n == 1) return p[0] >= ' ' || p[0] == '\n' || p[0] == '\t' ? p[0] != 0x7f : 0;
    if (p[0] < 0xc2 || p[0] > 0xf4) return 0;
    for (int k = 1; k < n; k++)
        if ((p[k] & 0xc0) != 0x80) return 0;
    const unsigned second = p[1];
    if (p[0] == 0xc2 && second < 0xa0) return 0;                                  /* controls, U+0080 to U+009F */
    if (p[0] == 0xe0 && second < 0xa0) return 0;                                  /* too long */
    if (p[0] == 0xed && second > 0x9f) return 0;                                  /* surrogates */
    if (p[0] == 0xef && second == 0xbf && p[2] > 0xbd) return 0;                  /* U+FFFE and U+FFFF */
    if (p[0] == 0xe2 && second == 0x80 && p[2] >= 0xaa && p[2] <= 0xae) return 0; /* which turn the writing around */
    if (p[0] == 0xf0 && second < 0x90) return 0;
    return p[0] == 0xf4 && second > 0x8f ? 0 : n;
}

static size_t put_character(FILE *out, const char *text)
{
    const int n = character((const unsigned char *)text);
    switch (*text) {
    case '&': fputs("&amp;", out); return 1;
    case '<': fputs("&lt;", out); return 1;
    case '>': fputs("&gt;", out); return 1;
    case '"': fputs("&quot;", out); return 1;
    case '\'': fputs("&#39;", out); return 1;
    default: break;
    }
    if (n > 0)
        fwrite(text, 1, (size_t)n, out);
    else
        fputs("\xef\xbf\xbd", out);
    return n > 0 ? (size_t)n : 1;
}

void html_text(FILE *out, const char *text)
{
    while (*text)
        text += put_character(out, text);
}

static size_t length(const char *text)
{
    const int n = character((const unsigned char *)text);
    return n > 0 ? (size_t)n : 1;
}

void html_short(FILE *out, const char *text, int n)
{
    int count = 0, k = 0;
    for (const char *p = text; *p; p += length(p))
        count++;
    const int head = count > n ? n / 2 : count, tail = count > n ? count - (n - n / 2 - 1) : count;
    for (const char *p = text; *p; k++) {
        if (k == head && tail > head) fputs("\xe2\x80\xa6", out);
        p += k < head || k >= tail ? put_character(out, p) : length(p);
    }
}

void html_base64(FILE *out, const void *bytes, size_t n)
{
    const unsigned char *in = bytes;
    for (size_t k = 0; k < n; k += 3) {
        char letters[4];
        base64_letters(in + k, n - k, letters);
        fwrite(letters, 1, sizeof letters, out);
    }
}

void html_bytes(FILE *out, uint64_t bytes)
{
    static const char *const units[] = { "bytes", "kB", "MB", "GB", "TB" };
    double value = (double)bytes;
    int unit = 0;
    for (; value >= 9999.5 && unit < 4; unit++)
        value /= 1000;
    fprintf(out, "%.0f %s", value, bytes == 1 ? "byte" : units[unit]);
}

void html_shape(FILE *out, const int64_t *shape, int rank)
{
    for (int k = 0; k < rank; k++)
        fprintf(out, "%s%lld", k ? "\xc3\x97" : "", (long long)shape[k]);
}

/* ---- drawings ---------------------------------------------------------------------------------------- */

enum { WIDTH = 256, HEIGHT = 72 };

/* The class of the colour that a channel is drawn in. */
static const char *class_of(const imgpar_info *i, int channel)
{
    static const char *const classes[] = { "c0", "c1", "c2", "c3" };
    const bool has_colours = i->space != IMGPAR_SPACE_DATA && i->space != IMGPAR_SPACE_GRAY;
    if (has_colours) return classes[channel];
    return i->space == IMGPAR_SPACE_GRAY && channel == 1 ? "c3" : channel == 0 ? "cg" : classes[channel - 1];
}

static void begin(FILE *out, const char *what, const char *name)
{
    fprintf(out, "<svg class=\"plot\" viewBox=\"0 0 %d %d\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"%s ",
            WIDTH, HEIGHT, what);
    html_text(out, name);
    fputs("\">", out);
}

/* Below the drawing, from where to where it goes. */
static void end(FILE *out, const char *from, const char *to)
{
    fprintf(out, "</svg><div class=\"ends\"><span>%s</span><span>%s</span></div>\n", from, to);
}

void html_histogram(FILE *out, const facts *f, const char *name)
{
    char from[FACT_LETTERS], to[FACT_LETTERS];
    uint32_t most = 1;
    if (f->n_bins == 0) return;
    for (int c = 0; c < f->n_channels; c++)
        for (int k = 0; k < f->n_bins; k++)
            if (f->channels[c].counts[k] > most) most = f->channels[c].counts[k];
    begin(out, "histogram of", name);
    for (int c = 0; c < f->n_channels; c++) {
        fprintf(out, "<path class=\"%s\" d=\"M0 %d", class_of(&f->info, c), HEIGHT);
        for (int k = 0; k < f->n_bins; k++)
            fprintf(out, "L%.4g %.4gH%.4g", (double)k * WIDTH / f->n_bins,
                    HEIGHT * (1 - (double)f->channels[c].counts[k] / most), (k + 1.0) * WIDTH / f->n_bins);
        fprintf(out, "V%dZ\"/>", HEIGHT);
    }
    facts_number(f->info.dtype, f->lo, from);
    facts_number(f->info.dtype, f->hi, to);
    end(out, from, to);
}

void html_lines(FILE *out, const facts *f, const char *name)
{
    char from[60], to[80], lo[FACT_LETTERS], hi[FACT_LETTERS];
    const double half = f->hi > f->lo ? f->hi / 2 - f->lo / 2 : 1; /* the whole may be infinite */
    begin(out, "values of", name);
    for (int line = 0; line < f->n_lines; line++) {
        bool is_begun = false;
        fprintf(out, "<path class=\"line %s\" d=\"", class_of(&f->info, line));
        for (int k = 0; k < f->n_points; k++) {
            const double v = f->lines[line * f->n_points + k];
            if (isfinite(v))
                fprintf(out, "%s%.5g %.4g", is_begun ? "L" : "M", (k + 0.5) * WIDTH / f->n_points,
                        HEIGHT - 1 - (HEIGHT - 2) * ((v / 2 - f->lo / 2) / half));
            is_begun = isfinite(v) != 0;
        }
        fputs("\"/>", out);
    }
    facts_number(f->info.dtype, f->lo, lo);
    facts_number(f->info.dtype, f->hi, hi);
    snprintf(from, sizeof from, "element 0: from %s", lo);
    snprintf(to, sizeof to, "to %s; element %lld", hi, (long long)f->info.width - 1);
    end(out, from, to);
}
