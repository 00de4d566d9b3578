// Watches a page for what runs in it, and finds elements that no page of the service has.
(() => {
  window.__ran = [];
  for (const name of ["alert", "confirm", "prompt", "print", "open", "msgbox"])
    window[name] = (...said) => void window.__ran.push(`${name}(${said.join()})`);

  const names = (list) => list.split(" ");
  const TEXT = {
    a: names("href rel"),
    div: names("aria-label class role tabindex"),
    h2: ["id"],
    h3: ["id"],
    h4: ["id"],
    h5: ["id"],
    h6: ["id"],
    img: names("alt class height loading src width"),
    ol: ["start"],
    pre: ["tabindex"],
  };
  for (const name of names(
    "b blockquote br cite code del em figcaption figure hr i li mark p s strong table tbody td th thead tr u ul",
  ))
    TEXT[name] = [];
  const PAGE = new Set([
    ...Object.keys(TEXT),
    ...names("html head meta title link script body header footer main nav section article form"),
    ...names("h1 span time dl dt dd details summary noscript input button select option label"),
    ...names("dialog output small fieldset legend svg path rect circle bdi aside textarea"),
  ]);
  const CLASSES = new Set(["scroll", "notice", "unsized"]);
  const NEVER = names("style srcdoc srcset formaction ping background xlink:href http-equiv");

  const describe = (element, why) => `${why}: ${element.outerHTML.slice(0, 200)}`;

  function* addresses(element) {
    for (const name of ["href", "src", "action"]) {
      const given = element.getAttribute(name);
      if (given === null) continue;
      const url = new URL(given, location.href);
      const isPicture = /^data:image\/(?:png|jpeg|gif|webp);base64,[A-Za-z0-9+/]+=*$/.test(given);
      const loads = element.localName !== "a" && !(element.rel === "canonical");
      if (loads && url.origin !== location.origin && !isPicture)
        yield describe(element, `loads ${given}`);
      if (!loads && !["http:", "https:", "mailto:"].includes(url.protocol))
        yield describe(element, `goes to ${given}`);
    }
  }

  /** What is in a text that the sanitiser should not have left. */
  window.__strangersInText = (place) =>
    [...place.querySelectorAll("*")].flatMap((element) => {
      const allowed = TEXT[element.localName];
      if (!allowed || element.namespaceURI !== "http://www.w3.org/1999/xhtml")
        return [describe(element, "element")];
      const found = [...addresses(element)];
      for (const { name } of element.attributes)
        if (!allowed.includes(name)) found.push(describe(element, `attribute ${name}`));
      for (const name of element.classList)
        if (!CLASSES.has(name)) found.push(describe(element, `class ${name}`));
      if (element.localName === "a" && element.hasAttribute("href") && !/ugc/.test(element.rel))
        found.push(describe(element, "rel"));
      return found;
    });

  /** Widths of a picture that this service stores. */
  const isOwnSrcset = (element, name) =>
    name === "srcset" &&
    element.srcset.split(", ").every((each) => /^\/ipfs\/\w+\?img-width=\d+ \d+w$/.test(each));

  /** The structured data of a post, in the head of its page. */
  const isArticle = (element) =>
    element.type === "application/ld+json" &&
    element.parentElement === element.ownerDocument.head &&
    JSON.parse(element.textContent)["@type"] === "Article";

  /** What is in a page that its templates and scripts do not write. */
  window.__strangersInPage = (page = document) =>
    [...page.querySelectorAll("*")].flatMap((element) => {
      const found = [...addresses(element)];
      if (!PAGE.has(element.localName)) found.push(describe(element, "element"));
      for (const { name } of element.attributes)
        if (name.startsWith("on") || (NEVER.includes(name) && !isOwnSrcset(element, name)))
          found.push(describe(element, `attribute ${name}`));
      const isOwn = /^\/assets\/|^$/.test(element.getAttribute("src") ?? "");
      const isData =
        (element.type === "application/json" && element.id === "facts") || isArticle(element);
      if (element.localName === "script" && !(isData || (isOwn && !element.textContent)))
        found.push(describe(element, "script"));
      return found;
    });

  /** Put the HTML of a text into the page: as the Studio does, and so that scripts would run. */
  window.__insert = (html) => {
    const [assigned, parsed] = [document.createElement("div"), document.createElement("div")];
    document.querySelector("main").append(assigned, parsed);
    assigned.innerHTML = html;
    parsed.append(document.createRange().createContextualFragment(html));
    for (const picture of document.querySelectorAll("main img")) picture.loading = "eager";
    return [...window.__strangersInText(assigned), ...window.__strangersInText(parsed)];
  };
})();
