/* SPDX-License-Identifier: MIT */
/*
 * No script, nothing from elsewhere (the policy in the head forbids both), readable by whoever sees no pictures: they
 * have texts, tables have headings. Colours follow what the reader's system prefers.
 */
#include "page.h"
#include "html.h"
#include "json.h"
#include "kernel_graph.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MAX_DRAWN = 150 /* kernels */, SMALL_PX = 96, GROWN_PX = 192 };

static const char head[] =
    "<!DOCTYPE html>\n"
    "<html xmlns=\"http://www.w3.org/1999/xhtml\" lang=\"en\" xml:lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; img-src data:; style-src "
    "'unsafe-inline'\"/>\n"
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
    "<meta name=\"color-scheme\" content=\"light dark\"/>\n";

static const char style[] =
    "<style>\n"
    ":root{--bg:#fff;--fg:#1b1d21;--soft:#59606b;--line:#d5d9df;--card:#f6f7f9;--accent:#1f5fbf;--kernel:#e7effb;"
    "--source:#eaf5ea;--result:#fdf1df;--c0:#d33a2f;--c1:#23913f;--c2:#2b6be0;--c3:#7a7f87;--cg:#3c4451}\n"
    "@media (prefers-color-scheme:dark){:root{--bg:#15171b;--fg:#e6e8eb;--soft:#9aa3af;--line:#353b45;--card:#1d2026;"
    "--accent:#7fb0ff;--kernel:#1f2e47;--source:#1d3323;--result:#3d2f18;--c0:#ff7a70;--c1:#5fd07d;--c2:#7fa9ff;"
    "--c3:#a3a9b2;--cg:#c7ced8}}\n"
    "*{box-sizing:border-box}\n"
    "body{margin:0 auto;max-width:76rem;padding:1rem 1.25rem 3rem;background:var(--bg);color:var(--fg);"
    "font:15px/1.45 system-ui,sans-serif}\n"
    "h1{font-size:1.5rem;margin:.5rem 0;overflow-wrap:anywhere}h2{font-size:1.15rem;margin:2rem 0 .6rem;"
    "border-bottom:1px solid var(--line);padding-bottom:.2rem}h3{font-size:1rem;margin:0;overflow-wrap:anywhere}\n"
    "p{margin:.4rem 0}.soft,.ends,.note{color:var(--soft)}.note{font-size:.9rem}\n"
    "code,pre,svg text{font-family:ui-monospace,monospace}code{font-size:.85rem;overflow-wrap:anywhere}\n"
    "pre{font-size:.85rem;margin:.4rem 0;padding:.7rem .9rem;background:var(--card);border:1px solid var(--line);"
    "border-radius:6px;overflow:auto;max-height:36rem}\n"
    ".grid{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(17rem,100%),1fr));gap:1rem}\n"
    ".card{border:1px solid var(--line);border-radius:8px;background:var(--card);padding:.8rem;min-width:0}\n"
    "figure{margin:.6rem 0;text-align:center}figcaption{font-size:.8rem;color:var(--soft)}\n"
    "img{max-width:100%;height:auto;vertical-align:middle;background:repeating-conic-gradient(#999 0 25%,#bbb 0 50%) "
    "0 0/16px 16px}img.small{image-rendering:pixelated}\n"
    "table{border-collapse:collapse;font-size:.87rem;font-variant-numeric:tabular-nums}\n"
    "caption{text-align:left;color:var(--soft);padding:.2rem 0}\n"
    "th,td{text-align:left;padding:.2rem .7rem .2rem 0;vertical-align:top}th{font-weight:600}\n"
    ".card th{font-weight:normal;color:var(--soft)}td.n,th.n{text-align:right;white-space:nowrap}.wide td,.wide "
    "th{border-top:1px solid "
    "var(--line)}\n"
    ".long{min-width:48rem}.scroll{overflow:auto;max-width:100%}.scroll:focus-visible{outline:2px solid "
    "var(--accent)}\n"
    ".bar{display:block;height:.75rem;min-width:1px;background:var(--accent);border-radius:2px}\n"
    ".plot{width:100%;height:4.5rem;display:block;background:var(--bg);border:1px solid var(--line)}\n"
    ".plot path{fill-opacity:.45;stroke-width:1;vector-effect:non-scaling-stroke}.plot .line{fill:none}\n"
    ".c0{fill:var(--c0);stroke:var(--c0)}.c1{fill:var(--c1);stroke:var(--c1)}.c2{fill:var(--c2);stroke:var(--c2)}"
    ".c3{fill:var(--c3);stroke:var(--c3)}.cg{fill:var(--cg);stroke:var(--cg)}\n"
    ".ends{display:flex;justify-content:space-between;font-size:.75rem}\n"
    ".graph text{font-size:11px;fill:var(--fg)}.graph .strong{font-weight:bold}.graph .label{font-size:10px;"
    "fill:var(--soft);paint-order:stroke;stroke:var(--bg);stroke-width:4px}\n"
    ".graph rect{stroke:var(--line);stroke-width:1.2}.kernel rect{fill:var(--kernel)}.source rect{fill:var(--source)}"
    ".result rect{fill:var(--result)}\n"
    ".edge{fill:none;stroke:var(--soft);stroke-opacity:.6}.head{fill:var(--soft)}\n"
    "details{margin:.5rem 0}summary{cursor:pointer}\n"
    "</style>\n";

