/* SPDX-License-Identifier: MIT */
/* Memory: elements of buffers, line buffers, tiles, images and tables, read with their borders applied, and stored. */
#include "base/dtype.h"
#include "compile/emit.h"

#include <string.h>

#include <math.h>

const char *ip_emit_border(ip_emit *e, int border, const char *index, const char *extent)
{
    static const char *const names[] = { "replicate", "reflect", "reflect101", "wrap", "replicate" };
    return border == IP_BORDER_NONE ? index : ip_text(e->ir, "ip_%s(%s, %s)", names[border], index, extent);
}

const char *ip_emit_buffer_row(ip_emit *e, const ip_stage *s, const char *z, const char *y)
{
    const char *b = ip_emit_buffer(e, s);
    return ip_text(e->ir, "%s + (%s + (long)%s * %s + (long)%s * %s)", b, ip_emit_slot_of(e, IP_SLOT_START, s), z,
                   ip_emit_slot_of(e, IP_SLOT_PLANE, s), y, ip_emit_slot_of(e, IP_SLOT_PITCH, s));
}

/* An index inside the extent along dim by the load's border; *inside collects, for CONSTANT, "is it inside". */
static const char *inside_index(ip_emit *e, const ip_expr *load, int dim, const char **inside)
{
    const ip_stage *s = load->source;
    const ip_expr *x = load->arg[dim];
    const char *index = ip_emit_value(e, load->arg[dim]);
    bool plain = ip_reads_own_index(load, dim, dim < 3 ? e->domain[dim] : e->channels);
    bool fixed_channel = dim == 3 && x->op == IP_X_CONST && x->i >= 0 && x->i < s->dims[3];
    if (load->border == IP_BORDER_NONE || plain || fixed_channel) return index;
    const char *extent = dim < 3 ? ip_emit_dim(e, s, dim) : ip_text(e->ir, "%d", (int)s->dims[3]);
    const char *raw = ip_text(e->ir, "q%d", e->n_values++);
    ip_emit_let_int(e, raw, index);
    if (load->border == IMGPAR_BORDER_CONSTANT) {
        const char *test = ip_text(e->ir, "(%s >= 0 & %s < %s)", raw, raw, extent);
        *inside = *inside ? ip_text(e->ir, "%s & %s", *inside, test) : test;
    }
    const char *name = ip_text(e->ir, "q%d", e->n_values++);
    ip_emit_let_int(e, name, ip_emit_border(e, load->border, raw, extent));
    return name;
}

static struct ip_row *row_of(ip_emit *e, const ip_expr *load);

/* Of rows that pixels read for themselves, the pointer to the one that is so many below another; NULL: it is none. */
static const char *row_below(ip_emit *e, const ip_expr *load)
{
    const ip_expr *y = load->arg[1];
    bool is_sum = y->op == IP_X_ADD && y->arg[1]->op == IP_X_CONST && load->border == IP_BORDER_NONE;
    if (!(e->lanes || e->gather) || !is_sum) return NULL;
    ip_expr other = *load;
    other.arg[1] = y->arg[0];
    return ip_text(e->ir, "%s + %lld * (long)%s", row_of(e, &other)->pointer, (long long)y->arg[1]->i,
                   ip_emit_slot_of(e, IP_SLOT_PITCH, load->source));
}

