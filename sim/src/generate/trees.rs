//! Trees by their general definition: XGFT, PGFT, and pods of GPU servers cabled rail by rail.

use ferrosm_mad::attr::NodeType;

use super::plan::{HOST_PORTS, Plan};
use super::shapes::{MANY, PORTS, USUAL_PORTS, at_most_lids, split};
use super::{SpecProblem, number};

/// Levels that anyone has built, and some more.
const LEVELS: usize = 8;
/// Ports of the switches that such pods are built of.
const POD_RADIX: usize = 64;

const XGFT: &str = "xgft:M1,M2,.../W1,W2,...";
const PGFT: &str = "pgft:M1,M2,.../W1,W2,.../P1,P2,...";

/// One level of a tree: what lies between it and the level below.
#[derive(Debug, Clone, Copy)]
struct Level {
    /// Children of a node of this level.
    m: usize,
    /// Parents, in this level, of a node below.
    w: usize,
    /// Cables between the two.
    p: usize,
}

/// Öhring and others, "On generalized fat trees", 1995: a PGFT whose cables are single.
pub(super) fn xgft(text: &str) -> Result<Plan, SpecProblem> {
    let [m, w] = lists(text, XGFT)?;
    tree(&m, &w, &vec![1; m.len()])
}

/// Zahavi, "Fat-trees routing and node ordering providing contention free traffic for MPI global
/// collectives", 2011: parallel ports generalised fat tree.
pub(super) fn pgft(text: &str) -> Result<Plan, SpecProblem> {
    let [m, w, p] = lists(text, PGFT)?;
    tree(&m, &w, &p)
}

/// Lists of numbers behind each other, each as long as the first.
fn lists<const N: usize>(text: &str, form: &'static str) -> Result<[Vec<usize>; N], SpecProblem> {
    let parts: Vec<&str> = text.split('/').collect();
    let mut lists: [Vec<usize>; N] = core::array::from_fn(|_| Vec::new());
    if parts.len() != N {
        return Err(SpecProblem::Form(form));
    }
    for ((list, part), name) in lists.iter_mut().zip(parts).zip(["M", "W", "P"]) {
        for text in split(part) {
            let most = if name == "M" { MANY } else { PORTS };
            list.push(number(name, text, 1, most)?);
        }
    }
    let levels = lists.first().map_or(0, Vec::len);
    if levels == 0 || levels > LEVELS || lists.iter().any(|l| l.len() != levels) {
        return Err(SpecProblem::Form(form));
    }
    Ok(lists)
}

fn tree(m: &[usize], w: &[usize], p: &[usize]) -> Result<Plan, SpecProblem> {
    let levels: Vec<Level> = m
        .iter()
        .zip(w)
        .zip(p)
        .map(|((m, w), p)| Level {
            m: *m,
            w: *w,
            p: *p,
        })
        .collect();
    let host_ports = levels.first().map_or(0, |l| l.w.saturating_mul(l.p));
    if host_ports > HOST_PORTS {
        return Err(SpecProblem::HostPorts(host_ports));
    }
    for (i, level) in levels.iter().enumerate() {
        let up = levels.get(i + 1).map_or(0, |l| l.w.saturating_mul(l.p));
        let ports = level.m.saturating_mul(level.p).saturating_add(up);
        if ports > 254 {
            return Err(SpecProblem::Ports(ports));
        }
    }
    let switches = (1..=levels.len()).fold(0usize, |all, l| all.saturating_add(width(&levels, l)));
    let ends = width(&levels, 0).saturating_mul(host_ports);
    at_most_lids(switches.saturating_add(ends))?;

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
                plan.switch(name, USUAL_PORTS)
            })
            .collect();
        // A node's number is its label read from the highest level down, so the digits above and
        // below that of this level are a quotient and a remainder.
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

/// Nodes of a level: hosts are level 0.
fn width(levels: &[Level], level: usize) -> usize {
    let up = levels[..level]
        .iter()
        .fold(1usize, |all, l| all.saturating_mul(l.w));
    levels[level..]
        .iter()
        .fold(up, |all, l| all.saturating_mul(l.m))
}

/// The label of a node: its digits, the highest level first.
fn label(levels: &[Level], level: usize, mut index: usize) -> String {
    let mut digits = Vec::with_capacity(levels.len());
    for (i, l) in levels.iter().enumerate() {
        let base = if i < level { l.w } else { l.m };
        digits.push((index % base).to_string());
        index /= base;
    }
    digits.reverse();
    digits.join("-")
}

/// Pods of servers with one HCA for each GPU: rail r's HCAs of a pod share a leaf.
pub(super) fn rail_pods(text: &str) -> Result<Plan, SpecProblem> {
    let numbers = &split(text)[..];
    let (pods, servers, gpus) = match numbers {
        [pods, servers, gpus, ..] if numbers.len() <= 5 => (
            number("PODS", pods, 1, MANY)?,
            number("SERVERS", servers, 1, PORTS / 2)?,
            number("GPUS", gpus, 1, PORTS)?,
        ),
        _ => {
            return Err(SpecProblem::Form(
                "rail-pods:PODS,SERVERS,GPUS[,SPINES[,CORES]]",
            ));
        }
    };
    at_most_lids(pods.saturating_mul(servers * gpus + gpus))?;
    let up = gpus * servers;
    let cores = match numbers.get(4) {
        Some(text) => number("CORES", text, 0, MANY)?,
        None if pods == 1 => 0,
        None => (pods * up).div_ceil(POD_RADIX),
    };
    let spines = match (numbers.get(3), cores) {
        (Some(text), _) => number("SPINES", text, 1, MANY)?,
        (None, 0) => (pods * up).div_ceil(POD_RADIX),
        (None, _) => up.div_ceil(POD_RADIX / 2),
    };
    // Without cores, the pods share their spines.
    let groups = if cores == 0 { 1 } else { pods };
    at_most_lids(pods * (up + gpus) + groups.saturating_mul(spines) + cores)?;
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
            "a leaf has as many cables up as SERVERS, and must reach every one of the SPINES",
        ));
    }
    if cores > spines * down {
        return Err(SpecProblem::Rule(
            "there are more CORES than the spines of a pod have cables up",
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
        let in_pod = if groups == 1 && pods > 1 {
            String::new()
        } else {
            format!("pod{pod:02}-")
        };
        if shared.is_empty() || groups > 1 {
            shared = (0..spines)
                .map(|s| plan.switch(format!("{in_pod}spine{s:02}"), POD_RADIX))
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
        // Each leaf has as many cables up as down, dealt out in turn; a leaf begins where the one
        // before it ended, so that no spine gets more than its share.
        for (i, leaf) in leaves.iter().enumerate() {
            for u in 0..servers {
                let turn = (if groups == 1 { pod * gpus + i } else { i }) * servers + u;
                plan.link(*leaf, shared[turn % spines]);
            }
        }
        if cores > 0 {
            // As many cables up as down. Spine s of every pod is cabled to the same cores.
            for (s, spine) in shared.iter().enumerate() {
                for u in 0..down {
                    plan.link(*spine, top[(s * down + u) % cores]);
                }
            }
        }
    }
    Ok(plan)
}
