//! Packets under way: links and agents take time and fail, in virtual or real time.
