//! 32-bit source numbers for 64-bit addresses. Engines match sources by number.
//!
//! An address below 2³¹ is its own number. Other addresses are rare and get permanent numbers from 2³¹ on.

use std::collections::HashMap;

use matchpoint::{Rank, Refused};

use crate::abi::{ADDR_UNSPEC, Addr};

const DIRECT: u32 = 1 << 31;

/// Every call is O(1).
#[derive(Default)]
pub struct Sources {
    numbers: HashMap<Addr, Rank>,
    /// The address of each number from [`DIRECT`] on.
    addresses: Vec<Addr>,
}

impl Sources {
    /// Returns the number of an address: [`Rank::UNKNOWN`] for `FI_ADDR_UNSPEC`.
    ///
    /// # Errors
    /// [`Refused::Memory`], or [`Refused::Full`] if all numbers are in use.
    #[inline]
    pub fn number(&mut self, address: Addr) -> Result<Rank, Refused> {
        match address {
            _ if address < Addr::from(DIRECT) => Ok(Rank(address as u32)),
            ADDR_UNSPEC => Ok(Rank::UNKNOWN),
            _ => self.number_large(address),
        }
    }

    fn number_large(&mut self, address: Addr) -> Result<Rank, Refused> {
        if let Some(&number) = self.numbers.get(&address) {
            return Ok(number);
        }
        if self.addresses.len() >= (DIRECT - 1) as usize {
            return Err(Refused::Full);
        }
        self.numbers.try_reserve(1).map_err(|_| Refused::Memory)?;
        self.addresses.try_reserve(1).map_err(|_| Refused::Memory)?;
        let number = Rank(DIRECT + self.addresses.len() as u32);
        self.addresses.push(address);
        self.numbers.insert(address, number);
        Ok(number)
    }

    pub fn source(&self, number: Rank) -> Addr {
        match number {
            Rank::UNKNOWN => ADDR_UNSPEC,
            Rank(number) if number < DIRECT => number.into(),
            Rank(number) => self.addresses[(number - DIRECT) as usize],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_and_numbers_are_inverse() {
        let mut sources = Sources::default();
        let addresses = [0, 7, (1 << 31) - 1, 1 << 31, 1 << 40, u64::MAX - 1, ADDR_UNSPEC];
        let numbers = addresses.map(|address| sources.number(address).unwrap());
        assert_eq!(numbers, [0, 7, DIRECT - 1, DIRECT, DIRECT + 1, DIRECT + 2, u32::MAX].map(Rank));
        assert_eq!(numbers.map(|number| sources.source(number)), addresses);
        assert_eq!(addresses.map(|address| sources.number(address).unwrap()), numbers);
    }
}
