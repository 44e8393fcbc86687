/* Posted receives in libfabric, with two endpoints of one process. Each check prints `Pass CHECK` or `Fail CHECK`.
 *
 *     cc receives.c -lfabric -o receives && ./receives [PROVIDER [domain]]
 *
 * The default provider is shm. `domain`: with FI_THREAD_DOMAIN instead of FI_THREAD_SAFE.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_tagged.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { CAPABILITIES = FI_TAGGED | FI_SEND | FI_RECV | FI_DIRECTED_RECV | FI_LOCAL_COMM, LIMIT_SECONDS = 5, MANY = 64 };

struct side {
    struct fid_ep *endpoint;
    struct fid_cq *queue;
    struct fid_av *vector;
    char name[512];
    size_t length;
};

static struct side receiver, sender;
static fi_addr_t to_receiver;
static char data[MANY][8];
static struct fi_context2 contexts[MANY], sent;
static const char *provider, *threads;
static int status = EXIT_SUCCESS;

static void check(long result, const char *call)
{
    if (result < 0) {
        fprintf(stderr, "error: %s: %s\n", call, fi_strerror((int)-result));
        exit(EXIT_FAILURE);
    }
}

static void report(int passed, const char *name)
{
    printf("%s %s over %s, threads: %s\n", passed ? "Pass" : "Fail", name, provider, threads);
    if (!passed) {
        status = EXIT_FAILURE;
    }
}

static void open_side(struct fid_domain *domain, struct fi_info *info, struct side *side)
{
    struct fi_cq_attr queue_attributes = {.format = FI_CQ_FORMAT_TAGGED};
    struct fi_av_attr vector_attributes = {.type = FI_AV_TABLE};

    check(fi_endpoint(domain, info, &side->endpoint, NULL), "fi_endpoint");
    check(fi_cq_open(domain, &queue_attributes, &side->queue, NULL), "fi_cq_open");
    check(fi_av_open(domain, &vector_attributes, &side->vector, NULL), "fi_av_open");
    check(fi_ep_bind(side->endpoint, &side->queue->fid, FI_TRANSMIT | FI_RECV), "fi_ep_bind");
    check(fi_ep_bind(side->endpoint, &side->vector->fid, 0), "fi_ep_bind");
    check(fi_enable(side->endpoint), "fi_enable");
    side->length = sizeof(side->name);
    check(fi_getname(&side->endpoint->fid, side->name, &side->length), "fi_getname");
}

/* Reads one completion or error of a side. Returns the context of a receive, or NULL. */
static void *read_receive(struct side *side, int *error)
{
    struct fi_cq_tagged_entry entry;
    struct fi_cq_err_entry failed = {0};
    ssize_t count = fi_cq_read(side->queue, &entry, 1);

    *error = 0;
    if (count == -FI_EAVAIL) {
        check(fi_cq_readerr(side->queue, &failed, 0), "fi_cq_readerr");
        *error = failed.err;
        return failed.op_context;
    }
    if (count == -FI_EAGAIN) {
        return NULL;
    }
    check(count, "fi_cq_read");
    return (entry.flags & FI_RECV) ? entry.op_context : NULL;
}

/* Makes progress on both sides until a receive completes. Returns the number of the receive, or -1 after LIMIT_SECONDS. */
static int wait_receive(int *error)
{
    time_t end = time(NULL) + LIMIT_SECONDS;
    int ignored;

    do {
        struct fi_context2 *found = read_receive(&receiver, error);

        if (found) {
            return (int)(found - contexts);
        }
        (void)read_receive(&sender, &ignored);
    } while (time(NULL) < end);
    return -1;
}

static void send_message(uint64_t tag)
{
    static char payload[8] = "message";
    ssize_t result;
    int error;

    while ((result = fi_tsend(sender.endpoint, payload, sizeof(payload), NULL, to_receiver, tag, &sent)) == -FI_EAGAIN) {
        (void)read_receive(&sender, &error);
        (void)read_receive(&receiver, &error);
    }
    check(result, "fi_tsend");
}

static ssize_t post(int number, fi_addr_t source, uint64_t tag)
{
    return fi_trecv(receiver.endpoint, data[number], sizeof(data[number]), NULL, source, tag, 0, &contexts[number]);
}

