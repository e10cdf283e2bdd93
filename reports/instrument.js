"use strict";
// Sorting and filtering of tables, and the look-up of an item. The page can be read without it.
(() => {
  const MORE = 100; // rows added at once
  const FEW = 5; // rows that need no filter
  const NEAREST = 8; // ids that are offered
  const NUMBER = /^(?:more than |less than |[<>] ?)?([-+\u2212]?[\d,]*\.?\d+(?:e[-+]?\d+)?)/i;
  const TURNING = /[\u202a-\u202e\u2066-\u2069]/g; // as the page shows them
  const collator = new Intl.Collator("en", { numeric: true });
  const counted = number => number.toLocaleString("en");
  const folded = text => text.normalize("NFKC").toLowerCase().replace(TURNING, "\ufffd");
  const dataOf = id => JSON.parse(document.getElementById(id).textContent);
  const items = document.getElementById("items-data");

  const make = (tag, attributes = {}, ...children) => {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    element.append(...children);
    return element;
  };
  const linkTo = id => make("a", { href: "#item=" + encodeURIComponent(id) }, make("bdi", {}, id));

  // --- Tables ---

  const numberIn = text => {
    const found = NUMBER.exec(text);
    return found ? Number(found[1].replaceAll(",", "").replace("\u2212", "-")) : NaN;
  };

  // Rows by the numbers of a column, or else by its text; rows without a value are last in both directions.
  const sorted = (rows, column, direction, isNumber) => {
    const texts = rows.map(row => row.cells[column]);
    const numbers = texts.map(numberIn);
    const byNumber = isNumber || texts.every((text, k) => text === "" || !Number.isNaN(numbers[k]));
    const missing = k => (byNumber ? Number.isNaN(numbers[k]) : texts[k] === "");
    const compare = byNumber ? (a, b) => numbers[a] - numbers[b] : (a, b) => collator.compare(texts[a], texts[b]);
    const [given, last] = [[], []];
    rows.forEach((_, k) => (missing(k) ? last : given).push(k));
    given.sort((a, b) => direction * compare(a, b) || a - b);
    return [...given, ...last].map(k => rows[k]);
  };

  const enhance = (table, number) => {
    const { rows: source, held, total, file } = table.dataset;
    const body = table.tBodies[0];
    const heads = [...table.tHead.rows[0].cells];
    const names = heads.map(head => head.textContent.trim());
    const isNumber = heads.map(head => head.classList.contains("number"));
    const count = Number(held ?? body.rows.length);
    if (count < 2) return;
    const scroll = table.parentElement;
    const section = table.closest("section");
    const title = section.querySelector("h2, h3").textContent;
    const first = body.rows.length;
    const state = { column: -1, direction: 1, filter: "", shown: first };
    let rows, order;

    const load = () => {
      if (rows) return;
      const cells = source ? dataOf(source) : [...body.rows].map(row => [...row.cells].map(cell => cell.textContent));
      rows = cells.map(own => ({ cells: own, key: folded(own.join("\n")) }));
      order = rows;
    };
    const cellOf = (text, column) => {
      const kind = isNumber[column] && text !== "" ? "number" : text.length < 24 ? "short" : "";
      const content = items && names[column] === "item" ? linkTo(text) : text;
      return make("td", kind ? { class: kind } : {}, content);
    };
    const show = () => {
      load();
      const wanted = folded(state.filter.trim());
      const left = wanted ? order.filter(row => row.key.includes(wanted)) : order;
      const part = left.slice(0, state.shown);
      body.replaceChildren(...part.map(row => make("tr", {}, ...row.cells.map(cellOf))));
      more.hidden = part.length === left.length;
      status.textContent = said(part.length, left.length, wanted);
    };
    const said = (shown, left, wanted) => {
      const all = shown === left ? `${counted(left)} ${left === 1 ? "row" : "rows"}` : `${counted(shown)} of ${counted(left)} rows`;
      const with_ = wanted ? ` with “${state.filter.trim()}”` : "";
      const by = state.column < 0 ? "" : `, by ${names[state.column]}, ${state.direction > 0 ? "ascending" : "descending"}`;
      const rest = Number(total) > count ? ` The page has the first ${counted(count)} of ${counted(Number(total))}; ${file} has all.` : "";
      return `${all}${with_}${by}.${rest}`;
    };

    heads.forEach((head, column) => {
      const button = make("button", { type: "button" }, ...head.childNodes);
      head.replaceChildren(button);
      button.addEventListener("click", () => {
        load();
        const again = state.column === column;
        const back = again && state.direction < 0; // the third time: the order of the page
        state.direction = again && !back ? -1 : 1;
        state.column = back ? -1 : column;
        for (const other of heads) other.removeAttribute("aria-sort");
        if (!back) head.setAttribute("aria-sort", state.direction > 0 ? "ascending" : "descending");
        order = back ? rows : sorted(rows, column, state.direction, isNumber[column]);
        show();
      });
    });
    const id = `filter-${number}`;
    const input = make("input", { type: "search", id, autocomplete: "off", spellcheck: "false" });
    const label = make("label", { for: id }, "Filter", make("span", { class: "heard" }, ` the rows of ${title}`));
    input.addEventListener("input", () => {
      state.filter = input.value;
      state.shown = first;
      show();
    });
    const few = count <= FEW;
    const status = make("p", few ? { role: "status", class: "heard" } : { role: "status" }, few ? "" : said(first, count, ""));
    const more = make("button", { type: "button" }, "More rows", make("span", { class: "heard" }, ` of ${title}`));
    more.hidden = first >= count;
    more.addEventListener("click", () => {
      state.shown += MORE;
      show();
      if (more.hidden) scroll.focus(); // the focus must not be lost with the button
    });
    const filter = make("span", {}, label, " ", input);
    scroll.before(few ? status : make("div", { class: "controls" }, filter, status));
    if (!more.hidden) scroll.after(make("div", { class: "controls" }, more));
    section.querySelector(".first")?.remove(); // the status says it
    if (items && names.includes("item")) show();
  };

  // --- Items ---

  // Function that gives the edit distance of `wanted` from the nearest beginning of a text, or more than `most` if it is.
  const distanceFrom = wanted => {
    const n = wanted.length;
    const [codes, row] = [new Uint16Array(n), new Uint16Array(n + 1)];
    for (let k = 0; k < n; k++) codes[k] = wanted.charCodeAt(k);
    return (text, most) => {
      let best = n;
      for (let k = 0; k <= n; k++) row[k] = k;
      for (let i = 1; i <= text.length; i++) {
        const code = text.charCodeAt(i - 1);
        let corner = row[0];
        let least = i;
        row[0] = i;
        for (let k = 1; k <= n; k++) {
          const changed = corner + (codes[k - 1] === code ? 0 : 1);
          corner = row[k];
          const added = (corner < row[k - 1] ? corner : row[k - 1]) + 1;
          row[k] = changed < added ? changed : added;
          if (row[k] < least) least = row[k];
        }
        if (row[n] < best) best = row[n];
        if (least > most || least >= best) break;
      }
      return best;
    };
  };

  // Places of the nearest keys, of those as near the shortest first.
  const nearest = (typed, keys) => {
    const wanted = typed.slice(0, 64);
    const distance = distanceFrom(wanted);
    let found = [];
    let most = wanted.length - 1; // something in common
    const cut = () => (found = found.sort((a, b) => a[0] - b[0] || a[1] - b[1]).slice(0, NEAREST));
    keys.forEach((key, place) => {
      const apart = distance(key, most);
      if (apart > most) return;
      found.push([apart, key.length, place]);
      if (found.length >= 4 * NEAREST) most = cut()[NEAREST - 1][0];
    });
    return cut().map(own => own[2]);
  };

  const lookUp = () => {
    const total = Number(items.dataset.total);
    let data, ids, keys, places, folds;
    const load = () => {
      if (data) return;
      data = dataOf("items-data");
      ids = data.items.map(own => own[0]);
      keys = ids.map(folded);
      places = new Map(ids.map((id, place) => [id.replace(TURNING, "\ufffd"), place]));
      folds = new Map(keys.map((key, place) => [key, place]));
    };
    const section = document.getElementById("items");
    const input = make("input", { type: "search", id: "item-id", autocomplete: "off", spellcheck: "false" });
    const status = make("p", { role: "status" });
    const offered = make("ul", {});
    const found = make("div", {});
    const label = make("label", { for: "item-id" }, "Id of the item");
    const form = make("form", { class: "controls", role: "search", "aria-label": "Items" }, make("span", {}, label, " ", input));
    section.append(form, make("div", { class: "controls" }, status), make("div", { class: "controls" }, offered), found);
    offered.hidden = true;

    const offer = places => {
      offered.replaceChildren(...places.map(place => make("li", {}, linkTo(ids[place]))));
      offered.hidden = places.length === 0;
    };
    const tableOf = (table, cells, all) => {
      const n = table.columns.length;
      const bar = table.columns.indexOf(table.bar);
      const texts = cells.map(place => data.texts[place]);
      const rows = [];
      for (let k = 0; k < texts.length; k += n) {
        const own = texts.slice(k, k + n);
        const row = make("tr", {}, ...own.map((text, c) => make("td", table.numbers[c] ? { class: "number" } : {}, text)));
        if (bar >= 0) {
          const drawn = make("span", { class: "bar" });
          drawn.style.width = `${100 * Number(own[bar])}%`;
          row.append(make("td", { class: "drawn", "aria-hidden": "true" }, drawn));
        }
        rows.push(row);
      }
      const heads = table.columns.map((name, c) => make("th", { scope: "col", ...(table.numbers[c] ? { class: "number" } : {}) }, name));
      if (bar >= 0) heads.push(make("td", { "aria-hidden": "true" }));
      const whole = all > rows.length ? ` (the first ${counted(rows.length)} of ${counted(all)}; ${items.dataset.file} has all)` : "";
      const title = rows.length ? `${table.title}${whole}` : `${table.title}: none`;
      const head = rows.length ? [make("thead", {}, make("tr", {}, ...heads))] : [];
      const own = make("table", {}, make("caption", {}, title), ...head, make("tbody", {}, ...rows));
      return make("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": `Table: ${table.title}` }, own);
    };
    const show = place => {
      const [id, facts, tables, totals] = data.items[place];
      const texts = facts.map(own => data.texts[own]);
      const known = data.facts.map((name, k) => [name, texts[k]]).filter(own => own[1] !== "");
      const list = known.map(([name, text]) => make("div", {}, make("dt", {}, name), make("dd", {}, text)));
      const heading = make("h3", { tabindex: "-1" }, "Item ", make("bdi", {}, id));
      const drawn = data.tables.map((table, k) => tableOf(table, tables[k], totals ? totals[k] : 0));
      found.replaceChildren(heading, make("dl", { class: "known" }, ...list), ...drawn);
      const [first, ...rest] = known.slice(0, 5).map(([name, text]) => `${name} ${text}`);
      status.replaceChildren("Item ", make("bdi", {}, id), first ? `: ${[first, ...rest].join(", ")}.` : ".");
      return heading;
    };
    const search = () => {
      const typed = input.value.trim();
      if (typed === "") {
        status.textContent = "";
        found.replaceChildren();
        offered.hidden = true;
        return null;
      }
      load();
      const wanted = folded(typed);
      const exact = places.get(typed.replace(TURNING, "\ufffd")) ?? folds.get(wanted);
      const inside = [];
      let count = 0;
      keys.forEach((key, place) => {
        if (place === exact || !key.includes(wanted)) return;
        count += 1;
        if (inside.length < NEAREST) inside.push(place);
      });
      const some = count > inside.length ? ", such as" : "";
      if (exact !== undefined) {
        const heading = show(exact);
        if (count) status.append(` ${counted(count)} more ${count === 1 ? "contains" : "contain"} “${typed}”${some}:`);
        offer(inside);
        return heading;
      }
      found.replaceChildren();
      const held = ids.length < total ? ` among the first ${counted(ids.length)} of ${counted(total)}, ${items.dataset.order}; ${items.dataset.file} has all` : "";
      if (count) {
        status.textContent = `No item “${typed}”${held}. ${counted(count)} ${count === 1 ? "contains" : "contain"} it${some}:`;
        offer(inside);
        return null;
      }
      const near = nearest(wanted, keys);
      status.textContent = `No item “${typed}”${held}.${near.length ? " The nearest ids:" : ""}`;
      offer(near);
      return null;
    };
    const open = () => {
      if (!location.hash.startsWith("#item=")) return;
      try {
        input.value = decodeURIComponent(location.hash.slice("#item=".length));
      } catch {
        return; // no id that this page wrote
      }
      const heading = search();
      (heading ?? section).scrollIntoView();
      heading?.focus({ preventScroll: true });
    };
    input.addEventListener("focus", load); // before the first key
    input.addEventListener("input", search);
    form.addEventListener("submit", event => {
      event.preventDefault();
      search()?.focus();
    });
    addEventListener("hashchange", open);
    // the same link again changes no hash
    document.addEventListener("click", event => {
      const link = event.target.closest?.('a[href^="#item="]');
      if (link && link.getAttribute("href") === location.hash) open();
    });
    open();
  };

  document.querySelectorAll("main .scroll > table").forEach(enhance);
  if (items && Number(items.dataset.total)) lookUp();
})();
