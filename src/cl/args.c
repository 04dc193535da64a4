/* SPDX-License-Identifier: MIT */
/* Arguments of a launch: checked against what the compiler tells of the parameters, and bound to a kernel object. */
#include "cl/cl.h"

#include "base/dtype.h"

#include <stdio.h>
#include <string.h>

/* ---- checking ----------------------------------------------------------------------------------------- */

/* What is being checked, for messages: "scale: argument 1 (float by)". */
typedef struct place {
    const imgpar_cl_kernel *kernel;
    unsigned index;
} place;

static imgpar_status wrong(const place *p, ip_error *err, imgpar_status st, const char *why)
{
    const ip_cl_param *param = p->kernel->params ? &p->kernel->params[p->index] : NULL;
    return ip_fail(err, st, "%s: argument %u (%s%s%s) %s", p->kernel->name, p->index, param ? param->type : "",
                   param ? " " : "", param ? param->name : "unknown", why);
}

static bool is_integer(imgpar_dtype d) { return d != IMGPAR_F16 && d != IMGPAR_F32 && d != IMGPAR_F64; }

static bool integer_fits(imgpar_dtype dtype, int64_t v)
{
    unsigned bits = (unsigned)ip_dtype(dtype)->size_bytes * 8;
    bool is_signed = dtype == IMGPAR_I8 || dtype == IMGPAR_I16 || dtype == IMGPAR_I32 || dtype == IMGPAR_I64;
    if (is_signed) return bits == 64 || (v >= -(INT64_C(1) << (bits - 1)) && v < INT64_C(1) << (bits - 1));
    return v >= 0 && (bits == 64 || v < INT64_C(1) << bits);
}

static imgpar_status check_pointer(const place *at, const imgpar_cl_arg *arg, const ip_cl_param *p, ip_error *err)
{
    const imgpar_cl_buffer *b = arg->pointer;
    if (p && p->kind != IP_CL_GLOBAL && p->kind != IP_CL_CONSTANT && p->kind != IP_CL_IMAGE)
        return wrong(at, err, IMGPAR_E_ARGUMENT, "is not a global or constant pointer; a buffer was given");
    if (p && p->kind == IP_CL_IMAGE && arg->kind != IMGPAR_CL_ARG_BUFFER)
        return wrong(at, err, IMGPAR_E_ARGUMENT, "is an image; an array cannot be given for it");
    if (arg->kind == IMGPAR_CL_ARG_INPUT)
        return p && !p->is_const ? wrong(at, err, IMGPAR_E_ARGUMENT, "is written; an input needs a pointer to const")
                                 : IMGPAR_OK;
    if (arg->kind == IMGPAR_CL_ARG_RESULT)
        return p && p->is_const
                   ? wrong(at, err, IMGPAR_E_ARGUMENT, "is const; the result needs a pointer that is written")
                   : IMGPAR_OK;
    if (!b) return wrong(at, err, IMGPAR_E_ARGUMENT, "is a buffer that is NULL");
    if (b->ctx != at->kernel->module->ctx) return wrong(at, err, IMGPAR_E_ARGUMENT, "is a buffer of another context");
    if (p && b->is_image != (p->kind == IP_CL_IMAGE))
        return wrong(at, err, IMGPAR_E_ARGUMENT,
                     b->is_image ? "is a pointer; an image was given"
                                 : "is an image; a buffer was given that imgpar_cl_image_new() did not make");
    if (p && b->access == IMGPAR_CL_IN && !p->is_const)
        return wrong(at, err, IMGPAR_E_ARGUMENT,
                     b->is_image ? "is written; the image is IMGPAR_CL_IN, which needs read_only"
                                 : "is written; the buffer is IMGPAR_CL_IN, which needs a pointer to const");
    if (p && b->access == IMGPAR_CL_OUT && p->is_const)
        return wrong(at, err, IMGPAR_E_ARGUMENT,
                     b->is_image ? "is read_only; the image is IMGPAR_CL_OUT, which kernels write"
                                 : "is const; the buffer is IMGPAR_CL_OUT, which kernels write");
    if (p && p->kind == IP_CL_CONSTANT && b->size_bytes > at->kernel->max_constant_bytes)
        return wrong(at, err, IMGPAR_E_LIMIT, "is larger than the device's constant memory");
    return IMGPAR_OK;
}

