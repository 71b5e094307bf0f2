//! The settings file: the effect of its settings, and the error messages for mistakes.

use std::{
    path::{Path, PathBuf},
    process::{Command, Output},
};

/// An API key that must not appear in any output.
const KEY: &str = "sk-test-4711";

/// Returns a command that checks the settings in `folder`. Its environment contains only an API key.
fn check(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tallybook"));
    command.env_clear().env("A_KEY", KEY).current_dir(folder).arg("check-config");
    command
}

/// Returns the output: from stdout if the settings are valid, otherwise from stderr. Fails if the other stream is not
/// empty, or if the API key appears in either.
fn said(output: &Output) -> String {
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(!out.contains(KEY) && !err.contains(KEY), "{out}{err}");
    let (said, silent) = if output.status.success() { (out, err) } else { (err, out) };
    assert_eq!(silent, "");
    said.into_owned()
}

fn check_text(text: &str) -> Output {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("tallybook.toml"), text).unwrap();
    check(folder.path()).output().unwrap()
}

fn example() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tallybook.example.toml")
}

#[test]
fn the_example_is_valid_and_has_every_key() {
    let folder = tempfile::tempdir().unwrap();
    let output = check(folder.path()).env("CONFIG_FILE", example()).env("ANTHROPIC_API_KEY", KEY).output().unwrap();
    let said = said(&output);
    assert!(output.status.success(), "{said}");
    let sonnet = "Sonnet (default): anthropic claude-sonnet-5-5, with an API key, tools native if the model's server \
                  supports them, max_tokens = 8192, context_tokens = 200000, reasoning_effort = medium, vision = true, \
                  prices per million tokens: 3 for input, 15 for output";
    for words in [
        sonnet,
        "Local: openai qwen3-30b at http://127.0.0.1:8000/v1, without an API key, tools in the prompt, \
         max_tokens = 4096, context_tokens = 128000, temperature = 0.2, no_stream_options = true\n",
        "Demo: ",
        "docs: https://docs.example.org, with a token, every call needs approval, except of tools that it marks \
         read-only, changed tools are withheld. It cannot be used: the environment variable that client_id_env names \
         is not set\n",
        "memory: Local summarizes conversations longer than 20000 tokens, in 300 characters\n",
        "plan:   Sonnet makes plans, a step of which is tried 2 times, all of them 10 times\n",
        "review: Sonnet, Local advise on high-risk calls, and a person decides; they have 30 seconds\n",
        "everything: the program npx, every call needs approval\n",
        "intern: http://tools.internal:8080, with a token, every call needs approval",
    ] {
        assert!(said.contains(words), "{words} is not in {said}");
    }
    let text = std::fs::read_to_string(example()).unwrap();
    // The error for an unknown key lists the keys that the program accepts.
    for (section, some) in [
        ("[[models]]\nname = \"A\"\nprovider = \"demo\"\n", ["name", "output_price"]),
        ("[tool_servers.a]\n", ["url", "pin"]),
        ("[review]\n", ["models", "timeout_secs"]),
        ("[memory]\n", ["summary_model", "max_chars"]),
        ("[plan]\n", ["planner_model", "max_total_attempts"]),
        ("[tool_servers.a.oauth]\n", ["token_url", "scope"]),
    ] {
        let output = check_text(&format!("{section}anything = 1\n"));
        let refusal = String::from_utf8(output.stderr).unwrap();
        let known: Vec<&str> = refusal.split('`').skip(1).step_by(2).collect();
        assert!(some.iter().all(|key| known.contains(key)), "{refusal}");
        for key in known {
            let is_shown = text.contains(&format!("\n{key} = ")) || text.contains(&format!(".{key}]"));
            assert!(is_shown, "the example lacks {key}");
        }
    }
}

#[test]
fn without_a_file_the_environment_defines_the_model() {
    let folder = tempfile::tempdir().unwrap();
    let output = check(folder.path()).output().unwrap();
    assert!(said(&output).contains("demo (default): the built-in demo model"));
    let output = check(folder.path()).env("OPENAI_API_KEY", KEY).env("LLM_MODEL", "gpt-x").output().unwrap();
    assert!(said(&output).contains("gpt-x (default): openai gpt-x, with an API key"));
    // A file that lists no models does not change that.
    std::fs::write(folder.path().join("tallybook.toml"), "# nothing yet\n").unwrap();
    let output = check(folder.path()).env("OPENAI_API_KEY", KEY).env("LLM_BASE_URL", "ftp://x").output().unwrap();
    let said = said(&output);
    assert!(!output.status.success() && said.contains("LLM_BASE_URL \"x\" must begin with http"), "{said}");
}

