//! The recorder and the readers have the same table of functions.

use matchpoint_trace::Function;
use matchpoint_trace::function::Class;
use matchpoint_trace::native::{self, layout};

use crate::job::Job;
use crate::mpi;

#[test]
fn recorded_functions_have_format_fields() {
    mpi::each(|mpi| {
        let ran = Job::of(mpi, 2, &mpi.example("gather_fds")).succeed();
        let files = native::summaries(&ran.trace()).unwrap();
        let mut recorded = 0;
        for (name, fields) in &files[0].head.functions {
            if name == layout::MEMBERS {
                assert_eq!(fields, layout::MEMBERS_FIELDS);
                continue;
            }
            if name == layout::QUEUES {
                assert_eq!(fields, layout::QUEUES_FIELDS);
                continue;
            }
            if name.ends_with(layout::FAILED) {
                assert_eq!(fields, "i", "{name}");
                continue;
            }
            // Functions that only the recorder calls have no fields.
            let Some(function) = Function::named(name) else {
                assert!(fields.is_empty(), "{name} has fields, and the reader does not know it");
                continue;
            };
            let is_used_only = fields.is_empty() && !layout::fields(function).is_empty();
            assert!(
                is_used_only && function.class() != Class::PointToPoint || fields == layout::fields(function),
                "{}: {name} has the fields `{fields}`, and the reader expects `{}`",
                mpi.name,
                layout::fields(function)
            );
            recorded += usize::from(!fields.is_empty());
        }
        assert!(recorded > 100, "{recorded}");
        assert_eq!(files[0].head.functions, files[1].head.functions);
    });
}
