//! The LFTs of all switches, as `dump_fts` reads them.

use std::collections::BTreeMap;

use crate::programs::clients::Clients;
use crate::programs::fabric_server::FabricServer;

/// The output port of each LID, by the GUID of the switch, as the devices have them.
///
/// # Panics
/// If `dump_fts` fails, or prints next to nothing.
#[must_use]
pub fn forwarding_tables(sim: &FabricServer) -> BTreeMap<(String, u16), String> {
    let dump = sim.run("dump_fts", &[]).expect_success().stdout;
    let mut entries = BTreeMap::new();
    let mut switch = String::new();
    for line in dump.lines() {
        if let Some((_, rest)) = line.split_once(" guid ") {
            switch = rest
                .split_whitespace()
                .next()
                .unwrap_or_default()
                .to_owned();
        } else if let Some(hex) = line.strip_prefix("0x") {
            let mut words = hex.split_whitespace();
            let lid = words
                .next()
                .and_then(|lid| u16::from_str_radix(lid, 16).ok());
            if let Some((lid, port)) = lid.zip(words.next()) {
                entries.insert((switch.clone(), lid), port.to_owned());
            }
        }
    }
    assert!(entries.len() > 100, "{dump}");
    entries
}
