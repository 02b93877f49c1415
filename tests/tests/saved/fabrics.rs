//! The fabrics under test.

use std::fs;
use std::path::{Path, PathBuf};

use ferrosm_mad::attr::NodeType;
use ferrosm_sim::spec::{FabricSpec, LinkSpec, PortAt};
use ferrosm_sim::{generate, ibnet};
use ferrosm_tests::programs::paths::shared_topologies;

/// Files that have to exist if the folder exists, to detect lost files.
const KNOWN: [&str; 6] = [
    "selene-compute.net",
    "dgx-ndr-topograph.net",
    "ibutils/4-ary-2-tree-missing-sw-link.net",
    "ibutils/4-ary-2-tree-links-at-same-rank-1.net",
    "ibutils/merge-roots-4-ary-2-tree.net",
    "ibutils/RhinoReindeer1100.net",
];

/// Specs of generated fabrics with aggregation nodes, hosts on spines, loopback plugs and cables,
/// removed links, and shuffled records.
const IRREGULAR: [&str; 5] = [
    "fat-tree:4;sharp;shuffle;seed=3",
    "fat-tree2:8,4,3;sharp;spine-hosts=2",
    "fat-tree:4;loopbacks=2;plugs=2",
    "rail-pods:2,3,2;spine-hosts=1;plugs=1",
    "fat-tree2:8,4,4;parallel=2;drop=0.2;seed=4",
];

/// A fabric in ibnetdiscover's text format.
#[derive(Debug, Clone)]
pub(crate) struct SavedFabric {
    /// A spec, or a path below `../shared/topologies`.
    pub(crate) name: String,
    pub(crate) text: String,
    /// Whether the file comes from a real site. Its header then has the numbers of nodes and links.
    pub(crate) is_real: bool,
}

impl SavedFabric {
    /// Number of switches.
    pub(crate) fn switches(&self) -> usize {
        let lines = self.text.lines();
        lines.filter(|line| line.starts_with("Switch")).count()
    }
}

/// The generated fabrics and those of the folder.
pub(crate) fn all() -> Vec<SavedFabric> {
    let generated = |name: &str, spec: &FabricSpec| {
        let mut text = String::new();
        ibnet::write(spec, &mut text).unwrap_or_else(|error| panic!("{name}: {error}"));
        let name = name.to_owned();
        SavedFabric {
            name,
            text,
            is_real: false,
        }
    };
    let mut entries: Vec<SavedFabric> = IRREGULAR
        .iter()
        .map(|name| generated(name, &from_spec(name)))
        .collect();
    entries.push(generated("uneven-levels", &uneven_levels()));
    if let Some(folder) = shared_topologies() {
        let mut files = Vec::new();
        net_files(&folder, &mut files);
        assert!(!files.is_empty(), "{} has no .net file", folder.display());
        entries.extend(files.into_iter().map(|file| {
            let bytes =
                fs::read(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
            let name = file.strip_prefix(&folder).unwrap_or(&file);
            SavedFabric {
                name: name.to_string_lossy().into_owned(),
                text: String::from_utf8_lossy(&bytes).into_owned(),
                is_real: true,
            }
        }));
    }
    entries
}

/// Checks that the files in [`KNOWN`] exist.
pub(crate) fn check_known_files(folder: &Path) -> Result<(), String> {
    for known in KNOWN {
        if !folder.join(known).is_file() {
            return Err(format!("{} is missing", folder.join(known).display()));
        }
    }
    Ok(())
}

/// A 3-level tree with an extra leaf that is connected directly to core switches and to one middle
/// switch. Its hosts are at different distances from the same core switch.
fn uneven_levels() -> FabricSpec {
    let mut spec = from_spec("fat-tree:4");
    let switches: Vec<usize> = (0..spec.nodes.len())
        .filter(|node| spec.nodes[*node].kind == NodeType::Switch)
        .collect();
    let is_leaf = |spec: &FabricSpec, node: usize| {
        neighbours(spec, node).any(|at| spec.nodes[at].kind == NodeType::Ca)
    };
    let (leaves, upper): (Vec<usize>, Vec<usize>) =
        switches.into_iter().partition(|node| is_leaf(&spec, *node));
    let (middle, core): (Vec<usize>, Vec<usize>) = upper
        .into_iter()
        .partition(|node| neighbours(&spec, *node).any(|at| leaves.contains(&at)));
    // GUIDs above those of the generator.
    let leaf = add_node(&mut spec, leaves[0], "leaf-uneven", 1);
    let hosts = [
        add_node(&mut spec, 0, "host-uneven-0 mlx5_0", 2),
        add_node(&mut spec, 0, "host-uneven-1 mlx5_0", 3),
    ];
    for (port, host) in (1..).zip(hosts) {
        connect(&mut spec, PortAt::new(leaf, port), PortAt::new(host, 1));
    }
    for (port, upper) in (3..).zip([core[0], middle[0]]) {
        spec.nodes[upper].num_ports += 1;
        let end_port = PortAt::new(upper, spec.nodes[upper].num_ports);
        connect(&mut spec, PortAt::new(leaf, port), end_port);
    }
    spec
}

fn from_spec(text: &str) -> FabricSpec {
    generate::from_spec(text).unwrap_or_else(|error| panic!("{error}"))
}

fn neighbours(spec: &FabricSpec, node: usize) -> impl Iterator<Item = usize> {
    let other = move |link: &LinkSpec| match (link.a.node == node, link.b.node == node) {
        (true, _) => Some(link.b.node),
        (_, true) => Some(link.a.node),
        (false, false) => None,
    };
    spec.links.iter().filter_map(other)
}

/// Adds an unconnected node like `like` and returns its index. `number` makes its GUIDs unique
/// among added nodes.
fn add_node(spec: &mut FabricSpec, like: usize, description: &str, number: u64) -> usize {
    const GUIDS: u64 = 0xADDE_D000_0000;
    let mut node = spec.nodes[like].clone();
    let old = node.node_guid.0;
    let new = |guid: u64| GUIDS + (number << 16) + (guid - old);
    node.description = description.to_owned();
    node.port_guids
        .iter_mut()
        .for_each(|guid| guid.0 = new(guid.0));
    node.system_image_guid.0 = new(old);
    node.node_guid.0 = new(old);
    spec.nodes.push(node);
    spec.nodes.len() - 1
}

fn connect(spec: &mut FabricSpec, a: PortAt, b: PortAt) {
    let like = &spec.links[0];
    let link = LinkSpec {
        a,
        b,
        width: like.width,
        speed: like.speed,
    };
    spec.links.push(link);
}

fn net_files(dir: &Path, results: &mut Vec<PathBuf>) {
    let entries = fs::read_dir(dir).unwrap_or_else(|error| panic!("{}: {error}", dir.display()));
    for entry in entries {
        let path = entry
            .unwrap_or_else(|error| panic!("{}: {error}", dir.display()))
            .path();
        if path.is_dir() {
            net_files(&path, results);
        } else if path.extension().is_some_and(|extension| extension == "net") {
            results.push(path);
        }
    }
    results.sort();
}
