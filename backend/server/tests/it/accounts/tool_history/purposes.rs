//! Model calls for every purpose appear in the tool history, with their tokens and cost.

use chrono::{DurationRound as _, TimeDelta, Utc};
use reqwest::{StatusCode, header};
use tallybook_mock_llm::MockLlm;

use super::{
    super::kit::{ADMIN, Team},
    kit::{Call, page, run, uuid, without_bars, write_call, write_turn},
};
use crate::support::{Engine, eventually, on_every_engine, rows};

/// Purposes of model calls, and their names in the tool history.
const PURPOSES: [(&str, &str); 7] = [
    ("answer", "Answers"),
    ("plan", "Plans"),
    ("evaluate", "Evaluation of plan steps"),
    ("review", "Reviews of tool calls"),
    ("summary", "Conversation summaries"),
    ("title", "Titles"),
    ("reasoning_summary", "Explanations of answers"),
];

on_every_engine! {
    async fn every_purpose_is_in_the_tool_history_with_its_tokens(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let team = Team::start(&engine, &model).await;
        let admin = team.sign_in(ADMIN).await;
        let db = engine.pool().await;
        let ago = Utc::now().duration_trunc(TimeDelta::hours(1)).unwrap() - TimeDelta::hours(3);
        // Marks the hour as counted until all its calls are written, so that the server does not count it too early.
        run!(&db, "INSERT INTO counted_hours (hour, counted_at) VALUES (?, ?)", ago, ago);
        write_turn(&db, 1, 1, "Small").await;
        write_call(&db, &Call::new(1, 1)).await;
        run!(&db, "DELETE FROM model_calls WHERE step = ?", 0_i64);
        for (number, (purpose, _)) in (1_i64..).zip(PURPOSES) {
            run!(
                &db,
                "INSERT INTO model_calls (message_id, step, purpose, provider, model, input_tokens, output_tokens, cost_nanos, \
                 duration_ms, blocks, created_at) VALUES (1, 0, ?, 'mock', 'mock-1', ?, ?, ?, 40, '[]', ?)",
                purpose, 1000 * number, number, 5000 * number, ago
            );
        }
        run!(
            &db,
            "INSERT INTO plain_calls (user_id, provider, model, input_tokens, output_tokens, cached_tokens, duration_ms, \
             created_at) VALUES (1, 'mock', 'mock-1', 8000, 8, 0, 40, ?)",
            ago
        );
        run!(&db, "DELETE FROM counted_hours WHERE hour = ?", ago);

        for is_counted in [false, true] {
            if is_counted {
                eventually("the hour is counted", async || {
                    rows!(engine, (i64,), "SELECT COUNT(*) FROM purpose_call_hours")[0].0 > 0
                }).await;
                run!(&db, "DELETE FROM plain_calls WHERE user_id = ?", 1_i64);
            }
            let figures = without_bars(&page(&team, &admin, "/admin/figures?range=24h", StatusCode::OK).await);
            let direct = [("plain", "Direct API calls")];
            for (number, (_, name)) in (1..).zip(PURPOSES.into_iter().chain(direct)) {
                let cost = if number == 8 { "0".to_owned() } else { format!("0.{:06}", 5 * number) };
                let row = figures.split(&format!("<th scope=\"row\">{name}</th>")).nth(1);
                let row = row.unwrap_or_else(|| panic!("{name}: {figures}")).split("</tr>").next().unwrap();
                assert!(row.starts_with(&format!("<td>1</td><td>{number},000</td><td>{number}</td>")), "{name}: {row}");
                assert!(row.ends_with(&format!("<td>{cost}</td>")), "{name}: {row}");
            }
            // The sums by model include all calls: those of the conversation under the catalog's name, the API client's
            // under the provider's name.
            assert!(figures.contains("<th scope=\"row\">Small</th><td>7</td><td>28,000</td>"), "{figures}");
            assert!(figures.contains("<th scope=\"row\">mock-1</th><td>1</td><td>8,000</td>"), "{figures}");
        }
        let conversation = page(&team, &admin, &format!("/admin/conversations/{}", uuid(1)), StatusCode::OK).await;
        let call = page(&team, &admin, "/admin/calls/1", StatusCode::OK).await;
        for (number, (_, name)) in (1..).zip(PURPOSES) {
            let words = format!("{number},000 tokens in, {number} out · cost 0.{:06}", 5 * number);
            let listed = format!("<li>{name} · mock mock-1 <span class=\"soft\">{words} · 40 ms</span></li>");
            assert!(conversation.contains(&listed), "{listed}: {conversation}");
            assert!(call.contains(&format!(" · {name} · {words}</span>")), "{name}: {call}");
        }

        let japanese = team.request(&admin, reqwest::Method::GET, "/admin/figures?range=24h");
        let japanese = japanese.header(header::ACCEPT_LANGUAGE, "ja").send().await.unwrap().text().await.unwrap();
        assert!(japanese.contains("モデルの用途") && japanese.contains("計画のステップの評価"), "{japanese}");
    }
}
