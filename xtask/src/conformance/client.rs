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
        ("elicitation-sep1034-client-defaults", NOBODY_IS_ASKED),
        ("sep-2322-client-request-state", NOBODY_IS_ASKED),
        (
            "json-schema-2020-12-preservation",
            "Schemas are made such that every model provider takes them: references are put in place, and alternatives at the \
             top are left out. The server checks arguments by its own schema in any case.",
        ),
    ],
    not_run: &[
        (
            "auth/",
            "People signing in to a server in a browser, with discovery of the server that lets them in. Tallybook signs in as \
             itself, by client credentials, at the address in its settings, and asks nobody where that is: a tool server that \
             could say so could also say something else.",
        ),
        ("sep-2640-", "An extension, which is optional."),
    ],
};

const NOBODY_IS_ASKED: &str = "A server cannot ask a person for input through Tallybook, and is told so: the capability is not \
    declared, and a call that wants it ends as `input_required`.";

/// Builds the program under test.
pub(super) fn build() -> Result<PathBuf> {
    let step = Step::begin("building the client", "");
    shell::run(shell::cargo().args(["build", "--package", "tallybook-mcp", "--example", "conformance_client"]))?;
    step.done("");
    workspace::built("debug/examples", "conformance_client")
}
