/* A search over the rows of a page's tables: groups with a hit open, those without are hidden. Without a word every
   group is folded; without scripts what is unsafe stands open. */

const field = document.querySelector("[data-filter]"), input = field?.querySelector("input"), count = document.getElementById("filter-count");
const groups = [...document.querySelectorAll("details:has(> .scroll > table)")];

function search() {
  const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
  let hits = 0;
  for (const group of groups) {
    const rows = [...group.querySelectorAll("tbody tr")];
    for (const row of rows) row.hidden = !words.every((word) => row.textContent.toLowerCase().includes(word));
    const found = rows.filter((row) => !row.hidden).length;
    hits += found;
    group.hidden = found === 0;
    group.open = words.length > 0 && found > 0;
  }
  count.textContent = words.length && !hits ? count.dataset.none : "";
}

if (field) {
  field.hidden = false;
  for (const group of groups) group.open = false;
  input.addEventListener("input", search);
}
