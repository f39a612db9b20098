import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { TokenLogprob } from '../core/events.ts';
import { alignedLogprobs } from './logprob-alignment.ts';

const ofBytes = (bytes: readonly number[]): TokenLogprob => ({
  token: 1,
  text: Buffer.from(bytes).toString(),
  bytes,
  logprob: -1,
  top: [],
});
const token = (text: string): TokenLogprob => ofBytes([...Buffer.from(text)]);

type Step = readonly [text: string, tokens: readonly string[] | undefined];

/** The texts of the tokens that each piece tells. */
function tokensOfSteps(steps: readonly Step[]): (readonly string[] | undefined)[] {
  const spoken = alignedLogprobs();
  return steps.map(([text, tokens]) =>
    spoken({ text, ...(tokens ? { logprobs: tokens.map(token) } : {}) })?.map((each) => each.text),
  );
}

test.each<[string, readonly Step[], (readonly string[] | undefined)[]]>([
  ['without logprobs there are no tokens', [['Hi', undefined]], [undefined]],
  [
    'a token goes with its text',
    [
      ['Hi', ['Hi']],
      [' you', [' you']],
    ],
    [['Hi'], [' you']],
  ],
  ['an end token that comes with the last text is left out', [['#', ['#', '<|end|>']]], [['#']]],
  ['an end token that looks like the text before it is left out', [['<', ['<', '<|end|>']]], [['<']]],
  [
    'an end token that comes alone is left out',
    [
      ['Hi', ['Hi']],
      ['', ['</s>']],
    ],
    [['Hi'], undefined],
  ],
  ['the tokens of a stop text are left out', [['lo', ['lo', '##', '#']]], [['lo']]],
  [
    'an end token behind the rest of an earlier one is left out',
    [
      ['x', ['xab']],
      ['ab', ['</s>']],
    ],
    [['xab'], []],
  ],
  [
    'the rest of a token may come in a piece without figures',
    [
      ['x', ['xab']],
      ['ab', undefined],
      ['ab', ['ab']],
    ],
    [['xab'], [], ['ab']],
  ],
  [
    'figures wait for text that was held back',
    [
      ['1 ', ['1', ' ']],
      ['', ['<']],
      ['< 2', [' 2']],
    ],
    [['1', ' '], undefined, ['<', ' 2']],
  ],
  [
    'they wait to the end',
    [
      ['a', ['a']],
      ['', ['<']],
      ['<', undefined],
    ],
    [['a'], undefined, ['<']],
  ],
  [
    'tokens of marks are passed over',
    [
      ['', ['</', 'think', '>']],
      ['', ['\n\n']],
      ['So', ['So']],
    ],
    [undefined, undefined, ['So']],
  ],
  [
    'text that was changed keeps its own figures',
    [
      ['', ['\n']],
      ['Hi', [' Hi']],
    ],
    [undefined, [' Hi']],
  ],
])('alignedLogprobs: %s', (_, steps, expected) => {
  expect(tokensOfSteps(steps)).toEqual(expected);
});

test('alignedLogprobs: keeps all tokens of a character', () => {
  const [first, second] = [ofBytes([0xf0, 0x9f]), ofBytes([0x98, 0x80])];
  expect(alignedLogprobs()({ text: '\u{1F600}', logprobs: [first, second, token('</s>')] })).toEqual([first, second]);
});

test('alignedLogprobs: tokens add up to the text however it is cut', () => {
  const words = fc.array(fc.string({ unit: 'grapheme', minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: 8 });
  fc.assert(
    fc.property(words, fc.array(fc.nat(3), { maxLength: 8 }), (texts, holds) => {
      const spoken = alignedLogprobs();
      const all: TokenLogprob[] = [];
      let held = '';
      for (const [index, word] of texts.entries()) {
        const characters = [...(held + word)];
        const shown = characters.slice(0, Math.max(0, characters.length - (holds[index] ?? 0))).join('');
        held = characters.join('').slice(shown.length);
        all.push(...(spoken({ text: shown, logprobs: [token(word)] }) ?? []));
      }
      all.push(...(spoken({ text: held, logprobs: [token('</s>')] }) ?? []));
      expect(all.map(({ text }) => text).join('')).toBe(texts.join(''));
    }),
  );
});
