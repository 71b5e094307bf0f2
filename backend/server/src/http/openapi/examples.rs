//! Examples of the main operations for curl, Python and TypeScript. They are files in `docs/reference/api-examples`.
//! The browser tests run them as the page shows them.

/// An example of an operation, in each language.
pub(crate) struct Example {
    /// Name of the example's files, without the extension.
    pub(crate) name: &'static str,
    /// Description of the example.
    pub(crate) what: &'static str,
    /// Id of the operation.
    pub(crate) operation: &'static str,
    /// The languages, each with the source of the example.
    pub(crate) texts: [(&'static str, &'static str); 3],
}

macro_rules! example {
    ($operation:literal, $name:literal, $what:literal) => {
        Example {
            name: $name,
            what: $what,
            operation: $operation,
            texts: [
                ("curl", include_str!(concat!("../../../../../docs/reference/api-examples/", $name, ".sh"))),
                ("Python", include_str!(concat!("../../../../../docs/reference/api-examples/", $name, ".py"))),
                ("TypeScript", include_str!(concat!("../../../../../docs/reference/api-examples/", $name, ".ts"))),
            ],
        }
    };
}

pub(crate) const EXAMPLES: [Example; 5] = [
    example!("create_chat_completion", "answer", "A complete answer."),
    example!("create_chat_completion", "stream", "A streamed answer."),
    example!("chat_in_thread", "thread", "A question and a follow-up question in the same thread."),
    example!("send_message", "message", "A new conversation and the events of its first answer."),
    example!("mcp", "tool", "A tool call without a model."),
];
