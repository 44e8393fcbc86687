//! A snapshot as one line of JSON.

use serde_json::{Value, json};

use super::snapshot::{Length, Life, Row, Snapshot};

/// With all ranks, and a newline.
pub fn line(snapshot: &Snapshot) -> String {
    let rows: Vec<Value> = snapshot.rows.iter().map(row).collect();
    let whole = json!({
        "at": humantime(snapshot),
        "trace": snapshot.folder.display().to_string(),
        "command": snapshot.command,
        "mpi": snapshot.library,
        "state": snapshot.state.word(),
        "exit_status": snapshot.exit_status,
        "ranks": snapshot.ranks,
        "calls": snapshot.rows.iter().map(|row| row.calls).sum::<u64>(),
        "calls_per_s": snapshot.rows.iter().map(|row| row.calls_per_s).sum::<f64>(),
        "posted": length(snapshot.total(|row| row.posted)),
        "unexpected": length(snapshot.total(|row| row.unexpected)),
        "elsewhere": snapshot.elsewhere,
        "behind": snapshot.behind,
        "by_rank": rows,
    });
    format!("{whole}\n")
}

fn row(row: &Row) -> Value {
    let mut value = json!({
        "rank": row.rank,
        "host": row.host,
        "pid": row.pid,
        "state": row.life.word(),
        "within": row.within,
        "posted": length(row.posted),
        "unexpected": length(row.unexpected),
        "calls": row.calls,
        "calls_per_s": row.calls_per_s,
        "age_s": row.age_s,
        "last_call_s": row.last_call_s,
    });
    if let Life::Lost(why) = &row.life {
        value["why"] = json!(why);
    }
    value
}

fn length(length: Length) -> Value {
    json!({ "entries": length.entries, "how": if length.measured { "measured" } else { "estimated" } })
}

/// RFC 3339, in UTC, with milliseconds.
fn humantime(snapshot: &Snapshot) -> String {
    humantime::format_rfc3339_millis(snapshot.at).to_string()
}
