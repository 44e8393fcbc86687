/* The calls that count.h counts, one macro each. A macro's own name is not expanded in it: MPI_Send within
 * MPI_Send is the function. */

/* Messages. */
#define MPI_Send(b, n, t, to, ...) (count_send(COUNTED_Send, n, t, to), MPI_Send(b, n, t, to, __VA_ARGS__))
#define MPI_Bsend(b, n, t, to, ...) (count_send(COUNTED_Bsend, n, t, to), MPI_Bsend(b, n, t, to, __VA_ARGS__))
#define MPI_Ssend(b, n, t, to, ...) (count_send(COUNTED_Ssend, n, t, to), MPI_Ssend(b, n, t, to, __VA_ARGS__))
#define MPI_Rsend(b, n, t, to, ...) (count_send(COUNTED_Rsend, n, t, to), MPI_Rsend(b, n, t, to, __VA_ARGS__))
#define MPI_Isend(b, n, t, to, ...) (count_send(COUNTED_Isend, n, t, to), MPI_Isend(b, n, t, to, __VA_ARGS__))
#define MPI_Ibsend(b, n, t, to, ...) (count_send(COUNTED_Ibsend, n, t, to), MPI_Ibsend(b, n, t, to, __VA_ARGS__))
#define MPI_Issend(b, n, t, to, ...) (count_send(COUNTED_Issend, n, t, to), MPI_Issend(b, n, t, to, __VA_ARGS__))
#define MPI_Irsend(b, n, t, to, ...) (count_send(COUNTED_Irsend, n, t, to), MPI_Irsend(b, n, t, to, __VA_ARGS__))
#define MPI_Send_c(b, n, t, to, ...) (count_send(COUNTED_Send_c, n, t, to), MPI_Send_c(b, n, t, to, __VA_ARGS__))
#define MPI_Isend_c(b, n, t, to, ...) (count_send(COUNTED_Isend_c, n, t, to), MPI_Isend_c(b, n, t, to, __VA_ARGS__))
#define MPI_Bsend_c(b, n, t, to, ...) (count_send(COUNTED_Bsend_c, n, t, to), MPI_Bsend_c(b, n, t, to, __VA_ARGS__))
#define MPI_Ssend_c(b, n, t, to, ...) (count_send(COUNTED_Ssend_c, n, t, to), MPI_Ssend_c(b, n, t, to, __VA_ARGS__))
#define MPI_Rsend_c(b, n, t, to, ...) (count_send(COUNTED_Rsend_c, n, t, to), MPI_Rsend_c(b, n, t, to, __VA_ARGS__))
#define MPI_Ibsend_c(b, n, t, to, ...)                                                                                 \
    (count_send(COUNTED_Ibsend_c, n, t, to), MPI_Ibsend_c(b, n, t, to, __VA_ARGS__))
#define MPI_Issend_c(b, n, t, to, ...)                                                                                 \
    (count_send(COUNTED_Issend_c, n, t, to), MPI_Issend_c(b, n, t, to, __VA_ARGS__))
#define MPI_Irsend_c(b, n, t, to, ...)                                                                                 \
    (count_send(COUNTED_Irsend_c, n, t, to), MPI_Irsend_c(b, n, t, to, __VA_ARGS__))

/* Receives. */
#define MPI_Recv(b, n, t, from, tag, ...)                                                                              \
    (count_receive(COUNTED_Recv, from, tag), MPI_Recv(b, n, t, from, tag, __VA_ARGS__))
#define MPI_Irecv(b, n, t, from, tag, ...)                                                                             \
    (count_receive(COUNTED_Irecv, from, tag), MPI_Irecv(b, n, t, from, tag, __VA_ARGS__))
#define MPI_Recv_c(b, n, t, from, tag, ...)                                                                            \
    (count_receive(COUNTED_Recv_c, from, tag), MPI_Recv_c(b, n, t, from, tag, __VA_ARGS__))
#define MPI_Irecv_c(b, n, t, from, tag, ...)                                                                           \
    (count_receive(COUNTED_Irecv_c, from, tag), MPI_Irecv_c(b, n, t, from, tag, __VA_ARGS__))

/* Receives after a matched probe. */
#define MPI_Mrecv(b, n, t, m, ...) (count_matched_receive(COUNTED_Mrecv, *(m)), MPI_Mrecv(b, n, t, m, __VA_ARGS__))
#define MPI_Imrecv(b, n, t, m, ...) (count_matched_receive(COUNTED_Imrecv, *(m)), MPI_Imrecv(b, n, t, m, __VA_ARGS__))
#define MPI_Mrecv_c(b, n, t, m, ...)                                                                                   \
    (count_matched_receive(COUNTED_Mrecv_c, *(m)), MPI_Mrecv_c(b, n, t, m, __VA_ARGS__))
