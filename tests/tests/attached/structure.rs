//! The structure of the fabric and the load of links, as the API answers them for drawings.

#![allow(clippy::unwrap_used, reason = "test helpers")]

use std::collections::{BTreeMap, BTreeSet};

use ferrosm_tests::programs::clients::Clients;
use ferrosm_tests::programs::fabric_server::FabricServer;
use ferrosm_tests::programs::process::Launch;
use serde_json::Value;

use super::api::{GUARD, ask, json, start, state_dir, wait_for_health};

/// The answer of a resource.
fn resource(sim: &FabricServer, resource: &str) -> Value {
    let answer = text(sim, resource);
    serde_json::from_str(&answer).unwrap_or_else(|e| panic!("{e}: {answer}"))
}

/// The answer as text.
fn text(sim: &FabricServer, resource: &str) -> String {
    let socket = format!("{}/api.sock", state_dir(sim, "sm"));
    let asked = Launch::new("curl")
        .args(&["--silent", "--show-error", "--unix-socket", &socket])
        .args(&[&format!("http://ferrosm/v1/{resource}")])
        .start(sim.dir())
        .wait(GUARD)
        .expect_success();
    asked.stdout
}

/// The service draws what `ferrosm draw` draws from its answers.
#[test]
fn drawing_is_that_of_the_command() {
    let sim = FabricServer::shape("fat-tree:4");
    let _sm = start(&sim, None, "sm", &[]);
    wait_for_health(&sim, "sm", 0, &["OK"]);
    for (query, args) in [
        ("", "draw"),
        (
            "?highlight=load&level=groups",
            "draw --highlight load --level groups",
        ),
        (
            "?highlight=path&from=host-0-0-0&to=host-3-1-1",
            "draw --highlight path host-0-0-0 host-3-1-1",
        ),
        ("?highlight=alarms", "draw --highlight alarms"),
    ] {
        let args: Vec<&str> = args.split(' ').collect();
        let drawn = ask(&sim, "sm", &args).expect_success().stdout;
        assert!(drawn.contains("<svg"), "{drawn}");
        assert_eq!(text(&sim, &format!("drawing.svg{query}")), drawn, "{query}");
    }
    for query in ["level=rooms", "highlight=all"] {
        let refused = resource(&sim, &format!("drawing.svg?{query}"));
        assert_eq!(refused["error"]["kind"], "invalid-request", "{refused}");
    }
}

/// The switches of the structure, in its order, by name.
fn switches(sim: &FabricServer, structure: &Value) -> Vec<(String, Value)> {
    let nodes = json(sim, "sm", &["nodes"]);
    let names: BTreeMap<&str, &str> = nodes["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|node| {
            (
                node["guid"].as_str().unwrap(),
                node["name"].as_str().unwrap(),
            )
        })
        .collect();
    let items = structure["switches"].as_array().unwrap().iter();
    items
        .map(|item| {
            (
                names[item["guid"].as_str().unwrap()].to_owned(),
                item.clone(),
            )
        })
        .collect()
}

