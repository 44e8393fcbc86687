/// Ranges of axes around 0. The smallest range is so large that small residuals look small.
const REACHES: [f64; 6] = [0.04, 0.1, 0.2, 0.4, 1.0, 2.0];

const POWERS: i32 = 8;

pub type Label = fn(f64) -> String;

#[derive(Clone, Copy)]
pub enum Scale {
    /// Linear, with a mark at each number.
    Even,
    /// Logarithmic, with a mark at each number.
    Ratios,
    /// Linear from 0, with marks in round steps.
    FromZero,
    /// Logarithmic, with marks at powers of a base.
    Powers(u32, Label),
    /// Linear around 0.
    Signed(Label),
}

pub struct Axis {
    scale: Scale,
    /// Added to every value, because 0 has no logarithm.
    added: f64,
    low: f64,
    high: f64,
    from: f64,
    to: f64,
    pub marks: Vec<(f64, String)>,
}

impl Axis {
    pub fn of(values: impl Iterator<Item = f64>, scale: Scale, from: f64, to: f64) -> Axis {
        let mut values: Vec<f64> = values.filter(|value| value.is_finite()).collect();
        values.sort_by(f64::total_cmp);
        values.dedup();
        let has_zero = matches!(scale, Scale::Ratios) && values.first() == Some(&0.0);
        let added = if has_zero { 1.0 } else { 0.0 };
        let mut axis = Axis { scale, added, low: 0.0, high: 1.0, from, to, marks: Vec::new() };
        if let Scale::Powers(..) = scale {
            values.retain(|value| *value > 0.0);
        }
        let (Some(least), Some(most)) = (values.first().copied(), values.last().copied()) else {
            return axis;
        };
        (axis.low, axis.high) = (axis.scaled(least), axis.scaled(most));
        match scale {
            Scale::Even | Scale::Ratios => {
                axis.marks = values.iter().map(|&value| (value, short(value as usize))).collect();
            }
            Scale::FromZero => axis.reach_in_steps(most),
            Scale::Powers(base, label) => axis.reach_powers(base, label),
            Scale::Signed(label) => {
                let most = most.max(-least);
                let most = REACHES.into_iter().find(|reach| *reach >= most).unwrap_or(most);
                (axis.low, axis.high) = (-most, most);
                axis.marks =
                    [-1.0, -0.5, 0.0, 0.5, 1.0].map(|part| (part * most, label(part * most))).to_vec();
            }
        }
        axis
    }

    fn reach_in_steps(&mut self, most: f64) {
        let step = round_step(most / 4.0);
        let steps = (most / step).ceil().max(1.0);
        (self.low, self.high) = (0.0, step * steps);
        let marks = (0..=steps as i32).map(|at| f64::from(at) * step);
        self.marks = marks.map(|mark| (mark, plain(mark))).collect();
    }

    fn reach_powers(&mut self, base: u32, label: Label) {
        // Corrects rounding errors of the logarithm.
        self.low = (self.low + 1e-9).floor();
        self.high = (self.high - 1e-9).ceil().max(self.low + 1.0);
        let (low, high) = (self.low as i32, self.high as i32);
        let powers = (low..=high).step_by(((high - low) / POWERS + 1) as usize);
        self.marks =
            powers.map(|power| f64::from(base).powi(power)).map(|mark| (mark, label(mark))).collect();
    }

    fn scaled(&self, value: f64) -> f64 {
        match self.scale {
            Scale::Ratios => (value + self.added).ln(),
            Scale::Powers(base, _) => value.max(1e-9).log(base.into()),
            Scale::Even | Scale::FromZero | Scale::Signed(_) => value,
        }
    }

    pub fn place(&self, value: f64) -> f64 {
        // The single number of an axis is at the right edge, next to the names.
        let share =
            if self.high > self.low { (self.scaled(value) - self.low) / (self.high - self.low) } else { 1.0 };
        self.from + share * (self.to - self.from)
    }
}

pub fn plain(value: f64) -> String {
    ((value * 1e3).round() / 1e3).to_string()
}

fn short(number: usize) -> String {
    match number.trailing_zeros() {
        20.. if number > 0 => format!("{}Mi", number >> 20),
        10.. if number >= 1 << 14 => format!("{}Ki", number >> 10),
        _ => number.to_string(),
    }
}

fn round_step(step: f64) -> f64 {
    let power = 10_f64.powf(step.max(1e-3).log10().floor());
    let of = |times: &&f64| **times * power >= step;
    [1.0, 2.0, 5.0, 10.0].iter().find(of).map_or(10.0 * power, |times| times * power)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_numbers_are_shortened() {
        for (number, expected) in
            [(0, "0"), (1, "1"), (1000, "1000"), (4096, "4096"), (1 << 16, "64Ki"), (1 << 24, "16Mi")]
        {
            assert_eq!(short(number), expected);
        }
    }
}
