//! Sizes with units, and times.

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
    use super::bytes;

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
