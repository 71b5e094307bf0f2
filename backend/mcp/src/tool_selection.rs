//! Selects the available tools of a server and their risk. The selection depends on the settings, on the tools'
//! annotations if the settings trust them, and on the accepted definitions.

use std::collections::HashMap;

use tallybook_tools::Risk;

use super::{
    limits::MAX_LOGGED_NAMES,
    listing::{LeftOut, ListedTool, Listing},
    pins::DefinitionHash,
    settings::{Pin, RiskSetting, ToolServerSettings},
};

/// An available tool of a server.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SelectedTool {
    pub(crate) listed: ListedTool,
    pub(crate) risk: Risk,
    pub(crate) idempotent: bool,
    /// True if its definition is not accepted. Either the definition changed, the server added the tool after its first
    /// listing, or the accepted definitions could not be read yet.
    pub(crate) changed: bool,
}

/// Tools of a server that are available, and tools that are not.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct ToolSelection {
    pub(crate) tools: Vec<SelectedTool>,
    pub(crate) left_out: Vec<LeftOut>,
}

impl ToolSelection {
    /// Returns the names of the tools whose definition is not the accepted one, available or withheld.
    pub(crate) fn changed(&self) -> impl Iterator<Item = &str> {
        let offered = self.tools.iter().filter(|tool| tool.changed).map(|tool| tool.listed.name.as_str());
        let withheld = self.left_out.iter().filter(|tool| tool.changed.is_some()).map(|tool| tool.name.as_str());
        offered.chain(withheld)
    }
}

/// Lists the tools whose calls need approval, for the log: at most [`MAX_LOGGED_NAMES`] names, and the number of the
/// others.
pub(crate) fn tools_with_approval(selection: &ToolSelection) -> String {
    let asking: Vec<&str> =
        selection.tools.iter().filter(|tool| tool.risk == Risk::High).map(|tool| tool.listed.name.as_str()).collect();
    match asking.split_at_checked(MAX_LOGGED_NAMES) {
        _ if asking.is_empty() => "no tool".to_owned(),
        Some((named, more)) if !more.is_empty() => format!("{} and {} more", named.join(", "), more.len()),
        _ => asking.join(", "),
    }
}

/// Removes the tools that the settings leave out of a list.
pub(crate) fn apply_filters(settings: &ToolServerSettings, mut listing: Listing) -> Listing {
    let ToolServerSettings { include, exclude, .. } = settings;
    let matches = |patterns: &[String], name: &str| patterns.iter().any(|pattern| is_like(pattern, name));
    let is_taken = |name: &str| (include.is_empty() || matches(include, name)) && !matches(exclude, name);
    listing.tools.retain(|tool| is_taken(&tool.name));
    listing
}

/// Selects the available tools and their risk. `accepted` is `None` until the accepted definitions could be read.
pub(crate) fn select_tools(
    settings: &ToolServerSettings,
    listing: &Listing,
    accepted: Option<&HashMap<String, DefinitionHash>>,
) -> ToolSelection {
    let mut selection = ToolSelection { tools: Vec::new(), left_out: listing.left_out.clone() };
    for listed in &listing.tools {
        let known = accepted.map(|accepted| accepted.get(&listed.name));
        let changed = known != Some(Some(&listed.hash));
        if changed && settings.pin == Pin::Block {
            let reason = match known {
                None => "the accepted definitions of its server's tools could not be loaded yet",
                Some(None) => "its server added it after its first listing, and it is not accepted yet",
                Some(Some(_)) => "its definition changed and is not accepted yet",
            };
            let left_out = LeftOut { changed: Some(listed.changed()), ..LeftOut::new(&listed.name, reason) };
            selection.left_out.push(left_out);
        } else {
            selection.tools.push(offered(settings.risk, listed.clone(), changed));
        }
    }
    selection
}

fn offered(setting: RiskSetting, listed: ListedTool, changed: bool) -> SelectedTool {
    let believed = setting == RiskSetting::Claimed && !changed;
    let risk = match setting {
        // The operator's trust is in the definitions that are accepted.
        RiskSetting::Low if !changed => Risk::Low,
        RiskSetting::Claimed if believed && listed.claims_read_only => Risk::Low,
        RiskSetting::Low | RiskSetting::High | RiskSetting::Claimed => Risk::High,
    };
    let idempotent = believed && listed.claims_idempotent;
    SelectedTool { listed, risk, idempotent, changed }
}

/// Returns `true` if a name matches a pattern, in which `*` matches any characters.
fn is_like(pattern: &str, name: &str) -> bool {
    let mut pieces = pattern.split('*');
    let Some(mut rest) = name.strip_prefix(pieces.next().unwrap_or_default()) else { return false };
    let Some(last) = pieces.next_back() else { return rest.is_empty() };
    for piece in pieces {
        let Some(at) = rest.find(piece) else { return false };
        rest = &rest[at + piece.len()..];
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::is_like;

    #[test]
    fn patterns_match_the_complete_name() {
        for (pattern, name, like) in [
            ("search", "search", true),
            ("search", "search_all", false),
            ("search_*", "search_all", true),
            ("*_all", "search_all", true),
            ("s*h*l", "search_all", true),
            ("*", "", true),
            ("a*a", "a", false),
            ("*b*", "abc", true),
        ] {
            assert_eq!(is_like(pattern, name), like, "{pattern} {name}");
        }
    }
}
