//! The tools and example questions that a new chat shows. Pure; `text` has the texts of the questions.

use serde::{Deserialize, Serialize};
use tallybook_protocol::ToolInfo;

use crate::{format::beginning, i18n::Greeting, language::Language};

/// Maximum number of tools that are sent with the page. The example questions are about them.
const MAX_TOOLS: usize = 12;
/// Maximum number of tools that a new chat names. The list of all tools has the others.
const MAX_NAMED: usize = 8;
/// Maximum number of characters of a tool's description that are sent with the page.
const MAX_ABOUT_CHARS: usize = 160;
/// Maximum number of example questions.
const MAX_EXAMPLES: usize = 3;

/// The tools and the model that a new chat can use.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct NewChatInfo {
    /// The first tools: the built-in ones, then those of servers.
    pub(crate) tools: Vec<ToolSummary>,
    /// Number of tools that are not in `tools`.
    pub(crate) more: usize,
    /// Names of the first tool servers that have tools.
    pub(crate) servers: Vec<String>,
    /// `true` if the built-in demo model answers, which only does arithmetic.
    pub(crate) is_demo: bool,
}

/// Names of the tools that calculate.
const CALCULATOR: [&str; 5] = ["add", "subtract", "multiply", "divide", "evaluate"];

/// A tool, as shown before it is used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ToolSummary {
    pub(crate) name: String,
    /// The first sentence of the tool's description, in the server's language.
    pub(crate) about: String,
}

/// An example question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Example {
    pub(crate) question: String,
    /// Titles of the tools that the question shows, or the name of the server whose tools it shows.
    pub(crate) tools: Vec<String>,
}

impl NewChatInfo {
    /// Creates the offer of these tools, and of the demo model if it answers.
    pub(crate) fn new(tools: &[ToolInfo], is_demo: bool) -> Self {
        let more = tools.len().saturating_sub(MAX_TOOLS);
        let mut servers: Vec<String> = Vec::new();
        for server in tools.iter().filter_map(|tool| tool.server.as_ref()) {
            if servers.len() < MAX_EXAMPLES && !servers.contains(server) {
                servers.push(server.clone());
            }
        }
        // The questions are about the built-in tools, so the tools of servers are cut first.
        let (own, of_servers): (Vec<_>, Vec<_>) = tools.iter().partition(|tool| tool.server.is_none());
        let tools = own.into_iter().chain(of_servers).take(MAX_TOOLS).map(|tool| {
            let (about, is_cut) = beginning(first_sentence(&tool.description), MAX_ABOUT_CHARS);
            ToolSummary { about: format!("{about}{}", if is_cut { "…" } else { "" }), name: tool.name.clone() }
        });
        Self { tools: tools.collect(), more, servers, is_demo }
    }

    /// Returns the tools that a new chat names, and the number of all others.
    pub(crate) fn named(&self) -> (Vec<ToolSummary>, usize) {
        let named: Vec<ToolSummary> = self.tools.iter().take(MAX_NAMED).cloned().collect();
        let more = self.tools.len() - named.len() + self.more;
        (named, more)
    }

    /// Returns the kind of greeting. For the demo model, it is about arithmetic, even if there are other tools.
    pub(crate) fn greeting(&self) -> Greeting {
        match () {
            () if self.tools.is_empty() => Greeting::Talk,
            () if self.is_demo || self.tools.iter().all(|tool| CALCULATOR.contains(&&*tool.name)) => {
                Greeting::Calculator
            }
            () => Greeting::Tools,
        }
    }

    /// Returns example questions: those written for certain built-in tools, and one about each tool server, because the
    /// operator added it on purpose. The demo model can only calculate. Without either, it returns questions that a
    /// model can answer alone.
    pub(crate) fn examples(&self, language: Language) -> Vec<Example> {
        let has = |name: &str| self.tools.iter().any(|tool| tool.name == name);
        let known = language.examples(self.is_demo).iter().filter(|(tools, _)| tools.iter().all(|tool| has(tool)));
        let known = known.map(|(tools, question)| Example {
            question: (*question).to_owned(),
            tools: tools.iter().map(|tool| language.tool_title(tool)).collect(),
        });
        let servers = if self.is_demo { &[][..] } else { &self.servers };
        let of_servers =
            servers.iter().map(|server| Example { question: language.ask_about(server), tools: vec![server.clone()] });
        let mut examples: Vec<Example> =
            known.take(MAX_EXAMPLES.saturating_sub(servers.len())).chain(of_servers).collect();
        if examples.is_empty() {
            let alone = language.examples_without_tools().into_iter();
            examples.extend(alone.map(|question| Example { question: question.to_owned(), tools: Vec::new() }));
        }
        examples
    }
}

