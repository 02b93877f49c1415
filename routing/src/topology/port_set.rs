//! A set of ports of one switch: an MFT entry.

use ferrosm_mad::ids::PortNum;

/// Ports 0 to 255.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, PartialOrd, Ord, Hash)]
pub struct PortSet([u64; 4]);

impl PortSet {
    /// The empty set.
    #[must_use]
    pub const fn new() -> Self {
        Self([0; 4])
    }

    /// Adds a port.
    pub const fn insert(&mut self, port: PortNum) {
        self.0[port.index() / 64] |= 1 << (port.index() % 64);
    }

    /// Removes a port.
    pub const fn remove(&mut self, port: PortNum) {
        self.0[port.index() / 64] &= !(1 << (port.index() % 64));
    }

    /// Whether the set contains a port.
    #[must_use]
    pub const fn contains(&self, port: PortNum) -> bool {
        self.0[port.index() / 64] >> (port.index() % 64) & 1 == 1
    }

    /// Whether the set is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0 == [0; 4]
    }

    /// Number of ports.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.iter().map(|w| w.count_ones() as usize).sum()
    }

    /// Ports, ascending.
    pub fn iter(&self) -> impl Iterator<Item = PortNum> + use<> {
        let set = *self;
        (0..=u8::MAX).map(PortNum).filter(move |&p| set.contains(p))
    }

    /// Mask of 16 ports, as in a MulticastForwardingTable block (IBA 14.2.5.12): position 0 is
    /// ports 0 to 15.
    #[must_use]
    pub fn position(&self, position: u8) -> u16 {
        let from = usize::from(position) * 16;
        let word = self.0.get(from / 64).copied().unwrap_or(0);
        u16::try_from(word >> (from % 64) & 0xFFFF).unwrap_or(0)
    }
}

impl FromIterator<PortNum> for PortSet {
    fn from_iter<I: IntoIterator<Item = PortNum>>(ports: I) -> Self {
        let mut set = Self::new();
        ports.into_iter().for_each(|p| set.insert(p));
        set
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_are_added_removed_and_iterated_in_order() {
        let mut set: PortSet = [200, 3, 64, 0].map(PortNum).into_iter().collect();
        assert_eq!(set.len(), 4);
        set.remove(PortNum(64));
        let left: Vec<u8> = set.iter().map(PortNum::raw).collect();
        assert_eq!(left, [0, 3, 200]);
        assert!(!set.contains(PortNum(64)) && set.contains(PortNum(200)));
        assert_eq!(
            (set.position(0), set.position(12), set.position(4)),
            (9, 1 << 8, 0)
        );
        assert!(PortSet::new().is_empty());
    }
}
