//! The main loop of the simulated fabric: one thread, in real time.
//!
//! Takes MADs from the rings of attached programs, passes them through the MAD layers of the hosts
//! and the fabric, and puts deliveries into the rings. Other requests come as [`LoopRequest`]s from
//! the threads of [`super::listener`]. While MADs flow, it makes no system calls; when idle for a
//! while, it sleeps until a program rings the doorbell or a timer expires.

pub mod console;
pub mod datagrams;

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant as WallInstant};

use ferrosm_channel::{ClientFds, ServerDoorbell, ServerEnd, SpinWait};
use ferrosm_mad::time::Instant;
use ferrosm_sim::fabric::Delivery;
use ferrosm_sim::net::Net;
use ferrosm_sim::spec::{FabricSpec, NodeIdx};
use ferrosm_sim::umad::{Errno, FileId, IssmId, UmadLayer, sysfs};
use tracing::{debug, warn};

use super::packet_tap::PacketTap;
use super::request::{
    ConnId, Disconnected, LoopRequest, ReplySender, RequestReceiver, RequestSender, request_channel,
};
use super::socket::ServerSocket;
use super::{hosts, listener};
use console::PathSlParser;
use datagrams::Verbs;

/// MADs taken from one program before the next program is served.
const BURST: usize = 32;
/// Rounds of MAD processing between checks for requests.
const ROUNDS_PER_CHECK: u32 = 256;

/// A umad device opened by a program.
pub struct OpenDevice {
    pub(super) conn: ConnId,
    pub(super) file: FileId,
    end: ServerEnd,
    /// Whether a message waits for space in the ring.
    waiting: bool,
}

/// Connection that waits for an issm device, the device number, and the reply channel.
type IssmWaiter = (ConnId, u32, ReplySender<Result<(), Errno>>);

/// An attached program.
#[derive(Debug, Clone)]
pub struct AttachedProgram {
    /// Process ID.
    pub pid: u32,
    /// Name of the program.
    pub program: String,
    /// Channel adapters of its host.
    pub cas: Vec<NodeIdx>,
}

/// State of the main loop.
pub struct SimulatorLoop {
    pub(super) net: Net,
    pub(super) umad: UmadLayer,
    pub(super) verbs: Verbs,
    pub(super) spec: FabricSpec,
    pub(super) clients: BTreeMap<ConnId, AttachedProgram>,
    pub(super) devices: Vec<OpenDevice>,
    issms: BTreeMap<ConnId, IssmId>,
    /// Programs that wait for an issm device in use.
    issm_waiters: Vec<IssmWaiter>,
    pub(super) served: u64,
    pub(super) rejected: u64,
    path_sl_parser: PathSlParser,
    tap: Option<PacketTap>,
    doorbell: Arc<ServerDoorbell>,
    requests: RequestReceiver,
    started: WallInstant,
    spin: SpinWait,
    pub(super) deliveries: Vec<Delivery>,
    pub(super) buffer: Vec<u8>,
}

/// Result of a turn of the loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Turn {
    Worked,
    Idle,
    Stop,
}

/// Options of the server.
pub struct ServerOptions {
    /// Time to poll for the next MAD before sleeping.
    pub spin: Duration,
    /// The capture of packets.
    pub tap: Option<PacketTap>,
    /// Parser of the file of the command `judge FILE`.
    pub path_sl_parser: PathSlParser,
}

impl SimulatorLoop {
    /// Accepts connections on `socket` from now on, in threads. Their requests wait until
    /// [`Self::run`]. Returns the loop, and a sender of requests.
    ///
    /// # Errors
    /// A descriptor or thread cannot be created.
    pub fn start(
        net: Net,
        spec: FabricSpec,
        socket: &ServerSocket,
        options: ServerOptions,
    ) -> io::Result<(Self, RequestSender)> {
        let doorbell = Arc::new(ServerDoorbell::new()?);
        let (sender, requests) = request_channel(Arc::clone(&doorbell));
        listener::listen(socket.share()?, sender.clone())?;
        let simulator = Self {
            net,
            umad: UmadLayer::new(),
            verbs: Verbs::default(),
            spec,
            clients: BTreeMap::new(),
            devices: Vec::new(),
            issms: BTreeMap::new(),
            issm_waiters: Vec::new(),
            served: 0,
            rejected: 0,
            path_sl_parser: options.path_sl_parser,
            tap: options.tap,
            doorbell,
            requests,
            started: WallInstant::now(),
            spin: SpinWait::new(options.spin),
            deliveries: Vec::new(),
            buffer: Vec::new(),
        };
        Ok((simulator, sender))
    }

    /// Runs until [`LoopRequest::Stop`].
    pub fn run(&mut self) {
        loop {
            match self.run_turn() {
                Turn::Stop => break,
                Turn::Worked => {}
                Turn::Idle => {
                    if !self.spin.until(|| self.has_work()) {
                        self.flush();
                        self.sleep();
                    }
                }
            }
        }
        self.flush();
    }

    /// Whether a program or thread has a pending request.
    fn has_work(&self) -> bool {
        self.requests.has_pending()
            || self.devices.iter().any(|device| device.end.is_ready())
            || self.verbs.is_ready()
    }

