/* SPDX-License-Identifier: MIT */
/* The IR as text, for IMGPAR_DUMP and for tests. One expression a line, named by its id. */
#include "base/dtype.h"
#include "base/str.h"
#include "ir/opaque.h"

static const char *const op_names[IP_X_N] = {
    [IP_X_CONST] = "const",   [IP_X_PARAM] = "param",
    [IP_X_COORD] = "coord",   [IP_X_TAP] = "tap",
    [IP_X_ACC] = "acc",       [IP_X_LOAD] = "load",
    [IP_X_BORDER] = "border", [IP_X_ADD] = "add",
    [IP_X_SUB] = "sub",       [IP_X_MUL] = "mul",
    [IP_X_DIV] = "div",       [IP_X_IDIV] = "idiv",
    [IP_X_MOD] = "mod",       [IP_X_MIN] = "min",
    [IP_X_MAX] = "max",       [IP_X_AND] = "and",
    [IP_X_OR] = "or",         [IP_X_XOR] = "xor",
    [IP_X_MEAN] = "mean",     [IP_X_SHL] = "shl",
    [IP_X_SHR] = "shr",       [IP_X_POW] = "pow",
    [IP_X_ATAN2] = "atan2",   [IP_X_LT] = "lt",
    [IP_X_LE] = "le",         [IP_X_EQ] = "eq",
    [IP_X_NE] = "ne",         [IP_X_SELECT] = "select",
    [IP_X_FMA] = "fma",       [IP_X_NEG] = "neg",
    [IP_X_ABS] = "abs",       [IP_X_NOT] = "not",
    [IP_X_FLOOR] = "floor",   [IP_X_CEIL] = "ceil",
    [IP_X_RINT] = "rint",     [IP_X_TRUNC] = "trunc",
    [IP_X_SQRT] = "sqrt",     [IP_X_ISNAN] = "isnan",
    [IP_X_CAST] = "cast",     [IP_X_SATURATE] = "saturate",
    [IP_X_WINDOW] = "window", [IP_X_STATE] = "state",
    [IP_X_LIST] = "list",     [IP_X_LOOP] = "loop",
    [IP_X_RESULT] = "result", [IP_X_NEXTAFTER] = "nextafter",
#define FUNCTION(OP, NAME, F64) [IP_X_##OP] = #NAME,
#include "ir/functions.def"
#undef FUNCTION
};

const char *ip_xop_name(ip_xop op) { return op < IP_X_N ? op_names[op] : "?"; }

static void print_one(ip_expr *x, void *user)
{
    ip_str *out = user;
    ip_str_printf(out, "    %%%u = %s.%s", x->id, op_names[x->op], ip_dtype(x->dtype)->name);
    if (x->op == IP_X_CONST || x->op == IP_X_PARAM) {
        ip_str_putc(out, ' ');
        if (ip_dtype(x->dtype)->is_float)
            ip_str_number(out, x->f);
        else
            ip_str_printf(out, "%lld", (long long)x->i);
    }
    if (x->op == IP_X_COORD) ip_str_printf(out, " %c", "zyxc"[x->axis]);
    if (x->op == IP_X_TAP) ip_str_printf(out, " w%d.%c", x->window, "yx"[x->axis]);
    if (x->op == IP_X_ACC || x->op == IP_X_RESULT) ip_str_printf(out, " %d", x->axis);
    if (x->op == IP_X_STATE) ip_str_printf(out, " l%d.%d", x->window, x->axis);
    if (x->op == IP_X_LOOP) ip_str_printf(out, " l%d", x->window);
    if (x->op == IP_X_WINDOW) ip_str_printf(out, " w%d %dx%d fold %d", x->window, x->taps_y, x->taps_x, (int)x->fold);
    if (x->op == IP_X_LOAD) ip_str_printf(out, " s%d", x->source->id);
    if (x->op == IP_X_LOAD || x->op == IP_X_BORDER) ip_str_printf(out, " border %d", x->border);
    for (int k = 0; k < x->n_args; k++)
        ip_str_printf(out, " %%%u", x->arg[k]->id);
    ip_str_append(out, "  # [");
    ip_str_number(out, x->lo);
    ip_str_append(out, ", ");
    ip_str_number(out, x->hi);
    ip_str_append(out, "]\n");
}

static void print_body(ip_ir *ir, const char *label, ip_expr *x, ip_str *out)
{
    if (!x) return;
    ip_str_printf(out, "  %s:\n", label);
    ip_x_walk(ir, x, print_one, out);
}

void ip_ir_print(const ip_ir *ir, struct ip_str *out)
{
    static const char *const kinds[] = { "source", "table", "map", "reduce", "histogram", "by key", "scan", "opaque" };
    for (int k = 0; k < ir->n_stages; k++) {
        const ip_stage *s = ir->stages[k];
        ip_str_printf(out, "s%d %s %s [%lld %lld %lld %lld]%s%s%s\n", s->id, kinds[s->kind], ip_dtype(s->dtype)->name,
                      (long long)s->dims[0], (long long)s->dims[1], (long long)s->dims[2], (long long)s->dims[3],
                      s->is_output ? " output" : "", s->note ? " # " : "", s->note ? s->note : "");
        for (int i = 0; s->opaque && i < s->opaque->n_inputs; i++)
            ip_str_printf(out, "  %s of s%d\n", s->opaque->kind->name, s->opaque->inputs[i]->id);
        if (s->kind == IP_STAGE_SCAN)
            ip_str_printf(out, "  along %c, %s, state%s", "zyxc"[s->axis], s -> backward ? "backward" : "forward",
                          s->n_more > 0 ? "s" : "");
        for (int i = 0; s->kind == IP_STAGE_SCAN && i < ip_stage_states(s); i++)
            ip_str_printf(out, " %s%s", ip_dtype(ip_stage_state(s, i).body->dtype)->name, i == s->n_more ? "\n" : ",");
        for (int i = 0; i < ip_stage_states(s); i++) {
            const ip_state state = ip_stage_state(s, i);
            print_body((ip_ir *)ir, "init", state.init, out);
            print_body((ip_ir *)ir, "body", state.body, out);
            print_body((ip_ir *)ir, "combine", state.combine, out);
        }
        print_body((ip_ir *)ir, "finish", s->finish, out);
    }
}
