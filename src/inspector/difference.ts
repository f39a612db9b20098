import { isObject, tryParseJson } from '../core/json.ts';
import { preview } from './preview.ts';

/** A part of a neutral request that another dialect has no words for. */
interface Difference {
  /** `controls.sampling.topK`. */
  readonly field: string;
  readonly was: unknown;
  /** What the other dialect makes of it. */
  readonly becomes: unknown;
}

const maxShownLength = 400;
const maxDifferences = 100;

/** What differs between two neutral requests. A member that is undefined counts as absent. */
export function differences(was: unknown, becomes: unknown): readonly Difference[] {
  const different: Difference[] = [];
  const compare = (one: unknown, other: unknown, field: string): void => {
    if (different.length >= maxDifferences || Object.is(one, other)) return;
    if (Array.isArray(one) && Array.isArray(other) && one.length === other.length) {
      for (const [index, entry] of one.entries()) compare(entry, other[index], `${field}[${index}]`);
      return;
    }
    if (isObject(one) && isObject(other) && !Array.isArray(one) && !Array.isArray(other)) {
      for (const name of new Set([...Object.keys(one), ...Object.keys(other)])) {
        compare(one[name], other[name], field === '' ? name : `${field}.${name}`);
      }
      return;
    }
    if (isSameInEffect(one, other, field)) return;
    different.push({ field, was: previewOf(one), becomes: previewOf(other) });
  };
  compare(was, becomes, '');
  return different;
}

/** The type of a medium is found from its bytes too, and the JSON of a call may be written with other spaces. */
function isSameInEffect(one: unknown, other: unknown, field: string): boolean {
  if (/media\[\d+\]\.format$/.test(field)) return true;
  if (!field.endsWith('.json') || typeof one !== 'string' || typeof other !== 'string') return false;
  return JSON.stringify(tryParseJson(one)) === JSON.stringify(tryParseJson(other));
}

function previewOf(value: unknown): unknown {
  return value === undefined ? null : preview(value, maxShownLength);
}
