/* SPDX-License-Identifier: MIT */
/*
 * Opaque stages: values that hand-written kernels of shaders/ compute (products of matrices, sorting), where an
 * expression an element would be slow or cannot tell the work. A description says all that the rest needs to know:
 *
 *     what it reads     widen(), reads(): demand, strips under a memory limit and streaming ask these
 *     what it launches  step(): kernels, sizes, arguments, from shapes and facts about the device
 *     what it takes     scratch(): device memory besides its inputs and its result
 *     what it means     compute(): the same on the host, for the reference interpreter
 *
 * It is data and pure functions; run/opaque.c is what launches. Such a stage is a kernel of its own: its inputs end in
 * memory, its readers read it there. Buffers hold whole rows of a stage's domain, so that a kernel may take them as
 * the array that was meant, whatever of its axes the four extents are.
 *
 * A kernel's arguments are the buffers of its launch in their order, then one int buffer P. P[0] is the first
 * work-item along dimension 2: launches are cut there, so that somebody who waits can be asked.
 *
 *     int row = get_global_id(2) + P[0];
 *
 * The others have names, which a kind lists once. The list makes numbers for step(), and P_HEIGHT of the shader is
 * P[P_HEIGHT]:
 *
 *     #define PARAMS(NAME) NAME(HEIGHT) NAME(WIDTH)
 *     enum { P_FIRST_ITEM, PARAMS(IP_PARAM_NUMBER) N_PARAMS };
 *     static const ip_opaque_kind kind = { .shader = "...", .params = PARAMS(IP_PARAM_TEXT), ... };
 *
 * Behind them stands what a stage has of `list`, at P_LIST[0], P_LIST[1], ...
 */
#ifndef IP_IR_OPAQUE_H
#define IP_IR_OPAQUE_H

#include "base/status.h"
#include "base/str.h"
#include "ir/stage.h"

enum {
    IP_OPAQUE_INPUTS = 4,
    IP_OPAQUE_SCRATCH = 4,
    IP_OPAQUE_BUFFERS = 8,
    IP_OPAQUE_PARAMS = 512,
    IP_OPAQUE_SIZES = 16
};

#define IP_PARAM_NUMBER(name) P_##name,
#define IP_PARAM_TEXT(name) #name " "

struct ip_buffer; /* run/device.h */

/* What a description may know of a device. */
typedef struct ip_opaque_device {
    bool is_cpu; /* wants long work-items, each by itself; else groups of many. The shader sees it as IP_CPU */
    int compute_units;
    int vector_bytes;     /* of the widest registers: 16, 32 or 64; the shader sees it as IP_VECTOR_BYTES */
    int most_items;       /* of a group; groups of up to 64 are asked of all devices */
    uint64_t local_bytes; /* of a group's memory */
} ip_opaque_device;

/* One computation of a region of the result. */
typedef struct ip_opaque_call {
    const ip_opaque *opaque;
    ip_opaque_device device;
    ip_region result;               /* as widen() made it; the result's buffer holds it */
    ip_region in[IP_OPAQUE_INPUTS]; /* what the inputs' buffers hold: what reads() told, or more rows */
} ip_opaque_call;

/* Buffers by number: the result, input k, scratch k. */
enum { IP_BUFFER_RESULT, IP_BUFFER_INPUT, IP_BUFFER_SCRATCH = IP_BUFFER_INPUT + IP_OPAQUE_INPUTS };

typedef struct ip_opaque_launch {
    const char *kernel;         /* its name in the shader */
    size_t global[3], local[3]; /* global a multiple of local; local[2] is 1 */
    int n_buffers, buffers[IP_OPAQUE_BUFFERS];
    int n_params, params[IP_OPAQUE_PARAMS]; /* P; params[0] is filled in by run/ */
} ip_opaque_launch;

/* For .widen and .reads: the result is made as a whole, of all of an input. */
void ip_opaque_widen_all(const ip_opaque *o, ip_region *result);
void ip_opaque_read_all(const ip_opaque *o, int input, const ip_region *result, ip_region *needed);
/* The params, of which params[0] is not looked at. */
void ip_opaque_set_params(ip_opaque_launch *out, const int *params, int n);
/* So many work-items, in groups of that many; the last group may have more than are needed. */
void ip_opaque_set_items(ip_opaque_launch *out, int64_t items, int64_t group);

