//! The values before and after a change in the audit log, for settings, models, tool servers, groups and budgets.

use reqwest::Method;
use serde_json::{Value, json};
use tallybook_mock_llm::MockLlm;

use crate::{
    accounts::{
        groups::{group, set_members},
        kit::{ADMIN, Team},
    },
    support::{Engine, on_every_engine, rows},
};

const KEY: &str = "sk-audited-5up3r";

/// Returns the action of each change in the audit log with its values before and after.
async fn changes(team: &Team) -> Vec<(String, Value, Value)> {
    let sql = "SELECT action, COALESCE(before_value, 'null'), COALESCE(after_value, 'null') FROM audit_log \
               WHERE before_value IS NOT NULL OR after_value IS NOT NULL ORDER BY id";
    let read = |text: String| serde_json::from_str(&text).unwrap();
    let rows = rows!(team.app, (String, String, String), sql);
    rows.into_iter().map(|(action, before, after)| (action, read(before), read(after))).collect()
}

fn changed(action: &str, before: Value, after: Value) -> (String, Value, Value) {
    (action.to_owned(), before, after)
}

on_every_engine! {
    async fn each_change_of_settings_is_audited_with_the_values_before_and_after(engine: Engine) {
        let team = Team::start(&engine, &MockLlm::start().await.unwrap()).await;
        let admin = team.sign_in(ADMIN).await;
        let send = async |method: Method, path: &str, body: Value| {
            let response = team.send(&admin, method, path, body).await;
            let status = response.status();
            let body = response.text().await.unwrap();
            assert!(status.is_success(), "{path}: {body}");
            serde_json::from_str::<Value>(&body).unwrap_or_default()
        };

        let instructions = "Be kind. ".repeat(100).trim().to_owned();
        let settings = "/api/admin/settings";
        send(Method::PATCH, settings, json!({"instructions": instructions, "sharing": false})).await;
        send(Method::PATCH, settings, json!({"sharing": null})).await;

        let model = json!({"name": "Added", "provider": "openai", "model": "m", "base_url": "http://127.0.0.1:9", "api_key": KEY});
        send(Method::POST, "/api/admin/models", model).await;
        let model = "/api/admin/models/Added";
        send(Method::PATCH, model, json!({"temperature": 0.5})).await;
        send(Method::PATCH, model, json!({"api_key": format!("{KEY}-2")})).await;
        send(Method::DELETE, model, Value::Null).await;

        let server = json!({"name": "added", "url": "http://127.0.0.1:9/mcp"});
        send(Method::POST, "/api/admin/tool-servers", server).await;
        let server = "/api/admin/tool-servers/added";
        send(Method::PATCH, server, json!({"headers": {"Authorization": KEY}})).await;
        send(Method::DELETE, server, Value::Null).await;

        let group = send(Method::POST, "/api/groups", json!({"name": "Staff", "grants": ["share"]})).await["id"].clone();
        let group_path = format!("/api/groups/{group}");
        send(Method::PATCH, &group_path, json!({"name": "Crew", "grants": []})).await;
        let all = json!({"principal": "all", "period": "day", "tokens": 7, "warn_at": 0.8});
        let of_group = json!({"principal": format!("group:{group}"), "period": "month", "cost_nanos": 9, "warn_at": 0.5});
        send(Method::PUT, "/api/admin/budgets", json!([all, of_group])).await;
        send(Method::DELETE, &group_path, Value::Null).await;

        let log = changes(&team).await;
        assert!(!format!("{log:?}").contains(KEY), "{log:?}");
        let model = |temperature: Option<f64>, secret: &str| {
            let mut model =
                json!({"name": "Added", "provider": "openai", "model": "m", "base_url": "http://127.0.0.1:9", "api_key": secret});
            if let Some(temperature) = temperature {
                model["temperature"] = json!(temperature);
            }
            model
        };
        let (staff, crew) = (json!({"name": "Staff", "grants": ["share"]}), json!({"name": "Crew", "grants": []}));
        let [first, second, models @ .., created, renamed, set, ended, deleted] = log.as_slice() else { unreachable!() };
        let default = json!({"instructions": null, "sharing": null});
        assert_eq!(*first, changed("settings_changed", default, json!({"instructions": instructions, "sharing": false})));
        assert_eq!(*second, changed("settings_changed", json!({"sharing": false}), json!({"sharing": null})));
        let (models, servers) = models.split_at(4);
        assert_eq!(models, [
            changed("model_added", Value::Null, model(None, "set")),
            changed("model_changed", model(None, "set"), model(Some(0.5), "set")),
            changed("model_changed", model(Some(0.5), "set"), model(Some(0.5), "changed")),
            changed("model_removed", model(Some(0.5), "set"), Value::Null),
        ]);
        let [added, keyed, removed] = servers else { panic!("{servers:?}") };
        assert_eq!((&added.1, added.2.get("headers"), &removed.2), (&Value::Null, None, &Value::Null));
        assert_eq!((&keyed.1, &keyed.2["headers"], &keyed.2), (&added.2, &json!("set"), &removed.1));
        assert_eq!(*created, changed("group_created", Value::Null, staff.clone()));
        assert_eq!(*renamed, changed("group_changed", staff, crew.clone()));
        assert_eq!(*set, changed("budgets_changed", json!([]), json!([all, of_group])));
        assert_eq!(*ended, changed("budgets_changed", json!([all, of_group]), json!([all])));
        assert_eq!(*deleted, changed("group_deleted", crew, Value::Null));
    }
    async fn a_restore_is_audited_with_the_values_that_it_changes(engine: Engine) {
        let team = Team::start(&engine, &MockLlm::start().await.unwrap()).await;
        let admin = team.sign_in(ADMIN).await;
        let settings = "/api/admin/settings";
        let patch = async |patch: Value| team.json(&admin, Method::PATCH, settings, patch, 200).await["version"].clone();
        let first = patch(json!({"sharing": false, "retention_days": 7, "instructions": "Be kind."})).await;
        patch(json!({"sharing": null, "retention_days": 8, "llm_titles": true})).await;
        let restore = format!("{settings}/history/{first}/restore");
        team.json(&admin, Method::POST, &restore, json!({}), 200).await;
        let restored = changed(
            "settings_changed",
            json!({"llm_titles": true, "retention_days": 8.0, "sharing": null}),
            json!({"llm_titles": null, "retention_days": 7.0, "sharing": false}),
        );
        assert_eq!((changes(&team).await.len(), changes(&team).await.last()), (3, Some(&restored)));
        // To restore what applies already changes nothing.
        team.json(&admin, Method::POST, &restore, json!({}), 200).await;
        assert_eq!(changes(&team).await.len(), 3);
    }

    /// Members have no values: each row names the group and the user.
    async fn users_who_join_and_leave_a_group_are_audited(engine: Engine) {
        let team = Team::start(&engine, &MockLlm::start().await.unwrap()).await;
        let admin = team.sign_in(ADMIN).await;
        let ((_, ann), (_, bob), (_, eve)) =
            (team.user(&admin, "ann").await, team.user(&admin, "bob").await, team.user(&admin, "eve").await);
        let staff = group(&team, &admin, "Staff", &[], &[ann, bob]).await;
        set_members(&team, &admin, staff, &[bob, eve]).await;
        set_members(&team, &admin, staff, &[bob, eve]).await;
        let sql = "SELECT actor.name, l.action, u.name, l.subject, l.before_value IS NULL AND l.after_value IS NULL \
                   FROM audit_log l JOIN users u ON u.id = l.user_id JOIN users actor ON actor.id = l.actor_id \
                   WHERE l.action IN ('group_joined', 'group_left') ORDER BY l.id";
        let log = rows!(team.app, (String, String, String, String, i64), sql);
        let row = |action: &str, user: &str| (ADMIN.to_owned(), action.to_owned(), user.to_owned(), "Staff".to_owned(), 1);
        assert_eq!(log, [
            row("group_joined", "ann"),
            row("group_joined", "bob"),
            row("group_left", "ann"),
            row("group_joined", "eve"),
        ]);
    }
}
