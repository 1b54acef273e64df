"use strict";

// Everything that is shown of runs is text: it is put into the document as text nodes
// and never as markup.

const at = (id) => document.getElementById(id);
const most = 2_000_000; // characters of output that stay on the page
let me = null;
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
  for (const id of ["login", "runs", "run"]) at(id).hidden = id !== section;
  at("logout").hidden = !me;
  at("who").textContent = me ? `${me.name}, ${me.role}` : "";
}

function fail(trouble) {
  if (trouble.status === 401) {
    me = null;
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
    await (id ? watch(id) : list(""));
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
    await login({ code });
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
at("logout").addEventListener("click", async () => {
  await ask("POST", "/api/v1/logout").catch(() => null);
  me = null;
  location.hash = "";
  await route();
});
at("more").addEventListener("click", () => list(older).catch(fail));
window.addEventListener("hashchange", route);
begin();
