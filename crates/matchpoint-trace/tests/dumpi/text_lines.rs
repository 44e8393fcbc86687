//! Small pieces of `dumpi2ascii` text.

use matchpoint_trace::call::{Action, Await, CommId, GroupId, NewGroup, Peer, TagArg};
use matchpoint_trace::readers::dumpi::text;
use matchpoint_trace::{Call, Function, TraceError};

use crate::traces::read_all;

fn read_text(text: &str) -> Result<Vec<Call>, TraceError> {
    read_all(&mut text::read(text.as_bytes()))
}

fn call_text(name: &str, arguments: &str) -> String {
    format!(
        "{name} entering at walltime 2.000000003, cputime 0.000000001 seconds in thread 1.\n\
         {arguments}\
         {name} returning at walltime 2.000000009, cputime 0.000000002 seconds in thread 1.\n"
    )
}

const SEND: &str = "int count=3\nMPI_Datatype datatype=9 (MPI_INT)\nint dest=1\nint tag=7\nMPI_Comm comm=2 (MPI_COMM_WORLD)\n";

#[test]
fn call_has_times_and_thread() {
    let calls = read_text(&call_text("MPI_Send", SEND)).unwrap();
    let [call] = &calls[..] else { panic!("{calls:?}") };
    assert_eq!((call.function, call.thread), (Function::Send, 1));
    assert_eq!((call.enter_ns, call.leave_ns), (2_000_000_003, 2_000_000_009));
    let Action::Send { args, request: None } = call.action else { panic!() };
    assert_eq!((args.dest, args.tag, args.comm, args.bytes), (Peer::Rank(1), 7, CommId::WORLD, None));
}

#[test]
fn header_footer_and_tables_are_skipped() {
    let text = format!(
        "version=13.0.0\nstarttime=Sat Nov 21 08:28:41 2026\nhostname=vm\nusername=<none>\nmeshdim=0\nmeshsize=[]\n\
         meshcrd=[]\n{}Perfcounters: [PAPI_TOT_CYC=12]\nTotal keyvals: 1\nkey=value\n\
         MPI_Send called 1 times and ignored 0 times\nPerformance counters: 1\n    PAPI_TOT_CYC\n\
         Function address 12 has label main\nDatatype 9 (MPI_INT) has size 4\n",
        call_text("MPI_Send", SEND)
    );
    assert_eq!(read_text(&text).unwrap().len(), 1);
}

#[test]
fn crlf_lines_are_read() {
    assert_eq!(read_text(&call_text("MPI_Send", SEND).replace('\n', "\r\n")).unwrap().len(), 1);
}

#[test]
fn wildcards_statuses_and_requests() {
    let arguments = "int source=-1 (MPI_ANY_SOURCE)\nint tag=-1 (MPI_ANY_TAG)\nMPI_Comm comm=4 (user-defined-comm)\n\
                     MPI_Request request=[12]\n";
    let Action::Receive { args, request, .. } =
        read_text(&call_text("MPI_Irecv", arguments)).unwrap()[0].action
    else {
        panic!()
    };
    assert_eq!((args.source, args.tag, args.comm), (Peer::Any, TagArg::Any, CommId(4)));
    assert_eq!(request.unwrap().0, 12);
    let arguments = "int count=2\nMPI_Request requests[2]=[12, 1]\n\
                     MPI_Status statuses[2]=[{bytes=8, cancelled=0, source=1, tag=5, error=3}, \
                     {bytes=0, cancelled=1, source=-1, tag=-1, error=0}]\n";
    let call = read_text(&call_text("MPI_Waitall", arguments)).unwrap().remove(0);
    assert_eq!(call.action, Action::Complete { awaits: Await::All, blocking: true });
    let [completion] = call.completions[..] else { panic!("a null request is never complete") };
    assert_eq!(completion.status.unwrap().tag, TagArg::Is(5));
}

#[test]
fn nested_lists_span_lines() {
    let arguments = "MPI_Group group=3 (user-defined-group)\nint count=2\nint ranges[2][3]=[[0, 2, 1]\n, [4, 6, 1]\n\
                     ]MPI_Group newgroup=4 (user-defined-group)\n";
    let call = read_text(&call_text("MPI_Group_range_incl", arguments)).unwrap().remove(0);
    assert_eq!(call.integers, [0, 2, 1, 4, 6, 1]);
    let how = NewGroup::RangeInclude(GroupId(3));
    assert_eq!(call.action, Action::GroupCreate { how, group: GroupId(4) });
}

#[test]
fn program_functions_are_skipped() {
    let text = call_text("Function_enter", "int fn=4242 (\"main\")\n") + &call_text("MPI_Send", SEND);
    assert_eq!(read_text(&text).unwrap().len(), 1);
}

fn read_error(text: &str) -> (u64, String) {
    let error = read_text(text).unwrap_err();
    (error.line.unwrap(), error.problem)
}

#[test]
fn errors_have_line_number() {
    assert_eq!(
        read_error("version=13.0.0\nDear all\n"),
        (2, "“Dear all” is no line that dumpi2ascii prints here".into())
    );
    let cut = call_text("MPI_Send", SEND);
    let cut = &cut[..cut.find("int dest").unwrap()];
    assert_eq!(read_error(cut), (4, "the text ends within a call of MPI_Send".into()));
    let wrong = call_text("MPI_Send", SEND).replace("count=3", "count=x");
    assert_eq!(read_error(&wrong), (2, "“int count=x” cannot be read".into()));
    assert_eq!(
        read_error(&call_text("MPI_Sendoff", "")),
        (1, "MPI_Sendoff is not a function in DUMPI".into())
    );
}
