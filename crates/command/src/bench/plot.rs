//! Plots as SVG: horizontal bars, or lines over an axis on which a step multiplies.

use std::fmt::Write;

use super::axis::Axis;

const WIDTH: f64 = 820.0;
/// Where the title and the machine end, and where what is drawn starts.
const TOP: f64 = 78.0;
const RIGHT: f64 = 36.0;
/// Wide enough for a letter, on average.
const LETTER: f64 = 7.0;

/// The paper is drawn too, so that the plot can be read on any page; it is dark where the reader prefers that. Lines
/// differ in their dashes and not in their colours alone.
const STYLE: &str = "\
text{font:13px sans-serif;fill:#24292f}.title{font-size:17px;font-weight:bold}.faint{fill:#57606a}
.paper{fill:#fff}.grid{stroke:#d0d7de}.line{fill:none;stroke-width:2.5}
.a{fill:#0072b2}.b{fill:#d55e00}.c{fill:#009e73}.d{fill:#b0508c}.e{fill:#8a6d00}.f{fill:#5b4ecc}
.line.a{stroke:#0072b2}.line.b{stroke:#d55e00;stroke-dasharray:9 4}.line.c{stroke:#009e73;stroke-dasharray:3 3}\
.line.d{stroke:#b0508c;stroke-dasharray:12 3 3 3}.line.e{stroke:#8a6d00;stroke-dasharray:6 2}\
.line.f{stroke:#5b4ecc;stroke-dasharray:2 4}.line{fill:none}.line.thin{stroke-width:1.4}
@media(prefers-color-scheme:dark){text{fill:#e6edf3}.faint{fill:#9da7b1}.paper{fill:#0d1117}.grid{stroke:#30363d}
.a{fill:#56b4e9}.b{fill:#f0883e}.c{fill:#2fc79b}.d{fill:#e08fc0}.e{fill:#d9b93b}.f{fill:#a59bff}.line{fill:none}
.line.a{stroke:#56b4e9}.line.b{stroke:#f0883e}.line.c{stroke:#2fc79b}.line.d{stroke:#e08fc0}\
.line.e{stroke:#d9b93b}.line.f{stroke:#a59bff}}";
/// The second half are the first in thin lines.
const COLOURS: [&str; 12] =
    ["a", "b", "c", "d", "e", "f", "a thin", "b thin", "c thin", "d thin", "e thin", "f thin"];
/// More measured numbers than these are not written along an axis, but round ones.
const MOST_NUMBERS: usize = 12;
/// The height of a line of the legend.
const LEGEND: f64 = 20.0;

/// Writes a number of an axis.
type Text = fn(f64) -> String;

/// A bar and what is written at its sides.
pub(crate) struct Bar {
    pub(crate) name: String,
    pub(crate) value: f64,
    pub(crate) text: String,
}

/// Points to connect.
pub(crate) struct Line {
    pub(crate) name: String,
    pub(crate) points: Vec<(f64, f64)>,
}

/// What is drawn.
pub(crate) enum Plot {
    /// A bar per value; `axis_text` writes the numbers along the axis, on which a step multiplies if `log`.
    Bars { axis: &'static str, axis_text: fn(f64) -> String, log: bool, bars: Vec<Bar> },
    /// The points of each line over the same two axes; `y_text` writes the numbers of the second, on which a step
    /// multiplies too if `y_log`.
    Lines {
        x: &'static str,
        x_text: fn(f64) -> String,
        y: &'static str,
        y_text: fn(f64) -> String,
        y_log: bool,
        lines: Vec<Line>,
    },
}

impl Plot {
    /// The plot as an SVG file that says what it shows and where it was measured.
    pub(crate) fn svg(&self, title: &str, machine: &str) -> String {
        let mut svg = Svg::default();
        svg.text((16.0, 28.0), "title", "start", title);
        svg.text((16.0, 48.0), "faint", "start", machine);
        let height = match self {
            Plot::Bars { axis, axis_text, log, bars } => svg.bars(axis, *axis_text, *log, bars),
            Plot::Lines { x, x_text, y, y_text, y_log, lines } => {
                svg.lines((x, y), (*x_text, *y_text), *y_log, lines)
            }
        };
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" \
             height=\"{height}\" role=\"img\">\n<title>{}</title>\n<style>{STYLE}</style>\n\
             <rect class=\"paper\" width=\"{WIDTH}\" height=\"{height}\"/>\n{}</svg>\n",
            escaped(title),
            svg.0
        )
    }
}

/// The elements so far.
#[derive(Default)]
struct Svg(String);

impl Svg {
    fn bars(&mut self, label: &str, axis_text: fn(f64) -> String, log: bool, bars: &[Bar]) -> f64 {
        let longest =
            |text: fn(&Bar) -> &str| bars.iter().map(|bar| text(bar).chars().count()).max().unwrap_or(0);
        let left = 28.0 + LETTER * longest(|bar| &bar.name) as f64;
        let right = WIDTH - RIGHT - LETTER * longest(|bar| &bar.text) as f64;
        let values = bars.iter().map(|bar| bar.value);
        let axis = if log {
            // From one on: a bar of no length is a ratio of one.
            Axis::log(values.chain([1.0]), left, right)
        } else {
            Axis::from_zero(values, left, right)
        };
        let bottom = TOP + 30.0 * bars.len() as f64;
        for tick in axis.ticks() {
            let x = axis.place(tick);
            self.rule((x, TOP - 6.0), (x, bottom));
            self.text((x, bottom + 18.0), "faint", "middle", &axis_text(tick));
        }
        for (row, bar) in bars.iter().enumerate() {
            let (middle, end) = (TOP + 30.0 * row as f64 + 12.0, axis.place(bar.value));
            self.text((left - 10.0, middle + 4.5), "", "end", &bar.name);
            let (y, width) = (middle - 9.0, (end - left).max(1.0));
            let _ = writeln!(
                self.0,
                "<rect class=\"mark a\" x=\"{left:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"18\"/>"
            );
            self.text((left + width + 7.0, middle + 4.5), "", "start", &bar.text);
        }
        self.text(((left + right) / 2.0, bottom + 42.0), "", "middle", label);
        bottom + 58.0
    }

    fn lines(
        &mut self,
        labels: (&str, &str),
        (x_text, y_text): (Text, Text),
        y_log: bool,
        lines: &[Line],
    ) -> f64 {
        let left = 84.0;
        let top = self.legend(left, lines) + 24.0;
        let bottom = top + 320.0;
        let points = || lines.iter().flat_map(|line| line.points.iter().copied());
        let x = Axis::log(points().map(|point| point.0), left, WIDTH - RIGHT);
        let values = points().map(|point| point.1);
        let y = if y_log { Axis::log(values, bottom, top) } else { Axis::from_zero(values, bottom, top) };
        for tick in y.ticks() {
            self.rule((left, y.place(tick)), (WIDTH - RIGHT, y.place(tick)));
            self.text((left - 10.0, y.place(tick) + 4.5), "faint", "end", &y_text(tick));
        }
        // Along the first axis stand the numbers that were measured, however odd, unless they are many.
        let mut measured: Vec<f64> = points().map(|point| point.0).collect();
        measured.sort_by(f64::total_cmp);
        measured.dedup();
        let numbers = if measured.len() > MOST_NUMBERS { x.ticks() } else { measured };
        for value in numbers {
            self.rule((x.place(value), top), (x.place(value), bottom));
            self.text((x.place(value), bottom + 20.0), "faint", "middle", &x_text(value));
        }
        for (line, colour) in lines.iter().zip(COLOURS.iter().cycle()) {
            let places: Vec<(f64, f64)> =
                line.points.iter().map(|&(a, b)| (x.place(a), y.place(b))).collect();
            self.path(&places, colour);
            let radius = if places.len() > MOST_NUMBERS { 2.5 } else { 4.5 };
            for &(x, y) in &places {
                let _ = writeln!(
                    self.0,
                    "<circle class=\"mark {colour}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius}\"/>"
                );
            }
        }
        self.text(((left + WIDTH - RIGHT) / 2.0, bottom + 44.0), "", "middle", labels.0);
        let middle = (top + bottom) / 2.0;
        let _ = writeln!(
            self.0,
            "<text transform=\"translate(22 {middle}) rotate(-90)\" text-anchor=\"middle\">{}</text>",
            escaped(labels.1)
        );
        bottom + 60.0
    }

    /// The names of lines, in as many rows as they need; the last one's height comes back.
    fn legend(&mut self, left: f64, lines: &[Line]) -> f64 {
        let (mut x, mut y) = (left, TOP);
        if lines.len() < 2 {
            return y;
        }
        for (line, colour) in lines.iter().zip(COLOURS.iter().cycle()) {
            let width = 66.0 + LETTER * line.name.chars().count() as f64;
            if x > left && x + width > WIDTH {
                (x, y) = (left, y + LEGEND);
            }
            self.path(&[(x, y), (x + 34.0, y)], colour);
            self.text((x + 42.0, y + 4.5), "", "start", &line.name);
            x += width;
        }
        y
    }

    fn text(&mut self, (x, y): (f64, f64), class: &str, anchor: &str, text: &str) {
        let text = escaped(text);
        let _ = writeln!(
            self.0,
            "<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{text}</text>"
        );
    }

    fn rule(&mut self, (ax, ay): (f64, f64), (bx, by): (f64, f64)) {
        let _ = writeln!(
            self.0,
            "<line class=\"grid\" x1=\"{ax:.1}\" y1=\"{ay:.1}\" x2=\"{bx:.1}\" y2=\"{by:.1}\"/>"
        );
    }

    fn path(&mut self, points: &[(f64, f64)], colour: &str) {
        let list: Vec<String> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        let _ = writeln!(self.0, "<polyline class=\"line {colour}\" points=\"{}\"/>", list.join(" "));
    }
}

/// A text as it stands in SVG and HTML.
pub(crate) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
