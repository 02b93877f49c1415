//! Two hosts on one switch with their MAD layers, and helpers for programs' calls.

use std::time::Duration;

use ferrosm_mad::attr::id;
use ferrosm_mad::ids::{AttrId, AttrMod, Lid, MKey, Qpn, Tid};
use ferrosm_mad::mad::{Address, MadOut, Status};
use ferrosm_mad::smp::SmpRequest;
use ferrosm_mad::time::Instant;
use ferrosm_sim::fabric::{AcceptOutcome, Fabric, Packet};
use ferrosm_sim::spec::PortAt;
use ferrosm_sim::umad::abi::{self, Errno, HeaderLayout, UserHeader};
use ferrosm_sim::umad::{FileId, UmadLayer};

use crate::rig::{Rig, chain, path_to};

/// The first host, LID 1.
pub(crate) const LEFT: PortAt = PortAt { node: 0, port: 1 };
/// The switch between them, LID 2.
pub(crate) const MIDDLE: PortAt = PortAt { node: 1, port: 0 };
/// The second host, LID 3.
pub(crate) const RIGHT: PortAt = PortAt { node: 2, port: 1 };

/// What happens to a packet on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    Arrives,
    Lost,
    Twice,
    /// Delivered after all packets in flight.
    Late,
}

pub(crate) struct Hosts {
    pub(crate) fabric: Fabric,
    pub(crate) umad: UmadLayer,
    pub(crate) now: Instant,
    /// Packets sent since this was cleared.
    pub(crate) sent: Vec<Packet>,
}

/// A registration by REGISTER_AGENT2.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Register {
    pub(crate) qpn: u32,
    pub(crate) class: u8,
    pub(crate) version: u8,
    pub(crate) methods: &'static [u8],
    pub(crate) rmpp_version: u8,
    pub(crate) flags: u32,
    pub(crate) oui: u32,
}

impl Register {
    pub(crate) fn bytes(&self) -> [u8; 40] {
        let mut b = [0; 40];
        let mask = self.methods.iter().fold(0u128, |mask, m| mask | 1 << m);
        b[4..8].copy_from_slice(&self.qpn.to_ne_bytes());
        b[8..10].copy_from_slice(&[self.class, self.version]);
        b[12..16].copy_from_slice(&self.flags.to_ne_bytes());
        b[16..32].copy_from_slice(&mask.to_le_bytes());
        b[32..36].copy_from_slice(&self.oui.to_ne_bytes());
        b[36] = self.rmpp_version;
        b
    }
}

/// An SM's agent for directed routes.
pub(crate) const DIRECTED: Register = Register {
    qpn: 0,
    class: 0x81,
    version: 1,
    methods: &[1, 2, 5, 7],
    rmpp_version: 0,
    flags: 0,
    oui: 0,
};

/// An SA's agent.
pub(crate) const SA: Register = Register {
    qpn: 1,
    class: 3,
    version: 2,
    methods: &[1, 2, 0x12, 0x14, 0x15],
    rmpp_version: 1,
    flags: 0,
    oui: 0,
};

/// An SA client's agent.
pub(crate) const SA_CLIENT: Register = Register { methods: &[], ..SA };

/// The header of a MAD to QP1 of a LID.
pub(crate) fn to(lid: u16) -> UserHeader {
    UserHeader {
        qpn: Qpn(1),
        lid: Lid(lid),
        ..UserHeader::default()
    }
}

/// First bytes of a MAD: class, version, method, TID, attribute.
pub(crate) fn mad(class: u8, version: u8, method: u8, tid: u64, attr: u16) -> Vec<u8> {
    let mut b = vec![0; 256];
    b[..4].copy_from_slice(&[1, class, version, method]);
    b[8..16].copy_from_slice(&tid.to_be_bytes());
    b[16..18].copy_from_slice(&attr.to_be_bytes());
    b
}

/// An SA message with the RMPP Active flag and data.
pub(crate) fn sa_message(method: u8, tid: u64, data: &[u8]) -> Vec<u8> {
    let mut b = mad(3, 2, method, tid, 0x11);
    b.truncate(56);
    b[24..27].copy_from_slice(&[1, 1, 1]);
    b.extend_from_slice(data);
    b
}

pub(crate) fn tid(mad: &[u8]) -> u64 {
    let mut b = [0; 8];
    b.copy_from_slice(&mad[8..16]);
    u64::from_be_bytes(b)
}

impl Hosts {
    /// All ports Active; node i has LID i + 1.
    pub(crate) fn new() -> Self {
        let mut rig = Rig::new(&chain(1));
        rig.configure_chain();
        rig.fabric.detach(rig.at).unwrap();
        Self {
            fabric: rig.fabric,
            umad: UmadLayer::new(),
            now: rig.now,
            sent: Vec::new(),
        }
    }

    pub(crate) fn open(&mut self, at: PortAt) -> FileId {
        self.umad.open(&mut self.fabric, at).unwrap()
    }

    pub(crate) fn close(&mut self, file: FileId) {
        self.umad.close(&mut self.fabric, file);
    }

