import { expect, test } from 'vitest';
import { waitingPlaces } from './queue-size.ts';

test.each([
  [10, 1, false, 9],
  [2, 1, false, 1],
  [1, 1, false, 9],
  [0, 1, false, 0],
  [0, 1, true, 1],
  [0, 4, false, 9],
  [0, 4, true, 1],
  [-3, 1, false, 0],
])(
  'multiuser %i with %i parallel requests and other models: %s lets %i wait',
  (multiuser, parallelRequests, otherModels, places) => {
    expect(waitingPlaces({ multiuser, parallelRequests, otherModels })).toBe(places);
  },
);
