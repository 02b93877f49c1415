//! Trees: XGFT, PGFT, and rail-optimised pods of GPU servers.

use ferrosm_mad::attr::NodeType;

use super::plan::{MAX_HOST_PORTS, Plan};
use super::shapes::{DEFAULT_RADIX, MAX_PORTS, MAX_SWITCHES, check_lid_count, split_at_commas};
use super::{SpecProblem, number};

/// Maximum number of levels.
const MAX_LEVELS: usize = 8;
/// Radix of the switches of rail pods.
const POD_RADIX: usize = 64;

const XGFT: &str = "xgft:M1,M2,.../W1,W2,...";
const PGFT: &str = "pgft:M1,M2,.../W1,W2,.../P1,P2,...";

/// Parameters of a tree level, relative to the level below.
#[derive(Debug, Clone, Copy)]
struct TreeLevel {
    /// Children of a node of this level.
    m: usize,
    /// Parents, in this level, of a node of the level below.
    w: usize,
    /// Links between a parent and a child.
    p: usize,
}

/// XGFT (Öhring et al., "On generalized fat trees", 1995): a PGFT with single links.
pub(super) fn xgft(text: &str) -> Result<Plan, SpecProblem> {
    let [m, w] = parse_lists(text, XGFT)?;
    tree(&m, &w, &vec![1; m.len()])
}

/// PGFT (Zahavi, "Fat-trees routing and node ordering providing contention free traffic for MPI
/// global collectives", 2011): parallel ports generalised fat tree.
pub(super) fn pgft(text: &str) -> Result<Plan, SpecProblem> {
    let [m, w, p] = parse_lists(text, PGFT)?;
    tree(&m, &w, &p)
}

/// Parses lists of numbers, all of equal length.
fn parse_lists<const N: usize>(
    text: &str,
    form: &'static str,
) -> Result<[Vec<usize>; N], SpecProblem> {
    let parts: Vec<&str> = text.split('/').collect();
    let mut lists: [Vec<usize>; N] = core::array::from_fn(|_| Vec::new());
    if parts.len() != N {
        return Err(SpecProblem::Form(form));
    }
    for ((list, part), name) in lists.iter_mut().zip(parts).zip(["M", "W", "P"]) {
        for text in split_at_commas(part) {
            let max = if name == "M" { MAX_SWITCHES } else { MAX_PORTS };
            list.push(number(name, text, 1, max)?);
        }
    }
    let levels = lists.first().map_or(0, Vec::len);
    if levels == 0 || levels > MAX_LEVELS || lists.iter().any(|l| l.len() != levels) {
        return Err(SpecProblem::Form(form));
    }
    Ok(lists)
}

fn tree(m: &[usize], w: &[usize], p: &[usize]) -> Result<Plan, SpecProblem> {
    let levels: Vec<TreeLevel> = m
        .iter()
        .zip(w)
        .zip(p)
        .map(|((m, w), p)| TreeLevel {
            m: *m,
            w: *w,
            p: *p,
        })
        .collect();
    let host_ports = levels.first().map_or(0, |l| l.w.saturating_mul(l.p));
    if host_ports > MAX_HOST_PORTS {
        return Err(SpecProblem::HostPorts(host_ports));
    }
    for (i, level) in levels.iter().enumerate() {
        let up = levels.get(i + 1).map_or(0, |l| l.w.saturating_mul(l.p));
        let ports = level.m.saturating_mul(level.p).saturating_add(up);
        if ports > 254 {
            return Err(SpecProblem::Ports(ports));
        }
    }
    let switches = (1..=levels.len()).fold(0usize, |product, l| {
        product.saturating_add(width(&levels, l))
    });
    let ends = width(&levels, 0).saturating_mul(host_ports);
    check_lid_count(switches.saturating_add(ends))?;

    let mut plan = Plan::default();
    let mut below: Vec<usize> = (0..width(&levels, 0))
        .map(|i| {
            let name = format!("host-{} mlx5_0", label(&levels, 0, i));
            plan.add(NodeType::Ca, name, host_ports)
        })
        .collect();
    for (i, level) in levels.iter().enumerate() {
        let here: Vec<usize> = (0..width(&levels, i + 1))
            .map(|at| {
                let name = format!("level{}-{}", i + 1, label(&levels, i + 1, at));
                plan.switch(name, DEFAULT_RADIX)
            })
            .collect();
        // A node's index is its label as a mixed-radix number: `h` are the digits above that of
        // this level, `l` those below.
        let low: usize = levels[..i].iter().map(|l| l.w).product();
        let high: usize = levels[i + 1..].iter().map(|l| l.m).product();
        for h in 0..high {
            for l in 0..low {
                for _ in 0..level.p {
                    for child in 0..level.m {
                        for parent in 0..level.w {
                            plan.link(
                                below[(h * level.m + child) * low + l],
                                here[(h * level.w + parent) * low + l],
                            );
                        }
                    }
                }
            }
        }
        below = here;
    }
    Ok(plan)
}

