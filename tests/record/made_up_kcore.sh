# shellcheck shell=bash
# A /proc/kcore for kernels that have none. Sourced by the tests of --kcore.
#
# weir then runs in a mount namespace of its own, where /proc is a folder of links to the real one, with an ELF core
# file in it that maps the kernel's addresses and is nearly all holes. perf runs in the same namespace, so that the two
# copies can be compared.

kernel_low=0x80000000 kernel_bytes=0x40000000 # lower half of the first address that is mapped; the upper is all ones

# symbol NAME: the lower half of its address.
symbol() { echo $((0x$(awk -v name="$1" '$3 == name { print substr($1, 9); exit }' /proc/kallsyms))); }

make_kcore() {
    needs_program perl
    [ "$(uname -m)" = x86_64 ] || skip "needs x86-64, for the addresses of a made-up kernel"
    perl -e '
        my ($low, $bytes) = map { hex } @ARGV;
        print "\177ELF\2\1\1", "\0" x 9, pack("S2 L Q3 L S6", 4, 62, 1, 0, 64, 0, 0, 64, 56, 1, 0, 0, 0),
            pack("L2 Q L2 Q4", 1, 7, 4096, $low, 0xffffffff, 0, $bytes, $bytes, 4096);' \
        $kernel_low $kernel_bytes >kcore
    truncate -s $((4096 + kernel_bytes)) kcore
    head -c 4096 /dev/urandom >page # in the place of the kernel's first code
    dd if=page of=kcore bs=4096 seek=$((1 + ($(symbol _stext) - kernel_low) / 4096)) conv=notrunc status=none
}

# shellcheck disable=SC2034 # for who sources this
perf_program=perf

# $WEIR_PROGRAM and $perf_program become ones that see a /proc/kcore.
needs_kcore() {
    needs_root
    [ ! -r /proc/kcore ] || return 0
    needs_program unshare
    unshare -m true 2>/dev/null || skip "needs /proc/kcore, or CAP_SYS_ADMIN: unshare(2)"
    make_kcore
    mkdir real
    with_kcore "$WEIR_PROGRAM" >weir-with-kcore
    with_kcore perf >perf-with-kcore
    chmod +x weir-with-kcore perf-with-kcore
    # shellcheck disable=SC2034
    WEIR_PROGRAM=$PWD/weir-with-kcore perf_program=$PWD/perf-with-kcore
}

# with_kcore PROGRAM: a script that runs it so. perf wants a list of modules, even where the kernel takes none.
with_kcore() {
    cat <<END
#!/bin/bash
exec unshare --mount bash -c '
    mount --rbind /proc "$PWD/real" && mount -t tmpfs tmpfs /proc || exit 1
    ln -sf "$PWD"/real/* /proc/
    # Of tasks that are yet to come, whose pids may begin anew: behind those that the kernel reserves.
    { seq -f "$PWD/real/%.0f" \$\$ \$((\$\$ + 4000)); seq -f "$PWD/real/%.0f" 300 4300; } | xargs ln -sf -t /proc
    cp --sparse=always "$PWD/kcore" /proc/kcore
    [ -e /proc/modules ] || : >/proc/modules
    exec "$1" "\$@"' with-kcore "\$@"
END
}
