/** Steps without drafts after several that were all wrong, at most: then the text may have changed. */
const longestPause = 128;
/** So many wrong ones in a row are no chance. */
const patience = 2;
/** What other texts have shown counts as so many wrong ones at most. */
const mostInherited = 6;

/** What the drafts of all texts have shown: those for the next text begin as the last ones ended. */
export interface DraftRecord {
  wrongInARow: number;
}

/** How long the next draft should be: drafts cost time, and are worth it only while they are right. */
export class DraftLength {
  #length: number;
  #wrongInARow: number;
  #pause: number;

  constructor(
    private readonly most: number,
    private readonly record: DraftRecord = { wrongInARow: 0 },
  ) {
    this.#wrongInARow = Math.min(record.wrongInARow, mostInherited);
    this.#length = Math.max(1, most >> this.#wrongInARow);
    this.#pause = pauseAfter(this.#wrongInARow);
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
    } else {
      this.#wrongInARow += 1;
      this.#length = Math.max(1, this.#length >> 1);
      this.#pause = pauseAfter(this.#wrongInARow);
    }
    this.record.wrongInARow = this.#wrongInARow;
  }
}

function pauseAfter(wrongInARow: number): number {
  return wrongInARow > patience ? Math.min(2 ** (wrongInARow - patience), longestPause) : 0;
}
