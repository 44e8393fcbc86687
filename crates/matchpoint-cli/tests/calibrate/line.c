/*
 * Creates two network interfaces, and forwards each frame from one to the other after a delay. Not every Linux kernel
 * has the queueing discipline netem.
 *
 * Usage: line NEAR FAR MICROSECONDS. Prints `ready` when both interfaces exist. Ends at the end of standard input.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

enum { FRAME_BYTES = 2048, FRAMES = 4096 };

struct frame {
    long long due_ns;
    int bytes;
    char data[FRAME_BYTES];
};

/* Frames that wait for their delay, in one direction. */
struct lane {
    int from, to;
    unsigned first, next;
    struct frame frames[FRAMES];
};

static struct lane lanes[2];

static long long now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static int interface(const char *name) {
    struct ifreq request = {.ifr_flags = IFF_TAP | IFF_NO_PI};
    int file = open("/dev/net/tun", O_RDWR | O_NONBLOCK);
    strncpy(request.ifr_name, name, IFNAMSIZ - 1);
    if (file < 0 || ioctl(file, TUNSETIFF, &request) != 0) {
        perror(name);
        exit(77);
    }
    return file;
}

static void take(struct lane *lane, long long delay_ns) {
    for (;;) {
        struct frame *frame = &lane->frames[lane->next % FRAMES];
        char lost[FRAME_BYTES];
        int is_full = lane->next - lane->first == FRAMES;
        int bytes = read(lane->from, is_full ? lost : frame->data, FRAME_BYTES);
        if (bytes <= 0) {
            return;
        }
        if (!is_full) {
            frame->bytes = bytes;
            frame->due_ns = now_ns() + delay_ns;
            lane->next++;
        }
    }
}

/* Forwards the frames that are due. Returns the time when the next frame is due, or a distant time. */
static long long give(struct lane *lane) {
    while (lane->first != lane->next) {
        struct frame *frame = &lane->frames[lane->first % FRAMES];
        if (frame->due_ns > now_ns()) {
            return frame->due_ns;
        }
        if (write(lane->to, frame->data, frame->bytes) < 0) {
            /* An interface that is down loses the frame. */
        }
        lane->first++;
    }
    return now_ns() + 1000000000LL;
}

int main(int argc, char **argv) {
    if (argc != 4) {
        fprintf(stderr, "usage: line NEAR FAR MICROSECONDS\n");
        return 2;
    }
    int near = interface(argv[1]), far = interface(argv[2]);
    long long delay_ns = atoll(argv[3]) * 1000;
    lanes[0].from = lanes[1].to = near;
    lanes[1].from = lanes[0].to = far;
    /* Waiting MPI processes poll, so this process needs priority. */
    struct sched_param first = {.sched_priority = 1};
    sched_setscheduler(0, SCHED_FIFO, &first);
    printf("ready\n");
    fflush(stdout);
    for (;;) {
        long long one = give(&lanes[0]), other = give(&lanes[1]);
        long long wait = (one < other ? one : other) - now_ns();
        struct timespec timeout = {.tv_sec = wait / 1000000000, .tv_nsec = wait > 0 ? wait % 1000000000 : 0};
        struct pollfd files[] = {{near, POLLIN, 0}, {far, POLLIN, 0}, {0, POLLIN, 0}};
        ppoll(files, 3, wait > 0 ? &timeout : &(struct timespec){0}, NULL);
        if (files[2].revents != 0) {
            return 0;
        }
        take(&lanes[0], delay_ns);
        take(&lanes[1], delay_ns);
    }
}
