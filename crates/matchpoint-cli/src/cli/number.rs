use std::fmt::Display;
use std::ops::RangeInclusive;
use std::str::FromStr;

use clap::{Arg, Command};

pub(super) fn whole_number_parser<T>(
    range: RangeInclusive<T>,
    example: T,
) -> impl Fn(&str) -> Result<T, String> + Clone + Send + Sync + 'static
where
    T: FromStr + PartialOrd + Display + Clone + Send + Sync + 'static,
{
    move |text| {
        let number = text.parse().ok().filter(|number| range.contains(number));
        number.ok_or_else(|| {
            format!("must be a whole number from {} to {}, such as {example}", range.start(), range.end())
        })
    }
}

pub(super) fn at_least<T>(
    least: T,
    example: T,
) -> impl Fn(&str) -> Result<T, String> + Clone + Send + Sync + 'static
where
    T: FromStr + PartialOrd + Display + Clone + Send + Sync + 'static,
{
    move |text| {
        let number = text.parse().ok().filter(|number| least <= *number);
        number.ok_or_else(|| format!("must be a whole number from {least}, such as {example}"))
    }
}

/// Lets options take `-1` as a value, so that the parser of the option reports the range.
pub(super) fn with_negative(command: Command) -> Command {
    let options = |arg: Arg| {
        let takes_values = !arg.is_positional() && arg.get_action().takes_values();
        arg.allow_negative_numbers(takes_values)
    };
    command.mut_args(options).mut_subcommands(with_negative)
}

pub(super) fn bytes(text: &str) -> Result<u64, String> {
    let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let factor = match text[digits.len()..].to_ascii_uppercase().as_str() {
        "" | "B" => 1,
        "K" | "KB" | "KIB" => 1 << 10,
        "M" | "MB" | "MIB" => 1 << 20,
        "G" | "GB" | "GIB" => 1 << 30,
        _ => return Err("must be a number of bytes, with K, M or G if needed, such as 500M".to_owned()),
    };
    let number: u64 = digits.parse().map_err(|_| "must be a number of bytes, such as 500M".to_owned())?;
    number.checked_mul(factor).ok_or_else(|| "too large".to_owned())
}

pub(super) fn seconds(text: &str) -> Result<f64, String> {
    let seconds: Option<f64> = text.parse().ok();
    seconds
        .filter(|seconds| (0.001..=60.0).contains(seconds))
        .ok_or_else(|| "must be 0.001 to 60 seconds, such as 0.5".to_owned())
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use super::*;

    #[test]
    fn invalid_number_is_reported_with_range() {
        let parse = whole_number_parser(1..=100, 10_u32);
        assert_eq!((parse("1"), parse("100")), (Ok(1), Ok(100)));
        for text in ["", "0", "101", "-1", "x", "1.5", "99999999999999999999"] {
            assert_eq!(
                parse(text),
                Err("must be a whole number from 1 to 100, such as 10".to_owned()),
                "{text}"
            );
        }
        let parse = at_least(NonZeroU32::MIN, NonZeroU32::MAX);
        assert_eq!(parse("16").map(NonZeroU32::get), Ok(16));
        assert_eq!(parse("0"), Err("must be a whole number from 1, such as 4294967295".to_owned()));
    }

    #[test]
    fn sizes_have_units() {
        assert_eq!(bytes("65536"), Ok(65536));
        assert_eq!(bytes("2G"), Ok(2 << 30));
        assert_eq!(bytes("500MiB"), Ok(500 << 20));
        assert!(bytes("2T").is_err());
        assert!(bytes("G").is_err());
        assert!(bytes("99999999999999G").is_err());
    }
}
