/* A simulated library with MPI's standard binary interface. It does not communicate, and returns the results in
 * `answers`. Functions have both names, as in a real library. */
#include "answers.h"

#include <limits.h>
#include <stddef.h>
#include <string.h>

__thread struct answers answers;

#define FUNCTION(NAME, PARAMETERS)                                             \
    int PMPI_##NAME PARAMETERS;                                                \
    int MPI_##NAME PARAMETERS __attribute__((weak, alias("PMPI_" #NAME)));     \
    int PMPI_##NAME PARAMETERS

/* The recorder searches this function to identify the library. */
FUNCTION(Init, (int *count, char ***arguments))
{
    (void)count, (void)arguments;
    return MPI_SUCCESS;
}

FUNCTION(Init_thread, (int *count, char ***arguments, int required, int *provided))
{
    (void)count, (void)arguments;
    *provided = required;
    return MPI_SUCCESS;
}

FUNCTION(Finalize, (void)) { return MPI_SUCCESS; }

FUNCTION(Query_thread, (int *provided))
{
    *provided = MPI_THREAD_MULTIPLE;
    return MPI_SUCCESS;
}

FUNCTION(Get_library_version, (char *version, int *length))
{
    *length = (int)strlen(strcpy(version, "a library that answers what it is told to"));
    return MPI_SUCCESS;
}

FUNCTION(Get_version, (int *version, int *subversion))
{
    *version = 5, *subversion = 0;
    return MPI_SUCCESS;
}

FUNCTION(Comm_rank, (MPI_Comm comm, int *rank))
{
    (void)comm;
    *rank = 0;
    return MPI_SUCCESS;
}

FUNCTION(Comm_size, (MPI_Comm comm, int *size))
{
    (void)comm;
    *size = PROCESSES;
    return MPI_SUCCESS;
}

FUNCTION(Comm_test_inter, (MPI_Comm comm, int *flag))
{
    (void)comm;
    *flag = 0;
    return MPI_SUCCESS;
}

FUNCTION(Comm_get_parent, (MPI_Comm *parent))
{
    *parent = MPI_COMM_NULL;
    return MPI_SUCCESS;
}

FUNCTION(Comm_group, (MPI_Comm comm, MPI_Group *group))
{
    *group = (MPI_Group)comm;
    return MPI_SUCCESS;
}

FUNCTION(Group_size, (MPI_Group group, int *size))
{
    (void)group;
    *size = answers.members;
    return MPI_SUCCESS;
}

FUNCTION(Group_translate_ranks, (MPI_Group from, int count, const int ranks[], MPI_Group to, int translated[]))
{
    (void)from, (void)to;
    for (int i = 0; i < count; i++)
        translated[i] = answers.ranks[ranks[i]] < 0 ? MPI_UNDEFINED : answers.ranks[ranks[i]];
    return MPI_SUCCESS;
}

FUNCTION(Group_free, (MPI_Group * group))
{
    *group = NULL;
    return MPI_SUCCESS;
}

FUNCTION(Allgather, (const void *in, int in_count, MPI_Datatype in_type, void *out, int out_count, MPI_Datatype out_type,
                     MPI_Comm comm))
{
    (void)in_type, (void)out_count, (void)out_type, (void)comm;
    for (int process = 0; process < PROCESSES; process++) /* all processes are equal; counts are in bytes */
        memcpy((char *)out + (size_t)process * (size_t)in_count, in, (size_t)in_count);
    return MPI_SUCCESS;
}

FUNCTION(Type_size, (MPI_Datatype type, int *size))
{
    *size = type == MPI_BYTE ? 1 : (int)((intptr_t)type - TYPE_BASE);
    return MPI_SUCCESS;
}

static int64_t length_of(const MPI_Status *status)
{
    return (int64_t)status->MPI_internal[INTERNAL_HIGH] << 31 | status->MPI_internal[INTERNAL_LOW];
}

FUNCTION(Get_count, (const MPI_Status *status, MPI_Datatype type, int *count))
{
    (void)type;
    *count = length_of(status) > INT_MAX ? MPI_UNDEFINED : (int)length_of(status);
    return MPI_SUCCESS;
}

