//! Budgets: when they refuse turns, also for API clients, and what users see of them. `counted` has the calls that
//! count toward budgets, and `edge` has turns that begin while little is left. `accounts::rights` says who may set
//! budgets.

mod counted;
mod edge;

use chrono::{DateTime, Utc};
use reqwest::{Method, Response, header};
use serde_json::{Value, json};
use tallybook_mock_llm::{MockLlm, text};
use tallybook_protocol::{MessageStatus, Prices};

use crate::{
    accounts::kit::{ADMIN, Team, Who, required},
    added_models::{reason, request},
    approvals::{Orders, order, tools},
    bad_input::assert_problem,
    operator_commands::said,
    server_settings::{CHANGED_MEANWHILE, ROUNDS, send_at_once},
    support::{Counts, Engine, EventReader, Form, Program, TestApp, end_of, execute, on_every_engine, rows},
};

const PATH: &str = "/api/admin/budgets";

/// URL of the form.
const FORM: &str = "/admin/budgets";

/// Prices of a model. An output token costs 15,000 billionths.
const PRICES: Prices = Prices { input: 3.0, output: 15.0 };

/// Starts a server with accounts whose model has these prices, on a database that has an admin.
async fn join(engine: &Engine, model: &MockLlm, prices: Option<Prices>) -> Team {
    let app = TestApp::builder(engine).with_mock(model).with_accounts(required());
    Team::of(app.with_settings(|settings| settings.models[0].prices = prices).spawn().await)
}

async fn set(team: &Team, admin: &Who, budgets: Value) {
    let stored = team.json(admin, Method::PUT, PATH, budgets.clone(), 200).await;
    assert_eq!(stored, team.json(admin, Method::GET, PATH, Value::Null, 200).await);
    assert_eq!(stored.as_array().unwrap().len(), budgets.as_array().unwrap().len());
}

async fn budgets_of(team: &Team, who: &Who) -> Value {
    team.json(who, Method::GET, "/api/me", Value::Null, 200).await["budgets"].clone()
}

/// Asserts that a request was refused because of a budget. Returns the problem.
async fn used_up(response: Response) -> Value {
    assert!(response.headers().contains_key("retry-after"));
    assert_problem(response, 429, "budget-used-up").await
}

/// A server on which the user ann has asked a question.
struct Asked {
    model: MockLlm,
    team: Team,
    admin: Who,
    ann: Who,
    /// The ID of ann.
    id: i64,
    conversation: String,
}

impl Asked {
    async fn start(engine: &Engine) -> Self {
        let model = MockLlm::start().await.unwrap();
        let team = Team::start(engine, &model).await;
        let admin = team.sign_in(ADMIN).await;
        let (ann, id) = team.user(&admin, "ann").await;
        let conversation = team.conversation(&ann).await;
        model.reply([text("Yes.")]);
        team.ask(&ann, &conversation, "Go?").await;
        Self { model, team, admin, ann, id, conversation }
    }
}

