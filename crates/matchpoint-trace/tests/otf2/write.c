/* Writes a small OTF2 archive as a measurement of two processes would be, the first with two threads: the argument is the
 * folder to make. What main.rs expects of it is in the order of these lines. */
#include <otf2/otf2.h>

static OTF2_FlushType flush(void* data, OTF2_FileType type, OTF2_LocationRef location, void* caller, bool final) {
    (void)data, (void)type, (void)location, (void)caller, (void)final;
    return OTF2_FLUSH;
}

static OTF2_TimeStamp last(void* data, OTF2_FileType type, OTF2_LocationRef location) {
    (void)data, (void)type, (void)location;
    return 100000;
}

static OTF2_FlushCallbacks callbacks = {.otf2_pre_flush = flush, .otf2_post_flush = last};

enum { INIT, ISEND, IRECV, WAITALL, SEND, RECV, BARRIER, SENDRECV, TEST, START, CANCEL, WAIT, FINALIZE, SOLVE, REGIONS };
static const char* const names[REGIONS] = {"MPI_Init", "MPI_Isend", "MPI_Irecv", "MPI_Waitall", "MPI_Ssend",
    "MPI_Recv", "MPI_Barrier", "MPI_Sendrecv", "MPI_Test", "MPI_Startall", "MPI_Cancel", "MPI_Wait", "MPI_Finalize", "solve"};

/* Ticks of 10 ns: each event is one later than the one before. */
static uint64_t now[3] = {1000, 1000, 1500};
#define AT(location) NULL, now[location]++
#define ENTER(location, region) OTF2_EvtWriter_Enter(w[location], AT(location), region)
#define LEAVE(location, region) OTF2_EvtWriter_Leave(w[location], AT(location), region)

enum { WORLD, OTHER };

static void first(OTF2_EvtWriter** w) {
    ENTER(0, SOLVE);
    ENTER(0, INIT), LEAVE(0, INIT);
    /* Two receives, completed the other way round, one of them by a wait for both, with a send. */
    ENTER(0, IRECV), OTF2_EvtWriter_MpiIrecvRequest(w[0], AT(0), 71), LEAVE(0, IRECV);
    ENTER(0, IRECV), OTF2_EvtWriter_MpiIrecvRequest(w[0], AT(0), 72), LEAVE(0, IRECV);
    ENTER(0, ISEND), OTF2_EvtWriter_MpiIsend(w[0], AT(0), 1, WORLD, 5, 800, 73), LEAVE(0, ISEND);
    ENTER(0, TEST), OTF2_EvtWriter_MpiRequestTest(w[0], AT(0), 72), LEAVE(0, TEST);
    ENTER(0, WAITALL);
    OTF2_EvtWriter_MpiIrecv(w[0], AT(0), 1, WORLD, 7, 40, 72);
    OTF2_EvtWriter_MpiIrecv(w[0], AT(0), 1, WORLD, 6, 30, 71);
    OTF2_EvtWriter_MpiIsendComplete(w[0], AT(0), 73);
    LEAVE(0, WAITALL);
    /* In a communicator of both, the other way round: here we are 1. */
    ENTER(0, SENDRECV);
    OTF2_EvtWriter_MpiSend(w[0], AT(0), 0, OTHER, 8, 16);
    OTF2_EvtWriter_MpiRecv(w[0], AT(0), 0, OTHER, 8, 24);
    LEAVE(0, SENDRECV);
    /* Begun together. */
    ENTER(0, START);
    OTF2_EvtWriter_MpiIsend(w[0], AT(0), 1, WORLD, 9, 8, 74);
    OTF2_EvtWriter_MpiIrecvRequest(w[0], AT(0), 75);
    LEAVE(0, START);
    ENTER(0, WAITALL);
    OTF2_EvtWriter_MpiIsendComplete(w[0], AT(0), 74);
    OTF2_EvtWriter_MpiIrecv(w[0], AT(0), 1, WORLD, 9, 8, 75);
    LEAVE(0, WAITALL);
    /* Never gets a message. */
    ENTER(0, IRECV), OTF2_EvtWriter_MpiIrecvRequest(w[0], AT(0), 76), LEAVE(0, IRECV);
    ENTER(0, CANCEL), LEAVE(0, CANCEL);
    ENTER(0, WAIT), OTF2_EvtWriter_MpiRequestCancelled(w[0], AT(0), 76), LEAVE(0, WAIT);
    now[0] = 2000;
    ENTER(0, BARRIER), OTF2_EvtWriter_MpiCollectiveBegin(w[0], AT(0));
    OTF2_EvtWriter_MpiCollectiveEnd(
        w[0], AT(0), OTF2_COLLECTIVE_OP_BARRIER, WORLD, OTF2_COLLECTIVE_ROOT_NONE, 0, 0);
    LEAVE(0, BARRIER);
    ENTER(0, FINALIZE), LEAVE(0, FINALIZE);
    LEAVE(0, SOLVE);
}

