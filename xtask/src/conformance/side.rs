//! The scenarios of one side, and reasons for failures; `client` and `server` each define one.

/// One side of the protocol, as the suite tests it.
pub(super) struct Side {
    /// Name of the side in the suite.
    pub(super) name: &'static str,
    /// Heading of the side in the document.
    pub(super) heading: &'static str,
    /// Scenarios to run, each with the revision of the protocol.
    pub(super) scenarios: &'static [(&'static str, &'static str)],
    /// Reasons why scenarios fail.
    pub(super) explained: &'static [(&'static str, &'static str)],
    /// Prefixes of scenario names that are not run, each with the reason.
    pub(super) not_run: &'static [(&'static str, &'static str)],
}
