//! Tests of the kernels: each available kernel, compared with simple loops.

use super::*;

struct Noise(u64);

impl Noise {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 32
    }
}

/// Results for bytes, halfwords, words, words under one mask, words under a mask per lane.
type Answers = [u64; 5];

struct Compare<'a> {
    bytes: &'a [u8; LANES],
    halfwords: &'a [u16; LANES],
    words: &'a [u32; LANES],
    masks: &'a [u32; LANES],
    key: u32,
}

impl Search for Compare<'_> {
    type Found = Answers;

    #[inline(always)]
    fn run<L: Lanes>(&mut self, lanes: L) -> Answers {
        [
            lanes.equal_u8(self.bytes, self.key as u8),
            lanes.equal_u16(self.halfwords, self.key as u16),
            lanes.equal_u32(self.words, self.key),
            lanes.equal_u32_under(self.words, self.masks[0], self.key),
            lanes.equal_u32_under_each(self.words, self.masks, self.key),
        ]
    }
}

fn lanes_where(holds: impl Fn(usize) -> bool) -> u64 {
    (0..LANES).filter(|&lane| holds(lane)).map(|lane| 1 << lane).sum()
}

fn simple_loop(compared: &Compare<'_>) -> Answers {
    let Compare { bytes, halfwords, words, masks, key } = *compared;
    [
        lanes_where(|lane| bytes[lane] == key as u8),
        lanes_where(|lane| halfwords[lane] == key as u16),
        lanes_where(|lane| words[lane] == key),
        lanes_where(|lane| words[lane] & masks[0] == key & masks[0]),
        lanes_where(|lane| words[lane] & masks[lane] == key & masks[lane]),
    ]
}

fn at<K, const N: usize>(values: &[K; N], offset: usize) -> &[K; LANES] {
    values[offset..].first_chunk().expect("64 more than the largest offset")
}

/// Panics if the kernel that [`ENVIRONMENT`] names is unavailable.
fn kernels() -> Vec<Kernel> {
    Kernel::named("auto").unwrap_or_else(|error| panic!("{error}"));
    InstructionSet::available().filter_map(Kernel::of).collect()
}

#[test]
fn kernels_equal_simple_loop() {
    const VALUES: [u32; 8] = [0, 1, 0x80, 0xFF, 0x8000, 0xFFFF, 0x8000_0000, u32::MAX];
    let (kernels, mut noise, mut hits) = (kernels(), Noise(7), 0);
    for round in 0..if cfg!(miri) { 1 } else { 50 } {
        let mut value = || VALUES[(noise.next() % 8) as usize];
        let words: [u32; 2 * LANES] = std::array::from_fn(|_| value());
        let masks: [u32; 2 * LANES] = std::array::from_fn(|_| value());
        let halfwords = words.map(|word| word as u16);
        let bytes = words.map(|word| word as u8);
        for offset in 0..LANES {
            let mut compare = Compare {
                bytes: at(&bytes, offset),
                halfwords: at(&halfwords, offset),
                words: at(&words, offset),
                masks: at(&masks, offset),
                key: VALUES[(round + offset) % 8],
            };
            let expected = simple_loop(&compare);
            hits += expected[0].count_ones();
            for kernel in &kernels {
                assert_eq!(kernel.run(&mut compare), expected, "{kernel:?}, offset {offset}");
            }
        }
    }
    assert!(hits > 100, "only {hits} keys were equal");
}

#[test]
fn single_equal_lane_is_found() {
    let kernels = kernels();
    for lane in 0..LANES {
        for (key, other) in [(0, u32::MAX), (u32::MAX, 0), (0x7F7F_7F7F, 0x8080_8080)] {
            let words: [u32; LANES] = std::array::from_fn(|at| if at == lane { key } else { other });
            let masks = [u32::MAX; LANES];
            let (halfwords, bytes) = (words.map(|word| word as u16), words.map(|word| word as u8));
            let mut compare =
                Compare { bytes: &bytes, halfwords: &halfwords, words: &words, masks: &masks, key };
            for kernel in &kernels {
                assert_eq!(kernel.run(&mut compare), [1 << lane; 5], "{kernel:?}, lane {lane}");
            }
        }
    }
}

#[test]
fn instruction_sets_are_found_by_name() {
    for set in InstructionSet::ALL {
        match Kernel::named(set.name()) {
            Ok(kernel) => assert_eq!((kernel.set(), set.is_available()), (set, true)),
            Err(error) => {
                assert!(!set.is_available());
                assert!(error.to_string().contains("not available here; available are "), "{error}");
            }
        }
    }
    let error = Kernel::named("mmx").unwrap_err().to_string();
    assert!(
        error.starts_with("isa=mmx is no instruction set; available are ") && error.ends_with("scalar"),
        "{error}"
    );
}
