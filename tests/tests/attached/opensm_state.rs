//! Import of the state files of a real OpenSM: all its caches and its SA database dump are read
//! completely.

#![allow(clippy::expect_used, clippy::print_stdout, reason = "test helpers")]

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::time::SystemTime;

use ferrosm_core::records::{RecordKind, RecordRestorer};
use ferrosm_mad::ids::{Lid, Lmc};
use ferrosm_mad::sa::multicast::mgid;
use ferrosm_sim::generate::from_spec;
use ferrosm_store::opensm::{self, StateFile};
use ferrosm_store::restore;
use ferrosm_tests::programs::clients::Clients;
use ferrosm_tests::programs::fabric_server::FabricServer;
use ferrosm_tests::programs::opensm::{OpenSm, osmtest, try_osmtest};
use ferrosm_tests::programs::process::Signal;

#[test]
fn state_files_written_by_opensm_are_imported() {
    let sim = FabricServer::shape("star:4");
    let dump = sim.subdir("dump");
    let config = sim.dir().join("opensm.conf");
    let keys = format!(
        "dump_files_dir {}\nsa_db_dump TRUE\nlmc 1\n",
        dump.display()
    );
    fs::write(&config, keys).expect("a configuration");
    let mut sm = OpenSm::start(&sim, None, &["-F", &config.to_string_lossy()]);
    sm.wait_until_up(1);
    let hosts = from_spec("star:4").expect("a shape").nodes;
    let far_host = &hosts.last().expect("a host").description;
    osmtest(&sim, far_host, &["-f", "c"]);
    // Exit statuses are ignored: not every flow passes with every OpenSM version.
    for flow in ["s", "e"] {
        let _ = try_osmtest(&sim, far_host, &["-f", flow]);
    }
    let _ = try_osmtest(&sim, far_host, &["-f", "m", "-M", "1"]);
    let _ = sm.stop(Signal::Terminate);

    let cache = sim.subdir("opensm-cache");
    let files: Vec<(StateFile, PathBuf, String)> = StateFile::ALL
        .into_iter()
        .map(|file| {
            let dir = match file {
                StateFile::SaDump => &dump,
                StateFile::Lids | StateFile::MKeys | StateFile::Neighbours => &cache,
            };
            let path = dir.join(file.name());
            let text = fs::read_to_string(&path);
            let text = text.unwrap_or_else(|e| panic!("{}: {e}", path.display()));
            (file, path, text)
        })
        .collect();
    let batch = opensm::parse(&files).unwrap_or_else(|problems| {
        let messages: Vec<String> = problems.iter().map(ToString::to_string).collect();
        panic!("{}", messages.join("\n"))
    });
    let mut records = BTreeMap::new();
    batch.apply(&mut records);
    let count = |kind| {
        records
            .keys()
            .filter(|key| key.kind() == Some(kind))
            .count()
    };
    let all: Vec<_> = records.clone().into_iter().collect();
    let (restored, excluded) = restore(&all, SystemTime::now());
    assert_eq!(excluded, []);
    // One switch and four hosts, with two LIDs each.
    let lmcs: Vec<Lmc> = restored.lids.values().map(|(_, lmc)| *lmc).collect();
    assert_eq!(lmcs.iter().filter(|lmc| lmc.0 == 1).count(), 4, "{lmcs:?}");
    assert_eq!(lmcs.len(), 5);
    assert_eq!(
        count(RecordKind::Neighbour),
        8,
        "four links, both ends of each"
    );
    let broadcast = mgid::broadcast(ferrosm_mad::ids::PKey::DEFAULT_FULL, mgid::LINK_LOCAL);
    let saved = &restored.registrations;
    let group = saved.members.iter().find(|m| m.mgid == broadcast);
    let group = group.expect("the group of the default partition");
    assert_eq!((group.mlid, group.qkey), (Lid(0xC000), 0x0B1B));
    // Leases may have expired during the test; at time zero none has.
    let mut restorer = RecordRestorer::new(0);
    records
        .iter()
        .for_each(|(key, value)| restorer.put(key, value));
    let unexpired = restorer.finish().0.registrations;
    println!(
        "{} groups and members, {} services, {} subscriptions",
        unexpired.members.len(),
        unexpired.services.len(),
        unexpired.subscriptions.len()
    );
    let dumped = |text: &str| files[3].2.matches(text).count();
    assert_eq!(unexpired.services.len(), dumped("Service Record:"));
    assert_eq!(unexpired.subscriptions.len(), dumped("InformInfo Record:"));
    assert_eq!(count(RecordKind::Group), dumped("MC Group"));
    assert_eq!(count(RecordKind::Member), dumped("mcm_port:"));
}
