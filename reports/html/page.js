"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const order = ["client", "server", "authorization-server", "browser"];

  // Whatever a target sent is text: no markup is ever made of a string.
  const make = (name, className, text) => {
    const element = document.createElement(name);
    if (className) element.className = className;
    if (text !== undefined) element.textContent = text;
    return element;
  };

  const addCopy = (place) => {
    const button = make("button", "", "Copy");
    button.type = "button";
    button.setAttribute("aria-label", "Copy the command");
    button.addEventListener("click", async () => {
      const text = place.querySelector("code").textContent;
      try {
        await navigator.clipboard.writeText(text);
        button.textContent = "Copied";
      } catch {
        const range = document.createRange();
        range.selectNodeContents(place.querySelector("code"));
        getSelection().removeAllRanges();
        getSelection().addRange(range);
        button.textContent = document.execCommand("copy") ? "Copied" : "Selected";
      }
      setTimeout(() => { button.textContent = "Copy"; }, 1500);
    });
    place.append(button);
  };

  const field = (list, word, content) => {
    list.append(make("dt", "", word));
    const value = make("dd");
    value.append(content);
    list.append(value);
    return value;
  };

  const requirement = (number) => {
    const one = data.requirements[number];
    const value = document.createDocumentFragment();
    value.append(make("code", "", data.texts[one.id]), " " + one.level + ": " + data.texts[one.says]);
    if (one.rests) value.append(make("span", "quiet", " (rests on " + data.texts[one.rests] + ": it never fails a run)"));
    if (one.link && one.link.startsWith("https://")) {
      const link = make("a", "", data.texts[one.at]);
      link.href = one.link;
      value.append(" ", link);
    }
    return value;
  };

  const plain = ["message", "request", "response", "note"];

  const diagram = (details) => {
    const steps = details.s;
    const seen = new Set(steps.flatMap(([, from, to]) => [from, to]));
    const lanes = order.filter((one, at) => at < 2 || seen.has(one));
    const at = (party) => 100 * lanes.indexOf(party) / (lanes.length - 1);
    const list = make("ol", "wire");
    list.setAttribute("aria-label", "Exchange");
    const heads = make("li", "lanes");
    lanes.forEach((one) => heads.append(make("span", "", one)));
    list.append(heads);
    for (const [seconds, from, to, kind, text, flags] of steps) {
      const item = make("li", "step" + (flags & 2 ? " marked" : ""));
      item.append(make("time", "", seconds.toFixed(3) + " s"));
      const track = make("div", "track");
      const box = make("div");
      if (lanes.includes(from) && lanes.includes(to)) {
        const [a, b] = [at(from), at(to)];
        box.className = "span " + (a <= b ? "right" : "left");
        box.style.setProperty("--from", Math.min(a, b) + "%");
        box.style.setProperty("--width", Math.abs(a - b) + "%");
        box.append(make("span", "sr", from + " to " + to + ": "));
      } else {
        box.className = "alone" + (lanes.includes(from) ? (at(from) > 50 ? " end" : "") : " note");
        box.append(make("span", "sr", from + ": "));
      }
      if (!plain.includes(kind)) box.append(make("span", "kind", kind + " "));
      if (flags & 1) box.append(make("span", "flag deliberate", "illegal on purpose "));
      if (flags & 2) box.append(make("span", "flag", "judged "));
      if (text) box.append(make("pre", "", data.texts[text]));
      track.append(box);
      item.append(track);
      list.append(item);
    }
    return list;
  };

  // What stands behind a line is made when it is opened first.
  const fill = (line) => {
    if (line.children.length > 1) return;
    const details = data.results[Number(line.id.slice(1))];
    const box = make("div");
    const list = make("dl");
    for (const [word, text] of details.f || []) field(list, word, data.texts[text]);
    for (const number of details.q || []) field(list, "requires", requirement(number));
    if (details.r) {
      const value = field(list, "rerun", make("code", "", data.texts[details.r]));
      value.className = "rerun";
      addCopy(value);
    }
    box.append(list);
    if (details.s) box.append(diagram(details));
    if (details.l) box.append(make("p", "quiet", details.l + (details.l === 1 ? " step is" : " steps are") + " left out"));
    if (!details.s && !details.l) box.append(make("p", "quiet", "rule" in line.dataset && line.dataset.v === "passed"
      ? "A rule judges every connection of the run, and no message broke this one." : "The run has no exchange of this result."));
    const link = make("a", "quiet", "link to this result");
    link.href = "#" + line.id;
    box.append(link);
    line.append(box);
  };

  const lines = [...document.querySelectorAll("details")];
  for (const line of lines) line.addEventListener("toggle", () => { if (line.open) fill(line); });
  document.querySelectorAll("dd.rerun").forEach(addCopy);
  addEventListener("beforeprint", () => {
    for (const line of lines) if (line.dataset.v === "failed" && !line.hidden) { fill(line); line.open = true; }
  });

  // A link to a result opens it, whatever the filters hide.
  const follow = () => {
    const line = location.hash ? document.getElementById(location.hash.slice(1)) : null;
    if (!line || !lines.includes(line)) return;
    if (line.hidden) {
      form.reset();
      for (const box of form.querySelectorAll("[name=verdict]")) if (box.value === line.dataset.v) box.checked = true;
      apply();
    }
    fill(line);
    line.open = true;
    line.firstElementChild.focus();
    line.scrollIntoView();
  };

  const form = document.getElementById("filters");
  const cells = [...document.querySelectorAll(".cell")];
  const apply = () => {
    const chosen = new FormData(form);
    const verdicts = new Set(chosen.getAll("verdict"));
    const [page, level, revision, transport] = ["page", "level", "revision", "transport"].map((name) => chosen.get(name));
    const text = (chosen.get("text") || "").toLowerCase();
    const changed = chosen.has("changed");
    let shown = 0;
    for (const cell of cells) {
      const [cellRevision, cellTransport] = cell.querySelector("h3").textContent.split(" · ");
      const whole = (!revision || revision === cellRevision) && (!transport || transport === cellTransport);
      let any = false;
      for (const group of cell.querySelectorAll(".page")) {
        const named = whole && (!page || page === group.querySelector("h4").textContent);
        let some = false;
        for (const line of group.querySelectorAll("details")) {
          const fits = named && verdicts.has(line.dataset.v) && (!level || level === line.dataset.l) &&
            (!changed || "w" in line.dataset) && (!text || line.firstElementChild.textContent.toLowerCase().includes(text));
          line.hidden = !fits;
          if (fits) { some = true; shown++; }
        }
        group.hidden = !some;
        any = any || some;
      }
      cell.hidden = !any && cell.querySelector(".page") !== null;
    }
    document.getElementById("shown").textContent = shown + " of " + lines.length;
  };
  // The filters stand in the address, so that a link keeps them.
  const fields = [...form.elements].filter((field) => field.name);
  const remember = () => {
    const query = new URLSearchParams(new FormData(form));
    for (const name of [...query.keys()]) if (!query.get(name)) query.delete(name);
    try { history.replaceState(null, "", "?" + query + location.hash); } catch { /* a file that may not change its address */ }
  };
  const recall = () => {
    const query = new URLSearchParams(location.search);
    if (!fields.some((field) => query.has(field.name))) return;
    for (const field of fields) {
      if (field.type === "checkbox") field.checked = query.getAll(field.name).includes(field.value);
      else if (query.has(field.name)) field.value = query.get(field.name);
    }
  };
  recall();
  form.addEventListener("input", () => { apply(); remember(); });
  form.addEventListener("submit", (event) => event.preventDefault());
  form.hidden = false;
  apply();
  addEventListener("hashchange", follow);
  follow();
})();
