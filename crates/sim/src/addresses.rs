//! The private addresses of a subnet. Both clouds keep the first four and the last one.

use std::{collections::HashSet, net::Ipv4Addr};

use serde::{Deserialize, Serialize};

const RESERVED: u32 = 5;

/// Addresses of one CIDR, handed out in order.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Addresses {
    base: u32,
    prefix: u8,
    next: u32,
    used: HashSet<u32>,
}

impl Addresses {
    /// Those of `cidr` (`10.0.1.0/24`, between /16 and /28), handed out from the `first_host`th
    /// on; `None` when the CIDR is not one.
    pub(crate) fn new(cidr: &str, first_host: u32) -> Option<Self> {
        let (base, prefix) = cidr.split_once('/')?;
        let base: Ipv4Addr = base.parse().ok()?;
        let prefix: u8 = prefix
            .parse()
            .ok()
            .filter(|prefix| (16..=28).contains(prefix))?;
        Some(Self {
            base: u32::from(base),
            prefix,
            next: first_host.max(4),
            used: HashSet::new(),
        })
    }

    /// `10.0.1.0/24`.
    pub(crate) fn cidr(&self) -> String {
        format!("{}/{}", Ipv4Addr::from(self.base), self.prefix)
    }

    /// How many addresses are free.
    pub(crate) fn free(&self) -> u32 {
        let used = u32::try_from(self.used.len()).unwrap_or(u32::MAX);
        self.capacity().saturating_sub(used)
    }

    /// Addresses that hosts can have.
    pub(crate) fn capacity(&self) -> u32 {
        self.size() - RESERVED
    }

    /// Takes the next free address; `None` when there is none. An address is not used again at
    /// once: numbers go round the subnet.
    pub(crate) fn take(&mut self) -> Option<Ipv4Addr> {
        if self.free() == 0 {
            return None;
        }
        loop {
            let host = self.next;
            self.next = if host + 2 >= self.size() { 4 } else { host + 1 };
            if self.used.insert(host) {
                return Some(Ipv4Addr::from(self.base + host));
            }
        }
    }

    /// Takes one particular address, if it is the subnet's and free.
    pub(crate) fn take_this(&mut self, address: Ipv4Addr) -> bool {
        let host = u32::from(address).wrapping_sub(self.base);
        host < self.size() && self.used.insert(host)
    }

    pub(crate) fn give_back(&mut self, address: Ipv4Addr) {
        self.used
            .remove(&u32::from(address).wrapping_sub(self.base));
    }

    fn size(&self) -> u32 {
        1 << (32 - self.prefix)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_go_round_and_end() {
        let mut subnet = Addresses::new("10.0.1.0/28", 11).unwrap();
        assert_eq!(subnet.free(), 11);
        let first = subnet.take().unwrap();
        assert_eq!(first, Ipv4Addr::new(10, 0, 1, 11));
        let rest: Vec<_> = std::iter::from_fn(|| subnet.take()).collect();
        assert_eq!(rest.len(), 10);
        subnet.give_back(first);
        assert_eq!(subnet.take(), Some(first));
    }
}
