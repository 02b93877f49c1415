//! The choice of one legal next hop for every entry of the tables.
//!
//! On trees the choice is a closed form (`dmodc_assignment`), on other graphs it follows the load
//! (`load_balance`). `fill` selects between them and keeps installed entries.

pub(crate) mod dmodc_assignment;
pub(crate) mod fill;
pub(crate) mod load_balance;
