// Read-along: shows the text and marks the word that is heard.

export class Follower {
  constructor(element, text) {
    this.element = element;
    this.text = text;
    this.place = 0;         // characters of the text that are shown as words or between them
    this.words = [];        // {start, end, span}
    this.tail = document.createTextNode(text);
    this.now = null;
    element.replaceChildren(this.tail);
  }

  // Words of the text as typed, in order, with seconds.
  push(words) {
    for (const word of words) {
      const found = this.text.indexOf(word.text, this.place);
      if (found < 0) continue;
      const span = document.createElement("span");
      span.textContent = word.text;
      this.tail.before(this.text.slice(this.place, found), span);
      this.place = found + word.text.length;
      this.tail.data = this.text.slice(this.place);
      this.words.push({ start: word.start, end: word.end, span });
    }
  }

  show(second) {
    const word = this.words.find((entry) => entry.start <= second && second < entry.end);
    const span = word ? word.span : null;
    if (span === this.now) return;
    if (this.now) this.now.classList.remove("now");
    if (span) span.classList.add("now");
    this.now = span;
  }
}
