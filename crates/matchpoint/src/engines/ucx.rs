//! `ucx`: hash buckets over the 64-bit tag, as in UCX (`ucp_tag_match.inl`, `tag_match.c`).
//!
//! * UCX has no source. The MPI library puts context, source and tag into the 64 bits; `tags` selects the
//!   library.
//! * Exact receives are in the bucket of their tag, wildcard receives in one list, and messages in both a
//!   bucket and a list.
//! * An arrival compares the receives of its bucket and of the list by sequence number.
//!
//! The bucket is the exclusive or of both halves of the 64 bits, each modulo 1021. The engine is otherwise
//! [`bins`](super::bins).

use super::bins::{Bins, Scheme};
use super::{Arguments, Built, Parameter, Spec};
use crate::effort::Attempts;
use crate::envelope::Envelope;

pub(super) const SPEC: Spec = Spec {
    name: "ucx",
    summary: "hash buckets over the 64-bit tag, wildcards in a list by sequence number (UCX)",
    parameters: &[
        Parameter { key: "n", default: "1021", meaning: "modulus of the hash, 1 to 16777216; UCX has 1021" },
        Parameter {
            key: "tags",
            default: "open_mpi",
            meaning: "the layout of context, source and tag in 64 bits: open_mpi, mpich",
        },
    ],
    variants: &["n=1", "n=3", "tags=mpich", "n=3,tags=mpich"],
    tight: &[],
    build,
};

fn build(arguments: &Arguments<'_>, is_counting: bool) -> Built {
    let modulus: u32 = arguments.within("n", 1..=1 << 24)?;
    let tags = arguments.word("tags", &[("open_mpi", Tags::OpenMpi), ("mpich", Tags::Mpich)])?;
    let (scheme, buckets) = (Buckets { modulus, tags }, modulus.next_power_of_two());
    Ok(if is_counting {
        Box::new(Bins::<Attempts, _>::with_scheme(scheme, buckets))
    } else {
        Box::new(Bins::<(), _>::with_scheme(scheme, buckets))
    })
}

#[derive(Clone, Copy)]
enum Tags {
    /// 24 bits of tag, 20 of source, 20 of context (`pml_ucx_request.h`).
    OpenMpi,
    /// 16 bits of context, 16 of source, 32 of tag (`ucx_types.h`).
    Mpich,
}

impl Tags {
    /// Fields wider than the library's overlap, which changes the bucket but no match.
    #[inline]
    fn join(self, envelope: &Envelope) -> u64 {
        let (context, source, tag) = (u64::from(envelope.context.0), envelope.source.0, envelope.tag.0);
        match self {
            Tags::OpenMpi => tag << 40 ^ u64::from(source) << 20 ^ context,
            Tags::Mpich => context << 48 ^ u64::from(source) << 32 ^ tag,
        }
    }
}

struct Buckets {
    modulus: u32,
    tags: Tags,
}

impl Scheme for Buckets {
    const IS_MERGED: bool = true;

    #[inline]
    fn bin(&self, envelope: &Envelope, _: usize) -> usize {
        let tag = self.tags.join(envelope);
        let (low, high) = (tag as u32, (tag >> 32) as u32);
        ((low % self.modulus) ^ (high % self.modulus)) as usize
    }
}
