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
