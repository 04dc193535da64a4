/* SPDX-License-Identifier: MIT */
/* What the program says about itself, from the operation table and the device list. */
#ifndef IMGPAR_CLI_HELP_H
#define IMGPAR_CLI_HELP_H

/* Each prints on stdout and returns an exit status. */
int print_usage(void);
int print_op(const char *name);
int print_ops(void);
int print_devices(void);

#endif
