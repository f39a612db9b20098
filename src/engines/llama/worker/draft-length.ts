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

/**
 * How long the next draft should be: drafts cost time, and are worth it only while they are right. Beside other texts the drafted tokens
 * need a pass of their own, so that a draft is worth as many right tokens as there are texts.
 */
export class DraftLength {
  #length: number;
  #wrongInARow: number;
  #pause: number;
  /** How many texts were computed together with the last draft. */
  #streams = 1;

  constructor(
    private readonly most: number,
    private readonly record: DraftRecord = { wrongInARow: 0 },
    /** Rows that are computed together: a draft should fill such blocks. */
    private readonly blockOfRows = 1,
  ) {
    this.#wrongInARow = Math.min(record.wrongInARow, mostInherited);
    this.#length = Math.max(1, most >> this.#wrongInARow);
    this.#pause = pauseAfter(this.#wrongInARow);
  }

  /** For one step with so many texts; 0 during a pause, and if there are so many texts that hardly any draft would be worth it. */
  next(streams = 1): number {
    if (streams > 1 && streams * 2 > this.most) return 0;
    this.#streams = streams;
    if (this.#pause > 0) {
      this.#pause -= 1;
      return 0;
    }
    // Alone, the token before the draft is in the same pass.
    if (streams === 1) return this.#whole(this.#length + 1, this.most + 1) - 1;
    return this.#whole(Math.max(this.#length, streams), this.most);
  }

  /** So many tokens of the last draft were right and wrong. */
  result(right: number, wrong: number): void {
    if (right + wrong === 0) return;
    if (right >= this.#streams) {
      this.#wrongInARow = 0;
      this.#length = Math.min(this.most, wrong === 0 ? Math.max(right, this.#length) * 2 : right + 1);
    } else {
      // Each of the other texts has waited for it.
      this.#wrongInARow += this.#streams;
      this.#length = Math.max(1, this.#length >> 1);
      this.#pause = pauseAfter(this.#wrongInARow);
    }
    this.record.wrongInARow = this.#wrongInARow;
  }

  /** About so many rows, in whole blocks; one or two stay as they are. */
  #whole(rows: number, most: number): number {
    const { blockOfRows } = this;
    if (rows <= 2 || most < blockOfRows) return Math.min(rows, most);
    const blocks = Math.min(Math.round(rows / blockOfRows), Math.floor(most / blockOfRows));
    return Math.max(1, blocks) * blockOfRows;
  }
}

function pauseAfter(wrongInARow: number): number {
  return wrongInARow > patience ? Math.min(2 ** (wrongInARow - patience), longestPause) : 0;
}
