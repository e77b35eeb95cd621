/*
 * What the tests of `weir record` record: a program whose events can be counted. One mode per kind of load.
 *
 * Threads: main, and those of the mode "threads". Built without sanitizers, so that its calls are its own.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/btf.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/timex.h>
#include <sys/wait.h>
#include <unistd.h>

#define THREADS_MAX  64
#define STATUS_USAGE 2
#define STATUS_LOST  3 /* a child did not end well */

#define PROGRAM_NAME "record_load"

/* Names the task while it makes what is counted: start-up and exit go by the program's name. */
static void be_counted(void)
{
    const char *name = getenv("WEIR_LOAD_NAME");
    prctl(PR_SET_NAME, name ? name : "counted");
}

/* A number of the command line; whatever is none ends the program. */
static long to_number(const char *text)
{
    char *end;
    errno = 0;
    long number = strtol(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || number < 0) {
        fprintf(stderr, PROGRAM_NAME ": '%s' is no number\n", text);
        exit(STATUS_USAGE);
    }
    return number;
}

static volatile unsigned long sink;

/* Where the samples of a task that only computes are found. */
__attribute__((noinline)) static void hot_loop(long rounds)
{
    for (long i = 0; rounds == 0 || i < rounds; i++)
        sink += (unsigned long)i;
}

static void call_getppid(long calls)
{
    for (long i = 0; i < calls; i++)
        syscall(SYS_getppid);
}

static int run_getppid(char **arguments)
{
    be_counted();
    call_getppid(to_number(arguments[0]));
    prctl(PR_SET_NAME, PROGRAM_NAME);
    return 0;
}

/* The numbers by which raw_syscalls:sys_enter names the calls that the tests look for. */
static int run_number(char **arguments)
{
    static const struct {
        const char *name;
        long number;
    } calls[] = {
        {"getppid", SYS_getppid},
        {"futex", SYS_futex},
#ifdef SYS_poll
        {"poll", SYS_poll},
#else
        {"poll", SYS_ppoll},
#endif
    };
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
        if (strcmp(arguments[0], calls[i].name) == 0)
            return printf("%ld\n", calls[i].number) < 0;
    }
    return STATUS_USAGE;
}

static int run_malloc(char **arguments)
{
    be_counted();
    for (long i = to_number(arguments[0]); i > 0; i--) {
        void *volatile memory = malloc(1);
        free(memory);
    }
    prctl(PR_SET_NAME, PROGRAM_NAME);
    return 0;
}

static int run_spin(char **arguments)
{
    hot_loop(to_number(arguments[0]));
    return 0;
}

/* Forks so many children, one after the other; each executes this program, called by a path, as "spin". */
static int fork_children(long count, const char *rounds)
{
    for (long i = count; i > 0; i--) {
        pid_t pid = fork();
        if (pid == 0) {
            execl(program_invocation_name, PROGRAM_NAME, "spin", rounds, (char *)NULL);
            _exit(errno);
        }
        int status;
        if (waitpid(pid, &status, 0) != pid || status != 0)
            return STATUS_LOST;
    }
    return 0;
}

static int run_forks(char **arguments)
{
    return fork_children(to_number(arguments[0]), arguments[1]);
}

/* Threads that were there before recording began wait here. */
static pthread_barrier_t gate;

static void *old_thread(void *calls)
{
    pthread_barrier_wait(&gate);
    call_getppid(*(const long *)calls);
    return NULL;
}

static void *new_thread(void *calls)
{
    call_getppid(*(const long *)calls);
    return NULL;
}

static void start_threads(pthread_t *threads, long count, void *(*body)(void *), long *calls)
{
    for (long i = 0; i < count; i++) {
        if (pthread_create(&threads[i], NULL, body, calls) != 0)
            abort();
    }
}

/* OLD threads, a line on standard input, NEW threads; each of them calls getppid CALLS times, main does not. */
static int run_threads(char **arguments)
{
    pthread_t threads[2 * THREADS_MAX];
    long old_count = to_number(arguments[0]), new_count = to_number(arguments[1]), calls = to_number(arguments[2]);
    if (old_count > THREADS_MAX || new_count > THREADS_MAX)
        return STATUS_USAGE;
    pthread_barrier_init(&gate, NULL, (unsigned)old_count + 1);
    start_threads(threads, old_count, old_thread, &calls);
    if (getchar() == EOF)
        return STATUS_LOST;
    start_threads(threads + old_count, new_count, new_thread, &calls);
    pthread_barrier_wait(&gate);
    for (long i = 0; i < old_count + new_count; i++)
        pthread_join(threads[i], NULL);
    return 0;
}