static void put_element(FILE *out, const char *tag, const char *class, const char *text)
{
    fprintf(out, "<%s", tag);
    if (class[0]) fprintf(out, " class=\"%s\"", class);
    fputc('>', out);
    html_text(out, text);
    fprintf(out, "</%s>\n", tag);
}

static void begin_row(FILE *out, const char *name) { fprintf(out, "<tr><th scope=\"row\">%s</th><td>", name); }

static void end_row(FILE *out) { fputs("</td></tr>\n", out); }

/* ---- the head ---------------------------------------------------------------------------------------- */

static void put_title(FILE *out, const page *p)
{
    char date[40] = "";
    const time_t now = time(NULL);
    struct tm parts;
    const imgpar_device *device = imgpar_context_device(p->ctx);
    if (localtime_r(&now, &parts)) strftime(date, sizeof date, "%Y-%m-%d %H:%M:%S", &parts);
    fputs(head, out);
    fputs("<title>", out);
    html_text(out, p->name);
    fputs(" - imgpar report</title>\n", out);
    fputs(style, out);
    fputs("</head>\n<body>\n<header>\n", out);
    put_element(out, "h1", "", strcmp(p->name, "-e") == 0 ? "imgpar-run -e" : p->name);
    fprintf(out, "<p class=\"soft\">imgpar %s, %s; it took %.4g ms on ", imgpar_version(), date, p->wall_ms);
    html_text(out, device ? device->name : "");
    fputs("</p>\n</header>\n<main>\n", out);
}

static void put_text(FILE *out, const page *p)
{
    fputs("<section aria-labelledby=\"pipeline\"><h2 id=\"pipeline\">Pipeline</h2>\n", out);
    put_element(out, "pre", "", p->text);
    if (p->n_settings > 0) fputs("<p>With", out);
    for (int k = 0; k < p->n_settings; k++) {
        fputs(k ? ", <code>" : " <code>", out);
        html_text(out, p->settings[k]);
        fputs("</code>", out);
    }
    if (p->n_settings > 0) fputs("</p>\n", out);
    if (p->printed[0]) {
        fputs("<p>It printed</p>\n", out);
        put_element(out, "pre", "", p->printed);
    }
    fputs("</section>\n", out);
}

/* ---- arrays ------------------------------------------------------------------------------------------ */

static void put_picture(FILE *out, const facts *f, const char *name)
{
    const int64_t larger = f->png_width > f->png_height ? f->png_width : f->png_height;
    const int64_t times = larger < SMALL_PX && larger > 0 ? GROWN_PX / larger : 1;
    fprintf(out, "<figure><img%s width=\"%lld\" height=\"%lld\" alt=\"picture of ", times > 1 ? " class=\"small\"" : "",
            (long long)(f->png_width * times), (long long)(f->png_height * times));
    html_text(out, name);
    fprintf(out, ", %lld by %lld pixels\" src=\"data:image/png;base64,", (long long)f->info.width,
            (long long)f->info.height);
    html_base64(out, f->png, f->png_bytes);
    fputs("\"/>", out);
    if (f->shown[0]) put_element(out, "figcaption", "", f->shown);
    fputs("</figure>\n", out);
}

