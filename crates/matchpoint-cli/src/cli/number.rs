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
}
