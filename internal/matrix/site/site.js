"use strict";
const form = document.getElementById("find");
if (form) {
  const rows = [...document.querySelectorAll("tbody tr, article.target")];
  const texts = rows.map((row) => row.textContent.toLowerCase());
  const find = () => {
    const wanted = form.elements.text.value.trim().toLowerCase();
    let found = 0;
    rows.forEach((row, i) => {
      row.hidden = !texts[i].includes(wanted);
      if (!row.hidden) found++;
    });
    document.getElementById("found").textContent = wanted ? found + " of " + rows.length : "";
  };
  form.hidden = false;
  form.addEventListener("input", find);
  form.addEventListener("submit", (event) => event.preventDefault());
  if (form.elements.text.value) find();
}
