// Charts: drawn by Vega as SVG, drawn anew in another theme or width, saved as files.

const charts = [];
let drawing = Promise.resolve();

/// A chart with its heading and buttons; `control` stands beside the title.
function figure(entry, control = null) {
  charts.push(entry);
  entry.canvas = element("div", { class: "drawing" });
  return element(
    "figure",
    { class: "chart" },
    element("figcaption", { class: "bar" }, element("h4", {}, entry.heading ?? entry.title), control),
    entry.canvas,
    element(
      "div",
      { class: "save" },
      button("Save as SVG", () => save(entry, "svg"), { class: "small" }),
      button("Save as PNG", () => save(entry, "png"), { class: "small" }),
    ),
  );
}

/// Buttons that choose what `entries` show, from [{label, value}].
function chooser(entries, options) {
  const set = (value) =>
    entries.forEach((entry) => {
      entry.chosen = value;
    });
  set(options[0].value);
  return choice(options, (value) => {
    set(value);
    redraw(entries);
  });
}

/// A figure whose `spec({theme, width, chosen})` gives Vega-Lite.
function chart(title, spec, options = null) {
  const entry = { title, spec };
  return figure(entry, options && chooser([entry], options));
}

/// Small multiples: {heading, spec} each, which show the same of `options`.
function multiples(title, parts, options) {
  const entries = parts.map((part) => ({ ...part, title: `${title}: ${part.heading}` }));
  return element(
    "div",
    { class: "multiples" },
    element("div", { class: "bar" }, element("h4", {}, title), chooser(entries, options)),
    element(
      "div",
      { class: "grid narrow" },
      entries.map((entry) => figure(entry)),
    ),
  );
}

async function draw(entry) {
  const theme = THEMES[themeName()];
  const width = Math.floor(entry.canvas.clientWidth);
  const spec = {
    ...entry.spec({ theme, width, chosen: entry.chosen }),
    width,
    description: entry.title,
    autosize: { type: "fit-x", contains: "padding" },
  };
  entry.view?.finalize();
  // ast: expressions are interpreted, so that the page can do without eval.
  const drawn = await vegaEmbed(entry.canvas, spec, {
    mode: "vega-lite",
    renderer: "svg",
    actions: false,
    ast: true,
    defaultStyle: false,
    tooltip: showTooltip,
    config: chartConfig(theme),
  });
  entry.view = drawn.view;
}

/// One after another; the page says when all is drawn.
function redraw(entries = charts) {
  delete document.documentElement.dataset.drawn;
  drawing = drawing.then(async () => {
    for (const entry of entries) {
      await draw(entry).catch((error) => {
        entry.canvas.replaceChildren(problem(`This chart cannot be drawn: ${error.message}.`));
      });
    }
  });
  const last = drawing;
  return drawing.then(() => {
    if (last === drawing) document.documentElement.dataset.drawn = String(charts.length);
  });
}

async function save(entry, format) {
  const url = await entry.view.toImageURL(format, format === "png" ? 2 : 1);
  element("a", { href: url, download: `${fileName(entry.title)}.${format}` }).click();
}

function showTooltip(handler, event, item, value) {
  let box = document.getElementById("tooltip");
  if (!box) document.body.append((box = element("div", { id: "tooltip", role: "tooltip" })));
  box.hidden = value === null || value === undefined || value === "";
  if (box.hidden) return;
  const rows = typeof value === "object" ? Object.entries(value) : [["", value]];
  box.replaceChildren(
    ...rows.map(([name, text]) => element("div", {}, element("span", {}, name), element("b", {}, String(text)))),
  );
  const x = Math.min(event.clientX + 12, innerWidth - box.offsetWidth - 8);
  const y =
    event.clientY + 16 + box.offsetHeight > innerHeight ? event.clientY - box.offsetHeight - 8 : event.clientY + 16;
  box.style.left = `${Math.max(4, x)}px`;
  box.style.top = `${y}px`;
}

function redrawOnResize() {
  let timer = null,
    width = innerWidth;
  addEventListener("resize", () => {
    if (innerWidth === width) return;
    width = innerWidth;
    clearTimeout(timer);
    timer = setTimeout(() => redraw(), 200);
  });
}
