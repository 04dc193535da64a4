/* SPDX-License-Identifier: MIT */
/*
 * Kernels and what is known of their parameters. An imgpar_cl_kernel holds no OpenCL kernel object: arguments are state
 * of such an object, so each launch makes one of its own, and threads share an imgpar_cl_kernel.
 */
#include "cl/cl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- parameters ----------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    imgpar_dtype dtype;
    size_t size_bytes;
} types[] = {
    { "char", IMGPAR_I8, 1 },  { "uchar", IMGPAR_U8, 1 },  { "short", IMGPAR_I16, 2 },  { "ushort", IMGPAR_U16, 2 },
    { "int", IMGPAR_I32, 4 },  { "uint", IMGPAR_U32, 4 },  { "long", IMGPAR_I64, 8 },   { "ulong", IMGPAR_U64, 8 },
    { "half", IMGPAR_F16, 2 }, { "float", IMGPAR_F32, 4 }, { "double", IMGPAR_F64, 8 },
};

/* The type of a value: a number, a vector of numbers, or the user's own. */
static void read_value_type(ip_cl_param *p)
{
    p->dtype = IMGPAR_N_DTYPES;
    for (size_t k = 0; k < sizeof types / sizeof *types; k++) {
        size_t n = strlen(types[k].name);
        if (strncmp(p->type, types[k].name, n) != 0) continue;
        char *end = p->type + n;
        unsigned long lanes = p->type[n] ? strtoul(p->type + n, &end, 10) : 1;
        if (*end) continue; /* float4x4 is the user's */
        if (p->type[n] && lanes != 2 && lanes != 3 && lanes != 4 && lanes != 8 && lanes != 16) continue;
        p->dtype = lanes == 1 ? types[k].dtype : IMGPAR_N_DTYPES;
        p->size_bytes = types[k].size_bytes * (lanes == 3 ? 4 : lanes);
        return;
    }
}

static ip_cl_param_kind kind_of(cl_kernel_arg_address_qualifier address, const char *type)
{
    if (strcmp(type, "sampler_t") == 0) return IP_CL_SAMPLER;
    if (address == CL_KERNEL_ARG_ADDRESS_PRIVATE) return IP_CL_VALUE;
    if (!strchr(type, '*')) return strstr(type, "image2d_t") ? IP_CL_IMAGE : IP_CL_OTHER_IMAGE;
    return address == CL_KERNEL_ARG_ADDRESS_LOCAL      ? IP_CL_LOCAL
           : address == CL_KERNEL_ARG_ADDRESS_CONSTANT ? IP_CL_CONSTANT
                                                       : IP_CL_GLOBAL;
}

/* A text that may be longer than there is room for. */
static cl_int read_text(cl_kernel kernel, cl_uint k, cl_kernel_arg_info what, char *text, size_t size)
{
    char longer[1024] = "";
    cl_int code = IP_CL(clGetKernelArgInfo(kernel, k, what, sizeof longer - 1, longer, NULL));
    snprintf(text, size, "%.*s", (int)size - 1, longer);
    return code;
}

cl_int ip_cl_param_read(cl_kernel kernel, cl_uint k, ip_cl_param *p)
{
    cl_kernel_arg_address_qualifier address = 0;
    cl_kernel_arg_access_qualifier access = 0;
    cl_kernel_arg_type_qualifier qualifiers = 0;
    cl_int code = IP_CL(clGetKernelArgInfo(kernel, k, CL_KERNEL_ARG_ADDRESS_QUALIFIER, sizeof address, &address, NULL));
    if (!code)
        code = IP_CL(clGetKernelArgInfo(kernel, k, CL_KERNEL_ARG_TYPE_QUALIFIER, sizeof qualifiers, &qualifiers, NULL));
    if (!code)
        code = IP_CL(clGetKernelArgInfo(kernel, k, CL_KERNEL_ARG_ACCESS_QUALIFIER, sizeof access, &access, NULL));
    if (!code) code = read_text(kernel, k, CL_KERNEL_ARG_TYPE_NAME, p->type, sizeof p->type);
    if (!code) code = read_text(kernel, k, CL_KERNEL_ARG_NAME, p->name, sizeof p->name);
    if (code) return code;
    p->kind = kind_of(address, p->type);
    p->is_const = p->kind == IP_CL_CONSTANT || (qualifiers & CL_KERNEL_ARG_TYPE_CONST) ||
                  (p->kind == IP_CL_IMAGE && access == CL_KERNEL_ARG_ACCESS_READ_ONLY);
    if (p->kind == IP_CL_VALUE) read_value_type(p);
    return CL_SUCCESS;
}

