//! `matchpoint predict figures`: the model curves of the paper's figures, drawn.

use std::io;

use matchpoint_model::figures::{Figure, figures};
use plotters::prelude::*;
use plotters::series::LineSeries;

use super::place::read_machine;
use crate::cli::Figures;
use crate::failure::Failure;
use crate::output::Outputs;

const SIZE: (u32, u32) = (640, 440);

/// Colours that the colour-blind tell apart (Okabe and Ito).
const COLOURS: [RGBColor; 5] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(90, 90, 90),
];

/// Writes a file for each figure.
pub(super) fn draw(arguments: &Figures) -> Result<(), Failure> {
    let machine = read_machine(&arguments.machine)?;
    let figures = figures(&machine).map_err(|missing| Failure::Message(missing.to_string()))?;
    let mut outputs = Outputs::default();
    outputs.folder(&arguments.folder)?;
    for figure in &figures {
        let file = outputs.reserve(&arguments.folder.join(format!("figure-{}.svg", figure.number)))?;
        let picture = svg(figure, &machine.name)
            .map_err(|problem| Failure::Message(format!("cannot draw: {problem}")))?;
        outputs.fill(file, |out| io::Write::write_all(out, picture.as_bytes()))?;
    }
    outputs.finish("")
}

fn svg(figure: &Figure, machine: &str) -> Result<String, Box<dyn std::error::Error>> {
    let points = || figure.curves.iter().flat_map(|curve| &curve.points);
    let right = points().map(|point| point.0).fold(1.0, f64::max);
    let bottom = points().map(|point| point.1).fold(f64::INFINITY, f64::min);
    let top = points().map(|point| point.1).fold(0.0, f64::max);
    let mut picture = String::new();
    {
        let area = SVGBackend::with_string(&mut picture, SIZE).into_drawing_area();
        area.fill(&WHITE)?;
        let caption = format!("Figure {}: {}, {machine}", figure.number, figure.title);
        let mut chart = ChartBuilder::on(&area)
            .caption(caption, ("sans-serif", 15))
            .margin(12)
            .x_label_area_size(42)
            .y_label_area_size(62)
            .build_cartesian_2d((1.0..right).log_scale(), (bottom / 2.0..top * 2.0).log_scale())?;
        let power = |value: &f64| format!("1e{}", value.log10().round());
        chart
            .configure_mesh()
            .x_desc(figure.x_label)
            .y_desc("seconds")
            .x_label_formatter(&power)
            .y_label_formatter(&power)
            .light_line_style(TRANSPARENT)
            .draw()?;
        for (curve, colour) in figure.curves.iter().zip(COLOURS.iter().cycle()) {
            let style = colour.stroke_width(2);
            let series = chart.draw_series(LineSeries::new(curve.points.iter().copied(), style))?;
            series
                .label(&curve.name)
                .legend(move |(x, y)| PathElement::new(vec![(x, y), (x + 16, y)], style));
        }
        let labels = &mut chart.configure_series_labels();
        labels
            .position(SeriesLabelPosition::UpperLeft)
            .background_style(WHITE.mix(0.85))
            .border_style(BLACK.mix(0.2));
        labels.draw()?;
        area.present()?;
    }
    Ok(picture)
}
