//! Feedback on answers: who can give it, what it may be, where it is shown, and when it is deleted.

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use tallybook_mock_llm::{MockLlm, hang, text, tool_call};

use crate::{
    accounts::{
        groups::{add_opal, names},
        kit::{ADMIN, Team, Who, kind_of},
        tool_history::{calls_on, filtered, page, say_why},
    },
    operator_commands::said,
    support::{Engine, Program, TestApp, on_every_engine, rows},
};

fn path(conversation: &str, message: &Value) -> String {
    format!("/api/conversations/{conversation}/messages/{message}/feedback")
}

/// Asks a question that takes a tool call. Returns the conversation, and the path of the answer's feedback.
async fn ask(team: &Team, model: &MockLlm, who: &Who) -> (String, String) {
    let uuid = team.conversation(who).await;
    model.reply([tool_call("add", r#"{"a":1,"b":2}"#)]);
    model.reply([text("It is 4.")]);
    team.ask(who, &uuid, "1 + 2?").await;
    let feedback = path_of_answer(team, who, &uuid).await;
    (uuid, feedback)
}

/// Returns the path of the first answer's feedback.
async fn path_of_answer(team: &Team, who: &Who, uuid: &str) -> String {
    path(uuid, &messages(team, who, uuid).await[1]["id"])
}

async fn messages(team: &Team, who: &Who, uuid: &str) -> Value {
    team.json(who, Method::GET, &format!("/api/conversations/{uuid}"), Value::Null, 200).await["messages"].clone()
}

/// Purges everything that users have deleted.
fn purge(engine: &Engine, model: &MockLlm) {
    let mut command = Program::command(engine, model);
    command.env("RETENTION_DAYS", "0").args(["admin", "retention", "--purge"]);
    let (is_done, words) = said(&command.output().unwrap());
    assert!(is_done, "{words}");
}

on_every_engine! {
    async fn feedback_is_replaced_and_deleted(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let team = Team::of(TestApp::spawn(&engine, &model).await);
        let user = Who::default();
        let (uuid, feedback) = ask(&team, &model, &user).await;
        let put = async |given: Value, status| team.json(&user, Method::PUT, &feedback, given, status).await;
        let shown = async || messages(&team, &user, &uuid).await[1]["feedback"].clone();
        assert_eq!(shown().await, Value::Null);

        let long = "計".repeat(1000);
        for (given, stored) in [
            (json!({"rating": "up"}), json!({"rating": "up"})),
            (json!({"rating": "down", "reason": " It is 3.\n"}), json!({"rating": "down", "reason": "It is 3."})),
            (json!({"rating": "down", "reason": "It is 3."}), json!({"rating": "down", "reason": "It is 3."})),
            (json!({"rating": "up", "reason": format!(" {long} ")}), json!({"rating": "up", "reason": long})),
            (json!({"rating": "down", "reason": " "}), json!({"rating": "down"})),
            (json!({"rating": "down", "reason": null}), json!({"rating": "down"})),
        ] {
            assert_eq!(put(given, 200).await, stored);
            assert_eq!(shown().await, stored);
        }
        let times = rows!(team.app, (i64,), "SELECT COUNT(*) FROM feedback WHERE created_at < updated_at");
        assert_eq!(times, [(1,)]);
        for (given, status) in [
            (json!({"rating": "up", "reason": "計".repeat(1001)}), 422),
            (json!({"rating": "up", "reason": "a\u{0}b"}), 422),
            (json!({"rating": "good"}), 400),
            (json!({"reason": "It is 3."}), 400),
        ] {
            put(given, status).await;
        }
        assert_eq!(shown().await, json!({"rating": "down"}), "invalid feedback changes nothing");

        for _ in 0..2 {
            team.json(&user, Method::DELETE, &feedback, Value::Null, 204).await;
            assert_eq!(shown().await, Value::Null);
        }
        let other = team.conversation(&user).await;
        let [question, answer] = [0, 1].map(async |at: usize| messages(&team, &user, &uuid).await[at]["id"].clone());
        let (question, answer) = (question.await, answer.await);
        let refused = team.json(&user, Method::PUT, &path(&uuid, &question), json!({"rating": "up"}), 422).await;
        assert_eq!(refused["detail"], "This is not an answer. Only answers can be rated.");
        for wrong in [path(&other, &answer), path(&uuid, &json!(999_999)), path(&uuid, &json!("x"))] {
            team.json(&user, Method::PUT, &wrong, json!({"rating": "up"}), 404).await;
            team.json(&user, Method::DELETE, &wrong, Value::Null, 404).await;
        }
    }

    async fn an_answer_is_rated_once_it_has_ended(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let team = Team::of(TestApp::spawn(&engine, &model).await);
        let user = Who::default();
        let uuid = team.conversation(&user).await;
        model.reply([text("It is "), hang()]);
        let mut turn = team.post_message(&user, &uuid).await;
        turn.chunk().await.unwrap().expect("the turn runs");
        let feedback = path(&uuid, &messages(&team, &user, &uuid).await[1]["id"]);
        let refused = team.send(&user, Method::PUT, &feedback, json!({"rating": "up"})).await;
        assert_eq!((refused.status(), &*kind_of(refused).await), (StatusCode::CONFLICT, "/problems/turn-running"));
        team.json(&user, Method::DELETE, &feedback, Value::Null, 204).await;
        team.json(&user, Method::POST, &format!("/api/conversations/{uuid}/stop"), Value::Null, 204).await;
        turn.text().await.unwrap();
        team.json(&user, Method::PUT, &feedback, json!({"rating": "up"}), 200).await;
    }

    /// Only the user's own exports have the feedback, and it is deleted with the conversation.
    async fn feedback_is_not_shared(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let team = Team::start(&engine, &model).await;
        let admin = team.sign_in(ADMIN).await;
        let ((ann, _), (ben, _)) = (team.user(&admin, "ann").await, team.user(&admin, "ben").await);
        let (uuid, feedback) = ask(&team, &model, &ann).await;
        let given = json!({"rating": "down", "reason": "Rhubarb"});
        for stranger in [&ben, &admin] {
            team.json(stranger, Method::PUT, &feedback, given.clone(), 404).await;
        }
        team.json(&ann, Method::PUT, &feedback, given.clone(), 200).await;
        team.json(&ben, Method::DELETE, &feedback, Value::Null, 404).await;
        assert_eq!(messages(&team, &ann, &uuid).await[1]["feedback"], given);

        let read = async |who: &Who, path: &str| team.get(who, path).await.text().await.unwrap();
        let conversation = format!("/api/conversations/{uuid}");
        for (own, is_there) in [
            (format!("{conversation}/export?format=json"), true),
            ("/api/me/export".to_owned(), true),
            (format!("{conversation}/export?format=markdown"), false),
        ] {
            let export = read(&ann, &own).await;
            assert!(export.contains("It is 4."), "{own}: {export}");
            assert_eq!(export.contains("Rhubarb"), is_there, "{own}: {export}");
        }
        let shared = team.json(&ann, Method::POST, &format!("{conversation}/shares"), json!({"tool_calls": true}), 201).await;
        let link = shared["path"].as_str().unwrap();
        for public in [read(&Who::default(), link).await, read(&Who::default(), &format!("{link}?format=text")).await] {
            assert!(public.contains("It is 4.") && !public.contains("Rhubarb"), "{public}");
        }
        assert!(!rows!(team.app, (String,), "SELECT messages FROM shares")[0].0.contains("feedback"));

        let count = async || rows!(team.app, (i64,), "SELECT COUNT(*) FROM feedback")[0].0;
        team.json(&ann, Method::DELETE, &conversation, Value::Null, 204).await;
        team.json(&ann, Method::PUT, &feedback, given, 404).await;
        assert_eq!(count().await, 1, "the tool history keeps it");
        purge(&engine, &model);
        assert_eq!(count().await, 0);
    }

    async fn the_tool_history_shows_finds_and_counts_feedback(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let team = Team::start(&engine, &model).await;
        let admin = team.sign_in(ADMIN).await;
        let (ann, _) = team.user(&admin, "ann").await;
        let (_, good) = ask(&team, &model, &ann).await;
        let (uuid, bad) = ask(&team, &model, &ann).await;
        ask(&team, &model, &admin).await;
        let nothing = page(&team, &admin, "/admin/figures?range=24h", StatusCode::OK).await;
        assert!(!nothing.contains("data-testid=\"ratings\""), "{nothing}");
        team.json(&ann, Method::PUT, &good, json!({"rating": "up"}), 200).await;
        team.json(&ann, Method::PUT, &bad, json!({"rating": "down", "reason": "It is <b>3</b>."}), 200).await;

        let calls = async |filter: &str| calls_on(&page(&team, &admin, &filtered(filter), StatusCode::OK).await);
        let [last, second, first] = calls("").await[..] else { panic!("three calls") };
        for (filter, found) in [
            ("rating:up", vec![first]),
            ("rating:down", vec![second]),
            ("Rating:DOWN user:ann tool:add", vec![second]),
            ("rating:down status:error", vec![]),
            ("rating:up user:root", vec![]),
        ] {
            assert_eq!(calls(filter).await, found, "{filter}");
        }
        let wrong = page(&team, &admin, &filtered("rating:good"), StatusCode::UNPROCESSABLE_ENTITY).await;
        assert!(wrong.contains("a rating. Use one of: up, down."), "{wrong}");

        let [of_call, of_conversation] = [format!("/admin/calls/{second}"), format!("/admin/conversations/{uuid}")];
        page(&team, &admin, &of_call, StatusCode::FORBIDDEN).await;
        say_why(&team, &admin, &of_call, "to improve the answers").await;
        for address in [of_call, of_conversation] {
            let html = page(&team, &admin, &address, StatusCode::OK).await;
            assert!(html.contains("<p data-testid=\"feedback\">Bad answer: It is &#60;b&#62;3&#60;/b&#62;.</p>"), "{html}");
        }
        let html = page(&team, &admin, &format!("/admin/calls/{last}"), StatusCode::OK).await;
        assert!(!html.contains("data-testid=\"feedback\""), "{html}");

        team.json(&ann, Method::PUT, &good, json!({"rating": "down"}), 200).await;
        let html = page(&team, &admin, "/admin/figures?range=24h", StatusCode::OK).await;
        let ratings = html.split("data-testid=\"ratings\"").nth(1).unwrap_or_else(|| panic!("{html}"));
        let numbers: Vec<&str> = ratings.split("<td>").skip(1).map(|cell| cell.split('<').next().unwrap()).collect();
        assert_eq!(numbers, ["0", "2"], "{ratings}");
    }

    async fn the_statistics_count_ratings_by_model(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let team = Team::start(&engine, &model).await;
        let admin = team.sign_in(ADMIN).await;
        let (ann, _) = team.user(&admin, "ann").await;
        add_opal(&team, &admin, &model).await;
        let default = names(&team, &ann, "/api/models").await[0].trim_end_matches('*').to_owned();
        for (name, rating) in [("Opal", "up"), ("Opal", "down"), ("Opal", "up"), (&default, "down"), ("Opal", "none")] {
            let uuid = team.conversation(&ann).await;
            model.reply([text("Four.")]);
            let path = format!("/api/conversations/{uuid}/messages");
            let answer = team.send(&ann, Method::POST, &path, json!({"content": "2 + 2?", "model": name})).await;
            assert!(answer.text().await.unwrap().contains("event: message_end"));
            if rating != "none" {
                let feedback = path_of_answer(&team, &ann, &uuid).await;
                team.json(&ann, Method::PUT, &feedback, json!({"rating": rating}), 200).await;
            }
        }
        let html = page(&team, &admin, "/admin/figures?range=24h", StatusCode::OK).await;
        let ratings = html.split("data-testid=\"ratings\"").nth(1).and_then(|rest| rest.split("</section>").next());
        let rows: Vec<(String, Vec<&str>)> = ratings.unwrap().split("<th scope=\"row\">").skip(1).map(|row| {
            let cells = row.split("<td>").skip(1).map(|cell| cell.split('<').next().unwrap());
            (row.split('<').next().unwrap().to_owned(), cells.collect())
        }).collect();
        assert_eq!(rows, [("Opal".to_owned(), vec!["2", "1"]), (default, vec!["0", "1"])], "{html}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn feedback_of_one_server_is_read_replaced_and_deleted_on_another() {
    for engine in Engine::every_mysql_with_tables().await {
        let model = MockLlm::start().await.unwrap();
        let (here, there, admin) = Team::start_two(&engine, &model).await;
        let (ann, _) = here.user(&admin, "ann").await;
        let (uuid, feedback) = ask(&here, &model, &ann).await;
        let shown = async |team: &Team| messages(team, &ann, &uuid).await[1]["feedback"].clone();
        let found = async |team: &Team, filter: &str| {
            calls_on(&page(team, &admin, &filtered(filter), StatusCode::OK).await).len()
        };
        let bad = json!({"rating": "down", "reason": "It is 3."});
        here.json(&ann, Method::PUT, &feedback, bad.clone(), 200).await;
        assert_eq!((shown(&there).await, found(&there, "rating:down").await), (bad, 1));
        there.json(&ann, Method::PUT, &feedback, json!({"rating": "up"}), 200).await;
        assert_eq!((shown(&here).await, found(&here, "rating:down").await), (json!({"rating": "up"}), 0));
        there.json(&ann, Method::DELETE, &feedback, Value::Null, 204).await;
        assert_eq!((shown(&here).await, found(&here, "rating:up").await), (Value::Null, 0));
    }
}
