//! Fields of each function's records, in the order of the format's function numbers. Records have no length,
//! so the reader needs all fields. Unused fields are named `_`.

use crate::function::Function;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    Byte,
    Half,
    Int,
    Long,
    Bytes,
    Halves,
    Ints,
    /// [`Kind::Ints`] since version 0.6.8; before, a single integer.
    IntsSince068,
    /// [`Kind::Ints`] since version 0.6.9; before, a single integer.
    IntsSince069,
    /// A count, and as many [`Kind::Ints`].
    Matrix,
    Text,
    /// A count, and as many [`Kind::Text`].
    Texts,
    /// A count, and as many [`Kind::Texts`].
    TextTable,
    /// [`Kind::Texts`], before version 0.6.2 with a repeated count.
    Arguments,
    /// A count, and statuses; empty if the record's mask has no statuses.
    Statuses,
}

macro_rules! names {
    ($($name:ident)*) => {
        #[allow(non_camel_case_types)]
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub(super) enum Name { unused, $($name,)* }

        impl Name {
            pub const COUNT: usize = [Name::unused, $(Name::$name,)*].len();

            pub fn text(self) -> &'static str {
                match self {
                    Name::unused => "",
                    $(Name::$name => stringify!($name),)*
                }
            }
        }
    };
}

names! {
    count datatype dest source tag comm request flag index requests indices
    sendcount sendtype sendtag recvcount recvtype recvtag sendcounts recvcounts root commrank
    group group1 group2 newgroup ranks ranges
    size rank color key parent oldcomm newcomm localcomm localleader remotecomm remoteleader high
    dims reorder nodes remain_dims
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Field {
    pub kind: Kind,
    pub name: Name,
}

#[derive(Debug)]
pub(super) struct Layout {
    pub function: Function,
    pub fields: &'static [Field],
    /// Fields that exist only if `commrank` equals `root`.
    pub at_root: &'static [Field],
    pub last: &'static [Field],
}

impl Layout {
    pub fn field(&self, text: &[u8]) -> Option<&'static Field> {
        self.fields.iter().find(|field| field.name.text().as_bytes() == text)
    }
}

macro_rules! name {
    (_) => {
        Name::unused
    };
    ($name:ident) => {
        Name::$name
    };
}

macro_rules! fields {
    ($($kind:ident $name:tt),*) => { &[$(Field { kind: Kind::$kind, name: name!($name) }),*] };
}

macro_rules! layouts {
    ($($function:ident [$($fields:tt)*] $(@root [$($root:tt)*] then [$($last:tt)*])?)*) => {
        pub(super) static LAYOUTS: &[Layout] = &[$(
            Layout {
                function: Function::$function,
                fields: fields![$($fields)*],
                at_root: fields![$($($root)*)?],
                last: fields![$($($last)*)?],
            },
        )*];
    };
}

/// Labels of records: totals (in the footer), entry and exit of an instrumented function, end of the stream.
pub(super) mod label {
    pub const TOTALS: u16 = 290;
    pub const ENTER: u16 = 291;
    pub const EXIT: u16 = 292;
    pub const END: u16 = 293;
}

