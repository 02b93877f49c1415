//! Plans of fat trees, grids, HyperX, random graphs and fabrics with at most one switch.

use ferrosm_mad::attr::NodeType;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::plan::{Plan, below, shuffle};
use super::{SpecProblem, number};

/// Minimum number of ports of a switch.
pub(super) const DEFAULT_RADIX: usize = 36;
/// Names of HyperX parameters.
const DIMENSIONS: [&str; 16] = [
    "A", "B", "C", "D", "E", "F", "G", "H", "I", "J", "K", "L", "M", "N", "O", "P",
];
/// Maximum number of switches: each needs a LID.
pub(super) const MAX_SWITCHES: u64 = 49_151;
pub(super) const MAX_PORTS: u64 = 254;

/// Splits at commas; empty for an empty text.
pub(super) fn split_at_commas(text: &str) -> Vec<&str> {
    if text.trim().is_empty() {
        Vec::new()
    } else {
        text.split(',').map(str::trim).collect()
    }
}

/// Hosts per switch; 1 if omitted.
fn hosts_or_one(text: Option<&&str>) -> Result<usize, SpecProblem> {
    text.map_or(Ok(1), |t| number("H", t, 0, MAX_PORTS))
}

/// Rejects a size before memory is allocated; the exact count is checked on the finished plan.
pub(super) fn check_size(switches: usize, hosts_each: usize) -> Result<(), SpecProblem> {
    check_lid_count(switches.saturating_mul(hosts_each + 1))
}

/// Rejects more end ports than unicast LIDs.
pub(super) fn check_lid_count(lids: usize) -> Result<(), SpecProblem> {
    if lids > 49_151 {
        Err(SpecProblem::Lids(lids))
    } else {
        Ok(())
    }
}

pub(super) fn fat_tree(numbers: &[&str]) -> Result<Plan, SpecProblem> {
    let &[k] = numbers else {
        return Err(SpecProblem::Form("fat-tree:K"));
    };
    let k = number("K", k, 2, MAX_PORTS)?;
    if k % 2 == 1 {
        return Err(SpecProblem::Rule(
            "K must be even: half of a switch's ports are uplinks",
        ));
    }
    let half = k / 2;
    let lids = 2 * half * half * half + 5 * half * half;
    if lids > 49_151 {
        return Err(SpecProblem::Lids(lids));
    }
    let mut plan = Plan::default();
    let cores: Vec<_> = (0..half * half)
        .map(|c| plan.switch(format!("core-{c}"), k))
        .collect();
    for pod in 0..k {
        let spines: Vec<_> = (0..half)
            .map(|s| plan.switch(format!("spine-{pod}-{s}"), k))
            .collect();
        for leaf in 0..half {
            let at = plan.switch(format!("leaf-{pod}-{leaf}"), k);
            for host in 0..half {
                plan.host(&format!("host-{pod}-{leaf}-{host}"), at);
            }
            for spine in &spines {
                plan.link(at, *spine);
            }
        }
        for (s, spine) in spines.iter().enumerate() {
            for core in &cores[s * half..(s + 1) * half] {
                plan.link(*spine, *core);
            }
        }
    }
    Ok(plan)
}

pub(super) fn fat_tree2(numbers: &[&str]) -> Result<Plan, SpecProblem> {
    let &[radix, leaves, hosts] = numbers else {
        return Err(SpecProblem::Form("fat-tree2:RADIX,LEAVES,HOSTS"));
    };
    let radix = number("RADIX", radix, 2, MAX_PORTS)?;
    let leaves = number("LEAVES", leaves, 1, radix as u64)?;
    let hosts = number("HOSTS", hosts, 0, radix as u64 - 1)?;
    let up = (radix / 2).min(radix - hosts);
    let mut plan = Plan::default();
    let spines: Vec<_> = (0..(up * leaves).div_ceil(radix))
        .map(|s| plan.switch(format!("spine-{s}"), radix))
        .collect();
    for leaf in 0..leaves {
        let at = plan.switch(format!("leaf-{leaf}"), radix);
        for host in 0..hosts {
            plan.host(&format!("host-{leaf}-{host}"), at);
        }
        // The uplinks of all leaves use the spines in turn, so that no spine exceeds its radix.
        for u in 0..up {
            plan.link(at, spines[(leaf * up + u) % spines.len()]);
        }
    }
    Ok(plan)
}

