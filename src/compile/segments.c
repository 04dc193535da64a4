/* SPDX-License-Identifier: MIT */
/* Chooses how the rows of each stage of a kernel are made: segments.h. */
#include "compile/segments.h"

bool ip_site_calls_helpers(const ip_site *site)
{
    return site->options->device.has_clang_builtins && site->kernel->schedule == IP_SCHEDULE_ROWS;
}

bool ip_site_vectorises(const ip_site *site)
{
    return site->options->device.has_loop_hints && site->kernel->schedule == IP_SCHEDULE_ROWS;
}

bool ip_site_column_is_inside(const ip_site *site, const ip_expr *load)
{
    int lo, hi;
    return ip_placed_is_kept(ip_kernel_placed(site->kernel, load->source)) ||
           (site->is_within && ip_load_reads_beside(load, site->domain, &lo, &hi));
}

ip_expr *ip_of_channel(const ip_site *site, ip_expr *x, int c)
{
    if (site->channels > IP_WRITTEN_CHANNELS) return x;
    return ip_x_put_coords(site->ir, x, (ip_expr *const[4]){ [3] = ip_x_int(site->ir, IMGPAR_I32, c) });
}

/* ---- what makes the columns of a segment -------------------------------------------------------- */

bool ip_fits_running(const ip_site *site, const ip_placed *p, ip_segment *segment)
{
    segment->width = ip_width_of(site, segment->within, p->stage->dtype);
    for (int k = 0; k < p->n_running; k++)
        segment->sums_width[k] = ip_width_of(site, p->running[k]->arg[0], p->running[k]->dtype);
    return p->n_running > 0 && (site->channels == 1 || ip_is_flat(site, segment->within));
}

bool ip_fits_windows(const ip_site *site, const ip_placed *p, ip_segment *segment)
{
    ip_expr *body = segment->within;
    ip_site above = *site;
    ip_segment lanes = *segment;
    bool may = ip_x_has_window(site->ir, body) && !ip_fits_lanes(site, p, &lanes);
    above.has_windows = site->channels == 1 || ip_is_flat(site, body);
    segment->width = ip_width_of(&above, body, p->stage->dtype);
    return may && (site->channels <= IP_WRITTEN_CHANNELS || ip_is_flat(site, body));
}

bool ip_fits_flat(const ip_site *site, const ip_placed *p, ip_segment *segment)
{
    if (!ip_is_flat(site, segment->within)) return false;
    segment->elements = ip_elements_of(site, segment->within, p->stage->dtype, NULL, false);
    return true;
}

bool ip_fits_pixels(const ip_site *site, const ip_placed *p, ip_segment *segment)
{
    segment->elements = ip_elements_of(site, segment->within, p->stage->dtype, NULL, false);
    if (segment->elements.gathers_words) segment->calls |= 1u << IP_IDIOM_GATHER;
    return true;
}

static const struct loop_kind {
    const char *name, *says;
    ip_fits *fits;
} loop_kinds[IP_N_LOOPS] = {
#define LOOP(KIND, SAYS, FITS, EMIT) [IP_LOOP_##KIND] = { #KIND, SAYS, FITS },
#include "compile/loops.def"
#undef LOOP
};

const char *ip_loop_says(ip_row_loop loop) { return loop_kinds[loop].says; }

/* The first that fits, and what it noted. */
static void choose_loop(const ip_site *site, const ip_placed *p, ip_segment *segment)
{
    for (int kind = 0; kind < IP_N_LOOPS; kind++) {
        ip_segment tried = *segment;
        tried.loop = (ip_row_loop)kind;
        if (!loop_kinds[kind].fits(site, p, &tried)) continue;
        *segment = tried;
        return;
    }
}

/* The idiom that makes what it can of columns of that body; NULL: none does. */
static const ip_match *choose_idiom(const ip_site *site, const ip_stage *stage, ip_expr *body)
{
    ip_match found, *match;
    ip_expr *x = site->channels == 1 ? ip_of_channel(site, body, 0) : body;
    if (!ip_site_calls_helpers(site) || !ip_idiom_find(site->ir, site->kernel, stage, x, &found)) return NULL;
    if (found.idiom->is_flat && !ip_may_be_flat(site, body)) return NULL;
    match = ip_ir_alloc(site->ir, 1, sizeof *match);
    if (match) *match = found;
    return match;
}

/* ---- segments ---------------------------------------------------------------------------------------- */

static void choose_leaf(const ip_site *site, const ip_placed *p, ip_segment *segment)
{
    ip_site within = *site;
    segment->within = segment->body;
    if (p->beside_left + p->beside_right > 0) {
        within.is_within = true;
        segment->within =
            ip_within_columns(site->ir, segment->body, p->beside_left, p->stage->dims[2] - 1 - p->beside_right);
    }
    segment->match = choose_idiom(&within, p->stage, segment->within);
    within.has_uniforms = segment->match; /* the idiom's call stands before the loop, and was given what is uniform */
    choose_loop(&within, p, segment);
}

