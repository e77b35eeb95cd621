# shellcheck shell=bash
# -G: events that count only what runs in a cgroup.

needs_perf_events

calls=1000
tracepoint=(-e raw_syscalls:sys_enter -c 1 -o it.data)

# The hierarchy that perf events know: $hierarchy; and a cgroup of the case's own in it: $cgroup.
hierarchy=$(awk '$3 == "cgroup" && $4 ~ /(^|,)perf_event(,|$)/ { print $2; found = 1; exit }
    $3 == "cgroup2" && !v2 { v2 = $2 } END { if (!found) print v2 }' /proc/mounts)
set_up() {
    if [ ! "$hierarchy" ] || [ ! -w "$hierarchy/cgroup.procs" ]; then skip "needs a cgroup hierarchy to write to"; fi
    cgroup=weir-test-$BASHPID
    mkdir "$hierarchy/$cgroup" "$hierarchy/$cgroup/below"
    at_end rmdir "$hierarchy/$cgroup"
    at_end rmdir "$hierarchy/$cgroup/below"
}

# inside CGROUP COMMAND: what runs it there.
inside() { echo "sh -c 'echo \$\$ >$hierarchy/$1/cgroup.procs; exec $2'"; }

test_only_what_runs_in_the_cgroup_is_recorded() {
    set_up
    local load="\"$WEIR_LOAD\" getppid $calls"
    record -a "${tracepoint[@]}" -G "$cgroup" -- \
        sh -c "$load; $(inside "$cgroup" "$load"); $(inside "$cgroup/below" "$load"); $load"
    expect_eq "calls" "$(getppid_calls it.data)" $((2 * calls))
    expect_readers_agree it.data
}

test_each_event_has_its_cgroup() {
    set_up
    local load="\"$WEIR_LOAD\" getppid $calls"
    record -a "${tracepoint[@]}" -e raw_syscalls:sys_exit -G "$cgroup/below,$cgroup" -- \
        sh -c "$(inside "$cgroup" "$load"); $(inside "$cgroup/below" "$load")"
    local getppid
    getppid=$("$WEIR_LOAD" number getppid)
    perf_bare script -i it.data --comm "$WEIR_LOAD_NAME" -F event,trace 2>perf.err >samples
    expect_eq "entries" "$(grep -c "sys_enter: *NR $getppid " samples)" $calls
    expect_eq "exits" "$(grep -c "sys_exit: *NR $getppid " samples)" $((2 * calls))
    expect_readers_agree it.data
}

test_cgroups_that_are_not_there() {
    set_up
    status=0
    "$WEIR_PROGRAM" record -a -e cs -G no-such-cgroup -o it.data -- touch ran 2>err || status=$?
    expect_eq "status" "$status" 129
    expect_line err "weir: cannot open cgroup 'no-such-cgroup' in $hierarchy: No such file or directory"
    expect_line err "hint: cgroups are the folders there: find $hierarchy -type d"
    expect_files . err
}

test_units_and_containers_are_recorded() {
    set_up
    local load="\"$WEIR_LOAD\" getppid $calls" id
    id=$(printf 'ab%062d' "$BASHPID")
    mkdir "$hierarchy/$cgroup/$cgroup@1.service" "$hierarchy/$cgroup/$cgroup@2.service" \
        "$hierarchy/$cgroup/docker-$id.scope"
    at_end rmdir "$hierarchy/$cgroup/$cgroup@1.service" "$hierarchy/$cgroup/$cgroup@2.service" \
        "$hierarchy/$cgroup/docker-$id.scope"
    # What completion offers.
    "$WEIR_PROGRAM" help --completion=bash >completion
    bash -c '. ./completion; for kind in unit container cgroup; do _weir_cgroups $kind; done' >offered
    expect_line offered "$cgroup@2.service"
    grep -qx "${id:0:12}" offered || fail "the container is not offered"
    grep -qx "$cgroup/docker-$id.scope" offered || fail "the cgroup is not offered"
    record "${tracepoint[@]}" --unit "$cgroup@" -- \
        sh -c "$load; $(inside "$cgroup/$cgroup@1.service" "$load"); $(inside "$cgroup/$cgroup@2.service" "$load")"
    expect_eq "calls in two units" "$(getppid_calls it.data)" $((2 * calls))
    expect_readers_agree it.data
    record "${tracepoint[@]}" --container "$id" -- sh -c "$load; $(inside "$cgroup/docker-$id.scope" "$load")"
    expect_eq "calls in the container" "$(getppid_calls it.data)" $calls
    record -G "$hierarchy/$cgroup" -a "${tracepoint[@]}" -- sh -c "$load; $(inside "$cgroup" "$load")"
    expect_eq "calls in the cgroup" "$(getppid_calls it.data)" $calls
}

test_names_that_nothing_has() {
    set_up
    weir_record "${tracepoint[@]}" --unit "$cgroup" -- touch ran
    expect_eq "status" "$status" 129
    expect_line err "weir: unit '$cgroup.service' is not running: it has no cgroup in $hierarchy"
    weir_record "${tracepoint[@]}" --container "$cgroup" -- touch ran
    expect_eq "status" "$status" 129
    expect_line err "weir: container '$cgroup' is not running: it has no cgroup in $hierarchy"
    expect_files . err
}