    pub(crate) fn try_register(
        &mut self,
        file: FileId,
        registration: &Register,
    ) -> Result<u32, Errno> {
        let mut arg = registration.bytes();
        self.umad.ioctl(file, abi::REGISTER_AGENT2, &mut arg)?;
        Ok(u32::from_ne_bytes([arg[0], arg[1], arg[2], arg[3]]))
    }

    pub(crate) fn register(&mut self, file: FileId, registration: &Register) -> u32 {
        self.try_register(file, registration).unwrap()
    }

    /// Opens a file and registers an agent.
    pub(crate) fn agent(&mut self, at: PortAt, registration: &Register) -> FileId {
        let file = self.open(at);
        assert_eq!(self.register(file, registration), 0);
        file
    }

    pub(crate) fn try_write(
        &mut self,
        file: FileId,
        header: &UserHeader,
        mad: &[u8],
    ) -> Result<(), Errno> {
        let layout = self.umad.layout(file).unwrap();
        let mut message = header.encode()[..layout.header_len()].to_vec();
        message.extend_from_slice(mad);
        self.umad.write(&self.fabric, file, &message, self.now)
    }

    /// Writes a MAD and delivers all packets.
    pub(crate) fn write(&mut self, file: FileId, header: &UserHeader, mad: &[u8]) {
        self.try_write(file, header, mad).unwrap();
        self.run();
    }

    /// Delivers packets until none are left, each with its fate.
    pub(crate) fn run_with(&mut self, mut fate: impl FnMut(&Packet) -> Fate) {
        let mut late = Vec::new();
        loop {
            let (mut packet, decided) = match self.umad.poll_transmit() {
                Some(packet) => (packet, false),
                None => match late.pop() {
                    Some(packet) => (packet, true),
                    None => return,
                },
            };
            if !decided {
                self.sent.push(packet);
                match fate(&packet) {
                    Fate::Arrives => {}
                    Fate::Lost => continue,
                    Fate::Twice => late.push(packet),
                    Fate::Late => {
                        late.insert(0, packet);
                        continue;
                    }
                }
            }
            self.carry(&mut packet);
        }
    }

    pub(crate) fn run(&mut self) {
        self.run_with(|_| Fate::Arrives);
    }

    /// Delivers a packet that was not written by a program.
    pub(crate) fn inject(&mut self, mut packet: Packet) {
        self.carry(&mut packet);
    }

    /// Delivers a packet and a device's reply.
    fn carry(&mut self, packet: &mut Packet) {
        for _ in 0..2 {
            if self.fabric.forward_unicast(packet).is_err() {
                return;
            }
            match self.fabric.accept(packet, self.now) {
                AcceptOutcome::Reply => {}
                AcceptOutcome::Deliver(delivery) => {
                    self.umad.deliver(&self.fabric, &delivery, self.now);
                    return;
                }
                AcceptOutcome::Consumed | AcceptOutcome::Dropped(_) => return,
            }
        }
    }

    /// Advances the time, timer by timer.
    pub(crate) fn advance_with(&mut self, time: Duration, mut fate: impl FnMut(&Packet) -> Fate) {
        let deadline = self.now + time;
        while let Some(next) = self.umad.poll_timeout().filter(|t| *t <= deadline) {
            self.now = self.now.max(next);
            self.umad.handle_timeout(&self.fabric, self.now);
            self.run_with(&mut fate);
        }
        self.now = deadline;
    }

    pub(crate) fn advance_ms(&mut self, ms: u64) {
        self.advance_with(Duration::from_millis(ms), |_| Fate::Arrives);
    }

    /// Sets an attribute as an SM through the first host's port, which must be open.
    pub(crate) fn set(&mut self, node: usize, attr: AttrId, data: [u8; 64]) {
        let request = SmpRequest::set(attr, AttrMod(0), MKey::NONE, data);
        let mad = request.directed(&path_to(node), Tid(1));
        let to = Address::DIRECTED;
        let mut out = Vec::new();
        self.fabric
            .handle(LEFT, &MadOut { to, mad }, self.now, &mut out);
        assert_eq!(out[0].mad.mad.status(), Status::OK);
    }

    /// Sets the switch's LinearFDBTop.
    pub(crate) fn route_up_to(&mut self, lid: u16) {
        let mut info = self.fabric.switch_info(MIDDLE.node).unwrap();
        info.linear_fdb_top = lid;
        self.set(MIDDLE.node, id::SWITCH_INFO, info.encode());
    }

    /// The oldest message of a file.
    pub(crate) fn read(&mut self, file: FileId) -> Option<(UserHeader, Vec<u8>)> {
        let layout = self.layout(file);
        let message = self.umad.front(file)?;
        let (header, _) = UserHeader::split_from(message.header, layout)?;
        let body = message.body.to_vec();
        self.umad.pop(file);
        Some((header, body))
    }

    pub(crate) fn layout(&self, file: FileId) -> HeaderLayout {
        self.umad.layout(file).unwrap()
    }
}
