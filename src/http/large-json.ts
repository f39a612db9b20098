import { closingQuote } from '../core/json.ts';
import type { Sliced } from '../core/slices.ts';

/** Parses a large JSON text in slices: one pass finds where it can be split, then `JSON.parse` reads each piece. */
export function* parseLargeJson(bytes: Buffer, deepest: number, pieceBytes = 64 * 1024): Sliced<unknown> {
  const root = yield* findContainers(bytes, deepest, pieceBytes);
  if (root === undefined) return JSON.parse(bytes.toString('utf8'));
  return yield* readContainer(bytes, root);
}

/** Its message fits into the middle of a sentence. */
export class LargeJsonError extends Error {}

/** A list or object: the bytes between its brackets. */
interface Container {
  readonly isList: boolean;
  readonly start: number;
  end: number;
  /** Starts of members at which it can be split, in rising order. */
  readonly cuts: number[];
  /** Members that are split themselves, in order. */
  readonly large: { readonly start: number; readonly container: Container }[];
  memberStart: number;
}

const quote = 0x22;
const comma = 0x2c;
const [listOpen, listClose, objectOpen, objectClose] = [0x5b, 0x5d, 0x7b, 0x7d];

/** The outermost container; undefined if the text is a scalar. */
function* findContainers(bytes: Buffer, deepest: number, pieceBytes: number): Sliced<Container | undefined> {
  const open: Container[] = [];
  let root: Container | undefined;
  let rest = pieceBytes;
  for (let index = 0; index < bytes.length; index++) {
    if (index > rest) {
      rest = index + pieceBytes;
      yield;
    }
    const byte = bytes[index];
    if (byte === quote) {
      index = closingQuote(bytes, index + 1);
      if (index === -1) throw new LargeJsonError('a string has no end');
    } else if (byte === comma) {
      const inner = open.at(-1);
      if (inner) markMember(inner, index + 1, pieceBytes);
    } else if (byte === listOpen || byte === objectOpen) {
      if (open.length === deepest) throw new LargeJsonError(`it is nested deeper than ${deepest} levels`);
      const start = index + 1;
      open.push({ isList: byte === listOpen, start, end: start, cuts: [], large: [], memberStart: start });
    } else if (byte === listClose || byte === objectClose) {
      const closed = open.pop();
      if (closed === undefined || closed.isList !== (byte === listClose)) throw unexpected(bytes, index);
      closed.end = index;
      const parent = open.at(-1);
      if (parent === undefined) {
        if (root) throw unexpected(bytes, index);
        root = closed;
      } else if (closed.end - closed.start > pieceBytes) {
        parent.large.push({ start: parent.memberStart, container: closed });
      }
    }
  }
  if (open.length > 0) throw new LargeJsonError('unexpected end of JSON input');
  if (root) {
    refuseUnlessBlank(bytes, 0, root.start - 1);
    refuseUnlessBlank(bytes, root.end + 1, bytes.length);
  }
  return root;
}

/** A member after a large one always starts a piece. */
function markMember(container: Container, start: number, pieceBytes: number): void {
  const lastCut = container.cuts.at(-1) ?? container.start;
  const behindLarge = container.large.at(-1)?.start === container.memberStart;
  if (behindLarge || start - lastCut >= pieceBytes) container.cuts.push(start);
  container.memberStart = start;
}

function* readContainer(bytes: Buffer, container: Container): Sliced<unknown> {
  const list: unknown[] = [];
  const object: Record<string, unknown> = {};
  const large = new Map(container.large.map((member) => [member.start, member.container]));
  const starts = [...new Set([container.start, ...container.cuts, ...large.keys()])].sort((a, b) => a - b);
  for (const [index, start] of starts.entries()) {
    const next = starts[index + 1];
    const end = next === undefined ? container.end : next - 1;
    const inner = large.get(start);
    if (inner) {
      refuseUnlessBlank(bytes, inner.end + 1, end);
      const key = container.isList ? undefined : keyBefore(bytes, start, inner.start - 1);
      if (key === undefined) refuseUnlessBlank(bytes, start, inner.start - 1);
      const value = yield* readContainer(bytes, inner);
      if (key === undefined) list.push(value);
      else put(object, key, value);
    } else if (container.isList) {
      for (const value of piece(bytes, start, end, starts.length > 1, '[]') as unknown[]) list.push(value);
    } else {
      const part = piece(bytes, start, end, starts.length > 1, '{}') as Record<string, unknown>;
      for (const [key, value] of Object.entries(part)) put(object, key, value);
    }
    yield;
  }
  return container.isList ? list : object;
}

/** The members in a range of bytes. `needed`: next to a comma, where there must be one. */
function piece(bytes: Buffer, start: number, end: number, needed: boolean, brackets: '[]' | '{}'): unknown {
  const text = bytes.toString('utf8', start, end);
  if (needed && text.trim() === '') throw unexpected(bytes, end);
  try {
    return JSON.parse(brackets.charAt(0) + text + brackets.charAt(1));
  } catch (error) {
    const [reason = ''] = String((error as Error).message).split(/,? (?:\.\.\.|in JSON|at position|"|is not valid)/);
    throw new LargeJsonError(`${reason.charAt(0).toLowerCase()}${reason.slice(1)}, at or behind byte ${start}`);
  }
}

function keyBefore(bytes: Buffer, start: number, end: number): string {
  const text = bytes.toString('utf8', start, end).trim();
  try {
    const key: unknown = text.endsWith(':') ? JSON.parse(text.slice(0, -1)) : undefined;
    if (typeof key === 'string') return key;
  } catch {
    // Reported below.
  }
  throw unexpected(bytes, end);
}

/** As `JSON.parse` does: `__proto__` becomes an own property. */
function put(object: Record<string, unknown>, key: string, value: unknown): void {
  if (key !== '__proto__') object[key] = value;
  else Object.defineProperty(object, key, { value, writable: true, enumerable: true, configurable: true });
}

function refuseUnlessBlank(bytes: Buffer, start: number, end: number): void {
  for (let index = start; index < end; index++) {
    const byte = bytes[index];
    if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) throw unexpected(bytes, index);
  }
}

function unexpected(bytes: Buffer, index: number): LargeJsonError {
  const character = bytes.toString('latin1', index, index + 1);
  return new LargeJsonError(`unexpected ${JSON.stringify(character)} at byte ${index}`);
}
