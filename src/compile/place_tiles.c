/* SPDX-License-Identifier: MIT */
/*
 * The tiles schedule, first half: how large a tile is, and where in the work-group's local memory each stage has its
 * own.
 *
 * Of the tiles that fit the memory the one is taken that takes least: what is computed twice, and what is fetched for
 * it. Twice are computed the halos: an element beyond the tile's edge that its own tile computes as well.
 *
 * Note [Lines]
 * Memory is fetched by lines, and a piece of a row begins anywhere in its first: a row of n bytes takes n - 1 + LINE
 * on average. So narrow tiles of small elements fetch several times what they read. Most of it comes from a cache,
 * since neighbouring tiles want it too: a byte of it takes OPERATIONS_PER_CACHED_BYTE. (tests/lanes.c counts lines.)
 *
 * Note [Pixels a work-item]
 * A work-item makes 1 to 4 pixels of each tile, whatever the limits: more would leave a unit fewer work-items to hide
 * its waiting behind. Where halos are dear a tile becomes larger by a larger group instead, as far as the device has
 * them; it must save some work to be taken, as all of a group wait for each other at every barrier and fewer groups
 * share a unit. (A group that folds walks several tiles, one after the other: run/division.c.)
 *
 * Note [Local memory]
 * A stage's tile lives from its own computation to that of its last reader, so a chain of any length needs the memory
 * of two or three, unless tiles slide. Half of the device's memory is preferred, since a unit hides one group's waiting
 * behind another's work.
 *
 * Note [Sliding]
 * Most of what tiles compute twice lies above and below them, as they are wide and low. So a group may walk down a
 * strip of tiles: of each stage it only makes the rows that are new, and keeps those that the new ones of its readers
 * want, too, which it moves up in local memory. Then halos above and below are made once a strip, of IP_STRIP_TILES
 * or more where the image has them, and a tile may be wider and lower: what remains is read in long pieces. It takes
 * a place of its own for each stage that keeps rows, two more barriers a tile, and fewer groups that can run at once;
 * so it must save some work. At the bottom of the domain, where rows beyond it are made of others above, a tile is
 * made anew.
 *
 * Note [Narrow groups]
 * A stage that reads far above and below needs so many rows that a tile as wide as the group may not fit. The group
 * then becomes narrower and higher: its rows are short pieces of memory's, but each is read for many rows of the
 * result.
 *
 * Note [Banks]
 * Neighbouring work-items read neighbouring elements of a row, which are in different banks, or in one word that is
 * handed to all of them. Where a row of work-items is shorter than the banks, several rows are read at once; the pitch
 * of a tile is then such that they continue each other. Of a tile that is filled column by column (emit_transpose.c,
 * Note [Transposed tiles]) neighbours write pixels below each other: its pitch puts these into different banks.
 *
 * Note [When a halo pays]
 * A stage in a tile saves writing its value to memory and reading it back, and costs the halo's operations, both for
 * each pixel of the result. A GPU does about OPERATIONS_PER_BYTE operations in the time in which it moves a byte;
 * beyond that the chain is cut.
 */
#include "base/dtype.h"
#include "base/integers.h"
#include "compile/passes.h"
#include "compile/stmt.h"

#include <math.h>

enum {
    BANKS = 32,
    BANK_BYTES = 4,
    NARROWEST = 8,       /* work-items a row of a group: 32 bytes of floats and more, which memory gives at once */
    MOST_PIXELS = 4,     /* of a tile for each work-item: Note [Pixels a work-item] */
    COPY_OPERATIONS = 4, /* what an element that is only copied costs */
    OPERATIONS_PER_BYTE = 16,
    OPERATIONS_PER_CACHED_BYTE = 4,
    MOVE_OPERATIONS = 2,   /* what a word that is moved up costs: Note [Sliding] */
    MOVES = 2,             /* at most, a barrier each, until all rows are where they belong */
    LINE = 128,            /* bytes */
    HISTOGRAM_BYTES = 8192 /* more copies of a histogram's table than this are not kept */
};

/* A larger group, or one that slides, is taken only where it divides the work by at least so much. */
#define WORTH_WAITING 1.0625

