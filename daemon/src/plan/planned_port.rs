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

/// A device that requests reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ReachedDevice(usize);

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
    devices: Vec<Device>,
    /// The device with this node GUID, as requests arrive at its port with this GUID; of a switch,
    /// port 0.
    nodes: BTreeMap<(NodeGuid, PortGuid), ReachedDevice>,
    /// What a directed route leads to, if no NodeInfo of it was read.
    unknown: BTreeMap<DrPath, ReachedDevice>,
    /// The local device, as NodeInfo shows it.
    local: Option<ReachedDevice>,
    /// All writes in their order.
    pub sets: Vec<PlannedSet>,
}

/// A device. Large fabrics have hundreds of thousands of LFT blocks: a map for each device keeps
/// the search for one short.
#[derive(Debug, Default)]
struct Device {
    /// What it has.
    read: AttrsOfDevice,
    /// What it would have, where it was written.
    written: AttrsOfDevice,
    /// The devices that its ports lead to, by port number.
    neighbours: Vec<Option<ReachedDevice>>,
}

type AttrsOfDevice = BTreeMap<(AttrId, AttrMod), AttrData>;

impl Device {
    fn is_switch(&self) -> bool {
        let info = self.node_info();
        info.is_some_and(|info| info.node_type == NodeType::Switch)
    }

    fn node_info(&self) -> Option<NodeInfo> {
        let info = self.read.get(&(id::NODE_INFO, AttrMod(0)));
        info.map(NodeInfo::decode)
    }

    fn connect(&mut self, port: u8, to: ReachedDevice) {
        let port = usize::from(port);
        if self.neighbours.len() <= port {
            self.neighbours.resize(port + 1, None);
        }
        self.neighbours[port] = Some(to);
    }
}

impl Planned {
    /// The device at the end of a directed route. The SM may write to it along another route than
    /// it read.
    fn device(&mut self, path: DrPath) -> ReachedDevice {
        match self.known_device(path) {
            Some(device) => device,
            None => {
                let devices = &mut self.devices;
                *self
                    .unknown
                    .entry(path)
                    .or_insert_with(|| add_device(devices))
            }
        }
    }

    /// The device at the end of a directed route whose devices were all read.
    fn known_device(&self, path: DrPath) -> Option<ReachedDevice> {
        let hops = path.hops().iter();
        hops.fold(self.local, |device, port| {
            let neighbours = &self.devices[device?.0].neighbours;
            neighbours.get(usize::from(*port)).copied().flatten()
        })
    }

    /// A device responded.
    fn on_read(&mut self, path: DrPath, attr: AttrId, modifier: AttrMod, data: &AttrData) {
        if attr == id::NODE_INFO {
            self.locate(path, &NodeInfo::decode(data));
        }
        let ReachedDevice(device) = self.device(path);
        self.devices[device].read.insert((attr, modifier), *data);
    }

    fn locate(&mut self, path: DrPath, info: &NodeInfo) {
        let devices = &mut self.devices;
        let device = *self
            .nodes
            .entry((info.node_guid, info.port_guid))
            .or_insert_with(|| add_device(devices));
        let Some((out, way)) = path.hops().split_last() else {
            self.local = Some(device);
            return;
        };
        let way = way
            .iter()
            .try_fold(DrPath::LOCAL, |way, hop| way.extend(PortNum(*hop)));
        let Some(from) = way.and_then(|way| self.known_device(way)) else {
            return;
        };
        self.devices[from.0].connect(*out, device);
        // The way back reaches a channel adapter at this port, which may not be the one that was
        // read.
        if self.devices[from.0].is_switch() {
            self.devices[device.0].connect(info.local_port_num.0, from);
        }
    }

    /// What the devices have.
    pub fn read(&self) -> impl Iterator<Item = (DeviceAttr, &AttrData)> {
        let devices = self.devices.iter().enumerate();
        devices.flat_map(|(number, device)| {
            let attrs = device.read.iter();
            attrs.map(move |((attr, modifier), data)| {
                ((ReachedDevice(number), *attr, *modifier), data)
            })
        })
    }

    /// An attribute with modifier 0 that a device has.
    #[must_use]
    pub fn attr(&self, device: ReachedDevice, attr: AttrId) -> Option<&AttrData> {
        self.devices[device.0].read.get(&(attr, AttrMod(0)))
    }

    #[must_use]
    pub fn is_switch(&self, device: ReachedDevice) -> bool {
        self.devices[device.0].is_switch()
    }

    /// Keeps a write; returns what the device would answer.
    fn set(&mut self, at: DeviceAttr, path: DrPath, data: &AttrData) -> AttrData {
        let (ReachedDevice(number), attr, modifier) = at;
        let device = &mut self.devices[number];
        let key = (attr, modifier);
        let present = device.written.get(&key).or_else(|| device.read.get(&key));
        let before = present.copied();
        let after = result(attr, before.as_ref(), data);
        device.written.insert(key, after);
        self.sets.push(PlannedSet {
            at,
            path,
            before,
            after,
        });
        after
    }

    /// What was written to an attribute.
    fn written(&self, at: DeviceAttr) -> Option<&AttrData> {
        let (ReachedDevice(number), attr, modifier) = at;
        self.devices[number].written.get(&(attr, modifier))
    }
}

fn add_device(devices: &mut Vec<Device>) -> ReachedDevice {
    devices.push(Device::default());
    ReachedDevice(devices.len() - 1)
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
        let device = self.planned.borrow_mut().device(path);
        let at = (device, request.mad.attr_id(), request.mad.attr_mod());
        let method = request.mad.method();
        if method == Method::Get {
            let written = self.planned.borrow().written(at).copied();
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
