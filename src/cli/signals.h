/* SPDX-License-Identifier: MIT */
/*
 * Ctrl-C and its like. Before anything is evaluated a signal ends the program, as it ends any other; from then on the
 * first one asks the evaluation to stop, which closes and removes what it was writing, and a second one ends the
 * program at once.
 */
#ifndef IMGPAR_CLI_SIGNALS_H
#define IMGPAR_CLI_SIGNALS_H

#include <stdbool.h>

/* Whether a write to a pipe that nobody reads ends the process, as it ends others: SIGPIPE was not ignored by who
 * started it. */
bool signals_end_by_pipe(void);
/* Ends the process by SIGPIPE. */
void signals_raise_pipe(void);
/* Notices SIGINT, SIGTERM and SIGHUP from now on, but those that are ignored (nohup); ignores SIGPIPE. */
void signals_catch(void);
/* Has one been seen? An imgpar_options.poll; from its first call on signals are noted. */
int signals_poll(void *user, double done);
bool signals_seen(void);
/* Ends the program by the signal that was seen, as a shell expects that (status 128 + its number, loops stop). */
void signals_raise(void);

#endif
