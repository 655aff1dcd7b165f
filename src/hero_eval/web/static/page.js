"use strict";

// Work in progress: ask how far it is, and show the page anew when it is over.
const PAUSE = 700;

function duration(seconds) {
  if (seconds < 60) return `${Math.max(Math.ceil(seconds), 1)} s`;
  return seconds < 3600 ? `${Math.ceil(seconds / 60)} min` : `${(seconds / 3600).toFixed(1)} h`;
}

function watch(section) {
  const bar = section.querySelector("progress");
  const told = section.querySelector(".told");
  let wrong = 0;
  async function look() {
    try {
      const answer = await fetch("/api/v1/job?id=" + encodeURIComponent(section.dataset.job));
      if (answer.status === 404 || answer.status === 401) return location.reload();
      const job = await answer.json();
      wrong = 0;
      if (job.state === "done" || job.state === "failed") return location.reload();
      const words = job.left === null ? job.told : `${job.told}; about ${duration(job.left)} left`;
      if (told.textContent !== words) told.textContent = words;
      if (job.total) {
        bar.max = job.total;
        bar.value = job.done;
      } else {
        bar.removeAttribute("value");
      }
    } catch {
      wrong += 1;
      if (wrong > 5) told.textContent = "The server does not answer.";
    }
    setTimeout(look, PAUSE);
  }
  setTimeout(look, PAUSE);
}

// What is not worked out yet is asked for by our own page, with the token of its form; then the page is shown anew.
async function start(forms) {
  const answers = await Promise.allSettled(
    forms.map((form) => fetch(form.action, { method: "POST", body: new URLSearchParams(new FormData(form)) })),
  );
  const isTaken = answers.map((one) => one.status === "fulfilled" && one.value.ok);
  if (isTaken.every(Boolean)) return location.reload();
  forms.forEach((form, place) => {
    const told = form.querySelector(".told");
    if (!isTaken[place] && told) told.textContent = "The server has too much to do. Try again in a minute.";
  });
}

// A search box that hides the rows of a table that do not hold its text.
function filter(box) {
  const rows = document.querySelectorAll(box.dataset.filter + " tbody tr");
  box.addEventListener("input", () => {
    const wanted = box.value.trim().toLowerCase();
    for (const row of rows) {
      row.hidden = !row.querySelector("th").textContent.toLowerCase().includes(wanted);
    }
  });
}

// A file that is too large is refused before it is sent; a round without a name gets the file's.
function choose(input) {
  input.addEventListener("change", () => {
    const file = input.files[0];
    const isLarge = file && file.size > Number(input.dataset.most);
    input.setCustomValidity(isLarge ? "This file is larger than the server takes." : "");
    input.reportValidity();
    const name = document.getElementById("f-round");
    if (file && name && !name.value) name.value = file.name.replace(/(\.[a-z]+)+$/i, "").slice(0, 200);
  });
}

document.querySelectorAll("[data-job]").forEach(watch);
const wanted = [...document.querySelectorAll('[data-start="now"]')];
if (wanted.length) start(wanted);
document.querySelectorAll("[data-filter]").forEach(filter);
document.querySelectorAll("[data-most]").forEach(choose);
