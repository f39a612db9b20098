import { AppError } from '../core/errors.ts';
import { unreadable } from './unreadable.ts';

const rates = { least: 1000, most: 768_000 };

/** How long a recording may be. What it says of its own length is checked before any of it is decoded, and what is decoded is counted. */
export class LengthLimit {
  #seconds = 0;

  constructor(private readonly mostSeconds: number) {}

  /** What the file says; 0 where it says nothing. */
  promised(samples: number, rate: number): void {
    if (samples === 0) return;
    checkRate(rate);
    const seconds = samples / rate;
    if (seconds > this.mostSeconds) throw this.#tooLong(seconds);
  }

  count(samples: number, rate: number): void {
    checkRate(rate);
    this.#seconds += samples / rate;
    if (this.#seconds > this.mostSeconds) throw this.#tooLong();
  }

  #tooLong(seconds?: number): AppError {
    const found = seconds === undefined ? '' : `, and this one is ${(seconds / 3600).toFixed(1)} hours long`;
    const expected = `a recording of at most ${this.mostSeconds / 3600} hours${found}; cut it into parts`;
    return new AppError('invalid-field', { field: 'file', expected });
  }
}

function checkRate(rate: number): void {
  if (Number.isInteger(rate) && rate >= rates.least && rate <= rates.most) return;
  throw unreadable(`this one says that it has ${rate} samples a second`);
}
