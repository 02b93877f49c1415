//! Preloaded into a libibumad program, stands in for the kernel's umad devices: the program runs on a
//! simulated fabric.
