// Light and dark, and the colours of the norms: Okabe and Ito's, which colour-blind people can tell apart, with the accent
// for LS and greys for the norms that the others are compared with.

const THEMES = {
  light: {
    surface: "#ffffff",
    ink: "#1d2430",
    soft: "#5b6472",
    grid: "#e4e7ec",
    accent: "#0066b3",
    low: "#c2570c",
    middle: "#f4f4f2",
    high: "#0066b3",
    families: {
      LS: "#0066b3",
      BN: "#3b4250",
      torch: "#8a919d",
      none: "#b4bac3",
      FS: "#d55e00",
      BS: "#009e73",
      NS: "#c2649a",
      VDN: "#d99100",
      "FS+VDN": "#8f4a1c",
      "LS+VDN": "#4f9fd8",
      "BS+VDN": "#66b79c",
      FRS: "#9a8c00",
      GN: "#7a5bb5",
    },
  },
  dark: {
    surface: "#171b22",
    ink: "#e8ebf0",
    soft: "#a3acba",
    grid: "#2e3541",
    accent: "#5db4f5",
    low: "#f08a3c",
    middle: "#262c36",
    high: "#5db4f5",
    families: {
      LS: "#5db4f5",
      BN: "#d5dae2",
      torch: "#8f98a6",
      none: "#646d7b",
      FS: "#f0803c",
      BS: "#2fc495",
      NS: "#e08abb",
      VDN: "#f2b43a",
      "FS+VDN": "#c98558",
      "LS+VDN": "#9ccdf0",
      "BS+VDN": "#8fd6bd",
      FRS: "#d8cb3c",
      GN: "#b09ae0",
    },
  },
};
const SPARE = ["#56b4e9", "#a0522d", "#5f7d33", "#b0567f", "#4a8c8c", "#a57bd1"];
const DASHES = [
  [1, 0],
  [6, 3],
  [2, 2],
  [8, 3, 2, 3],
];

let chosenTheme = null;
const systemIsDark = matchMedia("(prefers-color-scheme: dark)");

function themeName() {
  return chosenTheme ?? (systemIsDark.matches ? "dark" : "light");
}

function showTheme() {
  document.documentElement.dataset.theme = themeName();
  document.getElementById("theme").textContent = themeName() === "dark" ? "Light theme" : "Dark theme";
}

/// `changed` is called when the user or the system chose another theme.
function startTheme(changed) {
  const change = () => {
    showTheme();
    changed();
  };
  document.getElementById("theme").addEventListener("click", () => {
    chosenTheme = themeName() === "dark" ? "light" : "dark";
    change();
  });
  systemIsDark.addEventListener("change", change);
  showTheme();
}

/// The method of a norm: FS of "FS-1/64;redraw=step", FS+VDN of "FS-1/64+VDN-2/128".
function family(norm) {
  return norm
    .split(";")[0]
    .split("+")
    .map((part) => part.split("-")[0])
    .join("+");
}

/// A colour scale over norms or families; those of one family share its colour and differ by their dashes.
function colourScale(names, theme) {
  const unknown = [...new Set(names.map(family))].filter((name) => !Object.hasOwn(theme.families, name));
  const colourOf = (name) => theme.families[name] ?? SPARE[unknown.indexOf(name) % SPARE.length];
  return { domain: names, range: names.map((name) => colourOf(family(name))) };
}

function dashScale(names) {
  const seen = {};
  return {
    domain: names,
    range: names.map((name) => {
      const number = (seen[family(name)] = (seen[family(name)] ?? -1) + 1);
      return DASHES[number % DASHES.length];
    }),
  };
}

function chartConfig(theme) {
  const text = {
    labelColor: theme.soft,
    titleColor: theme.soft,
    labelFontSize: 12,
    titleFontSize: 12,
    titleFontWeight: "normal",
  };
  return {
    background: theme.surface,
    font: 'system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif',
    view: { stroke: null },
    axis: { ...text, gridColor: theme.grid, domainColor: theme.grid, tickColor: theme.grid, labelLimit: 170 },
    axisQuantitative: { labelFlush: false },
    legend: { ...text, labelColor: theme.ink, labelLimit: 220, symbolStrokeWidth: 2, symbolSize: 300 },
    text: { fill: theme.ink, fontSize: 12 },
    rule: { color: theme.soft },
  };
}