#[test]
fn every_setting_of_a_model_is_shown() {
    let folder = tempfile::tempdir().unwrap();
    let file = "[[models]]\nname = \"A\"\nprovider = \"openrouter\"\nmodel = \"m\"\napi_key_env = \"A_KEY\"\n\
                temperature = 0.5\nmax_tokens = 9000\ncontext_tokens = 50000\nthinking_tokens = 2000\nvision = true\n\
                tool_mode = \"prompt\"\ninput_price = 1\noutput_price = 2\n\n[[models]]\nname = \"B\"\n\
                provider = \"openai\"\nbase_url = \"http://127.0.0.1:1/v1\"\nreasoning_effort = \"low\"\n\n\
                [agent]\nmax_tool_turns = 7\n";
    std::fs::write(folder.path().join("tallybook.toml"), file).unwrap();
    let said = said(&check(folder.path()).output().unwrap());
    for line in [
        "A (default): openrouter m, with an API key, tools in the prompt, max_tokens = 9000, context_tokens = 50000, \
         temperature = 0.5, thinking_tokens = 2000, vision = true, prices per million tokens: 1 for input, 2 for output\n",
        "B: openai gpt-5-mini at http://127.0.0.1:1/v1, without an API key, tools native if the model's server supports \
         them, max_tokens = 4096, context_tokens = 128000, reasoning_effort = low\n",
        "  steps:  at most 7 of an answer can call tools\n",
    ] {
        assert!(said.contains(line), "{line}: {said}");
    }
}

#[test]
fn an_unverified_connection_to_a_database_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    for (url, is_reported) in [
        ("mysql://tally:s3cret@db.example/book", true),
        ("mariadb://tally:s3cret@10.0.0.7:3307/book?charset=utf8mb4", true),
        ("mysql://tally:s3cret@db.example/book?ssl-mode=VERIFY_IDENTITY", false),
        ("mysql://tally:s3cret@db.example/book?charset=utf8mb4&sslmode=preferred", false),
        ("mysql://tally:s3cret@localhost/book", false),
        ("mysql://tally:s3cret@127.0.0.1:3306/book", false),
        ("mysql://tally:s3cret@[::1]/book", false),
        ("sqlite://tallybook.db", false),
    ] {
        let said = said(&check(folder.path()).env("DATABASE_URL", url).output().unwrap());
        assert_eq!(said.contains("does not verify the server's certificate"), is_reported, "{url}: {said}");
        assert_eq!(said.contains("Append ?ssl-mode=VERIFY_IDENTITY"), is_reported, "{url}: {said}");
        assert!(!said.contains("s3cret"), "{said}");
    }
}

#[test]
fn a_providers_key_is_not_for_another_host() {
    let folder = tempfile::tempdir().unwrap();
    let at = |url: &str| {
        let mut command = check(folder.path());
        command.env("OPENAI_API_KEY", KEY).env("LLM_BASE_URL", url);
        command
    };
    let said_elsewhere = said(&at("http://127.0.0.1:1/v1").output().unwrap());
    assert!(said_elsewhere.contains("at http://127.0.0.1:1/v1, without an API key"), "{said_elsewhere}");
    assert!(said_elsewhere.contains("OPENAI_API_KEY is not sent to LLM_BASE_URL"), "{said_elsewhere}");
    assert!(said_elsewhere.contains("set LLM_API_KEY"), "{said_elsewhere}");
    for command in [
        &mut at("https://api.openai.com/v1"),
        at("http://127.0.0.1:1/v1").env("LLM_API_KEY", "sk-another-key"),
        at("http://127.0.0.1:1/v1").env("LLM_API_KEY", "sk-another-key").env("LLM_PROVIDER", "openai"),
    ] {
        let said = said(&command.output().unwrap());
        assert!(said.contains(", with an API key") && !said.contains("is not sent"), "{said}");
    }
}

