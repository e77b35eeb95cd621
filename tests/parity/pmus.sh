# shellcheck shell=bash
# PMUs that no machine has, for tests/parity/run.

# make_pmus FOLDER: for the table "pmus". Fills it with the description of an Intel core
# PMU, two memory controllers, an energy counter, an ARM PMU and one with address filters. The kernel refuses their
# events, from perf as from weir, or (of the last one, whose type is that of software) their filters; what is compared
# is what they ask for.

# write_files FOLDER: a line of standard input for each, its name and what is in it.
write_files() {
    local folder=$1 file text
    while read -r file text; do
        mkdir -p "$folder/$(dirname "$file")"
        printf '%s\n' "$text" >"$folder/$file"
    done
}

make_pmus() {
    write_files "$1" <<'END'
software/type 1
tracepoint/type 2
breakpoint/type 5
cpu/type 4
cpu/format/event config:0-7
cpu/format/umask config:8-15
cpu/format/edge config:18
cpu/format/cmask config:24-31
cpu/format/split config:0-7,32-35
cpu/format/ldlat config1:0-15
cpu/format/far config2:4-11
cpu/events/cpu-cycles event=0x3c
cpu/events/mem-loads event=0xcd,umask=0x1,ldlat=3
cpu/events/mem-stores event=0xd0,umask=0x82
cpu/events/parametrized event=0x10,umask=?
cpu/events/topdown-slots event=0x00,umask=0x4
cpu/events/topdown-slots.scale 2
cpu/events/topdown-slots.unit slots
ibs_op/type 12
ibs_op/format/cnt_ctl config:19
ibs_op/format/ldlat config1:0-11
ibs_op/format/swfilt config2:0
power/type 220
power/cpumask 0
power/format/event config:0-7
power/events/energy-pkg event=0x02
power/events/energy-pkg.scale 2.3283064365386962890625e-10
power/events/energy-pkg.unit Joules
uncore_imc_0/type 230
uncore_imc_0/cpumask 0
uncore_imc_0/format/event config:0-7
uncore_imc_0/format/umask config:8-15
uncore_imc_0/events/cas_count_read event=0x04,umask=0x03
trace/type 1
trace/nr_addr_filters 4
trace/format/event config:0-7
box/type 1
box/cpumask 0
box/format/event config:0-7
armv8_pmuv3_0/type 260
armv8_pmuv3_0/format/event config:0-15
armv8_pmuv3_0/format/long config1:0
armv8_pmuv3_0/events/l1d_cache event=0x4
END
}

# make_aux_pmus FOLDER: as of a CPU that has them, with the types of those that are played.
make_aux_pmus() {
    local devices=/sys/bus/event_source/devices
    write_files "$1" <<END
software/type 1
tracepoint/type 2
breakpoint/type 5
intel_bts/type $(cat $devices/intel_bts/type)
intel_pt/type $(cat $devices/intel_pt/type)
intel_pt/nr_addr_filters 2
intel_pt/max_nonturbo_ratio 34
intel_pt/caps/cycle_thresholds 3fff
intel_pt/caps/event_trace 1
intel_pt/caps/mtc 1
intel_pt/caps/mtc_periods 249
intel_pt/caps/psb_cyc 1
intel_pt/caps/psb_periods 3f
intel_pt/caps/topa_multiple_entries 1
intel_pt/format/branch config:13
intel_pt/format/cyc config:1
intel_pt/format/cyc_thresh config:19-22
intel_pt/format/mtc config:9
intel_pt/format/mtc_period config:14-17
intel_pt/format/noretcomp config:11
intel_pt/format/psb_period config:24-27
intel_pt/format/pt config:0
intel_pt/format/tsc config:10
END
}
