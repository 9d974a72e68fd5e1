/* The site where service workers are off: the shell writes each page into a frame of its own, and carries out what it asks. */
export function pages(frame, here, answer, shown) {
  async function ask(address, options) {
    const asked = new Request(new URL(address, here), options), headers = Object.fromEntries(asked.headers);
    return answer({ address: asked.url, method: asked.method, headers, body: await asked.arrayBuffer() });
  }
  return async function open(address, options) {
    const { headers, content } = await ask(address, options), location = new Headers(headers).get("Location");
    if (location) return open(location);
    const fresh = frame.cloneNode();
    fresh.removeAttribute("src");
    frame.replaceWith(fresh);
    frame = fresh;
    const page = frame.contentDocument, at = new URL(address, here);
    page.open();
    frame.contentWindow.fetch = async (...request) => { const found = await ask(...request); return new Response(found.content, found); };
    page.write(new TextDecoder().decode(content));
    page.close();
    shown(page, at);
    page.getElementById(at.hash.slice(1))?.scrollIntoView();
    page.addEventListener("click", (event) => {
      const link = event.target.closest("a[href]");
      if (event.defaultPrevented || !link?.href.startsWith(here) || link.getAttribute("href").startsWith("#")) return;
      event.preventDefault();
      open(link.href);
    });
    page.addEventListener("submit", (event) => {
      if (event.defaultPrevented) return;
      event.preventDefault();
      const form = event.target, sent = new URLSearchParams(new FormData(form, event.submitter));
      if (form.method === "post") open(form.action, { method: "POST", body: sent }); else open(`${form.action.split("?")[0]}?${sent}`);
    });
  };
}