/* Whether a body may be cut, after so many cuts. Each piece is compiled by itself, so large ones are not made several
 * times. */
static bool may_cut(const ip_site *site, const ip_placed *p, ip_expr *body, int n_cuts)
{
    enum { MOST_CUTS = 2, CUT_OPERATIONS = 64, MOST_CUT_ONCE = 160, OF_MANY_CHANNELS = 2 };
    const int once = MOST_CUT_ONCE * (site->channels > IP_WRITTEN_CHANNELS ? OF_MANY_CHANNELS : 1);
    return n_cuts < MOST_CUTS && p->n_running == 0 && p->beside_left + p->beside_right == 0 &&
           !ip_x_has_window(site->ir, body) && ip_x_size(site->ir, body) <= (n_cuts ? CUT_OPERATIONS : once);
}

static ip_segment *new_segment(const ip_site *site, ip_expr *body)
{
    ip_segment *segment = ip_ir_alloc(site->ir, 1, sizeof *segment);
    if (segment) segment->body = body;
    return segment;
}

static const ip_segment *leaf(const ip_site *site, const ip_placed *p, ip_expr *body)
{
    ip_segment *segment = new_segment(site, body);
    if (segment) choose_leaf(site, p, segment);
    return segment;
}

static const ip_segment *choose_segment(const ip_site *site, const ip_placed *p, ip_expr *body, int n_cuts);

/* Before a test by which body chooses holds no more, and from there on: pieces.c, Note [Pieces of rows]. */
static const ip_segment *cut_by_test(const ip_site *site, const ip_placed *p, ip_expr *body, ip_expr *test, int n_cuts)
{
    ip_segment *segment = new_segment(site, body);
    if (!segment) return NULL;
    segment->cut = test->arg[1];
    for (int k = 0; k < 2; k++)
        segment->parts[k] = choose_segment(site, p, ip_piece_of(site->ir, body, test, k == 0), n_cuts + 1);
    return segment;
}

/* The ends, and what is between them: pieces.c, Note [Moved rows]. */
static const ip_segment *cut_ends(const ip_site *site, const ip_placed *p, ip_expr *body, const ip_move *move)
{
    ip_segment *segment = new_segment(site, body), *rest = new_segment(site, body);
    if (!segment || !rest) return NULL;
    segment->cut = move->first;
    segment->parts[0] = leaf(site, p, body);
    segment->parts[1] = rest;
    rest->cut = move->end;
    rest->parts[0] = leaf(site, p, move->inside);
    rest->parts[1] = segment->parts[0];
    return segment;
}

static const ip_segment *choose_segment(const ip_site *site, const ip_placed *p, ip_expr *body, int n_cuts)
{
    bool may = may_cut(site, p, body, n_cuts);
    ip_expr *test = may ? ip_find_pieces(site->ir, body) : NULL;
    ip_move move;
    if (test) return cut_by_test(site, p, body, test, n_cuts);
    if (may && n_cuts == 0 && ip_find_move(site->ir, body, &move)) return cut_ends(site, p, body, &move);
    return leaf(site, p, body);
}

/* Files of shaders/ that are called for a row, a bit each. */
static unsigned helpers_of(const ip_segment *segment)
{
    unsigned files = 0;
    if (!segment) return 0;
    if (segment->cut) return helpers_of(segment->parts[0]) | helpers_of(segment->parts[1]);
    for (int k = 0; k < IP_N_IDIOMS; k++)
        if (segment->calls >> k & 1) files |= 1u << ip_idioms[k].file;
    return files | (segment->match ? 1u << segment->match->idiom->file : 0);
}

static bool has_loop(const ip_segment *segment, ip_row_loop loop)
{
    if (!segment) return false;
    return segment->cut ? has_loop(segment->parts[0], loop) || has_loop(segment->parts[1], loop)
                        : segment->loop == loop;
}

static void choose_rows(const ip_site *kernel, ip_placed *p)
{
    ip_site site = *kernel;
    ip_ir *ir = site.ir;
    site.domain = ip_stage_domain(p->stage);
    site.channels = (int)site.domain[3];
    if (p->place == IP_PLACE_TOTAL) p->fold = ip_choose_fold(&site, p->stage);
    if (p->stage->kind != IP_STAGE_MAP || p->at_once) return;
    for (int state = 0; state < IP_MASK_MIXED && p->mask; state++)
        p->row_of[state] =
            choose_segment(&site, p, ip_masked_body(ir, p->stage->body, p->mask, state == IP_MASK_SET), 0);
    p->row_of[IP_MASK_MIXED] = choose_segment(&site, p, p->stage->body, 0);
    const ip_segment *row = p->row_of[IP_MASK_MIXED];
    bool is_plain = row && !row->cut && !row->match && row->loop == IP_LOOP_FLAT;
    if (!is_plain || p->beside_left + p->beside_right > 0 || kernel->options->checks) p->together = 0;
}

