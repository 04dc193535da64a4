/* SPDX-License-Identifier: MIT */
/* How loops over the elements of a row go, whatever these are: with how many lanes, over x and the channels at once or
 * pixel by pixel. emit_row.c prints what is found here. */
#include "base/dtype.h"
#include "compile/segments.h"

/* ---- lanes ------------------------------------------------------------------------- */

/* What the values of a loop are: bytes of the widest; how many have so many bytes; whether there are functions. */
enum { MOST_BYTES = 16 };
typedef struct widths {
    int widest, n_of_size[MOST_BYTES + 1];
    bool calls, has_series;
} widths;

int ip_lane_bytes(const ip_expr *x)
{
    bool is_index = x->op == IP_X_COORD || x->op == IP_X_CONST || x->op == IP_X_PARAM || x->op == IP_X_TAP;
    return is_index || x->dtype == IMGPAR_BOOL ? 0 : (int)ip_dtype(x->dtype)->size_bytes;
}

static void note_width(const ip_expr *x, widths *w)
{
    const int size = ip_lane_bytes(x);
    bool is_call = x->op == IP_X_POW || x->op == IP_X_ATAN2 || x->op == IP_X_SQRT || ip_x_is_function(x->op);
    w->calls |= is_call;
    w->has_series |= is_call && x->op != IP_X_SQRT && x->dtype == IMGPAR_F64;
    w->n_of_size[size]++;
    w->widest = size > w->widest ? size : w->widest;
}

static bool is_shared(const ip_places *places, const ip_expr *x)
{
    for (int k = 0; places && k < places->n_shared; k++)
        if (places->shared[k] == x) return true;
    return false;
}

bool ip_is_at_hand(const ip_site *site, const ip_expr *x, const ip_places *places)
{
    return (site->has_uniforms ? ip_x_is_uniform(x) : !x->uses) || (site->has_windows && ip_x_is_repeated(x)) ||
           is_shared(places, x);
}

/* Indices are i32, but are not computed in lanes: values only, without those that are computed before the loop. */
static void note_widths(const ip_site *site, const ip_expr *x, const ip_places *places, unsigned char *seen, widths *w)
{
    if (seen[x->id] || ip_is_at_hand(site, x, places)) return;
    seen[x->id] = 1;
    note_width(x, w);
    for (int k = x->op == IP_X_LOAD ? 4 : 0; k < x->n_args; k++)
        note_widths(site, x->arg[k], places, seen, w);
}

static widths widths_of(const ip_site *site, const ip_expr *root, imgpar_dtype stored, const ip_places *places)
{
    widths w = { .widest = (int)ip_dtype(stored)->size_bytes };
    unsigned char *seen = ip_ir_alloc(site->ir, site->ir->n_exprs + 1, 1);
    if (seen) note_widths(site, root, places, seen, &w);
    return w;
}

static int lanes_of(const ip_site *site, const widths *w)
{
    const int bytes = site->options->tuning.vector_bytes;
    return w->widest < bytes ? bytes / w->widest : 1;
}

int ip_width_of(const ip_site *site, const ip_expr *root, imgpar_dtype stored)
{
    const widths w = widths_of(site, root, stored, NULL);
    return lanes_of(site, &w);
}

/* Whether so many values have at most half the widest's bytes, and no function is among all, that two vectors of the
 * widest should be made together: the narrow ones then fill theirs. */
static bool is_mixed(const widths *w)
{
    enum { FEW = 3, MOST_OF_WIDEST = 3 };
    int n_narrow = 0, n_wide = 0;
    for (int size = 1; size <= MOST_BYTES; size++)
        *(2 * size <= w->widest ? &n_narrow : &n_wide) += w->n_of_size[size];
    return w->widest >= 4 && n_narrow >= FEW && MOST_OF_WIDEST * n_narrow >= n_wide && !w->calls;
}

/* The most lanes of a loop that makes columns. Where there are 32 registers two vectors together pay for mixed widths,
 * but for functions, which want the registers for themselves; and for those of f64, which wait for one term of a series
 * after the other, and take a fifth less. With 16 registers two such pay only until bytes fill a vector. */
