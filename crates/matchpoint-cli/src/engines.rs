//! `matchpoint engines`: what there is to choose from.

use std::fmt::Write as _;
use std::io::{self, Write as _};

use matchpoint::concurrent;
use matchpoint::engines::{extend, known};

use crate::failure::Failure;
use crate::wrap::wrap;

/// Gives the engines of graphics cards their names, once; the user is told when another has to take the place of one.
pub fn make_known() {
    extend(matchpoint_gpu::engines::SPECS);
    matchpoint_gpu::engine::listen(|sentence| anstream::eprintln!("matchpoint: {sentence}"));
}

/// Prints every engine with its parameters, and what several threads may call at once.
///
/// # Errors
/// Standard output cannot be written.
pub fn run() -> Result<(), Failure> {
    let terminal = terminal_size::terminal_size_of(io::stdout()).map(|(width, _)| usize::from(width.0));
    anstream::stdout().write_all(listed(terminal).as_bytes()).map_err(|error| Failure::printing(&error))
}

/// All of it, in lines that fit a terminal of so many columns; in a pipe whatever there is to say of one thing stays one line.
fn listed(width: Option<usize>) -> String {
    let mut text = String::new();
    for spec in known() {
        line(&mut text, &format!("{:<12}  ", spec.name), spec.summary, width);
        for parameter in spec.parameters {
            let given = format!("{}={}", parameter.key, parameter.default);
            line(&mut text, &format!("{:<12}    {given:<16} ", ""), parameter.meaning, width);
        }
    }
    let several = "For several threads at once, around any of these (bench --callers N --concurrent …):";
    text.push('\n');
    line(&mut text, "", several, width);
    for (kind, what) in concurrent::KINDS {
        line(&mut text, &format!("{kind:<31} "), what, width);
    }
    text
}

/// What `head` is, beside it or, where that leaves no room, below it.
fn line(text: &mut String, head: &str, what: &str, width: Option<usize>) {
    let Some(width) = width else {
        let _ = writeln!(text, "{head}{what}");
        return;
    };
    let taken = head.chars().count();
    let (mut head, indent) = if taken + LEAST <= width {
        (head.to_owned(), taken)
    } else {
        let _ = writeln!(text, "{}", head.trim_end());
        (" ".repeat(BELOW), BELOW)
    };
    for part in wrap(what, width.saturating_sub(indent)) {
        let _ = writeln!(text, "{head}{part}");
        head = " ".repeat(indent);
    }
}

/// Columns that are worth to be beside a head: with fewer there would be a word a line.
const LEAST: usize = 30;

/// Columns that what is below its head is indented by.
const BELOW: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_fits_the_terminal_and_says_the_same_in_a_pipe() {
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let piped = listed(None);
        for width in [40, 80, 100, 200] {
            let text = listed(Some(width));
            let fits = |line: &&str| {
                line.chars().count() <= width
                    || line.trim().split(' ').filter(|word| !word.is_empty()).count() == 1
            };
            let wide = text.lines().find(|line| !fits(line));
            assert_eq!(wide, None, "{width}");
            assert_eq!(words(&text), words(&piped), "{width}");
        }
        let parameters: usize = known().map(|spec| 1 + spec.parameters.len()).sum();
        assert_eq!(piped.lines().count(), parameters + 2 + concurrent::KINDS.len());
    }
}