static void second(OTF2_EvtWriter** w) {
    ENTER(1, INIT), LEAVE(1, INIT);
    ENTER(1, SEND), OTF2_EvtWriter_MpiSend(w[1], AT(1), 0, WORLD, 6, 30), LEAVE(1, SEND);
    ENTER(1, SEND), OTF2_EvtWriter_MpiSend(w[1], AT(1), 0, WORLD, 7, 40), LEAVE(1, SEND);
    ENTER(1, RECV), OTF2_EvtWriter_MpiRecv(w[1], AT(1), 0, WORLD, 5, 800), LEAVE(1, RECV);
    ENTER(1, SENDRECV);
    OTF2_EvtWriter_MpiSend(w[1], AT(1), 1, OTHER, 8, 24);
    OTF2_EvtWriter_MpiRecv(w[1], AT(1), 1, OTHER, 8, 16);
    LEAVE(1, SENDRECV);
    ENTER(1, SEND), OTF2_EvtWriter_MpiSend(w[1], AT(1), 0, WORLD, 9, 8), LEAVE(1, SEND);
    ENTER(1, RECV), OTF2_EvtWriter_MpiRecv(w[1], AT(1), 0, WORLD, 9, 8), LEAVE(1, RECV);
    ENTER(1, RECV), OTF2_EvtWriter_MpiRecv(w[1], AT(1), 0, WORLD, 10, 4), LEAVE(1, RECV);
    ENTER(1, BARRIER), OTF2_EvtWriter_MpiCollectiveBegin(w[1], AT(1));
    OTF2_EvtWriter_MpiCollectiveEnd(
        w[1], AT(1), OTF2_COLLECTIVE_OP_BARRIER, WORLD, OTF2_COLLECTIVE_ROOT_NONE, 0, 0);
    LEAVE(1, BARRIER);
    ENTER(1, FINALIZE), LEAVE(1, FINALIZE);
}

/* The other thread of the first process. */
static void thread(OTF2_EvtWriter** w) {
    ENTER(2, SEND), OTF2_EvtWriter_MpiSend(w[2], AT(2), 1, WORLD, 10, 4), LEAVE(2, SEND);
}

static void define(OTF2_GlobalDefWriter* d, OTF2_EvtWriter** w) {
    uint64_t events, world[2] = {0, 1}, other[2] = {1, 0};
    OTF2_GlobalDefWriter_WriteClockProperties(d, 100000000, 1000, 2000, OTF2_UNDEFINED_TIMESTAMP);
    OTF2_GlobalDefWriter_WriteString(d, 100, "");
    for (uint32_t at = 0; at < REGIONS; ++at) {
        OTF2_Paradigm paradigm = at == SOLVE ? OTF2_PARADIGM_USER : OTF2_PARADIGM_MPI;
        OTF2_GlobalDefWriter_WriteString(d, at, names[at]);
        OTF2_GlobalDefWriter_WriteRegion(
            d, at, at, at, 100, OTF2_REGION_ROLE_FUNCTION, paradigm, OTF2_REGION_FLAG_NONE, 100, 0, 0);
    }
    OTF2_GlobalDefWriter_WriteSystemTreeNode(d, 0, 100, 100, OTF2_UNDEFINED_SYSTEM_TREE_NODE);
    for (uint32_t rank = 0; rank < 2; ++rank) {
        OTF2_GlobalDefWriter_WriteLocationGroup(
            d, rank, 100, OTF2_LOCATION_GROUP_TYPE_PROCESS, 0, OTF2_UNDEFINED_LOCATION_GROUP);
    }
    for (uint32_t at = 0; at < 3; ++at) {
        OTF2_EvtWriter_GetNumberOfEvents(w[at], &events);
        OTF2_GlobalDefWriter_WriteLocation(d, at, 100, OTF2_LOCATION_TYPE_CPU_THREAD, events, at == 1);
    }
    OTF2_GlobalDefWriter_WriteGroup(
        d, 0, 100, OTF2_GROUP_TYPE_COMM_LOCATIONS, OTF2_PARADIGM_MPI, OTF2_GROUP_FLAG_NONE, 2, world);
    OTF2_GlobalDefWriter_WriteGroup(
        d, 1, 100, OTF2_GROUP_TYPE_COMM_GROUP, OTF2_PARADIGM_MPI, OTF2_GROUP_FLAG_NONE, 2, world);
    OTF2_GlobalDefWriter_WriteGroup(
        d, 2, 100, OTF2_GROUP_TYPE_COMM_GROUP, OTF2_PARADIGM_MPI, OTF2_GROUP_FLAG_NONE, 2, other);
    OTF2_GlobalDefWriter_WriteComm(d, WORLD, 100, 1, OTF2_UNDEFINED_COMM, OTF2_COMM_FLAG_NONE);
    OTF2_GlobalDefWriter_WriteComm(d, OTHER, 100, 2, WORLD, OTF2_COMM_FLAG_NONE);
}

int main(int count, char** arguments) {
    OTF2_EvtWriter* w[3];
    OTF2_Archive* archive = count < 2 ? NULL
                                      : OTF2_Archive_Open(arguments[1], "traces", OTF2_FILEMODE_WRITE, 1024 * 1024,
                                            4 * 1024 * 1024, OTF2_SUBSTRATE_POSIX, OTF2_COMPRESSION_NONE);
    if (!archive) return 1;
    OTF2_Archive_SetFlushCallbacks(archive, &callbacks, NULL);
    OTF2_Archive_SetSerialCollectiveCallbacks(archive);
    OTF2_Archive_OpenEvtFiles(archive);
    for (int at = 0; at < 3; ++at) w[at] = OTF2_Archive_GetEvtWriter(archive, at);
    first(w);
    second(w);
    thread(w);
    define(OTF2_Archive_GetGlobalDefWriter(archive), w);
    for (int at = 0; at < 3; ++at) OTF2_Archive_CloseEvtWriter(archive, w[at]);
    OTF2_Archive_CloseEvtFiles(archive);
    OTF2_Archive_OpenDefFiles(archive);
    for (int at = 0; at < 3; ++at) OTF2_Archive_CloseDefWriter(archive, OTF2_Archive_GetDefWriter(archive, at));
    OTF2_Archive_CloseDefFiles(archive);
    return OTF2_Archive_Close(archive) != OTF2_SUCCESS;
}
