//! What application threads pay and get done while one thread hands in batches: tables and JSON.

use matchpoint_bench::batches::{BatchRate, BatchRates, Posts};
use matchpoint_bench::full::Full;
use serde_json::{Value, json};

use super::threads::{FULL, full_tables};
use crate::format::{digits, in_place, with_spread};
use crate::report::document::Document;
use crate::report::schema::measured;

/// All of it.
pub fn document(rates: &BatchRates) -> Document {
    let mut document = Document::default();
    for posts in Posts::ALL {
        document.section(format!("Posted while a batch is under way: {}", posts.title()));
        let rows = rates.rates.iter().filter(|rate| rate.posts == posts).map(row);
        document.table(&HEADER, rows.collect());
    }
    full_tables(&mut document, rates.rates.iter().map(|rate| (&*rate.engine, rate.full.as_ref())));
    let here = format!(
        "{} processors. One more thread hands in batches of {} messages, for receives that callers posted; again. Million messages \
         per second (p25–p75); posts that begin while a batch is under way.",
        rates.processors, rates.options.batch
    );
    document.item("Here", here);
    document
}

const HEADER: [&str; 6] = ["engine", "callers", "million/s", "ns a post", "p99", "posts"];

fn row(rate: &BatchRate) -> Vec<String> {
    let name = in_place(&rate.engine, rate.substitute.as_deref());
    if rate.full.is_some() {
        return [name, rate.callers.to_string(), FULL.to_owned()]
            .into_iter()
            .chain([const { String::new() }; 3])
            .collect();
    }
    let [median, p99, timed] = match rate.post {
        Some(post) => [digits(post.median_ns), digits(post.p99_ns), post.timed.to_string()],
        None => ["", "", "none"].map(str::to_owned),
    };
    let speed = with_spread([rate.median, rate.p25, rate.p75]);
    vec![name, rate.callers.to_string(), speed, median, p99, timed]
}

/// All of it for programs.
pub fn json(rates: &BatchRates, load: Option<f64>) -> Value {
    let each = |rate: &BatchRate| {
        let told = |figure: f64| rate.full.is_none().then_some(figure);
        let post = rate.post.filter(|_| rate.full.is_none());
        json!({
            "posts": rate.posts.name(),
            "callers": rate.callers,
            "engine": rate.engine,
            "substitute": rate.substitute,
            "rate_millions_per_s": told(rate.median),
            "rate_p25": told(rate.p25),
            "rate_p75": told(rate.p75),
            "post_ns_median": post.map(|post| post.median_ns),
            "post_ns_p99": post.map(|post| post.p99_ns),
            "posts_timed": post.map_or(0, |post| post.timed),
            "full": rate.full.as_ref().map(|Full(when)| when),
            "right": rate.is_right,
        })
    };
    measured(
        load,
        json!({
            "processors": rates.processors,
            "batch": rates.options.batch,
            "batches": rates.options.batches,
            "repetitions": rates.options.repetitions,
            "beside_batches": rates.rates.iter().map(each).collect::<Vec<_>>(),
        }),
    )
}

#[cfg(test)]
mod tests {
    use matchpoint_bench::batches::{BatchOptions, PostCost};

    use super::*;

    fn rates() -> BatchRates {
        let rate = |posts, callers, post| BatchRate {
            posts,
            callers,
            engine: "split:engine=list".to_owned(),
            substitute: None,
            median: 2.5,
            p25: 1.5,
            p75: 3.5,
            post,
            full: None,
            is_right: true,
        };
        let post = PostCost { median_ns: 41.0, p99_ns: 407.0, timed: 1234 };
        let options = BatchOptions {
            engines: vec!["split:engine=list".to_owned()],
            callers: vec![3, 4],
            batch: 64,
            batches: 50,
            repetitions: 7,
        };
        let rates = vec![rate(Posts::SameEnvelopes, 3, Some(post)), rate(Posts::SomeLate, 4, None)];
        BatchRates { options, processors: 2, rates }
    }

    #[test]
    fn a_row_says_what_posts_took_and_how_many_there_were() {
        let text = super::document(&rates()).text(100);
        let rows: Vec<Vec<&str>> = text
            .lines()
            .filter(|line| line.starts_with("split"))
            .map(|line| line.split_whitespace().skip(1).collect())
            .collect();
        assert_eq!(
            rows,
            [&["3", "2.50", "(1.50–3.50)", "41.0", "407", "1234"][..], &["4", "2.50", "(1.50–3.50)", "none"]]
        );
        let heading = |posts: Posts| text.find(posts.title()).unwrap();
        assert!(heading(Posts::SameEnvelopes) < text.find("1234").unwrap());
        assert!(text.find("1234").unwrap() < heading(Posts::SomeLate), "{text}");
    }

    #[test]
    fn the_members_are_those_of_the_manual() {
        let document = json(&rates(), Some(0.5));
        let of = |member: &str| document[member].as_u64();
        assert_eq!(document["load"], 0.5);
        assert_eq!(["processors", "batch", "batches", "repetitions"].map(of), [2, 64, 50, 7].map(Some));
        let [timed, none] = [0, 1].map(|number| &document["beside_batches"][number]);
        let told = json!({
            "posts": "same_envelopes", "callers": 3, "engine": "split:engine=list", "substitute": null, "rate_millions_per_s": 2.5,
            "rate_p25": 1.5, "rate_p75": 3.5, "post_ns_median": 41.0, "post_ns_p99": 407.0, "posts_timed": 1234,
            "full": null, "right": true,
        });
        assert_eq!(*timed, told);
        assert_eq!((&none["post_ns_p99"], &none["posts_timed"]), (&serde_json::Value::Null, &0.into()));
    }
}
