import { expect, test } from 'vitest';
import { StatePlaces } from './places.ts';
import type { Snapshot } from './snapshot.ts';

const snapshot = (...tokens: number[]): Snapshot => ({
  tokens: Int32Array.from(tokens),
  state: new Uint8Array(tokens.length * 10),
  checkpoints: [],
});

function world(count = 2) {
  const slot = {
    busy: false,
    held: undefined as Snapshot | undefined,
    snapshot: () => slot.held,
    get snapshotFigures() {
      return { tokens: slot.held?.tokens.length ?? 0, bytes: slot.held?.state.length ?? 0 };
    },
    restore: (given: Snapshot) => {
      slot.held = given;
      return true;
    },
  };
  return { slot, places: new StatePlaces(slot, count) };
}

test('what was saved comes back, as often as it is wanted', () => {
  const { slot, places } = world();
  slot.held = snapshot(1, 2, 3);
  expect(places.perform({ type: 'save', place: 1 })).toEqual({ tokens: 3, bytes: 30 });
  for (const later of [snapshot(9), undefined]) {
    slot.held = later;
    expect(places.perform({ type: 'load', place: 1 })).toEqual({ tokens: 3, bytes: 30 });
    expect(slot.held).toEqual(snapshot(1, 2, 3));
  }
});

test('it tells what lies where, and what would be saved now', () => {
  const { slot, places } = world();
  slot.held = snapshot(1, 2);
  places.perform({ type: 'save', place: 0 });
  slot.held = snapshot(1, 2, 3);
  const nothing = { tokens: 0, bytes: 0 };
  const saved = { tokens: 2, bytes: 20 };
  expect(places.perform({ type: 'check' })).toEqual({ places: [saved, nothing], current: { tokens: 3, bytes: 30 } });
  places.perform({ type: 'clear' });
  expect(places.perform({ type: 'check' })).toMatchObject({ places: [nothing, nothing] });
});

test('an empty state is not saved, an empty place not loaded, and a place beyond the last is neither', () => {
  const { slot, places } = world();
  expect(places.perform({ type: 'save', place: 0 })).toBeNull();
  expect(places.perform({ type: 'load', place: 0 })).toBeNull();
  slot.held = snapshot(1);
  expect(places.perform({ type: 'save', place: 2 })).toBeNull();
});

test('a slot at work is left alone', () => {
  const { slot, places } = world();
  slot.held = snapshot(1);
  places.perform({ type: 'save', place: 0 });
  slot.busy = true;
  expect(places.perform({ type: 'save', place: 1 })).toBeNull();
  expect(places.perform({ type: 'load', place: 0 })).toBeNull();
});
