import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { resultContent, shortened } from './result-content.ts';

const limits = { characters: 1000, senses: { image: false, audio: false }, media: 0 };
const seeing = { ...limits, senses: { image: true, audio: true } };
const words = (result: object, own: object = {}): string => {
  const { content } = resultContent({ ...result }, { ...limits, ...own });
  return content.map((part) => (part.type === 'text' ? part.text : `#${part.index}`)).join('');
};
const picture = { type: 'image', data: 'AAAA', mimeType: 'image/png' };

describe('what a tool gave', () => {
  test.each([
    ['a text', { content: [{ type: 'text', text: 'hi' }] }, 'hi'],
    [
      'several texts',
      {
        content: [
          { type: 'text', text: 'a' },
          { type: 'text', text: 'b' },
        ],
      },
      'a\nb',
    ],
    ['data alone', { structuredContent: { sum: 3 } }, '{"sum":3}'],
    [
      'data beside the text that says the same',
      { content: [{ type: 'text', text: '3' }], structuredContent: { sum: 3 } },
      '3',
    ],
    ['a file', { content: [{ type: 'resource', resource: { uri: 'f:1', text: 'inside' } }] }, 'inside'],
    [
      'a file without text',
      { content: [{ type: 'resource', resource: { uri: 'f:1', blob: 'AA' } }] },
      '(the file f:1: no text)',
    ],
    ['a link', { content: [{ type: 'resource_link', uri: 'f:1', name: 'One' }] }, 'One – f:1'],
    ['something new', { content: [{ type: 'video', x: 1 }] }, '{"type":"video","x":1}'],
    ['nothing', {}, '(the tool gave nothing)'],
    ['an empty list', { content: [] }, '(the tool gave nothing)'],
    ['nonsense', { content: [null, 5] }, '(the tool gave nothing)'],
    ['a failure', { isError: true, content: [{ type: 'text', text: 'no' }] }, 'The tool failed: no'],
  ])('%s', (_, result, expected) => {
    expect(words(result)).toBe(expected);
  });

  test('a picture is attached behind those that are there already, where the model sees', () => {
    const result = { content: [{ type: 'text', text: 'Look:' }, picture, { type: 'audio', data: 'BBBB' }] };
    const { content, media } = resultContent(result, { ...seeing, media: 2 });
    expect(media).toEqual([
      { kind: 'image', base64: 'AAAA', format: 'image/png' },
      { kind: 'audio', base64: 'BBBB' },
    ]);
    expect(content).toEqual([
      { type: 'text', text: 'Look:\n(the image is attached)\n(the audio is attached)' },
      { type: 'medium', index: 2 },
      { type: 'medium', index: 3 },
    ]);
  });

  test('a picture is only spoken of where the model does not see', () => {
    expect(words({ content: [picture] })).toBe('(image: this model cannot take it in)');
  });

  test('a long text is cut, and says so', () => {
    const text = words({ content: [{ type: 'text', text: 'x'.repeat(5000) }] });
    expect(text).toBe(`${'x'.repeat(1000)}\n(cut off: these are the first 1000 of 5000 characters)`);
  });
});

test('a cut leaves what fits alone, and never half a character', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), fc.nat(20), (text, characters) => {
      const short = shortened(text, characters);
      if (text.length <= characters) expect(short).toBe(text);
      else expect(short).toContain(`of ${text.length} characters)`);
      expect(encodeURIComponent(short)).toBeTypeOf('string');
    }),
  );
});

test('resultContent: of a result with hundreds of pictures only the first are attached', () => {
  const { media, content } = resultContent({ content: Array(300).fill(picture) }, seeing);
  expect(media).toHaveLength(8);
  expect(content.filter(({ type }) => type === 'medium')).toHaveLength(8);
});
