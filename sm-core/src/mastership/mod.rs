//! Which SM is master of the subnet, and the way from one master to the next (IBA vol. 1, 14.4).

pub mod election;