static const char *space_of(const imgpar_info *i)
{
    static const char *const names[] = { "plain numbers", "gray", "sRGB", "linear light" };
    return (unsigned)i->space < sizeof names / sizeof *names ? names[i->space] : "";
}

static void put_type(FILE *out, const facts *f)
{
    const imgpar_info *i = &f->info;
    char white[FACT_LETTERS];
    begin_row(out, "type");
    fprintf(out, "%s%s%s", f->complex_name ? f->complex_name : "", f->complex_name ? ", as magnitudes " : "",
            imgpar_dtype_name(i->dtype));
    end_row(out);
    begin_row(out, "shape");
    html_shape(out, i->shape, i->rank);
    fputs(", ", out);
    html_bytes(out, i->size_bytes);
    end_row(out);
    begin_row(out, "values");
    fputs(space_of(i), out);
    facts_number(i->dtype, i->white, white);
    if (i->white > 0) fprintf(out, ", white %s%s", white, i->is_mask ? ", a mask" : "");
    end_row(out);
}

/* Of each channel a column. */
static void put_numbers(FILE *out, const facts *f)
{
    const bool has_names = f->n_channels > 1;
    fputs("<table class=\"numbers\">\n", out);
    if (has_names) {
        fputs("<tr><th scope=\"col\">channel</th>", out);
        for (int c = 0; c < f->n_channels; c++)
            fprintf(out, "<th scope=\"col\" class=\"n\">%s</th>", facts_channel(&f->info, c));
        fputs("</tr>\n", out);
    }
    for (int row = 0; row < 3; row++) {
        fprintf(out, "<tr><th scope=\"row\">%s</th>", (const char *const[]){ "min", "mean", "max" }[row]);
        for (int c = 0; c < f->n_channels; c++) {
            const channel_facts *channel = &f->channels[c];
            const double v = row == 0 ? channel->min : row == 1 ? channel->mean : channel->max;
            char text[FACT_LETTERS] = "-";
            if (channel->n_finite > 0) facts_number(f->info.dtype, v, text);
            fprintf(out, "<td class=\"n\">%s</td>", text);
        }
        fputs("</tr>\n", out);
    }
    fputs("</table>\n", out);
    if (f->n_nan + f->n_infinite > 0)
        fprintf(out, "<p class=\"note\">%llu NaN, %llu infinite; numbers and histogram are of the others</p>\n",
                (unsigned long long)f->n_nan, (unsigned long long)f->n_infinite);
}

static void put_item(FILE *out, const page_item *item)
{
    const facts *f = &item->facts;
    fputs("<article class=\"card\">", out);
    put_element(out, "h3", "", item->title);
    if (item->expr[0]) put_element(out, "code", "", item->expr);
    if (item->note[0]) put_element(out, "p", "note", item->note);
    if (f->png) put_picture(out, f, item->title);
    if (f->problem[0]) put_element(out, "p", "note", f->problem);
    if (f->info.rank > 0) {
        fputs("<table>\n", out);
        put_type(out, f);
        if (f->text) {
            begin_row(out, "value");
            html_text(out, f->text);
            end_row(out);
        }
        fputs("</table>\n", out);
    }
    const bool has_several = f->info.size_bytes > imgpar_dtype_size(f->info.dtype);
    if (f->n_channels > 0 && has_several) put_numbers(out, f);
    if (f->lines) html_lines(out, f, item->title);
    if (f->lines && f->shown[0]) put_element(out, "p", "note", f->shown);
    if (!f->lines && has_several) html_histogram(out, f, item->title);
    fputs("</article>\n", out);
}

static void put_items(FILE *out, const page_items *list, const char *title, const char *id)
{
    if (list->n + list->n_left_out == 0 && !list->problem[0]) return;
    fprintf(out, "<section aria-labelledby=\"%s\"><h2 id=\"%s\">%s</h2>\n", id, id, title);
    if (list->problem[0]) put_element(out, "p", "note", list->problem);
    fputs("<div class=\"grid\">\n", out);
    for (size_t k = 0; k < list->n; k++)
        put_item(out, &list->items[k]);
    fputs("</div>\n", out);
    if (list->n_left_out > 0) fprintf(out, "<p class=\"note\">%zu more are not shown</p>\n", list->n_left_out);
    fputs("</section>\n", out);
}

