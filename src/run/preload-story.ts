import { readFileSync } from 'node:fs';
import type { Settings } from '../config/flags.ts';
import { AppError } from '../core/errors.ts';

/** `--preloadstory` names a file or holds the story itself. */
export function preloadStory({ preloadstory }: Settings): { preloadStory?: string | Uint8Array } {
  if (!preloadstory) return {};
  if (preloadstory.trimStart().startsWith('{')) return { preloadStory: preloadstory };
  try {
    return { preloadStory: readFileSync(preloadstory) };
  } catch (error) {
    throw new AppError('internal', { reason: `--preloadstory ${preloadstory} cannot be read` }, { cause: error });
  }
}