/* Makes progress without a receive, so that messages arrive. */
static void let_messages_arrive(void)
{
    struct timespec pause = {0, 1000000};
    int turn, error;

    for (turn = 0; turn < 200; turn++) {
        if (read_receive(&receiver, &error)) {
            fprintf(stderr, "error: a receive completed too early\n");
            exit(EXIT_FAILURE);
        }
        (void)read_receive(&sender, &error);
        nanosleep(&pause, NULL);
    }
}

/* A message arrives while its source has no address. Then the source gets the address from which a receive is posted. */
static void check_late_source(void)
{
    fi_addr_t source;
    int error, found;

    check(post(0, 0, 1), "fi_trecv");
    send_message(1);
    let_messages_arrive();
    check(fi_av_insert(receiver.vector, sender.name, 1, &source, 0, NULL), "fi_av_insert");
    if (source != 0) {
        fprintf(stderr, "error: the first address is not 0\n");
        exit(EXIT_FAILURE);
    }
    /* A search: the embedding delivers the message then, at the latest. */
    check(post(1, FI_ADDR_UNSPEC, 2), "fi_trecv");
    found = wait_receive(&error);
    report(found == 0 && !error, "late source");
    if (found < 0) {
        check(fi_cancel(&receiver.endpoint->fid, &contexts[0]), "fi_cancel");
        (void)wait_receive(&error);
        check(post(0, 0, 1), "fi_trecv");
        (void)wait_receive(&error);
    }
    send_message(2);
    if (wait_receive(&error) != 1 || error) {
        fprintf(stderr, "error: the receive from any source did not complete\n");
        exit(EXIT_FAILURE);
    }
}

/* An older receive from any source, then a receive from one source, then messages that both accept. */
static void check_posted_order(void)
{
    int error, first, second;

    check(post(0, FI_ADDR_UNSPEC, 7), "fi_trecv");
    check(post(1, 0, 7), "fi_trecv");
    send_message(7);
    first = wait_receive(&error);
    send_message(7);
    second = wait_receive(&error);
    report(first == 0 && second == 1, "posted order");
}

/* Equal receives. Some are cancelled, also twice; the others complete in order. */
static void check_cancel(void)
{
    int number, error, found, passed = 1;

    for (number = 0; number < MANY; number++) {
        check(post(number, 0, 9), "fi_trecv");
    }
    for (number = MANY - 1; number >= 0; number -= 2) {
        check(fi_cancel(&receiver.endpoint->fid, &contexts[number]), "fi_cancel");
        (void)fi_cancel(&receiver.endpoint->fid, &contexts[number]);
        found = wait_receive(&error);
        passed &= found == number && error == FI_ECANCELED;
    }
    for (number = 0; number < MANY; number += 2) {
        send_message(9);
        found = wait_receive(&error);
        passed &= found == number && !error;
    }
    report(passed, "cancel");
}

/* A receive from a source whose low 32 bits are an address: it is refused, and takes no message of that address. */
static void check_large_address(void)
{
    ssize_t result = post(0, (fi_addr_t)1 << 32, 11);

    report(result == -FI_EINVAL, "large address");
}

int main(int argc, char **argv)
{
    struct fi_info *hints = fi_allocinfo(), *info;
    struct fid_fabric *fabric;
    struct fid_domain *domain;

    provider = argc > 1 ? argv[1] : "shm";
    threads = argc > 2 ? argv[2] : "safe";
    hints->fabric_attr->prov_name = strdup(provider);
    hints->ep_attr->type = FI_EP_RDM;
    hints->caps = CAPABILITIES;
    hints->mode = FI_CONTEXT | FI_CONTEXT2;
    hints->domain_attr->threading = strcmp(threads, "domain") == 0 ? FI_THREAD_DOMAIN : FI_THREAD_SAFE;
    check(fi_getinfo(FI_VERSION(1, 20), NULL, NULL, 0, hints, &info), "fi_getinfo");
    check(fi_fabric(info->fabric_attr, &fabric, NULL), "fi_fabric");
    check(fi_domain(fabric, info, &domain, NULL), "fi_domain");
    open_side(domain, info, &receiver);
    open_side(domain, info, &sender);
    check(fi_av_insert(sender.vector, receiver.name, 1, &to_receiver, 0, NULL), "fi_av_insert");
    check_late_source();
    check_posted_order();
    check_cancel();
    check_large_address();
    return status;
}
