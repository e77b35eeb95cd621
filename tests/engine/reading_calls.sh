#!/usr/bin/env bash
# reading_calls.sh NM PROGRAM: PROGRAM, which is the reading commands alone, takes no function of another library but
# these. Who adds a function here knows which system calls it makes, on glibc and on musl: engine/upkeep/sandbox.c has
# the list, and test_sandbox_walk.c walks it. A function that opens files behind the caller's back (time zones, users,
# locales, character sets, plugins) ends the process in the sandbox, and so does not belong here.
set -euo pipefail

# No system call, or only those of malloc(3).
pure="memchr memcmp memcpy memmem memmove mempcpy memset stpcpy strcasecmp strchr strcmp strcpy strcspn strlen
    strncasecmp strncmp strnlen strpbrk strrchr strspn strstr strtok_r
    strtol strtoll strtoul strtoull fnmatch
    ctype_b_loc ctype_tolower_loc ctype_toupper_loc errno_location
    snprintf vsnprintf asprintf strerror_r xpg_strerror_r strerrordesc_np sigaddset sigemptyset dirfd fileno
    calloc malloc realloc reallocarray free strdup strndup tdestroy tfind tsearch stack_chk_fail"
# Walked.
walked="abort exit _exit raise signal sigprocmask setrlimit fork waitpid pipe2 poll qsort clock_gettime
    read pread write fstat close fflush fprintf vfprintf fputs fputc fputwc putchar puts fwrite"
# Before the sandbox is entered, or in recovery, which may look at names and open for reading.
recovery="open openat opendir fdopendir readdir closedir scandir alphasort nftw stat fstatat lstat statfs faccessat
    access setmntent getmntent_r endmntent elf_begin elf_end elf_kind elf_version sysconf geteuid getauxval getenv"
# Of messages and help, for recordings and before the sandbox alone.
others="clock_nanosleep fcntl getpgrp inotify_add_watch inotify_init1 inotify_rm_watch ioctl isatty pclose popen
    pthread_mutex_destroy pthread_mutex_init pthread_mutex_lock pthread_mutex_unlock setenv strcasestr tcgetpgrp"
# Linked beside a function that they call.
beside="pwrite"
libraries="ZSTD_createDStream ZSTD_decompressStream ZSTD_freeDStream ZSTD_getErrorName ZSTD_isError
    seccomp_attr_set seccomp_init seccomp_load seccomp_release seccomp_rule_add seccomp_rule_add_array
    tep_alloc tep_find_any_field tep_find_event tep_free tep_parse_event tep_print_event tep_register_print_string
    tep_is_file_bigendian tep_set_file_bigendian tep_set_local_bigendian tep_set_loglevel tep_set_long_size
    tep_set_page_size
    trace_seq_destroy trace_seq_init trace_seq_terminate"
# What the compiler and the linker add.
start="_ITM_deregisterTMCloneTable _ITM_registerTMCloneTable __cxa_finalize __gmon_start__ __libc_start_main"

# shellcheck disable=SC2086 # words
known=$(printf '%s\n' $pure $walked $recovery $others $beside $libraries $start)
# __snprintf_chk of _FORTIFY_SOURCE is snprintf, __isoc23_strtoul is strtoul, open64 is open.
unknown=$("$1" -D -u "$2" | awk '{ print $2 }' | sed -e 's/@.*//' |
    sed -E -e 's/^__isoc23_//' -e 's/^__(.*)_chk$/\1/' -e '/^_ITM|^__(cxa|gmon|libc)/!s/^__//' -e 's/64(_r)?$/\1/' |
    sort -u | grep -vxF "$known" || true)
[ -z "$unknown" ] && exit
echo "the reading commands take functions whose system calls nobody has looked at: $unknown"
exit 1
