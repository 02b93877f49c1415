//! MADs per second that a [`Fabric`] processes on one core: reads, table writes and their replies.
//!
//! `cargo bench -p ferrosm-tests --bench fabric_throughput -- fat-tree:24`

#![allow(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a benchmark reads the clock and prints; the simulator itself reads no clock"
)]

use std::time::{Duration, Instant as Clock};

use ferrosm_mad::attr::{LftBlock, PortInfo, id};
use ferrosm_mad::ids::{AttrId, AttrMod, MKey, PortNum, Tid};
use ferrosm_mad::mad::{Address, MadIn, MadOut};
use ferrosm_mad::smp::{DrPath, SmpRequest};
use ferrosm_mad::time::Instant;
use ferrosm_sim::fabric::{Fabric, Packet};
use ferrosm_sim::generate;
use ferrosm_sim::net::Net;
use ferrosm_sim::spec::PortAt;
use ferrosm_sim::world::{HostedSm, World};
use ferrosm_sim_server::in_process::SimNet;
use ferrosm_umad::transport::{MadReceiver, MadSender, Received};

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    let text = std::env::args()
        .skip(1)
        .find(|a| !a.starts_with('-'))
        .unwrap_or_else(|| "fat-tree:24".to_owned());
    let started = Clock::now();
    let mut fabric = Fabric::new(&generate::from_spec(&text)?)?;
    let at = fabric.default_port();
    fabric.attach(at)?;
    println!(
        "{text}: {} nodes built in {:.1?}",
        fabric.num_nodes(),
        started.elapsed()
    );
    let paths = shortest_paths(&fabric, at);
    let mut out = Vec::new();
    let (mut sent, mut replies) = (0u64, 0u64);
    let started = Clock::now();
    let mut send = |fabric: &mut Fabric, path: &DrPath, request: &SmpRequest| {
        sent += 1;
        let mad = MadOut {
            to: Address::DIRECTED,
            mad: request.directed(path, Tid(sent)),
        };
        fabric.handle(at, &mad, Instant::START, &mut out);
        replies += u64::try_from(out.len()).unwrap_or(0);
        out.clear();
    };
    let get = |attr: AttrId, modifier: AttrMod| SmpRequest::get(attr, modifier, MKey::NONE);
    for (node, path) in &paths {
        send(&mut fabric, path, &get(id::NODE_INFO, AttrMod(0)));
        send(&mut fabric, path, &get(id::NODE_DESCRIPTION, AttrMod(0)));
        let first = if fabric.is_switch(*node) { 0 } else { 1 };
        for port in first..=fabric.num_ports(*node) {
            let modifier = PortInfo::modifier(PortNum(port));
            send(&mut fabric, path, &get(id::PORT_INFO, modifier));
            send(
                &mut fabric,
                path,
                &get(id::PKEY_TABLE, AttrMod(u32::from(port) << 16)),
            );
        }
    }
    let table = LftBlock {
        ports: [PortNum(1); 64],
    }
    .encode();
    let blocks = u32::try_from(paths.len() / 64 + 1)?;
    for (node, path) in &paths {
        if fabric.is_switch(*node) {
            for block in 0..blocks {
                let set = SmpRequest::set(id::LFT, AttrMod(block), MKey::NONE, table);
                send(&mut fabric, path, &set);
            }
        }
    }
    let took = started.elapsed();
    #[allow(clippy::cast_precision_loss, reason = "approximate rate for display")]
    let rate = sent as f64 / took.as_secs_f64();
    println!("fabric alone: {sent} MADs, {replies} replies in {took:.1?}: {rate:.0} MADs/s");
    through_port(fabric, at, &paths)?;
    through_net(&text, &paths)?;
    through_world(&text, &paths)
}

/// The same with the lock and queue of a [`SimPort`](ferrosm_sim_server::in_process::SimPort).
fn through_port(mut fabric: Fabric, at: PortAt, paths: &[(usize, DrPath)]) -> Result<(), Failure> {
    fabric.detach(at)?;
    let mut port = SimNet::new(fabric).attach(Some(at))?;
    let started = Clock::now();
    let mut replies = 0u64;
    for (round, (_, path)) in (0..20).flat_map(|r| paths.iter().map(move |p| (r, p))) {
        let request = SmpRequest::get(id::NODE_INFO, AttrMod(0), MKey::NONE);
        let mad = MadOut {
            to: Address::DIRECTED,
            mad: request.directed(path, Tid(round)),
        };
        port.send(&mad)?;
        replies += u64::from(matches!(port.receive(Duration::ZERO)?, Received::Mad(_)));
    }
    #[allow(clippy::cast_precision_loss, reason = "approximate rate for display")]
    let rate = replies as f64 / started.elapsed().as_secs_f64();
    println!("through a port: {replies} replies: {rate:.0} MADs/s");
    Ok(())
}

