// Elements of the page. Texts, which may come from records, become text nodes and nothing else.

function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") made.addEventListener(name, value);
    else if (value !== null && value !== undefined) made.setAttribute(name, value);
  }
  made.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return made;
}

function button(text, click, attributes = {}) {
  return element("button", { type: "button", click, ...attributes }, text);
}

/// Buttons of which one is pressed; `choose` gets the value of it.
function choice(options, choose) {
  const buttons = options.map(({ label, value }, index) =>
    button(label, () => press(index, value), { "aria-pressed": String(index === 0) }),
  );
  const press = (index, value) => {
    buttons.forEach((each, other) => each.setAttribute("aria-pressed", String(other === index)));
    choose(value);
  };
  return element("span", { class: "choice", role: "group" }, buttons);
}

function note(...children) {
  return element("p", { class: "note" }, ...children);
}

/// What went wrong, in place of what it concerns.
function problem(sentence) {
  return element("p", { class: "problem" }, sentence);
}

/// Charts side by side where there is room.
function grid(...charts) {
  return element("div", { class: "grid" }, ...charts);
}

/// A name for a file from any text.
function fileName(text) {
  return (
    text
      .toLowerCase()
      .replace(/[^a-z0-9]+/g, "-")
      .replace(/^-|-$/g, "")
      .slice(0, 60) || "chart"
  );
}
