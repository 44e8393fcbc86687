//! Table with stable, reused indexes.

use crate::growth::make_room;

pub(crate) struct Slab<T> {
    places: Vec<Option<T>>,
    free: Vec<u32>,
}

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Slab { places: Vec::new(), free: Vec::new() }
    }
}

impl<T> std::ops::Index<u32> for Slab<T> {
    type Output = T;

    #[inline]
    fn index(&self, place: u32) -> &T {
        self.places[place as usize].as_ref().expect("the place is in use")
    }
}

impl<T> std::ops::IndexMut<u32> for Slab<T> {
    #[inline]
    fn index_mut(&mut self, place: u32) -> &mut T {
        self.places[place as usize].as_mut().expect("the place is in use")
    }
}

impl<T> Slab<T> {
    #[inline]
    pub fn len(&self) -> usize {
        self.places.len() - self.free.len()
    }

    #[inline]
    pub fn next_place(&self) -> u32 {
        self.free.last().copied().unwrap_or(self.places.len() as u32)
    }

    #[inline]
    pub fn insert(&mut self, value: T) -> u32 {
        match self.free.pop() {
            Some(place) => {
                self.places[place as usize] = Some(value);
                place
            }
            None => {
                make_room(&mut self.places);
                self.places.push(Some(value));
                (self.places.len() - 1) as u32
            }
        }
    }

    pub fn get(&self, place: u32) -> Option<&T> {
        self.places.get(place as usize)?.as_ref()
    }

    pub fn get_mut(&mut self, place: u32) -> Option<&mut T> {
        self.places.get_mut(place as usize)?.as_mut()
    }

    pub fn iter(&self) -> impl Iterator<Item = (u32, &T)> {
        self.places.iter().enumerate().filter_map(|(place, value)| Some((place as u32, value.as_ref()?)))
    }

    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.places.iter_mut().filter_map(Option::as_mut)
    }

    pub fn remove(&mut self, place: u32) -> Option<T> {
        let value = self.places.get_mut(place as usize)?.take();
        if value.is_some() {
            self.free.push(place);
        }
        value
    }
}
