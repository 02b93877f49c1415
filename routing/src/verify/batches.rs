//! Batches of LIDs that are walked together: at most as many as the entries of a cache line, so
//! that each line is read once or a few times.

use std::collections::BTreeSet;

use ferrosm_mad::ids::{Lid, PortNum};

use crate::tables::BLOCK_LIDS;
use crate::topology::Destination;

/// Maximum ratio of the cache lines read by switch to those read by LID.
const LINES_RATIO_MAX: usize = 4;

/// Batches of at most [`BLOCK_LIDS`] LIDs, from LIDs in ascending order. Within a batch, LIDs are
/// grouped by switch, LIDs of end ports first.
///
/// `whole_switches`: all LIDs of a switch are in one batch, if they fit and reading in this order
/// is fast enough.
pub(super) fn batches(destinations: &[Destination], whole_switches: bool) -> Vec<Vec<Destination>> {
    let by_lid: Vec<Vec<Destination>> = destinations
        .chunk_by(|a, b| block_of(a.lid) == block_of(b.lid))
        .map(sorted)
        .collect();
    if !whole_switches {
        return by_lid;
    }
    let by_switch = by_switch(destinations);
    let lines: usize = by_switch.iter().map(|batch| lines(batch)).sum();
    if lines > LINES_RATIO_MAX * by_lid.len() {
        return by_lid;
    }
    by_switch
}

fn by_switch(destinations: &[Destination]) -> Vec<Vec<Destination>> {
    let mut batches: Vec<Vec<Destination>> = Vec::new();
    for of_switch in sorted(destinations).chunk_by(|a, b| a.switch == b.switch) {
        for block in of_switch.chunks(BLOCK_LIDS) {
            match batches.last_mut() {
                Some(batch) if batch.len() + block.len() <= BLOCK_LIDS => batch.extend(block),
                _ => batches.push(block.to_vec()),
            }
        }
    }
    batches
}

fn sorted(lids: &[Destination]) -> Vec<Destination> {
    let mut lids = lids.to_vec();
    lids.sort_by_key(|d| (d.switch, d.port == PortNum::ZERO, d.lid));
    lids
}

/// Number of cache lines of a table with the entries of a batch.
fn lines(batch: &[Destination]) -> usize {
    let blocks: BTreeSet<usize> = batch.iter().map(|d| block_of(d.lid)).collect();
    blocks.len()
}

fn block_of(lid: Lid) -> usize {
    usize::from(lid.raw()) / BLOCK_LIDS
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::SwitchIdx;

    fn lids(lids_of_ports: impl Iterator<Item = (u16, u32, u8)>) -> Vec<Destination> {
        let destinations = lids_of_ports.map(|(lid, switch, port)| Destination {
            lid: Lid(lid),
            switch: SwitchIdx(switch),
            port: PortNum(port),
        });
        destinations.collect()
    }

    fn assert_partition(batches: &[Vec<Destination>], destinations: &[Destination]) {
        let mut walked: Vec<Destination> = batches.concat();
        walked.sort_by_key(|d| d.lid);
        assert_eq!(walked, destinations);
        assert!(batches.iter().all(|batch| batch.len() <= BLOCK_LIDS));
    }

    #[test]
    fn lids_of_a_switch_share_a_batch_if_close() {
        // 64 switches with LIDs 1 to 64 and four hosts each.
        let switches = (0..64u16).map(|s| (1 + s, u32::from(s), 0));
        let hosts = (0..256u16).map(|h| (100 + h, u32::from(h) / 4, 1 + (h % 4) as u8));
        let destinations = lids(switches.chain(hosts));
        let found = batches(&destinations, true);
        assert_partition(&found, &destinations);
        for batch in &found {
            assert_eq!(batch.len() % 5, 0);
            assert!(
                batch
                    .chunks(5)
                    .all(|switch_lids| switch_lids[4].port == PortNum::ZERO)
            );
        }
        assert_partition(&batches(&destinations, false), &destinations);
    }

    #[test]
    fn scattered_lids_are_batched_by_block() {
        let switches = (0..600u16).map(|s| (1 + s, u32::from(s), 0));
        let hosts = (0..6000u16).map(|h| (1000 + h, u32::from(h) % 600, 1 + (h / 600) as u8));
        let destinations = lids(switches.chain(hosts));
        assert_eq!(batches(&destinations, true), batches(&destinations, false));
    }

    #[test]
    fn many_lids_of_one_switch_are_split() {
        let destinations = lids((1..=200).map(|lid| (lid, 0, (lid % 40) as u8)));
        assert_partition(&batches(&destinations, true), &destinations);
    }
}
