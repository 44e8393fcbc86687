//! `matchpoint predict figures`: draws the model curves of the paper's figures.

use matchpoint_model::figures::{Figure, figures};
use matchpoint_replay::format::seconds;

use super::placement::read_machine;
use crate::cli::Figures;
use crate::failure::Failure;
use crate::output::Outputs;
use crate::report::chart::axis::Scale;
use crate::report::chart::{Chart, Line, STYLES, Shape, alone, grid};

pub(super) fn draw(arguments: &Figures) -> Result<(), Failure> {
    let machine = read_machine(&arguments.machine)?;
    let figures = figures(&machine)?;
    let mut outputs = Outputs::default();
    outputs.folder(&arguments.folder)?;
    for figure in &figures {
        let file = outputs.reserve(&arguments.folder.join(format!("figure-{}.svg", figure.number)))?;
        let label = format!("Figure {}: {}, {}", figure.number, figure.title, machine.name);
        let picture = alone(&grid(&[chart(figure, &machine.name)], &label, ""));
        outputs.fill(file, |out| out.write_all(picture.as_bytes()))?;
    }
    outputs.finish("")
}

fn chart(figure: &Figure, machine: &str) -> Chart {
    let line = |(at, curve): (usize, &matchpoint_model::figures::Curve)| Line {
        name: curve.name.clone(),
        points: curve.points.clone(),
        style: at % STYLES,
        shape: Shape::Curve,
        ..Line::default()
    };
    let (title, parts) = figure.title.split_once(": ").unwrap_or((&figure.title, "time"));
    let axes = format!("→ {}   ↑ {parts}, {machine}", figure.x_label);
    let scales =
        (Scale::Powers(10, |mark| format!("1e{}", mark.log10().round())), Scale::Powers(10, seconds));
    let lines = figure.curves.iter().enumerate().map(line).collect();
    Chart::new(format!("Figure {}: {title}", figure.number), &axes, lines, scales)
}
