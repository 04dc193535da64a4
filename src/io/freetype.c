/* SPDX-License-Identifier: MIT */
#include "io/freetype.h"

#include "base/alloc.h"
#include "base/library.h"

#ifdef HAVE_FREETYPE

#include <ft2build.h>
#include FT_FREETYPE_H
#include FT_MODULE_H
#include FT_OUTLINE_H
#include FT_SYSTEM_H
#include <math.h>
#include <string.h>

/* A font that was made to be slow or large is refused, not waited for. */
enum { N_KEPT = 256, MOST_AT_ONCE = 1 << 28, MOST_WORK = 1 << 27, GLYPH_WORK = 64 };

/* What is taken from the library; its macros need no functions. */
typedef struct functions {
    typeof(FT_New_Library) *New_Library;
    typeof(FT_Add_Default_Modules) *Add_Default_Modules;
    typeof(FT_Done_Library) *Done_Library;
    typeof(FT_New_Memory_Face) *New_Memory_Face;
    typeof(FT_Done_Face) *Done_Face;
    typeof(FT_Set_Charmap) *Set_Charmap;
    typeof(FT_Get_Char_Index) *Get_Char_Index;
    typeof(FT_Get_Kerning) *Get_Kerning;
    typeof(FT_Load_Glyph) *Load_Glyph;
    typeof(FT_Outline_Get_CBox) *Outline_Get_CBox;
    typeof(FT_Outline_Decompose) *Outline_Decompose;
} functions;

#define SYMBOL(name)                           \
    {                                          \
        "FT_" #name, offsetof(functions, name) \
    }
static const ip_library_function symbols[] = {
    SYMBOL(New_Library), SYMBOL(Add_Default_Modules), SYMBOL(Done_Library),      SYMBOL(New_Memory_Face),
    SYMBOL(Done_Face),   SYMBOL(Set_Charmap),         SYMBOL(Get_Char_Index),    SYMBOL(Get_Kerning),
    SYMBOL(Load_Glyph),  SYMBOL(Outline_Get_CBox),    SYMBOL(Outline_Decompose),
};

typedef struct kept {
    uint32_t glyph;
    bool is_there;
    ip_font_measures measures;
} kept;

struct ip_font {
    functions call;
    struct FT_MemoryRec_ memory;
    FT_Library library; /* of its own: a library belongs to one thread */
    FT_Face face;
    double em;
    bool lacks_memory;
    int64_t work;      /* glyphs and points that were read */
    kept kept[N_KEPT]; /* the measures asked for last, by glyph */
};

/* ---- the library --------------------------------------------------------------------------------- */

static bool load(functions *out)
{
    return ip_library_load("libfreetype.so.6", symbols, sizeof symbols / sizeof *symbols, out);
}

bool ip_font_is_known(void)
{
    functions found;
    return load(&found);
}

/* FreeType goes on without tables that it can do without, so what did not fit is remembered. */
static void *noted(FT_Memory memory, void *block)
{
    ip_font *font = memory->user;
    font->lacks_memory = font->lacks_memory || !block;
    return block;
}

static void *take(FT_Memory memory, long n) { return n > MOST_AT_ONCE ? NULL : noted(memory, ip_alloc((size_t)n)); }

static void give(FT_Memory memory, void *block)
{
    (void)memory;
    ip_free(block);
}

static void *take_again(FT_Memory memory, long before, long n, void *block)
{
    (void)before;
    return n > MOST_AT_ONCE ? NULL : noted(memory, ip_realloc(block, (size_t)n));
}

/* The status of a call that returned code. */
static imgpar_status checked(const ip_font *font, FT_Error code, const char *what, ip_error *err)
{
    if (font->lacks_memory) return ip_fail_memory(err, "reading a font");
    if (!code) return IMGPAR_OK;
    return ip_fail(err, IMGPAR_E_CORRUPT, "%s is damaged (FreeType's error 0x%02x)", what, (unsigned)code);
}

/* ---- a font -------------------------------------------------------------------------------------- */

/* Characters are looked up in Unicode; where a font has signs of its own they begin at U+F000, see ip_font_glyph(). */
static void choose_characters(ip_font *font)
{
    if (!font->face->charmap && font->face->num_charmaps > 0)
        font->call.Set_Charmap(font->face, font->face->charmaps[0]);
}