/// The same through a [`Net`] without latency.
fn through_net(text: &str, paths: &[(usize, DrPath)]) -> Result<(), Failure> {
    let mut net = Net::new(Fabric::new(&generate::from_spec(text)?)?, 1);
    net.set_instant();
    let at = net.fabric().default_port();
    net.fabric_mut().attach(at)?;
    let mut out = Vec::new();
    let mut replies = 0;
    let started = Clock::now();
    for (round, (_, path)) in (0..20).flat_map(|r| paths.iter().map(move |p| (r, p))) {
        let request = SmpRequest::get(id::NODE_INFO, AttrMod(0), MKey::NONE);
        let mad = MadOut {
            to: Address::DIRECTED,
            mad: request.directed(path, Tid(round)),
        };
        net.send(Packet::new(at, &mad), Instant::from_nanos(round), &mut out);
        replies += out.len();
        out.clear();
    }
    #[allow(clippy::cast_precision_loss, reason = "approximate rate for display")]
    let rate = replies as f64 / started.elapsed().as_secs_f64();
    println!("through Net: {replies} replies: {rate:.0} MADs/s");
    Ok(())
}

/// Keeps a window of requests in flight.
struct RequestWindow {
    paths: Vec<DrPath>,
    next: usize,
    total: usize,
    credit: usize,
    replies: usize,
}

impl HostedSm for RequestWindow {
    fn handle_mad(&mut self, _: MadIn, _: Instant) {
        self.credit += 1;
        self.replies += 1;
    }
    fn handle_timeout(&mut self, _: Instant) {}
    fn poll_send(&mut self) -> Option<MadOut> {
        if self.credit == 0 || self.next == self.total {
            return None;
        }
        let path = &self.paths[self.next % self.paths.len()];
        self.credit -= 1;
        self.next += 1;
        let request = SmpRequest::get(id::NODE_INFO, AttrMod(0), MKey::NONE);
        Some(MadOut {
            to: Address::DIRECTED,
            mad: request.directed(path, Tid(1)),
        })
    }
    fn poll_timeout(&self) -> Option<Instant> {
        None
    }
}

/// The same with virtual time.
fn through_world(text: &str, paths: &[(usize, DrPath)]) -> Result<(), Failure> {
    let mut world = World::new(Fabric::new(&generate::from_spec(text)?)?, 1);
    let paths: Vec<_> = paths.iter().map(|p| p.1).collect();
    let total = paths.len() * 20;
    let started = Clock::now();
    let id = world.add_sm(
        None,
        RequestWindow {
            paths,
            next: 0,
            total,
            credit: 64,
            replies: 0,
        },
    )?;
    while world.step().is_some() {}
    let replies = world.sm(id).map_or(0, |m| m.replies);
    #[allow(clippy::cast_precision_loss, reason = "approximate rate for display")]
    let rate = replies as f64 / started.elapsed().as_secs_f64();
    println!(
        "in virtual time: {replies} replies in {:?}: {rate:.0} MADs/s",
        world.now()
    );
    Ok(())
}

/// A shortest path to every node, computed from the fabric without MADs.
fn shortest_paths(fabric: &Fabric, from: PortAt) -> Vec<(usize, DrPath)> {
    let mut seen = vec![false; fabric.num_nodes()];
    seen[from.node] = true;
    let mut found = vec![(from.node, DrPath::LOCAL)];
    let mut next = 0;
    while let Some(&(node, path)) = found.get(next) {
        next += 1;
        if !fabric.is_switch(node) && node != from.node {
            continue;
        }
        for port in fabric.external_ports(node) {
            if node == from.node && !fabric.is_switch(node) && port != from {
                continue;
            }
            if let (Some(peer), Some(path)) = (fabric.peer(port), path.extend(PortNum(port.port)))
                && !std::mem::replace(&mut seen[peer.node], true)
            {
                found.push((peer.node, path));
            }
        }
    }
    found
}