pub(super) fn grid(numbers: &[&str], wraps: bool) -> Result<Plan, SpecProblem> {
    let form = if wraps {
        "torus:X,Y[,Z][,H]"
    } else {
        "mesh:X,Y[,Z][,H]"
    };
    if !(2..=4).contains(&numbers.len()) {
        return Err(SpecProblem::Form(form));
    }
    let mut sides = [1; 3];
    for ((side, text), name) in sides.iter_mut().zip(numbers).zip(["X", "Y", "Z"]) {
        *side = number(name, text, 1, MAX_SWITCHES)?;
    }
    let hosts = hosts_or_one(numbers.get(3))?;
    grid_of(sides, hosts, wraps)
}

pub(super) fn ring(numbers: &[&str]) -> Result<Plan, SpecProblem> {
    if !(1..=2).contains(&numbers.len()) {
        return Err(SpecProblem::Form("ring:N[,H]"));
    }
    let n = number("N", numbers[0], 1, MAX_SWITCHES)?;
    grid_of([n, 1, 1], hosts_or_one(numbers.get(1))?, true)
}

fn grid_of(sides: [usize; 3], hosts: usize, wraps: bool) -> Result<Plan, SpecProblem> {
    check_size(
        sides
            .iter()
            .fold(1usize, |product, side| product.saturating_mul(*side)),
        hosts,
    )?;
    // Sides of 1 are omitted from names, unless all are 1.
    let label = |c: [usize; 3]| {
        let wide: Vec<_> = c
            .iter()
            .zip(sides)
            .filter(|(_, side)| *side > 1)
            .map(|(c, _)| c.to_string())
            .collect();
        if wide.is_empty() {
            "0".to_owned()
        } else {
            wide.join("-")
        }
    };
    let mut plan = Plan::default();
    let mut cells = Vec::new();
    for x in 0..sides[0] {
        for y in 0..sides[1] {
            for z in 0..sides[2] {
                let cell = [x, y, z];
                let at = plan.switch(format!("switch-{}", label(cell)), DEFAULT_RADIX);
                cells.push((cell, at));
                for host in 0..hosts {
                    plan.host(&format!("host-{}-{host}", label(cell)), at);
                }
            }
        }
    }
    let index = |c: [usize; 3]| (c[0] * sides[1] + c[1]) * sides[2] + c[2];
    for (cell, at) in &cells {
        for axis in 0..3 {
            let mut next = *cell;
            next[axis] = (cell[axis] + 1) % sides[axis];
            let crosses_the_edge = next[axis] == 0;
            if sides[axis] > 1 && (!crosses_the_edge || (wraps && sides[axis] > 2)) {
                plan.link(*at, cells[index(next)].1);
            }
        }
    }
    Ok(plan)
}

/// HyperX (Ahn et al., "HyperX: topology, routing, and packaging of efficient large-scale
/// networks", 2009): in every dimension, a switch is connected to all that differ from it in that
/// dimension only.
pub(super) fn hyperx(numbers: &[&str]) -> Result<Plan, SpecProblem> {
    let parse_error = || SpecProblem::Form("hyperx:A,B[,H] or hyperx:AxBxC...[,H]");
    let (texts, hosts): (Vec<&str>, _) = match numbers {
        [sides, rest @ ..] if sides.contains('x') && rest.len() < 2 => {
            (sides.split('x').collect(), rest.first())
        }
        [a, b, rest @ ..] if rest.len() < 2 => (vec![a, b], rest.first()),
        _ => return Err(parse_error()),
    };
    if texts.len() > 16 {
        return Err(parse_error());
    }
    let mut sides = Vec::new();
    for (text, name) in texts.iter().zip(DIMENSIONS) {
        sides.push(number(name, text, 1, MAX_PORTS)?);
    }
    let hosts = hosts_or_one(hosts)?;
    let ports = sides.iter().map(|s| s - 1).sum::<usize>() + hosts;
    if ports > 254 {
        return Err(SpecProblem::Ports(ports));
    }
    let count = sides
        .iter()
        .fold(1usize, |product, s| product.saturating_mul(*s));
    check_size(count, hosts)?;
    let mut plan = Plan::default();
    let at: Vec<usize> = (0..count)
        .map(|i| {
            let mut digits = Vec::new();
            let mut left = i;
            for side in sides.iter().rev() {
                digits.push((left % side).to_string());
                left /= side;
            }
            digits.reverse();
            let label = digits.join("-");
            let switch = plan.switch(format!("switch-{label}"), DEFAULT_RADIX);
            for host in 0..hosts {
                plan.host(&format!("host-{label}-{host}"), switch);
            }
            switch
        })
        .collect();
    for i in 0..count {
        // Switches that differ in one digit are a stride apart.
        let mut stride = count;
        for side in &sides {
            stride /= side;
            let digit = i / stride % side;
            for more in 1..side - digit {
                plan.link(at[i], at[i + more * stride]);
            }
        }
    }
    Ok(plan)
}

