/* SPDX-License-Identifier: MIT */
/*
 * Globals and constants of a module: memory that the module owns, kernels name and the host copies from and to.
 *
 * IMGPAR_GLOBAL() and IMGPAR_CONSTANT() of shaders/module.cl declare a kernel each, "imgpar_global_hits", which writes
 * the bytes of an element and how many there are. So the compiler says what a module has, and how large that is: no
 * text is read here, and the host needs not know how the device lays out structs. Kernels get the memory as a parameter
 * of the symbol's name, which launches fill in (args.c); on the host it is a buffer as others, whose commands wait for
 * launches and launches for them.
 */
#include "cl/cl.h"

#include "base/str.h"

#include <string.h>

static const char global_prefix[] = "imgpar_global_", constant_prefix[] = "imgpar_constant_", own_prefix[] = "imgpar_";
enum { MOST_NAME = sizeof((ip_cl_param *)0)->name - 2 }; /* a name that is cut is longer */

bool ip_cl_is_own_name(const char *name) { return strncmp(name, own_prefix, strlen(own_prefix)) == 0; }

imgpar_status ip_cl_fail_name(ip_error *err, const char *function, const char *name)
{
    return ip_fail(err, IMGPAR_E_ARGUMENT, "%s: %s: names that begin with imgpar_ are the library's", function, name);
}

/* The name of the symbol that a kernel declares; NULL: it is a kernel of the user. */
static const char *name_of(const char *kernel, bool *is_constant)
{
    *is_constant = strncmp(kernel, constant_prefix, strlen(constant_prefix)) == 0;
    if (*is_constant) return kernel + strlen(constant_prefix);
    return strncmp(kernel, global_prefix, strlen(global_prefix)) == 0 ? kernel + strlen(global_prefix) : NULL;
}

/* ---- sizes --------------------------------------------------------------------------------- */

static cl_int enqueue(cl_command_queue queue, void *argument, const ip_waits *w, cl_event *event)
{
    const size_t one = 1;
    return clEnqueueNDRangeKernel(queue, argument, 1, NULL, &one, &one, w->n, w->events, event);
}

/* Whether IMGPAR_GLOBAL() or IMGPAR_CONSTANT() made the kernel, and not the user by hand; reads the type of the
 * symbol. */
static imgpar_status read_declaration(cl_kernel kernel, const char *kernel_name, ip_cl_symbol *s, ip_error *err)
{
    cl_uint n = 0;
    ip_cl_param params[2] = { { .name = "" } };
    cl_int code = IP_CL(clGetKernelInfo(kernel, CL_KERNEL_NUM_ARGS, sizeof n, &n, NULL));
    if (code) return ip_cl_fail(err, code, "clGetKernelInfo", kernel_name);
    for (cl_uint k = 0; n == 2 && !code && k < 2; k++)
        code = ip_cl_param_read(kernel, k, &params[k]);
    bool tells = code != CL_KERNEL_ARG_INFO_NOT_AVAILABLE;
    if (tells && code) return ip_cl_fail(err, code, "clGetKernelArgInfo", kernel_name);
    if (n != 2 || (tells && strcmp(params[0].name, "imgpar_size") != 0))
        return ip_cl_fail_name(err, "module_new", kernel_name);
    memcpy(s->type, params[1].type, sizeof s->type);
    return IMGPAR_OK;
}

/* Runs the kernel that tells the size; sizes gets the bytes of an element and how many there are. */
static imgpar_status ask_sizes(const imgpar_cl_module *m, const char *kernel_name, ip_cl_symbol *s, int64_t sizes[2],
                               ip_error *err)
{
    ip_device *device = m->program->device;
    ip_buffer *memory = NULL;
    cl_int code;
    cl_kernel kernel = ip_cl_may(&code) ? clCreateKernel(m->program->program, kernel_name, &code) : NULL;
    imgpar_status st = code ? ip_cl_fail(err, code, "clCreateKernel", kernel_name) : IMGPAR_OK;
    if (!st) st = read_declaration(kernel, kernel_name, s, err);
    if (!st) st = ip_buffer_new(device, 2 * sizeof *sizes, &memory, err);
    for (cl_uint k = 0; !st && !code && k < 2; k++) /* the second is there for its type; nobody reads it */
        code = IP_CL(clSetKernelArg(kernel, k, sizeof memory->mem, &memory->mem));
    if (!st && code) st = ip_cl_fail(err, code, "clSetKernelArg", kernel_name);
    if (!st) {
        const ip_cl_use use = { memory, NULL, true };
        const ip_cl_command c = { .name = kernel_name,
                                  .call = "clEnqueueNDRangeKernel",
                                  .uses = &use,
                                  .n_uses = 1,
                                  .enqueue = enqueue,
                                  .argument = kernel };
        st = ip_cl_run_alone(device, &c, NULL, err);
    }
    if (!st) st = ip_buffer_read(memory, 0, sizes, 2 * sizeof *sizes, err);
    ip_buffer_release(memory);
    if (kernel) clReleaseKernel(kernel);
    return st;
}

