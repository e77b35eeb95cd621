/*
 * FORK and COMM records of the threads of one process. Runs on the synthesis workers.
 *
 * Synthesis reads as little of /proc as perf's records need. /proc/PID/stat has the name, the parent, the number of
 * threads and whether there is an address space. So weir reads stat and maps of a process with one thread, and stat
 * alone of a kernel thread. For a process with more threads weir also lists task/ and reads each thread's name (comm).
 * perf always lists task/, and reads the much longer task/TID/status of each thread.
 *
 * Deliberate differences from perf's records:
 *
 * - A name with a newline or a backslash stays as it is, as in the kernel's own COMM records; perf uses the escaped
 * form in status.
 *
 * - If the first thread has ended before the others, weir reads the maps from a thread that still runs. perf writes no
 * maps then.
 *
 * - A process whose maps we may not open has its threads all the same; perf leaves them out.
 *
 * Otherwise the records are those of __event__synthesize_thread(), tools/perf of Linux 6.12.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/assert.h"
#include "format/records.h"
#include "format/synth_internal.h"

#define PATH_BYTES 64 /* "PID/task/TID/maps" with the longest numbers */

/* A whole process in hand. */
struct process_walk {
    struct weir_synth_worker *worker;
    pid_t pid;
    bool maps_missing; /* the first thread has given up its address space */
};

/* ---- paths ---- */

static char *put_pid(char *at, pid_t pid)
{
    weir_assert(pid >= 0);
    char digits[12];
    size_t count = 0;
    do {
        digits[count++] = (char)('0' + pid % 10);
        pid /= 10;
    } while (pid);
    while (count)
        *at++ = digits[--count];
    *at = '\0';
    return at;
}

/* ---- small files ---- */