/* Who makes a kernel, for messages. */
static const char *function_of(const imgpar_cl_kernel *k) { return k->is_entry ? "module_launch" : "kernel_new"; }

/* Finds who gives a parameter its argument. Pointers of a symbol's name are the symbol. */
static imgpar_status find_filler(const imgpar_cl_kernel *k, ip_cl_param *p, ip_error *err)
{
    const ip_cl_symbol *symbol = ip_cl_symbol_find(k->module, p->name);
    if (p->kind == IP_CL_GLOBAL && strcmp(p->name, "imgpar_report") == 0) {
        p->filler = IP_CL_BY_REPORT;
    } else if (p->kind == IP_CL_LOCAL && strcmp(p->name, "imgpar_group") == 0) {
        p->filler = IP_CL_BY_GROUP;
    } else if (symbol && (p->kind == IP_CL_GLOBAL || p->kind == IP_CL_CONSTANT)) {
        bool is_constant = p->kind == IP_CL_CONSTANT;
        if (is_constant != symbol->is_constant || strcmp(p->type, symbol->type) != 0)
            return ip_fail(
                err, IMGPAR_E_ARGUMENT, "%s: %s: the parameter %s (%s %s) has the name of the module's %s (%s %s)",
                function_of(k), k->name, p->name, is_constant ? "constant" : "global", p->type,
                symbol->is_constant ? "constant" : "global", symbol->is_constant ? "constant" : "global", symbol->type);
        p->filler = IP_CL_BY_SYMBOL;
        p->symbol = symbol;
    }
    return IMGPAR_OK;
}

/* Splits off the parameters that launches fill in; they stand behind the user's. */
static imgpar_status split_filled(imgpar_cl_kernel *k, ip_error *err)
{
    imgpar_status st = IMGPAR_OK;
    for (unsigned i = 0; !st && i < k->n_params; i++)
        st = find_filler(k, &k->params[i], err);
    if (st) return st;
    for (; k->n_params > 0 && k->params[k->n_params - 1].filler != IP_CL_BY_USER; k->n_params--, k->n_filled++) {
        k->reports |= k->params[k->n_params - 1].filler == IP_CL_BY_REPORT;
        k->has_group |= k->params[k->n_params - 1].filler == IP_CL_BY_GROUP;
    }
    for (unsigned i = 0; i < k->n_params; i++)
        if (k->params[i].filler != IP_CL_BY_USER)
            return ip_fail(err, IMGPAR_E_ARGUMENT, "%s: %s: %s, which launches fill in, stands before %s",
                           function_of(k), k->name, k->params[i].name, k->params[k->n_params - 1].name);
    return IMGPAR_OK;
}

static imgpar_status read_params(imgpar_cl_kernel *k, cl_kernel kernel, ip_error *err)
{
    cl_uint n = 0;
    cl_int code = IP_CL(clGetKernelInfo(kernel, CL_KERNEL_NUM_ARGS, sizeof n, &n, NULL));
    if (code) return ip_cl_fail(err, code, "clGetKernelInfo", k->name);
    k->n_params = n;
    k->params = ip_zalloc((n + 1) * sizeof *k->params);
    if (!k->params) return ip_fail_memory(err, "making a kernel");
    for (cl_uint i = 0; !code && i < n; i++)
        code = ip_cl_param_read(kernel, i, &k->params[i]);
    if (code == CL_KERNEL_ARG_INFO_NOT_AVAILABLE) {
        ip_free(k->params);
        k->params = NULL;
        return IMGPAR_OK;
    }
    if (code) return ip_cl_fail(err, code, "clGetKernelArgInfo", k->name);
    return split_filled(k, err);
}

/* ---- limits ------------------------------------------------------------------------------------------ */