/* ---- IMGPAR_DUMP=plan ------------------------------------------------------------------------------------ */

static void print_elements(const char *what, const ip_elements *of, ip_str *log)
{
    ip_str_printf(log, ", %s %s, %d lanes", what, of->is_flat ? "flat" : "pixels", of->width);
    if (of->registers > 0) ip_str_printf(log, ", %d registers", of->registers);
    if (of->channel_lanes > 1) ip_str_printf(log, ", %d lanes of channels", of->channel_lanes);
    if (of->block_pixels) ip_str_printf(log, ", blocks of %d pixels", of->block_pixels);
    if (of->is_gather) ip_str_append(log, ", one by one");
    if (of->gathers_words) ip_str_append(log, ", words");
    if (of->has_gaps) ip_str_append(log, ", gaps");
    if (of->has_angles) ip_str_append(log, ", angles");
}

static void print_segment(const ip_segment *segment, ip_str *log)
{
    if (!segment) return;
    for (int k = 0; segment->cut && k < 2; k++)
        print_segment(segment->parts[k], log);
    if (segment->cut) return;
    ip_str_printf(log, "    columns by %s", loop_kinds[segment->loop].name);
    if (segment->width) ip_str_printf(log, ", %d lanes", segment->width);
    if (segment->match) ip_str_printf(log, " behind %s", segment->match->idiom->helper);
    if (segment->elements.width > 0) print_elements("made", &segment->elements, log);
    if (segment->skip.condition) print_elements("skipped", &segment->skip.elements, log);
    if (segment->places && segment->places->are_words) print_elements("inside", &segment->places->elements, log);
    ip_str_putc(log, '\n');
}

static void print_fold(const ip_stage *s, const ip_fold_rows *fold, ip_str *log)
{
    static const char *const loops[IP_N_FOLD_LOOPS] = { "ELEMENTS", "SMALL", "LANES", "FIRST", "BINS", "KEYS" };
    const ip_folded *of[] = { &fold->values, &fold->beside };
    ip_str_printf(log, "    stage %d is folded by %s", s->id, loops[fold->loop]);
    for (int k = 0; k < 2 && of[k]->body; k++)
        ip_str_printf(log, ", %s%s, %d lanes", of[k]->is_flat ? "flat" : "pixels", of[k]->stands ? " in place" : "",
                      of[k]->width);
    ip_str_putc(log, '\n');
}

static void print_walk(const ip_recurrence *walk, ip_str *log)
{
    ip_str_printf(log, "    lines by %d, steps by %d, %s, %d lanes\n", walk->lanes, walk->steps,
                  walk->is_flat ? "flat" : "pixels", walk->width);
}

void ip_segments_print(const ip_plan *plan, ip_str *log)
{
    for (int k = 0; k < plan->n_kernels; k++) {
        if (plan->kernels[k].is_scan) print_walk(&plan->kernels[k].walk, log);
        for (int p = 0; p < plan->kernels[k].n_placed; p++) {
            if (plan->kernels[k].placed[p].fold)
                print_fold(plan->kernels[k].placed[p].stage, plan->kernels[k].placed[p].fold, log);
            for (int state = 0; state < IP_N_MASK_STATES; state++) {
                const ip_placed *placed = &plan->kernels[k].placed[p];
                if (!placed->row_of[state]) continue;
                ip_str_printf(log, "  kernel %d, rows of stage %d\n", k + 1, placed->stage->id);
                print_segment(placed->row_of[state], log);
            }
        }
    }
}

imgpar_status ip_pass_segments(ip_plan *plan, const ip_compile_options *options, ip_error *err)
{
    for (int i = 0; i < plan->n_kernels; i++) {
        ip_kernel *k = &plan->kernels[i];
        const ip_site site = {
            .ir = plan->ir, .kernel = k, .options = options, .domain = k->domain, .channels = (int)k->domain[3]
        };
        k->whole_vectors = ip_makes_whole_vectors(plan->ir, k);
        if (k->is_scan) k->walk = ip_choose_recurrence(&site);
        if (!ip_kernel_walks_rows(k)) continue;
        ip_choose_blocks(&site, k);
        ip_lay_out_scratch(plan->ir, k);
        k->reads_places = false;
        for (int p = 0; p < k->n_placed; p++) {
            choose_rows(&site, &k->placed[p]);
            for (int state = 0; state < IP_N_MASK_STATES; state++)
                k->helpers |= helpers_of(k->placed[p].row_of[state]);
            k->reads_places |= has_loop(k->placed[p].row_of[IP_MASK_MIXED], IP_LOOP_PLACES);
        }
    }
    return plan->ir->failed ? ip_fail_memory(err, "planning kernels") : IMGPAR_OK;
}
