//! Faults of a server, by name.

use clap::ValueEnum;

/// A fault that a server has in every connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Fault {
    /// It knows `initialize` alone, as servers did before 2026-07-28.
    OlderEra,
    /// It answers what it does not know with an empty result, `server/discover` among it.
    AnswersAnything,
    /// Each page of its tools names the same next page.
    EndlessCursor,
    /// Each page of its tools names another next page.
    EndlessPages,
    /// The list of its tools is 3 MiB long.
    OversizedList,
    /// One of its tools has a number for a name, and one no schema.
    MalformedTool,
    /// Two of its tools have one name once the characters are replaced, and one is called like a built-in tool.
    NameClash,
    /// A tool's schema has a `oneOf` at the top, one all that may not stand there, and one refers to another document.
    OddSchemas,
    /// It writes lines to its standard output that are no messages, and floods its standard error.
    Chatty,
    /// It goes on when its standard input ends.
    Lingers,
    /// It has a tool that takes a password, repeats it on its standard error and in its notifications, and fails with it.
    RepeatsSecrets,
    /// It has a tool that returns its arguments, with every digit, as structured content beside an empty text.
    RepeatsDigits,
    /// It has a tool that repeats the headers with which it was called. Over HTTP alone.
    RepeatsHeaders,
    /// Of the newer era, it ends each subscription with the first change that it tells.
    EndsSubscriptions,
    /// Over HTTP, it answers calls with one JSON message and not with a stream of events.
    AnswersInJson,
    /// It knows `initialize` alone, and answers it with a protocol version that does not exist.
    UnknownVersion,
}