static imgpar_status open_face(ip_font *font, const void *bytes, size_t n, int index, ip_error *err)
{
    FT_Error code = font->call.New_Library(&font->memory, &font->library);
    if (!code) font->call.Add_Default_Modules(font->library);
    if (!code) code = font->call.New_Memory_Face(font->library, bytes, (FT_Long)n, index, &font->face);
    if (code && index > 0 && !font->lacks_memory)
        return ip_fail(err, IMGPAR_E_ARGUMENT, "index=%d: the font has none of that number, or is damaged", index);
    imgpar_status st = checked(font, code, "the font", err);
    if (st) return st;
    /* "tricky": its letters are put together by hinting only */
    if (!FT_IS_SCALABLE(font->face) || FT_IS_TRICKY(font->face) || font->face->units_per_EM == 0)
        return ip_fail(err, IMGPAR_E_UNSUPPORTED, "the font has no outlines that can be scaled");
    font->em = font->face->units_per_EM;
    choose_characters(font);
    return IMGPAR_OK;
}

imgpar_status ip_font_open(const void *bytes, size_t n, int index, ip_font **out, ip_error *err)
{
    ip_font *font = *out = ip_zalloc(sizeof *font);
    if (!font) return ip_fail_memory(err, "reading a font");
    font->memory = (struct FT_MemoryRec_){ font, take, give, take_again };
    imgpar_status st = load(&font->call) ? open_face(font, bytes, n, index, err)
                                         : ip_fail(err, IMGPAR_E_UNSUPPORTED,
                                                   "FreeType is not installed (Debian package: libfreetype6)");
    if (!st) return IMGPAR_OK;
    ip_font_close(font);
    *out = NULL;
    return st;
}

void ip_font_close(ip_font *font)
{
    if (!font) return;
    if (font->face) font->call.Done_Face(font->face);
    if (font->library) font->call.Done_Library(font->library);
    ip_free(font);
}

/* What a font tells of its lines may be nothing. */
ip_font_lines ip_font_lines_of(const ip_font *font)
{
    const double ascent = font->face->ascender / font->em, descent = -font->face->descender / font->em;
    const double pitch = font->face->height / font->em;
    if (!(ascent + descent > 0)) return (ip_font_lines){ 0.8, 0.2, 1.2 };
    return (ip_font_lines){ ascent, descent, pitch > 0 ? pitch : ascent + descent };
}

uint32_t ip_font_glyph(const ip_font *font, uint32_t character)
{
    enum { SIGNS = 0xf000 };
    const bool has_signs = font->face->charmap && font->face->charmap->encoding == FT_ENCODING_MS_SYMBOL;
    const uint32_t glyph = font->face->charmap ? font->call.Get_Char_Index(font->face, character) : 0;
    if (glyph || !has_signs || character > 0xff) return glyph;
    return font->call.Get_Char_Index(font->face, SIGNS + character);
}

double ip_font_kern(const ip_font *font, uint32_t first, uint32_t second)
{
    FT_Vector by;
    if (!FT_HAS_KERNING(font->face) || !first || !second) return 0;
    return font->call.Get_Kerning(font->face, first, second, FT_KERNING_UNSCALED, &by) ? 0 : (double)by.x / font->em;
}

/* ---- glyphs -------------------------------------------------------------------------------------- */

/* Into the face's slot. */
static imgpar_status load_glyph(ip_font *font, uint32_t glyph, ip_error *err)
{
    FT_Error code = font->call.Load_Glyph(font->face, glyph, FT_LOAD_NO_SCALE | FT_LOAD_NO_BITMAP);
    const FT_GlyphSlot slot = font->face->glyph;
    imgpar_status st = checked(font, code, "a letter of the font", err);
    if (st) return st;
    if (slot->format != FT_GLYPH_FORMAT_OUTLINE)
        return ip_fail(err, IMGPAR_E_UNSUPPORTED, "a letter of the font has no outline");
    font->work += GLYPH_WORK + slot->outline.n_points;
    if (font->work > MOST_WORK)
        return ip_fail(err, IMGPAR_E_LIMIT, "the words are too long, or the font's letters too complicated");
    return IMGPAR_OK;
}

