"use strict";

// Everything that is shown of runs is text: it is put into the document as text nodes
// and never as markup.

const at = (id) => document.getElementById(id);
const most = 2_000_000; // characters of output that stay on the page
let me = null;
let ways = { providers: [] };
let follow = null;
let older = "";
let shown = 0; // characters of output that are on the page

class Trouble extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

async function ask(method, path, body) {
  const options = { method, headers: { Accept: "application/json" }, credentials: "same-origin" };
  if (body !== undefined) {
    options.headers["Content-Type"] = "application/json";
    options.body = JSON.stringify(body);
  }
  const answer = await fetch(path, options);
  if (answer.status === 204) return null;
  const said = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new Trouble(answer.status, said.detail || answer.statusText);
  return said;
}

function notice(text) {
  at("notice").textContent = text;
  at("notice").hidden = !text;
}

function show(section) {
  for (const id of ["login", "runs", "run", "account"]) at(id).hidden = id !== section;
  at("logout").hidden = !me;
  at("to-account").hidden = !me?.verbs.includes("factors.change");
  at("who").textContent = me ? `${me.name}, ${me.role}` : "";
}

// forget takes out of the page what was somebody's who isn't logged in any more.
function forget() {
  me = null;
  stop();
  for (const id of ["list", "output", "title", "facts", "state", "factors"]) at(id).replaceChildren();
}

function fail(trouble) {
  if (trouble.status === 401) {
    forget();
    show("login");
  }
  notice(trouble.message);
}

function outcome(run) {
  const reason = run.outcome?.reason;
  if (run.state === "exited" && reason?.exit_code !== undefined) return `exited ${reason.exit_code}`;
  return run.state;
}

function paint(element, run) {
  element.textContent = outcome(run);
  const good = run.state === "running" || (run.state === "exited" && run.outcome?.reason?.exit_code === 0);
  element.className = `state ${good ? "good" : run.outcome ? "bad" : ""}`;
}

const when = (text) => new Date(text).toLocaleString();

function took(ms) {
  if (ms < 1000) return `${ms} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`;
  return `${Math.floor(ms / 60_000)} min ${Math.floor((ms % 60_000) / 1000)} s`;
}

function row(run) {
  const line = document.createElement("tr");
  const cell = (name, content) => {
    const c = line.insertCell();
    c.className = name;
    c.append(content);
    return c;
  };
  const state = document.createElement("span");
  paint(state, run);
  const link = document.createElement("a");
  link.href = `#run=${run.id}`;
  link.textContent = run.label || run.argv.join(" ");
  cell("", state);
  cell("command", link);
  cell("time", when(run.created_at));
  cell("time", took(run.duration_ms));
  return line;
}

async function list(cursor) {
  show("runs");
  const page = await ask("GET", `/api/v1/runs?limit=50${cursor ? `&cursor=${cursor}` : ""}`);
  const rows = page.runs.map(row);
  if (cursor) at("list").append(...rows);
  else at("list").replaceChildren(...rows);
  older = page.next || "";
  at("more").hidden = !older;
  at("none").hidden = at("list").childElementCount > 0;
}

// bytes of base64 are shown as far as they are text.
function textOf(event) {
  if (event.encoding === "utf-8") return event.content;
  const bytes = Uint8Array.from(atob(event.content), (c) => c.charCodeAt(0));
  return new TextDecoder("utf-8").decode(bytes);
}

function print(text, kind) {
  const output = at("output");
  const below = output.scrollHeight - output.scrollTop - output.clientHeight < 40;
  const last = output.lastElementChild;
  if (last && last.className === kind && kind !== "note" && last.textContent.length < 20_000) {
    last.append(text);
  } else {
    const part = document.createElement("span");
    part.className = kind;
    part.append(text);
    output.append(part);
  }
  shown += text.length;
  while (shown > most && output.childElementCount > 1) {
    shown -= output.firstElementChild.textContent.length;
    output.firstElementChild.remove();
  }
  if (below) output.scrollTop = output.scrollHeight;
}

function stop() {
  follow?.close();
  follow = null;
}

async function watch(id) {
  show("run");
  shown = 0;
  at("output").replaceChildren();
  const run = await ask("GET", `/api/v1/runs/${encodeURIComponent(id)}`);
  const mine = `#run=${id}`;
  if (location.hash !== mine) return;
  at("title").textContent = run.argv.join(" ");
  at("facts").textContent = `${run.dir} · ${run.principal.id} · ${when(run.created_at)}`;
  paint(at("state"), run);
  at("kill").hidden = Boolean(run.outcome) || !me.verbs.includes("runs.kill");
  at("kill").onclick = () => ask("POST", `/api/v1/runs/${run.id}/kill`, { no_wait: true, reason: "asked for on the page" }).catch(fail);
  // The browser comes back by itself, with the id of the last event that it got.
  follow = new EventSource(`/api/v1/runs/${run.id}/events`);
  follow.addEventListener("status", (e) => paint(at("state"), { state: JSON.parse(e.data).state }));
  follow.addEventListener("state", (e) => {
    const { state } = JSON.parse(e.data);
    if (state === "started" && !run.outcome) paint(at("state"), { state: "running" });
  });
  follow.addEventListener("output", (e) => {
    const event = JSON.parse(e.data);
    print(textOf(event), event.stream);
  });
  follow.addEventListener("truncated", (e) => print(`${JSON.parse(e.data).why}\n`, "note"));
  follow.addEventListener("end", (e) => {
    const end = JSON.parse(e.data);
    paint(at("state"), end);
    at("kill").hidden = true;
    at("output").dataset.ended = "yes";
    stop();
  });
  follow.addEventListener("error", (e) => {
    if (!e.data) return; // the connection broke; the browser comes back
    stop();
    const problem = JSON.parse(e.data);
    fail(new Trouble(problem.status, problem.detail));
  });
}

