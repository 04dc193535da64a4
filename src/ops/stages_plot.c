/* SPDX-License-Identifier: MIT */
/* Numbers as a picture with axes: an opaque stage that the host draws (plot.h), since axes follow from values. */
#include "base/dtype.h"
#include "ir/opaque.h"
#include "ops/infer.h"
#include "ops/lower.h"
#include "ops/plot.h"

#include <math.h>
#include <string.h>

enum { MOST_SERIES = 64 };

/* Whether series are rows: a vector is one; of a matrix the shorter side tells which there are, columns if equal. */
static bool by_rows(const imgpar_array *node, int64_t rows, int64_t columns)
{
    enum { AUTO, COLUMNS, ROWS };
    const int series = (int)ip_param_number(node, "series");
    if (node->inputs[0]->type.rank == 1) return true;
    return series == ROWS || (series == AUTO && rows < columns);
}

imgpar_status ip_infer_plot(imgpar_array *node, ip_error *err)
{
    const ip_type *a = &node->inputs[0]->type;
    char text[96];
    int64_t dims[4];
    ip_type_dims(a, dims);
    if (dims[0] != 1 || dims[3] != 1)
        return ip_fail(err, IMGPAR_E_SHAPE, "plot: a is %s; it must be a vector or a matrix of numbers",
                       ip_type_text(a, text));
    const int64_t n_series = by_rows(node, dims[1], dims[2]) ? dims[1] : dims[2];
    if ((ip_plot_kind)(int)ip_param_number(node, "kind") != IP_PLOT_HEAT && n_series > MOST_SERIES)
        return ip_fail(err, IMGPAR_E_LIMIT, "plot: a is %s, which has %lld series; %d are the limit, but of kind=heat",
                       ip_type_text(a, text), (long long)n_series, MOST_SERIES);
    if (ip_param_number(node, "dx") == 0) return ip_fail(err, IMGPAR_E_ARGUMENT, "plot: dx must not be 0");
    const double lo = ip_param_number(node, "lo"), hi = ip_param_number(node, "hi");
    if (lo >= hi) return ip_fail(err, IMGPAR_E_ARGUMENT, "plot: lo=%g is not below hi=%g", lo, hi);
    node->type =
        (ip_type){ .dtype = IMGPAR_U8,
                   .space = IMGPAR_SPACE_SRGB,
                   .rank = 3,
                   .shape = { (int64_t)ip_param_number(node, "height"), (int64_t)ip_param_number(node, "width"), 3 },
                   .white = 255 };
    node->range = ip_range_of(IMGPAR_U8);
    return IMGPAR_OK;
}

typedef struct numbers {
    const void *data;
    int64_t columns;
} numbers;

static double at_float(const void *user, int64_t row, int64_t column)
{
    const numbers *n = user;
    return (double)((const float *)n->data)[row * n->columns + column];
}

static double at_double(const void *user, int64_t row, int64_t column)
{
    const numbers *n = user;
    return ((const double *)n->data)[row * n->columns + column];
}

static imgpar_status draw(const ip_opaque *o, const void *const *in, void *out, ip_opaque_ask ask, void *user)
{
    const imgpar_array *node = o->user;
    const ip_stage *input = o->inputs[0];
    const numbers n = { in[0], input->dims[2] };
    const ip_plot plot = { .kind = (ip_plot_kind)(int)ip_param_number(node, "kind"),
                           .log = (int)ip_param_number(node, "log"),
                           .at = input->dtype == IMGPAR_F64 ? at_double : at_float,
                           .user = &n,
                           .rows = input->dims[1],
                           .columns = input->dims[2],
                           .by_rows = by_rows(node, input->dims[1], input->dims[2]),
                           .x0 = ip_param_number(node, "x0"),
                           .dx = ip_param_number(node, "dx"),
                           .lo = ip_param_number(node, "lo"),
                           .hi = ip_param_number(node, "hi"),
                           .size = ip_param_number(node, "size"),
                           .thickness = ip_param_number(node, "thickness"),
                           .title = ip_param_get(node, "title")->text,
                           .x_label = ip_param_get(node, "xlabel")->text,
                           .y_label = ip_param_get(node, "ylabel")->text,
                           .legend = ip_param_get(node, "legend")->text };
    imgpar_status st = ask(user);
    if (st) return st;
    return ip_plot_draw(&plot, out, o->dims[2], o->dims[1], ask, user);
}

static const ip_opaque_kind kind = {
    .name = "plot", .widen = ip_opaque_widen_all, .reads = ip_opaque_read_all, .compute = draw
};

/* The input as f32, or f64 where that is too coarse. */
static ip_stage *numbers_of(ip_lower *l)
{
    const ip_dtype_facts *facts = ip_dtype(l->in[0]->dtype);
    const bool is_wide = facts->is_float ? l->in[0]->dtype == IMGPAR_F64 : facts->size_bytes >= 4;
    ip_expr *at[4];
    for (int d = 0; d < 4; d++)
        at[d] = ip_x_coord(l->ir, d, l->in[0]->dims[d]);
    ip_expr *x = ip_x_load(l->ir, l->in[0], at, IP_BORDER_NONE, NULL);
    if (x->dtype == IMGPAR_BOOL) x = ip_x_cast(l->ir, IMGPAR_U8, x);
    const imgpar_dtype dtype = is_wide ? IMGPAR_F64 : IMGPAR_F32;
    return ip_lower_stage_sized(l, l->in[0]->dims, dtype, ip_x_cast(l->ir, dtype, x), "numbers to be drawn");
}

ip_stage *ip_stages_plot(ip_lower *l)
{
    ip_stage *input = numbers_of(l);
    if (!input) return NULL;
    const ip_opaque o = { .kind = &kind,
                          .defines = "",
                          .dtype = IMGPAR_U8,
                          .uses_f64 = input->dtype == IMGPAR_F64,
                          .n_inputs = 1,
                          .inputs = { input },
                          .user = l->node };
    return ip_stage_opaque(l->ir, &o, IMGPAR_U8, l->dims, l->node);
}
