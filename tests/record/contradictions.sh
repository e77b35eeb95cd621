# shellcheck shell=bash
# Options that contradict each other: pairs that perf refuses or warns about, with what perf and weir say. They were
# found by trying all pairs of perf's options; those of which one silently goes before the other are in
# tests/parity/cases/overrides, where what is opened is compared.

needs_perf_events

# status_of FILE COMMAND...: its exit status; what it says on standard error goes to FILE.
status_of() {
    local file=$1 result=0
    shift
    "$@" 2>"$file" >/dev/null </dev/null || result=$?
    echo $result
}

# expect_pair OPTIONS PERF WEIR STATUS: PERF is a part of what perf says ("-" for nothing that matters), WEIR the begin
# of a line of weir's ("-": nothing but the closing lines), STATUS weir's exit status. perf fails where weir does; with
# a "+" behind the status weir records what perf refuses, with a "!" perf records what weir refuses.
expect_pair() {
    local options perf=$2 weir=$3 wanted=${4%[+!]} perf_status weir_status
    eval "options=($1)"
    perf_status=$(status_of perf.err perf record -B -o perf.data "${options[@]}" -- true)
    weir_status=$(status_of err "$WEIR_PROGRAM" record -o it.data "${options[@]}" -- true)
    expect_eq "weir's status with $1" "$weir_status" "$wanted"
    case $4 in
    *+) [ "$perf_status" != 0 ] || fail "perf takes $1" ;;
    *!) expect_eq "perf's status with $1" "$perf_status" 0 ;;
    *) expect_eq "perf's success with $1" $((perf_status == 0)) $((wanted == 0)) ;;
    esac
    [ "$perf" = - ] || expect_line perf.err "$perf"
    if [ "$weir" = - ]; then
        grep -v '^\[ weir record: ' err >said || true
        expect_eq "weir's lines with $1" "$(cat said)" ""
    else
        expect_line err "weir: $weir"
    fi
    if [ "$wanted" != 0 ] && [ -e it.data ]; then fail "a recording was begun with $1"; fi
    rm -rf it.data* perf.data*
}

# expect_pairs: of lines OPTIONS|PERF|WEIR|STATUS on standard input.
expect_pairs() {
    local options perf weir wanted
    while IFS='|' read -r options perf weir wanted; do expect_pair "$options" "$perf" "$weir" "$wanted"; done
}

