//! Queue of an engine that matches with kernels, oldest entry first.

use matchpoint::Refused;

/// Holes stay after removals until the next push.
#[derive(Debug)]
pub(super) struct Queue<T> {
    places: Vec<Option<T>>,
    holes: usize,
}

impl<T> Default for Queue<T> {
    fn default() -> Self {
        Queue { places: Vec::new(), holes: 0 }
    }
}

impl<T> Queue<T> {
    /// Amortized O(1).
    pub fn push(&mut self, entry: T) -> Result<(), Refused> {
        // With more holes than entries, the entries move up: at most one move per hole.
        if self.holes > self.places.len() / 2 {
            self.places.retain(Option::is_some);
            self.holes = 0;
        }
        self.places.try_reserve(1).map_err(|_| Refused::Memory)?;
        self.places.push(Some(entry));
        Ok(())
    }

    pub fn take(&mut self, place: usize) -> T {
        self.holes += 1;
        self.places[place].take().expect("an entry is taken once")
    }

    pub fn get(&self, place: usize) -> &T {
        self.places[place].as_ref().expect("it is queued")
    }

    /// Removes entries, oldest first.
    pub fn drain(&mut self, is_it: impl Fn(&T) -> bool) -> impl Iterator<Item = T> {
        let holes = &mut self.holes;
        self.places.iter_mut().filter_map(move |place| {
            let taken = if place.as_ref().is_some_and(&is_it) { place.take() } else { None };
            *holes += usize::from(taken.is_some());
            taken
        })
    }

    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.places.iter_mut().flatten()
    }

    /// All entries with their positions, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = (usize, &T)> {
        self.places.iter().enumerate().filter_map(|(place, entry)| Some((place, entry.as_ref()?)))
    }

    pub fn len(&self) -> usize {
        self.places.len() - self.holes
    }

    pub fn bytes(&self) -> u64 {
        (self.places.capacity() * size_of::<Option<T>>()) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compaction_keeps_order_of_entries() {
        let mut queue = Queue::default();
        for entry in 0..1000 {
            queue.push(entry).unwrap();
            if entry >= 10 {
                let (place, &second) = queue.iter().nth(1).unwrap();
                assert_eq!((queue.take(place), second), (entry - 9, entry - 9));
            }
        }
        assert_eq!(queue.len(), 10);
        let left: Vec<i32> = queue.iter().map(|(_, &entry)| entry).collect();
        assert_eq!(left, [vec![0], (991..1000).collect()].concat());
        assert!(queue.bytes() < 100 * size_of::<Option<i32>>() as u64, "{} bytes", queue.bytes());
    }
}
