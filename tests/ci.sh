#!/bin/sh
# SPDX-License-Identifier: MIT
#
# ci.sh - what .ci/run is made of (.ci/stages.sh): stages run side by side, tests are added up, a stage or a run that is out of time
# says so and fails with what it has; and what runs Check programs (in_one_process.sh).
. "${srcdir:-.}/tests/common.sh"
stages=$top_srcdir/.ci/stages.sh
[ -f "$stages" ] || skip "a release has no .ci"
command -v bash > /dev/null || skip "no bash"
scratch

# run LIMIT LINE...: stages in a folder of their own, within LIMIT seconds; what they print is in the file "out".
run() {
    limit=$1
    shift
    { echo "set -uo pipefail; . '$stages'; stages_begin build $limit"; printf '%s\n' "$@" stages_end; } > script
    status=0
    bash script > out 2>&1 || status=$?
}
closing() { tail -n 1 out; }
has() { grep -q -- "$2" out || fail "$1: \"$2\" does not stand in $(cat out)"; }

run 60 'stage good 60 echo "3 passed, 0 failed, 1 skipped"' \
    'two() { echo "PASS: a"; echo "SKIP: b"; echo "PASS: c"; }' 'stage lines 60 two' 'stage silent 60 true'
expect "closing lines are added up, and where there is none the tests' own lines" "$status $(closing)" "0 5 passed, 0 failed, 2 skipped"

run 60 'lying() { echo "ERROR: ld.so: no such library"; echo "PASS: a"; }' 'stage lying 60 lying'
expect "a stage with a failure in what it says has failed, whatever its status" "$status $(closing)" "1 1 passed, 1 failed, 0 skipped"

run 60 'bad() { echo "1 passed, 2 failed, 0 skipped"; echo "x.c:7:F:the reason"; return 3; }' \
    'stage bad 60 bad' 'stage broken 60 false' 'stage good 60 echo "4 passed, 0 failed, 0 skipped"'
expect "a failed stage stops no other, one that breaks before its tests has failed too" "$status $(closing)" "1 5 passed, 3 failed, 0 skipped"
expect "the summary says why" "$(sed -n '/^=== bad: FAILED/{n;p;}' out | tail -n 1)" "x.c:7:F:the reason"

run 60 'slow() { echo "PASS: one"; mkdir -p b/tests; echo > b/tests/two.log; sleep 99 & echo $! > pid; wait; }' \
    'stage slow 5 slow' 'stage good 60 echo "2 passed, 0 failed, 0 skipped"'
expect "a stage out of time fails with what it has" "$status $(closing)" "1 3 passed, 1 failed, 0 skipped"
has "it says so" "=== slow: FAILED, out of time after [0-9]* s: its limit is 5 s; until then 1 passed, 0 failed, 0 skipped, unfinished: ./b/tests/two"
n=0
while kill -0 "$(cat pid)" 2> /dev/null && [ $n -lt 50 ]; do sleep 0.1; n=$((n + 1)); done # until somebody has waited for it
[ $n -lt 50 ] || fail "what a stopped stage began still runs"

run 5 'stage long 60 sleep 99' 'stage longer 60 sleep 99' 'stage late 60 true'
expect "a run out of time ends by itself" "$status $(closing)" "1 0 passed, 3 failed, 0 skipped"
has "what is cut says so" "=== long: FAILED, out of time after [0-9]* s: the 5 s of the whole run are over"
has "what is left says so" "=== late: FAILED, not begun: the whole run has had its 5 s"

run 60 'meet() { touch "$1"; n=0; until [ -f "$2" ]; do sleep 0.1; n=$((n + 1)); [ $n -lt 200 ] || return 1; done; }' \
    'stage first 60 meet here there' 'stage second 60 meet there here'
expect "two stages run side by side" "$status" 0

# However fast the machine is, until it has taken a second.
run 60 'busy() { local user=0m0; while [ "${user#0m0}" != "$user" ]; do times > busy_times; read -r user _ < busy_times; done; }' \
    'stage busy 60 busy'
has "the summary tells processor time" "=== busy: passed, [0-9]* s: 0 passed, 0 skipped; processor time [1-9][0-9]* s"

run 60 'stopper() { sleep 3; kill -TERM $$; sleep 99; }' 'stage long 60 sleep 99' 'stage stopper 60 stopper'
expect "a run that is stopped has its closing line" "$status $(closing)" "1 0 passed, 3 failed, 0 skipped"

# in_one_process.sh STATUS: what it makes of a program that ends so.
for status in 0 1 77; do
    printf '#!/bin/sh\nexit %d\n' "$status" > program
    chmod +x program
    expect_status "a program that ends with $status" "$status" env -u CK_FORK sh "$top_srcdir/tests/in_one_process.sh" ./program
done
finish