static imgpar_status check_number(const place *at, const imgpar_cl_arg *arg, const ip_cl_param *p, ip_error *err)
{
    if (!p)
        return wrong(at, err, IMGPAR_E_UNSUPPORTED,
                     "has a type that this driver does not tell; give it with imgpar_cl_arg_struct()");
    if (p->kind != IP_CL_VALUE || p->dtype == IMGPAR_N_DTYPES)
        return wrong(at, err, IMGPAR_E_ARGUMENT, "is not a number; a number was given");
    if (p->dtype == IMGPAR_F16)
        return wrong(at, err, IMGPAR_E_UNSUPPORTED,
                     "is half, which the host has no numbers of; give it with imgpar_cl_arg_struct()");
    if (arg->kind == IMGPAR_CL_ARG_REAL)
        return is_integer(p->dtype) ? wrong(at, err, IMGPAR_E_ARGUMENT, "is an integer; a real number was given")
                                    : IMGPAR_OK;
    if (is_integer(p->dtype) && !integer_fits(p->dtype, arg->integer)) {
        char why[64];
        snprintf(why, sizeof why, "cannot hold %lld", (long long)arg->integer);
        return wrong(at, err, IMGPAR_E_ARGUMENT, why);
    }
    return IMGPAR_OK;
}

static imgpar_status check_struct(const place *at, const imgpar_cl_arg *arg, const ip_cl_param *p, ip_error *err)
{
    if (!arg->pointer || arg->size_bytes == 0)
        return wrong(at, err, IMGPAR_E_ARGUMENT, "is a struct that is NULL or empty");
    if (p && p->kind != IP_CL_VALUE) return wrong(at, err, IMGPAR_E_ARGUMENT, "is not a value; a struct was given");
    if (p && p->size_bytes && p->size_bytes != arg->size_bytes) {
        char why[96];
        snprintf(why, sizeof why, "has %zu bytes; a struct of %zu was given", p->size_bytes, arg->size_bytes);
        return wrong(at, err, IMGPAR_E_ARGUMENT, why);
    }
    return IMGPAR_OK;
}

static imgpar_status check_local(const place *at, const imgpar_cl_arg *arg, const ip_cl_param *p, ip_error *err)
{
    if (arg->size_bytes == 0) return wrong(at, err, IMGPAR_E_ARGUMENT, "is local memory of 0 bytes");
    return p && p->kind != IP_CL_LOCAL
               ? wrong(at, err, IMGPAR_E_ARGUMENT, "is not a local pointer; local memory was given")
               : IMGPAR_OK;
}

static imgpar_status check_arg(const place *at, const imgpar_cl_arg *arg, int n_inputs, ip_error *err)
{
    const ip_cl_param *p = at->kernel->params ? &at->kernel->params[at->index] : NULL;
    bool is_of_node = arg->kind == IMGPAR_CL_ARG_INPUT || arg->kind == IMGPAR_CL_ARG_RESULT;
    if (p && p->kind == IP_CL_SAMPLER)
        return wrong(at, err, IMGPAR_E_UNSUPPORTED,
                     "is a sampler; declare it in the text: constant sampler_t s = ...;");
    if (p && p->kind == IP_CL_OTHER_IMAGE)
        return wrong(at, err, IMGPAR_E_UNSUPPORTED, "is an image that this layer does not have; it has image2d_t");
    if (is_of_node && n_inputs < 0)
        return wrong(at, err, IMGPAR_E_ARGUMENT, "is an input or result, which only imgpar_cl_apply() has");
    if (arg->kind == IMGPAR_CL_ARG_INPUT && (arg->integer < 0 || arg->integer >= n_inputs))
        return wrong(at, err, IMGPAR_E_ARGUMENT, "is an input that there is not");
    if (arg->kind == IMGPAR_CL_ARG_BUFFER && n_inputs >= 0)
        return wrong(at, err, IMGPAR_E_ARGUMENT,
                     "is a buffer; a node takes arrays (imgpar_cl_array() makes one of it)");
    switch (arg->kind) {
    case IMGPAR_CL_ARG_BUFFER:
    case IMGPAR_CL_ARG_INPUT:
    case IMGPAR_CL_ARG_RESULT: return check_pointer(at, arg, p, err);
    case IMGPAR_CL_ARG_LOCAL: return check_local(at, arg, p, err);
    case IMGPAR_CL_ARG_STRUCT: return check_struct(at, arg, p, err);
    case IMGPAR_CL_ARG_INT:
    case IMGPAR_CL_ARG_REAL: return check_number(at, arg, p, err);
    default: return wrong(at, err, IMGPAR_E_ARGUMENT, "was not made by a function of imgpar_cl.h");
    }
}

