import fc from 'fast-check';
import { expect, test } from 'vitest';
import { draftLength } from './decide.ts';
import { type DraftModel, drafter, lookupDraft } from './draft.ts';

const model = { propose: (sequence: number) => Int32Array.of(sequence, 7) } as unknown as DraftModel;
const grammar = { gbnf: 'root ::= "a"', retainState: false };
const repeating = Int32Array.of(1, 2, 3, 1, 2);
const fresh = Int32Array.of(1, 2, 3, 4, 5);

const info = { gpuLayers: 0 };
const options = (pattern: number, deterministic = false) => {
  return { draft: { amount: 2, pattern, model: undefined, prediction: false }, deterministic };
};

function guesses(pattern: number, draft: DraftModel | undefined, tokens: Int32Array, under?: typeof grammar) {
  const draftRecord = { rejectedInARow: 0 };
  const loaded = { options: options(pattern), context: { memory: 'plain' as const }, draft, draftRecord, info };
  const made = drafter(loaded, { grammar: under }, 5);
  return made && [...made.propose(tokens, tokens.length, 2)];
}

test('drafter: prompt lookup first, then the draft model', () => {
  expect(guesses(2, model, repeating)).toEqual([3, 1]);
  expect(guesses(2, model, fresh)).toEqual([5, 7]);
});

test('drafter: passes the sequence to the draft model', () => {
  expect(guesses(0, model, repeating)).toEqual([5, 7]);
});

test('drafter: pauses after rejected drafts', () => {
  const draftRecord = { rejectedInARow: 0 };
  const loaded = { options: options(0), context: { memory: 'plain' as const }, draft: model, draftRecord, info };
  const made = drafter(loaded, { grammar: undefined }, 5);
  for (let step = 0; step < 3; step += 1) made?.result(1, 0, 2);
  expect(made && draftLength(made.state, 1)).toBe(0);
  expect(draftRecord.rejectedInARow).toBe(3);
});

test('drafter: with a grammar, does not use the draft model', () => {
  expect(guesses(0, model, fresh, grammar)).toBeUndefined();
  expect(guesses(2, model, fresh, grammar)).toEqual([]);
});

test.each([
  ['where nothing asks for it', { draft: undefined, deterministic: false }, 'plain'],
  ['where wrong guesses stay', options(2), 'state'],
  ['where a text must be rounded the same every time', options(2, true), 'plain'],
] as const)('drafter: undefined %s', (_, options, memory) => {
  const loaded = { options: options, context: { memory }, draft: model, draftRecord: { rejectedInARow: 0 }, info };
  expect(drafter(loaded, { grammar: undefined }, 0)).toBeUndefined();
});

const draft = (tokens: number[], pattern = 2, max = 4) => [
  ...lookupDraft(Int32Array.from(tokens), tokens.length, pattern, max),
];

test('lookupDraft: proposes what followed the same tokens before', () => {
  expect(draft([1, 2, 3, 4, 5, 9, 1, 2])).toEqual([3, 4, 5, 9]);
});
test('lookupDraft: uses the latest match', () => expect(draft([1, 2, 3, 1, 2, 7, 1, 2], 2, 1)).toEqual([7]));
test('lookupDraft: continues a repetition at the end', () => expect(draft([5, 5, 5])).toEqual([5]));
test('lookupDraft: none without an earlier match', () => expect(draft([1, 2, 3, 4])).toEqual([]));
test('lookupDraft: none for a text shorter than the pattern', () => expect(draft([1], 3)).toEqual([]));
test('lookupDraft: proposes at most `max` tokens, which occur in the text', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(3), { maxLength: 40 }), fc.integer({ min: 1, max: 4 }), fc.nat(8), (tokens, n, max) => {
      const proposal = draft(tokens, n, max);
      expect(proposal.length).toBeLessThanOrEqual(max);
      const tail = tokens.slice(-n);
      if (proposal.length > 0) expect(tokens.join().includes([...tail, ...proposal].join())).toBe(true);
    }),
  );
});

test.each([
  [0, 'arm64', 3],
  [20, 'arm64', 4],
  [0, 'x64', 4],
])('drafter: with %i layers on the GPU (%s), a draft has %i of at most 4 tokens', (gpuLayers, arch, length) => {
  const draft = { amount: 4, pattern: 2, model: undefined, prediction: false };
  const draftRecord = { rejectedInARow: 0 };
  const loaded = { options: { draft, deterministic: false }, context: { memory: 'plain' as const }, draft: undefined };
  const made = drafter({ ...loaded, draftRecord, info: { gpuLayers } }, { grammar: undefined }, 5, arch);
  expect(made && draftLength(made.state, 1)).toBe(length);
});