typedef struct tiling_search {
    ip_plan *plan;
    ip_kernel *kernel;
    const ip_target *target;
    double cost[IP_MAX_PLACED]; /* operations for a pixel of each stage */
    int fixed_bytes;            /* of histograms' tables, which stay for the whole kernel */
} tiling_search;

static int channels_of(const ip_stage *s) { return (int)ip_stage_domain(s)[3]; }

static int halo_of(const ip_placed *p) { return p->lead - p->first; }
static int rows_of(const ip_placed *p, const ip_tiling *t) { return t->height + halo_of(p); }
/* That are made for a tile, on average. */
static double rows_made(const ip_placed *p, const ip_tiling *t)
{
    return t->slides ? t->height + (double)halo_of(p) / IP_STRIP_TILES : rows_of(p, t);
}
static int columns_of(const ip_placed *p, const ip_tiling *t) { return t->width + p->left + p->right; }

/* Whether as many pixels below each other as BANKS elements are in different banks; each lies in so many words. */
static bool is_spread(int pitch, int pixels, int words)
{
    uint64_t used = 0;
    for (int k = 0; k < pixels * words; k++) {
        const uint64_t bank = 1ull << (k / words * pitch + k % words) % BANKS;
        if (used & bank) return false;
        used |= bank;
    }
    return true;
}

/* The first from `words` on that does it, if one of BANKS does. */
static int transposed_pitch(const ip_placed *p, int words)
{
    const int channels = channels_of(p->stage), bytes = channels * (int)ip_dtype(p->stage->dtype)->size_bytes;
    const int words_of_pixel = (bytes + BANK_BYTES - 1) / BANK_BYTES + (bytes == 3), pixels = BANKS / channels;
    for (int more = 0; more < BANKS; more++)
        if (is_spread(words + more, ip_min_int(pixels, BANKS / words_of_pixel), words_of_pixel)) return words + more;
    return words;
}

/* Elements a row: Note [Banks]. */
static int pitch_of(const ip_placed *p, const ip_tiling *t)
{
    int size = (int)ip_dtype(p->stage->dtype)->size_bytes;
    int words = (columns_of(p, t) * channels_of(p->stage) * size + BANK_BYTES - 1) / BANK_BYTES;
    if (p->is_transposed)
        words = transposed_pitch(p, words);
    else if (t->group_width < BANKS && t->group_height > 1 && size <= BANK_BYTES)
        words += (t->group_width - words % BANKS + BANKS) % BANKS;
    return (size > BANK_BYTES ? words + words % 2 : words) * BANK_BYTES / size;
}

static int64_t tile_bytes(const ip_placed *p, const ip_tiling *t)
{
    int64_t bytes = (int64_t)rows_of(p, t) * pitch_of(p, t) * (int64_t)ip_dtype(p->stage->dtype)->size_bytes;
    return (bytes + 15) / 16 * 16;
}

/* The lowest place that no tile takes that is still read by then, or of which rows are kept: Note [Sliding]. */
static int64_t free_offset(const ip_kernel *k, int index, const ip_tiling *t)
{
    int64_t offset = 0, bytes = tile_bytes(&k->placed[index], t);
    for (int i = 0; i < index; i++) {
        const ip_placed *p = &k->placed[i];
        bool is_kept = t->slides && ip_tile_rows_kept(p) + ip_tile_rows_kept(&k->placed[index]) > 0;
        bool lives = p->place == IP_PLACE_TILE && (p->last_reader >= index || is_kept);
        if (lives && offset < p->offset + tile_bytes(p, t) && p->offset < offset + bytes) {
            offset = p->offset + tile_bytes(p, t);
            i = -1; /* it may have moved onto one that was looked at */
        }
    }
    return offset;
}

/* Operations that what a tile of a source fetches would take, for all rows of the source: Note [Lines]. */
static double fetching(const ip_placed *p, const ip_tiling *t)
{
    const double columns = p->is_transposed ? rows_made(p, t) : columns_of(p, t),
                 rows = p->is_transposed ? columns_of(p, t) : rows_made(p, t),
                 bytes = columns * channels_of(p->stage) * (double)ip_dtype(p->stage->dtype)->size_bytes;
    return p->is_copy ? (bytes - 1 + LINE) * rows * OPERATIONS_PER_CACHED_BYTE : 0;
}

