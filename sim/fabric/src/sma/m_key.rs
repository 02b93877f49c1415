//! M_Key protection (IBA 14.2.4).
//!
//! Key, protection level and lease are those of the addressed end port. The order of checks is that
//! of `check_mkey` in `drivers/infiniband/hw/qib/qib_mad.c`: an expired lease ends protection, then
//! the key is compared; the right key stops the lease, a wrong key on a protected request starts
//! it. The version is checked before, method and attribute after.
//!
//! SMInfo is not checked here: 14.2.4 applies to the SMA, but SMInfo is an attribute of the SM
//! (14.2.5.13), which checks the key itself (docs/sm-behaviour.md, 8.12).

use std::time::Duration;

use ferrosm_mad::attr::PortInfo;
use ferrosm_mad::mad::Method;
use ferrosm_mad::smp;
use ferrosm_mad::time::Instant;

use crate::fabric::{Fabric, Packet};
use crate::spec::PortAt;

impl Fabric {
    /// Whether the M_Key of a request matches the port's; any key matches a port without one.
    #[inline]
    pub(crate) fn m_key_matches(&self, end_port: PortAt, packet: &Packet) -> bool {
        let key = self.ports[self.end_slot(end_port)].m_key();
        key == 0 || key == smp::m_key(&packet.mad).expose()
    }

    /// Whether the agent processes a request. Counts violations, and starts and stops the lease.
    pub(crate) fn check_m_key(&mut self, end_port: PortAt, packet: &Packet, now: Instant) -> bool {
        let slot = self.end_slot(end_port);
        if self.ports[slot].m_key() == 0 {
            return true;
        }
        let matches = self.m_key_matches(end_port, packet);
        let port = &mut self.ports[slot];
        if port.lease.is_some_and(|expires| now >= expires) {
            port.lease = None;
            port.update(|info| info.m_key_protect_bits = 0);
        }
        if matches {
            port.lease = None;
            return true;
        }
        let is_get = packet.mad.method() == Method::Get;
        if is_get && port.m_key_protect() < 2 {
            return true;
        }
        port.update(|info| info.m_key_violations = info.m_key_violations.saturating_add(1));
        let period = PortInfo::m_key_lease_period.read(&port.info);
        if period != 0 && port.lease.is_none() {
            port.lease = Some(now + Duration::from_secs(period.into()));
        }
        self.nodes[end_port.node].counters.m_key_violations += 1;
        self.raise_m_key_violation(end_port, packet);
        false
    }
}
