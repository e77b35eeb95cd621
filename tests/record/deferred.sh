# shellcheck shell=bash disable=SC2154 # here: of run
# Deferred call chains (--call-graph fp,defer). The kernel of Linux 6.19 writes them; an older one says no, and the
# simulated kernel stands in for the file.

needs_program perf

# Whether the kernel has the bits.
has_deferral() { printf '6.19\n%s\n' "$(uname -r)" | sort -V -C; }

test_kernel_without_them_is_named() {
    ! has_deferral || skip "this kernel has deferred call chains"
    local status=0
    "$WEIR_PROGRAM" record -q --call-graph fp,defer -o it.data true 2>err || status=$?
    expect_eq "status" "$status" 125
    expect_line err "': this kernel refuses --call-graph=fp,defer"
    expect_line err "hint: --call-graph=fp,defer needs Linux 6.19"
    [ ! -e it.data ] || fail "a file is left behind"
}

test_kernel_with_them_records_whole_chains() {
    has_deferral || skip "needs Linux 6.19"
    record --call-graph fp,defer -e cpu-clock -o it.data -- "$WEIR_LOAD" getppid 200000
    "$WEIR_PROGRAM" dump it.data >records
    ! grep -q CALLCHAIN_DEFERRED records || fail "a record is left"
    perf script -i it.data >/dev/null 2>err
    ! grep -qi "invalid" err || fail "$(cat err)"
}

# Of each sample perf shows the six frames of the kernel and 7 to 39 of the user; or its own address, where a chunk
# ended before the user part.
test_perf_reads_whole_chains() {
    "$WEIR_PROGRAM" bench drain -q --cpus 2 --mix deferred --records 20000 --closed-loop -o it.data >told
    perf script -i it.data -F ip,event 2>err | awk '
        /^cpu-clock/ { samples++; next }
        /^$/ { parts[kernel + 0, user >= 7 && user <= 39 ? "user" : user + 0]++; kernel = user = 0; next }
        $1 ~ /^ffffffff81/ { kernel++; next }
        { user++ }
        END { print samples + 0, parts[6, "user"] + 0, parts[6, 1] + 0 }' >found
    local samples joined apart
    read -r samples joined apart <found
    expect_eq "samples" "$samples" 40000
    expect_eq "samples with the kernel's part" "$((joined + apart))" 40000
    expect_line told "joined    $joined of 40000 deferred call chains have their user part"
    [ "$joined" -gt 39900 ] || fail "$joined"
    ! grep -qi "invalid callchain\|unknown" err || fail "$(cat err)"
    "$WEIR_PROGRAM" dump it.data >records
    ! grep -q "CALLCHAIN_DEFERRED\|USER_DEFERRED" records || fail "a record or mark is left"
    "$WEIR_PROGRAM" info it.data >facts
    expect_line facts "joined          $joined of 40000 deferred call chains have their user part"
    "$WEIR_PROGRAM" verify it.data >/dev/null || fail "weir verify"
}
