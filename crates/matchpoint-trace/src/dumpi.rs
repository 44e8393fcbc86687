//! Writer of DUMPI. The reader is [`readers::dumpi`](crate::readers::dumpi).

pub use crate::readers::dumpi::writer::{Settings, Told, Writer, file_name, meta};
