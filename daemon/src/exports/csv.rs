//! Links as CSV (RFC 4180), with a header line.

use core::fmt::Write;

use crate::whole_fabric::WholeFabric;

/// One line for each link.
#[must_use]
pub fn render(fabric: &WholeFabric) -> String {
    let mut out =
        "a_guid,a_name,a_port,b_guid,b_name,b_port,state,rate,possible_rate,mbps,times_down\r\n"
            .to_owned();
    for link in &fabric.links {
        let fields = [&link.a, &link.b].map(|end| {
            let name = field(&end.name);
            format!("{},{name},{}", end.guid, end.port)
        });
        let [rate, possible] = [&link.rate, &link.possible_rate].map(|text| field(text));
        // Writing to a string cannot fail.
        let _ = write!(
            out,
            "{},{},{rate},{possible},{},{}\r\n",
            fields.join(","),
            link.state.name(),
            link.mbps,
            link.times_down
        );
    }
    out
}

/// A field, in quotes if it needs them. A spreadsheet would take a text that begins with `=` or
/// another such character for a formula, so it gets an apostrophe.
fn field(text: &str) -> String {
    let is_formula = text.starts_with(['=', '+', '-', '@', '\t', '\r']);
    let text = if is_formula {
        format!("'{text}")
    } else {
        text.to_owned()
    };
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text
    }
}

#[cfg(test)]
#[cfg(feature = "simulator")]
mod tests {
    use super::*;
    use ferrosm_sim::generate::from_spec;

    #[test]
    fn every_link_is_a_line_of_eleven_fields() {
        let mut spec = from_spec("fat-tree2:4,2,2").unwrap();
        spec.nodes[0].description = "a spine, first".to_owned();
        let text = render(&WholeFabric::of_description(&spec));
        assert_eq!(text.lines().count(), spec.links.len() + 1);
        for line in text.lines() {
            let outside_quotes = line.split('"').step_by(2);
            let commas: usize = outside_quotes.map(|part| part.matches(',').count()).sum();
            assert_eq!(commas, 10, "{line}");
        }
        assert!(text.contains(",\"a spine, first\","), "{text}");
    }

    #[test]
    fn names_are_no_formulas() {
        assert_eq!(field("=1+2"), "'=1+2");
        assert_eq!(field("leaf-1"), "leaf-1");
        assert_eq!(field("a \"leaf\""), "\"a \"\"leaf\"\"\"");
    }
}
