/* SPDX-License-Identifier: MIT */
/*
 * How the steps of a loop are run: by kernels, several steps at once where that is quicker, or by the interpreter.
 *
 * Note [Steps of a loop at once]
 * A step that computes little waits for memory: it reads all carried values and writes them again. Planned as one
 * graph, several steps fuse as anything else does, and what is between them is never written. That is worth it where
 * the values are larger than the caches next to a unit, where the kernels do not become more, compute hardly more than
 * the steps would by themselves, and do not become so large that compiling them takes long. Of what is between the
 * steps they may keep single rows, as of a stencil along rows; steps of a stencil of several rows that were computed
 * together took as long.
 *
 * Note [Steps on the host]
 * A launch takes 0.07 ms whatever it computes, and a program that is new about a second. The interpreter makes tens of
 * thousands of operations in that time, so steps of a few small arrays (a filter with matrices of 4 x 4, a counter, a
 * simulation of some hundred bodies) are its work where the device's memory is the host's: 500 steps of a Kalman filter
 * took 1.8 s in kernels and take 12 ms. Sizes alone decide, so results are the same on every run. Rows that promise
 * bytes give the same ones, others keep their tolerance. Who asks for a schedule, no fusion or checks gets kernels.
 * Loops within a step are looked at by themselves.
 */
#include "base/dtype.h"
#include "base/integers.h"
#include "compile/plan.h"
#include "graph/array.h"
#include "run/evaluate.h"
#include "run/ref.h"

#include <math.h>

enum {
    LEAST_BYTES = 1 << 20,     /* of the carried values; */
    LEAST_TRAFFIC = 128 << 20, /* of all steps: planning and compiling take less time */
    MOST_STAGES = 8,           /* of one step */
    MOST_AT_ONCE = 4,
    OPERATIONS_AT_ONCE = 128, /* on an element, of all steps that are taken at once */
    MOST_ON_HOST = 65536,     /* operations of a step there, about as long as a launch (PoCL 3.1, 2 cores) */
    MOST_REMAINDERS = 8       /* a loop of that many times as many steps may end with some that are taken one by one */
};

typedef struct step_cost {
    double operations; /* on all elements */
    double most;       /* on one of them */
    int n_kernels, n_stages;
    int64_t rows_twice; /* at the seams of strips */
    bool keeps_halves;  /* rows of f16, which are converted one by one */
    bool fits;          /* nothing in it stands for itself, as a loop or a hand-written kernel does */
} step_cost;

static step_cost cost_of(const ip_plan *plan)
{
    step_cost c = { .n_kernels = plan->n_kernels, .fits = true };
    for (int k = 0; k < plan->n_kernels; k++) {
        const ip_kernel *kernel = &plan->kernels[k];
        double each = ip_kernel_cost(plan, kernel);
        c.operations += each * (double)(kernel->domain[0] * kernel->domain[1] * kernel->domain[2] * kernel->domain[3]);
        c.n_stages += kernel->n_stages;
        c.most = each > c.most ? each : c.most;
        c.fits = c.fits && kernel->schedule != IP_SCHEDULE_OPAQUE;
        c.rows_twice = ip_max(c.rows_twice, ip_kernel_rows_twice(kernel));
        for (int i = 0; i < kernel->n_placed; i++)
            c.keeps_halves |=
                kernel->placed[i].place == IP_PLACE_LINE_BUFFER && kernel->placed[i].stage->dtype == IMGPAR_F16;
    }
    for (int k = 0; k < plan->ir->n_stages; k++)
        c.fits = c.fits && !(plan->ir->stages[k]->kind == IP_STAGE_SOURCE && plan->ir->stages[k]->node->loop);
    return c;
}

/* False: they could not be planned, which whoever runs them will find, too. */
static bool find_cost(ip_compile_options options, const ip_loop *loop, int steps, step_cost *cost)
{
    ip_error err = { IMGPAR_OK, "" };
    ip_plan *plan = NULL;
    options.goal.is_step = true;
    options.goal.steps = steps;
    options.goal.placeholders = loop->placeholder;
    imgpar_status st = ip_compile(loop->next, (size_t)loop->n_carried, &options, &plan, &err);
    if (!st) *cost = cost_of(plan);
    ip_plan_free(plan);
    return st == IMGPAR_OK;
}

