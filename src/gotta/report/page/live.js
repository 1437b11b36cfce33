// A served page looks for news, and takes them over without losing the reader's place.

const PAUSE = 3000;

/** Ask for the state now and then; when the runs changed, fetch the page and hand its `main` to `renew`. */
export function follow(renew) {
  const seen = { state: "", page: "" };

  async function look() {
    try {
      const answer = await fetch("state.json", { headers: seen.state ? { "If-None-Match": seen.state } : {} });
      if (answer.ok) {
        const state = await answer.json();
        if (seen.page && seen.page !== state.page) await take();
        seen.page = state.page;
        seen.state = answer.headers.get("ETag") ?? ""; // only now: a page that could not be taken is asked for again
        say(state.text);
      }
    } catch {
      say("The server does not answer; this page shows what it knew last.");
    }
    setTimeout(look, PAUSE);
  }

  async function take() {
    const answer = await fetch("./");
    if (!answer.ok) throw new Error(answer.statusText);
    renew(new DOMParser().parseFromString(await answer.text(), "text/html").querySelector("main"));
  }

  look();
}

function say(text) {
  const place = document.getElementById("live");
  if (place && place.textContent !== text) place.textContent = text;
}