static imgpar_status read_limits(imgpar_cl_kernel *k, cl_kernel kernel, ip_error *err)
{
    cl_device_id id = k->module->program->device->id;
    cl_ulong local_bytes = 0, private_bytes = 0, constant_bytes = 0;
    const struct {
        cl_kernel_work_group_info what;
        void *to;
        size_t size;
    } groups[] = {
        { CL_KERNEL_WORK_GROUP_SIZE, &k->max_group, sizeof k->max_group },
        { CL_KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE, &k->multiple, sizeof k->multiple },
        { CL_KERNEL_COMPILE_WORK_GROUP_SIZE, k->required, sizeof k->required },
        { CL_KERNEL_LOCAL_MEM_SIZE, &local_bytes, sizeof local_bytes },
        { CL_KERNEL_PRIVATE_MEM_SIZE, &private_bytes, sizeof private_bytes },
    };
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++) {
        cl_int code = IP_CL(clGetKernelWorkGroupInfo(kernel, id, groups[i].what, groups[i].size, groups[i].to, NULL));
        if (code) return ip_cl_fail(err, code, "clGetKernelWorkGroupInfo", k->name);
    }
    size_t items[8] = { 0 };
    cl_int code = IP_CL(clGetDeviceInfo(id, CL_DEVICE_MAX_WORK_ITEM_SIZES, sizeof items, items, NULL));
    if (!code)
        code = IP_CL(
            clGetDeviceInfo(id, CL_DEVICE_MAX_CONSTANT_BUFFER_SIZE, sizeof constant_bytes, &constant_bytes, NULL));
    if (code) return ip_cl_fail(err, code, "clGetDeviceInfo", k->name);
    memcpy(k->max_items, items, sizeof k->max_items);
    k->local_bytes = local_bytes;
    k->private_bytes = private_bytes;
    k->max_constant_bytes = constant_bytes;
    return IMGPAR_OK;
}

/* ---- making ------------------------------------------------------------------------------------------- */

static imgpar_status look_up(imgpar_cl_kernel *k, ip_error *err)
{
    cl_int code;
    if (ip_cl_is_own_name(k->name)) return ip_cl_fail_name(err, function_of(k), k->name);
    cl_kernel kernel = ip_cl_may(&code) ? clCreateKernel(k->module->program->program, k->name, &code) : NULL;
    if (code == CL_INVALID_KERNEL_NAME)
        return ip_fail(err, IMGPAR_E_ARGUMENT, "%s: the module has no kernel \"%s\"; it has: %s", function_of(k),
                       k->name, k->module->kernels[0] ? k->module->kernels : "none");
    if (code) return ip_cl_fail(err, code, "clCreateKernel", k->name);
    imgpar_status st = read_params(k, kernel, err);
    if (!st) st = read_limits(k, kernel, err);
    clReleaseKernel(kernel);
    return st;
}

static imgpar_status make(imgpar_cl_module *module, const char *name, bool is_entry, imgpar_cl_kernel **out,
                          ip_error *err)
{
    if (ip_context_check(module->ctx, err)) return IMGPAR_E_DEVICE_LOST;
    imgpar_cl_kernel *k = ip_zalloc(sizeof *k);
    if (!k) return ip_fail_memory(err, "making a kernel");
    atomic_init(&k->refs, 1);
    k->is_entry = is_entry;
    k->module = is_entry ? module : imgpar_cl_module_retain(module);
    if (!is_entry) ip_cl_alive(module->ctx, IP_LIVE_KERNELS, 1);
    k->name = ip_strdup(name);
    imgpar_status st = k->name ? look_up(k, err) : ip_fail_memory(err, "making a kernel");
    if (st)
        ip_cl_kernel_free(k);
    else
        *out = k;
    return st;
}

static imgpar_status add_entry(imgpar_cl_module *m, const char *name, imgpar_cl_kernel **out, ip_error *err)
{
    for (size_t i = 0; i < m->n_entries; i++)
        if (strcmp(m->entries[i]->name, name) == 0) {
            *out = m->entries[i];
            return IMGPAR_OK;
        }
    imgpar_cl_kernel **more = ip_realloc_array(m->entries, m->n_entries + 1, sizeof(imgpar_cl_kernel *));
    if (!more) return ip_fail_memory(err, "keeping a kernel");
    m->entries = more;
    imgpar_status st = make(m, name, true, out, err);
    if (!st) more[m->n_entries++] = *out;
    return st;
}

imgpar_status ip_cl_entry(imgpar_cl_module *m, const char *name, imgpar_cl_kernel **out, ip_error *err)
{
    pthread_mutex_lock(&m->lock);
    imgpar_status st = add_entry(m, name, out, err);
    pthread_mutex_unlock(&m->lock);
    return st;
}

