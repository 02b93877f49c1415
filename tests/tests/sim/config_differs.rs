//! SMs of a subnet compare their configurations (ADR 0033).

use std::time::Duration;

use ferrosm_core::config::sections::ConfigSection;
use ferrosm_core::election::ElectionNotice;
use ferrosm_core::{Event, Input, SmConfig};
use ferrosm_mad::attr::SmState;
use ferrosm_mad::ids::MKey;
use ferrosm_sim::world::SmId;
use ferrosm_tests::lab::Lab;

use crate::election::OTHER_SM_PORT;

fn master() -> SmConfig {
    SmConfig {
        priority: 5,
        ..SmConfig::default()
    }
}

/// The reports of SMs with another configuration, by their sections.
fn reported(lab: &Lab, sm: SmId) -> Vec<String> {
    let mut sections = Vec::new();
    for event in lab.events(sm) {
        if let Event::Election(notice) = event
            && let ElectionNotice::OtherConfig(_, differing) = notice.what
        {
            sections.push(differing.to_string());
        }
    }
    sections
}

/// A master reports once in which sections the configuration of a standby differs, again when
/// others differ, and no more when it is equal. Both know it; priorities may differ.
#[test]
fn differing_sections_of_a_standby_are_reported() {
    let mut lab = Lab::up("fat-tree:4", 1, master());
    let first = lab.sm;
    let other_links = SmConfig {
        hoq_life: 3,
        ..SmConfig::default()
    };
    let second = lab.add_sm(OTHER_SM_PORT, other_links.clone());
    lab.world.run_for(Duration::from_mins(1));
    assert_eq!(lab.role(second), SmState::Standby);
    assert_eq!(reported(&lab, first), ["links"], "{}", lab.describe_run());
    let links: Vec<ConfigSection> = vec![ConfigSection::Links];
    for sm in [first, second] {
        lab.select(sm);
        let known = lab.manager().core().other_configs().into_values().next();
        let known: Vec<ConfigSection> = known.unwrap().iter().collect();
        assert_eq!(known, links);
    }

    let other_lids = SmConfig {
        lmc_esp0: true,
        ..other_links
    };
    lab.handle(second, Input::Config(Box::new(other_lids)));
    lab.world.run_for(Duration::from_mins(1));
    assert_eq!(reported(&lab, first), ["links", "lids, links"]);

    lab.handle(second, Input::Config(Box::default()));
    lab.world.run_for(Duration::from_mins(1));
    assert_eq!(reported(&lab, first).len(), 2);
    lab.select(first);
    let known = lab.manager().core().other_configs().into_values().next();
    assert!(known.unwrap().is_empty());
}

/// Keys are compared by proofs of their own: an M_Key is in no digest.
#[test]
fn m_keys_are_not_in_the_digests() {
    let mut lab = Lab::up("fat-tree:4", 1, master());
    let first = lab.sm;
    let other_key = SmConfig {
        m_key: MKey::new(0x77),
        ..SmConfig::default()
    };
    let _ = lab.add_sm(OTHER_SM_PORT, other_key);
    lab.world.run_for(Duration::from_mins(1));
    assert_eq!(reported(&lab, first), Vec::<String>::new());
}
