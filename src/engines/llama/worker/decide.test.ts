import { describe, expect, test } from 'vitest';
import {
  afterDraft,
  type BegunStep,
  type DraftState,
  decide,
  draftLength,
  firstDraft,
  nextChunk,
  nextPrefill,
  paddingSlots,
  prefillTogether,
  type SchedulingState,
} from './decide.ts';
import { batching } from './scheduling.ts';

const { targetStepMs, minChunk } = batching;

const slots = (...lengths: number[]) => lengths.map((computed, sequence) => ({ sequence, computed, capacity: 1000 }));

/** A generation in the slot of this number with so many tokens left to compute. */
const running = (sequence: number, remaining = 1, draft?: DraftState) => ({
  slot: { sequence, computed: 9, capacity: 1000 },
  remaining,
  inPrefill: remaining > 1,
  prefillsAlone: false,
  draft,
});
type Running = ReturnType<typeof running>;

/** The sequences, limits and drafts of each batch of the next step. */
function step(generations: readonly Running[], changes: Partial<SchedulingState<Running>> = {}) {
  const all = Array.from({ length: 8 }, (_, sequence) => {
    return (
      generations.find(({ slot }) => slot.sequence === sequence)?.slot ?? { sequence, computed: 0, capacity: 1000 }
    );
  });
  const options = { batchCapacity: 512, isolated: false, onGpu: false, chunk: 128, prefills: 0 };
  const { decode, prefill } = decide({ running: generations, slots: all, ...options, ...changes });
  const shown = (batch: (typeof decode)[number]) => ({
    rows: batch.rows.map(({ generation, limit, draft }) => [generation.slot.sequence, limit, draft]),
    padding: batch.padding.map(({ sequence }) => sequence),
  });
  return { decode: decode.map(shown), prefill: prefill && shown(prefill) };
}

test('decide: nothing without generations', () => expect(step([])).toEqual({ decode: [], prefill: undefined }));

test('decide: all generations in decode share a batch, and idle slots between them are padded', () => {
  const rows = [
    [1, 170, 0],
    [3, 170, 0],
  ];
  expect(step([running(1), running(3)])).toEqual({ decode: [{ rows, padding: [2] }], prefill: undefined });
});

test('decide: a prompt gets the whole batch alone, and a chunk beside others that decode', () => {
  expect(step([running(1, 900)]).prefill?.rows).toEqual([[1, 512, 0]]);
  expect(step([running(1, 900), running(2)]).prefill?.rows).toEqual([[1, 128, 0]]);
});

test('decide: a begun step continues with prefill until a prompt is unfinished or its time is over', () => {
  const generations = [running(1), running(2, 900)];
  const next = (begun: BegunStep) => step(generations, { begun });
  const begun = { busy: true, unfinished: false, prefillMs: 0 };
  expect(next(begun)).toMatchObject({ decode: [], prefill: { rows: [[2, 128, 0]] } });
  expect(next({ ...begun, busy: false }).prefill?.rows).toEqual([[2, 512, 0]]);
  expect(next({ ...begun, unfinished: true }).prefill).toBeUndefined();
  expect(next({ ...begun, prefillMs: batching.maxPrefillMs }).prefill).toBeUndefined();
});

test('decide: isolated, each generation has a batch of its own without padding', () => {
  const { decode, prefill } = step([running(1), running(3), running(4, 10), running(5, 10)], { isolated: true });
  expect(decode.map(({ rows, padding }) => [rows.length, padding.length])).toEqual([
    [1, 0],
    [1, 0],
  ]);
  expect(prefill?.rows).toHaveLength(1);
});

test('decide: drafts only for generations in decode, as long as the number of sequences allows', () => {
  const draft = firstDraft(8, 1, 0);
  expect(step([running(1, 1, draft), running(2, 40, draft)])).toMatchObject({
    decode: [{ rows: [[1, 512, 8]] }],
    prefill: { rows: [[2, 128, 0]] },
  });
  const five = [0, 1, 2, 3, 4].map((sequence) => running(sequence, 1, draft));
  expect(step(five).decode[0]?.rows.map(([, , drafted]) => drafted)).toEqual([0, 0, 0, 0, 0]);
});

const book = { name: 'book', remaining: 4000 };
const letter = { name: 'letter', remaining: 300 };
const question = { name: 'question', remaining: 20 };