/* Declares a pointer to the row that load reads, and for CONSTANT a flag; found again while in scope. */
static struct ip_row *row_of(ip_emit *e, const ip_expr *load)
{
    const ip_stage *s = load->source;
    for (int k = 0; k < e->n_rows; k++) {
        struct ip_row *r = &e->rows[k];
        if (r->stage == s && r->z == load->arg[0] && r->y == load->arg[1] && r->border == load->border) return r;
    }
    const ip_placed *placed = ip_kernel_placed(e->kernel, s);
    bool is_line_buffer = placed && placed->place == IP_PLACE_LINE_BUFFER,
         is_tile = placed && placed->place == IP_PLACE_TILE;
    const char *inside = NULL;
    const char *z = is_line_buffer || is_tile ? "0" : inside_index(e, load, 0, &inside);
    bool is_endless = is_line_buffer && ip_emit_is_endless(placed);
    const char *y = is_endless || is_tile ? ip_emit_value(e, load->arg[1]) : inside_index(e, load, 1, &inside);
    const char *pointer = ip_text(e->ir, "r%d", e->n_values++);
    const char *type = ip_text(e->ir, "__%s const %s *", is_tile ? "local" : "global", ip_dtype(s->dtype)->cl);
    if (is_tile)
        ip_emit_let(
            e, type, pointer,
            ip_text(e->ir, "%s + (%s - %s) * %d", ip_emit_storage(e, s), y, ip_emit_tile_top(e, s), placed->pitch));
    else if (is_line_buffer && placed->is_deep)
        ip_emit_let(e, type, pointer,
                    ip_text(e->ir, "%s + (z - za) * %s", ip_emit_storage(e, s),
                            ip_emit_slot_of(e, IP_SLOT_LINE_BUFFER_PITCH, s)));
    else if (is_line_buffer && placed->rows == 1)
        ip_emit_let(e, type, pointer, ip_emit_storage(e, s));
    else if (is_line_buffer)
        ip_emit_let(e, type, pointer,
                    ip_text(e->ir, "%s + (%s %% %d) * %s", ip_emit_storage(e, s),
                            is_endless ? ip_text(e->ir, "(%s + %d)", y, ip_emit_line_buffer_bias(placed)) : y,
                            placed->rows, ip_emit_slot_of(e, IP_SLOT_LINE_BUFFER_PITCH, s)));
    else {
        const char *below = row_below(e, load);
        ip_emit_let(e, type, pointer, below ? below : ip_emit_buffer_row(e, s, z, y));
    }
    if (inside) {
        const char *flag = ip_text(e->ir, "q%d", e->n_values++);
        ip_emit_let_int(e, flag, inside);
        inside = flag;
    }
    int at = e->n_rows < (int)(sizeof e->rows / sizeof *e->rows) ? e->n_rows++ : e->n_rows - 1;
    e->rows[at] = (struct ip_row){ s, load->arg[0], load->arg[1], load->border, pointer, inside };
    return &e->rows[at];
}

const char *ip_emit_row_pointer(ip_emit *e, const ip_expr *load) { return row_of(e, load)->pointer; }

/* Where its readers in the kernel find it. */
static ip_place place_of(const ip_emit *e, const ip_stage *s)
{
    const ip_placed *placed = ip_kernel_placed(e->kernel, s);
    return placed ? placed->place : IP_PLACE_NONE;
}

static const char *element(ip_emit *e, const ip_stage *s, const char *pointer, const char *index)
{
    index = ip_emit_checked_index(e, s, place_of(e, s), false, pointer, index);
    if (s->dtype == IMGPAR_F16) return ip_text(e->ir, "vload_half(%s, %s)", index, pointer);
    return ip_text(e->ir, "%s[%s]", pointer, index);
}

/*
 * Note [Pixels side by side in memory]
 * Channels are vectors only where the compiler knows that pixels lie side by side. It finds that out of a column times
 * the channels in 64 bits. In 32 bits LLVM 15 does not where it makes a shift of the product, of two or four channels,
 * or where the column is a sum: it would gather and scatter the elements.
 */
const char *ip_emit_widening(int channels, bool is_sum)
{
    return channels == 2 || channels == 4 || is_sum ? "(long)" : "";
}

/* For the column of a load. One that a border rule moves is gathered anyway. */
static const char *widening_of(ip_emit *e, const ip_expr *load)
{
    const ip_site site = ip_emit_site(e);
    bool is_inside = load->border == IP_BORDER_NONE || ip_site_column_is_inside(&site, load);
    if (!is_inside || !ip_x_offset_from(e->ir, load->arg[2], 2)) return "";
    return ip_emit_widening((int)load->source->dims[3], !ip_x_is_coord(load->arg[2], 2));
}

