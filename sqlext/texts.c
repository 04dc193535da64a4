/* SPDX-License-Identifier: MIT */
/*
 * Texts of apply(), parsed once: a connection keeps the last few, so a statement over many rows parses each of its
 * texts once, be it a literal or a row of a table of pipelines.
 */
#include "sqlext.h"

#include <string.h>

const imgpar_formula *ip_sql_formula(ip_sql_call *call, const char *text)
{
    ip_sql_connection *conn = call->conn;
    ip_sql_text *oldest = &conn->texts[0];
    for (int k = 0; k < IP_SQL_N_TEXTS; k++) {
        ip_sql_text *t = &conn->texts[k];
        if (t->formula && !strcmp(t->text, text)) {
            t->used_at = ++conn->memo_clock;
            return t->formula;
        }
        if (t->used_at < oldest->used_at) oldest = t;
    }
    imgpar_formula *formula = NULL;
    char *copy = sqlite3_mprintf("%s", text);
    if (copy) imgpar_formula_parse(text, &formula);
    if (!formula) {
        sqlite3_free(copy);
        ip_sql_call_fail(call, SQLITE_NOMEM, NULL);
        return NULL;
    }
    conn->n_parsed++;
    imgpar_formula_release(oldest->formula);
    sqlite3_free(oldest->text);
    *oldest = (ip_sql_text){ copy, formula, ++conn->memo_clock };
    return formula;
}

void ip_sql_texts_clear(ip_sql_connection *conn)
{
    for (int k = 0; k < IP_SQL_N_TEXTS; k++) {
        imgpar_formula_release(conn->texts[k].formula);
        sqlite3_free(conn->texts[k].text);
    }
    memset(conn->texts, 0, sizeof conn->texts);
}