    fn flush(&mut self) {
        if let Some(tap) = &mut self.tap {
            tap.flush();
        }
    }

    /// Current time of the fabric.
    pub(super) fn now(&self) -> Instant {
        let since_ns = u64::try_from(self.started.elapsed().as_nanos()).unwrap_or(u64::MAX);
        Instant::from_nanos(since_ns)
    }

    fn run_turn(&mut self) -> Turn {
        let mut worked = false;
        loop {
            match self.requests.try_recv() {
                Ok(Some(LoopRequest::Stop)) | Err(Disconnected) => return Turn::Stop,
                Ok(Some(request)) => self.process(request),
                Ok(None) => break,
            }
            worked = true;
        }
        for _ in 0..ROUNDS_PER_CHECK {
            let has_moved = self.take_mads() | self.take_datagrams();
            worked |= has_moved;
            self.advance_to_now();
            self.send_to_programs();
            self.send_datagrams();
            if !has_moved {
                break;
            }
        }
        self.update_port_events();
        if worked { Turn::Worked } else { Turn::Idle }
    }

    /// Sleeps until a request, a MAD or a timer.
    fn sleep(&self) {
        let deadlines = [self.net.next_time(), self.umad.poll_timeout()];
        let now = self.now();
        let deadline = deadlines.into_iter().flatten().min();
        let timeout = deadline.map(|due| due.since(now));
        if let Err(error) = self.doorbell.sleep(timeout, || !self.has_work()) {
            warn!(%error, "cannot wait for requests");
        }
    }

    fn take_mads(&mut self) -> bool {
        let mut has_moved = false;
        let mut corrupt = None;
        for index in 0..self.devices.len() {
            for _ in 0..BURST {
                let device = &mut self.devices[index];
                match device.end.receive(&mut self.buffer) {
                    Ok(true) => {}
                    Ok(false) => break,
                    Err(error) => {
                        warn!(%error, "corrupt ring; program disconnected");
                        corrupt = Some(device.conn);
                        break;
                    }
                }
                has_moved = true;
                self.served += 1;
                let file = device.file;
                let now = self.now();
                let written = self.umad.write(self.net.fabric(), file, &self.buffer, now);
                if let Err(errno) = written {
                    self.rejected += 1;
                    debug!(errno = errno.0, "umad write rejected");
                }
                self.pump(now);
            }
        }
        if let Some(conn) = corrupt {
            self.close(conn);
        }
        has_moved
    }

    /// Transmits packets of the hosts until none is pending.
    pub(super) fn pump(&mut self, now: Instant) {
        while let Some(packet) = self.umad.poll_transmit() {
            self.net.send(packet, now, &mut self.deliveries);
            self.deliver(now);
        }
    }

    pub(super) fn deliver(&mut self, now: Instant) {
        for delivery in self.deliveries.drain(..) {
            let is_datagram = delivery.datagram.is_some() || delivery.qpn.0 > 1;
            if is_datagram
                && self
                    .verbs
                    .datagrams
                    .deliver(self.net.fabric_mut(), &delivery)
            {
                continue;
            }
            self.umad.deliver(self.net.fabric(), &delivery, now);
        }
    }

    fn advance_to_now(&mut self) {
        self.advance(self.now());
    }

    /// Runs the timers that have expired.
    pub(super) fn advance(&mut self, now: Instant) {
        if self.net.next_time().is_some_and(|due| due <= now) {
            self.net.advance(now, &mut self.deliveries);
            self.deliver(now);
            self.pump(now);
        }
        if self.umad.poll_timeout().is_some_and(|due| due <= now) {
            self.umad.handle_timeout(self.net.fabric(), now);
            self.pump(now);
        }
    }

    /// Puts pending messages into the rings as far as they have space.
    fn send_to_programs(&mut self) {
        while let Some(file) = self.umad.poll_readable() {
            if let Some(device) = self.devices.iter_mut().find(|d| d.file == file) {
                device.waiting = true;
            }
        }
        let mut corrupt = None;
        for device in self.devices.iter_mut().filter(|device| device.waiting) {
            while let Some(message) = self.umad.front(device.file) {
                match device.end.send(&[message.header, message.body]) {
                    Ok(true) => self.umad.pop(device.file),
                    Ok(false) => break,
                    Err(error) => {
                        warn!(%error, "corrupt ring; program disconnected");
                        corrupt = Some(device.conn);
                        break;
                    }
                }
            }
            device.waiting = self.umad.front(device.file).is_some();
        }
        if let Some(conn) = corrupt {
            self.close(conn);
        }
    }

