//! What is said of playing an answer again.

use crate::language::Language;

texts! {
    playback_texts;

    playback: "Play again", "回答の過程を再生";
    playback_title: "How this answer came about", "この回答ができるまで";
    playback_close: "Close", "閉じる";
    playback_loading: "Loading what happened…", "記録を読み込んでいます…";
    playback_gone:
        "What happened in this answer is no longer kept, so it cannot be played again.",
        "この回答の記録は保存期間を過ぎたため、再生できません。";
    playback_play: "Play", "再生する";
    playback_pause: "Pause", "一時停止";
    playback_back: "Step back", "1つ戻る";
    playback_on: "Step on", "1つ進む";
    playback_speed: "Speed", "再生速度";
    playback_place: "Place in the answer", "再生位置";
}
