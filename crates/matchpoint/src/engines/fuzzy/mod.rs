//! `fuzzy`: one small key per entry, compared by SIMD and verified on a hit (fuzzy paper §IV-B).
//!
//! * `bits=32`: separate windows of source bits and tag bits. Larger values, such as LULESH's tags (66.67 %
//!   false positives in Fig. 3), are folded into the window. A wildcard becomes a mask of compared bits.
//! * `bits=16`, `bits=8`: upper bits of a sum of products of source, tag and context with odd constants.
//!   `fold=xor` selects the paper's exclusive or.
//!
//! With mixed keys, the paper treats a wildcard in one field as a wildcard in both: Open MPI's engine then
//! verifies a whole block (2.8 times slower). Here, a receive with one wildcard has the key of its exact
//! field, and a bit in a bitmap. A block with wildcard receives needs one more comparison per wildcard class.
//! Messages have additional keys of tag and source.
//!
//! The paper has a queue per communicator. Here the context is part of the key: an entry of another
//! communicator costs 1/64 of a comparison, and a queue per communicator would need kilobytes, a lookup per
//! call, and ages.

mod folds;
mod windows;

use self::folds::{Fold, Folds, Sum, Width, Xor};
use self::windows::Windows;
use super::vector::{ISA, kernel};
use super::{Arguments, Built, NameError, Parameter, Spec};
use crate::effort::Attempts;
use crate::engine::Engine;
use crate::scan::Kernel;
use crate::scan_engine::{ScanEngine, Scheme};

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

fn build(arguments: &Arguments<'_>, is_counting: bool) -> Built {
    let kernel = kernel(arguments)?;
    let bits: u32 = arguments.get("bits")?;
    let (rank, tag): (u32, u32) = (arguments.get("rank")?, arguments.get("tag")?);
    if rank > 32 || tag > 32 || rank + tag > 32 {
        return Err(arguments.invalid("rank", &format!("{rank} with tag={tag}")));
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
        32 => build_engine(Windows::new(rank, tag), kernel, is_counting),
        16 => build_folded::<u16>(is_xor, kernel, is_counting),
        8 => build_folded::<u8>(is_xor, kernel, is_counting),
        _ => return Err(arguments.invalid("bits", &bits.to_string())),
    })
}

fn build_folded<K: Width>(is_xor: bool, kernel: Kernel, is_counting: bool) -> Box<dyn Engine> {
    fn of<K: Width, F: Fold>(kernel: Kernel, is_counting: bool) -> Box<dyn Engine> {
        build_engine(Folds::<K, F>::new(), kernel, is_counting)
    }
    if is_xor { of::<K, Xor>(kernel, is_counting) } else { of::<K, Sum>(kernel, is_counting) }
}

fn build_engine<S: Scheme>(scheme: S, kernel: Kernel, is_counting: bool) -> Box<dyn Engine> {
    if is_counting {
        Box::new(ScanEngine::<S, Attempts>::new(scheme, kernel))
    } else {
        Box::new(ScanEngine::<S, ()>::new(scheme, kernel))
    }
}
