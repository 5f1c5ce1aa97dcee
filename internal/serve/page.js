"use strict";
// Shows what is new without a reload: the page is asked for again, and what has
// changed takes the place of what stood there.
const ended = document.getElementById("ended");
const known = new Map();
for (const live of document.querySelectorAll("[data-live]")) known.set(live.id, live.innerHTML);

const replace = (fresh) => {
  for (const [id, was] of known) {
    const now = fresh.getElementById(id);
    if (!now || now.innerHTML === was) continue;
    known.set(id, now.innerHTML);
    const old = document.getElementById(id);
    for (const open of old.querySelectorAll("details[open]")) {
      const same = fresh.getElementById(open.id);
      if (same) same.open = true;
    }
    const focus = old.contains(document.activeElement) && document.activeElement.id;
    old.replaceChildren(...now.childNodes);
    if (focus) document.getElementById(focus)?.focus();
  }
};

// What is searched for is looked up in all that stands in a scenario, opened or not. The
// groups are as they were when nothing is searched for any more.
const search = document.getElementById("search");
const matched = document.getElementById("matched");
const groups = [...document.querySelectorAll("details.group")];
let before = null;
const find = () => {
  const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length && !before) before = groups.map((group) => group.open);
  let count = 0;
  groups.forEach((group, at) => {
    let shown = 0;
    for (const scenario of group.querySelectorAll("section.scenario")) {
      const text = scenario.textContent.toLowerCase();
      scenario.hidden = !words.every((word) => text.includes(word));
      if (!scenario.hidden) shown++;
    }
    group.hidden = shown === 0;
    if (words.length) group.open = shown > 0;
    else if (before) group.open = before[at];
    count += shown;
  });
  if (!words.length) before = null;
  matched.textContent = words.length ? `${count} found` : "";
};
search.addEventListener("input", find);

const copy = async (button) => {
  const address = document.getElementById(button.dataset.copy);
  let done = false;
  try {
    await navigator.clipboard.writeText(address.textContent);
    done = true;
  } catch { // the page came from an address that browsers do not trust with the clipboard
    getSelection().selectAllChildren(address);
    done = document.execCommand("copy");
  }
  button.firstChild.data = done ? "Copied" : "Press Ctrl-C";
  setTimeout(() => { button.firstChild.data = "Copy"; }, 2000);
};
document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-copy]");
  if (button) copy(button);
});

document.documentElement.classList.add("scripted");
find(); // a browser that goes back fills the field in

const look = async () => {
  try {
    const answer = await fetch("/", { cache: "no-cache" });
    if (answer.ok) replace(new DOMParser().parseFromString(await answer.text(), "text/html"));
    ended.hidden = true;
  } catch {
    ended.hidden = false;
  }
  setTimeout(look, 1000);
};

if (!document.body.dataset.finished) look();
