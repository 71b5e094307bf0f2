//! User names must look different from each other and from names of the server, and contain no invisible characters.
//! Passwords must be hard to guess.

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use tallybook_mock_llm::MockLlm;

use super::kit::{ADMIN, PASSWORD, Team, Who, kind_of, required};
use crate::support::{Engine, eventually, execute, on_every_engine, rows};

async fn make(team: &Team, admin: &Who, name: &str) -> (StatusCode, String) {
    let body = json!({"name": name, "password": PASSWORD});
    let answer = team.send(admin, Method::POST, "/api/users", body).await;
    let status = answer.status();
    let kind = if status == StatusCode::CREATED { String::new() } else { kind_of(answer).await };
    (status, kind)
}

on_every_engine! {
    async fn confusable_names_are_refused(engine: Engine) {
        let team = Team::start(&engine, &MockLlm::start().await.unwrap()).await;
        let admin = team.sign_in(ADMIN).await;
        let zero_width = "ro\u{200b}ot";
        let mixed = "r\u{43e}ot";
        for name in [
            "review", "Reviewers", "nobody", "timeout", "system", "ｎｏｂｏｄｙ", "n0body", zero_width, mixed, "root\u{3164}",
            "root\u{202e}", "root\u{e0001}", "ro\u{ad}ot", "root\u{fe0f}",
        ] {
            let refused = (StatusCode::UNPROCESSABLE_ENTITY, "/problems/invalid-input".to_owned());
            assert_eq!(make(&team, &admin, name).await, refused, "{name:?}");
        }
        assert_eq!(make(&team, &admin, "alice").await.0, StatusCode::CREATED);
        // The same name in other letters, and names that look like it.
        for name in ["ALICE", "ａｌｉｃｅ", "𝐚𝐥𝐢𝐜𝐞", "a1ice"] {
            let refused = (StatusCode::CONFLICT, "/problems/name-taken".to_owned());
            assert_eq!(make(&team, &admin, name).await, refused, "{name:?}");
        }
        // Names of another script are allowed unless they look like an existing one.
        assert_eq!(make(&team, &admin, "ольга").await.0, StatusCode::CREATED);
        assert_eq!(make(&team, &admin, "花子").await.0, StatusCode::CREATED);
        assert_eq!(make(&team, &admin, "арре").await.0, StatusCode::CREATED);
        assert_eq!(make(&team, &admin, "appe").await.0, StatusCode::CONFLICT);
        // The same rules apply to invitations.
        let made = team.json(&admin, Method::POST, "/api/invitations", json!({}), 201).await;
        let token = made["url"].as_str().unwrap().split_once("token=").unwrap().1;
        let fields = [("token", token), ("name", "a1ice"), ("password", PASSWORD)];
        let body = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
        let request = team.request(&Who::default(), Method::POST, "/invitation");
        let answer = request.header("content-type", "application/x-www-form-urlencoded").body(body).send().await.unwrap();
        assert_eq!(answer.status(), StatusCode::CONFLICT);
        assert!(answer.text().await.unwrap().contains("looks like the name of another account"));
    }

    /// Users can still sign in with names from before these rules.
    async fn existing_users_with_confusable_names_still_sign_in(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let team = Team::start(&engine, &model).await;
        let admin = team.sign_in(ADMIN).await;
        for name in ["first", "second", "third"] {
            team.user(&admin, name).await;
        }
        execute!(team.app, "UPDATE users SET name = 'ｆｕｌｌ', name_skeleton = NULL WHERE name = 'first'");
        execute!(team.app, "UPDATE users SET name = 'review', name_skeleton = NULL WHERE name = 'second'");
        execute!(team.app, "UPDATE users SET name = 'mixed\u{430}', name_skeleton = NULL WHERE name = 'third'");
        for name in ["ｆｕｌｌ", "Review", "mixed\u{430}"] {
            team.sign_in(name).await;
        }
        assert_eq!(make(&team, &admin, "full").await.0, StatusCode::CONFLICT, "it looks like one of before");
        team.sign_in("ＲＯＯＴ").await;
        if engine.is_sqlite() {
            team.app.shut_down().await;
        }
        let team = Team::join(&engine, &model, required()).await;
        eventually("the names get their skeletons", async || {
            rows!(team.app, (i64,), "SELECT COUNT(*) FROM users WHERE name_skeleton IS NULL") == [(0,)]
        })
        .await;
        let admin = team.sign_in(ADMIN).await;
        assert_eq!(make(&team, &admin, "mixeda").await.0, StatusCode::CONFLICT);
    }

    /// The most common passwords, and those derived from the user's name, are refused wherever a user or an admin sets
    /// a password.
    async fn common_passwords_are_refused(engine: Engine) {
        let team = Team::start(&engine, &MockLlm::start().await.unwrap()).await;
        let admin = team.sign_in(ADMIN).await;
        let (ann, id) = team.user(&admin, "annabelle").await;
        for weak in ["123456789012", "passwordpassword", "aaaaaaaaaaaa", "Annabelle1999", "abcabcabcabcabc"] {
            let bodies = [
                (Method::POST, "/api/users".to_owned(), &admin, json!({"name": "annabelle", "password": weak})),
                (Method::PATCH, format!("/api/users/{id}"), &admin, json!({"password": weak})),
                (Method::PUT, "/api/me/password".to_owned(), &ann, json!({"current": PASSWORD, "new": weak})),
            ];
            for (method, path, who, body) in bodies {
                let refused: Value = team.json(who, method, &path, body, 422).await;
                assert!(refused["detail"].as_str().unwrap().contains("easy to guess"), "{weak}: {refused}");
            }
        }
        team.sign_in("annabelle").await;
    }
}
