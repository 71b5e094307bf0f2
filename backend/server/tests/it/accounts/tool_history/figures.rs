//! Statistics: the same before and after their hours are counted, and unchanged when calls are deleted.

use chrono::{DurationRound as _, TimeDelta, Utc};
use reqwest::StatusCode;
use sqlx::AssertSqlSafe;
use tallybook_mock_llm::MockLlm;

use super::{
    super::kit::{ADMIN, Team},
    kit::{Call, page, run, runs_ours_alone, start, write_call, write_turn},
};
use crate::support::{Engine, eventually, on_every_engine, rows};

/// Returns the cells of the rows of a page's tables.
fn cells(page: &str) -> Vec<Vec<String>> {
    let body = |row: &str| row.split("<td>").skip(1).map(|cell| cell.split('<').next().unwrap().to_owned()).collect();
    page.split("<tr><th scope=\"row\">").skip(1).map(|row| body(row.split("</tr>").next().unwrap())).collect()
}

on_every_engine! {
    async fn counting_an_hour_does_not_change_the_statistics(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let team = Team::start(&engine, &model).await;
        let admin = team.sign_in(ADMIN).await;
        let db = engine.pool().await;
        let nothing = page(&team, &admin, "/admin/figures", StatusCode::OK).await;
        assert!(nothing.contains("data-testid=\"nothing\""), "{nothing}");
        // Some calls are three hours old, in an hour that is over, and some are new.
        let ago = Utc::now().duration_trunc(TimeDelta::hours(1)).unwrap() - TimeDelta::hours(3);
        // Marks the hour as counted until all its calls are written, so that the server does not count it too early.
        run!(&db, "INSERT INTO counted_hours (hour, counted_at) VALUES (?, ?)", ago, ago);
        let minute = (ago - start()).num_minutes() + 1;
        let now = (Utc::now() - start()).num_minutes();
        write_turn(&db, 1, 1, "Small").await;
        run!(&db, "UPDATE model_calls SET created_at = ?", ago);
        for id in 1..=20 {
            let duration_ms = Some(if id == 20 { 6000 } else { 9 });
            let status = if id % 10 == 0 { "error" } else { "success" };
            write_call(&db, &Call { minute: if id < 20 { minute } else { now }, duration_ms, status, ..Call::new(id, 1) }).await;
        }
        write_call(&db, &Call { tool: "docs__x", status: "denied", minute, duration_ms: None, ..Call::new(21, 1) }).await;
        run!(&db, "DELETE FROM counted_hours WHERE hour = ?", ago);
        let expected = [
            vec!["20", "10.0 %", "≤ 10 ms", "≤ 10 ms"],
            vec!["1", "0.0 %", "–", "–"],
            vec!["1", "100", "20", "0.000005"],
            vec!["1", "100", "20", "0.000005"],
            vec!["1", "100", "20", "0.000005"],
            vec!["1", "100", "20", "0.000005"],
        ];
        for is_counted in [false, true] {
            if is_counted {
                eventually("the hour is counted", async || {
                    rows!(engine, (i64,), "SELECT COUNT(*) FROM tool_call_hours")[0].0 > 0
                }).await;
                run!(&db, "DELETE FROM tool_calls WHERE id < ?", 20_i64);
            }
            let html = page(&team, &admin, "/admin/figures?range=24h", StatusCode::OK).await;
            assert_eq!(cells(&html), expected, "{html}");
            assert!(html.contains("21 calls") && html.contains("Most in one hour: 20,"), "{html}");
            assert!(runs_ours_alone(&html) && !html.contains("data-testid=\"more\""), "{html}");
            for (chart, kinds) in [
                ("calls", &["success", "error", "denied"][..]),
                ("failed", &["error"]),
                ("cost", &["cost"]),
                ("tokens", &["input", "output"]),
            ] {
                let drawn = html.split(&format!("data-testid=\"chart-{chart}\"")).nth(1).unwrap_or_else(|| panic!("{chart}: {html}"));
                let drawn = drawn.split("</section>").next().unwrap();
                for kind in kinds {
                    assert!(drawn.contains(&format!("<rect data-kind=\"{kind}\"")), "{kind}: {drawn}");
                }
            }
            for words in ["Done 18", "Failed 2", "Denied 1", "9.5 % of all calls failed.", "0.000005 in total.", "100 tokens in, 20 out."] {
                assert!(html.contains(words), "{words}: {html}");
            }
        }
        for number in 100..160 {
            let tool = format!("rare{number}");
            write_call(&db, &Call { tool: &tool, minute: now, ..Call::new(number, 1) }).await;
        }
        let html = page(&team, &admin, "/admin/figures?range=24h", StatusCode::OK).await;
        assert_eq!(html.matches("<code>rare").count(), 48, "{html}");
        assert!(html.contains("And 12 more, with 12 calls in total."), "{html}");
        assert!(html.contains("href=\"/admin/figures?range=24h&#38;rows=all\""), "{html}");
        let html = page(&team, &admin, "/admin/figures?range=24h&rows=all", StatusCode::OK).await;
        assert_eq!(html.matches("<code>rare").count(), 60, "{html}");
        assert!(!html.contains("data-testid=\"more\""), "{html}");
    }

    async fn counting_a_day_does_not_change_the_statistics(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let team = Team::start(&engine, &model).await;
        let admin = team.sign_in(ADMIN).await;
        let db = engine.pool().await;
        let today = Utc::now().duration_trunc(TimeDelta::days(1)).unwrap();
        // Full days, two of which are consecutive, and one day that lacks an hour.
        let of_day = |day: i64| (0..24).map(move |hour| today - TimeDelta::days(day) + TimeDelta::hours(hour));
        let hours: Vec<_> = [6, 4, 3, 1].into_iter().flat_map(of_day).chain(of_day(2).skip(1)).collect();
        for (number, at) in (1..).zip(&hours) {
            let status = if number % 5 == 0 { "error" } else { "success" };
            run!(&db, "INSERT INTO tool_call_hours (hour, tool_name, status, calls) VALUES (?, 'add', ?, ?)", at, status, number);
            run!(&db, "INSERT INTO tool_duration_hours (hour, tool_name, up_to_ms, calls) VALUES (?, 'add', ?, ?)", at, number % 3, number);
            run!(
                &db,
                "INSERT INTO model_call_hours (hour, user_id, model, calls, input_tokens, output_tokens, cost_nanos) \
                 VALUES (?, ?, 'Small', 1, ?, 20, 5000000)",
                at,
                number % 2,
                number
            );
            run!(
                &db,
                "INSERT INTO purpose_call_hours (hour, purpose, calls, input_tokens, output_tokens, cost_nanos) \
                 VALUES (?, 'answer', 1, ?, 20, 5000000)",
                at,
                number
            );
        }
        let before = page(&team, &admin, "/admin/figures?range=7d", StatusCode::OK).await;
        assert!(cells(&before).len() >= 9, "{before}");
        for at in &hours {
            run!(&db, "INSERT INTO counted_hours (hour, counted_at) VALUES (?, ?)", at, at);
        }
        eventually("the full days are counted", async || {
            rows!(engine, (i64,), "SELECT COUNT(*) FROM counted_days")[0].0 == 4
        }).await;
        // The server reads consecutive full days from their daily sums, so it does not need these rows of their hours.
        for table in ["tool_duration_hours", "model_call_hours", "purpose_call_hours"] {
            let sql = format!("DELETE FROM {table} WHERE hour >= ? AND hour < ?");
            run!(&db, AssertSqlSafe(sql), today - TimeDelta::days(4), today - TimeDelta::days(2));
        }
        let after = page(&team, &admin, "/admin/figures?range=7d", StatusCode::OK).await;
        assert_eq!(cells(&after), cells(&before));
    }
}
