"use strict";
// Asks again and again for what is new, and writes it as text: none of it is HTML.
const make = (name, kind, text) => {
  const one = document.createElement(name);
  if (kind) one.className = kind;
  if (text !== undefined) one.textContent = text;
  return one;
};
const at = (id) => document.getElementById(id);
const plural = (count, noun) => `${count} ${noun}${count === 1 ? "" : "s"}`;
const size = (bytes) => bytes < 1000 ? `${bytes} B` : bytes < 1e6 ? `${(bytes / 1e3).toFixed(1)} kB` : `${(bytes / 1e6).toFixed(1)} MB`;

let chosen = decodeURIComponent(location.hash.slice(1)); // the name of a connection
let next = 0; // the number of the next step of it

const choose = (name) => {
  if (chosen === name) return;
  chosen = name;
  next = 0;
  at("steps").replaceChildren();
  history.replaceState(null, "", "#" + encodeURIComponent(name));
};

const asked = (page, fields) => fetch(page + "?" + new URLSearchParams(fields), { cache: "no-store" });

// What has not changed stays as it is, and keeps the focus.
const shown = new Map();
const changed = (id, value) => {
  const text = JSON.stringify(value);
  if (shown.get(id) === text) return false;
  shown.set(id, text);
  return true;
};

const showFound = (role, found) => {
  if (!changed(role, found)) return;
  const place = at("found-" + role);
  const count = (found.broken || []).length;
  place.replaceChildren(make("p", count ? "" : "quiet", !found.judged ? "No connection is judged yet."
    : (count ? plural(count, "finding") : "Nothing found") + ` in ${plural(found.judged, "connection")}.`));
  const list = make("ul");
  for (const one of found.broken || []) {
    const item = make("li");
    item.append(make("span", "verdict " + one.verdict, (one.verdict === "failed" ? "✗ " : "! ") + one.verdict), " " + one.text);
    const facts = make("dl");
    for (const [word, text] of [["wanted", one.wanted], ["found", one.found], ["where", one.where]])
      if (text) facts.append(make("dt", "", word), make("dd", "", text));
    facts.append(make("dt", "", "says"));
    const says = make("dd");
    if (one.link.startsWith("https://")) {
      const link = make("a", "", one.requirement);
      link.href = one.link;
      link.rel = "noreferrer";
      says.append(link);
    } else says.append(one.requirement);
    says.append(" at " + one.cell);
    facts.append(says, make("dt", "", "seen"), make("dd", "", `${plural(one.times, "time")} in ${plural(one.connections, "connection")}`));
    item.append(facts);
    list.append(item);
  }
  place.append(list);
  for (const notice of found.notices || []) place.append(make("p", "quiet", notice));
};

const showConnections = (now) => {
  if (!chosen && now.connections.length) choose((now.connections.find((one) => one.judged) || now.connections[0]).name);
  if (!changed("connections", [chosen, now.connections, now.gone])) return;
  const focus = document.activeElement.dataset.name;
  const open = now.connections.filter((one) => !one.over).length;
  at("counted").textContent = !now.connections.length ? "None yet."
    : `${plural(now.connections.length, "connection")}, ${open} open.` + (now.gone ? ` ${now.gone} before are no longer listed.` : "");
  at("connections").replaceChildren(...now.connections.map((one) => {
    const line = make("tr", one.name === chosen ? "chosen" : "");
    const button = make("button", "", new Date(one.since).toLocaleTimeString());
    button.type = "button";
    button.dataset.name = one.name;
    button.setAttribute("aria-pressed", one.name === chosen);
    const since = make("td");
    since.append(button);
    line.append(since, make("td", "", one.speaks), make("td", "", one.client || "–"), make("td", "", one.server || "–"),
      make("td", "number", one.messages), make("td", "", (one.over ? "ended" : "open") + (one.judged ? "" : ", not judged")));
    line.addEventListener("click", () => { choose(one.name); look(); });
    return line;
  }));
  if (focus) [...at("connections").querySelectorAll("button")].find((one) => one.dataset.name === focus)?.focus();
};

const makeStep = (of, step) => {
  const item = make("li");
  const details = make("details");
  const summary = make("summary");
  const time = make("time", "", step.at.toFixed(3) + " s");
  const track = make("div", "track");
  const sent = step.kind === "message" || step.kind === "body" || step.kind === "head";
  const box = make("div", (sent && step.from ? "arrow " + step.from : "note") + (step.wrong ? " wrong" : ""));
  if (step.from) box.append(make("span", "spoken", step.from + ": "));
  box.append((step.kind === "message" || step.kind === "head" ? "" : step.kind + " ") + step.title);
  track.append(box);
  summary.append(time, track, make("span", "size", step.size ? size(step.size) : ""));
  details.append(summary);
  details.addEventListener("toggle", async () => {
    if (!details.open || details.children.length > 1) return;
    const text = make("pre", "", "…");
    details.append(text);
    try {
      const answer = await asked("text", { of, number: step.number });
      text.textContent = answer.ok ? await answer.json() || step.title : await answer.text();
    } catch {
      text.textContent = "mcpconform has ended";
    }
  });
  item.append(details);
  return item;
};

const showSteps = (of, now) => {
  if (of !== chosen) return; // another was chosen meanwhile
  const place = at("scroll");
  const steps = at("steps");
  const follows = place.scrollHeight - place.scrollTop - place.clientHeight < 40;
  const fresh = now.steps.filter((step) => step.number >= next);
  steps.append(...fresh.map((step) => makeStep(of, step)));
  if (fresh.length) next = fresh.at(-1).number + 1;
  while (steps.children.length > next - now.left) steps.firstChild.remove();
  at("left").hidden = now.left === 0;
  at("left").textContent = `${now.left} before these are left out here.`;
  if (fresh.length && follows) place.scrollTop = place.scrollHeight;
};

let looking = 0; // one at a time
const look = async () => {
  clearTimeout(looking);
  const of = chosen;
  try {
    const answer = await asked("now", { of, from: next });
    if (answer.ok) {
      const now = await answer.json();
      showConnections(now);
      for (const role of ["client", "server"]) showFound(role, now.findings[role]);
      showSteps(of, now);
    }
    at("ended").hidden = answer.ok;
  } catch {
    at("ended").hidden = false;
  }
  clearTimeout(looking);
  looking = setTimeout(look, of === chosen ? 1000 : 0);
};
look();