#define MPI_Imrecv_c(b, n, t, m, ...)                                                                                  \
    (count_matched_receive(COUNTED_Imrecv_c, *(m)), MPI_Imrecv_c(b, n, t, m, __VA_ARGS__))

/* Both. */
#define MPI_Sendrecv(b, n, t, to, s, b2, n2, t2, from, tag, ...)                                                       \
    (count_both(COUNTED_Sendrecv, n, t, to, from, tag),                                                                \
     MPI_Sendrecv(b, n, t, to, s, b2, n2, t2, from, tag, __VA_ARGS__))
#define MPI_Isendrecv(b, n, t, to, s, b2, n2, t2, from, tag, ...)                                                      \
    (count_both(COUNTED_Isendrecv, n, t, to, from, tag),                                                               \
     MPI_Isendrecv(b, n, t, to, s, b2, n2, t2, from, tag, __VA_ARGS__))
#define MPI_Sendrecv_c(b, n, t, to, s, b2, n2, t2, from, tag, ...)                                                     \
    (count_both(COUNTED_Sendrecv_c, n, t, to, from, tag),                                                              \
     MPI_Sendrecv_c(b, n, t, to, s, b2, n2, t2, from, tag, __VA_ARGS__))
#define MPI_Sendrecv_replace(b, n, t, to, s, from, tag, ...)                                                           \
    (count_both(COUNTED_Sendrecv_replace, n, t, to, from, tag),                                                        \
     MPI_Sendrecv_replace(b, n, t, to, s, from, tag, __VA_ARGS__))
#define MPI_Isendrecv_replace(b, n, t, to, s, from, tag, ...)                                                          \
    (count_both(COUNTED_Isendrecv_replace, n, t, to, from, tag),                                                       \
     MPI_Isendrecv_replace(b, n, t, to, s, from, tag, __VA_ARGS__))
#define MPI_Isendrecv_c(b, n, t, to, s, b2, n2, t2, from, tag, ...)                                                    \
    (count_both(COUNTED_Isendrecv_c, n, t, to, from, tag),                                                             \
     MPI_Isendrecv_c(b, n, t, to, s, b2, n2, t2, from, tag, __VA_ARGS__))
#define MPI_Sendrecv_replace_c(b, n, t, to, s, from, tag, ...)                                                         \
    (count_both(COUNTED_Sendrecv_replace_c, n, t, to, from, tag),                                                      \
     MPI_Sendrecv_replace_c(b, n, t, to, s, from, tag, __VA_ARGS__))
#define MPI_Isendrecv_replace_c(b, n, t, to, s, from, tag, ...)                                                        \
    (count_both(COUNTED_Isendrecv_replace_c, n, t, to, from, tag),                                                     \
     MPI_Isendrecv_replace_c(b, n, t, to, s, from, tag, __VA_ARGS__))

/* Persistent requests. They count as messages at each start. */
#define COUNTED_TO(n, t, to) ((struct counted_request){.peer = to, .bytes = count_bytes(n, t)})
#define COUNTED_FROM(from, label) ((struct counted_request){.receives = true, .peer = from, .tag = label})
#define MPI_Send_init(b, n, t, to, tag, c, r)                                                                          \
    (count_call(COUNTED_Send_init),                                                                                    \
     count_init(MPI_Send_init(b, n, t, to, tag, c, counted_made = (r)), COUNTED_TO(n, t, to)))
#define MPI_Bsend_init(b, n, t, to, tag, c, r)                                                                         \
    (count_call(COUNTED_Bsend_init),                                                                                   \
     count_init(MPI_Bsend_init(b, n, t, to, tag, c, counted_made = (r)), COUNTED_TO(n, t, to)))
#define MPI_Ssend_init(b, n, t, to, tag, c, r)                                                                         \
    (count_call(COUNTED_Ssend_init),                                                                                   \
     count_init(MPI_Ssend_init(b, n, t, to, tag, c, counted_made = (r)), COUNTED_TO(n, t, to)))
#define MPI_Rsend_init(b, n, t, to, tag, c, r)                                                                         \
    (count_call(COUNTED_Rsend_init),                                                                                   \
     count_init(MPI_Rsend_init(b, n, t, to, tag, c, counted_made = (r)), COUNTED_TO(n, t, to)))
#define MPI_Send_init_c(b, n, t, to, tag, c, r)                                                                        \
    (count_call(COUNTED_Send_init_c),                                                                                  \
     count_init(MPI_Send_init_c(b, n, t, to, tag, c, counted_made = (r)), COUNTED_TO(n, t, to)))