/* Threads that each call getppid so often, all at once. */
static int serve_threads(long count, long calls)
{
    pthread_t threads[THREADS_MAX];
    if (count > THREADS_MAX)
        return STATUS_USAGE;
    start_threads(threads, count, new_thread, &calls);
    for (long i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
    return 0;
}

/* Maps of this program's own file that can be executed, each of which is recorded. */
static int serve_maps(long count)
{
    int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    int status = file < 0 ? STATUS_LOST : 0;
    for (long i = 0; i < count && status == 0; i++) {
        void *map = mmap(NULL, 1, PROT_READ | PROT_EXEC, MAP_PRIVATE, file, 0);
        if (map == MAP_FAILED || munmap(map, 1) < 0)
            status = STATUS_LOST;
    }
    if (file >= 0)
        close(file);
    return status;
}

/* Names that are the task's for a moment; the last one is that by which its calls are found. */
static void serve_names(long count)
{
    for (long i = 0; i < count; i++) {
        char name[32]; /* the kernel cuts it */
        snprintf(name, sizeof(name), "name-%ld", i);
        prctl(PR_SET_NAME, name);
    }
    be_counted();
}

static int serve_request(const char *request)
{
    char what[16];
    long number, calls = 0;
    if (sscanf(request, "%15s %ld %ld", what, &number, &calls) < 2)
        return STATUS_USAGE;
    if (strcmp(what, "threads") == 0)
        return serve_threads(number, calls);
    if (strcmp(what, "maps") == 0)
        return serve_maps(number);
    if (strcmp(what, "forks") == 0)
        return fork_children(number, "1");
    if (strcmp(what, "exit") == 0)
        exit((int)number);
    if (strcmp(what, "calls") == 0)
        call_getppid(number);
    else if (strcmp(what, "names") == 0)
        serve_names(number);
    else
        return STATUS_USAGE;
    return 0;
}

/* Says its number on one fifo, then does what the lines of another ask for, and says so, too: "calls N", "threads N
 * CALLS", "forks N", "maps N", "names N", "exit STATUS". */
static int run_serve(char **arguments)
{
    FILE *requests = fopen(arguments[0], "r+e"), *answers = fopen(arguments[1], "r+e");
    char request[64];
    int status = 0;
    if (!requests || !answers) {
        perror(PROGRAM_NAME ": serve");
        return STATUS_LOST;
    }
    be_counted();
    fprintf(answers, "%d\n", (int)getpid());
    fflush(answers);
    while (status == 0 && fgets(request, sizeof(request), requests)) {
        status = serve_request(request);
        fprintf(answers, status == 0 ? "done\n" : "failed\n");
        fflush(answers);
    }
    fclose(requests);
    fclose(answers);
    return status;
}

/* Executes COMMAND where a system call is refused with EPERM, as container run times do. */
static int run_without_call(unsigned call, char **arguments)
{
    struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog filter = {.len = sizeof(rules) / sizeof(rules[0]), .filter = rules};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) < 0) {
        perror(PROGRAM_NAME ": seccomp");
        return STATUS_LOST;
    }
    execvp(arguments[0], arguments);
    perror(PROGRAM_NAME ": exec");
    return STATUS_LOST;
}

static int run_without_io_uring(char **arguments)
{
    return run_without_call(SYS_io_uring_setup, arguments);
}

static int run_without_perf_events(char **arguments)
{
    return run_without_call(SYS_perf_event_open, arguments);
}

/* Types of a program of one function: int whole(void). */
struct types {
    struct btf_header header;
    struct btf_type number;
    uint32_t number_bits;
    struct btf_type prototype, function;
    char names[16];
};

static int load_types(void)
{
    struct types types = {
        .header = {.magic = BTF_MAGIC, .version = BTF_VERSION, .hdr_len = sizeof(types.header)},
        .number = {.name_off = 1, .info = BTF_KIND_INT << 24, .size = sizeof(int)},
        .number_bits = 32,
        .prototype = {.info = BTF_KIND_FUNC_PROTO << 24, .type = 1},
        .function = {.name_off = 5, .info = BTF_KIND_FUNC << 24, .type = 2},
        .names = "\0int\0whole",
    };
    types.header.type_len = offsetof(struct types, names) - sizeof(types.header);
    types.header.str_off = types.header.type_len;
    types.header.str_len = sizeof(types.names);
    union bpf_attr attr = {.btf = (uintptr_t)&types, .btf_size = sizeof(types)};
    return (int)syscall(SYS_bpf, BPF_BTF_LOAD, &attr, sizeof(attr));
}

