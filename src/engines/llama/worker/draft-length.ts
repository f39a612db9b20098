import { drafts } from './scheduling.ts';

const { minTokensPerSequence, maxPauseSteps, maxRejectedInARow, maxInheritedRejections } = drafts;

/** The success of the last drafts of all requests: the next request starts where the last one ended. */
export interface DraftRecord {
  rejectedInARow: number;
}

/**
 * The length of the next draft: drafts cost time and pay off only while they are accepted. In a batch of several sequences the drafted
 * tokens need a forward pass of their own, which all sequences wait for: a draft pays off if at least one token per sequence is accepted.
 */
export class DraftLength {
  #length: number;
  #rejectedInARow: number;
  #pause: number;
  /** Batch size of the last drafted step, in sequences. */
  #sequences = 1;

  constructor(
    private readonly max: number,
    private readonly record: DraftRecord = { rejectedInARow: 0 },
    /** Rows that a kernel computes together: a draft should fill whole blocks. */
    private readonly blockRows = 1,
  ) {
    this.#rejectedInARow = Math.min(record.rejectedInARow, maxInheritedRejections);
    this.#length = Math.max(1, max >> this.#rejectedInARow);
    this.#pause = pauseAfter(this.#rejectedInARow);
  }

  /** The length for a step with this many sequences; 0 during a pause, and if there are too many sequences for a draft to pay off. */
  next(sequences = 1): number {
    if (sequences > 1 && sequences * minTokensPerSequence > this.max) return 0;
    this.#sequences = sequences;
    if (this.#pause > 0) {
      this.#pause -= 1;
      return 0;
    }
    // For a single sequence, the token before the draft is in the same pass.
    if (sequences === 1) return this.#wholeBlocks(this.#length + 1, this.max + 1) - 1;
    return this.#wholeBlocks(Math.max(this.#length, sequences), this.max);
  }

  /** How many tokens of the last draft were accepted and rejected. */
  result(accepted: number, rejected: number): void {
    if (accepted + rejected === 0) return;
    if (accepted >= this.#sequences) {
      this.#rejectedInARow = 0;
      this.#length = Math.min(this.max, rejected === 0 ? Math.max(accepted, this.#length) * 2 : accepted + 1);
    } else {
      // Every sequence of the batch has waited for the rejected draft.
      this.#rejectedInARow += this.#sequences;
      this.#length = Math.max(1, this.#length >> 1);
      this.#pause = pauseAfter(this.#rejectedInARow);
    }
    this.record.rejectedInARow = this.#rejectedInARow;
  }

  /** Rounds to whole blocks of rows; one or two rows stay as they are. */
  #wholeBlocks(rows: number, max: number): number {
    const { blockRows } = this;
    if (rows <= 2 || max < blockRows) return Math.min(rows, max);
    const blocks = Math.min(Math.round(rows / blockRows), Math.floor(max / blockRows));
    return Math.max(1, blocks) * blockRows;
  }
}

function pauseAfter(rejectedInARow: number): number {
  return rejectedInARow > maxRejectedInARow ? Math.min(2 ** (rejectedInARow - maxRejectedInARow), maxPauseSteps) : 0;
}
