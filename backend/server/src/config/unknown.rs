//! Reports variables that look like settings but aren't: a misspelled one would be ignored silently.

use super::{file::SettingsFile, options::variables};

/// Beginnings of names that other programs hardly use.
const PREFIXES: [&str; 12] = [
    "LLM_",
    "OIDC_",
    "MCP_OAUTH_",
    "MCP_SERVERS_",
    "CONSENT_",
    "APPROVAL_",
    "CONVERSATION_SUMMARY_",
    "JOURNAL_",
    "TURN_",
    "KEEP_ALIVE_",
    "SHUTDOWN_GRACE_",
    "TRUSTED_PROX",
];

/// Variables that are read by name instead of as options.
const READ_BY_NAME: [&str; 2] = ["MCP_OAUTH_CLIENT_ID", "MCP_OAUTH_CLIENT_SECRET"];

/// Similarity from which a name is taken for another one misspelled; equal names have 1.
const ALIKE: f64 = 0.85;

/// Returns a sentence for each such variable of the environment, except those that the settings file names.
pub(super) fn remarks(file: Option<&SettingsFile>) -> Vec<String> {
    let set = std::env::vars_os().filter_map(|(name, value)| (!value.is_empty()).then(|| name.into_string().ok())?);
    let mut remarks = of(set.filter(|name| file.is_none_or(|file| !file.mentions(name))));
    remarks.sort_unstable();
    remarks
}

fn of(set: impl Iterator<Item = String>) -> Vec<String> {
    let known = variables();
    let is_unknown = |name: &String| {
        PREFIXES.iter().any(|prefix| name.starts_with(prefix))
            && !known.contains(name)
            && !READ_BY_NAME.contains(&name.as_str())
    };
    let remark = |name: String| {
        let likeness = |known: &&String| strsim::jaro_winkler(known, &name);
        let nearest =
            known.iter().filter(|known| likeness(known) > ALIKE).max_by(|a, b| likeness(a).total_cmp(&likeness(b)));
        let advice = nearest.map(|nearest| format!(" Did you mean {nearest}?")).unwrap_or_default();
        format!("{name} is set, but it isn't a setting of Tallybook.{advice}")
    };
    set.filter(is_unknown).map(remark).collect()
}

#[cfg(test)]
mod tests {
    use super::of;

    #[test]
    fn a_misspelled_variable_is_reported_with_the_nearest_one() {
        let set =
            ["LLM_MAX_RETRIES", "LLM_MAX_RETRY", "OIDC_WHATEVER_ELSE", "MCP_OAUTH_CLIENT_ID", "PATH", "LLM_MODEL"];
        assert_eq!(
            of(set.into_iter().map(str::to_owned)),
            [
                "LLM_MAX_RETRY is set, but it isn't a setting of Tallybook. Did you mean LLM_MAX_RETRIES?",
                "OIDC_WHATEVER_ELSE is set, but it isn't a setting of Tallybook.",
            ]
        );
    }
}
