//! Goals for Tallybook, mostly relative to the results of its peers in the same run.

use super::{Figures, Measure};
use crate::{history_pages::HISTORY_PAGES, peer::Kind};

/// A bound on a result of Tallybook.
#[derive(Clone, Copy, Debug)]
enum Bound {
    /// A factor of the result of a peer.
    Times(f64, Kind),
    /// A fixed value.
    Absolute(f64),
}

fn bounds(measure: Measure) -> Vec<Bound> {
    use Bound::{Absolute, Times};
    match measure {
        Measure::TurnTtft => vec![Times(1.0 / 12.0, Kind::LangGraph), Times(2.0, Kind::Floor)],
        Measure::TurnTtft32 => vec![Times(1.0 / 12.0, Kind::LangGraph), Times(6.0, Kind::Floor)],
        Measure::TurnReadsAndWrites
        | Measure::TurnPages
        | Measure::TokenSwitches
        | Measure::TokenReadsAndWrites
        | Measure::Growth(..) => Vec::new(),
        Measure::TurnStatements => vec![Absolute(15.0)],
        Measure::TurnTransactions => vec![Absolute(3.0)],
        Measure::ToolTurns => vec![Times(0.65, Kind::Floor)],
        Measure::TransitP99 => vec![Times(0.01, Kind::LangGraph), Times(2.0, Kind::Pump)],
        Measure::TransitMax | Measure::TurnSwitches => vec![Absolute(20.0)],
        Measure::CpuPerToken => vec![Times(0.1, Kind::LangGraph), Times(2.0, Kind::Pump)],
        Measure::LoadMemory => vec![Absolute(40.0)],
        Measure::SaturatedTokens => vec![Times(12.0, Kind::LangGraph), Times(0.65, Kind::Floor)],
        Measure::IdleStream => vec![Absolute(9.0)],
        Measure::PersistTax | Measure::HistoryMiddle => vec![Absolute(1.1)],
        Measure::ProgramCost => vec![Absolute(1.2)],
        Measure::Search(..) => vec![Absolute(200.0)],
        Measure::History(page) => vec![Absolute(HISTORY_PAGES[page].goal_ms)],
    }
}

/// Returns the strictest bound that can be calculated from the results; `None` for the peers.
pub(super) fn limit(figures: &Figures, measure: Measure, kind: Kind) -> Option<f64> {
    if !kind.is_ours() {
        return None;
    }
    let limits = bounds(measure).into_iter().filter_map(|bound| match bound {
        Bound::Times(factor, peer) => figures.median(measure, peer).map(|figure| figure * factor),
        Bound::Absolute(figure) => Some(figure),
    });
    limits.reduce(if measure.wants_more() { f64::max } else { f64::min })
}

/// Returns `true` if the result is within its limit.
pub(super) fn is_reached(measure: Measure, figure: f64, limit: f64) -> bool {
    if measure.wants_more() { figure >= limit } else { figure <= limit }
}

#[cfg(test)]
mod tests {
    use super::{super::Figures, Kind, Measure, is_reached, limit};

    #[test]
    fn the_strictest_bound_that_can_be_calculated_counts() {
        let mut figures = Figures::default();
        figures.add(Measure::TurnTtft, Kind::LangGraph, 24.0);
        assert_eq!(limit(&figures, Measure::TurnTtft, Kind::Sqlite), Some(2.0));
        figures.add(Measure::TurnTtft, Kind::Floor, 0.8);
        assert_eq!(limit(&figures, Measure::TurnTtft, Kind::Sqlite), Some(1.6));
        assert_eq!(limit(&figures, Measure::TurnTtft, Kind::Floor), None);
        figures.add(Measure::SaturatedTokens, Kind::LangGraph, 100.0);
        figures.add(Measure::SaturatedTokens, Kind::Floor, 1000.0);
        assert_eq!(limit(&figures, Measure::SaturatedTokens, Kind::Mysql), Some(1200.0));
        assert!(is_reached(Measure::SaturatedTokens, 1300.0, 1200.0) && !is_reached(Measure::TurnTtft, 3.0, 1.6));
        assert_eq!(limit(&figures, Measure::CpuPerToken, Kind::Sqlite), None);
    }
}
