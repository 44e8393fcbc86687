/* Posted order in libfabric: an older receive from any source, then a receive from one source, then a message that both accept.
 * The older receive must complete first.
 *
 *     cc order.c -lfabric -o order && ./order [PROVIDER]     (shm by default)
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_tagged.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CAPABILITIES = FI_TAGGED | FI_SEND | FI_RECV | FI_DIRECTED_RECV | FI_LOCAL_COMM };

static void check(long status, const char *call)
{
    if (status < 0) {
        fprintf(stderr, "error: %s: %s\n", call, fi_strerror((int)-status));
        exit(EXIT_FAILURE);
    }
}

/* Makes progress. Returns the context of the receive that completed, or NULL. */
static void *read_receive(struct fid_cq *queue)
{
    struct fi_cq_tagged_entry entry;
    ssize_t count = fi_cq_read(queue, &entry, 1);

    if (count == -FI_EAGAIN) {
        return NULL;
    }
    check(count, "fi_cq_read");
    return (entry.flags & FI_RECV) ? entry.op_context : NULL;
}

int main(int argc, char **argv)
{
    struct fi_info *hints = fi_allocinfo(), *info;
    struct fi_cq_attr queue_attributes = {.format = FI_CQ_FORMAT_TAGGED};
    struct fi_av_attr vector_attributes = {.type = FI_AV_TABLE};
    struct fi_context2 any_source, one_source, sent;
    struct fid_fabric *fabric;
    struct fid_domain *domain;
    struct fid_ep *endpoint;
    struct fid_cq *queue;
    struct fid_av *vector;
    char name[512], first[8], second[8], payload[8] = "message";
    size_t length = sizeof(name);
    fi_addr_t self;
    void *completed = NULL;
    ssize_t status;

    hints->fabric_attr->prov_name = strdup(argc > 1 ? argv[1] : "shm");
    hints->ep_attr->type = FI_EP_RDM;
    hints->caps = CAPABILITIES;
    hints->mode = FI_CONTEXT | FI_CONTEXT2;
    check(fi_getinfo(FI_VERSION(1, 20), NULL, NULL, 0, hints, &info), "fi_getinfo");
    check(fi_fabric(info->fabric_attr, &fabric, NULL), "fi_fabric");
    check(fi_domain(fabric, info, &domain, NULL), "fi_domain");
    check(fi_endpoint(domain, info, &endpoint, NULL), "fi_endpoint");
    check(fi_cq_open(domain, &queue_attributes, &queue, NULL), "fi_cq_open");
    check(fi_av_open(domain, &vector_attributes, &vector, NULL), "fi_av_open");
    check(fi_ep_bind(endpoint, &queue->fid, FI_TRANSMIT | FI_RECV), "fi_ep_bind");
    check(fi_ep_bind(endpoint, &vector->fid, 0), "fi_ep_bind");
    check(fi_enable(endpoint), "fi_enable");
    check(fi_getname(&endpoint->fid, name, &length), "fi_getname");
    check(fi_av_insert(vector, name, 1, &self, 0, NULL), "fi_av_insert");

    check(fi_trecv(endpoint, first, sizeof(first), NULL, FI_ADDR_UNSPEC, 7, 0, &any_source), "fi_trecv");
    check(fi_trecv(endpoint, second, sizeof(second), NULL, self, 7, 0, &one_source), "fi_trecv");
    do {
        status = fi_tsend(endpoint, payload, sizeof(payload), NULL, self, 7, &sent);
        completed = read_receive(queue);
    } while (status == -FI_EAGAIN);
    check(status, "fi_tsend");
    while (completed == NULL) {
        completed = read_receive(queue);
    }
    printf("%s: %s\n", info->fabric_attr->prov_name,
           completed == &any_source ? "in order: the older receive, from any source, completed" :
                                      "out of order: the receive from one source overtook the older one");
    return completed == &any_source ? EXIT_SUCCESS : EXIT_FAILURE;
}
