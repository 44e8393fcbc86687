//! Text of reports: numbers with three significant digits and a unit, and words of a shell.

/// `1,234,567`. From ten million on, `12.3 M`.
pub fn count(value: u64) -> String {
    match value {
        0..10_000_000 => grouped(value),
        10_000_000..1_000_000_000 => format!("{} M", digits(value as f64 / 1e6)),
        _ => format!("{} G", digits(value as f64 / 1e9)),
    }
}

pub fn counted(value: u64, word: &str) -> String {
    let plural = match value {
        1 => "",
        _ if word.ends_with('s') || word.ends_with("ch") => "es",
        _ => "s",
    };
    format!("{} {word}{plural}", count(value))
}

pub fn capital(sentence: &str) -> String {
    let mut letters = sentence.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

fn grouped(value: u64) -> String {
    let plain = value.to_string();
    let mut text = String::new();
    for (index, digit) in plain.chars().enumerate() {
        if index > 0 && (plain.len() - index) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Three significant digits without an exponent. Numbers above 1000 are rounded to an integer.
pub fn digits(value: f64) -> String {
    if !value.is_finite() || value == 0.0 {
        return "0".to_owned();
    }
    let magnitude = value.abs().log10().floor() as i32;
    let decimals = usize::try_from((2 - magnitude).clamp(0, 9)).unwrap_or(0);
    let text = format!("{value:.decimals$}");
    // 9.996 has one digit before the point, but is written 10.00.
    if text.trim_start_matches(['0', '.', '-']).replace('.', "").len() > 3 && decimals > 0 {
        format!("{value:.*}", decimals - 1)
    } else {
        text
    }
}

/// A value with its spread: `1.23 (1.20–1.31)`.
pub fn with_spread([value, low, high]: [f64; 3]) -> String {
    format!("{} ({}–{})", digits(value), digits(low), digits(high))
}

/// A duration: `412 ns`, `3.20 µs`, `15.1 ms`, `2.34 s`.
pub fn duration_ns(value: f64) -> String {
    let (scale, unit) = match value.abs() {
        below if below < 999.5 => (1.0, "ns"),
        below if below < 999.5e3 => (1e3, "µs"),
        below if below < 999.5e6 => (1e6, "ms"),
        _ => (1e9, "s"),
    };
    format!("{} {unit}", digits(value / scale))
}

pub fn seconds(value: f64) -> String {
    if value == 0.0 { "0 s".to_owned() } else { duration_ns(value * 1e9) }
}

pub fn share(value: f64) -> String {
    let percent = value * 100.0;
    match percent {
        none if none <= 0.0 => "0 %".to_owned(),
        tiny if tiny < 0.0001 => "under 0.0001 %".to_owned(),
        small if small < 0.001 => format!("{} %", trim(format!("{small:.5}"))),
        small if small < 0.01 => format!("{} %", trim(format!("{small:.4}"))),
        below if below < 1.0 => format!("{} %", trim(format!("{below:.2}"))),
        below if below < 99.95 => format!("{} %", trim(format!("{below:.1}"))),
        _ => format!("{percent:.0} %"),
    }
}

/// A range of shares: `0.2–0.5 %`.
pub fn share_range(low: f64, high: f64) -> String {
    let (low, high) = (share(low), share(high));
    if low == high {
        return high;
    }
    match low.strip_suffix(" %").filter(|low| !low.starts_with("under")) {
        Some(number) => format!("{number}–{high}"),
        None => format!("{low} to {high}"),
    }
}

fn trim(text: String) -> String {
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// The number of ranks, as the end of a sentence. Empty for all ranks.
pub fn at_ranks(ranks: u32, of_ranks: u32) -> String {
    if ranks == of_ranks { String::new() } else { format!(" at {ranks} of {of_ranks} ranks") }
}

pub fn in_place(engine: &str, substitute: Option<&str>) -> String {
    substitute.map_or_else(|| engine.to_owned(), |substitute| format!("{substitute} for {engine}"))
}

/// `128 B`, `41.0 KiB`, `1.20 MiB`.
pub fn bytes(value: u64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut scaled = value as f64;
    let mut unit = 0;
    while scaled >= 1023.5 && unit + 1 < UNITS.len() {
        scaled /= 1024.0;
        unit += 1;
    }
    if unit == 0 { format!("{value} B") } else { format!("{} {}", digits(scaled), UNITS[unit]) }
}

pub fn power_bin(index: usize) -> String {
    match index {
        0 => "1".to_owned(),
        1..20 => format!("{}–{}", count(1 << index), count((1 << (index + 1)) - 1)),
        _ => format!("2^{index}…"),
    }
}

pub fn depth_bin(index: usize) -> String {
    index.checked_sub(1).map_or_else(|| "0".to_owned(), power_bin)
}

/// A clause about ranks that the trace does not contain.
pub fn missing_ranks(missing: usize, ranks: u32) -> Option<String> {
    let are = if missing == 1 { "is" } else { "are" };
    let counts = format!("{} of {} ranks {are}", count(missing as u64), count(ranks.into()));
    (missing > 0).then(|| format!("{counts} missing from the trace"))
}

pub fn shell_export(name: &str, value: &str) -> String {
    format!("export {name}={}\n", quoted(value))
}

/// The text as a word of the shell, quoted if necessary.
pub fn shell_word(text: &str) -> String {
    let is_plain =
        |byte: u8| byte.is_ascii_alphanumeric() || b"/._-+=:,@%".contains(&byte) || !byte.is_ascii();
    if !text.is_empty() && text.bytes().all(is_plain) { text.to_owned() } else { quoted(text) }
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_grouped() {
        assert_eq!(count(999), "999");
        assert_eq!(count(1_234_567), "1,234,567");
        assert_eq!(count(12_345_678), "12.3 M");
        assert_eq!(counted(1, "call"), "1 call");
    }

    #[test]
    fn digits_keep_three_significant() {
        for (value, text) in
            [(0.0123, "0.0123"), (9.996, "10.0"), (99.96, "100"), (12345.0, "12345"), (1.5, "1.50")]
        {
            assert_eq!(digits(value), text);
        }
        assert_eq!(digits(f64::NAN), "0");
    }

    #[test]
    fn units_change_at_thousands() {
        assert_eq!(duration_ns(999.6), "1.00 µs");
        assert_eq!(seconds(0.015), "15.0 ms");
        assert_eq!(bytes(1024), "1.00 KiB");
        assert_eq!(bytes(12), "12 B");
    }

    #[test]
    fn share_keeps_significant_digits() {
        assert_eq!(share(0.003), "0.3 %");
        assert_eq!(share(0.0000001), "under 0.0001 %");
        assert_eq!(share(0.0000123), "0.0012 %");
        assert_eq!(share(0.00000456), "0.00046 %");
        assert_eq!(share_range(0.002, 0.005), "0.2–0.5 %");
        assert_eq!(share_range(0.0, 0.0), "0 %");
        assert_eq!(share(0.123), "12.3 %");
    }

    #[test]
    fn words_with_spaces_are_quoted() {
        assert_eq!(shell_word("/tmp/a-b_1.trace"), "/tmp/a-b_1.trace");
        assert_eq!(shell_word("/tmp/sp ace/x.trace"), "'/tmp/sp ace/x.trace'");
        assert_eq!(shell_word("it's"), "'it'\\''s'");
        assert_eq!(shell_word("$HOME"), "'$HOME'");
        assert_eq!(shell_word(""), "''");
    }
}
