# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# stages.sh - runs stages side by side, each within a limit of time, and sums up their tests. Sourced by .ci/run; tests/ci.sh
# tests it.
#
#     stages_begin FOLDER LIMIT_S     output goes to FOLDER; the whole run ends by itself after LIMIT_S
#     stage NAME LIMIT_S COMMAND...   waits for a free lane and starts the command, a function too
#     stages_wait                     until the stages so far have ended; its status tells whether all of them passed
#     stages_end                      the same, then prints the summary and the closing line
#
# A stage tells what it tested by a closing line, "N passed, N failed, N skipped", of which the last one counts. If it has none, its
# lines "PASS: name", "FAIL: name" and "SKIP: name" are counted. The last line "slowest: ..." goes to the summary, and the seconds of
# processor time that the stage took, which a busy machine does not lengthen. One that runs out of time is stopped and fails with what it has.

set -m # a stage is a process group of its own, so that all of it can be stopped

# What a failed stage printed that says why: of Check, of automake's runner, of compilers and make, of sanitizers, valgrind and Oclgrind.
failure_lines=':[FE]:|^(FAIL|ERROR|not ok)|[0-9]+%: Checks.*(Failures: [1-9]|Errors: [1-9])|error:|\*\*\* |runtime error|ERROR: |WARNING: ThreadSanitizer|^(Invalid|Uninitialized|Read-write|Write-write) '
stage_lanes=${CI_LANES:-2}

stages_begin() {
    mkdir -p "$1" || return
    stages_folder=$(cd "$1" && pwd) # stages change folders
    stages_end_s=$((SECONDS + $2)) stages_limit_s=$2
    n_passed=0 n_failed=0 n_skipped=0 n_stages_failed=0
    unset stage_pids stage_names stage_starts stage_ends
    declare -gA stage_pids=() stage_names=() stage_starts=() stage_ends=()
    summary=$stages_folder/ci-summary.txt
    : > "$summary"
    trap stages_stopped INT TERM HUP
}

# stage_log LANE: what its stage prints.
stage_log() { echo "$stages_folder/ci-stage-$1.log"; }

# stage_line TEXT: on the screen, and in the summary.
stage_line() { printf '=== %s\n' "$1" | tee -a "$summary"; }

stage() {
    local name=$1 limit=$2 lane
    shift 2
    stages_free_lane
    lane=$free_lane
    if [ $((stages_end_s - SECONDS)) -lt 1 ]; then
        n_failed=$((n_failed + 1)) n_stages_failed=$((n_stages_failed + 1))
        stage_line "$name: FAILED, not begun: the whole run has had its $stages_limit_s s"
        return
    fi
    printf '=== %s: begins, %d s after the start\n' "$name" "$SECONDS"
    stage_names[$lane]=$name stage_starts[$lane]=$SECONDS stage_ends[$lane]=$((SECONDS + limit))
    touch -d '1 second ago' "$stages_folder/ci-begun-$lane" # what is written in the same tick would not be newer
    stage_run "$@" > "$(stage_log "$lane")" 2>&1 < /dev/null &
    stage_pids[$lane]=$!
}

# stage_run COMMAND...: ends with what the command and all that it has waited for took.
stage_run() {
    local status=0 times=$stages_folder/ci-times-$BASHPID
    "$@" || status=$?
    times > "$times" # in a pipe it would tell of the pipe's own process
    awk '{ for (k = 1; k <= 2; k++) { split($k, t, "m"); s += 60 * t[1] + t[2] } } END { printf "processor time: %.0f s\n", s }' "$times"
    return "$status"
}

# stages_free_lane: waits for one; $free_lane is its number.
stages_free_lane() {
    while :; do
        for ((free_lane = 0; free_lane < stage_lanes; free_lane++)); do
            [ -n "${stage_pids[$free_lane]:-}" ] || return 0
        done
        stages_look
    done
}

# stages_look: closes what has ended or has had its time, and waits a little where nothing has.
stages_look() {
    local lane n=0
    for lane in "${!stage_pids[@]}"; do
        if ! kill -0 "${stage_pids[$lane]}" 2> /dev/null; then
            stage_close "$lane" ""
        elif [ "$SECONDS" -ge "$stages_end_s" ]; then
            stage_close "$lane" "the $stages_limit_s s of the whole run are over"
        elif [ "$SECONDS" -ge "${stage_ends[$lane]}" ]; then
            stage_close "$lane" "its limit is $((stage_ends[$lane] - stage_starts[$lane])) s"
        else
            continue
        fi
        n=$((n + 1))
    done
    [ "$n" -gt 0 ] || sleep 0.2
}

