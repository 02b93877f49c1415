//! PortSamplesControl and PortSamplesResult (IBA 16.1.3.2, 16.1.3.4).
//!
//! A node has one sampling mechanism per port, with fifteen 32-bit counters that each count one of
//! the five mandatory quantities, and ticks of 1 us. Counting starts with the Set, even if
//! SampleStart is later, and ends when the result is first read after the end.

use std::time::Duration;

use ferrosm_mad::attr::perf::{DATA_LEN, PortSamplesControl, PortSamplesResult};
use ferrosm_mad::mad::Status;
use ferrosm_mad::time::Instant;

use super::{AttributeData, PmaRequest};
use crate::fabric::{Fabric, PortCounter, Sampler};
use crate::spec::PortAt;

/// (249 + 1) * 10 bit times at 2.5 Gb/s are 1 us.
const TICK: u8 = 249;
const DONE: u8 = 0;
const STARTED: u8 = 1;
const RUNNING: u8 = 2;
const WIDTH_32: u8 = 4;
/// A counter supports the mandatory quantities.
const MANDATORY: u8 = 1;

fn status(sampler: &Sampler, now: Instant) -> u8 {
    if now < sampler.begins {
        STARTED
    } else if now < sampler.ends {
        RUNNING
    } else {
        DONE
    }
}

const fn quantity(select: u16) -> Option<PortCounter> {
    Some(match select {
        1 => PortCounter::XmitData,
        2 => PortCounter::RcvData,
        3 => PortCounter::XmitPkts,
        4 => PortCounter::RcvPkts,
        5 => PortCounter::XmitWait,
        _ => return None,
    })
}

impl Fabric {
    pub(super) fn samples_control(&mut self, r: &PmaRequest, data: &mut AttributeData) -> Status {
        let slot = *r.ports.start();
        if r.ports.end() != &slot {
            return Status::BAD_FIELD;
        }
        let requested = PortSamplesControl::decode(data);
        let now = self.now;
        let at = self.port_of_slot(slot);
        let before = self.port_counters(at);
        let raw_counts = &mut self.raw_counts[slot];
        let running = raw_counts
            .rare()
            .and_then(|rare| rare.sampler.as_ref())
            .is_some_and(|sampler| status(sampler, now) != DONE);
        // A running sample is not changed.
        if r.set && !running {
            let begins = now + Duration::from_micros(requested.sample_start.into());
            raw_counts.rare_mut().sampler = Some(Box::new(Sampler {
                control: requested,
                begins,
                ends: begins + Duration::from_micros(requested.sample_interval.into()),
                before,
                result: None,
            }));
        }
        let sampler = raw_counts.rare().and_then(|rare| rare.sampler.as_ref());
        *data = [0; DATA_LEN];
        PortSamplesControl {
            port_select: r.port_select,
            tick: TICK,
            counter_width: WIDTH_32,
            counter_masks0_to_9: [MANDATORY; 10],
            counter_masks10_to_14: [MANDATORY; 5],
            sample_status: sampler.map_or(DONE, |s| status(s, now)),
            op_code: sampler.map_or(0, |s| s.control.op_code),
            sample_start: sampler.map_or(0, |s| s.control.sample_start),
            sample_interval: sampler.map_or(0, |s| s.control.sample_interval),
            tag: sampler.map_or(0, |s| s.control.tag),
            counter_select: sampler.map_or([0; 15], |s| s.control.counter_select),
            ..PortSamplesControl::default()
        }
        .encode_onto(data);
        Status::OK
    }

    /// The result has no PortSelect: it reports the sample that begins last; if several do, that of
    /// the lowest port.
    pub(super) fn samples_result(&mut self, end_port: PortAt, data: &mut AttributeData) -> Status {
        let node = &self.nodes[end_port.node];
        let base = node.base;
        let ports = usize::from(node.num_ports);
        let now = self.now;
        let latest = (base..=base + ports)
            .filter_map(|slot| {
                let sampler = self.raw_counts[slot].rare()?.sampler.as_ref()?;
                Some((sampler.begins, slot))
            })
            .max_by_key(|(begins, slot)| (*begins, usize::MAX - slot));
        *data = [0; DATA_LEN];
        let Some((_, slot)) = latest else {
            return Status::OK;
        };
        let counts = self.port_counters(self.port_of_slot(slot));
        let Some(sampler) = &mut self.raw_counts[slot].rare_mut().sampler else {
            return Status::OK;
        };
        let sample_status = status(sampler, now);
        let counted = std::array::from_fn(|i| {
            quantity(sampler.control.counter_select[i]).map_or(0, |which| {
                let n = counts.get(which).wrapping_sub(sampler.before.get(which));
                // saturates: a sampled counter stops at its maximum.
                u32::try_from(n).unwrap_or(u32::MAX)
            })
        });
        let counters = match sampler.result {
            Some(result) => result,
            None if sample_status == DONE => *sampler.result.insert(counted),
            None => counted,
        };
        PortSamplesResult {
            tag: sampler.control.tag,
            sample_status,
            counters,
        }
        .encode_onto(data);
        Status::OK
    }

    fn port_of_slot(&self, slot: usize) -> PortAt {
        let node = self.nodes.partition_point(|n| n.base <= slot) - 1;
        let port = slot - self.nodes[node].base;
        PortAt::new(node, u8::try_from(port).unwrap_or(0))
    }
}