fn first_sentence(text: &str) -> &str {
    let text = text.trim();
    text.find(". ").map_or(text, |end| &text[..=end])
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use tallybook_protocol::ToolInfo;

    use super::{Greeting, MAX_NAMED, MAX_TOOLS, NewChatInfo};
    use crate::language::Language;

    fn offer(provider: &str, names: &[&str]) -> NewChatInfo {
        let tools = names.iter().map(|&name| ToolInfo {
            name: name.to_owned(),
            description: "Adds 0.1 and 0.2. Use it for sums.".to_owned(),
            input_schema: json!({}),
            risk: "low".to_owned(),
            server: name.split_once("__").map(|(server, _)| server.to_owned()),
            idempotent: true,
            enabled: true,
            changed: None,
        });
        NewChatInfo::new(&tools.collect::<Vec<_>>(), provider == "demo")
    }

    fn shown(offer: &NewChatInfo) -> Vec<String> {
        offer.examples(Language::English).into_iter().map(|example| example.tools.join("+")).collect()
    }

    #[test]
    fn examples_follow_the_tools_and_the_model() {
        let all = ["add", "subtract", "multiply", "divide", "evaluate"];
        assert_eq!(shown(&offer("demo", &all)), ["Add+Multiply", "Multiply", "Add+Divide"]);
        assert_eq!(shown(&offer("demo", &["add", "multiply"])), ["Add+Multiply", "Multiply"]);
        let with_others = [&all[..], &["current_time", "convert_units"]].concat();
        assert_eq!(shown(&offer("openai", &with_others)), ["Multiply+Divide", "Current time", "Convert units"]);
        assert_eq!(shown(&offer("openai", &["unknown"])), ["", "", ""], "no question about it is known");
        assert_eq!(shown(&offer("openai", &[])), ["", "", ""]);
    }

    #[test]
    fn each_tool_server_has_an_example_however_many_tools_it_has() {
        let many: Vec<String> = (0..MAX_TOOLS).map(|n| format!("files__tool_{n}")).collect();
        let mut names = vec!["add"];
        names.extend(many.iter().map(String::as_str));
        names.extend(["mail__send", "divide", "multiply"]);
        assert_eq!(shown(&offer("openai", &names)), ["Multiply+Divide", "files", "mail"]);
        assert_eq!(shown(&offer("openai", &["a__x", "b__x", "c__x", "d__x"])), ["a", "b", "c"]);
        let demo = offer("demo", &["multiply", "files__read"]);
        assert_eq!(shown(&demo), ["Multiply"], "the demo model only calculates");
        for language in Language::ALL {
            let examples = offer("openai", &names).examples(language);
            assert!(examples[1].question.contains("files") && examples[2].question.contains("mail"), "{examples:?}");
        }
    }

    #[test]
    fn the_greeting_follows_the_tools_and_the_model() {
        for language in Language::ALL {
            let said = |provider, names: &[&str]| language.greeting(offer(provider, names).greeting());
            let (calculator, tools, talk) =
                (said("openai", &["add", "evaluate"]), said("openai", &["add", "current_time"]), said("openai", &[]));
            assert_eq!(said("demo", &["add", "current_time"]), calculator, "the demo model only calculates");
            assert_eq!(said("openai", &["weather__today"]), tools);
            assert!(
                calculator.0 != tools.0 && tools.0 != talk.0 && talk.0 != calculator.0,
                "{calculator:?} {tools:?} {talk:?}"
            );
            assert!(calculator.1 == tools.1 && talk.1 != tools.1, "only with tools, it mentions their records");
        }
        assert_eq!(offer("openai", &[]).greeting(), Greeting::Talk);
    }

    #[test]
    fn excess_tools_are_counted_and_descriptions_are_shortened() {
        let names: Vec<String> = (0..30).map(|n| format!("tool_{n}")).collect();
        let offer = offer("openai", &names.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!((offer.tools.len(), offer.more), (MAX_TOOLS, 18));
        let (shown, more) = offer.named();
        assert_eq!((shown.len(), more), (MAX_NAMED, 22));
        assert_eq!(offer.tools[0].about, "Adds 0.1 and 0.2.");
    }
}
