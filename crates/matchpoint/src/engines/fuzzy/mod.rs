//! `fuzzy`: one small key for source and tag together, compared by SIMD as a hint, verified on a hit (fuzzy paper
//! §IV-B).
//!
//! * `bits=32`: a window of the source beside one of the tag, 24 and 8 bits unless asked otherwise. For values that fit
//!   this is the paper's key; of those that do not (LULESH's large tags, 66.67 % false positives in its Fig. 3) what lies
//!   beyond is folded into the window. The fields keep bits of their own, so what a receive leaves open is a mask: kept
//!   with each posted receive, carried by a search of the messages.
//! * `bits=16`, `bits=8`: the upper bits of a sum of products, of source, tag and context by an odd constant each. The
//!   paper's exclusive or of source and tag (`fold=xor`) is the same for all where the tag is the rank; [`folds`] has the
//!   reasons. 64 keys of a byte are one compare with AVX-512BW.
//!
//! Where a key does not keep the fields apart, the paper scans a wildcard in one as a wildcard in both, and
//! Open MPI's engine then verifies a whole block one by one, because of one receive in it (2.8 times slower). Here a
//! receive that names only its source, or only its tag, lies under the key of that alone, in a bitmap of its kind:
//! blocks that have such receives are compared once more for each kind, and receives that name neither are verified.
//! Messages have, beside their key, that of the tag and that of the source by themselves: three bytes each with
//! `bits=8`, of which a search reads one.
//!
//! **One queue for all communicators.** The paper's engines have a queue for each. Here the context is part of the
//! key as well (context 0 adds nothing): entries of other communicators cost a 64th of a compare each, while a
//! queue for each would take kilobytes for each, a look-up in every call, and ages to tell which of two is older. It
//! loses where one communicator has thousands of entries and another is waited for.
//!
//! Post, arrive and probe: O(entries / 64) with a byte, / 32, / 16, plus O(false positives), which are about
//! entries / 256 with a byte and sources or tags that follow each other. Cancel and retract compare every entry.
//! Memory per place: 40 bytes for a receive, 32 for a message, since what is verified are 64-bit fields under a 64-bit
//! mask; keys and bitmaps take 2, 3 or 9 bytes of a receive (8, 16, 32 bits), 4, 7 or 5 of a message.

mod folds;
mod windows;

use self::folds::{Fold, Folds, Sum, Width, Xor};
use self::windows::Windows;
use super::vector::{ISA, kernel};
use super::{Arguments, Built, NameError, Parameter, Spec};
use crate::effort::Attempts;
use crate::engine::Engine;
use crate::scan::Kernel;
use crate::scanning::{Scanning, Scheme};

pub(super) const SPEC: Spec = Spec {
    name: "fuzzy",
    summary: "one key of 32, 16 or 8 bits for source and tag, compared by SIMD, verified on a hit (fuzzy paper §IV-B)",
    parameters: &[
        Parameter { key: "bits", default: "8", meaning: "width of a key: 32 (windows), 16 or 8 (mixed)" },
        Parameter {
            key: "rank",
            default: "24",
            meaning: "bits of the source in a key of 32, 0 to 32; together with those of the tag at most 32",
        },
        Parameter { key: "tag", default: "8", meaning: "bits of the tag in a key of 32, 0 to 32" },
        Parameter {
            key: "fold",
            default: "sum",
            meaning: "what mixes the fields of a key of 16 or 8 bits: sum (of products), or xor, the paper's exclusive or",
        },
        ISA,
    ],
    variants: &["bits=16", "bits=32", "bits=32,rank=3,tag=2", "isa=scalar", "fold=xor", "bits=16,fold=xor"],
    tight: &[],
    build,
};

fn build(arguments: &Arguments<'_>, counting: bool) -> Built {
    let kernel = kernel(arguments)?;
    let bits: u32 = arguments.get("bits")?;
    let (rank, tag): (u32, u32) = (arguments.get("rank")?, arguments.get("tag")?);
    if rank > 32 || tag > 32 || rank + tag > 32 {
        return Err(arguments.invalid("rank", &format!("{rank} beside {tag}")));
    }
    if bits != 32 && (rank, tag) != (24, 8) {
        return Err(NameError::new(
            "engine `fuzzy`: windows are for bits=32",
            "keys of 16 and 8 bits are made of all bits",
        ));
    }
    let is_xor = arguments.word("fold", &[("sum", false), ("xor", true)])?;
    if bits == 32 && is_xor {
        return Err(NameError::new(
            "engine `fuzzy`: fold=xor is for bits=16 and bits=8",
            "windows are not mixed",
        ));
    }
    Ok(match bits {
        32 => engine(Windows::new(rank, tag), kernel, counting),
        16 => folded::<u16>(is_xor, kernel, counting),
        8 => folded::<u8>(is_xor, kernel, counting),
        _ => return Err(arguments.invalid("bits", &bits.to_string())),
    })
}

fn folded<K: Width>(is_xor: bool, kernel: Kernel, counting: bool) -> Box<dyn Engine> {
    fn of<K: Width, F: Fold>(kernel: Kernel, counting: bool) -> Box<dyn Engine> {
        engine(Folds::<K, F>::new(), kernel, counting)
    }
    if is_xor { of::<K, Xor>(kernel, counting) } else { of::<K, Sum>(kernel, counting) }
}

fn engine<S: Scheme>(scheme: S, kernel: Kernel, counting: bool) -> Box<dyn Engine> {
    if counting {
        Box::new(Scanning::<S, Attempts>::new(scheme, kernel))
    } else {
        Box::new(Scanning::<S, ()>::new(scheme, kernel))
    }
}
