//! Maps the levels of an answer's headings to levels on the page. They start below the heading of the answer itself.
//! Each is at most one deeper than the heading above it, whichever levels the model used. So users who navigate by
//! headings find no gaps.

use pulldown_cmark::HeadingLevel;

/// Elements of the headings, from the highest level. Deeper levels share the last element.
const TAGS: [&str; 4] = ["h3", "h4", "h5", "h6"];

/// The levels of the headings above a position, as a bit set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Headings(u8);

impl Headings {
    /// Adds a heading of this level, and returns its element.
    pub(crate) fn begin(&mut self, level: HeadingLevel) -> &'static str {
        let bit = 1_u8 << (level as u8);
        self.0 = (self.0 & (bit - 1)) | bit;
        let above = usize::try_from(self.0.count_ones()).unwrap_or(1) - 1;
        TAGS.get(above).copied().unwrap_or("h6")
    }
}

#[cfg(test)]
mod tests {
    use pulldown_cmark::HeadingLevel;

    use super::Headings;

    #[test]
    fn no_level_is_skipped_and_equal_levels_stay_equal() {
        for (levels, tags) in [
            (&[1, 2, 3, 4, 6][..], &["h3", "h4", "h5", "h6", "h6"][..]),
            (&[3], &["h3"]),
            (&[2, 3, 2, 3], &["h3", "h4", "h3", "h4"]),
            (&[1, 3, 3, 2, 3], &["h3", "h4", "h4", "h4", "h5"]),
            (&[4, 2, 1], &["h3", "h3", "h3"]),
        ] {
            let mut headings = Headings::default();
            let begin = |level: &usize| headings.begin(HeadingLevel::try_from(*level).unwrap());
            assert_eq!(levels.iter().map(begin).collect::<Vec<_>>(), tags, "{levels:?}");
        }
    }
}
