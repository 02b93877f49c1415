//! The groups of a dragonfly: members, local and global links.

use crate::structure::dragonfly::Dragonfly;
use crate::topology::graph::Graph;

/// A global channel: the links from one switch to a switch of another group.
#[derive(Debug, Clone, Copy)]
pub(super) struct GlobalChannel {
    /// The switch that it leaves.
    pub(super) from: usize,
    /// Its slot there.
    pub(super) slot: usize,
    /// The switch that it enters.
    pub(super) to: usize,
}

/// A graph whose switches form groups.
pub(super) struct GroupGraph<'a> {
    pub(super) graph: &'a Graph,
    pub(super) group_of: &'a [usize],
    /// Switches of each group, by LID.
    pub(super) members: Vec<Vec<usize>>,
    /// Index of each switch among the members of its group.
    index_of: Vec<usize>,
    /// By switch, then index of the other member: the slot, if they are neighbours.
    local: Vec<Vec<Option<usize>>>,
    /// By group of the first switch, then group of the second.
    globals: Vec<GlobalChannel>,
    /// First channel of each ordered pair of groups.
    first: Vec<usize>,
}

impl<'a> GroupGraph<'a> {
    pub(super) fn new(graph: &'a Graph, dragonfly: &'a Dragonfly) -> Self {
        let group_of = &dragonfly.group_of;
        let num_groups = dragonfly.groups;
        let mut members = vec![Vec::new(); num_groups];
        let mut index_of = vec![0; graph.len()];
        for &v in &graph.by_lid {
            index_of[v] = members[group_of[v]].len();
            members[group_of[v]].push(v);
        }
        let mut local: Vec<Vec<Option<usize>>> = (0..graph.len())
            .map(|v| vec![None; members[group_of[v]].len()])
            .collect();
        let mut globals = Vec::new();
        for &from in &graph.by_lid {
            for (slot, to) in graph.slots(from).iter().map(|s| s.peer).enumerate() {
                if group_of[from] == group_of[to] {
                    local[from][index_of[to]] = Some(slot);
                } else {
                    globals.push(GlobalChannel { from, slot, to });
                }
            }
        }
        let pair = |c: &GlobalChannel| group_of[c.from] * num_groups + group_of[c.to];
        globals.sort_by_key(pair);
        let mut first = vec![0; num_groups * num_groups + 1];
        globals.iter().for_each(|c| first[pair(c) + 1] += 1);
        (1..first.len()).for_each(|i| first[i] += first[i - 1]);
        Self {
            graph,
            group_of,
            members,
            index_of,
            local,
            globals,
            first,
        }
    }

    /// Number of groups.
    pub(super) fn len(&self) -> usize {
        self.members.len()
    }

    /// Index of a switch among the members of its group.
    pub(super) fn index_of(&self, v: usize) -> usize {
        self.index_of[v]
    }

    /// The slot of a switch towards another of its group, if they are neighbours.
    pub(super) fn local_slot(&self, from: usize, to: usize) -> Option<usize> {
        self.local[from][self.index_of[to]]
    }

    /// The channel of a switch towards another of its group, if they are neighbours.
    pub(super) fn local_channel(&self, from: usize, to: usize) -> Option<usize> {
        let slot = self.local_slot(from, to)?;
        Some(self.channel(from, slot))
    }

    /// The channels from one group to another.
    pub(super) fn global_channels(&self, from: usize, to: usize) -> &[GlobalChannel] {
        let pair = from * self.len() + to;
        &self.globals[self.first[pair]..self.first[pair + 1]]
    }

    /// Number of the channel that leaves by a slot.
    pub(super) fn channel(&self, v: usize, slot: usize) -> usize {
        self.graph.first_slot(v) + slot
    }

    /// Number of end ports of a switch.
    pub(super) fn hosts(&self, v: usize) -> u64 {
        u64::from(self.graph.hosts[v])
    }
}