imgpar_status imgpar_cl_kernel_new(imgpar_cl_module *module, const char *name, imgpar_cl_kernel **out)
{
    ip_error err = { .status = IMGPAR_OK };
    if (out) *out = NULL;
    if (!out || !module || !name)
        ip_cl_null(&err, "kernel_new", !out ? "out" : module ? "the name" : "the module");
    else
        make(module, name, false, out, &err);
    return ip_cl_say(&err);
}

imgpar_cl_kernel *imgpar_cl_kernel_retain(imgpar_cl_kernel *k)
{
    if (k) atomic_fetch_add_explicit(&k->refs, 1, memory_order_relaxed);
    return k;
}

void imgpar_cl_kernel_release(imgpar_cl_kernel *k)
{
    if (k && atomic_fetch_sub_explicit(&k->refs, 1, memory_order_acq_rel) == 1) ip_cl_kernel_free(k);
}

void ip_cl_kernel_free(imgpar_cl_kernel *k)
{
    if (!k->is_entry) {
        ip_cl_alive(k->module->ctx, IP_LIVE_KERNELS, -1);
        imgpar_cl_module_release(k->module);
    }
    ip_free(k->params);
    ip_free(k->name);
    ip_free(k);
}

imgpar_status imgpar_cl_kernel_get_info(const imgpar_cl_kernel *k, imgpar_cl_kernel_info *out)
{
    ip_error err = { .status = IMGPAR_OK };
    if (!k || !out) {
        ip_cl_null(&err, "kernel_get_info", k ? "out" : "the kernel");
        return ip_cl_say(&err);
    }
    imgpar_cl_kernel_info info = { .struct_size = sizeof info,
                                   .n_args = k->n_params,
                                   .max_work_group = k->max_group,
                                   .preferred_multiple = k->multiple,
                                   .local_bytes = k->local_bytes,
                                   .private_bytes = k->private_bytes };
    memcpy(info.required_local, k->required, sizeof info.required_local);
    ip_struct_out(out, &info, "kernel_get_info", "out", &err);
    return ip_cl_say(&err);
}

/* What a launch gives for the parameter; 0: nothing that this layer has. */
static int kind_of_arg(const ip_cl_param *p)
{
    switch (p->kind) {
    case IP_CL_GLOBAL:
    case IP_CL_CONSTANT:
    case IP_CL_IMAGE: return IMGPAR_CL_ARG_BUFFER;
    case IP_CL_LOCAL: return IMGPAR_CL_ARG_LOCAL;
    case IP_CL_VALUE:
        if (p->dtype == IMGPAR_N_DTYPES || p->dtype == IMGPAR_F16) return IMGPAR_CL_ARG_STRUCT;
        return p->dtype == IMGPAR_F32 || p->dtype == IMGPAR_F64 ? IMGPAR_CL_ARG_REAL : IMGPAR_CL_ARG_INT;
    default: return 0;
    }
}

imgpar_status imgpar_cl_kernel_get_arg_info(const imgpar_cl_kernel *k, unsigned index, imgpar_cl_arg_info *out)
{
    ip_error err = { .status = IMGPAR_OK };
    if (!k || !out)
        ip_cl_null(&err, "kernel_get_arg_info", k ? "out" : "the kernel");
    else if (index >= k->n_params)
        ip_fail(&err, IMGPAR_E_ARGUMENT, "kernel_get_arg_info: %s: has %u parameters; there is no parameter %u",
                k->name, k->n_params, index);
    else if (!k->params)
        ip_fail(&err, IMGPAR_E_UNSUPPORTED, "kernel_get_arg_info: %s: this driver does not tell parameters", k->name);
    if (err.status) return ip_cl_say(&err);
    const ip_cl_param *p = &k->params[index];
    const imgpar_cl_arg_info info = { .struct_size = sizeof info,
                                      .name = p->name,
                                      .type = p->type,
                                      .kind = kind_of_arg(p),
                                      .is_read_only = p->kind != IP_CL_VALUE && p->is_const,
                                      .is_constant = p->kind == IP_CL_CONSTANT,
                                      .size_bytes = p->kind == IP_CL_VALUE ? p->size_bytes : 0,
                                      .is_image = p->kind == IP_CL_IMAGE };
    ip_struct_out(out, &info, "kernel_get_arg_info", "out", &err);
    return ip_cl_say(&err);
}
