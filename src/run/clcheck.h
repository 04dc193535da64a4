/* SPDX-License-Identifier: MIT */
/*
 * Checking OpenCL calls: an error code becomes an ip_error that names the call
 * and the code. Every call that can fail is written in one of two forms, so that
 * tests can make the Nth one fail:
 *
 *     cl_int code = IP_CL(clFinish(queue));
 *     if (code) return ip_cl_fail(err, code, "clFinish", NULL);
 *
 *     cl_mem mem = ip_cl_may(&code) ? clCreateBuffer(context, flags, n, NULL, &code) : NULL;
 *     if (code) return ip_cl_fail(err, code, "clCreateBuffer", NULL);
 *
 * The clRelease* calls are not written so: nobody can act on their failure, and
 * leaving one out would be a leak of the test's own making.
 */
#ifndef IP_RUN_CLCHECK_H
#define IP_RUN_CLCHECK_H

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include "base/alloc.h"
#include "base/status.h"

/* What a call that a test fails seems to answer. */
#define IP_CL_INJECTED CL_OUT_OF_RESOURCES

/* What the ICD loader answers when no platform is installed (cl_ext.h). */
#define IP_CL_PLATFORM_NOT_FOUND (-1001)

/* The code that call gives, or the injected one without calling. */
#define IP_CL(call) (ip_fault(IP_FAULT_CL) ? IP_CL_INJECTED : (call))

/* For calls that return an object: true, or false and the injected code in *code. */
bool ip_cl_may(cl_int *code);

/* "CL_OUT_OF_RESOURCES"; "unknown OpenCL error" for codes of extensions. */
const char *ip_cl_error_name(cl_int code);

/* What a code means to the caller of the library. */
imgpar_status ip_cl_status(cl_int code);

/* Records "CALL: NAME (code)" or, with detail, "CALL: NAME (code): detail". */
imgpar_status ip_cl_fail(ip_error *err, cl_int code, const char *call, const char *detail);

#endif