imgpar_status ip_cl_check_args(const imgpar_cl_kernel *kernel, const imgpar_cl_arg *args, size_t n_args, int n_inputs,
                               ip_error *err)
{
    const ip_cl_param *filled = kernel->n_filled > 0 ? &kernel->params[kernel->n_params] : NULL;
    if (n_args != kernel->n_params)
        return ip_fail(err, IMGPAR_E_ARGUMENT, "%s: has %u parameters; %zu arguments were given%s%s%s", kernel->name,
                       kernel->n_params, n_args, filled ? " (launches fill in " : "", filled ? filled->name : "",
                       !filled                ? ""
                       : kernel->n_filled > 1 ? " and those behind it)"
                                              : ")");
    if (!args && n_args > 0) return ip_cl_null(err, kernel->name, "args");
    for (unsigned k = 0; k < n_args; k++) {
        const place at = { kernel, k };
        imgpar_status st = check_arg(&at, &args[k], n_inputs, err);
        if (st) return st;
    }
    return IMGPAR_OK;
}

/* What IMGPAR_GROUP takes: 8 bytes a work-item. */
static size_t group_bytes(const imgpar_cl_work *w)
{
    return (size_t)IP_CL_GROUP_BYTES * w->local[0] * w->local[1] * w->local[2];
}

static uint64_t add_bytes(uint64_t a, uint64_t b) { return b > UINT64_MAX - a ? UINT64_MAX : a + b; }

uint64_t ip_cl_local_bytes(const imgpar_cl_kernel *kernel, const imgpar_cl_arg *args)
{
    uint64_t bytes = kernel->local_bytes;
    for (unsigned k = 0; args && k < kernel->n_params; k++)
        if (args[k].kind == IMGPAR_CL_ARG_LOCAL) bytes = add_bytes(bytes, args[k].size_bytes);
    return bytes;
}

imgpar_status ip_cl_check_local(const imgpar_cl_kernel *kernel, const imgpar_cl_arg *args, const imgpar_cl_work *work,
                                ip_error *err)
{
    uint64_t local_bytes = ip_cl_local_bytes(kernel, args);
    const uint64_t there = kernel->module->program->device->facts.info.local_bytes;
    if (kernel->has_group) local_bytes = add_bytes(local_bytes, group_bytes(work));
    if (local_bytes > there)
        return ip_fail(err, IMGPAR_E_LIMIT, "%s: needs %llu bytes of local memory; the device has %llu", kernel->name,
                       (unsigned long long)local_bytes, (unsigned long long)there);
    return IMGPAR_OK;
}

/* ---- binding -------------------------------------------------------------------------------------------- */

/* The number as the parameter has it; returns its size. */
static size_t number_bytes(const imgpar_cl_arg *arg, imgpar_dtype dtype, unsigned char bytes[8])
{
    double real = arg->kind == IMGPAR_CL_ARG_REAL ? arg->real : (double)arg->integer;
    float single = (float)real;
    size_t n = ip_dtype(dtype)->size_bytes;
    const void *from = dtype == IMGPAR_F32   ? (const void *)&single
                       : dtype == IMGPAR_F64 ? (const void *)&real
                                             : &arg->integer;
    memcpy(bytes, from, n); /* devices are little-endian, as the host is: facts.c lets no other one in */
    return n;
}