/* Loads a BPF program NAME, which takes every packet whole, and executes COMMAND, which keeps it. */
static int run_bpf(char **arguments)
{
    const struct bpf_insn code[] = {
        {.code = BPF_ALU64 | BPF_MOV | BPF_K},
        {.code = BPF_JMP | BPF_EXIT},
    };
    struct bpf_func_info function = {.type_id = 3};
    int types_fd = load_types();
    union bpf_attr attr = {
        .prog_type = BPF_PROG_TYPE_SOCKET_FILTER,
        .insn_cnt = sizeof(code) / sizeof(code[0]),
        .insns = (uintptr_t)code,
        .license = (uintptr_t) "GPL",
        .prog_btf_fd = (uint32_t)types_fd,
        .func_info_rec_size = sizeof(function),
        .func_info = (uintptr_t)&function,
        .func_info_cnt = 1,
    };
    snprintf(attr.prog_name, sizeof(attr.prog_name), "%s", arguments[0]);
    int fd = types_fd < 0 ? -1 : (int)syscall(SYS_bpf, BPF_PROG_LOAD, &attr, sizeof(attr));
    if (fd < 0 || fcntl(fd, F_SETFD, 0) < 0) {
        perror(PROGRAM_NAME ": bpf");
        return STATUS_LOST;
    }
    execvp(arguments[1], arguments + 1);
    perror(PROGRAM_NAME ": exec");
    return STATUS_LOST;
}

/* Stops one thread of another process, which signals cannot: ptrace(2). Says "held" when it stands. */
static int run_hold(char **arguments)
{
    pid_t task = (pid_t)to_number(arguments[0]);
    char ignored;
    int status;
    if (ptrace(PTRACE_SEIZE, task, NULL, NULL) < 0 || ptrace(PTRACE_INTERRUPT, task, NULL, NULL) < 0 ||
        waitpid(task, &status, __WALL) != task) {
        perror(PROGRAM_NAME ": ptrace");
        return STATUS_LOST;
    }
    puts("held");
    fflush(stdout);
    while (read(STDIN_FILENO, &ignored, sizeof(ignored)) > 0)
        ;
    return ptrace(PTRACE_DETACH, task, NULL, NULL) < 0 ? STATUS_LOST : 0;
}

/* Maps of this program's own file that stay. Says so and waits for the end of standard input. */
static int run_mapped(char **arguments)
{
    char ignored;
    long count = to_number(arguments[0]);
    int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    for (long i = 0; i < count; i++) {
        if (mmap(NULL, 1, PROT_READ | PROT_EXEC, MAP_PRIVATE, file, 0) == MAP_FAILED) {
            perror(PROGRAM_NAME ": mmap");
            return STATUS_LOST;
        }
    }
    puts("mapped");
    fflush(stdout);
    while (read(STDIN_FILENO, &ignored, sizeof(ignored)) > 0)
        ;
    return 0;
}

/* ---- code that is mapped on one CPU and runs on another one ---- */

typedef void (*moved_code_function)(volatile unsigned long *sink, long rounds);

static struct {
    const char *library;
    int map_cpu, run_cpu;
    moved_code_function run; /* NULL: not mapped yet */
    pthread_mutex_t lock;    /* held until mapper() is to map */
} moved = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void go_to_cpu(int cpu)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    if (sched_setaffinity(0, sizeof(set), &set) < 0) {
        perror(PROGRAM_NAME ": sched_setaffinity");
        exit(STATUS_LOST);
    }
}

static void map_code(void)
{
    go_to_cpu(moved.map_cpu);
    void *library = dlopen(moved.library, RTLD_NOW);
    moved.run = library ? (moved_code_function)dlsym(library, "weir_moved_code") : NULL;
    if (!moved.run) {
        fprintf(stderr, PROGRAM_NAME ": %s\n", dlerror());
        exit(STATUS_LOST);
    }
}

static void run_code(long rounds)
{
    be_counted();
    go_to_cpu(moved.run_cpu);
    moved.run(&sink, rounds);
    prctl(PR_SET_NAME, PROGRAM_NAME);
}

static void *mapper(void *ignored)
{
    (void)ignored;
    pthread_mutex_lock(&moved.lock);
    map_code();
    pthread_mutex_unlock(&moved.lock);
    return NULL;
}

/* Maps the library on one CPU, enters a cgroup, and runs the code on another CPU. */
static int run_moves_into(char **arguments)
{
    long rounds = to_number(arguments[4]);
    moved.library = arguments[1];
    moved.map_cpu = (int)to_number(arguments[2]);
    moved.run_cpu = (int)to_number(arguments[3]);
    map_code();
    FILE *tasks = fopen(arguments[0], "we");
    if (!tasks || fprintf(tasks, "%d\n", (int)getpid()) < 0 || fclose(tasks) != 0) {
        perror(PROGRAM_NAME ": cgroup.procs");
        return STATUS_LOST;
    }
    run_code(rounds);
    return 0;
}