#define MPI_Bsend_init_c(b, n, t, to, tag, c, r)                                                                       \
    (count_call(COUNTED_Bsend_init_c),                                                                                 \
     count_init(MPI_Bsend_init_c(b, n, t, to, tag, c, counted_made = (r)), COUNTED_TO(n, t, to)))
#define MPI_Ssend_init_c(b, n, t, to, tag, c, r)                                                                       \
    (count_call(COUNTED_Ssend_init_c),                                                                                 \
     count_init(MPI_Ssend_init_c(b, n, t, to, tag, c, counted_made = (r)), COUNTED_TO(n, t, to)))
#define MPI_Rsend_init_c(b, n, t, to, tag, c, r)                                                                       \
    (count_call(COUNTED_Rsend_init_c),                                                                                 \
     count_init(MPI_Rsend_init_c(b, n, t, to, tag, c, counted_made = (r)), COUNTED_TO(n, t, to)))
#define MPI_Recv_init(b, n, t, from, tag, c, r)                                                                        \
    (count_call(COUNTED_Recv_init),                                                                                    \
     count_init(MPI_Recv_init(b, n, t, from, tag, c, counted_made = (r)), COUNTED_FROM(from, tag)))
#define MPI_Recv_init_c(b, n, t, from, tag, c, r)                                                                      \
    (count_call(COUNTED_Recv_init_c),                                                                                  \
     count_init(MPI_Recv_init_c(b, n, t, from, tag, c, counted_made = (r)), COUNTED_FROM(from, tag)))
#define MPI_Start(r) (count_call(COUNTED_Start), count_start(*(r)), MPI_Start(r))
#define MPI_Startall(n, r) (count_startall(n, r), MPI_Startall(n, r))
#define MPI_Request_free(r) (count_request_free(*(r)), MPI_Request_free(r))

/* First and last call. */
#define MPI_Init(argc, argv) (count_begin(COUNTED_Init, argc, *(argv)), MPI_Init(argc, argv))
#define MPI_Init_thread(argc, argv, ...)                                                                               \
    (count_begin(COUNTED_Init_thread, argc, *(argv)), MPI_Init_thread(argc, argv, __VA_ARGS__))
#define MPI_Finalize() (count_end(), MPI_Finalize())

/* All other calls. */
#define MPI_Probe(...) (count_call(COUNTED_Probe), MPI_Probe(__VA_ARGS__))
#define MPI_Iprobe(...) (count_call(COUNTED_Iprobe), MPI_Iprobe(__VA_ARGS__))
#define MPI_Mprobe(...) (count_call(COUNTED_Mprobe), MPI_Mprobe(__VA_ARGS__))
#define MPI_Improbe(...) (count_call(COUNTED_Improbe), MPI_Improbe(__VA_ARGS__))
#define MPI_Psend_init(...) (count_call(COUNTED_Psend_init), MPI_Psend_init(__VA_ARGS__))
#define MPI_Precv_init(...) (count_call(COUNTED_Precv_init), MPI_Precv_init(__VA_ARGS__))
#define MPI_Pready(...) (count_call(COUNTED_Pready), MPI_Pready(__VA_ARGS__))
#define MPI_Pready_range(...) (count_call(COUNTED_Pready_range), MPI_Pready_range(__VA_ARGS__))
#define MPI_Pready_list(...) (count_call(COUNTED_Pready_list), MPI_Pready_list(__VA_ARGS__))
#define MPI_Parrived(...) (count_call(COUNTED_Parrived), MPI_Parrived(__VA_ARGS__))
#define MPI_Cancel(...) (count_call(COUNTED_Cancel), MPI_Cancel(__VA_ARGS__))
#define MPI_Request_get_status(...) (count_call(COUNTED_Request_get_status), MPI_Request_get_status(__VA_ARGS__))
#define MPI_Wait(...) (count_call(COUNTED_Wait), MPI_Wait(__VA_ARGS__))
#define MPI_Waitany(...) (count_call(COUNTED_Waitany), MPI_Waitany(__VA_ARGS__))
#define MPI_Waitall(...) (count_call(COUNTED_Waitall), MPI_Waitall(__VA_ARGS__))
#define MPI_Waitsome(...) (count_call(COUNTED_Waitsome), MPI_Waitsome(__VA_ARGS__))
#define MPI_Test(...) (count_call(COUNTED_Test), MPI_Test(__VA_ARGS__))
#define MPI_Testany(...) (count_call(COUNTED_Testany), MPI_Testany(__VA_ARGS__))
#define MPI_Testall(...) (count_call(COUNTED_Testall), MPI_Testall(__VA_ARGS__))
#define MPI_Testsome(...) (count_call(COUNTED_Testsome), MPI_Testsome(__VA_ARGS__))
#define MPI_Test_cancelled(...) (count_call(COUNTED_Test_cancelled), MPI_Test_cancelled(__VA_ARGS__))
#define MPI_Barrier(...) (count_call(COUNTED_Barrier), MPI_Barrier(__VA_ARGS__))
#define MPI_Ibarrier(...) (count_call(COUNTED_Ibarrier), MPI_Ibarrier(__VA_ARGS__))
#define MPI_Bcast(...) (count_call(COUNTED_Bcast), MPI_Bcast(__VA_ARGS__))
#define MPI_Reduce(...) (count_call(COUNTED_Reduce), MPI_Reduce(__VA_ARGS__))
#define MPI_Allreduce(...) (count_call(COUNTED_Allreduce), MPI_Allreduce(__VA_ARGS__))
#define MPI_Gather(...) (count_call(COUNTED_Gather), MPI_Gather(__VA_ARGS__))
#define MPI_Gatherv(...) (count_call(COUNTED_Gatherv), MPI_Gatherv(__VA_ARGS__))
#define MPI_Allgather(...) (count_call(COUNTED_Allgather), MPI_Allgather(__VA_ARGS__))
#define MPI_Allgatherv(...) (count_call(COUNTED_Allgatherv), MPI_Allgatherv(__VA_ARGS__))
#define MPI_Alltoall(...) (count_call(COUNTED_Alltoall), MPI_Alltoall(__VA_ARGS__))
#define MPI_Scan(...) (count_call(COUNTED_Scan), MPI_Scan(__VA_ARGS__))
#define MPI_Exscan(...) (count_call(COUNTED_Exscan), MPI_Exscan(__VA_ARGS__))
#define MPI_Reduce_scatter_block(...)                                                                                  \
    (count_call(COUNTED_Reduce_scatter_block), MPI_Reduce_scatter_block(__VA_ARGS__))