typedef struct binding {
    const ip_cl_launch *launch;
    cl_kernel kernel;
    ip_cl_use *uses;
    int *n_uses;
} binding;

/* An argument of memory; k counts all parameters. */
static cl_int bind_memory(const binding *b, unsigned k, cl_mem mem, ip_buffer *memory, imgpar_cl_buffer *buffer)
{
    const ip_cl_param *params = b->launch->kernel->params;
    b->uses[(*b->n_uses)++] = (ip_cl_use){ memory, buffer, !params || !params[k].is_const };
    return IP_CL(clSetKernelArg(b->kernel, k, sizeof mem, &mem));
}

static cl_int bind_arg(const binding *b, unsigned k)
{
    const imgpar_cl_arg *arg = &b->launch->args[k];
    unsigned char bytes[8];
    size_t n;
    imgpar_cl_buffer *buffer;
    ip_buffer *memory;
    switch (arg->kind) {
    case IMGPAR_CL_ARG_BUFFER:
        buffer = (imgpar_cl_buffer *)arg->pointer;
        return bind_memory(b, k, buffer->mem, buffer->memory, buffer);
    case IMGPAR_CL_ARG_INPUT:
    case IMGPAR_CL_ARG_RESULT:
        memory = arg->kind == IMGPAR_CL_ARG_RESULT ? b->launch->result : b->launch->inputs[arg->integer];
        return bind_memory(b, k, memory->mem, memory, NULL);
    case IMGPAR_CL_ARG_LOCAL: return IP_CL(clSetKernelArg(b->kernel, k, arg->size_bytes, NULL));
    case IMGPAR_CL_ARG_STRUCT: return IP_CL(clSetKernelArg(b->kernel, k, arg->size_bytes, arg->pointer));
    default:
        n = number_bytes(arg, b->launch->kernel->params[k].dtype, bytes);
        return IP_CL(clSetKernelArg(b->kernel, k, n, bytes));
    }
}

/* What the user does not give. */
static cl_int bind_filled(const binding *b, unsigned k, const ip_cl_report *report)
{
    const ip_cl_param *p = &b->launch->kernel->params[k];
    switch (p->filler) {
    case IP_CL_BY_REPORT: {
        ip_buffer *memory = ip_cl_report_memory(report);
        return bind_memory(b, k, memory->mem, memory, NULL);
    }
    case IP_CL_BY_GROUP: return IP_CL(clSetKernelArg(b->kernel, k, group_bytes(&b->launch->work), NULL));
    default: return bind_memory(b, k, p->symbol->buffer->mem, p->symbol->buffer->memory, p->symbol->buffer);
    }
}

imgpar_status ip_cl_bind(const ip_cl_launch *launch, const ip_cl_report *report, cl_kernel *kernel, ip_cl_use *uses,
                         int *n_uses, ip_error *err)
{
    const imgpar_cl_kernel *k = launch->kernel;
    binding b = { .launch = launch, .uses = uses, .n_uses = n_uses };
    cl_int code;
    *n_uses = 0;
    *kernel = b.kernel = ip_cl_may(&code) ? clCreateKernel(k->module->program->program, k->name, &code) : NULL;
    if (code) return ip_cl_fail(err, code, "clCreateKernel", k->name);
    for (unsigned i = 0; !code && i < k->n_params; i++)
        code = bind_arg(&b, i);
    for (unsigned i = 0; !code && i < k->n_filled; i++)
        code = bind_filled(&b, k->n_params + i, report);
    if (!code) return IMGPAR_OK;
    clReleaseKernel(*kernel);
    *kernel = NULL;
    return ip_cl_fail(err, code, "clSetKernelArg", k->name);
}