imgpar_status ip_font_measure(ip_font *font, uint32_t glyph, ip_font_measures *out, ip_error *err)
{
    kept *k = &font->kept[glyph % N_KEPT];
    FT_BBox box;
    *out = k->measures;
    if (k->is_there && k->glyph == glyph) return IMGPAR_OK;
    imgpar_status st = load_glyph(font, glyph, err);
    if (st) return st;
    const FT_GlyphSlot slot = font->face->glyph;
    *out = (ip_font_measures){ .advance = (double)slot->metrics.horiAdvance / font->em,
                               .has_outline = slot->outline.n_points > 0 };
    if (out->has_outline) {
        font->call.Outline_Get_CBox(&slot->outline, &box);
        out->x0 = (double)box.xMin / font->em;
        out->y0 = (double)box.yMin / font->em;
        out->x1 = (double)box.xMax / font->em;
        out->y1 = (double)box.yMax / font->em;
    }
    *k = (kept){ glyph, true, *out };
    return IMGPAR_OK;
}

typedef struct walk {
    const ip_font_pen *pen;
    double em;
} walk;

static void to_em(const walk *w, const FT_Vector *p, double to[2])
{
    to[0] = (double)p->x / w->em;
    to[1] = (double)p->y / w->em;
}

static int on_move(const FT_Vector *to, void *user)
{
    const walk *w = user;
    double p[2];
    to_em(w, to, p);
    w->pen->move(w->pen->user, p);
    return 0;
}

static int on_line(const FT_Vector *to, void *user)
{
    const walk *w = user;
    double p[2];
    to_em(w, to, p);
    w->pen->line(w->pen->user, p);
    return 0;
}

static int on_conic(const FT_Vector *control, const FT_Vector *to, void *user)
{
    const walk *w = user;
    double p[2], q[2];
    to_em(w, control, p);
    to_em(w, to, q);
    w->pen->conic(w->pen->user, p, q);
    return 0;
}

static int on_cubic(const FT_Vector *control, const FT_Vector *second, const FT_Vector *to, void *user)
{
    const walk *w = user;
    double p[4], q[2];
    to_em(w, control, p);
    to_em(w, second, p + 2);
    to_em(w, to, q);
    w->pen->cubic(w->pen->user, p, q);
    return 0;
}

imgpar_status ip_font_walk(ip_font *font, uint32_t glyph, const ip_font_pen *pen, ip_error *err)
{
    static const FT_Outline_Funcs to = {
        .move_to = on_move, .line_to = on_line, .conic_to = on_conic, .cubic_to = on_cubic
    };
    walk w = { pen, font->em };
    imgpar_status st = load_glyph(font, glyph, err);
    if (st) return st;
    FT_Error code = font->call.Outline_Decompose(&font->face->glyph->outline, &to, &w);
    return checked(font, code, "a letter of the font", err);
}

#else

bool ip_font_is_known(void) { return false; }

imgpar_status ip_font_open(const void *bytes, size_t n, int index, ip_font **out, ip_error *err)
{
    (void)bytes, (void)n, (void)index;
    *out = NULL;
    return ip_fail(err, IMGPAR_E_UNSUPPORTED,
                   "this library was built without FreeType (Debian package: libfreetype-dev)");
}

void ip_font_close(ip_font *font) { (void)font; }

ip_font_lines ip_font_lines_of(const ip_font *font)
{
    (void)font;
    return (ip_font_lines){ 0 };
}

uint32_t ip_font_glyph(const ip_font *font, uint32_t character)
{
    (void)font, (void)character;
    return 0;
}

double ip_font_kern(const ip_font *font, uint32_t first, uint32_t second)
{
    (void)font, (void)first, (void)second;
    return 0;
}

imgpar_status ip_font_measure(ip_font *font, uint32_t glyph, ip_font_measures *out, ip_error *err)
{
    (void)font, (void)glyph;
    *out = (ip_font_measures){ 0 };
    return ip_fail(err, IMGPAR_E_INTERNAL, "there is no font");
}

imgpar_status ip_font_walk(ip_font *font, uint32_t glyph, const ip_font_pen *pen, ip_error *err)
{
    (void)font, (void)glyph, (void)pen;
    return ip_fail(err, IMGPAR_E_INTERNAL, "there is no font");
}

#endif
