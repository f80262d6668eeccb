// Tables that scroll within their own box and can be copied as CSV.

/// columns: names, those of figures with a leading "#", which is not shown. rows: lists of texts or elements.
function table(title, columns, rows) {
  const numeric = columns.map((name) => name.startsWith("#"));
  const names = columns.map((name, i) => (numeric[i] ? name.slice(1) : name));
  const align = (i) => ({ class: numeric[i] ? "number" : null });
  const drawn = element(
    "table",
    {},
    element(
      "thead",
      {},
      element(
        "tr",
        {},
        names.map((name, i) => element("th", { scope: "col", ...align(i) }, name)),
      ),
    ),
    element(
      "tbody",
      {},
      rows.map((row) =>
        element(
          "tr",
          {},
          row.map((cell, i) => element("td", align(i), cell)),
        ),
      ),
    ),
  );
  const copy = button(
    "Copy as CSV",
    () =>
      copyText(csv(drawn)).then((done) => {
        copy.textContent = done ? "Copied" : "Not copied";
        setTimeout(() => {
          copy.textContent = "Copy as CSV";
        }, 1500);
      }),
    { class: "small", "aria-live": "polite" },
  );
  return element(
    "div",
    { class: "table" },
    element("div", { class: "bar" }, element("h4", {}, title), copy),
    element("div", { class: "scroll", role: "region", tabindex: "0", "aria-label": title }, drawn),
  );
}

/// What the table shows, with the minus and the spaces that other programs read.
function csv(drawn) {
  const lines = [...drawn.rows].map((row) =>
    [...row.cells]
      .map((cell) => {
        const whole = cell.cloneNode(true);
        whole.querySelectorAll("summary").forEach((each) => each.remove());
        const text = whole.textContent.replaceAll("−", "-").replaceAll("\u00a0", " ");
        return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
      })
      .join(","),
  );
  return lines.join("\r\n") + "\r\n";
}

async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyBySelection(text);
  }
}

/// For pages from a file, where browsers may refuse the clipboard.
function copyBySelection(text) {
  const area = element("textarea", { class: "offscreen", readonly: "" });
  area.value = text;
  document.body.append(area);
  area.select();
  const done = document.execCommand("copy");
  area.remove();
  return done;
}
