//! The rules for prose: phrases to avoid, each with the advice that the error gives.

use std::fmt;

use anyhow::{Context as _, Result};
use regex::Regex;

use super::texts::{Place, Text};

/// A rule as it is written below.
struct Written {
    /// Where the rule applies; `None` for all texts.
    place: Option<Place>,
    pattern: &'static str,
    /// Phrases that the pattern finds but that are fine; empty if there are none.
    except: &'static str,
    advice: &'static str,
}

const ACTOR: &str = "name the actor: you, the user, the client, the server";
const NOUN: &str = "name the thing with a noun";
const CONTEXT: &str = "say what is sent, passed, shown or reported";
const RESUME: &str = "say continue, resume, retry, regenerate or rebuild";
const CONDITION: &str = "use if, when or unless";
const STANDS: &str = "say is, or name the place";
const LIMIT: &str = "name the limit, with its unit";
const TERM: &str = "use the field's term";
const BEGIN: &str = "begin with a verb, or with a noun that names the thing";

const RULES: [Written; 16] = [
    everywhere(r"who(so)?(m)?ever|whosever|nobody|somebody|everybody|oneself|one's", "", ACTOR),
    everywhere(r"one (can|may|has|sees|goes|must|wants|reads|knows|does)", "", ACTOR),
    everywhere(r"what (came|comes|becomes|became|is left|stands|there is) (of|in|at)", "", NOUN),
    everywhere(r"(is|are|was|were|be|been) told|told of|tells? of", "", CONTEXT),
    everywhere(r"(go|goes|going|gone|went) on|anew|once more", "", RESUME),
    everywhere(r"as far as|but for|for ever|for good|so far as|for as long as", "", CONDITION),
    everywhere(r"stands? (in|at|beside|there|as|still|where|for itself)", "", STANDS),
    everywhere(r"so (many|much) (of )?\w+ (are|is|of|at)|as (many|much) (of it )?as there", "", LIMIT),
    everywhere(
        r"(there )?(is|are) no [a-z]+",
        r"^there|no (longer|more|op|matter|one|need)$",
        "say is not, has no, or there is no",
    ),
    everywhere(
        r"has? (a|the|its|their|this|that) [\w ]{1,30} (done|made|asked|told|read|run|stored|shown)",
        "",
        "use the plain verb",
    ),
    everywhere(r"forsaken|patience|sign of life|farewell|heed(s|ed|ing)?|reckon(s|ed)?|stranger|lately", "", TERM),
    everywhere(r"tak(e|es|ing|en) over|at hand|sum(s|med)? up|let(s|ting)? in", "", TERM),
    Written {
        place: Some(Place::Header),
        pattern: r"^(what|who|whose|how|where|whether)\b",
        except: "",
        advice: BEGIN,
    },
    Written {
        place: Some(Place::DocComment),
        pattern: r"^(what|who|whose|how|where|whether|the same|said of|gives)\b",
        except: "",
        advice: BEGIN,
    },
    Written {
        place: Some(Place::Interface),
        pattern: r"(?-i:[A-Z]+[a-z]+[A-Z][A-Za-z0-9]*)",
        except: "^(javascript|openrouter|openai|opendocument|github|mysql|mariadb|sqlite|webp)$",
        advice: "say it in words: a text of the page has no names of types",
    },
    Written { place: None, pattern: r"^\|(\s*\|)+$", except: "", advice: "give each column a name" },
];

const fn everywhere(pattern: &'static str, except: &'static str, advice: &'static str) -> Written {
    Written { place: None, pattern, except, advice }
}

/// The compiled rules.
pub(super) struct Rules(Vec<Rule>);

struct Rule {
    place: Option<Place>,
    pattern: Regex,
    except: Option<Regex>,
    advice: &'static str,
}

/// A phrase that a rule found.
#[derive(Debug)]
pub(super) struct Finding {
    pub(super) line: usize,
    pub(super) phrase: String,
    advice: &'static str,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: “{}”: {}", self.line, self.phrase, self.advice)
    }
}

impl Rules {
    /// Compiles the rules. Patterns without an anchor match whole words.
    pub(super) fn compile() -> Result<Self> {
        let rule = |written: &Written| {
            let pattern = written.pattern;
            let words = if pattern.starts_with('^') { pattern.to_owned() } else { format!(r"\b(?:{pattern})\b") };
            let compile =
                |pattern: &str| Regex::new(&format!("(?i){pattern}")).with_context(|| format!("rule {pattern}"));
            Ok(Rule {
                place: written.place,
                pattern: compile(&words)?,
                except: (!written.except.is_empty()).then(|| compile(written.except)).transpose()?,
                advice: written.advice,
            })
        };
        RULES.iter().map(rule).collect::<Result<_>>().map(Self)
    }

    /// Returns the phrases of a text that the rules do not allow.
    pub(super) fn find(&self, text: &Text) -> Vec<Finding> {
        let applies = |rule: &&Rule| rule.place.is_none_or(|place| place == text.place);
        let found = self.0.iter().filter(applies).flat_map(|rule| {
            let phrases = rule
                .pattern
                .find_iter(&text.prose)
                .filter(|found| rule.except.as_ref().is_none_or(|except| !except.is_match(found.as_str())));
            phrases.map(|found| Finding {
                line: text.line_of(found.start()),
                phrase: found.as_str().to_owned(),
                advice: rule.advice,
            })
        });
        found.collect()
    }
}
