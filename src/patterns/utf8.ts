const replacement = 0xfffd;

/** Turns bytes that arrive one by one into characters. What is no character counts as one that cannot be shown. */
export class Utf8Characters {
  #code = 0;
  #missing = 0;
  #start = 0;

  /** `place` is that of the byte; `found` is told each character that is whole, and the place of its first byte. */
  push(byte: number, place: number, found: (code: number, place: number) => void): void {
    if (this.#missing > 0) {
      if (byte >> 6 === 2) {
        this.#code = (this.#code << 6) | (byte & 0x3f);
        this.#missing -= 1;
        if (this.#missing === 0) found(this.#code > 0x10ffff ? replacement : this.#code, this.#start);
        return;
      }
      this.#missing = 0;
      found(replacement, this.#start);
    }
    if (byte < 0x80) {
      found(byte, place);
    } else if (byte < 0xc2 || byte > 0xf4) {
      found(replacement, place);
    } else {
      this.#missing = byte < 0xe0 ? 1 : byte < 0xf0 ? 2 : 3;
      this.#code = byte & (0x3f >> this.#missing);
      this.#start = place;
    }
  }
}
