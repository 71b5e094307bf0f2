//! Settings that admins change while the server runs: their effect, their history, changes by two admins, restarts, and
//! other servers of the database. `effects` has more of their effects on turns. `accounts::rights` says who may do
//! this.

mod effects;

use reqwest::{
    Method, RequestBuilder, Response,
    header::{self, HeaderValue},
};
use serde_json::{Value, json};
use tallybook_conversations::models::{ModelChoice, ModelEntry, Origin};
use tallybook_mock_llm::{MockLlm, text, tool_call};

use crate::{
    accounts::kit::{ADMIN, Team, Who},
    added_models::{reason, request},
    bad_input::assert_problem,
    support::{Engine, Form, Provider, TestApp, eventually, execute, on_every_engine, rows},
};

const PATH: &str = "/api/admin/settings";

/// URL of the form.
const FORM: &str = "/admin/settings";

/// Sentence on the page of a form that is refused because another admin has changed the values.
pub(crate) const CHANGED_MEANWHILE: &str = "Another admin changed these settings. Your changes are kept";

/// Number of times that two changes are sent at once.
pub(crate) const ROUNDS: usize = 6;

/// Sends two changes of the same version at the same moment. Asserts that one of them is stored and the other is
/// refused.
pub(crate) async fn send_at_once(changes: [RequestBuilder; 2], version: &HeaderValue) {
    let [first, second] = changes.map(|change| change.header(header::IF_MATCH, version).send());
    let (first, second) = tokio::join!(first, second);
    let (first, second) = (first.unwrap(), second.unwrap());
    let (stored, refused) = if first.status() == 200 { (first, second) } else { (second, first) };
    assert_eq!(stored.status(), 200);
    assert_problem(refused, 412, "version-changed").await;
}

async fn change(app: &TestApp, patch: Value) -> Value {
    let changed = request(app, Method::PATCH, PATH, patch).await;
    assert_eq!(changed.status(), 200, "{}", changed.text().await.unwrap());
    changed.json().await.unwrap()
}

/// Returns a model of this name that `model` answers.
fn entry(name: &str, model: &MockLlm) -> ModelEntry {
    let choice = ModelChoice::Provider(Provider::Anthropic.settings(model.url()));
    ModelEntry { name: name.to_owned(), choice, prices: None, vision: false, origin: Origin::Environment }
}

/// Starts a server with two models, `First` and `Second`, that `model` answers.
async fn start(engine: &Engine, model: &MockLlm) -> TestApp {
    TestApp::builder(engine).with_models(vec![entry("First", model), entry("Second", model)]).spawn().await
}

/// Returns the name of the default model.
async fn default_model(app: &TestApp) -> String {
    let models = app.get_json("/api/models").await;
    let mut items = models["items"].as_array().unwrap().iter();
    items.find(|model| model["is_default"] == true).unwrap()["name"].as_str().unwrap().to_owned()
}

async fn restore(app: &TestApp, id: &Value) -> Response {
    request(app, Method::POST, &format!("{PATH}/history/{id}/restore"), json!({})).await
}

