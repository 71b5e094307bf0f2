//! Playback of a turn for an admin, step by step and automatically, in pages that work without scripts.

use reqwest::StatusCode;
use tallybook_mock_llm::{MockLlm, text, tool_call};

use super::{
    super::kit::{ADMIN, Team},
    kit::{page, runs_ours_alone, say_why},
};
use crate::support::{Engine, execute, on_every_engine, rows};

/// Returns the address of the link with this text; `None` if the page has no such link.
fn link_target(page: &str, words: &str) -> Option<String> {
    let end = page.find(&format!("\">{words}</a>"))?;
    let begin = page[..end].rfind("href=\"")? + "href=\"".len();
    Some(unescaped(&page[begin..end]))
}

/// Returns the address that the page loads next by itself if scripts are off; `None` if it stays.
fn refresh_target(page: &str) -> Option<String> {
    let rest = page.split("<noscript><meta http-equiv=\"refresh\" content=\"1; url=").nth(1)?;
    Some(unescaped(rest.split('"').next()?))
}

fn unescaped(address: &str) -> String {
    address.replace("&#38;", "&").replace("&amp;", "&")
}

on_every_engine! {
    async fn playback_shows_a_turn_as_it_happened(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let team = Team::start(&engine, &model).await;
        let admin = team.sign_in(ADMIN).await;
        let (olga, _) = team.user(&admin, "olga").await;
        let conversation = team.conversation(&olga).await;
        model.reply([text("I <b>add</b> these two."), tool_call("add", r#"{"a":12.5,"b":7.25}"#)]);
        model.reply([text("It is 19.75.")]);
        team.ask(&olga, &conversation, "Add them").await;
        let calls: Vec<(i64,)> = rows!(team.app, (i64,), "SELECT id FROM tool_calls");
        let address = format!("/admin/calls/{}/playback", calls[0].0);

        let asked = page(&team, &admin, &address, StatusCode::FORBIDDEN).await;
        assert!(asked.contains("name=\"reason\"") && !asked.contains("19.75"), "{asked}");
        assert_eq!(say_why(&team, &admin, &address, "an audit").await.status(), StatusCode::SEE_OTHER);
        let call = page(&team, &admin, &format!("/admin/calls/{}", calls[0].0), StatusCode::OK).await;
        assert_eq!(link_target(&call, "Replay of this turn"), Some(address.clone()));

        // Events of the same millisecond are one position, so the test steps through the positions to find them.
        let mut shown = page(&team, &admin, &address, StatusCode::OK).await;
        assert!(link_target(&shown, "Beginning").is_none() && link_target(&shown, "Step back").is_none(), "{shown}");
        let mut moments = 1;
        while let Some(next) = link_target(&shown, "Step forward") {
            shown = page(&team, &admin, &next, StatusCode::OK).await;
            moments += 1;
        }
        assert!(moments <= 20, "{moments}");
        for words in [" these two.", ">add</span>", "→", "It is 19.75."] {
            assert!(shown.contains(words), "{words}: {shown}");
        }
        assert!(link_target(&shown, "End").is_none() && refresh_target(&shown).is_none() && runs_ours_alone(&shown) && !shown.contains("<b>"), "{shown}");
        // Events that are sent but not stored take sequence numbers, too.
        let said = "SELECT MIN(seq) FROM journal_events WHERE event = 'content_delta'";
        let said = rows!(team.app, (i64,), said)[0].0;
        for (seconds, seq) in [(0, "= 0".to_owned()), (1, format!("= {said}")), (3, format!("> {said}"))] {
            let sql = format!("UPDATE journal_events SET created_at = '2026-01-01 00:00:0{seconds}' WHERE seq {seq}");
            execute!(team.app, sqlx::AssertSqlSafe(sql));
        }
        let first = page(&team, &admin, &address, StatusCode::OK).await;
        assert!(first.contains("0.0 s of 3.0 s") && !first.contains("these two"), "{first}");
        let second = page(&team, &admin, &link_target(&first, "Step forward").unwrap(), StatusCode::OK).await;
        assert!(second.contains("1.0 s of 3.0 s") && second.contains("these two") && !second.contains("19.75"), "{second}");
        assert_eq!(link_target(&second, "Step back"), Some(format!("{address}?at=0")));

        // At double speed, playback ends after two more pages.
        let mut played = page(&team, &admin, &link_target(&first, "Play 2×").unwrap(), StatusCode::OK).await;
        assert_eq!(link_target(&played, "Pause"), Some(format!("{address}?at=0")));
        let mut seen = Vec::new();
        while let Some(next) = refresh_target(&played) {
            seen.push(next.clone());
            played = page(&team, &admin, &next, StatusCode::OK).await;
        }
        assert_eq!(seen, [format!("{address}?at=2000&speed=2"), format!("{address}?at=3000")]);
        assert!(played.contains("It is 19.75."), "{played}");
        let odd = page(&team, &admin, &format!("{address}?at=-9223372036854775808&speed=3"), StatusCode::OK).await;
        assert!(odd.contains("0.0 s of") && refresh_target(&odd).is_none(), "{odd}");

        execute!(team.app, "DELETE FROM journal_events");
        let gone = page(&team, &admin, &address, StatusCode::OK).await;
        assert!(gone.contains("The recording of this turn is no longer stored"), "{gone}");
    }
}
