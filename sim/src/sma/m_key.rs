//! M_Key protection: who may read and write (IBA 14.2.4).
//!
//! The key, the protection level and the lease are those of the end port that is asked. The order
//! is that of `check_mkey` in `drivers/infiniband/hw/qib/qib_mad.c`: a lease that has run out ends
//! protection first, then the key is compared; the right key stops the lease, a wrong one that
//! matters starts it. Versions are checked before, methods and attributes after.
//!
//! SMInfo does not come here: 14.2.4 speaks of what the SMA does, and SMInfo is not the SMA's but
//! the SM's behind the port (14.2.5.13), which holds the key and checks it itself (rule 8.12).

use std::time::Duration;

use ferrosm_mad::mad::Method;
use ferrosm_mad::smp;
use ferrosm_mad::time::Instant;

use crate::fabric::{Fabric, Packet};
use crate::spec::PortAt;

impl Fabric {
    /// Whether the key of a request is the port's; any is if the port has none.
    #[inline]
    pub(crate) fn m_key_matches(&self, end: PortAt, packet: &Packet) -> bool {
        let key = self.ports[self.end_slot(end)].m_key();
        key == 0 || key == smp::m_key(&packet.mad).expose()
    }

    /// Whether the agent looks at the request at all. Counts violations and runs the lease.
    pub(crate) fn m_key_admits(&mut self, end: PortAt, packet: &Packet, now: Instant) -> bool {
        let slot = self.end_slot(end);
        if self.ports[slot].m_key() == 0 {
            return true;
        }
        let matches = self.m_key_matches(end, packet);
        let port = &mut self.ports[slot];
        if port.lease.is_some_and(|expires| now >= expires) {
            port.lease = None;
            port.update(|info| info.m_key_protect_bits = 0);
        }
        if matches {
            port.lease = None;
            return true;
        }
        let reading = packet.mad.method() == Method::Get;
        if reading && port.m_key_protect() < 2 {
            return true;
        }
        port.update(|info| info.m_key_violations = info.m_key_violations.saturating_add(1));
        let period = u16::from_be_bytes([port.info[26], port.info[27]]);
        if period != 0 && port.lease.is_none() {
            port.lease = Some(now + Duration::from_secs(period.into()));
        }
        self.nodes[end.node].counters.m_key_violations += 1;
        self.raise_m_key_violation(end, packet);
        false
    }
}