/* ---- making ------------------------------------------------------------------------------------ */

static cl_int enqueue_zeros(cl_command_queue queue, void *argument, const ip_waits *w, cl_event *event)
{
    static const unsigned char zero = 0;
    const ip_buffer *b = argument;
    return clEnqueueFillBuffer(queue, b->mem, &zero, 1, 0, ip_buffer_size(b), w->n, w->events, event);
}

/* Memory of zeros: of little a copy, of much filled on the device. */
static imgpar_status new_zeros(ip_device *device, size_t size_bytes, ip_buffer **out, ip_error *err)
{
    static const unsigned char zeros[4096];
    if (size_bytes <= sizeof zeros) return ip_buffer_new_with(device, zeros, size_bytes, out, err);
    imgpar_status st = ip_buffer_new(device, size_bytes, out, err);
    if (st) return st;
    const ip_cl_use use = { *out, NULL, true };
    const ip_cl_command c = { .name = "fill",
                              .call = "clEnqueueFillBuffer",
                              .uses = &use,
                              .n_uses = 1,
                              .enqueue = enqueue_zeros,
                              .argument = *out };
    st = ip_cl_run_alone(device, &c, NULL, err);
    if (!st) return IMGPAR_OK;
    ip_buffer_release(*out);
    *out = NULL;
    return st;
}

static imgpar_status make_memory(const imgpar_cl_module *m, ip_cl_symbol *s, const int64_t sizes[2], ip_error *err)
{
    const imgpar_cl_layout given = imgpar_cl_vector((size_t)sizes[1], (size_t)sizes[0]);
    imgpar_cl_layout layout;
    size_t size_bytes;
    ip_buffer *memory = NULL;
    imgpar_status st = ip_cl_layout("module_new", &given, &layout, &size_bytes, err);
    if (st) return st;
    uint64_t most = 0;
    cl_int code = IP_CL(
        clGetDeviceInfo(m->program->device->id, CL_DEVICE_MAX_CONSTANT_BUFFER_SIZE, sizeof(cl_ulong), &most, NULL));
    if (code) return ip_cl_fail(err, code, "clGetDeviceInfo", NULL);
    if (s->is_constant && size_bytes > most)
        return ip_fail(err, IMGPAR_E_LIMIT, "module_new: the constant %s has %zu bytes; the device has room for %llu",
                       s->name, size_bytes, (unsigned long long)most);
    st = new_zeros(m->program->device, size_bytes, &memory, err);
    if (st) return st;
    return ip_cl_buffer_of_memory(m->ctx, s->is_constant ? IMGPAR_CL_IN : IMGPAR_CL_INOUT, &layout, size_bytes, memory,
                                  &s->buffer, err);
}

/* What went wrong, with the symbol and its size. */
static imgpar_status fail_symbol(const ip_cl_symbol *s, const int64_t sizes[2], const ip_error *why, ip_error *err)
{
    static const char function[] = "module_new: ";
    const char *text = why->message;
    if (strncmp(text, function, strlen(function)) == 0) text += strlen(function);
    if (why->status == IMGPAR_E_LIMIT && s->is_constant) return ip_fail(err, why->status, "%s", why->message);
    return ip_fail(err, why->status, "module_new: the %s %s of %lld x %lld bytes: %s",
                   s->is_constant ? "constant" : "global", s->name, (long long)sizes[1], (long long)sizes[0], text);
}

