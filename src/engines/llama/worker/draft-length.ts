/** Steps without drafts after several that were all wrong, at most: then the text may have changed. */
const longestPause = 32;
/** So many wrong ones in a row are no chance. */
const patience = 2;

/** How long the next draft should be: drafts cost time, and are worth it only while they are right. */
export class DraftLength {
  #length: number;
  #wrongInARow = 0;
  #pause = 0;

  constructor(private readonly most: number) {
    this.#length = most;
  }

  /** For one step; 0 during a pause. */
  next(): number {
    if (this.#pause === 0) return this.#length;
    this.#pause -= 1;
    return 0;
  }

  /** So many tokens of the last draft were right and wrong. */
  result(right: number, wrong: number): void {
    if (right + wrong === 0) return;
    if (right > 0) {
      this.#wrongInARow = 0;
      this.#length = Math.min(this.most, wrong === 0 ? this.#length * 2 : right + 1);
      return;
    }
    this.#length = Math.max(1, this.#length >> 1);
    this.#wrongInARow += 1;
    if (this.#wrongInARow > patience) this.#pause = Math.min(2 ** (this.#wrongInARow - patience), longestPause);
  }
}
