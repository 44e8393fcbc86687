// Derived datatypes, absolute addresses, partitioned communication.
#include "checks.h"

// Every second block of a vector into another layout: few and many blocks, short and long blocks.
static void vector(int other, int blocks, int length) {
    size_t room = (size_t)blocks * (size_t)length * 2;
    unsigned char *out = memory(room), *in = memory(room), *dense = memory(room);
    for (size_t at = 0; at < room; at++) out[at] = (unsigned char)(at * 7 + (size_t)rank);
    MPI_Datatype strided;
    MPI_Type_vector(blocks, length, 2 * length, MPI_BYTE, &strided);
    MPI_Type_commit(&strided);
    for (int way = 0; way < 4; way++) {
        memset(in, 0xEE, room);
        memset(dense, 0xEE, room);
        MPI_Request request;
        MPI_Isend(out, 1, strided, other, 60, MPI_COMM_WORLD, &request);
        if (way & 2) MPI_Probe(other, 60, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (way & 1)
            MPI_Recv(in, 1, strided, other, 60, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        else
            MPI_Recv(dense, blocks * length, MPI_BYTE, other, 60, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        int bad = 0;
        for (int block = 0; block < blocks; block++) {
            for (int at = 0; at < length; at++) {
                size_t from = (size_t)block * 2 * (size_t)length + (size_t)at;
                size_t to = (size_t)block * (size_t)length + (size_t)at;
                unsigned char sent = (unsigned char)(from * 7 + (size_t)other);
                bad += (way & 1 ? in[from] : dense[to]) != sent;
                if (way & 1) bad += in[from + (size_t)length] != 0xEE;
            }
        }
        CHECK(!bad, "%d blocks of %d bytes: %d bytes are wrong", blocks, length, bad);
    }
    MPI_Type_free(&strided);
    free(out), free(in), free(dense);
}

void derived(void) {
    int other = partner();
    if (other < 0) return;
    const int blocks[] = {1, 2, 3, 4, 5, 100, 5000}, length[] = {1, 16, 500, 9000};
    for (int i = 0; i < 7; i++) {
        for (int j = 0; j < 4; j++) {
            if ((long)blocks[i] * length[j] < 2000000) vector(other, blocks[i], length[j]);
        }
    }
}

// A structure with absolute addresses.
void bottom(void) {
    int other = partner();
    if (other < 0) return;
    int number = rank * 3 + 1, number_in = -1;
    double values[300], values_in[300];
    static char text[40000], text_in[40000];
    for (int at = 0; at < 300; at++) values[at] = rank + at * 0.5, values_in[at] = -1;
    for (int at = 0; at < 40000; at++) text[at] = (char)(at + rank), text_in[at] = 0;
    for (int parts = 1; parts <= 3; parts++) {
        int lengths[] = {1, 300, 40000};
        MPI_Datatype kinds[] = {MPI_INT, MPI_DOUBLE, MPI_CHAR}, out, in;
        MPI_Aint places[3], places_in[3];
        MPI_Get_address(&number, &places[0]), MPI_Get_address(values, &places[1]), MPI_Get_address(text, &places[2]);
        MPI_Get_address(&number_in, &places_in[0]), MPI_Get_address(values_in, &places_in[1]);
        MPI_Get_address(text_in, &places_in[2]);
        MPI_Type_create_struct(parts, lengths, places, kinds, &out);
        MPI_Type_create_struct(parts, lengths, places_in, kinds, &in);
        MPI_Type_commit(&out), MPI_Type_commit(&in);
        MPI_Sendrecv(MPI_BOTTOM, 1, out, other, 61, MPI_BOTTOM, 1, in, other, 61, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK(number_in == other * 3 + 1, "a number by its address");
        if (parts > 1) CHECK(values_in[299] == other + 299 * 0.5 && values_in[0] == other, "values by their address");
        if (parts > 2) CHECK(text_in[1] == (char)(1 + other) && text_in[39999] == (char)(39999 + other), "text");
        MPI_Type_free(&out), MPI_Type_free(&in);
    }
}

void partitioned(void) {
#if MPI_VERSION >= 4 && !defined(OPEN_MPI)
    int other = partner();
    if (other < 0) return;
    enum { PARTS = 8 };
    for (int bytes = 8; bytes <= 80000; bytes *= 100) {
        char *out = memory((size_t)bytes * PARTS), *in = memory((size_t)bytes * PARTS);
        MPI_Request requests[2];
        MPI_Psend_init(out, PARTS, bytes, MPI_BYTE, other, 62, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]);
        MPI_Precv_init(in, PARTS, bytes, MPI_BYTE, other, 62, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]);
        for (int round = 0; round < 5; round++) {
            MPI_Startall(2, requests);
            for (int part = 0; part < PARTS; part++) {
                int which = (part * 3 + round) % PARTS;
                memset(out + which * bytes, which + round * 8 + rank, (size_t)bytes);
                MPI_Pready(which, requests[0]);
            }
            MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
            for (int at = 0; at < bytes * PARTS; at++) {
                if (in[at] != (char)(at / bytes + round * 8 + other)) {
                    wrong("partitions of %d bytes: byte %d is wrong in round %d", bytes, at, round);
                    break;
                }
            }
        }
        MPI_Request_free(&requests[0]), MPI_Request_free(&requests[1]);
        free(out), free(in);
    }
#endif
}