static int most_lanes(const ip_site *site, const widths *w)
{
    enum { BYTE_LANES = 16 };
    const bool has_many_registers = site->options->device.vector_bytes >= IP_WIDE_VECTOR;
    const int lanes = lanes_of(site, w);
    bool is_of_series = w->widest == 8 && w->has_series;
    bool are_two = has_many_registers ? is_mixed(w) || is_of_series : is_mixed(w) && lanes < BYTE_LANES;
    return lanes * (are_two ? 2 : 1);
}

/* What a turn of a loop makes: an element, or those of a pixel's channels. */
typedef struct made {
    ip_expr *body, *const *of_channels; /* n of these */
    int n;
    imgpar_dtype stored;
    const ip_places *places;
} made;

/* A loop that makes columns has vectors of several registers for as long as all that its values take at once are there:
 * one value need not wait for the other, and what is the same for all is read half as often. With more values these
 * are kept in memory, and one register each is quicker. */
static void choose_width(const ip_site *site, const made *m, ip_elements *of)
{
    enum { REGISTERS = 16, MANY_REGISTERS = 32 };
    const int bytes = site->options->device.vector_bytes, has = bytes >= IP_WIDE_VECTOR ? MANY_REGISTERS : REGISTERS;
    const widths w = widths_of(site, m->body, m->stored, m->places);
    of->width = most_lanes(site, &w);
    of->registers = ip_live_registers(site, m->of_channels, m->n, m->places, of->width);
    while (of->registers > has && of->width * w.widest > bytes) {
        of->width /= 2;
        of->registers = ip_live_registers(site, m->of_channels, m->n, m->places, of->width);
    }
}

/* ---- the end of a loop over pixels: emit_row.c, Note [Gaps] ------------------------------ */

/* Which channels of a source are read. */
typedef struct channels_read {
    const ip_stage *source;
    bool first, last;
} channels_read;

static void find_channels(ip_expr *x, void *user)
{
    channels_read *c = user;
    bool is_known = x->op == IP_X_LOAD && x->source == c->source && x->arg[3]->op == IP_X_CONST;
    c->first |= is_known && x->arg[3]->i == 0;
    c->last |= is_known && x->arg[3]->i == x->source->dims[3] - 1;
}

/* The bodies of a pixel's channels. */
typedef struct gap_check {
    const ip_site *site;
    ip_expr *body; /* of which words are gathered; NULL: none are */
    bool words_are_inside;
    ip_expr *bodies[IP_WRITTEN_CHANNELS];
    int n;
    bool found;
} gap_check;

static void look_for_gap(ip_expr *x, void *user)
{
    gap_check *c = user;
    if (c->found || x->op != IP_X_LOAD || x->source->kind == IP_STAGE_TABLE || !(x->arg[2]->uses & IP_USES_X)) return;
    channels_read read = { .source = x->source };
    for (int k = 0; k < c->n && x->source->dims[3] > 1; k++)
        ip_x_walk(c->site->ir, c->bodies[k], find_channels, &read);
    bool skips_channels = x->source->dims[3] > 1 && !(read.first && read.last) &&
                          !(c->body && ip_is_gathered_there(c->site, c->body, x, c->words_are_inside));
    c->found = ip_x_step(x->arg[2]) > 1 || skips_channels;
}

/* Whether a loop over the pixels of a row leaves its last turn to single elements. */
static bool has_gaps(const ip_site *site, ip_expr *body, bool gathers_words, bool words_are_inside)
{
    gap_check c = { .site = site,
                    .body = gathers_words ? body : NULL,
                    .words_are_inside = words_are_inside,
                    .n = site->channels <= IP_WRITTEN_CHANNELS ? site->channels : 0 };
    for (int k = 0; k < c.n; k++)
        c.bodies[k] = ip_of_channel(site, body, k);
    for (int k = 0; k < c.n; k++)
        ip_x_walk(site->ir, c.bodies[k], look_for_gap, &c);
    return c.found;
}

/* ---- groups of channels: emit_row.c, Note [Groups of channels] ---------------------------- */

enum { LEAST_OF_CHANNELS = 4, GROUPED_BYTES = 8192, LEAST_GROUPED = 8 };