    fn process(&mut self, request: LoopRequest) {
        match request {
            LoopRequest::Stop => {}
            LoopRequest::Hello(conn, hello, reply) => {
                let nodes = hosts::resolve(&self.spec, &hello.nodes);
                if let Ok(cas) = &nodes {
                    let client = AttachedProgram {
                        pid: hello.pid,
                        program: hello.program,
                        cas: cas.clone(),
                    };
                    self.clients.insert(conn, client);
                }
                reply_to(&reply, nodes.map(|_| ()));
            }
            LoopRequest::Files(conn, reply) => {
                let files = self.cas(conn).map(|cas| self.files(&cas));
                reply_to(&reply, files.unwrap_or_default());
            }
            LoopRequest::ReadFile(conn, path, reply) => {
                let files = self.cas(conn).map(|cas| self.files(&cas));
                let file = files.into_iter().flatten().find(|(name, _)| *name == path);
                reply_to(&reply, file.map(|(_, content)| content));
            }
            LoopRequest::Open(conn, index, reply) => reply_to(&reply, self.open(conn, index)),
            LoopRequest::Ioctl(conn, command, mut arg, reply) => {
                // MADs that the program wrote before the ioctl come first.
                self.take_mads();
                let device = self.devices.iter().find(|d| d.conn == conn);
                let result = device.map_or(Err(Errno::ENXIO), |device| {
                    self.umad.ioctl(device.file, command, &mut arg)
                });
                reply_to(&reply, (result, arg));
                self.pump(self.now());
            }
            LoopRequest::OpenIssm(conn, index, nonblock, reply) => {
                match self.open_issm(conn, index) {
                    Err(Errno::EAGAIN) if !nonblock => self.issm_waiters.push((conn, index, reply)),
                    result => reply_to(&reply, result),
                }
            }
            LoopRequest::Verbs(conn, call, reply) => {
                let result = self.verbs_call(conn, call);
                reply_to(&reply, result);
            }
            LoopRequest::Closed(conn) => self.close(conn),
            LoopRequest::Line(line, reply) => {
                let now = self.now();
                let text = console::run_line(self, &line, now);
                reply_to(&reply, text);
                self.deliver(now);
                self.pump(now);
            }
        }
    }
}

impl SimulatorLoop {
    pub(super) fn cas(&self, conn: ConnId) -> Option<Vec<NodeIdx>> {
        self.clients.get(&conn).map(|client| client.cas.clone())
    }

    /// Current sysfs files of a host with these adapters.
    fn files(&self, cas: &[NodeIdx]) -> Vec<(String, Vec<u8>)> {
        sysfs::files(self.net.fabric(), cas)
            .into_iter()
            .map(|(path, text)| (path, text.into_bytes()))
            .collect()
    }

    fn device(&self, conn: ConnId, index: u32) -> Result<sysfs::UmadDevice, Errno> {
        let cas = self.cas(conn).ok_or(Errno::ENXIO)?;
        let devices = sysfs::devices(self.net.fabric(), &cas);
        devices.into_iter().nth(index as usize).ok_or(Errno::ENXIO)
    }

    fn open(&mut self, conn: ConnId, index: u32) -> Result<ClientFds, Errno> {
        let device = self.device(conn, index)?;
        let (end, fds) = self.ring_pair()?;
        let fabric = self.net.fabric_mut();
        let file = self.umad.open_with(fabric, device.at, device.queue_pairs)?;
        self.devices.push(OpenDevice {
            conn,
            file,
            end,
            waiting: false,
        });
        Ok(fds)
    }

    pub(super) fn ring_pair(&self) -> Result<(ServerEnd, ClientFds), Errno> {
        ServerEnd::pair(&self.doorbell).map_err(|error| {
            warn!(%error, "cannot allocate rings");
            Errno::ENOMEM
        })
    }

    fn open_issm(&mut self, conn: ConnId, index: u32) -> Result<(), Errno> {
        let at = self.device(conn, index)?.at;
        let now = self.now();
        self.net.fabric_mut().set_now(now);
        let issm = self.umad.open_issm(self.net.fabric_mut(), at)?;
        self.issms.insert(conn, issm);
        Ok(())
    }

    /// An issm device was closed: opens it for the next waiting program.
    fn serve_issm_waiters(&mut self) {
        for (conn, index, reply) in std::mem::take(&mut self.issm_waiters) {
            match self.open_issm(conn, index) {
                Err(Errno::EAGAIN) => self.issm_waiters.push((conn, index, reply)),
                result => reply_to(&reply, result),
            }
        }
    }

    /// Closes everything that a connection had open.
    pub(super) fn close(&mut self, conn: ConnId) {
        let now = self.now();
        self.net.fabric_mut().set_now(now);
        if let Some(issm) = self.issms.remove(&conn) {
            self.umad.close_issm(self.net.fabric_mut(), issm);
            self.serve_issm_waiters();
        }
        self.issm_waiters.retain(|(waiting, _, _)| *waiting != conn);
        if let Some(index) = self.devices.iter().position(|d| d.conn == conn) {
            let device = self.devices.swap_remove(index);
            self.umad.close(self.net.fabric_mut(), device.file);
        }
        self.close_verbs(conn);
        if let Some(client) = self.clients.remove(&conn) {
            debug!(
                pid = client.pid,
                program = client.program,
                "program disconnected"
            );
        }
        self.pump(now);
    }
}

/// Sends a reply; the connection may have ended.
fn reply_to<T>(reply: &std::sync::mpsc::SyncSender<T>, value: T) {
    let _ = reply.send(value);
}
