//! Specifications of this crate's engines, for [`matchpoint::engines::register`].

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use matchpoint::engines::{Arguments, Built, NameError, Parameter, Spec};

use crate::batch::Layout;
use crate::card::{Card, CardError};
use crate::engine::{Fallback, KernelEngine};
use crate::matching::Algorithm;

pub static SPECS: &[Spec] = &[
    Spec {
        name: "gpu_matrix",
        summary: "a graphics card: votes of all messages on one receive after the other (Klenk et al., §V)",
        build: |arguments, is_counting| build(Algorithm::Matrix, arguments, is_counting),
        ..GPU
    },
    Spec {
        name: "gpu_partitioned",
        summary: "a graphics card: votes on receives in a queue for each source, no receive from any source (Klenk et al., §VI-A)",
        build: |arguments, is_counting| build(Algorithm::Partitioned, arguments, is_counting),
        ..GPU
    },
    Spec {
        name: "gpu_hash",
        summary: "a graphics card: two hash tables, no order and no wildcards (Klenk et al., §VI-C)",
        build: |arguments, is_counting| build(Algorithm::Hash, arguments, is_counting),
        ..GPU
    },
    Spec {
        name: "gpu_ordered",
        summary: "a graphics card: entries numbered within each envelope, MPI's order and wildcards (ours)",
        build: |arguments, is_counting| build(Algorithm::Ordered, arguments, is_counting),
        ..GPU
    },
];

/// Value of `fallback` that means "no engine".
const NO_ENGINE: &str = "none";

/// The engines count no attempts, because kernels do not report comparisons. A fallback engine counts its
/// attempts.
const GPU: Spec = Spec {
    name: "",
    summary: "",
    parameters: &[
        Parameter { key: "card", default: "0", meaning: "the number of the card" },
        Parameter {
            key: "fallback",
            default: NO_ENGINE,
            meaning: "engine of the processor, such as `hybrid`, if there is no card or it fails; or none",
        },
    ],
    variants: &[],
    tight: &[],
    build: |_, _| unreachable!("it has no name"),
};

fn build(algorithm: Algorithm, arguments: &Arguments<'_>, is_counting: bool) -> Built {
    let ordinal: usize = arguments.get("card")?;
    let other: String = arguments.get("fallback")?;
    let other = (other != NO_ENGINE).then_some(&*other);
    match (ready(ordinal, algorithm, other.is_some()), other) {
        (Ok(card), _) => Ok(Box::new(Fallback::new(KernelEngine::new(card, algorithm), other, is_counting)?)),
        (Err(error), Some(other)) => {
            let why = error.to_string();
            Ok(Box::new(Fallback::<Card>::without_machine(algorithm, other, is_counting, &why)?))
        }
        (Err(error), None) => Err(NameError::new(
            format!("engine `{}`: {error}", algorithm.name()),
            format!("use {}:fallback=hybrid to run without a card", algorithm.name()),
        )),
    }
}

/// Opens a card and loads the algorithm's kernel. Engines of a process share the card, so a kernel is
/// compiled once and launches run in order. With `can_wait`, a persistent kernel only delays the load.
fn ready(ordinal: usize, algorithm: Algorithm, can_wait: bool) -> Result<Arc<Card>, CardError> {
    static CARDS: LazyLock<Mutex<HashMap<usize, Arc<Card>>>> = LazyLock::new(Mutex::default);
    let mut cards = CARDS.lock().unwrap_or_else(PoisonError::into_inner);
    let card = match cards.get(&ordinal) {
        Some(card) => card.clone(),
        None => {
            let card = Arc::new(Card::open(ordinal)?);
            cards.insert(ordinal, card.clone());
            card
        }
    };
    match card.load(algorithm.kernel(), Layout::Packed) {
        Err(CardError::PersistentKernelRuns(_)) if can_wait => {}
        loaded => loaded?,
    }
    // After an earlier failure, every operation of the card fails.
    card.has_ended()?;
    Ok(card)
}