# stage_kill LANE: all of its processes.
stage_kill() {
    local group=${stage_pids[$1]} tenths
    kill -TERM -- "-$group" 2> /dev/null
    for ((tenths = 0; tenths < 50; tenths++)); do
        kill -0 -- "-$group" 2> /dev/null || return 0
        sleep 0.1
    done
    kill -KILL -- "-$group" 2> /dev/null
}

# stage_close LANE WHY: WHY it is stopped; empty if it ended by itself. Prints its output and adds up its tests.
stage_close() {
    local lane=$1 why=$2 status=0 passed failed skipped log result took_s slowest
    log=$(stage_log "$lane")
    [ -z "$why" ] || stage_kill "$lane"
    wait "${stage_pids[$lane]}" 2> /dev/null || status=$?
    local name=${stage_names[$lane]} took=$((SECONDS - stage_starts[$lane]))
    unset "stage_pids[$lane]"
    read -r passed failed skipped < <(stage_tests "$log" "$why")
    if [ -n "$why" ]; then
        result="FAILED, out of time after $took s: $why; until then $passed passed, $failed failed, $skipped skipped$(unfinished "$lane")"
        failed=$((failed + 1))
    elif [ "$status" -ne 0 ] || [ "$failed" -gt 0 ]; then
        [ "$failed" -gt 0 ] || failed=1 # one that broke before its tests is a failure too
        result="FAILED, $took s: $passed passed, $failed failed, $skipped skipped"
    else
        result="passed, $took s: $passed passed, $skipped skipped"
    fi
    took_s=$(sed -n 's/^processor time: //p' "$log" | tail -n 1)
    slowest=$(sed -n 's/^slowest: //p' "$log" | tail -n 1)
    printf '\n=== %s\n' "$name"
    cat "$log"
    stage_line "$name: $result${took_s:+; processor time $took_s}${slowest:+; slowest: $slowest}"
    n_passed=$((n_passed + passed)) n_failed=$((n_failed + failed)) n_skipped=$((n_skipped + skipped))
    case $result in FAILED*)
        n_stages_failed=$((n_stages_failed + 1))
        grep -aE "$failure_lines" "$log" | awk '!seen[$0]++' | tail -n 40 >> "$summary"
        ;;
    esac
}

# stage_tests LOG WHY: "passed failed skipped".
stage_tests() {
    local line=""
    [ -n "$2" ] || line=$(sed -n 's/^\([0-9]*\) passed, \([0-9]*\) failed, \([0-9]*\) skipped$/\1 \2 \3/p' "$1" | tail -n 1)
    echo "${line:-$(awk '/^PASS: /  { p += !seen[$0]++ }
        /^(FAIL|ERROR): / { f += !seen[$0]++ }
        /^SKIP: / { s += !seen[$0]++ }
        END { print p + 0, f + 0, s + 0 }' "$1")}"
}

# unfinished LANE: which of automake's tests were running when it was stopped: they have a log and no result yet.
unfinished() {
    local log
    find . -path '*/tests/*.log' -newer "$stages_folder/ci-begun-$1" 2> /dev/null | sort | while read -r log; do
        [ -f "${log%.log}.trs" ] || printf ', unfinished: %s' "${log%.log}"
    done
}

stages_wait() {
    while [ "${#stage_pids[@]}" -gt 0 ]; do stages_look; done
    [ "$n_stages_failed" -eq 0 ]
}

stages_end() {
    stages_wait
    printf '\n'
    cat "$summary"
    printf '\n%d s in all, %d stages failed\n' "$SECONDS" "$n_stages_failed"
    printf '%d passed, %d failed, %d skipped\n' "$n_passed" "$n_failed" "$n_skipped"
    [ "$n_stages_failed" -eq 0 ] && [ "$n_failed" -eq 0 ]
}

# Stopped from outside: with what there is.
stages_stopped() {
    trap - INT TERM HUP
    stages_end_s=$SECONDS
    n_stages_failed=$((n_stages_failed + 1)) n_failed=$((n_failed + 1))
    stage_line "the whole run: FAILED, stopped from outside after $SECONDS s"
    stages_end
    exit 1
}
