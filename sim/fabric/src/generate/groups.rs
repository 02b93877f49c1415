//! Dragonflies, and graphs of diameter two.

use super::field::{FiniteField, prime_base};
use super::plan::Plan;
use super::shapes::{DEFAULT_RADIX, MAX_PORTS, MAX_SWITCHES, check_size};
use super::{SpecProblem, number};

/// Dragonfly (Kim et al., "Technology-driven, highly-scalable dragonfly topology", 2008): groups of
/// fully connected routers, with global links between groups.
pub(super) fn dragonfly(numbers: &[&str]) -> Result<Plan, SpecProblem> {
    let &[a, g, h, p] = numbers else {
        return Err(SpecProblem::Form("dragonfly:A,G,H,P"));
    };
    let a = number("A", a, 1, MAX_PORTS)?;
    let g = number("G", g, 1, MAX_SWITCHES)?;
    let h = number("H", h, 0, MAX_PORTS)?;
    let p = number("P", p, 0, MAX_PORTS)?;
    check_size(a * g, p)?;
    if a - 1 + h + p > 254 {
        return Err(SpecProblem::Ports(a - 1 + h + p));
    }
    if g > 1 && a * h < g - 1 {
        return Err(SpecProblem::Rule(
            "the A * H global links of a group do not reach all G - 1 other groups",
        ));
    }
    let mut plan = Plan::default();
    let mut at = Vec::with_capacity(a * g);
    for group in 0..g {
        for r in 0..a {
            let switch = plan.switch(format!("router-{group}-{r}"), DEFAULT_RADIX);
            at.push(switch);
            for host in 0..p {
                plan.host(&format!("host-{group}-{r}-{host}"), switch);
            }
        }
        for r in 0..a {
            for other in r + 1..a {
                plan.link(at[group * a + r], at[group * a + other]);
            }
        }
    }
    global_cables(&mut plan, g, a * h, |group, turn| at[group * a + turn % a]);
    Ok(plan)
}

/// Dragonfly+ (Shpiner et al., "Dragonfly+: low cost topology for scaling datacenters", 2017):
/// groups are two-level trees, with hosts at the leaves and global links at the spines.
pub(super) fn dragonfly_plus(numbers: &[&str]) -> Result<Plan, SpecProblem> {
    let &[g, l, s, h, p] = numbers else {
        return Err(SpecProblem::Form("dragonfly+:G,L,S,H,P"));
    };
    let g = number("G", g, 1, MAX_SWITCHES)?;
    let l = number("L", l, 1, MAX_PORTS)?;
    let s = number("S", s, 1, MAX_PORTS)?;
    let h = number("H", h, 0, MAX_PORTS)?;
    let p = number("P", p, 0, MAX_PORTS)?;
    check_size(g.saturating_mul(l), p)?;
    check_size(g.saturating_mul(l + s), 0)?;
    let ports = (s + p).max(l + h);
    if ports > 254 {
        return Err(SpecProblem::Ports(ports));
    }
    if g > 1 && s * h < g - 1 {
        return Err(SpecProblem::Rule(
            "the S * H global links of a group do not reach all G - 1 other groups",
        ));
    }
    let mut plan = Plan::default();
    let mut spines = Vec::with_capacity(g * s);
    for group in 0..g {
        let first = spines.len();
        for i in 0..s {
            spines.push(plan.switch(format!("spine-{group}-{i}"), DEFAULT_RADIX));
        }
        for i in 0..l {
            let leaf = plan.switch(format!("leaf-{group}-{i}"), DEFAULT_RADIX);
            for host in 0..p {
                plan.host(&format!("host-{group}-{i}-{host}"), leaf);
            }
            for spine in &spines[first..] {
                plan.link(leaf, *spine);
            }
        }
    }
    global_cables(&mut plan, g, s * h, |group, turn| {
        spines[group * s + turn % s]
    });
    Ok(plan)
}

