/* The part of MPI's standard binary interface (MPI-5.0 §20) that the recorder uses. A recorder built with this
 * header works with every library of that interface, without a compiler on the user's system. Values and layouts are
 * the standard's. */
#ifndef MATCHPOINT_MPI_ABI_H
#define MATCHPOINT_MPI_ABI_H

#include <stdint.h>

#define MPI_VERSION 5
#define MPI_SUBVERSION 0
#define MPI_ABI_VERSION 1
#define MPI_ABI_SUBVERSION 0

typedef intptr_t MPI_Aint;
typedef int64_t MPI_Count;
typedef int64_t MPI_Offset;

typedef struct MPI_ABI_Comm *MPI_Comm;
typedef struct MPI_ABI_Datatype *MPI_Datatype;
typedef struct MPI_ABI_Errhandler *MPI_Errhandler;
typedef struct MPI_ABI_File *MPI_File;
typedef struct MPI_ABI_Group *MPI_Group;
typedef struct MPI_ABI_Info *MPI_Info;
typedef struct MPI_ABI_Message *MPI_Message;
typedef struct MPI_ABI_Op *MPI_Op;
typedef struct MPI_ABI_Request *MPI_Request;
typedef struct MPI_ABI_Session *MPI_Session;
typedef struct MPI_ABI_Win *MPI_Win;
typedef struct MPI_T_enum_t *MPI_T_enum;
typedef struct MPI_T_pvar_handle_t *MPI_T_pvar_handle;
typedef struct MPI_T_pvar_session_t *MPI_T_pvar_session;

typedef struct {
    int MPI_SOURCE;
    int MPI_TAG;
    int MPI_ERROR;
    int MPI_internal[5];
} MPI_Status;

#define MPI_ERRORS_RETURN ((MPI_Errhandler)0x143)
#define MPI_COMM_NULL ((MPI_Comm)0x100)
#define MPI_COMM_WORLD ((MPI_Comm)0x101)
#define MPI_COMM_SELF ((MPI_Comm)0x102)
#define MPI_MESSAGE_NULL ((MPI_Message)0x128)
#define MPI_MESSAGE_NO_PROC ((MPI_Message)0x129)
#define MPI_INFO_NULL ((MPI_Info)0x130)
#define MPI_REQUEST_NULL ((MPI_Request)0x180)
#define MPI_PACKED ((MPI_Datatype)0x207)
#define MPI_BYTE ((MPI_Datatype)0x247)

#define MPI_MAX_OBJECT_NAME 128
#define MPI_IN_PLACE ((void *)1)
#define MPI_STATUS_IGNORE ((MPI_Status *)0)
#define MPI_STATUSES_IGNORE ((MPI_Status *)0)
#define MPI_MAX_LIBRARY_VERSION_STRING 8192

enum {
    MPI_SUCCESS = 0,
    MPI_ERR_COUNT = 2,
    MPI_ERR_REQUEST = 7,
    MPI_ERR_TRUNCATE = 15,
    MPI_ERR_OTHER = 16,
    MPI_ERR_PENDING = 18,
    MPI_ERR_IN_STATUS = 19,
    MPI_ERR_NO_MEM = 39,
    MPI_ANY_SOURCE = -1,
    MPI_ANY_TAG = -2,
    MPI_PROC_NULL = -3,
    MPI_ROOT = -4,
    MPI_UNDEFINED = -32766,
    MPI_THREAD_SINGLE = 0,
    MPI_THREAD_FUNNELED = 1024,
    MPI_THREAD_SERIALIZED = 2048,
    MPI_THREAD_MULTIPLE = 4096,
    MPI_COMBINER_NAMED = 101,
    MPI_TAG_UB = 501,
    MPI_T_BIND_NO_OBJECT = 1,
    MPI_T_BIND_MPI_COMM = 2,
    MPI_T_PVAR_CLASS_LEVEL = 2,
    MPI_T_PVAR_CLASS_SIZE = 3,
};

typedef int MPI_Grequest_query_function(void *extra_state, MPI_Status *status);
typedef int MPI_Grequest_free_function(void *extra_state);
typedef int MPI_Grequest_cancel_function(void *extra_state, int complete);

/* Functions that the recorder or the library of overflow matching calls without a definition, or before it. */
int MPI_Cancel(MPI_Request *request);
int MPI_Improbe(int source, int tag, MPI_Comm comm, int *flag, MPI_Message *message, MPI_Status *status);
int MPI_Imrecv(void *buffer, int count, MPI_Datatype type, MPI_Message *message, MPI_Request *request);
int MPI_Imrecv_c(void *buffer, MPI_Count count, MPI_Datatype type, MPI_Message *message, MPI_Request *request);
int MPI_Iprobe(int source, int tag, MPI_Comm comm, int *flag, MPI_Status *status);
int MPI_Irecv(void *buffer, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Request *request);
int MPI_Irecv_c(void *buffer, MPI_Count count, MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Request *request);
int MPI_Isend(const void *buffer, int count, MPI_Datatype type, int rank, int tag, MPI_Comm comm, MPI_Request *request);
int MPI_Isend_c(const void *buffer, MPI_Count count, MPI_Datatype type, int rank, int tag, MPI_Comm comm,
                MPI_Request *request);