static imgpar_status add_symbol(imgpar_cl_module *m, const char *kernel, ip_error *err)
{
    int64_t sizes[2];
    ip_cl_symbol *s = &m->symbols[m->n_symbols];
    const char *name = name_of(kernel, &s->is_constant);
    if (ip_cl_symbol_find(m, name))
        return ip_fail(err, IMGPAR_E_ARGUMENT, "module_new: %s is a global and a constant", name);
    if (strlen(name) > MOST_NAME)
        return ip_fail(err, IMGPAR_E_LIMIT, "module_new: the name of %s has %zu characters; at most %d are kept", name,
                       strlen(name), MOST_NAME);
    s->name = ip_strdup(name);
    if (!s->name) return ip_fail_memory(err, "making a module");
    m->n_symbols++;
    imgpar_status st = ask_sizes(m, kernel, s, sizes, err);
    if (!st && sizes[1] < 1)
        st = ip_fail(err, IMGPAR_E_ARGUMENT, "module_new: %s has %lld elements; a %s has 1 or more", name,
                     (long long)sizes[1], s->is_constant ? "constant" : "global");
    if (st) return st;
    ip_error why = { .status = IMGPAR_OK };
    st = make_memory(m, s, sizes, &why);
    return st ? fail_symbol(s, sizes, &why, err) : IMGPAR_OK;
}

/* Splits m->kernels, "a;imgpar_global_hits;b", into kernels of the user and symbols, which are made. */
static imgpar_status split_names(imgpar_cl_module *m, char *names, ip_error *err)
{
    ip_str kernels = IP_STR_INIT, symbols = IP_STR_INIT;
    imgpar_status st = IMGPAR_OK;
    bool is_constant;
    char *rest = NULL;
    for (char *name = strtok_r(names, ";", &rest); name && !st; name = strtok_r(NULL, ";", &rest)) {
        const char *symbol = name_of(name, &is_constant);
        ip_str *list = symbol ? &symbols : &kernels;
        ip_str_printf(list, "%s%s", list->length > 0 ? ";" : "", symbol ? symbol : name);
        if (symbol)
            st = add_symbol(m, name, err);
        else if (ip_cl_is_own_name(name))
            st = ip_cl_fail_name(err, "module_new", name);
    }
    if (!st && (kernels.failed || symbols.failed)) st = ip_fail_memory(err, "listing kernels");
    if (!st) {
        m->kernels = ip_strdup(ip_str_text(&kernels));
        m->symbol_names = ip_strdup(ip_str_text(&symbols));
        if (!m->kernels || !m->symbol_names || !ip_cl_sort_names(m->symbol_names))
            st = ip_fail_memory(err, "listing kernels");
    }
    ip_str_free(&kernels);
    ip_str_free(&symbols);
    return st;
}

static size_t count_names(const char *names)
{
    size_t n = 1;
    for (; *names; names++)
        n += *names == ';';
    return n;
}

imgpar_status ip_cl_symbols_read(imgpar_cl_module *m, ip_error *err)
{
    char *names = m->kernels;
    if (!strstr(names, own_prefix)) return IMGPAR_OK;
    m->kernels = NULL;
    m->symbols = ip_zalloc(count_names(names) * sizeof *m->symbols);
    imgpar_status st = m->symbols ? split_names(m, names, err) : ip_fail_memory(err, "making a module");
    ip_free(names);
    return st;
}

void ip_cl_symbols_free(imgpar_cl_module *m)
{
    for (size_t k = 0; k < m->n_symbols; k++) {
        ip_free(m->symbols[k].name);
        imgpar_cl_buffer_release(m->symbols[k].buffer);
    }
    ip_free(m->symbols);
    ip_free(m->symbol_names);
}

const ip_cl_symbol *ip_cl_symbol_find(const imgpar_cl_module *m, const char *name)
{
    for (size_t k = 0; k < m->n_symbols; k++)
        if (strcmp(m->symbols[k].name, name) == 0) return &m->symbols[k];
    return NULL;
}

/* ---- for the host -------------------------------------------------------------------------------- */

const char *imgpar_cl_module_symbols(const imgpar_cl_module *m) { return m && m->symbol_names ? m->symbol_names : ""; }

imgpar_status imgpar_cl_module_symbol(imgpar_cl_module *m, const char *name, imgpar_cl_buffer **out)
{
    ip_error err = { .status = IMGPAR_OK };
    if (out) *out = NULL;
    const ip_cl_symbol *s = out && m && name ? ip_cl_symbol_find(m, name) : NULL;
    if (s)
        *out = imgpar_cl_buffer_retain(s->buffer);
    else if (!out || !m || !name)
        ip_cl_null(&err, "module_symbol", !out ? "out" : m ? "the name" : "the module");
    else
        ip_fail(&err, IMGPAR_E_ARGUMENT, "module_symbol: the module has no global or constant \"%s\"; it has: %s", name,
                m->n_symbols ? m->symbol_names : "none");
    return ip_cl_say(&err);
}
