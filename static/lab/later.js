/* Parts of the stage that a first visit does not pay for: each is fetched when it is first asked for. */

export class Later {
  constructor({ arrived, failed }) {
    Object.assign(this, { arrived, failed, parts: new Map() });
  }

  /* The part; null, after `failed`, where the server does not answer. */
  async fetched(file) {
    try {
      const part = await import(file);
      this.parts.set(file, part);
      return part;
    } catch (error) {
      if (!(error instanceof TypeError)) throw error; // a mistake of ours, within the part
      this.failed();
      return null;
    }
  }

  /* The part if it is here; if not it is fetched, and `arrived` draws the page again. */
  part(file) {
    if (!this.parts.has(file)) {
      this.parts.set(file, null);
      this.fetched(file).then((part) => { if (part) this.arrived(); else this.parts.delete(file); });
    }
    return this.parts.get(file);
  }
}
