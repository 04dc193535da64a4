/* SPDX-License-Identifier: MIT */
#include "base/library.h"

#include <dlfcn.h>
#include <string.h>

bool ip_library_load(const char *soname, const ip_library_function *functions, size_t n, void *out)
{
    void *library = dlopen(soname, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    bool ok = library != NULL;
    for (size_t k = 0; ok && k < n; k++) {
        void *function = dlsym(library, functions[k].name);
        memcpy((char *)out + functions[k].offset, &function, sizeof function);
        ok = function != NULL;
    }
    if (library) dlclose(library);
    return ok;
}
