/* Keeps an open page true.

   <main data-stream="change:3" data-seq="17">   what the page follows, and the last event it shows
   <div data-part="lanes">                        replaced (morphed) whenever the server has a newer one
   <i data-part="facts" data-quiet hidden>        not shown: a script reads it (`schemalab:parts`)
   <ol data-story>                               gets every event of the stream once, newest first
   <time data-until="..">, data-ago, data-since   counted here, on the server's clock
   <section data-own id="..">                    a part of one's own: asked for again when other tables are being loaded,
                                                 when traffic starts or has its first statement,
                                                 or a change has ended; then it may be there no more

   Every event has a number; a number that is not the next one means something was missed, and is asked for. */

(() => {
  "use strict";
  const FIRST_WAIT_MS = 500, LONGEST_WAIT_MS = 30000, POLL_MS = 3000, POLL_AFTER_FAILURES = 3, STORY_MAX = 200;
  const page = document.querySelector("[data-stream]");
  const pill = document.querySelector(".pill[data-live]");
  const words = (document.getElementById("live-words") || { dataset: {} }).dataset;
  let socket = null, failures = 0, heartbeat = 5000, retry = 0, lastHeard = Date.now(), polling = 0;
  let seq = page ? Number(page.dataset.seq) : 0;

  /* ---- times, on the server's clock (page.js) */
  const { now, set: setClock, words: clock } = window.serverClock;
  const fill = (text, value) => (text || "%s").replace("%s", value);
  function span(s) {
    if (s < 180) return fill(words.seconds, Math.round(s));
    return s < 5400 ? fill(words.minutes, Math.round(s / 60)) : fill(words.hours, Math.round(s / 3600));
  }
  /* What is left until a moment, as of the last beat: all places that count the same show the same. */
  let beat = now();
  window.serverClock.left = (until, at = beat) => span(Math.max(0, Math.ceil((until - at) / 1000)));
  function tick() {
    for (const time of document.querySelectorAll("[data-until]")) {
      const left = (Date.parse(time.dataset.until) - beat) / 1000;
      const text = time.querySelector("[data-left]"), ring = time.querySelector(".left");
      if (text) text.textContent = left > 0 ? fill(words.in, window.serverClock.left(Date.parse(time.dataset.until))) : words.over || "";
      if (ring) ring.setAttribute("stroke-dasharray", `${Math.max(0, Math.min(100, (100 * left) / Number(time.dataset.of || 300)))} 100`);
    }
    for (const time of document.querySelectorAll("[data-ago]")) {
      time.textContent = fill(words.ago, span(Math.max(0, (now() - Date.parse(time.dataset.ago)) / 1000)));
    }
    for (const time of document.querySelectorAll("[data-since]")) {
      time.textContent = span(Math.max(0, (now() - Date.parse(time.dataset.since)) / 1000));
    }
  }

  /* ---- state of the connection, in words */
  function show(state) {
    if (!pill || pill.dataset.live === state && state !== "stale") return;
    pill.dataset.live = state;
    pill.querySelector("span").textContent = state === "stale" ? fill(words.stale, clock(lastHeard + now() - Date.now())) : state === "live" ? words.liveNow : words[state];
  }

  /* ---- what arrives */
  function say(text, urgent) {
    const region = document.getElementById(urgent ? "say-now" : "say");
    if (region) region.textContent = text;
  }
  /* As the server's filter of the same name: no line ends at an arrow. */
  const arrows = (text) => text.replace(/\b(absent|delete-only|write-only|public) -> (?=(?:absent|delete-only|write-only|public)\b)/g, "$1\u00a0\u2192\u00a0");
  function storyLine(event, isNew) {
    const line = document.createElement("li"), time = document.createElement("time"), text = document.createElement("span");
    time.dateTime = event.at; time.textContent = clock(Date.parse(event.at)); text.textContent = arrows(event.sentence);
    line.dataset.seq = event.seq; if (isNew) line.className = "new";
    line.append(time, text);
    if (event.particulars) {
      const rows = document.createElement("details"), summary = document.createElement("summary");
      rows.className = "small"; summary.textContent = words.particulars;
      rows.append(summary, ...event.particulars.split("\n").map((text) => Object.assign(document.createElement("p"), { textContent: text })));
      line.append(rows);
    }
    return line;
  }
  function onEvent(event) {
    if (event.seq <= seq) return;
    if (event.seq > seq + 1) { subscribe(); return; }
    seq = event.seq;
    for (const story of document.querySelectorAll("[data-story]")) {
      story.querySelector("[data-empty]")?.remove();
      story.prepend(storyLine(event, true));
      while (story.children.length > STORY_MAX) story.lastElementChild.remove();
    }
    say(event.sentence, /fail|crash|silent|ended|revoked/.test(event.kind));
    document.dispatchEvent(new CustomEvent("schemalab:event", { detail: event }));
  }
  /* Whether a <details> is open is the reader's business. */
  const keepOpen = (name, node) => !(name === "open" && node.tagName === "DETAILS");
  const morph = (place, html) => window.Idiomorph.morph(place, html, { morphStyle: "innerHTML", ignoreActiveValue: true, restoreFocus: true, callbacks: { beforeAttributeUpdated: keepOpen } });
  /* A part in a closed tab is drawn when the tab is opened: until then its newest state is kept here. */
  const folded = new Map();
  document.addEventListener("toggle", (event) => {
    for (const [place, html] of folded) if (event.target.contains(place) && !place.closest("details:not([open])")) { folded.delete(place); morph(place, html); }
    tick();
  }, true);
  const told = {}; // the newest of the parts that a script of the page reads: it may come later than they do
  function onParts(parts) {
    for (const [name, html] of Object.entries(parts || {})) {
      for (const place of document.querySelectorAll(`[data-part="${name}"]`)) {
        if ("quiet" in place.dataset) { told[name] = html; continue; }
        if (place.closest("details:not([open])")) { folded.set(place, html); continue; }
        morph(place, html);
      }
    }
    const title = document.querySelector("[data-title]");
    if (title) document.title = title.dataset.title;
    tick();
    document.dispatchEvent(new CustomEvent("schemalab:parts", { detail: parts }));
  }
  function onMessage(message) {
    lastHeard = Date.now();
    switch (message.type) {
      case "hello": setClock(message.server_time); heartbeat = message.heartbeat_s * 1000; break;
      case "ping": setClock(message.server_time); send({ type: "pong" });
        if (message.seqs[page.dataset.stream] > seq) subscribe(); break;
      case "event": if (message.stream === page.dataset.stream) onEvent(message); break;
      case "state": if (message.stream === page.dataset.stream) onParts(message.parts); break;
      case "snapshot":
        if (message.stream !== page.dataset.stream) break;
        seq = message.seq;
        for (const story of document.querySelectorAll("[data-story]")) story.replaceChildren(...message.events.map((event) => storyLine(event)));
        onParts(message.parts);
        document.dispatchEvent(new CustomEvent("schemalab:snapshot")); break;
    }
    show(socket && socket.readyState === WebSocket.OPEN ? "live" : "reconnecting");
  }

  /* ---- the socket, and polling while there is none */
  const shownParts = () => [...document.querySelectorAll("[data-part]")].map((place) => place.dataset.part);
  const request = () => ({ type: "subscribe", stream: page.dataset.stream, since: seq, html: true, parts: shownParts(), language: document.documentElement.dataset.language });
  const send = (message) => { if (socket && socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify(message)); };
  const subscribe = () => send(request());
  function connect() {
    clearTimeout(retry);
    if (socket) { socket.onclose = socket.onmessage = null; socket.close(); }
    socket = new WebSocket(`${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/live/`);
    socket.onopen = () => { failures = 0; lastHeard = Date.now(); clearInterval(polling); polling = 0; subscribe(); };
    socket.onmessage = (message) => onMessage(JSON.parse(message.data));
    socket.onclose = (event) => {
      if (event.code === 4401) { location.reload(); return; }
      failures += 1;
      const wait = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** (failures - 1));
      show(failures > 1 ? "stale" : "reconnecting");
      retry = setTimeout(connect, wait * (0.75 + Math.random() / 2));
      if (failures >= POLL_AFTER_FAILURES && !polling) polling = setInterval(poll, POLL_MS);
    };
  }
  async function poll() {
    if (document.hidden) return;
    const { stream, since, language } = request();
    try {
      const answer = await fetch(`/live/poll?${new URLSearchParams({ stream, since, language, html: 1 })}`, { headers: { Accept: "application/json" } });
      if (answer.ok) for (const message of (await answer.json()).messages) onMessage(message);
    } catch { show("stale"); }
  }

  /* ---- what is each reader's own is in no part that all share: it is asked for again, until it waits no longer */
  const beingLoaded = () => [...document.querySelectorAll("[data-part=load] a, [data-starts]")].map((one) => one.pathname ?? "traffic").join();
  let loaded = beingLoaded();
  async function askOwn(event) {
    const own = document.querySelector("[data-own]"), tables = beingLoaded(), isEnd = /^change (done|failed|cancelled)$/.test(event.detail?.kind);
    if (!own || (tables === loaded && !isEnd)) return;
    const before = loaded;
    loaded = tables;
    try {
      const answer = await fetch(location.href, { headers: { Accept: "text/html" } });
      if (!answer.ok) throw new Error(answer.statusText);
      const newer = new DOMParser().parseFromString(await answer.text(), "text/html").getElementById(own.id);
      if (newer) window.Idiomorph.morph(own, newer.outerHTML, { morphStyle: "outerHTML", restoreFocus: true });
      else if (isEnd) own.remove();
    } catch { loaded = before; } // the next parts ask again
  }
  for (const kind of ["schemalab:parts", "schemalab:event"]) document.addEventListener(kind, askOwn);

  function watch() {
    if (socket && socket.readyState === WebSocket.OPEN && Date.now() - lastHeard > 2.5 * heartbeat) { show("stale"); connect(); }
  }
  if (page && window.WebSocket) {
    connect();
    document.addEventListener("schemalab:second", watch);
    const atOnce = () => { if (!document.hidden && (!socket || socket.readyState > WebSocket.OPEN)) { failures = 0; connect(); } };
    document.addEventListener("visibilitychange", atOnce);
    window.addEventListener("online", atOnce);
    window.addEventListener("pagehide", () => { if (socket) { socket.onclose = null; if (socket.readyState === WebSocket.OPEN) socket.close(); } });
    window.addEventListener("pageshow", (event) => { if (event.persisted) connect(); });
  }
  tick();
  document.addEventListener("schemalab:second", () => { beat = now(); tick(); });
  window.schemalab = { get seq() { return seq; }, get socket() { return socket; }, connect, again: subscribe, parts: told };
})();