/// Number of nodes of a level; hosts are level 0.
fn width(levels: &[TreeLevel], level: usize) -> usize {
    let up = levels[..level]
        .iter()
        .fold(1usize, |product, l| product.saturating_mul(l.w));
    levels[level..]
        .iter()
        .fold(up, |product, l| product.saturating_mul(l.m))
}

/// Label of a node: its digits, from the highest level down.
fn label(levels: &[TreeLevel], level: usize, mut index: usize) -> String {
    let mut digits = Vec::with_capacity(levels.len());
    for (i, l) in levels.iter().enumerate() {
        let base = if i < level { l.w } else { l.m };
        digits.push((index % base).to_string());
        index /= base;
    }
    digits.reverse();
    digits.join("-")
}

/// Pods of servers with an HCA per GPU: the HCAs of rail r of a pod share a leaf.
pub(super) fn rail_pods(text: &str) -> Result<Plan, SpecProblem> {
    let numbers = &split_at_commas(text)[..];
    let (pods, servers, gpus) = match numbers {
        [pods, servers, gpus, ..] if numbers.len() <= 5 => (
            number("PODS", pods, 1, MAX_SWITCHES)?,
            number("SERVERS", servers, 1, MAX_PORTS / 2)?,
            number("GPUS", gpus, 1, MAX_PORTS)?,
        ),
        _ => {
            return Err(SpecProblem::Form(
                "rail-pods:PODS,SERVERS,GPUS[,SPINES[,CORES]]",
            ));
        }
    };
    check_lid_count(pods.saturating_mul(servers * gpus + gpus))?;
    let up = gpus * servers;
    let cores = match numbers.get(4) {
        Some(text) => number("CORES", text, 0, MAX_SWITCHES)?,
        None if pods == 1 => 0,
        None => (pods * up).div_ceil(POD_RADIX),
    };
    let spines = match (numbers.get(3), cores) {
        (Some(text), _) => number("SPINES", text, 1, MAX_SWITCHES)?,
        (None, 0) => (pods * up).div_ceil(POD_RADIX),
        (None, _) => up.div_ceil(POD_RADIX / 2),
    };
    // Without cores, pods share their spines.
    let groups = if cores == 0 { 1 } else { pods };
    check_lid_count(pods * (up + gpus) + groups.saturating_mul(spines) + cores)?;
    let down = (pods / groups * up).div_ceil(spines);
    let core_ports = pods * (spines * down).div_ceil(cores.max(1));
    for ports in [
        2 * servers,
        down * if cores == 0 { 1 } else { 2 },
        if cores == 0 { 0 } else { core_ports },
    ] {
        if ports > 254 {
            return Err(SpecProblem::Ports(ports));
        }
    }
    if spines > servers {
        return Err(SpecProblem::Rule(
            "a leaf has SERVERS uplinks, fewer than SPINES",
        ));
    }
    if cores > spines * down {
        return Err(SpecProblem::Rule(
            "CORES exceeds the uplinks of a pod's spines",
        ));
    }

    let mut plan = Plan::default();
    let total = pods * servers;
    let digits = total.to_string().len().max(2);
    let top: Vec<usize> = (0..cores)
        .map(|c| plan.switch(format!("core{c:02}"), POD_RADIX))
        .collect();
    let mut shared = Vec::new();
    for pod in 0..pods {
        let prefix = if groups == 1 && pods > 1 {
            String::new()
        } else {
            format!("pod{pod:02}-")
        };
        if shared.is_empty() || groups > 1 {
            shared = (0..spines)
                .map(|s| plan.switch(format!("{prefix}spine{s:02}"), POD_RADIX))
                .collect();
        }
        let leaves: Vec<usize> = (0..gpus)
            .map(|rail| plan.switch(format!("pod{pod:02}-leaf{rail}"), POD_RADIX))
            .collect();
        for server in 0..servers {
            let number = pod * servers + server + 1;
            for (rail, leaf) in leaves.iter().enumerate() {
                let name = format!("dgx{number:0digits$} mlx5_{rail}");
                let hca = plan.add(NodeType::Ca, name, 1);
                plan.link(hca, *leaf);
            }
        }
        // Each leaf has as many uplinks as downlinks, distributed in turn; a leaf starts where the
        // previous one ended, so that the spines are loaded evenly.
        for (i, leaf) in leaves.iter().enumerate() {
            for u in 0..servers {
                let turn = (if groups == 1 { pod * gpus + i } else { i }) * servers + u;
                plan.link(*leaf, shared[turn % spines]);
            }
        }
        if cores > 0 {
            // As many uplinks as downlinks. Spine s of every pod is connected to the same cores.
            for (s, spine) in shared.iter().enumerate() {
                for u in 0..down {
                    plan.link(*spine, top[(s * down + u) % cores]);
                }
            }
        }
    }
    Ok(plan)
}
