//! The alternate screen of the terminal.

use std::io::{self, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::{LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr};

const ENTER: &str = "\x1b[?1049h\x1b[?25l";
const LEAVE: &str = "\x1b[?25h\x1b[?1049l";

const POLL: Duration = Duration::from_millis(50);

pub struct Screen {
    /// The previous mode of the terminal, if standard input is a terminal.
    before: Option<Termios>,
}

impl Screen {
    pub fn open() -> io::Result<Screen> {
        let screen = Screen { before: keys_at_once() };
        let mut out = io::stdout().lock();
        out.write_all(ENTER.as_bytes())?;
        out.flush()?;
        Ok(screen)
    }

    pub fn size(&self) -> (usize, usize) {
        let (width, height) = terminal_size::terminal_size()
            .map_or((80, 24), |(width, height)| (usize::from(width.0), usize::from(height.0)));
        (width.max(1), height.max(1))
    }

    pub fn draw(&mut self, lines: &[String]) -> io::Result<()> {
        let (_, height) = self.size();
        // Clearing the rest of each line, and not the screen, avoids flicker.
        let mut text = String::from("\x1b[H");
        for (at, line) in lines.iter().take(height).enumerate() {
            text.push_str(if at == 0 { "" } else { "\r\n" });
            text.push_str(line);
            text.push_str("\x1b[K");
        }
        text.push_str("\x1b[J");
        // Without colours, the sequences that move the cursor remain.
        let styled = anstream::AutoStream::choice(&io::stdout()) != anstream::ColorChoice::Never;
        let mut out = io::stdout().lock();
        out.write_all(if styled { text } else { without_styles(&text) }.as_bytes())?;
        out.flush()
    }

    pub fn quits_within(&mut self, time: Duration, stop: &AtomicBool) -> bool {
        let begun = Instant::now();
        loop {
            if stop.load(Relaxed) {
                return true;
            }
            let left = time.saturating_sub(begun.elapsed());
            if left.is_zero() {
                return false;
            }
            if self.key(left.min(POLL)).is_some_and(|key| key == b'q' || key == b'Q') {
                return true;
            }
        }
    }

    fn key(&self, time: Duration) -> Option<u8> {
        if self.before.is_none() {
            std::thread::sleep(time);
            return None;
        }
        let stdin = rustix::stdio::stdin();
        let mut polled = [PollFd::new(&stdin, PollFlags::IN)];
        let timeout = Timespec { tv_sec: 0, tv_nsec: time.subsec_nanos().into() };
        if !matches!(poll(&mut polled, Some(&timeout)), Ok(1)) {
            return None;
        }
        let mut key = [0];
        match rustix::io::read(stdin, &mut key) {
            Ok(1) => Some(key[0]),
            // Standard input is closed, so polling would return at once.
            _ => {
                std::thread::sleep(time);
                None
            }
        }
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        let mut out = io::stdout().lock();
        let _ = out.write_all(LEAVE.as_bytes());
        let _ = out.flush();
        if let Some(before) = &self.before {
            let _ = tcsetattr(rustix::stdio::stdin(), OptionalActions::Flush, before);
        }
    }
}

/// Reads keys without a line end and without echo. Ctrl-Z is disabled, because the alternate screen would remain.
fn keys_at_once() -> Option<Termios> {
    if !io::stdin().is_terminal() {
        return None;
    }
    let stdin = rustix::stdio::stdin();
    let before = tcgetattr(stdin).ok()?;
    let mut wanted = before.clone();
    wanted.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO);
    wanted.special_codes[SpecialCodeIndex::VSUSP] = 0;
    wanted.special_codes[SpecialCodeIndex::VMIN] = 1;
    wanted.special_codes[SpecialCodeIndex::VTIME] = 0;
    tcsetattr(stdin, OptionalActions::Now, &wanted).ok()?;
    Some(before)
}

fn without_styles(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("\x1b[") {
        let sequence = &rest[at + 2..];
        let length = sequence.find(|letter: char| letter.is_ascii_alphabetic()).unwrap_or(sequence.len());
        let is_style = sequence[length..].starts_with('m');
        let behind = at + 2 + (length + 1).min(sequence.len());
        plain.push_str(if is_style { &rest[..at] } else { &rest[..behind] });
        rest = &rest[behind..];
    }
    plain.push_str(rest);
    plain
}

#[cfg(test)]
mod tests {
    use super::without_styles;

    #[test]
    fn styles_are_removed_moves_kept() {
        assert_eq!(without_styles("\x1b[H\x1b[1ma\x1b[0m\x1b[K\r\nb\x1b[J"), "\x1b[Ha\x1b[K\r\nb\x1b[J");
        assert_eq!(without_styles("\x1b["), "\x1b[");
    }
}