/* Reads a file that one read(2) gives whole into worker->text and ends it with a zero. Its length or -errno. */
static ssize_t read_small(struct weir_synth_worker *worker, int dir_fd, const char *path)
{
    int fd = openat(dir_fd, path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    ssize_t got;
    do {
        got = read(fd, worker->text, sizeof(worker->text) - 1);
    } while (got < 0 && errno == EINTR);
    if (got < 0)
        got = -errno;
    else
        worker->text[got] = '\0';
    close(fd);
    return got;
}

/* 0 with nothing emitted when code says that the task is gone; otherwise code. */
static int count_vanished(struct weir_synth_worker *worker, int code)
{
    if (!weir_synth_is_gone(code))
        return code;
    worker->counts.vanished++;
    return 0;
}

/* ---- records ---- */

static int emit_task(struct weir_synth_worker *worker, pid_t pid, pid_t tid, pid_t parent, const char *comm)
{
    int result = weir_synth_block_reserve(&worker->block);
    if (result < 0)
        return result;
    size_t sample_id_bytes = worker->run->options->sample_id_bytes;
    weir_record_fork(&worker->block.records, pid, parent, tid, parent, sample_id_bytes);
    if (worker->run->options->namespaces)
        weir_record_namespaces(&worker->block.records, pid, tid, worker->namespaces, sample_id_bytes);
    weir_record_comm(&worker->block.records, pid, tid, comm, 0, sample_id_bytes);
    worker->counts.tasks++;
    return 0;
}

/* Those of the process hold for all its threads, as with perf. A number that cannot be read is 0. */
static void read_namespaces(struct weir_synth_worker *worker, pid_t pid)
{
    static const char *const names[WEIR_NAMESPACES] = {"net", "uts", "ipc", "pid", "user", "mnt", "cgroup"};
    memset(worker->namespaces, 0, sizeof(worker->namespaces));
    char path[PATH_BYTES];
    char *at = stpcpy(put_pid(path, pid), "/ns/");
    for (size_t i = 0; i < WEIR_NAMESPACES; i++) {
        struct stat status;
        stpcpy(at, names[i]);
        if (fstatat(worker->run->proc_fd, path, &status, 0) == 0)
            worker->namespaces[i] = (struct weir_namespace){.device = status.st_dev, .inode = status.st_ino};
    }
}

/* ---- threads ---- */

static int synth_thread_maps(struct process_walk *walk, pid_t tid)
{
    char path[PATH_BYTES];
    char *at = stpcpy(put_pid(path, walk->pid), "/task/");
    stpcpy(put_pid(at, tid), "/maps");
    uint64_t maps_before = walk->worker->counts.maps;
    int result = weir_synth_process_maps(walk->worker, walk->pid, path);
    walk->maps_missing = walk->worker->counts.maps == maps_before;
    return result;
}

static int synth_thread(struct process_walk *walk, int task_fd, pid_t tid)
{
    struct weir_synth_worker *worker = walk->worker;
    char path[PATH_BYTES];
    stpcpy(put_pid(path, tid), "/comm");
    ssize_t got = read_small(worker, task_fd, path);
    if (got < 0)
        return count_vanished(worker, (int)got);

    char comm[WEIR_PROC_COMM_BYTES];
    weir_proc_comm_copy(comm, worker->text, (size_t)got);
    int result = emit_task(worker, walk->pid, tid, walk->pid, comm);
    if (result == 0 && walk->maps_missing)
        result = synth_thread_maps(walk, tid);
    return result;
}

/* All threads but the first, which the caller has done. */
static int synth_threads(struct process_walk *walk)
{
    struct weir_synth_worker *worker = walk->worker;
    char path[PATH_BYTES];
    stpcpy(put_pid(path, walk->pid), "/task");
    int task_fd = openat(worker->run->proc_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (task_fd < 0)
        return count_vanished(worker, -errno);

    int result = 0;
    ssize_t got;
    while (result == 0 && (got = getdents64(task_fd, worker->tid_entries, sizeof(worker->tid_entries))) > 0) {
        for (ssize_t at = 0; at < got && result == 0;) {
            const struct dirent64 *entry = (const void *)(worker->tid_entries + at);
            at += entry->d_reclen;
            pid_t tid = weir_synth_entry_pid(entry->d_name);
            if (tid > 0 && tid != walk->pid)
                result = synth_thread(walk, task_fd, tid);
        }
    }
    close(task_fd);
    return result;
}

int weir_synth_process(struct weir_synth_worker *worker, pid_t pid)
{
    char path[PATH_BYTES];
    char *behind_pid = put_pid(path, pid);
    stpcpy(behind_pid, "/stat");
    ssize_t got = read_small(worker, worker->run->proc_fd, path);
    struct weir_proc_stat stat;
    if (got >= 0 && !weir_proc_stat_parse(worker->text, &stat))
        got = -ESRCH; /* cut short by the task's end */
    if (got < 0)
        return count_vanished(worker, (int)got);

    if (worker->run->options->namespaces)
        read_namespaces(worker, pid);
    int result = emit_task(worker, pid, pid, stat.ppid, stat.comm);
    bool has_maps = !worker->run->options->no_maps && pid != worker->run->options->execs_next;
    if (result == 0 && stat.vm_bytes && has_maps) {
        stpcpy(behind_pid, "/maps");
        result = weir_synth_process_maps(worker, pid, path);
    }
    if (result < 0 || stat.threads <= 1)
        return result;
    struct process_walk walk = {
        .worker = worker, .pid = pid, .maps_missing = stat.vm_bytes == 0 && !worker->run->options->no_maps};
    return synth_threads(&walk);
}

pid_t weir_synth_thread_group(struct weir_synth_worker *worker, pid_t tid)
{
    if (tid <= 0)
        return -ESRCH;
    char path[PATH_BYTES];
    stpcpy(put_pid(path, tid), "/status");
    ssize_t got = read_small(worker, worker->run->proc_fd, path);
    if (got < 0)
        return (pid_t)got;
    pid_t tgid = weir_proc_status_tgid(worker->text);
    return tgid > 0 ? tgid : -ESRCH;
}
