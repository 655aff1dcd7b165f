"use strict";

// One key an answer. A key presses the button that shows it; nothing is a shortcut while somebody writes.
const onKeys = document.getElementById("keys");
const REMEMBERED = "hero-gold-keys";
let isSent = false;

if (onKeys) {
  onKeys.checked = localStorage.getItem(REMEMBERED) !== "off";
  onKeys.addEventListener("change", () => localStorage.setItem(REMEMBERED, onKeys.checked ? "on" : "off"));
}

function isWriting(target) {
  return target.closest("textarea, select, input:not([type=checkbox])") !== null;
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.altKey || event.metaKey || event.repeat || (onKeys && !onKeys.checked)) return;
  if (event.key === "Escape" && isWriting(event.target)) return event.target.blur();
  if (isWriting(event.target) || isSent) return;
  const wanted = event.key.length === 1 ? event.key.toLowerCase() : "";
  const button = [...document.querySelectorAll("[data-key]")].find((one) => one.dataset.key === wanted);
  if (!button) return;
  event.preventDefault();
  button.click();
  const details = button.closest("details");
  if (button.tagName === "SUMMARY" && details.open) details.querySelector("textarea, button").focus();
});

// An answer is sent once, however often the key is pressed while the server writes it down.
document.addEventListener("submit", (event) => {
  if (isSent) return event.preventDefault();
  isSent = true;
  setTimeout(() => { isSent = false; }, 10000);
});
window.addEventListener("pageshow", () => { isSent = false; });

// What the answers tell, beside the item: asked for now and then, and filled in without disturbing whoever reads.
const told = document.getElementById("told");
const PATIENCE = 2000;
const ENOUGH = 5;
const LONG = 15000;

function say(found) {
  const said = found.progress;
  if (!said || !told.querySelector(".now")) return;
  const count = found.newer === 1 ? "1 newer answer is" : found.newer + " newer answers are";
  told.querySelector(".now").textContent = said.answer;
  told.querySelector(".next").textContent = said.expected;
  const when = "With " + said.gold + " gold in this round" + (found.newer ? "; " + count + " not in it yet." : ".");
  told.querySelector(".when small").textContent = when;
  told.dataset.gold = said.gold;
}

async function follow() {
  const address = "?round=" + encodeURIComponent(told.dataset.round);
  const since = Date.now();
  for (;;) {
    try {
      const answer = await fetch("/api/v1/gold" + address);
      if (!answer.ok) return;
      const found = await answer.json();
      say(found);
      if (!found.newer && found.progress) return;
      const isTime = found.newer >= ENOUGH || !found.progress || Date.now() - since > LONG || !document.getElementById("answer");
      if (!found.job && isTime && found.answered) {
        await fetch("/api/v1/gold/progress" + address, { method: "POST", headers: { "X-Form-Token": told.dataset.token } });
      } else if (found.job && found.job.state === "failed") {
        return;
      }
    } catch {
      return;
    }
    await new Promise((done) => setTimeout(done, PATIENCE));
  }
}

if (told) follow();