const char *ip_emit_column_of_load(ip_emit *e, const ip_expr *load, const char **inside)
{
    const ip_site site = ip_emit_site(e);
    return ip_site_column_is_inside(&site, load) ? ip_emit_value(e, load->arg[2]) : inside_index(e, load, 2, inside);
}

/* The index of a load relative to its row. Adds to *inside for borders that columns need. */
static const char *index_in_row(ip_emit *e, const ip_expr *load, const char **inside)
{
    const ip_stage *s = load->source;
    int channels = (int)s->dims[3];
    const ip_placed *placed = ip_kernel_placed(e->kernel, s);
    bool is_tile = placed && placed->place == IP_PLACE_TILE;
    const char *start = is_tile ? ip_text(e->ir, " - %s", ip_emit_tile_left(e, s)) : "";
    if (e->flat) {
        ip_expr *rest = ip_x_offset_from(e->ir, load->arg[2], 2);
        if (!rest) /* memory ran out: the text will not be used */
            return e->flat;
        if (rest->op == IP_X_CONST)
            return ip_text(e->ir, "%s%s", ip_text_plus(e->ir, e->flat, (long long)rest->i * channels), start);
        return ip_text(e->ir, "%s + %s * %d%s", e->flat, ip_emit_value(e, rest), channels, start);
    }
    const char *x = ip_emit_column_of_load(e, load, inside), *c = inside_index(e, load, 3, inside);
    if (channels == 1) return ip_text(e->ir, "%s%s", x, start);
    const char *plus = strcmp(c, "0") == 0 ? "" : ip_text(e->ir, " + %s", c);
    return ip_text(e->ir, "%s%s * %d%s%s", widening_of(e, load), x, channels, plus, start);
}

/*
 * Note [Moved columns]
 * A load at column x + p, p a parameter, computes and widens that sum for every pixel. Where an array with channels is
 * read inside, the row's pointer is moved by p instead, once for all pixels, and all such loads of a pixel share the
 * pixel's own index. Nine parts of an array of 32 channels take 0.85 of the time.
 */
static const char *moved_element(ip_emit *e, const ip_expr *load, const char *pointer)
{
    const int channels = (int)load->source->dims[3];
    const ip_site site = ip_emit_site(e);
    const ip_placed *placed = ip_kernel_placed(e->kernel, load->source);
    if (channels == 1 || e->flat || !e->coord[2] || (placed && placed->place == IP_PLACE_TILE)) return NULL;
    if (load->border != IP_BORDER_NONE && !ip_site_column_is_inside(&site, load)) return NULL;
    ip_expr *by = ip_x_offset_from(e->ir, load->arg[2], 2);
    if (!by || by->op == IP_X_CONST || (by->uses & IP_USES_TAP)) return NULL;
    const char *inside = NULL, *c = inside_index(e, load, 3, &inside);
    if (inside) return NULL;
    const char *plus = strcmp(c, "0") == 0 ? "" : ip_text(e->ir, " + %s", c);
    return element(e, load->source, ip_text(e->ir, "(%s + (long)(%s) * %d)", pointer, ip_emit_value(e, by), channels),
                   ip_text(e->ir, "(long)%s * %d%s", e->coord[2], channels, plus));
}

/*
 * Note [Four channels]
 * Of pixels of three bytes compilers take one channel by shuffling vectors, of those of four they read each element by
 * itself. So a channel of four bytes, or of four times two, is a part of the word that the pixel is: words lie side by
 * side, and are shifted and narrowed as vectors. That takes 0.3 to 0.6 of the time.
 */
static bool is_part_of_word(const ip_emit *e, const ip_expr *load)
{
    return ip_emit_calls_helpers(e) && !e->flat && e->coord[2] && load->source->dims[3] == 4 &&
           ip_dtype(load->source->dtype)->size_bytes <= 2 && load->source->dtype != IMGPAR_F16 &&
           (load->arg[2]->uses & IP_USES_X);
}

