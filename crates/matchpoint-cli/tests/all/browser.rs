//! Tests of the HTML report in a browser.
//!
//! The tests need Chromium. The pages remain in `target/tmp`.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, fs};

use matchpoint_cli::report::{Report, html};
use matchpoint_replay::Measurements;
use matchpoint_replay::format;

use crate::left_out::leave_out;
use crate::synthetic;

const BROWSERS: [&str; 5] =
    ["chromium", "chromium-headless-shell", "chromium-browser", "google-chrome", "chrome"];

/// The script runs first, and writes script errors and network requests into the page.
const WATCH: &str = "<head><script>
  addEventListener('error', event => document.documentElement.dataset.error = event.message || 'resource');
  document.addEventListener('securitypolicyviolation', event =>
    document.documentElement.dataset.error = 'asked for ' + event.blockedURI);
</script>";

const DRIVE: &str = "<script>(() => {
  const output = [];
  function press(stage, key) {
    stage.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true }));
    output.push(document.querySelector('[data-map=heat] .readout').textContent);
  }
  const stage = document.querySelector('[data-map=heat] .stage');
  document.querySelector('[data-map=heat] input[value=posted]').click();
  for (const key of ['Enter', 'ArrowRight', 'ArrowUp', 'Home', 'End']) press(stage, key);
  document.querySelector('[data-map=heat] input[value=unexpected]').click();
  press(stage, 'Enter');
  stage.blur();
  stage.focus();
  output.push('shown ' + !stage.querySelector('.cell').hidden);
  const columns = document.querySelector('[data-columns=matching_ns] .stage');
  columns.dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter' }));
  output.push(columns.querySelector('.tip').textContent);
  const pixels = document.querySelector('[data-map=heat] .stage canvas');
  const painted = pixels.getContext('2d').getImageData(0, 0, pixels.width, pixels.height).data;
  output.push('painted ' + painted.some(value => value > 0));
  document.documentElement.dataset.output = output.join(' | ');
  document.documentElement.dataset.wide = document.documentElement.scrollWidth > innerWidth;
})();</script></body>";

fn browser() -> Option<&'static str> {
    let found = BROWSERS.into_iter().find(|name| {
        let version =
            Command::new(name).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
        version.is_ok_and(|status| status.success())
    });
    if found.is_none() {
        leave_out("no Chromium", "`apt-get install chromium-headless-shell`");
    }
    found
}

fn write(name: &str, measurements: &Measurements) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::write(&path, html::render(&Report::new(measurements))).unwrap();
    path
}

/// The document after its scripts ran. `None`: this host has no browser.
fn run(page: &Path, width: u32) -> Option<String> {
    let browser = browser()?;
    let driven = page.with_extension(format!("{width}.driven.html"));
    let html = fs::read_to_string(page).unwrap();
    fs::write(&driven, html.replacen("<head>", WATCH, 1).replacen("</body>", DRIVE, 1)).unwrap();
    let profile = tempfile::tempdir().unwrap();
    let output = Command::new(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-sync"])
        .args(["--disable-background-networking", "--disable-component-update", "--virtual-time-budget=3000"])
        .arg(format!("--window-size={width},900"))
        .arg(format!("--user-data-dir={}", profile.path().display()))
        .arg("--dump-dom")
        .arg(format!("file://{}", driven.display()))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(String::from_utf8(output.stdout).unwrap())
}

fn data(dom: &str, name: &str) -> Option<String> {
    let root = &dom[dom.find("<html")?..];
    let root = &root[..root.find('>')?];
    let value = root.split_once(&format!("data-{name}=\""))?.1;
    Some(value.split_once('"')?.0.to_owned())
}

#[test]
fn keys_move_over_maps() {
    for ranks in [8, 1024] {
        let measurements = synthetic::run(ranks);
        let page = write(&format!("report-{ranks}.html"), &measurements);
        let Some(dom) = run(&page, 1400) else { return };
        assert_eq!(data(&dom, "error"), None);
        assert_eq!(data(&dom, "wide").as_deref(), Some("false"));
        let output = data(&dom, "output").unwrap();
        let output: Vec<_> = output.split(" | ").collect();
        assert!(output[0].contains("posted receives"), "{output:?}");
        assert_ne!(output[0], output[1], "an arrow key moves the cursor");
        assert!(output[3].contains(", 0.000–") && output[4].contains("–1.250 s"), "{output:?}");
        let piled = format::count(measurements.ranks[5].unexpected.length_max);
        assert!(
            output[5].starts_with("rank 5, ") && output[5].ends_with(&format!("{piled} unexpected messages"))
        );
        assert_eq!(output[6], "shown true", "the focus alone shows a cursor");
        assert!(output[7].starts_with("rank 5: "), "{output:?}");
        assert_eq!(output[8], "painted true");
        assert!(dom.contains("data-drawn=\"unexpected\"") && dom.contains("data-drawn=\"messages\""));
        assert!(dom.contains("matching costs"), "the verdict is there");
    }
}

#[test]
fn narrow_window_does_not_scroll_sideways() {
    let page = write("report-narrow.html", &synthetic::run(8));
    let Some(dom) = run(&page, 500) else { return };
    assert_eq!(data(&dom, "wide").as_deref(), Some("false"));
    assert_eq!(data(&dom, "error"), None);
}

#[test]
fn hostile_names_stay_text() {
    let mut measurements = synthetic::run(8);
    let hostile =
        "</script><script>document.documentElement.dataset.error='path'</script>\"'><img src=x>{{data}}";
    measurements.trace.path = hostile.to_owned();
    measurements.trace.notes = vec![hostile.to_owned()];
    measurements.communicators[0].origin = hostile.to_owned();
    measurements.host = hostile.to_owned();
    measurements.trace.missing = vec![(3, hostile.to_owned())];
    let page = write("report-hostile.html", &measurements);
    let Some(dom) = run(&page, 1400) else { return };
    assert_eq!(data(&dom, "error"), None);
    assert!(!dom.contains("<img"));
    assert!(dom.contains("{{data}}"), "a placeholder in a name is not filled");
}

#[test]
fn run_without_messages_has_report() {
    let mut measurements = synthetic::run(8);
    measurements.totals = Default::default();
    measurements.ranks.clear();
    measurements.matrix = Default::default();
    measurements.engines.iter_mut().for_each(|engine| engine.ranks.clear());
    let html = fs::read_to_string(write("report-empty.html", &measurements)).unwrap();
    assert!(html.contains("No messages: "));
    assert!(!html.contains("NaN") && !html.contains("inf%"));
}

/// Random queue lengths, which compress worst.
#[test]
fn thousand_ranks_need_three_megabytes() {
    let mut measurements = synthetic::run(1024);
    let mut state = 1_u64;
    for rank in &mut measurements.ranks {
        for queue in [&mut rank.posted, &mut rank.unexpected] {
            queue.timeline = vec![0; 512];
            for length in &mut queue.timeline {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                *length = (state >> 40) as u32 % 10_000;
            }
        }
    }
    let size = fs::metadata(write("report-noise.html", &measurements)).unwrap().len();
    assert!(size < 3_000_000, "{size} bytes");
}
