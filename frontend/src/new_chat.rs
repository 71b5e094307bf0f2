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
    /// The tools, in the server's order.
    pub(crate) tools: Vec<ToolSummary>,
    /// Number of tools that are not in `tools`.
    pub(crate) more: usize,
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

impl ToolSummary {
    /// Returns the display name. A tool of a server, such as `files__read`, is shown as `files · read`.
    pub(crate) fn shown_name(&self) -> String {
        self.name.replacen("__", " · ", 1)
    }
}

/// An example question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Example {
    pub(crate) question: String,
    /// Names of the tools that the question shows.
    pub(crate) tools: Vec<String>,
}

impl NewChatInfo {
    /// Creates the offer of these tools, and of the demo model if it answers.
    pub(crate) fn new(tools: &[ToolInfo], is_demo: bool) -> Self {
        let more = tools.len().saturating_sub(MAX_TOOLS);
        let tools = tools.iter().take(MAX_TOOLS).map(|tool| {
            let (about, _) = beginning(first_sentence(&tool.description), MAX_ABOUT_CHARS);
            ToolSummary { about: about.to_owned(), name: tool.name.clone() }
        });
        Self { tools: tools.collect(), more, is_demo }
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

    /// Returns example questions that the available tools can answer: first the questions written for certain tools,
    /// then one for each other tool. Without tools, it returns questions that a model can answer alone.
    pub(crate) fn examples(&self, language: Language) -> Vec<Example> {
        let has = |name: &str| self.tools.iter().any(|tool| tool.name == name);
        let known = language.examples(self.is_demo).iter().filter(|(tools, _)| tools.iter().all(|tool| has(tool)));
        let mut examples: Vec<Example> = known
            .map(|(tools, question)| Example {
                question: (*question).to_owned(),
                tools: tools.iter().map(|&tool| tool.to_owned()).collect(),
            })
            .collect();
        let is_shown = |name: &str| language.examples(self.is_demo).iter().any(|(tools, _)| tools.contains(&name));
        let others = self
            .tools
            .iter()
            .filter(|tool| !is_shown(&tool.name))
            .map(|tool| Example { question: language.show_tool(&tool.shown_name()), tools: vec![tool.shown_name()] });
        // At least one of the other tools is shown, because the operator added them on purpose.
        if !self.is_demo {
            let mut others = others.peekable();
            if others.peek().is_some() {
                examples.truncate(MAX_EXAMPLES - 1);
            }
            examples.extend(others);
        }
        if examples.is_empty() {
            examples.extend(
                language
                    .examples_without_tools()
                    .map(|question| Example { question: question.to_owned(), tools: Vec::new() }),
            );
        }
        examples.truncate(MAX_EXAMPLES);
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
            server: None,
            idempotent: true,
            enabled: true,
            changed: None,
        });
        NewChatInfo::new(&tools.collect::<Vec<_>>(), provider == "demo")
    }

    fn shown(offer: &NewChatInfo, language: Language) -> Vec<String> {
        offer.examples(language).into_iter().map(|example| example.tools.join("+")).collect()
    }

    #[test]
    fn examples_follow_the_tools_and_the_model() {
        let all = ["add", "subtract", "multiply", "divide", "evaluate"];
        for language in Language::ALL {
            assert_eq!(shown(&offer("demo", &all), language), ["add+multiply", "multiply", "add+divide"]);
            assert_eq!(shown(&offer("demo", &["add", "multiply"]), language), ["add+multiply", "multiply"]);
            let with_others = [&all[..], &["current_time", "convert_units"]].concat();
            let questions = shown(&offer("openai", &with_others), language);
            assert_eq!(questions, ["multiply+divide", "current_time", "convert_units"]);
            let mixed = shown(&offer("anthropic", &["add", "multiply", "divide", "search_files"]), language);
            assert_eq!((mixed.len(), mixed[2].as_str()), (3, "search_files"));
            let foreign = offer("openai", &["weather", "mail", "map", "web"]);
            assert_eq!(shown(&foreign, language), ["weather", "mail", "map"]);
            assert!(foreign.examples(language)[0].question.contains("weather"));
            assert_eq!(shown(&offer("openai", &[]), language), ["", "", ""]);
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
    fn tools_of_a_server_are_named_with_their_server() {
        let offer = offer("openai", &["files__read__all", "add"]);
        let names: Vec<String> = offer.tools.iter().map(super::ToolSummary::shown_name).collect();
        assert_eq!(names, ["files · read__all", "add"]);
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