on_every_engine! {
    async fn a_budget_of_a_user_refuses_that_user_only(engine: Engine) {
        let Asked { model, team, admin, ann, id, conversation } = Asked::start(&engine).await;
        assert_eq!(budgets_of(&team, &ann).await, Value::Null);

        // Usage of today counts, although it came before the budget.
        set(&team, &admin, json!([{"principal": format!("user:{id}"), "period": "day", "tokens": 10, "warn_at": 0.5}])).await;
        let problem = used_up(team.post_message(&ann, &conversation).await).await;
        assert_eq!(problem["limit"], 10);
        assert!(problem["used"].as_i64().unwrap() >= 10, "{problem}");
        assert!(problem["resets_at"].as_str().unwrap().ends_with("T00:00:00Z"), "{problem}");
        assert!(problem["detail"].as_str().unwrap().starts_with("Your budget of tokens for today is used up."), "{problem}");
        let shown = budgets_of(&team, &ann).await;
        let tokens = &shown[0]["tokens"];
        assert_eq!((&shown[0]["is_shared"], &tokens["is_warning"], &tokens["limit"]), (&json!(false), &json!(true), &json!(10)));

        // Deleting the conversation gives nothing back.
        let deleted = team.send(&ann, Method::DELETE, &format!("/api/conversations/{conversation}"), Value::Null).await;
        assert_eq!(deleted.status(), 204);
        let other = team.conversation(&ann).await;
        used_up(team.post_message(&ann, &other).await).await;
        let admins = team.conversation(&admin).await;
        model.reply([text("At once.")]);
        team.ask(&admin, &admins, "Go?").await;

        // A higher budget applies at once.
        set(&team, &admin, json!([{"principal": format!("user:{id}"), "period": "day", "tokens": 100_000_000}])).await;
        model.reply([text("Again.")]);
        team.ask(&ann, &other, "Go?").await;
        assert_eq!(budgets_of(&team, &ann).await[0]["tokens"]["is_warning"], false);
        let log = rows!(team.app, (String,), "SELECT subject FROM audit_log WHERE action = 'budgets_changed'");
        assert_eq!(log[0].0, format!("user:{id} day: 10 tokens"));
        assert_eq!(log.len(), 2);
    }

    /// The warning begins when usage reaches the budget's part `warn_at`, before the budget is used up.
    async fn a_budget_that_is_nearly_used_up_warns(engine: Engine) {
        let Asked { model, team, admin, ann, id, conversation } = Asked::start(&engine).await;
        execute!(team.app, "UPDATE model_calls SET input_tokens = 700, output_tokens = 100, cost_nanos = 800");
        for field in ["tokens", "cost_nanos"] {
            for (limit, is_warning) in [(801, true), (1000, true), (1001, false)] {
                let mut budget = json!({"principal": format!("user:{id}"), "period": "month"});
                budget[field] = json!(limit);
                set(&team, &admin, json!([budget])).await;
                let shown = budgets_of(&team, &ann).await[0][field].clone();
                assert_eq!(shown, json!({"limit": limit, "used": 800, "is_warning": is_warning}), "{field}");
            }
            let part = json!([{"principal": "all", "period": "day", field: 1600, "warn_at": 0.5}]);
            set(&team, &admin, part).await;
            assert_eq!(budgets_of(&team, &ann).await[0][field]["is_warning"], true, "{field}");
        }
        // A warning refuses nothing. This model has no prices, so its turns reserve no money.
        set(&team, &admin, json!([{"principal": "all", "period": "day", "cost_nanos": 801}])).await;
        model.reply([text("Again.")]);
        team.ask(&ann, &conversation, "Go?").await;
    }

    async fn a_shared_budget_of_money_refuses_all_users_also_at_v1(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let team = Team::start(&engine, &model).await;
        let admin = team.sign_in(ADMIN).await;
        let (ann, _) = team.user(&admin, "ann").await;
        let conversation = team.conversation(&admin).await;
        model.reply([text("Yes.")]);
        team.ask(&admin, &conversation, "Go?").await;
        execute!(team.app, "UPDATE model_calls SET cost_nanos = 500");
        set(&team, &admin, json!([
            {"principal": "all", "period": "day", "cost_nanos": 1000},
            {"principal": "all", "period": "month", "cost_nanos": 500},
        ])).await;
        let anns = team.conversation(&ann).await;
        let problem = used_up(team.post_message(&ann, &anns).await).await;
        assert_eq!((&problem["used"], &problem["limit"]), (&json!(500), &json!(500)));
        assert!(problem["detail"].as_str().unwrap().starts_with("The server's budget of money for this month"), "{problem}");

        let (program, messages) = (team.program(&ann).await, json!([{"role": "user", "content": "Go?"}]));
        let name = team.json(&ann, Method::GET, "/api/models", Value::Null, 200).await["items"][0]["name"].clone();
        let direct = format!("{}:plain", name.as_str().unwrap());
        // Background tasks are recognized by a header or by the beginning of their text.
        let task = json!([{"role": "user", "content": "### Task:\nWrite a title."}]);
        for (path, header, body) in [
            ("/v1/chat/completions", "", json!({"messages": messages})),
            ("/v1/chat/completions", "", json!({"messages": messages, "model": direct})),
            ("/v1/chat/completions", "title", json!({"messages": messages})),
            ("/v1/chat/completions", "", json!({"messages": task})),
            ("/v1/responses", "", json!({"input": "Go?"})),
            ("/v1/responses", "", json!({"input": "Go?", "model": direct})),
            ("/v1/chat", "", json!({"messages": messages})),
        ] {
            let request = team.request(&program, Method::POST, path).header("X-Tallybook-Task", header);
            let refused = request.json(&body).send().await.unwrap();
            assert_eq!(refused.status(), 429, "{path} {body}");
            let refused: Value = refused.json().await.unwrap();
            let error = &refused["error"];
            assert_eq!(error["code"], "budget_used_up", "{path}: {refused}");
            for field in ["resets_at", "used", "limit"] {
                assert_eq!(error[field], problem[field], "{path}: {refused}");
            }
        }
        let answered = team.json(&admin, Method::GET, &format!("/api/conversations/{conversation}"), Value::Null, 200).await;
        let answer = format!("/api/conversations/{conversation}/messages/{}", answered["messages"][1]["id"]);
        for action in ["regenerate", "reasoning-summary"] {
            used_up(team.send(&admin, Method::POST, &format!("{answer}/{action}"), json!({})).await).await;
        }
        assert_eq!(model.unused_replies(), 0);
        assert_eq!(model.requests().len(), 1, "no model was called");
    }

    /// The order of the budgets does not matter: the request is refused until the last of them starts again.
    async fn of_several_used_up_budgets_the_last_to_start_again_is_reported(engine: Engine) {
        let Asked { model, team, admin, ann, id, conversation } = Asked::start(&engine).await;
        let of_ann = |period: &str| json!({"principal": format!("user:{id}"), "period": period, "tokens": 10});
        for budgets in [json!([of_ann("day"), of_ann("month")]), json!([of_ann("month"), of_ann("day")])] {
            set(&team, &admin, budgets).await;
            let resets_at = |budget: &Value| budget["resets_at"].as_str().unwrap().parse::<DateTime<Utc>>().unwrap();
            let last = budgets_of(&team, &ann).await.as_array().unwrap().iter().map(resets_at).max().unwrap();
            let refused = team.post_message(&ann, &conversation).await;
            let wait: i64 = refused.headers()["retry-after"].to_str().unwrap().parse().unwrap();
            let problem = used_up(refused).await;
            assert_eq!(resets_at(&problem), last, "{problem}");
            assert!((0..60).contains(&((last - Utc::now()).num_seconds() - wait).abs()), "{wait}: {problem}");
        }

        // A budget that is only reserved comes after one that is used up. Only turns with a limit reserve tokens.
        let much = json!({"principal": "all", "period": "month", "tokens": 100_000_000});
        set(&team, &admin, json!([much])).await;
        let gate = model.reply_late([text("At once.")]);
        let admins = team.conversation(&admin).await;
        let running = team.post_message(&admin, &admins).await;
        gate.reached().await;
        let reserved = json!({"principal": "all", "period": "month", "tokens": 1000});
        set(&team, &admin, json!([reserved, of_ann("day")])).await;
        let problem = used_up(team.post_message(&ann, &conversation).await).await;
        assert!(problem["detail"].as_str().unwrap().starts_with("Your budget of tokens for today is used up."), "{problem}");
        set(&team, &admin, json!([reserved])).await;
        let problem = used_up(team.post_message(&ann, &conversation).await).await;
        assert!(problem["detail"].as_str().unwrap().contains("is reserved for answers"), "{problem}");
        gate.open();
        running.text().await.unwrap();
    }

    /// An answer that waited for approval has begun, so it is finished. To continue an answer is another request.
    async fn an_answer_that_waited_for_approval_is_finished_after_a_budget_is_used_up(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let orders = Orders::default();
        let app = TestApp::builder(&engine).with_mock(&model).with_tools(tools(&orders, &Counts::default()));
        let app = app.with_approval_timeout(None).spawn().await;
        let (waiting, stopped) = (app.create_conversation().await, app.create_conversation().await);
        model.reply([order("soup")]);
        let call = end_of(&app.send(&waiting, "I am hungry").await.all().await).tool_calls[0].tool_call_id;
        let gate = model.reply_gated([text("Once ")], [text("upon")]);
        let mut events = app.send(&stopped, "Tell me a story").await;
        events.until_text("Once ").await;
        assert_eq!(app.post(&format!("/api/conversations/{stopped}/stop"), json!({})).await.status(), 204);
        events.until("message_end").await;
        gate.abandoned().await;

        let budget = json!([{"principal": "all", "period": "month", "tokens": 1}]);
        assert_eq!(request(&app, Method::PUT, PATH, budget).await.status(), 200);
        model.reply([text("It is ordered.")]);
        let decision = json!({"decision": "approve"});
        let events = EventReader::new(app.post(&format!("/api/tool-calls/{}/decision", call.0), decision).await).all().await;
        let end = end_of(&events);
        assert_eq!((end.status, end.content.as_str()), (MessageStatus::Complete, "It is ordered."));
        assert_eq!(orders.orders(), ["soup"]);
        used_up(app.post(&format!("/api/conversations/{stopped}/continue"), json!({})).await).await;
        assert_eq!(model.unused_replies(), 0);
    }

    /// Deleted data is kept while it counts toward a budget, also with a retention time of 0.
    async fn a_purge_gives_nothing_back(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::builder(&engine).with_mock(&model).with_settings(|settings| settings.retention_days = 0.0);
        let app = app.spawn().await;
        let purge = || {
            let mut command = Program::command(&engine, &model);
            command.args(["admin", "retention", "--purge"]).env("RETENTION_DAYS", "0");
            let (is_done, words) = said(&command.output().unwrap());
            assert!(is_done, "{words}");
            words
        };
        for (budgets, kept) in [(json!([{"principal": "all", "period": "month", "tokens": 10}]), 1), (json!([]), 0)] {
            assert_eq!(request(&app, Method::PUT, PATH, budgets.clone()).await.status(), 200);
            if kept == 1 {
                let conversation = app.create_conversation().await;
                model.reply([text("Yes.")]);
                app.send(&conversation, "Go?").await.all().await;
                app.delete(&conversation).await;
            }
            let words = purge();
            assert!(words.contains(&format!("Retained deleted conversations: {kept}")), "{words}");
            let other = app.create_conversation().await;
            let path = format!("/api/conversations/{other}/messages");
            if kept == 1 {
                used_up(app.post(&path, json!({"content": "Go?"})).await).await;
            }
        }
    }

    async fn budgets_that_are_not_valid_are_refused_as_a_whole(engine: Engine) {
        let app = TestApp::builder(&engine).with_mock(&MockLlm::start().await.unwrap()).spawn().await;
        let put = |body: Value| request(&app, Method::PUT, PATH, body);
        let all = |fields: Value| {
            let mut budget = json!({"principal": "all", "period": "day", "tokens": 5});
            budget.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
            json!([budget])
        };
        assert_eq!(put(all(json!({}))).await.status(), 200);
        for (wrong, words) in [
            (all(json!({"principal": "everybody"})), "user: or group: and an ID"),
            (all(json!({"principal": "user:999999"})), "There is no user with the ID"),
            (all(json!({"principal": "user:01"})), "user: or group: and an ID"),
            (all(json!({"tokens": null})), "limits nothing"),
            (all(json!({"tokens": 0})), "at least 1"),
            (all(json!({"warn_at": 2})), "from 0 to 1"),
            (json!([all(json!({}))[0], all(json!({"tokens": 6}))[0]]), "two budgets"),
        ] {
            let detail = reason(put(wrong.clone()).await, 422, "invalid-budget").await;
            assert!(detail.contains(words), "{wrong}: {detail}");
        }
        let tag = app.get(PATH).await.headers()[header::ETAG].clone();
        assert_eq!(put(all(json!({}))).await.status(), 200);
        let stale = app.client.put(app.url(PATH)).header(header::IF_MATCH, tag).json(&json!([])).send().await.unwrap();
        assert_problem(stale, 412, "version-changed").await;
        assert_eq!(app.get_json(PATH).await, json!([{"principal": "all", "period": "day", "tokens": 5, "warn_at": 0.8}]));
        assert_eq!(put(json!([])).await.status(), 200);
        assert_eq!(app.get_json(PATH).await, json!([]));
    }

    /// The two admins use different servers, where the engine allows a second one.
    async fn of_two_replacements_at_once_one_is_stored(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::spawn(&engine, &model).await;
        let other = if engine.is_sqlite() { None } else { Some(TestApp::spawn(&engine, &model).await) };
        let other = other.as_ref().unwrap_or(&app);
        for round in 1..=ROUNDS {
            let version = app.get(PATH).await.headers()[header::ETAG].clone();
            let put = |app: &TestApp, period: &str| {
                let budgets = json!([{"principal": "all", "period": period, "tokens": round}]);
                app.client.put(app.url(PATH)).json(&budgets)
            };
            send_at_once([put(&app, "day"), put(other, "month")], &version).await;
            assert_eq!(app.get_json(PATH).await.as_array().unwrap().len(), 1);
        }
        let log = rows!(app, (i64,), "SELECT COUNT(*) FROM audit_log WHERE action = 'budgets_changed'");
        assert_eq!(usize::try_from(log[0].0).unwrap(), ROUNDS);
    }

    /// Only the row for a new budget lists all groups: with 1,000 of both, the page would have a million of them.
    async fn the_form_lists_the_groups_once(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let team = Team::start(&engine, &model).await;
        let admin = team.sign_in(ADMIN).await;
        let mut budgets = Vec::new();
        for name in ["Crew", "Painters", "Staff"] {
            let made = team.json(&admin, Method::POST, "/api/groups", json!({"name": name}), 201).await;
            budgets.push(json!({"principal": format!("group:{}", made["id"]), "period": "day", "tokens": 5, "warn_at": 0.8}));
        }
        set(&team, &admin, json!(budgets)).await;
        let html = team.get(&admin, FORM).await.text().await.unwrap();
        assert_eq!(html.matches("<option value=\"group:").count(), 6, "{html}");
        let form = team.open_form(&admin, FORM).await;
        assert_eq!(team.submit(&admin, &form).await.0, 303);
        assert_eq!(team.json(&admin, Method::GET, PATH, Value::Null, 200).await, json!(budgets));
    }

    /// A form that is refused keeps what was entered. If another admin has changed the budgets, the form has both
    /// changes.
    async fn a_refused_form_keeps_what_was_entered(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let team = Team::start(&engine, &model).await;
        let admin = team.sign_in(ADMIN).await;
        let of = async |name| format!("user:{}", team.user(&admin, name).await.1);
        let (ann, bob) = (of("ann").await, of("bob").await);
        let budget = |principal: &str, period: &str, tokens: i64| {
            json!({"principal": principal, "period": period, "tokens": tokens, "warn_at": 0.8})
        };
        set(&team, &admin, json!([budget("all", "day", 5), budget(&ann, "month", 7), budget("all", "month", 20)])).await;
        let mut form = team.open_form(&admin, FORM).await;
        assert_eq!(form.all("tokens"), ["5", "7", "20", ""]);
        form.set_all("tokens", &["6", "7", "20", "lots"]);
        form.set_all("principal", &["all", "user", "all", "user"]);
        form.set_all("user", &["", "ann", "", "ann"]);
        form.set_all("period", &["day", "month", "month", "day"]);
        let (status, html) = team.submit(&admin, &form).await;
        assert_eq!(status, 422);
        assert!(html.contains("Tokens of budget 4 is not valid.") && !html.contains(CHANGED_MEANWHILE), "{html}");
        let mut form = Form::read(&html, FORM);
        assert_eq!(form.all("tokens"), ["6", "7", "20", "lots", ""]);

        let others = json!([budget("all", "day", 50), budget(&ann, "month", 70), budget(&bob, "day", 9)]);
        set(&team, &admin, others.clone()).await;
        form.set_all("tokens", &["6", "7", "20", "8", ""]);
        let (status, html) = team.submit(&admin, &form).await;
        assert_eq!(status, 412);
        assert!(html.contains(CHANGED_MEANWHILE), "{html}");
        assert_eq!(team.json(&admin, Method::GET, PATH, Value::Null, 200).await, others);
        let form = Form::read(&html, FORM);
        assert_eq!(form.all("tokens"), ["6", "70", "8", "9", ""], "the other admin has removed the budget of 20 tokens");
        assert_eq!(form.all("user"), ["", "ann", "ann", "bob", ""]);
        assert_eq!(team.submit(&admin, &form).await.0, 303);
        let merged =
            json!([budget("all", "day", 6), budget(&ann, "month", 70), budget(&ann, "day", 8), budget(&bob, "day", 9)]);
        assert_eq!(team.json(&admin, Method::GET, PATH, Value::Null, 200).await, merged);
    }
}
