/* What the server answers. Every position of every branch is worked out there; here answers are only kept for a while. */

const KEPT_MAX = 200;

/* The server's words about what was asked; and no answer at all. Any other exception is a mistake of ours. */
export class Refusal extends Error {
  constructor(words, status) {
    super(words);
    this.status = status;
  }
}
export class Unreachable extends Error {}

export class Server {
  constructor({ url, csrf, first }) {
    this.url = url;
    this.csrf = csrf;
    this.kept = new Map();
    if (first) this.keep(first.session, first.shown.at, first.single_steps, first);
  }

  /* The answer for a session at a position. Raises `Refusal` with the server's words. */
  async show(session, at, single) {
    return this.kept.get(key(session, at, single)) ?? this.keep(session, at, single, await this.post(this.url, { session, at, single_steps: single }));
  }

  /* One step that the server picks among those that may be taken: the same one for the same seed. */
  async step(session, at, single, seed) {
    return this.post(`${this.url}random/`, { session, at, single_steps: single, seed });
  }

  post(url, body) {
    return this.fetch(url, { method: "POST", headers: { "Content-Type": "application/json", "X-CSRFToken": this.csrf }, body: JSON.stringify(body) });
  }

  get(url) {
    return this.fetch(url, {});
  }

  /* What is at an address now; null where the server does not answer, or fails: a later look may find it. Raises
     `Refusal` where another look would be refused as well. */
  async look(url) {
    try {
      return await this.get(url);
    } catch (error) {
      if (error instanceof Unreachable || error.status >= 500) return null;
      throw error;
    }
  }

  async fetch(url, options) {
    let answer, isJson, told;
    try {
      answer = await fetch(url, options);
      isJson = answer.headers.get("Content-Type")?.includes("json");
      told = isJson ? await answer.json() : { error: `${answer.status} ${answer.statusText}` };
    } catch (error) {
      if (error instanceof TypeError || error instanceof SyntaxError) throw new Unreachable(); // cut off on its way
      throw error;
    }
    if (answer.redirected) return this.signIn(new URL(answer.url));
    if (!answer.ok) throw new Refusal(told.error, answer.status);
    if (!isJson) throw new Unreachable(); // somebody else's page
    return told;
  }

  /* Signed out meanwhile: to the page where one signs in, and back here. */
  signIn(page) {
    page.searchParams.set("next", location.pathname + location.search);
    location.assign(page);
    throw new Refusal("", 401);
  }

  keep(session, at, single, answer) {
    if (this.kept.size >= KEPT_MAX) this.kept.delete(this.kept.keys().next().value);
    this.kept.set(key(session, at, single), answer);
    return answer;
  }
}

const key = (session, at, single) => JSON.stringify([session.setup, session.parameters, session.left_out, session.steps, at, single]);
