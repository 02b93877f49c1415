//! What hosts do all day, at random: they join and leave, ask for paths, register services, query; cables go and come back, hosts
//! restart. Each answer is checked by what is known here from the fabric on paper and the answers before.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use ferrosm_mad::ids::{AttrId, Gid, GidPrefix, Lid, PKey};
use ferrosm_mad::mad::{Method, Status};
use ferrosm_mad::sa::id;
use ferrosm_mad::sa::path::PathRecord;
use ferrosm_mad::sa::service::ServiceRecord;
use ferrosm_mad::sa::tables::NodeRecord;
use ferrosm_sim::spec::PortAt;

use crate::multicast_members::{Members, ask};
use crate::simulated::{Dice, Lab};

/// DGID and SGID of a PathRecord.
const ENDS: u64 = 1 << 2 | 1 << 3;
/// Identifier, GID, partition and lease of a ServiceRecord.
const SERVICE: u64 = 0b111 | 1 << 4;
/// Identifier and GID.
const OWNER: u64 = 0b11;
/// NodeGUID and PortGUID in a NodeRecord.
const NODE_GUID: usize = 16;
const PORT_GUID: usize = 24;

/// How often each thing was done.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Done {
    /// Joins and leaves.
    pub groups: u32,
    /// Paths.
    pub paths: u32,
    /// Registrations, withdrawals and searches of services.
    pub services: u32,
    /// Queries of nodes and managers.
    pub queries: u32,
    /// Cables cut or put back.
    pub cables: u32,
    /// Hosts that went and came back.
    pub hosts: u32,
}

/// Hosts of a fabric, and what they have done.
#[derive(Debug)]
pub struct Clutter {
    dice: Dice,
    hosts: Vec<PortAt>,
    lids: BTreeMap<PortAt, Lid>,
    groups: Vec<Gid>,
    trouble: u64,
    members: Members,
    services: BTreeSet<(PortAt, u64)>,
    cut: Option<PortAt>,
    tid: u64,
    /// What was done.
    pub done: Done,
}

impl Clutter {
    /// Hosts of a fabric that is up, who use these groups; so often in 2000 times a cable or a host goes or comes back.
    #[must_use]
    pub fn new(lab: &Lab, groups: Vec<Gid>, trouble: u64) -> Self {
        let fabric = lab.world.fabric();
        let ends = fabric.end_ports();
        let hosts: Vec<PortAt> = ends
            .filter(|p| !fabric.is_switch(p.node) && fabric.peer(*p).is_some())
            .collect();
        Self {
            dice: Dice::new(lab.seed ^ 0x00C1_07E5),
            lids: hosts.iter().map(|p| (*p, fabric.lid(*p).0)).collect(),
            hosts,
            groups,
            trouble,
            members: Members::new(),
            services: BTreeSet::new(),
            cut: None,
            tid: 1 << 32,
            done: Done::default(),
        }
    }

    /// One thing.
    ///
    /// # Panics
    /// If an answer is wrong.
    pub fn act(&mut self, lab: &mut Lab) {
        if self.dice.below(2000) < self.trouble {
            if self.dice.one_in(5) {
                self.host(lab);
            } else {
                self.cable(lab);
            }
            return;
        }
        match self.dice.below(2000) {
            0..900 => {
                let (hosts, groups) = (&self.hosts, &self.groups);
                self.members
                    .random_action(lab, hosts, groups, &mut self.dice);
                self.done.groups += 1;
            }
            900..1500 => self.path(lab),
            1500..1750 => self.service(lab),
            _ => self.query(lab),
        }
        if self.dice.one_in(4) {
            let pause = Duration::from_micros(self.dice.below(2_000));
            lab.world.run_for(pause);
        }
    }

    /// All cables are back, and what is in the switches and registered is what the answers said.
    ///
    /// # Panics
    /// If it is not.
    pub fn settle(&mut self, lab: &mut Lab) {
        if self.cut.is_some() {
            self.cable(lab);
        }
        let mut why = String::new();
        for _ in 0..4 * 60 {
            lab.world.run_for(Duration::from_millis(250));
            match lab.verdict(&self.members.expect(lab)) {
                Ok(()) => {
                    self.services_are_there(lab);
                    return;
                }
                Err(wrong) => why = wrong,
            }
        }
        panic!("{} {:?} {why}", lab.repeat(), self.done);
    }

    fn any(&mut self) -> PortAt {
        self.hosts[self.dice.index(self.hosts.len())]
    }

    fn gid(lab: &Lab, at: PortAt) -> Gid {
        Gid::new(GidPrefix::DEFAULT, lab.world.fabric().port_guid(at))
    }

    fn ask(
        &mut self,
        lab: &mut Lab,
        from: PortAt,
        what: (Method, AttrId),
        mask: u64,
        data: &[u8],
    ) -> (Status, Vec<u8>) {
        self.tid += 1;
        ask(lab, from, what, self.tid, mask, data)
    }

