/** Splits a text into sentences; longer ones than the limit in characters are split again. */
export type SplitSentences = (text: string, maxLength: number) => readonly string[];

/** To keep the delay before the first sound short, a first sentence is split: at a comma, or if it is long. */
const firstClause = /^[\s\S]{20,}?[,;:–—]\s+(?=\S)/u;
const maxFirstLength = 100;
const maxLength = 240;

/** The sentences of a text while it is written. Nothing is lost: they joined are the text. */
export class SentenceStream {
  #pending = '';
  #begun = false;

  constructor(private readonly split: SplitSentences) {}

  /** The sentences that are complete now. Whether one is complete is known when the next one has begun. */
  push(text: string): readonly string[] {
    this.#pending += text;
    const clause = this.#begun ? undefined : firstClause.exec(this.#pending)?.[0];
    if (clause !== undefined) {
      this.#begun = true;
      this.#pending = this.#pending.slice(clause.length);
      return [...this.split(clause, maxLength), ...this.push('')];
    }
    const sentences = this.split(this.#pending, this.#begun ? maxLength : maxFirstLength);
    const complete = sentences.slice(0, -1);
    if (complete.length === 0) return complete;
    this.#begun = true;
    this.#pending = sentences.at(-1) ?? '';
    return complete;
  }

  end(): readonly string[] {
    const rest = this.#pending;
    this.#pending = '';
    return rest === '' ? [] : this.split(rest, maxLength);
  }
}

/** Whether there is anything to say in it. */
export function isSpeakable(sentence: string): boolean {
  return /[\p{L}\p{N}\p{S}]/u.test(sentence);
}
