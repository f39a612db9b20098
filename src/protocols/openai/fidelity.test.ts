import { expect, test } from 'vitest';
import { dialectParts } from '../testing/doubles.ts';
import { decodeChat } from './chat/decode.ts';
import { decodeCompletion } from './completions/decode.ts';
import { chatFidelity, completionFidelity, openaiFidelity } from './fidelity.ts';

const parts = { ...dialectParts(), replacePlaceholders: <Texts>(texts: Texts) => texts };
const tops = (fidelity: typeof chatFidelity, handling: string) =>
  fidelity.fields.filter((each) => each.handling === handling && !each.field.includes('[')).map(({ field }) => field);

test('no field is listed twice', () => {
  for (const { fields } of openaiFidelity) {
    expect(new Set(fields.map(({ field }) => field)).size).toBe(fields.length);
  }
});

test.each(tops(chatFidelity, 'ignored'))('%s changes nothing in a chat', async (field) => {
  const body = { messages: [{ role: 'user', content: 'Hi' }] };
  expect(await decodeChat({ ...body, [field]: 'x' }, parts)).toEqual(await decodeChat(body, parts));
});

test.each(tops(completionFidelity, 'ignored'))('%s changes nothing in a completion', async (field) => {
  const body = { prompt: 'Hi' };
  expect(await decodeCompletion({ ...body, [field]: 'x' }, parts)).toEqual(await decodeCompletion(body, parts));
});

test.each(tops(completionFidelity, 'refused'))('%s is refused in a completion', async (field) => {
  await expect(decodeCompletion({ prompt: 'Hi', [field]: 'x' }, parts)).rejects.toMatchObject({ status: 400 });
});
