//! Ports and their links: the desired PortInfo, its writes in the order in which links come up,
//! degraded links, links that do not stay active, and limits that operators set.

pub(crate) mod limits;
pub(crate) mod link_rates;
pub(crate) mod link_setup;
pub(crate) mod link_stability;
pub mod port_settings;