static void count_of_channels(ip_expr *x, void *user)
{
    *(int *)user += x->op == IP_X_LOAD && (x->uses & (IP_USES_X | IP_USES_C)) == IP_USES_C;
    if (x->op == IP_X_WINDOW || x->op == IP_X_LOOP) *(int *)user = INT32_MIN;
}

/* Pixels of a block that is made group by group; 0: it is better without groups. */
static int grouped_pixels(const ip_site *site, ip_expr *body, imgpar_dtype stored, int lanes)
{
    const int64_t bytes = (int64_t)site->channels * (int64_t)ip_dtype(stored)->size_bytes; /* 0: no elements */
    const int pixels = bytes > 0 ? (int)(GROUPED_BYTES / bytes) : 0;
    int n = 0;
    ip_x_walk(site->ir, body, count_of_channels, &n);
    return lanes > 1 && n >= LEAST_OF_CHANNELS && pixels >= LEAST_GROUPED ? pixels : 0;
}

/* ---- angles: emit_row.c, Note [Far angles] ------------------------------------------------- */

bool ip_is_of_angle(const ip_compile_options *options, const ip_expr *x)
{
    return options->device.uses_own_functions && x->dtype == IMGPAR_F64 &&
           (x->op == IP_X_SIN || x->op == IP_X_COS || x->op == IP_X_TAN);
}

typedef struct angle_check {
    const ip_compile_options *options;
    bool found;
} angle_check;

static void find_angle(ip_expr *x, void *user)
{
    angle_check *c = user;
    c->found |= !ip_x_is_uniform(x) && ip_is_of_angle(c->options, x);
}

/* ---- all of it -------------------------------------------------------------------------------- */

static ip_elements flat_elements(const ip_site *site, ip_expr *body, imgpar_dtype stored, const ip_places *places)
{
    ip_elements of = { .is_flat = true, .channel_lanes = 1 };
    choose_width(site, &(made){ body, &body, 1, stored, places }, &of);
    return of;
}

static ip_elements pixel_elements(const ip_site *site, ip_expr *body, imgpar_dtype stored, const ip_places *places,
                                  bool words_are_inside)
{
    const bool has_loop = site->channels > IP_WRITTEN_CHANNELS;
    const int written = has_loop ? 1 : site->channels;
    ip_expr *bodies[IP_WRITTEN_CHANNELS];
    ip_elements of = { .is_gather = ip_only_gathers(site->ir, body), .width = 1, .channel_lanes = 1 };
    of.is_vector = !of.is_gather && ip_x_size(site->ir, body) * written <= IP_VECTORISED_OPERATIONS;
    if (!of.is_vector) return of;
    for (int k = 0; k < written; k++)
        bodies[k] = ip_of_channel(site, body, k);
    choose_width(site, &(made){ body, bodies, written, stored, places }, &of);
    const int width = of.width;
    of.gathers_words = ip_gathers_words(site, body);
    of.width = has_loop ? 1 : width;
    of.has_gaps = !has_loop && has_gaps(site, body, of.gathers_words, words_are_inside);
    of.channel_lanes = has_loop ? ip_lanes_of_channels(site->channels, width) : 1;
    of.block_pixels = grouped_pixels(site, body, stored, of.channel_lanes);
    return of;
}

ip_elements ip_elements_of(const ip_site *site, ip_expr *body, imgpar_dtype stored, const ip_places *places,
                           bool words_are_inside)
{
    angle_check angles = { .options = site->options };
    ip_elements of = ip_is_flat(site, body) ? flat_elements(site, body, stored, places)
                                            : pixel_elements(site, body, stored, places, words_are_inside);
    ip_x_walk(site->ir, body, find_angle, &angles);
    of.has_angles = angles.found;
    return of;
}

bool ip_makes_whole_vectors(ip_ir *ir, const ip_kernel *kernel)
{
    enum { WHOLE_LOOPS = 3, WHOLE_OPERATIONS = 48 };
    int operations = 0;
    for (int k = 0; k < kernel->n_placed; k++)
        operations += ip_x_size(ir, kernel->placed[k].stage->body);
    return kernel->n_placed <= WHOLE_LOOPS || operations <= WHOLE_OPERATIONS;
}
