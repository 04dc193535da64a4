#!/bin/sh
# SPDX-License-Identifier: MIT
#
# driver.sh - automake's test driver, which also notes how many seconds a test took, in its .trs file.
begun=$(date +%s)
sh "$top_srcdir/.aux/test-driver" "$@"
status=$?
while [ "$#" -gt 0 ] && [ "$1" != --trs-file ]; do shift; done
echo ":seconds: $(($(date +%s) - begun))" >> "$2"
exit "$status"