test('prefillTogether: the given prompt and the shortest others that fit into equal shares of the batch', () => {
  const reader = (remaining: number, prefillsAlone = false) => ({ remaining, prefillsAlone });
  const lengths = (first: number, others: readonly number[], limit: number) => {
    const [one, ...rest] = [first, ...others].map((remaining) => reader(remaining));
    return one && prefillTogether(one, [one, ...rest], limit).map(({ remaining }) => remaining);
  };
  expect(lengths(10, [30, 5, 20], 100)).toEqual([10, 5, 20]);
  expect(lengths(10, [30, 5, 20], 120)).toEqual([10, 5, 20, 30]);
  expect(lengths(60, [5], 100)).toEqual([60]);
  expect(lengths(500, [5], 100)).toEqual([500]);
  const [alone, other] = [reader(5, true), reader(5)];
  expect(prefillTogether(alone, [alone, other], 100)).toEqual([alone]);
  expect(prefillTogether(other, [alone, other], 100)).toEqual([other]);
});

test('nextPrefill: alternates between the oldest and the shortest', () => {
  const readers = [book, letter, question];
  expect([0, 1, 2, 3].map((turn) => nextPrefill(readers, turn)?.name)).toEqual([
    'book',
    'question',
    'book',
    'question',
  ]);
});

test('nextPrefill: the oldest of equally long ones', () =>
  expect(nextPrefill([letter, { ...letter, name: 'later' }], 1)?.name).toBe('letter'));

test('nextPrefill: undefined without prompts', () => expect(nextPrefill([], 1)).toBeUndefined());

test.each([
  [64, targetStepMs, 64],
  [64, targetStepMs / 2, 128],
  [64, targetStepMs / 10, 128],
  [256, targetStepMs * 2, 128],
  [256, targetStepMs * 50, 128],
  [minChunk, targetStepMs * 50, minChunk],
  [500, 1, 512],
])('nextChunk: after a chunk of %i that took %f ms, one of %i', (chunk, ms, expected) => {
  expect(nextChunk(chunk, ms, 512)).toBe(expected);
});

test('nextChunk: converges to the target time at any speed', () => {
  for (const msPerToken of [0.05, 0.1, 0.5, 1]) {
    let chunk = 64;
    for (let step = 0; step < 30; step += 1) chunk = nextChunk(chunk, chunk * msPerToken, 4096);
    expect(Math.abs(chunk * msPerToken - targetStepMs)).toBeLessThan(targetStepMs / 4);
  }
});

/** The sequences that get a padding token while these are active. */
function padded(all: ReturnType<typeof slots>, ...active: number[]): number[] {
  const chosen = all.filter(({ sequence }) => active.includes(sequence));
  return paddingSlots(chosen, all, 3).map(({ sequence }) => sequence);
}

test('paddingSlots: fills a short gap between two active slots', () => {
  expect(padded(slots(9, 0, 0, 9, 0), 0, 3)).toEqual([1, 2]);
  expect(padded(slots(9, 5, 9, 9, 5, 9), 0, 2, 3, 5)).toEqual([1, 4]);
});

test('paddingSlots: fills no long gap, and nothing before the first or after the last active slot', () => {
  expect(padded(slots(9, 0, 0, 0, 0, 9), 0, 5)).toEqual([]);
  expect(padded(slots(0, 0, 9, 0), 2)).toEqual([]);
  expect(padded(slots(9, 9, 9), 0, 1, 2)).toEqual([]);
});

test('paddingSlots: leaves out a gap with a slot longer than all active ones', () =>
  expect(padded(slots(9, 10, 9), 0, 2)).toEqual([]));

test('paddingSlots: leaves out a gap with a full slot', () => expect(padded(slots(1000, 1000, 9), 0, 2)).toEqual([]));

/** The lengths of the next drafts, of which at most `correct` tokens are accepted. */
function lengths(draft: { state: DraftState }, steps: number, correct: number, sequences = 1): number[] {
  return Array.from({ length: steps }, () => {
    const length = draftLength(draft.state, sequences);
    const accepted = Math.min(correct, length);
    draft.state = afterDraft(draft.state, sequences, accepted, length - accepted);
    return length;
  });
}

const drafting = (max: number, blockRows = 1, rejectedBefore = 0) => ({
  state: firstDraft(max, blockRows, rejectedBefore),
});

