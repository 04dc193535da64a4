/* SPDX-License-Identifier: MIT */
/* element.h - one element of an array in memory, as a number. */
#ifndef IP_SQL_ELEMENT_H
#define IP_SQL_ELEMENT_H

#include "sqlext.h"

#pragma GCC visibility push(hidden)

double ip_sql_element(imgpar_dtype dtype, const void *p);
/* The element where it is an integer that SQL's INTEGER holds; false: it is none. */
bool ip_sql_whole(imgpar_dtype dtype, const void *p, sqlite3_int64 *whole);
/* As a number of JSON: integers with all their digits. */
void ip_sql_append_element(sqlite3_str *s, imgpar_dtype dtype, const void *p);
/* The standard deviation of n whole numbers (of the population), of their sum and that of their squares. */
double ip_sql_deviation(int64_t n, int64_t sum, int64_t squares);
/* As SQL's INTEGER where the dtype is one and it fits, else REAL. */
void ip_sql_result_element(sqlite3_context *ctx, imgpar_dtype dtype, const void *p);
bool ip_sql_dtype_is_complex(imgpar_dtype dtype);
bool ip_sql_dtype_is_float(imgpar_dtype dtype);
/* From black to white; of data the least and greatest value of its dtype, floats count from 0 to 1. */
void ip_sql_range(const imgpar_info *info, double *lo, double *hi);

#pragma GCC visibility pop

#endif
