import { expect, test } from 'vitest';
import type { Slot } from '../memory/slot.ts';
import type { Snapshot } from '../memory/snapshot.ts';
import { SavedStateSlots } from './snapshot-cache.ts';

const snapshot = (...tokens: number[]): Snapshot => ({
  tokens: Int32Array.from(tokens),
  state: new Uint8Array(tokens.length * 10),
  checkpoints: [],
});

/** A slot whose state is nothing but its tokens. */
function fakeSlot() {
  const slot = {
    busy: false,
    usedAt: 0,
    held: undefined as Snapshot | undefined,
    get cached() {
      return slot.held?.tokens ?? new Int32Array();
    },
    promptLength: 0,
    reach: (index: number) => index,
    snapshot: () => slot.held,
    get snapshotFigures() {
      return { tokens: slot.cached.length, bytes: slot.held?.state.length ?? 0 };
    },
    restore: (snapshot: Snapshot) => {
      slot.held = snapshot;
      return true;
    },
  };
  return slot;
}

function world({ slots: count = 1, states = 2 } = {}) {
  let time = 0;
  const now = () => {
    time += 1;
    return time;
  };
  const slots = Array.from({ length: count }, fakeSlot);
  const use = (index: number, ...tokens: number[]) => {
    const slot = slots[index] as ReturnType<typeof fakeSlot>;
    slot.held = snapshot(...tokens);
    slot.usedAt = now();
    return slot;
  };
  const held = () => slots.map(({ cached }) => [...cached]);
  return { slots, use, held, states: new SavedStateSlots(slots as unknown as readonly Slot[], states, now) };
}

test('load: restores a saved state any number of times', () => {
  const { slots, use, states } = world();
  use(0, 1, 2, 3);
  expect(states.perform({ type: 'save', index: 1 })).toEqual({ tokens: 3, bytes: 30 });
  for (const later of [snapshot(9), undefined]) {
    const [slot] = slots;
    if (slot) slot.held = later;
    expect(states.perform({ type: 'load', index: 1 })).toEqual({ tokens: 3, bytes: 30 });
    expect(slot?.held).toEqual(snapshot(1, 2, 3));
  }
});

test('check: sizes of the saved states and of the current one', () => {
  const { use, states } = world();
  use(0, 1, 2);
  states.perform({ type: 'save', index: 0 });
  use(0, 1, 2, 3);
  const nothing = { tokens: 0, bytes: 0 };
  const saved = { tokens: 2, bytes: 20 };
  expect(states.perform({ type: 'check' })).toEqual({ slots: [saved, nothing], current: { tokens: 3, bytes: 30 } });
  states.perform({ type: 'clear' });
  expect(states.perform({ type: 'check' })).toMatchObject({ slots: [nothing, nothing] });
});

test('SavedStateSlots: does not save an empty state, load an empty slot or use a slot beyond the last', () => {
  const { use, states } = world();
  expect(states.perform({ type: 'save', index: 0 })).toBeNull();
  expect(states.perform({ type: 'load', index: 0 })).toBeNull();
  use(0, 1);
  expect(states.perform({ type: 'save', index: 2 })).toBeNull();
});

test('save: the most recently used of several slots', () => {
  const { use, states } = world({ slots: 3 });
  use(2, 1, 2);
  use(1, 5, 6, 7);
  expect(states.perform({ type: 'check' })).toMatchObject({ current: { tokens: 3 } });
  expect(states.perform({ type: 'save', index: 0 })).toMatchObject({ tokens: 3 });
});

test('load: into the slot of the same chat, else the least recently used', () => {
  const { use, held, states } = world({ slots: 3 });
  use(0, 1, 2, 3);
  states.perform({ type: 'save', index: 0 });
  use(0, 1, 2, 3, 4);
  use(1, 7);
  use(2, 8);
  states.perform({ type: 'load', index: 0 });
  expect(held()).toEqual([[1, 2, 3], [7], [8]]);
  use(0, 9);
  states.perform({ type: 'load', index: 0 });
  expect(held()).toEqual([[9], [1, 2, 3], [8]]);
});

test('load: makes the slot the most recently used', () => {
  const { use, states } = world({ slots: 2 });
  use(0, 1, 2, 3);
  states.perform({ type: 'save', index: 0 });
  use(0, 9, 8);
  use(1, 7);
  states.perform({ type: 'load', index: 0 });
  expect(states.perform({ type: 'check' })).toMatchObject({ current: { tokens: 3 } });
});

test('load: leaves an active slot unchanged', () => {
  const { slots, use, states } = world();
  use(0, 1);
  states.perform({ type: 'save', index: 0 });
  for (const slot of slots) slot.busy = true;
  expect(states.perform({ type: 'save', index: 1 })).toBeNull();
  expect(states.perform({ type: 'load', index: 0 })).toBeNull();
});
