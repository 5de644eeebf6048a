// The search of the error index. People paste what a program printed: a traceback around the message, other numbers, names
// and addresses than the entry's, lines broken anywhere. So an entry fits by the share of its words that were pasted, or
// by the share of the typed words that it has; rare words weigh more; the likeliest comes first. Works without a network.
const errorSearch = (() => {
  // Frames and code of a traceback are indented; what is left of it is the message.
  const withoutFrames = (text) => (/^Traceback /m.test(text) ? text.replace(/^[ \t].*$/gm, "") : text);
  const names = (text) => [...text.matchAll(/(?<!\w)(["'`])([^"'`\n]+)\1(?!\w)/g)].map((found) => found[2]);

  // The words of a message without what differs from one program to the next.
  const words = (text) => {
    const message = withoutFrames(text)
      .replace(/^(Traceback .*|\$ .*|\.\.\.)$/gm, " ")
      .replace(/^\s*(\w+\.)*\w*(Error|Exception|Warning|Interrupt)\b:?/gm, " ") // the class
      .replace(/(?<!\w)(["'`])[^"'`\n]+\1(?!\w)/g, " ") // quoted names
      .replace(/(?<![\w.])\.{0,3}(\/[\w.+-]+)+/g, " ") // paths
      .replace(/\b0x[0-9a-f]+\b|\b\d[\w.]*/gi, " "); // addresses and numbers
    return new Set(message.toLowerCase().match(/[a-z_]\w+/g) ?? []);
  };

  // Makes the function that gives each of `entries` ({title, text}) its likeness to a text: 0 if it isn't the error.
  return (entries) => {
    const titles = entries.map((entry) => words(entry.title));
    const bodies = entries.map((entry) => words(entry.text));
    const count = (sets, word) => sets.filter((set) => set.has(word)).length;
    const weigh = (word) => Math.log(1 + entries.length / (count(titles, word) + 0.5));
    const weights = new Map();
    const weight = (word) => {
      if (!weights.has(word)) {
        weights.set(word, weigh(word));
      }
      return weights.get(word);
    };
    const sum = (set, fits = () => true) => [...set].reduce((all, word) => all + (fits(word) ? weight(word) : 0), 0);

    return (text) => {
      const given = words(text);
      const quoted = names(text);
      const all = sum(given);
      return titles.map((title, i) => {
        const pasted = sum(title, (word) => given.has(word)) / (sum(title) || 1);
        const typed = sum(given, (word) => title.has(word) || bodies[i].has(word)) / (all || 1);
        const inTitle = sum(given, (word) => title.has(word)) / (all || 1);
        const same = quoted.filter((name) => entries[i].title.includes(name)).length / (quoted.length || 1);
        const fits = pasted >= 0.6 || typed >= 0.9 || (all === 0 && same > 0);
        // A title that is there as a whole beats parts of others, and a longer one a shorter; names only break ties.
        return fits ? pasted + inTitle + typed / 4 + same / 8 : 0;
      });
    };
  };
})();

document.addEventListener("DOMContentLoaded", () => {
  const index = document.querySelector(".error-index");
  if (!index) {
    return;
  }
  const entries = [...index.querySelectorAll(".error-entry")];
  // Without the buttons that another script has put into the blocks of code.
  const text = (element) => {
    const copy = element.cloneNode(true);
    copy.querySelectorAll("button").forEach((button) => button.remove());
    return copy.textContent;
  };
  const likeness = errorSearch(
    entries.map((entry) => ({ title: text(entry.querySelector("pre")), text: text(entry) })),
  );

  const box = document.createElement("textarea"); // a line of input would join the lines of what is pasted
  box.rows = 2;
  box.className = "error-filter form-control";
  box.placeholder = "Paste your error message, or type a part of it";
  box.setAttribute("aria-label", box.placeholder);
  const count = document.createElement("p");
  count.className = "error-count";
  count.setAttribute("role", "status");
  index.before(box, count);

  const show = () => {
    const asked = box.value.trim() !== "";
    const scores = asked ? likeness(box.value) : entries.map(() => 1);
    const order = entries.map((_, i) => i).sort((a, b) => scores[b] - scores[a] || a - b);
    order.forEach((i) => {
      entries[i].hidden = !scores[i];
      index.append(entries[i]);
    });
    const shown = scores.filter(Boolean).length;
    count.textContent = shown || !asked ? `${shown} of ${entries.length} errors` : `None of the ${entries.length} errors is like this one`;
    if (asked && shown > 1) {
      count.textContent += ", the likeliest first";
    }
  };
  box.addEventListener("input", show);
  show();
});
