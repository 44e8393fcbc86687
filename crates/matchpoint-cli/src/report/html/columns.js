// A cursor over a chart with a column per rank, which is in the page already.
function columns(figure, ranks, values, unit) {
  cursor({
    stage: figure.querySelector(".stage"), thin: true, rows: () => 1, columns: () => values.length,
    start: () => [0, peak(values).index],
    tell: (_, column) => `rank ${ranks[column]}: ${unit(values[column])}`,
  });
}
