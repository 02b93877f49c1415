//! Registrations of a host: receivers of unsolicited MADs, and high halves of TIDs.
//!
//! At each port, one agent of any file owns a method of a class and version. Agents are indices
//! into [`super::UmadLayer`].

use std::collections::BTreeMap;

use ferrosm_mad::mad::{MAD_LEN, MgmtClass};

use super::abi::{AgentRegistration, Errno, FLAG_USER_RMPP};
use super::class::{self, MAX_CLASS, MAX_VERSION};

/// Index of an agent.
pub(super) type AgentIdx = usize;

/// Maximum number of OUIs per vendor class and version (the kernel's `MAX_MGMT_OUI`).
const MAX_OUIS: usize = 8;
/// High halves of TIDs have 24 significant bits.
const HI_TID_END: u32 = 1 << 24;
const METHODS: usize = 128;
const FREE: AgentIdx = AgentIdx::MAX;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct ClassKey {
    version: u8,
    class: u8,
    /// Zero outside of the vendor range.
    oui: [u8; 3],
}

/// Owners of the methods of one port.
#[derive(Debug, Default)]
pub(super) struct PortAgents {
    /// Number of open files.
    pub(super) files: u32,
    /// Whether the issm device is open.
    pub(super) issm: bool,
    classes: BTreeMap<ClassKey, Box<[AgentIdx; METHODS]>>,
}

/// A node with open files.
#[derive(Debug, Default)]
pub(super) struct HostAgents {
    pub(super) ports: BTreeMap<u8, PortAgents>,
    /// Agents by the high half of their TIDs.
    clients: BTreeMap<u32, AgentIdx>,
    last_hi_tid: u32,
}

/// Checks a registration independently of others (`ib_register_mad_agent` before allocation).
pub(super) fn check(request: &AgentRegistration) -> Result<(), Errno> {
    let class = MgmtClass(request.mgmt_class);
    if request.rmpp_version > 1 {
        return Err(Errno::EINVAL);
    }
    if request.mgmt_class == 0 {
        return if request.flags & FLAG_USER_RMPP == 0 {
            Ok(())
        } else {
            Err(Errno::EINVAL)
        };
    }
    let known = request.mgmt_class < MAX_CLASS || class == MgmtClass::SubnDirected;
    let has_oui = !class::is_oui_vendor(class) || request.oui != [0; 3];
    let rmpp_fits = request.rmpp_version == 0 || class::has_rmpp(class);
    let qp_fits = class::is_smi(class) == (request.qpn == 0);
    if !request.oui_too_long
        && request.class_version < MAX_VERSION
        && known
        && has_oui
        && rmpp_fits
        && qp_fits
    {
        Ok(())
    } else {
        Err(Errno::EINVAL)
    }
}

fn key_of(class: u8, version: u8, oui: [u8; 3]) -> ClassKey {
    let oui = if class::is_oui_vendor(MgmtClass(class)) {
        oui
    } else {
        [0; 3]
    };
    ClassKey {
        version,
        class,
        oui,
    }
}

impl PortAgents {
    /// Registers an agent for all requested methods, or for none.
    pub(super) fn register(
        &mut self,
        request: &AgentRegistration,
        agent: AgentIdx,
    ) -> Result<(), Errno> {
        if request.mgmt_class == 0 {
            return Ok(());
        }
        let key = key_of(request.mgmt_class, request.class_version, request.oui);
        let requests_method = |method: usize| request.methods >> method & 1 != 0;
        if let Some(owners) = self.classes.get(&key) {
            if (0..METHODS).any(|m| requests_method(m) && owners[m] != FREE) {
                return Err(Errno::EINVAL);
            }
        } else if class::is_oui_vendor(MgmtClass(key.class)) {
            let same_class = |k: &&ClassKey| k.version == key.version && k.class == key.class;
            if self.classes.keys().filter(same_class).count() >= MAX_OUIS {
                return Err(Errno::ENOMEM);
            }
        }
        let owners = self
            .classes
            .entry(key)
            .or_insert_with(|| Box::new([FREE; METHODS]));
        for method in (0..METHODS).filter(|m| requests_method(*m)) {
            owners[method] = agent;
        }
        Ok(())
    }

    /// Removes the registration of an agent's methods.
    pub(super) fn unregister(&mut self, request: &AgentRegistration, agent: AgentIdx) {
        let key = key_of(request.mgmt_class, request.class_version, request.oui);
        let Some(owners) = self.classes.get_mut(&key) else {
            return;
        };
        for owner in owners.iter_mut().filter(|o| **o == agent) {
            *owner = FREE;
        }
        if owners.iter().all(|o| *o == FREE) {
            self.classes.remove(&key);
        }
    }

    fn owner(&self, mad: &[u8; MAD_LEN]) -> Option<AgentIdx> {
        let key = key_of(mad[1], mad[2], [mad[37], mad[38], mad[39]]);
        let owner = self.classes.get(&key)?[usize::from(mad[3] & 0x7F)];
        (owner != FREE).then_some(owner)
    }
}

