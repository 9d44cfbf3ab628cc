// Takes the page's new content every few seconds. What is open or focused stays so.
"use strict";
const PERIOD_MS = 5000;

function showLost(lost) {
  document.getElementById("lost-connection").hidden = !lost;
}

function takeOver(fresh) {
  const focused = document.activeElement && document.activeElement.id;
  const open = [...document.querySelectorAll("details[open]")].map((one) => one.id);
  const closed = [...document.querySelectorAll("details:not([open])")].map((one) => one.id);
  document.querySelector("main").replaceWith(fresh.querySelector("main"));
  document.title = fresh.title;
  for (const one of document.querySelectorAll("details")) {
    if (open.includes(one.id)) one.open = true;
    if (closed.includes(one.id)) one.open = false;
  }
  if (focused) document.getElementById(focused)?.focus();
}

async function refresh() {
  try {
    const answer = await fetch(location.href, { cache: "no-store" });
    if (!answer.ok) throw new Error(answer.statusText);
    takeOver(new DOMParser().parseFromString(await answer.text(), "text/html"));
    showLost(false);
  } catch {
    showLost(true);
  }
  setTimeout(refresh, PERIOD_MS);
}

setTimeout(refresh, PERIOD_MS);