    fn path_between(
        &mut self,
        lab: &mut Lab,
        from: PortAt,
        to: PortAt,
    ) -> Result<PathRecord, Status> {
        let asked = PathRecord {
            sgid: Self::gid(lab, from),
            dgid: Self::gid(lab, to),
            ..PathRecord::default()
        };
        let (status, data) = self.ask(lab, from, (Method::Get, id::PATH), ENDS, &asked.encode());
        if status.is_ok() {
            PathRecord::decode_slice(&data).ok_or(status)
        } else {
            Err(status)
        }
    }

    fn path(&mut self, lab: &mut Lab) {
        let (from, to) = (self.any(), self.any());
        let told = self.path_between(lab, from, to);
        let lids = told.map(|p| (p.slid, p.dlid));
        let expected = Ok((self.lids[&from], self.lids[&to]));
        assert_eq!(lids, expected, "{} {from:?} {to:?}", lab.repeat());
        self.done.paths += 1;
    }

    fn service(&mut self, lab: &mut Lab) {
        let (at, number) = (self.any(), 0x1000 + self.dice.below(5));
        let mut record = ServiceRecord {
            service_id: number,
            service_gid: Self::gid(lab, at),
            service_pkey: PKey::DEFAULT_FULL,
            service_lease_s: ServiceRecord::FOREVER,
            ..ServiceRecord::default()
        };
        record.service_name[0] = b's';
        let there = self.services.contains(&(at, number));
        let (method, mask) = match self.dice.below(3) {
            0 => (Method::Set, SERVICE),
            1 => (Method::Delete, OWNER),
            _ => (Method::Get, OWNER),
        };
        let what = (method, id::SERVICE);
        let (status, _) = self.ask(lab, at, what, mask, &record.encode());
        let good = method == Method::Set || there;
        assert_eq!(
            status.is_ok(),
            good,
            "{} {at:?} {method:?} {status:?}",
            lab.repeat()
        );
        if method == Method::Set {
            self.services.insert((at, number));
        } else if method == Method::Delete {
            self.services.remove(&(at, number));
        }
        self.done.services += 1;
    }

    fn services_are_there(&mut self, lab: &mut Lab) {
        let registered = lab.manager().core().registry().services().len();
        assert_eq!(registered, self.services.len(), "{}", lab.repeat());
    }

    fn query(&mut self, lab: &mut Lab) {
        let (from, of) = (self.any(), self.any());
        if self.dice.one_in(4) {
            let what = (Method::GetTable, id::SM_INFO);
            let (status, data) = self.ask(lab, from, what, 0, &[]);
            assert!(
                status.is_ok() && data.len() >= 32,
                "{} {status:?}",
                lab.repeat()
            );
        } else {
            let record = NodeRecord {
                lid: self.lids[&of],
                ..NodeRecord::default()
            };
            let what = (Method::Get, id::NODE);
            let (status, data) = self.ask(lab, from, what, 1, &record.encode());
            assert!(status.is_ok(), "{} {of:?} {status:?}", lab.repeat());
            let guid = |from: usize| data.get(from..from + 8).map(<[u8]>::to_vec);
            let fabric = lab.world.fabric();
            let node = fabric.node_guid(of.node).0.to_be_bytes().to_vec();
            let port = fabric.port_guid(of).0.to_be_bytes().to_vec();
            assert_eq!((guid(NODE_GUID), guid(PORT_GUID)), (Some(node), Some(port)));
        }
        self.done.queries += 1;
    }

    /// A cable between switches goes, or comes back.
    fn cable(&mut self, lab: &mut Lab) {
        self.done.cables += 1;
        let fabric = |lab: &mut Lab, at, back: bool| {
            let fabric = lab.world.fabric_mut();
            let done = if back {
                fabric.restore(at)
            } else {
                fabric.cut(at)
            };
            assert!(done.is_ok(), "{at:?} {done:?}");
        };
        if let Some(at) = self.cut.take() {
            fabric(lab, at, true);
        } else {
            let at = lab.spare_cable(self.dice.index(3));
            fabric(lab, at, false);
            self.cut = Some(at);
        }
    }

    /// A host is unplugged until everybody has seen it, and comes back.
    fn host(&mut self, lab: &mut Lab) {
        let at = self.any();
        if at == lab.at {
            return;
        }
        self.done.hosts += 1;
        let from = lab.at;
        assert!(lab.world.fabric_mut().cut(at).is_ok());
        self.wait_for(
            lab,
            "nobody has a path to it",
            |path| path.is_err(),
            (from, at),
        );
        // Its memberships ended with it; its services have leases.
        self.members.lost(at);
        assert!(lab.world.fabric_mut().restore(at).is_ok());
        self.wait_for(
            lab,
            "there is a path to it",
            |path| path.is_ok(),
            (from, at),
        );
        let lid = lab.world.fabric().lid(at).0;
        assert_eq!(
            lid,
            self.lids[&at],
            "{} a host gets its LID again",
            lab.repeat()
        );
    }

    fn wait_for(
        &mut self,
        lab: &mut Lab,
        what: &str,
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
        panic!("{} {to:?} not within a minute: {what}", lab.repeat());
    }
}
