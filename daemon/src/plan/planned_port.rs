//! A port that passes on reads only. It keeps writes, and answers reads of what was written from
//! them.

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

use ferrosm_mad::attr::{NodeInfo, NodeType, PhysState, PortInfo, PortState, SwitchInfo, id};
use ferrosm_mad::ids::{AttrId, AttrMod, NodeGuid, PortGuid, PortNum};
use ferrosm_mad::mad::{Mad, MadIn, MadOut, Method, MgmtClass, Status};
use ferrosm_mad::smp::{self, DATA_LEN, DrPath};
use ferrosm_umad::transport::{Received, TransportError};

use crate::port::MadPort;

/// A device, as requests reach it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ReachedDevice {
    /// A node, and the port that requests arrive at; of a switch, port 0.
    Node { guid: NodeGuid, port: PortGuid },
    /// What a directed route leads to, if no NodeInfo of it was read.
    Unknown(DrPath),
}

/// An attribute of a device, and its modifier.
pub type DeviceAttr = (ReachedDevice, AttrId, AttrMod);

/// The data of an attribute.
pub type AttrData = [u8; DATA_LEN];

/// A write that was not sent.
#[derive(Debug, Clone, Copy)]
pub struct PlannedSet {
    pub at: DeviceAttr,
    /// The directed route of the write.
    pub path: DrPath,
    /// What the device has, as read last or written before; `None` if it was not read.
    pub before: Option<AttrData>,
    pub after: AttrData,
}

/// What was read, and what would be written.
#[derive(Debug, Default)]
pub struct Planned {
    /// What the devices have.
    pub read: BTreeMap<DeviceAttr, AttrData>,
    /// What they would have, where it was written.
    written: BTreeMap<DeviceAttr, AttrData>,
    /// All writes in their order.
    pub sets: Vec<PlannedSet>,
    /// The local device, as NodeInfo shows it.
    local: Option<ReachedDevice>,
    /// The device that a port of a node leads to.
    neighbours: BTreeMap<(NodeGuid, u8), ReachedDevice>,
}

impl Planned {
    /// The device at the end of a directed route. The SM may write to it along another route than
    /// it read.
    fn device(&self, path: DrPath) -> ReachedDevice {
        let mut device = self.local;
        for port in path.hops() {
            device = match device {
                Some(ReachedDevice::Node { guid, .. }) => {
                    self.neighbours.get(&(guid, *port)).copied()
                }
                Some(ReachedDevice::Unknown(_)) | None => None,
            };
        }
        device.unwrap_or(ReachedDevice::Unknown(path))
    }

    /// A device responded.
    fn on_read(&mut self, path: DrPath, attr: AttrId, modifier: AttrMod, data: &AttrData) {
        if attr == id::NODE_INFO {
            self.locate(path, &NodeInfo::decode(data));
        }
        let device = self.device(path);
        self.read.insert((device, attr, modifier), *data);
    }

    fn locate(&mut self, path: DrPath, info: &NodeInfo) {
        let device = ReachedDevice::Node {
            guid: info.node_guid,
            port: info.port_guid,
        };
        let Some((out, way)) = path.hops().split_last() else {
            self.local = Some(device);
            return;
        };
        let way = way
            .iter()
            .try_fold(DrPath::LOCAL, |way, hop| way.extend(PortNum(*hop)));
        let Some(from @ ReachedDevice::Node { guid, .. }) = way.map(|way| self.device(way)) else {
            return;
        };
        self.neighbours.insert((guid, *out), device);
        let leads_back = self.node_info(from).map(|info| info.node_type) == Some(NodeType::Switch);
        if leads_back {
            self.neighbours
                .insert((info.node_guid, info.local_port_num.0), from);
        }
    }

    /// NodeInfo of a device.
    #[must_use]
    pub fn node_info(&self, device: ReachedDevice) -> Option<NodeInfo> {
        let info = self.read.get(&(device, id::NODE_INFO, AttrMod(0)));
        info.map(NodeInfo::decode)
    }

