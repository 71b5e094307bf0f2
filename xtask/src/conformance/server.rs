//! Scenarios for a Tallybook server (`/mcp`).

use super::side::Side;

pub(super) const SIDE: Side = Side {
    name: "server",
    heading: "## As a server",
    scenarios: &[
        ("server-initialize", "2025-11-25"),
        ("ping", "2025-11-25"),
        ("tools-list", "2025-11-25"),
        ("dns-rebinding-protection", "2025-11-25"),
        ("server-stateless", "2026-07-28"),
        ("tools-list", "2026-07-28"),
        ("caching", "2026-07-28"),
        ("http-header-validation", "2026-07-28"),
        ("dns-rebinding-protection", "2026-07-28"),
        ("sep-2164-resource-not-found", "2026-07-28"),
        ("input-required-result-unsupported-methods", "2026-07-28"),
    ],
    explained: &[
        (
            "server-stateless",
            "These checks call tools with names that the suite defines, which only servers made for the suite have.",
        ),
        (
            "caching",
            "The server has only tools. It answers requests for prompts and resources with the error for an unknown \
             method.",
        ),
    ],
    not_run: &[
        ("prompts-", ONLY_TOOLS),
        ("resources-", ONLY_TOOLS),
        ("completion-", ONLY_TOOLS),
        ("logging-", "The server sends no log messages to clients: the result of a call says what happened."),
        ("tools-call-", TOOLS_OF_THE_SUITE),
        ("json-schema-2020-12", TOOLS_OF_THE_SUITE),
        ("http-custom-header-server-validation", TOOLS_OF_THE_SUITE),
        (
            "input-required-result-",
            "The other scenarios of this kind. Tallybook's tools never ask the user or the client for more input: \
             their arguments contain all of it, and `/mcp` does not offer tools that need approval.",
        ),
        ("elicitation-", "The same, in revisions before 2026-07-28."),
        (
            "server-session-",
            "The server has no sessions: every request is independent. The older revisions allow that, too.",
        ),
        ("server-sse-", "The server has no streams: a response is one JSON body, and the server sends nothing else."),
        ("tasks-", AN_EXTENSION),
        ("sep-2640-", AN_EXTENSION),
    ],
};

const ONLY_TOOLS: &str = "The server has only tools and declares no other capability.";
const TOOLS_OF_THE_SUITE: &str = "These scenarios call tools with names that the suite defines. Tallybook's tests \
    call its own tools, with its own client and with the official Python SDK.";
const AN_EXTENSION: &str = "An optional extension.";
