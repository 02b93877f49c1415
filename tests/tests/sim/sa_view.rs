//! A view that shares unchanged parts with its predecessor gives the same replies as a view built
//! from scratch.

use std::sync::Arc;

use ferrosm_core::SmConfig;
use ferrosm_mad::gmp::Peer;
use ferrosm_mad::ids::AttrId;
use ferrosm_mad::mad::Method;
use ferrosm_mad::sa::id;
use ferrosm_sa::{Disposition, SaRequest, View, answer};
use ferrosm_sim::spec::PortAt;
use ferrosm_tests::lab::{Lab, TestRng};
use ferrosm_tests::sa::wire::message;

/// The reply to a client at the SM's own port that queries all records of a kind, if the view
/// serves it.
fn table(view: &View, attr: AttrId) -> Option<Vec<u8>> {
    let bytes = message(Method::GetTable, attr, 0, &[]);
    let from = Peer {
        lid: view.end_port(view.local?).lid,
        ..Peer::default()
    };
    let request = SaRequest::parse(from, &bytes)?;
    match answer(view, &request) {
        Disposition::Reply(reply) => Some(reply.to_bytes(&request)),
        Disposition::ForwardToSm | Disposition::Drop(_) => None,
    }
}

/// The current view and a newly built one give the same replies.
fn assert_same(lab: &Lab, description: &str) {
    let core = lab.manager().core();
    let settings = SmConfig::default().sa_settings();
    let new_view = View::new(Arc::new(core.snapshot(None)), settings);
    let Some(view) = core.view() else {
        panic!("{} no view after {description}", lab.describe_run());
    };
    let kinds = [
        id::NODE,
        id::PORT_INFO,
        id::SWITCH_INFO,
        id::LFT,
        id::LINK,
        id::PKEY_TABLE,
        id::PATH,
    ];
    for attr in kinds {
        let expected = table(&new_view, attr);
        assert!(
            expected.is_some() && table(view, attr) == expected,
            "{} {attr:?} differs after {description}",
            lab.describe_run()
        );
    }
    for at in new_view.end_port_indices() {
        let end = new_view.end_port(at);
        assert_eq!(view.by_guid(end.guid).map(|e| view.end_port(e)), Some(end));
        assert_eq!(view.by_lid(end.lid).map(|e| view.end_port(e)), Some(end));
    }
    assert_eq!(view.end_ports().len(), new_view.end_ports().len());
    assert!(view.end_port_changes(Some(&new_view)) == new_view.end_port_changes(Some(view)));
}

#[test]
fn shared_view_parts_are_current() {
    for (spec, seed) in [("fat-tree:4", 1), ("torus:3,3,1,2", 2), ("fat-tree:4", 3)] {
        let mut lab = Lab::new(spec, seed);
        lab.next_sweep(60);
        assert_same(&lab, "the first sweep");
        let mut rng = TestRng::new(seed);
        let mut cut_links: Vec<PortAt> = Vec::new();
        let sm_node = lab.at.node;
        for step in 0..10 {
            let restores = !cut_links.is_empty() && rng.one_in(2);
            let description = if restores {
                let at = cut_links.swap_remove(rng.index(cut_links.len()));
                lab.world.fabric_mut().restore(at).expect("link");
                format!("step {step}, {at:?} restored")
            } else {
                // Cut host links too, so that hosts and whole subtrees come and go, but not the
                // SM's own link.
                let links = &lab.spec.links;
                let link = links[rng.index(links.len())];
                if link.a.node == sm_node || link.b.node == sm_node || cut_links.contains(&link.a) {
                    continue;
                }
                lab.world.fabric_mut().cut(link.a).expect("link");
                cut_links.push(link.a);
                format!("step {step}, {:?} cut", link.a)
            };
            lab.next_sweep(60);
            assert_same(&lab, &description);
        }
    }
}