static int64_t carried_bytes(const ip_loop *loop)
{
    int64_t bytes = 0;
    for (int k = 0; k < loop->n_carried; k++)
        bytes += ip_type_count(&loop->placeholder[k]->type) *
                 (int64_t)ip_dtype(loop->placeholder[k]->type.dtype)->size_bytes;
    return bytes;
}

static bool is_large(const ip_loop *loop)
{
    int64_t bytes = carried_bytes(loop);
    return bytes >= LEAST_BYTES && (double)bytes * (double)loop->count >= LEAST_TRAFFIC;
}

/* Steps between two looks at the condition; those of a loop that has none. */
static int64_t steps_between_tests(const ip_loop *loop)
{
    return loop->until && loop->check < loop->count ? loop->check : loop->count;
}

static bool suits(const ip_loop *loop, int steps)
{
    int64_t between = steps_between_tests(loop);
    return between >= steps && (between % steps == 0 || between >= (int64_t)MOST_REMAINDERS * steps);
}

static bool is_worth(const step_cost *several, const step_cost *one, int n)
{
    enum { A_QUARTER_MORE = 4 };
    bool keeps_cheaply = !several->keeps_halves && several->rows_twice <= one->rows_twice;
    return several->n_kernels <= one->n_kernels && (several->n_stages <= one->n_stages || keeps_cheaply) &&
           several->operations <= n * (one->operations + one->operations / A_QUARTER_MORE);
}

/* They are checked a step at a time. */
static bool promises(const ip_loop *loop)
{
    unsigned promises = 0;
    for (int k = 0; k < loop->n_carried; k++)
        promises |= loop->next[k]->promises;
    return promises != 0;
}

int ip_steps_at_once(imgpar_context *ctx, const ip_loop *loop)
{
    ip_compile_options options = ip_context_compile_options(ctx, ctx->device);
    step_cost one = { 0 }, several = { 0 };
    bool may = ctx->device && ctx->devices.n == 1 && options.fuse && !options.checks && !promises(loop) &&
               options.tuning.schedule != IP_SCHEDULE_REF;
    if (!may || !suits(loop, 2) || !is_large(loop) || !find_cost(options, loop, 1, &one)) return 1;
    if (!one.fits || one.n_stages > MOST_STAGES) return 1;
    for (int n = MOST_AT_ONCE; n > 1; n /= 2)
        if (suits(loop, n) && one.most * n <= OPERATIONS_AT_ONCE && find_cost(options, loop, n, &several) &&
            is_worth(&several, &one, n))
            return n;
    return 1;
}

/* ---- on the host ------------------------------------------------------------------------------------- */

/* What the interpreter first has to bring from the device's memory. */
static double foreign_elements(const ip_plan *plan)
{
    double n = 0;
    for (int k = 0; k < plan->ir->n_stages; k++) {
        const ip_stage *s = plan->ir->stages[k];
        const ip_source *source = s->node ? s->node->source : NULL;
        bool is_foreign = (s->value && !s->value->host) || (source && source->kind == IP_SOURCE_BUFFER);
        if (s->kind == IP_STAGE_SOURCE && is_foreign) n += ip_dims_count(s->dims);
    }
    return n;
}

/* Operations of one evaluation of the arrays by the interpreter; HUGE_VAL: it cannot, or nobody knows. */
static double work_on_host(ip_compile_options options, imgpar_array *const *arrays, size_t n)
{
    ip_error err = { IMGPAR_OK, "" };
    ip_plan *plan = NULL;
    options.goal.is_step = options.goal.keep_stages = true;
    double work = ip_compile(arrays, n, &options, &plan, &err)
                      ? HUGE_VAL
                      : ip_ref_cost_of(plan->ir, &err).work + foreign_elements(plan);
    ip_plan_free(plan);
    return work;
}

bool ip_steps_on_host(imgpar_context *ctx, const ip_loop *loop)
{
    ip_compile_options options = ip_context_compile_options(ctx, ctx->device);
    bool may = ctx->device && ctx->devices.n == 1 && options.device.has_few_items && options.fuse && !options.checks &&
               options.tuning.schedule == IP_SCHEDULE_AUTO;
    options.dump = NULL;
    if (!may || carried_bytes(loop) > MOST_ON_HOST * (int64_t)sizeof(double) || ip_loop_nests(loop)) return false;
    double work = work_on_host(options, loop->next, (size_t)loop->n_carried);
    if (loop->until && loop->check <= loop->count && work <= MOST_ON_HOST)
        work += work_on_host(options, &loop->until, 1);
    return work <= MOST_ON_HOST;
}
