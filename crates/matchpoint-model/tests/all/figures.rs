//! The paper's figures, at points that its text or table determines.

use crate::common::blue_waters;
use matchpoint_model::figures::{Figure, figures};

fn value_at(figure: &Figure, curve: &str, x: f64) -> f64 {
    let curve = figure.curves.iter().find(|of| of.name == curve).unwrap();
    curve.points.iter().find(|point| point.0 == x).unwrap().1
}

fn is_close(one: f64, other: f64) -> bool {
    (one - other).abs() <= 1e-12 * one.abs().max(other.abs())
}

#[test]
fn figures_are_of_table_1() {
    let all = figures(&blue_waters()).unwrap();
    assert_eq!(all.iter().map(|figure| figure.number).collect::<Vec<_>>(), [2, 3, 4, 5, 7, 9]);
    let [two, three, four, five, seven, nine] = &all[..] else { unreachable!() };
    assert!(is_close(value_at(two, "1 per node", 1e6), 3.0e-6 + 1e6 / 2.9e9));
    assert!(is_close(value_at(two, "16 per node", 1e6), 3.0e-6 + 16e6 / 6.6e9));
    // The node is no bottleneck: 2 × 2.9e9 < 6.6e9 < 4 × 2.9e9.
    assert_eq!(value_at(two, "1 per node", 1e6), value_at(two, "2 per node", 1e6));
    assert!(value_at(two, "4 per node", 1e6) > value_at(two, "2 per node", 1e6));
    assert!(is_close(value_at(three, "on-socket", 100.0), 4.4e-7 + 100.0 / 2.2e9));
    assert!(is_close(value_at(three, "on-node", 1000.0), 1.2e-6 + 1000.0 / 9.6e8));
    assert_eq!(value_at(three, "off-node, 16 per node", 1e5), value_at(two, "16 per node", 1e5));
    // 10 000 messages in reverse order cost γ n² = 0.84 s more than in order, for which the model has no
    // search.
    for total in ["10000 bytes in all", "10000000 bytes in all"] {
        assert!(is_close(value_at(five, total, 1e4) - value_at(four, total, 1e4), 0.84));
    }
    assert!(is_close(value_at(seven, "10000000 bytes in all", 1.0), 3.0e-6 + 16e7 / 6.6e9 + 8.4e-9));
    // Four nodes of 16 processes use the middle link, at 1e-10 s per byte.
    let contention =
        value_at(nine, "1000000 bytes in all", 1.0) - value_at(seven, "1000000 bytes in all", 1.0);
    assert!((contention - 64e6 * 1e-10).abs() < 1e-12);
}

#[test]
fn missing_table_1_values_give_no_figures() {
    let mut machine = blue_waters();
    machine.contention.delta_s_per_byte = None;
    assert_eq!(figures(&machine).unwrap_err().parameter, "contention.delta_s_per_byte");
}