/// Levels and subtrees of a fat tree; the load of each link is the number of paths that use it.
#[test]
fn tree_has_levels_and_load() {
    let sim = FabricServer::shape("fat-tree:4");
    let _sm = start(&sim, None, "sm", &[]);
    wait_for_health(&sim, "sm", 0, &["OK"]);
    let structure = resource(&sim, "structure");
    assert_eq!(structure["kind"], "tree", "{structure}");
    assert_eq!(
        (&structure["levels"], &structure["groups"]),
        (&3.into(), &4.into())
    );
    let mut group_of: BTreeMap<char, u64> = BTreeMap::new();
    for (name, place) in switches(&sim, &structure) {
        let (kind, rest) = name.split_once('-').unwrap();
        let level = match kind {
            "leaf" => 0,
            "spine" => 1,
            _ => 2,
        };
        assert_eq!(place["level"], level, "{name}");
        if level == 2 {
            assert_eq!(place.get("group"), None, "{name}");
            continue;
        }
        let pod = rest.chars().next().unwrap();
        let group = place["group"].as_u64().unwrap();
        assert_eq!(*group_of.entry(pod).or_insert(group), group, "{name}");
    }
    let groups: BTreeSet<u64> = group_of.values().copied().collect();
    assert_eq!(groups, (0..4).collect());

    let hosts = json(&sim, "sm", &["nodes", "--where", "kind=ca"]);
    let hosts: Vec<String> = hosts["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|host| host["lids"][0].to_string())
        .collect();
    let mut expected: BTreeMap<(String, u64), u64> = BTreeMap::new();
    for from in &hosts {
        for to in hosts.iter().filter(|to| *to != from) {
            let path = resource(&sim, &format!("paths?from={from}&to={to}"));
            let hops = path["hops"].as_array().unwrap();
            // The last switch sends to the host.
            for hop in &hops[..hops.len() - 1] {
                let port = hop["out_port"].as_u64().unwrap();
                let guid = hop["guid"].as_str().unwrap().to_owned();
                *expected.entry((guid, port)).or_default() += 1;
            }
        }
    }
    let load = resource(&sim, "load");
    let mut found: BTreeMap<(String, u64), u64> = BTreeMap::new();
    for item in load["items"].as_array().unwrap() {
        let guid = item["guid"].as_str().unwrap().to_owned();
        let key = (guid, item["port"].as_u64().unwrap());
        found.insert(key, item["routes"].as_u64().unwrap());
    }
    assert_eq!(found.len(), 64, "each of 32 links in both directions");
    found.retain(|_, routes| *routes > 0);
    assert_eq!(found, expected);
    assert_eq!(load["busiest"].as_u64(), expected.values().copied().max());
    assert_eq!(load["total"].as_u64(), Some(expected.values().sum()));
}

/// Neighbours on a torus differ in one coordinate by one; groups of a dragonfly are those of the
/// names.
#[test]
fn grids_and_dragonflies_have_coordinates_and_groups() {
    let sim = FabricServer::shape("torus:5,3,1");
    let _sm = start(&sim, None, "sm", &[]);
    wait_for_health(&sim, "sm", 0, &["OK"]);
    let structure = resource(&sim, "structure");
    assert_eq!(structure["kind"], "grid", "{structure}");
    let sizes: Vec<u64> = structure["dimensions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|dimension| dimension["size"].as_u64().unwrap())
        .collect();
    assert_eq!(sizes.iter().product::<u64>(), 15, "{structure}");
    let coordinates: BTreeMap<String, Vec<u64>> = switches(&sim, &structure)
        .into_iter()
        .map(|(_, place)| {
            let along = place["coordinates"]
                .as_array()
                .unwrap()
                .iter()
                .map(|coordinate| coordinate.as_u64().unwrap())
                .collect();
            (place["guid"].as_str().unwrap().to_owned(), along)
        })
        .collect();
    let different: BTreeSet<&Vec<u64>> = coordinates.values().collect();
    assert_eq!(different.len(), 15);
    let links = json(&sim, "sm", &["links"]);
    let mut between_switches = 0;
    for link in links["items"].as_array().unwrap() {
        let end = |side: &str| coordinates.get(link[side]["guid"].as_str().unwrap());
        let (Some(a), Some(b)) = (end("a"), end("b")) else {
            continue;
        };
        between_switches += 1;
        let steps = a.iter().zip(b).zip(&sizes).map(|((a, b), size)| {
            let distance = a.abs_diff(*b);
            distance.min(size - distance)
        });
        assert_eq!(steps.sum::<u64>(), 1, "{link}");
    }
    assert_eq!(between_switches, 30);
    drop((_sm, sim));

    let sim = FabricServer::shape("dragonfly:4,5,1,1");
    let _sm = start(&sim, None, "sm", &[]);
    wait_for_health(&sim, "sm", 0, &["OK"]);
    let structure = resource(&sim, "structure");
    assert_eq!(structure["kind"], "dragonfly", "{structure}");
    assert_eq!(structure["groups"], 5, "{structure}");
    let links = json(&sim, "sm", &["links"]);
    let group: BTreeMap<String, u64> = switches(&sim, &structure)
        .into_iter()
        .map(|(_, place)| {
            let group = place["group"].as_u64().unwrap();
            (place["guid"].as_str().unwrap().to_owned(), group)
        })
        .collect();
    let mut local = 0;
    for link in links["items"].as_array().unwrap() {
        let end = |side: &str| group.get(link[side]["guid"].as_str().unwrap());
        if let (Some(a), Some(b)) = (end("a"), end("b")) {
            local += usize::from(a == b);
        }
    }
    assert_eq!(local, 5 * 6, "each group is a full mesh of 4");
}
