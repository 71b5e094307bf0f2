//! Scenarios for `backend/mcp` as a client, run through its example `conformance_client`.

use std::path::PathBuf;

use anyhow::Result;

use super::side::Side;
use crate::{progress::Step, shell, workspace};

pub(super) const SIDE: Side = Side {
    name: "client",
    heading: "## As a client",
    scenarios: &[
        ("initialize", "2025-11-25"),
        ("tools_call", "2025-11-25"),
        ("sse-retry", "2025-11-25"),
        ("elicitation-sep1034-client-defaults", "2025-11-25"),
        ("tools_call", "2026-07-28"),
        ("request-metadata", "2026-07-28"),
        ("http-standard-headers", "2026-07-28"),
        ("http-custom-headers", "2026-07-28"),
        ("http-invalid-tool-headers", "2026-07-28"),
        ("json-schema-ref-no-deref", "2026-07-28"),
        ("json-schema-2020-12-preservation", "2026-07-28"),
        ("sep-2322-client-request-state", "2026-07-28"),
    ],
    explained: &[
        ("elicitation-sep1034-client-defaults", ELICITATION_UNSUPPORTED),
        ("sep-2322-client-request-state", ELICITATION_UNSUPPORTED),
        (
            "json-schema-2020-12-preservation",
            "Tallybook adapts schemas so that every model provider accepts them: it resolves references inline, and \
             merges alternatives at the top into the properties. The server checks arguments against its own schema \
             in any case.",
        ),
    ],
    not_run: &[
        (
            "auth/",
            "These scenarios are about users who sign in to a server in a browser, with discovery of the \
             authorization server. Tallybook signs in as itself, with client credentials, at the token endpoint in \
             its settings. It does not use discovery: a tool server could name any address.",
        ),
        ("sep-2640-", "An optional extension."),
    ],
};

const ELICITATION_UNSUPPORTED: &str = "Tallybook does not pass a server's requests for input on to users. It does not \
    declare the capability, and a call that needs it ends as `input_required`.";

/// Builds the program under test.
pub(super) fn build() -> Result<PathBuf> {
    let step = Step::begin("building the client", "");
    shell::run(shell::cargo().args(["build", "--package", "tallybook-mcp", "--example", "conformance_client"]))?;
    step.done("");
    workspace::built("debug/examples", "conformance_client")
}