/* ---- kernels ----------------------------------------------------------------------------------------- */

static void put_kernel_row(FILE *out, const json *k, int number)
{
    const char *separator = "";
    fprintf(out, "<tr><th scope=\"row\">%d</th><td>", number);
    for (const json *s = json_first(json_member(k, "stages")); s; s = s->next) {
        fputs(separator, out);
        html_text(out, json_text(s));
        separator = ", ";
    }
    fputs("</td><td>", out);
    html_text(out, json_text(json_member(k, "schedule")));
    fputs("</td><td class=\"n\">", out);
    html_bytes(out, (uint64_t)json_number(json_member(k, "bytes_read")));
    fputs("</td><td class=\"n\">", out);
    html_bytes(out, (uint64_t)json_number(json_member(k, "bytes_written")));
    fputs("</td><td>", out);
    html_text(out, json_text(json_member(k, "reason")));
    fputs("</td><td><code>", out);
    html_text(out, json_text(json_member(k, "name")));
    fputs("</code></td></tr>\n", out);
}

static void put_kernel_table(FILE *out, const json *kernels)
{
    int number = 0;
    fputs("<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"table of kernels\"><table class=\"wide "
          "long\">"
          "<caption>Kernels in the order in which they run</caption>\n<tr><th scope=\"col\">kernel</th><th "
          "scope=\"col\">stages</th><th scope=\"col\">schedule</th><th scope=\"col\" class=\"n\">reads</th><th "
          "scope=\"col\" class=\"n\">writes</th><th scope=\"col\">why it ends</th><th scope=\"col\">name</th>"
          "</tr>\n",
          out);
    for (const json *k = json_first(kernels); k; k = k->next)
        put_kernel_row(out, k, ++number);
    fputs("</table></div>\n", out);
}

/* Of a plan, and of the steps of its loops. number counts the graphs. */
static bool put_plan(FILE *out, const json *plan, int *number)
{
    const json *kernels = json_member(plan, "kernels");
    int n = 0;
    for (const json *k = json_first(kernels); k; k = k->next)
        n++;
    fprintf(out, "<p>%.0f node%s of the graph, %d kernel%s.</p>\n", json_number(json_member(plan, "nodes")),
            json_number(json_member(plan, "nodes")) == 1 ? "" : "s", n, n == 1 ? "" : "s");
    if (n > MAX_DRAWN) fputs("<p class=\"note\">They are too many to be drawn.</p>\n", out);
    if (n > 0 && n <= MAX_DRAWN && !kernel_graph(out, kernels, ++*number)) return false;
    if (n > 0) put_kernel_table(out, kernels);
    for (const json *loop = json_first(json_member(plan, "loops")); loop; loop = loop->next) {
        fprintf(out, "<h3>Each of %.0f steps of a loop</h3>\n", json_number(json_member(loop, "steps")));
        if (!put_plan(out, json_member(loop, "step"), number)) return false;
    }
    return true;
}

static bool put_kernels(FILE *out, const page *p)
{
    json *plan = p->explained[EXPLAINED_JSON] ? json_read(p->explained[EXPLAINED_JSON]) : NULL;
    int number = 0;
    bool is_done = true;
    fputs("<section aria-labelledby=\"kernels\"><h2 id=\"kernels\">Kernels</h2>\n", out);
    if (json_member(plan, "kernels"))
        is_done = put_plan(out, plan, &number);
    else if (!plan && p->stages.problem[0])
        fputs("<p class=\"note\">Not shown, for the same reason.</p>\n", out);
    else
        fputs("<p>Nothing was left to be computed by kernels.</p>\n", out);
    json_free(plan);
    fputs("</section>\n", out);
    return is_done;
}

/* ---- times ------------------------------------------------------------------------------------------- */

static int by_start(const void *a, const void *b)
{
    const profile_row *x = a, *y = b;
    return (x->start_ms > y->start_ms) - (x->start_ms < y->start_ms);
}

