//! Tests for options and environment variables.

use clap::Parser;
use tallybook_conversations::{UserLimits, models::ModelChoice};
use tallybook_llm::{ModelSettings, ProviderKind, ToolMode};

use super::{Settings, check};
use crate::config::cli::Options;

/// Sets every relevant variable, because the environment in which the tests run must not matter.
fn read(extra: &[&str]) -> Result<Settings, String> {
    let mut args = vec!["tallybook"];
    for option in ["--llm-provider", "--llm-api-key", "--anthropic-api-key", "--openai-api-key", "--openrouter-api-key"]
    {
        if !extra.contains(&option) {
            args.extend([option, ""]);
        }
    }
    args.extend(extra);
    let options = Options::try_parse_from(args).map_err(|error| error.to_string())?;
    check(options).map_err(|error| error.to_string())
}

fn provider_settings(settings: &Settings) -> &ModelSettings {
    let ModelChoice::Provider(settings) = &settings.models[0].choice else { panic!("the demo model") };
    settings
}

#[test]
fn without_a_key_the_demo_answers() {
    assert!(matches!(read(&[]).unwrap().models[0].choice, ModelChoice::Demo { .. }));
}

#[test]
fn a_key_selects_its_provider() {
    let settings = read(&["--openai-api-key", "sk-secret"]).unwrap();
    assert_eq!(provider_settings(&settings).provider, ProviderKind::OpenAi);
    assert!(!format!("{settings:?}").contains("sk-secret"));
    let both = read(&["--openai-api-key", "sk-1", "--llm-provider", "anthropic", "--anthropic-api-key", "sk-2"]);
    assert_eq!(provider_settings(&both.unwrap()).provider, ProviderKind::Anthropic);
}

/// Users must not get past their limits by deleting messages.
#[test]
fn deleted_data_is_kept_for_the_retention_period() {
    let kept = |args: &[&str]| tallybook_runtime_settings::retention(&read(args).unwrap().changeable(), &[]).as_secs();
    assert_eq!(kept(&[]), 30 * 86_400);
    assert_eq!(kept(&["--retention-days", "0"]), 0);
    assert_eq!(kept(&["--retention-days", "0", "--max-messages-per-minute", "9"]), 60);
    assert_eq!(kept(&["--retention-days", "0", "--max-tokens-per-day", "9"]), 86_400);
    assert_eq!(kept(&["--retention-days", "2", "--max-tokens-per-day", "9"]), 2 * 86_400);
}

#[test]
fn the_password_of_the_database_is_not_printed() {
    let url = "mysql://tally:s3cret@db.example/book";
    let settings = read(&["--database-url", url]).unwrap();
    assert!(!format!("{settings:?}").contains("s3cret"));
    let options = Options::try_parse_from(["tallybook", "--database-url", url]).unwrap();
    assert!(!format!("{options:?}").contains("s3cret"));
}

#[test]
fn retries_web_search_and_the_version_of_the_api() {
    let read = |args: &[&str]| {
        let args = [&["--llm-provider", "openrouter", "--llm-api-key", "sk-1"], args].concat();
        provider_settings(&read(&args).unwrap()).clone()
    };
    let plain = read(&[]);
    assert_eq!((plain.retries.retries, plain.web_search, plain.anthropic_version), (3, false, None));
    let args = ["--llm-max-retries", "0", "--llm-enable-web-search", "1", "--llm-anthropic-version", "2024-01-01"];
    let set = read(&args);
    assert_eq!((set.retries.retries, set.web_search), (0, true));
    assert_eq!(set.anthropic_version.as_deref(), Some("2024-01-01"));
}

#[test]
fn aliases_of_settings_are_accepted() {
    let anthropic = ["--llm-provider", "anthropic", "--llm-api-key", "sk-1", "--anthropic-model", "claude-x"];
    let settings = read(&anthropic).unwrap();
    assert_eq!(provider_settings(&settings).model.as_deref(), Some("claude-x"));
    let openai = read(&["--llm-provider", "openai", "--llm-api-key", "sk-1", "--anthropic-model", "claude-x"]).unwrap();
    assert_eq!(provider_settings(&openai).model, None);

    let summaries = read(&[&anthropic[..], &["--summary-model", "claude-x"]].concat()).unwrap();
    assert_eq!(summaries.memory.summary_model, Some(summaries.models[0].name.clone()));
    let refused = read(&[&anthropic[..], &["--summary-model", "claude-y"]].concat()).unwrap_err();
    assert!(
        refused.contains("SUMMARY_MODEL is \"claude-y\"") && refused.contains(&summaries.models[0].name),
        "{refused}"
    );
    assert_eq!(read(&["--conversation-summary-enabled", "false"]).unwrap().memory.max_chars, 0);
}

#[test]
fn titles_are_on_by_default() {
    assert!(read(&[]).unwrap().titles);
    assert!(!read(&["--llm-titles", "false"]).unwrap().titles);
}

#[test]
fn the_tool_mode_is_a_word_in_any_case() {
    for (word, mode) in [(" ", ToolMode::Auto), ("Prompt", ToolMode::Prompt), ("native", ToolMode::Native)] {
        let settings = read(&["--llm-provider", "ollama", "--llm-tool-mode", word]).unwrap();
        assert_eq!(provider_settings(&settings).tool_mode, mode);
    }
}

