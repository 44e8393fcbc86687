//! Labels that do not overlap.

/// Moves places apart until they are at least `distance` from each other and within `top` to `bottom`, as little as
/// keeping their order allows. The result is by the index of what was given.
pub(super) fn apart(wanted: &[f64], distance: f64, top: f64, bottom: f64) -> Vec<f64> {
    let mut order: Vec<usize> = (0..wanted.len()).collect();
    order.sort_by(|one, other| wanted[*one].total_cmp(&wanted[*other]));
    let mut placed = wanted.to_vec();
    let mut least = top;
    for &at in &order {
        placed[at] = placed[at].max(least);
        least = placed[at] + distance;
    }
    let mut most = bottom;
    for &at in order.iter().rev() {
        placed[at] = placed[at].min(most);
        most = placed[at] - distance;
    }
    placed
}

#[cfg(test)]
mod tests {
    use super::apart;

    #[test]
    fn labels_keep_their_order_and_their_distance() {
        assert_eq!(apart(&[50.0, 10.0, 52.0], 10.0, 0.0, 100.0), [50.0, 10.0, 60.0]);
        assert_eq!(apart(&[99.0, 98.0], 10.0, 0.0, 100.0), [100.0, 90.0]);
        assert_eq!(apart(&[-5.0], 10.0, 0.0, 100.0), [0.0]);
    }
}
