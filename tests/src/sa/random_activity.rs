//! Random activity of hosts: they join and leave groups, query paths, register services and query
//! records, while links and hosts fail and return. Each reply is compared with the fabric
//! description and earlier replies.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use ferrosm_mad::ids::{AttrId, Gid, Lid, PKey};
use ferrosm_mad::mad::{Method, Status};
use ferrosm_mad::sa::id;
use ferrosm_mad::sa::path::PathRecord;
use ferrosm_mad::sa::service::ServiceRecord;
use ferrosm_mad::sa::tables::NodeRecord;
use ferrosm_sim::spec::PortAt;

use crate::lab::{Lab, TestRng};
use crate::sa::members::{Members, request};

/// DGID and SGID of a PathRecord.
const PATH_MASK: u64 = 1 << 2 | 1 << 3;
/// Identifier, GID, partition and lease of a ServiceRecord.
const SERVICE_MASK: u64 = 0b111 | 1 << 4;
/// Identifier and GID.
const SERVICE_KEY_MASK: u64 = 0b11;
/// NodeGUID and PortGUID in a NodeRecord.
const NODE_GUID: usize = 16;
const PORT_GUID: usize = 24;

/// Number of actions of each kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ActionCounts {
    /// Joins and leaves.
    pub groups: u32,
    /// Path queries.
    pub paths: u32,
    /// Registrations, withdrawals and queries of services.
    pub services: u32,
    /// Queries of nodes and SMs.
    pub queries: u32,
    /// Links cut or restored.
    pub links: u32,
    /// Hosts that were unplugged and returned.
    pub hosts: u32,
}

/// Hosts with their registrations.
#[derive(Debug)]
pub struct RandomClients {
    rng: TestRng,
    hosts: Vec<PortAt>,
    lids: BTreeMap<PortAt, Lid>,
    groups: Vec<Gid>,
    fault_rate: u64,
    members: Members,
    services: BTreeSet<(PortAt, u64)>,
    cut_link: Option<PortAt>,
    tid: u64,
    /// Actions so far.
    pub counts: ActionCounts,
}

impl RandomClients {
    /// Hosts of an initialised fabric that use `groups`. `fault_rate` of 2000 actions are link or
    /// host failures.
    #[must_use]
    pub fn new(lab: &Lab, groups: Vec<Gid>, fault_rate: u64) -> Self {
        let fabric = lab.world.fabric();
        let end_ports = fabric.end_ports();
        let hosts: Vec<PortAt> = end_ports
            .filter(|p| !fabric.is_switch(p.node) && fabric.peer(*p).is_some())
            .collect();
        Self {
            rng: TestRng::new(lab.seed ^ 0x00C1_07E5),
            lids: hosts.iter().map(|p| (*p, fabric.lid(*p).0)).collect(),
            hosts,
            groups,
            fault_rate,
            members: Members::new(),
            services: BTreeSet::new(),
            cut_link: None,
            tid: 1 << 32,
            counts: ActionCounts::default(),
        }
    }

    /// Runs one random action.
    ///
    /// # Panics
    ///
    /// If a reply is wrong.
    pub fn run_action(&mut self, lab: &mut Lab) {
        if self.rng.below(2000) < self.fault_rate {
            if self.rng.one_in(5) {
                self.unplug_host(lab);
            } else {
                self.toggle_link(lab);
            }
            return;
        }
        match self.rng.below(2000) {
            0..900 => {
                let hosts = &self.hosts;
                let groups = &self.groups;
                self.members
                    .random_action(lab, hosts, groups, &mut self.rng);
                self.counts.groups += 1;
            }
            900..1500 => self.check_path(lab),
            1500..1750 => self.run_service_action(lab),
            _ => self.check_query(lab),
        }
        if self.rng.one_in(4) {
            let pause = Duration::from_micros(self.rng.below(2_000));
            lab.world.run_for(pause);
        }
    }

    /// Restores all links, and asserts that tables and registrations match the replies.
    ///
    /// # Panics
    ///
    /// If they do not.
    pub fn assert_consistent(&mut self, lab: &mut Lab) {
        if self.cut_link.is_some() {
            self.toggle_link(lab);
        }
        let mut reason = String::new();
        for _ in 0..4 * 60 {
            lab.world.run_for(Duration::from_millis(250));
            match lab.verdict(&self.members.expect(lab)) {
                Ok(()) => {
                    self.assert_services_registered(lab);
                    return;
                }
                Err(violation) => reason = violation,
            }
        }
        panic!("{} {:?} {reason}", lab.describe_run(), self.counts);
    }

    fn random_host(&mut self) -> PortAt {
        self.hosts[self.rng.index(self.hosts.len())]
    }

    fn gid(lab: &Lab, at: PortAt) -> Gid {
        lab.port_gid(at)
    }

    fn request(
        &mut self,
        lab: &mut Lab,
        from: PortAt,
        request_kind: (Method, AttrId),
        mask: u64,
        data: &[u8],
    ) -> (Status, Vec<u8>) {
        self.tid += 1;
        request(lab, from, request_kind, self.tid, mask, data)
    }

    fn path_between(
        &mut self,
        lab: &mut Lab,
        from: PortAt,
        to: PortAt,
    ) -> Result<PathRecord, Status> {
        let request = PathRecord {
            sgid: Self::gid(lab, from),
            dgid: Self::gid(lab, to),
            ..PathRecord::default()
        };
        let (status, data) = self.request(
            lab,
            from,
            (Method::Get, id::PATH),
            PATH_MASK,
            &request.encode(),
        );
        if status.is_ok() {
            PathRecord::decode_slice(&data).ok_or(status)
        } else {
            Err(status)
        }
    }

