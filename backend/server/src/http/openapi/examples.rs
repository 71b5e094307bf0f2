//! Examples of the main operations for curl, Python and TypeScript. They are files of their own, `docs/api/examples`, which the
//! browser tests run as the page shows them.

/// One thing to do, in each language.
pub(super) struct Example {
    /// The name of the files.
    pub(super) name: &'static str,
    /// What is done, where the operation has several.
    pub(super) what: &'static str,
    /// The operation, by its id.
    pub(super) operation: &'static str,
    /// The languages, and how it is written in each.
    pub(super) texts: [(&'static str, &'static str); 3],
}

macro_rules! example {
    ($operation:literal, $name:literal, $what:literal) => {
        Example {
            name: $name,
            what: $what,
            operation: $operation,
            texts: [
                ("curl", include_str!(concat!("../../../../../docs/api/examples/", $name, ".sh"))),
                ("Python", include_str!(concat!("../../../../../docs/api/examples/", $name, ".py"))),
                ("TypeScript", include_str!(concat!("../../../../../docs/api/examples/", $name, ".ts"))),
            ],
        }
    };
}

pub(super) const EXAMPLES: [Example; 5] = [
    example!("create_chat_completion", "answer", "An answer, whole."),
    example!("create_chat_completion", "stream", "The same, as it is written."),
    example!("chat_in_thread", "thread", "A question, and one more in the same thread."),
    example!("send_message", "message", "A new conversation, and the events of its first answer."),
    example!("mcp", "tool", "A tool, called without a model."),
];