pub(super) fn random(numbers: &[&str]) -> Result<Plan, SpecProblem> {
    let &[n, r, h, seed] = numbers else {
        return Err(SpecProblem::Form("random:N,R,H,SEED"));
    };
    let n = number("N", n, 1, MAX_SWITCHES)?;
    let r = number("R", r, 1, MAX_PORTS)?;
    let h = number("H", h, 0, MAX_PORTS)?;
    let seed = number("SEED", seed, 0, u64::MAX)?;
    check_size(n, h)?;
    if n > 2 && r < 2 {
        return Err(SpecProblem::Rule(
            "R = 1 cannot connect more than 2 switches",
        ));
    }
    let mut rng = ChaCha8Rng::seed_from_u64(seed as u64);
    let mut plan = Plan::default();
    let at: Vec<_> = (0..n)
        .map(|i| {
            let switch = plan.switch(format!("switch-{i}"), DEFAULT_RADIX);
            for host in 0..h {
                plan.host(&format!("host-{i}-{host}"), switch);
            }
            switch
        })
        .collect();
    // A ring in random order makes it connected.
    let mut ring: Vec<usize> = (0..n).collect();
    shuffle(&mut rng, &mut ring);
    let mut degree = vec![0; n];
    let mut cables = std::collections::BTreeSet::new();
    let mut connect = |a: usize, b: usize, degree: &mut Vec<usize>| {
        let new = a != b && cables.insert((a.min(b), a.max(b)));
        if new {
            degree[a] += 1;
            degree[b] += 1;
            plan.link(at[a], at[b]);
        }
        new
    };
    for i in 0..n {
        connect(ring[i], ring[(i + 1) % n], &mut degree);
    }
    let mut open: Vec<usize> = (0..n).filter(|i| degree[*i] < r).collect();
    let mut tries = 20 * n * r;
    while open.len() > 1 && tries > 0 {
        tries -= 1;
        let a = open[below(&mut rng, open.len())];
        let b = open[below(&mut rng, open.len())];
        if connect(a, b, &mut degree) {
            open.retain(|i| (*i != a && *i != b) || degree[*i] < r);
        }
    }
    Ok(plan)
}

pub(super) fn star(numbers: &[&str]) -> Result<Plan, SpecProblem> {
    let &[h] = numbers else {
        return Err(SpecProblem::Form("star:H"));
    };
    let hosts = number("H", h, 1, MAX_PORTS)?;
    let mut plan = Plan::default();
    let switch = plan.switch("switch-0".to_owned(), DEFAULT_RADIX);
    for host in 0..hosts {
        plan.host(&format!("host-{host}"), switch);
    }
    Ok(plan)
}

pub(super) fn back_to_back(numbers: &[&str]) -> Result<Plan, SpecProblem> {
    if !numbers.is_empty() {
        return Err(SpecProblem::Form("back-to-back without numbers"));
    }
    let mut plan = Plan::default();
    let a = plan.add(NodeType::Ca, "host-0 mlx5_0".to_owned(), 1);
    let b = plan.add(NodeType::Ca, "host-1 mlx5_0".to_owned(), 1);
    plan.link(a, b);
    Ok(plan)
}
