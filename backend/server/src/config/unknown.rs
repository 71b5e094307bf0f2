//! Reports environment variables that look like settings but aren't. Otherwise, a misspelled variable would be ignored
//! silently.

use crate::config::{cli::variables, error::advice, file::SettingsFile};

/// Prefixes of the settings' names. Other programs rarely use them.
const PREFIXES: [&str; 27] = [
    "ALLOWED_HOST",
    "APPROVAL_",
    "CONSENT_",
    "CONVERSATION_SUMMARY_",
    "DEMO_PACE",
    "FETCH_PAGE",
    "HSTS_",
    "JOURNAL_",
    "KEEP_ALIVE_",
    "LLM_",
    "MAX_MESSAGES_PER_",
    "MAX_TOKENS_PER_",
    "MAX_TOOL_",
    "MAX_TURNS_PER_",
    "MCP_OAUTH_",
    "MCP_SERVERS_",
    "OIDC_",
    "PUBLIC_UR",
    "RETENTION_",
    "SHUTDOWN_GRACE_",
    "SIGN_UP",
    "SUMMARY_MODEL",
    "SYSTEM_PROMPT_",
    "TALLYBOOK_",
    "TOOL_TIMEOUT_",
    "TRUSTED_PROX",
    "TURN_",
];

/// Variables that are read by name instead of as options.
pub(crate) const READ_BY_NAME: [&str; 2] = ["MCP_OAUTH_CLIENT_ID", "MCP_OAUTH_CLIENT_SECRET"];

/// Variables of builds, compose, tests, and the examples for API clients.
const OF_OTHERS: [&str; 5] =
    ["TALLYBOOK_BIN", "TALLYBOOK_KEY", "TALLYBOOK_PORT", "TALLYBOOK_URL", "TALLYBOOK_WITHOUT_PAGE"];

/// Returns a warning for each non-empty variable that looks like a setting but isn't. Skips variables that the settings
/// file mentions.
pub(crate) fn remarks(file: Option<&SettingsFile>) -> Vec<String> {
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
            && !OF_OTHERS.contains(&name.as_str())
    };
    let remark = |name: String| {
        let advice = advice(&name, known.iter().map(String::as_str));
        format!("{name} is set, but it isn't a setting of Tallybook.{advice}")
    };
    set.filter(is_unknown).map(remark).collect()
}

#[cfg(test)]
mod tests {
    use crate::config::unknown::of;

    #[test]
    fn a_misspelled_variable_is_reported_with_the_nearest_one() {
        let set = [
            "LLM_MAX_RETRIES",
            "LLM_MAX_RETRY",
            "MAX_MESSAGES_PER_MINUTES",
            "MCP_OAUTH_CLIENT_ID",
            "OIDC_WHATEVER_ELSE",
            "PATH",
            "TALLYBOOK_HOST",
            "LLM_MODEL",
        ];
        assert_eq!(
            of(set.into_iter().map(str::to_owned)),
            [
                "LLM_MAX_RETRY is set, but it isn't a setting of Tallybook. Did you mean LLM_MAX_RETRIES?",
                "MAX_MESSAGES_PER_MINUTES is set, but it isn't a setting of Tallybook. Did you mean MAX_MESSAGES_PER_MINUTE?",
                "OIDC_WHATEVER_ELSE is set, but it isn't a setting of Tallybook.",
                "TALLYBOOK_HOST is set, but it isn't a setting of Tallybook.",
            ]
        );
    }

    #[test]
    fn a_variable_of_another_program_is_not_reported() {
        let set = [
            "ANTHROPIC_BASE_URL",
            "DATABASE_PASSWORD",
            "HOSTNAME",
            "OPENAI_ORG_ID",
            "OTEL_SERVICE_NAME",
            "MAX_TOOLS",
            "TALLYBOOK_URL",
        ];
        assert_eq!(of(set.into_iter().map(str::to_owned)), [""; 0]);
    }
}
