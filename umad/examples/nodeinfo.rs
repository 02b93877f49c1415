//! Queries NodeInfo of the local node and its neighbour: `nodeinfo [PATH...]`, with paths such as
//! `0,1`.
//!
//! Demonstrates the umad transport; with `ibsim` running, `ibsim-run nodeinfo` needs no hardware.
#![expect(clippy::print_stdout, reason = "an example's output")]

use std::error::Error;
use std::time::Duration;

use ferrosm_mad::attr::{NodeInfo, id};
use ferrosm_mad::ids::{AttrMod, MKey, Tid};
use ferrosm_mad::mad::{Address, MadOut};
use ferrosm_mad::smp::{self, DrPath, SmpRequest};
use ferrosm_umad::libibumad::{
    OpenOptions, PortSelection, UmadPort, choose_port_for_discovery, enumerate_ports,
};
use ferrosm_umad::transport::{MadReceiver, MadSender, Received};

fn main() -> Result<(), Box<dyn Error>> {
    let ports = enumerate_ports()?;
    let port = choose_port_for_discovery(&ports, &PortSelection::default())?;
    println!(
        "{port}: GUID {}, {}, LID {}",
        port.port_guid, port.state, port.lid
    );
    let (mut sender, mut receiver) = UmadPort::open(port, &OpenOptions::default())?;
    let mut paths: Vec<String> = std::env::args().skip(1).collect();
    if paths.is_empty() {
        paths = vec!["0".to_owned(), "0,1".to_owned()];
    }
    let request = SmpRequest::get(id::NODE_INFO, AttrMod(0), MKey::NONE);
    for (path, tid) in paths.iter().zip(1..) {
        let mad = request.directed(&path.parse::<DrPath>()?, Tid(tid));
        sender.send(&MadOut {
            to: Address::DIRECTED,
            mad,
        })?;
        match receiver.receive(Duration::from_secs(1))? {
            Received::Mad(response) => {
                println!(
                    "{path}: {} {:?}",
                    response.mad.tid(),
                    NodeInfo::decode(smp::data(&response.mad))
                );
            }
            Received::SendFailed(tid) => println!("{path}: {tid} timed out"),
            Received::TimedOut => println!("{path}: no response"),
        }
    }
    Ok(())
}
