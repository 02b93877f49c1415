//! Between a simulated fabric's server and the programs attached to it: a socket for requests, shared
//! memory for MADs.
//!
//! Used by the daemon (`ferrosm sim`) on one side and the preloaded library (`attach`) on the other.
//! It knows what a message is, not what is in it.
