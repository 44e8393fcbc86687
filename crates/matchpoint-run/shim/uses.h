/* Functions of the library that the shim calls and does not define. */

USED(Comm_call_errhandler);
USED(Comm_get_attr);
USED(Comm_get_errhandler);
USED(Comm_get_name);
USED(Comm_rank);
USED(Comm_remote_size);
USED(Comm_set_errhandler);
USED(Comm_size);
USED(Comm_test_inter);
USED(Errhandler_free);
USED(Get_count);
USED(Get_library_version);
USED(Grequest_complete);
USED(Grequest_start);
USED(Query_thread);
USED(Status_set_cancelled);
USED(Status_set_elements);
USED(Type_dup);
USED(Type_get_envelope);
USED(Type_size);
USED(Type_size_x);

/* Functions that are called before their definition. */
#define DEFINED_BELOW(NAME)                                                                              \
    static struct function function_##NAME __attribute__((used, section("matchpoint_functions"), aligned(32)))
DEFINED_BELOW(Cancel);
DEFINED_BELOW(Improbe);
DEFINED_BELOW(Imrecv);
DEFINED_BELOW(Iprobe);
DEFINED_BELOW(Irecv);
DEFINED_BELOW(Isend);
DEFINED_BELOW(Recv);
DEFINED_BELOW(Recv_init);
DEFINED_BELOW(Request_free);
DEFINED_BELOW(Request_get_status);
DEFINED_BELOW(Start);
DEFINED_BELOW(Type_free);
DEFINED_BELOW(Test);
DEFINED_BELOW(Testall);
DEFINED_BELOW(Wait);
DEFINED_BELOW(Waitall);
DEFINED_BELOW(Waitany);
DEFINED_BELOW(Waitsome);
#if MPI_VERSION >= 4
DEFINED_BELOW(Imrecv_c);
DEFINED_BELOW(Irecv_c);
DEFINED_BELOW(Recv_c);
#endif
