/* SPDX-License-Identifier: MIT */
/* element.h - one element of an array in memory, as a number. */
#ifndef IP_SQL_ELEMENT_H
#define IP_SQL_ELEMENT_H

#include "sqlext.h"

#pragma GCC visibility push(hidden)

double ip_sql_element(imgpar_dtype dtype, const void *p);
/* As SQL's INTEGER where the dtype is one and it fits, else REAL. */
void ip_sql_result_element(sqlite3_context *ctx, imgpar_dtype dtype, const void *p);
bool ip_sql_dtype_is_complex(imgpar_dtype dtype);
bool ip_sql_dtype_is_float(imgpar_dtype dtype);
/* From black to white; of data the least and greatest value of its dtype, floats count from 0 to 1. */
void ip_sql_range(const imgpar_info *info, double *lo, double *hi);

#pragma GCC visibility pop

#endif
