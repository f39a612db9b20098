import { expect, test } from 'vitest';
import { promptText, resourceFiles, withTools } from './catalog.ts';

test('resourceFiles: texts and bytes as files, empty ones left out', async () => {
  const files = resourceFiles({ uri: 'a://1', name: 'notes', mimeType: 'text/markdown' }, [
    { text: '# Hi' },
    { blob: btoa('%PDF'), mimeType: 'application/pdf' },
    { text: '' },
  ]);
  expect(files.map(({ name, type }) => [name, type])).toEqual([
    ['notes', 'text/plain'],
    ['notes (2)', 'application/pdf'],
  ]);
  expect(await files[0]?.text()).toBe('# Hi');
});

test('promptText: texts of messages and resources, roles only in a dialogue', () => {
  expect(promptText([{ role: 'user', content: { type: 'text', text: ' Summarize. ' } }])).toBe('Summarize.');
  const content = [{ type: 'text', text: 'A' }, { type: 'resource', resource: { text: 'B' } }, { type: 'image' }];
  const reply = { role: 'assistant', content: { type: 'text', text: 'C' } };
  expect(promptText([{ role: 'user', content }, reply])).toBe('User: A\nB\n\nAssistant: C');
});

test('withTools: all tools of a server, or one', () => {
  expect(withTools(['a', 'x'], ['a', 'b'], true)).toEqual(['x', 'a', 'b']);
  expect(withTools(['a', 'x', 'b'], ['a', 'b'], false)).toEqual(['x']);
});