impl HostAgents {
    /// Assigns an unused high half of TIDs, cycling through all 24 bits.
    pub(super) fn new_hi_tid(&mut self, agent: AgentIdx) -> Result<u32, Errno> {
        if self.clients.len() as u64 >= u64::from(HI_TID_END) - 1 {
            return Err(Errno::ENOMEM);
        }
        loop {
            self.last_hi_tid = (self.last_hi_tid + 1) % HI_TID_END;
            if self.last_hi_tid != 0 && !self.clients.contains_key(&self.last_hi_tid) {
                self.clients.insert(self.last_hi_tid, agent);
                return Ok(self.last_hi_tid);
            }
        }
    }

    pub(super) fn free_hi_tid(&mut self, hi_tid: u32) {
        self.clients.remove(&hi_tid);
    }

    /// The receiver of a MAD: by the high half of the TID for a response, otherwise by class,
    /// version, OUI and method.
    pub(super) fn find_agent(&self, port: u8, mad: &[u8; MAD_LEN]) -> Option<AgentIdx> {
        if class::is_response(mad) {
            let hi_tid = u32::try_from(class::tid(mad) >> 32).ok()?;
            self.clients.get(&hi_tid).copied()
        } else {
            self.ports.get(&port)?.owner(mad)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(class: u8, version: u8, methods: u128) -> AgentRegistration {
        AgentRegistration {
            qpn: u32::from(!matches!(class, 1 | 0x81)),
            mgmt_class: class,
            class_version: version,
            methods,
            ..AgentRegistration::default()
        }
    }

    #[test]
    fn method_has_one_owner_per_class_and_version() {
        let mut port = PortAgents::default();
        let sa = request(3, 2, 1 << 1 | 1 << 2);
        assert_eq!(port.register(&sa, 1), Ok(()));
        let overlap = request(3, 2, 1 << 2 | 1 << 0x12);
        assert_eq!(port.register(&overlap, 2), Err(Errno::EINVAL));
        assert_eq!(
            port.register(&request(3, 2, 1 << 0x12), 2),
            Ok(()),
            "a rejected registration changes nothing"
        );
        assert_eq!(port.register(&request(3, 1, 1 << 2), 3), Ok(()), "version");
        assert_eq!(port.register(&request(4, 2, 1 << 2), 4), Ok(()), "class");
        port.unregister(&sa, 1);
        assert_eq!(port.register(&request(3, 2, 1 << 2), 5), Ok(()));
    }

    #[test]
    fn vendor_class_has_owners_per_oui_up_to_eight() {
        let mut port = PortAgents::default();
        let vendor = |oui: u8| AgentRegistration {
            oui: [0, 0, oui],
            ..request(0x32, 1, 1 << 1)
        };
        for oui in 1..=8 {
            assert_eq!(port.register(&vendor(oui), usize::from(oui)), Ok(()));
        }
        assert_eq!(port.register(&vendor(3), 20), Err(Errno::EINVAL));
        assert_eq!(port.register(&vendor(9), 20), Err(Errno::ENOMEM));
        let mut mad = [0; MAD_LEN];
        mad[..4].copy_from_slice(&[1, 0x32, 1, 1]);
        mad[39] = 5;
        assert_eq!(port.owner(&mad), Some(5));
        mad[39] = 9;
        assert_eq!(port.owner(&mad), None);
    }

    #[test]
    fn invalid_registrations_are_rejected() {
        let ok = |r: AgentRegistration| check(&r).is_ok();
        assert!(ok(request(0x81, 1, 0)) && ok(request(1, 1, 0)) && ok(request(3, 2, 0)));
        assert!(!ok(request(0x50, 1, 0)), "classes end at 0x4F");
        assert!(!ok(request(3, 0x83, 0)), "versions end at 0x82");
        assert!(!ok(request(0x30, 1, 0)), "an OUI is needed");
        for (class, qpn) in [(1, 1), (0x81, 1), (3, 0), (4, 0)] {
            assert!(!ok(AgentRegistration {
                qpn,
                ..request(class, 1, 0)
            }));
        }
        let rmpp = |class, rmpp_version| AgentRegistration {
            rmpp_version,
            oui: [0, 0, 1],
            ..request(class, 1, 0)
        };
        for class in [3, 6, 0x10, 0x12, 0x30, 0x4F] {
            assert!(ok(rmpp(class, 1)), "{class:#x} has RMPP");
            assert!(!ok(rmpp(class, 2)));
        }
        for class in [4, 5, 7, 9, 0x11] {
            assert!(!ok(rmpp(class, 1)), "{class:#x} has no RMPP");
        }
        let send_only = AgentRegistration {
            qpn: 1,
            ..AgentRegistration::default()
        };
        assert!(ok(send_only));
        assert!(!ok(AgentRegistration {
            flags: FLAG_USER_RMPP,
            ..send_only
        }));
    }

    #[test]
    fn high_halves_of_tids_wrap_and_skip_used_ones() {
        let mut host = HostAgents {
            last_hi_tid: HI_TID_END - 2,
            ..HostAgents::default()
        };
        assert_eq!(host.new_hi_tid(1), Ok(HI_TID_END - 1));
        assert_eq!(host.new_hi_tid(2), Ok(1), "0 is never used");
        host.last_hi_tid = 0;
        assert_eq!(host.new_hi_tid(3), Ok(2));
    }
}
