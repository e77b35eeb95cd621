/*
 * A program that has itself recorded up to the moment at which something goes wrong:
 *
 *     cc snapshot.c $(pkg-config --cflags --libs weir) -o snapshot
 *     weir record -M 16M -e raw_syscalls:sys_enter -c 1 -- ./snapshot
 *
 * perf.data then holds the calls between its two snapshots: the second has replaced the first. Without weir it runs all
 * the same.
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
    weir_snapshot(weir); /* safe here: it makes one system call, and does not wait */
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
    int result = weir_snapshot_alloc(weir); /* memory for the snapshots to come, and the first of them */
    if (result < 0)
        fprintf(stderr, "no snapshot: %s\n", strerror(-result));

    work();
    raise(SIGUSR1);

    /* Commands are done in order: once this one is answered, the snapshot was written. */
    if (weir_ask(weir, "ping", answer, sizeof(answer)) == 0)
        printf("two snapshots taken\n");
    return 0;
}
