/* SPDX-License-Identifier: MIT */
/* The contents of a kernel's parameter buffer: a cell for each slot, two where it is wide; then the tables. */
#include "run/launching.h"

#include "base/alloc.h"
#include "base/dtype.h"

#include <string.h>

static void put_number(int *cell, const ip_expr *p)
{
    switch (p->dtype) {
    case IMGPAR_F32: {
        float f = (float)p->f;
        memcpy(cell, &f, sizeof f);
        break;
    }
    case IMGPAR_F64: memcpy(cell, &p->f, sizeof p->f); break;
    case IMGPAR_U64:
    case IMGPAR_I64: memcpy(cell, &p->i, sizeof p->i); break;
    default: *cell = (int)p->i;
    }
}

static void put_long(int *cell, int64_t value) { memcpy(cell, &value, sizeof value); }

static const int64_t *dims_of_slot(const ip_slot *s)
{
    const bool is_of_bins = s->stage->kind == IP_STAGE_HISTOGRAM && s->index > 1;
    return is_of_bins ? s->stage->dims : ip_stage_domain(s->stage);
}

static size_t table_cells(const ip_stage *table)
{
    return (size_t)table->dims[2] * (ip_dtype(table->dtype)->size_bytes / sizeof(int));
}

/* Tables stand at the end of the parameters, one after the other. */
static int table_start(const ip_launching *l, const ip_stage *table)
{
    const ip_arguments *args = &l->kernel->args;
    size_t start = l->n_params;
    for (int i = 0; i < args->n_tables; i++)
        start -= table_cells(args->tables[i]);
    for (int i = 0; i < args->n_tables && args->tables[i] != table; i++)
        start += table_cells(args->tables[i]);
    return (int)start;
}

/* What a number about a stage's buffer, which holds a region of the stage, is. */
static int64_t buffer_value(const ip_launching *l, const ip_slot *s)
{
    const ip_region *b = &l->bindings[s->stage->id].region;
    int64_t channels = s->stage->dims[3], row = (b->x1 - b->x0) * channels, plane = (b->y1 - b->y0) * row;
    switch (s->kind) {
    case IP_SLOT_START: return -(b->z0 * plane + b->y0 * row + b->x0 * channels);
    case IP_SLOT_ORIGIN: return ((const int64_t[]){ b->z0, b->y0, b->x0 })[s->index];
    case IP_SLOT_PITCH: return row;
    case IP_SLOT_PLANE: return plane;
    default: return b->z1 - b->z0;
    }
}

static int slot_value(const ip_launching *l, const ip_slot *s)
{
    const ip_region *r = l->region;
    const ip_division *d = &l->div;
    switch (s->kind) {
    case IP_SLOT_REGION: return (int)((const int64_t[]){ r->z0, r->z1, r->y0, r->y1, r->x0, r->x1 })[s->index];
    case IP_SLOT_STRIP_ROWS: return d->strip_rows;
    case IP_SLOT_STRIP_COLUMNS: return d->strip_columns;
    case IP_SLOT_PANEL_COLUMNS: return d->panel_columns;
    case IP_SLOT_ITEMS_X: return d->items_x;
    case IP_SLOT_ITEMS_Y: return d->items_y;
    case IP_SLOT_DIM: return (int)dims_of_slot(s)[s->index];
    case IP_SLOT_ORIGIN:
    case IP_SLOT_PITCH:
    case IP_SLOT_PLANES: return (int)buffer_value(l, s);
    case IP_SLOT_LINE_BUFFER_OFFSET: return ip_scratch_offset(l, s->stage, NULL);
    case IP_SLOT_STREAMS: return d->streams;
    case IP_SLOT_PREFETCHES: return (int)d->prefetches;
    case IP_SLOT_SUMS: return ip_scratch_offset(l, s->stage, ip_kernel_placed(l->kernel, s->stage)->running[s->index]);
    case IP_SLOT_LINE_BUFFER_PITCH: return ip_line_buffer_pitch(l, s->stage);
    case IP_SLOT_SCRATCH_EACH: return (int)d->scratch_each;
    case IP_SLOT_SCRATCH_START: return (int)d->scratch_start;
    case IP_SLOT_PARTIAL: return ip_partial_offset(l, s->stage);
    case IP_SLOT_TABLE: return table_start(l, s->stage);
    case IP_SLOT_FIRST_ITEM: return 0; /* ip_params_set_first_item() */
    case IP_SLOT_ITEMS: return d->items_x * d->items_y * d->items_z;
    case IP_SLOT_SCAN: return d->scan.slots[s->index];
    case IP_SLOT_START:
    case IP_SLOT_PLANE:
    case IP_SLOT_PARAM: break; /* wide */
    }
    return 0;
}

imgpar_status ip_params_make(ip_launching *l, ip_error *err)
{
    const ip_arguments *args = &l->kernel->args;
    size_t n = 0, cell = 0;
    for (int i = 0; i < args->n_slots; i++)
        n += ip_slot_is_wide(&args->slots[i]) ? 2 : 1;
    for (int i = 0; i < args->n_tables; i++)
        n += table_cells(args->tables[i]);
    l->n_params = n;
    l->params = ip_alloc_array(n + 1, sizeof *l->params);
    if (!l->params) return ip_fail_memory(err, "launching a kernel");
    for (int i = 0; i < args->n_slots; i++) {
        const ip_slot *s = &args->slots[i];
        if (s->kind == IP_SLOT_PARAM)
            put_number(&l->params[cell], s->param);
        else if (ip_slot_is_wide(s))
            put_long(&l->params[cell], buffer_value(l, s));
        else
            l->params[cell] = slot_value(l, s);
        cell += ip_slot_is_wide(s) ? 2 : 1;
    }
    for (int i = 0; i < args->n_tables; i++) {
        size_t count = table_cells(args->tables[i]);
        memcpy(&l->params[cell], args->tables[i]->table, count * sizeof(int));
        cell += count;
    }
    return IMGPAR_OK;
}

static int *region_cell(ip_launching *l, ip_bound bound)
{
    const ip_arguments *args = &l->kernel->args;
    int cell = 0;
    for (int i = 0; i < args->n_slots; i++) {
        const ip_slot *s = &args->slots[i];
        if (s->kind == IP_SLOT_REGION && s->index == (int)bound) return &l->params[cell];
        cell += ip_slot_is_wide(s) ? 2 : 1;
    }
    return NULL;
}

void ip_params_set_first_item(ip_launching *l, int first)
{
    const ip_arguments *args = &l->kernel->args;
    int cell = 0;
    for (int i = 0; i < args->n_slots; i++) {
        const ip_slot *s = &args->slots[i];
        if (s->kind == IP_SLOT_FIRST_ITEM) l->params[cell] = first;
        cell += ip_slot_is_wide(s) ? 2 : 1;
    }
}

void ip_params_set_region(ip_launching *l, ip_bound bound, int64_t value)
{
    int *cell = region_cell(l, bound);
    if (cell) *cell = (int)value;
}

void ip_params_set_scan(ip_launching *l)
{
    const ip_arguments *args = &l->kernel->args;
    int cell = 0;
    for (int i = 0; i < args->n_slots; i++) {
        const ip_slot *s = &args->slots[i];
        if (s->kind == IP_SLOT_SCAN) l->params[cell] = slot_value(l, s);
        cell += ip_slot_is_wide(s) ? 2 : 1;
    }
}
