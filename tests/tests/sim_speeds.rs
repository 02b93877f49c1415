//! Speeds as the subnet manager reports them: FDR10 hides behind QDR.

use ferrosm_mad::attr::LinkSpeed;
use ferrosm_tests::simulated::Lab;

/// A fabric of FDR10 links is one, and a fabric of QDR links is none: the vendor's attribute tells them apart.
#[test]
fn fdr10_is_told_from_qdr() {
    for speed in [LinkSpeed::Qdr, LinkSpeed::Fdr10, LinkSpeed::Fdr] {
        let mut spec = ferrosm_sim::generate::from_spec("fat-tree:4;speed=FDR").unwrap();
        for link in &mut spec.links {
            link.speed = speed;
        }
        let mut lab = Lab::on(
            "fat-tree:4",
            spec,
            1,
            ferrosm_core::SmConfig::default(),
            None,
        );
        assert!(lab.next_sweep(60).is_clean());
        let subnet = lab.manager().core().subnet();
        let seen: Vec<_> = subnet
            .links()
            .filter_map(|l| subnet.port(l.a))
            .map(ferrosm_core::Port::speed)
            .collect();
        assert_eq!(seen.len(), 48);
        assert!(
            seen.iter().all(|s| *s == Some(speed)),
            "{speed:?}: {seen:?}"
        );
    }
}