/* How long at least one step ran; steps overlap. -1: out of memory. */
static double busy_ms(const profile *times)
{
    profile_row *rows = malloc((times->n + 1) * sizeof *rows);
    double busy = 0, until = -HUGE_VAL;
    if (!rows) return -1;
    if (times->n > 0) memcpy(rows, times->rows, times->n * sizeof *rows);
    qsort(rows, times->n, sizeof *rows, by_start);
    for (size_t k = 0; k < times->n; k++) {
        const double end = rows[k].start_ms + rows[k].ms, from = rows[k].start_ms > until ? rows[k].start_ms : until;
        if (end <= until) continue;
        busy += end - from;
        until = end;
    }
    free(rows);
    return busy;
}

static void put_cause(FILE *out, const char *name, const char *counted, double ms, double of_ms)
{
    fprintf(out,
            "<tr><th scope=\"row\">%s</th><td class=\"n\">%s</td><td class=\"n\">%.3f</td><td "
            "style=\"width:45%%\"><span class=\"bar\" style=\"width:%.1f%%\"></span></td></tr>\n",
            name, counted, ms, of_ms > 0 && ms > 0 ? 100 * (ms < of_ms ? ms : of_ms) / of_ms : 0);
}

static void put_causes(FILE *out, const page *p)
{
    static const struct {
        const char *kind, *name;
    } causes[] = {
        { "decode", "decoding" },     { "compile", "compiling" },        { "upload", "to the device" },
        { "kernel", "kernels" },      { "download", "from the device" }, { "encode", "encoding" },
        { "write", "writing files" },
    };
    const double busy = busy_ms(p->times), other = p->wall_ms - p->opening_ms - busy;
    char counted[32];
    fputs(
        "<div class=\"scroll\"><table class=\"wide\" style=\"width:100%\"><caption>Times by cause; steps overlap, so "
        "their sum may be more than the time elapsed</caption>\n<tr><th scope=\"col\">cause</th><th scope=\"col\" "
        "class=\"n\">steps</th><th scope=\"col\" class=\"n\">ms</th><th scope=\"col\">of the time elapsed</th></tr>\n",
        out);
    for (size_t c = 0; c < sizeof causes / sizeof *causes; c++) {
        double ms = 0;
        size_t n = 0;
        for (size_t k = 0; k < p->times->n; k++) {
            if (strcmp(p->times->rows[k].kind, causes[c].kind) != 0) continue;
            ms += p->times->rows[k].ms;
            n += p->times->rows[k].count;
        }
        snprintf(counted, sizeof counted, "%zu", n);
        if (n > 0) put_cause(out, causes[c].name, counted, ms, p->wall_ms);
    }
    put_cause(out, "opening the device", "", p->opening_ms, p->wall_ms);
    if (busy >= 0 && other > 0) put_cause(out, "all else: planning, loading kernels, waiting", "", other, p->wall_ms);
    put_cause(out, "elapsed", "", p->wall_ms, p->wall_ms);
    fputs("</table></div>\n", out);
}

static void put_step(FILE *out, const page *p, const profile_row *row, double origin_ms)
{
    const double rate = row->ms > 0 ? (double)row->bytes / row->ms / 1e6 : 0;
    fprintf(out, "<tr><td class=\"n\">%.3f</td><td class=\"n\">%.3f</td><td>%s</td><td><code>",
            row->start_ms - origin_ms, row->ms, row->kind);
    html_text(out, row->name);
    fputs("</code></td><td>", out);
    html_text(out, row->ops);
    fputs("</td><td>", out);
    html_text(out, row->schedule);
    fputs("</td><td class=\"n\">", out);
    if (row->bytes > 0) html_bytes(out, row->bytes);
    fputs("</td><td class=\"n\">", out);
    if (row->bytes > 0) fprintf(out, "%.2f", rate);
    fputs("</td><td class=\"n\">", out);
    if (row->bytes > 0 && p->copy_gb_per_s > 0 && strcmp(row->kind, "kernel") == 0)
        fprintf(out, "%.0f%%", 100 * rate / p->copy_gb_per_s);
    fputs("</td></tr>\n", out);
}

