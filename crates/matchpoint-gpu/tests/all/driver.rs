//! Calls of NVIDIA's driver and reactions to its failures, with a fake driver, `emulation/driver.c`.
#![cfg(target_os = "linux")]

use std::ffi::{CString, c_char, c_int};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use libloading::os::unix::Library;
use matchpoint::{
    ContextId, Engine, Envelope, Message, MsgId, Rank, Receive, RecvId, Refused, Selector, Tag,
};
use matchpoint_gpu::batch::Layout;
use matchpoint_gpu::card::CardError;
use matchpoint_gpu::resident::{Resident, match_stream_on_card};
use matchpoint_gpu::{Algorithm, Batch, Card, KernelEngine, match_batch};

use crate::left_out::leave_out;

/// Set in a process with the fake driver.
const HAS_FAKE_DRIVER: &str = "MATCHPOINT_TEST_DRIVER";

fn any(engine: &mut dyn Engine) -> &mut dyn Engine {
    engine
}

/// Runs a test in a separate process with the fake driver.
fn with_fake_driver(name: &str, test: fn(&Driver)) {
    if std::env::var_os(HAS_FAKE_DRIVER).is_some() {
        return test(&Driver(Library::this()));
    }
    let folder = tempfile::tempdir().unwrap();
    let driver = folder.path().join("libcuda.so");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("emulation/driver.c");
    let mut compiler = Command::new("cc");
    compiler.args(["-std=gnu11", "-O1", "-Wall", "-Wextra", "-fPIC", "-shared"]);
    compiler.arg(source).arg("-o").arg(&driver).args(["-lpthread", "-ldl"]);
    let output = match compiler.output() {
        Err(_) => return leave_out("no cc", "`apt-get install gcc`"),
        Ok(output) => output,
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    symlink(&driver, folder.path().join("libnvrtc.so")).unwrap();
    let mut process = Command::new(std::env::current_exe().unwrap());
    process.args(["--exact", &format!("driver::{name}"), "--nocapture"]).env(HAS_FAKE_DRIVER, "1");
    let output = process.env("LD_PRELOAD", &driver).env("LD_LIBRARY_PATH", folder.path()).output().unwrap();
    let said = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    assert!(output.status.success(), "{}\n{}", said[0], said[1]);
    assert!(said[0].contains("1 passed"), "nothing was tested: {}", said[0]);
}

/// A function of the fake driver that changes its behaviour.
type Switch = &'static str;

/// Persistent kernels ignore batches.
const SLEEP: Switch = "played_sleep";
/// Persistent kernels end with this CUDA error.
const FAULT: Switch = "played_fault";
/// The compiler blocks.
const COMPILER: Switch = "played_compiler";
/// A submitting kernel runs forever, or ends at once. The kernel submits no batch in either case.
const FEEDER: Switch = "played_feeder";
/// The driver ends long-running kernels.
const WATCHDOG: Switch = "played_watchdog";

struct Driver(Library);

#[allow(unsafe_code)]
impl Driver {
    /// Sets the CUDA error of later calls of a function, or of later launches of a kernel. 0 means success.
    fn fails(&self, name: &str, failure: c_int) {
        let name = CString::new(name).unwrap();
        // SAFETY: the function's signature.
        unsafe {
            let function = self.0.get::<extern "C" fn(*const c_char, c_int)>(b"played_failure").unwrap();
            function(name.as_ptr(), failure);
        }
    }

    fn calls(&self, name: &str) -> c_int {
        let name = CString::new(name).unwrap();
        // SAFETY: the function's signature.
        unsafe {
            self.0.get::<extern "C" fn(*const c_char) -> c_int>(b"played_calls").unwrap()(name.as_ptr())
        }
    }

    fn set(&self, switch: Switch, value: impl Into<c_int>) {
        // SAFETY: the functions' signature.
        unsafe { self.0.get::<extern "C" fn(c_int)>(switch.as_bytes()).unwrap()(value.into()) }
    }

    /// Number of running persistent kernels.
    fn staying(&self) -> c_int {
        // SAFETY: the function's signature.
        unsafe { self.0.get::<extern "C" fn() -> c_int>(b"played_staying").unwrap()() }
    }
}

fn batch() -> Batch {
    Batch::of(&[Envelope::new(ContextId(0), Rank(1), Tag(2))], &[])
}

fn eight_batches() -> Batch {
    let envelopes = [Envelope::new(ContextId(0), Rank(1), Tag(2)); 64];
    Batch::of(&envelopes, &envelopes.map(|envelope| Selector::exactly(&envelope)))
}

const TIMEOUT: Duration = Duration::from_secs(60);

const OUT_OF_MEMORY: c_int = 2;
const STUB_LIBRARY: c_int = 34;
const NO_DEVICE: c_int = 100;
const NO_BINARY_FOR_GPU: c_int = 209;
const ILLEGAL_ADDRESS: c_int = 700;

/// CUDA 12.0 is the oldest version that loads code from NVRTC 12. CUDA 12.0 refuses PTX of a newer CUDA.
#[test]
fn driver_of_cuda_12_0_suffices() {
    with_fake_driver("driver_of_cuda_12_0_suffices", |_| {
        let card = Card::open(0).unwrap();
        Resident::start(&card, Layout::Packed, 1).unwrap().stop().unwrap();
    });
}

#[test]
fn older_driver_than_nvrtc_is_reported() {
    with_fake_driver("older_driver_than_nvrtc_is_reported", |driver| {
        let card = Card::open(0).unwrap();
        driver.fails("cuModuleLoadData", NO_BINARY_FOR_GPU);
        let error = Resident::start(&card, Layout::Packed, 1).unwrap_err();
        assert!(matches!(error, CardError::Unloadable((12, 9), (12, 0), _)), "{error:?}");
        let said = error.to_string();
        assert!(said.contains("NVRTC 12.9") && said.contains("CUDA 12.0"), "{said}");
        driver.fails("cuModuleLoadData", OUT_OF_MEMORY);
        let error = Resident::start(&card, Layout::Packed, 1).unwrap_err();
        assert!(matches!(error, CardError::Memory("loading a kernel", _)), "{error:?}");
    });
}

/// An event after the kernel would wait in a hardware queue that other streams share.
#[test]
fn no_work_follows_persistent_kernel() {
    with_fake_driver("no_work_follows_persistent_kernel", |driver| {
        let card = Card::open(0).unwrap();
        driver.fails("cuEventRecord", ILLEGAL_ADDRESS);
        let mut resident = Resident::start(&card, Layout::Packed, 1).unwrap();
        resident.feed(&batch());
        assert_eq!(resident.take(|_, _| {}), Ok(0));
        resident.stop().unwrap();
        assert_eq!((driver.calls("cuEventRecord"), driver.staying()), (0, 0));
    });
}

#[test]
fn unstarted_persistent_kernel_frees_memory() {
    with_fake_driver("unstarted_persistent_kernel_frees_memory", |driver| {
        let card = Card::open(0).unwrap();
        driver.fails("match_resident", OUT_OF_MEMORY);
        let error = Resident::start(&card, Layout::Packed, 1).unwrap_err();
        assert!(matches!(error, CardError::Memory("starting a kernel", _)), "{error:?}");
        assert_eq!(driver.calls("cuMemHostAlloc"), driver.calls("cuMemFreeHost"));
    });
}

/// Freeing the kernel's memory in stream order would wait forever.
#[test]
fn idle_persistent_kernel_is_ended() {
    with_fake_driver("idle_persistent_kernel_is_ended", |driver| {
        let card = Card::open(0).unwrap();
        driver.fails("feed_resident", OUT_OF_MEMORY);
        let error = match_stream_on_card(&card, &eight_batches(), 8, 1, TIMEOUT).unwrap_err();
        assert!(matches!(error, CardError::Memory("starting a kernel", _)), "{error:?}");
        let begin = Instant::now();
        while driver.staying() > 0 {
            assert!(begin.elapsed() < Duration::from_secs(60), "nobody told it");
            std::thread::yield_now();
        }
    });
}

/// The caller's later operations wait for neither kernel.
#[test]
fn wait_for_either_kernel_ends() {
    with_fake_driver("wait_for_either_kernel_ends", |driver| {
        let card = Card::open(0).unwrap();
        match_batch(&card, Algorithm::Matrix, &batch(), 1).unwrap();
        for (never, what) in
            [(true, "submitting to a persistent kernel"), (false, "ending a persistent kernel")]
        {
            driver.set(FEEDER, never);
            let staying = driver.staying();
            let error =
                match_stream_on_card(&card, &eight_batches(), 8, 1, Duration::from_millis(20)).unwrap_err();
            assert_eq!(error, CardError::Driver(what, "the kernel does not end".to_owned()));
            assert_eq!(driver.staying(), staying + 1, "nobody told it to end");
            match_batch(&card, Algorithm::Matrix, &batch(), 1).unwrap();
        }
        // The abandoned kernel counts as a persistent kernel.
        let error = match_batch(&card, Algorithm::Hash, &batch(), 1).unwrap_err();
        assert_eq!(error, CardError::PersistentKernelRuns("match_hash"));
    });
}

/// The driver would end the kernel after seconds, with the context of the process.
#[test]
fn driver_time_limit_prevents_persistent_kernel() {
    with_fake_driver("driver_time_limit_prevents_persistent_kernel", |driver| {
        let card = Card::open(0).unwrap();
        driver.set(WATCHDOG, true);
        assert_eq!(Resident::start(&card, Layout::Packed, 1).unwrap_err(), CardError::KernelTimeLimit);
        let error = match_stream_on_card(&card, &eight_batches(), 8, 1, TIMEOUT).unwrap_err();
        assert_eq!((&error, driver.staying()), (&CardError::KernelTimeLimit, 0));
        assert_eq!((driver.calls("match_resident"), driver.calls("feed_resident")), (0, 0));
        assert_eq!(driver.calls("cuMemHostAlloc"), driver.calls("cuMemFreeHost"));
        let said = error.to_string();
        assert!(
            said.contains("ends long kernels") && said.contains("use a card without a display"),
            "{said}"
        );
        // Kernels that end are allowed.
        match_batch(&card, Algorithm::Matrix, &batch(), 1).unwrap();
    });
}

#[test]
fn card_failure_ends_wait_for_batch() {
    with_fake_driver("card_failure_ends_wait_for_batch", |driver| {
        let card = Card::open(0).unwrap();
        let mut resident = Resident::start(&card, Layout::Packed, 1).unwrap();
        driver.set(SLEEP, true);
        resident.feed(&batch());
        driver.set(FAULT, ILLEGAL_ADDRESS);
        let said = resident.take(|_, _| {}).unwrap_err().to_string();
        assert!(said.contains("PLAYED_ERROR_700"), "{said}");
        assert!(resident.stop().unwrap_err().to_string().contains("PLAYED_ERROR_700"));
    });
}

/// The kernel completes a batch after the batch's time limit.
#[test]
fn late_kernel_is_not_abandoned() {
    with_fake_driver("late_kernel_is_not_abandoned", |driver| {
        let card = Card::open(0).unwrap();
        let mut resident = Resident::start(&card, Layout::Packed, 1).unwrap();
        driver.set(SLEEP, true);
        resident.feed(&batch());
        driver.fails("cuStreamQuery", ILLEGAL_ADDRESS);
        resident.take(|_, _| {}).unwrap_err();
        driver.fails("cuStreamQuery", 0);
        driver.set(SLEEP, false);
        assert_eq!(resident.take(|_, _| {}), Ok(0));
        driver.set(SLEEP, true);
        let has_ended = AtomicBool::new(false);
        let asked = driver.calls("cuStreamQuery");
        std::thread::scope(|scope| {
            scope.spawn(|| {
                // The test has queried the driver twice since the start of the wait.
                while driver.calls("cuStreamQuery") < asked + 2 && !has_ended.load(Ordering::Relaxed) {
                    std::thread::yield_now();
                }
                driver.set(SLEEP, false);
            });
            let ended = resident.stop();
            has_ended.store(true, Ordering::Relaxed);
            assert_eq!(ended, Ok(()));
        });
    });
}

/// Loading waits for all running kernels.
#[test]
fn persistent_kernel_prevents_loading() {
    with_fake_driver("persistent_kernel_prevents_loading", |driver| {
        let card = Card::open(0).unwrap();
        let resident = Resident::start(&card, Layout::Packed, 1).unwrap();
        let loaded = driver.calls("cuModuleLoadData");
        // The limit is per process, for any number of handles of the card.
        let other = Card::open(0).unwrap();
        let error = Resident::start(&other, Layout::Wide, 1).unwrap_err();
        assert_eq!(error, CardError::PersistentKernelRuns("match_resident"));
        assert!(match_batch(&card, Algorithm::Matrix, &batch(), 1).is_err());
        assert_eq!(driver.calls("cuModuleLoadData"), loaded);
        Resident::start(&card, Layout::Packed, 1).unwrap().stop().unwrap();
        resident.stop().unwrap();
        Resident::start(&other, Layout::Wide, 1).unwrap().stop().unwrap();
    });
}

/// Loading the engine's kernel would wait for the persistent kernel. The engine uses its fallback engine, and
/// later the card.
#[test]
fn engine_uses_card_after_persistent_kernel() {
    with_fake_driver("engine_uses_card_after_persistent_kernel", |driver| {
        matchpoint::engines::register(matchpoint_gpu::engines::SPECS);
        let card = Card::open(0).unwrap();
        let resident = Resident::start(&card, Layout::Packed, 1).unwrap();
        assert!(matchpoint::engines::create("gpu_ordered").is_err());
        let mut engine = matchpoint::engines::create("gpu_ordered:fallback=hybrid").unwrap();
        let compiled = driver.calls("nvrtcCompileProgram");
        let envelope = |tag| Envelope::new(ContextId(0), Rank(1), Tag(tag));
        for tag in 0..3 {
            let receive = Receive::new(RecvId(tag), Selector::exactly(&envelope(tag)));
            assert_eq!((engine.post(receive), engine.substitute()), (Ok(None), None));
        }
        for tag in 0..2 {
            let found = engine.arrive_message(Message::new(MsgId(tag), envelope(tag)));
            assert_eq!((found, engine.substitute()), (Ok(Some(RecvId(tag))), Some("hybrid")));
        }
        assert_eq!(
            driver.calls("nvrtcCompileProgram"),
            compiled,
            "nothing is compiled that cannot be loaded"
        );
        resident.stop().unwrap();
        // The fake card matches nothing.
        assert_eq!(engine.arrive_message(Message::new(MsgId(2), envelope(2))), Ok(None));
        assert_eq!((engine.substitute(), engine.posted_len(), engine.unexpected_len()), (None, 1, 1));
        assert_eq!(driver.calls("nvrtcCompileProgram"), compiled + 1);
    });
}

#[test]
fn compiled_kernels_start_during_compilation() {
    with_fake_driver("compiled_kernels_start_during_compilation", |driver| {
        let card = Card::open(0).unwrap();
        match_batch(&card, Algorithm::Matrix, &batch(), 1).unwrap();
        driver.set(COMPILER, true);
        std::thread::scope(|scope| {
            let compiles = scope.spawn(|| Resident::start(&card, Layout::Packed, 1).unwrap().stop());
            while driver.calls("nvrtcCompileProgram") < 2 {
                std::thread::yield_now();
            }
            match_batch(&card, Algorithm::Matrix, &batch(), 1).unwrap();
            driver.set(COMPILER, false);
            compiles.join().unwrap().unwrap();
        });
    });
}

/// Every launch would wait for the kernel's end.
#[test]
fn serial_launches_prevent_persistent_kernel() {
    with_fake_driver("serial_launches_prevent_persistent_kernel", |driver| {
        // SAFETY: no other thread of this process reads the environment now.
        #[allow(unsafe_code)]
        unsafe {
            std::env::set_var("CUDA_LAUNCH_BLOCKING", "1");
        }
        let card = Card::open(0).unwrap();
        let refused = Resident::start(&card, Layout::Packed, 1).unwrap_err();
        assert_eq!((refused, driver.staying()), (CardError::BlockingLaunches, 0));
    });
}

/// A login node may have only the toolkit.
#[test]
fn driver_without_cards_reports_no_card() {
    with_fake_driver("driver_without_cards_reports_no_card", |driver| {
        driver.fails("cuInit", NO_DEVICE);
        assert_eq!(Card::open(0).unwrap_err(), CardError::NoCard(0, 0));
        driver.fails("cuInit", STUB_LIBRARY);
        assert_eq!(Card::open(0).unwrap_err(), CardError::NoDriver);
        driver.fails("cuInit", OUT_OF_MEMORY);
        assert!(matches!(Card::open(0).unwrap_err(), CardError::Memory("counting cards", _)));
    });
}

#[test]
fn card_without_memory_is_retried() {
    with_fake_driver("card_without_memory_is_retried", |driver| {
        let card = Arc::new(Card::open(0).unwrap());
        let mut engine = KernelEngine::new(card, Algorithm::Matrix);
        let envelope = Envelope::new(ContextId(0), Rank(1), Tag(2));
        assert_eq!(any(&mut engine).post(Receive::new(RecvId(1), Selector::exactly(&envelope))), Ok(None));
        driver.fails("cuMemAllocAsync", OUT_OF_MEMORY);
        assert_eq!(any(&mut engine).arrive_message(Message::new(MsgId(1), envelope)), Err(Refused::Memory));
        assert_eq!((engine.failure(), engine.unexpected_len()), (None, 0));
        driver.fails("cuMemAllocAsync", 0);
        // The fake card matches nothing.
        assert_eq!(any(&mut engine).arrive_message(Message::new(MsgId(1), envelope)), Ok(None));
        driver.fails("match_matrix", ILLEGAL_ADDRESS);
        assert_eq!(any(&mut engine).arrive_message(Message::new(MsgId(2), envelope)), Err(Refused::Full));
        assert!(engine.failure().is_some());
    });
}

/// All kernels are loaded, so no later call would check the card.
#[test]
fn failed_card_gives_no_engine() {
    with_fake_driver("failed_card_gives_no_engine", |driver| {
        matchpoint::engines::register(matchpoint_gpu::engines::SPECS);
        matchpoint::engines::create("gpu_ordered").unwrap();
        driver.fails("cuStreamQuery", ILLEGAL_ADDRESS);
        let error = matchpoint::engines::create("gpu_ordered").err().unwrap().to_string();
        assert!(error.contains("PLAYED_ERROR_700"), "{error}");
    });
}
