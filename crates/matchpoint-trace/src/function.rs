//! MPI functions in traces: functions of MPI-5.0 that move data, create communicators or are frequent, and
//! functions of older versions.

#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Class {
    /// Functions of MPI-4.1 §3 and §4, except completion functions.
    PointToPoint,
    /// `Wait*`, `Test*`, and other queries of requests.
    Completion,
    /// Collectives of §6 and §8.
    Collective,
    /// Functions of §12.
    OneSided,
    /// Functions on communicators, groups and topologies (§7, §8).
    Communicator,
    Other,
}

macro_rules! functions {
    ($($class:ident { $($name:ident)* })*) => {
        #[allow(missing_docs, non_camel_case_types)] // the standard documents each function
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
        #[repr(u16)]
        pub enum Function { $($($name,)*)* }

        impl Function {
            pub const ALL: &'static [Function] = &[$($(Function::$name,)*)*];

            pub fn name(self) -> &'static str {
                const NAMES: &[&str] = &[$($(concat!("MPI_", stringify!($name)),)*)*];
                NAMES[self as usize]
            }

            /// Function with this name, or with this name and the suffix `_c` (`MPI_Send_c`).
            pub fn named(name: &str) -> Option<Function> {
                let short = name.strip_suffix("_c").unwrap_or(name);
                let known = Function::ALL.iter().filter(|function| **function != Function::Unknown);
                known.copied().find(|function| function.name() == name || function.name() == short)
            }

            pub fn class(self) -> Class {
                const CLASSES: &[Class] = &[$($({ let _ = Function::$name; Class::$class },)*)*];
                CLASSES[self as usize]
            }
        }
    };
}

