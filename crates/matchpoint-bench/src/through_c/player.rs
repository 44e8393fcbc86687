//! The C driver (`driver/`): plays scripts through an engine or a stand-in.

#![allow(unsafe_code)]

use std::ffi::{CStr, CString, c_char, c_void};
use std::marker::PhantomData;
use std::ptr::NonNull;

use crate::script::{Keys, Phase};

// The driver needs the functions of libmatchpoint.
use matchpoint_capi as _;

/// `struct phase` of `driver.c`.
#[repr(C)]
struct RawPhase {
    keys: *const c_void,
    count: usize,
    first_number: u32,
    kind: u32,
    form: u32,
}

// SAFETY: the types are those of `driver/driver.c`.
unsafe extern "C" {
    fn matchpoint_driver_stand_in(at: usize) -> *const c_char;
    fn matchpoint_driver_create(
        name: *const c_char,
        requests: usize,
        error: *mut c_char,
        error_size: usize,
    ) -> *mut c_void;
    fn matchpoint_driver_destroy(player: *mut c_void);
    fn matchpoint_driver_play_call(player: *mut c_void, phase: *const RawPhase, call: usize) -> u64;
    fn matchpoint_driver_play_rounds(
        player: *mut c_void,
        phases: *const RawPhase,
        count: usize,
        rounds: usize,
    ) -> u64;
}

pub fn stand_ins() -> Vec<&'static str> {
    // SAFETY: the driver returns NULL or a string constant in ASCII.
    let name = |at| unsafe {
        let name = matchpoint_driver_stand_in(at);
        (!name.is_null()).then(|| CStr::from_ptr(name).to_str().unwrap_or_default())
    };
    (0..).map_while(name).collect()
}

/// Phases in the form of the driver.
pub struct Phases<'a> {
    raw: Vec<RawPhase>,
    /// `raw` points to these keys.
    keys: PhantomData<&'a [Phase]>,
}

impl<'a> Phases<'a> {
    /// `None`: the phases have calls of a trace, which the driver does not play.
    pub fn new(phases: &'a [Phase]) -> Option<Self> {
        let raw = phases.iter().map(raw_phase).collect::<Option<_>>()?;
        Some(Phases { raw, keys: PhantomData })
    }
}

fn raw_phase(phase: &Phase) -> Option<RawPhase> {
    let (kind, Keys { keys, first_id, form }) = match phase {
        Phase::Posts(keys) => (0, keys),
        Phase::Arrivals(keys) => (1, keys),
        Phase::Pairs(keys) => (2, keys),
        Phase::EngineCalls(_) => return None,
    };
    let (first_number, form) = (*first_id, *form as u32);
    Some(RawPhase { keys: keys.as_ptr().cast(), count: keys.len(), first_number, kind, form })
}

pub struct Player(NonNull<c_void>);

impl Player {
    /// Creates an engine or a stand-in by name, for at most `requests` queued entries.
    pub fn new(name: &str, requests: usize) -> Result<Self, String> {
        let name = CString::new(name).map_err(|_| "a name has a zero byte".to_owned())?;
        let mut error = [0_u8; 512];
        // SAFETY: `name` ends with a zero byte, and `error` has the size that is passed.
        let player = unsafe {
            matchpoint_driver_create(name.as_ptr(), requests.max(1), error.as_mut_ptr().cast(), error.len())
        };
        NonNull::new(player).map(Player).ok_or_else(|| {
            let text = CStr::from_bytes_until_nul(&error).unwrap_or_default();
            text.to_string_lossy().into_owned()
        })
    }

    /// Plays a call of the phase `at`. The result is 0, or the number of the matched entry plus 1.
    ///
    /// # Panics
    /// The call does not exist.
    pub fn play_call(&mut self, phases: &Phases<'_>, at: usize, call: usize) -> u64 {
        let phase = &phases.raw[at];
        let calls = if phase.kind == 2 { 2 * phase.count } else { phase.count };
        assert!(call < calls, "call {call} of {calls}");
        // SAFETY: the player is one of `matchpoint_driver_create`, and the keys are borrowed.
        unsafe { matchpoint_driver_play_call(self.0.as_ptr(), phase, call) }
    }

    pub fn play_rounds(&mut self, phases: &Phases<'_>, rounds: usize) -> u64 {
        // SAFETY: as in `play_call`.
        unsafe {
            matchpoint_driver_play_rounds(self.0.as_ptr(), phases.raw.as_ptr(), phases.raw.len(), rounds)
        }
    }
}

impl Drop for Player {
    fn drop(&mut self) {
        // SAFETY: the player is one of `matchpoint_driver_create`, and nothing uses the player afterwards.
        unsafe { matchpoint_driver_destroy(self.0.as_ptr()) }
    }
}
