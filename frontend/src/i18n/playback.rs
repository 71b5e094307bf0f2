//! Texts of the replay of an answer.

use crate::language::Language;

texts! {
    playback_texts;

    replay: "Replay this answer", "回答の過程を再生";
    replay_title: "Replay of this answer", "回答の過程";
    replay_close: "Close", "閉じる";
    replay_loading: "Loading the recording…", "記録を読み込んでいます…";
    replay_gone:
        "The recording of this answer is no longer stored, so it cannot be replayed.",
        "この回答の記録は保存期間が過ぎたため、再生できません。";
    replay_play: "Play", "再生する";
    replay_pause: "Pause", "一時停止";
    replay_back: "Step back", "1つ戻る";
    replay_forward: "Step forward", "1つ進む";
    replay_speed: "Speed", "再生速度";
    replay_position: "Position", "再生位置";
}
