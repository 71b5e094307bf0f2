//! Faults of a server, by name.

use clap::ValueEnum;

/// A fault that a server has in every connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Fault {
    /// Supports only `initialize`, like servers before 2026-07-28.
    OlderEra,
    /// Answers every unknown method, including `server/discover`, with an empty result.
    AnswersAnything,
    /// Each page of the list of tools has the same next cursor.
    EndlessCursor,
    /// Each page of the list of tools has another next cursor, without end.
    EndlessPages,
    /// The list of tools is 3 MiB long.
    OversizedList,
    /// The name of one tool is a number, and another tool has no schema.
    MalformedTool,
    /// Two tools have the same name once invalid characters are replaced. Another tool has the name of a built-in one.
    NameClash,
    /// A schema has `oneOf` at its top level, another has all keywords that are not allowed there, and a third refers
    /// to another document.
    OddSchemas,
    /// Writes lines to standard output that are not messages, and floods standard error.
    Chatty,
    /// Keeps running when its standard input ends.
    Lingers,
    /// Lists a tool that takes a password and repeats it on standard error, in notifications, and in its error message.
    RepeatsSecrets,
    /// Lists a tool that returns its arguments, with every digit, as structured content next to an empty text.
    RepeatsDigits,
    /// Lists a tool that returns the HTTP headers of its call. Only over HTTP.
    RepeatsHeaders,
    /// Lists a tool that returns its argument `content` as the content of its result.
    RepeatsContent,
    /// Ends each subscription with the first change that it reports. Only in the newer era.
    EndsSubscriptions,
    /// Answers calls with one JSON message instead of an event stream. Only over HTTP.
    AnswersInJson,
    /// Supports only `initialize`, and answers it with a protocol version that does not exist.
    UnknownVersion,
}
