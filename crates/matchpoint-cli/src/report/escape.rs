//! Text of a trace may contain markup.

pub fn escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            other => safe.push(other),
        }
    }
    safe
}

pub fn prose(text: &str) -> String {
    let parts: Vec<_> = escape(text).split('`').map(str::to_owned).collect();
    let marked = parts.iter().enumerate().map(|(index, part)| match index % 2 {
        1 => format!("<code>{part}</code>"),
        _ => part.clone(),
    });
    marked.collect()
}

/// JSON that cannot end the surrounding script element.
pub fn script_json(json: &str) -> String {
    json.replace('<', "\\u003c").replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029")
}