layouts! {
    Send [Int count, Half datatype, Int dest, Int tag, Half comm]
    Recv [Int count, Half datatype, Int source, Int tag, Half comm, Statuses _]
    Get_count [Statuses _, Half _, Int _]
    Bsend [Int count, Half datatype, Int dest, Int tag, Half comm]
    Ssend [Int count, Half datatype, Int dest, Int tag, Half comm]
    Rsend [Int count, Half datatype, Int dest, Int tag, Half comm]
    Buffer_attach [Int _]
    Buffer_detach [Int _]
    Isend [Int count, Half datatype, Int dest, Int tag, Half comm, Int request]
    Ibsend [Int count, Half datatype, Int dest, Int tag, Half comm, Int request]
    Issend [Int count, Half datatype, Int dest, Int tag, Half comm, Int request]
    Irsend [Int count, Half datatype, Int dest, Int tag, Half comm, Int request]
    Irecv [Int count, Half datatype, Int source, Int tag, Half comm, Int request]
    Wait [Int request, Statuses _]
    Test [Int request, Int flag, Statuses _]
    Request_free [Int request]
    Waitany [Int _, Ints requests, Int index, Statuses _]
    Testany [Int _, Ints requests, Int index, Int flag, Statuses _]
    Waitall [Int _, Ints requests, Statuses _]
    Testall [Int _, Ints requests, Int flag, Statuses _]
    Waitsome [Int _, Ints requests, Int _, Ints indices, Statuses _]
    Testsome [Int _, Ints requests, Int _, Ints indices, Statuses _]
    Iprobe [Int source, Int tag, Half comm, Int flag, Statuses _]
    Probe [Int source, Int tag, Half comm, Statuses _]
    Cancel [Int request]
    Test_cancelled [Statuses _, Int _]
    Send_init [Int count, Half datatype, Int dest, Int tag, Half comm, Int request]
    Bsend_init [Int count, Half datatype, Int dest, Int tag, Half comm, Int request]
    Ssend_init [Int count, Half datatype, Int dest, Int tag, Half comm, Int request]
    Rsend_init [Int count, Half datatype, Int dest, Int tag, Half comm, Int request]
    Recv_init [Int count, Half datatype, Int source, Int tag, Half comm, Int request]
    Start [Int request]
    Startall [Int _, Ints requests]
    Sendrecv [Int sendcount, Half sendtype, Int dest, Int sendtag, Int recvcount, Half recvtype, Int source, Int recvtag, Half comm, Statuses _]
    Sendrecv_replace [Int count, Half datatype, Int dest, Int sendtag, Int source, Int recvtag, Half comm, Statuses _]
    Type_contiguous [Int _, Half _, Half _]
    Type_vector [Int _, Int _, Int _, Half _, Half _]
    Type_hvector [Int _, Int _, Int _, Half _, Half _]
    Type_indexed [Int _, Ints _, Ints _, Half _, Half _]
    Type_hindexed [Int _, Ints _, Ints _, Half _, Half _]
    Type_struct [Int _, Ints _, IntsSince069 _, Halves _, Half _]
    Address [Int _]
    Type_extent [Half _, Int _]
    Type_size [Half _, Int _]
    Type_lb [Half _, Int _]
    Type_ub [Half _, Int _]
    Type_commit [Half _]
    Type_free [Half _]
    Get_elements [Statuses _, Half _, Int _]
    Pack [Int _, Half _, Int _, Int _, Int _, Half _]
    Unpack [Int _, Int _, Int _, Int _, Half _, Half _]
    Pack_size [Int _, Half _, Half _, Int _]
    Barrier [Half comm]
    Bcast [Int count, Half datatype, Int root, Half comm]
    Gather [Int commrank, Int sendcount, Half sendtype, Int root, Half comm] @root [Int _, Half _] then []
    Gatherv [Int commrank, Int _, Int sendcount, Half sendtype, Int root, Half comm] @root [Ints _, Ints _] then [Half _]
    Scatter [Int commrank, Int recvcount, Half recvtype, Int root, Half comm] @root [Int _, Half _] then []
    Scatterv [Int commrank, Int _, Half _, Int recvcount, Half recvtype, Int root, Half comm] @root [Ints _, Ints _] then []
    Allgather [Int sendcount, Half sendtype, Int _, Half _, Half comm]
    Allgatherv [Int _, Int sendcount, Half sendtype, Ints _, Ints _, Half _, Half comm]
    Alltoall [Int _, Half _, Int _, Half _, Half comm]
    Alltoallv [Int _, Ints sendcounts, Ints _, Half sendtype, Ints _, Ints _, Half _, Half comm]
    Reduce [Int count, Half datatype, Byte _, Int root, Half comm]
    Op_create [Int _, Byte _]
    Op_free [Byte _]
    Allreduce [Int count, Half datatype, Byte _, Half comm]
    Reduce_scatter [Int _, Ints recvcounts, Half datatype, Byte _, Half comm]
    Scan [Int count, Half datatype, Byte _, Half comm]
    Group_size [Half _, Int _]
    Group_rank [Half _, Int _]
    Group_translate_ranks [Half _, Int _, Ints _, Half _, Ints _]
    Group_compare [Half _, Half _, Byte _]
    Comm_group [Half comm, Half group]
    Group_union [Half group1, Half group2, Half newgroup]
    Group_intersection [Half group1, Half group2, Half newgroup]
    Group_difference [Half group1, Half group2, Half newgroup]
    Group_incl [Half group, Int _, Ints ranks, Half newgroup]
    Group_excl [Half group, Int _, Ints ranks, Half newgroup]
    Group_range_incl [Half group, Int _, Matrix ranges, Half newgroup]
    Group_range_excl [Half group, Int _, Matrix ranges, Half newgroup]
    Group_free [Half group]
    Comm_size [Half comm, Int size]
    Comm_rank [Half comm, Int rank]
    Comm_compare [Half _, Half _, Byte _]
    Comm_dup [Half oldcomm, Half newcomm]
    Comm_create [Half oldcomm, Half group, Half newcomm]
    Comm_split [Half oldcomm, Int color, Int key, Half newcomm]
    Comm_free [Half comm]
    Comm_test_inter [Half _, Int _]
    Comm_remote_size [Half _, Int _]
    Comm_remote_group [Half comm, Half group]
    Intercomm_create [Half localcomm, Int localleader, Half remotecomm, Int remoteleader, Int tag, Half newcomm]
    Intercomm_merge [Half comm, Int high, Half newcomm]
    Keyval_create [Half _]
    Keyval_free [Half _]
    Attr_put [Half _, Int _]
    Attr_get [Half _, Int _, Int _]
    Attr_delete [Half _, Int _]
    Topo_test [Half _, Byte _]
    Cart_create [Half oldcomm, Int _, Ints dims, Ints _, Int reorder, Half newcomm]
    Dims_create [Int _, Int _, Ints _, Ints _]
    Graph_create [Int _, Half oldcomm, Int nodes, Ints _, Ints _, Int reorder, Half newcomm]
    Graphdims_get [Half _, Int _, Int _]
    Graph_get [Int _, Int _, Half _, Int _, Int _, Ints _, Ints _]
    Cartdim_get [Half _, Int _]
    Cart_get [Int _, Half _, Int _, Ints _, Ints _, IntsSince068 _]
    Cart_rank [Int _, Half _, Ints _, Int _]
    Cart_coords [Int _, Half _, Int _, Int _, Ints _]
    Graph_neighbors_count [Half _, Int _, Int _]
    Graph_neighbors [Int _, Half _, Int _, Int _, Ints _]
    Cart_shift [Half _, Int _, Int _, Int _, Int _]
    Cart_sub [Int _, Half oldcomm, Ints remain_dims, Half newcomm]
    Cart_map [Half _, Int _, Ints _, Ints _, Int _]
    Graph_map [Int _, Half _, Int _, Ints _, Ints _, Int _]
    Get_processor_name [Text _, Int _]
    Get_version [Int _, Int _]
    Errhandler_create [Half _]
    Errhandler_set [Half _, Half _]
    Errhandler_get [Half _, Half _]
    Errhandler_free [Half _]
    Error_string [Int _, Text _, Int _]
    Error_class [Int _, Int _]
    Wtime []
    Wtick []
    Init [Arguments _]
    Finalize []
    Initialized [Int _]
    Abort [Half _, Int _]
    Pcontrol []
    Close_port [Text _]
    Comm_accept [Text _, Half _, Int root, Half oldcomm, Half newcomm]
    Comm_connect [Text _, Half _, Int root, Half oldcomm, Half newcomm]
    Comm_disconnect [Half comm]
    Comm_get_parent [Half parent]
    Comm_join [Int _, Half comm]
    Comm_spawn [Int commrank, Int root, Half oldcomm, Half newcomm] @root [Text _, Texts _, Int _, Half _, Ints _] then []
    Comm_spawn_multiple [Int _, Int commrank, Int root, Half oldcomm, Half newcomm] @root [Int _, Texts _, TextTable _, Ints _, Halves _, Ints _] then []
    Lookup_name [Text _, Half _, Text _]
    Open_port [Half _, Text _]
    Publish_name [Text _, Half _, Text _]
    Unpublish_name [Text _, Half _, Text _]
    Accumulate [Int _, Half _, Int _, Int _, Int _, Half _, Byte _, Half _]
    Get [Int _, Half _, Int _, Int _, Int _, Half _, Half _]
    Put [Int _, Half _, Int _, Int _, Int _, Half _, Half _]
    Win_complete [Half _]
    Win_create [Int _, Int _, Half _, Half _, Half _]
    Win_fence [Byte _, Half _]
    Win_free [Half _]
    Win_get_group [Half _, Half _]
    Win_lock [Byte _, Int _, Byte _, Half _]
    Win_post [Half _, Byte _, Half _]
    Win_start [Half _, Byte _, Half _]
    Win_test [Half _, Int _]
    Win_unlock [Int _, Half _]
    Win_wait [Half _]
    Alltoallw [Int _, Ints _, Ints _, Halves _, Ints _, Ints _, Halves _, Half comm]
    Exscan [Int count, Half datatype, Byte _, Half comm]
    Add_error_class [Int _]
    Add_error_code [Int _, Int _]
    Add_error_string [Int _, Text _]
    Comm_call_errhandler [Half _, Int _]
    Comm_create_keyval [Half _]
    Comm_delete_attr [Half _, Half _]
    Comm_free_keyval [Half _]
    Comm_get_attr [Half _, Half _, Int _]
    Comm_get_name [Half _, Text _, Int _]
    Comm_set_attr [Half _, Half _]
    Comm_set_name [Half _, Text _]
    File_call_errhandler [Half _, Int _]
    Grequest_complete [Int _]
    Grequest_start [Int _]
    Init_thread [Texts _, Byte _, Byte _]
    Is_thread_main [Int _]
    Query_thread [Byte _]
    Status_set_cancelled [Statuses _, Int _]
    Status_set_elements [Statuses _, Half _, Int _]
    Type_create_keyval [Half _]
    Type_delete_attr [Half _, Half _]
    Type_dup [Half _, Half _]
    Type_free_keyval [Half _]
    Type_get_attr [Half _, Half _, Int _]
    Type_get_contents [Int _, Int _, Int _, Half _, Int _, Int _, Int _, Ints _, Ints _, Halves _]
    Type_get_envelope [Half _, Int _, Int _, Int _, Byte _]
    Type_get_name [Half _, Text _, Int _]
    Type_set_attr [Half _, Half _]
    Type_set_name [Half _, Text _]
    Type_match_size [Byte _, Int _, Half _]
    Win_call_errhandler [Half _, Int _]
    Win_create_keyval [Half _]
    Win_delete_attr [Half _, Half _]
    Win_free_keyval [Half _]
    Win_get_attr [Half _, Half _, Int _]
    Win_get_name [Half _, Text _, Int _]
    Win_set_attr [Half _, Half _]
    Win_set_name [Half _, Text _]
    Alloc_mem [Int _, Half _]
    Comm_create_errhandler [Half _]
    Comm_get_errhandler [Half _, Half _]
    Comm_set_errhandler [Half _, Half _]
    File_create_errhandler [Half _]
    File_get_errhandler [Half _, Half _]
    File_set_errhandler [Half _, Half _]
    Finalized [Int _]
    Free_mem []
    Get_address [Int _]
    Info_create [Half _]
    Info_delete [Half _, Text _]
    Info_dup [Half _, Half _]
    Info_free [Half _]
    Info_get [Half _, Text _, Int _, Text _, Int _]
    Info_get_nkeys [Half _, Int _]
    Info_get_nthkey [Half _, Int _, Text _]
    Info_get_valuelen [Half _, Text _, Int _, Int _]
    Info_set [Half _, Text _, Text _]
    Pack_external [Text _, Int _, Half _, Int _, Int _, Int _]
    Pack_external_size [Text _, Int _, Half _, Int _]
    Request_get_status [Int request, Int flag, Statuses _]
    Type_create_darray [Int _, Int _, Int _, Ints _, Bytes _, Ints _, Ints _, Byte _, Half _, Half _]
    Type_create_hindexed [Int _, Ints _, Ints _, Half _, Half _]
    Type_create_hvector [Int _, Int _, Int _, Half _, Half _]
    Type_create_indexed_block [Int _, Int _, Ints _, Half _, Half _]
    Type_create_resized [Half _, Int _, Int _, Half _]
    Type_create_struct [Int _, Ints _, Ints _, Halves _, Half _]
    Type_create_subarray [Int _, Ints _, Ints _, Ints _, Byte _, Half _, Half _]
    Type_get_extent [Half _, Int _, Int _]
    Type_get_true_extent [Half _, Int _, Int _]
    Unpack_external [Text _, Int _, Int _, Int _, Int _, Half _]
    Win_create_errhandler [Half _]
    Win_get_errhandler [Half _, Half _]
    Win_set_errhandler [Half _, Half _]
    File_open [Half _, Text _, Byte _, Half _, Half _]
    File_close [Half _]
    File_delete [Text _, Half _]
    File_set_size [Half _, Long _]
    File_preallocate [Half _, Long _]
    File_get_size [Half _, Long _]
    File_get_group [Half _, Half _]
    File_get_amode [Half _, Byte _]
    File_set_info [Half _, Half _]
    File_get_info [Half _, Half _]
    File_set_view [Half _, Long _, Half _, Half _, Text _, Half _]
    File_get_view [Half _, Long _, Half _, Half _, Text _]
    File_read_at [Half _, Long _, Int _, Half _, Statuses _]
    File_read_at_all [Half _, Long _, Int _, Half _, Statuses _]
    File_write_at [Half _, Long _, Int _, Half _, Statuses _]
    File_write_at_all [Half _, Long _, Int _, Half _, Statuses _]
    File_iread_at [Half _, Long _, Int _, Half _, Int _]
    File_iwrite_at [Half _, Long _, Int _, Half _, Int _]
    File_read [Half _, Int _, Half _, Statuses _]
    File_read_all [Half _, Int _, Half _, Statuses _]
    File_write [Half _, Int _, Half _, Statuses _]
    File_write_all [Half _, Int _, Half _, Statuses _]
    File_iread [Half _, Int _, Half _, Int _]
    File_iwrite [Half _, Int _, Half _, Int _]
    File_seek [Half _, Long _, Byte _]
    File_get_position [Half _, Long _]
    File_get_byte_offset [Half _, Long _, Long _]
    File_read_shared [Half _, Int _, Half _, Statuses _]
    File_write_shared [Half _, Int _, Half _, Statuses _]
    File_iread_shared [Half _, Int _, Half _, Int _]
    File_iwrite_shared [Half _, Int _, Half _, Int _]
    File_read_ordered [Half _, Int _, Half _, Statuses _]
    File_write_ordered [Half _, Int _, Half _, Statuses _]
    File_seek_shared [Half _, Long _, Byte _]
    File_get_position_shared [Half _, Long _]
    File_read_at_all_begin [Half _, Long _, Int _, Half _]
    File_read_at_all_end [Half _, Statuses _]
    File_write_at_all_begin [Half _, Long _, Int _, Half _]
    File_write_at_all_end [Half _, Statuses _]
    File_read_all_begin [Half _, Int _, Half _]
    File_read_all_end [Half _, Statuses _]
    File_write_all_begin [Half _, Int _, Half _]
    File_write_all_end [Half _, Statuses _]
    File_read_ordered_begin [Half _, Int _, Half _]
    File_read_ordered_end [Half _, Statuses _]
    File_write_ordered_begin [Half _, Int _, Half _]
    File_write_ordered_end [Half _, Statuses _]
    File_get_type_extent [Half _, Half _, Int _]
    Register_datarep [Text _]
    File_set_atomicity [Half _, Int _]
    File_get_atomicity [Half _, Int _]
    File_sync [Half _]
    Io_test [Int _, Int _, Statuses _]
    Io_wait [Int _, Statuses _]
    Io_testall [Int _, Ints _, Int _, Statuses _]
    Io_waitall [Int _, Ints _, Statuses _]
    Io_testany [Int _, Ints _, Int _, Int _, Statuses _]
    Io_waitany [Int _, Ints _, Int _, Statuses _]
    Io_waitsome [Int _, Ints _, Int _, Ints _, Statuses _]
    Io_testsome [Int _, Ints _, Int _, Ints _, Statuses _]
}
