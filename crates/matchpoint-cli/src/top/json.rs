//! A snapshot as one line of JSON.

use matchpoint_record::watch::snapshot::{ProcessState, Row, Snapshot};
use serde_json::{Value, json};

pub fn line(snapshot: &Snapshot) -> String {
    let rows: Vec<Value> = snapshot.rows.iter().map(row).collect();
    let whole = json!({
        "at": humantime::format_rfc3339_millis(snapshot.at).to_string(),
        "trace": snapshot.folder.display().to_string(),
        "command": snapshot.command,
        "mpi": snapshot.library,
        "state": snapshot.state.word(),
        "exit_status": snapshot.exit_status,
        "ranks": snapshot.ranks,
        "calls": snapshot.rows.iter().map(|row| row.calls).sum::<u64>(),
        "calls_per_s": snapshot.rows.iter().map(|row| row.calls_per_s).sum::<f64>(),
        "posted": snapshot.total(|row| row.posted),
        "unexpected": snapshot.total(|row| row.unexpected),
        "elsewhere": snapshot.elsewhere,
        "behind": snapshot.behind,
        "by_rank": rows,
    });
    format!("{whole}\n")
}

fn row(row: &Row) -> Value {
    let mut value = json!(row);
    if let ProcessState::Unreadable(why) = &row.life {
        value["why"] = json!(why);
    }
    value
}
