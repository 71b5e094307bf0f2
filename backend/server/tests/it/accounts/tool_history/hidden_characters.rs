//! Invisible characters are written as codes wherever the tool history shows text of a model or a tool.

use reqwest::StatusCode;
use tallybook_mock_llm::MockLlm;

use super::{
    super::kit::{ADMIN, Team},
    kit::{Call, page, run, start, uuid, write_call, write_turn},
};
use crate::support::{Engine, on_every_engine};

/// Texts with distinct letters around U+202E, which reverses the direction of writing.
const TEXTS: [&str; 6] =
    ["sum\u{202e}mary", "in\u{202e}struction", "rea\u{202e}son", "fail\u{202e}ure", "an\u{202e}swer", "na\u{202e}me"];

on_every_engine! {
    async fn invisible_characters_are_shown_as_codes(engine: Engine) {
        let team = Team::start(&engine, &MockLlm::start().await.unwrap()).await;
        let admin = team.sign_in(ADMIN).await;
        let db = engine.pool().await;
        let [summary, instruction, reason, failure, answer, name] = TEXTS;
        write_turn(&db, 1, 1, "Small").await;
        write_call(&db, &Call { tool: name, ..Call::new(1, 1) }).await;
        run!(
            &db,
            "INSERT INTO conversation_summaries (id, conversation_id, message_id, summary, model, created_at) \
             VALUES (1, 1, 1, ?, 'Small', ?)",
            summary,
            start()
        );
        run!(
            &db,
            "UPDATE messages SET content = ?, error = ?, status = 'failed', told_from = 1, summary_id = 1 WHERE id = 1",
            answer,
            failure
        );
        run!(
            &db,
            "INSERT INTO plans (id, message_id, revision, success_criteria, text_offset, created_at) VALUES (1, 1, 0, '', 0, ?)",
            start()
        );
        run!(
            &db,
            "INSERT INTO plan_steps (plan_id, revision, position, instruction, expected, status, attempt, reason) \
             VALUES (1, 0, 0, ?, '', 'failed', 1, ?)",
            instruction,
            reason
        );
        let read = page(&team, &admin, &format!("/admin/conversations/{}", uuid(1)), StatusCode::OK).await;
        for text in TEXTS {
            let (before, after) = text.split_once('\u{202e}').unwrap();
            let code = "⟨U+202E⟩";
            let marked = format!("{before}<span class=\"code-point\">{code}</span>{after}");
            assert!(read.contains(&marked) || read.contains(&format!("{before}{code}{after}")), "{text:?}: {read}");
        }
        assert!(!read.contains('\u{202e}'), "{read}");
    }
}
