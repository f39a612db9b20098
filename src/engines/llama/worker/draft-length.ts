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
    /** Rows that are computed together: the last certain token and its draft should fill such blocks. */
    private readonly blockOfRows = 1,
  ) {
    this.#wrongInARow = Math.min(record.wrongInARow, mostInherited);
    this.#length = this.#whole(most >> this.#wrongInARow);
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
      this.#length = this.#whole(wrong === 0 ? this.#length * 2 : right + 1);
    } else {
      this.#wrongInARow += 1;
      this.#length = this.#length >> 1 || 1;
      this.#pause = pauseAfter(this.#wrongInARow);
    }
    this.record.wrongInARow = this.#wrongInARow;
  }

  /** About so many tokens, which fill whole blocks together with the token before them. */
  #whole(length: number): number {
    const { most, blockOfRows } = this;
    if (length < 2 || most < blockOfRows - 1) return Math.max(1, Math.min(length, most));
    const blocks = Math.min(Math.round((length + 1) / blockOfRows), Math.floor((most + 1) / blockOfRows));
    return Math.max(1, blocks) * blockOfRows - 1;
  }
}

function pauseAfter(wrongInARow: number): number {
  return wrongInARow > patience ? Math.min(2 ** (wrongInARow - patience), longestPause) : 0;
}
