//! `libmatchpoint`: the engines behind the C interface that `include/matchpoint.h` declares. That header is generated
//! from these files and from `matchpoint_abi::types`; the comments in it are theirs.
//!
//! Every function that is handed an engine, or a side of one that works elsewhere, goes through [`handle`], or through [`shared`]
//! if any thread may call that engine: there a panic ends, and a call from within a call is turned away. All read what is handed in
//! by [`arguments`] and tell what comes of it by [`answers`]. Nothing here knows an engine by name, but for the defaults
//! (`life.rs`, `concurrent.rs`, `offload.rs`). The functions in `words.rs` have words for arguments and results, and no guard
//! against panics.

mod answers;
mod arguments;
mod concurrent;
mod handle;
mod library;
mod life;
mod matching;
mod offload;
mod shared;
mod tell;
mod upkeep;
mod words;

#[cfg(test)]
mod tests {
    use matchpoint_abi::symbols;

    use super::*;

    /// Those who load a library by these types get these functions.
    #[test]
    fn the_functions_have_the_types_that_are_loaded() {
        let _: [symbols::Create; 2] = [life::mp_engine_create, life::mp_engine_create_counting];
        let _: symbols::Destroy = life::mp_engine_destroy;
        let _: symbols::Post = matching::mp_engine_post;
        let _: symbols::Arrive = matching::mp_engine_arrive;
        let _: symbols::ArriveBatch = matching::mp_engine_arrive_batch;
        let _: symbols::DeliverBatch = matching::mp_engine_deliver_batch;
        let _: [symbols::Probe; 2] = [matching::mp_engine_probe, matching::mp_engine_matched_probe];
        let _: symbols::Cancel = upkeep::mp_engine_cancel;
        let _: symbols::Retract = upkeep::mp_engine_retract;
        let _: symbols::Readdress = upkeep::mp_engine_readdress;
        let _: symbols::SetHints = upkeep::mp_engine_set_hints;
        let _: symbols::HintsOf = upkeep::mp_engine_hints;
        let _: symbols::Close = upkeep::mp_engine_close;
        let _: symbols::FailSource = upkeep::mp_engine_fail_source;
        let _: [symbols::Length; 2] = [tell::mp_engine_posted_len, tell::mp_engine_unexpected_len];
        let _: symbols::Visit = tell::mp_engine_visit;
        let _: symbols::OrderOf = tell::mp_engine_order;
        let _: symbols::FootprintOf = tell::mp_engine_footprint;
        let _: symbols::AttemptsOf = tell::mp_engine_attempts;
        let _: symbols::Statistics = tell::mp_engine_statistics;
        assert_eq!(library::mp_abi_version(), matchpoint_abi::types::MP_ABI_VERSION);
    }
}