    fn current(&self, at: &DeviceAttr) -> Option<&AttrData> {
        self.written.get(at).or_else(|| self.read.get(at))
    }

    /// Keeps a write; returns what the device would answer.
    fn set(&mut self, at: DeviceAttr, path: DrPath, data: &AttrData) -> AttrData {
        let before = self.current(&at).copied();
        let after = result(at.1, before.as_ref(), data);
        self.sets.push(PlannedSet {
            at,
            path,
            before,
            after,
        });
        self.written.insert(at, after);
        after
    }
}

/// What a device has after a write (IBA vol. 1, 14.2.5).
fn result(attr: AttrId, before: Option<&AttrData>, data: &AttrData) -> AttrData {
    let mut after = *data;
    if attr == id::PORT_INFO {
        let present = before.map(PortInfo::decode).unwrap_or_default();
        let mut info = PortInfo::decode(data);
        // 0 is NoChange.
        if info.port_state == PortState(0) {
            info.port_state = present.port_state;
        }
        if info.port_physical_state == PhysState(0) {
            info.port_physical_state = present.port_physical_state;
        }
        info.encode_onto(&mut after);
    } else if attr == id::SWITCH_INFO {
        // Writing 1 clears it.
        let mut info = SwitchInfo::decode(data);
        info.port_state_change = false;
        info.encode_onto(&mut after);
    }
    after
}

/// See the module.
#[derive(Debug)]
pub struct PlannedPort<P> {
    inner: P,
    answers: VecDeque<MadIn>,
    planned: Rc<RefCell<Planned>>,
}

impl<P: MadPort> PlannedPort<P> {
    /// A port that keeps writes to `inner` in `planned`.
    pub fn new(inner: P, planned: Rc<RefCell<Planned>>) -> Self {
        Self {
            inner,
            answers: VecDeque::new(),
            planned,
        }
    }

    fn answer(&mut self, request: &MadOut, data: &AttrData) {
        self.answers.push_back(MadIn {
            from: request.to,
            mad: smp::response(&request.mad, Status::OK, data),
        });
    }
}

/// The route of a directed-route SMP.
fn route(mad: &Mad) -> Option<DrPath> {
    let is_directed = mad.mgmt_class() == MgmtClass::SubnDirected;
    DrPath::from_smp(mad).filter(|_| is_directed)
}

impl<P: MadPort> MadPort for PlannedPort<P> {
    fn send(&mut self, request: &MadOut) -> Result<(), TransportError> {
        // Neither a read nor a write of a device: a reply, trap 144.
        let Some(path) = route(&request.mad) else {
            return Ok(());
        };
        let device = self.planned.borrow().device(path);
        let at = (device, request.mad.attr_id(), request.mad.attr_mod());
        let method = request.mad.method();
        if method == Method::Get {
            let written = self.planned.borrow().written.get(&at).copied();
            return match written {
                Some(data) => {
                    self.answer(request, &data);
                    Ok(())
                }
                None => self.inner.send(request),
            };
        }
        if method == Method::Set && at.1 != id::SM_INFO {
            let data = smp::data(&request.mad);
            let after = self.planned.borrow_mut().set(at, path, data);
            self.answer(request, &after);
        }
        Ok(())
    }

    fn try_receive(&mut self) -> Result<Received, TransportError> {
        if let Some(answer) = self.answers.pop_front() {
            return Ok(Received::Mad(answer));
        }
        let received = self.inner.try_receive()?;
        if let Received::Mad(MadIn { mad, .. }) = &received
            && mad.method() == Method::GetResp
            && mad.status().is_ok()
            && let Some(path) = route(mad)
        {
            let mut planned = self.planned.borrow_mut();
            planned.on_read(path, mad.attr_id(), mad.attr_mod(), smp::data(mad));
        }
        Ok(received)
    }

    async fn ready(&mut self) {
        if self.answers.is_empty() {
            self.inner.ready().await;
        }
    }

    fn dropped(&self) -> u64 {
        self.inner.dropped()
    }
}