#[test]
fn environment_variables_are_defaults_for_all_models() {
    let folder = tempfile::tempdir().unwrap();
    let models = "[[models]]\nname = \"A\"\nprovider = \"ollama\"\n\n[[models]]\nname = \"B\"\nprovider = \"ollama\"\n\
                  tool_mode = \"native\"\nmodel = \"small\"\n";
    std::fs::write(folder.path().join("tallybook.toml"), models).unwrap();
    let output = check(folder.path()).env("LLM_TOOL_MODE", "prompt").env("LLM_MODEL", "other").output().unwrap();
    let said = said(&output);
    for words in [
        "A (default): ollama qwen3, without an API key, tools in the prompt, max_tokens = 4096",
        "B: ollama small, without an API key, tools native, max_tokens = 4096",
        "LLM_MODEL has no effect because tallybook.toml lists the models.",
    ] {
        assert!(said.contains(words), "{words} is not in {said}");
    }
}

#[test]
fn the_environment_overrides_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let understood = |text: &str, variables: &[(&str, &str)]| {
        std::fs::write(folder.path().join("tallybook.toml"), text).unwrap();
        said(&check(folder.path()).envs(variables.iter().copied()).output().unwrap())
    };
    let wait = "[consent]\nwait_hours = 1.5\n";
    for (text, variables, words) in [
        ("", &[][..], "consent: calls wait for it without a timeout\n"),
        (wait, &[], "consent: calls wait for it for 1.5 hours and are then denied\n"),
        (wait, &[("CONSENT_WAIT_HOURS", "24")], "consent: calls wait for it for 24 hours and are then denied\n"),
        (wait, &[("CONSENT_WAIT_HOURS", "0")], "consent: calls wait for it without a timeout\n"),
    ] {
        let said = understood(text, variables);
        assert!(said.contains(words), "{words} is not in {said}");
    }
    // The output does not show where tokens come from. But the variable's token endpoint has no client id, and the
    // output reports that.
    let oauth = "[tool_servers.a]\nurl = \"https://x/mcp\"\nrequires_auth = true\n[oauth]\n\
                 token_url = \"https://x/token\"\nclient_id_env = \"A_KEY\"\nclient_secret_env = \"A_KEY\"\n";
    assert!(!understood(oauth, &[]).contains("cannot be used"));
    let variables = [("MCP_OAUTH_TOKEN_URL", "https://y/token")];
    assert!(understood(oauth, &variables).contains("It cannot be used: the environment variable that client_id_env"));
}

fn model(rest: &str) -> String {
    format!("[[models]]\nname = \"A\"\nprovider = \"openai\"\n{rest}\n")
}

fn assert_refused(text: &str, line: usize, words: &str) {
    let output = check_text(text);
    let said = said(&output);
    assert_eq!(output.status.code(), Some(1), "{text} was accepted: {said}");
    assert!(said.starts_with(&format!("tallybook: tallybook.toml, line {line}: ")), "{text}: {said}");
    assert!(said.contains(words) && !said.contains("hunter2"), "{text}: {said}");
}