test('draftLength: stays at the maximum while all tokens are accepted', () => {
  expect(lengths(drafting(8), 4, 8)).toEqual([8, 8, 8, 8]);
});

test('draftLength: is one more than the tokens accepted last', () => {
  expect(lengths(drafting(8), 4, 2)).toEqual([8, 3, 3, 3]);
});

test('draftLength: after rejected drafts, halves the length and then pauses for longer and longer', () => {
  expect(lengths(drafting(8), 14, 0)).toEqual([8, 4, 2, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0]);
});

test('draftLength: if every draft is rejected, drafts in one step of a hundred', () => {
  const draft = drafting(8);
  lengths(draft, 400, 0);
  expect(lengths(draft, 400, 0).filter((length) => length > 0).length).toBeLessThanOrEqual(4);
});

test('draftLength: starts with the rejections of earlier requests', () => {
  const first = drafting(8);
  lengths(first, 300, 0);
  const second = drafting(8, 1, first.state.rejectedInARow);
  expect(lengths(second, 17, 8)).toEqual([...Array(16).fill(0), 1]);
  expect(lengths(drafting(8, 1, second.state.rejectedInARow), 2, 8)).toEqual([8, 8]);
});

test('draftLength: grows again once drafts are accepted', () => {
  const draft = drafting(8);
  lengths(draft, 6, 0);
  expect(lengths(draft, 9, 8)).toEqual([0, 0, 0, 0, 1, 2, 4, 8, 8]);
});

test('draftLength: a step without a draft changes nothing', () => {
  const draft = drafting(8);
  for (let step = 0; step < 5; step += 1) draft.state = afterDraft(draft.state, 1, 0, 0);
  expect(draftLength(draft.state, 1)).toBe(8);
});

describe('draftLength: single sequence, kernel blocks of four rows including the token before the draft', () => {
  const inBlocks = (max: number) => drafting(max, 4);

  test.each([
    [1, 1],
    [2, 2],
    [3, 3],
    [4, 3],
    [7, 7],
    [8, 7],
    [16, 15],
  ])('maximum of %i tokens: drafts %i', (max, length) => {
    expect(lengths(inBlocks(max), 3, max)).toEqual([length, length, length]);
  });

  test('follows the accepted tokens in whole blocks', () => {
    expect(lengths(inBlocks(16), 4, 2)).toEqual([15, 3, 3, 3]);
    expect(lengths(inBlocks(16), 4, 6)).toEqual([15, 7, 7, 7]);
  });

  test('shrinks after rejected drafts and grows again after accepted ones', () => {
    const draft = inBlocks(8);
    expect(lengths(draft, 6, 0)).toEqual([7, 3, 3, 0, 0, 1]);
    expect(lengths(draft, 8, 8)).toEqual([0, 0, 0, 0, 1, 3, 7, 7]);
  });
});

describe('draftLength: several sequences, where drafted tokens need a pass of their own', () => {
  test('a draft goes on while as many tokens are right as there are texts', () => {
    expect(lengths(drafting(8), 4, 3, 3)).toEqual([8, 4, 4, 4]);
  });

  test('fewer right tokens soon lead to long pauses', () => {
    expect(lengths(drafting(8), 40, 1, 2).filter((length) => length > 0).length).toBeLessThan(5);
  });

  test('no drafts with more texts than half of a draft has tokens', () => {
    expect(lengths(drafting(4), 3, 4, 3)).toEqual([0, 0, 0]);
    expect(lengths(drafting(8), 3, 8, 5)).toEqual([0, 0, 0]);
  });

  test('after a pause a draft is as long as it must be to be worth it, and grows from there', () => {
    const draft = drafting(8);
    lengths(draft, 40, 0, 2);
    expect(
      lengths(draft, 200, 8, 2)
        .filter((length) => length > 0)
        .slice(0, 3),
    ).toEqual([2, 4, 8]);
  });

  test('alone again, it goes on as before', () => {
    const draft = drafting(4);
    lengths(draft, 20, 4, 3);
    expect(lengths(draft, 2, 4)).toEqual([4, 4]);
  });

  test('the draft itself fills blocks, because the token before it is in another pass', () => {
    expect(lengths(drafting(4, 4), 2, 4, 2)).toEqual([4, 4]);
  });
});