#define MPI_Comm_dup(...) (count_call(COUNTED_Comm_dup), MPI_Comm_dup(__VA_ARGS__))
#define MPI_Comm_idup(...) (count_call(COUNTED_Comm_idup), MPI_Comm_idup(__VA_ARGS__))
#define MPI_Comm_split(...) (count_call(COUNTED_Comm_split), MPI_Comm_split(__VA_ARGS__))
#define MPI_Comm_create(...) (count_call(COUNTED_Comm_create), MPI_Comm_create(__VA_ARGS__))
#define MPI_Comm_create_group(...) (count_call(COUNTED_Comm_create_group), MPI_Comm_create_group(__VA_ARGS__))
#define MPI_Comm_create_from_group(...)                                                                                \
    (count_call(COUNTED_Comm_create_from_group), MPI_Comm_create_from_group(__VA_ARGS__))
#define MPI_Comm_free(...) (count_call(COUNTED_Comm_free), MPI_Comm_free(__VA_ARGS__))
#define MPI_Comm_group(...) (count_call(COUNTED_Comm_group), MPI_Comm_group(__VA_ARGS__))
#define MPI_Comm_rank(...) (count_call(COUNTED_Comm_rank), MPI_Comm_rank(__VA_ARGS__))
#define MPI_Comm_size(...) (count_call(COUNTED_Comm_size), MPI_Comm_size(__VA_ARGS__))
#define MPI_Comm_remote_size(...) (count_call(COUNTED_Comm_remote_size), MPI_Comm_remote_size(__VA_ARGS__))
#define MPI_Comm_spawn(...) (count_call(COUNTED_Comm_spawn), MPI_Comm_spawn(__VA_ARGS__))
#define MPI_Comm_get_parent(...) (count_call(COUNTED_Comm_get_parent), MPI_Comm_get_parent(__VA_ARGS__))
#define MPI_Comm_disconnect(...) (count_call(COUNTED_Comm_disconnect), MPI_Comm_disconnect(__VA_ARGS__))
#define MPI_Cart_create(...) (count_call(COUNTED_Cart_create), MPI_Cart_create(__VA_ARGS__))
#define MPI_Cart_coords(...) (count_call(COUNTED_Cart_coords), MPI_Cart_coords(__VA_ARGS__))
#define MPI_Cart_rank(...) (count_call(COUNTED_Cart_rank), MPI_Cart_rank(__VA_ARGS__))
#define MPI_Cart_shift(...) (count_call(COUNTED_Cart_shift), MPI_Cart_shift(__VA_ARGS__))
#define MPI_Dims_create(...) (count_call(COUNTED_Dims_create), MPI_Dims_create(__VA_ARGS__))
#define MPI_Intercomm_create(...) (count_call(COUNTED_Intercomm_create), MPI_Intercomm_create(__VA_ARGS__))
#define MPI_Intercomm_merge(...) (count_call(COUNTED_Intercomm_merge), MPI_Intercomm_merge(__VA_ARGS__))