#[test]
fn a_mistake_in_a_model_is_reported_with_its_file_and_line() {
    for (text, line, words) in [
        ("models = ".to_owned(), 1, ""),
        ("models = many".to_owned(), 1, "the file is not valid TOML: "),
        ("\n\nhost = \"x\"\n".to_owned(), 3, "host is not a setting. Valid keys: `models`"),
        ("models = 5".to_owned(), 1, "models must be a list in brackets, but is a whole number."),
        ("\n[models]\nname = \"A\"".to_owned(), 2, "Write [[models]], with two brackets, above each model."),
        (model(&format!("api_key = \"{KEY}\"")), 4, "models[0].api_key is not a setting. Valid keys: "),
        (model("temprature = 1"), 4, " Did you mean temperature?"),
        (
            model(&format!("api_key_env = \"{KEY}\"")),
            4,
            "models[0].api_key_env: api_key_env must be the name of an environment variable",
        ),
        (model("api_key_env = \"NOT_SET\""), 4, "the environment variable that api_key_env names is not set"),
        (model(""), 2, "models[0].api_key_env is not set. openai requires an API key: set OPENAI_API_KEY"),
        (
            model("api_key_env = \"A_KEY\"\nbase_url = \"http://me:hunter2@x/\""),
            5,
            "models[0].base_url \"x\" must not contain a user",
        ),
        (model("api_key_env = \"A_KEY\"\ntemperature = 9"), 5, "models[0].temperature must be a number from 0 to 2"),
        (
            [
                model("api_key_env = \"A_KEY\""),
                "\n[[models]]\nname = \"B\"\nprovider = \"ollama\"\ntemperature = -1".to_owned(),
            ]
            .concat(),
            9,
            "models[1].temperature must be a number from 0 to 2",
        ),
        (
            model("max_tokens = \"many\""),
            4,
            "models[0].max_tokens must be a whole number that is not negative, but is text. For example: max_tokens = \
             8192\n",
        ),
        (
            model("max_tokens = -1"),
            4,
            "models[0].max_tokens must be a whole number that is not negative, but is out of range.",
        ),
        (
            model("max_tokens = 1.5"),
            4,
            "models[0].max_tokens must be a whole number that is not negative, but is a number with",
        ),
        (model("api_key_env = \"A_KEY\"\nmax_tokens = 0"), 5, "models[0].max_tokens must be a number from 1 to"),
        (
            model("temperature = \"hot\""),
            4,
            "models[0].temperature must be a number, but is text. For example: temperature = 0.2",
        ),
        (
            model("vision = \"yes\""),
            4,
            "models[0].vision must be true or false, but is text. For example: vision = true",
        ),
        (model("name = \"B\""), 4, "the file is not valid TOML: duplicate key"),
        (model("tool_mode = \"telepathy\""), 4, "is not a tool mode"),
        (model("reasoning_effort = \"much\""), 4, "\"much\" is not a reasoning effort: use none, minimal, low"),
        (
            model("api_key_env = \"A_KEY\"\nthinking_tokens = 2000"),
            5,
            "models[0].thinking_tokens is only supported by anthropic and openrouter",
        ),
        (model("api_key_env = \"A_KEY\"\ninput_price = 1"), 5, "input_price and output_price must be set together"),
        (model("api_key_env = \"A_KEY\"\ninput_price = 1\noutput_price = -1"), 6, "a price must be a number from 0"),
        (
            model("api_key_env = \"A_KEY\"\ncontext_tokens = 999"),
            5,
            "models[0].context_tokens must be a number from 1000 to 10000000",
        ),
        (model("context_tokens = \"many\""), 4, "models[0].context_tokens must be a whole number that is not negative"),
        (
            model("[models.quirks]\nno_hats = true"),
            5,
            "models[0].quirks.no_hats is not a setting. Valid keys: `no_stream_options`",
        ),
        (
            model("[models.quirks]\nno_stop = 1"),
            5,
            "models[0].quirks.no_stop must be true or false, but is a whole number.",
        ),
        (model("quirks = { no_stop = \"x\" }"), 4, "models[0].quirks.no_stop must be true or false, but is text."),
        (model("quirks = { no_tools = true }"), 4, "no_tools cannot be set here"),
        (
            "[[models]]\nname = \"A\"\nprovider = \"demo\"\nquirks = { no_stop = true }".to_owned(),
            4,
            "the demo model has no quirks",
        ),
        (
            "[[models]]\nname = \"A\"\nprovider = \"demo\"\ncontext_tokens = 9000".to_owned(),
            4,
            "the demo model has no context",
        ),
    ] {
        assert_refused(&text, line, words);
    }
}

