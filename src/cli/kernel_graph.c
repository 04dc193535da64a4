/* SPDX-License-Identifier: MIT */
/*
 * A layered drawing (Sugiyama, Tagawa and Toda 1981): a kernel stands below what it reads; an edge that passes a layer
 * has a bend in it; nodes of a layer are put in order by the mean place of their neighbours, above and below in turn;
 * then each is moved below what it reads as far as its neighbours let it.
 */
#include "kernel_graph.h"
#include "html.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    LETTER = 7, /* of a monospaced font of 11 px: 6.6 */
    LINE = 15,
    PADDING = 9,
    GAP_X = 28,
    GAP_Y = 62,
    LETTERS = 34,
    STAGES = 12,      /* told in a box */
    MAX_NODES = 2000, /* with bends: a drawing of more is as long to make as it is hard to read */
    SWEEPS = 8,
    MARGIN = 12
};

enum { ABOVE, BELOW };

typedef enum node_kind { SOURCE, KERNEL, RESULT, BEND } node_kind;

typedef struct node {
    node_kind kind;
    const json *what; /* a kernel, or an array that is read or written */
    int number;       /* of a kernel or a result, from 1; of a source its id */
    int layer;
    double place; /* in the layer */
    double x, y, width, height;
    int edges[2]; /* the first that comes from above, and that goes below; -1: there is none */
} node;

typedef struct edge {
    int from, to;
    const json *array; /* between kernels: what is told of it; of the parts behind a bend NULL */
    const json *moved;
    int next[2]; /* of those of to from above, of those of from below; -1: it is the last */
} edge;

typedef struct graph {
    node *nodes;
    edge *edges;
    int n_nodes, n_edges, nodes_room, edges_room, n_layers;
    bool failed;
} graph;

/* ---- nodes and edges --------------------------------------------------------------------------------- */

static void *grown(void *items, int n, int *room, size_t size)
{
    if (n < *room) return items;
    *room = *room ? 2 * *room : 64;
    return realloc(items, (size_t)*room * size);
}

/* The number of the new node; 0 where there is no memory. */
static int add_node(graph *g, node n)
{
    node *nodes = g->failed ? NULL : grown(g->nodes, g->n_nodes, &g->nodes_room, sizeof *nodes);
    if (!nodes) {
        g->failed = true;
        return 0;
    }
    g->nodes = nodes;
    nodes[g->n_nodes] = n;
    return g->n_nodes++;
}

static void add_edge(graph *g, edge e)
{
    edge *edges = g->failed ? NULL : grown(g->edges, g->n_edges, &g->edges_room, sizeof *edges);
    if (!edges) {
        g->failed = true;
        return;
    }
    g->edges = edges;
    edges[g->n_edges++] = e;
}

static int find_node(const graph *g, node_kind kind, int number)
{
    for (int k = 0; k < g->n_nodes; k++)
        if (g->nodes[k].kind == kind && g->nodes[k].number == number) return k;
    return -1;
}

