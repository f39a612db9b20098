import { expect, test } from 'vitest';
import type { Attach } from './tool-result.ts';
import { readToolResult } from './tool-result.ts';

function read(result: string) {
  const attached: Parameters<Attach>[] = [];
  const content = readToolResult(result, (...medium) => {
    attached.push(medium);
    return { type: 'medium', index: attached.length + 1 };
  });
  return { content, attached };
}

test.each(['sunny', '{"temperature":20}', '{broken', '{"content":[{"type":"text","text":"x"}]}', '{"content":7}'])(
  'the ordinary result %s is text',
  (result) => expect(read(result)).toEqual({ content: [{ type: 'text', text: result }], attached: [] }),
);

test('pictures and sounds in a tool server result join the media, and a note stays in the place of each', () => {
  const result = JSON.stringify({
    content: [
      { type: 'text', text: 'A chart:' },
      { type: 'image', data: 'AAAA', mimeType: 'image/png' },
      { type: 'audio', data: 'BBBB' },
    ],
  });
  const { content, attached } = read(result);
  expect(attached).toEqual([
    ['image', 'AAAA', 'image/png'],
    ['audio', 'BBBB', undefined],
  ]);
  expect(content).toEqual([
    {
      type: 'text',
      text: '{"content":[{"type":"text","text":"A chart:"},{"type":"text","text":"(the image is attached)"},{"type":"text","text":"(the audio is attached)"}]}',
    },
    { type: 'medium', index: 2 },
    { type: 'medium', index: 3 },
  ]);
});
