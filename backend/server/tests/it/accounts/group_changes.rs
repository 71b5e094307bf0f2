//! Changes of groups: their effects on each other, by two admins at once, in forms, and up to the limit.

use reqwest::{Method, header};
use serde_json::{Value, json};
use sqlx::AssertSqlSafe;

use super::{
    groups::{add_opal, group, names, set_members, start},
    kit::{Team, required},
};
use crate::{
    bad_input::assert_problem,
    server_settings::{CHANGED_MEANWHILE, ROUNDS, send_at_once},
    support::{Engine, Form, execute, on_every_engine, rows},
};

on_every_engine! {
    async fn groups_are_created_changed_and_deleted(engine: Engine) {
        let (_model, team, admin) = start(&engine).await;
        let (_, ann) = team.user(&admin, "ann").await;
        let new = json!({"name": " Staff ", "grants": ["upload", "share", "upload"]});
        let made = team.send(&admin, Method::POST, "/api/groups", new).await;
        assert_eq!(made.status(), 201);
        let tag = made.headers()[header::ETAG].clone();
        let made: Value = made.json().await.unwrap();
        assert_eq!((&made["name"], &made["grants"], &made["origin"]), (&json!("Staff"), &json!(["share", "upload"]), &json!("page")));
        let path = format!("/api/groups/{}", made["id"]);
        set_members(&team, &admin, made["id"].as_i64().unwrap(), &[ann]).await;
        let shown = team.json(&admin, Method::GET, &path, Value::Null, 200).await;
        assert_eq!((&shown["members"], &shown["grants"]), (&json!(1), &made["grants"]));

        // The members were set in the meantime.
        for request in [
            team.request(&admin, Method::PATCH, &path).json(&json!({"name": "Crew"})),
            team.request(&admin, Method::PUT, &format!("{path}/members")).json(&json!({"user_ids": []})),
            team.request(&admin, Method::DELETE, &path),
        ] {
            assert_problem(request.header(header::IF_MATCH, &tag).send().await.unwrap(), 412, "version-changed").await;
        }
        let renamed = team.json(&admin, Method::PATCH, &path, json!({"name": "Crew"}), 200).await;
        assert_eq!((&renamed["name"], &renamed["members"], &renamed["grants"]), (&json!("Crew"), &json!(1), &made["grants"]));

        for (method, path, body, status, kind) in [
            (Method::POST, "/api/groups", json!({"name": "Crew"}), 409, "name-taken"),
            (Method::POST, "/api/groups", json!({"name": "  "}), 422, "invalid-group"),
            (Method::POST, "/api/groups", json!({"name": "x".repeat(201)}), 422, "invalid-group"),
            (Method::POST, "/api/groups", json!({"name": "a\nb"}), 422, "invalid-group"),
            (Method::POST, "/api/groups", json!({"name": "a", "grants": ["admin"]}), 422, "invalid-group"),
            (Method::POST, "/api/groups", json!({"name": "a", "grants": ["model:none"]}), 422, "invalid-group"),
            (Method::POST, "/api/groups", json!({"name": "a", "grants": ["tool_server:none"]}), 422, "invalid-group"),
            (Method::PATCH, "/api/groups/999999", json!({"name": "a"}), 404, "no-such-group"),
            (Method::PUT, &format!("{path}/members"), json!({"user_ids": [999_999]}), 422, "invalid-group"),
            (Method::PUT, "/api/groups/999999/members", json!({"user_ids": []}), 404, "no-such-group"),
        ] {
            let refused = team.send(&admin, method.clone(), path, body.clone()).await;
            assert_eq!(assert_problem(refused, status, kind).await["status"], status, "{method} {path} {body}");
        }
        assert_eq!(team.send(&admin, Method::DELETE, &path, Value::Null).await.status(), 204);
        assert_eq!(team.json(&admin, Method::GET, "/api/groups", Value::Null, 200).await, json!({"items": []}));
        let left = "SELECT (SELECT COUNT(*) FROM group_members) + (SELECT COUNT(*) FROM grants)";
        assert_eq!(rows!(team.app, (i64,), left), [(0,)]);
        let log = rows!(team.app, (String, String), "SELECT action, subject FROM audit_log WHERE action LIKE 'group%' ORDER BY id");
        let log: Vec<String> = log.into_iter().map(|(action, subject)| format!("{action} {subject}")).collect();
        assert_eq!(log, [
            "group_created Staff: share, upload",
            "group_joined Staff",
            "group_changed Staff: share, upload -> Crew: share, upload",
            "group_deleted Crew",
        ]);
    }

    /// The two admins use different servers, where the engine allows a second one.
    async fn of_two_changes_of_a_group_at_once_one_is_stored(engine: Engine) {
        let (model, team, admin) = start(&engine).await;
        let other = if engine.is_sqlite() { None } else { Some(Team::join(&engine, &model, required()).await) };
        let other = other.as_ref().unwrap_or(&team);
        let path = format!("/api/groups/{}", group(&team, &admin, "Staff", &[], &[]).await);
        for round in 1..=ROUNDS {
            let version = team.get(&admin, &path).await.headers()[header::ETAG].clone();
            let change = |team: &Team, patch: Value| team.request(&admin, Method::PATCH, &path).json(&patch);
            let grants = if round % 2 == 0 { json!([]) } else { json!(["upload"]) };
            let named = change(&team, json!({"name": format!("Staff {round}")}));
            let changed = change(other, json!({"name": format!("Crew {round}"), "grants": grants}));
            send_at_once([changed, named], &version).await;
        }
        let log = rows!(team.app, (i64,), "SELECT COUNT(*) FROM audit_log WHERE action = 'group_changed'");
        assert_eq!(usize::try_from(log[0].0).unwrap(), ROUNDS);
    }

    /// A form that is refused keeps what was entered. If another admin has changed the group, the form has both
    /// changes.
    async fn a_refused_form_of_a_group_keeps_what_was_entered(engine: Engine) {
        let (model, team, admin) = start(&engine).await;
        let ((_, ann), (_, bob), (_, eve)) =
            (team.user(&admin, "ann").await, team.user(&admin, "bob").await, team.user(&admin, "eve").await);
        add_opal(&team, &admin, &model).await;
        let staff = group(&team, &admin, "Staff", &["upload"], &[ann, bob]).await;
        let (page, path) = (format!("/admin/groups/{staff}"), format!("/api/groups/{staff}"));
        let stored = async || team.json(&admin, Method::GET, &path, Value::Null, 200).await;
        let before = stored().await;
        let mut form = team.open_form(&admin, &page).await;
        assert_eq!((form.all("members"), form.all("grant")), (vec!["ann\r\nbob"], vec!["upload"]));
        form.set("name", "Crew & <Co>");
        form.set("members", " ann\r\n\r\nzoe");
        form.set_all("grant", &["model:Opal", "upload"]);
        let (status, html) = team.submit(&admin, &form).await;
        assert_eq!(status, 422);
        assert!(html.contains("There is no user with the name &#34;zoe&#34;.") && !html.contains(CHANGED_MEANWHILE), "{html}");
        let mut form = Form::read(&html, &page);
        assert_eq!((form.all("name"), form.all("members")), (vec!["Crew & <Co>"], vec!["ann\r\nzoe"]));
        assert_eq!(form.all("grant"), ["model:Opal", "upload"]);

        set_members(&team, &admin, staff, &[bob, eve]).await;
        team.json(&admin, Method::PATCH, &path, json!({"grants": ["share", "upload"]}), 200).await;
        // This admin has removed bob and added the other admin's own account.
        form.set("members", "ann\r\nroot");
        let (status, html) = team.submit(&admin, &form).await;
        assert_eq!(status, 412);
        assert!(html.contains(CHANGED_MEANWHILE), "{html}");
        assert_eq!(stored().await["name"], before["name"]);
        let form = Form::read(&html, &page);
        assert_eq!((form.all("name"), form.all("members")), (vec!["Crew & <Co>"], vec!["root\r\neve"]));
        assert_eq!(form.all("grant"), ["model:Opal", "share", "upload"]);
        assert_eq!(team.submit(&admin, &form).await.0, 303);
        let after = stored().await;
        assert_eq!((&after["name"], &after["grants"]), (&json!("Crew & <Co>"), &json!(["model:Opal", "share", "upload"])));
        let members = team.json(&admin, Method::GET, &format!("{path}/members"), Value::Null, 200).await;
        let members: Vec<&Value> = members["items"].as_array().unwrap().iter().map(|member| &member["name"]).collect();
        assert_eq!(members, ["eve", "root"]);

        // The form of a new group keeps its name, too.
        let mut new = team.open_form(&admin, "/admin/groups").await;
        new.set("name", "Crew & <Co>");
        new.set("origin", "page");
        let (status, html) = team.submit(&admin, &new).await;
        assert_eq!((status, Form::read(&html, "/admin/groups").all("name")), (409, vec!["Crew & <Co>"]));
        assert!(html.contains("A group of this name exists already."), "{html}");
    }

    /// The list and its page have all groups up to the limit. Another one is refused.
    async fn up_to_a_thousand_groups_are_listed(engine: Engine) {
        let (_model, team, admin) = start(&engine).await;
        let rows: Vec<String> =
            (0..999).map(|number| format!("('Group {number:03}', 'page', 1, '2026-01-01 00:00:00')")).collect();
        let insert = format!("INSERT INTO user_groups (name, origin, version, created_at) VALUES {}", rows.join(", "));
        execute!(team.app, AssertSqlSafe(insert.as_str()));
        let last = group(&team, &admin, "Zebra", &["upload"], &[]).await;
        let refused = team.send(&admin, Method::POST, "/api/groups", json!({"name": "One more"})).await;
        let problem = assert_problem(refused, 422, "invalid-group").await;
        assert_eq!(problem["detail"], "There can be at most 1000 groups. Delete one first.");

        let listed = names(&team, &admin, "/api/groups").await;
        assert_eq!((listed.len(), listed[0].as_str(), listed[999].as_str()), (1000, "Group 000", "Zebra"));
        let html = team.get(&admin, "/admin/groups").await.text().await.unwrap();
        assert_eq!(html.matches("data-testid=\"group\"").count(), 1000);
        let budget = json!([{"principal": format!("group:{last}"), "period": "day", "tokens": 5}]);
        team.json(&admin, Method::PUT, "/api/admin/budgets", budget, 200).await;
        let form = team.open_form(&admin, "/admin/budgets").await;
        assert_eq!(form.all("principal"), [&format!("group:{last}"), "all"]);
        let renamed = team.json(&admin, Method::PATCH, &format!("/api/groups/{last}"), json!({"name": "Zoo"}), 200).await;
        assert_eq!(renamed["grants"], json!(["upload"]));
    }
}
