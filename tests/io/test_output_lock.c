/* Several recorders on one path, and recorders that are killed: each is a process of its own, killed by the test. */
#include <criterion/criterion.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "io/output.h"
#include "tests/format/temp_tree.h"

#define HEAD_BYTES 4096u

static struct temp_tree tree; /* each test is a process of its own */
static char path[PATH_MAX];   /* of the output */

static void set_up(void)
{
    temp_tree_init(&tree);
    temp_tree_path(&tree, "file", path);
}

static void tear_down(void)
{
    temp_tree_fini(&tree);
}

TestSuite(output_lock, .init = set_up, .fini = tear_down);

static unsigned entries(void)
{
    DIR *folder = opendir(tree.root);
    cr_assert_not_null(folder);
    unsigned count = 0;
    for (const struct dirent *entry; (entry = readdir(folder));)
        count += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    closedir(folder);
    return count;
}

static int open_output(struct weir_output **output, struct weir_error *err)
{
    return weir_output_open(output, path, &(struct weir_output_options){.engine = WEIR_OUTPUT_WRITEV}, err);
}

/* A process that holds an output with a head until killed. */
static pid_t start_recorder(bool publishes)
{
    int ready[2];
    cr_assert_eq(pipe(ready), 0);
    pid_t pid = fork();
    if (pid == 0) {
        static const char head[HEAD_BYTES];
        struct weir_output *output;
        char good = open_output(&output, NULL) == 0 && weir_output_write_head(output, head, sizeof(head)) == 0 &&
                    (!publishes || weir_output_file_publish(weir_output_file_of(output), NULL) == 0);
        if (write(ready[1], &good, 1) == 1)
            pause();
        _exit(1);
    }
    char good = 0;
    cr_assert_eq(read(ready[0], &good, 1), 1);
    cr_assert_eq(good, 1);
    close(ready[0]);
    close(ready[1]);
    return pid;
}

static void kill_recorder(pid_t pid)
{
    kill(pid, SIGKILL);
    cr_assert_eq(waitpid(pid, NULL, 0), pid);
}

Test(output_lock, second_recorder_is_refused_and_told_the_first_ones_pid)
{
    pid_t pid = start_recorder(true);
    struct weir_output *output = NULL;
    struct weir_error err;
    char holder[64], command[128];
    format_text(holder, sizeof(holder), "is being written by another recorder (pid %d)", (int)pid);
    format_text(command, sizeof(command), "choose another file, or end that recorder first: kill -INT %d", (int)pid);
    cr_assert_eq(open_output(&output, &err), -EBUSY);
    cr_assert_null(output);
    cr_assert(strstr(err.what, holder) && strcmp(err.hint, command) == 0, "%s; %s", err.what, err.hint);
    struct weir_error checked;
    cr_assert_eq(weir_output_file_check(path, &checked), -EBUSY);
    cr_assert_str_eq(checked.what, err.what);
    cr_assert_eq(entries(), 1);
    kill_recorder(pid);
}

Test(output_lock, recorder_that_publishes_second_is_refused)
{
    struct weir_output *output;
    cr_assert_eq(open_output(&output, NULL), 0);
    pid_t pid = start_recorder(true);
    cr_assert_eq(weir_output_file_publish(weir_output_file_of(output), NULL), -EBUSY);
    weir_output_close(output);
    cr_assert_eq(entries(), 1);
    kill_recorder(pid);
}

/* F_GETLK says -1 of a lock that belongs to an open file, and kill -INT -1 would end all there is. */
Test(output_lock, holder_without_a_pid_gets_into_no_command)
{
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    cr_assert_eq(fcntl(fd, F_OFD_SETLK, &lock), 0);
    struct weir_output *output = NULL;
    struct weir_error err;
    cr_assert_eq(open_output(&output, &err), -EBUSY);
    cr_assert(strstr(err.what, "cannot be seen from here"), "%s", err.what);
    cr_assert_str_eq(err.hint, "choose another file; lslocks, run where that process runs, shows who holds this one");
    close(fd);
}

Test(output_lock, lock_ends_with_its_process)
{
    kill_recorder(start_recorder(true));
    struct weir_output *output;
    struct weir_error err = {0};
    cr_assert_eq(open_output(&output, &err), 0, "%s", err.what);
    cr_assert_eq(weir_output_file_publish(weir_output_file_of(output), &err), 0, "%s", err.what);
    weir_output_close(output);
    cr_assert_eq(entries(), 2); /* the killed one's file is the backup */
}

Test(output_lock, killed_recorder_leaves_nothing_unpublished_behind)
{
    int probe = open(tree.root, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
    if (probe < 0)
        cr_skip_test("needs a temporary folder with O_TMPFILE: a hidden name outlives its process");
    close(probe);
    pid_t pid = start_recorder(false);
    cr_assert_eq(entries(), 0);
    kill_recorder(pid);
    cr_assert_eq(entries(), 0);
}

Test(output_lock, killed_recorder_leaves_the_file_that_was_there)
{
    temp_tree_write_text(&tree, "file", "old");
    kill_recorder(start_recorder(false));
    char text[8] = "";
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    cr_assert_eq(read(fd, text, sizeof(text)), 3);
    cr_assert_str_eq(text, "old");
    close(fd);
    cr_assert_eq(entries(), 1);
}