static int letters(const char *text)
{
    const int n = (int)strlen(text);
    return n < LETTERS ? n : LETTERS;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

/* "kernel 1, rows", and a line a stage. */
static void size_kernel(node *n)
{
    int lines = 1, longest = 12 + letters(json_text(json_member(n->what, "schedule"))), k = 0;
    for (const json *s = json_first(json_member(n->what, "stages")); s; s = s->next, k++) {
        if (k < STAGES && letters(json_text(s)) > longest) longest = letters(json_text(s));
        lines += k <= STAGES;
    }
    n->width = longest * LETTER + 2 * PADDING;
    n->height = lines * LINE + 2 * PADDING;
}

/* "u8 400x600x3, 720 kB" into room; one plane and one channel are not told. */
static void describe_array(const json *array, char room[100])
{
    FILE *out = fmemopen(room, 100, "w");
    int64_t shape[4] = { 1, 1, 1, 1 };
    int rank = 0;
    if (!out) return;
    for (const json *s = json_first(json_member(array, "shape")); s && rank < 4; s = s->next)
        shape[rank++] = (int64_t)json_number(s);
    const int first = shape[0] > 1 ? 0 : shape[1] > 1 ? 1 : 2;
    fprintf(out, "%s ", json_text(json_member(array, "dtype")));
    html_shape(out, shape + first, (shape[3] > 1 ? 4 : 3) - first);
    fputs(", ", out);
    html_bytes(out, (uint64_t)json_number(json_member(array, "bytes")));
    fclose(out);
}

/* A source or a result: its name, and below that what it is. */
static void size_array(node *n, const char *name)
{
    char text[100] = "";
    describe_array(n->what, text);
    const int longest = letters(text) > letters(name) ? letters(text) : letters(name);
    n->width = longest * LETTER + 2 * PADDING;
    n->height = 2 * LINE + 2 * PADDING;
}

static int source_for(graph *g, const json *array)
{
    const int id = (int)json_number(json_member(array, "id")), known = find_node(g, SOURCE, id);
    if (known >= 0) return known;
    node n = { .kind = SOURCE, .what = array, .number = id };
    size_array(&n, base_name(json_text(json_member(array, "array"))));
    return add_node(g, n);
}

static void add_kernel(graph *g, const json *kernel, int number)
{
    node n = { .kind = KERNEL, .what = kernel, .number = number };
    size_kernel(&n);
    const int to = add_node(g, n);
    for (const json *r = json_first(json_member(kernel, "reads")); r && !g->failed; r = r->next) {
        const json *from = json_member(r, "kernel");
        const int at = from ? find_node(g, KERNEL, (int)json_number(from) + 1) : source_for(g, r);
        if (at >= 0) add_edge(g, (edge){ .from = at, .to = to, .array = from ? r : NULL, .moved = r });
    }
    for (const json *w = json_first(json_member(kernel, "writes")); w && !g->failed; w = w->next) {
        if (!json_member(w, "result")) continue;
        node result = { .kind = RESULT, .what = w, .number = (int)json_number(json_member(w, "result")) };
        size_array(&result, "result 100");
        add_edge(g, (edge){ .from = to, .to = add_node(g, result), .moved = w });
    }
}

/* Lists of each node's edges, in their order. */
static void link_edges(graph *g)
{
    for (int k = 0; k < g->n_nodes; k++)
        g->nodes[k].edges[ABOVE] = g->nodes[k].edges[BELOW] = -1;
    for (int k = g->n_edges - 1; k >= 0; k--) {
        edge *e = &g->edges[k];
        e->next[ABOVE] = g->nodes[e->to].edges[ABOVE];
        e->next[BELOW] = g->nodes[e->from].edges[BELOW];
        g->nodes[e->to].edges[ABOVE] = g->nodes[e->from].edges[BELOW] = k;
    }
}

/* ---- layers ------------------------------------------------------------------------------------------ */

/* Kernels stand in an order in which they can run, sources above whoever reads them first. */
static void choose_layers(graph *g)
{
    for (bool has_moved = true; has_moved;) {
        has_moved = false;
        for (int e = 0; e < g->n_edges; e++) {
            node *to = &g->nodes[g->edges[e].to];
            const int least = g->nodes[g->edges[e].from].layer + 1;
            if (to->layer >= least || least > g->n_nodes) continue;
            to->layer = least;
            has_moved = true;
        }
    }
    for (int k = 0; k < g->n_nodes; k++) {
        int least = g->n_nodes + 1;
        for (int e = g->nodes[k].edges[BELOW]; e >= 0; e = g->edges[e].next[BELOW])
            if (g->nodes[g->edges[e].to].layer < least) least = g->nodes[g->edges[e].to].layer;
        if (g->nodes[k].kind == SOURCE && least <= g->n_nodes) g->nodes[k].layer = least - 1;
        if (g->nodes[k].layer >= g->n_layers) g->n_layers = g->nodes[k].layer + 1;
    }
}

/* How many nodes there are with the bends that add_bends() adds. */
static int64_t count_with_bends(const graph *g)
{
    int64_t n = g->n_nodes;
    for (int e = 0; e < g->n_edges; e++)
        n += g->nodes[g->edges[e].to].layer - g->nodes[g->edges[e].from].layer - 1;
    return n;
}

static void add_bends(graph *g)
{
    const int n = g->n_edges;
    for (int e = 0; e < n && !g->failed; e++) {
        const edge whole = g->edges[e];
        const int last = g->nodes[whole.to].layer;
        int from = whole.from;
        for (int layer = g->nodes[from].layer + 1; layer < last && !g->failed; layer++) {
            const int bend = add_node(g, (node){ .kind = BEND, .layer = layer });
            if (from == whole.from)
                g->edges[e].to = bend;
            else
                add_edge(g, (edge){ .from = from, .to = bend, .moved = whole.moved });
            from = bend;
        }
        if (from != whole.from) add_edge(g, (edge){ .from = from, .to = whole.to, .moved = whole.moved });
    }
}

/* ---- places ------------------------------------------------------------------------------------------ */

static int by_place(const void *a, const void *b)
{
    const node *const *x = a, *const *y = b;
    if ((*x)->layer != (*y)->layer) return (*x)->layer - (*y)->layer;
    return ((*x)->place > (*y)->place) - ((*x)->place < (*y)->place);
}

/* Sorts, and numbers the places in each layer. */
static void put_in_order(node **sorted, int n)
{
    qsort(sorted, (size_t)n, sizeof(node *), by_place);
    for (int k = 0, place = 0; k < n; k++) {
        place = k > 0 && sorted[k - 1]->layer == sorted[k]->layer ? place + 1 : 0;
        sorted[k]->place = place;
    }
}

/* The mean of what the neighbours of a node have, above or below; own where there are none. */
static double mean(const graph *g, const node *n, bool above, bool is_x)
{
    const int side = above ? ABOVE : BELOW;
    double sum = 0;
    int count = 0;
    for (int e = n->edges[side]; e >= 0; e = g->edges[e].next[side]) {
        const node *other = &g->nodes[above ? g->edges[e].from : g->edges[e].to];
        sum += is_x ? other->x + other->width / 2 : other->place;
        count++;
    }
    return count > 0 ? sum / count : is_x ? n->x + n->width / 2 : n->place;
}

static void order(graph *g, node **sorted)
{
    for (int k = 0; k < g->n_nodes; k++)
        g->nodes[k].place = k;
    put_in_order(sorted, g->n_nodes);
    for (int sweep = 0; sweep < SWEEPS; sweep++) {
        const bool above = sweep % 2 == 0;
        for (int i = 0; i < g->n_nodes; i++) {
            const int k = above ? i : g->n_nodes - 1 - i;
            sorted[k]->place = mean(g, sorted[k], above, false) + 1e-6 * sorted[k]->place;
        }
        put_in_order(sorted, g->n_nodes);
    }
}

/* A layer from left to right: each node where it wants to be, or beside the one before it; then all of them moved so
 * that they are as much too far left as too far right. */
static void place_layer(const graph *g, node **first, int n, bool above)
{
    double right = -HUGE_VAL, off = 0;
    for (int k = 0; k < n; k++) {
        const double wanted = mean(g, first[k], above, true) - first[k]->width / 2;
        first[k]->x = wanted > right ? wanted : right;
        off += first[k]->x - wanted;
        right = first[k]->x + first[k]->width + GAP_X;
    }
    for (int k = 0; k < n; k++)
        first[k]->x -= off / n;
}

static void place(graph *g, node **sorted)
{
    double y = MARGIN, least = HUGE_VAL;
    for (int k = 0, n; k < g->n_nodes; k += n) {
        double height = 0;
        for (n = 0; k + n < g->n_nodes && sorted[k + n]->layer == sorted[k]->layer; n++)
            if (sorted[k + n]->height > height) height = sorted[k + n]->height;
        for (int i = 0; i < n; i++) {
            sorted[k + i]->y = y;
            if (sorted[k + i]->kind == BEND) sorted[k + i]->height = height;
        }
        place_layer(g, &sorted[k], n, true);
        y += height + GAP_Y;
    }
    for (int end = g->n_nodes, n; end > 0; end -= n) { /* what is above is moved to what is below it */
        for (n = 1; n < end && sorted[end - 1 - n]->layer == sorted[end - 1]->layer;)
            n++;
        if (end < g->n_nodes) place_layer(g, &sorted[end - n], n, false);
    }
    for (int k = 0; k < g->n_nodes; k++)
        if (g->nodes[k].x < least) least = g->nodes[k].x;
    for (int k = 0; k < g->n_nodes; k++)
        g->nodes[k].x += MARGIN - least;
}

/* ---- drawing ----------------------------------------------------------------------------------------- */

static void put_line(FILE *out, double x, double y, const char *class, const char *text)
{
    fprintf(out, "<text x=\"%.1f\" y=\"%.1f\"%s>", x, y, class);
    html_short(out, text, LETTERS);
    fputs("</text>", out);
}

static void draw_kernel(FILE *out, const node *n)
{
    char text[64];
    double y = n->y + PADDING + LINE - 4;
    int k = 0, left = 0;
    snprintf(text, sizeof text, "kernel %d, %.30s", n->number, json_text(json_member(n->what, "schedule")));
    put_line(out, n->x + PADDING, y, " class=\"strong\"", text);
    for (const json *s = json_first(json_member(n->what, "stages")); s; s = s->next, k++) {
        left += k >= STAGES;
        if (k < STAGES) put_line(out, n->x + PADDING, y += LINE, "", json_text(s));
    }
    snprintf(text, sizeof text, "and %d more", left);
    if (left > 0) put_line(out, n->x + PADDING, y + LINE, "", text);
}

static void draw_node(FILE *out, const node *n)
{
    static const char *const classes[] = { "source", "kernel", "result", "" };
    const char *name = json_text(json_member(n->what, n->kind == KERNEL ? "name" : "array"));
    char text[100] = "";
    if (n->kind == BEND) return;
    fprintf(out, "<g class=\"%s\"><title>", classes[n->kind]);
    html_text(out, name);
    fprintf(out, "</title><rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" rx=\"%d\"/>", n->x, n->y, n->width,
            n->height, n->kind == KERNEL ? 5 : 2 * PADDING);
    if (n->kind == KERNEL) {
        draw_kernel(out, n);
    } else {
        snprintf(text, sizeof text, "result %d", n->number);
        put_line(out, n->x + PADDING, n->y + PADDING + LINE - 4, " class=\"strong\"",
                 n->kind == RESULT ? text : base_name(name));
        describe_array(n->what, text);
        put_line(out, n->x + PADDING, n->y + PADDING + 2 * LINE - 4, "", text);
    }
    fputs("</g>\n", out);
}

/* From 1 px, of what is small, to 5. */
static double thickness(const json *array)
{
    double px = 1;
    for (double bytes = json_number(json_member(array, "bytes")); bytes > 3000 && px < 5; bytes /= 10)
        px += 0.8;
    return px;
}

static void draw_edge(FILE *out, const graph *g, const edge *e, int number)
{
    char arrow[60] = "";
    const node *from = &g->nodes[e->from], *to = &g->nodes[e->to];
    const double x0 = from->x + from->width / 2, y0 = from->y + from->height, x1 = to->x + to->width / 2, y1 = to->y;
    const double half = (y1 - y0) / 2;
    fprintf(out, "<path class=\"edge\" stroke-width=\"%.1f\" d=\"M%.1f %.1f", thickness(e->moved), x0,
            from->kind == BEND ? from->y : y0);
    if (from->kind == BEND) fprintf(out, "V%.1f", y0);
    if (to->kind != BEND) snprintf(arrow, sizeof arrow, " marker-end=\"url(#arrow%d)\"", number);
    fprintf(out, "C%.1f %.1f %.1f %.1f %.1f %.1f\"%s/>\n", x0, y0 + half, x1, y1 - half, x1, y1, arrow);
}

/* Of edges that run beside one another every other label stands lower. */
static void draw_label(FILE *out, const graph *g, int k)
{
    const edge *e = &g->edges[k];
    const node *from = &g->nodes[e->from], *to = &g->nodes[e->to];
    char text[100] = "";
    if (!e->array) return;
    describe_array(e->array, text);
    const double t = ((int)to->place + (int)from->place) % 2 ? 0.34 : 0.62, s = 1 - t; /* along the curve */
    const double x0 = from->x + from->width / 2, x1 = to->x + to->width / 2, y0 = from->y + from->height;
    const double x = x0 * (s * s * s + 3 * s * s * t) + x1 * (t * t * t + 3 * s * t * t), y = y0 + (to->y - y0) * t;
    put_line(out, x, y + 4, " class=\"label\" text-anchor=\"middle\"", text);
}

static void draw(FILE *out, const graph *g, int number)
{
    double width = 0, height = 0;
    int n_kernels = 0;
    for (int k = 0; k < g->n_nodes; k++) {
        const node *n = &g->nodes[k];
        n_kernels += n->kind == KERNEL;
        if (n->x + n->width > width) width = n->x + n->width;
        if (n->y + n->height > height) height = n->y + n->height;
    }
    width += 6 * MARGIN; /* labels reach further than boxes */
    height += MARGIN;
    fprintf(out,
            "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"graph of kernels\">"
            "<svg class=\"graph\" viewBox=\"%d 0 %.0f %.0f\" width=\"%.0f\" height=\"%.0f\" role=\"img\" "
            "aria-label=\"%d kernel%s and what is read and written; the table below says the same\">\n",
            -6 * MARGIN, width + 6 * MARGIN, height, width + 6 * MARGIN, height, n_kernels, n_kernels == 1 ? "" : "s");
    fprintf(
        out,
        "<defs><marker id=\"arrow%d\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"9\" markerHeight=\"9\" "
        "markerUnits=\"userSpaceOnUse\" orient=\"auto\"><path class=\"head\" d=\"M0 0L8 4L0 8Z\"/></marker></defs>\n",
        number);
    for (int e = 0; e < g->n_edges; e++)
        draw_edge(out, g, &g->edges[e], number);
    for (int k = 0; k < g->n_nodes; k++)
        draw_node(out, &g->nodes[k]);
    for (int e = 0; e < g->n_edges; e++)
        draw_label(out, g, e);
    fputs("</svg></div>\n", out);
}

bool kernel_graph(FILE *out, const json *kernels, int number)
{
    graph g = { 0 };
    int count = 0;
    for (const json *k = json_first(kernels); k && !g.failed; k = k->next)
        add_kernel(&g, k, ++count);
    if (!g.failed) link_edges(&g);
    if (!g.failed) choose_layers(&g);
    const bool is_small = count_with_bends(&g) <= MAX_NODES;
    if (!g.failed && is_small) add_bends(&g);
    if (!g.failed) link_edges(&g);
    node **sorted = g.failed ? NULL : malloc((size_t)(g.n_nodes + 1) * sizeof *sorted);
    for (int k = 0; sorted && k < g.n_nodes; k++)
        sorted[k] = &g.nodes[k];
    if (sorted && !is_small) fputs("<p class=\"note\">They are too many to be drawn.</p>\n", out);
    if (sorted && is_small && g.n_nodes > 0) {
        order(&g, sorted);
        place(&g, sorted);
        draw(out, &g, number);
    }
    const bool is_done = sorted != NULL;
    free(sorted);
    free(g.nodes);
    free(g.edges);
    return is_done;
}
