// The page: what ran where, the paper claim by claim, and a section for each study.

const VERDICTS = {
  "holds here": ["✓", "holds"],
  "does not hold here": ["✗", "fails"],
  "cannot be run here": ["–", "cannot"],
  "not run yet": ["…", "open"],
};

const SHORT_TITLES = { runs: "what ran", claims: "claims", missing: "not run yet" };

function badge(verdict, text = verdict) {
  const [sign, kind] = VERDICTS[verdict] ?? ["?", "open"];
  return element("span", { class: `badge ${kind}` }, element("span", { "aria-hidden": "true" }, sign), text);
}

function showDate(studies) {
  const days = studies
    .flatMap((study) => study.begins.map((begin) => begin.date))
    .filter((date) => typeof date === "string")
    .map((date) => date.slice(0, 10))
    .sort();
  if (days.length === 0) return;
  const last = days[days.length - 1];
  document.getElementById("date").textContent =
    days[0] === last ? `Records of ${last}.` : `Records from ${days[0]} to ${last}.`;
}

function showClaims(claims) {
  const counts = Object.keys(VERDICTS).map((verdict) => [
    verdict,
    claims.filter((claim) => claim.verdict === verdict).length,
  ]);
  // Folded, so that the claims themselves can be read one after the other.
  const note = (claim) =>
    claim.note || claim.command
      ? element(
          "details",
          {},
          element("summary", {}, "note"),
          claim.note,
          claim.command ? [" Command: ", element("code", {}, claim.command)] : "",
        )
      : "";
  return element(
    "section",
    { id: "claims" },
    element("h2", {}, "The paper, claim by claim"),
    element(
      "p",
      { class: "badges" },
      counts.filter(([, count]) => count).map(([verdict, count]) => badge(verdict, `${count} ${verdict}`)),
    ),
    table(
      "Claims",
      ["verdict", "claim", "where", "paper", "here", "difference", "note"],
      claims.map((claim) => [
        badge(claim.verdict),
        claim.claim,
        claim.where,
        claim.paper,
        claim.here,
        claim.difference,
        note(claim),
      ]),
    ),
  );
}

function text(value) {
  return value === null || value === undefined ? MISSING : String(value);
}

/// What the command line changed of the study's scale.
function settingsText(settings) {
  if (settings === null || settings === undefined) return MISSING;
  return typeof settings === "object"
    ? Object.entries(settings)
        .map(([name, value]) => `${name} ${text(value)}`)
        .join(", ")
    : text(settings);
}

function showRuns(studies) {
  const rows = studies.flatMap((study) =>
    study.begins.map((begin, number) => {
      const results = study.results.filter((result) => result.begin === number).length;
      return [
        study.study,
        study.scale,
        study.folder,
        text(begin.date).replace("T", " ").replace("Z", " UTC"),
        String(results),
        settingsText(begin.settings),
        text(begin.cpu),
        text(begin.threads),
        isNumber(begin.load_average) ? fixed(begin.load_average, 2) : text(begin.load_average),
        element("code", {}, text(begin.commit)),
        element("code", {}, text(begin.command)),
      ];
    }),
  );
  const count = `${rows.length} ${rows.length === 1 ? "run" : "runs"} of the program`;
  return element(
    "section",
    { id: "runs" },
    element("h2", {}, "What ran where"),
    element(
      "details",
      {},
      element("summary", {}, count),
      table(
        "Runs of the program",
        [
          "study",
          "scale",
          "folder",
          "began",
          "#results",
          "settings",
          "CPU",
          "#threads",
          "#load average at the begin",
          "commit",
          "command",
        ],
        rows,
      ),
    ),
  );
}

function showMissing(missing, folder) {
  return element(
    "section",
    { id: "missing" },
    element("h2", {}, "Not run yet"),
    element(
      "ul",
      {},
      missing.map((study) => element("li", {}, `${study.title}: `, element("code", {}, commandOf(study, folder)))),
    ),
  );
}

function showPage({ studies, claims }) {
  const sourcesOf = (study) => studies.filter((source) => source.study === study.name);
  const missing = STUDIES.filter((study) => sourcesOf(study).length === 0);
  // A folder that a shell would read otherwise is not put into commands.
  const folder = studies.map((study) => study.folder).find((name) => /^[\w./-]+$/.test(name)) ?? "DIR";
  const sections = [
    showRuns(studies),
    showClaims(claims),
    ...STUDIES.filter((study) => sourcesOf(study).length).map((study) => showStudy(study, sourcesOf(study))),
    ...(missing.length ? [showMissing(missing, folder)] : []),
  ];
  showDate(studies);
  document.getElementById("page").replaceChildren(...sections);
  document
    .getElementById("contents")
    .replaceChildren(
      ...sections.map((section) => element("a", { href: `#${section.id}` }, SHORT_TITLES[section.id] ?? section.id)),
    );
}

addEventListener("beforeprint", () =>
  document.querySelectorAll("details").forEach((each) => {
    each.open = true;
  }),
);
startTheme(() => redraw());
showPage(JSON.parse(document.getElementById("data").textContent));
redrawOnResize();
redraw();
