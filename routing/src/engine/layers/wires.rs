//! Numbers for channels and for the dependencies between them.
//!
//! A channel is one direction of the cables between two neighbours: parallel cables count as one, which is sound (a
//! circle of cables is a circle of neighbours too) and smaller. Its number is that of its slot in the [`Graph`]. A
//! dependency is "packets come in over this channel and leave over that one"; the dependencies of a channel are a row
//! of bits, one for each neighbour of the switch that it leads to. Immutable, made once per engine run.

use super::super::graph::Graph;

/// Channels of a fabric.
#[derive(Debug)]
pub(crate) struct Wires {
    /// First channel that leaves each switch, and the total.
    pub(crate) first: Vec<u32>,
    /// The switch that a channel leads to.
    pub(crate) head: Vec<u32>,
    /// The switch that it leaves.
    pub(crate) tail: Vec<u32>,
    /// The opposite direction.
    pub(crate) back: Vec<u32>,
    /// First word of the row of channels that come after this one, and the total.
    after: Vec<u32>,
    /// First word of the row of channels that come before this one, and the total.
    before: Vec<u32>,
    /// By switch and port: the channel, or [`Self::NONE`].
    behind: Vec<u32>,
}

/// Where the bit of a dependency is.
pub(crate) type BitAt = (usize, u64);

impl Wires {
    /// No channel.
    pub(crate) const NONE: u32 = u32::MAX;

    pub(crate) fn new(graph: &Graph) -> Self {
        let narrow = |i: usize| u32::try_from(i).unwrap_or(u32::MAX);
        let n = graph.len();
        let first: Vec<u32> = (0..n)
            .map(|v| narrow(graph.first_slot(v)))
            .chain([narrow(graph.num_slots())])
            .collect();
        let (mut head, mut tail, mut back) = (Vec::new(), Vec::new(), Vec::new());
        let mut behind = vec![Self::NONE; n * 256];
        for v in 0..n {
            for (k, slot) in graph.slots(v).iter().enumerate() {
                let channel = narrow(graph.first_slot(v) + k);
                head.push(narrow(slot.peer));
                tail.push(narrow(v));
                let there = graph.slots(slot.peer).iter().position(|s| s.peer == v);
                back.push(there.map_or(Self::NONE, |k| narrow(graph.first_slot(slot.peer) + k)));
                for &port in graph.ports(*slot) {
                    behind[v * 256 + usize::from(port)] = channel;
                }
            }
        }
        let rows = |ends: &[u32]| {
            let mut base = vec![0];
            let mut words = 0;
            for &v in ends {
                words += narrow(graph.slots(v as usize).len().div_ceil(64));
                base.push(words);
            }
            base
        };
        Self {
            after: rows(&head),
            before: rows(&tail),
            first,
            head,
            tail,
            back,
            behind,
        }
    }

    /// Number of channels.
    pub(crate) fn len(&self) -> usize {
        self.head.len()
    }

    /// Words of all rows of channels that come after another.
    pub(crate) fn words_after(&self) -> usize {
        self.after.last().map_or(0, |w| *w as usize)
    }

    /// Words of all rows of channels that come before another.
    pub(crate) fn words_before(&self) -> usize {
        self.before.last().map_or(0, |w| *w as usize)
    }

    /// The channel behind a port.
    #[inline(always)]
    pub(crate) fn behind(&self, v: usize, port: u8) -> u32 {
        self.behind[v * 256 + usize::from(port)]
    }

    /// Where the dependency of `y` on `x` is among the channels that come after `x`.
    #[inline(always)]
    pub(crate) fn bit_after(&self, x: u32, y: u32) -> BitAt {
        let k = y - self.first[self.head[x as usize] as usize];
        ((self.after[x as usize] + k / 64) as usize, 1 << (k % 64))
    }

    /// Where it is among the channels that come before `y`.
    #[inline(always)]
    pub(crate) fn bit_before(&self, x: u32, y: u32) -> BitAt {
        let k = self.back[x as usize] - self.first[self.tail[y as usize] as usize];
        ((self.before[y as usize] + k / 64) as usize, 1 << (k % 64))
    }

    /// Channels whose bits are set in the row of those after `x`.
    #[inline(always)]
    pub(crate) fn after<'a>(&self, bits: &'a [u64], x: u32) -> impl Iterator<Item = u32> + use<'a> {
        let first = self.first[self.head[x as usize] as usize];
        let row = self.after[x as usize] as usize..self.after[x as usize + 1] as usize;
        set_bits(&bits[row]).map(move |k| first + k)
    }

    /// Channels whose bits are set in the row of those before `y`.
    #[inline(always)]
    pub(crate) fn before<'a>(
        &'a self,
        bits: &'a [u64],
        y: u32,
    ) -> impl Iterator<Item = u32> + use<'a> {
        let first = self.first[self.tail[y as usize] as usize];
        let row = self.before[y as usize] as usize..self.before[y as usize + 1] as usize;
        set_bits(&bits[row]).map(move |k| self.back[(first + k) as usize])
    }
}

#[inline(always)]
fn set_bits(words: &[u64]) -> impl Iterator<Item = u32> + use<'_> {
    (0u32..).step_by(64).zip(words).flat_map(|(base, &word)| {
        let mut left = word;
        std::iter::from_fn(move || {
            (left != 0).then(|| {
                let bit = left.trailing_zeros();
                left &= left - 1;
                base + bit
            })
        })
    })
}