start_task() {
    sleep 300 &
    task=$!
    at_end kill $task
    # perf wants all of a user's tasks to stay: one who runs nothing else.
    read -ra users <<<"$(getent passwd | awk -F: '$3 > 0 && $3 < 100 { printf "%s ", $1 }')"
    user=${users[$(($$ % ${#users[@]}))]}
    setpriv --reuid "$user" --clear-groups sleep 300 &
    at_end kill $!
}

test_options_that_exclude_each_other() {
    expect_pairs <<'END'
-F 99 -c 5|cannot set frequency and period|cannot set frequency and period at the same time|129
-F max -c 5|cannot set frequency and period|cannot set frequency and period at the same time|129
--all-kernel --all-user|option `all-user' cannot be used with|option '--all-user' cannot be used with '--all-kernel'|129
-b -j any|Can't use --branch-any (-b) with|-b and -j exclude each other|129
-j any -b|Can't use --branch-any (-b) with|-b and -j exclude each other|129
-j any -j u|Can't use --branch-any (-b) with|-b and -j exclude each other|129
-I -IIP|-|option '--intr-regs' is given twice|129
--user-regs=IP --user-regs=SP|-|option '--user-regs' is given twice|129
-k monotonic -k tai|-|option '--clockid' is given twice|129
END
}

test_options_that_need_another_before_them() {
    expect_pairs <<'END'
-G / -e cs|must define events before|cgroup monitoring only available in system-wide mode|129
--filter a -e sched:sched_switch|--filter option should follow|option '--filter' must follow a -e tracepoint|129
-e cs --filter a|does not support address filtering|event cs: sample filter 'a': unknown term 'a'|129
--exclude-perf -e sched:sched_switch|--exclude-perf option should follow a -e tracepoint option|-|0+
-e cs --exclude-perf|--exclude-perf option should follow a -e tracepoint option|-|0+
END
}

test_targets_that_exclude_each_other() {
    start_task
    expect_pairs <<END
-e cs -p $task -a|PID/TID switch overriding SYSTEM|warning: PID/TID switch overriding SYSTEM|0
-e cs -p $task -C 0|PID/TID switch overriding CPU|warning: PID/TID switch overriding CPU|0
-e cs -p $task -u $user|PID/TID switch overriding UID|warning: PID/TID switch overriding UID|0
-e cs -t $task -a|PID/TID switch overriding SYSTEM|warning: PID/TID switch overriding SYSTEM|0
-e cs -t $task -C 0|PID/TID switch overriding CPU|warning: PID/TID switch overriding CPU|0
-e cs -t $task -u $user|PID/TID switch overriding UID|warning: PID/TID switch overriding UID|0
-e cs -u $user -a|UID switch overriding SYSTEM|warning: UID switch overriding SYSTEM|0
-e cs -u $user -C 0|UID switch overriding CPU|warning: UID switch overriding CPU|0
-e cs -a --per-thread|SYSTEM/CPU switch overriding|warning: SYSTEM/CPU switch overriding PER-THREAD|0
-e cs -C 0 --per-thread|SYSTEM/CPU switch overriding|warning: SYSTEM/CPU switch overriding PER-THREAD|0
-e cs -G /|cgroup monitoring only available|cgroup monitoring only available in system-wide mode|129
-e cs -p $task -G /|cgroup monitoring only available|cgroup monitoring only available in system-wide mode|129
-e cs -u $user -G /|cgroup monitoring only available|cgroup monitoring only available in system-wide mode|129
-e cs -C 0 -G /|cgroup monitoring only available in system-wide mode|-|0+
END
}

test_threads_go_with_what_perf_keeps_from_them() {
    expect_pairs <<'END'
-e cs --per-thread --threads|--per-thread option is mutually exclusive to|-|0+
-e cs -a --threads --switch-output|--switch-output option is not available in parallel streaming mode|-|0
-e cs -a --threads --timestamp-filename|--timestamp-filename option is not available in|-|0
-e cs -a --threads -o -|Parallel trace streaming is not available in pipe mode|-|0+
END
}

test_streams_do_not_go_on_in_other_files() {
    expect_pairs <<'END'
-e cs -o - --switch-output|-|a stream ('-o -') cannot be rotated or renamed|129
-e cs -o - --timestamp-filename|-|a stream ('-o -') cannot be rotated or renamed|129
END
}

test_samples_that_exclude_each_other() {
    local frames="--call-graph=lbr and a branch stack need the same registers; recording call chains by frame pointers"
    expect_pairs <<END
-e cycles -b --call-graph lbr|Cannot use LBR callstack with branch stack|warning: $frames|125
-e cycles -j any_call --call-graph lbr|Cannot use LBR callstack with branch stack|warning: $frames|125
-e cs -T --no-timestamp|-|warning: samples keep their time stamps, which order the file|0
END
}

test_options_that_have_no_effect_without_another_one_are_told() {
    local no_chains="has no effect without -g: samples have no call chains"
    expect_pairs <<END
-e cs --switch-max-files 2|-|warning: option '--switch-max-files' has no effect without --switch-output|0
-e cs --kernel-callchains|-|warning: option '--kernel-callchains' $no_chains|0
-e cs --user-callchains|-|warning: option '--user-callchains' $no_chains|0
-e cs/call-graph=fp/ --user-callchains|-|-|0
-e cs --running-time|-|warning: option '--running-time' has no effect without -s or events with :S|0
-e cs -s --running-time|-|-|0
END
    weir_record -e cs --clang-path no -o it.data -- true
    expect_eq "exit status" "$status" 0
    expect_line err "weir: warning: option '--clang-path' has no effect without -e FILE.c"
    weir_record -e cs -M 8M --snapshot-on exit --snapshot-hold-off 5 -o no.data -- true
    expect_eq "exit status" "$status" 129
    expect_line err "weir: option '--snapshot-hold-off' needs --snapshot-on EVENT: no event takes a snapshot"
    [ ! -e no.data ] || fail "it was recorded"

    # What a file of settings says is for the recordings that use it.
    mkdir weir
    printf '[record]\n    off-cpu-thresh = 5\n    kernel-callchains = true\n' >weir/config
    XDG_CONFIG_HOME=$PWD weir_record -e cs -o it.data -- true
    expect_eq "exit status" "$status" 0
    expect_eq "warnings" "$(grep -c warning: err || true)" 0
}
