/* SPDX-License-Identifier: MIT */
#include "ops/usable.h"

#include "ops/build.h"
#include "ops/check.h"
#include "ops/infer.h"
#include "ops/lower.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { FINITE, INVERTIBLE }; /* the words of its parameter */

#define MOST_OF_INVERSE 1e32 /* beside it coordinates and products of theirs are still numbers of f32 */

static double determinant_of(const double *m, const double *n)
{
    return m[0] * (m[4] * n[2] - m[5] * n[1]) - m[1] * (m[3] * n[2] - m[5] * n[0]) + m[2] * (m[3] * n[1] - m[4] * n[0]);
}

static const double last_row[3] = { 0, 0, 1 };

imgpar_status ip_check_motion(const char *op, const double *m, int rows, ip_error *err)
{
    const double determinant = determinant_of(m, rows == 3 ? m + 6 : last_row);
    if (isfinite(determinant) && determinant != 0) return IMGPAR_OK;
    return ip_fail(err, IMGPAR_E_ARGUMENT, "%s: the matrix has no inverse: its determinant is %g", op, determinant);
}

/* The same where the inverse is computed, in f32: nothing of it may be too large, nor all of it too small. */
static imgpar_status check_inverse(const char *op, const double *m, int rows, ip_error *err)
{
    const double *n = rows == 3 ? m + 6 : last_row, determinant = determinant_of(m, n);
    const double *const of[3] = { m, m + 3, n };
    double most = 0;
    imgpar_status st = ip_check_motion(op, m, rows, err);
    for (int k = 0; !st && k < 9; k++) {
        const double *p = of[(k / 3 + 1) % 3], *q = of[(k / 3 + 2) % 3];
        const int i = (k % 3 + 1) % 3, j = (k % 3 + 2) % 3;
        most = fmax(most, fabs((p[i] * q[j] - p[j] * q[i]) / determinant));
    }
    if (st || (most < MOST_OF_INVERSE && most > 1 / MOST_OF_INVERSE)) return st;
    if (most < 1)
        return ip_fail(err, IMGPAR_E_ARGUMENT,
                       "%s: the matrix has no inverse in f32: its elements would go up to no more than %g", op, most);
    return ip_fail(err, IMGPAR_E_ARGUMENT, "%s: the matrix has no inverse in f32: its elements would go up to %g", op,
                   most);
}

/* warp of warp_by: the name under which it is written, which takes arrays, too. */
static const char *written_name(const char *of, char *buf, size_t size)
{
    const size_t n = strlen(of);
    if (n <= 3 || n >= size || strcmp(of + n - 3, "_by") != 0) return of;
    snprintf(buf, size, "%.*s", (int)n - 3, of);
    return ip_op_find(buf) ? buf : of;
}

imgpar_status ip_usable_check(const imgpar_array *node, const double *elements, int64_t n, ip_error *err)
{
    char buf[64];
    const char *op = written_name(ip_param_get(node, "of")->text, buf, sizeof buf);
    const bool is_inverted = ip_param_number(node, "as") == INVERTIBLE;
    for (int64_t k = 0; k < n; k++)
        if (!isfinite(elements[k]))
            return ip_fail(err, IMGPAR_E_ARGUMENT, "%s: %s has an element that is not finite%s", op,
                           ip_param_get(node, "name")->text,
                           is_inverted ? "; what it is computed from may have no inverse" : "");
    return is_inverted ? check_inverse(op, elements, (int)(n / 3), err) : IMGPAR_OK;
}

imgpar_status ip_usable_guard(imgpar_array *node, ip_error *err)
{
    const int last = node->op->info.n_inputs - 1;
    if (!(node->op->flags & IP_OP_FINITE) || node->inputs[last]->op->flags & IP_OP_USABLE) return IMGPAR_OK;
    imgpar_array *in = node->inputs[last];
    const ip_arg args[] = { ip_arg_array(in),
                            { .name = "of", .kind = IP_ARG_TEXT, .text = ip_op_label(node->op) },
                            { .name = "name", .kind = IP_ARG_TEXT, .text = node->op->info.input_names[last] },
                            { .name = "as", .kind = IP_ARG_TEXT, .text = "finite" } };
    imgpar_array *guarded = ip_build(node->ctx, ip_op_find(IP_USABLE), args, 4);
    const bool is_built = guarded->op != NULL;
    if (is_built) {
        node->inputs[last] = ip_array_hold(guarded);
        ip_array_drop(in);
    } else {
        ip_fail(err, imgpar_array_status(guarded), "%s", imgpar_array_message(guarded));
    }
    imgpar_array_release(guarded);
    return is_built ? IMGPAR_OK : err->status;
}

imgpar_status ip_infer_usable(imgpar_array *node, ip_error *err)
{
    const ip_type *a = &node->inputs[0]->type;
    char text[96];
    const bool is_motion = a->rank == 2 && (a->shape[0] == 2 || a->shape[0] == 3) && a->shape[1] == 3;
    if (ip_param_number(node, "as") == INVERTIBLE && (!is_motion || ip_type_is_complex(a)))
        return ip_fail(err, IMGPAR_E_SHAPE, "%s: %s is %s; it must be [2, 3] or [3, 3]", ip_param_get(node, "of")->text,
                       ip_param_get(node, "name")->text, ip_type_text(a, text));
    node->type = *a;
    node->range = node->inputs[0]->range;
    return IMGPAR_OK;
}

ip_stage *ip_stages_usable(ip_lower *l) { return l->in[0]; }
