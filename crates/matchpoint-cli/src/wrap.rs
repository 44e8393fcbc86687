//! Line wrapping.

/// Splits text into lines of at most `width` columns. A longer word is split after commas.
pub fn wrap(text: &str, width: usize) -> Vec<String> {
    let columns = |text: &str| text.chars().count();
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let parts = if columns(word) > width { word.split_inclusive(',').collect() } else { vec![word] };
        for (at, part) in parts.into_iter().enumerate() {
            let line = lines.last_mut().expect("there is always a line");
            let gap = if at == 0 && !line.is_empty() { " " } else { "" };
            if !line.is_empty() && columns(line) + columns(gap) + columns(part) > width {
                lines.push(part.to_owned());
            } else {
                *line += gap;
                *line += part;
            }
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_words_beyond_line_are_split() {
        assert_eq!(wrap("one two, three", 9), ["one two,", "three"]);
        assert_eq!(wrap("of name:a=1,b=2,c=3 again", 12), ["of name:a=1,", "b=2,c=3", "again"]);
        assert_eq!(wrap("incomprehensible", 4), ["incomprehensible"]);
    }
}
