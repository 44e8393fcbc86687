/* All functions that create a communicator (MPI-4.1 §7, 8, 11). The including file defines MAKES(NAME, FIELDS,
 * MEMBERS, PARAMETERS, ARGUMENTS, WORDS...). Only the recorder uses FIELDS, MEMBERS and WORDS. */
MAKES(Comm_dup, "cc", false, (MPI_Comm comm, MPI_Comm *made), (comm, made), comm_word(comm), MADE)
MAKES(Comm_dup_with_info, "cc", false, (MPI_Comm comm, MPI_Info info, MPI_Comm *made), (comm, info, made), comm_word(comm),
      MADE)
MAKES(Comm_idup, "ccq", false, (MPI_Comm comm, MPI_Comm *made, MPI_Request *request), (comm, made, request),
      comm_word(comm), MADE, request_word(*request))
#ifdef MPI_4
MAKES(Comm_idup_with_info, "ccq", false, (MPI_Comm comm, MPI_Info info, MPI_Comm *made, MPI_Request *request),
      (comm, info, made, request), comm_word(comm), MADE, request_word(*request))
#endif
MAKES(Comm_split, "ciic", true, (MPI_Comm comm, int color, int key, MPI_Comm *made), (comm, color, key, made),
      comm_word(comm), SIGNED(color == MPI_UNDEFINED ? -1 : color), SIGNED(key), MADE)
MAKES(Comm_split_type, "cc", true, (MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm *made),
      (comm, type, key, info, made), comm_word(comm), MADE)
MAKES(Comm_create, "cc", true, (MPI_Comm comm, MPI_Group group, MPI_Comm *made), (comm, group, made), comm_word(comm), MADE)
MAKES(Comm_create_group, "cic", true, (MPI_Comm comm, MPI_Group group, int tag, MPI_Comm *made), (comm, group, tag, made),
      comm_word(comm), SIGNED(tag), MADE)
MAKES(Cart_create, "cc", true,
      (MPI_Comm comm, int dimensions, const int sizes[], const int periodic[], int reorder, MPI_Comm *made),
      (comm, dimensions, sizes, periodic, reorder, made), comm_word(comm), MADE)
MAKES(Cart_sub, "cc", true, (MPI_Comm comm, const int remain[], MPI_Comm *made), (comm, remain, made), comm_word(comm), MADE)
MAKES(Graph_create, "cc", true,
      (MPI_Comm comm, int nodes, const int index[], const int edges[], int reorder, MPI_Comm *made),
      (comm, nodes, index, edges, reorder, made), comm_word(comm), MADE)
MAKES(Dist_graph_create, "cc", true,
      (MPI_Comm comm, int count, const int sources[], const int degrees[], const int destinations[], const int weights[],
       MPI_Info info, int reorder, MPI_Comm *made),
      (comm, count, sources, degrees, destinations, weights, info, reorder, made), comm_word(comm), MADE)
MAKES(Dist_graph_create_adjacent, "cc", true,
      (MPI_Comm comm, int indegree, const int sources[], const int source_weights[], int outdegree,
       const int destinations[], const int destination_weights[], MPI_Info info, int reorder, MPI_Comm *made),
      (comm, indegree, sources, source_weights, outdegree, destinations, destination_weights, info, reorder, made),
      comm_word(comm), MADE)
MAKES(Intercomm_create, "ciciic", true,
      (MPI_Comm comm, int leader, MPI_Comm peers, int remote_leader, int tag, MPI_Comm *made),
      (comm, leader, peers, remote_leader, tag, made), comm_word(comm), SIGNED(leader),
      /* significant at the leader only */ comm_word(peers), SIGNED(remote_leader), SIGNED(tag), MADE)
MAKES(Intercomm_merge, "cfc", true, (MPI_Comm comm, int high, MPI_Comm *made), (comm, high, made), comm_word(comm),
      high != 0, MADE)
MAKES(Comm_accept, "cc", true, (const char *port, MPI_Info info, int root, MPI_Comm comm, MPI_Comm *made),
      (port, info, root, comm, made), comm_word(comm), MADE)
MAKES(Comm_connect, "cc", true, (const char *port, MPI_Info info, int root, MPI_Comm comm, MPI_Comm *made),
      (port, info, root, comm, made), comm_word(comm), MADE)
MAKES(Comm_join, "cc", true, (int descriptor, MPI_Comm *made), (descriptor, made), 2, MADE)
MAKES(Comm_spawn, "cc", true,
      (const char *command, char *arguments[], int most, MPI_Info info, int root, MPI_Comm comm, MPI_Comm *made, int errors[]),
      (command, arguments, most, info, root, comm, made, errors), comm_word(comm), MADE)
MAKES(Comm_spawn_multiple, "cc", true,
      (int count, char *commands[], char **arguments[], const int most[], const MPI_Info infos[], int root, MPI_Comm comm,
       MPI_Comm *made, int errors[]),
      (count, commands, arguments, most, infos, root, comm, made, errors), comm_word(comm), MADE)
MAKES(Comm_get_parent, "cc", true, (MPI_Comm * made), (made), 0, MADE)

#ifdef MPI_4
MAKES(Comm_create_from_group, "ic", true,
      (MPI_Group group, const char *tag, MPI_Info info, MPI_Errhandler handler, MPI_Comm *made),
      (group, tag, info, handler, made), string_hash(tag), MADE)
MAKES(Intercomm_create_from_groups, "ic", true,
      (MPI_Group own, int leader, MPI_Group other, int remote_leader, const char *tag, MPI_Info info, MPI_Errhandler handler,
       MPI_Comm *made),
      (own, leader, other, remote_leader, tag, info, handler, made), string_hash(tag), MADE)
#endif
