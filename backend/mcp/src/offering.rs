//! What of a server's tools is offered, and under which risk: by the settings, by what the tools claim where that is
//! believed, and by which definitions are accepted.

use std::collections::HashMap;

use tallybook_tools::Risk;

use super::{
    limits::MAX_LOGGED_NAMES,
    listing::{LeftOut, ListedTool, Listing},
    pins::DefinitionHash,
    settings::{Pin, RiskSetting, ToolServerSettings},
};

/// A tool of a server as it is offered.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct OfferedTool {
    pub(super) listed: ListedTool,
    pub(super) risk: Risk,
    pub(super) idempotent: bool,
    /// True if its definition is not accepted: it changed, or the server added the tool after its first listing.
    pub(super) changed: bool,
}

/// What is offered of a server.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Offering {
    pub(super) tools: Vec<OfferedTool>,
    pub(super) left_out: Vec<LeftOut>,
}

impl Offering {
    /// The tools whose definition is not the accepted one, offered or withheld.
    pub(super) fn changed(&self) -> impl Iterator<Item = &str> {
        let offered = self.tools.iter().filter(|tool| tool.changed).map(|tool| tool.listed.name.as_str());
        let withheld = self.left_out.iter().filter(|tool| tool.changed.is_some()).map(|tool| tool.name.as_str());
        offered.chain(withheld)
    }
}

/// Names the tools whose calls need approval, for the log: so many of them, and how many more there are.
pub(super) fn asking(offering: &Offering) -> String {
    let asking: Vec<&str> =
        offering.tools.iter().filter(|tool| tool.risk == Risk::High).map(|tool| tool.listed.name.as_str()).collect();
    match asking.split_at_checked(MAX_LOGGED_NAMES) {
        _ if asking.is_empty() => "no tool".to_owned(),
        Some((named, more)) if !more.is_empty() => format!("{} and {} more", named.join(", "), more.len()),
        _ => asking.join(", "),
    }
}

/// A list without the tools that the settings leave out.
pub(super) fn taken(settings: &ToolServerSettings, mut listing: Listing) -> Listing {
    let ToolServerSettings { include, exclude, .. } = settings;
    let matches = |patterns: &[String], name: &str| patterns.iter().any(|pattern| is_like(pattern, name));
    let is_taken = |name: &str| (include.is_empty() || matches(include, name)) && !matches(exclude, name);
    listing.tools.retain(|tool| is_taken(&tool.name));
    listing
}

/// Selects the tools on offer, and their risk. `accepted` is `None` while the accepted definitions could not be read.
pub(super) fn offering(
    settings: &ToolServerSettings,
    listing: &Listing,
    accepted: Option<&HashMap<String, DefinitionHash>>,
) -> Offering {
    let mut offering = Offering { tools: Vec::new(), left_out: listing.left_out.clone() };
    for listed in &listing.tools {
        let known = accepted.map(|accepted| accepted.get(&listed.name));
        let changed = known != Some(Some(&listed.hash));
        if changed && settings.pin == Pin::Block {
            let reason = match known {
                None => "the accepted definitions of its server's tools could not be read yet",
                Some(None) => "its server added it after its first listing, and it is not accepted yet",
                Some(Some(_)) => "its definition changed and is not accepted yet",
            };
            let left_out = LeftOut { changed: Some(listed.changed()), ..LeftOut::new(&listed.name, reason) };
            offering.left_out.push(left_out);
        } else {
            offering.tools.push(offered(settings.risk, listed.clone(), changed));
        }
    }
    offering
}

fn offered(setting: RiskSetting, listed: ListedTool, changed: bool) -> OfferedTool {
    let believed = setting == RiskSetting::Claimed && !changed;
    let risk = match setting {
        RiskSetting::Low => Risk::Low,
        RiskSetting::Claimed if believed && listed.claims_read_only => Risk::Low,
        RiskSetting::High | RiskSetting::Claimed => Risk::High,
    };
    let idempotent = believed && listed.claims_idempotent;
    OfferedTool { listed, risk, idempotent, changed }
}

/// Whether a name is like a pattern, in which `*` stands for any characters.
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
    fn patterns_are_matched_as_a_whole() {
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