static const char *part_of_word(ip_emit *e, const ip_expr *load, const char *pointer, const char **inside)
{
    const ip_dtype_facts *facts = ip_dtype(load->source->dtype);
    const char *word = facts->size_bytes == 1 ? "uchar" : "ushort", *x = ip_emit_column_of_load(e, load, inside),
               *c = inside_index(e, load, 3, inside);
    return ip_text(e->ir, "(%s)ip_of_four_%s((__global const %s *)%s + (%s) * 4, %s)", facts->cl, word, word, pointer,
                   x, c);
}

static const char *table_element(ip_emit *e, const ip_expr *load)
{
    const char *start = ip_emit_slot_of(e, IP_SLOT_TABLE, load->source);
    const char *index = ip_emit_value(e, load->arg[2]);
    e->args.looks_up |= (load->arg[2]->uses & IP_USES_COORDS) != 0;
    if (load->source->dtype == IMGPAR_F64)
        return ip_text(e->ir, "as_double((int2)(P[%s + 2 * (%s)], P[%s + 2 * (%s) + 1]))", start, index, start, index);
    return ip_text(e->ir, load->source->dtype == IMGPAR_F32 ? "as_float(P[%s + %s])" : "P[%s + %s]", start, index);
}

/*
 * Note [Samplers]
 * `edge` repeats the image's edges, `black` is 0 beyond them: these borders cost nothing. Others are applied to the
 * index. An image holds the region of its stage that is read, so the two have common edges wherever something beyond
 * one is read. Channels of one texel share its read.
 */
void ip_emit_samplers(ip_emit *e)
{
    static const char *const modes[][2] = { { "edge", "CLAMP_TO_EDGE" }, { "black", "CLAMP" } };
    for (int i = 0; i < 2; i++)
        ip_emit_let(e, "sampler_t", modes[i][0],
                    ip_text(e->ir, "CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_%s | CLK_FILTER_NEAREST", modes[i][1]));
}

/* The texel that a load reads, declared once for all its channels; and for CONSTANT a flag. */
static struct ip_row *texel_of(ip_emit *e, const ip_expr *load)
{
    const ip_stage *s = load->source;
    for (int k = 0; k < e->n_rows; k++) {
        struct ip_row *r = &e->rows[k];
        if (r->stage == s && r->z == load->arg[2] && r->y == load->arg[1] && r->border == load->border) return r;
    }
    bool is_black = load->border == IMGPAR_BORDER_CONSTANT && load->arg[4]->op == IP_X_CONST &&
                    (ip_dtype(load->arg[4]->dtype)->is_float ? load->arg[4]->f == 0 && !signbit(load->arg[4]->f)
                                                             : load->arg[4]->i == 0);
    bool by_sampler = is_black || load->border == IMGPAR_BORDER_REPLICATE;
    const char *inside = NULL, *name = ip_text(e->ir, "texel%d", e->n_values++);
    const char *y = by_sampler ? ip_emit_value(e, load->arg[1]) : inside_index(e, load, 1, &inside);
    const char *x = by_sampler ? ip_emit_value(e, load->arg[2]) : inside_index(e, load, 2, &inside);
    const ip_dtype_facts *facts = ip_dtype(s->dtype);
    const char *type = facts->is_float ? "float" : facts->is_signed ? "int" : "uint";
    ip_emit_let(e, ip_text(e->ir, "%s4", type), name,
                ip_text(e->ir, "read_image%s(%s, %s, (int2)(%s - %s, %s - %s))",
                        facts->is_float    ? "f"
                        : facts->is_signed ? "i"
                                           : "ui",
                        ip_emit_buffer(e, s), is_black ? "black" : "edge", x,
                        ip_emit_slot_at(e, IP_SLOT_ORIGIN, 2, s, NULL), y,
                        ip_emit_slot_at(e, IP_SLOT_ORIGIN, 1, s, NULL)));
    int at = e->n_rows < (int)(sizeof e->rows / sizeof *e->rows) ? e->n_rows++ : e->n_rows - 1;
    e->rows[at] = (struct ip_row){ s, load->arg[2], load->arg[1], load->border, name, inside };
    return &e->rows[at];
}

