use matchpoint::engines::REGISTRY;

use super::Complaints;
use crate::repository::File;

const TABLE: &str = "docs/reference/engines.md";

/// Every engine of the registry has a page, and a row in the table.
pub fn pages(files: &[File]) -> Complaints {
    Ok(REGISTRY.iter().flat_map(|spec| missing(files, spec.name)).collect())
}

fn missing(files: &[File], engine: &str) -> Vec<String> {
    let page = format!("docs/reference/engines/{engine}.md");
    let row = format!("| [`{engine}`](engines/{engine}.md) |");
    let mut complaints = Vec::new();
    if !files.iter().any(|file| file.path == page) {
        complaints.push(format!("{page}: the engine `{engine}` has no page"));
    }
    let table = files.iter().find(|file| file.path == TABLE);
    if !table.is_some_and(|table| table.lines().any(|(_, line)| line.starts_with(&row))) {
        complaints.push(format!("{TABLE}: the engine `{engine}` has no row that begins with {row}"));
    }
    complaints
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn engine_without_page_or_row_is_reported() {
        let file = |path: &str, text: &str| File { path: path.to_owned(), text: text.to_owned() };
        let table = file(TABLE, "| engine | structure |\n| [`heap`](engines/heap.md) | a heap |\n");
        let page = file("docs/reference/engines/heap.md", "# `heap`\n");
        let other = file("docs/reference/engines/tree.md", "# `tree`, see [`heap`](engines/heap.md)\n");
        let files = [table, page, other];
        assert!(missing(&files, "heap").is_empty());
        assert!(matches!(&missing(&files, "tree")[..], [one] if one.starts_with(TABLE)));
        assert!(
            matches!(&missing(&files[..1], "heap")[..], [one] if one.starts_with("docs/reference/engines/heap.md"))
        );
        assert_eq!(missing(&files, "trie").len(), 2);
    }
}