/* Maps the library on one CPU and runs its code on another one, once standard input has a line. "task": one task does
 * both. "thread": another thread maps. "child": a child that is forked on the first CPU runs. */
static int run_moves(char **arguments)
{
    const char *who = arguments[0];
    long rounds = to_number(arguments[4]);
    moved.library = arguments[1];
    moved.map_cpu = (int)to_number(arguments[2]);
    moved.run_cpu = (int)to_number(arguments[3]);
    pthread_t thread;
    bool by_thread = strcmp(who, "thread") == 0;
    pthread_mutex_lock(&moved.lock);
    if (by_thread && pthread_create(&thread, NULL, mapper, NULL) != 0)
        return STATUS_LOST;
    char ignored;
    if (read(STDIN_FILENO, &ignored, sizeof(ignored)) < 0)
        return STATUS_LOST;
    pthread_mutex_unlock(&moved.lock);
    if (by_thread)
        pthread_join(thread, NULL);
    else
        map_code();
    pid_t child = strcmp(who, "child") == 0 ? fork() : 0;
    if (child == 0) {
        run_code(rounds);
        return 0;
    }
    int status;
    return waitpid(child, &status, 0) == child && status == 0 ? 0 : STATUS_LOST;
}

static int adjust_clock(struct timex *change)
{
    if (adjtimex(change) >= 0)
        return 0;
    perror(PROGRAM_NAME ": adjtimex");
    return STATUS_LOST;
}

/* Sets the clock of day forward, or back where there is a minus, in one step. */
static int run_step_clock(char **arguments)
{
    int minus = arguments[0][0] == '-';
    long seconds = to_number(arguments[0] + minus);
    struct timex change = {.modes = ADJ_SETOFFSET, .time.tv_sec = minus ? -seconds : seconds};
    return adjust_clock(&change);
}

/* How much all clocks but the raw one go forward by each tick, of which there are 100 a second: 10000 is the truth. */
static int run_tick_clock(char **arguments)
{
    struct timex change = {.modes = ADJ_TICK, .tick = to_number(arguments[0])};
    return adjust_clock(&change);
}

/* Faults in pages at a known address, each by one write, once standard input ends. Huge pages would be fewer faults. */
#define TOUCHED_AT 0x100000000000ull

static int run_touch(char **arguments)
{
    size_t pages = (size_t)to_number(arguments[0]), page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    char byte;
    while (read(STDIN_FILENO, &byte, 1) > 0)
        ;
    char *memory = mmap((void *)(uintptr_t)TOUCHED_AT, pages * page_bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (memory == MAP_FAILED || madvise(memory, pages * page_bytes, MADV_NOHUGEPAGE) < 0) {
        perror(PROGRAM_NAME ": touch");
        return STATUS_LOST;
    }
    for (size_t i = 0; i < pages; i++)
        ((volatile char *)memory)[i * page_bytes] = 1;
    return 0;
}

static const struct {
    const char *name;
    int argument_count; /* at least */
    int (*run)(char **arguments);
} modes[] = {
    {"getppid", 1, run_getppid},                         /* CALLS */
    {"number", 1, run_number},                           /* CALL */
    {"malloc", 1, run_malloc},                           /* CALLS */
    {"spin", 1, run_spin},                               /* ROUNDS, 0: for ever */
    {"forks", 2, run_forks},                             /* CHILDREN ROUNDS */
    {"threads", 3, run_threads},                         /* OLD NEW CALLS */
    {"serve", 2, run_serve},                             /* REQUESTS ANSWERS */
    {"touch", 1, run_touch},                             /* PAGES: after standard input */
    {"bpf", 2, run_bpf},                                 /* NAME COMMAND... */
    {"hold", 1, run_hold},                               /* TASK: until standard input ends */
    {"mapped", 1, run_mapped},                           /* MAPS: until standard input ends */
    {"moves", 5, run_moves},                             /* WHO LIBRARY CPU CPU ROUNDS: after standard input */
    {"moves-into", 5, run_moves_into},                   /* PROCS_FILE LIBRARY CPU CPU ROUNDS */
    {"step-clock", 1, run_step_clock},                   /* SECONDS */
    {"tick-clock", 1, run_tick_clock},                   /* MICROSECONDS */
    {"without-io-uring", 1, run_without_io_uring},       /* COMMAND... */
    {"without-perf-events", 1, run_without_perf_events}, /* COMMAND... */
};

int main(int argc, char **argv)
{
    for (size_t i = 0; argc > 1 && i < sizeof(modes) / sizeof(modes[0]); i++) {
        if (strcmp(argv[1], modes[i].name) == 0 && argc - 2 >= modes[i].argument_count)
            return modes[i].run(argv + 2);
    }
    fprintf(stderr, PROGRAM_NAME ": which load?\n");
    return STATUS_USAGE;
}