static const char *texel_element(ip_emit *e, const ip_expr *load)
{
    const struct ip_row *texel = texel_of(e, load);
    const char *text = ip_text(e->ir, "%s.s%s", texel->pointer, ip_emit_value(e, load->arg[3]));
    if (!ip_dtype(load->dtype)->is_float) text = ip_text(e->ir, "(%s)%s", ip_cl_type(load->dtype), text);
    return texel->inside ? ip_text(e->ir, "((%s) ? %s : %s)", texel->inside, text, ip_emit_value(e, load->arg[4]))
                         : text;
}

const char *ip_emit_load(ip_emit *e, const ip_expr *load)
{
    if (load->source->kind == IP_STAGE_TABLE) return table_element(e, load);
    if (ip_kernel_texture(e->kernel, load->source)) return texel_element(e, load);
    struct ip_row *row = row_of(e, load);
    const char *pointer = row->pointer, *inside = row->inside;
    const char *inside_x = NULL;
    const char *text = ip_emit_is_gathered(e, load) ? ip_emit_gathered(e, load, pointer, &inside_x)
                       : is_part_of_word(e, load)   ? part_of_word(e, load, pointer, &inside_x)
                                                    : moved_element(e, load, pointer);
    if (!text) text = element(e, load->source, pointer, index_in_row(e, load, &inside_x));
    if (inside && inside_x)
        inside = ip_text(e->ir, "(%s & %s)", inside, inside_x);
    else if (inside_x)
        inside = ip_text(e->ir, "(%s)", inside_x);
    if (!inside) return text;
    return ip_text(e->ir, "(%s ? %s : %s)", inside, text, ip_emit_value(e, load->arg[4]));
}

typedef struct tap_names {
    const ip_emit *e;
    bool are_known;
} tap_names;

static void check_tap(ip_expr *x, void *user)
{
    tap_names *t = user;
    t->are_known &= x->op != IP_X_TAP || ip_emit_name_of(t->e, x);
}

/* Whether the row that load reads depends on taps of loops around this place only. */
static bool taps_are_named(ip_emit *e, const ip_expr *load)
{
    tap_names t = { e, true };
    for (int k = 0; k < 2; k++)
        ip_x_walk(e->ir, load->arg[k], check_tap, &t);
    return t.are_known;
}

static void declare_row(ip_expr *x, void *user)
{
    ip_emit *e = user;
    if (x->op != IP_X_LOAD || x->source->kind == IP_STAGE_TABLE) return;
    unsigned uses = x->arg[0]->uses | x->arg[1]->uses;
    bool varies = uses & (IP_USES_X | IP_USES_C | IP_USES_ACC);
    if (!varies && (!(uses & IP_USES_TAP) || taps_are_named(e, x))) row_of(e, x);
}

void ip_emit_row_pointers(ip_emit *e, ip_expr *root) { ip_x_walk(e->ir, root, declare_row, e); }

static void store(ip_emit *e, const ip_stage *stage, ip_place where, const char *target, const char *index,
                  const char *value)
{
    value = ip_emit_checked_value(e, stage, index, value);
    index = ip_emit_checked_index(e, stage, where, true, target, index);
    if (stage->dtype == IMGPAR_F16)
        ip_emit_do(e, ip_text(e->ir, "vstore_half_rte(%s, %s, %s)", value, index, target));
    else
        ip_emit_set(e, ip_text(e->ir, "%s[%s]", target, index), value);
}

void ip_emit_store(ip_emit *e, const ip_stage *stage, const char *target, const char *index, const char *value)
{
    store(e, stage, place_of(e, stage), target, index, value);
}

void ip_emit_store_output(ip_emit *e, const ip_stage *stage, const char *target, const char *index, const char *value)
{
    store(e, stage, IP_PLACE_NONE, target, index, value);
}
