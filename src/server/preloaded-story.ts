import { readFileSync, statSync } from 'node:fs';
import { AppError } from '../core/errors.ts';

const mostBytes = 64 * 2 ** 20;

/** `--preloadstory` names a file or holds the story itself. Clients are sent its bytes as they are, once it is sure that they are JSON. */
export function preloadedStory(flag: string): string | Uint8Array | undefined {
  if (flag === '') return undefined;
  if (isStoryItself(flag)) return checked(flag, 'the text');
  try {
    const { size } = statSync(flag);
    if (size > mostBytes) throw new Error(`it has more than ${mostBytes / 2 ** 20} MB`);
    return checked(readFileSync(flag), flag);
  } catch (error) {
    if (error instanceof AppError) throw error;
    throw refusal(`${flag} cannot be read: ${(error as Error).message}`);
  }
}

function isStoryItself(flag: string): boolean {
  return flag.trimStart().startsWith('{');
}

function checked<Story extends string | Uint8Array>(story: Story, name: string): Story {
  let value: unknown;
  try {
    value = JSON.parse(
      typeof story === 'string'
        ? story
        : Buffer.from(story)
            .toString('utf8')
            .replace(/^\ufeff/, ''),
    );
  } catch (error) {
    throw refusal(`${name} is no story, because it is no JSON: ${(error as Error).message}`);
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw refusal(`${name} is no story: it must hold a JSON object`);
  }
  return story;
}

function refusal(sentence: string): AppError {
  return new AppError('model-unavailable', { sentence: `--preloadstory: ${sentence}.` });
}