#[test]
fn a_mistake_elsewhere_is_reported_with_its_file_and_line() {
    for (text, line, words) in [
        ("[memory]\nafter_tokens = 10000001".to_owned(), 2, "after_tokens must be from 0 to 10000000"),
        ("[memory]\nmax_chars = 2001".to_owned(), 2, "max_chars must be from 0 to 2000"),
        ("[memory]\nmax_chars = -1".to_owned(), 2, "memory.max_chars must be a whole number that is not negative"),
        ("[memory]\nforget = 1".to_owned(), 2, "memory.forget is not a setting"),
        ("memory = 3".to_owned(), 1, "memory must be a table, but is a whole number."),
        ("[agent]\nmax_tool_turns = 0".to_owned(), 2, "agent.max_tool_turns: max_tool_turns must be from 1 to 100."),
        ("[agent]\nmax_tool_turns = \"9\"".to_owned(), 2, "agent.max_tool_turns must be a whole number"),
        ("[memory]\nsummary_model = \"Z\"".to_owned(), 2, "no model is named \"Z\""),
        (
            "[[models]]\nname = \"A\"\nprovider = \"demo\"\n[memory]\nsummary_model = \"A\"".to_owned(),
            5,
            "the demo model cannot write summaries",
        ),
        (
            "[[models]]\nprovider = \"demo\"".to_owned(),
            1,
            "models[0].name is missing. For example: name = \"Sonnet\"\n",
        ),
        ("\n[[models]]\nname = \"A\"".to_owned(), 2, "models[0].provider is missing."),
        (
            "[[models]]\nname = 1\nprovider = \"demo\"".to_owned(),
            2,
            "models[0].name must be text in quotes, but is a whole",
        ),
        ("[[models]]\nname = \"A\"\nprovider = \"hal9000\"".to_owned(), 3, "\"hal9000\" is not a model provider"),
        ("[[models]]\nname = \"A\"\nprovider = \"demo\"\nmodel = \"x\"".to_owned(), 4, "the demo model has no model"),
        (
            "[[models]]\nname = \" A\"\nprovider = \"demo\"".to_owned(),
            2,
            "a model's name must have 1 to 100 characters",
        ),
        ("[[models]]\nname = \"A:plain\"\nprovider = \"demo\"".to_owned(), 2, "cannot end with :plain"),
        ([model("api_key_env = \"A_KEY\""), model("")].concat(), 6, "\"A\" is already the name of the model on line 2"),
        ("[plan]\nmax_attempts = 0".to_owned(), 2, "max_attempts must be from 1 to 10"),
        ("[plan]\nmax_total_attempts = 51".to_owned(), 2, "max_total_attempts must be from 1 to 50"),
        ("[plan]\nplanner_model = \"Z\"".to_owned(), 2, "no model is named \"Z\""),
        (
            "[[models]]\nname = \"A\"\nprovider = \"demo\"\n[plan]\nplanner_model = \"A\"".to_owned(),
            5,
            "the demo model cannot plan",
        ),
        ("[plan]\nsteps = 9".to_owned(), 2, "plan.steps is not a setting"),
        ("[consent]\nwait_hours = \"long\"".to_owned(), 2, "consent.wait_hours must be a number, but is text."),
        (
            "[consent]\nwait_hours = -1".to_owned(),
            2,
            "consent.wait_hours: wait_hours must be a number of hours from 0 to 87600",
        ),
    ] {
        assert_refused(&text, line, words);
    }
}

#[test]
fn the_file_configures_the_memory() {
    let model = "[[models]]\nname = \"A\"\nprovider = \"ollama\"\n";
    for (text, words) in [
        (
            "",
            "the model that answered summarizes conversations longer than 70 % of the model's context window, in 300 \
             characters",
        ),
        (
            "[memory]\n",
            "the model that answered summarizes conversations longer than 70 % of the model's context window, in 300 \
             characters",
        ),
        (
            "[memory]\nafter_tokens = 0\nmax_chars = 500\n",
            "the model that answered summarizes after every answer, in 500 characters",
        ),
        (
            "[memory]\nsummary_model = \"A\"\nafter_tokens = 9\n",
            "A summarizes conversations longer than 9 tokens, in 300 characters",
        ),
        ("[memory]\nmax_chars = 0\n", "conversations are not summarized"),
    ] {
        let said = said(&check_text(&format!("{model}{text}")));
        assert!(said.contains(&format!("  memory: {words}\n")), "{words} is not in {said}");
    }
}

