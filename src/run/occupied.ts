import type { PreparedModel } from './prepared-model.ts';
import type { Entered, Room } from './rooms.ts';

/** The room of a model, and how many requests are in it. */
export interface Occupied {
  readonly model: PreparedModel;
  readonly room: Room;
  guests: number;
  emptied: (() => void) | undefined;
  /** Its model could not be had: whoever is inside has to go elsewhere. */
  givenUp: boolean;
  /** Settles when the registry knows its model, and no longer the one that had its name before. */
  handedOver: Promise<void>;
}

export function occupied(model: PreparedModel, room: Room): Occupied {
  return { model, room, guests: 0, emptied: undefined, givenUp: false, handedOver: Promise.resolve() };
}

export function enter(entered: Occupied): Entered {
  entered.guests += 1;
  let left = false;
  return {
    room: entered.room,
    givenUp: () => entered.givenUp,
    leave: () => {
      if (left) return;
      left = true;
      entered.guests -= 1;
      if (entered.guests === 0) entered.emptied?.();
    },
  };
}

export function empty(left: Occupied): Promise<void> {
  if (left.guests === 0) return Promise.resolve();
  return new Promise((resolve) => {
    left.emptied = resolve;
  });
}
