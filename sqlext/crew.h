/* SPDX-License-Identifier: MIT */
/*
 * crew.h - threads that compute and encode images ahead of the statement that will read them.
 *
 * A task is the images of one row: computed at once, so that what they share is done once, then encoded. The crew
 * touches the library only, never SQLite, whose connection belongs to the thread that steps the statement.
 *
 *     ip_sql_crew *crew = ip_sql_crew_new(4);
 *     ip_sql_crew_submit(crew, task);
 *     if (ip_sql_crew_wait(crew, task, stop, user)) ...      (interrupted)
 *     ip_sql_task_free(task);
 *     ip_sql_crew_free(crew);                                (stops what is still running)
 */
#ifndef IP_SQL_CREW_H
#define IP_SQL_CREW_H

#include "sqlext.h"

#pragma GCC visibility push(hidden)

typedef struct ip_sql_output {
    imgpar_array *array; /* owned; NULL: passed by */
    const char *format;  /* constant */
    bool is_exact;       /* no sink: imgpar_encode_exact() */
    char *settings;      /* of the encoder; owned, for free(); or NULL */
    void *bytes;         /* for imgpar_free() */
    size_t n;
    imgpar_status status;
    char message[256];
    char path[96]; /* for messages: the operations it goes through */
} ip_sql_output;

typedef struct ip_sql_task {
    struct ip_sql_task *next;
    bool is_done;
    char warnings[1024]; /* of the library, each ended by a newline; what has no room is left out */
    int n;
    ip_sql_output outputs[];
} ip_sql_task;

typedef struct ip_sql_crew ip_sql_crew;

/* NULL without memory or threads. */
ip_sql_crew *ip_sql_crew_new(int n_threads);
/* Stops and joins the threads; the tasks that were submitted are the caller's to free, after this. */
void ip_sql_crew_free(ip_sql_crew *crew);
/* Room for n outputs, zeroed. NULL without memory. */
ip_sql_task *ip_sql_task_new(int n);
void ip_sql_task_free(ip_sql_task *task);
/* What the crew does with an output, for where there are no threads. Sets format and settings of options. */
void ip_sql_output_encode(ip_sql_output *o, imgpar_options *options);
void ip_sql_crew_submit(ip_sql_crew *crew, ip_sql_task *task);
/* Waits until task is done; stop is asked now and then, and where it says true the answer is true. */
bool ip_sql_crew_wait(ip_sql_crew *crew, ip_sql_task *task, bool (*stop)(void *user), void *user);
/* How many threads suit this machine. */
int ip_sql_crew_size(void);

#pragma GCC visibility pop

#endif