FUNCTION(Status_set_elements, (MPI_Status * status, MPI_Datatype type, int count))
{
    (void)type;
    status->MPI_internal[INTERNAL_LOW] = count;
    status->MPI_internal[INTERNAL_HIGH] = 0;
    return MPI_SUCCESS;
}

FUNCTION(Get_elements_x, (const MPI_Status *status, MPI_Datatype type, MPI_Count *count))
{
    (void)type;
    *count = length_of(status);
    return MPI_SUCCESS;
}

FUNCTION(Test_cancelled, (const MPI_Status *status, int *flag))
{
    *flag = status->MPI_internal[INTERNAL_CANCELLED];
    return MPI_SUCCESS;
}

FUNCTION(Cancel, (MPI_Request * request))
{
    (void)request;
    return MPI_SUCCESS;
}

FUNCTION(Send, (const void *buffer, int count, MPI_Datatype type, int rank, int tag, MPI_Comm comm))
{
    (void)buffer, (void)count, (void)type, (void)rank, (void)tag, (void)comm;
    return MPI_SUCCESS;
}

FUNCTION(Recv, (void *buffer, int count, MPI_Datatype type, int rank, int tag, MPI_Comm comm, MPI_Status *status))
{
    (void)buffer, (void)count, (void)type, (void)rank, (void)tag, (void)comm;
    if (status != MPI_STATUS_IGNORE)
        *status = answers.status;
    return MPI_SUCCESS;
}

FUNCTION(Isend, (const void *buffer, int count, MPI_Datatype type, int rank, int tag, MPI_Comm comm, MPI_Request *request))
{
    (void)buffer, (void)count, (void)type, (void)rank, (void)tag, (void)comm;
    *request = answers.request;
    return MPI_SUCCESS;
}

FUNCTION(Irecv, (void *buffer, int count, MPI_Datatype type, int rank, int tag, MPI_Comm comm, MPI_Request *request))
{
    (void)buffer, (void)count, (void)type, (void)rank, (void)tag, (void)comm;
    *request = answers.request;
    return MPI_SUCCESS;
}

FUNCTION(Iprobe, (int rank, int tag, MPI_Comm comm, int *flag, MPI_Status *status))
{
    (void)rank, (void)tag, (void)comm;
    *flag = answers.flag;
    if (answers.flag && status != MPI_STATUS_IGNORE)
        *status = answers.status;
    return MPI_SUCCESS;
}

FUNCTION(Waitall, (int count, MPI_Request requests[], MPI_Status statuses[]))
{
    for (int i = 0; i < count; i++) {
        requests[i] = MPI_REQUEST_NULL;
        if (statuses != MPI_STATUSES_IGNORE)
            statuses[i] = answers.statuses[i];
    }
    return MPI_SUCCESS;
}

FUNCTION(Testsome, (int count, MPI_Request requests[], int *completed, int indices[], MPI_Status statuses[]))
{
    (void)count;
    *completed = answers.completed;
    for (int i = 0; i < answers.completed; i++) {
        indices[i] = answers.indices[i];
        requests[indices[i]] = MPI_REQUEST_NULL;
        if (statuses != MPI_STATUSES_IGNORE)
            statuses[i] = answers.statuses[i];
    }
    return MPI_SUCCESS;
}

FUNCTION(Waitany, (int count, MPI_Request requests[], int *index, MPI_Status *status))
{
    (void)count;
    *index = answers.completed > 0 ? answers.indices[0] : MPI_UNDEFINED;
    if (answers.completed == 0)
        return MPI_SUCCESS;
    requests[*index] = MPI_REQUEST_NULL;
    if (status != MPI_STATUS_IGNORE)
        *status = answers.statuses[0];
    return MPI_SUCCESS;
}

FUNCTION(Comm_create_group, (MPI_Comm comm, MPI_Group group, int tag, MPI_Comm *made))
{
    (void)comm, (void)group, (void)tag;
    *made = answers.comm;
    return MPI_SUCCESS;
}

FUNCTION(Comm_free, (MPI_Comm * comm))
{
    *comm = MPI_COMM_NULL;
    return MPI_SUCCESS;
}
