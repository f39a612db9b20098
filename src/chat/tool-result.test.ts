import { expect, test } from 'vitest';
import { readToolResult } from './tool-result.ts';

test('an ordinary result is text', () => {
  expect(readToolResult('sunny', 0)).toEqual({ content: [{ type: 'text', text: 'sunny' }], media: [] });
  expect(readToolResult('{"temperature":20}', 0).content).toEqual([{ type: 'text', text: '{"temperature":20}' }]);
  expect(readToolResult('{broken', 0).media).toEqual([]);
});

test('a picture in a tool server result joins the media, and a note stays in its place', () => {
  const result = JSON.stringify({
    content: [
      { type: 'text', text: 'A chart:' },
      { type: 'image', data: 'AAAA', mimeType: 'image/png' },
    ],
  });
  expect(readToolResult(result, 2)).toEqual({
    content: [
      {
        type: 'text',
        text: '{"content":[{"type":"text","text":"A chart:"},{"type":"text","text":"(the image is attached)"}]}',
      },
      { type: 'medium', index: 2 },
    ],
    media: [{ kind: 'image', base64: 'AAAA', format: 'image/png' }],
  });
});
