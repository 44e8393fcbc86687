//! Writer of DUMPI traces. The reader of DUMPI is [`readers::dumpi`](crate::readers::dumpi).

pub use crate::readers::dumpi::writer::{Deviations, Settings, Writer, file_name, meta};