#[test]
fn a_mistake_in_the_review_is_reported_with_its_line() {
    let named = |name: &str| {
        let more = "provider = \"ollama\"\nmodel = \"m\"";
        format!("[[models]]\nname = \"{name}\"\n{more}\n")
    };
    let models = [named("A"), named("B"), "[[models]]\nname = \"D\"\nprovider = \"demo\"\n".to_owned()].concat();
    let review = |rest: &str| format!("{models}[review]\n{rest}\n");
    for (text, line, words) in [
        (review("quorum = 2"), 12, "review.models is missing. For example: models = [\"Sonnet\", \"Local\"]"),
        (review("models = []"), 13, "name 1 to 5 reviewing models"),
        (review("models = [\n\"A\",\n\"Z\"]"), 15, "review.models[1]: no model is named \"Z\". Use one of: A, B, D."),
        (review("models = [\"A\", \"D\"]"), 13, "the demo model cannot review"),
        (review("models = [\"A\", \"A\"]"), 13, "\"A\" is listed twice"),
        (review("models = [\"A\", \"B\"]\nquorum = 3"), 14, "quorum must be from 1 to 2"),
        (review("models = [\"A\"]\nquorum = 0"), 14, "quorum must be from 1 to 1"),
        (review("models = [\"A\"]\nmode = \"veto\""), 14, "mode must be advise or decide"),
        (review("models = [\"A\"]\ntimeout_secs = 0"), 14, "timeout_secs must be from 1 to 600"),
        (review("models = [\"A\"]\nvoters = 1"), 14, "review.voters is not a setting"),
    ] {
        assert_refused(&text, line, words);
    }
    let said = said(&check_text(&review("models = [\"A\", \"B\"]\nmode = \"decide\"")));
    assert!(
        said.contains("review: A, B decide on high-risk calls by 2 votes or more; they have 30 seconds\n"),
        "{said}"
    );
}

#[test]
fn a_mistake_in_a_tool_server_is_reported_with_its_line() {
    let server = |rest: &str| format!("[tool_servers.docs]\nurl = \"https://x/mcp\"\n{rest}\n");
    let oauth = |rest: &str| {
        let own = "[tool_servers.docs.oauth]\ntoken_url = \"https://x\"\nclient_id_env = \"ID\"\n";
        format!("{}{own}{rest}\n", server("requires_auth = true\n"))
    };
    for (text, line, words) in [
        (server("adress = 1"), 3, "tool_servers.docs.adress is not a setting."),
        (server("args = \"--password hunter2\""), 3, "tool_servers.docs.args must be a list in brackets, but is text."),
        (server("args = [\"-y\", 3]"), 3, "tool_servers.docs.args[1] must be text in quotes, but is a whole number."),
        (
            server("risk = \"hunter2\""),
            3,
            "tool_servers.docs.risk must be one of: high, low, claimed. For example: risk = \"claimed\"\n",
        ),
        (server("pin = true"), 3, "tool_servers.docs.pin must be text in quotes"),
        (
            server("env = { LEVEL = 1 }"),
            3,
            "tool_servers.docs.env.LEVEL must be text in quotes, but is a whole number.",
        ),
        (server("requires_auth = \"yes\""), 3, "tool_servers.docs.requires_auth must be true or false, but is text."),
        (server("timeout_secs = \"20\""), 3, "tool_servers.docs.timeout_secs must be a whole number"),
        ("tool_servers = []".to_owned(), 1, "tool_servers must be a table, but is a list."),
        ("[tool_servers]\nurl = \"x\"".to_owned(), 2, "tool_servers.url must be a table, but is text."),
        (server("timeout_secs = 0"), 3, "timeout_secs must be from 1 to 86400"),
        (server("command = \"npx\""), 3, "it has both a url and a command"),
        (server("env = { LEVEL = \"1\" }"), 3, "env has no effect here"),
        (server("headers = { Host = \"x\" }"), 3, "\"Host\" is not a valid header name, or is reserved"),
        (server("[tool_servers.docs.headers]\nX-Key = \"hunter2\""), 4, "Set X-Key to \"${NAME_OF_A_VARIABLE}\""),
        (server("requires_auth = true"), 3, "no token endpoint is set"),
        (oauth("client_secret_env = \"hunter2!\""), 8, "client_secret_env must be the name of an environment variable"),
        (
            oauth("client_secret = \"hunter2\""),
            8,
            "tool_servers.docs.oauth.client_secret is not a setting. Valid keys: ",
        ),
        (
            oauth("client_secret_env = \"S\"").replace("\"https://x\"", "\"http://x\""),
            6,
            "its token_url must use https",
        ),
        (server("[oauth]\ntoken_url = 1"), 4, "oauth.token_url must be text in quotes, but is a whole number."),
        (server("[oauth]\nscope = \"x\""), 3, "oauth.token_url is missing."),
        ("[tool_servers.docs]\nrisk = \"low\"".to_owned(), 1, "it has neither a url nor a command"),
        (
            "\n[tool_servers.docs]\nurl = \"http://x/mcp\"".to_owned(),
            3,
            "its url must use https; to allow plain http, set allow_http",
        ),
        ("[tool_servers.docs]\nurl = \"https://me:hunter2@x/mcp\"".to_owned(), 2, "must not contain a user name"),
        ("[tool_servers.docs]\ncommand = \"\"".to_owned(), 2, "its command is empty"),
        ("[tool_servers.\"\"]\ncommand = \"x\"".to_owned(), 1, "a tool server's name must have 1 to 50 characters"),
    ] {
        assert_refused(&text, line, words);
    }
}

