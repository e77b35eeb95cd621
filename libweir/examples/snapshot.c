/*
 * A program whose recording ends at the moment when something goes wrong:
 *
 *     cc snapshot.c $(pkg-config --cflags --libs weir) -o snapshot
 *     weir record -M 16M -e raw_syscalls:sys_enter -c 1 -- ./snapshot
 *
 * perf.data then holds the system calls between its two snapshots: the second has replaced the first. Without weir, the
 * program runs unchanged.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <weir/snapshot.h>

#define CALLS 1000

static int weir;

static void on_trouble(int number)
{
    (void)number;
    weir_snapshot(weir); /* safe here: one system call, without waiting */
}

static void work(void)
{
    for (int i = 0; i < CALLS; i++)
        (void)getppid();
}

int main(void)
{
    char answer[256];
    weir = weir_connect();
    if (weir < 0)
        fprintf(stderr, "not recorded by weir: %s\n", strerror(-weir));
    signal(SIGUSR1, on_trouble);

    work();
    int result = weir_snapshot_alloc(weir); /* reserves memory for later snapshots, and takes the first */
    if (result < 0)
        fprintf(stderr, "no snapshot: %s\n", strerror(-result));

    work();
    raise(SIGUSR1);

    /* weir carries out commands in order: the answer to this one means that the snapshot is written. */
    if (weir_ask(weir, "ping", answer, sizeof(answer)) == 0)
        printf("two snapshots taken\n");
    return 0;
}