static void put_times(FILE *out, const page *p)
{
    double origin = HUGE_VAL;
    for (size_t k = 0; k < p->times->n; k++)
        if (p->times->rows[k].start_ms < origin) origin = p->times->rows[k].start_ms;
    fputs("<section aria-labelledby=\"times\"><h2 id=\"times\">Where the time went</h2>\n", out);
    put_causes(out, p);
    fprintf(
        out,
        "<details><summary>Step by step, %zu in all</summary>\n<div class=\"scroll\" tabindex=\"0\" role=\"region\" "
        "aria-label=\"table of steps\"><table class=\"wide long\">\n<tr>",
        p->times->n);
    static const struct {
        const char *name, *class;
    } columns[] = {
        { "began, ms", " class=\"n\"" },
        { "took, ms", " class=\"n\"" },
        { "step", "" },
        { "of", "" },
        { "operations", "" },
        { "schedule", "" },
        { "moved", " class=\"n\"" },
        { "GB/s", " class=\"n\"" },
        { "of a copy", " class=\"n\"" },
    };
    for (size_t k = 0; k < sizeof columns / sizeof *columns; k++)
        fprintf(out, "<th scope=\"col\"%s>%s</th>", columns[k].class, columns[k].name);
    fputs("</tr>\n", out);
    for (size_t k = 0; k < p->times->n; k++)
        put_step(out, p, &p->times->rows[k], origin);
    fputs("</table></div>\n", out);
    if (p->copy_gb_per_s > 0)
        fprintf(out, "<p class=\"note\">A copy in the device's memory moves %.2f GB/s.</p>\n", p->copy_gb_per_s);
    if (p->times->failed) fputs("<p class=\"note\">For want of memory some steps are missing.</p>\n", out);
    fputs("</details>\n</section>\n", out);
}

/* ---- the device, and texts --------------------------------------------------------------------------- */

static void put_text_row(FILE *out, const char *name, const char *text)
{
    begin_row(out, name);
    html_text(out, text);
    end_row(out);
}

static void put_device(FILE *out, const imgpar_device *d)
{
    const bool is_ref = strcmp(d->kind, "ref") == 0;
    fputs("<table>\n", out);
    put_text_row(out, "name", d->name);
    put_text_row(out, "selector", d->selector);
    if (!is_ref) {
        put_text_row(out, "platform", d->platform);
        put_text_row(out, "version", d->version);
        put_text_row(out, "driver", d->driver);
        begin_row(out, "compute units");
        fprintf(out, "%u, at most %u MHz", d->compute_units, d->clock_mhz);
        end_row(out);
        begin_row(out, "memory");
        html_bytes(out, d->global_bytes);
        fprintf(out, "%s, local ", d->has_unified_memory ? " shared with the host" : "");
        html_bytes(out, d->local_bytes);
        end_row(out);
        begin_row(out, "offers");
        fprintf(out, "f64 %s, f16 %s, images %s", d->has_f64 ? "yes" : "no", d->has_f16 ? "yes" : "no",
                d->has_images ? "yes" : "no");
        end_row(out);
    }
    fputs("</table>\n", out);
}

static void put_devices(FILE *out, const page *p)
{
    const imgpar_device *d;
    fputs("<section aria-labelledby=\"device\"><h2 id=\"device\">Device</h2>\n", out);
    for (size_t k = 0; (d = imgpar_context_device_at(p->ctx, k)); k++)
        put_device(out, d);
    fputs("</section>\n", out);
}

static void put_folded(FILE *out, const char *title, const char *text)
{
    if (!text || !text[0]) return;
    fprintf(out, "<details><summary>%s</summary>\n", title);
    put_element(out, "pre", "", text);
    fputs("</details>\n", out);
}

bool page_write(FILE *out, const page *p)
{
    put_title(out, p);
    put_text(out, p);
    put_items(out, &p->inputs, "Inputs", "inputs");
    put_items(out, &p->stages, "Stages", "stages");
    if (!put_kernels(out, p)) return false;
    put_times(out, p);
    put_devices(out, p);
    fputs("<section aria-labelledby=\"texts\"><h2 id=\"texts\">How it was computed</h2>\n", out);
    put_folded(out, "The kernels and why they end where they do", p->explained[EXPLAINED_TEXT]);
    put_folded(out, "The graph in the pipeline language", p->explained[EXPLAINED_GRAPH]);
    put_folded(out, "The kernels in OpenCL C", p->explained[EXPLAINED_CL]);
    fputs("</section>\n</main>\n</body>\n</html>\n", out);
    return true;
}
