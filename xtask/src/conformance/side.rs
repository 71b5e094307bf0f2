//! What is tried of the suite, and why a part of it may fail: what `client` and `server` each say of theirs.

/// One side of the protocol, as the suite tries it.
pub(super) struct Side {
    /// What the suite calls it.
    pub(super) name: &'static str,
    /// Under which heading the document has it.
    pub(super) heading: &'static str,
    /// What is run: scenario and revision of the protocol.
    pub(super) scenarios: &'static [(&'static str, &'static str)],
    /// Why a scenario may fail.
    pub(super) explained: &'static [(&'static str, &'static str)],
    /// What of the suite is not run, by how the names of its scenarios begin, and why.
    pub(super) not_run: &'static [(&'static str, &'static str)],
}
