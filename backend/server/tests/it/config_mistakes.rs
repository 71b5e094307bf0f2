//! Mistakes in the settings file and in `.mcp_servers`: the error messages, with the file and the line.

use crate::config_file::{KEY, check, check_text, said};

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