// hasPasskeys says whether this page is at the name that the server has passkeys by.
const hasPasskeys = () =>
  Boolean(ways.passkeys && window.PublicKeyCredential?.parseRequestOptionsFromJSON) &&
  (location.hostname === ways.passkeys || location.hostname.endsWith(`.${ways.passkeys}`));

// ceremony has the browser do its part of what the server began.
async function ceremony(begun, create) {
  const { publicKey } = begun.options;
  const answer = create
    ? await navigator.credentials.create({ publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(publicKey) })
    : await navigator.credentials.get({ publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(publicKey) });
  return { carried: begun.carried, answer: answer.toJSON() };
}

async function enter() {
  me = await ask("GET", "/api/v1/whoami");
  await route();
}

// attempt does what a person asked for, and says what went wrong, also in the browser.
const attempt = (what) => async (e) => {
  e.preventDefault();
  notice("");
  try {
    await what(e);
  } catch (trouble) {
    notice(trouble.name === "NotAllowedError" ? "The browser showed no passkey." : trouble.message);
  }
};

async function account() {
  show("account");
  const { factors } = await ask("GET", "/api/v1/factors");
  const lines = factors.map((factor) => {
    const line = document.createElement("li");
    const remove = document.createElement("button");
    remove.type = "button";
    remove.textContent = "Take away";
    remove.addEventListener("click", attempt(async () => {
      await ask("DELETE", `/api/v1/factors/${encodeURIComponent(factor.id)}`);
      await account();
    }));
    line.append(`${factor.name} (${factor.kind}), since ${when(factor.created_at)} `, remove);
    return line;
  });
  at("factors").replaceChildren(...lines);
  at("no-factors").hidden = lines.length > 0;
  at("new-passkey").hidden = !hasPasskeys();
  at("no-passkeys").hidden = hasPasskeys();
  at("show-passkey").hidden = !hasPasskeys() || !factors.some((factor) => factor.kind === "passkey");
}

async function offer() {
  ways = await ask("GET", "/api/v1/login/ways");
  at("by-passkey").hidden = !hasPasskeys();
  at("by-provider").replaceChildren(...ways.providers.map((name) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = `Log in with ${name}`;
    button.addEventListener("click", attempt(async () => {
      const trip = await ask("POST", `/api/v1/login/providers/${encodeURIComponent(name)}`);
      location.assign(trip.url);
    }));
    return button;
  }));
  at("ways").hidden = at("by-passkey").hidden && ways.providers.length === 0;
}

async function route() {
  stop();
  notice("");
  delete at("output").dataset.ended;
  if (!me) {
    show("login");
    return;
  }
  const id = /^#run=(r[0-9a-z]{26})$/.exec(location.hash)?.[1];
  try {
    await (location.hash === "#account" ? account() : id ? watch(id) : list(""));
  } catch (trouble) {
    fail(trouble);
  }
}

async function login(proof) {
  try {
    me = await ask("POST", "/api/v1/login", proof);
    history.replaceState(null, "", "/");
    await route();
  } catch (trouble) {
    show("login");
    notice(trouble.message);
  }
}

async function begin() {
  const code = location.pathname === "/login" ? location.hash.slice(1) : "";
  if (code) {
    history.replaceState(null, "", "/login"); // out of the address at once
    await offer().catch(() => null); // the code is good without them
    await login({ code });
    return;
  }
  const provider = /^\/login\/([a-z][a-z0-9-]*)$/.exec(location.pathname)?.[1];
  const answer = location.search.slice(1);
  if (provider) history.replaceState(null, "", "/"); // out of the address at once
  await offer().catch((trouble) => notice(trouble.message));
  if (provider) {
    try {
      await ask("POST", `/api/v1/login/providers/${provider}/finish`, { query: answer });
      await enter();
    } catch (trouble) {
      show("login");
      notice(trouble.message);
    }
    return;
  }
  try {
    me = await ask("GET", "/api/v1/whoami");
  } catch (trouble) {
    if (trouble.status !== 401) notice(trouble.message);
  }
  await route();
}

at("with-code").addEventListener("submit", (e) => {
  e.preventDefault();
  login({ code: at("code").value.trim() });
});
at("with-password").addEventListener("submit", (e) => {
  e.preventDefault();
  login({ name: at("name").value, password: at("password").value });
});
at("with-invitation").addEventListener("submit", (e) => {
  e.preventDefault();
  login({ code: at("invitation").value.trim(), name: at("new-name").value, password: at("new-password").value });
});
at("by-passkey").addEventListener("click", attempt(async () => {
  const shown = await ceremony(await ask("POST", "/api/v1/login/passkey/ask"), false);
  await ask("POST", "/api/v1/login/passkey", shown);
  await enter();
}));
at("show-passkey").addEventListener("click", attempt(async () => {
  await ask("POST", "/api/v1/passkeys/prove", await ceremony(await ask("POST", "/api/v1/passkeys/ask"), false));
  notice("It counts for ten minutes.");
}));
at("new-passkey").addEventListener("submit", attempt(async () => {
  const begun = await ask("POST", "/api/v1/passkeys/offer", { password: at("passkey-password").value });
  const made = await ceremony(begun, true);
  await ask("POST", "/api/v1/passkeys", { ...made, name: at("passkey-name").value });
  at("new-passkey").reset();
  await account();
}));
at("logout").addEventListener("click", async () => {
  await ask("POST", "/api/v1/logout").catch(() => null);
  forget();
  location.hash = "";
  await route();
});
at("more").addEventListener("click", () => list(older).catch(fail));
window.addEventListener("hashchange", route);
begin();
