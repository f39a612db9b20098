/** A set of Unicode characters: ranges of code points, in order, apart from each other. */
export type Characters = readonly (readonly [from: number, to: number])[];

const last = 0x10ffff;

export function single(character: string): Characters {
  const code = character.codePointAt(0) as number;
  return [[code, code]];
}

export function union(...sets: readonly Characters[]): Characters {
  const merged: [number, number][] = [];
  for (const [from, to] of sets.flat().sort((a, b) => a[0] - b[0])) {
    const before = merged.at(-1);
    if (before && from <= before[1] + 1) before[1] = Math.max(before[1], to);
    else merged.push([from, to]);
  }
  return merged;
}

export function complement(set: Characters): Characters {
  const rest: [number, number][] = [];
  let next = 0;
  for (const [from, to] of union(set)) {
    if (from > next) rest.push([next, from - 1]);
    next = to + 1;
  }
  if (next <= last) rest.push([next, last]);
  return rest;
}

export function without(set: Characters, other: Characters): Characters {
  return complement(union(complement(set), other));
}

export function includes(set: Characters, code: number): boolean {
  return overlaps(set, code, code);
}

/** Whether any character between the two, both included, is in the set. */
export function overlaps(set: Characters, lowest: number, highest: number): boolean {
  let low = 0;
  let high = set.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((set[middle] as Characters[number])[1] < lowest) low = middle + 1;
    else high = middle;
  }
  const range = set[low];
  return range !== undefined && range[0] <= highest;
}

/** All codes below it are tried for large sets; no script with capitals is beyond. */
const lastCased = 0x1e943;
/** The letters of which `otherCases` is not empty. */
let casedLetters: readonly number[] | undefined;

/** As in JavaScript: only those of one character, and none of ASCII for characters beyond it. */
function otherCases(code: number): number[] {
  if (code >= 0xd800 && code < 0xe000) return [];
  const character = String.fromCodePoint(code);
  return [character.toLowerCase(), character.toUpperCase()].flatMap((other) => {
    const otherCode = other.codePointAt(0) as number;
    const single = other.length === String.fromCodePoint(otherCode).length;
    return single && other !== character && code < 128 === otherCode < 128 ? [otherCode] : [];
  });
}

/** The set with the capitals of its letters, and the letters of its capitals. */
export function inBothCases(set: Characters): Characters {
  const small = set.every(([from, to]) => to - from < 64);
  if (!small) casedLetters ??= codesOf([[0, lastCased]]).filter((code) => otherCases(code).length > 0);
  const codes = small ? codesOf(set) : (casedLetters ?? []).filter((code) => includes(set, code));
  return union(
    set,
    codes.flatMap(otherCases).map((code): [number, number] => [code, code]),
  );
}

function codesOf(set: Characters): number[] {
  return set.flatMap(([from, to]) => Array.from({ length: to - from + 1 }, (_, index) => from + index));
}

/** The one character of the set, if there is just one. */
export function onlyOne(set: Characters): string | undefined {
  const [range, another] = set;
  return range && !another && range[0] === range[1] ? String.fromCodePoint(range[0]) : undefined;
}

const replacement = 0xfffd;

/** Decodes UTF-8 byte by byte; invalid bytes become U+FFFD. */
export class Utf8Characters {
  #code = 0;
  #missing = 0;
  #start = 0;

  /** Calls `found` with each complete character and the position of its first byte. */
  push(byte: number, position: number, emit: (code: number, position: number) => void): void {
    if (this.#missing > 0) {
      if (byte >> 6 === 2) {
        this.#code = (this.#code << 6) | (byte & 0x3f);
        this.#missing -= 1;
        if (this.#missing === 0) emit(this.#code > 0x10ffff ? replacement : this.#code, this.#start);
        return;
      }
      this.#missing = 0;
      emit(replacement, this.#start);
    }
    if (byte < 0x80) {
      emit(byte, position);
    } else if (byte < 0xc2 || byte > 0xf4) {
      emit(replacement, position);
    } else {
      this.#missing = byte < 0xe0 ? 1 : byte < 0xf0 ? 2 : 3;
      this.#code = byte & (0x3f >> this.#missing);
      this.#start = position;
    }
  }
}