/// Connects all pairs of groups by the same number of links, the largest possible; a group uses the
/// ports of its switches in turn.
fn global_cables(
    plan: &mut Plan,
    groups: usize,
    links_per_group: usize,
    switch: impl Fn(usize, usize) -> usize,
) {
    if groups < 2 {
        return;
    }
    let each = links_per_group / (groups - 1);
    let mut used = vec![0; groups];
    for i in 0..groups {
        for j in i + 1..groups {
            for _ in 0..each {
                plan.link(switch(i, used[i]), switch(j, used[j]));
                used[i] += 1;
                used[j] += 1;
            }
        }
    }
}

/// Slim Fly (Besta and Hoefler, "Slim Fly: a cost effective low-diameter network topology", 2014):
/// the graphs of McKay, Miller and Širáň, as constructed by Hafner for q = 4w - 1, 4w and 4w + 1.
pub(super) fn slim_fly(numbers: &[&str]) -> Result<Plan, SpecProblem> {
    let (text, hosts) = match numbers {
        [q] => (q, None),
        [q, hosts] => (q, Some(hosts)),
        _ => return Err(SpecProblem::Form("slim-fly:Q[,H]")),
    };
    // Largest Q for which 2 Q^2 switches have LIDs.
    let q = number("Q", text, 3, 156)?;
    let field = FiniteField::new(q)
        .filter(|_| has_graph(q))
        .ok_or_else(|| no_graph(q))?;
    // Elements with equal parity of their exponent; for 4w - 1, where -1 is an odd power, the
    // second half is mirrored.
    let set = |odd: usize| -> Vec<usize> {
        let exponents: Vec<usize> = match q % 4 {
            3 => {
                let w = q.div_ceil(4);
                let low = (0..w).map(|i| 2 * i + odd);
                let high = (0..w).map(|i| 2 * (w + i) - 1 + odd);
                low.chain(high).collect()
            }
            0 => (0..q / 2).map(|i| 2 * i + odd).collect(),
            _ => (0..(q - 1) / 2).map(|i| 2 * i + odd).collect(),
        };
        let mut marked = vec![false; q];
        for exponent in exponents {
            marked[field.power(exponent)] = true;
        }
        (0..q).filter(|e| marked[*e]).collect()
    };
    let generators = [set(0), set(1)];
    let degree = q + generators[0].len();
    let hosts = match hosts {
        Some(text) => number("H", text, 0, MAX_PORTS)?,
        None => degree.div_ceil(2),
    };
    if degree + hosts > 254 {
        return Err(SpecProblem::Ports(degree + hosts));
    }
    check_size(2 * q * q, hosts)?;
    let mut plan = Plan::default();
    let mut at = Vec::with_capacity(2 * q * q);
    for half in 0..2 {
        for x in 0..q {
            for y in 0..q {
                let switch = plan.switch(format!("switch-{half}-{x}-{y}"), DEFAULT_RADIX);
                at.push(switch);
                for host in 0..hosts {
                    plan.host(&format!("host-{half}-{x}-{y}-{host}"), switch);
                }
            }
        }
    }
    for (half, set) in generators.iter().enumerate() {
        for x in 0..q {
            let column = &at[(half * q + x) * q..][..q];
            for y in 0..q {
                for step in set {
                    let other = field.add(y, *step);
                    // The sets are closed under negation, so each pair occurs from both ends.
                    if y < other {
                        plan.link(column[y], column[other]);
                    }
                }
            }
        }
    }
    for x in 0..q {
        for m in 0..q {
            for c in 0..q {
                let y = field.add(field.mul(m, x), c);
                plan.link(at[x * q + y], at[(q + m) * q + c]);
            }
        }
    }
    Ok(plan)
}

fn has_graph(q: usize) -> bool {
    q > 2 && q % 4 != 2 && prime_base(q).is_some()
}

fn no_graph(q: usize) -> SpecProblem {
    let below = (3..q).rev().find(|n| has_graph(*n)).unwrap_or(3);
    let above = (q..).find(|n| has_graph(*n)).unwrap_or(q);
    SpecProblem::NoGraph { q, below, above }
}