int MPI_Recv(void *buffer, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Status *status);
int MPI_Recv_c(void *buffer, MPI_Count count, MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Status *status);
int MPI_Recv_init(void *buffer, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Request *request);
int MPI_Request_free(MPI_Request *request);
int MPI_Request_get_status(MPI_Request request, int *flag, MPI_Status *status);
int MPI_Start(MPI_Request *request);
int MPI_Test(MPI_Request *request, int *flag, MPI_Status *status);
int MPI_Type_dup(MPI_Datatype type, MPI_Datatype *made);
int MPI_Type_free(MPI_Datatype *type);
int MPI_Type_get_envelope(MPI_Datatype type, int *integers, int *addresses, int *datatypes, int *combiner);
int MPI_Testall(int count, MPI_Request requests[], int *flag, MPI_Status statuses[]);
int MPI_Testany(int count, MPI_Request requests[], int *index, int *flag, MPI_Status *status);
int MPI_Testsome(int count, MPI_Request requests[], int *outcount, int indices[], MPI_Status statuses[]);
int MPI_Wait(MPI_Request *request, MPI_Status *status);
int MPI_Waitall(int count, MPI_Request requests[], MPI_Status statuses[]);
int MPI_Waitany(int count, MPI_Request requests[], int *index, MPI_Status *status);
int MPI_Waitsome(int count, MPI_Request requests[], int *outcount, int indices[], MPI_Status statuses[]);
int MPI_Comm_call_errhandler(MPI_Comm comm, int code);
int MPI_Comm_dup(MPI_Comm comm, MPI_Comm *made);
int MPI_Comm_get_attr(MPI_Comm comm, int key, void *value, int *flag);
int MPI_Comm_get_errhandler(MPI_Comm comm, MPI_Errhandler *handler);
int MPI_Comm_get_name(MPI_Comm comm, char *name, int *length);
int MPI_Errhandler_free(MPI_Errhandler *handler);
int MPI_Grequest_complete(MPI_Request request);
int MPI_Grequest_start(MPI_Grequest_query_function *query, MPI_Grequest_free_function *free_function,
                       MPI_Grequest_cancel_function *cancel, void *extra_state, MPI_Request *request);
int MPI_Pack_c(const void *in, MPI_Count count, MPI_Datatype type, void *out, MPI_Count size, MPI_Count *position,
               MPI_Comm comm);
int MPI_Pack_size_c(MPI_Count count, MPI_Datatype type, MPI_Comm comm, MPI_Count *size);
int MPI_Send_init(const void *buffer, int count, MPI_Datatype type, int rank, int tag, MPI_Comm comm, MPI_Request *request);
int MPI_Send_init_c(const void *buffer, MPI_Count count, MPI_Datatype type, int rank, int tag, MPI_Comm comm,
                    MPI_Request *request);
int MPI_Status_set_cancelled(MPI_Status *status, int flag);
int MPI_Comm_group(MPI_Comm comm, MPI_Group *group);
int MPI_Comm_rank(MPI_Comm comm, int *rank);
int MPI_Comm_remote_group(MPI_Comm comm, MPI_Group *group);
int MPI_Comm_remote_size(MPI_Comm comm, int *size);
int MPI_Comm_set_errhandler(MPI_Comm comm, MPI_Errhandler handler);
int MPI_Comm_size(MPI_Comm comm, int *size);
int MPI_Comm_test_inter(MPI_Comm comm, int *flag);
int MPI_Error_class(int code, int *class);
int MPI_Get_count(const MPI_Status *status, MPI_Datatype type, int *count);
int MPI_Status_set_elements(MPI_Status *status, MPI_Datatype type, int count);
int MPI_Get_elements_x(const MPI_Status *status, MPI_Datatype type, MPI_Count *count);
int MPI_Get_library_version(char *version, int *length);
int MPI_Get_version(int *version, int *subversion);
int MPI_Group_free(MPI_Group *group);
int MPI_Group_rank(MPI_Group group, int *rank);
int MPI_Group_size(MPI_Group group, int *size);
int MPI_Group_translate_ranks(MPI_Group from, int count, const int ranks[], MPI_Group to, int translated[]);
int MPI_Group_from_session_pset(MPI_Session session, const char *name, MPI_Group *group);
int MPI_Query_thread(int *provided);
int MPI_T_finalize(void);
int MPI_T_init_thread(int required, int *provided);
int MPI_T_pvar_get_index(const char *name, int var_class, int *pvar_index);
int MPI_T_pvar_get_info(int pvar_index, char *name, int *name_len, int *verbosity, int *var_class, MPI_Datatype *datatype,
                        MPI_T_enum *enumtype, char *desc, int *desc_len, int *bind, int *readonly, int *continuous,
                        int *atomic);
int MPI_T_pvar_handle_alloc(MPI_T_pvar_session session, int pvar_index, void *obj_handle, MPI_T_pvar_handle *handle,
                            int *count);
int MPI_T_pvar_handle_free(MPI_T_pvar_session session, MPI_T_pvar_handle *handle);
int MPI_T_pvar_read(MPI_T_pvar_session session, MPI_T_pvar_handle handle, void *buf);
int MPI_T_pvar_session_create(MPI_T_pvar_session *session);
int MPI_T_pvar_session_free(MPI_T_pvar_session *session);
int MPI_Test_cancelled(const MPI_Status *status, int *flag);
int MPI_Type_size_x(MPI_Datatype type, MPI_Count *size);
int MPI_Type_size(MPI_Datatype type, int *size);

#endif
