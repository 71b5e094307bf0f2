//! Extracts the cells of an Excel file: one page per sheet (several for a long one), one line per row, tabs between
//! cells. It reads cells one by one, so empty rows and columns take no memory.

use std::io::Cursor;

use calamine::{DataRef, ExcelDateTime, Reader as _, Xlsx, XlsxError};

use crate::{Refusal, pages::Pages, zip::Package};

/// Extracts values as they are shown, except for number formats: of a formula, the value that Excel stored.
pub(crate) fn read_xlsx(file: &[u8]) -> Result<Pages, Refusal> {
    // Bounds the number of parts before another library reads the container.
    Package::open(file)?;
    let mut workbook = Xlsx::new(Cursor::new(file)).map_err(|error| damaged(&error))?;
    let mut pages = Pages::default();
    for name in workbook.sheet_names() {
        let mut table = Table::new(&name, pages.room());
        let mut cells = match workbook.worksheet_cells_reader(&name) {
            Ok(cells) => cells,
            // Charts and macros have sheets of their own.
            Err(XlsxError::NotAWorksheet(_) | XlsxError::WorksheetNotFound(_)) => continue,
            Err(error) => return Err(damaged(&error)),
        };
        while let Some(cell) = cells.next_cell().map_err(|error| damaged(&error))? {
            let (row, column) = cell.get_position();
            if !table.cell(row, column, &show(cell.get_value())) {
                break;
            }
        }
        if !pages.push(&table.text) {
            break;
        }
    }
    Ok(pages)
}

fn damaged(error: &XlsxError) -> Refusal {
    match error {
        XlsxError::Password => Refusal::unreadable("the file is protected by a password"),
        _ => Refusal::unreadable("the file is damaged: a sheet of it cannot be read"),
    }
}

/// Text of one sheet.
pub(crate) struct Table {
    pub(crate) text: String,
    max_bytes: usize,
    /// Row and column of the last cell with text.
    last: Option<(u32, u32)>,
}

impl Table {
    /// Begins with the name of the sheet as a heading.
    pub(crate) fn new(name: &str, max_bytes: usize) -> Self {
        Self { text: format!("# {}\n", one_line(name)), max_bytes, last: None }
    }

    /// Adds a cell, in the order of rows and columns, which count from 0. Empty cells need not be added. Empty rows
    /// between rows with text become one empty line.
    ///
    /// Returns whether the text is within the limit.
    pub(crate) fn cell(&mut self, row: u32, column: u32, text: &str) -> bool {
        if text.is_empty() {
            return true;
        }
        let tabs = match self.last {
            Some((last_row, last_column)) if last_row == row => column.saturating_sub(last_column).max(1),
            last => {
                let has_gap = last.is_some_and(|(last_row, _)| row > last_row.saturating_add(1));
                self.text.push_str(if has_gap { "\n\n" } else { "\n" });
                column
            }
        };
        self.text.extend(std::iter::repeat_n('\t', tabs as usize));
        self.last = Some((row, column));
        self.text.push_str(&one_line(text));
        self.text.len() <= self.max_bytes
    }
}

/// Replaces line ends and tabs, which separate cells.
fn one_line(text: &str) -> String {
    text.trim().replace(['\n', '\r', '\t'], " ")
}

fn show(value: &DataRef<'_>) -> String {
    match value {
        DataRef::Empty => String::new(),
        DataRef::Int(number) => number.to_string(),
        DataRef::Float(number) => show_number(*number),
        DataRef::String(text) | DataRef::DateTimeIso(text) | DataRef::DurationIso(text) => text.clone(),
        DataRef::SharedString(text) => (*text).to_owned(),
        DataRef::Bool(value) => if *value { "TRUE" } else { "FALSE" }.to_owned(),
        DataRef::DateTime(time) => show_time(time),
        DataRef::Error(error) => error.to_string(),
    }
}

/// Excel shows 15 significant digits: 0.1 + 0.2 is 0.3.
fn show_number(number: f64) -> String {
    let rounded: f64 = format!("{number:.14e}").parse().unwrap_or(number);
    if rounded != 0.0 && !(1e-6..1e21).contains(&rounded.abs()) { format!("{rounded:e}") } else { rounded.to_string() }
}

fn show_time(time: &ExcelDateTime) -> String {
    let days = time.as_f64();
    if time.is_duration() || !(0.0..3_000_000.0).contains(&days) {
        return show_number(days * 24.0) + " h";
    }
    let (year, month, day, hour, minute, second, _) = time.to_ymd_hms_milli();
    let date = format!("{year:04}-{month:02}-{day:02}");
    let clock = format!("{hour:02}:{minute:02}:{second:02}");
    if days < 1.0 {
        clock
    } else if hour == 0 && minute == 0 && second == 0 {
        date
    } else {
        format!("{date} {clock}")
    }
}

#[cfg(test)]
mod tests {
    use super::{Table, show_number};

    #[test]
    fn numbers_have_fifteen_digits() {
        for (number, shown) in
            [(0.1 + 0.2, "0.3"), (1_234_567.0, "1234567"), (-0.5, "-0.5"), (1e300, "1e300"), (0.0, "0"), (2e-9, "2e-9")]
        {
            assert_eq!(show_number(number), shown);
        }
    }

    #[test]
    fn cells_are_separated_by_tabs_and_empty_rows_are_joined() {
        let mut table = Table::new("Sheet\n1", 1000);
        for (row, column, text) in [(0, 0, "a"), (0, 2, "c"), (1, 1, "b\nb"), (1_000_000, 0, "end"), (3, 0, "back")] {
            assert!(table.cell(row, column, text));
        }
        assert_eq!(table.text, "# Sheet 1\n\na\t\tc\n\tb b\n\nend\nback");
    }
}
