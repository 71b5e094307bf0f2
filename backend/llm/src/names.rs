//! Resolves the tool names that models write. In prompts, models misspell names. Native APIs forward names with
//! namespaces and special tokens around them. Both tool modes therefore resolve names here.

use tallybook_tools::{Risk, ToolSpec};

use super::{limits::MAX_TOOL_NAME_CHARS, request::ToolCallRequest};

/// Replaces the name in a call with the name of the tool that it means. A name that matches no tool stays as written,
/// so that the model receives an error.
pub(crate) fn resolved(call: ToolCallRequest, tools: &[ToolSpec]) -> ToolCallRequest {
    let name = resolve(&call.name, tools).map(str::to_owned);
    ToolCallRequest { name: name.unwrap_or(call.name), ..call }
}

/// Returns the name of the tool that the written name means, or `None` if there is none or it is ambiguous. The rules,
/// in order:
/// - the tool with exactly this name
/// - the only tool with this name, ignoring case and punctuation
/// - the only tool with this alias, ignoring case and punctuation
/// - the only tool whose name may have been misspelled in this way
pub(crate) fn resolve<'a>(written: &str, tools: &'a [ToolSpec]) -> Option<&'a str> {
    if let Some(tool) = tools.iter().find(|tool| tool.name == written) {
        return Some(&tool.name);
    }
    let plain = plain(bare(written));
    // No tool has a longer name, and the cost of computing the distance is the product of the lengths.
    if plain.is_empty() || plain.chars().count() > MAX_TOOL_NAME_CHARS {
        return None;
    }
    only(tools, |tool| self::plain(&tool.name) == plain)
        .or_else(|| only(tools, |tool| tool.aliases.iter().any(|alias| self::plain(alias) == plain)))
        .or_else(|| only(tools, |tool| is_slip(&plain, tool)))
}

/// Removes additions that models write around a name: a special token and the text after it
/// (`add<|channel|>commentary`), the number of the call (`functions.add:0`), and a namespace (`functions.add`,
/// `default_api:add`, `tools/add`).
fn bare(written: &str) -> &str {
    let name = written.split_once("<|").map_or(written, |(name, _)| name);
    let name = match name.rsplit_once(':') {
        Some((name, number)) if !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => name,
    };
    name.rsplit(['.', ':', '/']).next().unwrap_or(name)
}

/// Returns the name of the only tool for which `holds` is true; `None` if there are none or several.
fn only(tools: &[ToolSpec], holds: impl Fn(&ToolSpec) -> bool) -> Option<&str> {
    let mut found = tools.iter().filter(|tool| holds(tool));
    let first = found.next()?;
    found.next().is_none().then_some(&first.name)
}

/// Returns `true` if the written name may be a misspelling of the tool's name: at most two letters are wrong, missing,
/// extra or swapped. Short names allow fewer errors, because there two letters make another word. A tool that is not
/// low-risk never matches, because a call that can change something must not run on a guess.
fn is_slip(plain: &str, tool: &ToolSpec) -> bool {
    let name = self::plain(&tool.name);
    let allowed = (name.chars().count() / 3).min(2);
    tool.risk == Risk::Low && strsim::osa_distance(plain, &name) <= allowed
}

/// Returns the letters and digits of a name, in lower case.
fn plain(name: &str) -> String {
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use tallybook_tools::{Risk, ToolSpec, builtin};

    use super::resolve;

    fn spec(name: &str, risk: Risk) -> ToolSpec {
        ToolSpec {
            name: name.to_owned(),
            description: String::new(),
            aliases: Vec::new(),
            input_schema: serde_json::json!({"type": "object"}),
            server: None,
            risk,
            idempotent: false,
            definition_hash: None,
        }
    }

    #[test]
    fn near_misses_resolve_to_the_nearest_tool() {
        let tools = builtin().unwrap().specs();
        for (written, expected) in [
            ("add", Some("add")),
            ("ADD", Some("add")),
            (" Add ", Some("add")),
            ("functions.add", Some("add")),
            ("default_api:multiply", Some("multiply")),
            ("functions.add:0", Some("add")),
            ("add<|channel|>commentary", Some("add")),
            ("functions.add<|constrain|>json", Some("add")),
            ("<|channel|>", None),
            (":0", None),
            ("plus", Some("add")),
            ("Sum", Some("add")),
            ("minus", Some("subtract")),
            ("sub", Some("subtract")),
            ("times", Some("multiply")),
            ("mul", Some("multiply")),
            ("product", Some("multiply")),
            ("div", Some("divide")),
            ("calc", Some("evaluate")),
            ("calculate", Some("evaluate")),
            ("eval", Some("evaluate")),
            ("math", Some("evaluate")),
            ("Calculator", Some("evaluate")),
            ("adn", Some("add")),
            ("substract", Some("subtract")),
            ("mulitply", Some("multiply")),
            ("devide", Some("divide")),
            ("evalaute", Some("evaluate")),
            // No tool's name is similar enough.
            ("or", None),
            ("ask", None),
            ("search_the_web", None),
            ("", None),
            ("-", None),
        ] {
            assert_eq!(resolve(written, &tools), expected, "{written}");
        }
        assert_eq!(resolve(&"add".repeat(100_000), &tools), None);
    }

    #[test]
    fn punctuation_and_case_do_not_matter_unless_two_tools_differ_in_nothing_else() {
        let tools = [spec("read_file", Risk::Low), spec("list-files", Risk::Low), spec("List_Files", Risk::Low)];
        for written in ["readFile", "read-file", "read file", "READ_FILE"] {
            assert_eq!(resolve(written, &tools), Some("read_file"), "{written}");
        }
        assert_eq!(resolve("List_Files", &tools), Some("List_Files"));
        assert_eq!(resolve("listfiles", &tools), None);
    }

    #[test]
    fn a_typo_resolves_only_to_a_single_low_risk_tool() {
        let tools = [spec("window", Risk::Low), spec("windows", Risk::Low), spec("delete_file", Risk::High)];
        assert_eq!(resolve("windos", &tools), None);
        assert_eq!(resolve("delete_fil", &tools), None);
        assert_eq!(resolve("Delete-File", &tools), Some("delete_file"));
    }

    #[test]
    fn a_name_has_priority_over_an_alias() {
        let mut other = spec("other", Risk::Low);
        other.aliases = vec!["sum".to_owned()];
        assert_eq!(resolve("Sum", &[other, spec("sum", Risk::Low)]), Some("sum"));
    }
}