#[test]
fn a_bad_value_is_named() {
    for (args, name) in [
        (["--llm-provider", "hal9000"], "LLM_PROVIDER"),
        (["--llm-temperature", "hot"], "LLM_TEMPERATURE"),
        (["--llm-tool-mode", "telepathy"], "LLM_TOOL_MODE"),
        (["--llm-api-key", "sk-1"], "LLM_API_KEY"),
        (["--system-prompt-file", "/does/not/exist"], "SYSTEM_PROMPT_FILE"),
        (["--port", "http"], "PORT"),
        (["--host", "nowhere"], "HOST"),
        (["--host=0.0.0.0", "--accounts=off"], "ACCOUNTS is off, but 0.0.0.0"),
        (["--accounts", "perhaps"], "ACCOUNTS"),
        (["--otel-exporter-otlp-endpoint", "localhost:4318"], "OTEL_EXPORTER_OTLP_ENDPOINT"),
        (["--oidc-issuer", "https://id.example.org"], "OIDC_CLIENT_ID"),
        (["--oidc-issuer", "http://id.example.org"], "OIDC_ISSUER must begin with https://"),
        (["--oidc-client-id", "tallybook"], "OIDC_ISSUER"),
        (["--trusted-proxies", "10.0.0.0/99"], "10.0.0.0/8"),
        (["--allowed-hosts", "chat.example.org,https://b.example"], "ALLOWED_HOSTS contains \"https://b.example\""),
        (["--database-url", "postgres://localhost/x"], "DATABASE_URL"),
        (["--max-tool-turns", "0"], "MAX_TOOL_TURNS"),
        (["--llm-max-retries", "11"], "LLM_MAX_RETRIES"),
        (["--llm-enable-web-search", "perhaps"], "LLM_ENABLE_WEB_SEARCH"),
        (["--llm-titles", "maybe"], "LLM_TITLES"),
    ] {
        let error = read(&args).unwrap_err();
        assert!(error.contains(name), "{error}");
    }
}

#[test]
fn an_identity_provider_is_named_after_its_host_and_its_secret_is_not_printed() {
    let openid = ["--oidc-issuer", "https://id.example.org/realm/", "--oidc-client-id", "tallybook"];
    let plain = read(&openid).unwrap().accounts.openid.unwrap();
    assert_eq!((&*plain.issuer, &*plain.name), ("https://id.example.org/realm/", "id.example.org"));
    assert_eq!((plain.client_secret.is_none(), plain.scopes), (true, vec!["email".to_owned(), "profile".to_owned()]));
    let more = [
        "--oidc-client-secret",
        "s3cret",
        "--oidc-name",
        "Example ID",
        "--oidc-email-domains",
        "a.example, @b.example",
    ];
    let settings = read(&[&openid[..], &more].concat()).unwrap();
    assert!(settings.remarks[0].contains("OIDC_ISSUER has no effect"), "{:?}", settings.remarks);
    let required = read(&[&openid[..], &["--accounts=on"]].concat()).unwrap();
    assert!(required.remarks.is_empty());
    assert!(
        required
            .summary(None)
            .contains("users:  sign in with a password or with id.example.org (https://id.example.org/realm/)")
    );
    assert!(!format!("{settings:?}").contains("s3cret"));
    let openid = settings.accounts.openid.unwrap();
    assert_eq!(
        (&*openid.name, openid.email_domains),
        ("Example ID", vec!["a.example".to_owned(), "b.example".to_owned()])
    );
}

#[test]
fn an_option_overrides_the_step_limit_of_the_settings_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("tallybook.toml");
    std::fs::write(&file, "[agent]\nmax_tool_turns = 3\n").unwrap();
    let file = file.to_str().unwrap();
    assert_eq!(read(&["--config-file", file]).unwrap().limits.steps, 3);
    assert_eq!(read(&["--config-file", file, "--max-tool-turns", "5"]).unwrap().limits.steps, 5);
}

#[test]
fn users_have_limits_by_default_where_they_sign_in() {
    let limits = |args: &[&str]| {
        let UserLimits { turns, messages_per_minute, tokens_per_day } = read(args).unwrap().user_limits;
        (turns, messages_per_minute, tokens_per_day)
    };
    assert_eq!(limits(&["--host=127.0.0.1"]), (0, 0, 0), "one user without sign-in");
    let (turns, messages, tokens) = limits(&["--host=0.0.0.0"]);
    assert!(turns > 0 && messages > 0 && tokens > 0, "{turns} {messages} {tokens}");
    assert_eq!(limits(&["--host=0.0.0.0", "--max-turns-per-person=0"]), (0, messages, tokens));
}

/// Errors of a provider, such as a wrong key, name the settings of the model in question.
#[test]
fn errors_of_a_model_in_the_file_name_the_settings_of_that_model() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("tallybook.toml");
    let key = folder.path().join("key");
    std::fs::write(&key, "sk-secret").unwrap();
    let names = |section: &str| {
        std::fs::write(&file, format!("[[models]]\nname = \"A\"\nmodel = \"gpt\"\n{section}\n")).unwrap();
        let settings = read(&["--config-file", file.to_str().unwrap(), "--openai-api-key", "sk-secret"]).unwrap();
        let names = provider_settings(&settings).setting_names.clone();
        (names.api_key, names.base_url)
    };
    let place = format!("of \"A\" in {}", file.display());
    let base_url = format!("base_url {place}");
    // Any variable that is set will do.
    let own = "provider = \"openai\"\napi_key_env = \"PATH\"";
    assert_eq!(names(own), ("PATH".to_owned(), base_url.clone()));
    assert_eq!(names("provider = \"openai\""), ("OPENAI_API_KEY".to_owned(), base_url.clone()));
    let elsewhere = "provider = \"openai\"\nbase_url = \"http://127.0.0.1:9/v1\"";
    assert_eq!(names(elsewhere), (format!("api_key_env {place}"), base_url));
}
