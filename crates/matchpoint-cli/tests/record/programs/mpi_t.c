/* A library to preload before an MPI library without variables for its queues. Replaces MPI_T, and has the performance
 * variables of MPICH's queues. The first read returns 41 posted receives and 17 unexpected messages, each further read
 * one more. Checks handles and sessions. A call that a tool must not make ends the process. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int ready, sessions, handles, reads;

static void check(int right, const char *what)
{
    if (right)
        return;
    fprintf(stderr, "MPI_T was used wrongly: %s\n", what);
    _Exit(97);
}

int PMPI_T_init_thread(int required, int *provided)
{
    ready++;
    *provided = required;
    return MPI_SUCCESS;
}

int PMPI_T_finalize(void)
{
    check(--ready >= 0 && sessions == 0 && handles == 0, "something is left at its end");
    return MPI_SUCCESS;
}

int PMPI_T_pvar_get_index(const char *name, int class, int *index)
{
    check(ready, "not initialized");
    if (class != MPI_T_PVAR_CLASS_LEVEL)
        return MPI_T_ERR_INVALID_NAME;
    *index = strcmp(name, "posted_recvq_length") == 0 ? 5 : strcmp(name, "unexpected_recvq_length") == 0 ? 6 : -1;
    return *index < 0 ? MPI_T_ERR_INVALID_NAME : MPI_SUCCESS;
}

int PMPI_T_pvar_get_info(int index, char *name, int *name_length, int *verbosity, int *class, MPI_Datatype *type,
                         MPI_T_enum *names, char *text, int *text_length, int *bind, int *readonly, int *continuous, int *atomic)
{
    check(index == 5 || index == 6, "no such variable");
    if (*name_length > 0)
        name[0] = 0;
    if (*text_length > 0)
        text[0] = 0;
    *verbosity = MPI_T_VERBOSITY_USER_BASIC;
    *class = MPI_T_PVAR_CLASS_LEVEL;
    *type = MPI_UNSIGNED;
    *names = MPI_T_ENUM_NULL;
    *bind = MPI_T_BIND_NO_OBJECT;
    *readonly = *continuous = 1;
    *atomic = 0;
    return MPI_SUCCESS;
}

int PMPI_T_pvar_session_create(MPI_T_pvar_session *session)
{
    sessions++;
    memset(session, 0, sizeof *session);
    return MPI_SUCCESS;
}

int PMPI_T_pvar_session_free(MPI_T_pvar_session *session)
{
    (void)session;
    check(--sessions >= 0, "a session that is none");
    return MPI_SUCCESS;
}

static int known[2];

int PMPI_T_pvar_handle_alloc(MPI_T_pvar_session session, int index, void *object, MPI_T_pvar_handle *handle, int *count)
{
    (void)session;
    check(object == NULL && (index == 5 || index == 6), "a handle of no variable");
    handles++;
    known[index - 5] = index;
    *handle = (MPI_T_pvar_handle)&known[index - 5];
    *count = 1;
    return MPI_SUCCESS;
}

int PMPI_T_pvar_handle_free(MPI_T_pvar_session session, MPI_T_pvar_handle *handle)
{
    (void)session;
    check(--handles >= 0 && *handle != NULL, "a handle that is none");
    *handle = NULL;
    return MPI_SUCCESS;
}

int PMPI_T_pvar_read(MPI_T_pvar_session session, MPI_T_pvar_handle handle, void *value)
{
    (void)session;
    const int *index = (const int *)handle;
    *(unsigned *)value = *index == 5 ? 41 + reads++ : 17 + reads;
    return MPI_SUCCESS;
}
