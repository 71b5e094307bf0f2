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
            "What these checks try is what certain tools of the suite's own naming do, which a server has that was made for it.",
        ),
        (
            "caching",
            "There are tools and nothing else: no prompts and no resources, which is told as a method that there is not.",
        ),
    ],
    not_run: &[
        ("prompts-", ONLY_TOOLS),
        ("resources-", ONLY_TOOLS),
        ("completion-", ONLY_TOOLS),
        ("logging-", "Nothing is logged to the program: what happens in a call is its result."),
        ("tools-call-", TOOLS_OF_THE_SUITE),
        ("json-schema-2020-12", TOOLS_OF_THE_SUITE),
        ("http-custom-header-server-validation", TOOLS_OF_THE_SUITE),
        (
            "input-required-result-",
            "The others of these: no tool here asks the person or the program for more: what it needs stands in its arguments, and what needs \
             consent is not offered.",
        ),
        ("elicitation-", "The same, as it was before 2026-07-28."),
        (
            "server-session-",
            "There are no sessions: every request stands for itself, also in the older revisions, which allow that.",
        ),
        ("server-sse-", "There are no streams: an answer is one JSON body, and the server says nothing by itself."),
        ("tasks-", AN_EXTENSION),
        ("sep-2640-", AN_EXTENSION),
    ],
};

const ONLY_TOOLS: &str = "There are tools and nothing else, and no other capability is declared.";
const TOOLS_OF_THE_SUITE: &str = "Calls tools of the suite's own naming, which a server has that was made for it. Tallybook's \
    own are called in its tests, by its own client and by the official Python SDK.";
const AN_EXTENSION: &str = "An extension, which is optional.";
