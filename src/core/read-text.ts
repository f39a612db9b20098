import { readFileSync } from 'node:fs';
import { attempt } from './attempt.ts';

/** The content of a file; empty if it cannot be read. */
export function readText(path: string): string {
  return attempt(() => readFileSync(path, 'utf8'), '');
}