#[test]
fn the_tool_servers_of_both_files_are_merged() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    let section = |name: &str| format!("\n[tool_servers.{name}]\ncommand = \"${{PROGRAM:-x}}\"\nrisk = \"low\"\n");
    write("tallybook.toml", &[section("zoo"), section("ape")].concat());
    write(
        ".mcp_servers",
        r#"{"httpStreamableServers": {"met": {"url": "https://x/mcp?key=hunter2", "requiresAuth": true}}}"#,
    );
    let output = check(folder.path()).env("MCP_OAUTH_TOKEN_URL", "https://x/token").output().unwrap();
    let understood = said(&output);
    let expected = "  tool servers:\n    zoo: the program ${PROGRAM:-x}, no call needs approval\n    ape: the program \
                    ${PROGRAM:-x}, no call needs approval\n    met: https://x, with a token, every call needs \
                    approval, except of tools that it marks read-only. It cannot be used: ";
    assert!(output.status.success() && understood.contains(expected), "{understood}");
    write("tallybook.toml", &[section("ape"), section("met")].concat());
    let output = check(folder.path()).output().unwrap();
    let refused = said(&output);
    let twice = "tallybook: tallybook.toml, line 6: tool_servers.met: two tool servers are named \"met\"; rename one \
                 of them. The other server is in .mcp_servers.\n";
    assert!(!output.status.success() && refused == twice, "{refused}");
}

#[test]
fn a_named_file_must_exist() {
    let folder = tempfile::tempdir().unwrap();
    let output = check(folder.path()).env("CONFIG_FILE", "elsewhere.toml").output().unwrap();
    let said = said(&output);
    assert!(!output.status.success() && said.contains("elsewhere.toml cannot be read"), "{said}");
}

/// A start of the server makes at least the checks of `check-config`.
#[test]
fn the_server_does_not_start_with_an_invalid_file() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("tallybook.toml"), "[[models]]\nname = 1\n").unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_tallybook"));
    let output = command.env_clear().env("PORT", "0").current_dir(folder.path()).output().unwrap();
    let said = said(&output);
    assert!(!output.status.success() && said.contains("tallybook.toml, line 2: "), "{said}");
    assert!(!folder.path().join("data").exists());
}

/// `.mcp_servers` is the other file with tool servers. It contains JSON.
#[test]
fn a_mistake_in_the_servers_file_is_reported_with_its_line() {
    let folder = tempfile::tempdir().unwrap();
    for (text, line, words) in [
        (
            "{\n\"mcpServers\": [\"hunter2\"]}",
            2,
            "mcpServers must be an object with a tool server under each name, but is a list.",
        ),
        ("{\n\"mcpServers\": {\"a\": {}},\n\"servers\": {\"a\": {}}}", 3, "two tool servers are named \"a\""),
        ("{\"mcpServers\":\nhunter2}", 2, "the file is not valid JSON: expected value."),
    ] {
        std::fs::write(folder.path().join(".mcp_servers"), text).unwrap();
        let output = check(folder.path()).output().unwrap();
        let said = said(&output);
        assert_eq!(output.status.code(), Some(1), "{text} was accepted: {said}");
        assert!(said.starts_with(&format!("tallybook: .mcp_servers, line {line}: ")), "{text}: {said}");
        assert!(said.contains(words) && !said.contains("hunter2"), "{text}: {said}");
    }
    // A mistake in one tool server affects only that server.
    let text = "{\"mcpServers\": {\"a\": {\"command\": \"x\",\n\"args\": \"hunter2\"}}}";
    std::fs::write(folder.path().join(".mcp_servers"), text).unwrap();
    let output = check(folder.path()).output().unwrap();
    let said = said(&output);
    let words = "It cannot be used: line 2: args must be a list in brackets, but is text";
    assert!(output.status.success() && said.contains(words) && !said.contains("hunter2"), "{said}");
}