static double moving(const ip_placed *p, const ip_tiling *t)
{
    if (!t->slides) return 0;
    const double bytes = (double)pitch_of(p, t) * (double)ip_dtype(p->stage->dtype)->size_bytes;
    return bytes / BANK_BYTES * ip_tile_rows_kept(p) * MOVE_OPERATIONS;
}

static int most_kept(const ip_kernel *k)
{
    int rows = 0;
    for (int i = 0; i < k->n_placed; i++)
        rows = ip_max_int(rows, ip_tile_rows_kept(&k->placed[i]));
    return rows;
}

/* Lays the tiles out and sums up the work; false: they need more than `most` bytes. */
static bool lay_out(const tiling_search *s, ip_tiling *t, uint64_t most)
{
    ip_kernel *k = s->kernel;
    double area = (double)t->width * t->height, work = 0, own_work = 0, fetched = 0;
    int64_t bytes = 0;
    if (t->slides && most_kept(k) > MOVES * t->height) return false;
    for (int i = 0; i < k->n_placed; i++) {
        ip_placed *p = &k->placed[i];
        work += (s->cost[i] * columns_of(p, t) * rows_made(p, t) + moving(p, t)) / area;
        own_work += s->cost[i];
        fetched += fetching(p, t) / area;
        if (p->place != IP_PLACE_TILE) continue;
        int64_t offset = free_offset(k, i, t);
        if (offset + tile_bytes(p, t) > (int64_t)most) return false;
        p->offset = (int)offset;
        p->pitch = pitch_of(p, t);
        bytes = offset + tile_bytes(p, t) > bytes ? offset + tile_bytes(p, t) : bytes;
    }
    int64_t group = (int64_t)t->group_width * t->group_height;
    if (k->n_folds > 0 && bytes < group * 2 * (int64_t)sizeof(int64_t)) /* a tree of totals takes the tiles' place */
        bytes = group * 2 * (int64_t)sizeof(int64_t);
    if ((uint64_t)(bytes + s->fixed_bytes) > most) return false;
    t->bytes = (int)bytes + s->fixed_bytes;
    t->work = work;
    t->cost = work + fetched;
    t->halo_work = work - own_work;
    return true;
}

/* Tables of histograms stand behind the tiles: Note [Counting in a group] in emit_fold_group.c. */
static bool place_histograms(tiling_search *s, const char **why)
{
    int64_t total = 0;
    for (int i = 0; i < s->kernel->n_placed; i++) {
        ip_placed *p = &s->kernel->placed[i];
        if (p->stage->kind != IP_STAGE_HISTOGRAM) continue;
        int64_t table = ip_histogram_cells(p->stage) * 4;
        p->copies = (int)fmin(fmax(1, (double)(HISTOGRAM_BYTES / table)), 4);
        p->offset = (int)total; /* from the first table on */
        total += table * p->copies;
        if ((uint64_t)total > s->target->local_bytes / 2) {
            *why = "its bins do not fit the local memory";
            return false;
        }
    }
    s->fixed_bytes = (int)total;
    return true;
}

static bool is_foldable(const ip_kernel *k, const char **why)
{
    for (int i = 0; i < k->n_placed; i++)
        if (k->placed[i].stage->kind == IP_STAGE_REDUCE && k->placed[i].stage->reduce == IP_REDUCE_CUSTOM) {
            *why = "a function of the user's is folded in order, by strips";
            return false;
        }
    return true;
}

/* Tries tiles of 1, 2, 4 pixels a work-item of t's group; the best that takes at most `most` bytes into *best. Of
 * two whose costs differ by less than a thousandth the one that was tried first stays. */
static bool search_pixels(const tiling_search *s, ip_tiling t, uint64_t most, ip_tiling *best)
{
    bool found = false;
    for (int across = MOST_PIXELS; across >= 1; across /= 2)
        for (int down = 1; across * down <= MOST_PIXELS; down *= 2) {
            t.width = t.group_width * across;
            t.height = t.group_height * down;
            if ((down > 1 && s->kernel->domain[1] == 1) || !lay_out(s, &t, most)) break;
            if (!found || t.cost < best->cost * 0.999) *best = t;
            found = true;
        }
    return found;
}