on_every_engine! {
    async fn settings_are_changed_shown_and_restored(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = start(&engine, &model).await;
        let before = app.get_json(PATH).await;
        assert_eq!((&before["version"], &before["changed"], &before["settings"]["sharing"]), (&json!(0), &json!([]), &json!(false)));

        let first = change(&app, json!({"default_model": "Second", "instructions": " Prices are in euros. "})).await;
        assert_eq!(first["changed"], json!(["default_model", "instructions"]));
        assert_eq!(first["settings"]["instructions"], "Prices are in euros.");
        assert_eq!(default_model(&app).await, "Second");
        let metrics = app.get("/metrics").await.text().await.unwrap();
        assert!(metrics.contains(",model=\"Second\"} 1"), "{metrics}");
        model.reply([text("Three euros.")]);
        let conversation = app.create_conversation().await;
        app.send(&conversation, "What does it cost?").await.all().await;
        assert!(model.requests().pop().unwrap().body["system"].to_string().contains("Prices are in euros."));

        // Setting the same value again changes nothing.
        assert_eq!(change(&app, json!({"default_model": "Second"})).await["version"], first["version"]);
        let second = change(&app, json!({"default_model": null, "sharing": true, "retention_days": 7})).await;
        assert_eq!(default_model(&app).await, "First");
        assert_eq!(second["settings"]["retention_days"], 7.0);
        assert_ne!(second["version"], first["version"]);

        let history = app.get_json(&format!("{PATH}/history")).await;
        let latest = &history["items"][0];
        assert_eq!(latest["id"], second["version"]);
        assert_eq!(latest["before"], json!({"default_model": "Second", "retention_days": null, "sharing": null}));
        assert_eq!(latest["after"], json!({"default_model": null, "retention_days": 7.0, "sharing": true}));
        assert_eq!(history["items"].as_array().unwrap().len(), 2);

        let restored: Value = restore(&app, &first["version"]).await.json().await.unwrap();
        assert_eq!(restored["settings"], first["settings"]);
        assert_eq!(default_model(&app).await, "Second");
        assert_problem(restore(&app, &json!(99)).await, 404, "no-such-change").await;

        let log = rows!(app, (String, String), "SELECT action, subject FROM audit_log WHERE action LIKE 'settings_%' ORDER BY id");
        assert_eq!(log.len(), 3);
        assert_eq!(log[0].1, format!(r#"change {}: default_model: default → "Second"; instructions"#, first["version"]));
        assert!(log[1].1.contains("sharing: default → true"), "{log:?}");
    }

    async fn changed_settings_survive_a_restart(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = start(&engine, &model).await;
        change(&app, json!({"default_model": "Second", "memory": {"max_chars": 500}})).await;
        app.shut_down().await;
        let app = start(&engine, &model).await;
        assert_eq!(default_model(&app).await, "Second");
        let settings = app.get_json(PATH).await["settings"].clone();
        assert_eq!(settings["memory"], json!({"summary_model": null, "after_tokens": null, "max_chars": 500}));
        app.shut_down().await;

        // The model of the setting is gone, so the first model is the default, and a problem is reported.
        let app = TestApp::builder(&engine).with_mock(&model).spawn().await;
        let current = app.get_json(PATH).await;
        assert!(current["problems"][0].as_str().unwrap().contains("\"Second\""), "{current}");
        assert_ne!(default_model(&app).await, "Second");
    }

    async fn settings_of_the_file_have_precedence(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = start(&engine, &model).await;
        let stored = change(&app, json!({"sharing": true, "llm_titles": true})).await;
        app.shut_down().await;
        let fixed = |settings: &mut tallybook::config::Settings| settings.set_in_file = vec!["sharing"];
        let app = TestApp::builder(&engine).with_mock(&model).with_settings(fixed).spawn().await;
        let current = app.get_json(PATH).await;
        assert_eq!((&current["set_in_file"], &current["changed"]), (&json!(["sharing"]), &json!(["llm_titles"])));
        assert_eq!((&current["settings"]["sharing"], &current["settings"]["llm_titles"]), (&json!(false), &json!(true)));
        assert!(current["problems"][0].as_str().unwrap().starts_with("sharing is set in the settings file"), "{current}");
        for patch in [json!({"sharing": true}), json!({"sharing": null, "llm_titles": false})] {
            assert_problem(request(&app, Method::PATCH, PATH, patch).await, 409, "set-in-file").await;
        }
        change(&app, json!({"llm_titles": null})).await;
        let restored: Value = restore(&app, &stored["version"]).await.json().await.unwrap();
        assert_eq!((&restored["settings"]["sharing"], &restored["settings"]["llm_titles"]), (&json!(false), &json!(true)));
    }

    async fn two_admins_cannot_overwrite_each_other(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = start(&engine, &model).await;
        let read = app.get(PATH).await;
        let tag = read.headers()[header::ETAG].clone();
        let patch = |patch: Value| app.client.patch(app.url(PATH)).header(header::IF_MATCH, tag.clone()).json(&patch).send();
        assert_eq!(patch(json!({"sharing": true})).await.unwrap().status(), 200);
        assert_problem(patch(json!({"retention_days": 1})).await.unwrap(), 412, "version-changed").await;
        let current = app.get_json(PATH).await;
        assert_eq!(current["changed"], json!(["sharing"]));
        // To restore earlier settings is a change, too.
        let restore = app.client.post(app.url(&format!("{PATH}/history/{}/restore", current["version"])));
        assert_problem(restore.header(header::IF_MATCH, tag).send().await.unwrap(), 412, "version-changed").await;
        assert_eq!(app.get_json(PATH).await, current);
    }

    /// During a rolling upgrade, servers of an earlier version store changes without a version.
    async fn a_change_that_an_earlier_program_stored_counts_as_the_latest(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = start(&engine, &model).await;
        let first = change(&app, json!({"sharing": true})).await;
        execute!(app, r#"INSERT INTO settings_history (changed_by, before_change, after_change, settings, created_at)
            SELECT 1, '{"sharing":true}', '{"sharing":null}', '{}', created_at FROM settings_history"#);
        execute!(app, "DELETE FROM settings");
        execute!(app, "UPDATE catalog_state SET version = version + 1");
        let theirs = app.get_json(PATH).await;
        assert_eq!((theirs["version"].as_i64() > first["version"].as_i64(), &theirs["settings"]["sharing"]), (true, &json!(false)));
        let second = change(&app, json!({"llm_titles": true})).await;
        let history = app.get_json(&format!("{PATH}/history")).await;
        let ids: Vec<&Value> = history["items"].as_array().unwrap().iter().map(|change| &change["id"]).collect();
        assert_eq!(ids, [&second["version"], &theirs["version"], &first["version"]]);
        let restored: Value = restore(&app, &theirs["version"]).await.json().await.unwrap();
        assert_eq!(restored["changed"], json!([]));
    }

    /// The two admins use different servers, where the engine allows a second one.
    async fn of_two_changes_at_once_one_is_stored(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = start(&engine, &model).await;
        let other = if engine.is_sqlite() { None } else { Some(start(&engine, &model).await) };
        let other = other.as_ref().unwrap_or(&app);
        for round in 1..=ROUNDS {
            let version = app.get(PATH).await.headers()[header::ETAG].clone();
            let patch = |app: &TestApp, patch: Value| app.client.patch(app.url(PATH)).json(&patch);
            let changes = [patch(&app, json!({"retention_days": round})), patch(other, json!({"max_turns_per_person": round}))];
            send_at_once(changes, &version).await;
            let history = app.get_json(&format!("{PATH}/history")).await;
            assert_eq!(history["items"].as_array().unwrap().len(), round);
        }
        let log = rows!(app, (i64,), "SELECT COUNT(*) FROM audit_log WHERE action = 'settings_changed'");
        assert_eq!(usize::try_from(log[0].0).unwrap(), ROUNDS);
    }

    async fn settings_that_are_not_valid_are_refused_as_a_whole(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = start(&engine, &model).await;
        for (wrong, words) in [
            (json!({"no_such": 1}), "The settings are: "),
            (json!({"sharing": "yes"}), "sharing is not valid"),
            (json!({"default_model": "Third"}), "The models are: First, Second"),
            (json!({"sign_up": "everybody"}), "open, invitation or closed"),
            (json!({"retention_days": -1}), "from 0 to 36500"),
            (json!({"consent_wait_hours": 1e9}), "from 0 to 87600"),
            (json!({"max_turns_per_person": -1}), "max_turns_per_person is not valid"),
            (json!({"instructions": "x".repeat(5000)}), "4000 characters"),
            (json!({"instructions": "a\u{0}b"}), "NUL"),
            (json!({"memory": {"max_chars": 9999}}), "2000"),
            (json!({"memory": {"max_chars": 1, "no_such": 1}}), "no_such"),
            (json!({"memory": {"summary_model": "Third", "max_chars": 300}}), "does not exist"),
            (json!({"plan": {"max_attempts": 0, "max_total_attempts": 5}}), "from 1 to 10"),
            (json!({"review": {"models": []}}), "must name 1 to"),
            (json!({"review": {"models": ["First", "First"]}}), "twice"),
            (json!({"review": {"models": ["First"], "mode": "guess"}}), "advise or decide"),
            (json!({"review": {"models": ["First"], "quorum": 2}}), "quorum"),
        ] {
            let mut patch = json!({"llm_titles": true});
            patch.as_object_mut().unwrap().extend(wrong.as_object().unwrap().clone());
            let detail = reason(request(&app, Method::PATCH, PATH, patch).await, 422, "invalid-setting").await;
            assert!(detail.contains(words), "{wrong}: {detail}");
        }
        assert_eq!(app.get_json(PATH).await["version"], 0);
    }

    async fn a_running_turn_keeps_the_settings_that_it_started_with(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = start(&engine, &model).await;
        change(&app, json!({"instructions": "Count in twos."})).await;
        let conversation = app.create_conversation().await;
        let gate = model.reply_gated([text("I ")], [tool_call("add", r#"{"a":2,"b":2}"#)]);
        let mut events = app.send(&conversation, "Count").await;
        events.until_text("I ").await;
        change(&app, json!({"instructions": "Count in threes."})).await;
        model.reply([text("Four.")]);
        gate.open();
        events.all().await;
        model.reply([text("Three.")]);
        app.send(&conversation, "Again").await.all().await;
        let requests = model.requests();
        let systems: Vec<String> = requests.iter().map(|request| request.body["system"].to_string()).collect();
        let counts: Vec<bool> = systems.iter().map(|system| system.contains("Count in twos.")).collect();
        assert_eq!(counts, [true, true, false]);
        assert!(systems[2].contains("Count in threes."));
    }

    async fn limits_sharing_and_sign_up_change_at_once(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let team = Team::start(&engine, &model).await;
        let admin = team.sign_in(ADMIN).await;
        let (ann, _) = team.user(&admin, "ann").await;
        let conversation = team.conversation(&ann).await;
        model.reply([text("Yes.")]);
        team.ask(&ann, &conversation, "Go?").await;
        let share = async || {
            let path = format!("/api/conversations/{conversation}/shares");
            team.send(&ann, Method::POST, &path, json!({})).await
        };
        let shared: Value = share().await.json().await.unwrap();
        let link = shared["path"].as_str().unwrap();
        let form = async || team.get(&Who::default(), "/sign-in").await.text().await.unwrap();
        assert!(!form().await.contains("/invitation"));

        let patch = json!({"max_messages_per_minute": 1, "sharing": false, "sign_up": "open"});
        team.json(&admin, Method::PATCH, PATH, patch, 200).await;
        assert_problem(share().await, 403, "sharing-off").await;
        assert_eq!(team.get(&Who::default(), link).await.status(), 404);
        assert!(form().await.contains("/invitation"), "the form offers to create an account");
        assert_problem(team.post_message(&ann, &conversation).await, 429, "too-many-messages").await;

        team.json(&admin, Method::PATCH, PATH, json!({"sharing": null, "max_messages_per_minute": null}), 200).await;
        assert_eq!(team.get(&Who::default(), link).await.status(), 200);
        let history = team.json(&admin, Method::GET, &format!("{PATH}/history"), Value::Null, 200).await;
        assert_eq!(history["items"][0]["changed_by"], ADMIN);

        let set = async |patch: Value| team.json(&admin, Method::PATCH, PATH, patch, 200).await;
        set(json!({"max_turns_per_person": 1})).await;
        let gate = model.reply_late([text("Slowly.")]);
        let running = team.post_message(&ann, &conversation).await;
        gate.reached().await;
        let other = team.conversation(&ann).await;
        assert_problem(team.post_message(&ann, &other).await, 429, "too-many-turns").await;
        set(json!({"max_turns_per_person": 2, "max_tokens_per_day": 1})).await;
        assert_problem(team.post_message(&ann, &other).await, 429, "too-many-tokens").await;
        set(json!({"max_tokens_per_day": null})).await;
        model.reply([text("At once.")]);
        team.ask(&ann, &other, "Go?").await;
        gate.open();
        running.text().await.unwrap();
    }

    /// The form of the page changes only what was edited, keeps what was entered if it is refused, and needs no script.
    async fn the_form_changes_what_was_edited(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let (team, user) = (Team::of(start(&engine, &model).await), Who::default());
        let app = &team.app;
        change(app, json!({"memory": {"max_chars": 300}, "plan": {"max_attempts": 2, "max_total_attempts": 10}})).await;
        let mut form = team.open_form(&user, FORM).await;
        change(app, json!({"sharing": true})).await;

        // Another admin has changed the settings. What was entered stays on the page.
        form.set("instructions", "Prices are in <euros>.");
        form.set("review.models", "Second");
        form.set("review.mode", "advise");
        let (status, html) = team.submit(&user, &form).await;
        assert_eq!(status, 412);
        assert!(html.contains(CHANGED_MEANWHILE), "{html}");
        assert!(html.contains("Prices are in &#60;euros&#62;.") && !html.contains("<euros>"), "{html}");
        // The page has the new version. Only what was edited changes, and not what the other admin did.
        let mut form = Form::read(&html, FORM);
        form.set("retention_days", "lots");
        let (status, html) = team.submit(&user, &form).await;
        assert_eq!(status, 422);
        assert!(html.contains("retention_days is not valid"), "{html}");
        let mut form = Form::read(&html, FORM);
        assert_eq!(form.all("retention_days"), ["lots"]);
        form.set("retention_days", "2.5");
        assert_eq!(team.submit(&user, &form).await.0, 303);
        let current = app.get_json(PATH).await;
        let settings = &current["settings"];
        assert_eq!((&settings["sharing"], &settings["retention_days"]), (&json!(true), &json!(2.5)));
        assert_eq!(settings["instructions"], "Prices are in <euros>.");
        assert_eq!(settings["review"], json!({"models": ["Second"], "mode": "advise", "quorum": null, "timeout_secs": null}));
        assert_eq!(current["changed"], json!(["instructions", "memory", "plan", "retention_days", "review", "sharing"]));

        let mut default = team.open_form(&user, FORM).await;
        default.set("default", "review");
        assert_eq!(team.submit(&user, &default).await.0, 303);
        assert_eq!(app.get_json(PATH).await["settings"]["review"], Value::Null);
        let html = app.get(FORM).await.text().await.unwrap();
        assert!(html.matches("data-testid=\"settings-change\"").count() == 4, "{html}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn other_servers_of_the_database_notice_changed_settings() {
    for engine in Engine::every_mysql_with_tables().await {
        let model = MockLlm::start().await.unwrap();
        let (here, there) = (start(&engine, &model).await, start(&engine, &model).await);
        change(&here, json!({"default_model": "Second"})).await;
        eventually("the default changes", async || default_model(&there).await == "Second").await;
        change(&there, json!({"default_model": null})).await;
        eventually("the default changes back", async || default_model(&here).await == "First").await;
    }
}