functions! {
    PointToPoint {
        Send Bsend Ssend Rsend Isend Ibsend Issend Irsend
        Recv Irecv Sendrecv Sendrecv_replace Isendrecv Isendrecv_replace
        Send_init Bsend_init Ssend_init Rsend_init Recv_init Start Startall
        Probe Iprobe Mprobe Improbe Mrecv Imrecv Cancel
        Psend_init Precv_init Pready Pready_range Pready_list Parrived
    }
    Completion {
        Wait Waitany Waitall Waitsome Test Testany Testall Testsome
        Request_free Request_get_status Request_get_status_all Request_get_status_any Request_get_status_some
        Test_cancelled
        Grequest_start Grequest_complete
    }
    Collective {
        Barrier Bcast Gather Gatherv Scatter Scatterv Allgather Allgatherv Alltoall Alltoallv Alltoallw
        Reduce Allreduce Reduce_scatter Reduce_scatter_block Scan Exscan
        Ibarrier Ibcast Igather Igatherv Iscatter Iscatterv Iallgather Iallgatherv Ialltoall Ialltoallv Ialltoallw
        Ireduce Iallreduce Ireduce_scatter Ireduce_scatter_block Iscan Iexscan
        Neighbor_allgather Neighbor_allgatherv Neighbor_alltoall Neighbor_alltoallv Neighbor_alltoallw
        Ineighbor_allgather Ineighbor_allgatherv Ineighbor_alltoall Ineighbor_alltoallv Ineighbor_alltoallw
        Barrier_init Bcast_init Gather_init Gatherv_init Scatter_init Scatterv_init Allgather_init Allgatherv_init
        Alltoall_init Alltoallv_init Alltoallw_init Reduce_init Allreduce_init Reduce_scatter_init
        Reduce_scatter_block_init Scan_init Exscan_init
        Neighbor_allgather_init Neighbor_allgatherv_init Neighbor_alltoall_init Neighbor_alltoallv_init
        Neighbor_alltoallw_init
    }
    OneSided {
        Accumulate Get Put Get_accumulate Fetch_and_op Compare_and_swap Rput Rget Raccumulate Rget_accumulate
        Win_create Win_allocate Win_allocate_shared Win_create_dynamic Win_attach Win_detach Win_free
        Win_fence Win_start Win_complete Win_post Win_wait Win_test Win_lock Win_lock_all Win_unlock Win_unlock_all
        Win_flush Win_flush_all Win_flush_local Win_flush_local_all Win_sync Win_get_group
        Win_shared_query Win_set_info Win_get_info
    }
    Communicator {
        Comm_size Comm_rank Comm_compare Comm_dup Comm_dup_with_info Comm_idup Comm_idup_with_info
        Comm_create Comm_create_group Comm_create_from_group Intercomm_create_from_groups
        Comm_split Comm_split_type Comm_free Comm_test_inter Comm_remote_size Comm_remote_group
        Intercomm_create Intercomm_merge Comm_group
        Comm_accept Comm_connect Comm_disconnect Comm_get_parent Comm_join Comm_spawn Comm_spawn_multiple
        Group_size Group_rank Group_translate_ranks Group_compare Group_union Group_intersection Group_difference
        Group_incl Group_excl Group_range_incl Group_range_excl Group_free
        Topo_test Cart_create Dims_create Graph_create Graphdims_get Graph_get Cartdim_get Cart_get Cart_rank
        Cart_coords Graph_neighbors_count Graph_neighbors Cart_shift Cart_sub Cart_map Graph_map
        Dist_graph_create Dist_graph_create_adjacent Dist_graph_neighbors Dist_graph_neighbors_count
        Session_init Session_finalize Session_get_num_psets Session_get_nth_pset Session_get_info
        Session_get_pset_info Group_from_session_pset Comm_set_info Comm_get_info
    }
    Other {
        Init Init_thread Finalize Initialized Finalized Abort Pcontrol Query_thread Is_thread_main
        Get_count Get_elements Buffer_attach Buffer_detach
        Type_contiguous Type_vector Type_hvector Type_indexed Type_hindexed Type_struct Address Type_extent Type_size
        Type_lb Type_ub Type_commit Type_free Pack Unpack Pack_size Op_create Op_free
        Keyval_create Keyval_free Attr_put Attr_get Attr_delete
        Get_processor_name Get_version Errhandler_create Errhandler_set Errhandler_get Errhandler_free
        Error_string Error_class Wtime Wtick
        Close_port Lookup_name Open_port Publish_name Unpublish_name
        Add_error_class Add_error_code Add_error_string Comm_call_errhandler Comm_create_keyval Comm_delete_attr
        Comm_free_keyval Comm_get_attr Comm_get_name Comm_set_attr Comm_set_name File_call_errhandler
        Status_set_cancelled Status_set_elements Type_create_keyval Type_delete_attr Type_dup Type_free_keyval
        Type_get_attr Type_get_contents Type_get_envelope Type_get_name Type_set_attr Type_set_name Type_match_size
        Win_call_errhandler Win_create_keyval Win_delete_attr Win_free_keyval Win_get_attr Win_get_name Win_set_attr
        Win_set_name Alloc_mem Comm_create_errhandler Comm_get_errhandler Comm_set_errhandler
        File_create_errhandler File_get_errhandler File_set_errhandler Free_mem Get_address
        Info_create Info_delete Info_dup Info_free Info_get Info_get_nkeys Info_get_nthkey Info_get_valuelen Info_set
        Pack_external Pack_external_size Type_create_darray Type_create_hindexed Type_create_hvector
        Type_create_indexed_block Type_create_resized Type_create_struct Type_create_subarray Type_get_extent
        Type_get_true_extent Unpack_external Win_create_errhandler Win_get_errhandler Win_set_errhandler
        File_open File_close File_delete File_set_size File_preallocate File_get_size File_get_group File_get_amode
        File_set_info File_get_info File_set_view File_get_view File_read_at File_read_at_all File_write_at
        File_write_at_all File_iread_at File_iwrite_at File_read File_read_all File_write File_write_all File_iread
        File_iwrite File_seek File_get_position File_get_byte_offset File_read_shared File_write_shared
        File_iread_shared File_iwrite_shared File_read_ordered File_write_ordered File_seek_shared
        File_get_position_shared File_read_at_all_begin File_read_at_all_end File_write_at_all_begin
        File_write_at_all_end File_read_all_begin File_read_all_end File_write_all_begin File_write_all_end
        File_read_ordered_begin File_read_ordered_end File_write_ordered_begin File_write_ordered_end
        File_get_type_extent Register_datarep File_set_atomicity File_get_atomicity File_sync
        Io_test Io_wait Io_testall Io_waitall Io_testany Io_waitany Io_waitsome Io_testsome
        File_iread_all File_iread_at_all File_iwrite_all File_iwrite_at_all
        Get_library_version Get_elements_x Status_set_elements_x Type_size_x Type_get_extent_x Type_get_true_extent_x
        Type_create_hindexed_block Type_create_f90_integer Type_create_f90_real Type_create_f90_complex
        Type_get_value_index Op_commutative Reduce_local Get_hw_resource_info Info_create_env Info_get_string
        Buffer_flush Buffer_iflush Comm_attach_buffer Comm_detach_buffer Comm_flush_buffer Comm_iflush_buffer
        Session_attach_buffer Session_detach_buffer Session_flush_buffer Session_iflush_buffer
        Session_create_errhandler Session_get_errhandler Session_set_errhandler Session_call_errhandler
        Remove_error_class Remove_error_code Remove_error_string
        Abi_get_version Abi_get_info Abi_get_fortran_info
        Unknown
    }
}