/* Likewise, where groups slide, which may be as wide as they have work-items: Note [Sliding]. */
static void search_sliding(const tiling_search *s, ip_tiling t, uint64_t most, ip_tiling *best)
{
    ip_tiling sliding = { .cost = INFINITY }, other;
    t.slides = true;
    for (; t.group_height >= 1; t.group_width *= 2, t.group_height /= 2)
        if (search_pixels(s, t, most, &other) && other.cost < sliding.cost * 0.999) sliding = other;
    if (sliding.cost * WORTH_WAITING < best->cost) *best = sliding;
}

/* Likewise, of all groups that begin with t's: Note [Pixels a work-item]. */
static bool search_groups(const tiling_search *s, ip_tiling t, uint64_t most, ip_tiling *best)
{
    const ip_tiling first = t;
    ip_tiling larger;
    bool found = search_pixels(s, t, most, best);
    while (found && t.group_height > 1 && t.group_width * t.group_height * 2 <= s->target->most_items) {
        t.group_height *= 2;
        if (search_pixels(s, t, most, &larger) && larger.cost * WORTH_WAITING < best->cost) *best = larger;
    }
    if (found && first.group_height > 1) search_sliding(s, first, most, best);
    return found;
}

/* Likewise, in the memory that is preferred or else in all there is: Note [Local memory], Note [Narrow groups]. */
static bool search(const tiling_search *s, ip_tiling *best)
{
    const uint64_t all = s->target->local_bytes;
    ip_tiling t = { .group_width = s->target->group_width, .group_height = s->target->group_height };
    if (s->kernel->domain[1] == 1) { /* one row: no work-item of the group must be left without work */
        t.group_width *= t.group_height;
        t.group_height = 1;
    }
    bool found = search_groups(s, t, all / 2, best) || search_groups(s, t, all, best);
    while (!found && t.group_width > NARROWEST && s->kernel->domain[1] > 1) {
        t.group_width /= 2;
        t.group_height *= 2;
        found = search_groups(s, t, all, best);
    }
    return found;
}

bool ip_place_tiles(ip_plan *plan, ip_kernel *kernel, const ip_target *target, const char **why)
{
    tiling_search s = { .plan = plan, .kernel = kernel, .target = target };
    if (!ip_place_stages(plan, kernel, why) || !is_foldable(kernel, why) || !place_histograms(&s, why)) return false;
    if (kernel->n_placed > IP_MAX_PLACED) {
        *why = "the kernel has enough stages";
        return false;
    }
    for (int i = 0; i < kernel->n_placed; i++) {
        const ip_placed *p = &kernel->placed[i];
        s.cost[i] = channels_of(p->stage) * (p->is_copy ? COPY_OPERATIONS : 1.0 + (double)ip_x_cost(plan->ir, p->body));
    }
    ip_tiling best;
    if (!search(&s, &best)) {
        *why = ip_text(plan->ir, "its tile and halo do not fit the %d kB of local memory",
                       (int)(target->local_bytes >> 10));
        return false;
    }
    lay_out(&s, &best, target->local_bytes);
    best.slides = best.slides && most_kept(kernel) > 0;
    for (int i = 0; i < kernel->n_placed; i++)
        if (kernel->placed[i].stage->kind == IP_STAGE_HISTOGRAM) kernel->placed[i].offset += best.bytes - s.fixed_bytes;
    kernel->tiling = best;
    return true;
}

bool ip_halo_pays(ip_plan *plan, const ip_tiling *before, const ip_tiling *after, const ip_stage *joined, bool stored,
                  const char **why)
{
    double added = after->halo_work - before->halo_work;
    double saved = (double)joined->dims[3] * ip_dtype(joined->dtype)->size_bytes * (stored ? 1 : 2);
    if (added <= saved * OPERATIONS_PER_BYTE) return true;
    *why = ip_text(plan->ir, "its halo would take %.0f operations a pixel to save %.0f bytes", added, saved);
    return false;
}
