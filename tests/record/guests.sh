# shellcheck shell=bash disable=SC2154 # here: of run
# Guests: their kernels and modules from files made by hand, and what perf makes of samples in them. No machine of ours
# has hardware that samples a guest: the test turns samples of the host into such samples.

needs_perf_events

make_guest() {
    printf '%s\n' 'ffffffff81000000 T _stext' 'ffffffff81000000 T _text' 'ffffffff81001000 T guest_first' \
        'ffffffff81002000 T guest_second' 'ffffffff82000000 T _etext' 'ffffffff83000000 D _edata' \
        $'ffffffffc0001000 t guest_driver\t[driver]' >kallsyms
    echo 'driver 16384 0 - Live 0xffffffffc0000000 (E)' >modules
    mkdir -p mount/4242/proc
    cp kallsyms modules mount/4242/proc
}

# to_guest FILE IP: each sample is of a guest's kernel at IP. Needs a recording whose samples begin with id and ip.
to_guest() {
    python3 - "$@" <<'END'
import struct, sys
data = bytearray(open(sys.argv[1], "rb").read())
at, size = struct.unpack_from("<QQ", data, 40)
end = at + size
while at < end:
    kind, misc, length = struct.unpack_from("<IHH", data, at)
    if kind == 9:
        struct.pack_into("<H", data, at + 4, misc & ~7 | 4)
        struct.pack_into("<Q", data, at + 16, int(sys.argv[2], 16))
    at += length
open(sys.argv[1], "wb").write(data)
END
}

# expect_symbol IP SYMBOL: of samples there, by perf.
expect_symbol() {
    cp it.data guest.data
    to_guest guest.data "$1"
    perf kvm --guest --guestkallsyms kallsyms --guestmodules modules report -i guest.data --stdio >report.txt 2>perf.log
    expect_line report.txt " [g] $2"
    perf script --guestkallsyms kallsyms --guestmodules modules -i guest.data -F ip,sym >script.txt 2>perf.log
    expect_eq "samples with $2" "$(grep -c " $2" script.txt)" "$(wc -l <script.txt)"
}

test_samples_in_a_guest_have_symbols() {
    needs_program python3
    make_guest
    record -a -e cpu-clock -F 499 --guestkallsyms kallsyms --guestmodules modules -o it.data -- \
        "$WEIR_LOAD" spin 20000000
    expect_symbol ffffffff81001234 guest_first
    expect_symbol ffffffff81002010 guest_second
    expect_symbol ffffffffc0001010 guest_driver
}

# maps FILE: of guests, without the end of the kernel, for which versions of perf take _etext or _edata.
maps() {
    perf script --show-mmap-events -i "$1" 2>/dev/null | sed -n 's/.*PERF_RECORD_MMAP //p' |
        grep -F -e guest. -e '[driver]' | sed 's/81000000(0x[0-9a-f]*)/81000000/'
}

test_maps_are_those_of_perf_kvm() {
    make_guest
    perf kvm --host --guest --guestkallsyms kallsyms --guestmodules modules --guestmount mount record -e cpu-clock \
        -o perfs.data -- true >perf.log 2>&1
    record -e cpu-clock --guestkallsyms kallsyms --guestmodules modules --guestmount mount -o it.data -- true
    maps perfs.data >perfs
    expect_eq "maps of perf" "$(wc -l <perfs)" 4
    maps it.data >ours
    diff perfs ours >wrong || fail "$(cat wrong)"
}

test_each_file_describes_the_guests() {
    make_guest
    record -a -e cpu-clock --guestmount mount --switch-output=1s -o it.data -- sleep 1.2
    local file
    for file in it.data.*; do
        expect_eq "maps in $file" "$(maps "$file" | wc -l)" 2
    done
}

# The kernel and modules of this machine, as if it were a guest: files of a real kernel.
test_real_kallsyms_and_modules_are_read() {
    local kernel modules=0
    cat /proc/kallsyms >kallsyms
    if [ -e /proc/modules ]; then cat /proc/modules >modules; else : >modules; fi # none where it cannot load any
    kernel=$(sed -n 's/^\([0-9a-f]*\) T _text$/\1/p' kallsyms)
    modules=$(grep -vc ' 0x0000000000000000' modules) || modules=0
    record -e cpu-clock --guestkallsyms kallsyms --guestmodules modules -o it.data -- true
    perf script --show-mmap-events -i it.data >script.txt 2>/dev/null
    expect_line script.txt "[guest.kernel.kallsyms]_text"
    expect_line script.txt "MMAP 0/0: [0x$kernel("
    expect_eq "modules" "$(grep -c 'PERF_RECORD_MMAP 0/0: .* x \[[^]]*\]$' script.txt || true)" "$modules"
}

test_files_that_cannot_be_read_are_refused() {
    weir_record --guestkallsyms none -o it.data -- true
    expect_eq "status" "$status" 125
    expect_line err "weir: --guestkallsyms: cannot open 'none': No such file or directory"
    [ ! -e it.data ] || fail "there is a recording"
}
