// Draws a map: cells in a canvas, coloured by the logarithm of their value.
// of: { figure, rows, columns, values: {mode: array}, height(width), rowTicks(), columnTicks(width), ringed,
//       unit(mode) -> (value) -> text, tell(mode, row, column, value) -> text }

// Lightness grows in one direction only, and no step relies on telling red from green.
const LIGHT = [[214, 232, 233], [150, 200, 210], [80, 152, 190], [43, 95, 158], [24, 33, 84]];
const DARK = [[28, 50, 68], [30, 84, 125], [42, 135, 168], [118, 198, 184], [247, 243, 184]];

function map(of) {
  const { figure } = of;
  const stage = figure.querySelector(".stage"), canvas = stage.querySelector("canvas");
  const mode = () => figure.querySelector("input:checked").value;
  const values = () => of.values[mode()];
  const peaks = Object.fromEntries(Object.keys(of.values).map(name => [name, peak(of.values[name])]));
  const ring = stage.appendChild(element("div", "peak"));
  const moving = cursor({
    stage, said: figure.querySelector(".readout"), rows: () => of.rows, columns: () => of.columns,
    start: () => {
      const index = peaks[mode()].index;
      return [Math.floor(index / of.columns), index % of.columns];
    },
    tell: (row, column) => of.tell(mode(), row, column, values()[row * of.columns + column]),
  });

  function draw() {
    const width = stage.clientWidth;
    stage.style.height = of.height(width) + "px";
    const most = peaks[mode()].value;
    paint(canvas, of, values(), most);
    legend(figure, most, of.unit(mode()));
    ticks(figure.querySelector(".rows"), of.rowTicks(), "top");
    ticks(figure.querySelector(".cols"), of.columnTicks(width), "left");
    around(ring, peaks[mode()], of);
    figure.dataset.drawn = mode();
    moving.again();
  }

  figure.addEventListener("change", draw);
  return draw;
}

function peak(values) {
  let index = 0;
  for (let i = 1; i < values.length; i++) if (values[i] > values[index]) index = i;
  return { index, value: values.length ? values[index] : 0 };
}

// A single cell of a large map is easily missed: a ring shows where the largest value is.
function around(ring, { index, value }, of) {
  ring.hidden = !of.ringed || value === 0;
  ring.style.left = (index % of.columns + 0.5) / of.columns * 100 + "%";
  ring.style.top = (Math.floor(index / of.columns) + 0.5) / of.rows * 100 + "%";
}

// More cells than pixels: each pixel shows the largest of its cells, so that no peak is lost.
function paint(canvas, of, values, most) {
  const scale = window.devicePixelRatio || 1;
  const box = canvas.parentElement;
  const width = canvas.width = Math.max(1, Math.min(of.columns, Math.floor(box.clientWidth * scale)));
  const height = canvas.height = Math.max(1, Math.min(of.rows, Math.floor(box.clientHeight * scale)));
  const context = canvas.getContext("2d"), image = context.createImageData(width, height), colour = colours(most);
  for (let y = 0; y < height; y++) {
    const top = Math.floor(y * of.rows / height), bottom = Math.max(top + 1, Math.floor((y + 1) * of.rows / height));
    for (let x = 0; x < width; x++) {
      const left = Math.floor(x * of.columns / width), right = Math.max(left + 1, Math.floor((x + 1) * of.columns / width));
      let largest = 0;
      for (let row = top; row < bottom; row++)
        for (let column = left; column < right; column++)
          largest = Math.max(largest, values[row * of.columns + column]);
      if (largest > 0) image.data.set(colour(largest), (y * width + x) * 4);
    }
  }
  context.putImageData(image, 0, 0);
}

function colours(most) {
  const dark = matchMedia("(prefers-color-scheme: dark)").matches && !matchMedia("print").matches;
  const stops = dark ? DARK : LIGHT, whole = Math.log(Math.max(most, 2));
  return value => {
    const place = Math.min(1, Math.log(Math.max(value, 1)) / whole) * (stops.length - 1);
    const below = Math.min(Math.floor(place), stops.length - 2), part = place - below;
    return [0, 1, 2].map(i => Math.round(stops[below][i] * (1 - part) + stops[below + 1][i] * part)).concat(255);
  };
}

function legend(figure, most, name) {
  const canvas = figure.querySelector(".scale canvas"), context = canvas.getContext("2d");
  const image = context.createImageData(canvas.width, 1), colour = colours(most), top = Math.max(most, 2);
  for (let x = 0; x < canvas.width; x++) image.data.set(colour(Math.pow(top, x / (canvas.width - 1))), x * 4);
  context.putImageData(image, 0, 0);
  const marks = [[0, name(1)]];
  if (top >= 20) marks.push([0.5, name(Math.round(Math.sqrt(top)))]);
  marks.push([1, name(top)]);
  ticks(figure.querySelector(".scale .ticks"), marks, "left");
}

function ticks(axis, marks, side) {
  axis.replaceChildren(...marks.map(([place, text]) => {
    const tick = element("span", place > 0.97 ? "last" : place < 0.02 ? "first" : "", text);
    tick.style[side] = place * 100 + "%";
    return tick;
  }));
}
