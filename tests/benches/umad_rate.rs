//! Requests per second through a host's MAD layer and a fabric and back, in process.
//!
//! `cargo bench -p ferrosm-tests --bench umad_rate`: directed Get(NodeInfo) from a program at one
//! host, with replies read as by `read`. Then SA tables of 10 MB through kernel RMPP.

#![allow(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a benchmark reads the clock and prints; the simulator itself reads no clock"
)]

use std::time::Instant as Clock;

use ferrosm_mad::attr::id;
use ferrosm_mad::ids::{AttrMod, Lid, Lmc, MKey, PortNum, Qpn, Tid};
use ferrosm_mad::smp::{DrPath, SmpRequest};
use ferrosm_mad::time::Instant;
use ferrosm_sim::fabric::{AcceptOutcome, Fabric};
use ferrosm_sim::generate;
use ferrosm_sim::spec::PortAt;
use ferrosm_sim::umad::abi::{REGISTER_AGENT2, UserHeader};
use ferrosm_sim::umad::{FileId, UmadLayer};

type Failure = Box<dyn std::error::Error>;

const ROUND_TRIPS: u64 = 2_000_000;
/// Requests in flight, as many as an SM would have.
const WINDOW: u64 = 32;
const NOW: Instant = Instant::START;

fn main() -> Result<(), Failure> {
    let mut fabric = Fabric::new(&generate::from_spec("fat-tree:4")?)?;
    let at = fabric
        .end_ports()
        .find(|at| !fabric.is_switch(at.node))
        .ok_or("no host")?;
    let mut umad = UmadLayer::new();
    let file = agent(&mut umad, &mut fabric, at, [0x81, 1], 0, 0)?;
    let path = DrPath::LOCAL.extend(PortNum(at.port)).ok_or("no path")?;
    let request = SmpRequest::get(id::NODE_INFO, AttrMod(0), MKey::NONE);
    let mut smp = request.directed(&path, Tid(0));
    let header = UserHeader {
        lid: Lid::PERMISSIVE,
        timeout_ms: 1000,
        retries: 3,
        ..UserHeader::default()
    };
    let mut message = header.encode().to_vec();
    message.extend_from_slice(smp.as_bytes());

    let started = Clock::now();
    let mut buffer = [0; 64 + 256];
    let mut sent = 0;
    let mut read = 0;
    while read < ROUND_TRIPS {
        while sent < read + WINDOW {
            sent += 1;
            smp.as_bytes_mut()[8..16].copy_from_slice(&sent.to_be_bytes());
            message[64..].copy_from_slice(smp.as_bytes());
            umad.write(&fabric, file, &message, NOW)?;
        }
        run_until_idle(&mut umad, &mut fabric);
        while let Some(message) = umad.front(file) {
            message.read(&mut buffer)?;
            umad.pop(file);
            read += 1;
        }
    }
    let seconds = started.elapsed().as_secs_f64();
    println!("{read} round trips, {:.2} M/s", read as f64 / seconds / 1e6);
    tables(&mut umad, &mut fabric, at)
}

/// A host replies to its own queries with long tables.
fn tables(umad: &mut UmadLayer, fabric: &mut Fabric, at: PortAt) -> Result<(), Failure> {
    const TABLES: u64 = 5;
    const LEN: usize = 10 << 20;
    fabric.set_lid(at, Lid(1), Lmc(0))?;
    let server = agent(umad, fabric, at, [3, 2], 1, 1 << 0x12)?;
    let client = agent(umad, fabric, at, [3, 2], 1, 0)?;
    let to = |timeout_ms| UserHeader {
        lid: Lid(1),
        qpn: Qpn(1),
        timeout_ms,
        retries: 3,
        ..UserHeader::default()
    };
    let started = Clock::now();
    for tid in 0..TABLES {
        let mut request = to(1000).encode().to_vec();
        request.resize(64 + 256, 0);
        request[64..68].copy_from_slice(&[1, 3, 2, 0x12]);
        request[72..80].copy_from_slice(&tid.to_be_bytes());
        umad.write(fabric, client, &request, NOW)?;
        run_until_idle(umad, fabric);
        let header = umad.front(server).ok_or("no request")?.body[..56].to_vec();
        umad.pop(server);
        let mut reply = to(0).encode().to_vec();
        reply.extend_from_slice(&header);
        reply[67] = 0x92;
        reply[88..91].copy_from_slice(&[1, 1, 1]);
        reply.resize(64 + 56 + LEN, 0xA5);
        umad.write(fabric, server, &reply, NOW)?;
        run_until_idle(umad, fabric);
        let received = umad.front(client).ok_or("no reply")?.len();
        umad.pop(client);
        assert_eq!(received, 64 + 56 + LEN, "complete table");
    }
    let megabytes = (TABLES * LEN as u64) as f64 / 1e6;
    println!(
        "{TABLES} tables of 10 MB, {:.0} MB/s",
        megabytes / started.elapsed().as_secs_f64()
    );
    Ok(())
}

fn agent(
    umad: &mut UmadLayer,
    fabric: &mut Fabric,
    at: PortAt,
    class: [u8; 2],
    qpn: u8,
    methods: u128,
) -> Result<FileId, Failure> {
    let file = umad.open(fabric, at)?;
    let mut arg = [0; 40];
    arg[4] = qpn;
    arg[8..10].copy_from_slice(&class);
    arg[16..32].copy_from_slice(&methods.to_le_bytes());
    arg[36] = qpn;
    umad.ioctl(file, REGISTER_AGENT2, &mut arg)?;
    Ok(file)
}

fn run_until_idle(umad: &mut UmadLayer, fabric: &mut Fabric) {
    while let Some(mut packet) = umad.poll_transmit() {
        while fabric.forward_unicast(&mut packet).is_ok() {
            match fabric.accept(&mut packet, NOW) {
                AcceptOutcome::Reply => {}
                AcceptOutcome::Deliver(delivery) => {
                    umad.deliver(fabric, &delivery, NOW);
                    break;
                }
                AcceptOutcome::Consumed | AcceptOutcome::Dropped(_) => break,
            }
        }
    }
}
