// Reads the data and starts everything.
function decode(text) {
  const values = [];
  for (const token of text ? text.split(" ") : []) {
    const [value, length] = token.split("*").map(number => parseInt(number, 36));
    for (let i = 0; i < (length || 1); i++) values.push(value);
  }
  return values;
}

function grouped(value) {
  return value.toLocaleString("en-US");
}

function inBytes(value) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  while (value >= 1023.5 && unit < units.length - 1) { value /= 1024; unit++; }
  return (unit ? value.toPrecision(3) : value) + " " + units[unit];
}

function inTime(ns) {
  const [scale, unit] = ns < 999.5 ? [1, "ns"] : ns < 999.5e3 ? [1e3, "µs"] : ns < 999.5e6 ? [1e6, "ms"] : [1e9, "s"];
  return Number((ns / scale).toPrecision(3)) + " " + unit;
}

// Seconds in the unit that suits the last of them; between two neighbouring moments the digits differ.
function clock(last, step) {
  const [scale, unit] = last < 1e-3 ? [1e6, "µs"] : last < 1 ? [1e3, "ms"] : [1, "s"];
  const digits = Math.max(0, Math.ceil(-Math.log10((step || 1) * scale) - 1e-9));
  return { unit, at: seconds => (seconds * scale).toFixed(Math.min(digits, 9)) };
}

// Steps of 1, 2 or 5 times a power of ten, about so many.
function steps(last, about) {
  const rough = last / about, power = Math.pow(10, Math.floor(Math.log10(rough || 1)));
  const step = power * [1, 2, 5, 10].find(factor => power * factor >= rough);
  return Array.from({ length: Math.floor(last / step + 1e-9) + 1 }, (_, i) => i * step);
}

function span(from, to) {
  return from === to ? `${from}` : `${from}–${to}`;
}

function rowMarks(count, label) {
  const every = Math.ceil(count / 9);
  const nice = [1, 2, 4, 5, 8, 10, 16, 20, 32, 50, 64, 100, 128, 200, 256].find(step => step >= every) || every;
  const marks = [];
  for (let row = 0; row < count; row += nice) marks.push([(row + 0.5) / count, label(row)]);
  return marks;
}

function heatMap(figure, heat) {
  const step = heat.duration_s / heat.columns;
  const join = rows => rows.flatMap(decode);
  const names = { posted: "posted receives", unexpected: "unexpected messages" };
  return map({
    figure, ringed: true, unit: () => grouped, rows: heat.rows.length, columns: heat.columns,
    values: { posted: join(heat.posted), unexpected: join(heat.unexpected) },
    height: () => Math.min(512, Math.max(heat.rows.length * 24, 72)),
    rowTicks: () => rowMarks(heat.rows.length, row => heat.rows[row][0]),
    columnTicks: width => {
      const at = steps(heat.duration_s, Math.max(2, width / 110));
      const axis = clock(heat.duration_s, at[1]);
      return at.map(time => [time / heat.duration_s, `${axis.at(time)} ${axis.unit}`]);
    },
    tell: (mode, row, column, value) => {
      const [from, to] = heat.rows[row];
      const ranks = from === to ? "rank" : "ranks";
      const time = clock(heat.duration_s, step);
      return `${ranks} ${span(from, to)}, ${time.at(column * step)}–${time.at((column + 1) * step)} ${time.unit}: `
        + `${grouped(value)} ${names[mode]}`;
    },
  });
}

function matrixMap(figure, matrix) {
  const { cells, ranks_per_cell: per } = matrix;
  const ranks = cell => per === 1 ? `rank ${cell}` : `ranks ${span(cell * per, (cell + 1) * per - 1)}`;
  const unit = mode => mode === "bytes" ? inBytes : grouped;
  return map({
    figure, ringed: false, unit, rows: cells, columns: cells,
    values: { messages: decode(matrix.messages), bytes: decode(matrix.bytes) },
    height: width => width,
    rowTicks: () => rowMarks(cells, row => row * per),
    columnTicks: () => rowMarks(cells, column => column * per),
    tell: (mode, row, column, value) =>
      `${ranks(row)} to ${ranks(column)}: ${unit(mode)(value)}${mode === "bytes" ? "" : " messages"}`,
  });
}

function start() {
  const data = JSON.parse(document.getElementById("data").textContent);
  const find = name => document.querySelector(`[data-map="${name}"]`);
  const drawings = [];
  if (find("heat") && data.heat.columns > 0) drawings.push(heatMap(find("heat"), data.heat));
  if (find("matrix")) drawings.push(matrixMap(find("matrix"), data.matrix));
  for (const figure of document.querySelectorAll("[data-columns]")) {
    const name = figure.dataset.columns;
    if (data.series[name].length) columns(figure, data.ranks, data.series[name], name === "matching_ns" ? inTime : grouped);
  }
  const all = () => drawings.forEach(draw => draw());
  all();
  new ResizeObserver(all).observe(document.querySelector("main"));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", all);
  addEventListener("beforeprint", all);
  addEventListener("afterprint", all);
}

start();