    fn check_path(&mut self, lab: &mut Lab) {
        let from = self.random_host();
        let to = self.random_host();
        let reply = self.path_between(lab, from, to);
        let lids = reply.map(|p| (p.slid, p.dlid));
        let expected = Ok((self.lids[&from], self.lids[&to]));
        assert_eq!(lids, expected, "{} {from:?} {to:?}", lab.describe_run());
        self.counts.paths += 1;
    }

    fn run_service_action(&mut self, lab: &mut Lab) {
        let at = self.random_host();
        let number = 0x1000 + self.rng.below(5);
        let mut record = ServiceRecord {
            service_id: number,
            service_gid: Self::gid(lab, at),
            service_pkey: PKey::DEFAULT_FULL,
            service_lease_s: ServiceRecord::FOREVER,
            ..ServiceRecord::default()
        };
        record.service_name[0] = b's';
        let is_registered = self.services.contains(&(at, number));
        let (method, mask) = match self.rng.below(3) {
            0 => (Method::Set, SERVICE_MASK),
            1 => (Method::Delete, SERVICE_KEY_MASK),
            _ => (Method::Get, SERVICE_KEY_MASK),
        };
        let request_kind = (method, id::SERVICE);
        let (status, _) = self.request(lab, at, request_kind, mask, &record.encode());
        let should_succeed = method == Method::Set || is_registered;
        assert_eq!(
            status.is_ok(),
            should_succeed,
            "{} {at:?} {method:?} {status:?}",
            lab.describe_run()
        );
        if method == Method::Set {
            self.services.insert((at, number));
        } else if method == Method::Delete {
            self.services.remove(&(at, number));
        }
        self.counts.services += 1;
    }

    fn assert_services_registered(&mut self, lab: &mut Lab) {
        let registered = lab.manager().core().registry().services().len();
        assert_eq!(registered, self.services.len(), "{}", lab.describe_run());
    }

    fn check_query(&mut self, lab: &mut Lab) {
        let from = self.random_host();
        let of = self.random_host();
        if self.rng.one_in(4) {
            let request_kind = (Method::GetTable, id::SM_INFO);
            let (status, data) = self.request(lab, from, request_kind, 0, &[]);
            assert!(
                status.is_ok() && data.len() >= 32,
                "{} {status:?}",
                lab.describe_run()
            );
        } else {
            let record = NodeRecord {
                lid: self.lids[&of],
                ..NodeRecord::default()
            };
            let request_kind = (Method::Get, id::NODE);
            let (status, data) = self.request(lab, from, request_kind, 1, &record.encode());
            assert!(status.is_ok(), "{} {of:?} {status:?}", lab.describe_run());
            let guid = |from: usize| data.get(from..from + 8).map(<[u8]>::to_vec);
            let fabric = lab.world.fabric();
            let node = fabric.node_guid(of.node).0.to_be_bytes().to_vec();
            let port = fabric.port_guid(of).0.to_be_bytes().to_vec();
            assert_eq!((guid(NODE_GUID), guid(PORT_GUID)), (Some(node), Some(port)));
        }
        self.counts.queries += 1;
    }

    /// Cuts a link between switches, or restores the last one.
    fn toggle_link(&mut self, lab: &mut Lab) {
        self.counts.links += 1;
        let change_link = |lab: &mut Lab, at, restores: bool| {
            let fabric = lab.world.fabric_mut();
            let done = if restores {
                fabric.restore(at)
            } else {
                fabric.cut(at)
            };
            assert!(done.is_ok(), "{at:?} {done:?}");
        };
        if let Some(at) = self.cut_link.take() {
            change_link(lab, at, true);
        } else {
            let at = lab.redundant_link(self.rng.index(3));
            change_link(lab, at, false);
            self.cut_link = Some(at);
        }
    }

    /// Unplugs a host until the SM has removed it, and plugs it in again.
    fn unplug_host(&mut self, lab: &mut Lab) {
        let at = self.random_host();
        if at == lab.at {
            return;
        }
        self.counts.hosts += 1;
        let from = lab.at;
        assert!(lab.world.fabric_mut().cut(at).is_ok());
        self.wait_for(
            lab,
            "the SM removes the host",
            |path| path.is_err(),
            (from, at),
        );
        // Its memberships end with its removal; its services have leases.
        self.members.remove_port(at);
        assert!(lab.world.fabric_mut().restore(at).is_ok());
        self.wait_for(lab, "the SM adds the host", |path| path.is_ok(), (from, at));
        let lid = lab.world.fabric().lid(at).0;
        assert_eq!(
            lid,
            self.lids[&at],
            "{} the LID of a returning host changed",
            lab.describe_run()
        );
    }

    fn wait_for(
        &mut self,
        lab: &mut Lab,
        description: &str,
        done: fn(&Result<PathRecord, Status>) -> bool,
        (from, to): (PortAt, PortAt),
    ) {
        for _ in 0..600 {
            let path = self.path_between(lab, from, to);
            if done(&path) {
                return;
            }
            lab.world.run_for(Duration::from_millis(100));
        }
        panic!(
            "{} {to:?} not within a minute: {description}",
            lab.describe_run()
        );
    }
}