/* Products of matrices as a BLAS library computes them: count[0] times count[1] of an m x k with a k x n matrix,
 * row-major, tightly packed, each product behind the one before it. Places and distances in elements; a distance of 0
 * repeats a matrix. */
typedef struct ip_gemm {
    imgpar_dtype dtype; /* f32 or f64 */
    int64_t m, n, k, count[2];
    /* where a begins in its buffer; from an operand to the next along count[0], count[1] */
    int64_t a_first, a_next[2], b_next[2];
    int64_t whole_m; /* rows of the product of which these m are a strip */
} ip_gemm;

/* Asked now and then by compute(): not 0 means stop and return it. */
typedef imgpar_status (*ip_opaque_ask)(void *user);

/* "#define NAME VALUE" before the shader. */
typedef struct ip_opaque_constant {
    const char *name;
    int value;
} ip_opaque_constant;

/* What all stages of one operation have in common. */
typedef struct ip_opaque_kind {
    const char *name;   /* of the kernel, for people: "matmul" */
    const char *shader; /* shaders/NAME.cl; NULL where run() is there, or compute() alone, which the host then runs */
    const char *before; /* another one, whose text stands before it; NULL: none */
    const char *params; /* names of P[1], P[2], ..., a space behind each; every launch has them all. NULL: none */
    bool has_list;      /* its stages have a list, and its launches no params without names */
    const struct ip_opaque_constant
        *constants; /* what shader and step() both know, up to one without a name; or NULL */
    /* Grows a region of the result to the one that is computed for it: whole rows at least. */
    void (*widen)(const ip_opaque *opaque, ip_region *result);
    /* What of an input such a region reads: whole rows. */
    void (*reads)(const ip_opaque *opaque, int input, const ip_region *result, ip_region *needed);
    /* Appends what the shader is specialised by, besides opaque->defines, that follows from the device; NULL: none. */
    void (*specialise)(const ip_opaque_call *call, ip_str *defines);
    /* Bytes of each scratch buffer, zeroed on entry; NULL: there are none. */
    void (*scratch)(const ip_opaque_call *call, uint64_t bytes[IP_OPAQUE_SCRATCH]);
    /* The launches, step 0, 1, ... in order into *out, zeroed on entry; false: there are no more. NULL: see shader. */
    bool (*step)(const ip_opaque_call *call, int step, ip_opaque_launch *out);
    /* Fills in *out, zeroed on entry, where a BLAS library may compute what the launches do, from inputs 0 and 1;
     * false: none may. NULL: none ever may. */
    bool (*gemm)(const ip_opaque_call *call, ip_gemm *out);
    /* Launches by itself, instead of step(): kernels that are not of shaders/. The buffers are whole; busy_ms gets the
     * time on the device, where it is asked for (else NULL). NULL: step() tells what to launch. */
    imgpar_status (*run)(const ip_opaque_call *call, struct ip_buffer *result, struct ip_buffer *const *inputs,
                         double *busy_ms, ip_error *err);
    /* The whole result on the host. */
    imgpar_status (*compute)(const ip_opaque *opaque, const void *const *in, void *out, ip_opaque_ask ask, void *user);
} ip_opaque_kind;

struct ip_opaque {
    const ip_opaque_kind *kind;
    const char *variant; /* "blocked": which of its kernels, for people; NULL: none */
    const char *defines; /* "#define MM_T float\n": what the shader is specialised by */
    bool uses_f64;
    imgpar_dtype dtype; /* what it computes in */
    int n_inputs;
    ip_stage *inputs[IP_OPAQUE_INPUTS];
    int64_t dims[4];                /* of the result; set by ip_stage_opaque() */
    int64_t columns;                /* of input 0 that column x is made of: x to x + columns - 1; 0: not known */
    int64_t sizes[IP_OPAQUE_SIZES]; /* the operation's own */
    const int *list;                /* more of its own, which every launch has behind its params; copied, too */
    int n_list;
    const void *user; /* step(), run() and compute() know what; lives as long as the node, or the ir */
};

/* A new stage computed by a copy of opaque, whose texts live as long as ir; NULL (and ir->failed) without memory. */
ip_stage *ip_stage_opaque(ip_ir *ir, const ip_opaque *opaque, imgpar_dtype dtype, const int64_t dims[4],
                          const imgpar_array *node);
/* The whole domain of a stage. */
ip_region ip_stage_region(const ip_stage *stage);

#endif
