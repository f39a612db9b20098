import { readFileSync, statSync } from 'node:fs';
import { AppError } from '../core/errors.ts';
import { isObject } from '../core/json.ts';

const maxBytes = 64 * 2 ** 20;

/** `--preloadstory` names a file or holds the story itself. Clients are sent its bytes as they are, once it is sure that they are JSON. */
export function preloadedStory(flag: string): string | Uint8Array | undefined {
  if (flag === '') return undefined;
  if (flag.trimStart().startsWith('{')) return checked(flag, 'the text');
  try {
    const { size } = statSync(flag);
    if (size > maxBytes) throw new Error(`it has more than ${maxBytes / 2 ** 20} MB`);
    return checked(readFileSync(flag), flag);
  } catch (error) {
    if (error instanceof AppError) throw error;
    throw refusal(`${flag} cannot be read: ${(error as Error).message}`);
  }
}

function checked<Story extends string | Uint8Array>(story: Story, name: string): Story {
  // The decoder leaves out a byte order mark.
  const text = typeof story === 'string' ? story : new TextDecoder().decode(story);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw refusal(`${name} is no story, because it is no JSON: ${(error as Error).message}`);
  }
  if (!isObject(value)) throw refusal(`${name} is no story: it must hold a JSON object`);
  return story;
}

function refusal(sentence: string): AppError {
  return new AppError('model-unavailable', { sentence: `--preloadstory: ${sentence}.` });
}
