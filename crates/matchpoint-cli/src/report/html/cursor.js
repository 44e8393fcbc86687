"use strict";

// Moves a cursor over the cells of a stage, by pointer and by keys, and tells what is under it.
// of: { stage, rows(), columns(), start() -> [row, column], tell(row, column) -> text, said: element or null }
function cursor(of) {
  const { stage } = of;
  const cell = stage.appendChild(element("div", "cell"));
  const tip = stage.appendChild(element("div", "tip"));
  const said = of.said || stage.appendChild(element("output", "unseen"));
  said.setAttribute("aria-live", "polite");
  let at = null;
  hide();

  function hide() {
    cell.hidden = tip.hidden = true;
  }

  function go(row, column) {
    at = [clamp(row, of.rows()), clamp(column, of.columns())];
    const text = of.tell(at[0], at[1]);
    place(at[0], at[1]);
    tip.textContent = said.textContent = text;
    stage.dataset.row = at[0];
    stage.dataset.column = at[1];
    beside();
  }

  function place(row, column) {
    const width = stage.clientWidth / of.columns(), height = stage.clientHeight / of.rows();
    // A cell of a pixel cannot be seen: its frame may be larger than it.
    const wide = Math.max(width, of.thin ? 1 : 7), high = Math.max(height, of.thin ? 1 : 7);
    cell.hidden = tip.hidden = false;
    cell.style.left = (column + 0.5) * width - wide / 2 + "px";
    cell.style.top = (row + 0.5) * height - high / 2 + "px";
    cell.style.width = wide + "px";
    cell.style.height = high + "px";
  }

  function beside() {
    const room = stage.clientWidth, left = cell.offsetLeft + cell.offsetWidth + 8;
    const flipped = left + tip.offsetWidth > room ? cell.offsetLeft - tip.offsetWidth - 8 : left;
    tip.style.left = Math.max(0, Math.min(flipped, room - tip.offsetWidth)) + "px";
    tip.style.top = Math.max(-30, cell.offsetTop - tip.offsetHeight - 6) + "px";
  }

  function point(event) {
    const box = stage.getBoundingClientRect();
    go(Math.floor((event.clientY - box.top) / box.height * of.rows()),
      Math.floor((event.clientX - box.left) / box.width * of.columns()));
  }

  stage.addEventListener("pointermove", point);
  stage.addEventListener("pointerdown", point);
  stage.addEventListener("pointerleave", () => { if (document.activeElement !== stage) hide(); });
  stage.addEventListener("blur", hide);
  stage.addEventListener("focus", () => {
    if (stage.matches(":focus-visible")) go(...(at || of.start()));
  });
  stage.addEventListener("keydown", event => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const [row, column] = at || of.start();
    const page = Math.max(1, Math.round(of.rows() / 10));
    const moves = {
      ArrowLeft: [row, column - 1], ArrowRight: [row, column + 1],
      ArrowUp: [row - 1, column], ArrowDown: [row + 1, column],
      PageUp: [row - page, column], PageDown: [row + page, column],
      Home: [row, 0], End: [row, of.columns() - 1], Enter: of.start(),
    };
    if (!(event.key in moves)) return;
    event.preventDefault();
    go(...moves[event.key]);
  });
  return { again: () => { if (at && !cell.hidden) go(...at); else hide(); } };
}

function clamp(index, count) {
  return Math.min(Math.max(index, 0), count - 1);
}

function element(name, className, text) {
  const made = document.createElement(name);
  made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
}
