//! Levels of an answer's headings on the page. They begin below the heading of the answer itself, and each is at most one deeper
//! than the one that it belongs to, whatever levels the model used: a reader who goes from heading to heading misses none.

use pulldown_cmark::HeadingLevel;

/// The elements of headings, from the highest; deeper ones share the last.
const TAGS: [&str; 4] = ["h3", "h4", "h5", "h6"];

/// The levels of the headings that what follows belongs to, a bit for each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Headings(u8);

impl Headings {
    /// Begins what a heading of this level stands above, and returns the heading's element.
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
    fn no_level_is_left_out_and_equal_ones_stay_equal() {
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
